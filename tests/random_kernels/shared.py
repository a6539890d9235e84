"""What the families of tensor cores and asynchronous copies share beyond `ptxgen.testing.families`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import b32


def numpy_of(dtype: str) -> np.dtype:
    """The NumPy dtype that stands for a PTX type in an argument."""
    return np.dtype(np.float32) if dtype == "tf32" else getattr(px, dtype).numpy


def small(seed: int, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Random integers that every type holds and whose sums of products stay exact; integer types are drawn over all of 8 bits."""
    low, high = {"s8": (-128, 128), "u8": (0, 256)}.get(dtype, (0 if dtype.startswith("u") else -3, 4))
    return np.random.default_rng(seed).integers(low, high, shape).astype(numpy_of(dtype))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b.T`` in integers."""
    return a.astype(np.int64) @ b.astype(np.int64).swapaxes(-1, -2)


def copy_in(given: Any, tile: Any) -> None:
    """All threads copy a 3-d tensor to a part of a shared tile, a row each, 16 bytes at a time."""
    source, target = given.view(b32), tile.view(b32)
    count, rows, columns = source.shape
    for at in px.range(px.tid.x, count * rows, px.ntid.x):
        with px.if_(at < count * rows):
            for first in range(0, columns, 4):
                place = at // rows, at % rows, slice(first, first + 4)
                px.ptx["st.shared.v4.b32"](target[place], px.ptx["ld.global.v4.b32"](source[place]))
