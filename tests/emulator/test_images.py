"""Textures and surfaces against scalar definitions of addressing and filtering, through whole kernels."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest

import ptxgen as px
from ptxgen.emulator import EmulationResult, emulate
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read

RNG = np.random.default_rng(5)


def launch(lines: str, *arguments: Any, count: int) -> EmulationResult:
    """One thread an element: arrays and handles are parameters a, b, ... in %rd0, %rd1, ...; %r0 is the thread's number."""
    names = "abcdefg"[: len(arguments)]
    loads = "".join(f"ld.param.u64 %rd{number}, [{name}];\n" for number, name in enumerate(names))
    text = (
        f".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k({', '.join(f'.param .u64 {one}' for one in names)})\n{{\n"
        ".reg .b32 %r<30>; .reg .f32 %f<20>; .reg .b64 %rd<20>; .reg .b16 %h<8>; .reg .pred %p<4>;\n"
        f"mov.u32 %r0, %tid.x;\n{loads}{lines}\n}}\n"
    )
    given = [one if isinstance(one, np.ndarray) else int(one.__index__()).to_bytes(8, "little") for one in arguments]
    return emulate(read(text), "k", grid=1, block=count, arguments=given)


def fetched(texture: px.Texture, opcode: str, *coordinates: np.ndarray, layers: np.ndarray | None = None, tail: str = "") -> np.ndarray:
    """Four components for each thread."""
    count = len(coordinates[0])
    given = [*([] if layers is None else [layers]), *coordinates]
    loads = "".join(
        f"mad.wide.u32 %rd10, %r0, 4, %rd{number}; ld.global.b32 %r{10 + number}, [%rd10]; mov.b32 %f{10 + number}, %r{10 + number};\n"
        for number in range(2, 2 + len(given))
    )
    registers = [f"%{'r' if one.dtype.kind in 'iu' else 'f'}{12 + number}" for number, one in enumerate(given)]
    place = ", ".join(registers if len(registers) != 3 else [*registers, registers[-1]])  # of four the last is ignored
    result = np.zeros((count, 4), np.uint32)
    store = "mad.wide.u32 %rd11, %r0, 16, %rd1; st.global.v4.b32 [%rd11], {%r1, %r2, %r3, %r4};"
    lines = f"{loads}{opcode} {{%r1, %r2, %r3, %r4}}, [%rd0, {{{place}}}]{tail};\n{store}"
    launch(lines, texture, result, *given, count=count).raise_for_reports()
    return result


def inside(index: int, extent: int, mode: str) -> int | None:
    if mode == "wrap":
        return index % extent
    if mode == "mirror":
        while not 0 <= index < extent:
            index = -1 - index if index < 0 else 2 * extent - 1 - index
        return index
    if mode == "border" and not 0 <= index < extent:
        return None
    return min(max(index, 0), extent - 1)


def texel(data: np.ndarray, place: tuple[int, ...], modes: tuple[str, ...]) -> Fraction:
    """`place` and `modes` along x, y, ...; the array is indexed the other way round."""
    found = [inside(index, extent, mode) for index, extent, mode in zip(place, data.shape[::-1], modes)]
    return Fraction(0) if None in found else Fraction(float(data[tuple(found[::-1])]))  # type: ignore[arg-type]


def linear(data: np.ndarray, place: list[Fraction], modes: tuple[str, ...]) -> float:
    corners = [(floor(one - Fraction(1, 2)), one - Fraction(1, 2)) for one in place]
    total = Fraction(0)
    for number in range(1 << len(place)):
        weight, index = Fraction(1), []
        for axis, (first, exact) in enumerate(corners):
            fraction = Fraction(floor((exact - first) * 256 + Fraction(1, 2)), 256)
            side = number >> axis & 1
            weight *= fraction if side else 1 - fraction
            index.append(first + side)
        total += weight * texel(data, tuple(index), modes)
    return float(np.float32(float(total)))


MODES = ["wrap", "mirror", "clamp", "border"]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize("mode", MODES)
def test_two_dimensions(mode: str, filter: str, normalized: bool) -> None:
    data = RNG.integers(-50, 50, (5, 8)).astype(np.float32)
    modes = (mode, MODES[MODES.index(mode) - 1])
    texture = px.Texture(data, "2d", filter=filter, address=modes, normalized=normalized)
    x, y = (np.concatenate([RNG.uniform(-2, 3, 60) * (1 if normalized else n), [0.0, 0.5, 1.0, -1.0]]).astype(np.float32) for n in (8, 5))
    found = fetched(texture, "tex.2d.v4.f32.f32", x, y).view(np.float32)
    used = tuple(one if normalized or one == "border" else "clamp" for one in modes)
    for thread in range(len(x)):
        place = [Fraction(float(one[thread])) * (n if normalized else 1) for one, n in ((x, 8), (y, 5))]
        if filter == "linear":
            assert found[thread, 0] == linear(data, place, used)
        else:
            assert found[thread, 0] == texel(data, (floor(place[0]), floor(place[1])), used)
    assert (found[:, 1:] == 0).all()  # channels that the texture has not


