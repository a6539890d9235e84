"""From one instruction of the text to one closure: operands resolved, form chosen by the contract, guard wrapped around."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.frames import Frame
from ptxgen.emulator.operands import Array, Get, Put, constant, dtype_of, read_register, sink, write_register
from ptxgen.emulator.scopes import Location, Scope
from ptxgen.emulator.threads import WARP, special_register
from ptxgen.emulator.variables import element_bytes
from ptxgen.instructions.checking import Given, check
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.marks import SELECTOR
from ptxgen.instructions.registry import FAMILIES, Match, in_order
from ptxgen.instructions.special import SPECIAL
from ptxgen.instructions.types import Type, type_named
from ptxgen.ir import Address, Call, Element, Float, Guard, Instruction, Int, Neg, Not, Pair, Reg, RegOffset, Sink, Sym, SymbolRef, Vec

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Group, Wave
    from ptxgen.emulator.program import Code

__all__ = ["Control", "Lowering", "Op", "Run"]

Run = Callable[["Wave", Frame, Any], None]
"""Executes a straight-line instruction for a set of threads."""

Control = Callable[["Wave", "Group"], "list[Group]"]
"""Executes an instruction that decides where its threads go on; returns the groups that can go on now."""


class Op:
    """One compiled instruction: `run` or `control`. `ends_block` says that a label or a join follows."""

    __slots__ = ("control", "ends_block", "run", "statement")

    def __init__(self, statement: Instruction | Call | None, run: Run | None = None, control: Control | None = None) -> None:
        self.statement = statement
        self.run = run
        self.control = control
        self.ends_block = False


class Lowering:
    """What a semantics function may ask about the instruction that it compiles."""

    __slots__ = ("code", "match", "named", "pc", "scope", "statement")

    match: Match
    named: dict[str, Any]

    def __init__(self, code: Code, scope: Scope, statement: Instruction | Call, pc: int) -> None:
        self.code = code
        self.scope = scope
        self.statement = statement
        self.pc = pc

    # ---- the contract -------------------------------------------------------------------------------------------------

    def choose_form(self) -> None:
        """Let the operands choose the form: sets `match` and the operands by their names in it."""
        assert isinstance(self.statement, Instruction)
        given = [self.given(operand) for operand in self.statement.operands]
        try:
            checked = check(self.statement.opcode, given)
        except InstructionError as error:
            ordered = "" if error.operand else in_order(self.statement.opcode)  # as assemblers do
            if not ordered:
                raise error.at(self.statement.where) from None
            checked = check(ordered, given)
        self.match = checked.match
        pieces: list[Any] = []
        for operand in self.statement.operands:
            pieces += [operand.first, operand.second] if isinstance(operand, Pair) else [operand]
            if isinstance(operand, Address):
                pieces += operand.rest
        self.named = {name: piece for (name, _), piece in zip(checked.operands, pieces)}

    def given(self, operand: Any) -> Given:
        """How `ptxgen.instructions.checking` sees an operand."""
        if isinstance(operand, Reg):
            return self._given_register(operand)
        if isinstance(operand, Int):
            return Given("int", str(operand.value), value=operand.value)
        if isinstance(operand, Float):
            return Given("float", f"0{'f' if operand.width == 32 else 'd'}{operand.bits:0{operand.width // 4}X}")
        if isinstance(operand, Vec):
            return Given("vector", "{...}", items=tuple(map(self.given, operand.items)))
        if isinstance(operand, Not):
            return Given("not", f"!{operand.reg.name}", type_named("pred"))
        if isinstance(operand, Neg):
            return Given("negated", "-...", items=(self.given(operand.reg),))
        if isinstance(operand, Pair):
            return Given("pair", "p|q", items=(self.given(operand.first), self.given(operand.second)))
        if isinstance(operand, Address):
            return self._given_address(operand)
        if isinstance(operand, Element):
            return Given("address", f"{operand.name}[...]", space=self._space_of(operand.name))
        if isinstance(operand, Sink):
            return Given("sink", "_")
        if isinstance(operand, RegOffset):
            return self.given(operand.reg)
        if isinstance(operand, (Sym, SymbolRef)):
            if operand.name == "WARP_SZ":
                return Given("int", operand.name, value=WARP)
            location = self.scope.variable(operand.name)
            return Given("symbol", operand.name, space="" if location is None else location.space)
        raise self.refuse(f"the emulator has no operand {operand!r}")

    def _given_register(self, operand: Reg) -> Given:
        text = operand.name + (f".{operand.part}" if operand.part else "")
        count = self.scope.vector(operand.name) if operand.part is None else 0
        if count:
            parts = tuple(self._given_register(Reg(operand.name, part)) for part in "xyzw"[:count])
            return Given("vector", text, items=parts)
        register = self.scope.register(operand.name, operand.part)
        if register is None and operand.part and SELECTOR.fullmatch(operand.part):
            whole = self.scope.register(operand.name)
            return Given("register", text, whole.type if whole else None, selector=operand.part)
        return Given("register", text, register.type if register else None)

    def _given_address(self, operand: Address) -> Given:
        space = self._space_of(operand.base.name) if isinstance(operand.base, Sym) else ""
        return Given("address", "[...]", items=tuple(map(self.given, operand.rest)), space=space)

    def _space_of(self, name: str) -> str:
        """A variable's space as the text says it: parameters in a frame are parameters all the same."""
        location = self.variable(name)
        return "param" if location.variable.space == "param" else location.space

    def refuse(self, problem: str, *, section: str = "", legal: str = "") -> InstructionError:
        return InstructionError(problem, opcode=self.statement.opcode, section=section, legal=legal, where=self.statement.where)

    # ---- operands -----------------------------------------------------------------------------------------------------

    def operand_type(self, name: str) -> Type:
        """The type that the contract demands of an operand."""
        contract = self.match.entry.operands[name]
        return self.match.type(contract.type or ".type")

    def source(self, operand: Any, of: Type) -> Get:
        """A closure that reads an operand as a value of type `of`."""
        if isinstance(operand, Reg):
            return self._register_source(operand, of)
        if isinstance(operand, (Int, Float)):
            return constant(operand, of)
        if isinstance(operand, Not):
            positive = self.source(operand.reg, of)
            return lambda wave, frame, index: ~positive(wave, frame, index)
        if isinstance(operand, RegOffset):
            start, more = self.source(operand.reg, of), constant(Int(operand.offset), of)
            return lambda wave, frame, index: start(wave, frame, index) + more(wave, frame, index)
        if isinstance(operand, (Sym, SymbolRef)):
            return self._symbol_source(operand, of)
        raise self.refuse(f"the emulator cannot read {operand!r}")

    def sources(self, operand: Any, of: Type) -> list[Get]:
        """The registers of a vector operand."""
        return [self.source(item, of) for item in self.elements(operand)]

    def elements(self, operand: Any) -> tuple[Any, ...]:
        """A vector's elements; a register declared as a vector, or a special one, is taken apart."""
        if isinstance(operand, Vec):
            return operand.items
        if isinstance(operand, Reg) and operand.part is None and self.scope.vector(operand.name):
            return tuple(Reg(operand.name, part) for part in "xyzw"[: self.scope.vector(operand.name)])
        if isinstance(operand, Reg) and operand.part is None and operand.name in SPECIAL and SPECIAL[operand.name].components:
            return tuple(Reg(operand.name, part) for part in SPECIAL[operand.name].components)
        return (operand,)

    def _register_source(self, operand: Reg, of: Type) -> Get:
        register = self.scope.register(operand.name, operand.part)
        if register is not None:
            shown = operand.name + (f".{operand.part}" if operand.part else "")
            return read_register(register.slot, register.type, of, self.statement, shown)
        if operand.name not in SPECIAL:
            raise self.refuse(f"{operand.name} is not declared", section="5.3", legal=f".reg .{of.name} {operand.name};")
        by_thread, by_clock = special_register(operand.name, operand.part)
        dtype = dtype_of(of)
        if by_clock is not None:
            clock = by_clock
            return lambda wave, frame, index: clock(wave.steps).astype(dtype)

        key = (operand.name, operand.part)

        def get(wave: Wave, frame: Frame, index: Any) -> Array:
            found = wave.special.get(key)
            if found is None:
                found = wave.special[key] = by_thread(wave.threads)  # type: ignore[misc]
            if index is not None and found.size > 1:
                found = found[index]
            return found if found.dtype == dtype else found.astype(dtype)

        return get

    def _symbol_source(self, operand: Sym | SymbolRef, of: Type) -> Get:
        """The address of a variable or function as a value, or ``WARP_SZ``."""
        if operand.name == "WARP_SZ":
            return constant(Int(WARP), of)
        offset = operand.offset if isinstance(operand, SymbolRef) else 0
        dtype = dtype_of(of)
        function = self.code.program.function_address(operand.name)
        location = self.scope.variable(operand.name)
        if location is None and function is not None:
            fixed = np.array([function], dtype)
            return lambda wave, frame, index: fixed
        location = self.variable(operand.name)
        mask = (1 << of.bits) - 1
        address = location.address + offset
        if location.in_frame:
            return lambda wave, frame, index: np.array([(frame.base + address) & mask], dtype)
        fixed = np.array([address & mask], dtype)
        return lambda wave, frame, index: fixed

    def variable(self, name: str) -> Location:
        location = self.scope.variable(name)
        if location is None:
            raise self.refuse(f"{name} is not declared", section="5.4")
        return location

    def target(self, operand: Any, of: Type) -> Put:
        """A closure that writes a value of type `of` into an operand."""
        if isinstance(operand, Sink):
            return sink
        register = self.scope.register(operand.name, operand.part) if isinstance(operand, Reg) else None
        if register is None:
            shown = operand.name if isinstance(operand, (Reg, Sym)) else repr(operand)
            raise self.refuse(f"{shown} is not a register that can be written", section="6.2")
        return write_register(register.slot, register.type, of)

    def address(self, operand: Address | Element, space: str) -> tuple[str, Get]:
        """The state space that an address operand reaches (empty: generic) and a closure that computes int64 addresses in it."""
        if isinstance(operand, Element):
            return self._element_address(operand)
        base, offset = operand.base, operand.offset
        if isinstance(base, Reg):
            return space, self._register_address(base, offset)
        if isinstance(base, Int):
            fixed = np.array([base.value + offset], np.int64)
            return space, lambda wave, frame, index: fixed
        location = self.variable(base.name)
        here = location.address + offset
        if location.in_frame:
            return location.space, lambda wave, frame, index: np.array([frame.base + here], np.int64)
        fixed = np.array([here], np.int64)
        return location.space, lambda wave, frame, index: fixed

    def _element_address(self, operand: Element) -> tuple[str, Get]:
        """``table[2]`` or ``table[%r1]``: the index counts elements (ISA "Arrays as Operands")."""
        step = element_bytes(self.variable(operand.name).variable)
        if isinstance(operand.index, int):
            return self.address(Address(Sym(operand.name), operand.index * step), "")
        space, start = self.address(Address(Sym(operand.name)), "")
        of, more = (operand.index.reg, operand.index.offset) if isinstance(operand.index, RegOffset) else (operand.index, 0)
        number = self._register_address(of, more)
        return space, lambda wave, frame, index: start(wave, frame, index) + number(wave, frame, index) * step

    def _register_address(self, base: Reg, offset: int) -> Get:
        register = self.scope.register(base.name, base.part)
        if register is None:
            raise self.refuse(f"{base.name} is not declared", section="5.3")
        if register.type.bits not in (32, 64):
            raise self.refuse(f"{base.name} has {register.type.bits} bits where an address has 32 or 64", section="6.4.1")
        wide = register.type.bits == 64
        get = self.source(base, type_named("s64" if wide else "u32"))

        def address(wave: Wave, frame: Frame, index: Any) -> Array:
            value = get(wave, frame, index)
            return value + offset if offset else value

        def narrow(wave: Wave, frame: Frame, index: Any) -> Array:
            value = get(wave, frame, index)
            return (value + wrapped if offset else value).astype(np.int64)

        wrapped = np.uint32(offset % (1 << 32))  # the sum has 32 bits: a base below zero and an offset meet again, as on an H200
        return address if wide else narrow

    def label(self, operand: Any) -> int:
        """The program counter that a label names."""
        pc = self.scope.label(operand.name) if isinstance(operand, (Sym, Reg)) else None
        if pc is None:
            raise self.refuse(f"{getattr(operand, 'name', operand)} is no label of this function", section="4.3.1")
        return pc


