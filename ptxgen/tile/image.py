"""An atom as numbers: for every element of it, the issuing thread that holds it and its position."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import Atom, atom_layout, evaluate_names

__all__ = ["Image"]


class Image:
    """Where the elements of one operand of one instruction lie.

    Attributes
    ----------
    shape : tuple of int
        The operand's last axes.
    size : int
        Elements.
    lanes : ndarray of shape (size,)
        The thread that holds the element (or provides its address), counted from the first of the issuing group.
    providers : int
        How many such threads there are.
    positions : ndarray of shape (size,)
        Bits from the operand's first register or from the address.
    element_bits : int or None
        Width of an element; None for the default atom, whose elements are whole words of any type.
    repeats : tuple of str
        The repeat axes that the operand takes part in, outermost first.
    """

    __slots__ = ("element_bits", "lanes", "positions", "providers", "repeats", "shape", "size")

    def __init__(
        self,
        shape: tuple[int, ...],
        lanes: np.ndarray,
        positions: np.ndarray,
        element_bits: int | None = None,
        repeats: tuple[str, ...] = ("*",),
    ) -> None:
        self.shape = shape
        self.size = len(positions)
        self.lanes = lanes
        self.providers = int(lanes.max()) + 1
        self.positions = positions
        self.element_bits = element_bits
        self.repeats = repeats

    @staticmethod
    def words(count: int, bits: int, element_bits: int | None = None) -> Image:
        """The default atom: `count` consecutive words of one thread."""
        return _words(count, bits, element_bits)

    @staticmethod
    def of(atom: Atom, match: Match, given: tuple[tuple[str, int], ...] = ()) -> Image:
        """The atom of an operand for one opcode, and for the extents that views give."""
        return _image(atom, match, given)

    def registers(self, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each element its register, of `width` bits, and the bit inside; and the first element of each register."""
        return _registers(self, width)

    def __repr__(self) -> str:
        return str(self.shape[0]) if len(self.shape) == 1 else ", ".join(map(str, self.shape))


@lru_cache(maxsize=256)
def _words(count: int, bits: int, element_bits: int | None) -> Image:
    return Image((count,), np.zeros(count, np.int64), np.arange(count, dtype=np.int64) * bits, element_bits)


@lru_cache(maxsize=1024)
def _image(atom: Atom, match: Match, given: tuple[tuple[str, int], ...]) -> Image:
    bits = match.type(atom.element).element.bits
    layout = atom_layout(atom, evaluate_names(match.entry.tile, match, given), match) if match.entry.tile is not None else None
    assert layout is not None  # an atom belongs to a tile
    table = layout.table()
    lanes = np.zeros(table.shape, np.int64) if table.thread is None else table.thread
    return Image(table.shape, lanes.ravel(), table.m.ravel() * bits, bits, tuple(atom.repeats.split()))


@lru_cache(maxsize=256)
def _registers(image: Image, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if image.element_bits:
        number, inside = image.positions // width, image.positions % width
    else:
        number, inside = np.arange(image.size), np.zeros(image.size, np.int64)
    order = np.argsort(number, kind="stable")
    return number, inside, order[np.diff(number[order], prepend=-1) != 0]
