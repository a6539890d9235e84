"""Tensor maps outside of kernels: fields by hand, images by an independent placement, every rule refused by its name; boxes with steps."""

# ruff: noqa: E501 - a message stands as it is written

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S, bf16, f32, u8
from ptxgen.errors import InstructionError, LayoutError, TraceError
from ptxgen.runtime.tensormap import TensorMapError
from tests.solve.shown import shown

LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
B128 = px.Swizzle.B128
SWIZZLES = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: B128}
A = px.Tensor((px.dim("m"), px.dim("k", multiple_of=64)), bf16, align=16)


def test_fields():
    plan = px.solve.tensor_map(A, (128, 64), px.Layout(S[(128, 64)], swizzle=B128))
    assert (plan.box, plan.element_strides, plan.swizzle, plan.interleave) == ((128, 64), (1, 1), "128B", "none")
    assert (plan.bytes, plan.align, plan.base_align, plan.targets) == (128 * 64 * 2, 1024, 16, "sm_90 and newer")
    assert plan.map.at({"m": 1000, "k": 192}).reversed() == ((192, 1000), (384,), (64, 128), (1, 1))
    plan.check()


def test_fields_of_interleaved_tensors():
    """NC/8HWC8 of 16-bit elements: the innermost axis is 16 bytes, and no swizzle is asked for."""
    plan = px.solve.tensor_map(S[(4, 6, 10, 8)], (1, 2, 5, 8), dtype=bf16, interleave="16B")
    assert (plan.strides, plan.interleave, plan.image) == ((960, 160, 16), "16B", None)
    wide = px.solve.tensor_map(S[(4, 6, 16)], (1, 2, 16), dtype=bf16, interleave="32B", swizzle=px.Swizzle.B32)
    assert (wide.base_align, wide.swizzle) == (32, "32B")


def test_packed_elements():
    """Six bits each in global memory, a byte each in shared memory; a box spans 128 of them."""
    plan = px.solve.tensor_map(S[(4, 256)], (2, 128), dtype="b6x16_p32", swizzle=B128)
    assert (plan.strides, plan.bytes, plan.base_align, plan.targets) == ((192,), 256, 32, "sm_100 and newer")
    plan.check()


