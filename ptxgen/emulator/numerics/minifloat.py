"""cvt between packed pairs: f16x2, bf16x2 and the eight-, six- and four-bit formats (ISA "cvt").

The first source of a two-operand form goes to the upper half of the destination.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.emulator.numerics.common import Array, Op, blocked, lanes, pack, quiet, unsupported
from ptxgen.emulator.numerics.convert import cvt
from ptxgen.emulator.numerics.half import bf16_to_f32
from ptxgen.emulator.numerics.rounding import E2M1, E2M3, E3M2, E4M3, E5M2, Format, every_value, narrow

_NARROW: dict[str, Format] = {"e4m3x2": E4M3, "e5m2x2": E5M2, "e2m3x2": E2M3, "e3m2x2": E3M2, "e2m1x2": E2M1}
_WIDE = ("f16x2", "bf16x2")


def cvt_packed(dst: str, src: str, *, rounding: str = "rn", relu: bool = False, satfinite: bool = False) -> Op:
    """The callable for a ``cvt`` to or from a packed pair.

    Parameters
    ----------
    dst, src : str
        f16x2 or bf16x2 from f32 (two operands); e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2 from f32 (two operands), f16x2 or
        bf16x2; ue8m0x2 from f32 (two operands) or bf16x2; f16x2 from a narrow pair; bf16x2 from ue8m0x2.
    rounding : {"rn", "rz", "rp"}
        rz, rp for ue8m0x2; rn, rz for f16x2, bf16x2 and the narrow formats; rn otherwise.
    relu : bool
        Negative results to +0.
    satfinite : bool
        Overflow to the largest finite value; the narrow formats always do so.

    Returns
    -------
    callable
        Packed values are uint32 (f16x2, bf16x2), uint16 (pairs of bytes, six-bit values included) or uint8 (e2m1x2).

    Raises
    ------
    NumericsError
        No such conversion.
    """
    options = {"rounding": rounding, "relu": relu, "satfinite": satfinite}
    function = _find(dst, src, rounding, relu, satfinite)
    if function is None:
        raise unsupported("cvt", f"{dst}.{src}", **options)
    return quiet(blocked(function))


def _find(dst: str, src: str, rounding: str, relu: bool, satfinite: bool) -> Op | None:
    if dst in _WIDE and src == "f32":
        one = cvt(dst[:-2], "f32", rounding=rounding, relu=relu, satfinite=satfinite)
        return lambda a, b: pack(one(b), one(a))
    if dst in _NARROW and rounding in ("rn", "rz"):
        if src == "f32":
            return _to_narrow(dst, relu, rounding)
        if src in _WIDE:
            encode, load = _to_narrow(dst, relu, rounding), _loader(src)
            return lambda a: encode(*(load(half) for half in reversed(lanes(a))))
    if dst == "f16x2" and src in _NARROW and rounding == "rn" and not satfinite:
        return _from_narrow(src, relu)
    if dst == "ue8m0x2" and rounding in ("rz", "rp") and not relu:
        if src == "f32":
            return lambda a, b: _join_bytes(_to_ue8m0(b, rounding, satfinite), _to_ue8m0(a, rounding, satfinite))
        if src == "bf16x2":
            pair = _find(dst, "f32", rounding, relu, satfinite)
            return (lambda a: pair(*(bf16_to_f32(half) for half in reversed(lanes(a))))) if pair else None
    if (dst, src, rounding) == ("bf16x2", "ue8m0x2", "rn") and not relu and not satfinite:
        return lambda a: pack(_from_ue8m0(a & np.uint16(255)), _from_ue8m0(a >> np.uint16(8)))
    return None


def _loader(src: str) -> Callable[[Array], Array]:
    return bf16_to_f32 if src == "bf16x2" else lambda bits: bits.view(np.float16).astype(np.float32)


def _join_bytes(low: Array, high: Array) -> Array:
    return low.astype(np.uint16) | (high.astype(np.uint16) << np.uint16(8))


def _to_narrow(dst: str, relu: bool, rounding: str) -> Op:
    form = _NARROW[dst]

    def encode(values: Array) -> Array:
        values = values.astype(np.float64)
        return narrow(np.where(values <= 0, 0.0, values) if relu else values, form, rounding, saturate=True)

    if dst == "e2m1x2":
        return lambda a, b: encode(b) | (encode(a) << np.uint8(4))
    return lambda a, b: _join_bytes(encode(b), encode(a))


def _from_narrow(src: str, relu: bool) -> Op:
    form = _NARROW[src]
    values = every_value(form)
    values = np.where(values <= 0, 0.0, values) if relu else values
    table = np.where(np.isnan(values), np.uint16(0x7FFF), values.astype(np.float16).view(np.uint16))
    step, mask = (4, 15) if src == "e2m1x2" else (8, len(table) - 1)

    def decode(a: Array) -> Array:
        return pack(table[a & a.dtype.type(mask)], table[(a >> a.dtype.type(step)) & a.dtype.type(mask)])

    return decode


def _to_ue8m0(values: Array, rounding: str, satfinite: bool) -> Array:
    """The power of two below (rz) or above (rp) a magnitude, as its exponent plus 127; 255 is NaN."""
    magnitude = values.view(np.uint32) & np.uint32(0x7FFFFFFF)
    field, fraction = magnitude >> np.uint32(23), magnitude & np.uint32(0x7FFFFF)
    # Pattern 0 stands for 2^-127, the f32 subnormal with fraction 0x400000.
    inexact = (fraction != 0) & ((field != 0) | (fraction > 0x400000))
    result = field + (inexact if rounding == "rp" else np.uint32(0))
    if rounding == "rp" and satfinite:
        result = np.minimum(result, np.uint32(0xFE))
    if satfinite:
        result = np.where(magnitude == 0x7F800000, np.uint32(0xFE), result)
    return np.where(magnitude > 0x7F800000, np.uint32(0xFF), np.minimum(result, np.uint32(0xFF))).astype(np.uint8)


def _from_ue8m0(codes: Array) -> Array:
    wide = codes.astype(np.uint16)
    bits = np.where(wide == 0, np.uint16(0x0040), wide << np.uint16(7))
    return np.where(wide == 255, np.uint16(0x7FFF), bits)
