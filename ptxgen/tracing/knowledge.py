"""What is known of a result: an exact expression, a range and a divisor, or what each thread of a block computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxgen import ir
from ptxgen.instructions.types import Type
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr
from ptxgen.tracing import ranges
from ptxgen.tracing.builder import Value
from ptxgen.tracing.literals import bounds
from ptxgen.tracing.ranges import Bounds, Known

__all__ = ["attach", "carry_out", "constant_of", "known_bits", "known_sum", "note_again", "note_choice", "note_quotient", "note_threads"]


def attach(value: Value, known: Known) -> None:
    """Give an integer result what is known of it: an exact expression, or a fresh symbol with the range and the divisor found."""
    type = value.type
    if not type.is_integer or type.lanes > 1:
        return
    exact = known if isinstance(known, Expr) else None
    if isinstance(known, Expr):
        if ranges.fits(known, bounds(type), value.builder.facts):
            value.expr = known
            value.builder.hold(value)
            return
        known = ranges.wrapped(known, type.bits, bounds(type))
    name = value.operand.name if isinstance(value.operand, ir.Reg) else "constant"
    try:
        value.builder.symbol(name, value, *(known or ()))
    except LayoutError:  # an empty range: code that no thread reaches
        value.builder.symbol(name, value)
    if exact is not None and value.expr is not None:
        value.builder.wrapping[value.expr.symbols[0]] = exact


def carry_out(known: Known, sources: Sequence[Value], type: Type) -> Known:
    """What may leave an operation: a mutable register's symbol may not, since its register will hold something else later."""
    if not isinstance(known, Expr) or known.constant is not None or not any(getattr(one, "mutable", False) for one in sources):
        return known
    lo, hi = known.range()
    low, high = bounds(type)
    if lo is None or hi is None or lo < low or hi > high:
        return ranges.wrapped(known, type.bits, bounds(type))
    return Bounds(lo, hi, known.divisor() or 1)


_OVER_THREADS = {"floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                 "shl": "left_shift", "shr": "right_shift", "add": "add", "sub": "subtract", "mul": "multiply"}  # fmt: skip
_WRAPPING = frozenset(("add", "sub", "mul", "shl"))  # of operands in their type's range the others give what is in it


def note_threads(op: str, made: Value, sources: Sequence[Value]) -> None:
    """Remember what each thread of a block computes, where that depends on its index alone: owners of registers are proved with it."""
    builder = made.builder
    if made.expr is None or op not in _OVER_THREADS or all(symbol in builder.thread_arrays for symbol in made.expr.symbols):
        return
    if not made.type.is_integer or (made.type.bits == 64 and op in ("add", "sub", "mul", "shl")):  # int64 would not wrap as they do
        return
    values = []
    for one in sources:
        found = None if one.expr is None else builder.over_threads(one.expr)
        if found is None:
            return
        values.append(found)
    left, right = values
    if op in ("floordiv", "mod") and (right <= 0).any():
        return
    if op in ("shl", "shr") and ((right < 0) | (right >= min(made.type.bits, 63))).any():
        return
    exact = getattr(np, _OVER_THREADS[op])(left, right)
    if op in _WRAPPING and made.type.bits < 64:
        lo, hi = bounds(made.type)
        exact = (exact - lo) % (hi - lo + 1) + lo
    builder.thread_arrays[made.expr.symbols[0]] = exact


def note_again(op: str, made: Value, sources: Sequence[Value]) -> bool:
    """Whether the same was computed before of the same values, where that is visible; then the result is known by the symbol of then.

    Otherwise it is remembered. Exact results need no such memory: equal ones have equal expressions.
    """
    own, builder = made.expr, made.builder
    if own is None or len(own.symbols) != 1 or builder.values.get(own.symbols[0]) is not made:
        return False
    if any(one.expr is None or getattr(one, "mutable", False) for one in sources):
        return False
    first = builder.numbered(("again", op, made.type.name, *(one.expr for one in sources)), lambda: made)
    if first is made:
        return False
    builder.wrapping.pop(own.symbols[0], None)
    made.expr = first.expr
    return True


def note_choice(made: Value, predicate: Value, one: Value, other: Value) -> None:
    """Remember what a choice between two integers is in either case, where its expression does not say so."""
    own, builder = made.expr, made.builder
    if own is None or len(own.symbols) != 1 or builder.values.get(own.symbols[0]) is not made or not predicate.facts:
        return
    if one.expr is None or other.expr is None or any(getattr(value, "mutable", False) for value in (one, other)):
        return
    holds, fails = predicate.facts
    builder.selects[own.symbols[0]] = (holds, one.expr), (fails, other.expr)


def note_quotient(op: str, made: Value, left: Value, right: Value) -> None:
    """Remember how a quotient or a remainder of non-negative integers lies to the dividend, where its expression does not say so."""
    a, b, result, builder = left.expr, right.expr, made.expr, made.builder
    if a is None or b is None or result is None or op not in ("div", "floordiv", "rem", "mod", "shr"):
        return
    own = result.symbols
    of_thread = all(symbol in builder.thread_arrays for symbol in (*a.symbols, *b.symbols))
    if len(own) != 1 or builder.values.get(own[0]) is not made or of_thread:
        return  # exact, or a range that says as much
    if ranges.limits(a, bounds(left.type))[0] < 0 or ranges.limits(b, bounds(right.type))[0] < 0:
        return
    facts = builder.region.facts
    if op in ("rem", "mod"):
        if ranges.limits(b, bounds(right.type))[0] > 0:  # by 0 PTX leaves the result open
            facts.append(a - result)
            facts.append(b - result - 1)
        else:
            builder.remainders[own[0]] = a, b
        return
    if op == "shr":
        if b.constant is None or b.constant >= left.type.bits:
            return
        b = Expr.of(1 << b.constant)
    facts.append(a - result * b)  # true by 0 as well, whatever the result is
    if b.constant:
        builder.quotients[own[0]] = a, b.constant
        facts.append(result * b + (b.constant - 1) - a)


def known_sum(op: str, a: Value, b: Value) -> Known:
    if a.expr is None or b.expr is None:
        return None
    return a.expr + b.expr if op == "add" else a.expr - b.expr if op == "sub" else a.expr * b.expr


def constant_of(value: Value) -> int | None:
    return value.operand.value if isinstance(value.operand, ir.Int) else None


def known_bits(op: str, a: Value, b: Value) -> Known:
    if a.expr is None or b.expr is None:
        return None
    within = bounds(a.type)
    if op != "and":
        return ranges.bit_or(a.expr, b.expr, within)
    for one, other in ((a, b), (b, a)):
        mask = other.expr.constant if other.expr is not None else None
        if mask is not None and mask >= 0 and one.expr is not None:
            return ranges.bit_and(one.expr, mask, within)
    his = [ranges.limits(one, within) for one in (a.expr, b.expr)]
    positive = [hi for lo, hi in his if lo >= 0]
    return Bounds(0, min(positive)) if positive else None
