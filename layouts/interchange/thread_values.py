"""CuTe's thread-value layouts of MMA and copy atoms, `(thread, value) -> coordinate`, as register layouts, and back.

A TV layout answers which element a thread holds in a register; a register layout of ptxgen answers who holds an element, and where: one
is the inverse of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ptxgen.layouts.arguments import BUILT, EXTENTS, takes
from ptxgen.layouts.axes import Axis, AxisTerm, m, tx
from ptxgen.layouts.dims import Dim, Dims, Unsplittable, split
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import exact_int
from ptxgen.layouts.interchange.cute import IntTuple, flat_dims, from_cute, to_cute, tuple_text
from ptxgen.layouts.interchange.widths import in_elements
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Replica, Shard


class ThreadValues(NamedTuple):
    """A tile of registers as CuTe says it."""

    layout: str  #: `(T,V) -> index` in the tile, whose first dimension runs fastest
    tile: tuple[int, ...]  #: the tile's extents
    thr_id: str  #: from the number of a thread in T to the thread


class _Owner(NamedTuple):
    """`extent` neighbours: how far apart they are in the tile (its index), and who holds them."""

    extent: int
    weight: int
    place: AxisTerm


@takes(tile=EXTENTS)
def from_cute_tv(
    layout: str | IntTuple,
    stride: IntTuple | None = None,
    *,
    tile: Sequence[int],
    axis: Axis = tx,
    thr_id: str | Layout | None = None,
) -> Layout:
    """The register layout of a tile that a thread-value layout of CuTe describes.

    `from_cute_tv(tv, tile=(M, N))(i, j)` is `{tx: t, m: v}` exactly where `tv(t, v) == i + j * M`.

    Parameters
    ----------
    layout, stride
        The TV layout as `from_cute` takes it: two modes, threads and values, onto the tile's index.
    tile
        Extents of the tile; in its index the first runs fastest, as CuTe's atoms count.
    axis
        The thread axis on which T counts.
    thr_id
        The layout from the thread's number in T to the thread (CuTe's ThrID); by default they are the same.

    Returns
    -------
    Layout
        Over `tile`; registers count on `m`. Where threads (stride 0) hold the same elements, it has replicas.

    Raises
    ------
    LayoutError
        When an element belongs to no thread or to two registers by nonzero strides, or an index lies outside the tile: with the element,
        the thread and the value. When the tile's extents cut a mode.

    Notes
    -----
    Source: CuTe's documentation, "CuTe's support for Matrix Multiply-Accumulate instructions".
    """
    read = from_cute(layout, stride)
    if read.ndim != 2:
        raise LayoutError(f"a thread-value layout has two modes, (threads, values), not {read.ndim}: {layout}")
    if read.swizzle is not None or read.offset.parts or read.symbols:
        raise LayoutError(f"a thread-value layout is made of numbers known now, without offset and swizzle: {layout}")
    extents = tuple(exact_int(extent, "an extent of the tile") for extent in tile)
    _check_cover(read, extents)
    threads = _threads(thr_id, read.shape[0])
    owners = _thread_owners(read.dims[0], flat_dims(threads)[::-1], axis) + _value_owners(read.dims[1])
    replicas = tuple((owner.extent, owner.place) for owner in owners if owner.weight == 0 and owner.extent > 1)
    kept = sorted((owner for owner in owners if owner.weight and owner.extent > 1), key=lambda owner: -owner.weight)
    try:
        parts = split(tuple((owner.extent, owner.place) for owner in kept), extents[::-1])
    except Unsplittable as problem:
        raise LayoutError(f"the tile {extents} cuts a mode of {layout}: {problem}") from None
    return Layout(Shard(tuple(parts[::-1])), Replica(replicas) if replicas else None, offset=threads.offset[m] @ axis)


def _threads(thr_id: str | Layout | None, count: int) -> Layout:
    """ThrID, checked: from the numbers of so many threads, in CuTe's order of coordinates, to threads."""
    if thr_id is None:
        return from_cute(count, 1)
    found = from_cute(thr_id) if isinstance(thr_id, str) else thr_id
    if found.size != count:
        raise LayoutError(f"thr_id names {found.size} threads, the layout has {count}")
    if found.swizzle is not None or found.replica_dims or any(axis is not m for axis in found.axes):
        raise LayoutError(f"thr_id = {found!r} maps to numbers of threads: without swizzle, replicas and other axes than m")
    return found


def _thread_owners(dims: Dims, threads: Sequence[Dim], axis: Axis) -> list[_Owner]:
    try:
        parts = split(tuple(threads), [extent for extent, _ in dims])
    except Unsplittable as problem:
        raise LayoutError(f"the modes of thr_id and of the layout's threads don't divide each other: {problem}") from None
    owners = []
    for (_, stride), part in zip(dims, parts):
        weight = stride[m]
        for extent, step in reversed(part):
            assert isinstance(extent, int) and isinstance(weight, int)
            owners.append(_Owner(extent, weight, step[m] @ axis))
            weight *= extent
    return owners


def _value_owners(dims: Dims) -> list[_Owner]:
    owners, register = [], 1
    for extent, stride in reversed(dims):
        weight = stride[m]
        assert isinstance(extent, int) and isinstance(weight, int)
        owners.append(_Owner(extent, weight, AxisTerm.of(register)))
        register *= extent
    return owners


def _without_repeats(dims: Dims) -> Dims:
    return tuple((extent, stride) if stride.parts else (1, stride) for extent, stride in dims)


