"""Views that leave their tensor, storage that cannot be, layouts that say something else than the tile."""

from __future__ import annotations

import pytest

import ptxgen as px
from ptxgen import LayoutError, S, Swizzle, TraceError, b32, bf16, f32, laneid, u32
from tests.errors.refusal import refused

n = px.dim("n")


# ---- indices and parts that leave the tensor ------------------------------------------------------------------------------


def test_runtime_sub_past_the_end():
    @px.kernel(grid=1, block=128)
    def kernel(A: px.Tensor((128,), f32, align=16)):
        A.sub((px.tid.x,), (4,))  # <- here

    refused(TraceError, kernel, """
<here>: index tid.x to tid.x + 3 of axis 0 of A[128] f32 in .global is not proved to be below 128
  line: <source>
  why: it leaves the tensor for tid.x = 126
  legal: guard it: with px.if_(tid.x + 3 < 128): ...; or make the extents divide
""")


def test_unguarded_ragged_tail():
    @px.kernel(grid=lambda n: px.cdiv(n, 128), block=128)
    def kernel(A: px.Tensor((n,), f32)):
        i = px.ctaid.x * 128 + px.tid.x
        px.ptx.ld.global_.f32(A[i])  # <- here

    refused(TraceError, kernel, """
<here>: index 128*ctaid.x + tid.x of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for ctaid.x = 0, n = 1, tid.x = 1
  legal: guard it: with px.if_(128*ctaid.x + tid.x < n): ...; or make the extents divide
""")


def test_guard_that_is_one_short():
    @px.kernel(grid=lambda n: px.cdiv(n, 128), block=128)
    def kernel(A: px.Tensor((n,), f32)):
        i = px.ctaid.x * 128 + px.tid.x
        with px.if_(i <= n):
            px.ptx.ld.global_.f32(A[i])  # <- here

    refused(TraceError, kernel, """
<here>: index 128*ctaid.x + tid.x of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for ctaid.x = 0, n = 1, tid.x = 1
  legal: guard it: with px.if_(128*ctaid.x + tid.x < n): ...; or make the extents divide
""")


def test_guard_on_the_first_of_four():
    @px.kernel(grid=lambda n: px.cdiv(n, 512), block=128)
    def kernel(A: px.Tensor((n,), f32, align=16)):
        i = (px.ctaid.x * 128 + px.tid.x) * 4
        with px.if_(i < n):
            A[i : i + 4]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[n] f32 in .global has the runtime length %r6 - 512*ctaid.x - 4*tid.x
  line: <source>
  why: a view's extents are part of the text; and a sum that may wrap around has no known distance from its start
  legal: x.sub((start,), (4,)), which states a static length, or px.range over single elements
""")


def test_constant_index_past_the_end():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[4, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 4 of axis 0 of A[4, 8] f32 in .global is not below 4
  line: <source>
  legal: indices 0 to 3
""")


def test_constant_slice_past_the_end():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[0, 4:12]  # <- here

    refused(LayoutError, kernel, """
<here>: coordinate 11 of dimension 1 is outside 0..7 (shape (4, 8))
  line: <source>
""")


def test_constant_index_into_a_runtime_extent():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A[0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for n = 0
  legal: guard it: with px.if_(0 < n): ...; or make the extents divide
""")


def test_signed_index_that_may_be_negative():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32), i: px.s32):
        with px.if_(i < 8):
            A[i]  # <- here

    refused(TraceError, kernel, """
<here>: index i of axis 0 of A[8] f32 in .global is not proved to be at least 0
  line: <source>
  why: it leaves the tensor for i = -2147483648
  legal: guard it: with px.if_(i >= 0): ...; or make the extents divide
""")


def test_index_read_from_memory():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32), B: px.Tensor((1,), u32)):
        i = px.ptx.ld.global_.u32(B[0])
        A[i]  # <- here

    refused(TraceError, kernel, """
<here>: index i of axis 0 of A[8] f32 in .global is not proved to be below 8
  line: <source>
  why: it leaves the tensor for i = 4294967294
  legal: guard it: with px.if_(i < 8): ...; or make the extents divide
""")


def test_slice_of_runtime_length():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A[0 : n - 1]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[n] f32 in .global has the runtime length %r1
  line: <source>
  why: a view's extents are part of the text; and a sum that may wrap around has no known distance from its start
  legal: x.sub((start,), (4,)), which states a static length, or px.range over single elements
""")


