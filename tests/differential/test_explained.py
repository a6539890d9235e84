"""What explains a difference: bits that an H200 (driver 580.159) gave are foretold, and any others remain a difference."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.instructions.checking import Given
from ptxgen.instructions.registry import lookup
from ptxgen.instructions.types import TYPES
from tests.differential.catalogue import Case
from tests.differential.explained import EXPLAINED, of_crash
from tests.differential.judging import Judged, judged
from tests.differential.running import Results, emulated, made

# An opcode, the part of d, the values of its operands, what the emulator gives as the ISA has it, what the H200 gave.
SEEN = [
    ("vadd.u32.u32.u32", "h1", (0x0, 0x80, 0x4000000), 0x800000, 0x0),
    ("vsub.s32.s32.s32", "h1", (0x10000, 0x1, 0x80), 0xFFFF0080, 0x80),
    ("vshr.s32.s32.u32.sat.clamp", "h1", (0x20, 0x0, 0x41), 0x200041, 0x41),
    ("vset.u32.u32.ge", "h1", (0x0, 0x0, 0x80000000), 0x10000, 0x0),
    ("vshl.u32.u32.u32.sat.clamp", "b3", (0x200, 0x1, 0x20), 0xFF000020, 0x20),
    ("vadd.u32.u32.u32.sat", "", (0x80000010, 0x80000010), 0xFFFFFFFF, 0x20),
    ("vsub.u32.u32.s32.sat.add", "", (0x80000008, 0x80000000, 0xFFF80000), 0xFFF7FFFF, 0xFFF80008),
    ("vabsdiff.u32.u32.s32.sat", "", (0xFFF73C08, 0x80000001), 0xFFFFFFFF, 0x7FF73C07),
    ("vadd.u32.u32.s32.sat.max", "", (0xA442428E, 0x21, 0xABCB4420), 0xABCB4420, 0xA44242AF),
    ("vset.s32.u32.ne.max", "", (0x80000000, 0x61, 0x80000001), 0x80000001, 0x1),
    ("vshl.u32.u32.u32.sat.wrap.min", "", (0x1, 0xFF, 0xFFFFFF01), 0x80000000, 0xFFFFFF01),
    ("vmad.s32.u32.s32.sat", "", (0x80000001, 0x40, 0x0), 0x7FFFFFFF, 0x80000000),
    ("vmad.s32.u32.s32.sat.shr7", "", (0x80000001, 0x8, 0x80000001), 0x7000000, 0xF7000000),
    ("vmad.s32.u32.u32.po.shr7", "", (0x1000, 0x1000, 0x80000008), 0x1020000, 0xFF020000),
]


def of_registers(opcode: str, part: str, count: int) -> Case:
    for match in lookup(opcode):
        for slots in match.form.operand_lists:
            if len(slots) == count + 1 and bool(slots[0].selector) == bool(part):
                registers = [f"%b32_{number}" for number in range(count + 1)]
                destination = Given("register", f"{registers[0]}.{part}" if part else registers[0], TYPES["b32"], selector=part)
                return Case(match, slots, (destination, *(Given("register", one, TYPES["b32"]) for one in registers[1:])), "plain")
    raise AssertionError(opcode)


def compared(case: Case, values: tuple[int, ...], gpu: int) -> tuple[int, Judged]:
    """What the emulator gives, and how a GPU's result is judged."""
    batch = made([case], "sm_90a", (9, 0), 3, 256)
    (section,) = batch.sections
    for leaf, value in zip(section.inputs, values):
        batch.columns[leaf.column] = value
    mine = emulated(batch)
    return int(mine.out[0, 0]), judged(batch, mine, Results(np.full_like(mine.out, gpu), mine.cells))[0]


@pytest.mark.parametrize("opcode, part, values, isa, gpu", SEEN, ids=[f"{one[0]} {one[1]}".rstrip() for one in SEEN])
def test_what_the_assembler_makes_of_a_video_instruction(opcode: str, part: str, values: tuple[int, ...], isa: int, gpu: int) -> None:
    case = of_registers(opcode, part, len(values))
    mine, found = compared(case, values, gpu)
    assert mine == isa
    assert found.differ == 256 and found.reason in {one.pattern for one in EXPLAINED}
    _, other = compared(case, values, gpu ^ 2)
    assert other.reason is None and other.differ == 256


def test_a_multiplication_by_one_is_dropped() -> None:
    match = lookup("mul.f32")[0]
    slots = match.form.operand_lists[0]
    registers = [Given("register", name, TYPES["f32"]) for name in ("%f32_0", "%f32_1")]
    case = Case(match, slots, (registers[0], Given("float", "0f3F800000"), registers[1]), "plain")
    mine, found = compared(case, (0x7F800001,), 0x7F800001)
    assert mine == 0x7FFFFFFF and found.reason is not None
    assert compared(case, (0x3F800000,), 0x3F800001)[1].reason is None  # not NaN


def test_only_a_crash_on_a_known_statement_is_one() -> None:
    match = lookup("atom.add.noftz.bf16x2")[0]
    given = (Given("sink", "_"), Given("address", "[%b64_0]"), Given("register", "%b32_1", TYPES["b32"]))
    case = Case(match, match.form.operand_lists[0], given, "own global")
    assert of_crash(case, "the process ended with code -11") is not None
    assert of_crash(case, "DriverError: no") is None
    kept = case._replace(given=(Given("register", "%b32_0", TYPES["b32"]), *given[1:]))
    assert of_crash(kept, "the process ended with code -11") is None
