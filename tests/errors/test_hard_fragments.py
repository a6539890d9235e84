"""What mma.sync, ldmatrix, stmatrix, cp.async and shuffles refuse. Each program is right but for one thing."""

# ruff: noqa: E501 - a message stands as it is written

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, S, TraceError, b32, bf16, f32, laneid, s8
from tests.errors.refusal import refused

COPY = "cp.async.cg.shared.global"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
STMATRIX = "stmatrix.sync.aligned.m8n8.x4.shared.b16"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"

A_FRAGMENT = S[((2, 8), (2, 4, 2)) : ((2, 4 @ laneid), (4, 1 @ laneid, 1))]
B_FRAGMENT = S[(8, (2, 4, 2)) : (4 @ laneid, (2, 1 @ laneid, 1))]
C_FRAGMENT = S[((2, 8), (4, 2)) : ((2, 4 @ laneid), (1 @ laneid, 1))]


def fragments():
    """The operands of one m16n8k16 as A, B and C."""
    a = px.local((16, 16), bf16, container=b32, layout=A_FRAGMENT)
    b = px.local((8, 16), bf16, container=b32, layout=B_FRAGMENT)
    c = px.local((16, 8), f32, layout=C_FRAGMENT)
    return a, b, c


def whole(tile):
    """With the repeat axes of a product that is not repeated."""
    return tile.view(1, 1, *tile.shape)


# ---- mma.sync -------------------------------------------------------------------------------------------------------------


def test_accumulator_with_rows_and_columns_exchanged():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, b, _ = fragments()
        c = px.local((16, 8), f32, layout=S[((2, 8), (4, 2)) : ((2, 1 @ laneid), (8 @ laneid, 1))])
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand d: c[1, 1, 16, 8] f32 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.16.5.14)
  counter-example: lane 1, repeat (0, 0), element (0, 2): the layout places it in thread 8 instead of thread 1
  legal: the fragment layout of the instruction: Layout(S[((2, 8), (4, 2)) : ((2, 4 @ laneid), (1 @ laneid, 1))])
""")


def test_a_operand_with_four_of_k_side_by_side():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        _, b, c = fragments()
        a = px.local((16, 16), bf16, container=b32, layout=S[((2, 8), (4, 2, 2)) : ((2, 4 @ laneid), (1 @ laneid, 4, 1))])
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand a: a[1, 1, 16, 16] bf16 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.16.5.14)
  counter-example: lane 1, repeat (0, 0), element (0, 2): the layout places it in thread 0 instead of thread 1
  legal: the fragment layout of the instruction: Layout(S[((2, 8), (2, 4, 2)) : ((2, 4 @ laneid), (4, 1 @ laneid, 1))])
""")


def test_b_operand_laid_out_by_rows_of_k():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, _, c = fragments()
        b = px.local((8, 16), bf16, container=b32, layout=S[((4, 2), (8, 2)) : ((8 @ laneid, 2), (1 @ laneid, 1))])
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand b: b[1, 1, 8, 16] bf16 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.16.5.14)
  counter-example: lane 0, repeat (0, 0), element (0, 8): the layout places it in thread 4 instead of thread 0
  legal: the fragment layout of the instruction: Layout(S[(8, (2, 4, 2)) : (4 @ laneid, (2, 1 @ laneid, 1))])
""")


def test_tile_in_16_bit_registers():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        _, b, c = fragments()
        a = px.local((16, 16), bf16, layout=A_FRAGMENT)
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand a: a[1, 1, 16, 16] bf16 in .reg lies in registers of .bf16 where the instruction takes .bf16x2
  line: <source>
  rule: apply never packs or unpacks (PTX ISA 9.7.16.5.14)
  legal: declare the tile with container=px.b32
""")


def test_tile_of_bytes_given_to_a_product_of_bf16():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        _, b, c = fragments()
        a = px.local((16, 16), s8, container=b32, layout=S[((2, 8), (4, 4)) : ((4, 4 @ laneid), (1 @ laneid, 1))])
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand a: a[1, 1, 16, 16] s8 in .reg has elements of 8 bits where the instruction's have 16
  line: <source>
  rule: the shape of this operand ends in 16, 16, counted in elements of 16 bits (PTX ISA 9.7.16.5.14)
  legal: .view(px.b16) to see the same registers as 16-bit elements
