"""Exact rounding: from a sign, an exponent and a long significand to any binary floating-point format.

Everything that is not a bare NumPy operation ends here. Exact intermediate results come as float64 values
rounded to odd (`to_odd`): 53 bits whose last bit is sticky. Rounding such a value once more to a format of at most
51 bits equals rounding the exact value, in every mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen.emulator.numerics.common import Array

_U = np.uint64
_ONE = _U(1)


class Format:
    """A binary floating-point format of at most 64 bits.

    Parameters
    ----------
    exponent_bits, fraction_bits : int
        Field widths; a sign bit comes on top.
    bias : int
        Exponent bias; the smallest normal exponent is ``1 - bias``.
    max_finite, nan : int
        Bit patterns without sign.
    infinity : int, optional
        Bit pattern; formats without one saturate.
    container : type
        Unsigned dtype that holds a pattern.
    """

    __slots__ = ("bias", "container", "exponent_bits", "fraction_bits", "infinity", "max_finite", "nan")

    def __init__(
        self,
        exponent_bits: int,
        fraction_bits: int,
        bias: int,
        max_finite: int,
        nan: int,
        infinity: int | None,
        container: type[np.generic],
    ) -> None:
        self.exponent_bits = exponent_bits
        self.fraction_bits = fraction_bits
        self.bias = bias
        self.max_finite = max_finite
        self.nan = nan
        self.infinity = infinity
        self.container = container

    @property
    def sign_shift(self) -> int:
        """Position of the sign bit."""
        return self.exponent_bits + self.fraction_bits


F64 = Format(11, 52, 1023, 0x7FEF_FFFF_FFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000, np.uint64)
F32 = Format(8, 23, 127, 0x7F7FFFFF, 0x7FFFFFFF, 0x7F800000, np.uint32)
TF32 = Format(8, 10, 127, 0x3FBFF, 0x3FFFF, 0x3FC00, np.uint32)
BF16 = Format(8, 7, 127, 0x7F7F, 0x7FFF, 0x7F80, np.uint16)
F16 = Format(5, 10, 15, 0x7BFF, 0x7FFF, 0x7C00, np.uint16)
E5M2 = Format(5, 2, 15, 0x7B, 0x7F, 0x7C, np.uint8)
E4M3 = Format(4, 3, 7, 0x7E, 0x7F, None, np.uint8)
# Six- and four-bit formats have no NaN: it converts to the largest value (ISA, "cvt", .satfinite).
E3M2 = Format(3, 2, 3, 0x1F, 0x1F, None, np.uint8)
E2M3 = Format(2, 3, 1, 0x1F, 0x1F, None, np.uint8)
E2M1 = Format(2, 1, 1, 0x07, 0x07, None, np.uint8)


def to_odd(rounded: Array, error: Array) -> Array:
    """Turn a nearest-rounded f64 into the exact value rounded to odd.

    Parameters
    ----------
    rounded : float64 array
        The exact value rounded to nearest.
    error : float64 array
        Anything with the sign of (exact - rounded), 0 where exact; NaN (from infinities) counts as exact.
    """
    inexact = np.abs(error) > 0
    if not inexact.any():
        return rounded
    bits = np.ascontiguousarray(rounded).view(np.int64)
    step = np.where((error > 0) == (rounded > 0), 1, -1)
    return np.where(inexact & (bits & 1 == 0), bits + step, bits).view(np.float64)


def two_sum_error(a: Array, b: Array, total: Array) -> Array:
    """The exact error (a + b) - total of the f64 sum ``total = a + b`` (Knuth)."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