# ---- guards -----------------------------------------------------------------------------------------------------------


def guard_source(low: Lowering, guard: Guard) -> Get:
    """The guard as a closure: one truth a thread."""
    return low.source(Not(guard.reg) if guard.negated else guard.reg, type_named("pred"))


def guarded_run(condition: Get, run: Run) -> Run:
    """Execute `run` for the threads whose guard holds."""

    def masked(wave: Wave, frame: Frame, index: Any) -> None:
        active, _ = _partition(condition(wave, frame, index), index)
        if active is None or len(active):
            run(wave, frame, active)

    return masked


def guarded_control(condition: Get, control: Control, statement: Instruction | Call) -> Control:
    """Give the threads whose guard holds to `control`; the others go on behind it."""
    head, *qualifiers = statement.opcode.split(".")
    uniform = head in FAMILIES["control"] and "uni" in qualifiers

    def split(wave: Wave, group: Group) -> list[Group]:
        active, rest = _partition(condition(wave, wave.frame(group), group.index), group.index)
        if rest is not None and len(rest) == 0:
            return control(wave, group)
        if active is not None and len(active) == 0:
            return [group.at(group.pc + 1)]
        if uniform:
            _check_uniform(wave, active, rest, statement)
        return [*control(wave, group.part(active)), group.part(rest).at(group.pc + 1)]

    return split


