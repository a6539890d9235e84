"""f16 and bf16 arithmetic (ISA "Half Precision Floating Point Instructions").

f16 values are float16 arrays, bf16 values uint16 patterns. A packed .f16x2 or .bf16x2 operand is two of these:
view the contiguous b32 array as the 16-bit dtype, twice as long, and every lane-wise operation applies.

Sums and products take one rounding: f32 has the 2p + 2 bits that make its own rounding harmless before the
second one to p = 11 or 8 bits, and where bf16 products leave f32's normal range they are still exact down to half the
smallest bf16 subnormal. A fused multiply-add has no such luck and goes through f64 rounded to odd.
"""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.numerics.common import Array, Op, blocked, has_nan, quiet, saturate32, unsupported
from ptxgen.emulator.numerics.ieee import sum_odd
from ptxgen.emulator.numerics.rounding import BF16, narrow

_SIXTEEN = np.uint32(16)
_TINY16 = np.float32(2.0**-14)
_NAN_BITS = np.uint16(0x7FFF)
_OUT_OF_BOUNDS = np.uint16(0x7FF7)
"""The NaN that stands for what lies out of a tensor's bounds, its sign aside, in both types: read off an H200, since no page tells it."""


def bf16_to_f32(bits: Array) -> Array:
    """Exact values of bf16 patterns (NaN payloads shift along)."""
    return (bits.astype(np.uint32) << _SIXTEEN).view(np.float32)


def f32_to_bf16(values: Array) -> Array:
    """f32 rounded to nearest even, as bf16 patterns; NaN becomes 0x7fff."""
    bits = values.view(np.uint32)
    rounded = ((bits + (((bits >> _SIXTEEN) & np.uint32(1)) + np.uint32(0x7FFF))) >> _SIXTEEN).astype(np.uint16)
    if has_nan(values):
        rounded[values != values] = _NAN_BITS
    return rounded


def f32_to_f16(values: Array) -> Array:
    """f32 rounded to nearest even, as float16; NaN becomes 0x7fff."""
    rounded = values.astype(np.float16)
    if has_nan(values):
        rounded.view(np.uint16)[values != values] = _NAN_BITS
    return rounded


def flush16(values: Array) -> Array:
    """f32 values of f16 operands or results: f16 subnormals to zero of the same sign."""
    return np.multiply(values, np.abs(values) >= _TINY16, dtype=np.float32)


def _relu32(values: Array) -> Array:
    """Negative values and -0 to +0; NaN stays."""
    return np.where(values <= 0, np.float32(0), values)


_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def half_op(op: str, type_: str, *, ftz: bool = False, sat: bool = False, relu: bool = False, oob: bool = False) -> Op:
    """The callable for add, sub, mul (two operands) or fma (three) of f16 or bf16, rounded to nearest even.

    Parameters
    ----------
    ftz, sat : bool
        f16 only: flush subnormals; clamp to [0, 1] with NaN to +0.
    relu : bool
        fma only: negative results to +0, NaN to the canonical NaN.
    oob : bool
        fma only: +0 where a factor is the NaN that stands for what lies out of bounds.

    Raises
    ------
    NumericsError
        The ISA has no such form.
    """
    legal = op in (*_BINARY, "fma") and type_ in ("f16", "bf16")
    legal = legal and not (relu and (op != "fma" or sat)) and not (type_ == "bf16" and (ftz or sat))
    legal = legal and not (oob and (op != "fma" or ftz or sat))
    if not legal:
        raise unsupported(op, type_, ftz=ftz, sat=sat, relu=relu, oob=oob)
    if oob:
        return _without_bounds(half_op(op, type_, relu=relu))
    if type_ == "f16":
        return quiet(blocked(_f16(op, ftz, sat, relu)))
    return quiet(blocked(_bf16(op, relu)))


def _without_bounds(fma: Op) -> Op:
    def apply(a: Array, b: Array, c: Array) -> Array:
        found = fma(a, b, c)
        outside = [np.ascontiguousarray(factor).view(np.uint16) & np.uint16(0x7FFF) == _OUT_OF_BOUNDS for factor in (a, b)]
        return np.where(outside[0] | outside[1], found.dtype.type(0), found)

    return apply


def _f16(op: str, ftz: bool, sat: bool, relu: bool) -> Op:
    if not (ftz or sat or relu):
        if op == "fma":
            return lambda a, b, c: f64_to_f16(_fma_exact(*(x.astype(np.float32) for x in (a, b, c))))
        plain = _BINARY[op]
        return lambda a, b: f32_to_f16(plain(a.astype(np.float32), b.astype(np.float32)))
    exact = _fma_exact if op == "fma" else lambda a, b: _BINARY[op](a, b).astype(np.float64)

    def apply(*operands: Array) -> Array:
        values = [x.astype(np.float32) for x in operands]
        value = exact(*map(flush16, values) if ftz else values)
        rounded = value.astype(np.float16).astype(np.float32)
        if ftz:
            rounded = _flush_result(rounded, value)
        if sat:
            rounded = saturate32(rounded)
        return f32_to_f16(_relu32(rounded) if relu else rounded)

    return apply


def _flush_result(rounded: Array, value: Array) -> Array:
    """``.ftz`` of rounded f16 results, held in f32.

    Whether a result is subnormal is decided on 11 bits with unbounded exponent, as seen on sm_90.
    """
    rounded = flush16(rounded)
    smallest = np.abs(rounded) == _TINY16
    if smallest.any():
        unbounded = np.abs((value[smallest] * 2.0**10).astype(np.float16))
        rounded[smallest] *= unbounded >= np.float16(2.0**-4)
    return rounded


def _fma_exact(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of f16 values held in f32, as f64 rounded to odd (the product is exact in f32 already)."""
    return sum_odd((a * b).astype(np.float64), c.astype(np.float64), "rn")


def f64_to_f16(values: Array) -> Array:
    """f64 rounded to nearest even in one step, as float16; NaN becomes 0x7fff."""
    rounded = values.astype(np.float16)
    if has_nan(values):
        rounded.view(np.uint16)[values != values] = _NAN_BITS
    return rounded


def _bf16(op: str, relu: bool) -> Op:
    if op == "fma":
        return lambda a, b, c: _fma_bf16(bf16_to_f32(a), bf16_to_f32(b), bf16_to_f32(c), relu)
    function = _BINARY[op]
    return lambda a, b: f32_to_bf16(function(bf16_to_f32(a), bf16_to_f32(b)))


def _fma_bf16(a: Array, b: Array, c: Array, relu: bool) -> Array:
    exact = sum_odd(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64), "rn")
    if relu:
        exact = np.where(exact <= 0, 0.0, exact)
    # Down to f32 by collecting the lower 29 bits in one sticky bit, which the rounding to 8 bits then sees.
    bits = exact.view(np.uint64)
    low = np.uint64((1 << 29) - 1)
    sticky = (bits & ~low) | (((bits & low) != 0).astype(np.uint64) << np.uint64(29))
    result = f32_to_bf16(sticky.view(np.float64).astype(np.float32))
    size = np.abs(exact)
    uneven = ((size < 2.0**-126) & (size > 0)) | (exact != exact)
    if uneven.any():
        result[uneven] = narrow(exact[uneven], BF16, "rn")
    return result
