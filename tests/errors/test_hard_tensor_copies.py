"""What tensor copies, bulk copies and their tensor maps refuse. Each program is right but for one thing."""

# ruff: noqa: E501 - a message stands as it is written

from __future__ import annotations

import pytest

import ptxgen as px
from ptxgen import InstructionError, LayoutError, S, TraceError, bf16, f32
from tests.errors.refusal import refused

LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"

rows, cols = px.dim("rows"), px.dim("cols", multiple_of=8)
MATRIX = px.Tensor((rows, cols), bf16, align=16)


def barrier():
    """An mbarrier that one thread has initialised."""
    arrived = px.mbarrier(1)
    arrived.init()
    px.fence_mbarrier_init()
    return arrived


# ---- tensor maps ----------------------------------------------------------------------------------------------------------


def test_box_of_257_rows():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((257, 8), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (257, 8)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: tensor map of 'A': the box spans 257 elements along axis 0; 1 to 256 are allowed
  line: <source>
  rule: a tensor map keeps to the limits of its encoding (box extent) (PTX ISA 9.7.10.28.5.3)
  legal: 2 copies of 129 elements
""")


def test_box_rows_of_24_bytes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((8, 12), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (8, 12)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: tensor map of 'A': the box's rows, 12 elements of 16 bits along axis 1, are 24 bytes; a multiple of 16 is needed
  line: <source>
  rule: a tensor map keeps to the limits of its encoding (inner box) (PTX ISA 9.7.10.28.5.3)
  legal: a box of 16 elements along axis 1
""")


