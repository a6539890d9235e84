"""What a family builds: a kernel, its arguments, and what NumPy says they hold afterwards; and what families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ptxgen as px
from ptxgen import b32

SWIZZLES = {16: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}
"""Swizzles by their span in bytes."""

SPANS = tuple(SWIZZLES)


class Case(NamedTuple):
    """A kernel, its arguments, and what the arguments at some positions hold afterwards. The others must stay as they are."""

    kernel: Any
    arguments: tuple[Any, ...]
    wanted: dict[int, np.ndarray]


def numpy_of(dtype: str) -> np.dtype:
    """The NumPy dtype that stands for a PTX type in an argument."""
    return np.dtype(np.float32) if dtype == "tf32" else getattr(px, dtype).numpy


def small(seed: int, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Random integers that every type holds and whose sums of products stay exact; integer types are drawn over all of 8 bits."""
    low, high = {"s8": (-128, 128), "u8": (0, 256)}.get(dtype, (0 if dtype.startswith("u") else -3, 4))
    return np.random.default_rng(seed).integers(low, high, shape).astype(numpy_of(dtype))


def bits(seed: int, shape: Sequence[int], size: int) -> np.ndarray:
    """Random words of 8 to 64 bits."""
    return np.random.default_rng(seed).integers(0, (1 << size) - 1, shape, np.uint64, endpoint=True).astype(f"u{size // 8}")


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


class Several(NamedTuple):
    """A field that is a tuple of so many choices."""

    values: Sequence[Any]
    number: int
