"""A tile before it exists: the views of a tensor, to ask which elements an access would touch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ptxgen.instructions.types import Type
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard, row_major

__all__ = ["Probe"]


class Probe:
    """The row-major numbers of a tile's elements, seen through views.

    It has the views of a kernel's tensors: `view`, `rearrange`, `permute`, `sub`, static indexing. A wider type joins neighbours of the
    last axis wherever they may come to lie.
    """

    __slots__ = ("dtype", "numbers", "origin")

    def __init__(self, origin: Type, dtype: Type, numbers: Layout) -> None:
        self.origin = origin
        self.dtype = dtype
        self.numbers = numbers  # the last axis counts the elements that are joined

    @staticmethod
    def of(shape: Sequence[int], dtype: Type) -> Probe:
        """A whole tile."""
        return Probe(dtype, dtype, Layout(Shard(row_major((*shape, 1)))))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape[:-1]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> np.ndarray:
        """The numbers: of shape (\\*shape, elements that are joined)."""
        return self.numbers.table().linear

    def view(self, *shape_or_dtype: Any, dtype: Type | None = None) -> Probe:
        given = list(shape_or_dtype)
        if given and isinstance(given[0], Type):
            dtype = given.pop(0)
        made = self if dtype is None else self._retyped(dtype)
        if not given:
            return made
        shape = list(given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given)
        others = prod(one for one in shape if one != -1)
        if shape.count(-1) == 1 and others > 0:
            shape[shape.index(-1)] = max(1, prod(made.shape) // others)  # what is left
        made.numbers[..., 0].reshape(*shape)  # which refuses a shape as it was given
        return made._with(made.numbers.reshape(*shape, made.numbers.shape[-1]))

    def _retyped(self, dtype: Type) -> Probe:
        joined, rest = divmod(dtype.bits, self.origin.bits)
        flat = self.numbers.group(self.ndim - 1, self.ndim + 1) if self.ndim else self.numbers
        if rest or not joined or flat.shape[-1] % joined:
            raise LayoutError(
                f"a tile of shape {self.shape} of {self.dtype.name} can't be seen as .{dtype.name}",
                legal=f"a type of whole elements of {self.origin.bits} bits that fill the last axis",
            )
        outer = flat.shape[:-1]
        return Probe(self.origin, dtype, flat.reshape(*outer, flat.shape[-1] // joined, joined))

    def rearrange(self, pattern: str, **sizes: int) -> Probe:
        self.numbers[..., 0].rearrange(pattern, **sizes)  # which refuses a pattern in the words in which it was given
        left, right = pattern.split("->")
        return self._with(self.numbers.rearrange(f"{left} joined_ -> {right} joined_", **sizes))

    def permute(self, *order: int) -> Probe:
        return self._with(self.numbers.permute(*order, len(order)))

    def sub(self, starts: Sequence[int], shape: Sequence[int], steps: Sequence[int] | None = None) -> Probe:
        joined = self.numbers.shape[-1]
        return self._with(self.numbers.sub((*starts, 0), (*shape, joined), None if steps is None else (*steps, 1)))

    def __getitem__(self, index: Any) -> Probe:
        items = list(index) if isinstance(index, tuple) else [index]
        at = next((place for place, item in enumerate(items) if item is Ellipsis), None)
        if at is None:
            at = len(items)
            items.append(Ellipsis)
        items[at : at + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        items.append(slice(None))
        return self._with(self.numbers[tuple(items)])

    def _with(self, numbers: Layout) -> Probe:
        return Probe(self.origin, self.dtype, numbers)

    def __repr__(self) -> str:
        return f"tile[{', '.join(map(str, self.shape))}] {self.dtype.name}"
