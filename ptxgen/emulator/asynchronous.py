"""Copies in flight: what instructions that run on by themselves have begun, and when their bytes land.

A copy takes its source when it is issued and fills its destination with poison (`POISON`). The bytes land when something waits for them:
a thread's own ``wait_group``, or, for a copy that tells an mbarrier, when nobody else can run (under a seed other than 0 also sooner,
in any order). Until then whoever reads the destination is reported with the wait that is missing, whoever writes it as well, and a
source that changes on the way is reported when the copy lands.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.mbarrier import MBarrier
from ptxgen.emulator.memory import Access, Region
from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text, place
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.asynchronous_rows import Rows
    from ptxgen.emulator.machine import Wave

__all__ = ["IN_FLIGHT", "POISON", "Copies", "Copy", "Groups", "rows"]

POISON = 0xFF
"""Every byte of a destination until it lands: NaN in every floating type, -1 in integers."""

IN_FLIGHT = 1
"""What the shadow of such a byte holds, between 0 (nothing) and 255 (a value)."""

EARLY_LANDING = 1 / 16
"""How often, under a seed other than 0, copies land before anybody needs them."""


NO_COMMIT = "cp.async.bulk.commit_group by {} is missing, so that no wait_group covers the copy"
"""What a message says of a bulk copy that belongs to no closed group; of whom."""


def rows(data: Array, unit: int) -> Array:
    """Bytes as rows of `unit`; a last, incomplete row is left out."""
    return data[: data.size // unit * unit].reshape(-1, unit)


class Copy:
    """What one execution of a copy instruction has under way, for one or more threads.

    Attributes
    ----------
    statement : Instruction
    threads : array of shape (n,)
        Who issued it, ascending.
    region : Region
        Of the destination.
    unit : int
        Bytes of a row.
    where : array of shape (n, k)
        Rows of the destination that each thread's copy fills.
    data : array of shape (n, k, unit)
        What arrives there.
    open : array of bool
        Which threads' part has not landed.
    group : array of shape (n,) or None
        The number of the group that each thread will commit it to, counted from 0.
    barrier : (MBarrier, int) or None
        Whom it tells of its bytes, and in which phase it was issued.
    source : callable or None
        Reads the source again.
    combine : callable or None
        Makes of what the destination holds and what arrives what it will hold: reductions.
    reading : Rows or None
        The source where it is shared memory that the async proxy reads.
    by_proxy : bool
        Whether the async proxy brings the bytes; ``st.async`` and ``red.async`` are none of its instructions.
    """

    __slots__ = (
        "barrier", "by_proxy", "combine", "data", "group", "kind", "open", "reading", "region", "source", "statement", "threads", "unit",
        "where",
    )  # fmt: skip

    def __init__(
        self,
        statement: Instruction,
        threads: Array,
        region: Region,
        unit: int,
        where: Array,
        data: Array,
        *,
        source: Callable[[], Array] | None = None,
        combine: Callable[[Array, Array], Array] | None = None,
        barrier: tuple[MBarrier, int] | None = None,
        reading: Rows | None = None,
        by_proxy: bool = True,
    ) -> None:
        self.statement = statement
        self.threads = threads
        self.region = region
        self.unit = unit
        self.where = where
        self.data = data
        self.source = source
        self.combine = combine
        self.barrier = barrier
        self.reading = reading
        self.by_proxy = by_proxy
        self.open = np.ones(len(threads), np.bool_)
        self.group: Array | None = None
        self.kind = ""

    def holder(self, byte: int) -> int | None:
        """The position of the thread whose open part covers a byte of the region."""
        found = np.flatnonzero(self.open & (self.where == byte // self.unit).any(axis=1))
        return int(found[0]) if len(found) else None


class Groups:
    """Groups of copies, one sequence for each thread: ``cp.async`` has one kind, bulk copies another.

    A thread's copies belong to the group that its next commit closes; a wait for all but the newest `n` covers the older ones.
    """

    def __init__(self, threads: int, name: str) -> None:
        self.name = name
        self.committed = np.zeros(threads, np.int64)
        self.copies: list[Copy] = []

    def add(self, copy: Copy) -> None:
        copy.kind = self.name
        copy.group = self.committed[copy.threads].copy()
        self.copies.append(copy)

    def commit(self, index: Any) -> None:
        self.committed[slice(None) if index is None else index] += 1

    def covered(self, index: Array, newest: int) -> list[tuple[Copy, Array]]:
        """The open parts of copies, by threads of `index`, in all but the `newest` groups."""
        limit = np.full(len(self.committed), -1, np.int64)
        limit[index] = self.committed[index] - newest
        found = []
        for copy in self.copies:
            assert copy.group is not None
            part = copy.open & (copy.group < limit[copy.threads])
            if part.any():
                found.append((copy, part))
        return found

    def forget(self) -> None:
        """Drop what has landed."""
        self.copies = [copy for copy in self.copies if copy.open.any()]


class _Notice:
    """Something that will happen by itself: a copy that lands and tells its mbarrier, or an arrival behind copies."""

    __slots__ = ("copy", "happen")

    def __init__(self, happen: Callable[[], None], copy: Copy | None = None) -> None:
        self.happen = happen
        self.copy = copy


def _bytes_of(copy: Copy) -> Array:
    """The places of a copy's bytes in its region."""
    places: Array = copy.where[..., None] * copy.unit + np.arange(copy.unit)
    return places


