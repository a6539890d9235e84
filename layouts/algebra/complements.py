"""Complement: the displacements at which copies of a layout fill a box of positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Union

from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.algebra.digits import Digit, Digits, axis_of, digits_of
from ptxgen.layouts.axes import Axis, AxisTerm, m, tx
from ptxgen.layouts.dims import Dim, Dims, coalesce
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import exact_int
from ptxgen.layouts.layout import Layout

Box = Union[int, Mapping[Axis, int], None]


@on_layout
def complement(layout: Layout, box: Box = None) -> Layout:
    """The layout whose positions, added to those of this one, fill a box exactly once.

    Property: every position of the box is `image + complement(layout, box)(d)[..]` for one position of the layout's image (counted from
    the layout's least position, replicas included) and one coordinate d; `complement(...)(0, ..)` is the origin, and positions grow with d.

    Parameters
    ----------
    layout
        Any layout whose image has copies that fill a box; its swizzle is left out, so the positions are those before it.
    box
        Extents from 0: a number of positions on `m`, or a mapping from axes (threads are counted on `tx`) where one not named has
        extent 1. By default the smallest box that holds the image: then the complement lists the gaps.

    Returns
    -------
    Layout
        One dimension for each axis of the box, in the box's order, in the layout's unit.

    Raises
    ------
    LayoutError
        When no displacements do that, with the stride at fault; when the image leaves the box or doesn't divide it.
    """
    digits = _nesting(layout)
    extents = _extents(box, digits.by_axis)
    for axis in digits.by_axis:
        if axis not in extents:
            legal = f"a box that names {axis}: {{{axis}: 32}}, for example"
            raise LayoutError(f"{layout!r} moves on {axis}, where the box has extent 1", legal=legal)
    dims = tuple(_gaps(layout, axis, digits.by_axis.get(axis, []), extent) for axis, extent in extents.items())
    return Layout._of(dims, unit=layout.unit)


def gaps_along(layout: Layout, axis: Axis, count: int) -> Layout:
    """The first displacements along one axis at which copies of a layout fill it: at least `count` of them, in ascending order."""
    digits = _nesting(layout).by_axis.get(axis, [])
    inside = _gaps(layout, axis, digits, None)
    reached = digits[-1].stride * digits[-1].extent if digits else 1
    rounds = -(-count // Layout._of((inside,)).size)
    return Layout._of((_gaps(layout, axis, digits, reached * rounds),))


def _nesting(layout: Layout) -> Digits:
    digits = digits_of(layout)
    if digits.left_out:
        extent, stride = digits.left_out[0]
        raise LayoutError(
            f"the dimension {extent} : {stride} of {layout!r} moves on several axes or is known only at run time; "
            "its positions have no complement with constant strides on each axis"
        )
    return digits


def _extents(box: Box, used: Mapping[Axis, list[Digit]]) -> dict[Axis, int | None]:
    if box is None:
        return dict.fromkeys(sorted({*used} or {m}, key=lambda axis: axis.order))
    named = box if isinstance(box, Mapping) else {m: box}
    found: dict[Axis, int | None] = {}
    for name, extent in named.items():
        axis = axis_of(name)
        axis = tx if axis.is_thread and axis.scale == 1 else axis
        if axis.is_thread and axis is not tx:
            raise LayoutError(f"a box counts threads on tx, not on {axis}", legal=f"{{tx: {axis.scale} * ...}}")
        if axis in found:
            raise LayoutError(f"the box names {axis} twice")
        found[axis] = exact_int(extent, f"the box's extent on {axis}")
    return found


def _gaps(layout: Layout, axis: Axis, digits: list[Digit], extent: int | None) -> Dims:
    """Dimensions (outermost first) of the displacements along one axis."""
    gaps: list[Dim] = []
    reached = 1
    for stride, count, _ in digits:
        if stride % reached:
            raise LayoutError(
                f"{layout!r} has no complement on {axis}: its stride {stride} {_conflict(stride, reached)} {reached} positions that its "
                "smaller strides make",
                legal=f"strides of which each is a multiple of what the smaller ones reach: here a multiple of {reached}",
            )
        if stride > reached:
            gaps.append((stride // reached, AxisTerm(((axis, reached),))))
        reached = stride * count
    if extent is not None:
        if extent < 1 or extent % reached:
            near = max(extent, 1) // reached * reached
            raise LayoutError(
                f"the box has {extent} positions on {axis}, and copies of {layout!r} come in multiples of {reached}",
                legal=f"{f'{near} or ' if near else ''}{near + reached} positions",
            )
        if extent > reached:
            gaps.append((extent // reached, AxisTerm(((axis, reached),))))
    return coalesce(tuple(reversed(gaps)))


def _conflict(stride: int, reached: int) -> str:
    return "lies inside of the" if stride < reached else "is no multiple of the"
