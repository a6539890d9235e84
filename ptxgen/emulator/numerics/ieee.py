"""add, sub, mul, div, fma, rcp and sqrt of f32 and f64 in every IEEE rounding mode (ISA "Floating Point Instructions").

Nearest-even is the processor's own arithmetic. A directed f32 result is the exact value rounded to odd in f64, then
rounded once (see `rounding`); a directed f64 result comes from integers (see `softfloat`).
"""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.numerics import softfloat
from ptxgen.emulator.numerics.common import (
    ONE32,
    ROUNDINGS,
    TINY32,
    Array,
    Op,
    blocked,
    canonical32,
    flush32,
    propagate64,
    quiet,
    saturate32,
    unsupported,
)
from ptxgen.emulator.numerics.rounding import F32, narrow, to_odd, two_sum_error

_ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1}


def float_op(op: str, type_: str, *, rounding: str = "rn", ftz: bool = False, sat: bool = False) -> Op:
    """The callable for one form of an IEEE-rounded f32 or f64 instruction.

    Parameters
    ----------
    op : {"add", "sub", "mul", "div", "fma", "rcp", "sqrt"}
    type_ : {"f32", "f64"}
    rounding : {"rn", "rz", "rm", "rp"}
    ftz : bool
        f32: flush subnormal operands and results to zero of the same sign.
    sat : bool
        f32 add, sub, mul, fma: clamp to [0, 1], NaN to +0.

    Returns
    -------
    callable
        Takes 1, 2 or 3 arrays and returns a fresh array; never warns.

    Raises
    ------
    NumericsError
        The ISA has no such form.
    """
    legal = op in _ARITY and rounding in ROUNDINGS
    if type_ == "f64":
        legal = legal and not ftz and not sat
    else:
        legal = legal and type_ == "f32" and not (sat and op in ("div", "rcp", "sqrt"))
    if not legal:
        raise unsupported(op, type_, rounding=rounding, ftz=ftz, sat=sat)
    if type_ == "f64":
        plain = rounding == "rn" and op != "fma"
        return quiet(_f64(op, rounding) if plain else blocked(_f64(op, rounding)))
    function = _F32_NEAREST[op] if rounding == "rn" else _directed32(op, rounding)
    if ftz:
        function = _flushing32(function, op, rounding)
    finished = _finished32(function, _ARITY[op], saturate32 if sat else canonical32)
    plain = rounding == "rn" and op != "fma" and not ftz and not sat
    return quiet(finished if plain else blocked(finished))


def _finished32(function: Op, arity: int, finish: Op) -> Op:
    """Put saturation or the canonical NaN behind an f32 function."""
    if arity == 1:
        return lambda a: finish(function(a))
    if arity == 2:
        return lambda a, b: finish(function(a, b))
    return lambda a, b, c: finish(function(a, b, c))


def _flushing32(function: Op, op: str, rounding: str) -> Op:
    """Put ``.ftz`` around an f32 function."""
    exact = _exact32(op, rounding)

    def apply(*operands: Array) -> Array:
        operands = tuple(map(flush32, operands))
        result = flush32(function(*operands))
        smallest = np.abs(result) == TINY32
        if smallest.any():
            # Whether a result is subnormal is decided on 24 bits with unbounded exponent (seen on sm_90), so that
            # 2^-126 (1 - 2^-24) is flushed although rounding to a multiple of 2^-149 would make it 2^-126.
            where = np.nonzero(smallest)
            value = exact(*(np.broadcast_to(x, result.shape)[where].astype(np.float64) for x in operands))
            result[where] *= rounds_to_normal(value, rounding)
        return result

    return apply


def rounds_to_normal(value: Array, rounding: str) -> Array:
    """Whether f64 values near 2^-126 (exact, or rounded to odd) round to f32 normals, if exponents are unbounded."""
    rounded = narrow(value * 2.0**64, F32, rounding).view(np.float32)
    return np.abs(rounded) >= np.float32(2.0**-62)


# f32, nearest


