"""What wgmma and tcgen05 refuse: operands that no descriptor describes, and who may not issue them. Each program is right but for one thing."""

# ruff: noqa: E501 - a message stands as it is written

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, LayoutError, S, TraceError, b32, bf16, f16, f32, laneid, s8, tid_in_wg
from tests.errors.refusal import refused

MULTIPLY = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
SUMS = S[((4, 2, 8), (8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]
B128 = px.Swizzle.B128


def swizzled(rows, cols=64, swizzle=B128):
    """Rows of `cols` elements under a swizzle."""
    return px.Layout(S[(rows, cols)], swizzle=swizzle)


def tiles():
    """A, B and the sums of a product of 64 x 64 x 64, all as they should be."""
    a = px.shared((64, 64), bf16, layout=swizzled(64))
    b = px.shared((64, 64), bf16, layout=swizzled(64))
    sums = px.local((64, 64), f32, layout=SUMS)
    return a, b, sums


def steps(tile):
    """A tile as the K steps of a product with one M or N."""
    return tile.rearrange("m (s k) -> s m k", k=16).view(1, tile.shape[1] // 16, tile.shape[0], 16)


def whole(tile):
    """With the repeat axes of a product that is not repeated."""
    return tile.view(1, 1, *tile.shape)


# ---- wgmma: the operands in shared memory ---------------------------------------------------------------------------------


def test_accumulators_of_another_warp():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, _ = tiles()
        sums = px.local((64, 64), f32, layout=S[((2, 4, 8), (8, 4, 2)) : ((2, 32 @ tid_in_wg, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))])
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand d: sums[1, 1, 64, 64] f32 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.17.5.2)
  counter-example: thread 0, repeat (0, 0), element (8, 0): the layout places it in thread 32 instead of thread 0
  legal: the fragment layout of the instruction: Layout(S[((4, 2, 8), (8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))])
""")


def test_accumulators_of_one_warp():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, _ = tiles()
        sums = px.local((64, 64), f32, layout=S[((4, 2, 8), (8, 4, 2)) : ((32, 16, 4 @ laneid), (2, 1 @ laneid, 1))])
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand d: sums[1, 1, 64, 64] f32 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.17.5.2)
  counter-example: thread 32, repeat (0, 0), element (16, 0): the layout places it in thread 0 instead of thread 32
  legal: the fragment layout of the instruction: Layout(S[((4, 2, 8), (8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))])
""")


def test_rows_without_a_swizzle():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 64), bf16, align=1024)
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 4, 64, 16] bf16 in .shared is in none of the layouts that a descriptor can describe
  line: <source>
  rule: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides (PTX ISA 9.7.17.5.2)
  counter-example: element (1, 0) lies 128 bytes behind element (0, 0), where the nearest canonical layout, K-major with no swizzle, puts it 16 bytes behind
  legal: the same tile with layout=px.Layout(..., swizzle=px.Swizzle.B128)
""")


def test_swizzle_that_no_descriptor_names():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 64), bf16, layout=swizzled(64, swizzle=px.Swizzle(3, 4, 4)))
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 4, 64, 16] bf16 in .shared has the swizzle Swizzle(3, 4, 4)
  line: <source>
  rule: a descriptor knows swizzles of 32, 64 and 128 bytes (PTX ISA 9.7.17.5.2)
  legal: Swizzle.B32, Swizzle.B64, Swizzle.B128 or none
""")


def test_narrow_swizzle_on_wide_rows():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 64), bf16, layout=swizzled(64, swizzle=px.Swizzle.B64))
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 4, 64, 16] bf16 in .shared is in none of the layouts that a descriptor can describe
  line: <source>
  rule: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides (PTX ISA 9.7.17.5.2)
  counter-example: element (1, 0) lies 128 bytes behind element (0, 0), where the nearest canonical layout, K-major with a 64-byte swizzle, puts it 64 bytes behind
  legal: the same tile with layout=px.Layout(..., swizzle=px.Swizzle.B128)
""")


def test_swizzled_base_at_128_bytes():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 64), bf16, layout=swizzled(64), align=128)  # <- here
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")

    refused(LayoutError, kernel, """
<here>: px.shared: align=128 is no power of two of at least 1024 bytes, the period of its swizzle
  line: <source>
  legal: align=1024, or none
