"""Matrices of one warp (ISA "ldmatrix", "stmatrix", "movmatrix", "mma"): moves, and products of register fragments.

Lane 4 * g + t of a warp holds of row g (of a, c and d), or of column g (of b), the elements that follow t; `numerics.matrix` says how
sums are rounded. Everything here works on all warps of a group at once, as arrays of shape (warps, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxgen.emulator.collectives import Exchange, Members
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.memory import Access
from ptxgen.emulator.numerics import matrix_product
from ptxgen.emulator.numerics.matrix import ELEMENT_BITS, chained_product
from ptxgen.emulator.operands import Array, Get, Put
from ptxgen.emulator.semantics.table import control
from ptxgen.emulator.threads import WARP
from ptxgen.emulator.variables import extents
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Group, Wave

ROWS = 8
"""Rows of a matrix that ldmatrix and stmatrix move; a row has four words of 32 bits."""


def aligned(low: Lowering, gets: list[Get], compute: Callable[..., tuple[Array, ...]], puts: list[Put]) -> Control:
    """An instruction that the whole warp executes: what `gets` read goes through `compute` to `puts`."""
    assert isinstance(low.statement, Instruction)
    statement = low.statement

    def put(wave: Wave, frame: Frame, index: Any, results: tuple[Array, ...]) -> None:
        for store, result in zip(puts, results):
            store(wave, frame, index, result)

    exchange = Exchange(("aligned", id(statement)), compute, put, aligned=True)

    def arrive(wave: Wave, group: Group) -> list[Group]:
        frame, index = wave.frame(group), group.index
        values = [get(wave, frame, index) for get in gets]
        return wave.collectives.arrive(group, exchange, None, values, statement)

    return arrive


# ---- moves ------------------------------------------------------------------------------------------------------------


class _Bytes(NamedTuple):
    """How lanes hold a matrix of bytes, 16 in each row.

    Attributes
    ----------
    rows : int
        Rows in memory.
    row, column : array of shape (32, bytes)
        For each byte of a lane's registers of one matrix, where it lies in memory.
    """

    rows: int
    row: Array
    column: Array


def _bytes_of(rows: int, count: int, place: Callable[[Array, Array, Array], tuple[Array, Array]]) -> _Bytes:
    lane, byte = np.indices((WARP, count))
    return _Bytes(rows, *place(lane // 4, lane % 4, byte))


_BYTES = {
    "m16n16": _bytes_of(16, 8, lambda g, t, i: (4 * t + i % 4, g + i // 4 * 8)),
    "m8n16": _bytes_of(8, 4, lambda g, t, i: (g, 4 * t + i)),
    "m16n8": _bytes_of(8, 4, lambda g, t, i: (2 * t + i % 2, g + i // 2 * 8)),
}
_PACKED = {"b6x16_p32": (6, 3), "b4x16_p64": (4, 2)}
"""Bits of an element in memory, and words of a row that hold elements; padding fills the rest of its 16 bytes."""


def _shape(low: Lowering) -> _Bytes | None:
    """How lanes hold matrices of bytes; None for 8 x 8 matrices of 16 bits."""
    return next((_BYTES[part] for part in low.match.opcode.split(".") if part in _BYTES), None)


def _row_addresses(low: Lowering, rows: int) -> tuple[Access, Get]:
    """The access to one row, and the addresses: of the lanes that give one; the others' registers are not looked at."""
    assert isinstance(low.statement, Instruction)
    space = low.match.value(".ss").partition("::")[0]
    space, get = low.address(low.named["p"], space)
    access = Access(low.statement, space, 4, 4, extents(low.code.frame))
    if rows == WARP:
        return access, get

    def address(wave: Wave, frame: Frame, index: Any) -> Array:
        giving = wave.threads.lane < rows if index is None else wave.threads.lane[index] < rows
        asked = np.flatnonzero(giving) if index is None else index[giving]
        found = np.zeros(len(giving), np.int64)
        found[giving] = get(wave, frame, asked)
        return found

    return access, address


def _givers(members: Members, addresses: Array, rows: int, index: Array) -> tuple[Array, Array, Array]:
    """Of the lanes that give an address: flags among the members, thread indices, addresses."""
    giving = members.lane < rows
    where = addresses if len(addresses) == members.count else np.broadcast_to(addresses, members.count)
    return giving, index[giving], where[giving]


