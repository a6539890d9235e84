"""Composition: one layout behind another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from ptxgen.layouts.algebra import bitwise
from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.algebra.fit import Misfit, fit
from ptxgen.layouts.axes import ZERO, Axis, AxisTerm, m
from ptxgen.layouts.dims import Dim, Dims, coalesce, extent_of, shape_text
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar, exact_int, product, prove_nonnegative
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard, as_extent
from ptxgen.layouts.table import Table
from ptxgen.layouts.units import ELEMENT

Inner = Union[Layout, Shard, int, None]

_FITTED = 1 << 16  # elements up to which an awkward composition is tabulated and read back


@on_layout
def compose(outer: Layout, inner: Inner | Sequence[Inner]) -> Layout:
    """`outer` behind `inner`, whose positions are the numbers of outer's elements in row-major order.

    Property: `compose(outer, inner)(c) == outer(e)` for every coordinate c, where e is the coordinate of outer's element number
    `inner(c)[m]`. With a sequence, one inner layout for each dimension of outer: `compose(outer, (f, g))(*a, *b) == outer(f(*a), g(*b))`;
    None keeps a dimension, and n stands for its first n coordinates. Replicas: the homes of an element are those that outer gives to all
    homes of inner. Outer's swizzle stays; one of inner moves behind outer where address bits stay bits.

    Parameters
    ----------
    outer
        A layout in any unit.
    inner
        On `m` alone, in elements; or, where it is swizzled, in the unit of outer, so that its numbers count elements of that size.

    Raises
    ------
    LayoutError
        When a number is no element of outer, with the coordinate; when extents don't divide (the result is no layout), with the extent
        and the first coordinate that no strides reach; for units that differ.
    """
    if isinstance(inner, (list, tuple)):
        return _by_dimension(outer, inner)
    found = as_inner(inner, outer, "the inner layout")
    dims, replicas, offset = _composed(tuple(dim for part in outer.dims for dim in part), found, outer.shape)
    return _assembled(outer, (found,), dims, replicas, offset)


def _by_dimension(outer: Layout, parts: Sequence[Inner]) -> Layout:
    if len(parts) != outer.ndim:
        raise LayoutError(
            f"{len(parts)} inner layouts for the {outer.ndim} dimensions of shape {shape_text(outer.shape)}",
            legal="one for each dimension, None for those that stay",
        )
    dims: tuple[Dims, ...] = ()
    replicas: tuple[Dim, ...] = ()
    offset = ZERO
    inners: list[Layout] = []
    for place, part in enumerate(parts):
        if part is None:
            dims = (*dims, outer.dims[place])
            continue
        inner = as_inner(part, outer, f"the inner layout of dimension {place}")
        if inner.swizzle is not None:
            raise LayoutError(f"{inner.swizzle} permutes bytes; it can't act on the coordinates of dimension {place} alone")
        found = _composed(outer.dims[place], inner, (outer.shape[place],))
        dims, replicas, offset = (*dims, *found[0]), (*replicas, *found[1]), offset + found[2]
        inners.append(inner)
    return _assembled(outer, (), dims, replicas, offset)


def as_inner(inner: object, outer: Layout, what: str) -> Layout:
    """The value as a layout whose positions number outer's elements; n stands for the first n."""
    if isinstance(inner, Layout):
        found = inner
    elif isinstance(inner, Shard):
        found = Layout(inner)
    else:
        found = Layout(Shard((((as_extent(exact_int(inner, what)), AxisTerm.of(1)),),)))
    strange = next((axis for axis in found.axes if axis is not m), None)
    if strange is not None:
        raise LayoutError(
            f"{what} is {found!r}: positions on {strange} are no numbers of elements",
            legal="an inner layout on m alone, which counts outer's elements row-major",
        )
    if found.unit not in (ELEMENT, outer.unit):
        raise LayoutError(
            f"{what} counts {found.unit}s, and outer {outer.unit}s; numbers of elements are neither bits nor bytes",
            legal="an inner layout in elements"
            + (f", or in_units({outer.unit!r}) where an element of outer is one {outer.unit}" if outer.unit != ELEMENT else ""),
        )
    if found.swizzle is not None and found.unit == ELEMENT:
        raise LayoutError(
            f"{found.swizzle} permutes bytes, and {what} numbers elements of unknown size",
            legal="both in units of the element's size: bind(bits).in_units(bits)",
        )
    return found