""")


def test_step_past_the_swizzle_s_row():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 80), bf16, layout=swizzled(64, 80))
        px.tile.apply(MULTIPLY, whole(sums), steps(a[:, 16:]), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 4, 64, 16] bf16 in .shared is in none of the layouts that a descriptor can describe
  line: <source>
  rule: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides (PTX ISA 9.7.17.5.2)
  counter-example: element (1, 0) lies 160 bytes behind element (0, 0), where the nearest canonical layout, K-major with a 128-byte swizzle, puts it 128 bytes behind
  legal: K-major Layout(S[((8, 8), (2, 8)) : ((stride, 64), (8, 1))]) or MN-major Layout(S[(64, (2, 8)) : (1, (stride, 64))]), whatever lead and stride; px.solve.operand makes one
""")


def test_step_that_crosses_the_swizzle_s_row():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 2, 64), bf16, layout=px.Layout(S[(64, 2, 64) : (64, 4096, 1)], swizzle=B128))
        part = a.view(64, 128)[:, 56:72].view(1, 1, 64, 16)  # <- here
        px.tile.apply(MULTIPLY, whole(sums), part, b[:, :16].view(1, 1, 64, 16), scale_d=0, scope="warpgroup")

    refused(LayoutError, kernel, """
<here>: coordinates 56, 57, ... (16 of them) of the dimension (2, 64) : (65536, 16) start or end inside its rows of 64; only whole rows or a part of one row form a layout
  line: <source>
""")


def test_slice_that_cuts_a_core_matrix():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, _, sums = tiles()
        b = px.shared((72, 64), bf16, layout=swizzled(72))
        px.tile.apply(MULTIPLY, whole(sums), a[:, :16].view(1, 1, 64, 16), whole(b[4:20].permute(1, 0)), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand b_desc: b[1, 1, 64, 16] bf16 in .shared begins in the middle of a swizzle pattern
  line: <source>
  rule: a descriptor's start lies in the first row of a swizzle pattern, at a multiple of 16 bytes (PTX ISA 9.7.17.5.2)
  counter-example: thread 0, repeat (0, 0): byte 512 is 512 bytes inside a pattern of 1024
  legal: parts that begin at a multiple of 8 rows
""")


def test_slice_of_half_a_unit():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 64), bf16, layout=swizzled(64))
        px.tile.apply(MULTIPLY, whole(sums), a[:, 4:20].view(1, 1, 64, 16), b[:, :16].view(1, 1, 64, 16), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 1, 64, 16] bf16 in .shared begins inside of 16 bytes
  line: <source>
  rule: a descriptor's start is a multiple of 16 bytes (PTX ISA 9.7.17.5.2)
  counter-example: thread 0, repeat (0, 0): byte 8 is 8 bytes inside
  legal: parts that begin at a multiple of 8 elements
""")


def test_runtime_row_that_cuts_the_pattern():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(first: px.u32):
        a, _, sums = tiles()
        b = px.shared((128, 64), bf16, layout=swizzled(128))
        with px.if_(px.uniform(first <= 64)):
            part = b.sub((first, 0), (16, 64)).permute(1, 0)
            px.tile.apply(MULTIPLY, whole(sums), a[:, :16].view(1, 1, 64, 16), whole(part), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand b_desc: b[1, 1, 64, 16] bf16 in .shared begins at a runtime place inside the swizzle's pattern
  line: <source>
  rule: a descriptor's start is a multiple of the swizzle's period, plus a constant step along one of its rows (PTX ISA 9.7.17.5.2)
  counter-example: first moves it in steps of 128 bytes; the period is 1024
  legal: stages and tiles that are whole periods apart
""")


def test_stages_that_are_no_whole_patterns():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(stage: px.u32):
        a, _, sums = tiles()
        b = px.shared((4, 64, 64), bf16, layout=px.Layout(S[(4, 64, 64) : (4096 + 64, 64, 1)], swizzle=B128))
        with px.if_(px.uniform(stage < 4)):
            px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b[stage].permute(1, 0)), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand b_desc: b[1, 4, 64, 16] bf16 in .shared begins at a runtime place inside the swizzle's pattern
  line: <source>
  rule: a descriptor's start is a multiple of the swizzle's period, plus a constant step along one of its rows (PTX ISA 9.7.17.5.2)
  counter-example: stage moves it in steps of 8320 bytes; the period is 1024
  legal: stages and tiles that are whole periods apart
""")


