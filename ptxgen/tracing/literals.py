"""Python numbers as constants of a PTX type: exactly, or not at all."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import Type, u32
from ptxgen.layouts.expr import Expr
from ptxgen.tracing.builder import Builder, given_register
from ptxgen.tracing.floats import decode, encode
from ptxgen.tracing.mixed import no_number

if TYPE_CHECKING:
    from ptxgen.tracing.values import Scalar

__all__ = ["bounds", "constant", "is_number", "literal"]


@lru_cache(maxsize=None)
def bounds(type: Type) -> tuple[int, int]:
    """The least and the greatest integer of an integer or bits type."""
    if type.signed:
        return -(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1
    return 0, (1 << type.bits) - 1


def is_number(given: Any) -> bool:
    """Whether an operand is a number of Python or NumPy, or a truth value, rather than something traced."""
    return isinstance(given, (int, float)) or (
        hasattr(given, "dtype") and hasattr(given, "__float__") and getattr(given, "ndim", None) == 0
    )


def literal(builder: Builder, given: Any, type: Type, where: Any, *, rounded: bool = False) -> Scalar:
    """A Python number as a constant of `type`.

    Parameters
    ----------
    given : int, float, bool or NumPy scalar
        A bool for predicates alone.
    rounded : bool
        Whether a float may be rounded to the nearest number of the type, as ``px.f32(0.1)`` asks for.

    Raises
    ------
    TraceError
        Where the type can't hold the number, or not exactly.
    """
    key = None
    if isinstance(given, (int, float)):
        # 0.0 and -0.0 are equal, and True and 1; their bits differ, or what they may stand for does.
        key = type, given.__class__, given.hex() if isinstance(given, float) else given, rounded
        known: Scalar | None = builder.literals.get(key)
        if known is not None:
            return known
    made = _literal(builder, given, type, where, rounded)
    if key is not None and made.region is None:
        builder.literals[key] = made
    return made


def _literal(builder: Builder, given: Any, type: Type, where: Any, rounded: bool) -> Scalar:
    if type.kind == "pred":
        if isinstance(given, bool) or type_name(given) == "bool_":
            return _predicate(builder, bool(given), where)
        raise TraceError(f"{given!r} is no truth value", where=where, legal="True or False, or a comparison")
    if isinstance(given, bool) or type_name(given) == "bool_":
        raise TraceError(f"the truth value {given!r} stands where a .{type.name} is needed", where=where, legal="a number")
    if type.is_float:
        return _float_literal(builder, given, type, where, rounded)
    return _integer_literal(builder, given, type, where)


def type_name(given: Any) -> str:
    """The name of an object's class."""
    return given.__class__.__name__


def _integer_literal(builder: Builder, given: Any, type: Type, where: Any) -> Scalar:
    try:
        number = operator.index(given)
    except TypeError:
        raise no_number(given, type, where) from None
    if type.lanes > 1:
        raise TraceError(
            f"{given!r} can't become a .{type.name}, which holds {type.lanes} numbers",
            where=where,
            legal=f"write its bits: px.b{type.bits}(0x...).bitcast(px.{type.name})",
        )
    lo, hi = bounds(type)
    if not lo <= number <= hi:
        raise TraceError(
            f"{number} does not fit into .{type.name}",
            where=where,
            why=f"it would wrap to {(number - lo) % (hi - lo + 1) + lo}",
            legal=f"{lo} to {hi}, or a wider type",
        )
    return constant(builder, number, type, where)


def _float_literal(builder: Builder, given: Any, type: Type, where: Any, rounded: bool) -> Scalar:
    element = type.element
    if element.name not in ("f16", "bf16", "f32", "f64"):
        raise TraceError(
            f"{given!r} can't become a .{type.name} constant",
            where=where,
            legal=f"write its bits: px.b{type.bits}(0x...).bitcast(...)",
        )
    try:
        nearest = float(given)
    except OverflowError:
        nearest = math.inf
    bits = encode(nearest, element)
    found = decode(bits, element)
    if math.isinf(found) and not (isinstance(given, float) and math.isinf(given)):
        raise TraceError(f"{given!r} is beyond the largest .{element.name}", where=where, legal="a wider type, or float('inf')")
    if not (rounded or found == given or given != given):
        raise TraceError(
            f"{given!r} is not exactly representable in .{element.name}",
            where=where,
            why=f"the nearest .{element.name} is {found!r}",
            legal=f"px.{element.name}({given!r}) to round it here and now",
        )
    whole = sum(bits << (lane * element.bits) for lane in range(type.lanes))
    return constant(builder, whole, type, where)


def constant(builder: Builder, bits: int, type: Type, where: Any) -> Scalar:
    """A constant by its value (integers) or its bits (floats): an immediate where PTX has one, else a register that is set once."""
    from ptxgen.tracing.values import Scalar

    if not type.is_float:
        return Scalar(builder, type, ir.Int(bits), None, where, Expr.of(bits) if type.is_integer else None)
    if type.name in ("f32", "f64"):
        return Scalar(builder, type, ir.Float(bits, type.bits), None, where)

    def make() -> Scalar:
        target = builder.register(type)
        source = ir.Int(bits, radix=16)
        given = Given("int", hex(bits), value=bits)
        builder.emit(f"mov.b{type.bits}", [(target, given_register(target, type)), (source, given)], where=where)
        return Scalar(builder, type, target, builder.region, where)

    made: Scalar = builder.numbered(("constant", type.name, bits), make)
    return made


def _predicate(builder: Builder, truth: bool, where: Any) -> Scalar:
    from ptxgen.tracing.values import Scalar, emit

    one = Scalar(builder, u32, ir.Int(int(truth)), None, where, Expr.of(int(truth)))
    zero = Scalar(builder, u32, ir.Int(0), None, where, Expr.of(0))
    from ptxgen.instructions.types import pred

    return emit(builder, "setp.ne.u32", pred, [one, zero], where)
