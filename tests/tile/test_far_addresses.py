"""Addresses past what an immediate or a 32-bit factor holds, and swizzles of positions that are known only at run time."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S


def lines(kernel):
    return [" ".join(line.split()) for line in kernel.ptx().splitlines()]


def test_a_constant_offset_past_the_immediate_is_added():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((2**30,), px.f32)):
        px.ptx.st.global_.f32(A[2**30 - 1], px.f32(1))

    text = lines(kernel)
    assert "add.s64 %rd2, %rd1, 4294967292;" in text and "st.global.f32 [%rd2], 0f3F800000;" in text


def test_a_thread_stride_past_32_bits_is_multiplied_in_64():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 2**31), px.f32)):
        r = px.local((32, 1), px.f32, layout=S[(32, 1) : (1 @ px.tx, 1)])
        px.tile.apply("ld.global.f32", r, A[:, 5:6], scope="cta")

    assert "mad.lo.s64 %rd3, %rd2, 8589934592, %rd1;" in lines(kernel)


def through_shared(swizzle, atom):
    """Stored word by word with static rows, loaded in vectors at a runtime row."""

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((8, 32), px.b32, align=16), B: px.Tensor((8, 32), px.b32, align=16)):
        tile = px.shared((8, 32), px.b32, layout=px.Layout(S[(8, 32)], swizzle=swizzle))
        r = px.local((32, 8, 1), px.b32, layout=S[(32, 8, 1) : (1 @ px.tx, 1, 1)])
        px.tile.apply("ld.global.b32", r, A.permute(1, 0).view(32, 8, 1), scope="cta")
        px.tile.apply("st.shared.b32", tile.permute(1, 0).view(32, 8, 1), r, scope="cta")
        px.syncthreads()
        count = 32 // atom
        word = f"v{atom}.b32" if atom > 1 else "b32"
        with px.if_(px.tid.x < count):
            for row in px.range(8):
                q = px.local((count, atom), px.b32, layout=S[(count, atom) : (1 @ px.tx, 1)])
                px.tile.apply(f"ld.shared.{word}", q, tile[row].view(count, atom), scope="cta")
                px.tile.apply(f"st.global.{word}", B[row].view(count, atom), q, scope="cta")

    return kernel


@pytest.mark.parametrize(("swizzle", "atom"), [(px.Swizzle(3, 2, 5), 1), (px.Swizzle(2, 3, 4), 2), (px.Swizzle(3, 4, 3), 4)])
def test_an_access_inside_a_granule_at_a_runtime_row(swizzle, atom):
    a = np.arange(256, dtype=np.uint32).reshape(8, 32)
    b = np.zeros_like(a)
    through_shared(swizzle, atom)(a, b)
    np.testing.assert_array_equal(a, b)


def test_an_access_that_the_swizzle_cuts_at_a_runtime_row_is_refused():
    with pytest.raises(px.InstructionError, match="cut by its swizzle"):
        through_shared(px.Swizzle(3, 2, 5), 4).ptx()