def test_runtime_start_inside_of_16_bytes():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(first: px.u32):
        _, b, sums = tiles()
        a = px.shared((64, 64), bf16, layout=swizzled(64))
        with px.if_(px.uniform(first <= 48)):
            part = whole(a.sub((0, first), (64, 16)))
            px.tile.apply(MULTIPLY, whole(sums), part, b[:, :16].view(1, 1, 64, 16), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 1, 64, 16] bf16 in .shared begins inside of 16 bytes, as far as is known
  line: <source>
  rule: a descriptor's start is a multiple of 16 bytes (PTX ISA 9.7.17.5.2)
  counter-example: first moves it in steps of 2 bytes
  legal: an index whose steps are multiples of 16 bytes
""")


def test_columns_not_a_multiple_of_8():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY.replace("n64", "n12"), whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16: '.m64n12k16' cannot stand after 'wgmma.mma_async.sync.aligned'; did you mean .m64n16k16 or .m64n8k16?
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.17.5.2)
  legal: after 'wgmma.mma_async.sync.aligned': .shape: .m64n8k16 .m64n16k16 .m64n24k16 .m64n32k16 .m64n40k16 .m64n48k16 .m64n56k16 .m64n64k16 .m64n72k16 .m64n80k16 .m64n88k16 .m64n96k16 .m64n104k16 .m64n112k16 .m64n120k16 .m64n128k16 .m64n136k16 .m64n144k16 .m64n152k16 .m64n160k16 .m64n168k16 .m64n176k16 .m64n184k16 .m64n192k16 .m64n200k16 .m64n208k16 .m64n216k16 .m64n224k16 .m64n232k16 .m64n240k16 .m64n248k16 .m64n256k16 .m64n16k8 .m64n16k32 .m64n16k256
""")


def test_fewer_columns_than_the_instruction_s():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b[:32]), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand b_desc: b[1, 4, 32, 16] bf16 in .shared ends in (32, 16) where the atom has (64, 16)
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 64, 16): the atom is what one instruction takes (PTX ISA 9.7.17.5.2)
  legal: last axes of 64, 16
""")


def test_mn_major_bytes():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a = px.shared((64, 128), s8, layout=swizzled(64, 128))
        b = px.shared((128, 64), s8, layout=px.Layout(S[(128, 64)], swizzle=px.Swizzle.B64))
        sums = px.local((64, 64), px.s32, layout=SUMS)
        parts = a.rearrange("m (s k) -> s m k", k=32).view(1, 4, 64, 32), b.permute(1, 0).rearrange("n (s k) -> s n k", k=32).view(1, 4, 64, 32)
        px.tile.apply("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8", sums.view(1, 1, 64, 64), *parts, scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8, operand b_desc: b[1, 4, 64, 32] s8 in .shared is MN-major with a 64-byte swizzle
  line: <source>
  rule: this operand of this instruction is K-major (PTX ISA 9.7.17.5.2)
  legal: K-major Layout(S[((8, 8), (2, 16)) : ((stride, 64), (16, 1))]), whatever lead and stride; px.solve.operand makes one
""")


def test_elements_of_another_type_s_width():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.shared((64, 32), f32, layout=px.Layout(S[(64, 32)], swizzle=B128))
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: a[1, 2, 64, 16] f32 in .shared has elements of 32 bits where the instruction's have 16
  line: <source>
  rule: the shape of this operand ends in 64, 16, counted in elements of 16 bits (PTX ISA 9.7.17.5.2)
  legal: .view(px.b16)
""")


def test_operand_in_global_memory():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(B: px.Tensor((64, 64), bf16, align=16)):
        a, _, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(B), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand b_desc: B[1, 4, 64, 16] bf16 in .global is not in shared memory
  line: <source>
  rule: operand b_desc is a matrix that a descriptor describes (PTX ISA 9.7.17.5.2)
  legal: a px.shared tile
""")


def test_b_operand_in_registers():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, _, sums = tiles()
        b = px.local((64, 64), bf16, container=b32, layout=SUMS)
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand b_desc: b[1, 4, 64, 16] bf16 in .reg is not in shared memory
  line: <source>
  rule: operand b_desc is a matrix that a descriptor describes (PTX ISA 9.7.17.5.2)
  legal: a px.shared tile
""")


def test_a_fragment_of_another_layout():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        _, b, sums = tiles()
        a = px.local((64, 64), bf16, container=b32, layout=S[(64, (16, 2, 2)) : (2 @ tid_in_wg, (2, 1 @ tid_in_wg, 1))])
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a: a[1, 4, 64, 16] bf16 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.17.5.2)
  counter-example: thread 2, repeat (0, 0), element (0, 4): the layout places it in thread 0 instead of thread 2
  legal: the fragment layout of the instruction: Layout(S[((4, 2, 8), (2, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))])
""")


