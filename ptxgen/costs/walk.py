"""One pass of a block through a kernel's text: which threads come to each instruction, and what its registers hold then.

What an instruction computes from registers alone is computed by the emulator's own semantics, for all threads of one block. What is
loaded from memory is not known, and neither is what follows from it. A branch or guard that is not known is taken to send every thread
both ways; a loop runs once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen import ir
from ptxgen.costs.arguments import Arguments
from ptxgen.costs.ways import Ways
from ptxgen.emulator.lowering import Op
from ptxgen.emulator.machine import Group, Wave
from ptxgen.emulator.memory import WINDOW_SHIFT, WINDOWS, Memory
from ptxgen.emulator.program import Program
from ptxgen.emulator.reports import ReportBook
from ptxgen.emulator.semantics.table import lookup_semantics
from ptxgen.emulator.threads import WARP, Launch, Threads
from ptxgen.instructions.registry import Match
from ptxgen.lint.flow import Flow, Literal, Step
from ptxgen.lint.plans import named_operands, plan_of, registers

__all__ = ["Executed", "Place", "walk"]

Mask = NDArray[np.bool_]

_REGISTERS = {"comparison", "logic", "move", "video"}  # families whose instructions reach nothing but registers
_COMPUTED = {("warp", name) for name in ("shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync")}
_EXAMPLE = "with the example arguments"
_ONE_ROUND = "after one round of a loop"
_UNSTEADY = ("%clock", "%globaltimer", "%smid", "%pm")


class Place(NamedTuple):
    """Where each thread's address operand points.

    Attributes
    ----------
    space : str
        ``"shared"``, ``"global"`` or another state space; of a generic address the one whose window it lies in.
    addresses : int64 array of shape (threads,) or None
        Bytes in that space; None where they depend on what memory holds.
    assumed : str
        What they rest on beside the text: an argument that is taken for an example, one round of a loop; empty where nothing.
    """

    space: str
    addresses: NDArray[np.int64] | None
    assumed: str = ""


class Executed(NamedTuple):
    """One instruction as the pass came to it.

    Attributes
    ----------
    step : Step
    match : Match or None
    active : bool array of shape (threads,)
        Threads that execute it.
    certain : bool
        Whether that is known; else they are those that may.
    places : dict of str to Place
        Of its address operands.
    numbers : dict of str to int
        Constants among its operands, and registers that hold one number in all active threads.
    registers : dict of str to int
        Registers that its other operands name, with the 32-bit registers that each takes; predicates take none.
    """

    step: Step
    match: Match | None
    active: Mask
    certain: bool
    places: dict[str, Place]
    numbers: dict[str, int]
    registers: dict[str, int]


def walk(module: ir.Module, entry: str, launch: Launch, arguments: Arguments) -> Iterator[Executed]:
    """Every instruction of an entry's body, in the order of the text, executed once by one block."""
    with np.errstate(all="ignore"):
        yield from _Walk(module, entry, launch, arguments).run()


