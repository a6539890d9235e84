"""Broadcasts, and elements packed into containers."""

from __future__ import annotations

from collections.abc import Callable

from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.axes import ZERO, AxisTerm, m
from ptxgen.layouts.dims import Dims, coalesce, shape_text
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar, exact_int
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import as_extent
from ptxgen.layouts.units import ELEMENT


@on_layout
def broadcast(layout: Layout, *shape: int) -> Layout:
    """A larger shape in which dimensions of extent 1, and new leading ones, repeat the same elements.

    Property: the positions are `np.broadcast_to(positions, shape)`.

    Raises
    ------
    LayoutError
        For an extent other than 1 that differs, with its dimension.
    """
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    extents = tuple(as_extent(extent) for extent in given)
    new = len(extents) - layout.ndim
    if new < 0:
        raise LayoutError(f"can't broadcast {shape_text(layout.shape)} to {shape_text(extents)}: it has more dimensions")
    dims: list[Dims] = [((extent, ZERO),) for extent in extents[:new]]
    for place, (extent, own, part) in enumerate(zip(extents[new:], layout.shape, layout.dims)):
        if own not in (1, extent):
            raise LayoutError(
                f"can't broadcast {shape_text(layout.shape)} to {shape_text(extents)}: its dimension {place} has extent {own}, "
                f"and {extent} is asked for",
                legal=f"{own}; only extent 1 is repeated",
            )
        dims.append(part if own == extent else ((extent, ZERO),))
    return layout._with(tuple(dims))


@on_layout
def pack(layout: Layout, count: int) -> Layout:
    """`count` neighbours in one container: the layout of the containers, whose positions on `m` count containers.

    Property: element j of container (.., k) is element `(.., k * count + j)`, on the same thread and axes, and
    `layout(.., k * count + j)[m] == pack(layout, count)(.., k)[m] * count + j`. `unpack` undoes it.

    Parameters
    ----------
    layout
        In elements; one in bits is seen in wider elements by `retype`.

    Raises
    ------
    LayoutError
        When neighbours don't lie side by side, or a container would not be aligned, with the extent or stride at fault.
    """
    number = _count(layout, count, "pack")
    if number == 1:
        return layout
    outer, inner = layout.dims[:-1], coalesce(layout.dims[-1])
    extent, stride = inner[-1] if inner else (1, ZERO)
    if not isinstance(extent, int) or extent % number or stride != AxisTerm.of(1):
        raise LayoutError(
            f"can't pack {number} elements of {layout!r}: neighbours in the last dimension are {extent} at a step of {stride}",
            legal=f"a multiple of {number} neighbours at a step of 1",
        )
    for what, term in [("the offset", layout.offset)] + [
        ("the stride", stride) for part in (*outer, inner[:-1], layout.replica_dims) for extent, stride in part if extent != 1
    ]:
        if Expr.of(term[m]).divisor() % number:
            raise LayoutError(
                f"can't pack {number} elements of {layout!r}: {what} {term[m]} would put a container at a part of one",
                legal=f"a multiple of {number}",
            )
    shrunk = (*inner[:-1], (extent // number, AxisTerm.of(number)))
    return _rescaled(layout, (*outer, shrunk), lambda value: _divided(value, number))


@on_layout
def unpack(layout: Layout, count: int) -> Layout:
    """Each element as `count` parts: the last dimension grows, and positions on `m` count parts.

    Property: `unpack(layout, n)(.., k * n + j)[m] == layout(.., k)[m] * n + j` for j < n, the other axes as they are.
    `pack(unpack(layout, n), n) == layout`.

    Raises
    ------
    LayoutError
        For a layout in bits, and one of shape ().
    """
    number = _count(layout, count, "unpack")
    grown = _rescaled(layout, layout.dims, lambda value: value * number)
    return grown._with((*grown.dims[:-1], (*grown.dims[-1], (number, AxisTerm.of(1)))))


def _count(layout: Layout, count: int, what: str) -> int:
    number = exact_int(count, f"the elements to {what}")
    if number < 1:
        raise LayoutError(f"can't {what} {number} elements of one", legal="1 or more")
    if layout.unit != ELEMENT:
        raise LayoutError(
            f"{what} counts elements, and {layout!r} counts {layout.unit}s",
            legal=f"{what} before bind(), or retype(old_bits, new_bits) after it",
        )
    if not layout.dims:
        raise LayoutError(f"can't {what} a layout of shape (): it has no last dimension")
    return number


def _divided(value: Scalar, by: int) -> Scalar:
    return value // by if isinstance(value, int) else as_scalar(value.floordiv(by), "a stride")


def _rescaled(layout: Layout, dims: tuple[Dims, ...], change: Callable[[Scalar], Scalar]) -> Layout:
    def scaled(term: AxisTerm) -> AxisTerm:
        return AxisTerm(tuple((axis, change(value) if axis is m else value) for axis, value in term.parts))

    return layout._with(
        tuple(tuple((extent, scaled(stride)) for extent, stride in part) for part in dims),
        scaled(layout.offset),
        tuple((extent, scaled(stride)) for extent, stride in layout.replica_dims),
    )