@pytest.mark.parametrize(
    ("start", "said", "behind"),
    [(lambda: 3, "3", 3), (lambda: px.ctaid.x * 64 + 12, "64*ctaid.x + 12", 4), (lambda: -4, "-4", 4)],
    ids=["constant", "runtime", "negative"],
)
def test_box_that_starts_between_16_bytes(start, said, behind):
    @px.kernel(grid=4, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((5, start()), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, f"""
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: box (64, 64) of A[rows, cols] bf16 in .global starts at element {said} of the contiguous axis
  line: <source>
  rule: a box starts at a multiple of 16 bytes along the contiguous axis: any other is an illegal instruction, as measured (PTX ISA 9.7.10.28.5.3)
  counter-example: {behind} elements are {2 * behind} bytes
  legal: a start that 8 divides
""")


@pytest.mark.parametrize(
    ("start", "said", "axis"),
    [(lambda: (-3, 0), "-3", 0), (lambda: (0, -64), "-64", 1)],
    ids=["row", "column"],
)
def test_box_stored_before_the_tensor(start, said, axis):
    @px.kernel(grid=4, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(STORE, A.box(start(), (64, 64)), tile, scope="thread")  # <- here

    refused(InstructionError, kernel, f"""
<here>: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group, operand tensor_map: box (64, 64) of A[rows, cols] bf16 in .global starts at element {said} along axis {axis}
  line: <source>
  rule: a box that is stored does not begin before the tensor: that is an illegal instruction, as measured (PTX ISA 9.7.10.28.5.3)
  legal: a start of 0 or more: a box may end behind the tensor, where nothing is stored
""")


def test_box_wider_than_its_swizzle():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((8, 128), bf16, layout=px.Layout(S[(8, 128)], swizzle=px.Swizzle.B128))
        px.tile.apply(LOAD, tile, A.box((0, 0), (8, 128)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: tensor map of 'A': the box's rows, 128 elements of 16 bits along axis 1, are 256 bytes; swizzle 128B takes at most 128
  line: <source>
  rule: a tensor map keeps to the limits of its encoding (swizzle span) (PTX ISA 9.7.10.28.5.3)
  legal: a box of at most 64 elements along axis 1, and more copies
""")


def test_rows_of_130_bytes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((64, 65), bf16, align=16)):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: tensor map of 'A': axis 0 has a stride of 130 bytes, which is 2 modulo 16; strides are multiples of 16 bytes
  line: <source>
  rule: a tensor map keeps to the limits of its encoding (stride) (PTX ISA 9.7.10.28.5.3)
  legal: rows padded to 144 bytes (72 elements)
""")


def test_tensor_of_six_axes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((2, 2, 2, 2, 2, 64), bf16, align=16)):
        tile = px.shared((1, 1, 1, 1, 1, 64), bf16, align=128)
        px.tile.apply(LOAD.replace("2d", "6d"), tile, A.box((0,) * 6, (1, 1, 1, 1, 1, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.6d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: '.6d' cannot stand after 'cp.async.bulk.tensor'; did you mean .5d or .4d?
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.10.28.3.1)
  legal: after 'cp.async.bulk.tensor': .dim: .1d .2d .3d .4d .5d
""")


def test_transposed_tensor():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.permute(1, 0).box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: the tensor map of A: elements along its last axis are 16*cols bits apart, not 16: that axis is contiguous
  line: <source>
  rule: a tensor map describes a tensor by extents and strides (PTX ISA 9.7.10.28.5.3)
  legal: x.permute(...) that puts the contiguous axis last
""")


def test_box_of_a_part():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((128, 64), bf16, align=16)):
        A[64:].box((0, 0), (64, 64))  # <- here

    refused(TraceError, kernel, """
<here>: A[64, 64] bf16 in .global is no whole tensor argument
  line: <source>
  why: a tensor map describes a tensor argument of the kernel
  legal: x.box(starts, extents) of a px.Tensor parameter x; the starts say which part
""")


def test_box_of_a_shared_tile():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        tile = px.shared((64, 64), bf16)
        tile.box((0, 0), (64, 64))  # <- here

    refused(TraceError, kernel, """
<here>: tile[64, 64] bf16 in .shared is no whole tensor argument
  line: <source>
  why: a tensor map describes a tensor argument of the kernel
  legal: x.box(starts, extents) of a px.Tensor parameter x; the starts say which part
""")


def test_box_with_one_start():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        A.box((0,), (64, 64))  # <- here

    refused(LayoutError, kernel, """
<here>: a box of A[rows, cols] bf16 in .global needs 2 starts and extents, not 1 and 2
  line: <source>
  legal: a start and an extent for each axis, of extent 1 where the axis is not spanned
""")


def test_box_without_rows():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        A.box((0, 0), (0, 64))  # <- here

    refused(TraceError, kernel, """
<here>: extent 0 of a box of A[rows, cols] bf16 in .global is 0
  line: <source>
  legal: a positive int
""")


# ---- the shared side ------------------------------------------------------------------------------------------------------


def test_tile_of_another_shape_than_the_box():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((32, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: box (64, 64) of A[rows, cols] bf16 in .global and tile[32, 64] bf16 in .shared are no image of each other
  line: <source>
  rule: both sides have the box's extents and element size (PTX ISA 9.7.10.28.5.3)
  legal: a shared tile of shape (64, 64)
""")


def test_tile_of_another_type_than_the_tensor():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), f32, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: box (64, 64) of A[rows, cols] bf16 in .global and tile[64, 64] f32 in .shared are no image of each other
  line: <source>
  rule: both sides have the box's extents and element size (PTX ISA 9.7.10.28.5.3)
  legal: a shared tile of shape (64, 64)
""")


def test_tile_with_padded_rows():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, layout=S[(64, 64) : (72, 1)], align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand dst_mem: tile[64, 64] bf16 in .shared is not dense and row-major
  line: <source>
  rule: a tensor copy writes its box without gaps, last axis first (PTX ISA 9.7.10.28.5.3)
  counter-example: element (1, 0) lies 144 bytes behind the first, the copy puts it 128 behind
  legal: a px.shared tile of the box's shape, or one stage of it
""")


def test_tile_at_16_bytes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=16)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand dst_mem: tile[64, 64] bf16 in .shared is not known to begin at a multiple of 128 bytes
  line: <source>
  rule: the shared side of a tensor copy is aligned to 128 bytes, and to the period of its swizzle (PTX ISA 9.7.10.28.5.3)
  counter-example: it may begin 16 bytes behind a multiple of 128
  legal: px.shared(..., align=128)
""")


def test_part_that_begins_inside_the_swizzle():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((72, 64), bf16, layout=px.Layout(S[(72, 64)], swizzle=px.Swizzle.B128))
        px.tile.apply(LOAD, tile[4:68], A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand dst_mem: tile[64, 64] bf16 in .shared is not known to begin at a multiple of 1024 bytes
  line: <source>
  rule: the shared side of a tensor copy is aligned to 128 bytes, and to the period of its swizzle (PTX ISA 9.7.10.28.5.3)
  counter-example: it may begin 512 bytes behind a multiple of 1024
  legal: a part that begins at a multiple of 1024 bytes
""")


def test_swizzle_that_no_tensor_map_has():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, layout=px.Layout(S[(64, 64)], swizzle=px.Swizzle(2, 5, 3)))
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand dst_mem: tile[64, 64] bf16 in .shared has the swizzle Swizzle(2, 5, 3)
  line: <source>
  rule: a tensor map knows swizzles of 32, 64 and 128 bytes, or of 128 in atoms of 32 (PTX ISA 9.7.10.28.5.3)
  legal: Swizzle.B32, Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM32 or none
""")


def test_swizzle_that_the_target_has_not():
    @px.kernel(grid=1, block=1, target="sm_90a")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, layout=px.Layout(S[(64, 64)], swizzle=px.Swizzle.B128_ATOM32))
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: a tensor map with swizzle 128B_atom_32B does not exist on sm_90a
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 5.5)
  legal: targets sm_100 and newer