def test_negative_step():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        A[::-1]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[8] f32 in .global has the step -1
  line: <source>
  legal: a positive int; x.view and x.permute rearrange whole axes
""")


def test_runtime_step():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32), k: u32):
        A[0:8:k]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[8] f32 in .global has the step <k: u32>
  line: <source>
  legal: a positive int; x.view and x.permute rearrange whole axes
""")


def test_too_many_indices():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[0, 0, 0]  # <- here

    refused(LayoutError, kernel, """
<here>: 3 indices into A[4, 8] f32 in .global, which has 2 axes
  line: <source>
""")


def test_float_index():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32), x: f32):
        A[x, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is a .f32 where an integer is needed
  line: <source>
  legal: index with u32, s32, u64 or s64
""")


def test_python_float_index():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[4 / 2, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is 2.0, which is no index
  line: <source>
  legal: an int, a traced integer, or a slice of these
""")


def test_bool_mask_as_index():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32,), f32)):
        A[px.tid.x < 4]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is a .pred where an integer is needed
  line: <source>
  legal: index with u32, s32, u64 or s64
""")


def test_sub_with_a_start_too_few():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A.sub((0,), (4, 8))  # <- here

    refused(LayoutError, kernel, """
<here>: sub of A[4, 8] f32 in .global needs 2 starts and extents, not 1 and 2
  line: <source>
""")


def test_sub_with_ints_instead_of_tuples():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        A.sub(0, 4)  # <- here

    refused(TraceError, kernel, """
<here>: sub of A[8] f32 in .global takes tuples, not 0 and 4
  line: <source>
  legal: x.sub((i, j), (8, 4)): a start and an extent for each axis
""")


def test_sub_with_a_runtime_extent():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A.sub((0,), (n,))  # <- here

    refused(TraceError, kernel, """
<here>: extent 0 of a part of A[n] f32 in .global is known only at run time
  line: <source>
  why: a view's extents are part of the text
  legal: a static extent; px.range over tiles, and a guarded tail
""")


def test_iteration_over_a_tensor():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        for row in A:  # <- here
            print(row)

    refused(TraceError, kernel, """
<here>: A[8] f32 in .global can't be iterated over
  line: <source>
  legal: index it: for k in range(n): x[k] (unrolled)
""")


def test_view_made_under_a_guard_used_outside():
    @px.kernel(grid=lambda n: px.cdiv(n, 128), block=128)
    def kernel(A: px.Tensor((n,), f32)):
        i = px.ctaid.x * 128 + px.tid.x
        kept = []
        with px.if_(i < n):  # <- there
            kept.append(A[i])
        px.ptx.st.global_.f32(kept[0], 0.0)  # <- here

    refused(TraceError, kernel, """
<here>: A[] f32 in .global is a view made inside the if block at <there> and used outside of it
  line: <source>
  why: what proves its bounds holds in that block alone
  legal: make the view where it is used
""")


# ---- NumPy's habits -------------------------------------------------------------------------------------------------------


def test_assignment_to_an_element():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((8,), f32)):
        A[px.tid.x] = 1.0  # <- here

    refused(TraceError, kernel, """
<here>: an element of A[8] f32 in .global is assigned
  line: <source>
  why: which instruction stores is the kernel's to say
  legal: px.ptx.st.global_.f32(x[i], value), or px.tile.apply
""")


def test_arithmetic_on_an_element():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((8,), f32), B: px.Tensor((8,), f32)):
        A[px.tid.x] + B[px.tid.x]  # <- here

    refused(TraceError, kernel, """
