"""Logical dimensions as tuples of physical ones: splitting, merging, indexing.

A physical dimension is `(extent, stride)`. A logical dimension is a tuple of them, outermost first, and its coordinate
runs through them in row-major order; the empty tuple has extent 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxgen.layouts.axes import ZERO, AxisTerm
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar, exact_ratio, product

Dim = tuple[Scalar, AxisTerm]
Dims = tuple[Dim, ...]


def extent_of(dims: Dims) -> Scalar:
    """The extent of a logical dimension."""
    if len(dims) == 1:
        return dims[0][0]
    return product(extent for extent, _ in dims)


def dims_text(dims: Dims) -> tuple[str, str]:
    """Extents and strides of a logical dimension in the notation."""
    if not dims:
        return "1", "0"
    extents, strides = [str(e) for e, _ in dims], [str(s) for _, s in dims]
    if len(dims) == 1:
        return extents[0], strides[0]
    return f"({', '.join(extents)})", f"({', '.join(strides)})"


def shape_text(shape: Sequence[Scalar]) -> str:
    """A shape as Python writes a tuple."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def coalesce(dims: Dims) -> Dims:
    """The same function of the coordinate with as few physical dimensions as possible.

    The result is canonical: two logical dimensions of one extent are the same function exactly when their coalesced
    forms are equal (the longest linear prefix of the function fixes the innermost extent, then the next one).
    """
    merged: list[Dim] = []
    for extent, stride in reversed(dims):
        stride = stride.reduced()
        if extent == 1:
            continue
        if merged and stride == merged[-1][1] * merged[-1][0]:
            inner, step = merged[-1]
            merged[-1] = (product((extent, inner)), step)
        else:
            merged.append((extent, stride))
    return tuple(reversed(merged))


class Unsplittable(Exception):
    """Why dimensions don't split; callers add the shapes."""


def split(dims: Dims, sizes: Sequence[Scalar]) -> list[Dims]:
    """Cut a row-major sequence of physical dimensions into logical ones of the given sizes, outermost first.

    The product of the sizes must be the product of the extents.

    Raises
    ------
    Unsplittable
        Where a boundary between sizes falls inside a physical dimension that it does not divide.
    """
    try:
        return _split(dims, sizes)
    except Unsplittable as problem:
        try:
            return _split(coalesce(dims), sizes)
        except Unsplittable:
            raise problem from None


def _split(dims: Dims, sizes: Sequence[Scalar]) -> list[Dims]:
    pending = [dim for dim in reversed(dims) if dim[0] != 1]
    parts: list[Dims] = []
    for size in sizes:
        part: list[Dim] = []
        need = size
        while need != 1:
            extent, stride = pending.pop()
            if extent == need:
                part.append((extent, stride))
                break
            left, inside = exact_ratio(need, extent), exact_ratio(extent, need)
            if left is not None:
                part.append((extent, stride))
                need = left
            elif inside is not None:
                part.append((need, stride * inside))
                pending.append((inside, stride))
                need = 1
            elif not isinstance(extent, int) or not isinstance(need, int):
                raise Unsplittable(f"the runtime extent {extent if isinstance(extent, Expr) else need} stays whole")
            else:
                taken = "" if need == size else f" ({need} of it left)"
                raise Unsplittable(
                    f"extent {size}{taken} ends inside the dimension {extent} : {stride}, "
                    f"and neither of {need} and {extent} divides the other"
                )
        parts.append(tuple(part))
    return parts


def divmod_exact(value: Scalar, by: Scalar) -> tuple[Scalar, Scalar]:
    """Quotient and remainder, where both are known as expressions; else a LayoutError."""
    if isinstance(value, int) and isinstance(by, int):
        return divmod(value, by)
    if isinstance(value, int) and value == 0:
        return 0, 0
    if not isinstance(by, int):
        raise LayoutError(f"({value}) divided by the runtime extent {by} is no expression")
    expr = Expr.of(value)
    return as_scalar(expr.floordiv(by), "a quotient"), as_scalar(expr.mod(by), "a remainder")


def index(dims: Dims, coordinate: Scalar) -> AxisTerm:
    """Displacement of one coordinate of a logical dimension."""
    if not dims:
        return ZERO
    total = ZERO
    for position in range(len(dims) - 1, 0, -1):
        extent, stride = dims[position]
        coordinate, rest = divmod_exact(coordinate, extent)
        total = total + stride * rest
    return total + dims[0][1] * coordinate


def slice_dims(dims: Dims, start: Scalar, count: int, step: Scalar) -> tuple[Dims, AxisTerm]:
    """`count` coordinates from `start`, each `step` apart: their dimensions, and the displacement of the first.

    Raises
    ------
    LayoutError
        When those coordinates don't form a product of strided dimensions.
    """
    try:
        return _slice(dims, start, count, step)
    except LayoutError as problem:
        try:
            return _slice(coalesce(dims), start, count, step)
        except LayoutError:
            raise problem from None


def _slice(dims: Dims, start: Scalar, count: int, step: Scalar) -> tuple[Dims, AxisTerm]:
    if count == 1:
        return (), index(dims, start)
    (_, stride), inner = dims[0], dims[1:]
    if not inner:
        return ((count, stride * step),), stride * start
    row = extent_of(inner)
    if not isinstance(row, int):
        raise LayoutError(f"the dimension {_text(dims)} has the runtime extent {row} inside and can't be sliced as one")
    quotient, first = divmod_exact(start, row)
    if isinstance(step, Expr):
        rows = exact_ratio(step, row)
        if rows is None:
            raise LayoutError(
                f"the dimension {_text(dims)} has rows of {row} inside, and the runtime step {step} is not known to be a multiple"
            )
        return ((count, stride * rows),), stride * quotient + index(inner, first)
    last = Expr.of(first).range()[1]
    if last is not None and last + (count - 1) * step < row:  # all inside one row
        rest, offset = _slice(inner, first, count, step)
        return rest, offset + stride * quotient
    if step % row == 0:  # one element of every (step / row)-th row
        return ((count, stride * (step // row)),), stride * quotient + index(inner, first)
    whole_rows = row % step == 0 and count * step % row == 0 and last is not None and last < step
    if not whole_rows:
        raise LayoutError(
            f"coordinates {start}, {start + step}, ... ({count} of them) of the dimension {_text(dims)} "
            f"start or end inside its rows of {row}; only whole rows or a part of one row form a layout"
        )
    rest, offset = _slice(inner, first, row // step, step)
    return ((count * step // row, stride), *rest), offset + stride * quotient


def _text(dims: Dims) -> str:
    return " : ".join(dims_text(dims))
