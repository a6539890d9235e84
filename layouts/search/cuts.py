"""Where an atom lies in a tile: the axes of a layout cut into pieces, some of which are the atom's and the others left over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from ptxgen.layouts.axes import AxisTerm
from ptxgen.layouts.dims import Dims

__all__ = ["Piece", "axis_cuts", "cuts"]

Alike = Callable[[AxisTerm, AxisTerm], bool]


class Piece(NamedTuple):
    """A part of an axis.

    Attributes
    ----------
    axis : int
        Of the tile.
    extent : int
    stride : AxisTerm
    atom : int or None
        The axis of the atom that it belongs to; None for what is left over.
    """

    axis: int
    extent: int
    stride: AxisTerm
    atom: int | None


def cuts(axes: Sequence[Dims], atom: Sequence[Dims], alike: Alike) -> Iterator[list[list[Piece]]]:
    """Every way to find an atom in a tile: for each axis of the tile its pieces, outermost first.

    Each axis of the atom comes from one axis of the tile, in the same order where that is possible, which comes first. From an axis, pieces
    are taken as far inside as they are found.

    Parameters
    ----------
    axes, atom : sequence of Dims
        The (extent, stride) of each axis, outermost first; all extents known.
    alike : function
        Whether a stride of the tile may stand where the atom has another one.
    """
    if len(atom) > len(axes):
        return
    for chosen in _assignments(len(axes), len(atom)):
        yield from _combined(axes, atom, chosen, alike, 0)


def _assignments(axes: int, atom: int) -> list[tuple[int, ...]]:
    """Which axis of the tile each of the atom's comes from: in order and from the last axes, then in order, then any."""
    return sorted(permutations(range(axes), atom), key=lambda chosen: (list(chosen) != sorted(chosen), tuple(-axis for axis in chosen)))


def _combined(axes: Sequence[Dims], atom: Sequence[Dims], chosen: tuple[int, ...], alike: Alike, axis: int) -> Iterator[list[list[Piece]]]:
    if axis == len(axes):
        yield []
        return
    number = chosen.index(axis) if axis in chosen else None
    found = axis_cuts(axis, axes[axis], number, atom[number] if number is not None else (), alike)
    for pieces in found:
        for rest in _combined(axes, atom, chosen, alike, axis + 1):
            yield [pieces, *rest]


def axis_cuts(axis: int, dims: Dims, number: int | None, wanted: Dims, alike: Alike) -> Iterator[list[Piece]]:
    """The ways to find one axis of an atom, `wanted`, in one axis of a tile, `dims`: its pieces, outermost first."""
    dims = tuple(dim for dim in dims if dim[0] != 1)
    wanted = tuple(dim for dim in wanted if dim[0] != 1)
    if not wanted:
        yield [Piece(axis, int(extent), stride, None) for extent, stride in dims]  # type: ignore[arg-type]
        return
    if not dims:
        return
    outer, (extent, stride) = dims[:-1], (int(dims[-1][0]), dims[-1][1])  # type: ignore[arg-type]
    more, (need, step) = wanted[:-1], (int(wanted[-1][0]), wanted[-1][1])  # type: ignore[arg-type]
    if alike(stride, step) and (need % extent == 0 or extent % need == 0):
        taken = min(extent, need)
        left = outer if extent == taken else (*outer, (extent // taken, stride * taken))
        still = more if need == taken else (*more, (need // taken, step * taken))
        for pieces in axis_cuts(axis, left, number, still, alike):
            yield [*pieces, Piece(axis, taken, stride, number)]
    for pieces in axis_cuts(axis, outer, number, wanted, alike):
        yield [*pieces, Piece(axis, extent, stride, None)]