""")


def test_accumulator_of_16_columns():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, b, _ = fragments()
        c = px.local((16, 16), f32, layout=S[((2, 8), (2, 4, 2)) : ((4, 4 @ laneid), (2, 1 @ laneid, 1))])
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand d: c[1, 1, 16, 16] f32 in .reg ends in (16, 16) where the atom has (16, 8)
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 16, 8): the atom is what one instruction takes (PTX ISA 9.7.16.5.14)
  legal: last axes of 16, 8
""")


def test_product_without_repeat_axes():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, b, c = fragments()
        px.tile.apply(MMA, c, a, b, c, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand d: c[16, 8] f32 in .reg has the repeat axes () where the instruction is repeated along M, N
  line: <source>
  rule: the shape of this operand is (*group, *, M, N, 16, 8) (PTX ISA 9.7.16.5.14)
  legal: an axis for each of them, of extent 1 where nothing is repeated
""")


def test_operands_of_different_depth():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        _, b, c = fragments()
        deep = S[(2, (2, 8), (2, 4, 2)) : (8, (2, 4 @ laneid), (4, 1 @ laneid, 1))]
        a = px.local((2, 16, 16), bf16, container=b32, layout=deep)
        px.tile.apply(MMA, whole(c), a.view(1, 2, 16, 16), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand b: its repeat axis K has 1 steps, that of operand a has 2
  line: <source>
  rule: the instruction is repeated along * M N K, and an axis has one extent (PTX ISA 9.7.16.5.14)
  legal: views with equal axes
""")


def test_product_of_a_thread():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, b, c = fragments()
        px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: a warp issues this instruction together, and scope='thread' is smaller
  line: <source>
  legal: scope='warp' | 'warpgroup' | 'cta' | 'cluster'
""")


def test_product_in_half_a_warp():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, b, c = fragments()
        with px.if_(px.tid.x < 16):
            px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(TraceError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: a warp issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 16 of the warp does not come here
  legal: guards that cut between warps: thread indices that are multiples of 32
""")


