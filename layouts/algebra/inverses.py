"""Inverses: from positions on named axes back to elements."""

from __future__ import annotations

from typing import NamedTuple

from ptxgen.layouts.algebra import bitwise
from ptxgen.layouts.algebra.arguments import on_layout
from ptxgen.layouts.algebra.digits import Axes, Digit, axes_wanted, digits_of, lying_at_zero
from ptxgen.layouts.axes import Axis, AxisTerm, m, tx
from ptxgen.layouts.compare import displacements, is_injective
from ptxgen.layouts.dims import Dim, Dims, Unsplittable, coalesce, split
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.units import ELEMENT, bits_of


class _Chain(NamedTuple):
    """Positions 0 .. reached - 1 of an axis as (extent, weight in the element's number), innermost first."""

    parts: list[tuple[int, int]]
    reached: int


@on_layout
def right_inverse(layout: Layout, axes: Axes = None) -> Layout:
    """The layout from positions to the numbers of elements that are there.

    Property: for every coordinate p of the result, one of the homes of `layout`'s element number `right_inverse(layout)(*p)[m]`
    (row-major) is p, its other axes 0. Without replicas: `compose(layout, right_inverse(layout))` is the identity on the named axes.
    The domain is a box from 0, on each axis up to the first position that no product of the layout's dimensions reaches.

    Parameters
    ----------
    layout
        Its positions start at 0. A swizzled layout counts units of its element's size: `bind(16).in_units(16)`.
    axes
        The dimensions of the result, such as `(laneid, m)` for "lane 5, register 3". By default all that the layout uses, threads
        as `tx`, `m` last.

    Returns
    -------
    Layout
        On `m` alone; in elements, or, where it is swizzled, in the layout's unit (an XOR swizzle is its own inverse, seen from the
        other side).

    Raises
    ------
    LayoutError
        When no element is at 0; when the axes don't fit the layout, or its swizzle doesn't stay one.
    """
    wanted = axes_wanted(layout, axes)
    digits = digits_of(layout)
    lying_at_zero(layout, digits, "a right inverse")
    chains = {axis: _prefix(_own(wanted, axis, digits.by_axis.get(axis, []))) for axis in _reduced(wanted)}
    _refuse_coarse(layout, digits.by_axis.get(m, []), chains.get(m))
    return _inverse_of(layout, wanted, chains, digits.first)


@on_layout
def left_inverse(layout: Layout, axes: Axes = None) -> Layout:
    """The layout from positions back to the number of the element that a layout put there.

    Property: `left_inverse(layout)(*p)[m]` is the row-major number of c for every home p of every coordinate c. Positions of the domain
    where no element is have numbers of no meaning; they are at least `layout.size` where the gaps divide.

    Parameters
    ----------
    layout
        Injective, its positions from 0.
    axes
        As for `right_inverse`; they must name every axis on which the layout moves.

    Raises
    ------
    LayoutError
        When two elements share a position; when strides don't nest, with the stride and what is legal.
    """
    wanted = axes_wanted(layout, axes)
    digits = digits_of(layout)
    lying_at_zero(layout, digits, "a left inverse")
    _refuse_left_out(layout, digits.left_out, wanted, digits.by_axis)
    if not is_injective(layout):
        raise LayoutError(f"{layout!r} has no left inverse: two elements share a position", legal="an injective layout")
    chains: dict[Axis, _Chain] = {}
    fresh = layout.size
    for axis in _reduced(wanted):
        own = _own(wanted, axis, digits.by_axis.get(axis, []))
        if len(own) != len(digits.by_axis.get(axis, [])):
            raise _leaving_out(layout, wanted)
        chains[axis], fresh = _nested(layout, axis, own, fresh)
    counted = [axis for axis in wanted if axis.is_thread]
    top = max(counted, key=lambda axis: axis.scale, default=m)
    if top.limit is not None and chains[tx].reached * min(axis.scale for axis in counted) > top.limit * top.scale:
        raise _leaving_out(layout, wanted)
    return _inverse_of(layout, wanted, chains, digits.first)


@on_layout
def inverse(layout: Layout, axes: Axes = None) -> Layout:
    """The layout that is both inverses: from each position of a box to the number of its element.

    Property: `inverse(layout)(*p)[m]` is the row-major number of c exactly when p is the home of c, and every position of the box
    is a home: the layout is a bijection onto it.

    Raises
    ------
    LayoutError
        As `left_inverse`, and when positions inside the box hold no element, with the first of them.
    """
    wanted = axes_wanted(layout, axes)
    found = left_inverse(layout, wanted)
    if found.size == layout.size * len(displacements(layout)):
        return found
    for axis, digits in digits_of(layout).by_axis.items():
        reached = _prefix(digits).reached
        if reached <= _end(digits):
            raise LayoutError(
                f"{layout!r} has no two-sided inverse: position {reached} on {axis} holds no element",
                legal="left_inverse(layout), whose numbers mean nothing there, or right_inverse(layout), which ends before it",
            )
    raise LayoutError(
        f"{layout!r} has no two-sided inverse on {_names(wanted)}: its swizzle leads out of the {layout.size} positions",
        legal="left_inverse(layout)",
    )


def _end(digits: list[Digit]) -> int:
    """The greatest position."""
    return sum(digit.stride * (digit.extent - 1) for digit in digits)


def _reduced(axes: list[Axis]) -> list[Axis]:
    return list(dict.fromkeys(tx if axis.is_thread else axis for axis in axes))