def _fma32(a: Array, b: Array, c: Array) -> Array:
    product = a.astype(np.float64) * b.astype(np.float64)  # exact: 48 bits
    total = product + c.astype(np.float64)
    result = total.astype(np.float32)
    # The f64 sum is already rounded. Rounding it again goes wrong only if it lies halfway between two f32 values
    # (low 29 bits 1000...), or, with other low bits, in the subnormal range.
    bits = total.view(np.uint64)
    magnitude = bits & np.uint64((1 << 63) - 1)
    suspect = (bits & np.uint64((1 << 29) - 1)) == np.uint64(1 << 28)
    suspect |= magnitude - np.uint64(1) < np.uint64(0x3810000000000000 - 1)
    if suspect.any():
        where = np.nonzero(suspect)
        left = product[where] if product.shape == total.shape else np.broadcast_to(product, total.shape)[where]
        right = np.broadcast_to(c, total.shape)[where].astype(np.float64)
        rounded = total[where]
        result[where] = to_odd(rounded, two_sum_error(left, right, rounded)).astype(np.float32)
    return result


def _rcp32(a: Array) -> Array:
    return np.divide(ONE32, a)


_F32_NEAREST: dict[str, Op] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "fma": _fma32,
    "rcp": _rcp32,
    "sqrt": np.sqrt,
}


# f32, directed: each function returns the exact result rounded to odd in f64


def sum_odd(a: Array, b: Array, rounding: str) -> Array:
    """``a + b`` of f64 values rounded to odd; an exact zero gets the sign that ``rounding`` asks for."""
    total = a + b
    result = to_odd(total, two_sum_error(a, b, total))
    if rounding == "rm":
        negative = (result == 0) & (np.signbit(a) | np.signbit(b))
        result = np.where(negative, -0.0, result)
    return result


def _quotient_odd(a: Array, b: Array) -> Array:
    quotient = a / b
    high = (quotient.view(np.uint64) & np.uint64(~((1 << 27) - 1) & (1 << 64) - 1)).view(np.float64)
    # Both partial products are exact, since b has 24 bits, and so is the remainder.
    remainder = (a - high * b) - (quotient - high) * b
    return to_odd(quotient, remainder * b)


def _root_odd(a: Array) -> Array:
    root = np.sqrt(a)
    high = (root.view(np.uint64) & np.uint64(~((1 << 27) - 1) & (1 << 64) - 1)).view(np.float64)
    low = root - high
    return to_odd(root, ((a - high * high) - 2 * high * low) - low * low)


def _exact32(op: str, rounding: str) -> Op:
    """The operation on f64 arrays of f32 values, rounded to odd."""
    table: dict[str, Op] = {
        "add": lambda a, b: sum_odd(a, b, rounding),
        "sub": lambda a, b: sum_odd(a, -b, rounding),
        "mul": np.multiply,
        "fma": lambda a, b, c: sum_odd(a * b, c, rounding),
        "div": _quotient_odd,
        "rcp": lambda a: _quotient_odd(np.ones_like(a), a),
        "sqrt": _root_odd,
    }
    return table[op]


def _directed32(op: str, rounding: str) -> Op:
    exact = _exact32(op, rounding)
    return lambda *operands: narrow(exact(*(x.astype(np.float64) for x in operands)), F32, rounding).view(np.float32)


# f64


def _f64(op: str, rounding: str) -> Op:
    function = _f64_nearest(op) if rounding == "rn" else _f64_directed(op, rounding)
    # Which of several NaN operands passes on, as seen on sm_90: DADD, DMUL, DFMA prefer b, then c, then a; the
    # division routine prefers a.
    if op in ("rcp", "sqrt"):
        return lambda a: propagate64(function(a), a)
    if op == "div":
        return lambda a, b: propagate64(function(a, b), a, b)
    if op == "fma":
        return lambda a, b, c: propagate64(function(a, b, c), b, c, a)
    return lambda a, b: propagate64(function(a, b), b, a)


def _f64_nearest(op: str) -> Op:
    table: dict[str, Op] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "fma": softfloat.fma_nearest,
        "rcp": np.reciprocal,
        "sqrt": np.sqrt,
    }
    return table[op]


def _f64_directed(op: str, rounding: str) -> Op:
    table: dict[str, Op] = {
        "add": lambda a, b: softfloat.add(a, b, rounding),
        "sub": lambda a, b: softfloat.add(a, np.negative(b), rounding),
        "mul": lambda a, b: softfloat.multiply(a, b, rounding),
        "div": lambda a, b: softfloat.divide(a, b, rounding),
        "fma": lambda a, b, c: softfloat.fma(a, b, c, rounding),
        "rcp": lambda a: softfloat.divide(np.ones_like(a), a, rounding),
        "sqrt": lambda a: softfloat.square_root(a, rounding),
    }
    return table[op]
