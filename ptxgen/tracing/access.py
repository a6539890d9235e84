"""What a raw instruction does to the memory behind a view: it must lie inside the view, and be aligned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any

from ptxgen.errors import InstructionError
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.layouts.axes import m
from ptxgen.layouts.expr import Expr
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.views import Memory, View

__all__ = ["check_access", "check_piece", "has_size", "sized_operands"]

_SIZE, _MEMORY = "size", "_mem"  # what contracts call a number of bytes, and the end of the names of the memory that it is for


def has_size(match: Match) -> bool:
    """Whether an operand may say how many bytes an instruction moves."""
    return _SIZE in match.entry.operands or (match.entry.tile is not None and bool(match.entry.tile.sized))


def sized_operands(match: Match, constants: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The memory operands of an instruction that moves a constant number of bytes, and that number."""
    tile, operands = match.entry.tile, match.entry.operands
    if tile is not None and tile.sized:
        for name, sizes in tile.sized.items():
            yield from ((name, int(size) if size.isdigit() else constants[size]) for size in sizes.split() if size in constants)
    elif _SIZE in constants:
        yield from ((name, constants[_SIZE]) for name in operands if name.endswith(_MEMORY))


def check_piece(match: Match, name: str, view: View, offset: int, nbytes: int) -> None:
    """Refuse an instruction that moves more bytes than a view has in one piece.

    Raises
    ------
    InstructionError
    """
    inside = _contiguous_bits(view)
    if offset >= 0 and (offset + nbytes) * 8 <= inside:
        return
    elements = -(-nbytes * 8 // view.dtype.bits)
    raise _refuse(
        match, name, f"{view!r} has {_bytes(inside)} in one piece where the instruction moves {_accessed(nbytes * 8, offset)}",
        rule="what an instruction moves lies inside the view that it is given, element behind element",
        example=f"byte {max(0, inside // 8 - offset)} of what it moves is none of the view's",
        legal=f"a view of {elements} elements in a row, or a smaller size",
    )  # fmt: skip


def check_access(match: Match, name: str, contract: Operand, view: View, offset: int) -> None:
    """Refuse an access, `offset` bytes behind a view's first element, that leaves the view or is not known to be aligned.

    Raises
    ------
    InstructionError
    """
    assert isinstance(view.storage, Memory)
    bits = match.type(contract.type).bits * match.count(contract.vector)
    inside = _contiguous_bits(view)
    if offset < 0 or offset * 8 + bits > inside:
        raise _refuse(
            match, name, f"{view!r} has {_bytes(inside)} in one piece where the instruction accesses {_accessed(bits, offset)}",
            rule="an access stays inside the view that it is given, whose bounds are proved",
            legal=f"a view of all that is accessed: x[i : i + {max(1, -(-(max(offset, 0) * 8 + bits) // view.dtype.bits))}]",
        )  # fmt: skip
    start = Expr.of(view.layout.offset[m]) + offset * 8
    known = gcd(view.storage.align * 8, start.divisor())
    if contract.align and known % (contract.align * 8):
        raise _misaligned(match, name, view, start, contract.align * 8)
    if view.layout.swizzle is not None:
        piece = view.layout.swizzle.granule * 8
        first = Expr.of(view.layout.offset[m])
        before = first.constant % piece if first.constant is not None else 0
        whole = piece if first.constant is not None else gcd(view.storage.align * 8, first.divisor(), piece)
        if offset and before + offset * 8 + bits > whole:
            raise _refuse(
                match, name, f"{view!r} is cut by its swizzle {_bytes(whole - before)} behind its first element",
                rule="an offset is added behind the swizzle, so it stays in the piece that the swizzle moves as one",
                legal="a view of the element itself: x[i, j]",
            )  # fmt: skip
        known = gcd(known, piece)
    if known % bits:
        raise _misaligned(match, name, view, start, bits)


def _misaligned(match: Match, name: str, view: View, start: Expr, bits: int) -> InstructionError:
    assert isinstance(view.storage, Memory)
    storage = assigned_name(view.storage.where) or view.storage.name
    if view.storage.align * 8 % bits:
        problem = f"is not known to be aligned: {storage} is a multiple of {view.storage.align} bytes"
        example = f"{storage} at address {0x1000 + view.storage.align:#x} fits its declaration"
        legal = f"declare {storage} with align={bits // 8}, or a narrower access"
    elif view.layout.swizzle is not None and view.layout.swizzle.granule * 8 % bits:
        problem, example = f"is cut by its swizzle, which keeps {view.layout.swizzle.granule} bytes together", ""
        legal = "a narrower access"
    else:
        known = start.divisor()
        problem = f"begins at a multiple of {_bytes(known)}" if start.constant is None else "is not aligned"
        example = f"byte offset {_offset(start)}"
        elements = bits // view.dtype.bits
        legal = f"a start in steps of {elements} elements, px.dim(..., multiple_of={elements}) for a stride, or a narrower access"
    rule = f"an access of {bits // 8} bytes is aligned to {bits // 8} bytes"
    return _refuse(match, name, f"{view!r} {problem}", rule=rule, example=example, legal=legal)


def _offset(start: Expr) -> str:
    """A position in bits as bytes, with the smallest values of its symbols that are not 0."""
    if start.constant is not None:
        return str(start.constant // 8)
    values = {symbol: max(symbol.divisor, symbol.lo or 0) for symbol in start.symbols}
    shown = ", ".join(f"{symbol.name} = {value}" for symbol, value in values.items())
    return f"{start.evaluate(values) // 8} for {shown}"


def _contiguous_bits(view: View) -> int:
    """How many bits from the first element on lie in one piece, as far as is known now."""
    total: Any = view.dtype.bits
    for dims in reversed(view.layout.dims):
        for extent, stride in reversed(tuple(dims)):
            if extent == 1:
                continue
            if not isinstance(extent, int) or Expr.of(stride[m]).constant != total:
                return int(total)
            total *= extent
    return int(total)


def _refuse(match: Match, name: str, problem: str, **parts: str) -> InstructionError:
    return InstructionError(problem, opcode=match.opcode, operand=name, section=match.entry.section, **parts)


def _accessed(bits: int, offset: int) -> str:
    return _bytes(bits) if not offset else f"{_bytes(bits)} at byte {offset}"


def _bytes(bits: int) -> str:
    return f"{bits // 8} byte{'' if bits == 8 else 's'}" if bits % 8 == 0 else f"{bits} bits"
