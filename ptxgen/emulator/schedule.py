"""Which threads run next: groups of threads at one program counter, and the seeded, fair choice among them.

The lowest program counter of the deepest call goes first, so that threads that took different ways meet again. That order alone
would let a spin loop starve the thread it waits for; so every so often the group that waited longest runs for a while instead.
Hence each thread that can run advances within a bounded number of steps. A seed other than 0 also lets warps run ahead of one
another at random.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ptxgen.emulator.code import Code
    from ptxgen.emulator.threads import Threads

__all__ = ["Group", "Pool"]

FAIR_PERIOD = 16
"""Picks from one turn of the longest-waiting group to the next."""

FAIR_BURST = 64
"""Blocks of instructions that such a turn lasts."""

STRANDS = 4
SPLIT_CHANCE = 1 / 4
STRAY_CHANCE = 1 / 4


class Group:
    """Threads that stand at one instruction of one function, at one call depth.

    `index` holds their indices, ascending; None means all threads of the wave. Groups of different `strand` do not merge.
    """

    __slots__ = ("code", "depth", "index", "pc", "stamp", "strand")

    def __init__(self, code: Code, pc: int, depth: int, index: Any, strand: int = 0) -> None:
        self.code = code
        self.pc = pc
        self.depth = depth
        self.index = index
        self.strand = strand
        self.stamp = 0

    def at(self, pc: int) -> Group:
        """The same group, moved."""
        self.pc = pc
        return self

    def part(self, index: Any) -> Group:
        """Some of its threads, at the same place."""
        return Group(self.code, self.pc, self.depth, index, self.strand)

    @property
    def key(self) -> tuple[int, int, int, int]:
        return (-self.depth, self.code.number, self.pc, self.strand)


class Pool:
    """The groups of a wave that can run."""

    __slots__ = ("_bits", "_burst", "_favourite", "_groups", "_picks", "_random", "_scramble", "_threads")

    def __init__(self, threads: Threads, seed: int) -> None:
        self._threads = threads
        self._groups: dict[tuple[int, int, int, int], Group] = {}
        self._random = random.Random(seed)
        self._bits = np.random.default_rng(seed)
        self._scramble = seed != 0
        self._picks = 0
        self._burst = 0
        self._favourite: Group | None = None

    def __bool__(self) -> bool:
        return bool(self._groups)

    @property
    def scrambles(self) -> bool:
        """Whether a lone group must come back at every block, so that it can be split."""
        return self._scramble

    def turns(self, count: int) -> Any:
        """Numbers by which `count` threads of one instruction take turns at one place: None for their own order, else any."""
        return self._bits.permutation(count) if self._scramble else None

    def push(self, group: Group) -> None:
        """Let a group wait for its turn; one that stands at the same place takes it in."""
        if group.index is not None and len(group.index) == 0:
            return
        key = group.key
        found = self._groups.get(key)
        if found is None:
            group.stamp = self._picks
            self._groups[key] = group
            return
        found.index = self._union(found.index, group.index)
        if self._favourite is group:
            self._favourite = found

    def _union(self, one: Any, other: Any) -> Any:
        merged = np.concatenate((one, other))
        if len(merged) == self._threads.count:
            return None
        merged.sort(kind="stable")
        return merged

    def pop(self) -> Group | None:
        """Take the group whose turn it is; None where nobody can run."""
        if not self._groups:
            return None
        self._picks += 1
        group = self._choose() if len(self._groups) > 1 else next(iter(self._groups.values()))
        del self._groups[group.key]
        if self._scramble and self._random.random() < SPLIT_CHANCE:
            group = self._split(group)
        return group

    def _choose(self) -> Group:
        if self._burst and self._favourite is not None and self._groups.get(self._favourite.key) is self._favourite:
            self._burst -= 1
            return self._favourite
        self._burst = 0
        if self._picks % FAIR_PERIOD == 0:
            oldest = min(self._groups.values(), key=lambda group: (group.stamp, group.key))
            self._favourite, self._burst = oldest, FAIR_BURST
            return oldest
        if self._scramble and self._random.random() < STRAY_CHANCE:
            return self._groups[self._random.choice(sorted(self._groups))]
        return self._groups[min(self._groups)]

    def _split(self, group: Group) -> Group:
        """Move a random half of a group's warps to another strand; returns what stays."""
        warps = self._threads.warp if group.index is None else self._threads.warp[group.index]
        leaving = (self._bits.random(int(self._threads.warp[-1]) + 1) < 0.5)[warps]
        if leaving.all() or not leaving.any():
            return group
        index = np.arange(self._threads.count) if group.index is None else group.index
        other = group.part(index[leaving])
        other.strand = self._random.randrange(STRANDS)
        group.index = index[~leaving]
        self.push(other)
        return group