def test_product_at_scope_warp():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warp")  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: a warpgroup issues this instruction together, and scope='warp' is smaller
  line: <source>
  legal: scope='warpgroup' | 'cta' | 'cluster'
""")


def test_product_in_a_block_without_a_whole_warpgroup():
    @px.kernel(grid=1, block=96, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: a warpgroup issues this instruction together, and the block has 96 threads
  line: <source>
  why: a warpgroup is 128 threads
  legal: @px.kernel(block=128), or a multiple of it
""")


def test_product_by_half_a_warpgroup():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        with px.if_(px.tid.x < 64):
            px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: a warpgroup issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 64 of the warpgroup does not come here
  legal: guards that cut between warpgroups: thread indices that are multiples of 128
""")


def test_product_on_a_target_without_the_a():
    @px.kernel(grid=1, block=128, target="sm_90")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: does not exist on sm_90, the target of this kernel
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 9.7.17.5.2)
  legal: targets sm_90a, from PTX 8.0
""")


def test_product_without_scale_d():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, sums.view(1, 1, 64, 64), steps(a), steps(b), scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: takes 4 operands, not 3
  line: <source>
  rule: operands are those of the syntax line, destination first (PTX ISA 9.7.17.5.2)
  legal: wgmma.mma_async.sync.aligned.shape.f32.bf16.bf16 d, a_desc, b_desc, scale_d, imm_scale_a, imm_scale_b, imm_trans_a, imm_trans_b;
""")


def test_fence_under_a_guard_that_may_part_the_warpgroup():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(count: px.u32):
        with px.if_(px.tid.x < count):  # <- there
            px.wgmma_fence()  # <- here

    refused(TraceError, kernel, """
<here>: a warpgroup issues this instruction together, and the branch at <there> may part it
  line: <source>
  why: its condition is neither the same in all threads nor a comparison of the thread's index with constants
  legal: px.uniform(p) where you know that all threads agree (the emulator checks it), or the instruction outside of the branch
""")


def test_registers_not_a_multiple_of_8():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        px.setmaxnreg(236, "inc")  # <- here

    refused(InstructionError, kernel, """
<here>: setmaxnreg.inc.sync.aligned.u32, operand imm_reg_count: the constant 236 is out of range
  line: <source>
  rule: the instruction has this operand for some numbers only (PTX ISA 9.7.21.5)
  legal: a .u32 constant (24, 32, 40, ... 256)
""")


def test_registers_for_a_part_of_a_warpgroup():
    @px.kernel(grid=1, block=256, target="sm_90a")
    def kernel():
        with px.if_(px.tid.x < 32):
            px.setmaxnreg(40, "dec")  # <- here

    refused(TraceError, kernel, """
<here>: a warpgroup issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 32 of the warpgroup does not come here
  legal: guards that cut between warpgroups: thread indices that are multiples of 128
""")


# ---- tcgen05 --------------------------------------------------------------------------------------------------------------

ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
PRODUCT = "tcgen05.mma.cta_group::1.kind::f16"


def blackwell(tile, rows):
    return tile.rearrange("m (s k) -> s m k", k=16).view(1, 4, rows, 16)


def test_48_columns():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel():
        slot = px.shared(1, b32)
        px.ptx[ALLOC](slot, 48)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32, operand n_cols: the constant 48 is out of range
  line: <source>
  rule: the instruction has this operand for some numbers only (PTX ISA 9.7.18.7.1)
  legal: a register of .u32, .s32 or .b32, or a constant (32, 64, 128, 256, 512)
""")


def test_allocation_by_one_thread():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel():
        slot = px.shared(1, b32)
        with px.if_(px.tid.x == 0):
            px.ptx[ALLOC](slot, 64)  # <- here

    refused(TraceError, kernel, """
<here>: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32: a warp issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 1 of the warp does not come here
  legal: guards that cut between warps: thread indices that are multiples of 32
""")


def test_allocation_under_a_guard_that_may_part_the_warp():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(count: px.u32):
        slot = px.shared(1, b32)
        with px.if_(px.tid.x < count):  # <- there
            px.ptx[ALLOC](slot, 64)  # <- here

    refused(TraceError, kernel, """
<here>: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32: a warp issues this instruction together, and the branch at <there> may part it
  line: <source>
  why: its condition is neither the same in all threads nor a comparison of the thread's index with constants
  legal: px.uniform(p) where you know that all threads agree (the emulator checks it), or the instruction outside of the branch
""")