def test_product_under_a_guard_that_may_part_the_warp():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel(count: px.u32):
        a, b, c = fragments()
        with px.if_(px.tid.x < count):  # <- there
            px.tile.apply(MMA, whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(TraceError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: a warp issues this instruction together, and the branch at <there> may part it
  line: <source>
  why: its condition is neither the same in all threads nor a comparison of the thread's index with constants
  legal: px.uniform(p) where you know that all threads agree (the emulator checks it), or the instruction outside of the branch
""")


def test_product_with_an_m_that_no_instruction_has():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, b, c = fragments()
        px.tile.apply(MMA.replace("m16n8k16", "m16n16k16"), whole(c), whole(a), whole(b), whole(c), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n16k16.row.col.f32.bf16.bf16.f32: '.m16n16k16' cannot stand after 'mma.sync.aligned'; did you mean .m16n8k16 or .m16n8k64?
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.16.5.14)
  legal: after 'mma.sync.aligned': .shape: .m16n8k8 .m16n8k16 .m16n8k4 .m16n8k32 .m8n8k4 .m8n8k16 .m8n8k32 .m16n8k64 .m8n8k128 .m16n8k128 .m16n8k256
""")


def test_accumulators_that_overwrite_what_a_later_step_reads():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        a, _, _ = fragments()
        b = px.local((2, 8, 16), bf16, container=b32, layout=S[(2, 8, (2, 4, 2)) : (4, 4 @ laneid, (2, 1 @ laneid, 1))])
        c = px.local((3, 16, 8), f32, layout=S[(3, (2, 8), (4, 2)) : (4, (2, 4 @ laneid), (1 @ laneid, 1))])
        later, earlier = c[1:].view(1, 2, 16, 8), c[:2].view(1, 2, 16, 8)
        px.tile.apply(MMA, later, whole(a), b.view(2, 1, 8, 16), earlier, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, operand d: c[1, 2, 16, 8] f32 in .reg overwrites registers that operand c still reads
  line: <source>
  rule: repeats run in row-major order, each as one instruction (PTX ISA 9.7.16.5.14)
  counter-example: repeat (0, 0, 0) writes register 4, which repeat (0, 1, 0) reads
  legal: a destination tile of its own, or the same element order in both
""")


# ---- ldmatrix and stmatrix ------------------------------------------------------------------------------------------------

LOADED = S[(4, 8, (4, 2)) : (2, 4 @ laneid, (1 @ laneid, 1))]


def test_rows_of_24_bytes():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        tile = px.shared((32, 12), bf16, align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX, a, tile[:, :8].view(4, 8, 8), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.shared.b16, operand p: tile[4, 8, 8] bf16 in .shared is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.16.5.15)
  counter-example: lane 1: byte offset 24 = 16 + 8
  legal: strides and starts that are multiples of 16 bytes: padded rows
""")


def test_rows_of_9_elements_apart():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        tile = px.shared((32, 8), bf16, layout=S[(32, 8) : (9, 1)], align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX, a, tile.view(4, 8, 8), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.shared.b16, operand p: tile[4, 8, 8] bf16 in .shared is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.16.5.15)
  counter-example: lane 1: byte offset 18 = 16 + 2
  legal: strides and starts that are multiples of 16 bytes: padded rows
""")


def test_matrices_that_lie_by_columns():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        tile = px.shared((32, 8), bf16, align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX, a, tile.view(4, 8, 8).permute(0, 2, 1), scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.shared.b16, operand p: tile[4, 8, 8] bf16 in .shared is not contiguous along its atom
  line: <source>
  rule: the 8 elements behind one address are consecutive in memory (PTX ISA 9.7.16.5.15)
  counter-example: lane 0: element 1 is 16 bytes behind element 0; 2 bytes required
  legal: an atom axis of stride 1; .rearrange or .permute to bring the contiguous axis last
""")


def test_matrices_in_global_memory():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel(A: px.Tensor((4, 8, 8), bf16, align=16)):
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX, a, A, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.shared.b16, operand p: A[4, 8, 8] bf16 in .global lies in .global, not in .shared
  line: <source>
  rule: the address lies in the state space that the opcode names (PTX ISA 9.7.16.5.15)
  legal: an address [base+offset] in .shared
""")


def test_fragment_of_the_transposed_load():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        tile = px.shared((4, 8, 8), bf16, align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX.replace(".shared", ".trans.shared"), a, tile, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16, operand r: a[4, 8, 8] bf16 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.16.5.15)
  counter-example: lane 4, element (0, 0, 1): the layout places it in thread 0 instead of thread 4
  legal: the fragment layout of the instruction: Layout(S[(4, (4, 2), 8) : (2, (1 @ laneid, 1), 4 @ laneid)])
""")


def test_two_matrices_where_four_are_loaded():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        tile = px.shared((2, 8, 8), bf16, align=16)
        a = px.local((2, 8, 8), bf16, container=b32, layout=S[(2, 8, (4, 2)) : (2, 4 @ laneid, (1 @ laneid, 1))])
        px.tile.apply(LDMATRIX, a, tile, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.shared.b16, operand r: a[2, 8, 8] bf16 in .reg ends in (2, 8, 8) where the atom has (4, 8, 8)
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 4, 8, 8): the atom is what one instruction takes (PTX ISA 9.7.16.5.15)
  legal: last axes of 4, 8, 8
""")


def test_loaded_by_a_warp_that_is_not_whole():
    @px.kernel(grid=1, block=48, target="sm_80")
    def kernel():
        tile = px.shared((4, 8, 8), bf16, align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX, a, tile, scope="warp")  # <- here

    refused(TraceError, kernel, """
