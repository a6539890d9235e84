"""The arrangement of a picture: which rows and columns it has, what stands in each cell, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxgen.layouts.axes import m
from ptxgen.layouts.dims import Dims, extent_of
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import exact_int
from ptxgen.layouts.pictures.places import Places
from ptxgen.layouts.pictures.sayings import Legend, Mark, Saying, saying

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout

__all__ = ["Band", "Cell", "Look", "Sheet", "arrange"]

FINE = 32
"""Columns up to which each element (or each packed register, each bank) has a cell of its own; beyond, runs share one."""

_SHOWN = 4  # places of one element that a cell has room for
_LEAST_ROWS = 16  # that are drawn however many places each element has
_MANY = 17  # columns whose headers may make a picture too wide
_LEAST_PART = 4  # rows or columns of a part that is set apart
_SHARE = 4  # bands that each group keeps at least
_LEFT_OUT = "Dashed: {} are left out. A limit of more draws more of them, a slice of the layout shows a part in full."


class Look(NamedTuple):
    """What a picture is to show; see `Layout.svg`."""

    by: str | None = None
    bits: int | None = None
    container: int | None = None
    rows: int | None = None
    names: Sequence[str] | None = None
    title: str = ""


class Band(NamedTuple):
    """A row, or a column of cells.

    Attributes
    ----------
    first, last
        The rows or columns of elements in it, counted over all dimensions that run this way.
    outer
        Coordinates of all but the innermost dimension, where they are new; else empty.
    inner
        The innermost coordinate, or the first and last of them.
    gap
        The space before it: 0, 1 where an inner step of a dimension ends, 2 where a dimension does.
    omitted
        How many bands are left out before it.
    """

    first: int
    last: int
    outer: str
    inner: str
    gap: int
    omitted: int


class Cell(NamedTuple):
    """What stands in a cell: its coordinates, a mark for each place of its elements, and how many more places there are."""

    at: str
    marks: tuple[Mark, ...]
    more: int


class Sheet(NamedTuple):
    """A picture before it is drawn. `cells[i][j]` stands in rows[i] and columns[j]."""

    title: str
    layout: str
    down: str
    across: str
    rows: tuple[Band, ...]
    columns: tuple[Band, ...]
    cells: tuple[tuple[Cell, ...], ...]
    legend: Legend
    notes: tuple[str, ...]


def arrange(layout: Layout, look: Look, most: tuple[int, int]) -> Sheet:
    """The sheet of a layout with at most so many rows and columns of cells."""
    split = _split(layout, look.rows)
    labels = _labels(layout, look.names)
    places = Places(layout, None if look.bits is None else _positive(look.bits, "bits"), split)
    view = saying(look.by or _usual(places), places, None if look.container is None else _positive(look.container, "container"))
    gaps = [_gaps(places.dims(across), view.parts(), across) for across in (False, True)]
    rows, columns = _most_rows(_positive(most[0], "limit"), places.shape[0]), _positive(most[1], "limit")
    down = _bands(places.dims(across=False), gaps[0], np.zeros(len(gaps[0]) - 1, np.bool_), rows)
    across = _bands(places.dims(across=True), gaps[1], _joined(view, gaps[1]), columns)
    cells = tuple(tuple(_cell(view, places, row.first, column) for column in across) for row in down)
    each = _shared_length(across, cells)
    return Sheet(
        title=look.title,
        layout=repr(layout).removeprefix("Layout(").removesuffix(")"),
        down=" × ".join(labels[:split]),
        across=" × ".join(labels[split:]) + (f" ({each} in a cell)" if each else ""),
        rows=down,
        columns=tuple(band._replace(inner=band.inner.partition("–")[0]) for band in across) if each else across,
        cells=cells,
        legend=view.legend([mark for row in cells for cell in row for mark in cell.marks]),
        notes=tuple(_notes(places, down, across, cells)),
    )


def _shared_length(bands: tuple[Band, ...], cells: tuple[tuple[Cell, ...], ...]) -> int:
    """How many columns of elements each cell has, where that is told once: where many headers would be wider than what stands below."""
    lengths = {band.last - band.first + 1 for band in bands}
    words = max(len(line) for row in cells for cell in row for mark in cell.marks for line in mark.lines)
    if len(bands) < _MANY or len(lengths) > 1 or lengths == {1} or max(len(band.inner) for band in bands) <= words + 1:
        return 0
    return lengths.pop()


def _notes(places: Places, down: tuple[Band, ...], across: tuple[Band, ...], cells: tuple[tuple[Cell, ...], ...]) -> Iterator[str]:
    """What is to be said of a picture besides its colours: what is left out, and that elements have several places."""
    counts = zip(("rows", "columns"), (down, across), places.shape[1:])
    left_out = [what for what, bands, count in counts if sum(band.last - band.first + 1 for band in bands) < count]
    if left_out:
        yield _LEFT_OUT.format(" and ".join(left_out))
    copies = max(len(cell.marks) + cell.more for row in cells for cell in row)
    if copies > 1:
        yield f"Each element is in {copies} places{f'; {_SHOWN} of them are shown' if copies > _SHOWN else ''}."


def _most_rows(limit: int, copies: int) -> int:
    """Fewer rows where their cells are as high as several."""
    return max(min(limit, _LEAST_ROWS), limit // min(copies, _SHOWN))


def _split(layout: Layout, rows: int | None) -> int:
    """How many dimensions run downwards: by default half of them, of an odd number the larger half, and of one none."""
    if rows is None:
        return (layout.ndim + 1) // 2 if layout.ndim > 1 else 0
    if not 0 <= exact_int(rows, "rows") <= layout.ndim:
        raise LayoutError(f"rows={rows}: {layout.ndim} dimensions can run downwards", legal=f"rows=0 to rows={layout.ndim}")
    return rows


def _labels(layout: Layout, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(f"dim {place}" for place in range(layout.ndim))
    if len(names) != layout.ndim:
        raise LayoutError(f"{len(names)} names for {layout.ndim} dimensions", legal="a name for each dimension")
    return tuple(names)


def _positive(value: int, what: str) -> int:
    number = exact_int(value, what)
    if number < 1:
        raise LayoutError(f"{what}={number} is not at least 1")
    return number


def _usual(places: Places) -> str:
    """The owner, where there are threads or nothing but blocks; else the address."""
    only_blocks = bool(places.others) and not places.in_tensor_memory and m not in places.layout.axes
    return "owner" if places.thread is not None or only_blocks else "address"


# ---- bands --------------------------------------------------------------------------------------------------------------


def _size(dims: Dims) -> int:
    return exact_int(extent_of(dims), "an extent")


def _gaps(dims: tuple[Dims, ...], parts: np.ndarray | None, across: bool) -> np.ndarray:
    """The space before each row or column.

    2 where the innermost dimension begins anew; 1 where its outermost step does, and where all cells are another part's than before.
    """
    sizes = [_size(part) for part in dims]
    at = np.arange(prod(sizes))
    gaps = np.zeros(len(at), np.int64)
    if parts is not None and len(at) > 1:
        along = np.moveaxis(parts, 2 if across else 1, 0)
        changes = (along[1:] != along[:-1]).all(axis=(1, 2))
        if changes.sum() * _LEAST_PART < len(at):
            gaps[1:][changes] = 1
    if dims and len(dims[-1]) > 1:
        gaps[at % _size(dims[-1][1:]) == 0] = 1
    if len(dims) > 1:
        gaps[at % sizes[-1] == 0] = 2
    gaps[0] = 0
    return gaps


def _joined(view: Saying, gaps: np.ndarray) -> np.ndarray:
    """For each column but the last whether it shares its cells with the next one."""
    together = gaps[1:] == 0
    fine = view.joins(coarse=False) & together
    return fine if len(gaps) - int(fine.sum()) <= FINE else view.joins(coarse=True) & together


def _bands(dims: tuple[Dims, ...], gaps: np.ndarray, joined: np.ndarray, most: int) -> tuple[Band, ...]:
    """The bands of the dimensions that run one way, of which at most `most` are kept."""
    sizes = tuple(map(_size, dims)) or (1,)
    starts = np.flatnonzero(np.concatenate(([True], ~joined)))
    ends = np.append(starts[1:], prod(sizes)) - 1
    bands: list[Band] = []
    before, shown = -1, None
    for number in _kept(gaps[starts], most):
        first, last = int(starts[number]), int(ends[number])
        *outer, inner = (int(place) for place in np.unravel_index(first, sizes))
        text = ", ".join(map(str, outer))
        span = f"{inner}–{inner + last - first}" if last > first else str(inner)
        gap, omitted = int(gaps[first]), number - before - 1
        bands.append(Band(first, last, text if text != shown else "", span if dims else "", gap, omitted))
        before, shown = number, text
    return tuple(bands)


def _kept(gaps: np.ndarray, most: int) -> list[int]:
    """The numbers of the bands that are drawn: of too many the first three quarters and the last quarter, from each group alike.

    The groups begin at gaps. Where they are too many for a few bands of each, all bands are one group.
    """
    count = len(gaps)
    if count <= most:
        return list(range(count))
    for least in (2, 1):  # gaps between dimensions are tried first, then those inside one
        starts = [0, *(int(at) for at in np.flatnonzero(gaps >= least) if at), count]
        share = most // (len(starts) - 1)
        if len(starts) > 2 and share >= _SHARE:
            break
    else:
        starts, share = [0, count], most
    kept: list[int] = []
    for start, stop in pairwise(starts):
        tail = share // 4 if stop - start > share else 0
        kept += range(start, min(stop, start + share - tail))
        kept += range(stop - tail, stop)
    return kept


# ---- cells --------------------------------------------------------------------------------------------------------------


def _cell(view: Saying, places: Places, row: int, column: Band) -> Cell:
    marks = list(dict.fromkeys(view.mark(copy, row, column.first, column.last) for copy in range(places.shape[0])))
    shape = places.layout.shape
    first = np.unravel_index(row * places.shape[2] + column.first, shape) if shape else ()
    *outer, inner = (str(int(place)) for place in first) if shape else ("",)
    run = f"–{int(inner) + column.last - column.first}" if column.last > column.first else ""
    at = f"({', '.join([*outer, inner + run])}{',' if len(shape) == 1 else ''})"
    return Cell(at, tuple(marks[:_SHOWN]), len(marks) - len(marks[:_SHOWN]))
