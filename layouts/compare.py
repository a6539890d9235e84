"""Equality, hashes and injectivity of layouts as functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.layouts.axes import ZERO, Axis, AxisTerm, m, tx
from ptxgen.layouts.dims import Dim, coalesce, index
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Monomial, Scalar, prove_nonnegative
from ptxgen.layouts.units import ELEMENT, bits_of

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout


def equal(a: Layout, b: Layout) -> bool:
    """Whether two layouts are the same function over the same shape.

    Raises
    ------
    LayoutError
        When one counts elements and the other bits.
    """
    if a is b:
        return True
    if not hasattr(b, "canonical"):
        raise LayoutError(f"a layout is compared with {b!r}", legal="a Layout")
    if a.unit != b.unit:
        raise LayoutError(f"a layout in {a.unit}s can't be compared with one in {b.unit}s; {_remedy(a, b)}")
    if a.shape != b.shape:
        return False
    first, second = a.canonical(), b.canonical()
    if first.swizzle == second.swizzle:  # a bijection of positions: the linear parts decide
        return (
            first.dims == second.dims
            and first.offset == second.offset
            and _displaced(first.replica_dims) == _displaced(second.replica_dims)
        )
    return _equal_positions(first, second)


def _remedy(a: Layout, b: Layout) -> str:
    return "bind(bits_per_element) the other one" if ELEMENT in (a.unit, b.unit) else f"count the other one so: in_units({a.unit!r})"


def _equal_positions(a: Layout, b: Layout) -> bool:
    """Compare layouts with different swizzles position by position."""
    if a.unit == ELEMENT or not a.is_static or not (a.table().separable and b.table().separable):
        return False
    if not a.replica_dims and not b.replica_dims:
        return np.array_equal(a.table().m, b.table().m) and _linear_elsewhere(a) == _linear_elsewhere(b)
    keys = [key for key in dict.fromkeys((*components(a.expand_replicas()), *components(b.expand_replicas()))) if key != (m, ())]
    return np.array_equal(_position_rows(a, keys), _position_rows(b, keys))


def _linear_elsewhere(layout: Layout) -> tuple[object, ...]:
    """Everything but the constants on `m`, canonical: symbolic terms and other axes."""

    def strip(term: AxisTerm) -> AxisTerm:
        return AxisTerm(tuple((axis, _symbolic_part(value) if axis is m else value) for axis, value in term.parts))

    dims = tuple(coalesce(tuple((e, strip(s)) for e, s in part)) for part in layout.dims)
    return dims, strip(layout.offset)


def _symbolic_part(value: Scalar) -> Scalar:
    return value - value.terms.get((), 0) if isinstance(value, Expr) else 0


def hash_of(layout: Layout) -> int:
    """A hash that agrees with `equal`: the positions at a few coordinates, after the swizzle."""
    canonical = layout.canonical()
    if canonical.replica_dims:
        return hash((layout.shape, layout.unit))
    samples = []
    for corner in (0, 1, 2):
        coordinates = [min(corner * place, e - 1) if isinstance(e, int) else 0 for place, e in enumerate(layout.shape, 1)]
        total = canonical.offset
        for dims, coordinate in zip(canonical.dims, coordinates):
            total = total + index(dims, coordinate)
        samples.append(_swizzled_term(canonical, total))
    return hash((layout.shape, layout.unit, *samples))


def _swizzled_term(layout: Layout, term: AxisTerm) -> AxisTerm:
    swizzle, position = layout.swizzle, Expr.of(term[m])
    constant = position.terms.get((), 0)
    bits = bits_of(layout.unit)
    if swizzle is None or bits is None or (position - constant).divisor() % (swizzle.period * 8 // bits):
        return term
    return term + (swizzle.apply_units(constant, bits) - constant)


def canonical(layout: Layout) -> Layout:
    """The one spelling of a function: equal layouts without replicas that have the same swizzle have it alike. See `Layout.canonical`."""
    if layout._canonical is None:
        replicas, shift = canonical_replicas(layout.replica_dims)
        dims = tuple(coalesce(part) for part in layout.dims)
        layout._canonical = layout._with(dims, layout.offset.reduced() + shift, replicas)
        layout._canonical._canonical = layout._canonical
    return layout._canonical


def canonical_replicas(replicas: tuple[Dim, ...]) -> tuple[tuple[Dim, ...], AxisTerm]:
    """Replicas sorted and merged, each stepping upwards, and the offset by which turning them around moved the rest."""
    shift = ZERO
    kept: list[Dim] = []
    for extent, stride in replicas:
        stride = stride.reduced()
        if extent == 1 or not stride.parts:
            continue
        if _points_down(stride.parts[0][1]):
            shift = shift + stride * (extent - 1)
            stride = -stride
        kept.append((extent, stride))
    # Only spelling depends on this order: equality compares the sets of displacements.
    kept.sort(key=lambda dim: [(axis.order, value if isinstance(value, int) else 0) for axis, value in dim[1].parts], reverse=True)
    return coalesce(tuple(kept)), shift


def _points_down(leading: Scalar) -> bool:
    """Which of a step and its opposite is spelled, so that the same set of homes is: the first coefficient is positive.

    The homes' least displacement, term by term, is then that of the layout itself, whatever the symbols' signs.
    """
    if isinstance(leading, int):
        return leading < 0
    first = min(leading.terms, key=lambda mono: [symbol.order for symbol in mono])
    return leading.terms[first] < 0


def _displaced(replicas: tuple[Dim, ...]) -> set[AxisTerm] | tuple[Dim, ...]:
    """The set of displacements of canonical replicas; the dimensions themselves for runtime extents."""
    found = {ZERO}
    for extent, stride in replicas:
        if not isinstance(extent, int):
            return replicas
        found = {base + stride * step for base in found for step in range(extent)}
    return found


def displacements(layout: Layout) -> set[AxisTerm]:
    """Where the homes of an element are, seen from the first: `{0}` without replicas."""
    found = _displaced(tuple((extent, stride.reduced()) for extent, stride in layout.replica_dims))
    if not isinstance(found, set):
        raise LayoutError(f"how many replicas {layout!r} has is known only at run time")
    return found


# --- injectivity ------------------------------------------------------------------------------------------------------


def is_injective(layout: Layout) -> bool:
    """Whether no two elements share a position. The swizzle and the offset, bijections both, don't matter."""
    canonical = layout.canonical()
    dims = [dim for part in canonical.dims for dim in part]
    if _separated([*dims, *canonical.replica_dims]):
        return True
    values = [value for e, s in (*dims, *canonical.replica_dims) for value in (e, *(v for _, v in s.parts))]
    if any(isinstance(value, Expr) for value in values):
        raise LayoutError(f"whether {layout!r} is injective depends on run-time values; give its symbols ranges that settle it")
    keys = _all_keys(canonical)
    return _distinct(keys) == keys.size


