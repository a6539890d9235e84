"""A refused program changes nothing: kernel, module and trace are as they were, and what is right works at once."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, TraceError, b32, f32, laneid, u32
from ptxgen.tracing.builder import active

WIDTH = 3


@px.kernel(grid=1, block=32)
def copy(A: px.Tensor((32, 4), f32, align=16), B: px.Tensor((32, 4), f32, align=16)):
    r = px.local((32, WIDTH), f32, layout=S[(32, WIDTH) : (1 @ laneid, 1)])
    px.tile.apply("ld.global.v4.b32", r, A, scope="cta")
    px.tile.apply("st.global.v4.b32", B, r, scope="cta")


def test_a_kernel_is_traced_again_after_its_mistake_is_mended(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(px.InstructionError):
        copy.ptx()
    with pytest.raises(px.InstructionError):  # refused again, not remembered as made
        copy.specialize()
    monkeypatch.setitem(globals(), "WIDTH", 4)
    text = copy.ptx(comments=False)
    assert "ld.global.v4.b32" in text and "st.global.v4.b32" in text
    fresh = px.kernel(grid=1, block=32)(copy.function)
    assert fresh.ptx(comments=False) == text


def test_constants_that_fail_leave_those_that_work():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 8), f32), *, W: px.constexpr = 1):
        r = px.local((32, W), b32, layout=S[(32, W) : (1 @ laneid, 1)])
        px.tile.apply(f"ld.global{f'.v{W}' if W > 1 else ''}.b32", r, A[:, 0:W].view(b32), scope="cta")

    good = kernel.specialize(W=1)
    text = good.ptx()
    with pytest.raises(px.InstructionError):
        kernel.specialize(W=3)
    with pytest.raises(px.InstructionError):
        kernel.specialize(W=4)  # not aligned
    assert kernel.specialize(W=1) is good
    assert good.ptx() == text


@pytest.mark.parametrize("error", [TraceError, ValueError, KeyboardInterrupt])
def test_no_trace_stays_open(error: type[BaseException]):
    @px.kernel(grid=1, block=32)
    def kernel(x: f32):
        with px.if_(px.tid.x < 4):
            for _ in px.range(4):
                raise error("stop")

    with pytest.raises(error, match="stop"):
        kernel.specialize()
    assert active() is None
    with pytest.raises(TraceError, match="only has a meaning inside a kernel"):
        px.local(4, f32)


def test_an_error_that_is_caught_in_the_kernel_leaves_nothing_behind():
    """A refused instruction emits nothing, so a kernel that tries one and takes another is what it would be without the try."""

    @px.kernel(grid=1, block=32)
    def tries(A: px.Tensor((32, 2), f32), B: px.Tensor((32, 2), f32)):
        r = px.local((32, 2), f32, layout=S[(32, 2) : (1 @ laneid, 1)])
        try:
            px.tile.apply("ld.global.v2.b32", r, A, scope="cta")
        except px.InstructionError:
            px.tile.apply("ld.global.b32", r.view(32, 2, 1), A.view(32, 2, 1), scope="cta")

    @px.kernel(grid=1, block=32)
    def knows(A: px.Tensor((32, 2), f32), B: px.Tensor((32, 2), f32)):
        r = px.local((32, 2), f32, layout=S[(32, 2) : (1 @ laneid, 1)])
        px.tile.apply("ld.global.b32", r.view(32, 2, 1), A.view(32, 2, 1), scope="cta")

    assert tries.ptx(comments=False).replace("tries", "knows") == knows.ptx(comments=False)


def test_kernels_traced_inside_kernels_keep_apart():
    @px.kernel(grid=1, block=32)
    def inner(x: f32):
        px.ptx.add.f32(x, 0.1)

    @px.kernel(grid=1, block=32)
    def outer(a: u32):
        before = a + 1
        with pytest.raises(TraceError):
            inner.specialize()
        r = px.reg(u32, before)
        r += before

    assert "add.u32" in outer.ptx()


def test_arguments_that_are_refused_are_not_written():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((32,), f32), y: px.Tensor((32,), f32)):
        px.ptx.st.global_.f32(x[px.tid.x], 1.0)

    x = np.zeros(32, np.float32)
    with pytest.raises(px.ArgumentError):
        kernel(x, np.zeros(32))
    assert not x.any()


def test_row_2_to_the_29_times_4_bytes_is_widened_before_it_is_multiplied():
    """Offsets of 2^31 and more: the byte offset is computed in 64 bits from 32-bit factors."""
    rows = px.dim("rows")

    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((rows, 1), f32), row: u32):
        with px.if_(row < rows):
            px.ptx.st.global_.f32(A[row, 0], 1.0)

    lines = [line.strip() for line in kernel.ptx(comments=False).splitlines()]
    widened = [line for line in lines if line.startswith(("mul.wide.u32", "mad.wide.u32"))]
    assert len(widened) == 1 and widened[0].split(",")[2].strip(" ;") == "4"
    assert not any(line.startswith(("mul.lo.u32", "mad.lo.u32", "shl.b32")) for line in lines)
