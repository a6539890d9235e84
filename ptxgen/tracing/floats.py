"""Python floats as the bits of narrower binary formats: rounded to nearest even in one step, and read back exactly."""

from __future__ import annotations

import math
import struct

from ptxgen.instructions.types import Type

__all__ = ["decode", "encode"]

# Type -> (exponent bits, fraction bits). Formats with infinities and NaN, as IEEE 754 lays them out.
_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
_PACKED = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}  # Python rounds these itself, to nearest even


def encode(value: float, type: Type) -> int:
    """The bits of the `type` nearest to `value` (ties to even); beyond the largest finite number, those of infinity."""
    if type.name in _PACKED and math.isfinite(value):
        number, bits = _PACKED[type.name]
        try:
            return int(struct.unpack(bits, struct.pack(number, value))[0])
        except OverflowError:
            pass
    exponent_bits, fraction = _FORMATS[type.name]
    sign = int(math.copysign(1, value) < 0) << (exponent_bits + fraction)
    infinity = ((1 << exponent_bits) - 1) << fraction
    if math.isnan(value):
        return infinity | 1 << (fraction - 1)
    if math.isinf(value):
        return sign | infinity
    if value == 0:
        return sign
    lowest = 2 - (1 << (exponent_bits - 1))  # exponent of the smallest normal number
    exponent = max(math.frexp(value)[1] - 1, lowest)
    numerator, denominator = abs(value).as_integer_ratio()
    shift = exponent - fraction  # exponent of the last place
    if shift > 0:
        denominator <<= shift
    else:
        numerator <<= -shift
    significand, rest = divmod(numerator, denominator)
    significand += 2 * rest > denominator or (2 * rest == denominator and significand & 1)
    # The leading one of a normal significand carries into the exponent field, and so does rounding up to the next power of two.
    return sign | min(((exponent - lowest) << fraction) + significand, infinity)


def decode(bits: int, type: Type) -> float:
    """The number that the bits mean; every such number is a Python float."""
    if type.name in _PACKED:
        number, packed = _PACKED[type.name]
        return float(struct.unpack(number, struct.pack(packed, bits))[0])
    exponent_bits, fraction = _FORMATS[type.name]
    sign = -1.0 if bits >> (exponent_bits + fraction) else 1.0
    field = bits >> fraction & ((1 << exponent_bits) - 1)
    significand = bits & ((1 << fraction) - 1)
    if field == (1 << exponent_bits) - 1:
        return math.copysign(math.nan if significand else math.inf, sign)
    lowest = 2 - (1 << (exponent_bits - 1))
    if field:
        significand |= 1 << fraction
    return sign * math.ldexp(significand, max(field - 1, 0) + lowest - fraction)
