"""A layout's dimensions sorted by axis, as digits of the positions: what complements and inverses are read off."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, Union

from ptxgen.layouts.axes import AXES, Axis, AxisTerm, m, tx
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Scalar
from ptxgen.layouts.layout import Layout

Axes = Union[Iterable[Union[Axis, str]], None]


class Digit(NamedTuple):
    """One physical dimension that steps along one axis alone, counted upwards."""

    stride: int
    extent: int
    weight: int  #: what one step adds to the number of the element, negative for a dimension that was turned around


class Digits(NamedTuple):
    """The dimensions of a layout by axis, by stride."""

    by_axis: dict[Axis, list[Digit]]
    base: AxisTerm  #: the least position
    first: int  #: the number of the element at the least position
    left_out: list[tuple[Scalar, AxisTerm]]  #: dimensions on several axes, or known only at run time


def digits_of(layout: Layout) -> Digits:
    """Every dimension of the linear part that moves positions; replicas weigh nothing."""
    by_axis: dict[Axis, list[Digit]] = {}
    left_out: list[tuple[Scalar, AxisTerm]] = []
    base, first = layout.offset.reduced(), 0
    for extent, stride, weight in (*_weighted(layout), *((e, s, 0) for e, s in layout.replica_dims)):
        stride = stride.reduced()
        if extent == 1 or not stride.parts:
            continue
        axis, step = stride.parts[0]
        if len(stride.parts) > 1 or not isinstance(step, int) or not isinstance(extent, int) or not isinstance(weight, int):
            left_out.append((extent, stride))
            continue
        if step < 0:
            base, first = base + stride * (extent - 1), first + weight * (extent - 1)
            step, weight = -step, -weight
        by_axis.setdefault(axis, []).append(Digit(step, extent, weight))
    for found in by_axis.values():
        found.sort()
    return Digits(by_axis, base, first, left_out)


def _weighted(layout: Layout) -> Iterable[tuple[Scalar, AxisTerm, Scalar]]:
    """(extent, stride, weight in the row-major number), innermost first."""
    weight: Scalar = 1
    for extent, stride in (dim for part in reversed(layout.dims) for dim in reversed(part)):
        yield extent, stride, weight
        weight = weight * extent


def lying_at_zero(layout: Layout, digits: Digits, what: str) -> None:
    """Refuse a layout whose least positions are not 0: positions are counted from there."""
    for axis, value in digits.base.parts:
        if layout.swizzle is not None and axis is m:
            raise LayoutError(
                f"{what} of {layout!r} starts at its lowest position, and that is {value} on m, before the swizzle",
                legal=f"the layout without its offset: layout - ({digits.base})",
            )
        raise LayoutError(
            f"{what} counts positions from 0, and the lowest of {layout!r} on {axis} is {value}",
            legal=f"the layout moved there: layout - ({digits.base})",
        )


def axes_wanted(layout: Layout, axes: Iterable[Axis | str] | None) -> list[Axis]:
    """The axes of a domain: those asked for, or else all of the layout's, `m` last and threads as `tx`."""
    if axes is None:
        used = {tx if axis.is_thread else axis for axis in (*layout.axes, m)}
        return sorted(used, key=lambda axis: (axis is m, axis.order))
    if isinstance(axes, (Axis, str)):
        axes = (axes,)
    if not isinstance(axes, Iterable):
        raise LayoutError(f"{axes!r} names no axes", legal="an axis, or a tuple of them: (laneid, m)")
    wanted = [axis_of(axis) for axis in axes]
    twice = next((axis for axis in wanted if wanted.count(axis) > 1), None)
    if twice is not None:
        raise LayoutError(f"the axis {twice} is asked for twice")
    threads = sorted((axis for axis in wanted if axis.is_thread), key=lambda axis: axis.scale)
    for inner, outer in pairwise(threads):
        if inner.limit is None or inner.scale * inner.limit != outer.scale:
            whole = outer.scale // inner.scale
            raise LayoutError(
                f"{inner} and {outer} don't count threads together: one step of {outer} is {whole} of {inner}",
                legal="tx; warpid and laneid; wgid and tid_in_wg; wgid, wid_in_wg and laneid",
            )
    return wanted


def axis_of(value: Axis | str) -> Axis:
    """The axis by itself or by its name."""
    if isinstance(value, Axis):
        return value
    if not isinstance(value, str) or value not in AXES:
        raise LayoutError(f"unknown axis {value!r}; the axes are {', '.join(AXES)}")
    return AXES[value]