<here>: ldmatrix.sync.aligned.m8n8.x4.shared.b16: the threads that the guards leave active are not the same in every warp of the block
  line: <source>
  why: 48 threads are active, spread over 2 warps
  legal: a larger scope, or guards that cut between warps
""")


def test_stmatrix_before_hopper():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        tile = px.shared((4, 8, 8), bf16, align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(STMATRIX, tile, a, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: stmatrix.sync.aligned.m8n8.x4.shared.b16: does not exist on sm_80, the target of this kernel
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 9.7.16.5.16)
  legal: targets sm_90 and newer, from PTX 7.8
""")


def test_stmatrix_of_f32():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        tile = px.shared((4, 8, 8), f32, align=16)
        a = px.local((4, 8, 8), f32, layout=LOADED)
        px.tile.apply(STMATRIX, tile, a, scope="warp")  # <- here

    refused(InstructionError, kernel, """
<here>: stmatrix.sync.aligned.m8n8.x4.shared.b16, operand p: tile[4, 8, 8] f32 in .shared has elements of 32 bits where the instruction moves elements of 16 bits
  line: <source>
  rule: one element of the view is one word of the instruction (PTX ISA 9.7.16.5.16)
  legal: .view(px.b16) to see the same memory as 16-bit words
""")


# ---- cp.async -------------------------------------------------------------------------------------------------------------


def test_copy_of_12_bytes():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel(A: px.Tensor((6,), bf16, align=16)):
        tile = px.shared(6, bf16, align=16)
        px.tile.apply("cp.async.ca.shared.global", tile, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.ca.shared.global, operand dst: tile[6] bf16 in .shared ends in 6 elements, 12 bytes
  line: <source>
  rule: one instruction moves 4, 8 or 16 bytes (PTX ISA 9.7.10.28.3.1)
  legal: a last axis of 2, 4 or 8 elements of 16 bits
""")


def test_copy_of_8_bytes_past_the_first_cache():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel(A: px.Tensor((4,), bf16, align=16)):
        tile = px.shared(4, bf16, align=16)
        px.tile.apply(COPY, tile, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.cg.shared.global, operand dst: tile[4] bf16 in .shared ends in 4 where the atom has 8
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 8): the atom is what one instruction takes (PTX ISA 9.7.10.28.3.1)
  legal: a last axis of 8
""")


def test_copy_with_source_and_destination_exchanged():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel(A: px.Tensor((8,), bf16, align=16)):
        tile = px.shared(8, bf16, align=16)
        px.tile.apply(COPY, A, tile, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.cg.shared.global, operand dst: A[8] bf16 in .global lies in .global, not in .shared
  line: <source>
  rule: the address lies in the state space that the opcode names (PTX ISA 9.7.10.28.3.1)
  legal: an address [base+offset] in .shared
""")


def test_copy_into_registers():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel(A: px.Tensor((8,), bf16, align=16)):
        r = px.local(8, bf16, container=b32)
        px.tile.apply(COPY, r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.cg.shared.global, operand dst: r[8] bf16 in .reg is a register tile where the instruction takes memory
  line: <source>
  rule: operand dst is an address (PTX ISA 9.7.10.28.3.1)
  legal: a px.Tensor parameter, a px.shared tile, or a view of one
""")


def test_copy_to_a_place_that_is_not_aligned():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel(A: px.Tensor((8,), bf16, align=16)):
        tile = px.shared(12, bf16, align=16)
        px.tile.apply(COPY, tile[4:], A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.cg.shared.global, operand dst: tile[8] bf16 in .shared is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.28.3.1)
  counter-example: thread 0: byte offset 8 = 0 + 8
  legal: strides and starts that are multiples of 16 bytes: padded rows
""")


def test_wait_for_a_negative_number_of_groups():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel():
        px.cp_async_wait(-1)  # <- here

    refused(TraceError, kernel, """
<here>: cp.async.wait_group, operand n: -1 does not fit into .u32
  line: <source>
  why: it would wrap to 4294967295
  legal: 0 to 4294967295, or a wider type
