"""Guards on the lane narrow a tile's threads: `px.sreg.laneid` is what each thread of a warp has by its index."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S, f32, laneid, warpid
from ptxgen.tile.program import fit


@pytest.mark.parametrize("block", [32, 96, (16, 4)])
@pytest.mark.parametrize("lane", [lambda: px.sreg.laneid, lambda: (px.tid.y * px.ntid.x + px.tid.x) % 32])
def test_lanes_below_a_constant_are_the_group(block, lane):
    @px.kernel(grid=1, block=block)
    def kernel(x: px.Tensor((8, 4), f32, align=16), y: px.Tensor((8, 4), f32, align=16)):  # every warp writes the same into y
        with px.if_(lane() < 8):
            r = px.local((8, 4), f32, layout=S[(8, 4) : (1 @ laneid, 1)])
            px.tile.apply("ld.global.v4.f32", r, x, scope="warp")
            px.tile.ewise(lambda value: 5 - value, r, r, scope="warp")
            px.tile.apply("st.global.v4.f32", y, r, scope="warp")

    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    y = np.zeros_like(x)
    kernel(x, y)
    assert np.array_equal(y, 5 - x)


def test_the_lane_is_read_and_not_computed_and_agrees_with_the_emulator():
    @px.kernel(grid=1, block=(8, 3, 4))
    def kernel(x: px.Tensor((96,), px.u32)):
        thread = (px.tid.z * 3 + px.tid.y) * 8 + px.tid.x
        px.ptx.st.global_.u32(x[thread], px.sreg.laneid)

    x = np.zeros(96, np.uint32)
    kernel(x)
    assert np.array_equal(x, np.arange(96) % 32)
    assert "%laneid" in kernel.ptx()


@pytest.mark.parametrize("first", [0, 8, 24])
def test_eight_lanes_of_every_warp_are_a_group_of_the_block(first):
    layout = px.Layout(S[(3, 8, 4) : (1 @ warpid, 1 @ laneid, 1)], offset=first @ laneid)

    @px.kernel(grid=1, block=96)
    def kernel(x: px.Tensor((3, 8, 4), f32, align=16)):
        with px.if_((px.sreg.laneid >= first) & (px.sreg.laneid < first + 8)):
            r = px.local((3, 8, 4), f32, layout=layout)
            px.tile.apply("ld.global.v4.f32", r, x, scope="cta")
            px.tile.ewise(lambda value: value * 2, r, r, scope="cta")
            px.tile.apply("st.global.v4.f32", x, r, scope="cta")

    x = np.arange(96, dtype=np.float32).reshape(3, 8, 4)
    wanted = 2 * x
    kernel(x)
    assert np.array_equal(x, wanted)


digits = st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, 8]), st.sampled_from([1, 1, 2, 4]), st.integers(-64, 64)), min_size=1, max_size=4)


@given(digits)
def test_an_index_with_gaps_is_fitted_digit_by_digit(drawn):
    steps, step = [], 1
    for extent, gap, _ in drawn:
        steps.append(step)
        step *= extent * gap
    coordinates = [at[::-1] for at in product(*(range(extent) for extent, _, _ in reversed(drawn)))]
    index = np.array([sum(a * s for a, s in zip(at, steps)) for at in coordinates])
    offsets = np.array([sum(a * stride for a, (_, _, stride) in zip(at, drawn)) for at in coordinates])
    assert np.array_equal(fit(index, offsets).evaluate(index), offsets)
