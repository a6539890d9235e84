"""Shapes that a view is given: extents to be inferred, and runtime ones.

A runtime extent that is known to be a multiple is split by its quotient: a traced integer like any other, whose register nothing reads
unless the quotient is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

from ptxgen.errors import LayoutError
from ptxgen.layouts.axes import AxisTerm
from ptxgen.layouts.dims import Dim, shape_text
from ptxgen.layouts.expr import Expr, Scalar, Symbol, exact_ratio, product
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.rearrange import left_groups

if TYPE_CHECKING:
    from ptxgen.tracing.builder import Builder

__all__ = ["made_divisible", "parted", "rearranged", "reshaped"]


def reshaped(builder: Builder, layout: Layout, shape: Sequence[Any]) -> Layout:
    """The layout under another shape, of ints, traced integers and at most one -1, which stands for what is left."""
    from ptxgen.tracing.views import index_expr

    extents = [index_expr(one, builder, f"extent {axis}") for axis, one in enumerate(shape)]
    for one in extents:
        if isinstance(one, int) and one < 1 and one != -1:
            raise LayoutError(f"an extent must be at least 1, not {one}", legal="-1 for the extent that is left")
    layout = _split_up(builder, layout, [symbol for one in extents if isinstance(one, Expr) for symbol in one.symbols])
    open_ones = [axis for axis, one in enumerate(extents) if isinstance(one, int) and one == -1]
    if len(open_ones) > 1:
        raise LayoutError(f"the shape {shape_text(extents)} leaves more than one extent open", legal="one -1 at most")
    if open_ones:
        rest = product(one for axis, one in enumerate(extents) if axis not in open_ones)
        layout, extents[open_ones[0]] = _left_over(builder, layout, rest, extents)
    return layout.reshape(tuple(extents))  # type: ignore[arg-type]


def rearranged(builder: Builder, layout: Layout, pattern: str, sizes: Mapping[str, Any]) -> Layout:
    """See `View.rearrange`."""
    from ptxgen.tracing.views import index_expr

    given = {name: index_expr(size, builder, f"the size of {name}") for name, size in sizes.items()}
    if not layout.is_static:
        named = [one for one in given.values() if isinstance(one, Expr)]
        layout = _split_up(builder, layout, [symbol for one in named for symbol in one.symbols])
        for group, extent in zip(left_groups(pattern, layout.ndim), layout.shape):
            parts = [given[name] for name in group if name in given]
            if isinstance(extent, Expr) and len(group) > 1 and all(isinstance(one, int) for one in parts):
                layout = made_divisible(builder, layout, extent, product(parts))
    return layout.rearrange(pattern, **given)  # type: ignore[arg-type]


def _left_over(builder: Builder, layout: Layout, rest: Scalar, extents: Sequence[Scalar]) -> tuple[Layout, Scalar]:
    """What a -1 stands for."""
    total = product(layout.shape)
    if isinstance(total, Expr) and isinstance(rest, int):
        layout = made_divisible(builder, layout, total, rest)
        total = product(layout.shape)
    found = exact_ratio(total, rest)
    if found is None:
        raise LayoutError(
            f"can't reshape {shape_text(layout.shape)} to {shape_text(extents)}: {total} elements are not known to be a multiple of {rest}",
            legal="extents that divide them; a dim that is a multiple: px.dim(name, multiple_of=...)",
        )
    return layout, found


def made_divisible(builder: Builder, layout: Layout, extent: Expr, by: Scalar) -> Layout:
    """The layout with a runtime dim written as a multiple of its quotient, if that makes `extent` divide."""
    if not isinstance(by, int) or by < 2 or exact_ratio(extent, by) is not None:
        return layout
    part = by // gcd(by, *extent.terms.values())
    for symbol in extent.symbols:
        if symbol.divisor % part == 0 and symbol.key == (tuple, ("dim", symbol.name)):
            quotient: Any = builder.value_of(symbol)
            quotient = quotient // part
            return _substituted(layout, {symbol: quotient.expr * part})
    return layout


def parted(builder: Builder, layout: Layout, axis: int, item: Any, index: Expr) -> tuple[Layout, list[Scalar]]:
    """An axis of several strides, and its index as one for each stride: what is left of it by the extents inside, and quotients.

    An index whose parts are expressions stays as it is.
    """
    extents = [extent for extent, _ in layout.dims[axis]]
    try:
        layout[(slice(None),) * axis + (index,)]
    except LayoutError:
        if not hasattr(item, "__ptxgen_value__") and not hasattr(item, "expr"):
            raise
    else:
        return layout, [index]
    value, parts = item, []
    for extent in reversed(extents[1:]):
        inner = builder.value_of(extent.symbols[0]) if isinstance(extent, Expr) and extent == Expr.of(extent.symbols[0]) else extent
        parts.append(value % inner)
        value = value // inner
    from ptxgen.tracing.views import index_expr

    exprs = [index_expr(one, builder, f"index {axis}") for one in (value, *reversed(parts))]
    return layout.ungroup(axis), exprs


def _split_up(builder: Builder, layout: Layout, symbols: Sequence[Symbol]) -> Layout:
    """The layout with runtime dims written by those quotients of them, of which the user speaks."""
    for symbol in dict.fromkeys(symbols):
        if symbol in layout.symbols or symbol not in builder.quotients:
            continue
        dividend, divisor = builder.quotients[symbol]
        dims = dividend.symbols
        if len(dims) == 1 and dividend == Expr.of(dims[0]) and dims[0].divisor % divisor == 0:
            layout = _substituted(layout, {dims[0]: Expr.of(symbol) * divisor})
    return layout


def _substituted(layout: Layout, values: Mapping[Symbol, Scalar]) -> Layout:
    def term(of: AxisTerm) -> AxisTerm:
        return AxisTerm.collect((axis, value.substitute(values) if isinstance(value, Expr) else value) for axis, value in of.parts)

    def dim(of: Dim) -> Dim:
        extent, stride = of
        return (extent.substitute(values) if isinstance(extent, Expr) else extent), term(stride)

    dims = tuple(tuple(dim(one) for one in part) for part in layout.dims)
    return layout._with(dims, term(layout.offset), tuple(dim(one) for one in layout.replica_dims))
