"""Matrices of warps, of warpgroups, and in tensor memory; tensor copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ptxgen.emulator.tensormap import encode_tensor_map
from tests.foreign.cases.case import Launch, collector

CASES, case = collector()
Random = np.random.Generator


def _small(rng: Random, shape: tuple[int, ...], dtype: object) -> np.ndarray:
    """Small integers, whose products and sums are exact in every type and order."""
    return rng.integers(-4, 5, shape).astype(dtype)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


@case("mma", "multiply")
def multiply(rng: Random) -> Launch:
    a, b = _small(rng, (16, 16), np.float16), _small(rng, (8, 16), np.float16)
    return Launch(1, 32, [a, b, np.zeros((16, 8), np.float32)], {2: _product(a, b.T).astype(np.float32)})


@case("mma", "bytes")
def bytes_(rng: Random) -> Launch:
    a, b = rng.integers(-128, 128, (16, 32)).astype(np.int8), rng.integers(0, 256, (32, 8)).astype(np.uint8)
    lane = np.arange(32)
    row, four = lane // 4, lane % 4 * 4
    fragment = [a[row, :], a[row + 8, :], a[row, :], a[row + 8, :]]
    words = [np.stack([part[lane, four + place + number // 2 * 16] for place in range(4)], axis=1) for number, part in enumerate(fragment)]
    columns = [np.stack([b[four + place + half, row] for place in range(4)], axis=1) for half in (0, 16)]
    exact = a.astype(np.int64) @ b.astype(np.int64)
    c = np.stack([exact[row + place // 2 * 8, lane % 4 * 2 + place % 2] for place in range(4)], axis=1).astype(np.int32)
    packed = [np.ascontiguousarray(np.concatenate(one)).view(np.uint32) for one in (words, columns)]
    return Launch(1, 32, [*packed, np.zeros((32, 4), np.int32)], {2: c})


@case("mma", "wide")
def wide(rng: Random) -> Launch:
    a, b = _small(rng, (8, 4), np.float64), _small(rng, (4, 8), np.float64)
    lane = np.arange(32)
    c = a @ b + np.tile([1.0, 2.0], (8, 4))
    pairs = np.stack([c[lane // 4, lane % 4 * 2], c[lane // 4, lane % 4 * 2 + 1]], axis=1)
    return Launch(1, 32, [a, b.T.copy(), np.zeros((32, 2))], {2: pairs})


@case("wmma", "halves")
def halves(rng: Random) -> Launch:
    a, b = _small(rng, (16, 32), np.float16), _small(rng, (16, 32), np.float16)
    return Launch(1, 32, [a, b, np.zeros((16, 16), np.float32)], {2: 2 * _product(a, b.T).astype(np.float32)})


@case("wmma", "bytes")
def wmma_bytes(rng: Random) -> Launch:
    a, b = rng.integers(-128, 128, (8, 16)).astype(np.int8), rng.integers(-128, 128, (16, 32)).astype(np.int8)
    c = rng.integers(-1000, 1000, (8, 32)).astype(np.int32)
    return Launch(1, 32, [a, b, c], {2: c + (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)})


@case("wmma", "doubles")
def wmma_doubles(rng: Random) -> Launch:
    a, b = _small(rng, (8, 4), np.float64), _small(rng, (4, 8), np.float64)
    return Launch(1, 32, [a.T.copy(), b, np.zeros((8, 8))], {2: (a @ b + 1).T.copy()})


def _map_of(place: int) -> Callable[[Sequence[int]], bytes]:
    """A map of 64 rows of 32 floats, in boxes of 32 rows, at the address of an array among the arguments."""
    return lambda addresses: encode_tensor_map("f32", addresses[place], (32, 64), (128,), (32, 32))


@case("tensors", "boxes", targets=("sm_90a", "sm_100a", "sm_120a"), on_gpu=False)
def boxes(rng: Random) -> Launch:
    x = rng.normal(size=(64, 32)).astype(np.float32)
    y = (x.reshape(2, 1024) + (np.arange(1024) < 128).astype(np.float32)).reshape(64, 32)
    return Launch(2, 128, [_map_of(0), _map_of(1), x, np.zeros_like(x)], {3: y})


@case("hopper", "groups", targets=("sm_90a",))
def groups(rng: Random) -> Launch:
    a, b = _small(rng, (64, 16), np.float16), _small(rng, (8, 16), np.float16)
    return Launch(1, 128, [a, b, np.zeros((64, 8), np.float32)], {2: _product(a, b.T).astype(np.float32)})


@case("hopper", "registers", targets=("sm_90a",), on_gpu=False)  # waits for registers that the launch may not have
def registers(rng: Random) -> Launch:
    return Launch(1, 256, [np.zeros(256, np.int32)], {0: np.arange(256, dtype=np.int32)})


@case("blackwell", "multiply", targets=("sm_100a",))
def tensor_memory(rng: Random) -> Launch:
    a, b = _small(rng, (128, 16), np.float16), _small(rng, (16, 16), np.float16)
    return Launch(1, 128, [a, b, np.zeros((128, 16), np.float32)], {2: _product(a, b.T).astype(np.float32)})
