"""`ptxgen draw`: what it writes is what the layouts draw, and its messages speak of its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxgen.cli import main
from ptxgen.instructions.hardware import hardware_layout
from ptxgen.layouts import Layout, S, Swizzle, laneid
from tests.layouts.test_pictures import read

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"


@pytest.fixture
def drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The SVG that the command writes."""

    def call(*arguments: str) -> str:
        file = tmp_path / "picture.svg"
        assert main(["draw", *arguments, "-o", str(file)]) == 0
        assert capsys.readouterr() == ("", "")
        return file.read_text(encoding="utf-8")

    return call


def test_layouts(drawn) -> None:
    assert drawn("S[(4, 8) : (8, 1)]") == Layout(S[4, 8]).svg()
    assert drawn("S[(4, 8) : (8, 1)]", "--as", "bank", "--type", "f32") == Layout(S[4, 8]).svg("bank", bits=32)
    assert drawn("S[(32, 4) : (1@laneid, 1)]", "--title", "rows") == Layout(S[(32, 4) : (1 @ laneid, 1)]).svg(title="rows")
    assert drawn("S[512]", "--shape", "8,64", "--type", "bf16", "--swizzle", "128B", "--as", "address") == Layout(
        S[8, 64], swizzle=Swizzle.B128
    ).svg("address", bits=16)
    assert drawn("Layout(S[32, 32], offset=4)", "--type", "16", "--swizzle", "2,4,3") == Layout(
        S[32, 32], offset=4, swizzle=Swizzle.B64
    ).svg(bits=16)
    assert drawn("S[2, 2, 4]", "--rows", "1", "--limit", "2") == Layout(S[2, 2, 4]).svg(rows=1, limit=2)
    assert drawn("S[2, 4]", "--names", "row,column") == Layout(S[2, 4]).svg(names=("row", "column"))
    packed = ("S[(32, 4) : (1@laneid, 1)]", "--type", "f16", "--container", "b32")
    assert drawn(*packed) == Layout(S[(32, 4) : (1 @ laneid, 1)]).svg(bits=16, container=32)