def count_positions(layout: Layout) -> int:
    """How many positions elements and their replicas have together."""
    canonical = layout.canonical()
    dims = [dim for part in (*canonical.dims, canonical.replica_dims) for dim in part if dim[0] != 1 and dim[1].parts]
    if _separated(dims) and all(isinstance(extent, int) for extent, _ in dims):
        return math.prod(extent for extent, _ in dims)  # type: ignore[misc]
    if any(isinstance(value, Expr) for extent, stride in dims for value in (extent, *(v for _, v in stride.parts))):
        raise LayoutError(f"how many positions {layout!r} has depends on run-time values; give its symbols ranges that settle it")
    return _distinct(_all_keys(canonical))


def _all_keys(canonical: Layout) -> np.ndarray:
    """One number for each home of each element."""
    keys = _position_keys(canonical)
    apart = np.array([_key_of(canonical, term) for term in _displaced(canonical.replica_dims)])  # type: ignore[arg-type]
    return (keys[:, None] + apart).ravel()


def _separated(dims: list[Dim]) -> bool:
    """A sufficient test: on each axis every stride exceeds the reach of all smaller ones together."""
    by_axis: dict[Axis, list[tuple[Scalar, Scalar]]] = {}
    for extent, stride in dims:
        if len(stride.parts) != 1:
            return False
        axis, value = stride.parts[0]
        by_axis.setdefault(axis, []).append((extent, value))
    return all(_exceed_in_turn(_sorted_steps(steps), Expr()) for steps in by_axis.values())