def test_product_issued_by_a_whole_warp():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(d: px.u32, idesc: px.u32):
        a = px.shared((128, 64), f16, layout=swizzled(128))
        b = px.shared((64, 64), f16, layout=swizzled(64))
        px.tile.apply(PRODUCT, d, blackwell(a, 128), blackwell(b, 64), idesc, False, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.mma.cta_group::1.kind::f16: is issued by 32 threads here
  line: <source>
  rule: a single elected thread issues this instruction for all (PTX ISA 9.7.18.10.9.1)
  counter-example: each of them would issue the whole operation again
  legal: with px.if_(px.tid.x == 0): ..., or with px.if_(px.elect()): in one warp
""")


def test_load_of_a_shape_that_does_not_exist():
    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel(d: px.u32):
        px.ptx["tcgen05.ld.sync.aligned.32x64b.x1.b32"](d)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.ld.sync.aligned.32x64b.x1.b32: '.32x64b' cannot stand after 'tcgen05.ld.sync.aligned'; did you mean .32x32b or .16x64b?
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.18.7.1)
  legal: after 'tcgen05.ld.sync.aligned': .shape1: .16x64b .16x128b .16x256b .32x32b
""")


def test_load_of_512_registers():
    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel(d: px.u32):
        px.ptx["tcgen05.ld.sync.aligned.16x256b.x128.b32"](d)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.ld.sync.aligned.16x256b.x128.b32: these qualifiers do not go together
  line: <source>
  rule: .16x256b takes four registers for each repetition, and at most 128 (PTX ISA 9.7.18.8.3)
  legal: tcgen05.ld.sync.aligned.16x64b.x128.b32, tcgen05.ld.sync.aligned.32x32b.x128.b32, tcgen05.ld.sync.aligned.16x256b.x1.b32, tcgen05.ld.sync.aligned.16x256b.x2.b32, tcgen05.ld.sync.aligned.16x256b.x4.b32
""")


def test_load_by_one_thread():
    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel(d: px.u32):
        with px.if_(px.tid.x == 0):
            px.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](d)  # <- here

    refused(TraceError, kernel, """
<here>: tcgen05.ld.sync.aligned.32x32b.x1.b32: a warp issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 1 of the warp does not come here
  legal: guards that cut between warps: thread indices that are multiples of 32
""")


def test_copy_to_pairs_of_warps_without_saying_which():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(d: px.u32, s: px.u64):
        with px.if_(px.tid.x == 0):
            px.ptx["tcgen05.cp.cta_group::1.64x128b"](d, s)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.cp.cta_group::1.64x128b: these qualifiers do not go together
  line: <source>
  rule: .64x128b goes to pairs of warps (PTX ISA 9.7.18.9.2)
  legal: tcgen05.cp.cta_group::1.128x256b, tcgen05.cp.cta_group::1.4x256b, tcgen05.cp.cta_group::1.128x128b, tcgen05.cp.cta_group::1.64x128b.warpx2::02_13, tcgen05.cp.cta_group::1.64x128b.warpx2::01_23
""")


def test_blackwell_s_product_on_hopper():
    @px.kernel(grid=1, block=32, target="sm_90a")
    def kernel(d: px.u32, a: px.u64, b: px.u64, idesc: px.u32):
        with px.if_(px.tid.x == 0):
            px.ptx[PRODUCT](d, a, b, idesc, True)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.mma.cta_group::1.kind::f16: does not exist on sm_90a, the target of this kernel
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 9.7.18.10.9.1)
  legal: targets sm_100a, sm_100f, sm_103a, sm_103f, sm_107a, sm_107f, sm_110a, sm_110f, from PTX 8.6
""")


# ---- guards and flags -----------------------------------------------------------------------------------------------------


def test_product_under_a_predicate_that_may_part_the_warpgroup():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(count: px.u32):
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, scope="warpgroup", pred=px.tid.x < count)  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: a warpgroup issues this instruction together, and pred= may hold in a part of it
  line: <source>
  why: the predicate is neither the same in all threads nor a comparison that cuts between them
  legal: pred=px.uniform(p) where you know that all threads agree (the emulator checks it), or one that holds in whole warpgroups
""")