def test_layers_and_three_dimensions() -> None:
    data = RNG.normal(0, 1, (3, 4, 6)).astype(np.float32)
    x, y, z = (RNG.uniform(0, n, 40).astype(np.float32) for n in (6, 4, 3))
    found = fetched(px.Texture(data, "3d"), "tex.3d.v4.f32.f32", x, y, z).view(np.float32)
    np.testing.assert_array_equal(found[:, 0], data[z.astype(int), y.astype(int), x.astype(int)])
    layers = RNG.integers(0, 5, 40).astype(np.uint32)  # the last is taken for those behind it
    found = fetched(px.Texture(data, "a2d"), "tex.a2d.v4.f32.f32", x, y, layers=layers).view(np.float32)
    np.testing.assert_array_equal(found[:, 0], data[np.minimum(layers, 2), y.astype(int), x.astype(int)])
    found = fetched(px.Texture(data[0].copy(), "a1d", filter="linear"), "tex.a1d.v4.f32.f32", x, layers=layers).view(np.float32)
    for thread in range(40):
        row = data[0, min(layers[thread], 3)]
        assert found[thread, 0] == linear(row, [Fraction(float(x[thread]))], ("clamp",))


def test_integers_and_normalized_elements() -> None:
    data = RNG.integers(-128, 128, (4, 7, 2)).astype(np.int8)
    x, y = RNG.integers(-2, 9, 30).astype(np.int32), RNG.integers(-2, 6, 30).astype(np.int32)
    expected = data[np.clip(y, 0, 3), np.clip(x, 0, 6)]
    found = fetched(px.Texture(data, "2d", channels=2), "tex.2d.v4.s32.s32", x, y).view(np.int32)
    np.testing.assert_array_equal(found, np.concatenate([expected, np.tile([[0, 0]], (30, 1))], axis=1))
    found = fetched(px.Texture(data, "2d", channels=2, read="normalized"), "tex.2d.v4.f32.s32", x, y).view(np.float32)
    np.testing.assert_array_equal(found[:, :2], np.maximum(expected / np.float64(127), -1).astype(np.float32))
    row = np.arange(10, dtype=np.uint32)
    found = fetched(px.Texture(row, "buffer"), "tex.1d.v4.u32.s32", np.arange(-3, 13, dtype=np.int32))
    assert found[:, 0].tolist() == [0, 0, 0, *range(10), 0, 0, 0]


def test_gathers_and_offsets() -> None:
    data = np.arange(30, dtype=np.float32).reshape(5, 6)
    x, y = np.array([2.0, 3.25, 0.25], np.float32), np.array([2.0, 1.75, 4.75], np.float32)
    texture = px.Texture(data, "2d")
    found = fetched(texture, "tld4.r.2d.v4.f32.f32", x, y).view(np.float32)
    assert found.tolist() == [[13, 14, 8, 7], [14, 15, 9, 8], [24, 24, 24, 24]]
    moved = fetched(texture, "tex.2d.v4.f32.f32", x, y, tail=", {1, -2}").view(np.float32)
    assert moved[:, 0].tolist() == [3, 4, 13]


def test_halves_and_residence() -> None:
    texture, result = px.Texture(np.array([0.25, 1.5], np.float16), "1d"), np.zeros((2, 4), np.uint32)
    lines = """
        cvt.rn.f32.u32 %f1, %r0; tex.1d.v2.f16x2.f32 {%r1, %r2}|%p1, [%rd0, %f1]; selp.u32 %r3, 1, 0, %p1;
        txq.width.b32 %r4, [%rd0]; mad.wide.u32 %rd2, %r0, 16, %rd1; st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4};
    """
    launch(lines, texture, result, count=2).raise_for_reports()
    assert result.tolist() == [[0x3400, 0, 1, 2], [0x3E00, 0, 1, 2]]


