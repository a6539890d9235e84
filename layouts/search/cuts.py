"""Where an atom lies in a tile: the axes of a layout cut into pieces, some of which are the atom's and the others left over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from ptxgen.layouts.axes import AxisTerm
from ptxgen.layouts.dims import Dims

__all__ = ["Piece", "cuts"]

Alike = Callable[[AxisTerm, AxisTerm], bool]
_Run = Sequence[tuple[int, int, AxisTerm]]  # axis, extent and stride, outermost first


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
    inner : int
        How many elements of that axis one step of it passes: 1 for its innermost piece.
    """

    axis: int
    extent: int
    stride: AxisTerm
    atom: int | None
    inner: int = 1


def cuts(axes: Sequence[Dims], atom: Sequence[Dims], alike: Alike) -> Iterator[list[list[Piece]]]:
    """Every way to find an atom in a tile: for each axis of the tile its pieces, outermost first.

    Each axis of the atom comes from one axis of the tile, in the same order where that is possible, which comes first. From an axis, pieces
    are taken as far inside as they are found. The axis of an atom that has but one may also come from several axes of the tile.

    Parameters
    ----------
    axes, atom : sequence of Dims
        The (extent, stride) of each axis, outermost first; all extents known.
    alike : function
        Whether a stride of the tile may stand where the atom has another one.
    """
    runs = [[(axis, int(extent), stride) for extent, stride in dims if extent != 1] for axis, dims in enumerate(axes)]  # type: ignore[arg-type]
    wanted = [tuple((int(extent), stride) for extent, stride in dims if extent != 1) for dims in atom]  # type: ignore[arg-type]
    if len(atom) > len(axes):
        return
    for chosen in _assignments(len(axes), len(atom)):
        yield from _combined(runs, wanted, chosen, alike, 0)
    if len(wanted) == 1 and wanted[0] and len(axes) > 1:
        for order in permutations(range(len(axes))):
            for pieces in _found([one for axis in order for one in runs[axis]], 0, wanted[0], alike):
                if len({piece.axis for piece in pieces if piece.atom is not None}) > 1:
                    yield [[piece for piece in pieces if piece.axis == axis] for axis in range(len(axes))]


def _assignments(axes: int, atom: int) -> list[tuple[int, ...]]:
    """Which axis of the tile each of the atom's comes from: in order and from the last axes, then in order, then any."""
    return sorted(permutations(range(axes), atom), key=lambda chosen: (list(chosen) != sorted(chosen), tuple(-axis for axis in chosen)))


def _combined(
    runs: Sequence[_Run], wanted: Sequence[tuple[tuple[int, AxisTerm], ...]], chosen: tuple[int, ...], alike: Alike, axis: int
) -> Iterator[list[list[Piece]]]:
    if axis == len(runs):
        yield []
        return
    number = chosen.index(axis) if axis in chosen else None
    for pieces in _found(runs[axis], number, wanted[number] if number is not None else (), alike):
        for rest in _combined(runs, wanted, chosen, alike, axis + 1):
            yield [pieces, *rest]


def _found(run: _Run, number: int | None, wanted: tuple[tuple[int, AxisTerm], ...], alike: Alike, inner: int = 1) -> Iterator[list[Piece]]:
    """The ways to find one axis of an atom in a run of dimensions: its pieces, outermost first."""
    if not wanted:
        yield [Piece(axis, extent, stride, None) for axis, extent, stride in run]
        return
    if not run:
        return
    outer, (axis, extent, stride) = run[:-1], run[-1]
    more, (need, step) = wanted[:-1], wanted[-1]
    if alike(stride, step) and (need % extent == 0 or extent % need == 0):
        taken = min(extent, need)
        left = outer if extent == taken else [*outer, (axis, extent // taken, stride * taken)]
        still = more if need == taken else (*more, (need // taken, step * taken))
        for pieces in _found(left, number, still, alike, inner * taken):
            yield [*pieces, Piece(axis, taken, stride, number, inner)]
    for pieces in _found(outer, number, wanted, alike, inner):
        yield [*pieces, Piece(axis, extent, stride, None)]
