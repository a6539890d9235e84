"""Memory: initialised data, caches and vectors, shared memory, copies that go on by themselves, atomics, special registers."""

from __future__ import annotations

import numpy as np

from tests.foreign.cases.case import Launch, collector
from tests.foreign.regenerate import TARGETS

CASES, case = collector()
Random = np.random.Generator
BULK = TARGETS[1:]
"""Targets that have bulk copies and clusters."""


@case("tables", "look_up")
def look_up(rng: Random) -> Launch:
    primes, grid, words = [2, 3, 5, 7, 11, 13, 17, 19], [[1, 2, 3], [4, 5, 0]], ["one", "three", "ptx"]
    y, z = [], []
    for i in range(64):
        key, name, values, weight = [(-7, "ab", grid[1], 0.25), (9, "xyz", primes[5:], -2.0)][i & 1]
        big = [-1, 0x123456789ABCDEF][i & 1] >> 16
        y += [primes[i & 7], grid[i & 1][i % 3], ord(words[i % 3][i & 1]), key + ord(name[1]), values[i % 2], 3]
        y += [[1, 255, 3, 0, 0][i % 5] + 42, big]
        z.append(weight * 3.141592653589793)
    return Launch(1, 64, [np.zeros(512, np.int32), np.zeros(64)], {0: np.array(y, np.int64).astype(np.int32), 1: np.array(z)})


@case("loads", "cached")
def cached(rng: Random) -> Launch:
    a = rng.integers(-(2**20), 2**20, 192).astype(np.int32)
    b = rng.normal(size=(33, 4)).astype(np.float32)
    z = b[:32].copy()
    z[:, 3] = b[1:, 0]
    y = np.concatenate([a.reshape(6, 32).sum(0), a[:32]]).astype(np.int32)
    return Launch(1, 32, [a, b, np.zeros(64, np.int32), np.zeros((32, 4), np.float32)], {2: y, 3: z})


@case("loads", "records")
def records(rng: Random) -> Launch:
    record = np.dtype([("key", np.int32), ("parts", np.int16, 2), ("value", np.float64)])
    x = np.zeros(32, record)
    x["key"], x["parts"], x["value"] = rng.integers(-9, 9, 32), rng.integers(-9, 9, (32, 2)), rng.normal(size=32)
    y = x.copy()
    y["parts"][:, 0] ^= y["parts"][:, 1]
    y["value"] += y["key"]
    s = rng.integers(0, 2**16, 64).astype(np.uint16)
    bytes_ = rng.integers(-128, 127, (32, 3)).astype(np.int8)
    made = np.stack([np.arange(32), -np.arange(32), bytes_[:, 1]], axis=1).astype(np.int8)
    stored = np.concatenate([s[32:] + np.uint16(1), s[32:]])
    plain = [x.view(np.uint8), np.zeros(32, record).view(np.uint8), s, bytes_]
    return Launch(1, 32, plain, {1: y.view(np.uint8), 2: stored, 3: made})


@case("loads", "hinted")
def hinted(rng: Random) -> Launch:
    x = rng.normal(size=32).astype(np.float32)
    return Launch(1, 32, [x, np.zeros(32, np.float32)], {1: x + np.float32(1)})


@case("shared", "reduce")
def reduce(rng: Random) -> Launch:
    x = rng.integers(-(2**20), 2**20, 512).astype(np.int32)
    return Launch(4, 128, [x, np.zeros(4, np.int32)], {1: x.reshape(4, 128).sum(1).astype(np.int32)}, shared=512)


@case("shared", "sort")
def sort(rng: Random) -> Launch:
    x = rng.integers(-(2**31), 2**31, 256).astype(np.int32)
    return Launch(1, 256, [x], {0: np.sort(x)})


@case("shared", "transpose")
def transpose(rng: Random) -> Launch:
    x = rng.normal(size=(16, 16)).astype(np.float32)
    return Launch(1, (16, 16), [x, np.zeros_like(x)], {1: x.T.copy()})


@case("shared", "vote")
def vote(rng: Random) -> Launch:
    x = rng.integers(0, 9, 96).astype(np.int32)
    row = [int((x > 4).sum()), 1, int((x == 9).any())]
    return Launch(1, 96, [x, np.zeros((96, 3), np.int32)], {1: np.array([row] * 96, np.int32)})


@case("copies", "staged")
def staged(rng: Random) -> Launch:
    x = rng.normal(size=(3, 64, 4)).astype(np.float32)
    seen = x.copy()
    seen[1:, 60:, 2:] = 0  # eight bytes of those threads' copies are filled with zeros
    y = seen[:, ::-1].copy()
    y[:, :, 0] += np.arange(3, dtype=np.float32)[:, None]
    return Launch(1, 64, [x, np.zeros_like(x), 3], {1: y})