@pytest.mark.parametrize("outside", ["zero", "clamp", "trap"])
def test_bytes_of_surfaces(outside: str) -> None:
    image, seen = np.arange(12, dtype=np.uint32).reshape(3, 4), np.zeros((6, 2), np.uint32)
    lines = f"""
        shl.b32 %r1, %r0, 2; sub.s32 %r1, %r1, 4; and.b32 %r2, %r0, 1;
        suld.b.2d.b32.{outside} %r3, [%rd0, {{%r1, %r2}}]; add.u32 %r4, %r0, 100;
        sust.b.2d.b32.{outside} [%rd0, {{%r1, 2}}], %r4;
        mad.wide.u32 %rd3, %r0, 8, %rd1; st.global.v2.b32 [%rd3], {{%r3, %r4}};
    """
    before = image.copy()
    result = launch(lines, px.Surface(image, "2d"), seen, count=6)
    columns = np.arange(6) - 1
    nearest, good = np.clip(columns, 0, 3), (columns >= 0) & (columns < 4)
    read_back = before[np.arange(6) % 2, nearest]
    assert seen[:, 0].tolist() == (read_back if outside == "clamp" else np.where(good, read_back, 0)).tolist()
    if outside == "clamp":
        assert image[2, 1:3].tolist() == [102, 103] and image[2, 0] in (100, 101) and image[2, 3] in (104, 105)
    else:
        assert image[2].tolist() == [101, 102, 103, 104]
    assert [one.kind for one in result.reports] == (["out of bounds"] * 2 if outside == "trap" else [])


def test_formatted_stores_and_reductions() -> None:
    bytes_, sums = np.zeros((2, 3, 4), np.uint8), np.full((2, 4), -3, np.int32)
    lines = """
        mul.lo.u32 %r1, %r0, 100; and.b32 %r2, %r0, 1; shr.u32 %r3, %r0, 1; rem.u32 %r5, %r0, 3;
        sust.p.2d.v4.b32.zero [%rd0, {%r5, %r2}], {%r1, %r0, 300, 7};
        sured.p.max.2d.b32.zero [%rd1, {%r3, %r2}], %r0; shl.b32 %r4, %r3, 2; sured.b.add.2d.s32.trap [%rd1, {%r4, %r2}], -1;
        suq.height.b32 %r6, [%rd1]; st.global.u32 [%rd2], %r6;
    """
    height = np.zeros(1, np.uint32)
    launch(lines, px.Surface(bytes_, "2d", channels=4), px.Surface(sums, "2d"), height, count=6).raise_for_reports()
    for thread in range(6):
        assert bytes_[thread % 2, thread % 3].tolist() == [min(100 * thread, 255), thread, 255, 7]
    assert sums.tolist() == [[-1, 1, 3, -3], [0, 2, 4, -3]] and height[0] == 2


def test_what_is_no_such_image_is_reported() -> None:
    texture, y = px.Texture(np.zeros((2, 2), np.float32)), np.zeros(1, np.uint32)
    lines = "ld.global.f32 %f1, [%rd1]; tex.{}.v4.{}.f32 {{%r1, %r2, %r3, %r4}}, [%rd0, {{%f1, %f1{}}}];"
    (report,) = launch(lines.format("3d", "f32", ", %f1, %f1"), texture, y, count=1).reports
    assert "<Texture 2d of float32[2, 2]> is taken for .3d" in str(report) and report.kind == "image"
    (report,) = launch(lines.format("2d", "s32", ""), texture, y, count=1).reports
    assert "components of <Texture 2d of float32[2, 2]> are floats, and are read as .s32" in str(report)
    (report,) = launch(lines.format("2d", "f32", ""), px.Surface(np.zeros((2, 2), np.float32)), y, count=1).reports
    assert "stands for <Surface 2d of float32[2, 2]>, not for a px.Texture" in str(report)
    with pytest.raises(PtxgenError, match=r"the emulator has no textures of \.cube"):
        launch(lines.format("cube", "f32", ", %f1, %f1"), texture, y, count=1)


@pytest.mark.parametrize(("array", "options", "message"), [
    (np.zeros(4), {}, "takes a NumPy array of 8-, 16- or 32-bit integers, float16 or float32, not an array of float64"),
    (np.zeros(4, np.float32), {}, r"geometry '2d' takes 2 axes, none of them empty, not the shape \(4,\)"),
    (np.zeros((2, 3), np.float32), {"channels": 2}, r"2 axes and a last one of 2 channels, none of them empty"),
    (np.zeros((4, 4), np.uint8), {"filter": "linear"}, "no floats to blend"),
    (np.zeros((4, 4), np.uint32), {"read": "normalized"}, "8 and 16 bits are read normalized, not uint32"),
    (np.zeros((4, 4), np.float32), {"address": "repeat"}, "addresses wrap, mirror, clamp, border"),
    (np.zeros((4, 4), np.float32).T[:2], {}, "takes a contiguous array"),
])  # fmt: skip
def test_textures_that_are_none(array: np.ndarray, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PtxgenError, match=message):
        px.Texture(array, **options)


def test_an_image_is_no_argument_on_a_gpu() -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 t) { ret; }"
    texture = px.Texture(np.zeros((2, 2), np.float32))
    entry = px.load_ptx(text)["k"]
    entry(texture, grid=1, block=1)
    with pytest.raises(px.TraceError, match=r"k: <Texture 2d of float32\[2, 2\]> is the emulator's"):
        entry.launch(texture, grid=1, block=1)