class _Walk:
    def __init__(self, module: ir.Module, entry: str, launch: Launch, arguments: Arguments) -> None:
        self.arguments = arguments
        self.flow = Flow(module.functions[entry])
        self.parameters = {one.name for one in self.flow.function.params}
        program = Program(_executable(module, entry), entry, launch.dynamic_shared)
        launch.static_shared = program.static_shared
        self.code = program.entry
        self.ops: dict[int, Op] = {id(op.statement): op for op in self.code.ops}
        threads = Threads(launch, 0, 1)
        memory = Memory(ReportBook(False), False)
        program.fill(memory, arguments.packed)
        program.block_memory(memory, 1, threads.count)
        self.wave = Wave(program, threads, memory, memory.reports, seed=0, step_limit=1, checks=False)
        self.frame = self.wave.frame_of(self.code, 0)
        self.everyone = np.ones(threads.count, np.bool_)
        self.assumed: dict[str, str] = {}  # registers whose values stand for others, and why

    # ---- the way through the blocks -----------------------------------------------------------------------------------

    def run(self) -> Iterator[Executed]:
        blocks = self.flow.blocks
        ways = Ways(self.flow)
        nobody = np.zeros_like(self.everyone)
        may = [nobody] * len(blocks)  # threads that come to a block, where it is not known all that may
        must = [nobody] * len(blocks)  # those that certainly do
        may[0] = must[0] = self.everyone
        for number, block in enumerate(blocks):
            certain = bool((may[number] == must[number]).all())
            for step in self.flow.steps[block.start : block.end]:
                yield self._execute(step, may[number], certain)
            for after, literal in ways.forward[number]:
                coming, known = self._taken(number, literal, may[number], ways)
                may[after] = may[after] | coming
                if known:
                    must[after] = must[after] | (coming & must[number])
            for after in ways.leaving.get(number, ()):  # who went round a loop leaves it in the end
                may[after] = may[after] | may[number]
            meeting = ways.meet[number]
            if meeting is not None:
                must[meeting] = must[meeting] | must[number]
            for name in ways.changed.get(number, ()):
                self.assumed[name] = _ONE_ROUND

    def _taken(self, number: int, literal: Literal | None, may: Mask, ways: Ways) -> tuple[Mask, bool]:
        """Who takes a way out of a block, and whether that is known."""
        if number in ways.leaving or (literal is None and len(ways.forward[number]) > 1):
            return may, len(ways.forward[number]) < 2  # behind a loop sooner or later; or an index decides
        return self._holding(literal, may)

    def _holding(self, literal: Literal | None, active: Mask) -> tuple[Mask, bool]:
        """The active threads in which a predicate has a value, and whether that is known."""
        if literal is None:
            return active, True
        register = self.code.scope.register(literal[0])
        if register is None or literal[0] in self.assumed or not self._known(literal[0], active):
            return active, False
        holds: Mask = self.frame.values[register.slot] == literal[1]
        return active & holds, True

    # ---- one instruction ----------------------------------------------------------------------------------------------

    def _execute(self, step: Step, active: Mask, certain: bool) -> Executed:
        holding, known = self._holding(step.guard, active)
        statement, match = step.statement, step.plan.match
        places: dict[str, Place] = {}
        numbers: dict[str, int] = {}
        held: dict[str, int] = {}
        if match is not None and isinstance(statement, ir.Instruction) and step.scope is None:
            for name, operand in named_operands(step.plan, statement.operands):
                if isinstance(operand, ir.Address):
                    places[name] = self._place(operand, match, name, holding)
                    continue
                number = self._number(operand, holding)
                if number is not None:
                    numbers[name] = number
                held.update(self._held(operand))
        self._compute(step, match, holding, known and not step.plan.branches)
        return Executed(step, match, holding, certain and known, places, numbers, held)

    def _number(self, operand: ir.Operand, active: Mask) -> int | None:
        """A constant, or what a register holds in all active threads alike."""
        if isinstance(operand, ir.Int):
            return operand.value
        register = self.code.scope.register(operand.name, operand.part) if isinstance(operand, ir.Reg) else None
        if register is None or register.type.kind == "pred" or not active.any() or not self._known(register.name, active):
            return None
        values = self.frame.values[register.slot][active]
        return int(values[0]) if values.ndim == 1 and (values == values[0]).all() else None

    def _held(self, operand: ir.Operand) -> dict[str, int]:
        found = {}
        for one in registers(operand):
            register = self.code.scope.register(one.name, one.part)
            if register is not None and register.type.kind != "pred":
                found[register.name] = -(-register.type.bits // 32)
        return found

    def _compute(self, step: Step, match: Match | None, active: Mask, runs: bool) -> None:
        """Give the registers that an instruction writes their values; forget them where these are not known."""
        if not step.writes:
            return
        index = None if active.all() else np.flatnonzero(active)
        op = self.ops.get(id(step.statement))
        if runs and op is not None and match is not None and self._runs(step, match, active) and (index is None or len(index)):
            if op.run is not None:
                op.run(self.wave, self.frame, index)
            elif op.control is not None:
                op.control(self.wave, Group(self.code, 0, 0, index))
            reasons = [self.assumed[name] for name in step.reads if name in self.assumed]
            if self._parameter(step) in self.arguments.examples:
                reasons.append(_EXAMPLE)
            for name in step.writes:
                self.assumed.pop(name, None)
                if reasons:
                    self.assumed[name] = reasons[0]
            return
        for name in step.writes:
            register = self.code.scope.register(name)
            if register is not None:
                self._forget(register.slot, active)

    def _runs(self, step: Step, match: Match, active: Mask) -> bool:
        """Whether an instruction computes from known registers alone."""
        key = match.entry.family, match.entry.name
        found = lookup_semantics(match.entry)
        if found is None or step.scope is not None:
            return False
        if key in _COMPUTED:
            runs = step.guard is None and _whole_warps(active)
        elif match.entry.name == "ld":
            runs = self._parameter(step) is not None
        else:
            runs = found[0] == "semantics" or match.entry.family in _REGISTERS
        return runs and all(self._known(name, active) for name in step.reads)

    def _parameter(self, step: Step) -> str | None:
        """The parameter of the entry that an instruction loads."""
        if not isinstance(step.statement, ir.Instruction) or not step.statement.opcode.startswith("ld.param"):
            return None
        address = step.statement.operands[1]
        name = address.base.name if isinstance(address, ir.Address) and isinstance(address.base, ir.Sym) else ""
        return name if name in self.parameters else None

    def _known(self, name: str, active: Mask) -> bool:
        register = self.code.scope.register(name)
        if register is None:
            return name.startswith("%") and not name.startswith(_UNSTEADY)
        written = self.frame.written[register.slot]
        return written if isinstance(written, bool) else bool(written[active].all())

    def _forget(self, slot: int, active: Mask) -> None:
        written = self.frame.written[slot]
        if isinstance(written, bool):
            written = np.full(len(active), written)
        self.frame.written[slot] = written & ~active

    # ---- addresses ----------------------------------------------------------------------------------------------------

    def _place(self, operand: ir.Address, match: Match, name: str, active: Mask) -> Place:
        named = match.entry.operands[name].space
        space = (match.value(named) if named.startswith(".") else named).partition("::")[0]
        count = len(active)
        if isinstance(operand.base, ir.Sym):
            location = self.code.scope.variable(operand.base.name)
            if location is None or location.in_frame:
                return Place(space, None)
            return Place(location.space, np.full(count, location.address + operand.offset))
        if isinstance(operand.base, ir.Int):
            return Place(space, np.full(count, operand.base.value + operand.offset))
        register = self.code.scope.register(operand.base.name, operand.base.part)
        if register is None or not self._known(operand.base.name, active):
            return Place(space, None)
        found = self.frame.values[register.slot].astype(np.int64) + operand.offset
        if not space:
            space, found = _window(found, active)
        return Place(space, found, self.assumed.get(operand.base.name, ""))


def _window(addresses: NDArray[np.int64], active: Mask) -> tuple[str, NDArray[np.int64]]:
    """The space in whose window generic addresses lie, and the addresses in it."""
    windows = {start >> WINDOW_SHIFT: (space, start) for space, start in WINDOWS.items()}
    numbers = set((addresses[active] >> WINDOW_SHIFT).tolist())
    found = {windows.get(number, ("global", 0)) for number in numbers}
    if len(found) != 1:
        return "", addresses
    space, start = found.pop()
    return space, addresses - start


def _whole_warps(active: Mask) -> bool:
    """Whether of every warp all threads are active or none."""
    if len(active) % WARP:
        return False
    warps = active.reshape(-1, WARP)
    return bool((warps.all(axis=1) == warps.any(axis=1)).all())


def _executable(module: ir.Module, entry: str) -> ir.Module:
    """The module with the entry alone, and without the instructions that the emulator has no meaning for."""
    items = []
    for item in module.items:
        if isinstance(item, ir.Function) and item.name == entry:
            body = tuple(one for one in item.body or () if not _foreign(one))
            item = ir.Function(item.kind, item.name, item.params, body, item.results, item.directives, item.linkage, item.where)
        items.append(item)
    return ir.Module(module.version, module.target, tuple(items), module.address_size)


def _foreign(statement: Any) -> bool:
    if not isinstance(statement, ir.Instruction):
        return False
    match = plan_of(statement).match
    return match is None or lookup_semantics(match.entry) is None
