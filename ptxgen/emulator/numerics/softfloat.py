"""f64 arithmetic in every rounding mode, on integer significands.

NumPy rounds to nearest only, and no wider float exists to hold an exact f64 product or sum. Here significands are
uint64 with the leading bit at position 62; a product or an aligned sum takes two such limbs. Infinities, NaN and
zero operands, whose results need no rounding, are left to NumPy.
"""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.numerics.common import Array
from ptxgen.emulator.numerics.rounding import F64, round_pack, to_odd, two_sum_error

_U = np.uint64
_ONE = _U(1)
_LOW32 = _U(0xFFFFFFFF)
_SPLITTER = float((1 << 27) + 1)
_ZERO_EXPONENT = -5000


def leading_bit(values: Array) -> Array:
    """Position of the highest set bit of uint64 values, as int64; -1 for 0."""
    high = (values >> _U(32)).astype(np.float64)
    low = (values & _LOW32).astype(np.float64)
    part = np.where(high > 0, high, low)
    position = (part.view(np.int64) >> 52) - 1023 + np.where(high > 0, 32, 0)
    return np.where(values == 0, -1, position)


def multiply_wide(a: Array, b: Array) -> tuple[Array, Array]:
    """The 128-bit products of uint64 values, as (high, low) limbs."""
    a_low, a_high, b_low, b_high = a & _LOW32, a >> _U(32), b & _LOW32, b >> _U(32)
    low = a_low * b_low
    middle = a_high * b_low + (low >> _U(32))
    cross = a_low * b_high + (middle & _LOW32)
    return a_high * b_high + (middle >> _U(32)) + (cross >> _U(32)), (cross << _U(32)) | (low & _LOW32)


def _decode(values: Array) -> tuple[Array, Array, Array]:
    """Sign (0, 1), exponent of the leading bit, and significand (leading bit at 62, or 0) of finite f64 values."""
    values = np.ascontiguousarray(values, np.float64)
    small = np.abs(values) < 2.0**-1022
    bits = np.where(small, values * 2.0**64, values).view(_U)
    field = (bits >> _U(52)) & _U(0x7FF)
    significand = ((bits & _U((1 << 52) - 1)) | _U(1 << 52)) << _U(10)
    exponent = field.astype(np.int64) - 1023 - np.where(small, 64, 0)
    zero = field == 0
    return bits >> _U(63), np.where(zero, _ZERO_EXPONENT, exponent), np.where(zero, _U(0), significand)


def _shift_right_sticky(high: Array, low: Array, distance: Array) -> tuple[Array, Array]:
    """Shift 128-bit values right; bits that fall out are collected in the last bit."""
    distance = np.clip(distance, 0, 127).astype(_U)
    far = distance >= 64
    lost = np.where(far, low, _U(0))
    high, low = np.where(far, _U(0), high), np.where(far, high, low)
    near = distance & _U(63)
    # A shift by 64 - 0 must give 0: two steps keep every count below 64.
    lost = lost | (low & ((_ONE << near) - _ONE))
    low = (low >> near) | ((high << (_U(63) - near)) << _ONE)
    return high >> near, low | (lost != 0)


