"""Where a tile lies in banked memory: the swizzle or the padding under which the accesses of warps conflict least.

The candidates are dense layouts with each axis contiguous in turn, rows cut into panels, rows padded, and XOR swizzles of them. Patterns of
accesses are counted once for all warps that differ by bits that no lane changes: an XOR swizzle maps such bits to a constant, which
renumbers banks and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from ptxgen.layouts.axes import AxisTerm
from ptxgen.layouts.banks import SHARED, Banks, ideal_wavefronts, row_wavefronts, wavefronts
from ptxgen.layouts.dims import Dims
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.search.conflict import smallest_conflict
from ptxgen.layouts.spec import Shard
from ptxgen.layouts.swizzle import Swizzle

__all__ = ["Pattern", "Placement", "Unplaced", "candidates", "place"]

_Tried = tuple[Sequence[Sequence[int]], bool]
Accepts = Callable[[NDArray[np.int64], Union[Swizzle, None]], bool]


class Pattern(NamedTuple):
    """What the warps of one instruction touch.

    Attributes
    ----------
    elements : int array of shape (accesses, lanes, run)
        Row-major numbers of the elements that each lane touches; they must follow one another in memory. With `rows`, a lane is a row of a
        matrix.
    bits : int
        Of an element.
    active : bool array of shape (accesses, lanes)
    rows : bool
        Whether the addresses are those of rows, which the banks serve in turn.
    load : bool
        Whether lanes that share what they touch share room in a wavefront too.
    accepts : callable, optional
        Instead of addresses: whether hardware finds the elements by itself where they lie, in bits before the swizzle. It then reads and
        writes without conflicts.
    """

    elements: NDArray[np.int64]
    bits: int
    active: NDArray[np.bool_]
    rows: bool = False
    load: bool = True
    accepts: Accepts | None = None

    @property
    def width(self) -> int:
        """Bytes that one lane touches."""
        return self.elements.shape[-1] * self.bits // 8

    @property
    def least(self) -> int:
        """Wavefronts below which no layout comes: those that the different elements of each phase fill."""
        if self.accepts is not None:
            return -(-self.elements.size * self.bits // 8 // SHARED.span)
        if self.rows:
            return int(self.active.reshape(len(self.active), -1, SHARED.span // self.width).any(axis=-1).sum())
        ranks = np.unique(self.elements[..., 0], return_inverse=True)[1].reshape(self.active.shape)
        return int(ideal_wavefronts(ranks * self.width, self.width, active=self.active, packed=self.load).sum())


class Placement(NamedTuple):
    """A candidate, and what it costs.

    Attributes
    ----------
    layout : Layout
        In elements.
    words : str
        What it is.
    size : int
        Bytes.
    wavefronts : tuple of int
        Of each pattern.
    """

    layout: Layout
    words: str
    size: int
    wavefronts: tuple[int, ...]


class Unplaced(NamedTuple):
    """No candidate meets all demands: which patterns (or, behind them, further demands) conflict."""

    demands: tuple[int, ...]


class Candidate(NamedTuple):
    """A layout without a swizzle, in words, and the swizzles to try on it; `cut` where an axis has more than one stride."""

    linear: Layout
    words: str
    swizzles: tuple[Swizzle | None, ...]
    cut: bool = False

    def layout(self, swizzle: Swizzle | None) -> Layout:
        """The layout with one of the swizzles."""
        return self.linear if swizzle is None else Layout(Shard(self.linear.dims), swizzle=swizzle)

    def size(self, swizzle: Swizzle | None, bits: int) -> int:
        """Bytes up to the last element."""
        dense = -(-(int(self.linear.span()[1]) + 1) * bits // 8)  # type: ignore[arg-type]
        if swizzle is None or dense % swizzle.period == 0:
            return dense
        return -(-(int(self.layout(swizzle).bind(bits).span()[1]) + bits) // 8)  # type: ignore[arg-type]


def place(
    shape: tuple[int, ...],
    bits: int,
    patterns: Sequence[Pattern],
    *,
    exact: bool = False,
    limit: int | None = None,
    orders: Sequence[Sequence[int]] = (),
    padded: bool = True,
    banks: Banks = SHARED,
) -> Placement | Unplaced:
    """The layout of a tile with the fewest wavefronts; of equal ones the smallest, then the simplest.

    Parameters
    ----------
    shape : tuple of int
    bits : int
        Of an element.
    patterns : sequence of Pattern
    exact : bool
        Whether every pattern must come without conflicts; each is then a further demand, behind the patterns.
    limit : int, optional
        Bytes that the tile may take: the last demand.
    orders : sequence of sequences of int
        Orders of the axes, slowest first, to try instead of those in which one axis after the other is taken to the end.
    padded : bool
        Whether to try padded tiles as well.
    banks : Banks
    """
    found = _search(shape, bits, patterns, limit, (orders, padded), banks)
    if found is not None and (not exact or found.wavefronts == tuple(pattern.least for pattern in patterns)):
        return found
    return Unplaced(smallest_conflict(_table(shape, bits, patterns, exact, limit, banks)))


def _search(
    shape: tuple[int, ...],
    bits: int,
    patterns: Sequence[Pattern],
    limit: int | None,
    tried: _Tried,
    banks: Banks,
) -> Placement | None:
    best: tuple[tuple[int, int], Placement] | None = None
    floors = [pattern.least for pattern in patterns]
    least = sum(floors)
    for candidate, lying in _lying(shape, bits, patterns, tried, banks):
        for swizzle in candidate.swizzles:
            if not all(one.fits(swizzle) for one in lying):
                continue
            counts = _counts(lying, swizzle, floors, None if best is None else best[0][0])
            if counts is None:
                continue
            size = candidate.size(swizzle, bits)
            rank = sum(counts), size
            if (limit is None or size <= limit) and (best is None or rank < best[0]):
                words = candidate.words if swizzle is None else f"{candidate.words}, {_spoken(swizzle)}"
                best = rank, Placement(candidate.layout(swizzle), words, size, counts)
                if rank == (least, -(-prod(shape) * bits // 8)):
                    return best[1]
    return best[1] if best is not None else None


def _counts(lying: Sequence[_Lying], swizzle: Swizzle | None, floors: Sequence[int], most: int | None) -> tuple[int, ...] | None:
    """Wavefronts of each pattern, or None as soon as they must be more than `most` together."""
    found: list[int] = []
    for one in lying:
        found.append(one.count(swizzle))
        if most is not None and sum(found) + sum(floors[len(found) :]) > most:
            return None
    return tuple(found)


def _table(
    shape: tuple[int, ...], bits: int, patterns: Sequence[Pattern], exact: bool, limit: int | None, banks: Banks
) -> list[list[bool]]:
    """Which demands each candidate meets: the patterns' places, for `exact` their wavefronts, the limit."""
    least = [pattern.least for pattern in patterns]
    found = []
    for candidate, lying in _lying(shape, bits, patterns, None, banks):
        for swizzle in candidate.swizzles:
            fits = [one.fits(swizzle) for one in lying]
            calm = [ok and one.count(swizzle) <= floor for ok, one, floor in zip(fits, lying, least)] if exact else []
            found.append([*fits, *calm, limit is None or candidate.size(swizzle, bits) <= limit])
    return found


