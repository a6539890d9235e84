"""Conversions with random bits to round by, or powers of two to scale by, and fixed point (ISA "cvt", .rs, .scaled, .s2f6).

Random bits are added below the last bit of the result, the highest of them right below it, and what is left below is cut off. Hardware that
does so was not at hand: where results are subnormal, the ISA does not say how the bits are placed.
"""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.numerics.common import Array
from ptxgen.emulator.numerics.rounding import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, every_value, narrow

__all__ = ["FORMATS", "decoded", "fixed_point", "power_of_two", "rounded_by"]

FORMATS: dict[str, Format] = {"f16": F16, "bf16": BF16, "e4m3": E4M3, "e5m2": E5M2, "e3m2": E3M2, "e2m3": E2M3, "e2m1": E2M1}


def rounded_by(values: Array, random: Array, bits: int, to: Format, *, saturate: bool, relu: bool) -> Array:
    """f32 `values` as patterns of a narrower format, rounded stochastically.

    Parameters
    ----------
    values : array of float32
    random : array of unsigned integers
        Of each, the low `bits` are looked at.
    bits : int
    to : Format
    saturate, relu : bool
        As for ``cvt``.
    """
    with np.errstate(all="ignore"):
        magnitude = np.abs(values.astype(np.float64))
        _, exponent = np.frexp(magnitude)
        last = np.maximum(exponent - 1, 1 - to.bias) - to.fraction_bits
        fraction = (random.astype(np.int64) & ((1 << bits) - 1)).astype(np.float64) * 2.0**-bits
        finite = np.isfinite(magnitude)
        steps = np.floor(np.ldexp(np.where(finite, magnitude, 0.0), -last) + fraction)
        result = np.copysign(np.where(finite, np.ldexp(steps, last), magnitude), values)
        if relu:
            result = np.where(result <= 0, 0.0, result)
    return narrow(result, to, "rn", saturate=saturate)


def power_of_two(codes: Array) -> Array:
    """.ue8m0 patterns as f64: the exponent plus 127; 255 is NaN."""
    wide = codes.astype(np.int64) & 255
    return np.where(wide == 255, np.nan, np.ldexp(1.0, wide - 127))


def decoded(patterns: Array, name: str) -> Array:
    """Patterns of a narrow format, in bytes or nibbles of their own, as f64."""
    if name == "s2f6":
        return patterns.astype(np.int64).astype(np.int8) / 64.0
    table = every_value(FORMATS[name])
    found: Array = table[patterns.astype(np.int64) & (len(table) - 1)]
    return found


def fixed_point(values: Array) -> Array:
    """f64 `values` as .s2f6 patterns: bytes that count 64ths, rounded to nearest even and clamped; NaN becomes the largest."""
    steps = np.clip(np.rint(np.where(np.isnan(values), np.inf, values) * 64), -128, 127)
    return steps.astype(np.int8).view(np.uint8)
