"""The same elements under other coordinates: `reshape`, `group`, `ungroup`, `permute`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

from ptxgen.layouts.dims import Unsplittable, shape_text, split
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, exact_int, product
from ptxgen.layouts.spec import as_extent

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout

Extents = Union[int, Expr, Sequence[Union[int, Expr]]]


def reshape(layout: Layout, *shape: Extents) -> Layout:
    """Another shape of the same elements, row-major; positions are `np.reshape(positions, shape)`. See `Layout.reshape`."""
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    sizes = tuple([as_extent(extent) for extent in given])
    known = layout._derived.get(sizes)
    if known is not None:
        return known
    if product(sizes) != product(layout.shape):
        raise _unreshapable(layout, sizes, f"{product(layout.shape)} elements against {product(sizes)}")
    try:
        parts = split(tuple(dim for part in layout.dims for dim in part), sizes)
    except Unsplittable as problem:
        raise _unreshapable(layout, sizes, problem) from None
    return layout._remember(sizes, layout._with(tuple(parts)))


def _unreshapable(layout: Layout, sizes: tuple[Scalar, ...], problem: object) -> LayoutError:
    return LayoutError(f"can't reshape {shape_text(layout.shape)} to {shape_text(sizes)}: {problem}")


def group(layout: Layout, first: int, stop: int) -> Layout:
    """Dimensions `first .. stop - 1` as one: the reshape that multiplies their extents. See `Layout.group`."""
    first, stop = (exact_int(place, "a dimension's number") for place in (first, stop))
    if not 0 <= first < stop <= layout.ndim:
        raise LayoutError(f"no dimensions {first}..{stop - 1} in shape {shape_text(layout.shape)}")
    merged = tuple(dim for part in layout.dims[first:stop] for dim in part)
    return layout._with((*layout.dims[:first], merged, *layout.dims[stop:]))


def ungroup(layout: Layout, place: int) -> Layout:
    """A dimension as its physical ones: the reshape that undoes `group`. See `Layout.ungroup`."""
    place = exact_int(place, "a dimension's number")
    if not 0 <= place < layout.ndim:
        raise LayoutError(f"no dimension {place} in shape {shape_text(layout.shape)}")
    return layout._with((*layout.dims[:place], *((dim,) for dim in layout.dims[place]), *layout.dims[place + 1 :]))


def permute(layout: Layout, *order: int | Sequence[int]) -> Layout:
    """Dimensions in another order; positions are `np.transpose(positions, order)`. See `Layout.permute`."""
    given = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
    wanted = tuple(exact_int(place, "a dimension's number") for place in given)
    if sorted(wanted) != list(range(layout.ndim)):
        raise LayoutError(
            f"the order {wanted} does not name each of the {layout.ndim} dimensions of shape {shape_text(layout.shape)} once"
        )
    return layout._with(tuple(layout.dims[place] for place in wanted))