def _lying(
    shape: tuple[int, ...], bits: int, patterns: Sequence[Pattern], tried: _Tried | None, banks: Banks
) -> Iterator[tuple[Candidate, list[_Lying]]]:
    """The candidates that may serve all patterns, and how these lie on each; without `tried` those that serve only some as well."""
    addressed = [pattern for pattern in patterns if pattern.accepts is None] if tried is not None else []
    granule = max((pattern.width for pattern in addressed), default=banks.width)
    last = {axis for pattern in addressed for axis in _run_axes(pattern, shape)} or set(range(len(shape)))
    alike = [_alike(pattern, shape) for pattern in patterns]
    for candidate in candidates(shape, bits, granule, last, tried or ((), True), banks):
        yield candidate, [_Lying(pattern, rows, candidate, banks) for pattern, rows in zip(patterns, alike)]


def _run_axes(pattern: Pattern, shape: tuple[int, ...]) -> list[int]:
    """The axes along which a lane's first two elements differ: one of them has to be contiguous."""
    if pattern.elements.shape[-1] < 2:
        return []
    first, second = (np.unravel_index(int(pattern.elements[0, 0, at]), shape) for at in range(2))
    return [axis for axis, (one, other) in enumerate(zip(first, second)) if one != other]


_Rows = tuple[NDArray[np.int64], NDArray[np.int64]]


