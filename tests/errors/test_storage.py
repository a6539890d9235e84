"""Storage that cannot be, and layouts that say something else than the tile."""

from __future__ import annotations

import pytest

import ptxgen as px
from ptxgen import LayoutError, S, Swizzle, TraceError, bf16, f32, laneid, u32
from tests.errors.refusal import refused

n = px.dim("n")


# ---- layouts --------------------------------------------------------------------------------------------------------------


def test_three_extents_with_two_strides():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local((4, 8, 2), f32, layout=S[(4, 8, 2) : (1, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: S[(4, 8, 2) : (1, 1)]: 3 extents against 2 strides
  line: <source>
""")


def test_lane_64():
    @px.kernel(grid=1, block=64)
    def kernel():
        px.local((64, 4), f32, layout=S[(64, 4) : (1 @ laneid, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: laneid reaches 63 at coordinate (63, 0); a warp has lanes 0..31: write warpid and laneid, or use tx
  line: <source>
""")


def test_layout_as_text():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local((32, 4), f32, layout="S[(32, 4) : (1@laneid, 1)]")  # <- here

    refused(LayoutError, kernel, """
<here>: a layout is built from S[extents : strides], not from 'S[(32, 4) : (1@laneid, 1)]'
  line: <source>
  legal: parse(text); from_cute and from_triton of ptxgen.layouts.interchange read those of others
""")


def test_axis_that_does_not_exist():
    with pytest.raises(AttributeError) as caught:
        S[(32, 4) : (1 @ px.lane, 1)]
    assert str(caught.value) == "module 'ptxgen' has no attribute 'lane'; did you mean px.laneid or px.range or px.TLane?"


def test_layout_of_another_shape():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.local((32, 8), f32, layout=S[(32, 4) : (1 @ laneid, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: px.local: the layout has shape (32, 4), 128 elements, the tile (32, 8), 256
  line: <source>
  legal: a layout with one position for every element of the tile
""")


def test_layout_that_is_none():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.local((32, 8), f32, layout=(8, 1))  # <- here

    refused(LayoutError, kernel, """
<here>: a layout is built from S[extents : strides], not from (8, 1)
  line: <source>
""")


def test_negative_register_positions():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local(4, f32, layout=S[(4,) : (-1,)])  # <- here

    refused(LayoutError, kernel, """
<here>: px.local: S[(4,) : (-1,)] puts an element at position -3 of its thread
  line: <source>
  legal: positions begin at 0: px.Layout(...) + 3
""")


def test_swizzled_registers():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local((8, 64), bf16, layout=px.Layout(S[(8, 64)], swizzle=Swizzle.B128))  # <- here

    refused(LayoutError, kernel, """
<here>: px.local: registers have names and no addresses, so a swizzle means nothing
  line: <source>
  legal: the layout without it
""")


# ---- px.local and px.shared -----------------------------------------------------------------------------------------------


def test_empty_tile():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local((4, 0), f32)  # <- here

    refused(TraceError, kernel, """
<here>: the extent 0 of a tile is no positive int
  line: <source>
  why: registers and shared memory are allotted before the kernel runs
  legal: an int, or a px.constexpr parameter
""")


def test_tile_of_runtime_extent():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        px.local(n, f32)  # <- here

    refused(TraceError, kernel, """
<here>: the extent n of a tile is no positive int
  line: <source>
  why: registers and shared memory are allotted before the kernel runs
  legal: an int, or a px.constexpr parameter
""")


def test_shared_tile_of_traced_extent():
    @px.kernel(grid=1, block=1)
    def kernel(k: u32):
        px.shared(k, f32)  # <- here

    refused(TraceError, kernel, """
<here>: the extent <k: u32> of a tile is no positive int
  line: <source>
  why: registers and shared memory are allotted before the kernel runs
  legal: an int, or a px.constexpr parameter
""")


def test_type_as_text():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local(4, "f32")  # <- here

    refused(TraceError, kernel, """
<here>: px.local: 'f32' is no element type
  line: <source>
  legal: px.local((4, 8), px.f32): a shape, then px.f32, px.bf16, px.u8, ...
""")


def test_type_of_numpy():
    import numpy as np

    @px.kernel(grid=1, block=1)
    def kernel():
        px.shared(4, np.float32)  # <- here

    refused(TraceError, kernel, """
<here>: px.shared: <class 'numpy.float32'> is no element type
  line: <source>
  legal: px.shared((4, 8), px.f32): a shape, then px.f32, px.bf16, px.u8, ...
""")


def test_type_left_out_of_its_place():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local(f32, 4)  # <- here

    refused(TraceError, kernel, """
<here>: px.local: the type stands first
  line: <source>
  legal: px.local((4, 8), px.f32): a shape, then px.f32, px.bf16, px.u8, ...
""")


def test_container_narrower_than_the_elements():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local(4, f32, container=px.b16)  # <- here

    refused(LayoutError, kernel, """
<here>: px.local: a .b16 register does not hold whole elements of .f32
  line: <source>
  legal: a container of a multiple of 32 bits, or none
""")


def test_shared_layout_with_thread_axes():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((32, 4), f32, layout=S[(32, 4) : (1 @ laneid, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: S[(32, 4) : (1 @ laneid, 1)] has thread axes, and all threads share the memory
  line: <source>
  legal: strides on m alone: plain ints
""")


def test_swizzled_shared_tile_aligned_too_little():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((8, 64), bf16, layout=px.Layout(S[(8, 64)], swizzle=Swizzle.B128), align=128)  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: align=128 is no power of two of at least 1024 bytes, the period of its swizzle
  line: <source>
  legal: align=1024, or none
""")


def test_shared_alignment_that_is_no_power_of_two():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared(8, f32, align=24)  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: align=24 is no power of two of at least 4 bytes, the size of an element of .f32
  line: <source>
  legal: align=4, or none
""")


def test_shared_tile_that_begins_before_its_storage():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((8, 4), f32, layout=S[(8, 4) : (-4, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: S[(8, 4) : (-4, 1)] begins 112 bytes before its storage
  line: <source>
  legal: positions begin at 0: px.Layout(...) + 28
""")


def test_more_shared_memory_than_any_device_has():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((512, 1024), px.u8)  # <- here

    refused(TraceError, kernel, """
<here>: the kernel declares 524288 bytes of shared memory with this tile
  line: <source>
  why: a block has at most 232448 bytes (227 KiB) on any device
  legal: a smaller tile, or fewer stages
""")


def test_no_stage():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((8, 4), f32, stages=0)  # <- here

    refused(TraceError, kernel, """
<here>: the extent 0 of a tile is no positive int
  line: <source>
  why: registers and shared memory are allotted before the kernel runs
  legal: an int, or a px.constexpr parameter
""")


def test_stage_past_the_last():
    @px.kernel(grid=1, block=32)
    def kernel(stage: u32):
        s = px.shared((8, 4), f32, stages=3)
        s[stage]  # <- here

    refused(TraceError, kernel, """
<here>: index stage of axis 0 of s[3, 8, 4] f32 in .shared is not proved to be below 3
  line: <source>
  why: it leaves the tensor for stage = 4294967294
  legal: guard it: with px.if_(stage < 3): ...; or make the extents divide
""")


def test_predicates_in_memory():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared(8, px.pred)  # <- here

    refused(TraceError, kernel, """
<here>: px.shared: memory holds no predicates
  line: <source>
  legal: px.u8, and x != 0 for a predicate
""")


def test_alignment_as_text():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared(8, f32, align="16")  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: align='16' is no power of two of at least 4 bytes, the size of an element of .f32
  line: <source>
  legal: align=4, or none
""")
