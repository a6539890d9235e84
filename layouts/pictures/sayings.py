"""What a cell of a picture says of its elements, and its colour: who owns them, in which banks they lie, at which address."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ptxgen.layouts.axes import TCol, TLane, m
from ptxgen.layouts.banks import SHARED, WARP
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.pictures.palette import HUES, SHADES, ramp, shade
from ptxgen.layouts.pictures.places import Places

__all__ = ["WAYS", "Legend", "Mark", "Saying", "saying"]

WAYS = ("owner", "bank", "address")

_QUAD = 4  # lanes that hold a row of a fragment
_BANKS, _BANK_BITS, _CHUNK_BITS = SHARED.number, 8 * SHARED.width, 128
_RUN = 8  # elements of unknown width that a run may have


class Mark(NamedTuple):
    """What a cell says of one of the places of its elements: short lines for the cell, a sentence for whoever asks, and a colour."""

    lines: tuple[str, ...]
    sentence: str
    colour: str


class Legend(NamedTuple):
    """What colours mean: (colours, text) for each group, and sentences."""

    swatches: tuple[tuple[tuple[str, ...], str], ...]
    notes: tuple[str, ...]


class Saying(ABC):
    """One way to look at a layout."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.blocks = {axis: values for axis, values in places.others.items() if axis not in (TLane, TCol)}

    @abstractmethod
    def joins(self, coarse: bool) -> np.ndarray:
        """For each column but the last whether its cells and the next one's are drawn as one; more are where `coarse`."""

    @abstractmethod
    def mark(self, copy: int, row: int, first: int, last: int) -> Mark:
        """What the cell over columns first .. last says."""

    @abstractmethod
    def legend(self, marks: Sequence[Mark]) -> Legend:
        """What the colours and the words of these marks mean."""

    def parts(self) -> np.ndarray | None:
        """The number of the part (a warp, say) in which each place is, where the tile falls into such parts."""
        return None

    def _block(self, at: tuple[int, int, int]) -> list[str]:
        """The block that a place is in, where the layout has axes of blocks."""
        return [f"{axis}{int(values[at])}" for axis, values in self.blocks.items()]

    def _same(self, *others: np.ndarray) -> np.ndarray:
        """Where the next column's element is in the same block, and alike in other respects."""
        same = np.ones(self.places.m[..., 1:].shape, np.bool_)
        for values in (*self.blocks.values(), *others):
            same = same & (values[..., 1:] == values[..., :-1])
        return same

    def _follow(self) -> np.ndarray:
        """Where the next column's element lies right behind this one's, of shape (copies, rows, columns - 1)."""
        step = 1 if self.places.unit == "element" else self.places.bits
        at = self.places.m
        return np.zeros(at[..., 1:].shape, np.bool_) if step is None else at[..., 1:] - at[..., :-1] == step


def saying(by: str, places: Places, container: int | None) -> Saying:
    """The way of looking that is called `by`."""
    if by == "owner":
        return _Owner(places, container)
    if by == "bank":
        return _Bank(places)
    if by == "address":
        return _Cell(places) if places.in_tensor_memory else _Address(places)
    raise LayoutError(f"a picture tells of owner, bank or address, not of {by!r}", legal='by="owner", by="bank", by="address"')


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def _all_rows(joins: np.ndarray) -> np.ndarray:
    return np.asarray(joins.all(axis=(0, 1)))


# ---- owners -------------------------------------------------------------------------------------------------------------


