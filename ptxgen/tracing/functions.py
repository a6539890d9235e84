"""Named operations on traced scalars: one exact instruction each. Approximations are named as instructions:
``px.ptx["ex2.approx.f32"]``."""

from __future__ import annotations

from typing import Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import Type, pred
from ptxgen.tracing import ranges
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.knowledge import attach, carry_out, note_choice, note_quotient
from ptxgen.tracing.literals import bounds, is_number, literal, type_name
from ptxgen.tracing.mixed import no_scalar
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.values import Scalar, as_value, emit, quotient

__all__ = ["absolute", "ceiling", "div", "fma", "make_constant", "maximum", "minimum", "rcp", "rem", "select", "sqrt", "uniform"]


def make_constant(type: Type, given: Any) -> Scalar:
    """``px.u32(5)``, ``px.f32(0.1)``: a constant. A float is rounded to the nearest number of the type; an integer must fit.

    Raises
    ------
    TraceError
        Outside of a kernel, for a traced value, or for a number that the type can't hold.
    """
    builder, where = current(f"px.{type.name}({given!r})"), here()
    if isinstance(given, Value) or hasattr(given, "__ptxgen_value__"):
        raise TraceError(
            f"px.{type.name}(...) makes a constant of a Python number",
            where=where,
            legal=f"x.to(px.{type.name}) converts a traced value",
        )
    if not is_number(given):
        raise TraceError(f"{given!r} is no number", where=where, legal=f"px.{type.name}(1)")
    return literal(builder, given, type, where, rounded=True)


def _operands(what: str, given: tuple[Any, ...], builder: Builder, where: Where) -> list[Value]:
    """All operands as values of one type: that of the first traced one."""
    given = tuple(
        one.__ptxgen_value__(builder) if hasattr(one, "__ptxgen_value__") and not isinstance(one, Value) else one for one in given
    )
    typed = next((one for one in given if isinstance(one, Value)), None)
    if typed is None:
        for one in given:
            if not is_number(one):
                raise no_scalar(one, f"{one!r} ({type_name(one)}) is no operand of {what}", "traced scalars and Python numbers", where)
        raise TraceError(
            f"{what} of Python numbers alone has no PTX type", where=where, legal=f"give one a type: px.f32({given[0]!r})"
        )
    return [as_value(builder, one, typed.type, where) for one in given]


def select(p: Any, a: Any, b: Any) -> Scalar:
    """``a`` where the predicate holds, else ``b`` (``selp``). Both are computed; equal types, or one a Python number."""
    builder, where = current("px.select"), here()
    if not isinstance(p, Value) or p.type is not pred:
        raise TraceError("px.select takes a predicate first", where=where, legal="px.select(x > 0, a, b)")
    one, other = _operands("px.select", (a, b), builder, where)
    type = one.type
    if type is pred or type.bits in (8, 128):
        raise TraceError(
            f"selp has no .{type.name}",
            where=where,
            legal="(p & a) | (~p & b) for predicates" if type is pred else "a type of 16 to 64 bits",
        )
    if isinstance(p.operand, ir.Not):  # choose the other way round
        p, one, other = ~p, other, one  # type: ignore[operator]
    made = emit(builder, f"selp.{type.word}", type, [one, other, p], where)
    known = None if one.expr is None or other.expr is None else ranges.union(one.expr, other.expr, bounds(type))
    attach(made, carry_out(known, [one, other], type))
    note_choice(made, p, one, other)
    return made


def _extreme(op: str, a: Any, b: Any) -> Scalar:
    builder, where = current(f"px.{op}"), here()
    one, other = _operands(f"px.{op}", (a, b), builder, where)
    type = one.type
    if type.kind not in ("signed", "unsigned", "float") or type.bits == 8:
        raise TraceError(f"PTX has no {op} of .{type.name}", where=where, legal="numbers of 16 to 64 bits")
    made = emit(builder, f"{op}.{type.name}", type, [one, other], where)
    if one.expr is not None and other.expr is not None:
        choose = min if op == "min" else max
        (lo1, hi1), (lo2, hi2) = (ranges.limits(x.expr, bounds(type)) for x in (one, other) if x.expr is not None)
        divisor = ranges.union(one.expr, other.expr, bounds(type))
        attach(
            made, ranges.Bounds(choose(lo1, lo2), choose(hi1, hi2), divisor.divisor if isinstance(divisor, ranges.Bounds) else 1)
        )
        for expr in (one.expr, other.expr):  # a constant's part is in the range
            if made.expr is not None and expr.constant is None:
                builder.region.facts.append(expr - made.expr if op == "min" else made.expr - expr)
    return made


