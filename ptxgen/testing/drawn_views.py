"""Chains of view operations that mean the same to a view of ptxgen's and to a NumPy array."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from ptxgen.layouts.arguments import EXTENTS, NATURAL, takes

__all__ = ["Steps", "view_steps"]


class Steps(NamedTuple):
    """View operations one after the other; each is a name and its arguments.

    ``steps.of(x)`` applies them to a view or an array of the shape that they were drawn for. Printed, they can be typed in.
    """

    operations: tuple[tuple[str, Any], ...]
    shape: tuple[int, ...]
    """What comes out."""

    def of(self, view: Any) -> Any:
        """The view of a view, or of an array: no element is copied."""
        for name, argument in self.operations:
            if name == "index":
                view = view[argument + (Ellipsis,)]  # of an array a view, also where one element is left
            elif isinstance(view, np.ndarray):
                view = view.transpose(argument) if name == "permute" else view.reshape(argument)
            else:
                view = getattr(view, name)(*argument)
        return view

    def __repr__(self) -> str:
        return "x" + "".join(
            f"[{', '.join(map(_index_text, argument))}]" if name == "index" else f".{name}({', '.join(map(str, argument))})"
            for name, argument in self.operations
        )


def _index_text(index: Any) -> str:
    if not isinstance(index, slice):
        return str(index)
    step = "" if index.step == 1 else f":{index.step}"
    return f"{index.start}:{index.stop}{step}"


@takes(shape=EXTENTS, max_steps=NATURAL)
@st.composite
def view_steps(draw: Any, shape: tuple[int, ...], *, max_steps: int = 4) -> Steps:
    """Chains of ``permute``, ``view`` and indexing for views of a shape, all of them inside it and none of them a copy.

    Parameters
    ----------
    shape : tuple of int
    max_steps : int

    Returns
    -------
    strategy of Steps
        Shrinks to none.
    """
    array = np.empty(shape, np.uint8)
    operations: list[tuple[str, Any]] = []
    for _ in range(draw(st.integers(0, max_steps))):
        name = draw(st.sampled_from(["index", "permute", "view"]))
        if not array.ndim:
            break
        if name == "index":
            argument = tuple(draw(_one_index(extent, array.ndim)) for extent in array.shape)
        elif name == "permute":
            argument = tuple(draw(st.permutations(range(array.ndim))))
        else:
            argument = _regrouped(draw, array)
        operations.append((name, argument))
        array = Steps(((name, argument),), ()).of(array)
    return Steps(tuple(operations), array.shape)


@st.composite
def _one_index(draw: Any, extent: int, axes: int) -> Any:
    """A slice, or sometimes one element, of an axis."""
    start = draw(st.integers(0, extent - 1))
    if axes > 1 and draw(st.integers(0, 3)) == 3:
        return start
    step = draw(st.integers(1, 3))
    count = draw(st.integers(1, -(-(extent - start) // step)))
    return slice(start, start + (count - 1) * step + 1, step)


def _regrouped(draw: Any, array: np.ndarray) -> tuple[int, ...]:
    """The shape with one axis cut in two, or with two neighbours joined where they lie one behind the other."""
    shape = array.shape
    cuts = [(axis, part) for axis, extent in enumerate(shape) for part in range(2, extent) if extent % part == 0]
    joins = [axis for axis in range(len(shape) - 1) if array.strides[axis] == array.strides[axis + 1] * shape[axis + 1]]
    choices = [shape]
    choices += [(*shape[:axis], shape[axis] // part, part, *shape[axis + 1 :]) for axis, part in cuts]
    choices += [(*shape[:axis], prod(shape[axis : axis + 2]), *shape[axis + 2 :]) for axis in joins]
    return tuple(draw(st.sampled_from(choices)))
