"""Lints of a kernel: what is wrong whenever it is executed is refused where it stands, the rest is told by `lint`."""

from __future__ import annotations

import pytest

import ptxgen as px
from ptxgen import f32, u32

WORDS = px.Tensor((64,), u32)
SHUFFLE = "shfl.sync.bfly.b32"


def here(text: str) -> str:
    """A message without its place."""
    return text.replace(text[: text.index(": ")], "<here>", 1)


def test_an_executing_lane_that_is_left_out():
    @px.kernel(grid=1, block=64)
    def kernel(x: WORDS):
        lane = px.tid.x % 32
        with px.if_(lane < 16):
            px.ptx[SHUFFLE](lane, 1, 31, 0xFF)  # <- here

    with pytest.raises(px.LintError) as raised:
        kernel.ptx()
    assert here(str(raised.value)) == (
        "<here>: shfl.sync.bfly.b32, operand membermask: the mask 0xff leaves out lanes that execute this\n"
        "  line: px.ptx[SHUFFLE](lane, 1, 31, 0xFF)  # <- here\n"
        "  rule: a mask names lanes that the warp has, the executing one among them (PTX ISA 9.7.10.6)\n"
        "  counter-example: thread 15 executes it, and bit 15 is not set\n"
        "  legal: a mask with the bits 0xffff\n"
        '  lint: membermask; px.allow("membermask") switches it off'
    )
    assert raised.value.id == "membermask"


def test_a_mask_of_no_lane():
    @px.kernel(grid=1, block=64)
    def kernel(x: WORDS):
        px.ptx["bar.warp.sync"](0)

    with pytest.raises(px.LintError, match="the mask 0 names no lane"):
        kernel.ptx()


def test_masks_that_are_right_or_not_known_to_be_wrong():
    @px.kernel(grid=1, block=64)
    def kernel(x: WORDS):
        lane, word = px.tid.x % 32, px.ptx.ld.global_.u32(x[px.tid.x])
        px.ptx[SHUFFLE](word, 1, 31, 0xFFFFFFFF)
        with px.if_(lane < 16):
            px.ptx[SHUFFLE](word, 1, 31, 0xFFFF)
        with px.if_(word == 3):
            px.ptx[SHUFFLE](word, 1, 31, 0xFF)
        px.ptx["bar.warp.sync"](0xFF, pred=word == 3)
        with px.allow("membermask"):
            px.ptx[SHUFFLE](word, 1, 31, 0xFF)

    kernel.ptx()


def test_a_switch_that_is_none():
    with pytest.raises(px.PtxgenError, match="there is no lint 'mask'; known: misaligned"), px.allow("mask"):
        pass


def test_what_lint_tells():
    @px.kernel(grid=1, block=64)
    def kernel(x: px.Tensor((64,), f32)):
        place = x[px.tid.x]
        word = px.ptx.ld.global_.f32(place)
        square = px.ptx.mul.f32(word, word)
        px.ptx.st.global_.f32(place, px.ptx.add.f32(word, square))  # <- here

    (one,) = kernel.lint()
    assert (one.severity, one.id) == ("note", "fused-product")
    assert one.position.source == "px.ptx.st.global_.f32(place, px.ptx.add.f32(word, square))  # <- here"
    assert kernel.lint(without=["fused-product"]) == kernel.specialize().lint(without=["fused-product"]) == []


def test_a_lane_twice_in_a_fragment():
    @px.kernel(grid=1, block=32)
    def kernel(x: WORDS):
        a, b, c = (px.ptx.ld.global_.b32(x[px.tid.x + step]) for step in (0, 1, 2))
        zero = px.f32(0)
        px.ptx["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]((a, b, b, c), (a, b), (zero,) * 4)

    assert [(one.severity, one.id) for one in kernel.lint()] == [("warning", "fragment-register")]
