"""Python's operators on traced scalars: one exact instruction each, never a conversion that was not asked for.

Floats follow IEEE 754 to the nearest even (``.rn``), integers wrap, comparisons give predicates. What Python would decide
while the kernel
is traced (truth, indices, iteration) is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import Type, pred, u32
from ptxgen.layouts.expr import Expr
from ptxgen.tracing import mixed, ranges
from ptxgen.tracing.builder import Builder, Region, Value
from ptxgen.tracing.builder import given_register as _given_register
from ptxgen.tracing.knowledge import attach, carry_out, constant_of, known_bits, known_sum, note_again, note_quotient, note_threads
from ptxgen.tracing.literals import bounds, is_number, literal, type_name
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.ranges import Bounds, Known

__all__ = ["Plan", "Scalar", "as_value", "binary", "emit", "mov_opcode", "operand"]


class Scalar(Value):
    """A traced scalar with Python's operators. Immutable: every operation gives a fresh one.

    Attributes
    ----------
    uniform : bool
        For a predicate: whether the user asserts that all threads agree on it (`px.uniform`).
    """

    __slots__ = ("uniform",)
    __array_ufunc__ = None  # NumPy's numbers defer to these operators
    mutable = False

    def __init__(
        self,
        builder: Builder,
        type: Type,
        operand: ir.Operand,
        region: Region | None,
        where: Any,
        expr: Expr | None = None,
        facts: ranges.Facts = ((), ()),
    ) -> None:
        # As Value.__init__, written out: most of what a trace makes is one of these.
        self.builder = builder
        self.type = type
        self.operand = operand
        self.region = region
        self.where = where
        self.expr = expr
        self.facts = facts
        self._described = None
        self.same = isinstance(operand, (ir.Int, ir.Float))
        self.threads = None
        self.elected = False
        self.uniform = False

    def __repr__(self) -> str:
        operand = self.operand
        text = operand.name if isinstance(operand, ir.Reg) else repr(operand)
        return f"<{text}: {self.type.name}>"

    # ---- arithmetic -----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Scalar:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Scalar:
        return _operate("add", self, other, reflected=True)

    def __sub__(self, other: Any) -> Scalar:
        return _operate("sub", self, other)

    def __rsub__(self, other: Any) -> Scalar:
        return _operate("sub", self, other, reflected=True)

    def __mul__(self, other: Any) -> Scalar:
        return _operate("mul", self, other)

    def __rmul__(self, other: Any) -> Scalar:
        return _operate("mul", self, other, reflected=True)

    def __truediv__(self, other: Any) -> Scalar:
        return _operate("div", self, other)

    def __rtruediv__(self, other: Any) -> Scalar:
        return _operate("div", self, other, reflected=True)

    def __floordiv__(self, other: Any) -> Scalar:
        return _operate("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Scalar:
        return _operate("floordiv", self, other, reflected=True)

    def __mod__(self, other: Any) -> Scalar:
        return _operate("mod", self, other)

    def __rmod__(self, other: Any) -> Scalar:
        return _operate("mod", self, other, reflected=True)

    def __pow__(self, other: Any) -> NoReturn:
        raise TraceError(
            "PTX has no power instruction",
            where=here(),
            legal='x * x, or px.ptx["ex2.approx.f32"](y * px.ptx["lg2.approx.f32"](x))',
        )

    __rpow__ = __pow__

    def __neg__(self) -> Scalar:
        return _negate(self)

    def __pos__(self) -> Scalar:
        return self

    def __abs__(self) -> Scalar:
        return _absolute(self)

    # ---- bits -----------------------------------------------------------------------------------------------------------

    def __and__(self, other: Any) -> Scalar:
        return _operate("and", self, other)

    def __rand__(self, other: Any) -> Scalar:
        return _operate("and", self, other, reflected=True)

    def __or__(self, other: Any) -> Scalar:
        return _operate("or", self, other)

    def __ror__(self, other: Any) -> Scalar:
        return _operate("or", self, other, reflected=True)

    def __xor__(self, other: Any) -> Scalar:
        return _operate("xor", self, other)

    def __rxor__(self, other: Any) -> Scalar:
        return _operate("xor", self, other, reflected=True)

    def __lshift__(self, other: Any) -> Scalar:
        return _operate("shl", self, other)

    def __rlshift__(self, other: Any) -> Scalar:
        return _operate("shl", self, other, reflected=True)

    def __rshift__(self, other: Any) -> Scalar:
        return _operate("shr", self, other)

    def __rrshift__(self, other: Any) -> Scalar:
        return _operate("shr", self, other, reflected=True)

    def __invert__(self) -> Scalar:
        return _invert(self)

    # ---- comparisons ----------------------------------------------------------------------------------------------------

    def __eq__(self, other: Any) -> Scalar:  # type: ignore[override]
        return _compare("eq", self, other)

    def __ne__(self, other: Any) -> Scalar:  # type: ignore[override]
        return _compare("ne", self, other)

    def __lt__(self, other: Any) -> Scalar:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> Scalar:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> Scalar:
        return _compare("gt", self, other)

    def __ge__(self, other: Any) -> Scalar:
        return _compare("ge", self, other)

    # ---- the same value as another type ---------------------------------------------------------------------------------

    def to(self, dtype: Type, rounding: str | None = None) -> Scalar:
        """The value converted to another type, by one ``cvt``; see `ptxgen.tracing.conversions.convert`."""
        from ptxgen.tracing.conversions import convert

        return convert(self, dtype, rounding)

    def bitcast(self, dtype: Type) -> Scalar:
        """The same bits as another type of the same width; see `ptxgen.tracing.conversions.bitcast`."""
        from ptxgen.tracing.conversions import bitcast

        return bitcast(self, dtype)

    # ---- what Python would decide while the kernel is traced ------------------------------------------------------------

    def __bool__(self) -> bool:
        from ptxgen.tracing.refusals import truth_error

        raise truth_error(self)

    def __hash__(self) -> int:
        raise TraceError(
            "a traced value can't be a key of a dict or an element of a set",
            where=here(),
            why="its value is known on the GPU alone, and == makes a predicate",
            legal="a list or a tuple; an int as key",
        )

    def __index__(self) -> NoReturn:
        raise _unknown(self, "an index or a count of Python", "index a px tensor with it, loop with px.range, or make it a px.constexpr")

    def __int__(self) -> NoReturn:
        raise _unknown(self, "int(...)", 'x.to(px.s32, "rzi") to convert on the GPU')

    def __float__(self) -> NoReturn:
        raise _unknown(self, "float(...)", "x.to(px.f32) to convert on the GPU")

    def __iter__(self) -> NoReturn:
        raise _unknown(self, "something to iterate over", "px.range(x) to loop up to it")

    def __getitem__(self, index: Any) -> NoReturn:
        raise _unknown(self, "something with elements", "a tensor or a tile has elements; a value is one")

    def __len__(self) -> NoReturn:
        raise _unknown(self, "something with a length", "the shape of a tensor has lengths")

    def __contains__(self, item: Any) -> NoReturn:
        raise _unknown(self, "a container", "comparisons joined by |")

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise _unknown(self, "a number to format", 'px.printf("...", x), which prints it on the GPU')

    if not TYPE_CHECKING:  # type checkers find an unknown attribute by themselves

        def __getattr__(self, name: str) -> NoReturn:
            raise mixed.no_attribute(self, name)


def _unknown(value: Scalar, what: str, legal: str) -> TraceError:
    return TraceError(
        f"a traced .{value.type.name} is used as {what}", where=here(), why="its value is known on the GPU alone", legal=legal
    )


# ---- emitting ---------------------------------------------------------------------------------------------------------


def mov_opcode(type: Type) -> str:
    """The instruction that copies a register of `type` (8-bit registers have only ``cvt``)."""
    if type.kind == "pred" or type.name in ("f32", "f64"):
        return f"mov.{type.name}"
    return "cvt.u8.u8" if type.bits == 8 else f"mov.b{type.bits}"


def operand(builder: Builder, value: Value, where: Where | None = None, *, negatable: bool = False) -> tuple[ir.Operand, Given]:
    """A value as an instruction's operand, where it may be used.

    A negated predicate becomes ``!p`` where that may stand, else one ``not.pred``.

    Raises
    ------
    TraceError
        If the value is defined in a block that does not enclose this place, or in another kernel.
    """
    if value.builder is not builder:
        builder.own(value, where)
        raise TraceError(
            "a value of another trace is used",
            where=where or here(),
            why=f"it was made at {value.where}, when another kernel (or another specialisation of this one) was traced",
            legal="pass it as a parameter",
        )
    if value.region is not None and value.region is not builder.region:
        builder.visible_region(value.region, where)
    if isinstance(value.operand, ir.Not):
        if negatable:
            return value.operand, Given("not", f"!{value.operand.reg.name}")
        value = _materialised(builder, value, where or here())
    return value.described()


def _materialised(builder: Builder, value: Value, where: Where) -> Scalar:
    assert isinstance(value.operand, ir.Not)
    source = value.operand.reg

    def make() -> Scalar:
        target = builder.register(pred)
        builder.emit("not.pred", [(target, _given_register(target, pred)), (source, _given_register(source, pred))], where=where)
        builder.droppable.add(target.name)
        return Scalar(builder, pred, target, builder.region, where, None, value.facts)

    made: Scalar = builder.numbered(("not", source.name), make)
    return made


def emit(builder: Builder, opcode: str, type: Type, sources: Sequence[Value], where: Where, *, into: ir.Reg | None = None) -> Scalar:
    """One instruction with one result: in a fresh register, or in `into`."""
    given = [operand(builder, source, where) for source in sources]
    target = builder.register(type) if into is None else into
    made = Scalar(builder, type, target, builder.region, where)
    builder.emit(opcode, [made.described(), *given], where=where)
    if into is None:
        builder.droppable.add(target.name)
        made.same = all(source.same for source in sources)
    return made


def as_value(builder: Builder, given: Any, type: Type, where: Where | None = None) -> Value:
    """A traced value or a Python number as a value of exactly `type`.

    Raises
    ------
    TraceError
        For another type, or a number that the type can't hold exactly.
    """
    where = where or here()
    if hasattr(given, "__ptxgen_value__") and not isinstance(given, Value):  # a named dim
        given = given.__ptxgen_value__(builder)
    if isinstance(given, Value):
        if given.type.name != type.name:
            raise mixed.other_type(given.type, type, where)
        return given
    if is_number(given):
        return literal(builder, given, type, where)
    raise mixed.no_scalar(given, f"{given!r} ({type_name(given)}) is no scalar", f"a traced .{type.name} or a Python number", where)


# ---- binary operators -------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """One instruction to be emitted, and what is known of its integer result."""

    opcode: str
    type: Type
    sources: tuple[Value, ...]
    known: Known = None


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_ARITHMETIC_FLOATS = frozenset(("f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2"))


def _operate(op: str, a: Scalar, b: Any, reflected: bool = False) -> Scalar:
    where = here()
    plan = binary(op, a, b, where, reflected)
    made = emit(a.builder, plan.opcode, plan.type, plan.sources, where)
    if plan.type is pred:
        made.facts = _joined_facts(op, *plan.sources)
        made.threads = _joined_threads(op, *plan.sources)
        made.uniform = all(getattr(one, "uniform", False) for one in plan.sources)
        made.elected = op == "and" and any(one.elected for one in plan.sources)
    attach(made, carry_out(plan.known, plan.sources, plan.type))
    if not note_again(op, made, plan.sources):
        note_threads(op, made, plan.sources)
        note_quotient(op, made, *plan.sources)
    return made


def binary(op: str, a: Value, b: Any, where: Where, reflected: bool = False) -> Plan:
    """The instruction of a binary operator.

    Raises
    ------
    TraceError
        For operands of different types, an inexact literal, or an operator that the type does not have.
    """
    if op in ("shl", "shr"):
        return _shift(op, a, b, where, reflected)
    symbol, type = _SYMBOLS[op], a.type
    b = _other(a, b, symbol, where, reflected)
    left, right = (b, a) if reflected else (a, b)
    if op in ("and", "or", "xor"):
        if type.is_float or type.bits == 8:
            raise _no_operator(symbol, type, where)
        suffix = "pred" if type is pred else f"b{type.bits}"
        return Plan(f"{op}.{suffix}", type, (left, right), known_bits(op, left, right))
    if op in ("floordiv", "mod", "div"):
        return _division(op, type, left, right, where)
    if type.is_float and type.name in _ARITHMETIC_FLOATS:
        return Plan(f"{op}.rn.{type.name}", type, (left, right))
    if not type.is_integer or type.bits == 8:
        raise _no_operator(symbol, type, where)
    lo = ".lo" if op == "mul" else ""
    return Plan(f"{op}{lo}.{type.name}", type, (left, right), known_sum(op, left, right))


def _other(a: Value, b: Any, symbol: str, where: Where, reflected: bool) -> Value:
    """The second operand, of the first one's type."""
    if not isinstance(b, Value) and hasattr(b, "__ptxgen_value__"):
        b = b.__ptxgen_value__(a.builder)
    if isinstance(b, Value):
        if b.type.name != a.type.name:
            left, right = (b, a) if reflected else (a, b)
            raise mixed.different_types(left.type, symbol, right.type, where)
        return b
    if is_number(b):
        return literal(a.builder, b, a.type, where)
    problem = f"{b!r} ({type_name(b)}) can't be an operand of {symbol}"
    raise mixed.no_scalar(b, problem, f"a traced .{a.type.name} or a Python number", where)