def _check_cover(read: Layout, tile: tuple[int, ...]) -> None:
    """Every element of the tile once, not counting modes of stride 0."""
    size = int(np.prod(tile))
    once = Layout(Shard(tuple(_without_repeats(part) for part in read.dims)))
    indices = once.table().linear
    for wrong in np.argwhere((indices < 0) | (indices >= size))[:1]:
        t, v = wrong.tolist()
        raise LayoutError(f"thread {t}, value {v} is index {indices[t, v]}, outside the tile {tile} of {size} elements")
    counts = np.bincount(indices.ravel(), minlength=size)
    for index in np.flatnonzero(counts == 0)[:1].tolist():
        raise LayoutError(f"element {_coordinate(index, tile)} of the tile {tile} (index {index}) belongs to no thread and value")
    for index in np.flatnonzero(counts > 1)[:1].tolist():
        (t, v), (u, w) = np.argwhere(indices == index)[:2].tolist()
        raise LayoutError(
            f"element {_coordinate(index, tile)} of the tile {tile} (index {index}) belongs to thread {t}, value {v} and to "
            f"thread {u}, value {w}; only modes of stride 0 repeat elements"
        )


def _coordinate(index: int, tile: tuple[int, ...]) -> tuple[int, ...]:
    found = np.unravel_index(index, tile, order="F")
    return tuple(int(part) for part in found)


# --- writing --------------------------------------------------------------------------------------------------------------


@takes(layout=BUILT)
def to_cute_tv(layout: Layout, *, bits: int | None = None) -> ThreadValues:
    """The thread-value layout of a tile in registers; `from_cute_tv(tv.layout, tile=tv.tile, thr_id=tv.thr_id) == layout`.

    Parameters
    ----------
    layout
        A layout on thread axes and `m`. Threads count on `tx`; where the first is not 0, `thr_id` says so.
    bits
        Bits of an element, for layouts that count bits.

    Raises
    ------
    LayoutError
        When registers have holes, two elements share a register, or a step moves along threads and registers at once.
    """
    parts = in_elements(layout, bits)
    other = next((axis for axis in layout.axes if axis is not m and not axis.is_thread), None)
    start = parts.offset.reduced()
    if other is not None or layout.swizzle is not None or start[m] != 0 or layout.symbols or not layout.is_static:
        what = f"is on {other}" if other else "has a swizzle" if layout.swizzle else "has a first register or extents of the run"
        raise LayoutError(f"{layout!r} {what}; a thread-value layout is made of threads, registers and numbers")
    threads: list[tuple[int, int, int]] = []
    values: list[tuple[int, int, int]] = []
    for extent, place, weight in _weighted(parts):
        if extent == 1:
            continue
        place = place.reduced()
        if len(place.parts) != 1:
            why = "moves along several axes" if place.parts else "keeps the position: several elements share a register"
            raise LayoutError(
                f"the dimension {extent} : {place} of {layout!r} {why}; a thread-value layout gives every register one element"
            )
        ((moved, step),) = place.parts
        assert isinstance(step, int)
        (values if moved is m else threads).append((step, extent, weight))
    _check_registers(sorted(values), layout)
    threads.sort()
    values.sort()
    if not _distinct(threads):
        raise LayoutError(f"the threads of {layout!r} overlap or run backwards; a thread-value layout numbers each once")
    sides = [_chained([(extent, weight) for _, extent, weight in side]) for side in (threads, values)]
    shape, stride = (tuple(_one(tuple(pair[k] for pair in side)) for side in sides) for k in (0, 1))
    numbers = _chained([(extent, step) for step, extent, _ in threads])
    thr_id = from_cute(*(_one(tuple(pair[k] for pair in numbers)) for k in (0, 1))) + start[tx]
    return ThreadValues(f"{tuple_text(shape)}:{tuple_text(stride)}", layout.shape, to_cute(thr_id))


def _distinct(threads: list[tuple[int, int, int]]) -> bool:
    """Whether no two of the threads are one."""
    numbers = from_cute(tuple(extent for _, extent, _ in threads), tuple(step for step, _, _ in threads))
    return numbers.is_injective() and all(step > 0 for step, _, _ in threads)


def _weighted(parts: Layout) -> list[tuple[int, AxisTerm, int]]:
    """(extent, where, distance in the tile's index) of all dimensions; replicas have distance 0."""
    found, weight = [], 1
    for part in parts.dims:
        for extent, place in reversed(part):
            assert isinstance(extent, int)
            found.append((extent, place, weight))
            weight *= extent
    return found + [(extent, place, 0) for extent, place in parts.replica_dims]  # type: ignore[misc]


def _check_registers(values: list[tuple[int, int, int]], layout: Layout) -> None:
    count = 1
    for step, extent, _ in values:
        if step != count:
            what = f"register {count} holds nothing" if step > count else "several elements share a register"
            raise LayoutError(f"{what} in {layout!r}; the values of a thread-value layout are registers 0, 1, ...")
        count *= extent


def _chained(modes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Modes, the fastest first, merged where one goes on where the other ends."""
    merged: list[tuple[int, int]] = []
    for extent, step in modes:
        if merged and step == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0] * extent, merged[-1][1])
        else:
            merged.append((extent, step))
    return merged or [(1, 0)]


def _one(numbers: tuple[int, ...]) -> IntTuple:
    return numbers[0] if len(numbers) == 1 else numbers
