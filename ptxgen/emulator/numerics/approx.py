"""Approximate instructions: the correctly rounded value of the function, and how far hardware may be from it.

The ISA bounds the error of each instruction and leaves the bits to the machine. Here results are computed in f64 and
rounded once, with the special values of the ISA's tables; `MAX_ERROR` holds the bounds for a comparison with a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ptxgen.emulator.numerics.common import (
    NAN32,
    Array,
    Op,
    blocked,
    canonical32,
    flush32,
    propagate64,
    quiet,
    unsupported,
)
from ptxgen.emulator.numerics.half import bf16_to_f32, f32_to_bf16, f32_to_f16


class Bound(NamedTuple):
    """The ISA's bound on the error of an approximate instruction.

    Attributes
    ----------
    kind : {"ulp", "relative", "absolute"}
    value : float
    inside : tuple of float, optional
        The bound holds for operand magnitudes in this closed range; everywhere if None. For div, of the divisor.
    """

    kind: str
    value: float
    inside: tuple[float, float] | None = None


_TWO_PI = 6.283185307179586
# Keyed by (opcode without .approx, type). Several bounds: the first whose range holds the operand counts.
MAX_ERROR: dict[tuple[str, str], tuple[Bound, ...]] = {
    ("rcp", "f32"): (Bound("ulp", 1),),
    ("sqrt", "f32"): (Bound("relative", 2.0**-23),),
    ("rsqrt", "f32"): (Bound("relative", 2.0**-22.9),),
    ("sin", "f32"): (Bound("absolute", 2.0**-20.5, (0.0, _TWO_PI)), Bound("absolute", 2.0**-14.7, (0.0, 50 * _TWO_PI))),
    ("cos", "f32"): (Bound("absolute", 2.0**-20.5, (0.0, _TWO_PI)), Bound("absolute", 2.0**-14.7, (0.0, 50 * _TWO_PI))),
    ("lg2", "f32"): (Bound("absolute", 2.0**-22, (0.5, 2.0)), Bound("relative", 2.0**-22)),
    ("ex2", "f32"): (Bound("ulp", 2),),
    ("tanh", "f32"): (Bound("relative", 2.0**-11),),
    ("div", "f32"): (Bound("ulp", 2, (2.0**-126, 2.0**126)),),
    ("div.full", "f32"): (Bound("ulp", 2),),
    ("ex2", "f16"): (Bound("relative", 2.0**-9.9),),
    ("ex2", "bf16"): (Bound("relative", 2.0**-7),),
    ("tanh", "f16"): (Bound("absolute", 2.0**-10.987),),
    ("tanh", "bf16"): (Bound("absolute", 2.0**-8),),
}


def approx(op: str, type_: str, *, ftz: bool = False) -> Op:
    """The callable for one approximate instruction.

    Parameters
    ----------
    op : str
        f32: rcp sqrt rsqrt sin cos lg2 ex2 tanh, and div, div.full with two operands. f16, bf16: ex2 tanh.
        f64: rcp (with ftz), rsqrt (with or without).
    ftz : bool
        Flush subnormal operands and results. For f64 rcp and rsqrt also: only the upper 32 bits of operand and result
        count.

    Raises
    ------
    NumericsError
        The ISA has no such form.
    """
    if type_ == "f64":
        return quiet(blocked(_f64(op, ftz)))
    if type_ in ("f16", "bf16"):
        return quiet(blocked(_half(op, type_, ftz)))
    if type_ != "f32" or (op == "tanh" and ftz):
        raise unsupported(f"{op}.approx", type_, ftz=ftz)
    if op in ("div", "div.full"):
        function: Op = _divide if op == "div" else np.divide
    elif op in _FUNCTIONS:
        exact = _FUNCTIONS[op]
        function = lambda a: exact(a.astype(np.float64)).astype(np.float32)  # noqa: E731
    else:
        raise unsupported(f"{op}.approx", type_)
    if ftz:
        return quiet(blocked(lambda *operands: canonical32(flush32(function(*map(flush32, operands))))))
    return quiet(blocked(lambda *operands: canonical32(function(*operands))))


def _rsqrt(a: Array) -> Array:
    # 1 / sqrt(-0) is -inf by itself, since sqrt(-0) is -0.
    return 1.0 / np.sqrt(a)


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
}


def _divide(a: Array, b: Array) -> Array:
    """div.approx multiplies by a reciprocal that underflows to 0 for the largest divisors."""
    quotient = a / b
    size = np.abs(b)
    huge = (size > np.float32(2.0**126)) & np.isfinite(b)
    if huge.any():
        zero = np.copysign(np.float32(0), np.copysign(np.float32(1), a) * np.copysign(np.float32(1), b))
        quotient = np.where(huge, np.where(np.isfinite(a), zero, NAN32), quotient)
    return quotient


def _half(op: str, type_: str, ftz: bool) -> Op:
    # ex2.bf16 exists with .ftz only, ex2.f16 and tanh without.
    if op not in ("ex2", "tanh") or ftz != (op == "ex2" and type_ == "bf16"):
        raise unsupported(f"{op}.approx", type_, ftz=ftz)
    function = _FUNCTIONS[op]
    if type_ == "f16":
        return lambda a: f32_to_f16(function(a.astype(np.float64)).astype(np.float32))
    if not ftz:
        return lambda a: f32_to_bf16(function(bf16_to_f32(a).astype(np.float64)).astype(np.float32))
    return lambda a: f32_to_bf16(flush32(function(flush32(bf16_to_f32(a)).astype(np.float64)).astype(np.float32)))


_UPPER = np.uint64(0xFFFFFFFF << 32)
_NAN_UPPER = np.uint64(0x7FFFFFFF << 32)
_TINY64 = 2.0**-1022


def _f64(op: str, ftz: bool) -> Op:
    if op not in ("rcp", "rsqrt") or (op == "rcp" and not ftz):
        raise unsupported(f"{op}.approx", "f64", ftz=ftz)
    function = _FUNCTIONS[op]
    if not ftz:
        return lambda a: propagate64(function(a), a)

    def upper(a: Array) -> Array:
        value = (np.ascontiguousarray(a).view(np.uint64) & _UPPER).view(np.float64)
        result = function(value * (np.abs(value) >= _TINY64))
        result = result * (np.abs(result) >= _TINY64)
        bits = (result.view(np.uint64) + np.uint64(1 << 31)) & _UPPER
        return np.where(np.isnan(result), _NAN_UPPER, bits).view(np.float64)

    return upper