def _no_operator(symbol: str, type: Type, where: Where) -> TraceError:
    name = type.name
    if type is pred:
        legal = "&, |, ^ and ~ join predicates; px.select(p, 1, 0) makes a number of one"
    elif type.kind == "bits":
        legal = f"say what the bits mean: .bitcast(px.u{type.bits}), .bitcast(px.s{type.bits})" + (
            f" or .bitcast(px.f{type.bits})" if type.bits in (16, 32, 64) else ""
        )
    elif type.is_float and type.name in _ARITHMETIC_FLOATS:
        legal = f".bitcast(px.b{type.bits}) for the bits"
    elif type.bits == 8 and type.is_integer:
        legal = f"widen: .to(px.{name[0]}16) or .to(px.{name[0]}32)"
    else:
        legal = "convert to f32, or name an instruction: px.ptx[...]"
    return TraceError(f"PTX has no {symbol} on .{name}", where=where, legal=legal)


def _division(op: str, type: Type, left: Value, right: Value, where: Where) -> Plan:
    symbol = _SYMBOLS[op]
    if op == "div":
        if type.name in ("f32", "f64"):
            return Plan(f"div.rn.{type.name}", type, (left, right))
        if type.name in _ARITHMETIC_FLOATS:
            raise TraceError(f"PTX has no division of .{type.name}", where=where, legal="a.to(px.f32) / b.to(px.f32)")
        raise TraceError(
            f"/ on .{type.name}",
            where=where,
            why="Python's / gives a float, and nothing is converted implicitly",
            legal="// for unsigned integers, px.div(a, b) truncating for signed ones, or .to(px.f32)",
        )
    if type.signed:
        named = "px.div(a, b)" if op == "floordiv" else "px.rem(a, b)"
        raise TraceError(
            f"{symbol} on signed .{type.name}",
            where=where,
            why="Python rounds towards minus infinity, PTX towards zero: -7 // 2 is -4 in Python and -3 in PTX",
            legal=f"{named}, which truncates as PTX does; >> and & for powers of two; or unsigned types",
        )
    if type.kind != "unsigned" or type.bits == 8 or type.lanes > 1:
        raise _no_operator(symbol, type, where)
    return quotient("div" if op == "floordiv" else "rem", type, left, right, where)


