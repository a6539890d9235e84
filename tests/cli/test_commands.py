"""The commands as a user calls them: output, exit status, and messages instead of tracebacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ptxgen.cli import main
from ptxgen.runtime import no_gpu_reason
from ptxgen.text import read

SAXPY = """\
.version 7.0
.target sm_80
.address_size 64

.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;

    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r1, %r2, %r3, %r1;
    ld.param.u32 %r4, [n];
    setp.ge.u32 %p1, %r1, %r4;
    @%p1 bra DONE;
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f2, [%rd1];
    ld.global.f32 %f3, [%rd2];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd2], %f3;
DONE:
    ret;
}
"""

KERNELS = """\
import ptxgen as px

n = px.dim("n")
number = 3

@px.kernel(grid=1, block=32)
def store(A: px.Tensor((32,), px.u32), *, value: px.constexpr = 1):
    px.tile.apply("st.global.b32", A.view(32, 1), value, scope="warp")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory outside of any checkout."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saxpy.ptx").write_text(SAXPY)
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


# ---- the program --------------------------------------------------------------------------------------------------------


def test_importing_the_command_line_loads_none_of_its_libraries() -> None:
    code = "import sys, ptxgen.cli; print(sorted({'typer', 'rich', 'numpy', 'cuda', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("demo", "dump", "run", "check", "explain"))


@pytest.mark.parametrize("arguments", [["nothing"], ["explain"], ["dump", "no-colon"], ["run", "saxpy.ptx", "--block", "1,2,3,4"]])
def test_a_command_that_makes_no_sense_ends_with_2(folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err


# ---- demo ---------------------------------------------------------------------------------------------------------------


def test_demo_in_the_emulator(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--emulate"]) == 0
    shown = capsys.readouterr().out
    source, text = shown[: shown.index(".version")], shown[shown.index(".version") : shown.index("ran on:")]
    assert 'px.tile.apply("ld.global.v4.b32", r, A, scope="cta")' in source
    assert list(read(text).functions) == ["add_one_tile"]
    assert "// demo.py:" in text
    assert shown.splitlines()[-2:] == ["ran on: emulator (as asked for)", "largest difference from a + 1: 0"]


def test_the_source_that_demo_shows_is_a_whole_program(capsys: pytest.CaptureFixture[str]) -> None:
    from ptxgen.cli.demonstrate import _source

    names: dict[str, object] = {}
    exec(_source(), names)
    assert names["add_one_tile"].__name__ == "add_one_tile"  # type: ignore[attr-defined]


def test_demo_says_where_it_ran(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    reason = no_gpu_reason()
    assert ("ran on: NVIDIA" if reason is None else f"ran on: emulator ({reason})") in capsys.readouterr().out


@pytest.mark.gpu
def test_run_on_the_gpu_gives_the_bits_of_the_emulator(folder: Path) -> None:
    for where in ("gpu", "emulate"):
        arguments = ["run", "saxpy.ptx", f"--{where}", "--grid", "9", "--block", "128", *_saxpy(1000), "--save", f"3={where}.npy"]
        assert main(arguments) == 0
    assert np.load("gpu.npy").tobytes() == np.load("emulate.npy").tobytes()


# ---- dump ---------------------------------------------------------------------------------------------------------------


def test_dump_of_a_file_and_of_a_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "kernels.py:store"]) == 0
    from_file = capsys.readouterr().out
    assert main(["dump", "kernels:store", "-o", "store.ptx"]) == 0
    assert (folder / "store.ptx").read_text() == from_file
    assert "// kernels.py:8" in from_file
    assert list(read(from_file).functions) == ["store"]


def test_dump_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "kernels.py:store", "--set", "value=77", "--no-comments", "--loc", "--target", "sm_90a"]) == 0
    text = capsys.readouterr().out
    assert ".target sm_90a" in text and ".loc 1 8" in text and "//" not in text and "77" in text


@pytest.mark.parametrize(
    "name, message",
    [
        ("kernels.py:number", "ptxgen: kernels.py: number is a int, not a px.kernel; its kernels: store\n"),
        ("kernels.py:nothing", "ptxgen: kernels.py has nothing called nothing; its kernels: store\n"),
        ("nowhere.py:k", "ptxgen: there is no file nowhere.py\n"),
        ("nowhere:k", "ptxgen: there is no module nowhere (a path to a file ends in .py)\n"),
        ("broken.py:k", "ptxgen: broken.py can't be imported: ZeroDivisionError: division by zero\n"),
    ],
)
def test_dump_of_no_kernel(folder: Path, name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    assert main(["dump", name]) == 1
    assert capsys.readouterr().err == message


def test_dump_refuses_an_unknown_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "kernels.py:store", "--target", "sm_91"]) == 1
    assert "unknown target 'sm_91'" in capsys.readouterr().err


