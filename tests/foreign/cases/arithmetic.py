"""Arithmetic: integers of every width, doubles, floats, bits, video."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tests.foreign.cases.case import Launch, collector

CASES, case = collector()
Random = np.random.Generator


def _wide(rng: Random, count: int) -> np.ndarray:
    """Signed 64-bit numbers of every length, none of them 0."""
    values = rng.integers(-(2**63), 2**63 - 1, count) >> rng.integers(0, 63, count)
    values[:6] = [1, -1, 2**63 - 1, -(2**63) + 1, 2**32, 2**31]
    return np.where(values == 0, 3, values)


def _quotient(a: int, b: int) -> int:
    """Towards zero, as C divides."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@case("division", "quotients")
def quotients(rng: Random) -> Launch:
    a, b = _wide(rng, 64), _wide(rng, 64)[::-1].copy()
    y, z = [], []
    for p, q in zip(a.tolist(), b.tolist()):
        u, v = p % 2**64, q % 2**64
        y += [_quotient(p, q), p - q * _quotient(p, q), _signed(u // v, 64), u % 1000000007, _signed(p * q >> 64, 64)]
        y.append(_signed(u * v >> 64, 64))
        short = _signed(q | 1, 16)
        z += [p % 2**32 // ((q | 1) % 2**32), _quotient(_signed(p, 32), short) % 2**32, p % 2**32 % 10]
        z.append(_quotient(_signed(p, 32), -3) % 2**32)
    results = {2: np.array(y, np.int64), 3: np.array(z, np.uint32)}
    return Launch(1, 64, [a, b, np.zeros(6 * 64, np.int64), np.zeros(4 * 64, np.uint32)], results)


@case("division", "wide")
def wide(rng: Random) -> Launch:
    a, b = _wide(rng, 64), _wide(rng, 64)
    y = []
    for p, q in zip(a.tolist(), b.tolist()):
        total = _signed(p % 2**64 * (q % 2**64) + p, 128)
        total = _signed(_signed(total << 3, 128) - (total >> 5), 128) % 2**128
        y += [total % 2**64, total >> 64]
    return Launch(1, 64, [a, b, np.zeros(128, np.uint64)], {2: np.array(y, np.uint64)})


def _doubles(rng: Random, count: int) -> np.ndarray:
    values = rng.normal(size=count) * 10.0 ** rng.integers(-300, 300, count)
    values[:10] = [0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, 5e-324, -2.5e-310, 1.7e308, 1e-308]
    return values


@case("doubles", "divide")
def divide(rng: Random) -> Launch:
    a, b = _doubles(rng, 64), _doubles(rng, 64)[::-1].copy()
    with np.errstate(all="ignore"):
        product = -a * b
        y = np.stack([a / b, np.sqrt(np.abs(a)), 1.0 / b, [_fused(*one) for one in zip(a, b, product)]], axis=1)
    return Launch(2, 32, [a, b, np.zeros(256)], {2: y.reshape(-1)})


def _fused(a: float, b: float, c: float) -> float:
    """a * b + c rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a * b == 0 or c == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


@case("doubles", "directed")
def directed(rng: Random) -> Launch:
    a, b = rng.normal(size=64), rng.normal(size=64) * 1e-7
    y = []
    for p, q in zip(a.tolist(), b.tolist()):
        y += [_rounded(p, q, "down"), _rounded(p, q, "up"), _product_to_zero(p, q), p / q, _root_up(abs(q))]
        single = np.float32(p)
        y.append(float(single if float(single) <= p else np.nextafter(single, np.float32(-np.inf))))
    return Launch(1, 64, [a, b, np.zeros(384)], {2: np.array(y)})


def _rounded(a: float, b: float, way: str) -> float:
    near, exact = a + b, Fraction(a) + Fraction(b)
    if way == "down":
        return near if Fraction(near) <= exact else math.nextafter(near, -math.inf)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def _product_to_zero(a: float, b: float) -> float:
    near = a * b
    return near if abs(Fraction(near)) <= abs(Fraction(a) * Fraction(b)) else math.nextafter(near, 0.0)


def _root_up(x: float) -> float:
    near = math.sqrt(x)
    return near if Fraction(near) ** 2 >= Fraction(x) else math.nextafter(near, math.inf)


@case("doubles", "transcend")
def transcend(rng: Random) -> Launch:
    x = np.concatenate([rng.normal(size=40) * 3, rng.normal(size=22) * 1e-3, [1e5, -700.0]])
    with np.errstate(over="ignore"):
        columns = [
            np.exp(x), np.log(np.abs(x)), np.sin(x), np.arctan2(x, 2.0), np.abs(x) ** 1.5, np.cbrt(x), np.fmod(x, 0.75),
            np.vectorize(math.erf)(x),
        ]  # fmt: skip
    return Launch(1, 64, [x, np.zeros(512)], {1: np.stack(columns, axis=1).reshape(-1)}, rtol=1e-13)


@case("doubles", "take_apart")
def take_apart(rng: Random) -> Launch:
    x = rng.normal(size=64) * 10.0 ** rng.integers(-3, 12, 64)
    mantissa, exponent = np.frexp(x)
    n = np.stack([np.rint(x).astype(np.int64), np.trunc(x).view(np.int64)], axis=1).reshape(-1)
    arguments = [x, np.zeros(64, np.int32), np.zeros(64), np.zeros(128, np.int64)]
    return Launch(1, 64, arguments, {1: exponent.astype(np.int32), 2: mantissa, 3: n})


@case("mathematics", "precise")
def precise(rng: Random) -> Launch:
    x = np.concatenate([rng.normal(size=48) * 4, rng.normal(size=12) * 1e-3, [2e5, -1.5e6, 3e9, 1e-30]]).astype(np.float32)
    d = x.astype(np.float64)
    with np.errstate(all="ignore"):
        columns = [
            np.sin(d), np.cos(d), np.tan(d), np.exp(d), np.log(np.abs(d)), np.abs(d) ** np.float64(np.float32(0.3)), np.arctan2(d, 2.0),
            np.tanh(d), np.vectorize(math.erf)(d), x / np.float32(7), np.sqrt(np.abs(x)), np.fmod(x, np.float32(0.7)),
        ]  # fmt: skip
        y = np.stack([column.astype(np.float32) for column in columns], axis=1).reshape(-1)
    return Launch(1, 64, [x, np.zeros(768, np.float32)], {1: y}, rtol=2e-6)


@case("mathematics", "fast")
def fast(rng: Random) -> Launch:
    x = rng.uniform(-3, 3, 64).astype(np.float32)
    d = x.astype(np.float64)
    columns = [np.sin(d), np.exp(d), np.log(np.abs(d)), d / 3, 1 / np.sqrt(np.abs(d)), np.abs(d) ** 1.3]
    y = np.stack([column.astype(np.float32) for column in columns], axis=1).reshape(-1)
    return Launch(1, 64, [x, np.zeros(384, np.float32)], {1: y}, rtol=1e-4)


@case("mathematics", "rounded")
def rounded(rng: Random) -> Launch:
    x = (rng.normal(size=64) * 10.0 ** rng.integers(-2, 6, 64)).astype(np.float32)
    x[:5] = [0.5, -0.5, 1.5, -2.5, 0.75]
    d = x.astype(np.float64)
    away = np.trunc(d + np.copysign(0.5, d))
    y = np.stack([np.rint(d), np.trunc(d), np.ceil(d), away], axis=1).astype(np.int32)
    exact = d + np.float64(np.float32(1e-6))
    near = exact.astype(np.float32)
    down = np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
    cells = (y[:, 0].astype(np.int64) * 7919 % 2**32).astype(np.float64)
    single = cells.astype(np.float32)
    to_zero = np.where(single > cells, np.nextafter(single, np.float32(0)), single).astype(np.float32)
    z = np.stack([np.floor(x), np.rint(x), down, np.clip(x, 0, 1), np.copysign(to_zero, x)], axis=1)
    return Launch(1, 64, [x, np.zeros(256, np.int32), np.zeros(320, np.float32)], {1: y.reshape(-1), 2: z.reshape(-1)})


def _words(rng: Random) -> np.ndarray:
    x = rng.integers(0, 2**32, 64, dtype=np.uint32)
    x[[0, 1, 2, 33, 34]] = [0, 2**32 - 1, 2**31, 0, 2**31]
    return x


def _lanes(value: int, bits: int, signed: bool) -> list[int]:
    parts = [value >> place & (1 << bits) - 1 for place in range(0, 32, bits)]
    return [_signed(part, bits) for part in parts] if signed else parts


def _packed(parts: list[int], bits: int) -> int:
    return sum((part & (1 << bits) - 1) << bits * place for place, part in enumerate(parts))


@case("bits", "count")
def count(rng: Random) -> Launch:
    x = _words(rng)
    y: list[int] = []
    for a, b in zip(x[:32].tolist(), x[32:].tolist()):
        sa, sb = _signed(a, 32), _signed(b, 32)
        content = [(b << 32 | a) >> 8 * place & 255 for place in range(8)]
        selector = 0x3715 ^ (b & 0x1111)
        permuted = sum(content[selector >> 4 * place & 7] << 8 * place for place in range(4))
        low = min(b & 63, 32)
        y += [
            a.bit_count(), 32 - a.bit_length(), int(f"{a:032b}"[::-1], 2), (a & -a).bit_length(), permuted,
            (((b << 32 | a) << (b & 31)) >> 32) % 2**32, (b << 32 | a) >> low & 2**32 - 1,
            (a << 32 | b).bit_count() + 64 - b.bit_length(), abs(sa - sb) + 5, sa * sb >> 32, a * b >> 32,
            _signed(a, 24) * _signed(b, 24), sum(p * q for p, q in zip(_lanes(a, 8, True), _lanes(b, 8, True))) + 9,
            (sa + sb >> 1) ^ (sa + sb + 1 >> 1),
        ]  # fmt: skip
    return Launch(1, 32, [x, np.zeros(448, np.uint32)], {1: np.array([one % 2**32 for one in y], np.uint32)})


@case("bits", "parts")
def parts(rng: Random) -> Launch:
    x = _words(rng)
    y: list[int] = []
    for a, b in zip(x[:32].tolist(), x[32:].tolist()):
        bytes_, signed_bytes = list(zip(_lanes(a, 8, False), _lanes(b, 8, False))), list(zip(_lanes(a, 8, True), _lanes(b, 8, True)))
        halves, signed_halves = list(zip(_lanes(a, 16, False), _lanes(b, 16, False))), list(zip(_lanes(a, 16, True), _lanes(b, 16, True)))
        y += [
            _packed([p + q for p, q in bytes_], 8), _packed([p - q for p, q in halves], 16),
            _packed([max(min(p + q, 32767), -32768) for p, q in signed_halves], 16), _packed([p + q + 1 >> 1 for p, q in bytes_], 8),
            _packed([abs(p - q) for p, q in bytes_], 8), _packed([max(p, q) for p, q in signed_bytes], 8),
            _packed([min(p, q) for p, q in halves], 16), _packed([255 * (p > q) for p, q in bytes_], 8),
            sum(abs(p - q) for p, q in bytes_), max(_signed(a + b, 32), 17),
        ]  # fmt: skip
    return Launch(1, 32, [x, np.zeros(320, np.uint32)], {1: np.array([one % 2**32 for one in y], np.uint32)})


@case("bits", "video")
def video(rng: Random) -> Launch:
    x = _words(rng)
    y: list[int] = []
    for a, b in zip(x[:32].tolist(), x[32:].tolist()):
        added = (a & 255) + _signed(b >> 16, 16)  # .u32 and .s32 parts: exact
        y += [max(min(added, 2**31 - 1), -(2**31)) + 3, (a >> 8 & 255) * (b >> 16 & 255) + 5 >> 7]
        y.append(int((a & 0xFFFF) < _signed(b >> 16, 16)))
    return Launch(1, 32, [x, np.zeros(96, np.uint32)], {1: np.array([one % 2**32 for one in y], np.uint32)})


@case("templates", "_Z5chainIfJ5ScaleIfE4ClipIfEEEvPKT_PS4_iDpT0_")
def chain_of_floats(rng: Random) -> Launch:
    x = rng.normal(size=100).astype(np.float32)
    arguments = [x, np.zeros(100, np.float32), 90, np.float32(1.5).tobytes(), np.float32([-1, 2]).tobytes()]
    y = np.where(np.arange(100) < 90, np.clip(x * np.float32(1.5), np.float32(-1), np.float32(2)), 0).astype(np.float32)
    return Launch(2, 32, arguments, {1: y})


@case("templates", "_Z5chainIdJ4ClipIdEEEvPKT_PS2_iDpT0_")
def chain_of_doubles(rng: Random) -> Launch:
    x = rng.normal(size=64)
    return Launch(1, 32, [x, np.zeros(64), 64, np.array([-0.5, 0.25]).tobytes()], {1: np.clip(x, -0.5, 0.25)})


@case("templates", "_Z5chainIxJ4ClipIxE5ScaleIxEEEvPKT_PS4_iDpT0_")
def chain_of_integers(rng: Random) -> Launch:
    x = rng.integers(-(2**62), 2**62, 64)
    arguments = [x, np.zeros(64, np.int64), 64, np.array([-(2**40), 2**50]).tobytes(), np.int64(-7).tobytes()]
    return Launch(1, 64, arguments, {1: np.clip(x, -(2**40), 2**50) * -7})


@case("templates", "_Z6hornerIfLi3EEvPKT_PS0_i")
def horner_of_floats(rng: Random) -> Launch:
    x = rng.normal(size=64).astype(np.float32)
    y = np.zeros(64, np.float64)
    for step in range(4):  # fused: exact products, one rounding
        y = (y * x + (step + 1)).astype(np.float32).astype(np.float64)
    return Launch(2, 32, [x, np.zeros(64, np.float32), 64], {1: y.astype(np.float32)}, rtol=1e-6)


@case("templates", "_Z6hornerIdLi4EEvPKT_PS0_i")
def horner_of_doubles(rng: Random) -> Launch:
    x = rng.normal(size=32)
    y = np.polyval(np.arange(1, 6), x)
    return Launch(1, 32, [x, np.zeros(32), 32], {1: y}, rtol=1e-14)


@case("templates", "_Z6hornerIsLi2EEvPKT_PS0_i")
def horner_of_shorts(rng: Random) -> Launch:
    x = rng.integers(-200, 200, 32).astype(np.int16)
    wide = x.astype(np.int64)
    return Launch(1, 32, [x, np.zeros(32, np.int16), 32], {1: (wide * wide + 2 * wide + 3).astype(np.int16)})


@case("lineinfo", "norms")
def norms(rng: Random) -> Launch:
    x = rng.normal(size=(50, 2)).astype(np.float32)
    d = x.astype(np.float64)
    y = np.sqrt((d * d).sum(1)).astype(np.float32)
    return Launch(1, 32, [x, np.zeros(50, np.float32), 50], {1: np.where(x[:, 0] > 0, -y, y)}, rtol=1e-6)
