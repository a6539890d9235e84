"""ldmatrix, stmatrix and movmatrix move each element from where one atom says to where the other does: emulated, and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION
from ptxgen.text import read
from tests.instructions.test_fragments import opcodes, owners

DEVICE = "sm_90"
LOADS, STORES, TRANSPOSES = (opcodes(name) for name in ("ldmatrix", "stmatrix", "movmatrix"))
SHARED = 1024
by_opcode = {"ids": lambda match: match.opcode}


def module_text(match: Match, *body: str) -> str:
    """An entry of one warp with three arrays: 32 bytes a lane go from `memory` to shared memory before `body`, and back to it after."""
    major, minor = max(match.version, FIRST_VERSION[DEVICE])
    base = "mov.u32 %base, tile;" if match.value(".ss") else "mov.u64 %wide, tile; cvta.shared.u64 %wide, %wide;"
    row = "add.u32 %at, %base, %offset;" if match.value(".ss") else "cvt.u64.u32 %at8, %offset; add.u64 %at8, %at8, %wide;"
    return "\n".join([
        f".version {major}.{minor}", f".target {DEVICE}", ".address_size 64",
        ".visible .entry k(.param .u64 memory, .param .u64 registers, .param .u64 offsets)", "{",
        f".shared .align 16 .b8 tile[{SHARED}];",
        ".reg .b32 %r<4>, %w<8>; .reg .b32 %lane, %base, %own, %offset, %at; .reg .b64 %m, %g, %o, %wide, %at8;",
        "mov.u32 %lane, %laneid; mov.u32 %own, tile; mad.lo.u32 %own, %lane, 32, %own;", base,
        "ld.param.u64 %m, [memory]; mad.wide.u32 %m, %lane, 32, %m;",
        "ld.param.u64 %g, [registers]; mad.wide.u32 %g, %lane, 16, %g;",
        "ld.param.u64 %o, [offsets]; mad.wide.u32 %o, %lane, 4, %o; ld.global.u32 %offset, [%o];", row,
        *[f"ld.global.b32 %w{i}, [%m+{4 * i}]; st.shared.b32 [%own+{4 * i}], %w{i};" for i in range(8)],
        *[f"ld.global.b32 %r{i}, [%g+{4 * i}];" for i in range(4)],
        "bar.warp.sync 0xffffffff;", *body, "bar.warp.sync 0xffffffff;",
        *[f"ld.shared.b32 %w{i}, [%own+{4 * i}]; st.global.b32 [%m+{4 * i}], %w{i};" for i in range(8)],
        *[f"st.global.b32 [%g+{4 * i}], %r{i};" for i in range(4)],
        "ret;", "}", "",
    ])  # fmt: skip


class Move:
    """One instruction on random halfwords, whose rows lie anywhere in shared memory; what it should leave behind."""

    def __init__(self, match: Match) -> None:
        rng = np.random.default_rng(len(match.opcode))
        self.memory = rng.integers(0, 1 << 16, SHARED // 2).astype(np.uint16)
        self.registers = rng.integers(0, 1 << 16, (32, 8)).astype(np.uint16)
        self.offsets = (16 * rng.permutation(SHARED // 16)[:32]).astype(np.uint32)
        self.expected_memory, self.expected_registers = self.memory.copy(), self.registers.copy()
        lanes, slots = owners(match, "r")
        giving, behind = owners(match, "p")
        places = self.offsets[giving] // 2 + behind
        address = "[%at]" if match.value(".ss") else "[%at8]"
        vector = "{" + ", ".join(f"%r{i}" for i in range(match.count(match.entry.operands["r"].vector))) + "}"
        if match.opcode.startswith("ldmatrix"):
            self.expected_registers[lanes, slots] = self.memory[places]
            self.text = module_text(match, f"{match.opcode} {vector}, {address};")
        else:
            self.expected_memory[places] = self.registers[lanes, slots]
            self.text = module_text(match, f"{match.opcode} {address}, {vector};")

    def check(self) -> None:
        np.testing.assert_array_equal(self.memory, self.expected_memory)
        np.testing.assert_array_equal(self.registers, self.expected_registers)

    @property
    def arrays(self) -> list[np.ndarray]:
        return [self.memory, self.registers, self.offsets]


@pytest.mark.parametrize("match", [*LOADS, *STORES], **by_opcode)
def test_moves_in_the_emulator(match: Match) -> None:
    move = Move(match)
    emulate(read(move.text), "k", grid=1, block=32, arguments=move.arrays).raise_for_reports()
    move.check()


@pytest.mark.gpu
@pytest.mark.parametrize("match", [*LOADS, *STORES], **by_opcode)
def test_moves_on_the_gpu(match: Match) -> None:
    from tests.instructions.device import launch

    move = Move(match)
    launch(move.text, "k", move.arrays)
    move.check()


def transposed(match: Match) -> tuple[str, np.ndarray, np.ndarray, list[np.ndarray]]:
    """A module that transposes, the registers before (and after) it, what they should be, and the arguments."""
    registers = np.random.default_rng(1).integers(0, 1 << 16, (32, 8)).astype(np.uint16)
    expected = registers.copy()
    (from_lanes, from_slots), (to_lanes, to_slots) = owners(match, "a"), owners(match, "d")
    expected[to_lanes, to_slots] = registers[from_lanes, from_slots]
    arrays = [np.zeros(SHARED // 2, np.uint16), registers, np.zeros(32, np.uint32)]
    return module_text(match, f"{match.opcode} %r0, %r0;"), registers, expected, arrays


@pytest.mark.parametrize("match", TRANSPOSES, **by_opcode)
def test_movmatrix_in_the_emulator(match: Match) -> None:
    text, registers, expected, arrays = transposed(match)
    emulate(read(text), "k", grid=1, block=32, arguments=arrays).raise_for_reports()
    np.testing.assert_array_equal(registers, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("match", TRANSPOSES, **by_opcode)
def test_movmatrix_on_the_gpu(match: Match) -> None:
    from tests.instructions.device import launch

    text, registers, expected, arrays = transposed(match)
    launch(text, "k", arrays)
    np.testing.assert_array_equal(registers, expected)