def _assembled(
    outer: Layout, swizzled: tuple[Layout, ...], dims: tuple[Dims, ...], replicas: tuple[Dim, ...], offset: AxisTerm
) -> Layout:
    swizzle = outer.swizzle
    for inner in swizzled:
        if inner.swizzle is not None:
            flat = coalesce(tuple(dim for part in outer.dims for dim in part))
            moved = bitwise.pushed(inner.swizzle, inner.unit, flat, outer.replica_dims, outer.offset, outer.unit)
            both = bitwise.after(bitwise.pairs_of(outer.swizzle), moved)
            swizzle = bitwise.swizzle_of(both, f"{inner.swizzle} of the inner layout behind {outer!r}")
    return Layout._of(dims, (*outer.replica_dims, *replicas), outer.offset + offset, swizzle, outer.unit)


Composed = tuple[tuple[Dims, ...], tuple[Dim, ...], AxisTerm]


def _composed(outer: Dims, inner: Layout, shape: tuple[Scalar, ...]) -> Composed:
    """Dimensions, replicas and offset of the linear parts' composition."""
    flat = coalesce(outer)
    _check_bounds(extent_of(outer), inner, shape)
    if len(flat) <= 1:
        step = flat[0][1] if flat else ZERO
        return (
            tuple(tuple((extent, step * stride[m]) for extent, stride in part) for part in inner.dims),
            tuple((extent, step * stride[m]) for extent, stride in inner.replica_dims),
            step * inner.offset[m],
        )
    try:
        return _by_digits(flat, inner)
    except _Carries as problem:
        found = _by_fit(flat, inner)
        if found is None:
            raise problem.error(flat, inner) from None
        return found


def _check_bounds(size: Scalar, inner: Layout, shape: tuple[Scalar, ...]) -> None:
    low = high = Expr.of(inner.offset[m])
    for extent, stride in (dim for part in (*inner.dims, inner.replica_dims) for dim in part):
        reach = Expr.of(stride[m]) * (Expr.of(extent) - 1)
        if prove_nonnegative(reach):
            high = high + reach
        elif prove_nonnegative(-reach):
            low = low + reach
        else:
            raise LayoutError(f"the stride {stride} of the inner layout may have either sign; give its symbols a range")
    text = shape_text(shape)
    if not prove_nonnegative(low):
        raise LayoutError(f"the inner layout reaches the number {low} at {_corner(inner, -1)}; elements of shape {text} start at 0")
    if not prove_nonnegative(Expr.of(size) - 1 - high):
        raise LayoutError(
            f"the inner layout reaches the number {high} at {_corner(inner, 1)}; the elements of shape {text} end at {Expr.of(size) - 1}"
        )


def _corner(inner: Layout, sign: int) -> str:
    coordinates = []
    for part in inner.dims:
        coordinate: Scalar = 0
        for extent, stride in part:
            at = Expr.of(extent) - 1 if prove_nonnegative(Expr.of(stride[m]) * sign) else 0
            coordinate = coordinate * extent + at
        coordinates.append(as_scalar(coordinate, "a coordinate"))
    return f"coordinate {shape_text(coordinates)}"


# --- digit by digit ---------------------------------------------------------------------------------------------------


