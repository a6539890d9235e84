"""Which threads work on a tile: the scope, the guard that leaves some of them, and how the group axes are written."""

from __future__ import annotations

from contextlib import nullcontext
from math import prod
from typing import Any

import ptxgen as px
from ptxgen import laneid, tid_in_wg, tx

# Scope, threads of the block, the first thread of the scope that works and how many do.
THREADS = [
    ("thread", 1, 0, 1), ("thread", 40, 0, 1), ("warp", 32, 0, 32), ("warp", 96, 0, 32), ("warp", 64, 0, 12), ("warp", 64, 16, 8),
    ("cta", 64, 0, 64), ("cta", 24, 0, 24), ("cta", 80, 8, 48), ("cta", 96, 32, 64), ("warpgroup", 128, 0, 128), ("warpgroup", 256, 0, 128),
    ("warpgroup", 256, 64, 64),
]  # fmt: skip

_AXES = {"thread": (None, 1), "warp": (laneid, 32), "warpgroup": (tid_in_wg, 128)}

GROUP_AXES = (1, 2, 4)
"""How many threads lie on the inner one of two group axes; 1: there is one group axis."""


class Threads:
    """The working threads of a block.

    Attributes
    ----------
    scope : str
    block, parts, count : int
        Threads of the block, groups of the scope in it, and working threads of each.
    group : tuple of int
        The group axes.
    """

    def __init__(self, of: tuple[str, int, int, int], inner: int) -> None:
        self.scope, self.block, self._first, self.count = of
        self._axis, self._size = _AXES.get(self.scope, (tx, self.block))
        self.parts = self.block // self._size
        if self.scope == "thread":
            self.group: tuple[int, ...] = ()
        else:
            self.group = (self.count,) if inner == 1 else (self.count // inner, inner)

    def working(self) -> Any:
        """The block of statements that the working threads execute."""
        if self.count == self._size:
            return nullcontext()
        at = px.tid.x % self._size
        return px.if_((at >= self._first) & (at < self._first + self.count))

    def part(self) -> Any:
        """Which group of its block a thread belongs to."""
        return px.tid.x // self._size

    def registers(self, extents: tuple[int, ...], order: Any, gap: int, dtype: Any, **container: Any) -> Any:
        """A register tile (*group, *extents): a thread's registers run along the axes in `order`, the last first, with gaps."""
        strides, step = [0] * len(extents), 1
        for axis in sorted(range(len(extents)), key=lambda one: (order[one], -one)):
            strides[axis] = step
            step *= extents[axis] + gap
        threads = [prod(self.group[place + 1 :]) @ self._axis for place in range(len(self.group))]
        spec = px.S[(*self.group, *extents) : (*threads, *strides)]
        offset = self._first @ self._axis if self._axis is not None and self._first else 0
        return px.local((*self.group, *extents), dtype, layout=px.Layout(spec, offset=offset), **container)
