"""Registers that asynchronous instructions read and write after they were issued: poison until the wait that covers them returns.

A register is watched where some instruction of its function takes it asynchronously. `Frame.written` of a watched register doubles as
an access flag: False sends a reader to `touch`, and any writer sets it, so that plain instructions pay nothing. Four states:

======= ======================================================================================
PLAIN   nothing is known but the flag
CLEAN   holds a value that no instruction has touched since a fence, or since it landed
WRITING an instruction in flight will write it; the value to come is held back
READING an instruction in flight reads it
======= ======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import place
from ptxgen.ir import Call, Instruction, Reg

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.lowering import Lowering
    from ptxgen.emulator.machine import Wave

__all__ = ["CLEAN", "PLAIN", "POISON", "READING", "WRITING", "InFlight", "Issue", "Selection", "Watched", "watched_registers"]

PLAIN, CLEAN, WRITING, READING = range(4)

POISON = np.uint32(0x7FEDDEAD)
"""What a register holds while an instruction in flight will write it: a NaN as .f32."""


class Issue:
    """An asynchronous instruction in flight, in the `queue` ("wgmma", "tcgen05.ld") that waits ask for.

    ``missing(thread, group)`` says what would have had to come before its registers were touched.
    """

    __slots__ = ("missing", "queue", "statement")

    def __init__(self, statement: Instruction, queue: str, missing: Callable[[int, int], str]) -> None:
        self.statement = statement
        self.queue = queue
        self.missing = missing

    def told(self) -> str:
        """The instruction and its place."""
        where = "" if self.statement.where is None else f" ({place(self.statement.where)})"
        return f"{self.statement.opcode.split('.sync')[0]}{where}"


class Selection:
    """Some registers of some threads, as slices wherever they lie side by side: of a table (register, thread)."""

    __slots__ = ("_parts", "rows", "threads")

    def __init__(self, rows: Array, threads: Array) -> None:
        self.rows = rows
        self.threads = threads
        first = int(rows[0]) if len(rows) else 0
        whole = bool((rows == np.arange(first, first + len(rows))).all())
        row: Any = slice(first, first + len(rows)) if whole else rows
        ends = [*(np.flatnonzero(np.diff(threads) != 1) + 1).tolist(), len(threads)]
        self._parts: list[tuple[Any, Any, slice]] = []
        begin = 0
        for end in ends:
            start = int(threads[begin]) if len(threads) else 0
            self._parts.append((row, slice(start, start + end - begin), slice(begin, end)))
            begin = end

    def take(self, table: Array) -> Array:
        """Shape (registers, threads)."""
        parts = [table[row, span] for row, span, _ in self._parts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def put(self, table: Array, values: Any) -> None:
        """Write one value for all, one a thread, or one a register and thread."""
        many = isinstance(values, np.ndarray) and values.shape[-1] > 1
        for row, span, part in self._parts:
            table[row, span] = values[..., part] if many else values

    def gather(self, columns: list[Array]) -> Array:
        """The registers themselves, from their arrays: shape (registers, threads)."""
        values = np.empty((len(columns), len(self.threads)), np.uint32)
        for number, column in enumerate(columns):
            for _, span, part in self._parts:
                values[number, part] = column[span]
        return values

    def scatter(self, column: Array, values: Any) -> None:
        """Write one register of the threads."""
        many = isinstance(values, np.ndarray)
        for _, span, part in self._parts:
            column[span] = values[part] if many else values


class Watched:
    """The watched registers of one frame.

    Attributes
    ----------
    slots : list of int
    state : array of uint8
        (register, thread).
    held : array of uint32
        Values to come.
    until : array of int32
        The group that must have completed.
    issuer : array of int32
        Index in `issues`.
    """

    def __init__(self, frame: Frame, slots: list[int], names: list[str]) -> None:
        self.frame = frame
        self.slots = slots
        self.names = names
        self.row = {slot: row for row, slot in enumerate(slots)}
        shape = len(slots), frame.threads
        self.state = np.zeros(shape, np.uint8)
        self.held = np.zeros(shape, np.uint32)
        self.until = np.zeros(shape, np.int32)
        self.issuer = np.zeros(shape, np.int32)
        self.issues: list[Issue] = []
        self._flags = np.zeros(shape, np.bool_)
        self._rows = [self._flags[row] for row in range(len(slots))]

    def flags(self, rows: Array | slice) -> Array:
        """The access flags of some registers, made one array again where plain instructions have replaced their rows."""
        written = self.frame.written
        for row in range(len(self.slots))[rows] if isinstance(rows, slice) else rows:
            slot, mine = self.slots[row], self._rows[row]
            flag = written[slot]
            if flag is not mine:
                if flag is False:  # the function was entered anew
                    self.state[row] = PLAIN
                mine[...] = flag
                written[slot] = mine
        return self._flags

    def issue(self, issue: Issue) -> int:
        for number, known in enumerate(self.issues):
            if known.statement is issue.statement:
                return number
        self.issues.append(issue)
        return len(self.issues) - 1

    def user(self, row: int, thread: int) -> str:
        """Who uses a register in flight, and what should have come first."""
        issue = self.issues[self.issuer[row, thread]]
        doing = "writes" if self.state[row, thread] == WRITING else "reads"
        return f"{issue.told()} still {doing} it: {issue.missing(thread, int(self.until[row, thread]))}"

    def load(self, rows: Array, threads: Array) -> Array:
        """What the registers hold, or will hold where an instruction in flight writes them: (register, thread)."""
        where = Selection(rows, threads)
        flying = where.take(self.state) == WRITING
        if flying.all():
            return where.take(self.held)
        values = where.gather([self.frame.values[self.slots[row]] for row in rows])
        return np.where(flying, where.take(self.held), values) if flying.any() else values

    def hold(self, rows: Array, threads: Array, values: Array, issue: Issue, until: Array) -> None:
        """An instruction in flight will write `values`; until then the registers are poison."""
        where = Selection(rows, threads)
        fresh = (where.take(self.state) != WRITING).any(1)
        where.put(self.held, values)
        where.put(self.state, WRITING)
        self._note(where, issue, until)
        for row in rows[fresh]:
            where.scatter(self.frame.values[self.slots[row]], POISON)

    def read_later(self, rows: Array, threads: Array, issue: Issue, until: Array) -> None:
        """An instruction in flight reads the registers: nobody may write them."""
        where = Selection(rows, threads)
        where.put(self.state, READING)
        self._note(where, issue, until)

    def _note(self, where: Selection, issue: Issue, until: Array) -> None:
        where.put(self.until, until)
        where.put(self.issuer, self.issue(issue))
        where.put(self._flags, False)


class InFlight:
    """The watched registers of every frame of a wave."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        self._frames: dict[tuple[int, int], Watched] = {}

    def of(self, frame: Frame) -> Watched:
        """The watched registers of a frame."""
        key = frame.code.number, frame.depth
        found = self._frames.get(key)
        if found is None:
            watched = frame.code.watched
            found = self._frames[key] = Watched(frame, list(watched), list(watched.values()))
        return found

    def touch(self, frame: Frame, slot: int, threads: Array, statement: Instruction | Call) -> Array:
        """A plain instruction reads a register whose flag says no for `threads`; returns those that have nothing to read."""
        watched = self._frames.get((frame.code.number, frame.depth))
        row = None if watched is None else watched.row.get(slot)
        if watched is None or row is None:
            return threads
        flags = watched.flags(np.array([row]))
        state = watched.state[row, threads]
        flying = threads[state == WRITING]
        if len(flying):
            name = watched.names[row]
            message = f"{name} is read while {watched.user(row, int(flying[0]))}"
            self._wave.reports.add("in flight", message, statement, self._wave.threads, flying, subject=name)
        clean = threads[state == CLEAN]
        watched.state[row, clean] = PLAIN
        flags[row, clean] = True
        return threads[(state == PLAIN) & ~flags[row, threads]]

    def land(self, queue: str, threads: Array, limit: Array | None, statement: Instruction) -> None:
        """A wait has returned in `threads`: what was issued in groups before each thread's `limit` (all, without it) is there.

        Registers that were written in the meantime are reported.
        """
        for watched in self._frames.values():
            if watched.issues:
                self._land(watched, queue, threads, limit, statement)

    def _land(self, watched: Watched, queue: str, threads: Array, limit: Array | None, statement: Instruction) -> None:
        mine = np.array([issue.queue == queue for issue in watched.issues])
        flags = watched.flags(slice(None))
        where = Selection(np.arange(len(watched.slots)), threads)
        done = where.take(watched.state) >= WRITING
        if not mine.all():
            done &= mine[where.take(watched.issuer)]
        if limit is not None:
            done &= where.take(watched.until) < limit
        whole = done.all(1) & (where.take(watched.state) == WRITING).all(1) & ~where.take(flags).any(1)
        self._land_whole(watched, flags, np.flatnonzero(whole), threads)
        for row in np.flatnonzero(done.any(1) & ~whole).tolist():
            landed = threads[done[row]]
            overwritten = landed[flags[row, landed]]
            if len(overwritten):
                self.report_overwritten(watched, row, overwritten)
            written = landed[watched.state[row, landed] == WRITING]
            watched.frame.values[watched.slots[row]][written] = watched.held[row, written]
            watched.state[row, landed] = CLEAN
            flags[row, landed] = False

    @staticmethod
    def _land_whole(watched: Watched, flags: Array, rows: Array, threads: Array) -> None:
        """Registers that land in all of the threads, and that nobody has touched."""
        if not len(rows):
            return
        where = Selection(rows, threads)
        values = where.take(watched.held)
        for number, row in enumerate(rows):
            where.scatter(watched.frame.values[watched.slots[row]], values[number])
        where.put(watched.state, CLEAN)
        where.put(flags, False)

    def report_overwritten(self, watched: Watched, row: int, threads: Array) -> None:
        """Another instruction has written a register that one in flight uses."""
        first = int(threads[0])
        issue, name = watched.issues[watched.issuer[row, first]], watched.names[row]
        message = f"{name} is written by another instruction while {watched.user(row, first)}"
        self._wave.reports.add("in flight", message, issue.statement, self._wave.threads, threads, subject=name)


def watched_registers(low: Lowering, operand: Any) -> Array:
    """Have the registers of a vector operand watched; returns their rows."""
    slots = []
    for item in low.elements(operand):
        register = low.scope.register(item.name, item.part) if isinstance(item, Reg) else None
        if register is None:
            raise low.refuse(f"{getattr(item, 'name', item)} is no register, and this instruction takes registers alone")
        low.code.watched.setdefault(register.slot, register.name)
        slots.append(register.slot)
    row = {slot: number for number, slot in enumerate(low.code.watched)}
    return np.array([row[slot] for slot in slots], np.int64)
