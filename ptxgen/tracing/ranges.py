"""What integer arithmetic does to known values: an exact expression where it can't wrap, else a range and a divisor.

Every function takes expressions of mathematical values and returns an `Expr` (exact) or a `Bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import NamedTuple, Union

from ptxgen.layouts.expr import Expr, prove_nonnegative

__all__ = ["Bounds", "Known", "bit_and", "bit_or", "compare_facts", "divide", "fits", "limits", "remainder", "union", "wrapped"]


class Bounds(NamedTuple):
    """An inclusive range and a divisor of every value."""

    lo: int
    hi: int
    divisor: int = 1


Known = Union[Expr, Bounds, None]
Facts = tuple[tuple[Expr, ...], tuple[Expr, ...]]

_PROVABLE_TERMS = 6  # longer expressions are not worth the search for a proof


def limits(expr: Expr, within: tuple[int, int]) -> tuple[int, int]:
    """The expression's range, cut to that of its type."""
    lo, hi = expr.range()
    low = within[0] if lo is None else max(lo, within[0])
    high = within[1] if hi is None else min(hi, within[1])
    return (low, high) if low <= high else within


def fits(expr: Expr, within: tuple[int, int], facts_in_force: Callable[[], Sequence[Expr]]) -> bool:
    """Whether every value lies inside a type's range, by its own range or else with the facts in force."""
    lo, hi = expr.range()
    low, high = lo is not None and lo >= within[0], hi is not None and hi <= within[1]
    if low and high:
        return True
    facts = facts_in_force() if len(expr.terms) <= _PROVABLE_TERMS else ()
    if not facts:
        return False
    return (low or prove_nonnegative(expr - within[0], facts)) and (high or prove_nonnegative(-expr + within[1], facts))


def wrapped(expr: Expr, bits: int, within: tuple[int, int]) -> Bounds:
    """What is left of an expression that may wrap: the powers of two that divide it divide 2^bits as well."""
    return Bounds(*within, gcd(expr.divisor(), 1 << (bits - 1)) or 1)


def divide(a: Expr, by: int, within: tuple[int, int]) -> Known:
    """``a // by``, rounded down, for by > 0."""
    exact = a.quotient(by)
    if exact is not None:
        return exact
    lo, hi = limits(a, within)
    whole = a.divisor()
    return Bounds(lo // by, hi // by, whole // by if whole and whole % by == 0 else 1)


def remainder(a: Expr, by: int, within: tuple[int, int]) -> Known:
    """``a % by``, in 0 .. by - 1, for by > 0 and a >= 0."""
    exact = a.remainder(by)
    if exact is not None:
        return exact
    hi = limits(a, within)[1]
    divisor = gcd(a.divisor(), by)
    return Bounds(0, min(by - divisor, hi), divisor)


def bit_and(a: Expr, mask: int, within: tuple[int, int]) -> Known:
    """``a & mask`` for a constant mask >= 0: a remainder where the mask is all ones, else between 0 and the mask."""
    if mask & (mask + 1) == 0 and (limits(a, within)[0] >= 0 or mask == 0):
        return remainder(a, mask + 1, within)
    lo, hi = limits(a, within)
    return Bounds(0, min(mask, hi) if lo >= 0 else mask, mask & -mask if mask else 1)


def bit_or(a: Expr, b: Expr, within: tuple[int, int]) -> Known:
    """``a | b`` or ``a ^ b``: a sum where the bits of one lie below all bits of the other."""
    (a_lo, a_hi), (b_lo, b_hi) = limits(a, within), limits(b, within)
    if a_lo < 0 or b_lo < 0:
        return None
    for high, low_hi in ((a, b_hi), (b, a_hi)):
        whole = high.divisor()
        if whole == 0 or (whole & -whole) > low_hi:
            return a + b
    return Bounds(0, (1 << max(a_hi, b_hi).bit_length()) - 1)


def union(a: Expr, b: Expr, within: tuple[int, int]) -> Known:
    """One of both."""
    if a == b:
        return a
    (a_lo, a_hi), (b_lo, b_hi) = limits(a, within), limits(b, within)
    return Bounds(min(a_lo, b_lo), max(a_hi, b_hi), gcd(a.divisor(), b.divisor()) or 1)


def compare_facts(comparison: str, a: Expr, b: Expr) -> Facts:
    """What is >= 0 where ``a <comparison> b`` holds, and where it does not."""
    if comparison == "eq":
        return (a - b, b - a), ()
    if comparison == "ne":
        return (), (a - b, b - a)
    if comparison in ("gt", "ge"):
        return compare_facts("lt" if comparison == "gt" else "le", b, a)
    strict = int(comparison == "lt")
    return (b - a - strict,), (a - b - (1 - strict),)
