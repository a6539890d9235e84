"""Products of one warp with a sparse factor (ISA "Sparse matrix storage"): elements that are kept go where metadata puts them.

Metadata is four bits for every chunk of a row, in the order of chunks. Each lane that gives it has 32 bits: for elements of 16 and 32 bits
four chunks of row g and above them four of row g + 8; for narrower ones eight chunks of row g, and the next lane those of row g + 8.
The ISA shows this in figures; an H200 was asked, with random words in all lanes (tests/emulator/test_sparse_products.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.collectives import Members
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.numerics import matrix_product
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.matrix import ROWS, aligned, fragment_a, fragment_b, fragment_c, registers_of_d
from ptxgen.emulator.semantics.table import control
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Int

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

_LANES = {
    "mma.sp (floats, metadata from one lane of four)": 1,
    "mma.sp (floats, metadata from two lanes of four)": 2,
    "mma.sp (e4m3, e5m2)": 4,
    "mma.sp (f8f6f4)": 4,
    "mma.sp (integers, metadata from two lanes of four)": 2,
    "mma.sp (integers, metadata from all lanes)": 4,
}
"""How many lanes of every four give metadata."""
_WORD = 8
"""Chunks that the metadata of one lane tells of."""


@control("sparse", *_LANES)
def lower_sparse(low: Lowering) -> Control:
    match, b32 = low.match, type_named("b32")
    a, b, accumulator = match.value(".atype"), match.value(".btype"), match.value(".dtype")
    product = matrix_product(a, b, accumulator, satfinite=".satfinite" in match.bindings)
    groups = [low.sources(low.named[name], b32) for name in "abc"]
    first, second, third = (sum(map(len, groups[: count + 1])) for count in range(3))
    puts = [low.target(item, b32) for item in low.elements(low.named["d"])]
    selector, lanes = low.named["selector"], _LANES[match.entry.name]
    assert isinstance(selector, Int) and isinstance(low.statement, Instruction)
    statement, begin = low.statement, selector.value * lanes

    def compute(wave: Wave, members: Members, *values: Array) -> tuple[Array, ...]:
        registers = [members.spread(value) for value in values]
        kept = fragment_a(registers[:first], a, 2)
        chunks = _chunks(registers[third], begin, lanes, by_row=type_named(a).bits <= 8)
        places, valid = _pairs(chunks) if a == "tf32" else _quads(chunks, 2 if a in ("s4", "u4") else 1)
        if not valid.all():
            warp, row, chunk = map(int, np.argwhere(~valid)[0])
            bits = int(chunks[warp, row, chunk])
            message = f"the metadata of row {row}, chunk {chunk} is {bits:#06b}, which names no two different places"
            threads = wave.indices(members.index)[members.row == warp]
            wave.reports.add("metadata", message, statement, wave.threads, threads)
        dense = np.zeros((*kept.shape[:2], 2 * kept.shape[2]), kept.dtype)
        np.put_along_axis(dense, places, kept, axis=2)
        result = product(dense, fragment_b(registers[first:second], b), fragment_c(registers[second:third], accumulator, 2))
        return tuple(members.collect(one) for one in registers_of_d(result, accumulator, 2))

    return aligned(low, [get for group in groups for get in group] + [low.source(low.named["e"], b32)], compute, puts)


def _chunks(words: Array, begin: int, lanes: int, *, by_row: bool) -> Array:
    """Four bits for every chunk of every row: shape (warps, 16, chunks). With `by_row` a lane tells of one row, else of two."""
    own = np.ascontiguousarray(words).reshape(-1, ROWS, 4)[:, :, begin : begin + lanes]
    nibbles = own[..., None] >> np.arange(0, 4 * _WORD, 4, dtype=np.uint32) & 15  # warp, g, lane, chunk
    parted = nibbles.reshape(len(nibbles), ROWS, -1, 2, _WORD if by_row else _WORD // 2)  # ..., whether row g or g + 8, chunk
    return parted.transpose(0, 3, 1, 2, 4).reshape(len(nibbles), 2 * ROWS, -1)


def _quads(chunks: Array, each: int) -> tuple[Array, Array]:
    """Where in a row the two parts that are kept of four lie, each of so many elements: shape (warps, 16, k / 2); which chunks say so."""
    indices = np.stack((chunks & 3, chunks >> 2), axis=-1).astype(np.int64)
    parts = indices + 4 * np.arange(chunks.shape[2])[:, None]
    places = parts[..., None] * each + np.arange(each)
    return places.reshape(*chunks.shape[:2], -1), indices[..., 0] != indices[..., 1]


def _pairs(chunks: Array) -> tuple[Array, Array]:
    """The same for one element that is kept of two: 0b0100 is the first, 0b1110 the second."""
    return (chunks == 14) + 2 * np.arange(chunks.shape[2]), (chunks == 4) | (chunks == 14)
