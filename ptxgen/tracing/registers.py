"""`px.reg`: a typed register that can be written again, for what changes in a loop or a branch."""

from __future__ import annotations

from typing import Any

from ptxgen.errors import TraceError
from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.knowledge import carry_out
from ptxgen.tracing.literals import bounds
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.ranges import Bounds, Known
from ptxgen.tracing.values import Scalar, as_value, binary, emit, mov_opcode

__all__ = ["Register", "reg"]


class Register(Scalar):
    """A mutable register. In expressions it stands for what it holds at that place; ``r += x`` and ``r.set(x)`` write it.

    What is known of an integer is known of one *version*: every write begins a new one, and so do the head of a loop (the body
    may have
    written it) and the end of a block in which it was written. `expr` is the current version's symbol.

    Attributes
    ----------
    version : int
    """

    __slots__ = ("version",)
    mutable = True

    def __init__(self, builder: Builder, type: Type, where: Where) -> None:
        super().__init__(builder, type, builder.register(type), builder.region, where)
        self.version = 0
        builder.mutable.append(self)
        self.renew()

    def __repr__(self) -> str:
        return f"<mutable {self.operand.name}: {self.type.name}>"  # type: ignore[union-attr]

    # ---- versions -------------------------------------------------------------------------------------------------------

    def renew(self, known: Known = None) -> None:
        """Begin a new version, of which `known` is known."""
        self.version += 1
        self.facts = ((), ())
        self.same = False
        self.threads = None
        self.uniform = False
        if not self.type.is_integer or self.type.lanes > 1:
            return
        if isinstance(known, Expr) and known.constant is not None:
            known = Bounds(known.constant, known.constant)
        lo, hi = bounds(self.type)
        divisor = 1
        if isinstance(known, Bounds):
            lo, hi, divisor = max(lo, known.lo), min(hi, known.hi), known.divisor
        name = f"{self.operand.name}.{self.version}"  # type: ignore[union-attr]
        self.expr = Expr.of(Symbol(name, lo, hi, divisor))

    def snapshot(self) -> Scalar:
        """What the register holds here, as an immutable value in a register of its own: one ``mov``, once a version and block."""
        builder, where = self.builder, here()
        builder.visible(self, where)

        def make() -> Scalar:
            made = emit(builder, mov_opcode(self.type), self.type, [self], where)
            made.expr, made.facts = self.expr, self.facts
            return made

        made: Scalar = builder.numbered(("snapshot", self.operand, self.version), make)
        if self.expr is not None:
            builder.values[self.expr.symbols[0]] = made
        return made

    def get(self) -> Scalar:
        """The same as `snapshot`: a value that later writes do not change."""
        return self.snapshot()

    def __ptxgen_value__(self, builder: Builder) -> Scalar:
        """What a view takes as an index: it is computed with later, when the register may hold something else."""
        return self.snapshot()

    # ---- writing --------------------------------------------------------------------------------------------------------

    def set(self, value: Any) -> None:
        """Write a value: traced and of this type, or a Python number that the type holds exactly."""
        where = here()
        source = as_value(self.builder, value, self.type, where)
        self._write(mov_opcode(self.type), (source,), carry_out(source.expr, [source], self.type), where)
        self.facts = ((), ()) if getattr(source, "mutable", False) else source.facts

    def _write(self, opcode: str, sources: tuple[Value, ...], known: Known, where: Where) -> None:
        emit(self.builder, opcode, self.type, sources, where, into=self.operand)  # type: ignore[arg-type]
        self.written(known)

    def written(self, known: Known = None) -> None:
        """Take note that an instruction wrote this register."""
        if isinstance(known, Expr) and known.constant is None:
            lo, hi = known.range()
            least, greatest = bounds(self.type)
            inside = lo is not None and hi is not None and least <= lo and hi <= greatest
            known = Bounds(lo, hi, known.divisor() or 1) if inside else None  # type: ignore[arg-type]
        self.renew(known)
        self.builder.region.written[id(self)] = self

    def _operate(self, op: str, other: Any) -> Register:
        where = here()
        plan = binary(op, self, other, where)
        self._write(plan.opcode, plan.sources, carry_out(plan.known, plan.sources, self.type), where)
        return self

    def __iadd__(self, other: Any) -> Register:
        return self._operate("add", other)

    def __isub__(self, other: Any) -> Register:
        return self._operate("sub", other)

    def __imul__(self, other: Any) -> Register:
        return self._operate("mul", other)

    def __itruediv__(self, other: Any) -> Register:
        return self._operate("div", other)

    def __ifloordiv__(self, other: Any) -> Register:
        return self._operate("floordiv", other)

    def __imod__(self, other: Any) -> Register:
        return self._operate("mod", other)

    def __iand__(self, other: Any) -> Register:
        return self._operate("and", other)

    def __ior__(self, other: Any) -> Register:
        return self._operate("or", other)

    def __ixor__(self, other: Any) -> Register:
        return self._operate("xor", other)

    def __ilshift__(self, other: Any) -> Register:
        return self._operate("shl", other)

    def __irshift__(self, other: Any) -> Register:
        return self._operate("shr", other)


def reg(dtype: Type, init: Any = None) -> Register:
    """A mutable register.

    Parameters
    ----------
    dtype : Type
        Any type that a register can hold, predicates included.
    init : optional
        Its first value; without one it holds nothing until it is written, and the emulator reports a read.

    Raises
    ------
    TraceError
        Outside of a kernel, for a type without registers, or an `init` of another type.
    """
    builder, where = current("px.reg"), here()
    if not isinstance(dtype, Type) or dtype.name not in TYPES or dtype.kind == "opaque":
        raise TraceError(f"px.reg takes the type of a register, not {dtype!r}", where=where, legal="px.reg(px.f32, 0)")
    source = None if init is None else as_value(builder, init, dtype, where)
    made = Register(builder, dtype, where)
    if source is not None:
        made.set(source)
    return made
