"""Products of one warp with a sparse factor (ISA "Sparse matrix storage"): elements that are kept go where metadata puts them.

Of every four lanes one or two give metadata: 16 bits for row g, and above them 16 for row g + 8, four for every chunk of the row, in the
order of chunks and of lanes. Products in which all four lanes give it are not emulated: only figures of the ISA say how.
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
    "mma.sp (integers, metadata from two lanes of four)": 2,
}
_CHUNKS = 4
"""Chunks of a row that the metadata of one lane tells of."""


@control("sparse", *_LANES)
def lower_sparse(low: Lowering) -> Control:
    match, b32 = low.match, type_named("b32")
    a, b, accumulator = match.value(".atype"), match.value(".btype"), match.value(".dtype")
    if a in ("s4", "u4"):
        raise low.refuse("the emulator does not follow pairs of 4-bit integers", section=match.entry.section, legal="run it on a GPU")
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
        chunks = _chunks(registers[third], begin, lanes)
        places, valid = _pairs(chunks) if a == "tf32" else _quads(chunks)
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


def _chunks(words: Array, begin: int, lanes: int) -> Array:
    """Four bits for every chunk of every row: shape (warps, 16, chunks)."""
    own = np.ascontiguousarray(words).view(np.uint16).reshape(-1, ROWS, 4, 2)[:, :, begin : begin + lanes]  # g, lane, row g or g + 8
    nibbles = own[..., None] >> np.arange(0, 4 * _CHUNKS, 4, dtype=np.uint16) & 15
    return nibbles.transpose(0, 3, 1, 2, 4).reshape(len(nibbles), 2 * ROWS, -1)


def _quads(chunks: Array) -> tuple[Array, Array]:
    """Where in a row the two elements that are kept of four lie, shape (warps, 16, k / 2), and which chunks say so."""
    indices = np.stack((chunks & 3, chunks >> 2), axis=-1).astype(np.int64)
    places = indices + 4 * np.arange(chunks.shape[2])[:, None]
    return places.reshape(*chunks.shape[:2], -1), indices[..., 0] != indices[..., 1]


def _pairs(chunks: Array) -> tuple[Array, Array]:
    """The same for one element that is kept of two: 0b0100 is the first, 0b1110 the second."""
    return (chunks == 14) + 2 * np.arange(chunks.shape[2]), (chunks == 4) | (chunks == 14)
