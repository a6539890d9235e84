"""Races in global memory: plain accesses of different warps of one launch that nothing orders.

As in shared memory, of every few bytes it is known which warp wrote them last, and when, and which one read them last. Within a cluster
clocks tell what comes before what. Blocks of different clusters are ordered by strong accesses alone: what one has done before it publishes
something (a strong write, a fence) comes before what another does once it has acquired (a strong read, a fence) later than that.

Of several readers the last one counts, so that a write may go unreported that comes after that reader alone. What copies of the async
proxy move is not looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from ptxgen.emulator.hazards_clocks import Clocks
from ptxgen.emulator.memory import Region
from ptxgen.emulator.operands import Array
from ptxgen.ir import Instruction

__all__ = ["Conflict", "GlobalAccesses"]

# A stamp: the warp, counted over the whole launch (26 bits), the time (25 bits) and the statement (12 bits).
_STATEMENT_BITS, _TIME_BITS = 12, 25
_WARP = _STATEMENT_BITS + _TIME_BITS
_TIME_MASK = (1 << _TIME_BITS) - 1
_STATEMENT_MASK = (1 << _STATEMENT_BITS) - 1
_WARPS = 1 << 26

LARGEST_GRANULE = 2  # log2 of bytes: words of 32 bits, until something smaller is accessed


class Conflict(NamedTuple):
    """Accesses that nothing orders after earlier ones: for each thread and granule whether so, and for the first the byte, the earlier
    statement, and its warp in the launch."""

    lost: Array
    byte: int
    statement: Instruction
    warp: int


class _Shadow:
    """The last write and the last read of every granule of a region."""

    __slots__ = ("reads", "shift", "writes", "written")

    def __init__(self, nbytes: int) -> None:
        self.shift = LARGEST_GRANULE
        granules = (nbytes >> self.shift) + 1
        self.writes = np.zeros(granules, np.int64)
        self.reads = np.zeros(granules, np.int64)
        self.written = False

    def granules(self, flat: Array, width: int, nbytes: int) -> Array:
        """The granules of accesses, one row each; they become smaller where some access is."""
        while nbytes < 1 << self.shift:
            self.shift -= 1
            self.writes, self.reads = np.repeat(self.writes, 2), np.repeat(self.reads, 2)
        first = flat if width == 1 << self.shift else flat * width >> self.shift
        steps = nbytes >> self.shift
        return first[:, None] if steps == 1 else first[:, None] + np.arange(steps)


class GlobalAccesses:
    """What the warps of a launch have done to global memory, over all its waves."""

    def __init__(self) -> None:
        self._shadows: dict[int, _Shadow] = {}
        self._statements: list[Instruction] = []
        self._numbers: dict[int, int] = {}
        self._published: dict[int, list[int]] = {}
        self._acquired: dict[int, int] = {}
        self._warps = self._first_warp = 0
        self._clusters = self._first_cluster = 0
        self._time = self._start = 0
        self.clocks: Clocks | None = None

    def begin(self, clocks: Clocks) -> None:
        """Another wave of blocks."""
        if self.clocks is not None:
            self._start += self.clocks.time
        self.clocks = clocks
        self._first_warp, self._first_cluster = self._warps, self._clusters
        self._warps += len(clocks.now)
        self._clusters += int(clocks.cluster_of_row[-1]) + 1

    @property
    def overflown(self) -> bool:
        """Whether there are more warps or times than a stamp can hold: nothing is looked at then."""
        clocks = self.clocks
        return clocks is None or self._warps > _WARPS or self._start + clocks.time >= _TIME_MASK

    def publish(self, rows: Array) -> None:
        """Warps make what their clusters have done known to whoever acquires later."""
        for cluster in self._clusters_of(rows):
            times = self._published.setdefault(cluster, [])
            if not times or times[-1] < self._now():
                times.append(self._now())

    def acquire(self, rows: Array) -> None:
        for cluster in self._clusters_of(rows):
            self._acquired[cluster] = self._now()

    def _clusters_of(self, rows: Array) -> list[int]:
        assert self.clocks is not None
        found: list[int] = (np.unique(self.clocks.cluster_of_row[rows]) + self._first_cluster).tolist()
        return found

    def _now(self) -> int:
        assert self.clocks is not None
        return self._start + self.clocks.time

    # ---- accesses -----------------------------------------------------------------------------------------------------

    def loaded(self, region: Region, flat: Array, width: int, nbytes: int, rows: Array, statement: Instruction) -> Conflict | None:
        """Loads of whole warps of the wave `rows`; the conflict with an earlier write, if any."""
        shadow = self._shadow(region)
        where = shadow.granules(flat, width, nbytes)
        conflict = self._unordered(shadow, shadow.writes, where, rows) if shadow.written else None
        _enter(shadow.reads, where, self._stamps(rows, statement))
        return conflict

    def written(
        self, region: Region, flat: Array, width: int, nbytes: int, rows: Array, statement: Instruction
    ) -> tuple[Conflict | None, Conflict | None]:
        """Stores; the conflicts with an earlier write, and with an earlier read."""
        shadow = self._shadow(region)
        where = shadow.granules(flat, width, nbytes)
        first = self._unordered(shadow, shadow.writes, where, rows) if shadow.written else None
        second = self._unordered(shadow, shadow.reads, where, rows)
        _enter(shadow.writes, where, self._stamps(rows, statement))
        shadow.written = True
        return first, second

    def _shadow(self, region: Region) -> _Shadow:
        found = self._shadows.get(id(region))
        if found is None:
            found = self._shadows[id(region)] = _Shadow(region.data.size)
        return found

    def _stamps(self, rows: Array, statement: Instruction) -> Array:
        clocks = self.clocks
        assert clocks is not None
        number = self._numbers.get(id(statement))
        if number is None:
            number = self._numbers[id(statement)] = min(len(self._statements), _STATEMENT_MASK)
            self._statements.append(statement)
        of_rows = np.arange(self._first_warp, self._warps) << _WARP | (clocks.now + self._start) << _STATEMENT_BITS | number
        stamps: Array = of_rows[rows]
        return stamps

    def _unordered(self, shadow: _Shadow, stamps: Array, where: Array, rows: Array) -> Conflict | None:
        clocks = self.clocks
        assert clocks is not None
        earlier = stamps[where]
        if not earlier.any():
            return None
        doubtful = (earlier != 0) & (earlier >> _WARP != (rows + self._first_warp)[:, None])
        if not doubtful.any():
            return None
        position, step = np.nonzero(doubtful)
        found, own = earlier[position, step], rows[position]
        warp, time = found >> _WARP, found >> _STATEMENT_BITS & _TIME_MASK
        row = warp - self._first_warp
        here = row >= 0
        late = np.ones(len(found), np.bool_)
        near = np.flatnonzero(here & (clocks.cluster_of_row[np.where(here, row, 0)] == clocks.cluster_of_row[own]))
        late[near] = time[near] - self._start > clocks.known[0, own[near], clocks.slot[row[near]]]
        far = np.setdiff1d(np.arange(len(found)), near)
        if self._acquired and self._published:
            late[far] = [not self._across(int(warp[one]), int(time[one]), int(own[one])) for one in far.tolist()]
        if not late.any():
            return None
        lost = np.zeros(where.shape, np.bool_)
        lost[position, step] = late
        first = int(np.flatnonzero(late)[0])
        byte = int(where[position[first], step[first]]) << shadow.shift
        return Conflict(lost, byte, self._statements[int(found[first]) & _STATEMENT_MASK], int(warp[first]))

    def _across(self, warp: int, time: int, row: int) -> bool:
        """Whether something that a warp of another cluster did comes before what a warp of this wave does now."""
        clocks = self.clocks
        assert clocks is not None
        acquired = self._acquired.get(self._first_cluster + int(clocks.cluster_of_row[row]))
        published = self._published.get(warp // clocks.slots)
        if acquired is None or published is None:
            return False
        at = bisect_left(published, time)
        return at < len(published) and published[at] <= acquired


def _enter(into: Array, where: Array, stamps: Array) -> None:
    if where.shape[1] == 1:
        into[where[:, 0]] = stamps
    else:
        into[where] = stamps[:, None]