def _own(wanted: list[Axis], axis: Axis, digits: list[Digit]) -> list[Digit]:
    """The digits on an axis; of threads those that whole steps of the axes make, counted in these steps."""
    if axis is not tx:
        return digits
    step = min(axis.scale for axis in wanted if axis.is_thread)
    return [Digit(digit.stride // step, digit.extent, digit.weight) for digit in digits if not digit.stride % step]


def _leaving_out(layout: Layout, wanted: list[Axis]) -> LayoutError:
    return LayoutError(f"the axes {_names(wanted)} leave out some threads of {layout!r}", legal="tx, or warpid and laneid")


def _prefix(digits: list[Digit]) -> _Chain:
    """As many consecutive positions as the digits make, each whole or from the factor on that is new."""
    parts: list[tuple[int, int]] = []
    reached = 1
    for stride, extent, weight in digits:
        if stride > reached:
            break
        skip = reached // stride  # positions below `reached` are made already
        count = -(-extent // skip)
        if reached % stride or count == 1:
            continue
        parts.append((count, weight * skip))
        reached *= count
    return _Chain(parts, reached)


def _refuse_coarse(layout: Layout, digits: list[Digit], chain: _Chain | None) -> None:
    """Positions in bits of elements that are wider than a bit: the domain would be one position, and nobody means that."""
    if chain is None or not digits or chain.reached > 1 or layout.unit == ELEMENT or digits[0].stride == 1:
        return
    bits = digits[0].stride * (bits_of(layout.unit) or 1)
    raise LayoutError(
        f"no element of {layout!r} is at position 1 on m, which counts {layout.unit}s: the nearest is at {digits[0].stride}",
        legal=f"in_units({bits}), if that is an element; a left inverse has gaps",
    )


def _refuse_left_out(layout: Layout, left_out: list, wanted: list[Axis], by_axis: dict[Axis, list[Digit]]) -> None:
    if left_out:
        extent, stride = left_out[0]
        raise LayoutError(
            f"the dimension {extent} : {stride} of {layout!r} moves on several axes or is known only at run time: no strides lead back",
            legal="element_table(layout, axes), which lists the elements by position",
        )
    missing = next((axis for axis in by_axis if axis not in _reduced(wanted)), None)
    if missing is not None:
        raise LayoutError(f"{layout!r} moves on {missing}, which the axes {_names(wanted)} leave out", legal=f"axes with {missing}")


def _names(axes: list[Axis]) -> str:
    return f"({', '.join(map(str, axes))})"


def _nested(layout: Layout, axis: Axis, digits: list[Digit], fresh: int) -> tuple[_Chain, int]:
    """All digits of an injective layout on one axis, with gaps between them; gaps count elements that there are not."""
    parts: list[tuple[int, int]] = []
    reached = 1
    for stride, extent, weight in digits:
        if stride < reached:
            raise LayoutError(
                f"{layout!r} has no left inverse with strides: its stride {stride} on {axis} lies between the {reached} positions that "
                "its smaller strides make",
                legal=f"a stride of at least {reached}, or element_table(layout, axes)",
            )
        reached = _widen(layout, axis, parts, reached, stride)
        if stride > reached:
            parts.append((stride // reached, fresh))
            fresh *= stride // reached
        parts.append((extent, weight))
        reached = stride * extent
    return _Chain(parts, reached), fresh


def _widen(layout: Layout, axis: Axis, parts: list[tuple[int, int]], reached: int, stride: int) -> int:
    """Where a stride is no multiple of what lies below it, as in rows of 32 that are 33 apart, the last digit counts on into the gap."""
    if not stride % reached or not parts:
        return reached
    extent, weight = parts[-1]
    step = reached // extent
    if stride % step:
        raise LayoutError(
            f"{layout!r} has no left inverse with strides: its stride {stride} on {axis} is no multiple of {step}, the stride below it",
            legal=f"a multiple of {step}, or element_table(layout, axes)",
        )
    parts[-1] = (stride // step, weight)
    return stride


def _inverse_of(layout: Layout, wanted: list[Axis], chains: dict[Axis, _Chain], first: int) -> Layout:
    dims: dict[Axis, Dims] = {}
    for axis, chain in chains.items():
        dims[axis] = coalesce(tuple((extent, AxisTerm.of(weight)) for extent, weight in reversed(chain.parts)))
    threads = [axis for axis in wanted if axis.is_thread]
    if threads:
        dims.update(_split_threads(layout, threads, dims.get(tx, ()), chains[tx].reached))
    swizzle, unit = None, ELEMENT
    if layout.swizzle is not None:
        rest: list[Dim] = [dim for axis in wanted if axis is not m for dim in dims[axis]]
        moved = bitwise.pushed(layout.swizzle, layout.unit, dims.get(m, ()), rest, AxisTerm.of(first), layout.unit)
        swizzle = bitwise.swizzle_of(moved, f"the inverse of {layout!r}")
        unit = ELEMENT if swizzle is None else layout.unit
    return Layout._of(tuple(dims[axis] for axis in wanted), (), AxisTerm.of(first), swizzle, unit)


def _split_threads(layout: Layout, threads: list[Axis], dims: Dims, count: int) -> dict[Axis, Dims]:
    """The dimension of thread indices as those of the axes that were asked for; what they leave out is 0."""
    if threads == [tx]:
        return {tx: dims}
    ordered = sorted(threads, key=lambda axis: axis.scale)
    sizes: list[int] = []
    left = count
    for axis in ordered:
        size = left if axis.limit is None or left < axis.limit else axis.limit
        if left % size:
            raise LayoutError(f"{layout!r} reaches {count} threads, which the {size} of {axis} don't divide", legal="tx")
        sizes.append(size)
        left //= size
    try:
        parts = split(dims, (left, *reversed(sizes)))[1:]
    except Unsplittable as problem:
        raise LayoutError(f"the {count} threads of {layout!r} don't split into {_names(threads)}: {problem}", legal="tx") from None
    return dict(zip(reversed(ordered), parts))