@case("copies", "counted")
def counted(rng: Random) -> Launch:
    x = rng.integers(0, 1000, 64).astype(np.int32)
    return Launch(1, 64, [x, np.zeros(64, np.int32)], {1: x[np.arange(64) ^ 63]})


@case("tensors", "bulk", targets=BULK)
def bulk(rng: Random) -> Launch:
    x, y = rng.integers(-1000, 1000, 256).astype(np.int32), rng.integers(-1000, 1000, 256).astype(np.int32)
    i = np.arange(128)
    return Launch(1, 128, [x, y], {1: (y + x + np.concatenate([i, -i])).astype(np.int32)})


@case("clusters", "swap", targets=BULK)
def swap(rng: Random) -> Launch:
    x = rng.integers(0, 1000, 128).astype(np.int32)
    y = x.reshape(2, 2, 32)[:, ::-1, ::-1].reshape(-1)
    return Launch(4, 32, [x, np.zeros(128, np.int32)], {1: y.copy()})


@case("clusters", "gather", targets=BULK)
def gather(rng: Random) -> Launch:
    return Launch(8, 64, [np.zeros(2, np.int32)], {0: np.full(2, 256 * 255 // 2, np.int32)})


@case("atomics", "integers")
def integers(rng: Random) -> Launch:
    x = rng.integers(-(2**20), 2**20, 128).astype(np.int32)
    cells = np.array([5, 2**30, -(2**30), -1, 0, 9, 0, 0, 1000], np.int32)
    increments, decrements = 0, 0
    for _ in range(128):
        increments = 0 if increments >= 16 else increments + 1
        decrements = 9 if decrements == 0 or decrements > 9 else decrements - 1
    expected = [
        5 + x.sum(), x.min(), x.max(), np.bitwise_and.reduce(x | 1), np.bitwise_or.reduce(x), 9 ^ np.bitwise_xor.reduce(x), increments,
        decrements, 1000 - 3 * 128,
    ]  # fmt: skip
    wide = np.array([7, 3, 0], np.uint64)
    ends = np.array([(7 + int(x.astype(np.int64).sum())) % 2**64, x.view(np.uint32).max(), 0], np.uint64)
    return Launch(2, 64, [x, cells, wide], {1: np.array(expected, np.int64).astype(np.int32), 2: ends})


@case("atomics", "scoped")
def scoped(rng: Random) -> Launch:
    cells = np.concatenate([[2 * 64 * 63 // 2], np.arange(64), np.arange(64), [64, 64]]).astype(np.int32)
    arguments = [np.zeros(131, np.int32), np.zeros(1, np.float32), np.zeros(1)]
    return Launch(2, 64, arguments, {0: cells, 1: np.float32([128]), 2: np.array([64.0])})


@case("atomics", "exchanged")
def exchanged(rng: Random) -> Launch:
    cell, seen = np.array([1], np.int32), np.zeros(32, np.int32)
    return Launch(1, 32, [cell, seen], {0: np.array([1 + 32 * 31], np.int32), 1: np.ones(32, np.int32)})


@case("atomics", "ordered")
def ordered(rng: Random) -> Launch:
    x = rng.integers(-100, 100, 64).astype(np.int32)
    total = int(x.sum()) + 3
    return Launch(1, 64, [np.array([3, 0, 0], np.int32), x], {0: np.array([total, 5, total - 1], np.int32)})


@case("atomics", "locked")
def locked(rng: Random) -> Launch:
    return Launch(8, 32, [np.zeros(1, np.int32), np.zeros(1, np.int32)], {0: np.zeros(1, np.int32), 1: np.array([28], np.int32)})


@case("clocks", "places")
def places(rng: Random) -> Launch:
    y = np.zeros((2, 4, 24, 6), np.uint32)
    block, row, column = np.indices((2, 4, 24))
    thread = row * 24 + column
    lane = thread % 32
    columns = [column + 100 * row + 10000 * block, np.full_like(thread, 24 + 400 + 20000), lane, 2**lane - 1, np.full_like(thread, 64)]
    expected = np.stack([*columns, np.full_like(thread, 1 + 4)], axis=-1).astype(np.uint32)
    return Launch(2, (24, 4), [y], {0: expected}, shared=64)


@case("memory", "list")
def linked_list(rng: Random) -> Launch:
    return Launch(1, 32, [9, np.zeros(32, np.int32)], {1: np.full(32, sum(i * i for i in range(9)), np.int32)})


@case("memory", "blocks")
def blocks(rng: Random) -> Launch:
    x = rng.integers(-128, 128, 40).astype(np.int8)
    return Launch(1, 1, [x, np.zeros(56, np.int8), 40], {1: np.concatenate([np.full(16, 7, np.int8), x])})


@case("printing", "print_all")
def print_all(rng: Random) -> Launch:
    x = rng.normal(size=32).astype(np.float32)
    return Launch(1, 32, [x, np.zeros(32, np.int32), 100], {1: np.full(32, 9, np.int32)})