@control("matrix", "ldmatrix")
def lower_load(low: Lowering) -> Control:
    shape, count = _shape(low), int(low.match.value(".num")[1:])
    height = ROWS if shape is None else shape.rows
    rows = count * height
    transposed = ".trans" in low.match.bindings
    access, address = _row_addresses(low, rows)
    bits, words = _PACKED.get(low.match.value(".src_fmt"), (8, 4))
    parts = [access] if words == 4 else [Access(access.statement, access.space, 4, part, access.frame) for part in (2, 1)[: words - 1]]
    puts = [low.target(item, type_named("b32")) for item in low.elements(low.named["r"])]

    def read(wave: Wave, where: Array, threads: Array) -> list[Array]:
        """The words of rows that hold elements; the whole of a row must be in memory and aligned."""
        if words == 4:
            return wave.memory.load(access, where, threads, len(threads))
        found = [np.zeros(len(threads), np.uint32) for _ in range(4)]
        for chosen, _, _ in wave.memory.places(access, where, threads, len(threads)):
            good = slice(None) if chosen is None else chosen
            loaded = [wave.memory.load(part, where[good] + 8 * at, threads[good], len(threads[good])) for at, part in enumerate(parts)]
            for word, values in enumerate(values for part in loaded for values in part):
                found[word][good] = values
        return found

    def compute(wave: Wave, members: Members, addresses: Array) -> tuple[Array, ...]:
        giving, threads, where = _givers(members, addresses, rows, wave.indices(members.index))
        dense = np.zeros((members.rows, rows, 4), np.uint32)
        dense[members.row[giving], members.lane[giving]] = np.stack(read(wave, where, threads), axis=-1)
        matrices = dense.reshape(members.rows, count, height, 4)
        if shape is not None:
            held = _widened(matrices.view(np.uint8), bits)[:, :, shape.row, shape.column]
            own = np.ascontiguousarray(held).view(np.uint32)  # (warps, matrices, lanes, registers)
            return tuple(members.collect(own[:, number, :, one]) for number in range(count) for one in range(own.shape[-1]))
        if transposed:
            matrices = _transposed(matrices)
        return tuple(members.collect(matrices[:, number].reshape(members.rows, WARP)) for number in range(count))

    return aligned(low, [address], compute, puts)


def _widened(rows: Array, bits: int) -> Array:
    """Rows of 16 bytes, whose first bits are 16 elements, as these elements, each in the lower bits of its own byte."""
    if bits == 8:
        return rows
    elements = np.unpackbits(rows, axis=-1, bitorder="little")[..., : 16 * bits].reshape(*rows.shape, bits)
    return (elements << np.arange(bits, dtype=np.uint8)).sum(-1, dtype=np.uint8)


def _transposed(words: Array) -> Array:
    """8 x 8 matrices of 16 bits, as words of shape (..., 8, 4), with rows and columns exchanged."""
    elements = np.ascontiguousarray(words).view(np.uint16)
    return np.ascontiguousarray(elements.swapaxes(-1, -2)).view(np.uint32)


@control("matrix", "stmatrix")
def lower_store(low: Lowering) -> Control:
    shape, count = _shape(low), int(low.match.value(".num")[1:])
    rows = count * ROWS
    transposed = ".trans" in low.match.bindings
    access, address = _row_addresses(low, rows)
    gets = low.sources(low.named["r"], type_named("b32"))

    def compute(wave: Wave, members: Members, addresses: Array, *registers: Array) -> tuple[Array, ...]:
        giving, threads, where = _givers(members, addresses, rows, wave.indices(members.index))
        held = np.stack([members.spread(one) for one in registers], axis=1)  # (warps, matrices, lanes)
        matrices = held.reshape(-1, count, ROWS, 4)
        if shape is not None:
            octets = np.empty((len(held), count, ROWS, 16), np.uint8)
            octets[:, :, shape.row, shape.column] = np.ascontiguousarray(held).view(np.uint8).reshape(*held.shape, 4)
            matrices = octets.view(np.uint32)
        elif transposed:
            matrices = _transposed(matrices)
        words = matrices.reshape(members.rows, rows, 4)[members.row[giving], members.lane[giving]]
        wave.memory.store(access, where, list(np.ascontiguousarray(words.T)), threads, len(threads))
        return ()

    return aligned(low, [address, *gets], compute, [])


