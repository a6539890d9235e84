"""Layouts whose algebra has answers often, and the positions that they have by brute force."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from ptxgen.layouts import AXES, Layout, R, S, Swizzle, m, tx
from tests.layouts.strategies import packed_table

#: (bits of an element, swizzle): the swizzles of hardware, and small ones that bite within a few elements.
SWIZZLES = [(8, Swizzle(1, 0, 1)), (8, Swizzle(1, 1, 2)), (8, Swizzle(2, 0, 2)), (16, Swizzle(1, 1, 2)), (16, Swizzle(2, 1, 3))]


@st.composite
def chains(draw, axes=("m",), most=96, gaps=True):
    """Layouts whose dimensions nest: (layout, extents on each axis) in a random order of dimensions, any extents."""
    steps, ends = [], dict.fromkeys(axes, 1)
    size = 1
    for _ in range(draw(st.integers(0, 4))):
        axis = draw(st.sampled_from(axes))
        extent = draw(st.sampled_from([2, 2, 3, 4, 5, 7]))
        if size * extent > most:
            break
        size *= extent
        gap = draw(st.sampled_from([1, 1, 1, 2, 3])) if gaps else 1
        stride = ends[axis] * gap
        steps.append((extent, stride, axis))
        ends[axis] = stride * extent
    order = draw(st.permutations(steps))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=2)))
    groups = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)])]
    groups = [group or [(1, 0, "m")] for group in groups]
    extents = tuple(tuple(e for e, _, _ in group) for group in groups)
    strides = tuple(tuple(s @ AXES[axis] for _, s, axis in group) for group in groups)
    return Layout(S[extents:strides]), ends


@st.composite
def wild(draw, most=48, replicas=True, low=-6, high=12):
    """Any small layout on m and tx: strides of either sign, overlapping, zero; offsets; replicas."""
    size, extents, strides = 1, [], []
    for _ in range(draw(st.integers(0, 3))):
        extent = draw(st.sampled_from([1, 2, 3, 4, 6]))
        if size * extent > most:
            break
        size *= extent
        extents.append(extent)
        strides.append(draw(st.integers(low, high)) + draw(st.sampled_from([0, 0, 0, 1])) @ tx)
    copies = R[draw(st.integers(1, 3)) : draw(st.integers(low, high))] if replicas and draw(st.booleans()) else None
    return Layout(S[tuple(extents) : tuple(strides)], copies, offset=draw(st.integers(low, high)))


@st.composite
def inners(draw, size, most=48):
    """Layouts whose positions on m are numbers below `size`."""
    extents, strides, low, high = [], [], 0, 0
    for _ in range(draw(st.integers(0, 3))):
        extent = draw(st.sampled_from([1, 2, 3, 4, 6]))
        if math.prod(extents) * extent > most:
            break
        room = (size - 1 - (high - low)) // max(extent - 1, 1)
        useful = [s for s in (1, 2, 3, 4, 6, 8, 12, 16, 24) if s <= room] or [0]
        stride = draw(st.one_of(st.sampled_from(useful), st.integers(0, room))) * draw(st.sampled_from([1, 1, 1, -1]))
        extents.append(extent)
        strides.append(stride)
        low, high = low + min(0, stride * (extent - 1)), high + max(0, stride * (extent - 1))
    offset = -low + draw(st.one_of(st.just(0), st.integers(0, size - 1 - high + low)))
    return Layout(S[tuple(extents) : tuple(strides)], offset=offset)


def homes(layout):
    """The set of packed positions of every element, replicas included, after the swizzle."""
    full = layout.expand_replicas()
    moved = full.table().m - full.table().linear + packed_table(full)
    return [set(column) for column in moved.reshape(-1, layout.size).T.tolist()]


def places(layout, number):
    """The homes of one element, by calling the layout."""
    full = layout.expand_replicas()
    leading = full.shape[: full.ndim - layout.ndim]
    coordinate = tuple(int(c) for c in np.unravel_index(number, layout.shape)) if layout.shape else ()
    return [full(*replica, *coordinate) for replica in np.ndindex(*leading)]


def at(position):
    """A position without its zeros."""
    return {axis: value for axis, value in position.items() if value}


__all__ = ["SWIZZLES", "at", "chains", "homes", "inners", "m", "places", "wild"]
