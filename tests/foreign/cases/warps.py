"""Warps and cooperative groups."""

from __future__ import annotations

import numpy as np

from tests.foreign.cases.case import Launch, collector

CASES, case = collector()
Random = np.random.Generator


@case("warps", "shuffle")
def shuffle(rng: Random) -> Launch:
    x = rng.integers(-1000, 1000, 64).astype(np.int32)
    y, z = [], []
    for warp in x.reshape(2, 32):
        lane = np.arange(32)
        down = np.where(lane % 16 + 5 < 16, lane + 5, lane)
        columns = [warp[lane * 7 & 31], warp[np.where(lane < 3, lane, lane - 3)], warp[down], warp[lane ^ 9], np.full(32, warp.sum())]
        y.append(np.stack(columns, axis=1))
        z.append(warp[np.minimum(lane + 1, 31)] * 0.5)
    results = {1: np.concatenate(y).astype(np.int32), 2: np.concatenate(z)}
    return Launch(1, 64, [x, np.zeros((64, 5), np.int32), np.zeros(64)], results)


@case("warps", "agree")
def agree(rng: Random) -> Launch:
    x = rng.integers(0, 9, 64).astype(np.int32)
    x[32:] = 3
    y = []
    for warp in x.reshape(2, 32).tolist():
        odd = [value for value in warp if value & 1]
        for value in warp:
            same = sum(1 << lane for lane, other in enumerate(warp) if other == value)
            folded = 0
            for one in warp:
                folded ^= one
            y.append([
                sum(1 << lane for lane, one in enumerate(warp) if one > 3), int(5 in warp), 1, same, 2**32 - 1 + 1, sum(warp), max(warp),
                folded, sum(one > 2 for one in odd) + min(odd) * 100 if value & 1 else 0,
            ])  # fmt: skip
    return Launch(1, 64, [x, np.zeros((64, 9), np.uint32)], {1: (np.array(y) % 2**32).astype(np.uint32)})


@case("groups", "tiles")
def tiles(rng: Random) -> Launch:
    x = rng.integers(0, 20, 64).astype(np.int32)
    y = []
    for start in range(0, 64, 8):
        tile = x[start : start + 8].tolist()
        for rank in range(8):
            value = sum(tile) + tile[rank ^ 1] * 1000 + sum(tile[:rank]) * 1000000
            y.append(value ^ start // 8 if 3 in tile else value)
    return Launch(1, 64, [x, np.zeros(64, np.int32)], {1: np.array(y).astype(np.int32)})


@case("groups", "coalesced")
def coalesced(rng: Random) -> Launch:
    x = rng.integers(0, 100, 32).astype(np.int32)
    odd = x & 1
    y = np.where(odd, np.cumsum(odd) - 1, -1).astype(np.int32)
    return Launch(1, 32, [x, np.zeros(32, np.int32), np.zeros(1, np.int32)], {1: y, 2: np.array([odd.sum()], np.int32)})
