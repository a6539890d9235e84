"""Division: a layout by a tile, into the coordinates inside of a tile and those of the tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.algebra.complements import complement
from ptxgen.layouts.algebra.composition import Inner, as_inner, compose
from ptxgen.layouts.dims import shape_text
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard

Tiler = Union[Inner, Sequence[Inner]]


@on_layout
def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Each dimension as two: coordinates inside of a tile, and the tile's.

    Property, for one tiler t: `logical_divide(layout, t)(*c, r) == layout(e(t(c) + complement(t, layout.size)(r)))`, e(i) being the
    coordinate of element number i. For a sequence, the same for every dimension: shape (*tile0, rest0, *tile1, rest1, ...). Each element
    comes once. Everything is row-major here, so a tile of n neighbours of a matrix's rows is `(None, n)`.

    Parameters
    ----------
    tiler
        The tile as numbers of elements: a layout on `m` (such as `S[4:2]`, every other element), n for n neighbours; or a sequence of these
        for the dimensions, None for one that stays whole.

    Raises
    ------
    LayoutError
        When tiles don't fill the layout, or the parts have no strides, with the extent at fault.
    """
    if isinstance(tiler, (Layout, Shard, int)) or tiler is None:
        return compose(layout, _both(layout, tiler, layout.size, "the elements"))
    inners: list[Layout | None] = []
    for place, one in enumerate(_one_for_each(layout, tiler)):
        if one is None:
            inners.append(None)
            continue
        inners.append(_both(layout, one, layout.shape[place], f"dimension {place}"))
    return compose(layout, inners)


@on_layout
def flat_divide(layout: Layout, tiler: Tiler) -> Layout:
    """As `logical_divide`, all tile coordinates first: shape (*tile0, *tile1, ..., rest0, rest1, ...).

    Property: `flat_divide` is `logical_divide` with its dimensions in this order. A dimension under None counts as rest.
    """
    divided, tile, rest = _divided(layout, tiler)
    return divided.permute(*tile, *rest)


@on_layout
def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """As `flat_divide`, with two dimensions: inside of the tile, and the tiles. Shape (size of the tile, number of tiles).

    Property: `zipped_divide(layout, t) == flat_divide(layout, t).reshape(tile, tiles)`, row-major both.
    """
    divided, tile, rest = _divided(layout, tiler)
    return _grouped(_grouped(divided.permute(*tile, *rest), len(tile), len(rest)), 0, len(tile))


@on_layout
def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    """As `flat_divide`, the inside of the tile as one dimension: shape (size of the tile, rest0, rest1, ...).

    Property: `tiled_divide(layout, t) == flat_divide(layout, t).reshape(tile, *rest)`.
    """
    divided, tile, rest = _divided(layout, tiler)
    return _grouped(divided.permute(*tile, *rest), 0, len(tile))


@on_layout
def tile(layout: Layout, *shape: int | None) -> Layout:
    """Tiles of neighbours in the order of this library, repeats before atoms: shape (rest0, rest1, ..., tile0, tile1, ...).

    Property: `tile(layout, t0, t1)(r0, r1, c0, c1) == layout(r0 * t0 + c0, r1 * t1 + c1)`. None leaves a dimension out of the tile: it is a
    rest alone. For a `tile.apply`, the group's dimensions are put before these.

    Raises
    ------
    LayoutError
        When an extent is no multiple of the tile's.
    """
    divided, inside, rest = _divided(layout, shape)
    return divided.permute(*rest, *inside)


def _divided(layout: Layout, tiler: Tiler) -> tuple[Layout, list[int], list[int]]:
    """The logical division, and which of its dimensions are inside of the tile and which are rests."""
    divided = logical_divide(layout, tiler)
    tilers = _one_for_each(layout, tiler) if isinstance(tiler, (list, tuple)) else (tiler,)
    inside: list[int] = []
    rest: list[int] = []
    at = 0
    for one in tilers:
        count = 0 if one is None else as_inner(one, layout, "a tile").ndim
        inside += range(at, at + count)
        rest.append(at + count)
        at += count + 1
    return divided, inside, rest


def _grouped(layout: Layout, first: int, count: int) -> Layout:
    """`count` dimensions as one, and a new one of extent 1 for none."""
    if count:
        return layout.group(first, first + count)
    return layout._with((*layout.dims[:first], (), *layout.dims[first:]))


def _one_for_each(layout: Layout, tiler: Sequence[Inner]) -> Sequence[Inner]:
    if isinstance(tiler, str) or not isinstance(tiler, Sequence):
        raise LayoutError(f"{tiler!r} is no tile", legal="a layout or an int, or one of these or None for each dimension")
    if len(tiler) != layout.ndim:
        raise LayoutError(
            f"{len(tiler)} tiles for the {layout.ndim} dimensions of shape {shape_text(layout.shape)}",
            legal="one for each dimension, None for those that stay whole; or one tile of element numbers, not in a tuple",
        )
    return tiler


def _both(layout: Layout, tiler: Inner, extent: Scalar, where: str) -> Layout:
    """A tile, and behind its coordinates those that repeat it until it fills an extent."""
    inner = as_inner(tiler, layout, "the tile")
    if isinstance(extent, Expr):
        raise LayoutError(f"{where} of shape {shape_text(layout.shape)} has the run-time extent {extent}", legal="None: it stays whole")
    if inner.offset.parts:
        raise LayoutError(f"the tile {inner!r} starts at {inner.offset}", legal="a tile that holds element 0")
    if inner.swizzle is not None:
        raise LayoutError(f"the tile {inner!r} is swizzled; tiles are numbers of elements", legal="a tile without a swizzle")
    try:
        rest = complement(inner, extent)
    except LayoutError as problem:
        raise LayoutError(f"the tile {inner!r} does not divide {where} of shape {shape_text(layout.shape)}: {problem}") from None
    return Layout._of((*inner.dims, *rest.dims), inner.replica_dims)
