"""Vector clocks of warps: what each warp knows to have happened before what it does now.

All clocks show one time, which goes on at every release (an arrival at a barrier, a fence of a proxy); a warp's clock stands still between
its own releases. `known[0][w][a]` is the latest clock of agent `a` that is ordered before what warp `w` does next; `known[1]` says the
same of what the async proxy may see as well, because agent `a` has passed a ``fence.proxy.async`` since; `known[2]` of the mbarriers that
agent `a` has initialised, which a ``fence.mbarrier_init`` makes known to both. Agents are the warps of a cluster and, behind them, its
mbarriers, to which the bytes belong that copies bring. `floor[w]` is a time up to which warp `w` knows of every
warp of its cluster: most questions are answered by it alone.
"""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.clusters import cluster_map
from ptxgen.emulator.operands import Array
from ptxgen.emulator.threads import Threads

__all__ = ["INITS", "Clocks"]


INITS = 2
"""The view of `Clocks.known` that tells of mbarriers."""

_VIEWS = 3


class Clocks:
    """The clocks of a wave.

    Attributes
    ----------
    row : array
        For each thread its warp, counted cluster by cluster and block by block.
    slots : int
        Warps of a cluster: the agents before the mbarriers.
    slot : array
        For each row the warp's place among the agents of its cluster.
    now, floor : array
        For each row its own clock, and what it knows of all others.
    known : array of shape (3, rows, agents)
    """

    slots: int
    warps: int
    alone: bool
    row: Array
    block_rows: Array
    cluster_of_row: Array
    block_of_row: Array
    slot: Array

    def __init__(self, threads: Threads, like: Clocks | None = None) -> None:
        self.time = 1
        if like is not None and like.alone and len(like.row) == threads.count:  # another wave of as many blocks, each on its own
            self.slots, self.row, self.block_rows, self.cluster_of_row = like.slots, like.row, like.block_rows, like.cluster_of_row
            self.block_of_row, self.alone, self.warps, self.slot = like.block_of_row, True, like.warps, like.slot
        else:
            self._place(threads)
        count = len(self.cluster_of_row)
        self.now = np.ones(count, np.int64)
        self.floor = np.zeros(count, np.int64)
        self.known = np.zeros((_VIEWS, count, self.slots), np.int64)
        self._every = np.arange(count)
        self.known[0, self._every, self.slot] = 1
        self._mbarriers = np.zeros(int(self.cluster_of_row[-1]) + 1, np.int64)

    def _place(self, threads: Threads) -> None:
        """Where the threads of a wave stand among its warps, and the warps among the blocks and clusters."""
        clusters = cluster_map(threads)
        warps = threads.launch.warps
        self.slots = clusters.size * warps
        first = (clusters.cluster * clusters.size + clusters.rank) * warps
        self.row = first[threads.block] + threads.linear // 32
        self.block_rows = first
        self.cluster_of_row = np.repeat(np.arange(len(clusters.blocks)), self.slots)
        count = len(self.cluster_of_row)
        self.block_of_row = np.zeros(count, np.int64)
        self.block_of_row[(first[:, None] + np.arange(warps)).reshape(-1)] = np.repeat(np.arange(threads.blocks), warps)
        self.alone = clusters.size == 1
        self.warps = warps
        self.slot = np.arange(count) % self.slots

    def fresh(self) -> Array:
        """What nobody has released to yet: one view of all agents, of each kind."""
        return np.zeros((_VIEWS, self.known.shape[2]), np.int64)

    def mbarrier(self, row: int) -> int:
        """A new agent in the cluster of a row."""
        cluster = int(self.cluster_of_row[row])
        agent = self.slots + int(self._mbarriers[cluster])
        self._mbarriers[cluster] += 1
        if agent >= self.known.shape[2]:
            self.known = np.pad(self.known, ((0, 0), (0, 0), (0, max(8, agent))))
        return agent

    def rows(self, threads: Array) -> Array:
        """The warps of some threads, each once."""
        rows = self.row[threads]
        first = np.empty(len(rows), np.bool_)
        first[:1] = True
        np.not_equal(rows[1:], rows[:-1], out=first[1:])
        return rows[first]

    def release(self, rows: Array, into: Array) -> Array:
        """Warps make what they know known to whoever acquires `into`, which is returned, and begin a new clock."""
        into = self._widened(into)
        np.maximum(into, self.known[:, rows].max(axis=1), out=into)
        self.tick(rows)
        return into

    def release_inits(self, rows: Array, into: Array) -> Array:
        """As `release`, of mbarriers alone."""
        into = self._widened(into)
        np.maximum(into[INITS], self.known[INITS, rows].max(axis=0), out=into[INITS])
        return into

    def _widened(self, view: Array) -> Array:
        """A view that has room for every agent."""
        missing = self.known.shape[2] - view.shape[1]
        return np.pad(view, ((0, 0), (0, missing))) if missing > 0 else view

    def acquire(self, rows: Array, view: Array) -> None:
        """Warps learn what was released."""
        width = view.shape[1]
        self.known[:, rows, :width] = np.maximum(self.known[:, rows, :width], view[:, None, :])

    def release_by_block(self, rows: Array, into: Array | None) -> Array:
        """As `release`, into one view for each block: shape (2, blocks, agents)."""
        width = self.known.shape[2]
        if into is None:
            into = np.zeros((_VIEWS, len(self.block_rows), width), np.int64)
        elif into.shape[2] < width:
            into = np.pad(into, ((0, 0), (0, 0), (0, width - into.shape[2])))
        blocks = self.block_of_row[rows]
        starts = np.flatnonzero(np.r_[True, blocks[1:] != blocks[:-1]])
        met = np.maximum.reduceat(self.known[:, rows], starts, axis=1)
        into[:, blocks[starts]] = np.maximum(into[:, blocks[starts]], met)
        self.tick(rows)
        return into

    def acquire_by_block(self, rows: Array, view: Array) -> None:
        width = view.shape[2]
        self.known[:, rows, :width] = np.maximum(self.known[:, rows, :width], view[:, self.block_of_row[rows]])

    def tick(self, rows: Array) -> None:
        self.time += 1
        self.now[rows] = self.time
        self.known[0, rows, self.slot[rows]] = self.time

    def fence(self, rows: Array) -> None:
        """``fence.proxy.async``: what the warps have done so far is for the async proxy to see, once it is ordered."""
        self.known[1, rows, self.slot[rows]] = self.now[rows]
        self.known[INITS, rows] = np.maximum(self.known[INITS, rows], self.known[0, rows])
        self.tick(rows)

    def fence_inits(self, rows: Array) -> None:
        """``fence.mbarrier_init``: the mbarriers that the warps have initialised so far are for everybody in the cluster to use."""
        self.known[INITS, rows, self.slot[rows]] = self.now[rows]
        self.tick(rows)

    def meet(self) -> None:
        """All warps of each block release to one another and acquire: a barrier that everybody takes at once."""
        order = self.block_rows[:, None] + np.arange(self.warps)
        met = self.known[:, order].max(axis=2)
        self.known[:, order] = met[:, :, None, :]
        self.all_known(self._every)
        self.tick(self._every)

    def all_known(self, rows: Array) -> None:
        """The warps of whole blocks have met: each knows of all of its block."""
        if self.alone:
            self.floor[rows] = self.time