@given(
    st.lists(st.sampled_from([1, 2, 3, 4]), min_size=0, max_size=3), st.sampled_from([16, 32, 64, 128]), st.sampled_from([u8, bf16, f32]),
    st.sampled_from(sorted(SWIZZLES)), st.data(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_images(outer, row_bytes, dtype, span, data):
    """The image that a copy writes: rows one behind the other, as far apart as the swizzle is wide, its pieces of 16 bytes XORed."""
    size = dtype.bits // 8
    if span and row_bytes > span:
        row_bytes = span
    box = (*outer, row_bytes // size)
    steps = tuple(data.draw(st.integers(1, 8)) for _ in outer) + (1,)
    shape = tuple(extent * step + 5 for extent, step in zip(outer, steps)) + (256 // size * 2,)
    plan = px.solve.tensor_map(px.Tensor(shape, dtype, align=16), box, swizzle=SWIZZLES[span], steps=steps)
    plan.check()
    pitch = span or row_bytes
    found = np.broadcast_to(plan.image.table().m, box).reshape(-1, box[-1]) // 8
    for row in range(len(found)):
        for column in range(box[-1]):
            byte = row * pitch + column * size
            chunk = byte // 16 % (span // 16) ^ byte // 128 % (span // 16) if span else byte // 16
            wanted = byte // span * span + chunk * 16 + byte % 16 if span else byte
            assert found[row, column] == wanted
    assert plan.strides == tuple(int(np.prod(shape[axis + 1 :])) * size for axis in range(len(shape) - 1))
    assert plan.box == tuple((extent - 1) * step + 1 for extent, step in zip(box, steps))
    assert plan.bytes == int(np.prod(box)) * size
    again = px.solve.tensor_map(px.Tensor(shape, dtype, align=16), box, plan.image, steps=steps)
    assert again.map == plan.map


RULES = {
    "rank": (lambda: px.solve.tensor_map(S[(2, 2, 2, 2, 2, 16)], (1, 1, 1, 1, 1, 16), dtype=bf16), "6 axes; a tensor map has 1 to 5"),
    "box extent": (lambda: px.solve.tensor_map(A, (257, 64)), "the box spans 257 elements along axis 0; 1 to 256 are allowed. Fix: 2 copies of 129 elements"),
    "inner box": (lambda: px.solve.tensor_map(A, (64, 12)), "are 24 bytes; a multiple of 16 is needed. Fix: a box of 16 elements along axis 1"),
    "swizzle span": (lambda: px.solve.tensor_map(A, (64, 128), swizzle=B128), "are 256 bytes; swizzle 128B takes at most 128. Fix: a box of at most 64 elements"),
    "stride": (lambda: px.solve.tensor_map(px.Tensor((64, 65), bf16, align=16), (64, 64)), "axis 0 has a stride of 130 bytes, which is 2 modulo 16"),
    "element stride": (lambda: px.solve.tensor_map(A, (8, 64), steps=(9, 1)), "the element stride along axis 0 is 9; 1 to 8 are allowed"),
    "base address": (lambda: px.solve.tensor_map(px.Tensor((64, 64), bf16), (64, 64)), "a multiple of 2 bytes; tensor maps need 16. Fix: px.Tensor(..., align=16)"),
    "interleave": (lambda: px.solve.tensor_map(A, (8, 64), interleave="16B"), "interleave 16B with 2 axes; it needs 3 to 5"),
    "swizzle": (lambda: px.solve.tensor_map(A, (8, 64), swizzle=px.Swizzle(2, 5, 3)), "no tensor map swizzles by Swizzle(2, 5, 3)"),
    "element kind": (lambda: px.solve.tensor_map(S[(64, 64)], (8, 64), dtype=px.e2m1), "elements of 4 bits have no kind of their own. Fix: view the tensor as .b8"),
    "packed box": (lambda: px.solve.tensor_map(S[(64, 256)], (8, 64), dtype="b4x16_p64"), "it must span 128"),
    "fill": (lambda: px.solve.tensor_map(S[(64, 256)], (8, 64), dtype=u8, fill="nan"), "only f16, bf16, f32, f64 have NaNs"),
    "box bytes": (lambda: px.solve.tensor_map(S[(256, 256, 64)], (64, 64, 64), dtype=bf16), "a smaller box, and more copies"),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rules_have_names(rule):
    call, told = RULES[rule]
    with pytest.raises(TensorMapError) as caught:
        call()
    assert caught.value.rule == rule
    assert told in str(caught.value)


def test_interleave_of_32_bytes_has_its_swizzle_and_strides():
    wide = S[(4, 6, 8)]
    for swizzle, rule in ((None, "interleave"), (px.Swizzle.B32, "stride")):
        shape = S[(4, 6, 16)] if swizzle is None else wide
        with pytest.raises(TensorMapError) as caught:
            px.solve.tensor_map(shape, (1, 2, 8), dtype=bf16, interleave="32B", swizzle=swizzle)
        assert caught.value.rule == rule


def test_tiles_that_are_no_image():
    gaps = shown(InstructionError, lambda: px.solve.tensor_map(A, (64, 64), px.Layout(S[(64, 64) : (72, 1)])))
    assert "element (1, 0) lies 144 bytes behind the first, the copy puts it 128 behind" in gaps
    low = shown(InstructionError, lambda: px.solve.tensor_map(A, (64, 64), px.Layout(S[(64, 64)], swizzle=B128), align=128))
    assert "is not known to begin at a multiple of 1024 bytes" in low
    assert "for a box of (64, 64)" in shown(LayoutError, lambda: px.solve.tensor_map(A, (64, 64), S[(64, 32)]))
    assert "that axis is contiguous" in shown(LayoutError, lambda: px.solve.tensor_map(S[(64, 64) : (1, 64)], (8, 64), dtype=bf16))
    assert "an interleaved box" in shown(LayoutError, lambda: px.solve.tensor_map(S[(2, 4, 8)], (1, 4, 8), S[(4, 8)], dtype=bf16, interleave="16B"))
    assert "dtype=px.bf16, or a px.Tensor" in shown(LayoutError, lambda: px.solve.tensor_map(S[(64, 64)], (8, 64)))


def test_what_is_printed():
    assert str(px.solve.tensor_map(A, (64, 32), px.Layout(S[(64, 32)], swizzle=px.Swizzle.B64), steps=(2, 1))) == """\
tensor map of tensor: .bf16, sm_90 and newer
  extents       m x k
  strides       2*k bytes; the tensor's address a multiple of 16
  box           127 x 32, every 2 x 1 elements; 4096 bytes a copy
  swizzle       64B; interleave none; fill zero; promotion 128B
  image         Layout(S[(64, 32) : (512, 16)], swizzle=Swizzle(2, 4, 3), unit="bit")
  in shared     at a multiple of 512 bytes, rows 64 bytes apart"""


# ---- boxes in kernels ---------------------------------------------------------------------------------------------------


def test_every_third_row_and_nan_outside():
    @px.kernel(grid=1, block=32, target="sm_90")
    def copied(X: px.Tensor((40, 64), f32, align=16), Y: px.Tensor((8, 32), f32, align=4)):
        tile = px.shared((8, 32), f32, layout=px.Layout(S[(8, 32)], swizzle=B128))
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(8 * 32 * 4)
            px.tile.apply(LOAD, tile, X.box((25, 48), (8, 32), steps=(3, 1), fill="nan"), arrived, scope="thread")
        px.syncthreads()
        arrived.wait(0)
        r = px.local((8, 32), f32, layout=S[(8, 32) : (1, 1 @ px.laneid)])
        lanes = "r l -> l r 1"
        px.tile.apply("ld.shared.f32", r.rearrange(lanes), tile.rearrange(lanes), scope="warp")
        px.tile.apply("st.global.f32", Y.rearrange(lanes), r.rearrange(lanes), scope="warp")

    x = np.arange(40 * 64, dtype=np.float32).reshape(40, 64)
    y = np.zeros((8, 32), np.float32)
    copied(x, y)
    wanted = np.full((8, 32), np.nan, np.float32)
    wanted[:5, :16] = x[25::3, 48:]
    assert np.array_equal(y, wanted, equal_nan=True)


def test_boxes_whose_options_mean_nothing():
    def traced(**options):
        @px.kernel(grid=1, block=1, target="sm_90")
        def kernel(X: px.Tensor((40, 64), f32, align=16)):
            X.box((0, 0), (8, 32), **options)

        return kernel.specialize

    assert "the steps of a box" in shown(TraceError, traced(steps=(1,)))
    assert "has no swizzle" in shown(TraceError, traced(swizzle="128B"))


def test_a_view_in_a_kernel_has_its_own_type_and_alignment():
    found = []

    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(X: px.Tensor((40, 64), f32, align=16), Y: px.Tensor((40, 64), f32)):
        tile = px.shared((8, 32), f32, layout=px.Layout(S[(8, 32)], swizzle=B128))
        found.append(px.solve.tensor_map(X, (8, 32), tile))
        found.append(shown(TensorMapError, lambda: px.solve.tensor_map(Y, (8, 32), tile)))

    kernel.specialize()
    assert (found[0].map.name, found[0].map.kind, found[0].swizzle) == ("X", "f32", "128B")
    assert "tensor map of 'Y': its address is known to be a multiple of 4 bytes" in found[1]