def _normalise(exponent: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Reduce a 128-bit value (bit 126 has weight 2^exponent) to (exponent, significand) for `round_pack`."""
    upper_empty = high == 0
    exponent = exponent - np.where(upper_empty, 64, 0)
    high, low = np.where(upper_empty, low, high), np.where(upper_empty, _U(0), low)
    top = leading_bit(high)
    left = np.clip(62 - top, 0, 62).astype(_U)
    moved = (high << left) | ((low >> (_U(63) - left)) >> _ONE)
    rest = (low << left) != 0
    carried = top == 63
    moved = np.where(carried, (high >> _ONE) | (high & _ONE), moved)
    return exponent + top - 62, moved | (rest | (carried & (low != 0)))


def _finish(sign: Array, exponent: Array, significand: Array, rounding: str) -> Array:
    return round_pack(sign, exponent, significand, F64, rounding).view(np.float64)


def fma(a: Array, b: Array, c: Array, rounding: str) -> Array:
    """``a * b + c`` of f64 with one rounding, any mode. NaN payloads are the caller's business."""
    sign_a, exponent_a, significand_a = _decode(a)
    sign_b, exponent_b, significand_b = _decode(b)
    sign_c, exponent_c, high_c = _decode(c)
    sign_p = sign_a ^ sign_b
    high_p, low_p = multiply_wide(significand_a, significand_b << _ONE)
    short = high_p >> _U(62) == 0
    high_p, low_p = np.where(short, (high_p << _ONE) | (low_p >> _U(63)), high_p), np.where(short, low_p << _ONE, low_p)
    exponent_p = exponent_a + exponent_b + np.where(short, 0, 1)

    gap = exponent_p - exponent_c
    high_p, low_p = _shift_right_sticky(high_p, low_p, -gap)
    high_c, low_c = _shift_right_sticky(high_c, np.zeros_like(high_c), gap)
    same = sign_p == sign_c
    sum_low = low_p + low_c
    sum_high = high_p + high_c + (sum_low < low_p)
    swap = (high_c > high_p) | ((high_c == high_p) & (low_c > low_p))
    big_high, big_low = np.where(swap, high_c, high_p), np.where(swap, low_c, low_p)
    small_high, small_low = np.where(swap, high_p, high_c), np.where(swap, low_p, low_c)
    high = np.where(same, sum_high, big_high - small_high - (big_low < small_low))
    low = np.where(same, sum_low, big_low - small_low)
    sign = np.where(swap, sign_c, sign_p)
    cancelled = (high | low) == 0
    sign = np.where(cancelled & ~same, _U(rounding == "rm"), sign)
    exponent, significand = _normalise(np.maximum(exponent_p, exponent_c), high, low)
    exponent = np.where(cancelled, _ZERO_EXPONENT, exponent)
    result = _finish(sign, exponent, significand, rounding)

    finite_ab = np.isfinite(a) & np.isfinite(b)
    if finite_ab.all() and np.isfinite(c).all():
        return result
    native = np.where(finite_ab & ~np.isfinite(c), c, a * b + c)
    return np.where(finite_ab & np.isfinite(c), result, native)


def add(a: Array, b: Array, rounding: str) -> Array:
    """``a + b`` of f64 in any mode."""
    return fma(a, np.float64(1.0), b, rounding)


def multiply(a: Array, b: Array, rounding: str) -> Array:
    """``a * b`` of f64 in any mode."""
    # Adding a zero of the product's own sign changes neither its value nor the sign of a zero.
    return fma(a, b, np.copysign(0.0, np.copysign(1.0, a) * np.copysign(1.0, b)), rounding)


def _split(values: Array) -> tuple[Array, Array]:
    """Halves of at most 26 bits each (Veltkamp); magnitudes must stay below 2^990."""
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high


def product_error(a: Array, b: Array, product: Array) -> Array:
    """The exact error a * b - product of the f64 product (Dekker); exact away from overflow and underflow."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def divide(a: Array, b: Array, rounding: str) -> Array:
    """``a / b`` of f64 in any mode."""
    sign_a, exponent_a, significand_a = _decode(a)
    sign_b, exponent_b, significand_b = _decode(b)
    ordinary = np.isfinite(a) & np.isfinite(b) & (significand_a != 0) & (significand_b != 0)
    scale = 2.0**-62
    numerator = np.where(ordinary, significand_a.astype(np.float64) * scale, 1.0)
    denominator = np.where(ordinary, significand_b.astype(np.float64) * scale, 1.0)
    quotient = numerator / denominator
    product = quotient * denominator
    remainder = (numerator - product) - product_error(quotient, denominator, product)
    # Units of 2^-53: the true quotient lies within half an ulp, at most one unit, of the rounded one.
    units = (quotient * 2.0**53).astype(_U) - (remainder < 0)
    wide = units >> _U(53) != 0
    significand = np.where(wide, units << _U(9), units << _U(10)) | (remainder != 0)
    exponent = exponent_a - exponent_b - np.where(wide, 0, 1)
    result = _finish(sign_a ^ sign_b, exponent, significand, rounding)
    return result if ordinary.all() else np.where(ordinary, result, a / b)


def square_root(a: Array, rounding: str) -> Array:
    """The square root of f64 in any mode."""
    sign, exponent, significand = _decode(a)
    ordinary = np.isfinite(a) & (sign == 0) & (significand != 0)
    odd = exponent & 1
    value = np.where(ordinary, significand.astype(np.float64) * 2.0**-62 * (1 + odd), 1.0)
    root = np.sqrt(value)
    square = root * root
    remainder = (value - square) - product_error(root, root, square)
    units = (root * 2.0**52).astype(_U) - (remainder < 0)
    result = _finish(sign, (exponent - odd) >> 1, (units << _U(10)) | (remainder != 0), rounding)
    return result if ordinary.all() else np.where(ordinary, result, np.sqrt(a))


def fma_nearest(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` of f64 rounded to nearest: error-free transforms, integers only where those could over- or underflow.

    The transforms follow Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums" (2008): the two low-order
    parts are added with rounding to odd before the last addition.
    """
    product = a * b
    native = product + c
    error = product_error(a, b, product)
    middle = c + error
    middle_error = two_sum_error(c, error, middle)
    total = product + middle
    total_error = two_sum_error(product, middle, total)
    tail = total_error + middle_error
    tail = to_odd(tail, two_sum_error(total_error, middle_error, tail))
    result = total + tail
    zero = (a == 0) | (b == 0) | (result == 0)
    result = np.where(zero, native, result)
    size_a, size_b = np.abs(a), np.abs(b)
    safe = (np.maximum(size_a, size_b) < 2.0**400) & (np.minimum(size_a, size_b) > 2.0**-400) & (np.abs(c) < 2.0**1000)
    risky = ~(safe | (((a == 0) | (b == 0)) & np.isfinite(a) & np.isfinite(b)))
    if risky.any():
        where = np.nonzero(risky)
        a, b, c = (np.broadcast_to(x, result.shape)[where] for x in (a, b, c))
        result[where] = fma(a, b, c, "rn")
    return result
