"""Matrix products as the tensor cores of sm_90 compute them: ``mma.sync`` and, with another unit, ``wgmma`` and ``tcgen05.mma``.

Products are exact. What is added in one step, the products of a block of k and the accumulator, is aligned to the largest exponent
among them, cut off towards zero `fraction` bits below it, and summed exactly; an f32 result is rounded towards zero, an f16 result to
nearest. A product's exponent is the sum of its factors' exponents. `UNITS` says what each instruction does; docs/numerics.md tells the
experiment behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ptxgen.emulator.numerics.common import NAN32, Array, NumericsError, canonical32, has_nan, quiet
from ptxgen.emulator.numerics.ieee import float_op
from ptxgen.emulator.numerics.rounding import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, every_value

__all__ = ["ELEMENT_BITS", "UNITS", "MatrixOp", "Unit", "chained_product", "matrix_product", "scaled_product"]

MatrixOp = Callable[[Array, Array, Array], Array]
ScaledOp = Callable[[Array, Array, Array, Array, Array], Array]

ELEMENT_BITS: dict[str, int] = {
    "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "e3m2": 8, "e2m3": 8, "e2m1": 8,
    "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip
"""Bits that an element takes in a register; the six- and four-bit floats have a byte each."""


class Unit(NamedTuple):
    """How one instruction adds.

    Attributes
    ----------
    fraction : int
        Bits kept below the largest exponent, for 16-bit floats and tf32.
    narrow_fraction : int
        The same for 8-bit floats and narrower.
    narrow_result : int
        Fraction bits of an f32 result from 8-bit floats.
    widens : bool
        Whether 8-bit floats go through the f16 pipe: of each four elements along k the first two of all are one step without the
        accumulator, the others the next, and the accumulator is added last, rounded to nearest.
    """

    fraction: int
    narrow_fraction: int
    narrow_result: int
    widens: bool


UNITS: dict[str, Unit] = {
    "mma": Unit(25, 25, 23, True),
    "wgmma": Unit(25, 13, 13, False),
    "tcgen05": Unit(25, 25, 23, False),
}
"""By instruction. ``mma`` and ``wgmma`` are what an H200 was seen to do, bit for bit; ``tcgen05`` is an assumption."""

_FORMATS: dict[str, Format] = {
    "f16": F16, "bf16": BF16, "e4m3": E4M3, "e5m2": E5M2, "e3m2": E3M2, "e2m3": E2M3, "e2m1": E2M1,
}  # fmt: skip
_NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_NOTHING = -4096
"""The exponent of a zero: below all others."""

_ABSENT = -(1 << 14)
"""The exponent of an element of a sparse matrix that is not there: nothing is multiplied by it, not even infinity by zero."""

_LEAST = -600
"""Where all terms are zero the exponent does not matter; this one keeps the scale finite."""

_LIMIT = 1 << 19
"""Products that are computed at a time."""


def matrix_product(a: str, b: str, accumulator: str, *, unit: str = "mma", satfinite: bool = False, bit_op: str = "and") -> MatrixOp:
    """The callable for one form of a matrix instruction: ``d = a * b + c``.

    Parameters
    ----------
    a, b : str
        Element types: f16, bf16, tf32, f64, e4m3, e5m2, e3m2, e2m3, e2m1, s8, u8, s4, u4, b1.
    accumulator : str
        f32, f16, f64 or s32: the type of c and d.
    unit : {"mma", "wgmma", "tcgen05"}
        The instruction; see `UNITS`.
    satfinite : bool
        s32: clamp the sum instead of wrapping.
    bit_op : {"and", "xor"}
        b1: what replaces the product.

    Returns
    -------
    callable
        Takes a of shape (w, m, k), b of shape (w, n, k) and c of shape (w, m, n), and returns d like c. Floats of up to 16 bits are
        unsigned patterns of their register width (tf32: 32 bits, of which the low 13 are ignored), f64 float64; integers have their
        values in any integer dtype, b1 0 or 1. c is float32, float16, float64 or int32. A sparse a is a masked array: what is masked is
        not multiplied.

    Raises
    ------
    NumericsError
        No such product.
    """
    if accumulator == "s32" and {a, b} <= {"s8", "u8", "s4", "u4", "b1"}:
        return quiet(_integer(satfinite, bit_op if a == "b1" else "mul"))
    if (a, b, accumulator) == ("f64", "f64", "f64"):
        return quiet(_double)
    if accumulator in ("f16", "f32") and all(one in _FORMATS or one == "tf32" for one in (a, b)):
        return quiet(_floating(a, b, accumulator, UNITS[unit]))
    raise NumericsError(f"no matrix product of {a} and {b} is accumulated in {accumulator}")


# ---- integers and doubles ---------------------------------------------------------------------------------------------


def _integer(satfinite: bool, operation: str) -> MatrixOp:
    """Exact: the sums of products stay far below 2^53."""

    def product(a: Array, b: Array, c: Array) -> Array:
        left, right = np.ma.getdata(a).astype(np.float64), b.astype(np.float64)
        total = np.matmul(left, right.transpose(0, 2, 1))
        if operation == "xor":
            total = left.sum(2)[:, :, None] + right.sum(2)[:, None, :] - 2 * total
        total = total.astype(np.int64) + c
        if satfinite:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.int32)

    return product


_FMA64 = float_op("fma", "f64", rounding="rn")


def _double(a: Array, b: Array, c: Array) -> Array:
    """A chain of fused multiply-adds, k ascending from c."""
    total = c.reshape(-1)
    for k in range(a.shape[2]):
        left = np.broadcast_to(a[:, :, k, None], c.shape).reshape(-1)
        right = np.broadcast_to(b[:, None, :, k], c.shape).reshape(-1)
        total = _FMA64(left, right, total)
    return total.reshape(c.shape)


_FMA32 = float_op("fma", "f32", rounding="rn")


def chained_product(d: str) -> MatrixOp:
    """The callable for ``mma.m8n8k4`` with f16: no tensor core of sm_90 has it, so that f32 multiply-adds stand in.

    An f32 result is a chain up k from +0, to which c is added last; for an f16 result, c takes in two pairs of products in turn.
    """

    @quiet
    def product(a: Array, b: Array, c: Array) -> Array:
        left, right = (one.view(np.float16).astype(np.float32) for one in (a, b))

        def chain(start: float, *steps: int) -> Array:
            total = np.full(c.size, np.float32(start))
            for k in steps:
                one = np.broadcast_to(left[:, :, k, None], c.shape).reshape(-1)
                other = np.broadcast_to(right[:, None, :, k], c.shape).reshape(-1)
                total = _FMA32(one, other, total)
            return total.reshape(c.shape)

        if d == "f16":
            return _nearest16((c.astype(np.float32) + chain(-0.0, 0, 1)) + chain(-0.0, 2, 3))
        return canonical32(c.astype(np.float32) + chain(0.0, 0, 1, 2, 3))

    return product


# ---- floats -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def _tables(name: str) -> tuple[Array, Array]:
    """Value and exponent of every pattern of a format; a subnormal number has the exponent of the least normal one."""
    form = _FORMATS[name]
    values = every_value(form)
    exponents = np.maximum(np.frexp(values)[1] - 1, 1 - form.bias)
    return values, np.where(values == 0, _NOTHING, exponents).astype(np.int16)


def _decode(name: str, patterns: Array) -> tuple[Array, Array]:
    """Values (float64) and exponents (int16) of elements."""
    if name == "tf32":
        return _decode32(patterns & np.uint32(0xFFFFE000))
    values, exponents = _tables(name)
    if len(values) < 256:
        patterns = patterns & patterns.dtype.type(len(values) - 1)
    return values.take(patterns), exponents.take(patterns)


def _present(decoded: tuple[Array, Array], patterns: Array) -> tuple[Array, Array]:
    """Values and exponents of the elements that a sparse matrix has."""
    absent = np.ma.getmask(patterns)
    return decoded if absent is np.ma.nomask else (decoded[0], np.where(absent, np.int16(_ABSENT), decoded[1]))


def _decode32(patterns: Array) -> tuple[Array, Array]:
    magnitude = patterns & np.uint32(0x7FFFFFFF)
    exponents = np.maximum((magnitude >> np.uint32(23)).astype(np.int16), 1) - np.int16(127)
    exponents[magnitude == 0] = _NOTHING
    return patterns.view(np.float32).astype(np.float64), exponents


def _decode_accumulator(c: Array) -> tuple[Array, Array]:
    return _decode("f16", c.view(np.uint16)) if c.dtype == np.float16 else _decode32(c.view(np.uint32))


def _floating(a: str, b: str, accumulator: str, unit: Unit) -> MatrixOp:
    narrow = a in _NARROW
    finish = _finish(accumulator, unit.narrow_result if narrow else 23)
    if narrow and unit.widens:
        return _widened(a, b, accumulator, unit.fraction)
    fraction = unit.narrow_fraction if narrow else unit.fraction

    def product(left: Array, right: Array, c: Array) -> Array:
        value, exponent = _decode_accumulator(np.ascontiguousarray(c.transpose(2, 0, 1)))
        one = _present(_decode(a, np.ma.getdata(left)), left)
        total = _sum(_along_k(one), _beside(_decode(b, right)), value, exponent, fraction)
        return finish(total).transpose(1, 2, 0)

    return product


def scaled_product(a: str, b: str, scale: str, *, unit: str = "tcgen05") -> ScaledOp:
    """The callable for a product each of whose elements is taken times the scale of its block: ``d = (a * sa) * (b * sb) + c`` in f32.

    Parameters
    ----------
    a, b : str
        Element types: e4m3, e5m2, e3m2, e2m3, e2m1.
    scale : str
        ue8m0, or e4m3, whose sign is ignored (``.ue4m3``).
    unit : str
        The instruction; see `UNITS`.

    Returns
    -------
    callable
        Takes a, b and c as `matrix_product`'s does, and the patterns of the scale of each element of a and of b.
    """
    own = UNITS[unit]
    finish = _finish("f32", own.narrow_result)

    @quiet
    def product(left: Array, right: Array, c: Array, left_scales: Array, right_scales: Array) -> Array:
        value, exponent = _decode_accumulator(np.ascontiguousarray(c.transpose(2, 0, 1)))
        one, other = _times(_decode(a, np.ma.getdata(left)), scale, left_scales), _times(_decode(b, right), scale, right_scales)
        return finish(_sum(_along_k(_present(one, left)), _beside(other), value, exponent, own.narrow_fraction)).transpose(1, 2, 0)

    return product


def _times(decoded: tuple[Array, Array], scale: str, patterns: Array) -> tuple[Array, Array]:
    """Values and exponents of elements times their scales; the exponents add."""
    if scale == "ue8m0":
        exponents = patterns.astype(np.int16) - np.int16(127)
        values = np.where(patterns == 255, np.nan, np.ldexp(1.0, exponents))
    else:
        values, exponents = _decode(scale, patterns & np.uint8(0x7F))
    return decoded[0] * values, decoded[1] + exponents


def _along_k(decoded: tuple[Array, Array]) -> tuple[Array, Array]:
    """Shape (w, m, k) as (k, w, m)."""
    return np.ascontiguousarray(decoded[0].transpose(2, 0, 1)), np.ascontiguousarray(decoded[1].transpose(2, 0, 1))


def _beside(decoded: tuple[Array, Array]) -> tuple[Array, Array]:
    """Shape (w, n, k) as (k, n, w)."""
    return np.ascontiguousarray(decoded[0].transpose(2, 1, 0)), np.ascontiguousarray(decoded[1].transpose(2, 1, 0))


def _sum(a: tuple[Array, Array], b: tuple[Array, Array], c: Array, exponent: Array, fraction: int) -> Array:
    """Aligned sums, exact in f64: a (k, w, m), b (k, n, w), c and its exponents (n, w, m)."""
    step = max(1, _LIMIT // a[0].size)
    if len(c) <= step:
        return _aligned(a, b, c, exponent, fraction)
    parts = [
        _aligned(a, (b[0][:, n : n + step], b[1][:, n : n + step]), c[n : n + step], exponent[n : n + step], fraction)
        for n in range(0, len(c), step)
    ]
    return np.concatenate(parts)


def _aligned(a: tuple[Array, Array], b: tuple[Array, Array], c: Array, exponent: Array, fraction: int) -> Array:
    top = np.maximum.reduce(a[1][:, None] + b[1][..., None], 0)
    top = np.maximum(np.maximum(top, exponent), _LEAST).astype(np.int64)
    scale, quantum = ((1023 + sign * (fraction - top) << 52).view(np.float64) for sign in (1, -1))
    terms = a[0][:, None] * b[0][..., None]
    absent = a[1] == _ABSENT
    if absent.any():
        np.copyto(terms, 0.0, where=absent[:, None])
    terms *= scale
    np.trunc(terms, out=terms)
    total = np.add.reduce(terms, 0)
    total += np.trunc(c * scale)
    total *= quantum
    total += 0.0  # a sum of negative zeros is +0
    return total


def _finish(accumulator: str, fraction: int) -> Callable[[Array], Array]:
    """Round f64 sums to the accumulator's type: f32 towards zero, to `fraction` bits; f16 to nearest."""
    if accumulator == "f16":
        return _nearest16
    mask = ~np.uint64((1 << (52 - fraction)) - 1)

    def towards_zero(total: Array) -> Array:
        small = np.abs(total) < 2.0**-126
        if small.any():
            quantum = 2.0 ** -(126 + fraction)
            total = np.where(small, np.trunc(total / quantum) * quantum, total)
        if has_nan(total):
            total[np.isnan(total)] = NAN32
        rounded = (total.view(np.uint64) & mask).view(np.float64).astype(np.float32)
        return canonical32(rounded)

    return towards_zero


