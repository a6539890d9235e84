"""Clusters: whose shared memory an address names, and the barrier that is split into arrival and wait (ISA "barrier.cluster").

An address of the shared::cluster window holds the rank of a block in its cluster, plus one, from bit 24 up; below lies the address in
that block's shared memory. Where these bits are zero the address is one of the thread's own block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.schedule import Group
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave
    from ptxgen.emulator.threads import Threads

__all__ = ["CLUSTER_SHIFT", "ClusterBarrier", "ClusterMap", "cluster_map"]

CLUSTER_SHIFT = 24


class ClusterMap:
    """The blocks of a wave by cluster and rank.

    Attributes
    ----------
    cluster, rank : array
        For each block of the wave: its cluster, counted from 0, and its rank there.
    blocks : array of shape (clusters, ranks)
        Which block of the wave has a rank; -1 where none has.
    """

    def __init__(self, threads: Threads) -> None:
        size = threads.launch.block_threads
        x, y, z = threads.launch.cluster or (1, 1, 1)
        place = [threads.cluster_axis(axis, True).astype(np.int64)[::size] for axis in range(3)]
        self.rank = place[0] + x * (place[1] + y * place[2])
        self.cluster = _cluster_of_threads(threads)[::size]
        self.size = x * y * z
        self.blocks = np.full((int(self.cluster.max()) + 1, self.size), -1, np.int64)
        self.blocks[self.cluster, self.rank] = np.arange(threads.blocks)

    def locate(self, address: Array, own: Array) -> tuple[Array, Array]:
        """Block of the wave (-1: there is none) and address in its shared memory, for shared::cluster addresses.

        Parameters
        ----------
        address : array of int64
        own : array of int64
            The block of each accessing thread.
        """
        named = address >> CLUSTER_SHIFT
        inside = address & (1 << CLUSTER_SHIFT) - 1
        rank = np.clip(named - 1, 0, self.size - 1)
        found = np.where(named == 0, own, self.blocks[self.cluster[own], rank])
        return np.where((named < 0) | (named > self.size), -1, found), inside


def cluster_map(threads: Threads) -> ClusterMap:
    """The map of a wave's threads, made once."""
    found: ClusterMap | None = threads.__dict__.get("cluster_map")
    if found is None:
        found = threads.__dict__["cluster_map"] = ClusterMap(threads)
    return found


class ClusterBarrier:
    """Counts phases: a thread may pass its wait when its cluster has completed as many phases as the thread has arrived in."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        self._cluster = _cluster_of_threads(wave.threads)
        clusters = int(self._cluster.max()) + 1
        self._arrivals = np.zeros(wave.threads.count, np.int64)
        self._phase = np.zeros(clusters, np.int64)
        self.waiting: list[tuple[Group, Instruction]] = []

    def arrive(self, group: Group, statement: Instruction) -> list[Group]:
        index = self._wave.indices(group.index)
        self._arrivals[index] += 1
        hazards = self._wave.hazards
        for cluster in np.unique(self._cluster[index]).tolist():
            part = index[self._cluster[index] == cluster]
            if "relaxed" in statement.opcode:
                hazards.barrier_arrived_relaxed(("cluster", cluster), cluster, part)
            else:
                hazards.barrier_arrived(("cluster", cluster), part)
        return [group.at(group.pc + 1), *self.advance()]

    def wait(self, group: Group, statement: Instruction) -> list[Group]:
        self.waiting.append((group, statement))
        return self.advance()

    def advance(self) -> list[Group]:
        """Complete the phases that every living thread of a cluster has arrived in, and let go who waited for them.

        Exited threads count as arrived (ISA "exit").
        """
        never = np.iinfo(np.int64).max
        fewest = np.full(len(self._phase), never)
        np.minimum.at(fewest, self._cluster, np.where(self._wave.alive, self._arrivals, never))
        self._phase = np.where(fewest == never, self._phase, np.maximum(self._phase, fewest))
        free, kept = [], []
        for group, statement in self.waiting:
            index = self._wave.indices(group.index)
            going = self._arrivals[index] <= self._phase[self._cluster[index]]
            if going.any():
                for cluster in np.unique(self._cluster[index[going]]).tolist():
                    self._wave.hazards.barrier_passed(("cluster", cluster), index[going & (self._cluster[index] == cluster)])
                free.append((group if going.all() else group.part(index[going])).at(group.pc + 1))
            if not going.all():
                kept.append((group.part(index[~going]), statement))
        self.waiting = kept
        return free


def _cluster_of_threads(threads: Threads) -> Array:
    """A number for each thread's cluster, from 0."""
    x, y, _ = threads.launch.grid
    places = [threads.cluster_axis(axis, False).astype(np.int64) for axis in range(3)]
    linear = places[0] + x * (places[1] + y * places[2])
    return np.unique(linear, return_inverse=True)[1].reshape(-1)