def test_layouts_of_cute_and_triton(drawn) -> None:
    assert drawn("((2,4),8):((1,16),2)") == Layout(S[((4, 2), 8) : ((16, 1), 2)]).svg()
    assert drawn("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "--type", "f16") == Layout(S[8, 64], swizzle=Swizzle.B128).svg(bits=16)
    blocked = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>"
    for cell in read(drawn(blocked, "--shape", "8,16")):
        ((row, column),) = cell.elements
        assert cell.texts == [f"T{row * 4 + column // 4}", f"R{column % 4}"]


def test_operands_of_instructions(drawn) -> None:
    for cell in read(drawn(MMA, "--operand", "A")):  # ISA 9.7.16.5.8, "Matrix fragments for mma.m16n8k16"
        row, column = cell.elements[0]
        assert cell.texts == [f"T{row % 8 * 4 + column % 8 // 2}", f"R{row // 8 + column // 8 * 2}"]
    for cell in read(drawn(WGMMA, "--operand", "D", "--limit", "64")):  # ISA 9.7.17.5.1.2, D
        (row, column), thread = cell.elements[0], cell.texts[0]
        assert thread == f"T{row // 16 * 32 + row % 8 * 4 + column % 8 // 2}"
    shared = drawn(WGMMA, "--operand", "b_desc", "--set", "shape=(64,64)", "--set", "swizzle=128", "--set", "major=k")
    layout = hardware_layout(WGMMA, "b_desc", shape=(64, 64))
    assert shared == layout.svg("address", bits=16, names=("n", "k"), title=f"{WGMMA}, b_desc")
    for cell in read(shared):  # 16-byte piece c of row r is where c ^ r % 8 would be
        row, column = cell.elements[0]
        assert cell.texts == [str(row * 128 + (column // 8 ^ row % 8) * 16)]


def test_lanes_that_give_addresses(drawn) -> None:
    cells = read(drawn("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--operand", "p"))
    assert [cell.texts for cell in cells] == [[f"T{lane}"] for lane in range(32)]
    assert [cell.elements for cell in cells] == [[(i, r, c) for c in range(8)] for i in range(4) for r in range(8)]


def test_matrices_at_one_address_are_drawn_by_address(drawn) -> None:
    cells = read(drawn("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", "--operand", "p"))
    assert all(cell.texts == [str(32 * row + 2 * column)] for cell in cells for row, column in cell.elements)


def test_tensor_memory(drawn) -> None:
    held = {cell.elements[0]: cell.texts for cell in read(drawn("tcgen05.ld.sync.aligned.16x256b.x1.b32", "--operand", "r"))}
    assert held[9, 5] == ["T6", "R3"]  # ISA 9.7.18.2.3.3: lane 8 + r, columns 2c and 2c + 1 in registers 2 and 3 of thread 4r + c
    assert "lane ↓" in drawn("tcgen05.ld.sync.aligned.16x256b.x1.b32", "--operand", "taddr")


def test_without_a_file_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "S[(2, 4) : (1@laneid, 2@laneid)]"]) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "S[(2, 4) : (1 @ laneid, 2 @ laneid)]",
        "dim 0 ↓, dim 1 →",
        "   0   1   2   3",
        "0  T0  T2  T4  T6",
        "1  T1  T3  T5  T7",
        "         T0–3           T4–7",
        "T: thread",
    ]


USAGE = [
    (["S[4, 8]", "--as", "colour"], "ptxgen: --as colour: owner, bank and address are known\n"),
    (["S[4, 8]", "--operand", "A"], "ptxgen: --operand and --set are of opcodes; this is a layout\n"),
    (["S[4, 8]", "--type", "real"], "ptxgen: --type real: write a type such as bf16 or b32, or a number of bits\n"),
    (
        ["S[4, 8]", "--swizzle", "wide"],
        "ptxgen: --swizzle wide: 32B, 64B, 128B, 128B-atom32B or bits,base,shift such as 3,4,3 are understood\n",
    ),
    (["S[4, 8]", "--swizzle", "3,4"], "ptxgen: --swizzle 3,4: three numbers are expected: bits,base,shift\n"),
    (["S[4, 8]", "-o", "picture.png"], "ptxgen: --output picture.png: SVG is what is written; name the file *.svg\n"),
    (["#ttg.blocked<{}>"], "ptxgen: an encoding of Triton is for tiles of many shapes: --shape 64,32, for example\n"),
    (["S[4, 8]", "--shape", "all"], "ptxgen: --shape all: numbers such as 8,64 are understood\n"),
    ([MMA], f"ptxgen: {MMA} has several operands: --operand d or a or b or c\n"),
    (
        [MMA, "--operand", "a", "--type", "f16"],
        "ptxgen: --type and --container are of layouts; an opcode says what its operands are made of\n",
    ),
    ([WGMMA, "--operand", "b_desc", "--set", "major"], "ptxgen: --set major: write NAME=VALUE\n"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_options_that_are_not_understood(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", *arguments]) == 2
    assert capsys.readouterr() == ("", message)


def test_what_a_layout_of_others_lacks_is_told_with_options(capsys: pytest.CaptureFixture[str]) -> None:
    shared = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    assert main(["draw", shared, "--shape", "64,64"]) == 1
    assert capsys.readouterr().err.endswith(" is a swizzle, which permutes bytes; say how wide an element is: --type 16\n")
    assert main(["draw", shared, "--shape", "64,64", "--type", "f16"]) == 0


def test_a_layout_behind_a_pointer_of_cute_says_how_wide_elements_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)"]) == 0
    found = capsys.readouterr().out
    assert main(["draw", "S[8, 64]", "--type", "f16", "--swizzle", "128"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == found.splitlines()[1:]


def test_what_has_no_picture_is_told_with_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "S[8, 64]", "--swizzle", "128B"]) == 1
    assert capsys.readouterr().err == (
        "Swizzle(3, 4, 3) permutes bytes, and nothing says how many bits an element has\n"
        "  legal: --type 16 for a tile of bf16, for example\n"
    )
    assert main(["draw", "S[(32, 4) : (1@laneid, 1)]", "--as", "address"]) == 1
    assert capsys.readouterr().err.endswith("  legal: --as owner\n")
    assert main(["draw", "tcgen05.ld.sync.aligned.16x32bx2.x1.b32", "--operand", "taddr"]) == 1
    assert capsys.readouterr().err.endswith("  legal: --set split=a number of columns\n")
    assert main(["draw", "S[4, 8"]) == 1
    assert capsys.readouterr().err == "ptxgen: can't read the layout 'S[4, 8': no expression (near column 2)\n"
    assert main(["draw", "add.f32"]) == 1
    assert "add.f32 has no operand" in capsys.readouterr().err
