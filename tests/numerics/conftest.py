"""An independent oracle: exact rational arithmetic, rounded by definition, one value at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

Value = Fraction | float  # a float only for NaN, infinities and -0.0


class Binary:
    """A binary format, decoded and encoded with Fractions."""

    def __init__(self, exponent_bits: int, fraction_bits: int) -> None:
        self.fraction_bits = fraction_bits
        self.width = 1 + exponent_bits + fraction_bits
        self.bias = (1 << (exponent_bits - 1)) - 1
        self.infinity = ((1 << exponent_bits) - 1) << fraction_bits
        self.sign = 1 << (self.width - 1)
        self.smallest_normal = Fraction(2) ** (1 - self.bias)

    def decode(self, pattern: int) -> Value:
        magnitude = pattern & (self.sign - 1)
        sign = -1 if pattern & self.sign else 1
        if magnitude > self.infinity:
            return math.nan
        if magnitude == self.infinity:
            return sign * math.inf
        if magnitude == 0:
            return Fraction(0) if sign > 0 else -0.0
        field, fraction = divmod(magnitude, 1 << self.fraction_bits)
        if field == 0:
            return sign * Fraction(fraction, 1 << self.fraction_bits) * self.smallest_normal
        return sign * (1 + Fraction(fraction, 1 << self.fraction_bits)) * Fraction(2) ** (field - self.bias)

    def round(self, value: Fraction, mode: str, zero_sign: bool = False, ftz: bool = False) -> int:
        """The pattern of an exact value; ``zero_sign`` is the sign of an exact zero."""
        if value == 0:
            return self.sign if zero_sign else 0
        negative = value < 0
        size = abs(value)
        if ftz and self._round_quantum(size, mode, negative, unbounded=True) < self.smallest_normal:
            return self.sign if negative else 0
        rounded = self._round_quantum(size, mode, negative, unbounded=False)
        greatest = (2 - Fraction(1, 1 << self.fraction_bits)) * Fraction(2) ** self.bias
        if rounded > greatest:
            to_infinity = mode in ("rn", "rna") or mode == ("rm" if negative else "rp")
            pattern = self.infinity if to_infinity else self.infinity - 1
        else:
            pattern = self._encode(rounded)
        return pattern | (self.sign if negative else 0)

    def _round_quantum(self, size: Fraction, mode: str, negative: bool, unbounded: bool) -> Fraction:
        exponent = _floor_log2(size)
        if not unbounded:
            exponent = max(exponent, 1 - self.bias)
        quantum = Fraction(2) ** (exponent - self.fraction_bits)
        units = size / quantum
        low = math.floor(units)
        rest = units - low
        half = Fraction(1, 2)
        up = {
            "rn": rest > half or (rest == half and low % 2 == 1),
            "rna": rest >= half,
            "rz": False,
            "rm": negative and rest > 0,
            "rp": not negative and rest > 0,
        }[mode]
        return (low + up) * quantum

    def _encode(self, size: Fraction) -> int:
        if size < self.smallest_normal:
            return int(size / self.smallest_normal * (1 << self.fraction_bits))
        exponent = _floor_log2(size)
        fraction = int((size / Fraction(2) ** exponent - 1) * (1 << self.fraction_bits))
        return ((exponent + self.bias) << self.fraction_bits) + fraction


def _floor_log2(size: Fraction) -> int:
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= size else exponent - 1


FORMATS = {
    "f64": Binary(11, 52),
    "f32": Binary(8, 23),
    "tf32": Binary(8, 10),
    "bf16": Binary(8, 7),
    "f16": Binary(5, 10),
    "e5m2": Binary(5, 2),
}
BITS = {"f64": np.uint64, "f32": np.uint32, "bf16": np.uint16, "f16": np.uint16}


def stress(type_: str, count: int, operands: int, seed: int = 0, divide: bool = False) -> list[np.ndarray]:
    """Finite bit patterns whose sums cancel and whose products (or quotients) come near the ends of the range."""
    form = FORMATS[type_]
    rng = np.random.default_rng(seed)
    least, greatest, digits = 1 - form.bias, form.bias, form.fraction_bits

    def pattern(exponent: np.ndarray) -> np.ndarray:
        mantissa = rng.integers(0, 1 << digits, count)
        kind = rng.integers(0, 4, count)
        cut = rng.integers(0, digits + 1, count)
        mantissa = np.where(kind == 0, (mantissa >> cut) << cut, mantissa)
        mantissa = np.where(kind == 1, (1 << digits) - 1 - rng.integers(0, 2, count), mantissa)
        mantissa = np.where(kind == 2, rng.integers(0, 3, count), mantissa)
        field = np.clip(exponent + form.bias, 0, 2 * form.bias)
        sign = rng.integers(0, 2, count)
        bits = (field << digits) + mantissa
        return (bits.astype(np.uint64) | (sign.astype(np.uint64) << np.uint64(form.width - 1))).astype(BITS[type_])

    near_least, near_greatest = least + rng.integers(-digits, 3, count), greatest + rng.integers(-2, 2, count)
    target = np.where(rng.integers(0, 2, count) > 0, near_least, near_greatest)
    target = np.where(rng.integers(0, 3, count) > 0, target, rng.integers(least, greatest, count))
    first = rng.integers(least - 1, greatest + 1, count)
    second = np.clip(first - target if divide else target - first, least - 1, greatest)
    close = np.clip(first + rng.integers(-digits - 2, digits + 3, count), least - 1, greatest)
    second = np.where((rng.integers(0, 3, count) == 0) & (operands == 2), close, second)
    third = np.clip(first + second + rng.integers(-2 * digits, 2 * digits, count), least - 1, greatest)
    return [pattern(e) for e in (first, second, third)[:operands]]


class Oracle:
    """What the tests use: ``formats``, ``stress`` and the exact results of the arithmetic operations."""

    formats = FORMATS
    bits = BITS
    stress = staticmethod(stress)

    @staticmethod
    def finite(op: str, type_: str, mode: str, *patterns: int, ftz: bool = False) -> int:
        """The pattern of a finite, non-zero-divisor operation."""
        form = FORMATS[type_]
        if ftz:
            patterns = tuple(p & form.sign if abs(_exact(form, p)) < form.smallest_normal else p for p in patterns)
        values = [_exact(form, p) for p in patterns]
        negative = [bool(p & form.sign) for p in patterns]
        if op == "sub":
            values[1], negative[1] = -values[1], not negative[1]
        if op in ("add", "sub"):
            exact = values[0] + values[1]
            zero_sign = negative[0] if negative[0] == negative[1] else mode == "rm"
        elif op == "fma":
            exact = values[0] * values[1] + values[2]
            product_sign = negative[0] != negative[1]
            cancelled = product_sign != negative[2] or (exact == 0 and values[2] != 0)
            zero_sign = mode == "rm" if cancelled else product_sign
        else:
            exact = values[0] * values[1] if op == "mul" else values[0] / values[1]
            zero_sign = negative[0] != negative[1]
        return form.round(exact, mode, zero_sign, ftz)

    @staticmethod
    def square_root(type_: str, mode: str, pattern: int) -> int:
        """The pattern of the square root of a positive finite value, by integer square root far past the precision."""
        form = FORMATS[type_]
        value = _exact(form, pattern)
        scale = 1 << (2 * (form.bias + 2 * form.fraction_bits + 64))
        root = math.isqrt(int(value * scale))
        exact = Fraction(root, math.isqrt(scale))
        if exact * exact != value:
            exact += Fraction(1, 2 * math.isqrt(scale))  # strictly between: enough to know the side
        return form.round(exact, mode)


def _exact(form: Binary, pattern: int) -> Fraction:
    value = form.decode(pattern)
    return Fraction(0) if value == 0 else Fraction(value)


@pytest.fixture(scope="session")
def oracle() -> type[Oracle]:
    return Oracle


@pytest.fixture
def same_bits() -> Callable[[np.ndarray, list[int]], None]:
    """Assert that an array holds exactly these patterns, and show the first difference in hexadecimal."""

    def check(result: np.ndarray, expected: list[int], *operands: np.ndarray) -> None:
        unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[result.dtype.itemsize]
        found = np.ascontiguousarray(result).view(unsigned)
        wrong = np.flatnonzero(found != np.array(expected, unsigned))
        if len(wrong):
            at = wrong[0]
            shown = ", ".join(hex(int(x.view(f"u{x.dtype.itemsize}")[at])) for x in operands)
            pytest.fail(f"{len(wrong)} differ; ({shown}) gives {int(found[at]):#x}, not {expected[at]:#x}")

    return check