def _check_uniform(wave: Wave, taken: Array, others: Array, statement: Instruction | Call) -> None:
    """Report the warps whose threads part where ``.uni`` promises that those of a warp go one way."""
    warp = wave.threads.warp
    torn = np.isin(warp[taken], warp[others])
    if torn.any():
        message = "threads of one warp go different ways, and .uni promises that they do not"
        wave.reports.add("branch", message, statement, wave.threads, taken[torn])


_EMPTY = np.zeros(0, np.int64)


def _partition(holds: Array, index: Any) -> tuple[Any, Any]:
    """The threads for which a truth holds, and the others; an all-or-nothing outcome keeps `index` as it is."""
    if holds.all():
        return index, _EMPTY
    if not holds.any():
        return _EMPTY, index
    if index is None:
        return np.flatnonzero(holds), np.flatnonzero(~holds)
    return index[holds], index[~holds]


# ---- plain register instructions --------------------------------------------------------------------------------------


def lower_function(low: Lowering, function: Callable[..., Any]) -> Run:
    """An instruction that computes destinations from sources alone: `function` of the sources, in the order of the syntax line."""
    gets: list[Get] = []
    puts: list[Put] = []
    for name, operand in low.named.items():
        contract = low.match.entry.operands[name]
        of = low.operand_type(name)
        if contract.role in ("in", "inout"):
            gets += low.sources(operand, of)
        if contract.role in ("out", "inout"):
            puts += [low.target(item, of) for item in low.elements(operand)]
    return _compose(gets, puts, function)


def _compose(gets: list[Get], puts: list[Put], function: Callable[..., Any]) -> Run:
    if len(puts) == 1:
        put = puts[0]
        if len(gets) == 2:
            first, second = gets
            return lambda wave, frame, index: put(
                wave, frame, index, function(first(wave, frame, index), second(wave, frame, index))
            )
        return lambda wave, frame, index: put(wave, frame, index, function(*[get(wave, frame, index) for get in gets]))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        for put, value in zip(puts, function(*[get(wave, frame, index) for get in gets])):
            put(wave, frame, index, value)

    return run


