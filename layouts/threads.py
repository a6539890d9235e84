"""Thread axes reduce to one index only inside their ranges: 64 lanes are a mistake, not warp 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxgen.layouts.axes import Axis
from ptxgen.layouts.dims import Dim, extent_of
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Scalar

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout


def check_thread_ranges(layout: Layout) -> None:
    """Refuse a layout with a position on a thread axis outside the axis' range, and name its coordinate.

    Symbolic strides count as 0 and a symbolic offset only where its whole range is outside: what depends on run-time
    values is for the proofs of whoever made them.
    """
    offset = dict(layout.offset.parts)
    lowest, highest = dict(offset), dict(offset)
    for extent, stride in (dim for dims in (*layout.dims, layout.replica_dims) for dim in dims):
        for axis, step in stride.parts:
            if axis.is_thread and isinstance(step, int) and isinstance(extent, int):
                end = highest if step > 0 else lowest
                end[axis] = end.get(axis, 0) + step * (extent - 1)
    for axis, value in lowest.items():
        greatest = value if isinstance(value, int) else value.range()[1]
        if axis.is_thread and greatest is not None and greatest < 0:
            raise LayoutError(f"{axis} reaches {greatest} at {_where(layout, axis, -1)}; {axis.legal}")
    for axis, value in highest.items():
        least = value if isinstance(value, int) else value.range()[0]
        if axis.limit is not None and least is not None and least >= axis.limit:
            raise LayoutError(f"{axis} reaches {least} at {_where(layout, axis, 1)}; {axis.legal}")


def _corner(dims: Sequence[Dim], axis: Axis, sign: int) -> list[int]:
    """Coordinates at which the axis is greatest (or least, for sign -1)."""
    steps = [(extent, stride[axis]) for extent, stride in dims]
    return [e - 1 if isinstance(e, int) and isinstance(s, int) and s * sign > 0 else 0 for e, s in steps]


def _where(layout: Layout, axis: Axis, sign: int) -> str:
    coordinates = []
    for dims in layout.dims:
        value: Scalar = 0
        for place, at in enumerate(_corner(dims, axis, sign)):
            value = value + at * extent_of(dims[place + 1 :])
        coordinates.append(value)
    text = f"coordinate {_tuple_text(coordinates)}"
    if layout.replica_dims:
        text += f" of replica {_tuple_text(_corner(layout.replica_dims, axis, sign))}"
    return text


def _tuple_text(values: Sequence[Scalar]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"
