"""What a family builds: a kernel, its arguments, and what NumPy says they hold afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ptxgen as px

__all__ = ["SPANS", "SWIZZLES", "Case", "Several", "aligned", "bits", "difference"]

SWIZZLES = {16: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}
"""Swizzles by their span in bytes."""

SPANS = tuple(SWIZZLES)


class Case(NamedTuple):
    """A kernel, its arguments, and what the arguments at some positions hold afterwards. The others must stay as they are."""

    kernel: Any
    arguments: tuple[Any, ...]
    wanted: dict[int, np.ndarray]

    def fresh(self) -> tuple[Any, ...]:
        """The arguments with arrays of their own, C-contiguous and aligned as an allocation is."""
        return tuple(aligned(one) if isinstance(one, np.ndarray) else one for one in self.arguments)

    def disagrees(self, arguments: Sequence[Any]) -> str | None:
        """The first argument that does not hold what NumPy says: what it was, where nothing is said."""
        for place, (found, before) in enumerate(zip(arguments, self.arguments)):
            if isinstance(before, np.ndarray) and (wrong := difference(found, self.wanted.get(place, before), "NumPy")) is not None:
                return f"argument {place}: {wrong}"
        return None

    def emulated(self, seed: int = 0) -> tuple[tuple[Any, ...], str | None]:
        """The arguments after a run in the emulator with all its checks, and what differs from NumPy or was reported."""
        arguments = self.fresh()
        result = self.kernel.emulate(*arguments, seed=seed)
        if not result.ok:
            return arguments, "reported: " + "; ".join(str(report) for report in result.reports[:3])
        return arguments, self.disagrees(arguments)


class Several(NamedTuple):
    """A field that is a tuple of so many choices."""

    values: Sequence[Any]
    number: int


def bits(seed: int, shape: Sequence[int], size: int) -> np.ndarray:
    """Random words of 8 to 64 bits."""
    return np.random.default_rng(seed).integers(0, (1 << size) - 1, shape, np.uint64, endpoint=True).astype(f"u{size // 8}")


def aligned(array: np.ndarray, to: int = 256) -> np.ndarray:
    """A copy that begins at a multiple of so many bytes."""
    room = np.empty(array.nbytes + to, np.uint8)
    start = -room.ctypes.data % to
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def difference(found: np.ndarray, wanted: np.ndarray, of: str, *, exact: bool = False) -> str | None:
    """Where two arrays differ, in value or, if `exact`, in bits."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, {of} has {wanted.dtype}{list(wanted.shape)}"
    if exact:
        found, wanted = (np.ascontiguousarray(one).view(f"u{one.dtype.itemsize}") for one in (found, wanted))
    places = np.argwhere(found != wanted)
    if not len(places):
        return None
    first = tuple(int(one) for one in places[0])
    return f"{len(places)} of {found.size} elements differ, the first at {first}: {found[first]}, {of} says {wanted[first]}"
