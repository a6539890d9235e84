"""ldmatrix, stmatrix and movmatrix move each element from where one atom says to where the other does: emulated, and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION
from ptxgen.text import read
from tests.instructions.test_fragments import opcodes, owners

DEVICE, NARROW = "sm_90", "sm_100a"
LOADS, STORES, TRANSPOSES = (opcodes(name) for name in ("ldmatrix", "stmatrix", "movmatrix"))
SHARED = 1024
by_opcode = {"ids": lambda match: match.opcode}


def module_text(match: Match, *body: str) -> str:
    """An entry of one warp with three arrays: 32 bytes a lane go from `memory` to shared memory before `body`, and back to it after."""
    device = DEVICE if ".m8n8." in match.opcode or match.opcode.startswith("mov") else NARROW
    major, minor = max(match.version, FIRST_VERSION[device])
    base = "mov.u32 %base, tile;" if match.value(".ss") else "mov.u64 %wide, tile; cvta.shared.u64 %wide, %wide;"
    row = "add.u32 %at, %base, %offset;" if match.value(".ss") else "cvt.u64.u32 %at8, %offset; add.u64 %at8, %at8, %wide;"
    return "\n".join([
        f".version {major}.{minor}", f".target {device}", ".address_size 64",
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


PACKED = {"b6x16_p32": 6, "b4x16_p64": 4}


def unpacked(rows: np.ndarray, bits: int) -> np.ndarray:
    """Rows of 16 bytes as the 16 elements of so many bits that their first bits are, by Python's integers."""
    numbers = [int.from_bytes(row.tobytes(), "little") for row in rows.reshape(-1, 16)]
    elements = [[number >> bits * i & (1 << bits) - 1 for i in range(16)] for number in numbers]
    return np.array(elements, np.uint8).reshape(rows.shape)


class Move:
    """One instruction on random elements, whose rows lie anywhere in shared memory; what it should leave behind."""

    def __init__(self, match: Match) -> None:
        rng = np.random.default_rng(len(match.opcode))
        element = np.dtype(np.uint16 if ".m8n8." in match.opcode else np.uint8)
        self.memory = rng.integers(0, 256, SHARED, np.uint8).view(element)
        self.registers = rng.integers(0, 256, (32, 16), np.uint8).view(element)
        self.offsets = (16 * rng.permutation(SHARED // 16)[:32]).astype(np.uint32)
        self.expected_memory, self.expected_registers = self.memory.copy(), self.registers.copy()
        lanes, slots = owners(match, "r")
        giving, behind = owners(match, "p")
        places = self.offsets[giving] // element.itemsize + behind
        address = "[%at]" if match.value(".ss") else "[%at8]"
        vector = "{" + ", ".join(f"%r{i}" for i in range(match.count(match.entry.operands["r"].vector))) + "}"
        if match.opcode.startswith("ldmatrix"):
            bits = PACKED.get(match.value(".src_fmt"))
            self.expected_registers[lanes, slots] = unpacked(self.memory[places], bits) if bits else self.memory[places]
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


@pytest.mark.parametrize("form", ["m8n16.x2.shared.b8x16.b4x16_p64", "m16n16.x2.trans.shared.b8x16.b6x16_p32"])
def test_padding_needs_no_value(form: str) -> None:
    """Bytes of a row that hold no elements may be unwritten; those that do may not."""
    used = 8 if "p64" in form else 12
    text = f"""
        .version 8.6
        .target sm_100a
        .address_size 64
        .visible .entry k(.param .u32 words) {{
        .shared .align 16 .b8 tile[512]; .reg .b32 %r<4>, %lane, %at, %n; .reg .pred %p;
        mov.u32 %lane, %laneid; mov.u32 %at, tile; mad.lo.u32 %at, %lane, 16, %at;
        st.shared.b32 [%at], 0; st.shared.b32 [%at+4], 0;
        ld.param.u32 %n, [words]; setp.gt.u32 %p, %n, 2; @%p st.shared.b32 [%at+8], 0;
        bar.warp.sync 0xffffffff;
        ldmatrix.sync.aligned.{form} {{{"%r0, %r1" if "m8" in form else "%r0, %r1, %r2, %r3"}}}, [%at];
        ret; }}
    """
    emulate(read(text), "k", grid=1, block=32, arguments=[(used // 4).to_bytes(4, "little")]).raise_for_reports()
    if used == 12:
        assert "unwritten" in str(emulate(read(text), "k", grid=1, block=32, arguments=[(2).to_bytes(4, "little")]).reports[0])


@pytest.mark.gpu
@pytest.mark.parametrize("match", [match for match in [*LOADS, *STORES] if ".m8n8." in match.opcode], **by_opcode)
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