# ---- run ----------------------------------------------------------------------------------------------------------------


def _saxpy(n: int) -> list[str]:
    values = [f"u32={n}", "f32=2.5", "f32[1000]=arange", "f32[1000]=random"]
    return [part for value in values for part in ("--arg", value)]


def test_run_saves_what_was_computed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "saxpy.ptx", "--emulate", "--grid", "9", "--block", "128", "--seed", "3", *_saxpy(1000)]
    assert main([*arguments, "--save", "3=after.npy"]) == 0
    x = np.arange(1000, dtype=np.float32)
    y = np.random.default_rng(3).uniform(-1, 1, 1000).astype(np.float32)
    expected = (2.5 * x.astype(np.float64) + y.astype(np.float64)).astype(np.float32)  # exact products: one rounding, as in fma
    assert np.array_equal(np.load("after.npy"), expected)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ran saxpy in the emulator (as asked for): 1152 threads, ")
    assert lines[1:3] == ["2 x  f32[1000]  unchanged", "  [0, 1, 2, 3, ..., 996, 997, 998, 999]  min 0  mean 499.5  max 999"]
    assert lines[3] == f"3 y  f32[1000]  changed {np.count_nonzero(expected != y)} of 1000"


def test_run_reads_files(folder: Path) -> None:
    np.save("x.npy", np.ones(8, np.float32))
    arguments = [part for value in ("u32=8", "f32=2", "f32=x.npy", "f32[8]=0.5") for part in ("--arg", value)]
    assert main(["run", "saxpy.ptx", "--emulate", "--block", "8", *arguments, "--save", "3=y.npy"]) == 0
    assert np.array_equal(np.load("y.npy"), np.full(8, 2.5, np.float32))


def test_run_reports_faults(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "saxpy.ptx", "--emulate", "--grid", "9", "--block", "128", *_saxpy(1001)]) == 1
    shown = capsys.readouterr().out
    assert "saxpy.ptx:25:5: ld.global.f32: out of bounds" in shown and "(block 7, thread 104)" in shown


def test_run_without_arguments_says_what_is_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "saxpy.ptx", "--block", "64"]) == 2
    assert capsys.readouterr().err == (
        "ptxgen: saxpy has 4 parameters, 0 --arg given:\n"
        "  0  .param .u32 n                            a number (u32=1000)\n"
        "  1  .param .f32 a                            a number (f32=1.5)\n"
        "  2  .param .u64 x                            an array (f32[1024]=arange), or a 64-bit number (u64=1000)\n"
        "  3  .param .u64 y                            an array (f32[1024]=arange), or a 64-bit number (u64=1000)\n"
        "for example: ptxgen run saxpy.ptx --entry saxpy --grid 1 --block 64 --arg 'u32=1000' --arg 'f32=1.5' "
        "--arg 'f32[1024]=arange' --arg 'f32[1024]=arange'\n"
    )


@pytest.mark.parametrize(
    "argument, message",
    [
        ("u32", "--arg u32: write TYPE[SHAPE]="),
        ("f33=1", "'f33' is no type of a value"),
        ("u32=1.5", "'1.5' is not an integer"),
        ("u32=5000000000", "5000000000 does not fit 32 bits"),
        ("f32=1", "n is a .u32; it takes a number (u32=1000)"),
        ("u32[4]=zeros", "n is a .u32; it takes a number (u32=1000)"),
        ("u32[]=zeros", "an array needs its shape"),
        ("u8[4]=300", "--arg u8[4]=300: "),
        ("f32=missing.npy", "there is no file missing.npy"),
        ("f32=half.npy", "half.npy holds float16, not float32"),
        ("f16[3]=half.npy", "half.npy has the shape (4,)"),
        ("bytes=0x", "bytes are written in hexadecimal"),
        ("bytes=00", "n is no structure"),
    ],
)
def test_run_refuses_an_argument(folder: Path, argument: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("half.npy", np.zeros(4, np.float16))
    rest = [part for value in ("f32=2.5", "f32[4]=arange", "f32[4]=random") for part in ("--arg", value)]
    assert main(["run", "saxpy.ptx", "--emulate", "--block", "4", "--arg", argument, *rest]) == 2
    assert message in capsys.readouterr().err


def test_run_passes_bits_and_structures(folder: Path) -> None:
    (folder / "copy.ptx").write_text("""\
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 out, .param .b32 bits, .param .s16 small, .param .align 4 .b8 both[8])
.reqntid 1
{
    .reg .b64 %rd;
    .reg .b32 %r<4>;
    .reg .s16 %s;
    ld.param.u64 %rd, [out];
    ld.param.b32 %r0, [bits];
    ld.param.s16 %s, [small];
    cvt.s32.s16 %r1, %s;
    ld.param.v2.b32 {%r2, %r3}, [both];
    st.global.v4.b32 [%rd], {%r0, %r1, %r2, %r3};
    ret;
}
""")
    arguments = [part for value in ("b32[4]=zeros", "f32=1", "s16=-2", "bytes=0100000002000000") for part in ("--arg", value)]
    assert main(["run", "copy.ptx", "--emulate", *arguments, "--save", "0=out.npy"]) == 0
    assert np.load("out.npy").tolist() == [0x3F800000, 0xFFFFFFFE, 1, 2]


@pytest.mark.skipif(no_gpu_reason() is None, reason="there is a GPU")
def test_run_on_a_gpu_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "saxpy.ptx", "--gpu", "--block", "4", *_saxpy(4)]) == 1
    assert capsys.readouterr().err.startswith("ptxgen: no GPU can be used: ")