def test_raw_fence_under_a_predicate_of_one_thread():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        px.ptx["wgmma.fence.sync.aligned"](pred=px.tid.x == 0)  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.fence.sync.aligned: a warpgroup issues this instruction together, and pred= may hold in a part of it
  line: <source>
  why: the predicate is neither the same in all threads nor a comparison that cuts between them
  legal: pred=px.uniform(p) where you know that all threads agree (the emulator checks it), or one that holds in whole warpgroups
""")


def test_flag_that_differs_between_threads_of_a_warpgroup():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.wgmma_fence()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=px.tid.x < 5, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand scale_d: the threads of a warpgroup give different values
  line: <source>
  rule: a warpgroup executes this as one, with one value of scale_d (PTX ISA 9.7.17.5.2)
  counter-example: thread 4: true, thread 5: false
  legal: a value that all threads of the warpgroup share
""")


def test_flag_that_differs_between_warpgroups_is_legal():
    @px.kernel(grid=1, block=256, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.wgmma_fence()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=px.tid.x < 128, scope="warpgroup")

    assert "wgmma.mma_async" in kernel.ptx()


def test_address_of_tensor_memory_that_differs_between_threads_of_a_warp():
    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel():
        px.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"]((px.tid.x // 16, 4))  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.ld.sync.aligned.32x32b.x1.b32, operand taddr: the threads of a warp give different values
  line: <source>
  rule: a warp executes this as one, with one value of taddr (PTX ISA 9.7.18.8.3)
  counter-example: thread 15: 0, thread 16: 1
  legal: a value that all threads of the warp share
""")


def test_commit_to_several_blocks_without_a_cluster():
    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel():
        done = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            done.init()
            px.tcgen05_commit(done, mask=3)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64: .multicast::cluster names blocks of a cluster, and this kernel declares none
  line: <source>
  rule: without the launch attribute cluster= (directive .reqnctapercluster) every block is a cluster of its own (PTX ISA 9.7.18.12.1)
  legal: @px.kernel(cluster=2, ...), or the instruction without .multicast::cluster
""")


def test_mask_of_a_block_that_the_cluster_has_not():
    @px.kernel(grid=2, block=128, cluster=2, target="sm_100a")
    def kernel():
        done = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            done.init()
            px.tcgen05_commit(done, mask=5)  # <- here

    refused(InstructionError, kernel, """
<here>: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64, operand cta_mask: the mask 0x5 names block 2 of a cluster of 2
  line: <source>
  rule: bit i stands for the block of rank i (PTX ISA 9.7.18.12.1)
  legal: bits 0 to 1, or a larger @px.kernel(cluster=...)
""")


def test_fence_under_a_predicate_of_a_whole_warpgroup_is_legal():
    @px.kernel(grid=1, block=256, target="sm_90a")
    def kernel():
        px.ptx["wgmma.fence.sync.aligned"](pred=px.tid.x < 128)

    assert "@%p0 wgmma.fence.sync.aligned;" in " ".join(kernel.ptx(comments=False).split())


def test_major_that_is_not_the_operand_s():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=0, imm_trans_a=1, scope="warpgroup")  # <- here

    refused(InstructionError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand imm_trans_a: 1 is given, and operand a_desc is K-major
  line: <source>
  rule: the flag says how the matrix lies: 0 is K-major, 1 is MN-major (PTX ISA 9.7.17.5.2)
  legal: 0, or leave it out
""")


def test_flag_that_is_neither_0_nor_1():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel():
        a, b, sums = tiles()
        px.tile.apply(MULTIPLY, whole(sums), steps(a), steps(b), scale_d=2, scope="warpgroup")  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand scale_d: 2 is no truth value
  line: <source>
  legal: True or False, or a comparison
""")


def test_box_without_tuples():
    @px.kernel(grid=1, block=1, target="sm_90a")
    def kernel(A: px.Tensor((64, 64), bf16, align=16)):
        A.box(0, 64)  # <- here

    refused(TraceError, kernel, """
<here>: a box of A[64, 64] bf16 in .global takes starts and extents, not 0 and 64
  line: <source>
  legal: x.box((i, j), (64, 64))
""")


def test_element_of_a_single_result():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(d: px.u32):
        px.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](d)[0]  # <- here

    refused(TraceError, kernel, """
<here>: a traced .b32 is used as something with elements
  line: <source>
  why: its value is known on the GPU alone
  legal: a tensor or a tile has elements; a value is one
""")
