"""Boxes of a layout: `Layout.sub` and NumPy's basic indexing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ptxgen.layouts.axes import ZERO, AxisTerm
from ptxgen.layouts.dims import Dims, shape_text, slice_dims
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar, exact_int
from ptxgen.layouts.spec import as_extent

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout


def check_coordinate(shape: Sequence[Scalar], place: int, coordinate: int) -> None:
    """Refuse a coordinate outside its dimension."""
    extent = shape[place]
    if coordinate < 0 or (isinstance(extent, int) and coordinate >= extent):
        raise LayoutError(
            f"coordinate {coordinate} of dimension {place} is outside 0..{Expr.of(extent) - 1} (shape {shape_text(shape)})"
        )


def sub(layout: Layout, starts: Sequence[object], shape: Sequence[object], steps: Sequence[object] | None) -> Layout:
    """A slice: positions at `starts[d] + i * steps[d]` in each dimension d, as NumPy slices them. See `Layout.sub`."""
    steps = (1,) * layout.ndim if steps is None else steps
    try:
        whole = len(starts) == len(shape) == len(steps) == layout.ndim
    except TypeError:
        given = next(one for one in (starts, shape, steps) if not hasattr(one, "__len__"))
        raise LayoutError(f"sub() takes starts, extents and steps as tuples, not {given!r}", legal="an int for each dimension") from None
    if not whole:
        raise LayoutError(
            f"sub() needs {layout.ndim} starts, extents and steps for shape {shape_text(layout.shape)}, "
            f"not {len(starts)}, {len(shape)} and {len(steps)}"
        )
    dims: list[Dims] = []
    offset = layout.offset
    for place, (start, extent, step) in enumerate(zip(starts, shape, steps)):
        part, moved = _slice(layout, place, start, extent, step)
        dims.append(part)
        offset = offset + moved
    return layout._with(tuple(dims), offset)


def _slice(layout: Layout, place: int, start: object, extent: object, step: object) -> tuple[Dims, AxisTerm]:
    first = as_scalar(start, f"the start in dimension {place}")
    count = as_extent(extent)
    stride = as_scalar(step, f"the step in dimension {place}")
    whole = layout.shape[place]
    if isinstance(count, Expr):
        if first == 0 and stride == 1 and count == whole:
            return layout.dims[place], ZERO
        raise LayoutError(f"the extent {count} of a part of dimension {place} must be known now")
    if isinstance(stride, Expr):  # its bounds are the caller's proof, as those of the start
        return slice_dims(layout.dims[place], first, count, stride)
    if stride < 1:
        raise LayoutError(f"the step in dimension {place} must be positive, not {stride}")
    if isinstance(first, int):
        check_coordinate(layout.shape, place, first)
        check_coordinate(layout.shape, place, first + (count - 1) * stride)
    elif isinstance(whole, int) and (count - 1) * stride >= whole:
        raise LayoutError(f"{count} elements {stride} apart don't fit into dimension {place} of extent {whole}")
    if first == 0 and count == whole and stride == 1:
        return layout.dims[place], ZERO
    return slice_dims(layout.dims[place], first, count, stride)


def index(layout: Layout, key: Any) -> Layout:
    """See `Layout.__getitem__`."""
    items = key if isinstance(key, tuple) else (key,)
    given = sum(item is not Ellipsis for item in items)
    if given < len(items) - 1:
        raise LayoutError("an index has at most one ellipsis (...)")
    if given > layout.ndim:
        raise LayoutError(f"{given} indices for shape {shape_text(layout.shape)}")
    if given == len(items):
        items = (*items, Ellipsis)
    dims: list[Dims] = []
    offset = layout.offset
    for place, item in _places(items, layout.ndim - given):
        if isinstance(item, slice) and item.start is item.stop is item.step is None:
            dims.append(layout.dims[place])
            continue
        if isinstance(item, slice):
            part, moved = _slice(layout, place, *_slice_bounds(layout, place, item))
            dims.append(part)
        else:
            moved = _slice(layout, place, item, 1, 1)[1]
        offset = offset + moved
    return layout._with(tuple(dims), offset)


def _places(items: tuple[Any, ...], omitted: int) -> Iterator[tuple[int, Any]]:
    expanded: list[Any] = []
    for item in items:
        expanded += [slice(None)] * omitted if item is Ellipsis else [item]
    return enumerate(expanded)


def _slice_bounds(layout: Layout, place: int, item: slice) -> tuple[Scalar, Scalar, int]:
    step = 1 if item.step is None else exact_int(item.step, f"the step in dimension {place}")
    start = 0 if item.start is None else as_scalar(item.start, f"the start in dimension {place}")
    stop = layout.shape[place] if item.stop is None else as_scalar(item.stop, f"the stop in dimension {place}")
    length = as_scalar(Expr.of(stop) - start, "a length")
    if isinstance(length, Expr):
        return start, length, step
    if step < 1 or length < 1:
        raise LayoutError(
            f"the slice {start}:{stop}:{step} of dimension {place} is empty or runs backwards; "
            "layouts have positive steps and at least one element"
        )
    if isinstance(start, int):
        check_coordinate(layout.shape, place, start + length - 1)
    return start, -(-length // step), step