# ---- check --------------------------------------------------------------------------------------------------------------


def test_check_of_a_good_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "saxpy.ptx", "--target", "sm_90"]) == 0
    assert capsys.readouterr().out == "saxpy.ptx: ok\n"


def test_check_underlines_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.ptx").write_text(SAXPY.replace("@%p1 bra DONE", "@%p1 bra\n\tDUNE").replace("%f1, [a]", "%f4, [a]"))
    assert main(["check", "bad.ptx"]) == 1
    assert capsys.readouterr().out == (
        "bad.ptx:19:2: error undeclared-label: bra: DUNE is no label in sight\n"
        "    \tDUNE;\n"
        "    \t^^^^\n"
        "  rule: a branch goes to a label of the same scope or of one around it (PTX ISA 4.4)\n"
        "  legal: nearest: DONE\n"
        "bad.ptx:20:18: error undeclared-register: the register %f4 is not declared here; .reg .f32 %f<4> ends before it\n"
        "        ld.param.f32 %f4, [a];\n"
        "                     ^^^\n"
        "bad.ptx: 2 errors\n"
    )


def test_check_tells_every_error_of_the_reader(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.ptx").write_text(SAXPY.replace("%r1, %tid.x;", "%r1 %tid.x;").replace("[%rd2], %f3", "[%rd2, %f3"))
    assert main(["check", "bad.ptx", "saxpy.ptx", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(one["file"], one["line"], one["severity"], one["id"]) for one in found] == [
        ("bad.ptx", 12, "error", "syntax"),
        ("bad.ptx", 28, "error", "syntax"),
    ]


def test_check_of_version_and_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.ptx").write_text("// .target of this text\n" + SAXPY)
    assert main(["check", "bad.ptx", "--target", "sm_75"]) == 1
    assert capsys.readouterr().out.startswith("bad.ptx:3:1: error target: a module for .target sm_80 can't be assembled for sm_75: ")


def test_check_leaves_out_what_is_switched_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SAXPY.replace("    .reg .pred", "    .local .b8 odd[8]; .reg .pred").replace("%f1, [a]", "%f1, [a]; ld.local.b32 %r3, [odd+2]")
    (folder / "odd.ptx").write_text(text)
    assert main(["check", "odd.ptx"]) == 0
    assert "odd.ptx:19:46: warning misaligned: ld.local.b32: nothing says that [odd+2] is a multiple of 4 bytes" in capsys.readouterr().out
    assert main(["check", "odd.ptx", "--no", "misaligned", "--no", "out-of-bounds"]) == 0
    assert capsys.readouterr().out == "odd.ptx: ok\n"
    assert main(["check", "odd.ptx", "--no", "crooked"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("ptxgen: --no crooked: there is no such warning; those that can be left out are\n  misaligned ")


def test_check_never_leaves_out_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.ptx").write_text(SAXPY.replace("7.0", "1.4"))
    assert main(["check", "new.ptx", "--no", "version"]) == 1
    assert "error version" in capsys.readouterr().out


def test_check_with_the_assembler(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ptxgen.assemble import find_tool

    assert main(["check", "saxpy.ptx", "--assemble"]) == 0
    expected = "saxpy.ptx: ok\n" if find_tool("ptxas") is not None else "1 note\n"
    assert capsys.readouterr().out.endswith(expected)


def test_check_of_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nowhere.ptx"]) == 1
    assert capsys.readouterr().err == "ptxgen: nowhere.ptx: No such file or directory\n"


# ---- explain ------------------------------------------------------------------------------------------------------------


def test_explain_prints_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "shl.b32"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("shl.b32  (PTX ISA ") and "shl.b32 %r0, %r1, %r2;" in text
    assert main(["explain", "shl.b32", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["opcode"] == "shl.b32" and answer["example"]["statement"] in text


def test_explain_of_a_wrong_opcode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ld.globl.b32"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("  nearest: ld.global.b32, ")
