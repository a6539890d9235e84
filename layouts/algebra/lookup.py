"""Questions about positions: which elements are in lane 5, register 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Union

import numpy as np

from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.algebra.digits import Axes, axes_wanted, axis_of
from ptxgen.layouts.axes import Axis, m
from ptxgen.layouts.dims import shape_text
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import exact_int
from ptxgen.layouts.layout import Layout

At = Mapping[Union[Axis, str], int]


@on_layout
def coordinate(layout: Layout, number: int) -> tuple[int, ...]:
    """The coordinates of an element by its row-major number.

    Property: `coordinate(layout, n) == np.unravel_index(n, layout.shape)`; what an inverse answers, in coordinates.

    Raises
    ------
    LayoutError
        For a number of no element.
    """
    number = exact_int(number, "an element's number")
    if not 0 <= number < layout.size:
        raise LayoutError(f"there is no element number {number} in shape {shape_text(layout.shape)}", legal=f"0..{layout.size - 1}")
    return tuple(int(place) for place in np.unravel_index(number, layout.shape))


@on_layout
def elements(layout: Layout, at: At | None = None, **named: int) -> list[tuple[int, ...]]:
    """The coordinates of all elements with a home at the given places; axes not named may be anywhere.

    `elements(layout, laneid=5, m=3)` lists what lane 5 of every warp holds at 3. Property: exactly the coordinates c, in row-major
    order, of which a home p has `p` on each named axis equal to the value, where laneid is tx % 32, warpid tx // 32, wid_in_wg
    tx // 32 % 4, tid_in_wg tx % 128, wgid tx // 128.

    Parameters
    ----------
    at, named
        Places by axis, or by the axis' name; `m` in the layout's unit.

    Raises
    ------
    LayoutError
        For a place that the axis does not have, a name that is no axis, and layouts known only at run time.
    """
    if at is not None and not isinstance(at, Mapping):
        raise LayoutError(f"places are given by their axes, not as {at!r}", legal="laneid=5, m=3, or {laneid: 5, m: 3}")
    given = [*(at or {}).items(), *named.items()]
    wanted = {axis_of(axis): exact_int(value, f"the place on {axis}") for axis, value in given}
    homes = _homes(layout, list(wanted))
    hits = np.ones(layout.expand_replicas().shape, np.bool_)
    for axis, value in wanted.items():
        if axis is not m and (value < 0 or (axis.limit is not None and value >= axis.limit)):
            raise LayoutError(f"there is no {axis} {value}", legal=axis.legal if axis.limit else "places from 0")
        hits = hits & (homes[axis] == value)
    found = hits.any(axis=tuple(range(len(layout.replica_dims))))
    return [tuple(row) for row in np.argwhere(found).tolist()]


@on_layout
def element_table(layout: Layout, axes: Axes = None) -> np.ndarray:
    """The row-major number of the element at each position, -1 where there is none: an inverse of any injective layout.

    Property: `element_table(layout, axes)[p] == n` exactly when p, with 0 on the axes left out, is a home of element number n.

    Parameters
    ----------
    axes
        The dimensions of the table, as for `right_inverse`.

    Returns
    -------
    np.ndarray
        int64, from position 0 to the greatest on each axis (up to the last lane for `laneid` and the like).

    Raises
    ------
    LayoutError
        When a position is negative, or holds two elements, with the coordinates.
    """
    wanted = axes_wanted(layout, axes)
    if not wanted:
        raise LayoutError("a table has at least one axis", legal="an axis, or a tuple of them: (laneid, m)")
    homes = _homes(layout, wanted)
    full = layout.expand_replicas()
    numbers = np.broadcast_to(np.arange(layout.size).reshape(layout.shape), full.shape).ravel()
    inside = _at_zero_elsewhere(layout, wanted).ravel()
    places = [np.broadcast_to(homes[axis], full.shape).ravel()[inside] for axis in wanted]
    numbers = numbers[inside]
    for axis, values in zip(wanted, places):
        if values.size and values.min() < 0:
            raise LayoutError(
                f"{layout!r} reaches {int(values.min())} on {axis}; a table starts at 0", legal="a layout moved by an offset"
            )
    shape = tuple(int(values.max()) + 1 if values.size else 1 for values in places)
    table = np.full(shape, -1, np.int64)
    table[tuple(places)] = numbers
    if (table[tuple(places)] != numbers).any():
        at = int(np.argmax(table[tuple(places)] != numbers))
        first, second = coordinate(layout, int(numbers[at])), coordinate(layout, int(table[tuple(v[at] for v in places)]))
        where = ", ".join(f"{axis} {int(values[at])}" for axis, values in zip(wanted, places))
        raise LayoutError(f"elements {first} and {second} of {layout!r} are both at {where}", legal="an injective layout")
    return table


def _homes(layout: Layout, axes: list[Axis]) -> dict[Axis, np.ndarray]:
    """The place on each axis of every element and replica."""
    full = layout.expand_replicas()
    if layout.symbols:
        raise LayoutError(
            f"where the elements of {layout!r} are depends on run-time values ({', '.join(map(str, layout.symbols))})"
        )
    table = full.table()
    found: dict[Axis, np.ndarray] = {}
    for axis in axes:
        if axis is m:
            found[axis] = table.m
        elif axis.is_thread:
            threads = np.zeros((), np.int64) if table.thread is None else table.thread
            found[axis] = threads // axis.scale if axis.limit is None else threads // axis.scale % axis.limit
        else:
            found[axis] = table.axes.get(axis, np.zeros((), np.int64))
    return found


def _at_zero_elsewhere(layout: Layout, axes: list[Axis]) -> np.ndarray:
    """Which elements and replicas are at 0 on all that the axes leave out."""
    full = layout.expand_replicas()
    inside = np.ones(full.shape, np.bool_)
    table = full.table()
    for axis, values in {m: table.m, **table.axes}.items():
        if axis not in axes:
            inside = inside & (values == 0)
    if table.thread is not None:
        threads = [axis for axis in axes if axis.is_thread]
        seen = np.zeros((), np.int64)
        for axis in threads:
            seen = seen + _homes(layout, [axis])[axis] * axis.scale
        inside = inside & (seen == table.thread)
    return inside