def _nearest16(total: Array) -> Array:
    rounded = total.astype(np.float16)
    if has_nan(total):
        rounded.view(np.uint16)[np.isnan(total)] = 0x7FFF
    return rounded


def _widened(a: str, b: str, accumulator: str, fraction: int) -> MatrixOp:
    """8-bit floats converted to f16, multiplied in two steps, and added to the accumulator at last."""
    finish = _finish(accumulator, 23)

    def product(left: Array, right: Array, c: Array) -> Array:
        first = np.arange(left.shape[2]) % 4 < 2
        total = np.zeros((c.shape[2], c.shape[0], c.shape[1]), c.dtype)
        for step in (first, ~first):
            value, exponent = _decode_accumulator(total)
            halves = _present(_as_halves(a, np.ma.getdata(left)[:, :, step]), left[:, :, step]), _as_halves(b, right[:, :, step])
            total = finish(_sum(_along_k(halves[0]), _beside(halves[1]), value, exponent, fraction))
        added = c.astype(np.float64) + total.transpose(1, 2, 0)
        if accumulator == "f16":
            return _nearest16(added)
        return canonical32(added.astype(np.float32))

    return product


def _as_halves(name: str, patterns: Array) -> tuple[Array, Array]:
    """Values and exponents after conversion to f16, which normalises what is subnormal in the narrower format."""
    values = _tables(name)[0].take(patterns)
    exponents = np.maximum(np.frexp(values)[1] - 1, 1 - F16.bias)
    return values, np.where(values == 0, _NOTHING, exponents).astype(np.int16)
