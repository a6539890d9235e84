"""Races in shared memory: accesses of different warps, or of a warp and a copy, that nothing orders.

For every few bytes of shared memory it is known who wrote them last and which warps have read them since, with each one's clock at that
time. An access is a race where such an earlier one is not among what its warp knows to have happened before (`hazards_clocks`). Accesses
of the async proxy must in addition find a ``fence.proxy.async`` of the writer, or reader, before the barrier that orders them.

Not covered: lanes of one warp (taken as ordered), and scopes. Strong accesses (``.volatile``, ``.relaxed``, ``.acquire``, ``.release``) are
taken to order whatever comes before them in one warp and behind them in another. `hazards_global` looks at global memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.asynchronous import NO_COMMIT, Copies, Copy
from ptxgen.emulator.hazards_clocks import INITS, Clocks
from ptxgen.emulator.hazards_global import Conflict, GlobalAccesses
from ptxgen.emulator.mbarrier import MBarrier
from ptxgen.emulator.memory import Access, Region
from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text, place
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["Hazards"]

# A stamp: the agent (16 bits, writes alone), a clock (32 bits), whether the async proxy did it (1 bit), and the statement (15 bits).
_STATEMENT_BITS = 15
_ASYNC = 1 << _STATEMENT_BITS
_CLOCK = _STATEMENT_BITS + 1
_AGENT = 48
_CLOCK_MASK = (1 << _AGENT - _CLOCK) - 1
_READING = (1 << 31) - 1
"""The clock of a read that goes on: after everything that anybody can know."""

# The latest read of a granule: its clock, the statement, and the warp's slot + 1 where no other reader matters, else all ones.
_READER = 31
_NUMBER = 16
_SLOT = (1 << _NUMBER) - 1

LARGEST_GRANULE = 4  # log2 of bytes


class Hazards:
    """What is told of every access to shared memory, and of everything that orders accesses."""

    def __init__(self, wave: Wave, copies: Copies, everywhere: GlobalAccesses | None) -> None:
        self._wave = wave
        self._copies = copies
        self.races = everywhere is not None
        self._global = everywhere
        self._region: Region | None = None
        self._statements: list[Instruction] = []
        self._numbers: dict[int, int] = {}
        self._atomics: set[int] = set()
        self._waits: dict[int, str] = {}
        self._barriers: dict[Any, Array] = {}
        self._numbered: dict[int, Array] = {}
        self._gone: Array | None = None
        self._landed = False
        self._objects: dict[MBarrier, _Ordered] = {}
        self._remote: dict[tuple[int, int], tuple[int, MBarrier, int, Instruction]] = {}
        self._agents: dict[tuple[int, int], MBarrier] = {}
        if everywhere is None:
            return
        self._clocks = Clocks(wave.threads, everywhere.clocks)
        everywhere.begin(self._clocks)
        if "shared" in wave.memory.spaces:
            self._region = wave.memory.spaces["shared"]
            self._shift = LARGEST_GRANULE
            granules = self._region.data.size >> self._shift
            self._writes = np.zeros(granules, np.int64)
            self._reads = np.zeros((granules, self._clocks.slots), np.int64)
            self._latest = np.zeros(granules, np.int64)

    # ---- what orders --------------------------------------------------------------------------------------------------

    def all_met(self) -> None:
        """Every thread of the wave has taken its block's barrier."""
        if self.races:
            self._clocks.meet()

    def block_arrived(self, number: int, index: Any) -> None:
        """Threads arrive at a numbered barrier of their blocks."""
        if self.races:
            rows = self._clocks.rows(self._wave.indices(index))
            self._numbered[number] = self._clocks.release_by_block(rows, self._numbered.get(number))

    def block_passed(self, number: int, index: Any) -> None:
        """Threads go on behind a numbered barrier."""
        if self.races and number in self._numbered:
            rows = self._clocks.rows(self._wave.indices(index))
            self._clocks.acquire_by_block(rows, self._numbered[number])
            if self._gone is not None:
                self._clocks.acquire_by_block(rows, self._gone)

    def block_done(self, number: int, complete: Array, whole: Array) -> None:
        """Blocks are done with a numbered barrier, and it is ready for its next use; in those of `whole` all threads took it."""
        if self.races and number in self._numbered:
            self._numbered[number][:, complete] = 0
            self._clocks.all_known(np.flatnonzero(whole[self._clocks.block_of_row]))

    def barrier_arrived(self, name: Any, threads: Array) -> None:
        """Threads of one cluster arrive at the barrier `name`."""
        if self.races:
            into = self._barriers.get(name)
            into = self._clocks.fresh() if into is None else into
            self._barriers[name] = self._clocks.release(self._clocks.rows(threads), into)

    def barrier_arrived_relaxed(self, name: Any, cluster: int, threads: Array) -> None:
        """The same by ``.relaxed``: only what a fence in front has released, and mbarriers behind their ``fence.mbarrier_init``."""
        if self.races:
            into = self._barriers.get(name)
            into = self._clocks.release_inits(self._clocks.rows(threads), self._clocks.fresh() if into is None else into)
            fenced = self._barriers.get(("strong", cluster))
            if fenced is not None:
                into[:, : fenced.shape[1]] = np.maximum(into[:, : fenced.shape[1]], fenced)
            self._barriers[name] = into

    def barrier_passed(self, name: Any, threads: Array) -> None:
        """Threads of one cluster go on behind a barrier."""
        if self.races and name in self._barriers:
            self._clocks.acquire(self._clocks.rows(threads), self._barriers[name])
            self._after_exits(threads)

    def _after_exits(self, threads: Array) -> None:
        """Who has exited holds nobody up and counts as arrived."""
        if self._gone is not None:
            clocks = self._clocks
            for cluster, part in self._by_cluster(threads):
                blocks = clocks.block_of_row[clocks.cluster_of_row == cluster]
                clocks.acquire(clocks.rows(part), self._gone[:, blocks].max(axis=1))

    def exited(self, threads: Array) -> None:
        if self.races and self._wave.alive.any():
            self._gone = self._clocks.release_by_block(self._clocks.rows(threads), self._gone)

    def _by_cluster(self, threads: Array) -> list[tuple[int, Array]]:
        clusters = self._clocks.cluster_of_row[self._clocks.row[threads]]
        return [(int(cluster), threads[clusters == cluster]) for cluster in np.unique(clusters)]

    def fenced(self, threads: Array) -> None:
        """``fence.proxy.async``."""
        if self.races:
            self._clocks.fence(self._clocks.rows(threads))

    def inits_fenced(self, threads: Array) -> None:
        """``fence.mbarrier_init``."""
        if self.races:
            self._clocks.fence_inits(self._clocks.rows(threads))

    def strong(self, threads: Array, *, reads: bool, writes: bool) -> None:
        """A strong access, through which threads may talk to one another."""
        if self._global is not None:
            rows = self._clocks.rows(threads)
            if reads:
                self._global.acquire(rows)
            if writes:
                self._global.publish(rows)
            for cluster, part in self._by_cluster(threads):
                if reads:
                    self.barrier_passed(("strong", cluster), part)
                if writes:
                    self.barrier_arrived(("strong", cluster), part)

    # ---- moments ------------------------------------------------------------------------------------------------------

    def moment(self, thread: int) -> tuple[int, int]:
        """The warp of a thread, and its clock: when what it does now happens."""
        row = int(self._clocks.row[thread])
        return row, int(self._clocks.now[row])

    def ordered(self, moment: tuple[int, int], thread: int) -> bool:
        """Whether something that a warp of the same cluster did comes before what a thread does now."""
        row, clock = moment
        own = int(self._clocks.row[thread])
        return row == own or bool(self._clocks.known[0, own, self._clocks.slot[row]] >= clock)

    def warp_named(self, moment: tuple[int, int]) -> str:
        return self._warp(moment[0])

    # ---- mbarriers ----------------------------------------------------------------------------------------------------

    def barrier_made(self, barrier: MBarrier, thread: int) -> None:
        if self.races:
            row = int(self._clocks.row[thread])
            agent = self._clocks.mbarrier(row)
            self._objects[barrier] = _Ordered(agent, self._clocks.fresh(), row, int(self._clocks.now[row]))
            self._agents[int(self._clocks.cluster_of_row[row]), agent] = barrier

    def barrier_used(self, barrier: MBarrier, thread: int, statement: Instruction, *, by_proxy: bool = False) -> None:
        """Whoever uses an object must know of its initialisation; `by_proxy`: what the thread has begun will use it in the async proxy."""
        ordered = self._objects.get(barrier)
        if ordered is None:
            return
        clocks = self._clocks
        row = int(clocks.row[thread])
        if barrier.block != int(self._wave.threads.block[thread]):
            self._remote[barrier.block, row] = int(clocks.now[row]), barrier, thread, statement
        known = clocks.known[:, row, clocks.slot[ordered.maker]]
        made = f"{_spoken(barrier.statement)} in {self._warp(ordered.maker)}"
        if max(known[0], known[INITS]) < ordered.made:
            told = f"mbarrier {barrier.name} is used, and nothing orders this after {made}: a barrier between them is missing"
            self._wave.reports.add("race", told, statement, self._wave.threads, np.array([thread]), subject="init")
        elif by_proxy and known[INITS] < ordered.made:
            told = (
                f"mbarrier {barrier.name} is told by the async proxy, and {made} initialised it by the generic proxy:"
                " fence.mbarrier_init.release.cluster (or fence.proxy.async) behind the init, before the barrier in between, is missing"
            )
            self._wave.reports.add("proxy fence", told, statement, self._wave.threads, np.array([thread]), subject="init")

    def finish(self) -> None:
        """All have exited: the last use of another block's mbarrier must have come before what that block did last."""
        for (block, row), (clock, barrier, thread, statement) in self._remote.items():
            clocks = self._clocks
            owners = clocks.block_of_row == block
            if clocks.known[0, owners, clocks.slot[row]].max() < clock:
                told = (
                    f"mbarrier {barrier.name} of another block is used, and nothing orders this before the exit of that block:"
                    " a barrier of the cluster is missing"
                )
                self._wave.reports.add("race", told, statement, self._wave.threads, np.array([thread]), subject="exit")

    def released(self, barrier: MBarrier, threads: Array) -> None:
        ordered = self._objects.get(barrier)
        if ordered is not None:
            ordered.arriving = self._clocks.release(self._clocks.rows(threads), ordered.arriving)

    def phase_completed(self, barrier: MBarrier) -> None:
        ordered = self._objects.get(barrier)
        if ordered is not None:
            ordered.completed = ordered.arriving.copy()
            ordered.visible = ordered.landed

    def acquired(self, barrier: MBarrier, threads: Array) -> None:
        ordered = self._objects.get(barrier)
        if ordered is not None:
            rows = self._clocks.rows(threads)
            self._clocks.acquire(rows, ordered.completed)
            self._learn(rows, ordered, ordered.visible)

    def _learn(self, rows: Array, ordered: _Ordered, clock: int) -> None:
        known = self._clocks.known
        known[:, rows, ordered.agent] = np.maximum(known[:, rows, ordered.agent], clock)

    # ---- accesses of threads ------------------------------------------------------------------------------------------

    def in_flight(self, access: Access, region: Region, flat: Array, bad: Array, threads: Array) -> Array:
        return self._copies.in_flight(access, region, flat, bad, threads)

    def loaded(self, access: Access, region: Region, flat: Array, threads: Array) -> None:
        if not self.races or access.strong:
            return
        flat = np.broadcast_to(flat, len(threads))
        rows = self._clocks.row[threads]
        if region is not self._region:
            self._loaded_globally(access, region, flat, rows, threads)
            return
        where = self._granules(flat, access.width, access.nbytes)
        lost = self._unordered_writes(where, rows)
        if lost is not None:
            self._report(access, where, lost, threads, "are read", self._writes[where])
        self._note_reads(where, rows, self._number(access.statement))

    def _note_reads(self, where: Array, rows: Array, number: int) -> None:
        """A reader takes the place of earlier ones that it knows of: whoever comes after it comes after them. Others stay beside it."""
        clocks = self._clocks
        slots, now = clocks.slot[rows], clocks.now[rows]
        before = self._latest[where]
        others = (before & _SLOT) != slots[:, None] + 1
        others &= (before >> _READER) > clocks.floor[rows][:, None]
        latest = (now << _READER | number << _NUMBER | slots + 1)[:, None]
        if others.any():
            position, step = np.nonzero(others)
            granules = where[position, step]
            self._spread(granules)
            self._reads[granules, slots[position]] = now[position] << _CLOCK | number
            latest = np.where(others, np.maximum(before, latest) | _SLOT, latest)
        self._latest[where] = latest

    def _spread(self, granules: Array) -> None:
        """Enter the only reader of each granule among the readers of each warp."""
        latest = self._latest[granules]
        alone = (latest & _SLOT != 0) & (latest & _SLOT != _SLOT)
        latest = latest[alone]
        self._reads[granules[alone], (latest & _SLOT) - 1] = _stamp_of(latest)

    def stored(self, access: Access, region: Region, flat: Array, threads: Array, values: Sequence[Array | None] = ()) -> None:
        self._copies.stored(access, region, flat, threads)
        if not self.races or access.strong:
            return
        flat = np.broadcast_to(flat, len(threads))
        rows = self._clocks.row[threads]
        if region is not self._region:
            self._stored_globally(access, region, flat, rows, threads, values)
            return
        where = self._granules(flat, access.width, access.nbytes)
        lost = self._unordered_writes(where, rows)
        if lost is not None and (lost := self._changing(lost, access, region, flat, values)).any():
            self._report(access, where, lost, threads, "are written", self._writes[where])
        self._check_reads(access, region, flat, where, rows, threads, values)
        clocks = self._clocks
        stamp = clocks.slot[rows] << _AGENT | clocks.now[rows] << _CLOCK | self._number(access.statement)
        self._writes[where] = stamp[:, None]
        self._latest[where] = 0

    def combined(self, access: Access, region: Region, flat: Array, threads: Array) -> None:
        """Atomic updates: no races among themselves, but with plain accesses that nothing orders."""
        self._copies.stored(access, region, flat, threads)
        if not self.races:
            return
        if region is not self._region:
            self.strong(threads, reads=True, writes=True)  # without a word an atomic is relaxed, and thus strong
            return
        where = self._granules(flat, access.width, access.nbytes)
        rows = self._clocks.row[threads]
        lost = self._unordered_writes(where, rows)
        if lost is not None and (lost := self._besides_atomics(lost, self._writes[where])) is not None:
            self._report(access, where, lost, threads, "are combined into", self._writes[where])
        self._check_reads(access, region, flat, where, rows, threads, ())
        number = self._number(access.statement)
        self._atomics.add(number)
        self._writes[where] = (self._clocks.slot[rows] << _AGENT | self._clocks.now[rows] << _CLOCK | number)[:, None]
        self._latest[where] = 0

    def _besides_atomics(self, lost: Array, stamps: Array) -> Array | None:
        """Without the granules that an atomic update wrote last; None where nothing is left."""
        lost = lost & ~np.isin(stamps & _ASYNC - 1, list(self._atomics))
        return lost if lost.any() else None

    def _loaded_globally(self, access: Access, region: Region, flat: Array, rows: Array, threads: Array) -> None:
        assert self._global is not None
        if self._global.overflown:
            return
        conflict = self._global.loaded(region, flat, access.width, access.nbytes, rows, access.statement)
        if conflict is not None:
            self._report_global(access, region, conflict, threads, "are read", "write")

    def _stored_globally(
        self, access: Access, region: Region, flat: Array, rows: Array, threads: Array, values: Sequence[Array | None]
    ) -> None:
        assert self._global is not None
        if self._global.overflown:
            return
        conflicts = self._global.written(region, flat, access.width, access.nbytes, rows, access.statement)
        for conflict, before in zip(conflicts, ("write", "read")):
            if conflict is not None and (lost := self._changing(conflict.lost, access, region, flat, values)).any():
                self._report_global(access, region, conflict._replace(lost=lost), threads, "are written", before)

    def _report_global(self, access: Access, region: Region, conflict: Conflict, threads: Array, verb: str, before: str) -> None:
        told = (
            f"{access.nbytes} bytes at {self._copies.name(region, conflict.byte)} {verb}, and nothing orders this after the {before} by"
            f" {_spoken(conflict.statement)} in {self._warp_of_launch(conflict.warp)}"
        )
        self._wave.reports.add(
            "race", told, access.statement, self._wave.threads, threads[conflict.lost.any(axis=1)], subject=f"{region.name} {verb} {before}"
        )

    def _check_reads(
        self, access: Access, region: Region, flat: Array, where: Array, rows: Array, threads: Array, values: Sequence[Array | None]
    ) -> None:
        clocks = self._clocks
        latest = self._latest[where]
        doubtful = (latest >> _READER > clocks.floor[rows][:, None]) & ((latest & _SLOT) != clocks.slot[rows][:, None] + 1)
        if not doubtful.any():
            return
        position, step = np.nonzero(doubtful)
        latest, known = latest[position, step], clocks.known[0, rows[position]]
        readers = (latest & _SLOT) - 1
        many = np.flatnonzero(readers == _SLOT - 1)
        readers[many] = 0
        stamps = readers << _AGENT | _stamp_of(latest)
        late = latest >> _READER > known[np.arange(len(known)), readers]
        if len(many):
            reads = self._reads[where[position[many], step[many]]]
            unknown = (reads >> _CLOCK) > known[many, : clocks.slots]
            first = unknown.argmax(axis=1)
            late[many] = unknown.any(axis=1)
            stamps[many] = first.astype(np.int64) << _AGENT | np.take_along_axis(reads, first[:, None], axis=1)[:, 0]
        lost = np.zeros(where.shape, np.bool_)
        lost[position, step] = late
        if lost.any() and (lost := self._changing(lost, access, region, flat, values)).any():
            told = np.zeros(where.shape, np.int64)
            told[position, step] = stamps
            self._report(access, where, lost, threads, "are written", told, "read")

    def _granules(self, flat: Array, width: int, nbytes: int) -> Array:
        """The granules of accesses: one row each."""
        while nbytes < 1 << self._shift:
            self._refine()
        first = flat * width >> self._shift
        steps = nbytes >> self._shift
        return first[:, None] if steps == 1 else first[:, None] + np.arange(steps)

    def _refine(self) -> None:
        """Halve the granule: some access is smaller."""
        self._shift -= 1
        self._writes = np.repeat(self._writes, 2)
        self._reads = np.repeat(self._reads, 2, axis=0)
        self._latest = np.repeat(self._latest, 2)

    def _unordered_writes(self, where: Array, rows: Array, proxy: int = 0) -> Array | None:
        """Where the last write is not among what a warp knows; None where all are."""
        clocks = self._clocks
        writes = self._writes[where]
        if proxy:
            writes = np.where(writes & _ASYNC, 0, writes)
            late = writes != 0
        else:
            late = (writes >> _CLOCK & _CLOCK_MASK) > clocks.floor[rows][:, None]
            if self._landed:
                late |= writes >> _AGENT >= clocks.slots
        if not late.any():
            return None
        position, step = np.nonzero(late)
        doubtful = writes[position, step]
        unknown = (doubtful >> _CLOCK & _CLOCK_MASK) > clocks.known[proxy, rows[position], doubtful >> _AGENT]
        if not unknown.any():
            return None
        late[position, step] = unknown
        return late

    def _changing(self, lost: Array, access: Access, region: Region, flat: Array, values: Sequence[Array | None]) -> Array:
        """Of racing stores those that change something: equal values may be written by anybody."""
        if not values:
            return lost
        words = region.words(access.width)
        differs = np.zeros(len(flat), np.bool_)
        for step, value in enumerate(values):
            if value is not None:
                differs |= words[flat + step] != value
        return lost & differs[:, None]

    # ---- accesses of copies -------------------------------------------------------------------------------------------

    def overwritten(self, copy: Copy) -> None:
        """A copy begins to write: earlier accesses must be ordered before its issue, and known to its proxy."""
        if not self.races or copy.region is not self._region:
            return
        if copy.combine is not None:
            self._atomics.add(self._number(copy.statement))
        self._check_async(copy.statement, copy.threads, copy.region, copy.where * copy.unit, copy.unit, "are overwritten", reads=True,
                          proxy=copy.by_proxy and copy.kind != "cp.async", atomic=copy.combine is not None)  # fmt: skip

    def landed(self, copy: Copy, barrier: MBarrier | None, part: Array | None = None) -> None:
        """Bytes have arrived: those who pass `barrier`, or come after the wait of the copying thread, may see them."""
        if not self.races or copy.region is not self._region:
            if self.races and barrier is None and copy.barrier is not None:
                self._learn_own(copy)
            return
        clocks = self._clocks
        rows = clocks.row[copy.threads]
        number = self._number(copy.statement)
        if barrier is None and copy.barrier is None:
            stamps = clocks.slot[rows] << _AGENT | clocks.now[rows] << _CLOCK | _ASYNC * (copy.kind != "cp.async") | number
        elif barrier is None:
            self._learn_own(copy)
            return
        else:
            ordered = self._objects.get(barrier)
            if ordered is None:
                return
            clocks.time += 1
            ordered.landed = clocks.time
            ordered.phases[clocks.time] = barrier.phase
            self._landed = True
            stamps = np.full(len(rows), ordered.agent << _AGENT | clocks.time << _CLOCK | _ASYNC | number)
        where = self._granules(copy.where.reshape(-1), copy.unit, copy.unit).reshape(len(rows), -1)
        if part is not None:
            where, stamps = where[part], stamps[part]
        self._writes[where] = stamps[:, None]
        self._latest[where] = 0

    def _learn_own(self, copy: Copy) -> None:
        """A thread waits for its group though an mbarrier has told of it: it may see the bytes as well."""
        assert copy.barrier is not None
        barrier, _ = copy.barrier
        ordered = self._objects.get(barrier)
        if ordered is not None:
            self._learn(self._clocks.rows(copy.threads), ordered, ordered.landed)

    def source_reading(self, statement: Instruction, threads: Array, region: Region, first: Array, nbytes: int, wait: str) -> None:
        """The async proxy begins to read shared memory for some threads, `nbytes` from each byte `first` (shape (n, k)) of the region.

        Until `source_done`, which `wait` brings about, nobody may write there. For copies out of shared memory, and for the operands of
        asynchronous matrix instructions.
        """
        if not self.races or region is not self._region:
            return
        self._waits[id(statement)] = wait
        self._check_async(statement, threads, region, first, nbytes, "are read")
        where = self._granules(first.reshape(-1), 1, nbytes).reshape(len(threads), -1)
        slots = self._clocks.slot[self._clocks.row[threads]]
        self._spread(where.reshape(-1))
        self._reads[where, slots[:, None]] = _READING << _CLOCK | _ASYNC | self._number(statement)
        self._latest[where] = _READING << _READER | _SLOT

    def source_done(self, threads: Array, region: Region, first: Array, nbytes: int) -> None:
        """The threads' wait tells that what `source_reading` began is over."""
        if not self.races or region is not self._region:
            return
        where = self._granules(first.reshape(-1), 1, nbytes).reshape(len(threads), -1)
        rows = self._clocks.row[threads]
        slots = self._clocks.slot[rows][:, None]
        going = self._reads[where, slots]
        ended = self._clocks.now[rows][:, None] << _CLOCK | going & (1 << _CLOCK) - 1
        self._reads[where, slots] = np.where(going >> _CLOCK == _READING, ended, going)

    def source_told(self, reader: int, threads: Array) -> None:
        """Other threads have waited for what a thread read as well: they know all that it has done up to then."""
        if self.races:
            clocks, row = self._clocks, int(self._clocks.row[reader])
            rows, slot = clocks.rows(threads), int(clocks.slot[row])
            clocks.known[0, rows, slot] = np.maximum(clocks.known[0, rows, slot], clocks.now[row])

    def _check_async(
        self, statement: Instruction, threads: Array, region: Region, first: Array, nbytes: int, verb: str,
        *, reads: bool = False, proxy: bool = True, atomic: bool = False,
    ) -> None:  # fmt: skip
        access = Access(statement, "shared", min(nbytes, 8), max(nbytes // 8, 1))
        where = self._granules(first.reshape(-1), 1, nbytes).reshape(len(threads), -1)
        rows = self._clocks.row[threads]
        stamps = self._writes[where]
        lost = self._unordered_writes(where, rows)
        if lost is not None and atomic:
            lost = self._besides_atomics(lost, stamps)
        if lost is not None:
            self._report(access, where, lost, threads, verb, stamps)
            return
        lost = self._unordered_writes(where, rows, 1) if proxy else None
        if lost is not None and atomic:
            lost = self._besides_atomics(lost, np.where(stamps & _ASYNC, stamps, _ASYNC - 1))  # by the same proxy
        if lost is not None:
            self._report_proxy(access, where, lost, threads, verb, stamps, "wrote")
            return
        if not reads:
            return
        self._spread(where.reshape(-1))
        readers = self._reads[where]
        for view in (0, 1) if proxy else (0,):
            seen = np.where(readers & _ASYNC, 0, readers) if view else readers
            late = (seen >> _CLOCK) > self._clocks.known[view, rows, None, : self._clocks.slots]
            unordered = np.asarray(late.any(axis=2))
            if unordered.any():
                agent = late.argmax(axis=2).astype(np.int64)
                stamps = agent << _AGENT | np.take_along_axis(readers, agent[:, :, None], axis=2)[:, :, 0]
                if view:
                    self._report_proxy(access, where, unordered, threads, verb, stamps, "read")
                else:
                    self._report(access, where, unordered, threads, verb, stamps, "read")
                return

    # ---- reports ------------------------------------------------------------------------------------------------------

    def _number(self, statement: Instruction) -> int:
        found = self._numbers.get(id(statement))
        if found is None:
            found = self._numbers[id(statement)] = min(len(self._statements), _ASYNC - 1)
            self._statements.append(statement)
        return found

    def _warp(self, row: int) -> str:
        clocks = self._clocks
        thread = int(np.flatnonzero(clocks.row == row)[0])
        block, _ = self._wave.threads.name(thread)
        return f"warp {int(self._wave.threads.linear[thread]) // 32} of block {index_text(block)}"

    def _warp_of_launch(self, number: int) -> str:
        """A warp by its number in the launch: blocks in their order, where clusters do not say otherwise."""
        launch = self._wave.threads.launch
        if not self._clocks.alone:  # all blocks of the launch are one wave
            return self._warp(number)
        block, warp = divmod(number, launch.warps)
        x, y, _ = launch.grid
        return f"warp {warp} of block {index_text((block % x, block // x % y, block // (x * y)))}"

    def _first(self, where: Array, lost: Array, stamps: Array, threads: Array) -> tuple[str, int, int, int]:
        """Name of the first granule at fault, its stamp, the row of its thread, and the number of threads."""
        position = int(np.flatnonzero(lost.any(axis=1))[0])
        step = int(np.flatnonzero(lost[position])[0])
        byte = int(where[position, step]) << self._shift
        assert self._region is not None
        return self._copies.name(self._region, byte), int(stamps[position, step]), int(self._clocks.row[threads[position]]), byte

    def _report(self, access: Access, where: Array, lost: Array, threads: Array, verb: str, stamps: Array, before: str = "write") -> None:
        name, stamp, row, _ = self._first(where, lost, stamps, threads)
        size = _size(access, where, self._shift)
        agent = stamp >> _AGENT
        statement = self._statements[stamp & _ASYNC - 1]
        clocks = self._clocks
        if agent >= clocks.slots:
            barrier = self._agents[int(clocks.cluster_of_row[row]), agent]
            phase = self._objects[barrier].phases[stamp >> _CLOCK & _CLOCK_MASK]
            told = f"{size} at {name} {verb}, and nothing orders this after {_spoken(statement)}: "
            position = int(np.flatnonzero(lost.any(axis=1))[0])
            told += barrier.missing(phase, int(self._wave.threads.warp[threads[position]]))
        else:
            other = int(clocks.cluster_of_row[row]) * clocks.slots + agent
            told = f"{size} at {name} {verb}, and nothing orders this after the {before} by {_spoken(statement)} in {self._warp(other)}"
            if stamp >> _CLOCK & _CLOCK_MASK == _READING:
                told = f"{size} at {name} {verb} while {_spoken(statement)} of {self._warp(other)} reads them: "
                no_commit = self._copies.uncommitted(statement, clocks.row == other)
                told += NO_COMMIT.format("that warp") if no_commit else f"{self._waits[id(statement)]} by that warp is missing"
        affected = threads[lost.any(axis=1)]
        self._wave.reports.add("race", told, access.statement, self._wave.threads, affected, subject=f"{verb} {before}")

    def _report_proxy(self, access: Access, where: Array, lost: Array, threads: Array, verb: str, stamps: Array, did: str) -> None:
        name, stamp, row, _ = self._first(where, lost, stamps, threads)
        clocks = self._clocks
        other = int(clocks.cluster_of_row[row]) * clocks.slots + (stamp >> _AGENT)
        statement = self._statements[stamp & _ASYNC - 1]
        told = (
            f"{_size(access, where, self._shift)} at {name} {verb} by the async proxy, and {_spoken(statement)} in {self._warp(other)}"
            f" {did} them by the generic proxy: fence.proxy.async by those threads, before the barrier in between, is missing"
        )
        affected = threads[lost.any(axis=1)]
        self._wave.reports.add("proxy fence", told, access.statement, self._wave.threads, affected, subject=f"{verb} {did}")


class _Ordered:
    """What is known of an mbarrier: its agent, what was released to the phase under way and to the last one, and who made it when.

    Copies have brought bytes up to the time `landed`, those of completed phases up to `visible`; `phases` tells the phase of each.
    """

    __slots__ = ("agent", "arriving", "completed", "landed", "made", "maker", "phases", "visible")

    def __init__(self, agent: int, fresh: Array, maker: int, made: int) -> None:
        self.agent = agent
        self.arriving = fresh
        self.completed = fresh.copy()
        self.maker = maker
        self.made = made
        self.landed = self.visible = 0
        self.phases: dict[int, int] = {}


def _stamp_of(latest: Array) -> Array:
    """The stamp of a granule's latest read."""
    return latest >> _READER << _CLOCK | latest >> _NUMBER & _ASYNC - 1


def _spoken(statement: Instruction) -> str:
    where = "" if statement.where is None else f" ({place(statement.where)})"
    return f"{statement.opcode}{where}"


def _size(access: Access, where: Array, shift: int) -> str:
    return f"{max(access.nbytes, where.shape[1] << shift)} bytes"
