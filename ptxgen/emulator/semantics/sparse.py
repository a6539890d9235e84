"""Products of one warp with a sparse factor (ISA "mma.sp"): elements that are kept go where metadata puts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.emulator.collectives import Members
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.metadata import chunks_of_lanes, expanded, first_fault
from ptxgen.emulator.numerics import matrix_product
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.matrix import aligned, fragment_a, fragment_b, fragment_c, in_byte, registers_of_d
from ptxgen.emulator.semantics.scaled import lower_scaled
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


@control("sparse", *_LANES)
def lower_sparse(low: Lowering) -> Control:
    match, b32 = low.match, type_named("b32")
    a, b, accumulator = match.value(".atype"), match.value(".btype"), match.value(".dtype")
    unit = "tcgen05" if ".kind" in match.bindings else "mma"
    product = matrix_product(a, b, accumulator, unit=unit, satfinite=".satfinite" in match.bindings)
    groups = [low.sources(low.named[name], b32) for name in "abc"]
    first, second, third = (sum(map(len, groups[: count + 1])) for count in range(3))
    puts = [low.target(item, b32) for item in low.elements(low.named["d"])]
    selector, lanes = low.named["selector"], _LANES[match.entry.name]
    assert isinstance(selector, Int) and isinstance(low.statement, Instruction)
    statement, group, ordered = low.statement, selector.value, "ordered_metadata" in match.opcode

    def compute(wave: Wave, members: Members, *values: Array) -> tuple[Array, ...]:
        registers = [members.spread(value) for value in values]
        chunks = chunks_of_lanes(registers[third], group, lanes, a)
        kept = in_byte(fragment_a(registers[:first], a, 2), a)
        dense, valid = expanded(kept, chunks, a, in_pairs=a in ("s4", "u4"), ordered=ordered)
        if not valid.all():
            warp, message = first_fault(chunks, valid)
            threads = wave.indices(members.index)[members.row == warp]
            wave.reports.add("metadata", message, statement, wave.threads, threads)
        result = product(dense, in_byte(fragment_b(registers[first:second], b), b), fragment_c(registers[second:third], accumulator, 2))
        return tuple(members.collect(one) for one in registers_of_d(result, accumulator, 2))

    return aligned(low, [get for group in groups for get in group] + [low.source(low.named["e"], b32)], compute, puts)


control("sparse", "mma.sp (one scale a row)", "mma.sp (two scales a row)", "mma.sp (four scales a row)")(lower_scaled)
