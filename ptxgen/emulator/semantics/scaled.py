"""Products of one warp whose factors are scaled (ISA "Block Scaling for mma"): narrow floats, times scales in words of the lanes.

Where a is sparse a scale covers as much of k as where it is dense: zeros that are not stored count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.collectives import Members
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.metadata import chunks_of_lanes, expanded, first_fault
from ptxgen.emulator.numerics.matrix import scaled_product
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.matrix import ROWS, aligned, fragment_a, fragment_b, fragment_c, in_byte, registers_of_d
from ptxgen.emulator.semantics.table import control
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

_VECTORS = {"kind::mxf8f6f4": 1, "kind::mxf4": 2}
"""Scales of a row, where the opcode does not say it."""


_LANES = 4
"""All lanes give metadata where a is sparse."""


@control("scaled", "mma (one scale a row)", "mma (two scales a row)", "mma (four scales a row)")
def lower_scaled(low: Lowering) -> Control:
    match, b32, u16 = low.match, type_named("b32"), type_named("u16")
    assert isinstance(low.statement, Instruction)
    statement = low.statement
    a, b = match.value(".atype"), match.value(".btype")
    kind, said = match.value(".kind"), match.value(".scale_vec_size")
    vectors = int(said[len("scale_vec::")]) if said else _VECTORS[kind]
    in_bytes = kind == "kind::mxf8f6f4"
    product = scaled_product(a, b, "e4m3" if match.value(".stype") == "ue4m3" else "ue8m0")
    groups = [low.sources(low.named[name], b32) for name in "abc"]
    gets = [get for group in groups for get in group] + [low.source(low.named[name], b32) for name in ("scale_a", "scale_b")]
    gets += [low.source(item, u16) for name in ("selector_a", "selector_b") for item in low.elements(low.named[name])]
    gets += [low.source(low.named[name], b32) for name in ("e",) if name in low.named]
    sparse = "e" in low.named
    first, second, third = (sum(map(len, groups[: count + 1])) for count in range(3))
    puts = [low.target(item, b32) for item in low.elements(low.named["d"])]

    def compute(wave: Wave, members: Members, *values: Array) -> tuple[Array, ...]:
        registers = [members.spread(value) for value in values]
        left = in_byte(fragment_a(registers[:first], a, 2), a) if in_bytes else fragment_a(registers[:first], "u4", 2)
        right = in_byte(fragment_b(registers[first:second], b), b) if in_bytes else fragment_b(registers[first:second], "u4")
        if sparse:
            chunks = chunks_of_lanes(registers[-1], 0, _LANES, a)
            left, valid = expanded(left, chunks, a, in_pairs=not in_bytes, ordered=True)
            if not valid.all():
                warp, message = first_fault(chunks, valid)
                wave.reports.add("metadata", message, statement, wave.threads, wave.indices(members.index)[members.row == warp])
        words, selectors = registers[third : third + 2], [one[0, 0] for one in registers[third + 2 : third + 6]]
        # Row g is scaled by a lane of its four, row g + 8 by the next one; a column by one of its four lanes.
        of_a = [_scales(words[0], 2 * int(selectors[1]) + half, int(selectors[0]), vectors, left.shape[2]) for half in range(2)]
        of_b = _scales(words[1], int(selectors[3]), int(selectors[2]), vectors, right.shape[2])
        result = product(left, right, fragment_c(registers[second:third], "f32", 2), np.concatenate(of_a, axis=1), of_b)
        return tuple(members.collect(one) for one in registers_of_d(result, "f32", 2))

    return aligned(low, gets, compute, puts)


def _scales(words: Array, lane: int, byte: int, vectors: int, depth: int) -> Array:
    """The scale of each element of the eight rows (or columns) g, from the words of lanes 4 * g + `lane`: shape (warps, 8, k)."""
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1, ROWS, 4, 4)
    return np.repeat(octets[:, :, lane, byte : byte + vectors], depth // vectors, axis=2)