""")


def test_register_tile_as_the_destination():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.local((64, 64), bf16)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand dst_mem: tile[64, 64] bf16 in .reg is not in shared memory
  line: <source>
  rule: operand dst_mem is shared memory (PTX ISA 9.7.10.28.5.3)
  legal: a px.shared tile
""")


def test_view_where_a_box_is_needed():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((64, 64), bf16, align=16)):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A, barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: A[64, 64] bf16 in .global is no box of a tensor
  line: <source>
  rule: a tensor copy moves a box of a tensor argument (PTX ISA 9.7.10.28.5.3)
  legal: x.box((i, j), (64, 64)) of a px.Tensor parameter x
""")


# ---- the instruction ------------------------------------------------------------------------------------------------------


def test_opcode_of_three_axes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD.replace("2d", "3d"), tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand tensor_map: box (64, 64) of A[rows, cols] bf16 in .global has 2 axes
  line: <source>
  rule: .3d copies a box of 3 axes (PTX ISA 9.7.10.28.5.3)
  legal: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
""")


def test_copy_that_every_thread_issues():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), arrived, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: is issued by 32 threads here
  line: <source>
  rule: a single elected thread issues this instruction for all (PTX ISA 9.7.10.28.5.3)
  counter-example: each of them would issue the whole operation again
  legal: with px.if_(px.tid.x == 0): ..., or with px.if_(px.elect()): in one warp
""")


def test_load_without_an_mbarrier():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: takes 3, 4, 5, 6 or 7 operands, not 2
  line: <source>
  rule: operands are those of the syntax line, destination first (PTX ISA 9.7.10.28.5.3)
  legal: cp.async.bulk.tensor.dim.shared::cluster.global{.load_mode}.mbarrier::complete_tx::bytes{.report_mechanism}{.multicast}{.cta_group}{.level::cache_hint} [dst_mem], [tensor_map, tensor_coords], [mbar]{, im2col_info}{, cta_mask}{, wide_mask}{, cache_policy};
""")


