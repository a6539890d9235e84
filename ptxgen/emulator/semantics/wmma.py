"""Products of whole matrices by one warp (ISA 9.7.16.4).

The ISA leaves the fragments open; here they are what ptxas makes of them for sm_90. Lane 4 * g + t holds rows (columns, of b) g, g + 8,
..., and
along k, or along the rows of the result, the elements that follow t: as in the fragments of mma. A product of 8 x 32 is computed as the
transpose of one of 32 x 8, so that its fragments lie the other way round. Registers of f16 factors beyond those that this takes hold the
elements once more. What lies in registers differs on other targets, what is stored does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxgen.emulator.collectives import Members
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.memory import Access
from ptxgen.emulator.numerics import float_op, matrix_product
from ptxgen.emulator.numerics.matrix import ELEMENT_BITS
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.matrix import aligned
from ptxgen.emulator.semantics.table import control
from ptxgen.emulator.threads import WARP
from ptxgen.emulator.variables import extents
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import Type, type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__: list[str] = []

_BITS = {**ELEMENT_BITS, "f32": 32, "s32": 32}


class _Fragment(NamedTuple):
    """Where a lane's registers hold a matrix: for each lane, register and element in it (lowest first), its row and column."""

    shape: tuple[int, int]
    row: Array
    column: Array