def quotient(op: str, type: Type, left: Value, right: Value, where: Where) -> Plan:
    """``div`` or ``rem`` of integers, as PTX rounds them (towards zero)."""
    by = constant_of(right)
    if by == 0:
        raise TraceError("division by zero", where=where, why="PTX leaves the result of an integer division by zero open")
    known: Known = None
    within = bounds(type)
    if left.expr is not None and ranges.limits(left.expr, within)[0] >= 0:
        if by is not None and by > 0:
            known = (ranges.divide if op == "div" else ranges.remainder)(left.expr, by, within)
        elif right.expr is not None and ranges.limits(right.expr, within)[0] >= 0:
            hi = ranges.limits(left.expr, within)[1]
            known = Bounds(0, hi if op == "div" else min(hi, max(ranges.limits(right.expr, within)[1] - 1, 0)))
    if known is not None and right.expr is not None and right.expr.range()[0] == 0:
        known = None  # a divisor of 0 is possible, and then the result is anything
    return Plan(f"{op}.{type.name}", type, (left, right), known)


def _shift(op: str, a: Value, b: Any, where: Where, reflected: bool) -> Plan:
    symbol = _SYMBOLS[op]
    if reflected:
        raise TraceError(f"{b!r} {symbol} a traced value: the type of {b!r} is not known", where=where, legal=f"px.u32({b!r}) {symbol} ...")
    if is_number(b):
        amount: Value = literal(a.builder, b, u32, where)
    elif isinstance(b, Value) and b.type is u32:
        amount = b
    else:
        kind = f"a .{b.type.name}" if isinstance(b, Value) else repr(b)
        raise TraceError(f"the shift amount is {kind}", where=where, why="PTX counts shifts in .u32", legal="an int, or .to(px.u32)")
    type = a.type
    if type.is_float or type is pred or type.bits == 8 or type.lanes > 1:
        raise _no_operator(symbol, type, where)
    by = constant_of(amount)
    known: Known = None
    if by is not None and a.expr is not None:
        within = bounds(type)
        if op == "shl":
            known = a.expr * (1 << min(by, type.bits))
        else:
            known = ranges.divide(a.expr, 1 << min(by, type.bits), within)
    suffix = f"b{type.bits}" if op == "shl" else type.name
    return Plan(f"{op}.{suffix}", type, (a, amount), known)