class Copies:
    """The copies of a wave that are under way."""

    def __init__(self, wave: Wave, seed: int) -> None:
        self._wave = wave
        self._random = random.Random(seed + 1) if seed else None
        self._notices: list[_Notice] = []
        self.plain = Groups(wave.threads.count, "cp.async")
        self.bulk = Groups(wave.threads.count, "cp.async.bulk")
        self.used = False
        self._combining: dict[int, Array] = {}

    # ---- beginning ----------------------------------------------------------------------------------------------------

    def begin(self, copy: Copy) -> None:
        """Poison the destination; `land` will bring the bytes."""
        self.used = True
        region = copy.region
        if region.written is None:
            return
        shadow = rows(region.written, copy.unit)
        if self._wave.checks:
            hit = shadow[copy.where] == IN_FLIGHT
            if copy.combine is not None:
                hit &= self._combining_over(region)[_bytes_of(copy)] == 0
            busy = hit.any(axis=2).any(axis=1)
            if busy.any():
                self._report_overlap(copy, busy)
            self._wave.hazards.overwritten(copy)
        shadow[copy.where] = IN_FLIGHT
        if copy.combine is None:
            rows(region.data, copy.unit)[copy.where] = POISON
        else:
            np.add.at(self._combining_over(region), _bytes_of(copy), 1)

    def _combining_over(self, region: Region) -> Array:
        """For each byte of a region how many copies are under way that will be combined into it: these may meet."""
        found = self._combining.get(id(region))
        if found is None:
            found = self._combining[id(region)] = np.zeros(region.data.size, np.uint32)
        return found

    def tell(self, copy: Copy, barrier: MBarrier, nbytes: int) -> None:
        """The copy tells an mbarrier of its bytes once it has landed."""
        copy.barrier = barrier, barrier.phase
        copy.kind = "mbarrier"

        def happen() -> None:
            self.land(copy, copy.open.copy())
            self._wave.hazards.landed(copy, barrier)
            self._wave.mbarriers.transact(barrier, int(copy.threads[0]), -nbytes, copy.statement)

        self._notices.append(_Notice(happen, copy))

    def arrive_behind(self, barrier: MBarrier, threads: Array, statement: Instruction) -> None:
        """The threads arrive at an mbarrier once the ``cp.async`` that they have issued so far have landed."""
        self.used = True
        ahead = [(copy, copy.open & np.isin(copy.threads, threads)) for copy in self.plain.copies]
        ahead = [(copy, part) for copy, part in ahead if part.any()]
        for copy, _ in ahead:
            copy.barrier = barrier, barrier.phase

        def happen() -> None:
            for copy, part in ahead:
                self.land(copy, part & copy.open)
                self._wave.hazards.landed(copy, barrier)
            self.plain.forget()
            self._wave.mbarriers.arrive(barrier, threads, np.ones(len(threads), np.int64), statement)

        self._notices.append(_Notice(happen))

    def later(self, happen: Callable[[], None]) -> None:
        """Something else that happens by itself, when nobody can run or sooner: what a commit tells."""
        self._notices.append(_Notice(happen))

    # ---- landing ------------------------------------------------------------------------------------------------------

    def deliver(self) -> bool:
        """Let what is under way to mbarriers happen; False where nothing is."""
        notices, self._notices = self._notices, []
        if not notices:
            return False
        if self._random is not None:
            self._random.shuffle(notices)
            count = self._random.randint(1, len(notices))
            notices, kept = notices[:count], notices[count:]
            self._notices = kept
        for notice in notices:
            notice.happen()
        return True

    def maybe_deliver(self) -> None:
        """Under a seed other than 0 copies land at any time."""
        if self._notices and self._random is not None and self._random.random() < EARLY_LANDING:
            self.deliver()

    def wait(self, groups: Groups, index: Array, newest: int, *, reads_only: bool = False) -> None:
        """Threads wait for all but their `newest` groups: these land (or, `reads_only`, have at least read their source)."""
        for copy, part in groups.covered(index, newest):
            if reads_only:
                self._read(copy)
            else:
                self.land(copy, part)
                self._wave.hazards.landed(copy, None, part)
        if not reads_only:
            groups.forget()

    def land(self, copy: Copy, part: Array) -> None:
        """The bytes of some threads' parts arrive."""
        if not part.any():
            return
        self._read(copy)
        where, data = copy.where[part], copy.data[part]
        target = rows(copy.region.data, copy.unit)
        target[where] = data if copy.combine is None else copy.combine(target[where], data)
        if copy.region.written is not None and copy.combine is None:
            rows(copy.region.written, copy.unit)[where] = 255
        elif copy.region.written is not None:
            coming, places = self._combining_over(copy.region), _bytes_of(copy)[part]
            np.subtract.at(coming, places, 1)
            rows(copy.region.written, copy.unit)[where] = np.where(coming[places] == 0, 255, IN_FLIGHT)
        copy.open &= ~part

    def _read(self, copy: Copy) -> None:
        """The source has been read: it may change from now on."""
        if copy.source is not None:
            now = copy.source()
            if self._wave.checks and not np.array_equal(now, copy.data):
                self._wave.reports.add(
                    "in flight", "the source of this copy was overwritten before a wait for the copy had returned",
                    copy.statement, self._wave.threads, copy.threads, subject="source",
                )  # fmt: skip
            copy.source = None
        if copy.reading is not None:
            for _, region, where in copy.reading.pieces:
                self._wave.hazards.source_done(copy.threads, region, where[None] * copy.reading.unit, copy.reading.unit)
            copy.reading = None

    def finish(self, *, stuck: bool = False) -> None:
        """Every thread has exited: what is still under way was waited for by nobody, and lands."""
        while self._notices:
            notices, self._notices = self._notices, []
            for notice in notices:
                copy = notice.copy
                if copy is not None and self._wave.checks and not stuck:
                    told = f"the block has exited, and nobody has waited for this copy: {self._missing(copy, 0)}"
                    self._wave.reports.add("in flight", told, copy.statement, self._wave.threads, copy.threads, subject="exit")
                    self.land(copy, copy.open.copy())
        for copy in self.bulk.copies:
            if copy.reading is not None and self._wave.checks and not stuck:
                missing = "cp.async.bulk.wait_group.read 0 is missing"
                if self._open_group(copy).any():
                    missing = NO_COMMIT.format("its thread")
                told = f"the block has exited while this copy reads its shared memory: {missing}"
                self._wave.reports.add("in flight", told, copy.statement, self._wave.threads, copy.threads, subject="exit")
            self.land(copy, copy.open.copy())

    def _open_group(self, copy: Copy) -> Array:
        """For which of its threads no commit has closed the group of a bulk copy."""
        assert copy.group is not None
        found: Array = copy.group == self.bulk.committed[copy.threads]
        return found

    def uncommitted(self, statement: Instruction, among: Array) -> bool:
        """Whether bulk copies by this statement in these threads (a mask), still reading, are in no group that a wait could cover."""
        return any(
            bool((self._open_group(copy) & among[copy.threads]).any())
            for copy in self.bulk.copies
            if copy.statement is statement and copy.reading is not None
        )

    # ---- what memory asks ---------------------------------------------------------------------------------------------

    def in_flight(self, access: Access, region: Region, flat: Array, bad: Array, threads: Array) -> Array:
        """Which of the loads `bad` find a byte that a copy will fill; these are reported."""
        found = np.zeros(len(bad), np.bool_)
        if not self.used or region.written is None:
            return found
        positions = np.flatnonzero(bad)
        start = flat[positions] << access.shift
        span = region.written[start[:, None] + np.arange(access.nbytes)] == IN_FLIGHT
        caught = span.any(axis=1)
        if not caught.any():
            return found
        found[positions[caught]] = True
        first = int(np.flatnonzero(caught)[0])
        byte = int(start[first]) + int(np.flatnonzero(span[first])[0])
        affected = threads[positions[caught]] if len(flat) > 1 or len(threads) == 1 else threads
        self._report_touch(access.statement, region, byte, int(start[first]), access.nbytes, affected, "are read")
        return found

    def stored(self, access: Access, region: Region, flat: Array, threads: Array) -> None:
        """Look whether a store hits the destination of a copy under way."""
        if not self.used or region.written is None:
            return
        start = flat << access.shift
        shadow = region.written_words(access.width)
        hit = (shadow[flat] & 0xFF) == IN_FLIGHT
        if hit.any():
            byte = int(start[np.flatnonzero(hit)[0]])
            affected = threads[hit] if len(hit) > 1 else threads
            self._report_touch(access.statement, region, byte, byte, access.nbytes, affected, "are written")

    def _report_touch(self, statement: Instruction, region: Region, byte: int, start: int, nbytes: int, threads: Array, verb: str) -> None:
        copy, position = self._copy_over(region, byte)
        told = f"{nbytes} bytes at {self.name(region, start)} {verb} while "
        if copy is None:
            told += "a copy is on its way to them"
        else:
            told += f"{self._spoken(copy)} is on its way to them: {self._missing(copy, position, int(threads[0]))}"
        self._wave.reports.add("in flight", told, statement, self._wave.threads, threads, subject=verb)

    def _report_overlap(self, copy: Copy, busy: Array) -> None:
        first = int(np.flatnonzero(busy)[0])
        shadow = rows(copy.region.written, copy.unit)  # type: ignore[arg-type]
        row = int(copy.where[first][(shadow[copy.where[first]] == IN_FLIGHT).any(axis=1)][0])
        other, position = self._copy_over(copy.region, row * copy.unit, besides=copy)
        told = f"copies into {self.name(copy.region, row * copy.unit)} while "
        told += "another copy" if other is None else self._spoken(other)
        told += " is on its way there"
        if other is not None:
            told += f": {self._missing(other, position)}"
        self._wave.reports.add("in flight", told, copy.statement, self._wave.threads, copy.threads[busy], subject="overlap")

    def _copy_over(self, region: Region, byte: int, besides: Copy | None = None) -> tuple[Copy | None, int]:
        everything = [*self.plain.copies, *(notice.copy for notice in self._notices if notice.copy is not None), *self.bulk.copies]
        for copy in reversed(everything):
            if copy is not besides and copy.region is region and (position := copy.holder(byte)) is not None:
                return copy, position
        return None, 0

    def name(self, region: Region, byte: int) -> str:
        """A byte of a region's data, by the variable that holds it."""
        variable, inside = region.describe(byte % region.stride if region.stride else byte)
        return f"{variable} byte {inside}"

    @staticmethod
    def _spoken(copy: Copy) -> str:
        where = "" if copy.statement.where is None else f" ({place(copy.statement.where)})"
        return f"{copy.statement.opcode}{where}"

    def _missing(self, copy: Copy, position: int, reader: int | None = None) -> str:
        """The wait that would have made a copy's bytes visible, to the thread `reader` where that matters."""
        thread = int(copy.threads[position])
        block, inside = self._wave.threads.name(thread)
        who = f"thread {index_text(inside)} of block {index_text(block)}"
        if copy.barrier is not None:
            barrier, phase = copy.barrier
            warp = -1 if reader is None else int(self._wave.threads.warp[reader])
            return barrier.missing(phase, warp)
        groups = self.plain if copy.kind == "cp.async" else self.bulk
        assert copy.group is not None
        newer = int(groups.committed[thread] - copy.group[position]) - 1
        if newer < 0:
            return f"{who} has committed it to no group ({groups.name}.commit_group), so that no wait_group covers it"
        return f"{groups.name}.wait_group {newer} by {who} is missing"