def test_load_that_tells_a_bare_address():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), 0, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes, operand mbar: 0 is no view of memory
  line: <source>
  rule: operand mbar is an address (PTX ISA 9.7.10.28.5.3)
  legal: a px.Tensor parameter, a px.shared tile, or a view of one
""")


def test_load_that_tells_all_barriers_of_a_ring():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        ring = px.mbarrier(1, stages=2)
        ring[0].init()
        ring[1].init()
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), ring, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: ring, 2 mbarriers stand where one is needed
  line: <source>
  legal: ring[i]
""")


def test_store_with_the_operands_of_a_load():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(STORE, tile, A.box((0, 0), (64, 64)), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group, operand tensor_map: tile[64, 64] bf16 in .shared is no box of a tensor
  line: <source>
  rule: a tensor copy moves a box of a tensor argument (PTX ISA 9.7.10.28.5.3)
  legal: x.box((i, j), (64, 64)) of a px.Tensor parameter x
""")


def test_multicast_without_a_mask():
    @px.kernel(grid=2, block=1, cluster=2, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD + ".multicast::cluster", tile, A.box((0, 0), (64, 64)), barrier(), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster: these qualifiers and operands do not go together
  line: <source>
  rule: a mask of blocks is given exactly where .multicast::cluster is (PTX ISA 9.7.10.28.5.3)
  legal: cp.async.bulk.tensor.dim.shared::cluster.global{.load_mode}.mbarrier::complete_tx::bytes{.report_mechanism}{.multicast}{.cta_group}{.level::cache_hint} [dst_mem], [tensor_map, tensor_coords], [mbar]{, im2col_info}{, cta_mask}{, wide_mask}{, cache_policy};
""")


def test_bulk_copy_of_more_bytes_than_the_view_has():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((512,), f32, align=16)):
        tile = px.shared((8,), f32, align=128)
        px.ptx["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"](tile, A, 64, barrier())  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes, operand dst_mem: tile[8] f32 in .shared has 32 bytes in one piece where the instruction moves 64 bytes
  line: <source>
  rule: what an instruction moves lies inside the view that it is given, element behind element (PTX ISA 9.7.10.28.4.1)
  counter-example: byte 32 of what it moves is none of the view's
  legal: a view of 16 elements in a row, or a smaller size
""")


def test_bulk_store_of_columns_of_a_tile():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((512,), f32, align=16)):
        tile = px.shared((8, 8), f32, align=128)
        px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](A, tile[:, 0:4], 128)  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.global.shared::cta.bulk_group, operand src_mem: tile[8, 4] f32 in .shared has 16 bytes in one piece where the instruction moves 128 bytes
  line: <source>
  rule: what an instruction moves lies inside the view that it is given, element behind element (PTX ISA 9.7.10.28.4.1)
  counter-example: byte 16 of what it moves is none of the view's
  legal: a view of 32 elements in a row, or a smaller size
""")


def test_multicast_without_a_cluster():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD + ".multicast::cluster", tile, A.box((0, 0), (64, 64)), barrier(), cta_mask=3, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster: .multicast::cluster names blocks of a cluster, and this kernel declares none
  line: <source>
  rule: without the launch attribute cluster= (directive .reqnctapercluster) every block is a cluster of its own (PTX ISA 9.7.10.28.5.3)
  legal: @px.kernel(cluster=2, ...), or the instruction without .multicast::cluster
""")


def test_mask_without_multicast():
    @px.kernel(grid=2, block=1, cluster=2, target="sm_90")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(LOAD, tile, A.box((0, 0), (64, 64)), barrier(), cta_mask=3, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: these qualifiers and operands do not go together
  line: <source>
  rule: a mask of blocks is given exactly where .multicast::cluster is (PTX ISA 9.7.10.28.5.3)
  legal: cp.async.bulk.tensor.dim.shared::cluster.global{.load_mode}.mbarrier::complete_tx::bytes{.report_mechanism}{.multicast}{.cta_group}{.level::cache_hint} [dst_mem], [tensor_map, tensor_coords], [mbar]{, im2col_info}{, cta_mask}{, wide_mask}{, cache_policy};
""")