def _joined_facts(op: str, a: Value, b: Value) -> ranges.Facts:
    if op == "and":
        return (*a.facts[0], *b.facts[0]), ()
    if op == "or":
        return (), (*a.facts[1], *b.facts[1])
    return (), ()


def _joined_threads(op: str, a: Value, b: Value) -> np.ndarray | None:
    if a.threads is None or b.threads is None or op not in ("and", "or", "xor"):
        return None
    found: np.ndarray = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[op](a.threads, b.threads)
    return found


# ---- unary operators --------------------------------------------------------------------------------------------------


def _negate(a: Scalar) -> Scalar:
    where, type = here(), a.type
    if type.is_float and type.name in _ARITHMETIC_FLOATS - {"f32x2"}:
        return emit(a.builder, f"neg.{type.name}", type, [a], where)
    if not type.is_integer or type.bits == 8 or type.lanes > 1:
        raise _no_operator("unary -", type, where)
    made = emit(a.builder, f"neg.s{type.bits}", type, [a], where)
    attach(made, carry_out(None if a.expr is None else -a.expr, [a], type))
    return made


def _absolute(a: Scalar) -> Scalar:
    where, type = here(), a.type
    if type.is_float and type.name in _ARITHMETIC_FLOATS - {"f32x2"}:
        return emit(a.builder, f"abs.{type.name}", type, [a], where)
    if not type.signed or type.bits == 8 or type.lanes > 1:
        raise _no_operator("abs", type, where)
    made = emit(a.builder, f"abs.{type.name}", type, [a], where)
    lo, hi = (bounds(type)) if a.expr is None else ranges.limits(a.expr, bounds(type))
    known = Bounds(0, max(-lo, hi)) if lo > bounds(type)[0] else None  # the least integer has no absolute value
    attach(made, known)
    return made


