"""Tensor memory: 128 lanes of 512 columns of 32 bits in each block, who has allocated what, and what is on its way there.

A cell knows who wrote it and when, counted by a clock of events (landings, waits, fences). Products, copies and shifts write at once but
count as pending until a commit has told its mbarrier; stores until ``tcgen05.wait::st``. Whoever reads a cell before, or without the fences
that order tcgen05 instructions of different threads, is reported and reads poison (ISA "Memory Consistency Model for tcgen05").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxgen.emulator.descriptors import CHUNK
from ptxgen.emulator.inflight import POISON
from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text, place
from ptxgen.emulator.schedule import Group
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["COLUMNS", "LANES", "Cells", "Operation", "TensorMemory"]

LANES = 128
COLUMNS = 512
GRANULE = 32
"""Columns are given out in multiples of this."""

UNWRITTEN, VALID, PENDING, STORING = range(4)


class Cells(NamedTuple):
    """Some cells of one block: index arrays of lanes and columns that broadcast against each other."""

    block: int
    lane: Array
    column: Array


class Operation:
    """An asynchronous instruction of one thread: what it writes, and the shared memory that it reads, until a commit tells of it.

    `told` is the name of the mbarrier that a commit will tell; empty where none covers it.
    """

    __slots__ = ("group", "number", "reads", "statement", "thread", "told", "writes")

    def __init__(self, number: int, statement: Instruction, thread: int, group: int) -> None:
        self.number = number
        self.statement = statement
        self.thread = thread
        self.group = group
        self.writes: list[Cells] = []
        self.reads: list[Array] = []
        self.told = ""


class _Load(NamedTuple):
    """A ``tcgen05.ld`` whose wait has not returned."""

    warp: int
    cells: Cells
    statement: Instruction


class _Read(NamedTuple):
    """A ``tcgen05.ld`` whose wait has returned: the warp, its moment in the order of warps, and the clock's time."""

    warp: int
    moment: tuple[int, int]
    done: int
    statement: Instruction


