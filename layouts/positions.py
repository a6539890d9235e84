"""Where positions begin and end, and which elements are at one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.layouts.axes import ZERO, Axis, AxisTerm, m, tx
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar, prove_nonnegative
from ptxgen.layouts.table import unbound_swizzle
from ptxgen.layouts.units import ELEMENT

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout


def coordinates(layout: Layout, position: int | AxisTerm | Mapping[Axis, int]) -> list[tuple[int, ...]]:
    """See `Layout.coordinates`."""
    if isinstance(position, Mapping):
        strange = next((axis for axis in position if not isinstance(axis, Axis)), None)
        if strange is not None:
            raise LayoutError(f"a position is a mapping from axes such as m and tx, not from {strange!r}")
        position = AxisTerm.collect((axis, as_scalar(value, "a position")) for axis, value in position.items())
    wanted = AxisTerm.of(position, "a position").reduced()
    full = layout.expand_replicas()
    table = full.table()
    if layout.symbols or any(isinstance(value, Expr) for _, value in wanted.parts):
        raise LayoutError("coordinates() needs positions that are known now, without symbols")
    found = {m: table.m, **table.axes}
    if table.thread is not None:
        found[tx] = table.thread
    if any(axis not in found for axis, _ in wanted.parts):
        return []
    hits = np.ones(full.shape, np.bool_)
    for axis, values in found.items():
        hits = hits & (values == wanted[axis])
    leading = len(layout.replica_dims)
    return sorted({tuple(row[leading:]) for row in np.argwhere(hits).tolist()})


def span(layout: Layout) -> tuple[Scalar, Scalar]:
    """The least and the greatest position on `m`: `(min(positions), max(positions))`. See `Layout.span`."""
    if layout.swizzle is not None:
        if layout.unit == ELEMENT:
            raise LayoutError(unbound_swizzle(layout.swizzle))
        table = layout.expand_replicas().table()
        moved = Expr.of(layout.offset[m]) - Expr.of(layout.offset[m]).terms.get((), 0)
        if not table.separable or layout._with(offset=ZERO).symbols:
            raise LayoutError(f"the span of {layout!r} is known only at run time, through its swizzle")
        return as_scalar(moved + int(table.m.min()), "lo"), as_scalar(moved + int(table.m.max()), "hi")
    lo = hi = layout.offset[m]
    for extent, stride in (dim for part in (*layout.dims, layout.replica_dims) for dim in part):
        reach = Expr.of(stride[m]) * (Expr.of(extent) - 1)
        if prove_nonnegative(stride[m]):
            hi = as_scalar(reach + hi, "hi")
        elif prove_nonnegative(-stride[m]):
            lo = as_scalar(reach + lo, "lo")
        else:
            raise LayoutError(f"the stride {stride[m]} may have either sign; give its symbols a range")
    return lo, hi
