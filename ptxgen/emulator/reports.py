"""What the emulator tells about a run: reports, collected once per kind and instruction, and the result of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.layouts.errors import PtxgenError

if TYPE_CHECKING:
    from ptxgen.emulator.threads import Threads
    from ptxgen.ir import Call, Instruction

__all__ = ["EmulationError", "EmulationResult", "Report", "ReportBook", "index_text", "place"]

Thread = tuple[tuple[int, int, int], tuple[int, int, int]]
"""Block index and thread index, each (x, y, z)."""


class EmulationError(PtxgenError):
    """A run that could not be trusted: its `reports` say why."""

    def __init__(self, message: str, reports: tuple[Report, ...] = ()) -> None:
        super().__init__(message)
        self.reports = reports


class Report:
    """One finding, however many threads show it.

    Attributes
    ----------
    kind : str
        ``"out of bounds"``, ``"misaligned"``, ``"read-only"``, ``"unwritten register"``, ``"unwritten memory"``,
        ``"undefined value"``, ``"conflicting stores"``, ``"barrier"``, ``"collective"``, ``"deadlock"``, ``"step limit"``,
        ``"call"``, ``"branch"``, ``"trap"``, ``"stack overflow"``, and those of asynchronous instructions that docs/emulator.md and
        docs/tensor-cores.md list.
    message : str
        One sentence about the example thread.
    opcode : str
    where : object
        The instruction's provenance: the user's line, or the position in the text.
    thread : tuple or None
        Example: ``((block x, y, z), (thread x, y, z))``.
    address : int or None
        The example's address, in the window of its state space.
    variable : str
        The argument or variable that the address belongs to or lies nearest to.
    offset : int or None
        Bytes from the start of `variable`.
    count : int
        How many threads (executions of the instruction) were affected.
    """

    __slots__ = ("address", "count", "kind", "message", "offset", "opcode", "thread", "variable", "where")

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        opcode: str = "",
        where: Any = None,
        thread: Thread | None = None,
        address: int | None = None,
        variable: str = "",
        offset: int | None = None,
        count: int = 1,
    ) -> None:
        self.kind = kind
        self.message = message
        self.opcode = opcode
        self.where = where
        self.thread = thread
        self.address = address
        self.variable = variable
        self.offset = offset
        self.count = count

    def __str__(self) -> str:
        head = f"{place(self.where)}: " if self.where is not None else ""
        head += f"{self.opcode}: " if self.opcode else ""
        tail = ""
        if self.thread is not None:
            block, thread = self.thread
            others = f" and {self.count - 1} more" if self.count > 1 else ""
            tail = f" (block {index_text(block)}, thread {index_text(thread)}{others})"
        return f"{head}{self.kind}: {self.message}{tail}"

    __repr__ = __str__


def place(where: Any) -> str:
    """How a provenance is shown: ``line 12, column 5`` for a bare pair, else in its own words."""
    if type(where) is tuple and len(where) == 2:
        return f"line {where[0]}, column {where[1]}"
    return str(where)


def index_text(index: tuple[int, int, int]) -> str:
    """``(3, 0, 0)`` as ``3``, ``(3, 1, 0)`` as ``(3, 1)``."""
    kept = list(index)
    while len(kept) > 1 and kept[-1] == 0:
        kept.pop()
    return str(kept[0]) if len(kept) == 1 else str(tuple(kept))


class ReportBook:
    """Collects findings: those of one kind, instruction and subject become one report with a count."""

    def __init__(self, stop_at_first: bool = False) -> None:
        self._found: dict[tuple[Any, ...], Report] = {}
        self._stop = stop_at_first

    @property
    def reports(self) -> tuple[Report, ...]:
        return tuple(self._found.values())

    def add(
        self,
        kind: str,
        message: str,
        statement: Instruction | Call | None,
        threads: Threads | None = None,
        affected: Any = None,
        *,
        subject: str = "",
        address: int | None = None,
        variable: str = "",
        offset: int | None = None,
    ) -> None:
        """Add a finding about the threads `affected` (indices in `threads`); the first of them is the example."""
        count = 1 if affected is None else int(np.size(affected))
        key = (kind, id(statement), subject)
        earlier = self._found.get(key)
        if earlier is not None:
            earlier.count += count
            return
        example = None if affected is None or threads is None else threads.name(int(np.atleast_1d(affected)[0]))
        opcode = "" if statement is None else statement.opcode
        where = None if statement is None else statement.where
        report = Report(
            kind,
            message,
            opcode=opcode,
            where=where,
            thread=example,
            address=address,
            variable=variable,
            offset=offset,
            count=count,
        )
        self._found[key] = report
        if self._stop:
            raise StopEmulation


class StopEmulation(Exception):
    """Ends a run at its first report."""


class EmulationResult:
    """What a run did.

    Attributes
    ----------
    reports : tuple of Report
        In the order in which they were found.
    steps : int
        Instructions issued: one for each group of threads that executed it together.
    instructions : int
        Instructions executed, counted per thread.
    threads : int
        Threads launched.
    """

    __slots__ = ("instructions", "reports", "steps", "threads")

    def __init__(self, reports: tuple[Report, ...], steps: int, instructions: int, threads: int) -> None:
        self.reports = reports
        self.steps = steps
        self.instructions = instructions
        self.threads = threads

    @property
    def ok(self) -> bool:
        """Whether nothing was reported."""
        return not self.reports

    def raise_for_reports(self) -> EmulationResult:
        """Return the result itself, or raise `EmulationError` with every report."""
        if self.reports:
            count = len(self.reports)
            head = f"the emulator found {count} fault{'s' if count > 1 else ''}:"
            raise EmulationError("\n".join([head, *(f"  {report}" for report in self.reports)]), self.reports)
        return self

    def __repr__(self) -> str:
        state = "ok" if self.ok else f"{len(self.reports)} reports"
        return f"<EmulationResult {state}, {self.threads} threads, {self.instructions} instructions>"
