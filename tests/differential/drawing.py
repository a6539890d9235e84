"""Values on which implementations differ: corners of each type, ties of roundings to narrower types, NaN payloads, equal operands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxgen.instructions.types import Type

__all__ = ["Values", "draw", "grouped"]

Values = NDArray[np.uint64]

# Exponent bits and mantissa bits of the types whose neighbours and ties are worth a value of their own.
_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "tf32": (8, 23), "f64": (11, 52), "e4m3": (4, 3), "e5m2": (5, 2)}
_NUMBERS = (
    0.5, 1.0, 1.5, 2.5, 3.0, 10.0, 127.5, 128.5, 255.5, 256.0, 448.0, 464.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0, 32767.5, 32768.0,
    65535.5, 2.0**31 - 128, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 3.14159265, 6.2831853, 100.0, 88.7, 1e-3, 2.0**-14, 2.0**-15, 2.0**-24,
    2.0**-25, 2.0**-6, 2.0**-9, 2.0**-10, 2.0**-126, 2.0**-133, 2.0**-149,
)  # fmt: skip
_CUTS = {32: (13, 16, 20, 21, 10), 64: (29, 42, 45), 16: (3, 7, 8, 9)}
"""Low bits that roundings to narrower types cut off, for each width."""


def draw(of: Type, rng: np.random.Generator, count: int, like: Values | None = None) -> Values:
    """`count` values of a type (64 bits of one that is wider) in the low bits of words.

    The bits above them are random, as a wider register's are.

    With `like`, values of the same type, some are those, or their neighbours or negatives.
    """
    width = min(of.bits // of.lanes, 64)
    lanes = [_lane(of, rng, count) for _ in range(of.lanes)]
    if like is not None:
        lanes = [_related(of, rng, one, like >> np.uint64(width * lane) & _mask(width)) for lane, one in enumerate(lanes)]
    if of.bits >= 64 and of.lanes == 1:
        return lanes[0]
    junk = rng.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)
    found = junk & ~_mask(of.bits)
    for lane, one in enumerate(lanes):
        found |= one << np.uint64(width * lane)
    return found


def _mask(width: int) -> np.uint64:
    return np.uint64(2**width - 1)


def _lane(of: Type, rng: np.random.Generator, count: int) -> Values:
    width = min(of.bits // of.lanes, 64)
    element = of.element
    if element.kind == "pred":
        return rng.integers(0, 2, count).astype(np.uint64)
    if element.kind == "bits" and width in (16, 32, 64):  # either may be meant
        name = {16: "f16", 32: "f32", 64: "f64"}[width]
        return np.where(rng.random(count) < 0.4, _floats(name, rng, count), _integers(width, rng, count))
    if element.is_float and element.name in _FORMATS:
        return _floats(element.name, rng, count)
    return _integers(width, rng, count)


def _integers(width: int, rng: np.random.Generator, count: int) -> Values:
    small = [0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256]
    edges = [
        2**width - 1,
        2**width - 2,
        2 ** (width - 1),
        2 ** (width - 1) - 1,
        2 ** (width - 1) + 1,
        2 ** (width // 2),
        0x5555555555555555,
    ]
    special = np.array(sorted({value & (2**width - 1) for value in (*small, *edges, *(-one for one in small))}), np.uint64)
    whole = rng.integers(0, 2**64, count, dtype=np.uint64, endpoint=False) & _mask(width)
    shorter = whole >> rng.integers(0, width, count).astype(np.uint64)
    power = np.uint64(1) << rng.integers(0, width, count).astype(np.uint64)
    return _mixed(rng, (0.4, rng.choice(special, count)), (0.3, whole), (0.2, shorter), (0.1, power))


def _floats(name: str, rng: np.random.Generator, count: int) -> Values:
    exponent, mantissa = _FORMATS[name]
    width = 1 + exponent + mantissa
    infinity = np.uint64((2**exponent - 1) << mantissa)
    one = np.uint64(1)
    edges = np.array([0, 1, 2, 2**mantissa - 1, 2**mantissa, 2**mantissa + 1, int(infinity) - 1, int(infinity)], np.uint64)
    quiet = infinity | one << np.uint64(mantissa - 1)
    payload = rng.integers(1, max(2, 2 ** (mantissa - 1)), count).astype(np.uint64)
    nans = np.where(rng.random(count) < 0.5, quiet | payload, infinity | payload)
    if width == 16:
        nans = np.where(rng.random(count) < 0.25, np.uint64(0x7FF7), nans)  # what lies out of bounds, for .oob
    whole = rng.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)
    with np.errstate(all="ignore"):
        listed = _bits(name, np.array(_NUMBERS))
        near = _bits(name, rng.normal(0, 4, count))
        close = _bits(name, rng.uniform(1, 2, count))
        integral = _bits(name, rng.integers(-(2**17), 2**17, count) / 2)
    neighbours = rng.choice(listed, count) + rng.integers(-2, 3, count).astype(np.uint64)
    ties = whole
    if cuts := _CUTS.get(width):
        cut = rng.choice(np.array(cuts, np.uint64), count)
        moderate = np.where(rng.random(count) < 0.5, near, whole)
        ties = moderate & ~((one << cut) - one) | one << (cut - one)
        ties = np.where(rng.random(count) < 0.3, ties + rng.integers(-1, 2, count).astype(np.uint64), ties)
    found = _mixed(
        rng, (0.16, rng.choice(edges, count)), (0.06, nans), (0.14, neighbours), (0.16, ties), (0.2, whole), (0.14, near), (0.08, close),
        (0.06, integral),
    )  # fmt: skip
    sign = np.uint64(1) << np.uint64(width - 1)
    return (found ^ np.where(rng.random(count) < 0.3, sign, np.uint64(0))) & _mask(width)


def _bits(name: str, values: NDArray[np.float64]) -> Values:
    """The patterns of the values in a format, cut where they are not exact."""
    if name == "f64":
        return values.view(np.uint64)
    if name == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    single = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if name in ("f32", "tf32"):
        return single
    if name == "bf16":
        return single >> np.uint64(16)
    half = values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if name == "e5m2":
        return half >> np.uint64(8)
    # e4m3: the exponent's bias is 7 instead of half's 15.
    sign, rest = half >> np.uint64(15), half & np.uint64(0x7FFF)
    return sign << np.uint64(7) | (np.clip(rest.astype(np.int64) - (8 << 10), 0, 0x3F80) >> 7).astype(np.uint64)


def _mixed(rng: np.random.Generator, *parts: tuple[float, Values]) -> Values:
    """Values of each part with its share."""
    chosen = rng.choice(len(parts), len(parts[0][1]), p=[share for share, _ in parts])
    return np.choose(chosen, [values.astype(np.uint64) for _, values in parts])


def _related(of: Type, rng: np.random.Generator, fresh: Values, other: Values) -> Values:
    width = min(of.bits // of.lanes, 64)
    if width <= 1:
        return fresh
    sign = np.uint64(1) << np.uint64(width - 1)
    kin = _mixed(rng, (0.4, other), (0.2, other ^ sign), (0.2, other + np.uint64(1)), (0.2, -other.astype(np.int64)))
    return np.where(rng.random(len(fresh)) < 0.15, kin & _mask(width), fresh)


def grouped(values: Values, rng: np.random.Generator, size: int) -> Values:
    """Values of which groups of `size` hold few different ones, or one, or as many as before."""
    groups = values.reshape(-1, size).copy()
    few = np.take_along_axis(groups, rng.integers(0, 3, groups.shape), 1)
    kind = rng.integers(0, 3, len(groups))[:, None]
    found: Any = np.where(kind == 0, groups, np.where(kind == 1, few, groups[:, :1]))
    return found.reshape(-1)
