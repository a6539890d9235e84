"""Where variables lie: sizes and alignments of declarations, layout of a space, bytes of initialisers (ISA 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ptxgen.instructions.types import type_named
from ptxgen.ir import Float, Int, SymbolRef, Variable
from ptxgen.layouts.errors import PtxgenError

__all__ = ["Layout", "Placed", "alignment_of", "element_bytes", "extents", "initial_bytes", "size_of"]


def element_bytes(variable: Variable) -> int:
    """Bytes of one scalar element, vectors taken apart."""
    return max(type_named(variable.type).bits // 8, 1)


def size_of(variable: Variable) -> int:
    """Bytes of a variable; an open first extent counts what its initialiser holds."""
    dims = [_open_extent(variable) if extent is None else extent for extent in variable.dims]
    return element_bytes(variable) * (variable.vector or 1) * prod(dims)


def alignment_of(variable: Variable) -> int:
    return variable.align or element_bytes(variable) * (variable.vector or 1)


def _open_extent(variable: Variable) -> int:
    return len(variable.init) if isinstance(variable.init, tuple) else 0


class Placed:
    """A variable at an offset in its space."""

    __slots__ = ("name", "offset", "size", "variable")

    def __init__(self, variable: Variable, offset: int) -> None:
        self.variable = variable
        self.name = variable.name
        self.offset = offset
        self.size = size_of(variable)


class Layout:
    """Places variables one behind the other. `first` is the address of the window's first byte: alignment is that of addresses."""

    __slots__ = ("first", "placed", "size")

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.placed: list[Placed] = []
        self.size = 0

    def aligned(self, align: int) -> int:
        """The next offset whose address is a multiple of `align`."""
        return -(-(self.first + self.size) // align) * align - self.first

    def add(self, variable: Variable) -> Placed:
        placed = Placed(variable, self.aligned(alignment_of(variable)))
        self.placed.append(placed)
        self.size = placed.offset + placed.size
        return placed


def extents(layout: Layout) -> list[tuple[int, int, str]]:
    """Offset, bytes and name of what a layout has placed."""
    return [(placed.offset, placed.size, placed.name) for placed in layout.placed]


def initial_bytes(variable: Variable, address: Callable[[SymbolRef], int]) -> bytes:
    """The bytes that a variable starts with: its initialiser, and zeros where that says nothing.

    Parameters
    ----------
    variable : Variable
    address : callable
        The number that a symbol stands for.
    """
    size = size_of(variable)
    if variable.init is None:
        return bytes(size)
    width = element_bytes(variable)
    dims = [_open_extent(variable) if extent is None else extent for extent in variable.dims]
    if variable.vector:
        dims.append(variable.vector)
    made = _nested(variable.init, dims, width, variable, address)
    return made + bytes(size - len(made))


def _nested(init: Any, dims: list[int], width: int, variable: Variable, address: Callable[[SymbolRef], int]) -> bytes:
    if not isinstance(init, tuple):
        return _scalar(init, width, variable, address)
    inner = prod(dims[1:]) * width
    parts = []
    for item in init:
        part = _nested(item, dims[1:], width, variable, address)
        if isinstance(item, tuple):
            part += bytes(inner - len(part))
        parts.append(part)
    return b"".join(parts)


def _scalar(init: Any, width: int, variable: Variable, address: Callable[[SymbolRef], int]) -> bytes:
    if isinstance(init, Int):
        return (init.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    if isinstance(init, Float):
        from ptxgen.emulator.operands import float_bits

        return float_bits(init, type_named(variable.type)).to_bytes(width, "little")
    if isinstance(init, SymbolRef):
        number = address(init)
        if init.mask is not None:
            number = (number & init.mask) >> ((init.mask & -init.mask).bit_length() - 1)
        return (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    raise PtxgenError(f"the initialiser of {variable.name} holds {init!r}, which the emulator cannot place (PTX ISA 5.4.4)")
