"""A chain of views as a value: applied to a view inside a kernel, to a layout in a proof, printed as one would write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxgen.instructions.types import Type
from ptxgen.layouts.layout import Layout
from ptxgen.solve.frozen import Frozen

__all__ = ["Arrangement", "braced"]

_Step = tuple[str, Any]


def braced(names: Sequence[str]) -> str:
    """One side's axis of a pattern, made of these: ``(a b)``, ``a``, or 1 for none."""
    return names[0] if len(names) == 1 else f"({' '.join(names)})" if names else "1"


class Arrangement(Frozen):
    """Views of a tile, one after the other. Call it with a tensor, a shared tile or a register tile; each step gives another one.

    `on(layout, bits)` applies it to a layout in bits, with the width of its elements: the same steps, to prove what they do. `str()` is the
    text behind the view's name.
    """

    __slots__ = ("steps",)

    def __init__(self, steps: Sequence[_Step] = ()) -> None:
        self.steps = tuple(steps)

    def permute(self, *order: int) -> Arrangement:
        """With the axes in another order; the same arrangement where that is the order they have."""
        return self if order == tuple(range(len(order))) else self._then("permute", order)

    def view(self, *shape: int) -> Arrangement:
        """With another shape."""
        return self._then("view", shape)

    def part(self, axis: int, axes: int, start: int, stop: int) -> Arrangement:
        """The elements from `start` to `stop` of one of so many axes."""
        return self._then("part", (*[slice(None)] * axis, slice(start, stop), *[slice(None)] * (axes - axis - 1)))

    def rearrange(self, pattern: str, **sizes: int) -> Arrangement:
        """With axes split, permuted and merged by a pattern."""
        return self._then("rearrange", (pattern, sizes))

    def retype(self, dtype: Type) -> Arrangement:
        """As elements of another type."""
        return self._then("retype", dtype)

    def _then(self, name: str, how: Any) -> Arrangement:
        return Arrangement((*self.steps, (name, how)))

    def __call__(self, view: Any) -> Any:
        for name, how in self.steps:
            if name == "part":
                view = view[how]
            elif name == "rearrange":
                view = view.rearrange(how[0], **how[1])
            elif name == "retype":
                view = view.view(how)
            else:
                view = getattr(view, name)(*how)
        return view

    def on(self, layout: Layout, bits: int) -> tuple[Layout, int]:
        """The layout that these views of `layout` have, and the width of its elements in bits."""
        for name, how in self.steps:
            if name == "part":
                layout = layout[how]
            elif name == "rearrange":
                layout = layout.rearrange(how[0], **how[1])
            elif name == "retype":
                layout, bits = layout.retype(bits, how.bits), how.bits
            elif name == "permute":
                layout = layout.permute(*how)
            else:
                layout = layout.reshape(*how)
        return layout, bits

    def __eq__(self, other: object) -> bool:
        return self.steps == other.steps if isinstance(other, Arrangement) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return "".join(_text(name, how) for name, how in self.steps) or " as it is"


def _text(name: str, how: Any) -> str:
    if name == "part":
        return f"[{', '.join(_slice(one) for one in how)}]"
    if name == "rearrange":
        return f'.rearrange("{how[0]}"{"".join(f", {name}={size}" for name, size in how[1].items())})'
    if name == "retype":
        return f".view(px.{how.name})"
    return f".{name}({', '.join(map(str, how))})"


def _slice(one: slice) -> str:
    return ":" if one == slice(None) else f"{one.start or ''}:{one.stop}"