@lru_cache(maxsize=None)
def _fragment(matrix: str, m: int, n: int, k: int, name: str, registers: int) -> _Fragment:
    """`matrix` is ``"a"`` (m x k), ``"b"`` (k x n) or ``"c"`` (m x n, d too)."""
    turned = (m, n) == (8, 32)
    each = max(32 // _BITS[name], 1)
    lane, number, element = np.indices((WARP, registers, each))
    g, t = lane // 4, lane % 4
    if matrix == "c":
        along, block = (m, n) if not turned else (n, m), number if name == "f16" else number // 2
        high = block % (along[0] // 8) * 8 + g
        low = block // (along[0] // 8) * 8 + 2 * t + (element if name == "f16" else number % 2)
        return _Fragment((m, n), *((low, high) if turned else (high, low)))
    outer = m if matrix == "a" else n
    steps = k // (4 * each)
    number = number % max(outer * k // (each * WARP), 1)  # of f16, the rest once more
    pairs = 2 if outer % 16 == 0 and (matrix == "a") != turned else 1
    high = number // (pairs * steps) * 8 * pairs + number % pairs * 8 + g
    low = (number // pairs % steps * 4 + t) * each + element
    return _Fragment((m, k), high, low) if matrix == "a" else _Fragment((k, n), low, high)


def _extents(match: Match) -> tuple[int, int, int]:
    m, _, rest = match.value(".shape")[1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k)


def _register(name: str) -> Type:
    return type_named("f64" if name == "f64" else "b32")


# ---- memory -----------------------------------------------------------------------------------------------------------


class _Place:
    """Addresses of a fragment's elements: where the matrix begins, how far apart its rows or columns lie."""

    def __init__(self, low: Lowering, matrix: str, name: str, registers: int) -> None:
        assert isinstance(low.statement, Instruction)
        match = low.match
        self.fragment = _fragment(matrix, *_extents(match), name, registers)
        self.by_rows = match.value(".layout") == "row"
        self.bits = _BITS[name]
        self.each = self.fragment.row.shape[-1] if self.bits >= 8 else 1  # of smaller ones, a word at a time
        space, self.address = low.address(low.named["p"], match.value(".ss").partition("::")[0])
        self.access = Access(low.statement, space, max(self.bits, 32) // 8 if self.bits < 8 else self.bits // 8, 1, extents(low.code.frame))
        rows, columns = self.fragment.shape
        default = columns if self.by_rows else rows
        stride = low.source(low.named["stride"], type_named("u32")) if "stride" in low.named else None
        self.stride = stride or (lambda wave, frame, index: np.array([default], np.uint32))

    def check(self, wave: Wave, members: Members, addresses: Array, stride: Array) -> None:
        """Report warps whose lanes do not agree on where the matrix lies."""
        for what, values in (("addresses", addresses), ("strides", stride)):
            spread = members.spread(np.broadcast_to(values, members.count))
            torn = (members.present & (spread != spread[:, :1])).any(axis=1)[members.row]
            if torn.any():
                message = f"lanes of one warp give different {what} of a matrix that they load or store together"
                wave.reports.add("collective", message, self.access.statement, wave.threads, wave.indices(members.index)[torn])

    def where(self, lane: Array, addresses: Array, stride: Array, register: int, element: int) -> Array:
        row, column = self.fragment.row[lane, register, element], self.fragment.column[lane, register, element]
        outer, inner = (row, column) if self.by_rows else (column, row)
        return addresses + (outer * stride.astype(np.int64) + inner) * self.bits // 8


@control("wmma", "wmma.load (a)", "wmma.load (b)", "wmma.load (c)")
def lower_load(low: Lowering) -> Control:
    matrix = low.match.entry.name[-2]
    name = low.match.value(".ctype" if matrix == "c" else ".abtype")
    of, items = _register(name), low.elements(low.named["r"])
    place = _Place(low, matrix, name, len(items))

    def compute(wave: Wave, members: Members, addresses: Array, stride: Array) -> tuple[Array, ...]:
        threads = wave.indices(members.index)
        place.check(wave, members, addresses, stride)
        results = []
        for register in range(len(items)):
            word: Any = np.zeros(members.count, np.uint64)
            for element in range(place.each):
                where = place.where(members.lane, addresses, stride, register, element)
                (value,) = wave.memory.load(place.access, where, threads, members.count)
                word |= value.astype(np.uint64) << np.uint64(element * place.bits)
            results.append(word.view(np.float64) if name == "f64" else word.astype(np.uint32))
        return tuple(results)

    return aligned(low, [place.address, place.stride], compute, [low.target(item, of) for item in items])


@control("wmma", "wmma.store")
def lower_store(low: Lowering) -> Control:
    name = low.match.value(".dtype")
    gets = low.sources(low.named["r"], _register(name))
    place = _Place(low, "c", name, len(gets))
    unsigned: Any = {16: np.uint16, 32: np.uint32, 64: np.uint64}[place.bits]

    def compute(wave: Wave, members: Members, addresses: Array, stride: Array, *registers: Array) -> tuple[Array, ...]:
        threads = wave.indices(members.index)
        place.check(wave, members, addresses, stride)
        for number, register in enumerate(registers):
            parts = np.ascontiguousarray(np.broadcast_to(register, members.count)).view(unsigned).reshape(members.count, -1)
            for element in range(place.each):
                where = place.where(members.lane, addresses, stride, number, element)
                wave.memory.store(place.access, where, [np.ascontiguousarray(parts[:, element])], threads, members.count)
        return ()

    return aligned(low, [place.address, place.stride, *gets], compute, [])


# ---- products ---------------------------------------------------------------------------------------------------------

_STORED: dict[str, Any] = {
    "f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f64": np.float64, "s8": np.int8, "u8": np.uint8,
}  # fmt: skip
_SUMS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s32": np.int32}


def _elements(registers: Array, name: str, sums: bool) -> Array:
    """Registers of shape (warps, 32, count) as elements on a new last axis: of a factor, as patterns where they are narrow floats."""
    stored = (_SUMS if sums else _STORED).get(name)
    if stored is not None:
        return registers.view(stored).reshape(*registers.shape, -1)
    octets = registers.view(np.uint8).reshape(*registers.shape, 4)
    if name == "b1":
        return np.unpackbits(octets, axis=-1, bitorder="little")
    nibbles = np.stack((octets & 15, octets >> 4), axis=-1).reshape(*registers.shape, 8)
    return (nibbles ^ 8).astype(np.int8) - np.int8(8) if name == "s4" else nibbles


def _matrix(registers: list[Array], fragment: _Fragment, name: str, sums: bool) -> Array:
    """Registers of shape (warps, 32) as matrices."""
    elements = _elements(np.ascontiguousarray(np.stack(registers, axis=-1)), name, sums)
    dense = np.empty((len(elements), *fragment.shape), elements.dtype)
    dense[:, fragment.row, fragment.column] = elements
    return dense


def _words(matrix: Array, fragment: _Fragment) -> list[Array]:
    """The inverse: registers of shape (warps, 32)."""
    elements = np.ascontiguousarray(matrix[:, fragment.row, fragment.column])
    words = elements[..., 0] if elements.dtype == np.float64 else elements.view(np.uint32)[..., 0]
    return [np.ascontiguousarray(words[:, :, number]) for number in range(words.shape[-1])]


def _multiply(match: Match, into: str) -> Callable[[Array, Array, Array], Array]:
    factor = match.value(".atype") or "f16"
    if match.value(".rnd") not in ("", "rn"):
        return _rounded(float_op("fma", "f64", rounding=match.value(".rnd")))
    return matrix_product(factor, factor, into, satfinite=".satfinite" in match.bindings, bit_op=match.value(".op") or "and")


def _rounded(fma: Callable[..., Array]) -> Callable[[Array, Array, Array], Array]:
    """A chain of fused multiply-adds, k ascending from c; a is (w, m, k), b (w, n, k)."""

    def product(a: Array, b: Array, c: Array) -> Array:
        total = c.reshape(-1)
        for k in range(a.shape[2]):
            left = np.broadcast_to(a[:, :, k, None], c.shape).reshape(-1)
            right = np.broadcast_to(b[:, None, :, k], c.shape).reshape(-1)
            total = fma(left, right, total)
        return total.reshape(c.shape)

    return product


@control("wmma", "wmma.mma (f16)", "wmma.mma (bf16, tf32)", "wmma.mma (f64)", "wmma.mma (s8, u8)", "wmma.mma (s4, u4)", "wmma.mma (b1)")
def lower_product(low: Lowering) -> Control:
    """Sums of f16 are taken in .f32 where c or d is; only at the end they are rounded to .f16."""
    match = low.match
    factor, into, added = match.value(".atype") or "f16", match.value(".dtype"), match.value(".ctype")
    sums = "f16" if into == added == "f16" else "f32" if "f32" in (into, added) else into
    product = _multiply(match, sums)
    of = _register(into)
    groups = [low.sources(low.named[name], of) for name in "abc"]
    names = (factor, factor, added)
    images = [_fragment(matrix, *_extents(match), name, len(group)) for matrix, name, group in zip("abc", names, groups)]
    puts = [low.target(item, of) for item in low.elements(low.named["d"])]
    image_d = _fragment("c", *_extents(match), into, len(puts))
    bounds = np.cumsum([0, *map(len, groups)])

    def compute(wave: Wave, members: Members, *values: Array) -> tuple[Array, ...]:
        registers = [members.spread(value) for value in values]
        a, b, c = (_matrix(registers[bounds[at] : bounds[at + 1]], images[at], names[at], at == 2) for at in range(3))
        with np.errstate(over="ignore", invalid="ignore"):
            result = product(a, np.ascontiguousarray(b.swapaxes(1, 2)), c.astype(_SUMS[sums])).astype(_SUMS[into])
        return tuple(members.collect(one) for one in _words(result, image_d))

    return aligned(low, [get for group in groups for get in group], compute, puts)
