"""``ptxgen check`` and ``ptxgen run`` on what nvcc wrote, as a user types them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptxgen.cli import main
from tests.foreign.regenerate import path_of
from tests.foreign.texts import loadable_text_of


def test_check_of_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path_of(source, target)) for source, target in (("virtuals", "sm_80"), ("debug", "sm_90a"), ("tables", "sm_120a"))]
    assert main(["check", *files]) == 0
    assert capsys.readouterr().out == "".join(f"{file}: ok\n" for file in files)


def test_check_for_another_target(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(path_of("hopper", "sm_90a"))
    assert main(["check", file, "--target", "sm_100a"]) == 1
    assert "a module for .target sm_90a can't be assembled for sm_100a" in capsys.readouterr().out


@pytest.mark.parametrize("where", ["--emulate", pytest.param("--gpu", marks=pytest.mark.gpu)])
def test_run_with_dynamic_shared_memory(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, saved = path_of("shared", "sm_80"), tmp_path / "sums.npy"
    if where == "--gpu":
        file = tmp_path / "shared.ptx"
        file.write_text(loadable_text_of("shared.sm_80"), encoding="utf-8")
    shape = ["--entry", "reduce", "--grid", "4", "--block", "128", "--shared", "512"]
    arguments = ["--arg", "s32[512]=arange", "--arg", "s32[4]=zeros", "--save", f"1={saved}"]
    assert main(["run", str(file), where, *shape, *arguments]) == 0
    np.testing.assert_array_equal(np.load(saved), np.arange(512).reshape(4, 128).sum(1))
    assert "reduce_param_1  s32[4]  changed 4 of 4" in capsys.readouterr().out


def test_run_with_a_structure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, saved = "_Z5chainIdJ4ClipIdEEEvPKT_PS2_iDpT0_", tmp_path / "y.npy"
    limits = np.array([-1.0, 2.0]).tobytes().hex()
    arguments = ["--arg", "f64[64]=arange", "--arg", "f64[64]=zeros", "--arg", "u32=64", "--arg", f"bytes={limits}", "--save", f"1={saved}"]
    file = str(path_of("templates", "sm_80"))
    assert main(["run", file, "--emulate", "--entry", name, "--block", "32", *arguments]) == 0
    np.testing.assert_array_equal(np.load(saved), np.minimum(np.arange(64.0), 2.0))


def test_what_the_runtime_library_would_bring_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(path_of("linked", "sm_80")), "--emulate", "--entry", "link", "--block", "32", "--arg", "u32[32]=zeros"]) == 1
    assert "call.uni: _Z9elsewhereid is declared without a body" in capsys.readouterr().err


IMAGES = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry blend(.param .u64 t, .param .u64 s)
{
    .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [s];
    mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;
    tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];
    shl.b32 %r2, %r1, 2; mov.b32 %r3, %f2;
    sust.b.1d.b32.trap [%rd2, {%r2}], {%r3};
    ret;
}
"""


def test_run_with_a_texture_and_a_surface(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, saved = tmp_path / "images.ptx", tmp_path / "s.npy"
    file.write_text(IMAGES, encoding="utf-8")
    given = ["--arg", "texture.1d.linear.border:f32[4]=arange", "--arg", "surface.1d:f32[4]=zeros", "--save", f"1={saved}"]
    assert main(["run", str(file), "--block", "4", *given]) == 0
    np.testing.assert_array_equal(np.load(saved), [0.0, 0.5, 1.5, 2.5])
    out = capsys.readouterr().out
    assert "ran blend in the emulator (textures and surfaces are its own)" in out and "1 s  f32[4]  changed 3 of 4" in out
    assert main(["run", str(file), "--block", "4", "--arg", "texture.1d.soft:f32[4]=arange", "--arg", "u64=0"]) == 2
    assert "'soft' says nothing of a texture; words are 1d, 2d" in capsys.readouterr().err
    assert main(["run", str(file), "--block", "4", "--arg", "texture.2d:f32[4]=arange", "--arg", "u64=0"]) == 2
    assert "geometry '2d' takes 2 axes" in capsys.readouterr().err