def test_tensor_copy_before_hopper():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel(A: MATRIX):
        tile = px.shared((64, 64), bf16, align=128)
        px.tile.apply(STORE, A.box((0, 0), (64, 64)), tile, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group: does not exist on sm_80, the target of this kernel
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 9.7.10.28.5.3)
  legal: targets sm_90 and newer, from PTX 8.0
""")


def test_bulk_copy_of_24_bytes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((12,), bf16, align=16)):
        tile = px.shared(12, bf16, align=16)
        px.ptx[BULK](tile, A, 24, barrier())  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes, operand size: the constant 24 is out of range
  line: <source>
  rule: the instruction has this operand for some numbers only (PTX ISA 9.7.10.28.4.1)
  legal: a register of .u32, .s32 or .b32, or a constant (0, 16, 32, ... 1048560)
""")


def test_bulk_copy_at_8_bytes():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((16,), bf16, align=8)):
        tile = px.shared(16, bf16, align=16)
        px.ptx[BULK](tile, A, 32, barrier())  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes, operand src_mem: A[16] bf16 in .global is not known to be aligned: A is a multiple of 8 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.28.4.1)
  counter-example: A at address 0x1008 fits its declaration
  legal: declare A with align=16, or a narrower access
""")


def test_bulk_copy_from_an_odd_start():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((32,), bf16, align=16)):
        tile = px.shared(16, bf16, align=16)
        px.ptx[BULK](tile, A[4:20], 32, barrier())  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes, operand src_mem: A[16] bf16 in .global is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.28.4.1)
  counter-example: byte offset 8
  legal: a start in steps of 8 elements, px.dim(..., multiple_of=8) for a stride, or a narrower access
""")


# ---- impossible by construction -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span, map_mode", [(0, "none"), (32, "32B"), (64, "64B"), (128, "128B")])
def test_map_and_descriptor_cannot_disagree_about_the_swizzle(span, map_mode):
    """Nobody writes a swizzle down but the layout of the shared tile: the copy's map and the product's descriptor both read it there."""
    swizzle = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}[span]
    width = (span or 16) // 2
    modes = {0: 0, 128: 1, 64: 2, 32: 3}  # ISA 9.7.17.5.1.2: bits 62 and 63 of the descriptor

    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(A: MATRIX):
        # The canonical layout in columns as wide as the swizzle: each is the dense image of a box of 64 rows.
        columns = px.shared((64 // width, 64, width), bf16, layout=px.Layout(S[(64 // width, 64, width)], swizzle=swizzle), align=1024)
        matrix = columns.rearrange("c r k -> r (c k)")
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            for column in range(64 // width):
                px.tile.apply(LOAD, columns[column], A.box((0, column * width), (64, width)), arrived, scope="thread")
        fragment = S[((4, 2, 8), (8, 4, 2)) : ((32 @ px.tid_in_wg, 2, 4 @ px.tid_in_wg), (4, 1 @ px.tid_in_wg, 1))]
        sums = px.local((64, 64), f32, layout=fragment)
        steps = matrix.rearrange("m (s k) -> s m k", k=16).view(1, 4, 64, 16)
        opcode = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
        px.tile.apply(opcode, sums.view(1, 1, 64, 64), steps, steps, scale_d=0, scope="warpgroup")

    traced = kernel.specialize()
    (declared,) = [param for param in traced._traced.signature.params if hasattr(param, "map")]
    assert declared.map.swizzle == map_mode
    constants = [int(word, 16) for word in traced.ptx(comments=False).replace(";", " ").split() if word.startswith("0x") and len(word) > 10]
    assert constants and {word >> 62 for word in constants} == {modes[span]}