@control("matrix", "movmatrix")
def lower_transpose(low: Lowering) -> Control:
    b32 = type_named("b32")

    def compute(wave: Wave, members: Members, a: Array) -> tuple[Array, ...]:
        return (members.collect(_transposed(members.spread(a).reshape(-1, ROWS, 4)).reshape(-1, WARP)),)

    return aligned(low, [low.source(low.named["a"], b32)], compute, [low.target(low.named["d"], b32)])


# ---- products ---------------------------------------------------------------------------------------------------------

_STORED: dict[str, Any] = {
    "f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f64": np.float64, "s8": np.int8, "u8": np.uint8,
}  # fmt: skip
_ACCUMULATORS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s32": np.int32}


def _elements(registers: Array, name: str) -> Array:
    """The elements of registers of shape (...), lowest first, on a new last axis."""
    if ELEMENT_BITS[name] >= 8:
        stored = np.dtype(_STORED.get(name, np.uint8))
        return np.ascontiguousarray(registers).view(stored).reshape(*registers.shape, registers.itemsize // stored.itemsize)
    octets = np.ascontiguousarray(registers).view(np.uint8).reshape(*registers.shape, registers.itemsize)
    if name == "b1":
        return np.unpackbits(octets, axis=-1, bitorder="little")
    nibbles = np.stack((octets & 15, octets >> 4), axis=-1).reshape(*registers.shape, 2 * registers.itemsize)
    return (nibbles ^ 8).astype(np.int8) - np.int8(8) if name == "s4" else nibbles


def fragment_a(registers: list[Array], name: str, halves: int) -> Array:
    """Registers of shape (warps, 32) as a, shape (warps, m, k): register r holds rows g + 8 * (r % halves), and with growing r // halves
    the next four lanes' worth of columns."""
    parts = [_elements(one.reshape(-1, ROWS, 4), name) for one in registers]
    warps, each = len(parts[0]), parts[0].shape[-1]
    steps = len(parts) // halves
    matrix = np.empty((warps, halves, ROWS, steps, 4, each), parts[0].dtype)
    for number, part in enumerate(parts):
        matrix[:, number % halves, :, number // halves] = part
    return matrix.reshape(warps, halves * ROWS, steps * 4 * each)


def fragment_b(registers: list[Array], name: str) -> Array:
    """Registers of shape (warps, 32) as b, written (warps, n, k)."""
    return fragment_a(registers, name, 1)


def in_byte(patterns: Array, name: str) -> Array:
    """Elements as patterns in the low bits: those of 4 bits that have a byte each lie in its bits 2 to 5."""
    return patterns >> 2 if name == "e2m1" else patterns


def fragment_c(registers: list[Array], name: str, halves: int) -> Array:
    """Registers of shape (warps, 32) as c, shape (warps, m, 8): each lane holds two neighbours of row g, then of row g + 8."""
    dtype = _ACCUMULATORS[name]
    if name == "f16":
        pairs = [np.ascontiguousarray(one).view(dtype).reshape(-1, ROWS, 8) for one in registers]
        return np.concatenate(pairs, axis=1)
    matrix = np.empty((len(registers[0]), halves, ROWS, 4, 2), dtype)
    for number, one in enumerate(registers):
        matrix[:, number // 2, :, :, number % 2] = one.view(dtype).reshape(-1, ROWS, 4)
    return matrix.reshape(-1, halves * ROWS, 8)


def registers_of_d(matrix: Array, name: str, halves: int) -> list[Array]:
    """The inverse of `fragment_c`: registers of shape (warps, 32), as untyped bits."""
    rows = np.ascontiguousarray(matrix).reshape(-1, halves, ROWS, 4, 2)
    if name == "f16":
        return [np.ascontiguousarray(rows[:, half]).view(np.uint32).reshape(-1, WARP) for half in range(halves)]
    unsigned = np.uint64 if name == "f64" else np.uint32
    return [np.ascontiguousarray(rows[:, half, :, :, side]).view(unsigned).reshape(-1, WARP) for half in range(halves) for side in range(2)]


@control(
    "matrix", "mma (f16)", "mma (bf16, tf32)", "mma (e4m3, e5m2)", "mma (f8f6f4)", "mma (f64)", "mma (s8, u8)", "mma (s4, u4)", "mma (b1)"
)
def lower_product(low: Lowering) -> Control:
    match = low.match
    a, b, accumulator = match.value(".atype"), match.value(".btype"), match.value(".dtype")
    halves = 1 if match.value(".shape").startswith("m8") else 2
    blackwell = ".kind" in match.bindings
    product = matrix_product(
        a, b, accumulator, unit="tcgen05" if blackwell else "mma", satfinite=".satfinite" in match.bindings,
        bit_op=match.value(".bitOp") or "and",
    )  # fmt: skip
    of = type_named("f64" if accumulator == "f64" else "b32")
    groups = [low.sources(low.named[name], of) for name in "abc"]
    first, second = len(groups[0]), len(groups[0]) + len(groups[1])
    puts = [low.target(item, of) for item in low.elements(low.named["d"])]

    def compute(wave: Wave, members: Members, *values: Array) -> tuple[Array, ...]:
        registers = [members.spread(value) for value in values]
        left = in_byte(fragment_a(registers[:first], a, halves), a)
        right = in_byte(fragment_b(registers[first:second], b), b)
        result = product(left, right, fragment_c(registers[second:], accumulator, halves))
        return tuple(members.collect(one) for one in registers_of_d(result, accumulator, halves))

    return aligned(low, [get for group in groups for get in group], compute, puts)


# ---- four products of m8n8k4 ------------------------------------------------------------------------------------------

_LANE = np.arange(WARP)
_QUARTER, _HALF, _MEMBER = _LANE % 16 // 4, _LANE // 16, _LANE % 4
_QUARTERS = 4


def _places(row_of: Callable[[int], Array], column_of: Callable[[int], Array], count: int) -> tuple[Array, Array, Array]:
    """Product, row and column of element i of every lane: arrays of shape (32, count)."""
    steps = range(count)
    rows = np.stack([np.broadcast_to(row_of(i), WARP) for i in steps], axis=1)
    columns = np.stack([np.broadcast_to(column_of(i), WARP) for i in steps], axis=1)
    return np.broadcast_to(_QUARTER[:, None], rows.shape), rows, columns


def _quarter_inputs(along_k: bool) -> tuple[Array, Array, Array]:
    """Where a (as m, k) and b (as n, k) have the four elements of a lane: along k, or across it."""
    if along_k:
        return _places(lambda i: 4 * _HALF + _MEMBER, lambda i: np.array(i), 4)
    return _places(lambda i: 4 * _HALF + i, lambda i: _MEMBER, 4)


def _quarter_sums(name: str) -> tuple[Array, Array, Array]:
    """Where c and d have the eight elements of a lane."""
    if name == "f16":
        return _places(lambda i: 4 * _HALF + _MEMBER, lambda i: np.array(i), 8)
    return _places(lambda i: 4 * _HALF + (_MEMBER & 1) + (i & 2), lambda i: (i & 4) + (_MEMBER & 2) + (i & 1), 8)


@control("matrix", "mma (four products of f16)")
def lower_quarters(low: Lowering) -> Control:
    match, b32 = low.match, type_named("b32")
    into_d, into_c = match.value(".dtype"), match.value(".ctype")
    product = chained_product(into_d)
    shapes = (8, 4), (8, 4), (8, 8)
    images = (
        _quarter_inputs(match.value(".alayout") == "row"),
        _quarter_inputs(match.value(".blayout") == "col"),
        _quarter_sums(into_c),
    )
    stored = np.uint16, np.uint16, _ACCUMULATORS[into_c]
    groups = [low.sources(low.named[name], b32) for name in "abc"]
    puts = [low.target(item, b32) for item in low.elements(low.named["d"])]
    bounds = np.cumsum([0, *(len(group) for group in groups)])
    quarter, rows, columns = _quarter_sums(into_d)

    def compute(wave: Wave, members: Members, *values: Array) -> tuple[Array, ...]:
        registers = [np.ascontiguousarray(members.spread(value)) for value in values]
        operands = []
        for shape, image, dtype, start, stop in zip(shapes, images, stored, bounds, bounds[1:]):
            elements = np.stack(registers[start:stop], axis=-1).view(dtype)
            matrix = np.empty((members.rows, _QUARTERS, *shape), dtype)
            matrix[:, image[0], image[1], image[2]] = elements
            operands.append(matrix.reshape(-1, *shape))
        sums = product(*operands).reshape(members.rows, _QUARTERS, 8, 8)
        words = np.ascontiguousarray(sums[:, quarter, rows, columns]).view(np.uint32)
        return tuple(members.collect(np.ascontiguousarray(words[..., number])) for number in range(words.shape[-1]))

    return aligned(low, [get for group in groups for get in group], compute, puts)