_Steps = list[tuple[Scalar, Expr]]


def _sorted_steps(steps: list[tuple[Scalar, Scalar]]) -> tuple[_Steps, _Steps]:
    """(extent, size of the step): constant ones by size, and symbolic ones."""
    constant = sorted((step for step in steps if isinstance(step[1], int)), key=lambda step: abs(step[1]))  # type: ignore[arg-type]
    sized = [(extent, _magnitude(value)) for extent, value in steps if isinstance(value, Expr)]
    unknown = [(extent, Expr.of(-1)) for extent, size in sized if size is None]  # exceeds nothing
    known = [(extent, size) for extent, size in sized if size is not None]
    return [(extent, Expr.of(abs(value))) for extent, value in constant], known + unknown  # type: ignore[arg-type]


def _exceed_in_turn(steps: tuple[_Steps, _Steps], reach: Expr) -> bool:
    constant, symbolic = steps
    if not constant and not symbolic:
        return True
    options: list[tuple[Scalar, Expr, tuple[_Steps, _Steps]]] = []
    if constant:
        options.append((*constant[0], (constant[1:], symbolic)))
    options += [(*step, (constant, symbolic[:i] + symbolic[i + 1 :])) for i, step in enumerate(symbolic)]
    return any(
        prove_nonnegative(size - reach - 1) and _exceed_in_turn(rest, reach + size * (Expr.of(extent) - 1))
        for extent, size, rest in options
    )


def _magnitude(value: Scalar) -> Expr | None:
    expr = Expr.of(value)
    return expr if prove_nonnegative(expr) else -expr if prove_nonnegative(-expr) else None


def _distinct(keys: np.ndarray) -> int:
    low, high = int(keys.min()), int(keys.max())
    if high - low < 16 * keys.size + 1024:
        seen = np.zeros(high - low + 1, np.bool_)
        seen[keys - low] = True
        return int(np.count_nonzero(seen))
    return int(np.unique(keys).size)


def _weights(layout: Layout) -> dict[Axis, int]:
    """Weights that pack the components of a position, replicas included, into one number."""
    reach: dict[Axis, Scalar] = {}
    for extent, stride in (dim for part in (*layout.dims, layout.replica_dims) for dim in part):
        for axis, value in stride.parts:
            reach[axis] = reach.get(axis, 0) + abs(value) * (extent - 1)  # type: ignore[arg-type]
    weights, weight = {}, 1
    for axis, width in reach.items():
        weights[axis] = weight
        weight *= 2 * int(width) + 1  # type: ignore[arg-type]
    if weight >= 1 << 62:
        raise LayoutError(f"the positions of {layout!r} span too much to compare them one by one")
    return weights


def _key_of(layout: Layout, term: AxisTerm) -> int:
    weights = _weights(layout)
    return sum(int(value) * weights[axis] for axis, value in term.parts)  # type: ignore[arg-type,misc]


def _position_keys(layout: Layout) -> np.ndarray:
    """One number for each element's linear position."""
    table = layout.table()
    keys = np.zeros(layout.shape, np.int64)
    for axis, weight in _weights(layout).items():
        component = table.component(axis).get(())
        if component is not None:
            keys = keys + component * weight
    return keys.ravel()


def components(layout: Layout) -> list[tuple[Axis, Monomial]]:
    """The axes (threads under `tx`) and monomials of which positions are sums, without replicas."""
    axes = dict.fromkeys((m, *(tx if axis.is_thread else axis for axis in layout.axes)))
    return [(axis, mono) for axis in axes for mono in layout.table().component(axis)]


def _position_rows(layout: Layout, keys: list[tuple[Axis, Monomial]]) -> np.ndarray:
    """Rows (element, constant position on m, the components of the keys) of all elements and replicas, sorted and without repeats."""
    full = layout.expand_replicas()
    table = full.table()
    elements = np.arange(layout.size).reshape(layout.shape)
    columns = [elements, table.m] + [table.component(axis).get(mono, np.int64(0)) for axis, mono in keys]
    return np.unique(np.stack([np.broadcast_to(column, full.shape).ravel() for column in columns], -1), axis=0)
