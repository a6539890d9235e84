"""Positions of all coordinates of a layout at once, as broadcast sums of aranges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from ptxgen.layouts.axes import Axis, AxisTerm, m, tx
from ptxgen.layouts.dims import Dims, coalesce
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Monomial, Scalar
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.units import bits_of

_Key = tuple[Axis, Monomial]
_CONSTANT: Monomial = ()


class Table:
    """Where every element of a layout lives, without replicas. Arrays are int64, read-only and of the layout's shape.

    Attributes
    ----------
    shape
        The layout's shape.
    unit
        What `m`, `linear` and `symbols` count; see `Layout.unit`.
    """

    __slots__ = ("_m", "_parts", "_swizzle", "shape", "unit")

    def __init__(self, dims: tuple[Dims, ...], shape: tuple[int, ...], offset: AxisTerm, swizzle: Swizzle | None, unit: str) -> None:
        self.shape = shape
        self.unit = unit
        self._swizzle = swizzle
        self._parts = _sums(dims, shape, offset)
        self._m: np.ndarray | None = None

    def component(self, axis: Axis) -> dict[Monomial, np.ndarray]:
        """Coefficients of an axis (thread axes under `tx`) by monomial, `()` for the constant; before the swizzle."""
        return {mono: array for (own, mono), array in self._parts.items() if own is axis}

    @property
    def linear(self) -> np.ndarray:
        """The constant part of the positions on `m`, before the swizzle."""
        return self._constant(m)

    @property
    def m(self) -> np.ndarray:
        """The constant part of the positions on `m`, swizzled.

        The position is `m` plus the terms of `symbols` where `separable`; with a swizzle and a symbolic term that is
        no multiple of its period, only `swizzle(linear + terms)` is right.
        """
        if self._swizzle is None:
            return self.linear
        if self._m is None:
            bits = bits_of(self.unit)
            if bits is None:
                raise LayoutError(unbound_swizzle(self._swizzle))
            self._m = np.asarray(self._swizzle.apply_units(self.linear, bits))
            self._m.flags.writeable = False
        return self._m

    @property
    def symbols(self) -> dict[Monomial, np.ndarray]:
        """Coefficients of the symbolic terms of the positions on `m`."""
        return self._symbolic(m)

    @property
    def thread(self) -> np.ndarray | None:
        """The constant part of the thread's index in the CTA, or None for a layout without thread axes."""
        return self._constant(tx) if any(axis is tx for axis, _ in self._parts) else None

    @property
    def thread_symbols(self) -> dict[Monomial, np.ndarray]:
        """Coefficients of the symbolic terms of the thread's index."""
        return self._symbolic(tx)

    @property
    def axes(self) -> dict[Axis, np.ndarray]:
        """The constant parts on the other axes (cluster, grid and tensor-memory axes) that the layout uses."""
        others = dict.fromkeys(axis for axis, _ in self._parts if axis is not m and axis is not tx)
        return {axis: self._constant(axis) for axis in others}

    @property
    def separable(self) -> bool:
        """Whether the position on `m` is `m` plus the symbolic terms."""
        if self._swizzle is None:
            return True
        bits = bits_of(self.unit)
        if bits is None:
            return False
        period = self._swizzle.period * 8 // bits
        values = ((Expr({mono: 1}).divisor(), array) for mono, array in self.symbols.items())
        return all(not (array * factor % period).any() for factor, array in values)

    def _constant(self, axis: Axis) -> np.ndarray:
        found = self._parts.get((axis, _CONSTANT))
        return _spread(np.zeros((), np.int64), self.shape) if found is None else found

    def _symbolic(self, axis: Axis) -> dict[Monomial, np.ndarray]:
        return {mono: array for mono, array in self.component(axis).items() if mono}


def unbound_swizzle(swizzle: Swizzle) -> str:
    """Why a swizzled layout has no positions before `bind`."""
    return (
        f"{swizzle} permutes bytes, and this layout still counts elements: call .bind(bits_per_element) before asking for positions, "
        "which are bits then, and .in_units(...) for others"
    )


def _sums(dims: tuple[Dims, ...], shape: tuple[int, ...], offset: AxisTerm) -> dict[_Key, np.ndarray]:
    """Each component over all elements. Refuses positions that 64-bit arithmetic would wrap."""
    start = _coefficients(offset)
    small = prod(shape) <= _KEPT and all(type(value) is int for part in dims for _, stride in part for _, value in stride.parts)
    reach, sums = _kept_sums(dims, shape) if small else _summed(dims, shape)
    if not start:
        return sums
    sums = dict(sums)
    for key, first in start.items():
        _check_width(key[0], reach.get(key, 0) + abs(first))
        sums[key] = _spread(sums[key] + first if key in sums else np.array(first, np.int64), shape)
    return sums


def _summed(dims: tuple[Dims, ...], shape: tuple[int, ...]) -> tuple[dict[_Key, int], dict[_Key, np.ndarray]]:
    """How far each component reaches, and its value at every element, without an offset."""
    reach: dict[_Key, int] = {}
    parts = dims if prod(shape) <= _KEPT else tuple(coalesce(part) for part in dims)
    steps = [[(extent, _coefficients(stride)) for extent, stride in part] for part in parts]
    for part in steps:
        for extent, own in part:
            assert isinstance(extent, int)  # the layout refuses tables of runtime extents
            for key, c in own.items():
                reach[key] = reach.get(key, 0) + abs(c) * (extent - 1)
    for (axis, _), width in reach.items():
        _check_width(axis, width)
    totals: dict[_Key, np.ndarray] = {}
    for place in range(len(dims) - 1, -1, -1):
        for key, vector in _vectors(steps[place]).items():
            vector = vector.reshape(vector.shape + (1,) * (len(dims) - 1 - place))
            totals[key] = totals[key] + vector if key in totals else vector
    return reach, {key: _spread(total, shape) for key, total in totals.items()}


_KEPT = 1 << 14  # elements of the largest tables that are kept
_kept_sums = lru_cache(maxsize=64)(_summed)  # symbols are equal by key whatever their ranges, so what holds them is not kept


def _check_width(axis: Axis, width: int) -> None:
    if width >= 1 << 63:
        raise LayoutError(f"positions on {axis} reach {width}, past 64 bits")


def _coefficients(term: AxisTerm) -> dict[_Key, int]:
    return {(axis, mono): c for axis, value in term.reduced().parts for mono, c in _monomials(value)}


def _vectors(steps: Sequence[tuple[Scalar, dict[_Key, int]]]) -> dict[_Key, np.ndarray]:
    """For one logical dimension: each component as a vector over its coordinate."""
    vectors = {}
    for key in dict.fromkeys(key for _, own in steps for key in own):
        vector = np.zeros(1, np.int64)
        for extent, own in reversed(steps):  # long rows are added faster than many short ones
            column = np.arange(extent, dtype=np.int64) * own.get(key, 0)  # type: ignore[arg-type]
            vector = (column[:, None] + vector).ravel()
        vectors[key] = vector
    return vectors


def _monomials(value: Scalar) -> list[tuple[Monomial, int]]:
    return [(_CONSTANT, value)] if isinstance(value, int) else list(value.terms.items())


def _spread(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape == shape:
        array.flags.writeable = False
        return array
    return np.broadcast_to(array, shape)