class _Carries(Exception):
    """Why a composition has no strides: `what` carries, where."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def error(self, flat: Dims, inner: Layout) -> LayoutError:
        place = _first_misfit(flat, inner)
        where = f"; the first coordinate that no strides reach is {shape_text(place)}" if place is not None else ""
        return LayoutError(
            f"the composition is no layout: {self.what}{where}",
            legal="extents of which one divides the other where they meet",
        )


class _Radix:
    """The outer dimensions as a number system: extents innermost first, each with its stride."""

    def __init__(self, flat: Dims) -> None:
        self.extents: list[int] = []
        for extent, _ in reversed(flat[1:]):
            if not isinstance(extent, int):
                raise LayoutError(
                    f"the outer layout has the run-time extent {extent} inside", legal="a run-time extent outermost only"
                )
            self.extents.append(extent)
        self.strides = [stride for _, stride in reversed(flat)]

    def digits(self, number: Scalar) -> list[Scalar]:
        """The digits of a number, innermost first; the last one is unbounded."""
        found: list[Scalar] = []
        for extent in self.extents:
            if isinstance(number, int):
                number, digit = divmod(number, extent)
                found.append(digit)
            else:
                rest = number.remainder(extent)
                quotient = None if rest is None else (number - rest).quotient(extent)
                if rest is None or quotient is None:
                    raise _Carries(f"the digits of the offset ({number}) in {extent} are not known")
                found.append(as_scalar(rest, "a digit"))
                number = as_scalar(quotient, "a number")
        return [*found, number]

    def position(self, digits: Sequence[Scalar]) -> AxisTerm:
        total = ZERO
        for digit, stride in zip(digits, self.strides):
            total = total + stride * digit
        return total


def _by_digits(flat: Dims, inner: Layout) -> Composed:
    """Each inner dimension split where it carries, as long as no digit carries when all are added."""
    radix = _Radix(flat)
    start: Scalar = inner.offset[m]
    for extent, stride in (dim for part in (*inner.dims, inner.replica_dims) for dim in part):
        if not isinstance(extent, int) or not isinstance(stride[m], int):
            raise LayoutError(
                f"the inner dimension {extent} : {stride} is known only at run time", legal="static extents and strides"
            )
        if stride[m] < 0:  # type: ignore[operator]  # count it backwards from where it ends
            start = as_scalar(Expr.of(stride[m]) * (extent - 1) + start, "an offset")
    first = radix.digits(start)
    reach = [_greatest(digit) for digit in first]
    moved = radix.position(first)
    parts: list[Dims] = []
    for part in (*inner.dims, inner.replica_dims):
        found: list[Dim] = []
        for extent, stride in part:
            step = int(stride[m])  # type: ignore[arg-type]
            for count, digits in _split(radix, int(extent), abs(step)):  # type: ignore[arg-type]
                reach = [have + (count - 1) * digit for have, digit in zip(reach, digits)]
                term = radix.position(digits)
                moved = moved + term * (count - 1) if step < 0 else moved
                found.append((count, -term if step < 0 else term))
        parts.append(tuple(found))
    for extent, most in zip(radix.extents, reach):
        if most >= extent:
            raise _Carries(f"the numbers {inner!r} carry out of outer's extent {extent}: its digit would reach {most}")
    return tuple(coalesce(part) for part in parts[:-1]), parts[-1], moved


def _greatest(digit: Scalar) -> int:
    if isinstance(digit, int):
        return digit
    high = digit.range()[1]
    return 0 if high is None else high  # the outermost digit alone has no bound, and that is checked with the size


def _split(radix: _Radix, count: int, step: int) -> list[tuple[int, list[int]]]:
    """(count, digits of the step) outermost first: as many as don't carry, then the next of those."""
    parts: list[tuple[int, list[int]]] = []
    while count > 1:
        digits: list[int] = radix.digits(step)  # type: ignore[assignment]
        fitting = min((-(-extent // digit) for extent, digit in zip(radix.extents, digits) if digit), default=count)
        fitting = min(fitting, count)
        if count % fitting:
            extent = next(e for e, d in zip(radix.extents, digits) if d and -(-e // d) == fitting)
            raise _Carries(
                f"the inner dimension {count} : {step} crosses outer's extent {extent} after {fitting}, which does not divide {count}"
            )
        parts.append((fitting, digits))
        count, step = count // fitting, step * fitting
    return parts[::-1]


# --- by table ---------------------------------------------------------------------------------------------------------


def _tabulated(flat: Dims, inner: Layout) -> dict[Axis, object] | None:
    """The positions of all coordinates and replicas of inner, where they can be listed."""
    full = inner.expand_replicas()
    extents = [extent for extent, _ in flat]
    constant = all(isinstance(value, int) for _, stride in flat for _, value in stride.parts) and not inner.symbols
    if not constant or not full.is_static or not all(isinstance(e, int) for e in extents) or full.size > _FITTED:
        return None
    numbers = full.table().linear
    found: dict[Axis, object] = {}
    source = Table((flat,), (product(extents),), ZERO, None, ELEMENT)  # type: ignore[arg-type]
    for axis in {axis for _, stride in flat for axis, _ in stride.reduced().parts} | {m}:
        own = source.component(axis).get(())
        if own is not None:
            found[axis] = own[numbers]
    return found


def _by_fit(flat: Dims, inner: Layout) -> Composed | None:
    positions = _tabulated(flat, inner)
    if positions is None:
        return None
    try:
        dims, offset = fit(positions, inner.expand_replicas().shape)  # type: ignore[arg-type]
    except Misfit:
        return None
    leading = len(inner.replica_dims)
    return dims[leading:], tuple(dim for part in dims[:leading] for dim in part), offset


def _first_misfit(flat: Dims, inner: Layout) -> tuple[int, ...] | None:
    positions = _tabulated(flat, inner)
    if positions is None:
        return None
    try:
        fit(positions, inner.expand_replicas().shape)  # type: ignore[arg-type]
    except Misfit as problem:
        return problem.coordinate[len(inner.replica_dims) :]
    return None
