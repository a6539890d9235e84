"""Operands of a text as the contracts' check sees them."""

from __future__ import annotations

from collections.abc import Callable

from ptxgen.instructions.checking import NO_SPACE, Given
from ptxgen.instructions.marks import SELECTOR
from ptxgen.instructions.special import SPECIAL, special_register
from ptxgen.instructions.types import TYPES, Type
from ptxgen.ir import (
    Address,
    Element,
    Float,
    Function,
    Int,
    Label,
    Neg,
    Not,
    Operand,
    Pair,
    Prototype,
    Reg,
    RegOffset,
    Sink,
    Sym,
    SymbolRef,
    Targets,
    Variable,
    Vec,
)  # fmt: skip
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text.writer import write_operand
from ptxgen.verify.names import Names

__all__ = ["OperandGiver", "Report", "space_of"]

Report = Callable[[str, str, str], None]
"""Takes an id, a message and the focus."""

WARP_SIZE = 32


class OperandGiver:
    """Turns operands into `Given` values. What is not declared is reported and given without a type, so that it is reported once."""

    def __init__(self, names: Names, report: Report) -> None:
        self._names = names
        self._report = report
        self.opcode = ""

    def given(self, operand: Operand) -> Given:
        text = write_operand(operand)
        if isinstance(operand, Reg):
            return self._register(operand, text)
        if isinstance(operand, Int):
            return Given("int", text, value=operand.value)
        if isinstance(operand, Float):
            return Given("float", text)
        if isinstance(operand, Vec):
            return Given("vector", text, items=tuple(map(self.given, operand.items)))
        if isinstance(operand, RegOffset):
            return self.given(operand.reg)
        if isinstance(operand, Not):
            return Given("not", text, self.given(operand.reg).type)
        if isinstance(operand, Neg):
            return Given("negated", text, items=(self.given(operand.reg),))
        if isinstance(operand, Pair):
            return Given("pair", text, items=(self.given(operand.first), self.given(operand.second)))
        if isinstance(operand, Address):
            return self._address(operand, text)
        if isinstance(operand, Sink):
            return Given("sink", text)
        if isinstance(operand, Element):
            return self._element(operand, text)
        return self._symbol(operand, text)

    def list(self, operands: tuple[Operand, ...]) -> Given:
        """Operands in parentheses."""
        return Given("list", f"({', '.join(map(write_operand, operands))})", items=tuple(map(self.given, operands)))

    def _register(self, operand: Reg, text: str) -> Given:
        register = self._names.register(operand.name)
        if register is None and operand.name in SPECIAL:
            return self._special(text)
        if register is None:
            self._undeclared_register(operand.name)
            return Given("register", text)
        if register.vector and operand.part is None:
            return Given(
                "vector", text, items=tuple(Given("register", f"{text}.{part}", register.type) for part in "xyzw"[: register.vector])
            )
        if operand.part is not None and not register.vector and SELECTOR.fullmatch(operand.part):
            return Given("register", text, register.type, selector=operand.part)
        if operand.part is not None and operand.part not in (*"xyzw"[: register.vector], *"rgba"[: register.vector]):
            harmless = register.vector and operand.part in tuple("xyzwrgba")  # ptxas takes them
            self._report("warning no-component" if harmless else "no-component", _no_component(operand, register.vector), text)
        return Given("register", text, register.type)

    def _special(self, text: str) -> Given:
        try:
            special, _ = special_register(text)
        except PtxgenError as error:
            self._report("no-component", str(error), text)
            return Given("register", text.partition(".")[0])
        return Given("register", text, special.type)

    def _undeclared_register(self, name: str) -> None:
        message = f"the register {name} is not declared here"
        family = self._names.family_of(name)
        near = self._names.nearest(name, registers=True)
        if family:
            message += f"; {family} ends before it"
        elif near:
            message += f"; nearest: {', '.join(near)}"
        elif name[0] == "%":
            message += f"; PTX has no special register {name} either (PTX ISA chapter 10)"
        self._report("undeclared-register", message, name)

    def _address(self, operand: Address, text: str) -> Given:
        space, of = "", None
        if isinstance(operand.base, Sym):
            found = self._names.find(operand.base.name)
            if isinstance(found, Variable):
                space, of = space_of(found), _type_of(found)
            elif found is None:
                self._undeclared_name(operand.base.name)
            else:
                self._report("not-a-variable", f"[{operand.base.name}]: {operand.base.name} is not a variable", operand.base.name)
        elif isinstance(operand.base, Reg):
            of = self._address_register(operand.base)
        value = operand.base.value + operand.offset if isinstance(operand.base, Int) else None
        items = tuple(map(self.given, operand.rest))
        return Given("address", text, of, value, items, space, named=isinstance(operand.base, Sym))

    def _address_register(self, base: Reg) -> Type | None:
        found = self.given(base)
        if found.type is not None and not (found.type.is_integer or found.type.kind == "bits"):
            self._report(
                "address-type",
                f"{found.text} is .{found.type.name}, and an address is an integer or untyped bits (PTX ISA 6.4.1)\n"
                "  legal: a register of .b64, .u64, .s64 or, for shared memory, .b32, .u32, .s32",
                found.text,
            )
        return found.type

    def _element(self, operand: Element, text: str) -> Given:
        """``table[2]``: an address where memory is accessed, a value for `mov`."""
        found = self._names.find(operand.name)
        if found is None:
            self._undeclared_name(operand.name)
        elif not isinstance(found, Variable):
            self._report("not-a-variable", f"{text}: {operand.name} is not an array", operand.name)
        if not isinstance(operand.index, int):
            self.given(operand.index)
        space = space_of(found) if isinstance(found, Variable) else ""
        return Given("symbol" if self.opcode.startswith("mov") else "address", text, space=space)

    def _symbol(self, operand: Sym | SymbolRef, text: str) -> Given:
        if operand.name == "WARP_SZ":
            return Given("int", text, value=WARP_SIZE)
        found = self._names.find(operand.name)
        if found is None:
            self._undeclared_name(operand.name)
        if isinstance(found, Variable):
            return Given("symbol", text, _type_of(found), space=space_of(found))
        if isinstance(found, (Label, Targets, Prototype)):
            self._report("not-a-variable", f"{operand.name} is a label, which has no address (PTX ISA 6.4)", operand.name)
        return Given("symbol", text, space=NO_SPACE if isinstance(found, Function) else "")

    def _undeclared_name(self, name: str) -> None:
        near = self._names.nearest(name, registers=False)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        self._report("undeclared-name", f"{name} is not declared here{hint}", name)


def _no_component(operand: Reg, vector: int) -> str:
    have = f"has the components {', '.join('.' + one for one in 'xyzw'[:vector])}" if vector else "is no vector"
    return f"{operand.name}.{operand.part}: {operand.name} {have} (PTX ISA 6.4.3)"


_OPAQUE_SPACES = {"tex": "texref", "sampler": "samplerref", "surf": "surfref"}


def _type_of(variable: Variable) -> Type | None:
    """A variable's type; that of a texture where its state space says that it is one."""
    return TYPES.get(_OPAQUE_SPACES.get(variable.space, variable.type))


def space_of(variable: Variable) -> str:
    """The state space of a variable, constant banks counted as one."""
    return variable.space.partition("[")[0]