def _invert(a: Scalar) -> Scalar:
    where, type = here(), a.type
    if type is pred:
        return _not(a, where)
    if type.is_float or type.bits == 8:
        raise _no_operator("~", type, where)
    made = emit(a.builder, f"not.b{type.bits}", type, [a], where)
    known = None if a.expr is None else (-a.expr - 1 if type.signed else -a.expr + bounds(type)[1])
    attach(made, carry_out(known, [a], type))
    return made


def _not(a: Scalar, where: Where) -> Scalar:
    """The negation of a predicate: written ``!p`` where an instruction takes that, so nothing is emitted before it is needed."""
    facts = (a.facts[1], a.facts[0])
    if a.mutable:
        made = emit(a.builder, "not.pred", pred, [a], where)
        made.facts = facts
    else:
        negated = a.operand.reg if isinstance(a.operand, ir.Not) else ir.Not(_register(a))
        made = Scalar(a.builder, pred, negated, a.region, where, None, facts)
        made.same = a.same
        made.threads = None if a.threads is None else ~a.threads
    made.uniform = a.uniform
    return made


def _register(value: Value) -> ir.Reg:
    assert isinstance(value.operand, ir.Reg)  # predicates are never constants
    return value.operand


# ---- comparisons ------------------------------------------------------------------------------------------------------


def _compare(comparison: str, a: Scalar, b: Any) -> Scalar:
    where, type, symbol = here(), a.type, _SYMBOLS[comparison]
    b = _other(a, b, symbol, where, False)
    if type.kind == "bits" and comparison not in ("eq", "ne"):
        raise _no_operator(symbol, type, where)
    if type is pred or type.bits in (8, 128) or type.lanes > 1 or (type.is_float and type.name not in _ARITHMETIC_FLOATS):
        raise _no_operator(symbol, type, where)
    # Unordered for != alone: a NaN differs from everything, as in IEEE 754 and Python.
    named = "neu" if type.is_float and comparison == "ne" else comparison
    made = emit(a.builder, f"setp.{named}.{type.name}", pred, [a, b], where)
    if a.expr is not None and b.expr is not None:
        made.facts = ranges.compare_facts(comparison, a.expr, b.expr)
        made.threads = _compared_threads(comparison, a, b)
    return made


def _compared_threads(comparison: str, a: Value, b: Value) -> np.ndarray | None:
    """The threads for which a comparison of values that depend on the thread's index alone holds."""
    assert a.expr is not None and b.expr is not None
    if a.same and b.same:
        return None
    left, right = a.builder.over_threads(a.expr), a.builder.over_threads(b.expr)
    if left is None or right is None:
        return None
    found: np.ndarray = getattr(operator, comparison)(left, right)
    return found