class _Owner(Saying):
    """Threads and registers: T5 R0 is register 0 of thread 5, R0.1 the second element in it; T5 alone where nothing is on m."""

    def __init__(self, places: Places, container: int | None) -> None:
        super().__init__(places)
        if places.thread is None and (not places.others or places.in_tensor_memory):
            axes = " and ".join(str(axis) for axis in places.layout.axes) or "no axis"
            raise LayoutError(
                f"{places.layout!r} has no owners: its positions are on {axes}",
                legal='by="address" or by="bank"; owners have thread axes, as in S[(32, 4) : (1 @ laneid, 1)]',
            )
        if places.unit == "bit" and places.bits is None:
            raise LayoutError("positions count bits, and nothing says how many an element has", legal="bits=16, for example")
        if container is not None and places.bits is None:
            raise LayoutError("registers of a container hold elements of a known size", legal="bits=16, container=32, for example")
        self.width = (places.bits or 1) if places.unit == "bit" else 1  # of an element, as positions count
        self.container = container or self.width
        if max(self.container, self.width) % min(self.container, self.width):
            raise LayoutError(
                f"elements of {self.width} bits do not fill registers of {self.container} bits",
                legal="a container that is a multiple of the element or divides it",
            )
        shape = places.m.shape
        self.in_registers = places.thread is not None and m in places.layout.axes
        self.thread = np.zeros(shape, np.int64) if places.thread is None else places.thread
        self._colours()

    def _colours(self) -> None:
        """A hue for a block, where there are several; else for a warp, where there are several; else for four lanes."""
        rank = np.zeros(self.places.m.shape, np.int64)
        for values in self.blocks.values():
            rank = rank * (int(values.max()) + 1) + values
        warp = self.thread // WARP
        self.several_blocks, self.several_warps = (bool((values != values.flat[0]).any()) for values in (rank, warp))
        if self.several_blocks:
            self.hue, self.step = rank, warp if self.several_warps else self.thread
        elif self.several_warps:
            self.hue, self.step = warp, self.thread
        else:
            self.hue, self.step = self.thread % WARP // _QUAD, self.thread

    def parts(self) -> np.ndarray | None:
        return self.hue if self.several_blocks or self.several_warps else None

    def joins(self, coarse: bool) -> np.ndarray:
        if not self.in_registers:
            return _all_rows(self._same(self.thread))
        registers = [] if coarse else [self.places.m // self.container]
        return _all_rows(self._follow() & self._same(self.thread, *registers))

    def mark(self, copy: int, row: int, first: int, last: int) -> Mark:
        at = copy, row, first
        thread = [] if self.places.thread is None else [f"T{int(self.thread[at])}"]
        register = [self._register(int(self.places.m[at]), last - first + 1)] if self.in_registers else []
        lines = (*self._block(at), *thread, *register)
        return Mark(lines, " ".join(lines), shade(int(self.hue[at]), int(self.step[at])))

    def _register(self, position: int, count: int) -> str:
        begin, inside = divmod(position, self.container)
        end = position + count * self.width
        if not inside and not end % self.container:
            return f"R{_span(begin, end // self.container - 1)}"
        element = inside // self.width
        return f"R{begin}.{_span(element, element + count - 1)}"

    def legend(self, marks: Sequence[Mark]) -> Legend:
        notes = []
        if self.several_blocks or self.several_warps:
            used = sorted({int(hue) % len(HUES) for hue in np.unique(self.hue)})
            most = int(self.hue.max())
            names = [("block" if self.several_blocks else "warp") + f" {_every(hue, most)}" for hue in used]
            swatches = tuple((tuple(shade(hue, step) for step in range(SHADES)), name) for hue, name in zip(used, names))
            notes.append(f"shades: {'warp' if self.several_blocks and self.several_warps else 'thread'} modulo {SHADES}")
        else:
            base = int(self.thread.flat[0]) // WARP * WARP
            quads = [int(quad) for quad in np.unique(self.hue)] if self.places.thread is not None else []
            swatches = tuple(
                (tuple(shade(quad, step) for step in range(SHADES)), f"T{_span(base + quad * _QUAD, base + quad * _QUAD + 3)}")
                for quad in quads
            )
        words = ["T: thread"] if self.places.thread is not None else []
        words += [self._registers(marks)] if self.in_registers else []
        return Legend(swatches, (", ".join(words), *notes) if words else tuple(notes))

    def _registers(self, marks: Sequence[Mark]) -> str:
        if self.places.unit != "bit":
            return "R: register, one for each element"
        parts = any("." in mark.lines[-1] for mark in marks)
        return f"R: register of {self.container} bits{', R0.1: element 1 in it' if parts else ''}"


def _every(hue: int, most: int) -> str:
    """The numbers that a hue stands for."""
    numbers = [str(number) for number in range(hue, most + 1, len(HUES))]
    return ", ".join(numbers) if len(numbers) < 4 else f"{numbers[0]}, {numbers[1]}, ... {numbers[-1]}"


# ---- memory -------------------------------------------------------------------------------------------------------------


class _Memory(Saying):
    """Common to banks and addresses: positions in bytes, coloured by 16-byte pieces of 128 bytes."""

    def __init__(self, places: Places) -> None:
        super().__init__(places)
        if places.thread is not None:
            raise LayoutError(f"{places.layout!r} is of registers: its elements are in threads, not at addresses", legal='by="owner"')
        if places.in_tensor_memory:
            raise LayoutError(f"{places.layout!r} is of tensor memory, which has lanes and columns, no banks", legal='by="address"')

    def _within(self, bits: int) -> np.ndarray:
        """Where the next column's element follows in the same piece of so many bits."""
        return self._follow() & self._same(self.places.m // bits)


class _Bank(_Memory):
    """Banks of shared memory: 32 of them, four bytes wide."""

    def __init__(self, places: Places) -> None:
        super().__init__(places)
        if places.bits is None:
            raise LayoutError("a bank is four bytes wide, and nothing says how many bits an element has", legal="bits=16, for example")

    def joins(self, coarse: bool) -> np.ndarray:
        return _all_rows(self._within(_CHUNK_BITS if coarse else _BANK_BITS))

    def mark(self, copy: int, row: int, first: int, last: int) -> Mark:
        assert self.places.bits is not None
        begin = int(self.places.m[copy, row, first])
        end = int(self.places.m[copy, row, last]) + self.places.bits - 1
        bank, words = begin // _BANK_BITS % _BANKS, end // _BANK_BITS - begin // _BANK_BITS
        text = _span(bank, (bank + words) % _BANKS)
        whole = words % _QUAD == _QUAD - 1  # a piece of 16 bytes has the full colour
        block = self._block((copy, row, first))
        return Mark((*block, text), " ".join((*block, f"bank {text}")), shade(bank // _QUAD, 0 if whole else bank % _QUAD))

    def legend(self, marks: Sequence[Mark]) -> Legend:
        used = sorted({int(bank) // _QUAD for bank in np.unique(self.places.m // _BANK_BITS % _BANKS)})
        swatches = tuple((tuple(shade(hue, step) for step in range(SHADES)), _span(hue * _QUAD, hue * _QUAD + 3)) for hue in used)
        return Legend(swatches, (f"numbers: banks of shared memory, {_BANKS} of four bytes each",))


class _Address(_Memory):
    """Bytes behind the tile's first, or elements where nothing says how wide they are."""

    def joins(self, coarse: bool) -> np.ndarray:
        if self.places.unit == "bit" and (coarse or self.places.layout.swizzle is not None):  # a swizzle moves such pieces
            return _all_rows(self._within(_CHUNK_BITS))
        if not coarse:
            return np.zeros(self.places.shape[2] - 1, np.bool_)
        columns = np.arange(1, self.places.shape[2])
        return _all_rows(self._follow() & self._same() & (columns % _RUN != 0))

    def mark(self, copy: int, row: int, first: int, last: int) -> Mark:
        begin = int(self.places.m[copy, row, first])
        block = self._block((copy, row, first))
        if self.places.unit != "bit":
            least, most = int(self.places.m.min()), int(self.places.m.max())
            colour = ramp((begin - least) / max(1, most - least))
            return Mark((*block, str(begin)), " ".join((*block, f"position {_span(begin, begin + last - first)}")), colour)
        byte, bit = divmod(begin, 8)
        text = f"{byte}.{bit}" if bit else str(byte)
        sentence = f"byte {byte} bit {bit}" if bit else f"byte {byte}"
        return Mark((*block, text), " ".join((*block, sentence)), shade(byte // (_CHUNK_BITS // 8), 0))

    def legend(self, marks: Sequence[Mark]) -> Legend:
        if self.places.unit != "bit":
            least, most = int(self.places.m.min()), int(self.places.m.max())
            colours = tuple(ramp(part / 7) for part in range(8))
            return Legend(((colours, f"{least} to {most}"),), ("numbers: positions in elements",))
        used = sorted({int(chunk) % len(HUES) for chunk in np.unique(self.places.m // _CHUNK_BITS)})
        swatches = tuple(((shade(hue, 0),), _span(hue * 16, hue * 16 + 15)) for hue in used)
        point = ", 3.4 is bit 4 of byte 3" if (self.places.m % 8).any() else ""
        return Legend(swatches, (f"numbers: bytes from the tile's start{point}; colours: bytes modulo 128",))


class _Cell(Saying):
    """Lanes and columns of tensor memory, which each warp reaches 32 lanes of."""

    def parts(self) -> np.ndarray | None:
        lanes = self.places.others.get(TLane)
        return None if lanes is None else lanes // WARP

    def joins(self, coarse: bool) -> np.ndarray:
        return np.zeros(self.places.shape[2] - 1, np.bool_)

    def mark(self, copy: int, row: int, first: int, last: int) -> Mark:
        at = copy, row, first
        lane, column = (int(values[at]) if values is not None else 0 for values in map(self.places.others.get, (TLane, TCol)))
        inside = int(self.places.m[at])
        lines = (*self._block(at), f"L{lane}", f"C{column}", *([f"+{inside}"] if inside else []))
        return Mark(lines, " ".join(lines), shade(lane // WARP, column))

    def legend(self, marks: Sequence[Mark]) -> Legend:
        lanes = self.places.others.get(TLane)
        used = sorted({int(lane) // WARP for lane in np.unique(lanes)}) if lanes is not None else [0]
        swatches = tuple(
            (tuple(shade(hue, step) for step in range(SHADES)), f"lanes {_span(hue * WARP, hue * WARP + WARP - 1)}") for hue in used
        )
        inside = f"; + {self.places.unit}s inside a column" if self.places.m.any() else ""
        return Legend(swatches, (f"L: lane, C: column of tensor memory{inside}; shades: column modulo {SHADES}",))
