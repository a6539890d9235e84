"""Products: copies of a layout, arranged by another one; and the sum of two layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.algebra.complements import gaps_along
from ptxgen.layouts.algebra.composition import as_inner, compose
from ptxgen.layouts.arguments import EXTENTS, SEQUENCE, takes
from ptxgen.layouts.axes import m
from ptxgen.layouts.dims import Dims, shape_text
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, exact_int
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard, as_extent, row_major
from ptxgen.layouts.threads import check_thread_ranges
from ptxgen.layouts.units import bits_of

_THEN = "the sum of layouts without swizzles, swizzled then"

Copies = Union[Layout, Shard, int, Sequence[int]]


@on_layout
def logical_product(layout: Layout, copies: Copies) -> Layout:
    """Copies of a layout side by side on `m`, the first where the layout is: shape (*layout, *copies).

    Property: before the swizzle, `logical_product(a, b)(*c, *d) == a(*c) + k(b(*d))`, where k(0) = 0, k(1), ... are the displacements on
    `m`, in ascending order, at which copies of a's positions fill `m` without gap or overlap (its complement). So each copy is a
    translate of a, and copies are disjoint when b is injective.

    Parameters
    ----------
    copies
        Which copy is where: a layout on `m`, such as `S[(2, 3) : (1, 2)]`; n stands for n copies, and a shape for copies
        numbered row-major.

    Raises
    ------
    LayoutError
        When the gaps of the layout have no strides (see `complement`); for a layout in bits or bytes, whose elements copies would cut.
    """
    order = _copies(copies, layout)
    _check_whole_elements(layout)
    most = 1 + sum(int(stride[m]) * (extent - 1) for part in order.dims for extent, stride in part if int(stride[m]) > 0)  # type: ignore
    places = gaps_along(layout, m, most)
    try:
        moved = compose(places, order)
    except LayoutError as problem:
        raise LayoutError(f"the copies {order!r} of {layout!r} are no strides apart: {problem}") from None
    return layout._with((*layout.dims, *moved.dims))


@on_layout
def zipped_product(layout: Layout, copies: Copies) -> Layout:
    """As `logical_product`, with two dimensions: (elements of the layout, copies).

    Property: `zipped_product(a, b) == logical_product(a, b).reshape(a.size, b.size)`, row-major both.
    """
    return _merged(logical_product(layout, copies), layout.ndim, both=True)


@on_layout
def tiled_product(layout: Layout, copies: Copies) -> Layout:
    """As `logical_product`, the layout as one dimension: shape (elements of the layout, *copies).

    Property: `tiled_product(a, b) == logical_product(a, b).reshape(a.size, *b.shape)`.
    """
    return _merged(logical_product(layout, copies), layout.ndim, both=False)


@on_layout
def blocked_product(layout: Layout, copies: Copies) -> Layout:
    """Copies as blocks: dimension i runs through the layout's dimension i within the copies' dimension i.

    Property: `blocked_product(a, b)(d0 * a0 + c0, d1 * a1 + c1, ...) == logical_product(a, b)(c0, c1, ..., d0, d1, ...)` for a of shape
    (a0, a1, ...).

    Raises
    ------
    LayoutError
        As `logical_product`, and when the layouts have different numbers of dimensions.
    """
    return _interleaved(layout, copies, lambda own, copy: (*copy, *own))


@on_layout
def raked_product(layout: Layout, copies: Copies) -> Layout:
    """Copies interleaved: dimension i runs through the copies' dimension i within the layout's dimension i.

    Property: `raked_product(a, b)(c0 * b0 + d0, ...) == logical_product(a, b)(c0, ..., d0, ...)` for b of shape (b0, ...).
    """
    return _interleaved(layout, copies, lambda own, copy: (*own, *copy))


@takes(shape=EXTENTS, order=SEQUENCE)
@on_layout
def tile_to_shape(layout: Layout, shape: Sequence[int], order: Sequence[int] | None = None) -> Layout:
    """A larger shape in blocks of a layout: `blocked_product` with as many copies as fill it.

    Property: block (d0, d1, ...) of the result holds a translate of the layout (before the swizzle), and blocks follow one another in
    the given order.

    Parameters
    ----------
    shape
        Extents, multiples of the layout's.
    order
        The dimensions from the slowest to the fastest among blocks; row-major by default.

    Raises
    ------
    LayoutError
        When an extent is no multiple, with that extent.
    """
    places = tuple(range(layout.ndim)) if order is None else tuple(exact_int(place, "a dimension's number") for place in order)
    if len(shape) != layout.ndim or sorted(places) != list(range(layout.ndim)):
        raise LayoutError(
            f"can't tile shape {shape_text(shape)} in the order {places} with blocks of shape {shape_text(layout.shape)}",
            legal=f"{layout.ndim} extents, and each of the dimensions 0..{layout.ndim - 1} once",
        )
    blocks: list[int] = []
    for place, (whole, own) in enumerate(zip(shape, layout._static_shape("tile a shape"))):
        if as_extent(whole) % own:  # type: ignore[operator]
            raise LayoutError(
                f"dimension {place} of extent {whole} is no multiple of the block's {own}",
                legal=f"{f'{whole // own * own} or ' if whole >= own else ''}{(whole // own + 1) * own}",
            )
        blocks.append(whole // own)
    numbers = row_major(tuple(blocks[place] for place in places))
    return blocked_product(layout, Layout._of(tuple(numbers[places.index(place)] for place in range(layout.ndim))))


@on_layout
def direct_sum(first: Layout, second: Layout | Shard) -> Layout:
    """The coordinates of both, the positions added: shape (*first, *second).

    Property: `direct_sum(a, b)(*c, *d) == a(*c) + b(*d)`, axis by axis; the homes are all sums of a home of one and a home of the other.

    Raises
    ------
    LayoutError
        For different units; when a thread axis leaves its range; for a swizzle whose period the other's positions are no multiples of.
    """
    other = second if isinstance(second, Layout) else Layout(second)
    if first.unit != other.unit:
        raise LayoutError(f"a layout in {first.unit}s and one in {other.unit}s have no sum", legal="the same unit: bind, in_units")
    swizzle = first.swizzle or other.swizzle
    for swizzled, added in ((first, other), (other, first)):
        if swizzled.swizzle is not None:
            _check_commutes(swizzled, added)
    dims = (*first.dims, *other.dims)
    found = Layout._of(dims, (*first.replica_dims, *other.replica_dims), first.offset + other.offset, swizzle, first.unit)
    check_thread_ranges(found)
    return found


def _check_commutes(swizzled: Layout, added: Layout) -> None:
    """Adding whole periods commutes with a swizzle; nothing else is known to."""
    swizzle, bits = swizzled.swizzle, bits_of(swizzled.unit)
    assert swizzle is not None
    if added.swizzle is not None or bits is None:
        why = "the other is swizzled too" if added.swizzle is not None else "its elements' size is not known"
        raise LayoutError(f"{swizzle} of {swizzled!r} acts before the sum, and {why}", legal=_THEN)
    period = swizzle.period * 8 // bits
    for term in (added.offset, *(stride for part in (*added.dims, added.replica_dims) for extent, stride in part if extent != 1)):
        if Expr.of(term[m]).divisor() % period:
            raise LayoutError(
                f"{swizzle} of {swizzled!r} acts before the sum, and the step {term[m]} of the other is no multiple of its period, "
                f"{period} {swizzled.unit}s",
                legal=_THEN,
            )


def _copies(copies: Copies, layout: Layout) -> Layout:
    if isinstance(copies, (tuple, list)):
        return Layout._of(row_major(tuple(copies)))
    order = as_inner(copies, layout, "the order of copies")
    if order.offset.parts or order.replica_dims or order.swizzle is not None or order.symbols:
        raise LayoutError(f"the order of copies is S[extents : strides] alone, not {order!r}", legal="numbers from 0: S[(2, 3) : (1, 2)]")
    return order


def _check_whole_elements(layout: Layout) -> None:
    if layout.unit not in ("bit", "byte", "word"):  # elements, or units of the size of one
        return
    steps = [stride[m] for part in layout.dims for extent, stride in part if extent != 1 and stride[m]]
    if all(step != 1 for step in steps):
        raise LayoutError(
            f"{layout!r} counts {layout.unit}s, and does not know the size of its elements; copies might lie inside of them",
            legal="in_units(bits of an element), or the product before bind()",
        )


def _merged(product: Layout, first: int, both: bool) -> Layout:
    own = tuple(dim for part in product.dims[:first] for dim in part)
    rest = product.dims[first:]
    return product._with((own, tuple(dim for part in rest for dim in part)) if both else (own, *rest))


def _interleaved(layout: Layout, copies: Copies, join: Callable[[Dims, Dims], Dims]) -> Layout:
    order = _copies(copies, layout)
    if order.ndim != layout.ndim:
        raise LayoutError(
            f"copies of shape {shape_text(order.shape)} and a layout of shape {shape_text(layout.shape)} have no dimensions in common",
            legal="as many dimensions as the layout has, of extent 1 where there is one copy",
        )
    product = logical_product(layout, order)
    own, rest = product.dims[: layout.ndim], product.dims[layout.ndim :]
    return product._with(tuple(join(a, b) for a, b in zip(own, rest)))