<here>: A[] f32 in .global is used with +
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_comparison_of_an_element():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((8,), f32)):
        with px.if_(A[px.tid.x] > 0):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: A[] f32 in .global is used with >
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_length_of_a_runtime_tensor():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((n,), f32)):
        for i in range(len(A)):  # <- here
            A[i]

    refused(TraceError, kernel, """
<here>: len() of A[n] f32 in .global, whose first extent is known only at run time
  line: <source>
  legal: px.range(n) with the dim n, which runs on the GPU
""")


# ---- other shapes and types ---------------------------------------------------------------------------------------------


def test_view_of_another_size():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 6), f32)):
        A.view(5, 5)  # <- here

    refused(LayoutError, kernel, """
<here>: can't reshape (4, 6) to (5, 5): 24 elements against 25
  line: <source>
""")


def test_retyped_rows_that_do_not_divide():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 3), bf16)):
        A.view(b32)  # <- here

    refused(LayoutError, kernel, """
<here>: 3 contiguous elements of 16 bits in the last dimension don't fill whole elements of 32 bits
  line: <source>
""")


def test_elements_wider_than_their_registers():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(8, bf16)
        r.view(b32)  # <- here

    refused(LayoutError, kernel, """
<here>: r[8] bf16 in .reg: an element of .b32 does not fit into its registers of .bf16; declare the tile with container=b32
  line: <source>
""")


def test_rearrange_with_an_unknown_name():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8, 4), f32)):
        A.rearrange("(w l) c -> w l d", l=4)  # <- here

    refused(LayoutError, kernel, """
<here>: rearrange("(w l) c -> w l d", l=4) on shape (8, 4): axis c is missing on the right side; rearrange neither reduces nor repeats
  line: <source>
""")


def test_permute_with_a_repeated_axis():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8, 4), f32)):
        A.permute(0, 0)  # <- here

    refused(LayoutError, kernel, """
<here>: the order (0, 0) does not name each of the 2 dimensions of shape (8, 4) once
  line: <source>
""")


# ---- layouts ------------------------------------------------------------------------------------------------------------


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
<here>: px.local: the layout has shape (32, 4), 128 elements, the tile (32, 8), 256; it has one position for every element of the tile
  line: <source>
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
<here>: px.local: S[(4,) : (-1,)] puts an element at position -3 of its thread; positions begin at 0: add 3
  line: <source>
""")


def test_swizzled_registers():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.local((8, 64), bf16, layout=px.Layout(S[(8, 64)], swizzle=Swizzle.B128))  # <- here

    refused(LayoutError, kernel, """
<here>: px.local: registers have names and no addresses, so a swizzle means nothing; leave it out
  line: <source>
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
<here>: px.local: a .b16 register does not hold whole elements of .f32; a container has a multiple of 32 bits
  line: <source>
""")


def test_shared_layout_with_thread_axes():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((32, 4), f32, layout=S[(32, 4) : (1 @ laneid, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: S[(32, 4) : (1 @ laneid, 1)] has thread axes; all threads share the memory, so strides are on m alone
  line: <source>
""")


def test_swizzled_shared_tile_aligned_too_little():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((8, 64), bf16, layout=px.Layout(S[(8, 64)], swizzle=Swizzle.B128), align=128)  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: align=128 is no power of two of at least 1024 bytes, the period of its swizzle
  line: <source>
""")


def test_shared_alignment_that_is_no_power_of_two():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared(8, f32, align=24)  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: align=24 is no power of two of at least 4 bytes, the size of an element of .f32
  line: <source>
""")


def test_shared_tile_that_begins_before_its_storage():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.shared((8, 4), f32, layout=S[(8, 4) : (-4, 1)])  # <- here

    refused(LayoutError, kernel, """
<here>: px.shared: S[(8, 4) : (-4, 1)] begins 112 bytes before its storage; add 28
  line: <source>
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
