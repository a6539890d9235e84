"""Measures: how many positions, how long a run, how well aligned."""

from __future__ import annotations

from math import gcd

import numpy as np

from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.axes import ZERO, AxisTerm, m
from ptxgen.layouts.compare import components, count_positions
from ptxgen.layouts.dims import coalesce
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, exact_int
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.units import ELEMENT


@on_layout
def image_size(layout: Layout) -> int:
    """The number of different positions that elements have, replicas included.

    Property: `len({home for every coordinate, for every replica})`, on all axes together. The swizzle, a bijection, doesn't matter.

    Raises
    ------
    LayoutError
        When run-time strides leave it open.
    """
    return count_positions(layout)


@on_layout
def contiguous_run(layout: Layout, step: int = 1) -> int:
    """The longest run: the greatest n such that elements k*n .. k*n + n - 1, row-major, follow one another for every k.

    Property: the greatest divisor n of `layout.size` with `layout(e(k*n + j))[m] == layout(e(k*n))[m] + j * step` and all other axes
    equal, for all k and all j < n and in every replica, e(i) being the coordinate of element number i. It sees through the swizzle. For
    the run along another dimension, `permute` that one to the end.

    Parameters
    ----------
    step
        How far apart neighbours are, in the layout's unit: 1 for elements, the bits of an element for a layout in bits.

    Raises
    ------
    LayoutError
        For a swizzled layout of elements of unknown size, or whose positions are known only at run time.
    """
    step = exact_int(step, "the step between neighbours")
    if layout.swizzle is not None:  # which may set apart what lies side by side, and the other way round
        return _swizzled_run(layout, step)
    flat = coalesce(tuple(dim for part in layout.dims for dim in part))
    extent, stride = flat[-1] if flat else (1, ZERO)
    return _static(layout, extent) if stride == AxisTerm.of(step) else 1


def _swizzled_run(layout: Layout, step: int) -> int:
    """A run of n must not hold a break, so n divides the numbers of all elements that don't follow the one before them."""
    places = _swizzled(layout, "the run").reshape(-1, layout.size)
    broken = (np.diff(places, axis=1) != step).any(axis=0)
    table = layout.table()
    for axis, mono in components(layout):
        if (axis, mono) != (m, ()):
            broken |= np.diff(table.component(axis)[mono].ravel()) != 0
    return gcd(layout.size, *(np.flatnonzero(broken) + 1).tolist())


def _static(layout: Layout, extent: object) -> int:
    if isinstance(extent, int):
        return extent
    raise LayoutError(
        f"the run of {layout!r} is its extent {extent}, which is known only at run time", legal="a part of it: sub(...)"
    )


@on_layout
def alignment(layout: Layout, run: int = 1) -> int:
    """The greatest alignment: the greatest n that divides the positions on `m` at which runs of elements begin.

    Property: `gcd(layout(e(k * run))[m] for every k and replica)`, e(i) being the coordinate of element number i; 0 when all of them are 0,
    which every n divides. In the layout's unit, through the swizzle. Run-time strides and offsets count as the divisors that they are known
    to have, for which it is the greatest alignment that is known.

    Parameters
    ----------
    run
        Elements that are read together, row-major: a divisor of `layout.size`, such as `contiguous_run(layout)`.

    Raises
    ------
    LayoutError
        For a run that does not divide the elements or cuts a dimension, or a swizzled layout of elements of unknown size.
    """
    run = exact_int(run, "the run")
    starts = layout
    if run != 1:
        if run < 1 or layout.size % run:
            raise LayoutError(f"runs of {run} don't divide the {layout.size} elements", legal=f"a divisor of {layout.size}")
        starts = layout.reshape(layout.size // run, run)[:, 0]
    strides = [stride for part in (*starts.dims, starts.replica_dims) for extent, stride in part if extent != 1]
    if starts.swizzle is None:
        return gcd(*(Expr.of(term[m]).divisor() for term in (*strides, starts.offset)))
    known = [Expr.of(term[m]).terms for term in (*strides, starts.offset)]
    symbolic = gcd(*(Expr({mono: value}).divisor() for terms in known for mono, value in terms.items() if mono))
    return gcd(symbolic, int(np.gcd.reduce(_swizzled(starts, "the alignment"), axis=None)))


def _swizzled(layout: Layout, what: str) -> np.ndarray:
    """The constant parts of all positions on `m`, replicas included; what is symbolic commutes with the swizzle."""
    if layout.unit == ELEMENT:
        raise LayoutError(
            f"{what} of {layout!r} depends on the size of its elements: {layout.swizzle} permutes bytes",
            legal="bind(bits_per_element) first",
        )
    table = layout.expand_replicas().table()
    if not table.separable:
        raise LayoutError(f"{what} of {layout!r} is known only at run time, through its swizzle")
    return table.m
