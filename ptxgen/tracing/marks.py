"""Marks on an operand: the part of a register that a video instruction takes or writes, and a minus in front (ISA 9.7.20)."""

from __future__ import annotations

from typing import Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.marks import SELECTOR
from ptxgen.instructions.types import TYPES
from ptxgen.tracing.builder import Builder, Value, given_register
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.values import Scalar, emit, operand

__all__ = ["Marked", "marked", "negated", "part"]


class Marked:
    """A register with its marks: `selector` names a part (``"b0"``), `minus` tells of the sign."""

    __slots__ = ("minus", "selector", "value")

    def __init__(self, value: Value, selector: str, minus: bool) -> None:
        self.value = value
        self.selector = selector
        self.minus = minus

    def __repr__(self) -> str:
        shown = f"px.part({self.value!r}, {self.selector!r})" if self.selector else repr(self.value)
        return f"px.negated({shown})" if self.minus else shown


def part(value: Any, selector: str) -> Marked:
    """A part of a 32-bit register, as an operand of a video instruction.

    Parameters
    ----------
    value : traced scalar or mutable register
    selector : str
        ``"b0"`` to ``"b3"`` and ``"h0"``, ``"h1"``; for two halves or four bytes at once ``"h10"``, ``"b3210"`` and the like.
        What an instruction takes its contract says.

    Examples
    --------
    ``px.ptx["vadd.u32.u32.u32"](px.part(a, "b0"), px.part(b, "h1"))``; a result goes to a part with ``out=px.part(r, "b2")``.
    """
    if not isinstance(selector, str) or not SELECTOR.fullmatch(selector):
        raise TraceError(f"{selector!r} selects no part of a register", where=here(), legal='"b0", "h1", "h10", "b3210"')
    if not isinstance(value, Value):
        raise TraceError(f"px.part takes a value of the kernel, not {value!r}", where=here(), legal="a traced scalar or a px.reg")
    return Marked(value, selector, False)


def negated(value: Any) -> Marked:
    """A source of ``vmad`` with a minus in front: a traced scalar, or a `px.part` of one."""
    if isinstance(value, Marked):
        return Marked(value.value, value.selector, True)
    if not isinstance(value, Value):
        raise TraceError(f"px.negated takes a value of the kernel, not {value!r}", where=here(), legal="a traced scalar or a px.part")
    return Marked(value, "", True)


def marked(builder: Builder, given: Marked, where: Where) -> tuple[ir.Operand, Given]:
    """The operand that a marked value is."""
    found, _ = operand(builder, given.value, where)
    if not isinstance(found, ir.Reg):  # a constant has no parts: it goes to a register first
        value = emit(builder, f"mov.b{given.value.type.bits}", TYPES[f"b{given.value.type.bits}"], (given.value,), where)
        assert isinstance(value, Scalar) and isinstance(value.operand, ir.Reg)
        found = value.operand
    register = ir.Reg(found.name, given.selector) if given.selector else found
    if given.selector:
        builder.parts.append((register, found))
    described = given_register(register, given.value.type)
    described.selector = given.selector
    if not given.minus:
        return register, described
    return ir.Neg(register), Given("negated", f"-{described.text}", items=(described,))