def minimum(a: Any, b: Any) -> Scalar:
    """The smaller one (``min``); for floats, the other one where one is NaN. Offered as ``px.min``."""
    return _extreme("min", a, b)


def maximum(a: Any, b: Any) -> Scalar:
    """The greater one (``max``); for floats, the other one where one is NaN. Offered as ``px.max``."""
    return _extreme("max", a, b)


def absolute(a: Any) -> Scalar:
    """The magnitude (``abs``). Offered as ``px.abs``; Python's ``abs`` does the same."""
    (one,) = _operands("px.abs", (a,), current("px.abs"), here())
    made: Scalar = abs(one)  # type: ignore[arg-type]
    return made


def fma(a: Any, b: Any, c: Any) -> Scalar:
    """``a * b + c`` of floats, rounded once (``fma.rn``)."""
    builder, where = current("px.fma"), here()
    values = _operands("px.fma", (a, b, c), builder, where)
    type = values[0].type
    if not type.is_float:
        raise TraceError(
            f"px.fma of .{type.name}", where=where, legal='a * b + c, which is exact; px.ptx["mad.lo.u32"] is one instruction'
        )
    return emit(builder, f"fma.rn.{type.name}", type, values, where)


def _rounded(op: str, a: Any) -> Scalar:
    builder, where = current(f"px.{op}"), here()
    (value,) = _operands(f"px.{op}", (a,), builder, where)
    if value.type.name not in ("f32", "f64"):
        raise TraceError(f"PTX has no {op} of .{value.type.name}", where=where, legal="f32 or f64: .to(px.f32)")
    return emit(builder, f"{op}.rn.{value.type.name}", value.type, [value], where)


def sqrt(a: Any) -> Scalar:
    """The square root, correctly rounded (``sqrt.rn``)."""
    return _rounded("sqrt", a)


def rcp(a: Any) -> Scalar:
    """1 / a, correctly rounded (``rcp.rn``)."""
    return _rounded("rcp", a)


def _truncating(op: str, a: Any, b: Any) -> Scalar:
    builder, where = current(f"px.{op}"), here()
    one, other = _operands(f"px.{op}", (a, b), builder, where)
    type = one.type
    if not type.is_integer or type.bits == 8 or type.lanes > 1:
        legal = "a / b" if op == "div" and type.is_float else "integers of 16 to 64 bits"
        raise TraceError(f"px.{op} of .{type.name}", where=where, legal=legal)
    plan = quotient(op, type, one, other, where)
    made = emit(builder, plan.opcode, type, plan.sources, where)
    attach(made, carry_out(plan.known, plan.sources, type))
    note_quotient(op, made, one, other)
    return made


def div(a: Any, b: Any) -> Scalar:
    """The quotient of integers rounded towards zero, as PTX and C do: ``px.div(-7, 2)`` is -3."""
    return _truncating("div", a, b)


def rem(a: Any, b: Any) -> Scalar:
    """The remainder of integers with the sign of `a`, as PTX and C do: ``px.rem(-7, 2)`` is -1."""
    return _truncating("rem", a, b)


def ceiling(a: Any, b: Any) -> Scalar:
    """``a / b`` of unsigned integers rounded up, without an intermediate sum that could wrap. Offered as `px.cdiv`."""
    one, other = _operands("px.cdiv", (a, b), current("px.cdiv"), here())
    rest: Any = one % other  # type: ignore[operator]
    made: Scalar = one // other + (rest != 0).to(one.type)  # type: ignore[operator]
    return made


def uniform(p: Any) -> Scalar:
    """The same predicate, asserted to agree in all threads of a warp: its branches are ``bra.uni``, which the emulator checks."""
    where = here()
    if not isinstance(p, Value) or p.type is not pred:
        raise TraceError("px.uniform takes a predicate", where=where, legal="px.uniform(i < n)")
    p = p.snapshot() if getattr(p, "mutable", False) else p  # type: ignore[attr-defined]  # what it holds here, and what is known of that
    made = Scalar(p.builder, pred, p.operand, p.region, where, None, p.facts)
    made.uniform = made.same = True
    return made