def round_pack(sign: Array, exponent: Array, significand: Array, to: Format, rounding: str, saturate: bool = False) -> Array:
    """Round ``(-1)^sign * significand * 2^(exponent - 62)`` to a format.

    Parameters
    ----------
    sign : uint64 array of 0 and 1
    exponent : int64 array
        Exponent of the leading bit. Anything at or below the format's range where ``significand`` is 0.
    significand : uint64 array
        Leading bit at position 62 (or the value 0); the last bit may be sticky.
    rounding : {"rn", "rna", "rz", "rm", "rp"}
    saturate : bool
        Whether overflow gives the largest finite value (``.satfinite``).

    Returns
    -------
    uint64 array
        Bit patterns with sign.
    """
    least = 1 - to.bias
    shift = (62 - to.fraction_bits) + np.maximum(least - exponent, 0)
    beyond = shift > 63
    significand = np.where(beyond, (significand != 0).astype(_U), significand)
    shift = np.minimum(shift, 63).astype(_U)
    kept = significand >> shift
    dropped = significand & ((_ONE << shift) - _ONE)
    kept = kept + _increment(sign, kept, dropped, shift, rounding)
    field = np.maximum(exponent - least, 0).astype(_U)
    magnitude = (field << _U(to.fraction_bits)) + kept
    over = magnitude > _U(to.max_finite)
    if over.any():
        magnitude = np.where(over, _overflow(sign, to, rounding, saturate), magnitude)
    return magnitude | (sign << _U(to.sign_shift))


def _increment(sign: Array, kept: Array, dropped: Array, shift: Array, rounding: str) -> Any:
    if rounding == "rz":
        return _U(0)
    if rounding == "rm":
        return ((dropped != 0) & (sign != 0)).astype(_U)
    if rounding == "rp":
        return ((dropped != 0) & (sign == 0)).astype(_U)
    half = _ONE << (shift - _ONE)
    if rounding == "rna":
        return (dropped >= half).astype(_U)
    return (dropped + (kept & _ONE) > half).astype(_U)


def _overflow(sign: Array, to: Format, rounding: str, saturate: bool) -> Any:
    if saturate or to.infinity is None or rounding == "rz":
        return _U(to.max_finite)
    if rounding in ("rn", "rna"):
        return _U(to.infinity)
    away = (sign != 0) == (rounding == "rm")
    return np.where(away, _U(to.infinity), _U(to.max_finite))


def narrow(values: Array, to: Format, rounding: str, saturate: bool = False) -> Array:
    """Round f64 values (exact, or rounded to odd) to a narrower format.

    Infinities stay infinite (or saturate), NaN becomes the format's canonical NaN without sign.

    Returns
    -------
    array of ``to.container``
        Bit patterns.
    """
    bits = np.ascontiguousarray(values, np.float64).view(_U)
    sign = bits >> _U(63)
    biased = (bits >> _U(52)) & _U(0x7FF)
    fraction = bits & _U((1 << 52) - 1)
    # An f64 subnormal is far below every narrower format, so it needs no normalising: it only makes results inexact.
    significand = (fraction | ((biased != 0).astype(_U) << _U(52))) << _U(10)
    packed = round_pack(sign, biased.astype(np.int64) - 1023, significand, to, rounding, saturate)
    special = biased == 0x7FF
    if special.any():
        infinity = to.max_finite if saturate or to.infinity is None else to.infinity
        signed = (sign << _U(to.sign_shift)) | _U(infinity)
        packed = np.where(special, np.where(fraction != 0, _U(to.nan), signed), packed)
    return packed.astype(to.container)


def every_value(source: Format) -> Array:
    """The f64 values of all patterns of a format of at most 16 bits, indexed by pattern."""
    pattern = np.arange(1 << (source.sign_shift + 1), dtype=np.int64)
    magnitude = pattern & ((1 << source.sign_shift) - 1)
    field = magnitude >> source.fraction_bits
    fraction = magnitude & ((1 << source.fraction_bits) - 1)
    hidden = (field > 0).astype(np.int64) << source.fraction_bits
    exponent = np.maximum(field, 1) - source.bias - source.fraction_bits
    value = np.ldexp((fraction + hidden).astype(np.float64), exponent)
    if source.infinity is not None:
        value = np.where(magnitude == source.infinity, np.inf, value)
    value = np.where(magnitude > max(source.max_finite, source.infinity or 0), np.nan, value)
    return np.where(pattern >> source.sign_shift != 0, -value, value)