def _alike(pattern: Pattern, shape: tuple[int, ...]) -> _Rows:
    """Accesses that differ by a constant step along each axis count alike wherever no swizzle is: the first of each kind, and how many."""
    if pattern.accepts is not None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    key = np.zeros(pattern.elements.shape, np.int64)
    for coordinate, extent in zip(np.unravel_index(pattern.elements, shape), shape):
        key = key * (2 * extent) + coordinate
    return _different((key - key[:, :1, :1]).reshape(len(key), -1), pattern.active)


class _Lying:
    """A pattern on a candidate: whether it can be there, and its addresses, those of accesses that count alike once."""

    __slots__ = ("_addresses", "banks", "candidate", "pattern", "rows", "whole")

    def __init__(self, pattern: Pattern, rows: _Rows, candidate: Candidate, banks: Banks) -> None:
        self.pattern = pattern
        self.rows = rows
        self.candidate = candidate
        self.banks = banks
        self.whole: bool | None = None
        self._addresses: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def _places(self, elements: np.ndarray) -> np.ndarray:
        """Bits, before the swizzle."""
        found: np.ndarray = self.candidate.linear.table().linear.ravel()[elements] * self.pattern.bits
        return found

    def fits(self, swizzle: Swizzle | None) -> bool:
        """Whether every lane's bytes are together and aligned, or the hardware finds the elements."""
        if self.pattern.accepts is not None:
            return self.pattern.accepts(self._places(self.pattern.elements), swizzle)
        if self.whole is None:
            starts = self._places(self.pattern.elements[..., 0])
            self.whole = not (starts % (8 * self.pattern.width)).any() and self._together()
        return self.whole and (swizzle is None or swizzle.granule >= self.pattern.width)

    def _together(self) -> bool:
        chosen = self.pattern.elements if self.candidate.cut else self.pattern.elements[self.rows[0]]
        places = self._places(chosen)
        return bool((places == places[..., :1] + np.arange(places.shape[-1]) * self.pattern.bits).all())

    def count(self, swizzle: Swizzle | None) -> int:
        """Wavefronts of all warps."""
        if self.pattern.accepts is not None:
            return self.pattern.least
        if self._addresses is None:
            self._addresses = self._distinct()
        addresses, active, counts = self._addresses
        moved = addresses if swizzle is None else swizzle.apply_bytes(addresses)
        return int((count_wavefronts(self.pattern, moved, active, self.banks) * counts).sum())

    def _distinct(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pattern = self.pattern
        # A step of less than a word would change which lanes share one.
        if self.candidate.swizzles == (None,) and not self.candidate.cut and pattern.width >= self.banks.width:
            chosen, counts = self.rows
            return self._places(pattern.elements[chosen, :, 0]) // 8, pattern.active[chosen], counts
        addresses, active = self._places(pattern.elements[..., 0]) // 8, pattern.active
        first = np.take_along_axis(addresses, active.argmax(-1)[:, None], -1)
        addresses = np.where(active, addresses, first)
        varying = np.bitwise_or.reduce(addresses ^ first, axis=-1, keepdims=True)
        chosen, counts = _different(addresses & varying, active)
        return (addresses & varying)[chosen], active[chosen], counts


def _different(addresses: np.ndarray, active: np.ndarray) -> _Rows:
    """The first of all rows that are alike, and how many they are."""
    columns, lanes = addresses.shape[-1], active.shape[-1]
    weights = np.random.default_rng(0).integers(1, 1 << 62, columns + lanes, dtype=np.int64) | 1
    keys = addresses @ weights[:columns] + active @ weights[columns:]  # wraps: a hash, held against the rows themselves
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    alike = first[inverse.ravel()]
    if (addresses != addresses[alike]).any() or (active != active[alike]).any():
        return np.arange(len(addresses)), np.ones(len(addresses), np.int64)
    return first, counts


def count_wavefronts(pattern: Pattern, addresses: np.ndarray, active: np.ndarray, banks: Banks = SHARED) -> np.ndarray:
    """Wavefronts of each access of a pattern at given addresses."""
    if pattern.rows:
        return row_wavefronts(addresses, width=pattern.width, active=active, banks=banks)
    return wavefronts(addresses, pattern.width, active=active, packed=pattern.load, banks=banks)


# ---- candidates ------------------------------------------------------------------------------------------------------


def candidates(
    shape: tuple[int, ...], bits: int, granule: int, last: set[int], tried: _Tried = ((), True), banks: Banks = SHARED
) -> Iterator[Candidate]:
    """Layouts to try, the simplest first: dense, swizzled, in panels, padded.

    Parameters
    ----------
    granule : int
        Bytes that swizzles and paddings keep together.
    last : set of int
        Axes of which one shall be contiguous.
    tried : pair
        Orders of the axes to try, where they are known; and whether padded layouts are candidates.
    """
    orders, padded = tried
    rank = len(shape)
    taken = [(*(axis for axis in range(rank) if axis != end), end) for end in range(rank - 1, -1, -1) if end in last]
    swizzles = (None, *_canonical(), *_swizzles(-(-prod(shape) * bits // 8), granule, banks))
    dense = [(order, _order_words(order)) for order in taken]
    if orders:  # somebody knows better than to try each axis
        dense[1:] = [(tuple(order), "axes in another order") for order in orders]
    for order, words in dense:
        yield Candidate(_dense(shape, order), words, swizzles)
    for order in taken:
        for span in (128, 64, 32, 16):
            panel = span * 8 // bits
            if panel and shape[order[-1]] % panel == 0 and shape[order[-1]] > panel:
                pattern = next((one for one in _canonical() if 16 << one.bits == span), None)
                words = f"{_order_words(order)}, panels of {span} bytes"
                yield Candidate(_panels(shape, order, panel), words, (pattern, None) if pattern else (None,), cut=True)
    for order, words in dense if padded else []:
        for axis in range(rank - 2, -1, -1):
            for extra in _paddings(max(granule, banks.width), banks.span, rank):
                if extra * 8 % bits == 0:
                    behind = f"{words}, {extra} bytes behind each {'row' if axis == rank - 2 else 'plane'}"
                    yield Candidate(_dense(shape, order, axis, extra * 8 // bits), behind, (None,))


def _paddings(granule: int, span: int, rank: int) -> list[int]:
    """Bytes behind rows and planes: any number of granules up to all banks, of many axes the powers of two."""
    numbers = range(1, span // granule + 1)
    return [granule * number for number in numbers if rank <= 3 or number & (number - 1) == 0]


def _canonical() -> tuple[Swizzle, ...]:
    return (Swizzle.B128, Swizzle.B64, Swizzle.B32)


def _swizzles(size: int, granule: int, banks: Banks) -> list[Swizzle]:
    """XOR swizzles that keep a granule together and change bits that name a bank, those of most banks first."""
    low, high = max(granule, banks.width).bit_length() - 1, banks.span.bit_length() - 1
    top = max(size - 1, 1).bit_length()
    found = []
    for base in range(low, high):
        for bits in range(1, high - base + 1):
            found += [Swizzle(bits, base, shift) for shift in range(bits, top - base - bits + 1)]
    known = _canonical()
    return sorted((one for one in found if one not in known), key=lambda one: (-one.bits, one.base, one.shift))


def _dense(shape: tuple[int, ...], order: Sequence[int], padded: int = -1, extra: int = 0) -> Layout:
    """Axes in an order, the last contiguous; `extra` elements behind each index of the axis at place `padded` of the order."""
    steps = [0] * len(shape)
    step = 1
    for at in range(len(shape) - 1, -1, -1):
        step += extra if at == padded else 0
        steps[order[at]] = step
        step *= shape[order[at]]
    return Layout(Shard(tuple(((extent, AxisTerm.of(one)),) for extent, one in zip(shape, steps))))


def _panels(shape: tuple[int, ...], order: Sequence[int], panel: int) -> Layout:
    """The last axis of an order cut into panels, each of which holds all other axes."""
    dims: list[Dims] = [()] * len(shape)
    step = panel
    for axis in reversed(order[:-1]):
        dims[axis] = ((shape[axis], AxisTerm.of(step)),)
        step *= shape[axis]
    last = order[-1]
    dims[last] = ((shape[last] // panel, AxisTerm.of(step)), (panel, AxisTerm.of(1)))
    return Layout(Shard(tuple(dims)))


def _order_words(order: Sequence[int]) -> str:
    return "row-major" if list(order) == sorted(order) else f"axis {order[-1]} contiguous"


def _spoken(swizzle: Swizzle) -> str:
    names = {Swizzle.B128: "128-byte swizzle", Swizzle.B64: "64-byte swizzle", Swizzle.B32: "32-byte swizzle"}
    return names.get(swizzle, repr(swizzle))