""")


def test_stage_that_no_one_proves_to_be_in_range():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel(step: px.u32):
        tiles = px.shared((4, 8, 8), bf16, stages=3, align=16)
        a = px.local((4, 8, 8), bf16, container=b32, layout=LOADED)
        px.tile.apply(LDMATRIX, a, tiles[step], scope="warp")  # <- here

    refused(TraceError, kernel, """
<here>: index step of axis 0 of tiles[3, 4, 8, 8] bf16 in .shared is not proved to be below 3
  line: <source>
  why: it leaves the tensor for step = 4294967294
  legal: guard it: with px.if_(step < 3): ...; or make the extents divide
""")


def test_cp_async_with_a_policy_of_32_bits():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel(A: px.Tensor((32, 4), f32, align=16), policy: px.u32):
        tile = px.shared((32, 4), f32, align=16)
        px.tile.apply("cp.async.cg.shared.global.L2::cache_hint", tile, A, cache_policy=policy, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.cg.shared.global.L2::cache_hint, operand cache_policy: policy is .u32 where the instruction takes .u64
  line: <source>
  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)
  legal: a register of .u64, .s64 or .b64
""")


def test_cp_async_with_a_size_of_64_bits():
    """An operand that is given by its name is held against that name, not against another one that may stand in its place."""

    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel(A: px.Tensor((32, 4), f32, align=16), size: px.u64):
        tile = px.shared((32, 4), f32, align=16)
        px.tile.apply("cp.async.cg.shared.global", tile, A, src_size=size, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.cg.shared.global, operand src_size: size is .u64 where the instruction takes .u32
  line: <source>
  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)
  legal: a register of .u32, .s32 or .b32, or a constant (0 to 16)
""")


# ---- shuffles, votes, reductions ------------------------------------------------------------------------------------------


def test_shuffle_without_members():
    @px.kernel(grid=1, block=32)
    def kernel(x: f32):
        px.ptx["shfl.sync.bfly.b32"](x, 16, 31)  # <- here

    refused(InstructionError, kernel, """
<here>: shfl.sync.bfly.b32: takes 4 operands besides its results, not 3
  line: <source>
  rule: operands are those of the syntax line (PTX ISA 9.7.10.6)
  legal: shfl.sync.mode.b32 d{|p}, a, b, c, membermask;
""")


def test_shuffle_of_a_double():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.f64):
        px.ptx["shfl.sync.bfly.b32"](x, 16, 31, 0xFFFFFFFF)  # <- here

    refused(InstructionError, kernel, """
<here>: shfl.sync.bfly.b32, operand a: x is .f64 where the instruction takes .b32
  line: <source>
  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)
  legal: a register of 32 bits, or a constant
""")


def test_reduction_of_floats_by_addition():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(x: f32):
        px.ptx["redux.sync.add.f32"](x, 0xFFFFFFFF)  # <- here

    refused(InstructionError, kernel, """
<here>: redux.sync.add.f32: these qualifiers do not go together
  line: <source>
  rule: floats are reduced by .min or .max (PTX ISA 9.7.15.13)
  legal: redux.sync.min.f32, redux.sync.max.f32
""")


def test_election_in_half_a_warp():
    @px.kernel(grid=1, block=64, target="sm_90")
    def kernel():
        with px.if_(px.tid.x < 16):
            px.elect()  # <- here

    refused(TraceError, kernel, """
<here>: a warp issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 16 of the warp does not come here
  legal: guards that cut between warps: thread indices that are multiples of 32
""")


def test_first_lane_of_a_warp_that_parted():
    @px.kernel(grid=1, block=64)
    def kernel(count: px.u32):
        with px.if_(px.tid.x < count):  # <- there
            px.warp_uniform(px.tid.x // 32)  # <- here

    refused(TraceError, kernel, """
<here>: a warp issues this instruction together, and the branch at <there> may part it
  line: <source>
  why: its condition is neither the same in all threads nor a comparison of the thread's index with constants
  legal: px.uniform(p) where you know that all threads agree (the emulator checks it), or the instruction outside of the branch
""")
