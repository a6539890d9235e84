"""Floats of 16 bits and fewer."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tests.foreign.cases.case import Launch, collector

CASES, case = collector()
Random = np.random.Generator
BF16 = ml_dtypes.bfloat16


def _halves(rng: Random, shape: tuple[int, ...], dtype: object = np.float16) -> np.ndarray:
    return (rng.normal(size=shape) * 2.0 ** rng.integers(-4, 5, shape)).astype(dtype)


def _bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.uint16)


@case("halves", "halves")
def halves(rng: Random) -> Launch:
    a, b = _halves(rng, (64,)), _halves(rng, (64,))
    p, q = a.astype(np.float64), b.astype(np.float64)
    to_zero = np.float32(a) * np.float32(3)
    near = to_zero.astype(np.float16)
    near = np.where(np.abs(near.astype(np.float32)) > np.abs(to_zero), np.nextafter(near, np.float16(0)), near)
    columns = [p + q, p * q, p * q + p, p / q, np.sqrt(np.abs(p)), np.maximum(p, q), near, np.where(p < q, p, -q)]
    y = np.stack([column.astype(np.float16) for column in columns], axis=1)
    return Launch(1, 64, [_bits(a), _bits(b), np.zeros((64, 8), np.uint16)], {2: _bits(y)})


@case("halves", "pairs")
def pairs(rng: Random) -> Launch:
    a, b = _halves(rng, (64, 2)), _halves(rng, (64, 2))
    a[::3, 0] = np.abs(a[::3, 0]) + np.float16(50)
    b[::3] = np.float16(0.5)
    b[::6, 1] = a[::6, 1]
    p, q = a.astype(np.float64), b.astype(np.float64)
    columns = [p + q, np.maximum(p * q + q, 0), np.minimum(p, q), -p[:, ::-1]]
    y = np.stack([column.astype(np.float16) for column in columns], axis=1)
    down = np.floor(p[:, 0]).astype(np.int32) + np.rint(q[:, 1]).astype(np.int32)
    z = np.stack([(p >= q).all(1), down], axis=1).astype(np.int32)
    return Launch(1, 64, [_bits(a), _bits(b), np.zeros((64, 4, 2), np.uint16), np.zeros((64, 2), np.int32)], {2: _bits(y), 3: z})


@case("halves", "brains")
def brains(rng: Random) -> Launch:
    a, b = _halves(rng, (64,), BF16), _halves(rng, (64,), BF16)
    p, q = a.astype(np.float64), b.astype(np.float64)
    third = (a.astype(np.float32) / np.float32(3)).astype(BF16)
    columns = [_once(p + q), _once(p * q + q), third, np.minimum(p, q).astype(BF16)]
    y = np.stack(columns, axis=1)
    z = a.astype(np.float32) + b.astype(np.float32)
    return Launch(1, 64, [_bits(a), _bits(b), np.zeros((64, 4), np.uint16), np.zeros(64, np.float32)], {2: _bits(y), 3: z})


def _once(exact: np.ndarray) -> np.ndarray:
    """Doubles to bfloat16 with one rounding: ml_dtypes goes by way of floats."""
    bits = exact.view(np.uint64)
    dropped = np.uint64(52 - 7)
    odd = bits >> dropped & np.uint64(1)
    rounded = (bits + (np.uint64(1) << dropped - np.uint64(1)) - np.uint64(1) + odd) >> dropped << dropped
    return rounded.view(np.float64).astype(BF16)


@case("narrow", "bytes")
def eight(rng: Random) -> Launch:
    x = (rng.normal(size=64) * 2.0 ** rng.integers(-12, 9, 64)).astype(np.float32)
    x[:4] = [1e9, -1e9, 0.0, -0.0]
    a = np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    b = np.clip(x, -57344, 57344).astype(ml_dtypes.float8_e5m2)
    y = np.stack([a.view(np.uint8), b.view(np.uint8)], axis=1)
    z = np.stack([a.astype(np.float32), b.astype(np.float32)], axis=1)
    return Launch(1, 64, [x, np.zeros((64, 2), np.uint8), np.zeros((64, 2), np.float32)], {1: y, 2: z})


@case("narrow", "six")
def six(rng: Random) -> Launch:
    x = (rng.normal(size=64) * 2.0 ** rng.integers(-5, 5, 64)).astype(np.float32)
    a = np.clip(x, -28, 28).astype(ml_dtypes.float6_e3m2fn)
    b = np.clip(x, -7.5, 7.5).astype(ml_dtypes.float6_e2m3fn)
    y = np.stack([a.view(np.uint8), b.view(np.uint8)], axis=1)
    z = np.stack([a.astype(np.float32), b.astype(np.float32)], axis=1)
    return Launch(1, 64, [x, np.zeros((64, 2), np.uint8), np.zeros((64, 2), np.float32)], {1: y, 2: z})


@case("narrow", "four")
def four(rng: Random) -> Launch:
    x = (rng.normal(size=(64, 2)) * 3).astype(np.float32)
    a = np.clip(x, -6, 6).astype(ml_dtypes.float4_e2m1fn)
    nibbles = a.view(np.uint8) & 15
    y = (nibbles[:, 0] | nibbles[:, 1] << 4).astype(np.uint8)
    return Launch(1, 64, [x, np.zeros(64, np.uint8), np.zeros((64, 2), np.float32)], {1: y, 2: a.astype(np.float32)})
