"""Guards on the lane narrow a tile's threads: `px.sreg.laneid` is what each thread of a warp has by its index."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, f32, laneid


@pytest.mark.parametrize("block", [32, 96, (16, 4)])
@pytest.mark.parametrize("lane", [lambda: px.sreg.laneid, lambda: (px.tid.y * px.ntid.x + px.tid.x) % 32])
def test_lanes_below_a_constant_are_the_group(block, lane):
    @px.kernel(grid=1, block=block)
    def kernel(x: px.Tensor((8, 4), f32, align=16)):
        with px.if_(lane() < 8):
            r = px.local((8, 4), f32, layout=S[(8, 4) : (1 @ laneid, 1)])
            px.tile.apply("ld.global.v4.f32", r, x, scope="warp")
            px.tile.ewise(lambda value: 5 - value, r, r, scope="warp")
            px.tile.apply("st.global.v4.f32", x, r, scope="warp")

    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    wanted = 5 - x
    kernel(x)
    assert np.array_equal(x, wanted)


def test_the_lane_is_read_and_not_computed_and_agrees_with_the_emulator():
    @px.kernel(grid=1, block=(8, 3, 4))
    def kernel(x: px.Tensor((96,), px.u32)):
        thread = (px.tid.z * 3 + px.tid.y) * 8 + px.tid.x
        px.ptx.st.global_.u32(x[thread], px.sreg.laneid)

    x = np.zeros(96, np.uint32)
    kernel(x)
    assert np.array_equal(x, np.arange(96) % 32)
    assert "%laneid" in kernel.ptx()