class TensorMemory:
    """The tensor memory of every block of a wave."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        blocks, warps = wave.threads.blocks, int(wave.threads.warp[-1]) + 1
        shape = blocks, LANES, COLUMNS
        self._data = np.zeros(shape, np.uint32)
        self._state = np.zeros(shape, np.uint8)
        self._operation = np.zeros(shape, np.int32)
        self._since = np.zeros(shape, np.int32)
        self._writer = np.zeros(shape, np.int32)  # the storing warp plus 1; 0: a product, copy or shift
        self._owner = np.zeros((blocks, COLUMNS), np.int32)
        self._freed = np.zeros((blocks, COLUMNS), np.bool_)
        self._allocations: dict[int, tuple[int, int, int, Instruction]] = {}
        self._count = 0
        self._closed = np.zeros(blocks, np.bool_)
        self._waiting: list[tuple[Group, Instruction, int]] = []
        self._clock = 1
        self._before = np.zeros(warps, np.int32)
        self._after = np.zeros(warps, np.int32)
        self._open: list[Operation] = []
        self._operations = 0
        self._loads: list[_Load] = []
        self._stores: list[tuple[int, Cells]] = []
        self._reads: list[_Read] = []
        self._reader = np.zeros(shape, np.int32)  # the number of a cell's last read in that list, plus 1
        self._cta_group: tuple[int, Instruction] | None = None

    def _report(self, kind: str, message: str, statement: Instruction, threads: Array, subject: str = "") -> None:
        self._wave.reports.add(kind, message, statement, self._wave.threads, threads, subject=subject)

    # ---- allocation ---------------------------------------------------------------------------------------------------

    def same_group(self, group: int, statement: Instruction, thread: int) -> None:
        """Report a kernel whose instructions name different CTA groups."""
        if self._cta_group is None:
            self._cta_group = group, statement
        elif self._cta_group[0] != group:
            other, first = self._cta_group
            message = f"cta_group::{group} here and cta_group::{other} in {_spoken(first)}: all tcgen05 instructions of a kernel agree"
            self._report("tensor memory", message, statement, np.array([thread]), "group")

    def allocate(self, thread: int, columns: int, statement: Instruction) -> int | None:
        """Give a block columns; returns the address, or None where it must wait for others to be given back."""
        block = int(self._wave.threads.block[thread])
        threads = np.array([thread])
        if columns & (columns - 1) or not GRANULE <= columns <= COLUMNS:
            message = f"{columns} columns are asked for; it is a power of two from {GRANULE} to {COLUMNS}"
            self._report("tensor memory", message, statement, threads, "columns")
            return 0
        if self._closed[block]:
            message = "this block has given up its right to allocate (tcgen05.relinquish_alloc_permit)"
            self._report("tensor memory", message, statement, threads, "closed")
        free = self._owner[block] == 0
        for start in range(0, COLUMNS - columns + 1, GRANULE):
            if free[start : start + columns].all():
                break
        else:
            return None
        self._count += 1
        self._owner[block, start : start + columns] = self._count
        self._allocations[self._count] = block, start, columns, statement
        self._freed[block, start : start + columns] = False
        self._state[block, :, start : start + columns] = UNWRITTEN
        return start

    def wait_for_columns(self, group: Group, columns: int, statement: Instruction) -> None:
        self._waiting.append((group, statement, columns))

    def free(self, thread: int, address: int, columns: int, statement: Instruction) -> None:
        """Take back what an allocation gave; whoever waits for columns tries again."""
        block = int(self._wave.threads.block[thread])
        for number, (owner, start, size, _) in self._allocations.items():
            if (owner, start, size) == (block, address, columns):
                found = number
                break
        else:
            known = [f"{size} columns at {start:#x}" for owner, start, size, _ in self._allocations.values() if owner == block]
            message = f"{columns} columns at {address:#x} are given back; this block holds {', '.join(known) or 'none'}"
            self._report("tensor memory", message, statement, np.array([thread]), "free")
            return
        end = address + columns
        every = Cells(block, np.arange(LANES)[:, None], np.arange(address, end))
        self._check_reads(every, statement, thread)
        reads, _ = self._read_by_others(every, thread)
        self._check_done(reads, statement, thread, f"{columns} columns at {address:#x} are given back")
        del self._allocations[found]
        self._owner[block, address:end] = 0
        self._freed[block, address:end] = True
        waiting, self._waiting = self._waiting, []
        for group, _, _ in waiting:
            self._wave.pool.push(group)

    def close(self, thread: int) -> None:
        """``tcgen05.relinquish_alloc_permit``."""
        self._closed[self._wave.threads.block[thread]] = True

    def report_stuck(self) -> None:
        """Nobody can run: report who waits for columns."""
        for group, statement, columns in self._waiting:
            index = self._wave.indices(group.index)
            block = int(self._wave.threads.block[index[0]])
            free = int((self._owner[block] == 0).sum())
            message = f"{columns} columns in a row are never free: {free} of {COLUMNS} are, and nobody gives any back"
            self._report("deadlock", message, statement, index)

    def report_leaks(self) -> None:
        """The blocks have ended: report columns that nobody has given back."""
        for block, start, columns, statement in self._allocations.values():
            name = index_text(self._wave.threads.name(block * self._wave.threads.launch.block_threads)[0])
            message = f"{columns} columns at {start:#x} are not given back when block {name} ends: tcgen05.dealloc is missing"
            self._report("tensor memory", message, statement, np.array([block * self._wave.threads.launch.block_threads]), "leak")

    # ---- order --------------------------------------------------------------------------------------------------------

    def fence(self, threads: Array, before: bool) -> None:
        """``tcgen05.fence``: before or after the threads synchronise with others."""
        self._clock += 1
        (self._before if before else self._after)[self._wave.threads.warp[threads]] = self._clock

    def begin(self, statement: Instruction, thread: int, group: int) -> Operation:
        """A thread issues an asynchronous instruction."""
        self._operations += 1
        operation = Operation(self._operations, statement, thread, group)
        self._open.append(operation)
        return operation

    def commit(self, thread: int, group: int, told: str) -> list[Operation]:
        """What a thread has issued so far and no commit has covered yet: `land` it when its mbarrier is told."""
        covered = [one for one in self._open if one.thread == thread and one.group == group]
        for one in covered:
            one.told = one.told or told
        return covered

    def land(self, operations: list[Operation]) -> None:
        """Asynchronous instructions have completed."""
        self._clock += 1
        for operation in operations:
            for first in operation.reads:
                region = self._wave.memory.spaces["shared"]
                self._wave.hazards.source_done(np.array([operation.thread]), region, first, CHUNK)
            for block, lane, column in operation.writes:
                lane, column = np.broadcast_arrays(lane, column)
                mine = (self._operation[block, lane, column] == operation.number) & (self._state[block, lane, column] == PENDING)
                lane, column = lane[mine], column[mine]
                self._state[block, lane, column] = VALID
                self._since[block, lane, column] = self._clock
                self._writer[block, lane, column] = 0
        done = {operation.number for operation in operations}
        self._open = [one for one in self._open if one.number not in done]

    def wait_loads(self, threads: Array) -> None:
        """``tcgen05.wait::ld``."""
        warps = set(np.unique(self._wave.threads.warp[threads]).tolist())
        self._clock += 1
        for warp, cells, statement in self._loads:
            if warp in warps and self._wave.hazards.races:
                moment = self._wave.hazards.moment(int(threads[self._wave.threads.warp[threads] == warp][0]))
                self._reads.append(_Read(warp, moment, self._clock, statement))
                self._reader[cells.block, cells.lane, cells.column] = len(self._reads)
        self._loads = [load for load in self._loads if load.warp not in warps]

    def wait_stores(self, threads: Array) -> None:
        """``tcgen05.wait::st``."""
        warps = set(np.unique(self._wave.threads.warp[threads]).tolist())
        self._clock += 1
        for warp, (block, lane, column) in self._stores:
            if warp in warps:
                mine = (self._writer[block, lane, column] == warp + 1) & (self._state[block, lane, column] == STORING)
                lane, column = (part[mine] for part in np.broadcast_arrays(lane, column))
                self._state[block, lane, column] = VALID
                self._since[block, lane, column] = self._clock
        self._stores = [store for store in self._stores if store[0] not in warps]

    # ---- accesses -----------------------------------------------------------------------------------------------------

    def load(self, cells: Cells, statement: Instruction, thread: int) -> Array:
        """``tcgen05.ld`` of one warp; poison where there is nothing to read yet."""
        inside = self._inside(cells, statement, thread)
        if inside is None:
            return np.full(np.broadcast_shapes(cells.lane.shape, cells.column.shape), POISON)
        if self._wave.checks:
            self._loads.append(_Load(int(self._wave.threads.warp[thread]), inside, statement))
        block, lane, column = inside
        values: Array = self._data[block, lane, column]
        state = self._state[block, lane, column]
        self._check_values(inside, state, statement, thread, pipelined=False)
        return np.where(state == VALID, values, POISON) if (state != VALID).any() else values

    def take(self, cells: Cells, statement: Instruction, thread: int) -> Array:
        """What a product, shift or copy of this block reads: earlier ones of the pipeline need no wait."""
        inside = self._inside(cells, statement, thread)
        if inside is None:
            return np.full(np.broadcast_shapes(cells.lane.shape, cells.column.shape), POISON)
        block, lane, column = inside
        self._check_values(inside, self._state[block, lane, column], statement, thread, pipelined=True)
        values: Array = self._data[block, lane, column]
        return values

    def store(self, cells: Cells, values: Array, statement: Instruction, thread: int) -> None:
        """``tcgen05.st`` of one warp."""
        inside = self._inside(cells, statement, thread)
        if inside is None:
            return
        block, lane, column = inside
        warp = int(self._wave.threads.warp[thread])
        state = self._state[block, lane, column]
        if self._wave.checks:
            self._check_pending(inside, state == PENDING, statement, thread, "writes")
            self._check_reads(inside, statement, thread)
            self._check_overwritten(inside, statement, thread)
        self._data[block, lane, column] = values
        self._state[block, lane, column] = STORING
        self._writer[block, lane, column] = warp + 1
        self._stores.append((warp, inside))

    def write(self, operation: Operation, cells: Cells, values: Array, keep: Array | None = None) -> None:
        """A product, shift or copy writes; `keep` marks cells that stay as they are."""
        inside = self._inside(cells, operation.statement, operation.thread)
        if inside is None:
            return
        self._check_reads(inside, operation.statement, operation.thread)
        self._check_overwritten(inside, operation.statement, operation.thread)
        block, lane, column = inside
        if keep is not None:
            lane, column, keep, values = np.broadcast_arrays(lane, column, keep, values)
            lane, column, values = lane[~keep], column[~keep], values[~keep]
        self._data[block, lane, column] = values
        self._state[block, lane, column] = PENDING
        self._operation[block, lane, column] = operation.number
        operation.writes.append(Cells(block, lane, column))

    def _inside(self, cells: Cells, statement: Instruction, thread: int) -> Cells | None:
        """The cells, or None and a report where some lie outside of tensor memory or of what the block has allocated."""
        block, lane, column = cells
        low, high = int(column.min()), int(column.max())
        if low < 0 or high >= COLUMNS or int(lane.min()) < 0 or int(lane.max()) >= LANES:
            lanes = f"lanes {int(lane.min())} to {int(lane.max())}"
            message = f"columns {low} to {high} of {lanes}: there are {LANES} lanes of {COLUMNS} columns"
            self._report("out of bounds", message, statement, np.array([thread]))
            return None
        bare = np.unique(column[self._owner[block, column] == 0])
        if len(bare):
            why = "given back before" if self._freed[block, bare].any() else "never allocated"
            name = index_text(self._wave.threads.name(block * self._wave.threads.launch.block_threads)[0])
            message = f"columns {low} to {high} of tensor memory are used, and column {int(bare[0])} of block {name} was {why}"
            self._report("tensor memory", message, statement, np.array([thread]), "allocation")
            return None
        return cells

    # ---- checks -------------------------------------------------------------------------------------------------------

    def _check_values(self, cells: Cells, state: Array, statement: Instruction, thread: int, *, pipelined: bool) -> None:
        if not self._wave.checks:
            return
        if not pipelined:
            self._check_pending(cells, state == PENDING, statement, thread, "reads")
        storing = state == STORING
        if storing.any():
            message = f"{_first(cells, storing)} is read before a tcgen05.wait::st of the storing warp"
            self._report("in flight", message, statement, np.array([thread]), "store")
        nothing = state == UNWRITTEN
        if nothing.any():
            message = f"{_first(cells, nothing)} is read, which nothing has written"
            self._report("unwritten memory", message, statement, np.array([thread]), "tensor memory")
        self._check_fences(cells, state == VALID, statement, thread)

    def _check_pending(self, cells: Cells, pending: Array, statement: Instruction, thread: int, verb: str) -> None:
        if not pending.any():
            return
        number = int(self._operation[cells.block, cells.lane, cells.column][pending][0])
        operation = next(one for one in self._open if one.number == number)
        missing = (
            f"a wait for mbarrier {operation.told}, which its tcgen05.commit tells, must come first"
            if operation.told
            else "a tcgen05.commit of the issuing thread and a wait for its mbarrier must come first"
        )
        message = f"this {verb} {_first(cells, pending)} while {_spoken(operation.statement)} still writes it: {missing}"
        self._report("in flight", message, statement, np.array([thread]), verb)

    def _check_fences(self, cells: Cells, valid: Array, statement: Instruction, thread: int) -> None:
        """What another thread wrote, or a product, is ordered by fences on either side of the synchronisation."""
        warp = int(self._wave.threads.warp[thread])
        writer = self._writer[cells.block, cells.lane, cells.column]
        since = self._since[cells.block, cells.lane, cells.column]
        others = valid & (writer != warp + 1)
        late = others & (since > self._after[warp])
        if late.any():
            message = f"{_first(cells, late)} was written by another thread or a product: tcgen05.fence::after_thread_sync must come first"
            self._report("tensor fence", message, statement, np.array([thread]), "after")
        stored = others & (writer > 0)
        early = stored & (since > self._before[writer - 1])
        if early.any():
            message = f"{_first(cells, early)} was stored by another warp, with no tcgen05.fence::before_thread_sync behind the store"
            self._report("tensor fence", message, statement, np.array([thread]), "before")

    def _check_reads(self, cells: Cells, statement: Instruction, thread: int) -> None:
        """Report a ``tcgen05.ld`` that still reads what is overwritten or given back."""
        for warp, (block, lane, column), load in self._loads:
            if block != cells.block or not np.isin(column, cells.column).any() or not np.isin(lane, cells.lane).any():
                continue
            inner = warp % self._wave.threads.launch.warps
            message = f"warp {inner} may still read here with {_spoken(load)}: its tcgen05.wait::ld must come first"
            self._report("in flight", message, statement, np.array([thread]), "load")
            return

    def _read_by_others(self, cells: Cells, thread: int) -> tuple[list[_Read], Array]:
        """The last reads of cells by warps other than the thread's, and where they are."""
        own = int(self._wave.threads.warp[thread])
        numbers = self._reader[cells.block, cells.lane, cells.column]
        found = [number for number in np.unique(numbers).tolist() if number and self._reads[number - 1].warp != own]
        return [self._reads[number - 1] for number in found], np.isin(numbers, found)

    def _check_done(self, reads: list[_Read], statement: Instruction, thread: int, told: str) -> bool:
        """Whether reads of other warps come before what a thread does, their fences in front of the synchronisation; reported else."""
        hazards = self._wave.hazards
        for read in reads:
            if not hazards.ordered(read.moment, thread):
                message = f"{told}, and nothing orders this after {_spoken(read.statement)} in {hazards.warp_named(read.moment)}"
                self._report("race", f"{message}: a barrier between them is missing", statement, np.array([thread]), "reads")
                return False
        for read in reads:
            if read.done > self._before[read.warp]:
                message = f"{told} after {hazards.warp_named(read.moment)} has read there with {_spoken(read.statement)}"
                message += ": its tcgen05.fence::before_thread_sync, behind its tcgen05.wait::ld and before the barrier, is missing"
                self._report("tensor fence", message, statement, np.array([thread]), "read before")
                return False
        return True

    def _check_overwritten(self, cells: Cells, statement: Instruction, thread: int) -> None:
        """Cells that other warps have read are written: these come after, by the fences on either side of the synchronisation."""
        if not self._reads:
            return
        reads, chosen = self._read_by_others(cells, thread)
        if not reads:
            return
        told = f"{_first(cells, chosen)} is written"
        after = int(self._after[self._wave.threads.warp[thread]])
        if self._check_done(reads, statement, thread, told) and any(read.done > after for read in reads):
            message = f"{told} after another warp has read there: tcgen05.fence::after_thread_sync must come first"
            self._report("tensor fence", message, statement, np.array([thread]), "read after")
        self._reader[cells.block, cells.lane, cells.column] = 0


def _first(cells: Cells, chosen: Array) -> str:
    lane, column = np.broadcast_arrays(cells.lane, cells.column)
    return f"lane {int(lane[chosen][0])}, column {int(column[chosen][0])} of tensor memory"


def _spoken(statement: Instruction) -> str:
    where = "" if statement.where is None else f" ({place(statement.where)})"
    return f"{statement.opcode.split('.sync')[0]}{where}"
