"""Tile operations on registers: the threads of the group, repeats, owners, slots, packing."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, S, TraceError, b32, bf16, f32, laneid, u16, u32, warpid
from tests.errors.refusal import refused

OWNED = S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]
SHAPE = (2, 32, 3, 4)


# ---- group and repeats ----------------------------------------------------------------------------------------------------


def test_group_axes_that_are_not_the_active_threads():
    @px.kernel(grid=1, block=128)
    def kernel(A: px.Tensor(SHAPE, f32, align=16)):
        r = px.local(SHAPE, f32, layout=OWNED)
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: no leading axes of (2, 32, 3, 4) multiply to the 128 threads of scope 'cta'
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 4), and the group axes stand for the threads that are active here (PTX ISA 9.7.10.8)
  legal: group axes (4, 32), e.g. shape (4, 32, ..., 4)
""")


def test_guard_that_leaves_fewer_threads_than_the_group_axes():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((64, 4), f32, align=16)):
        r = px.local((64, 4), f32, layout=S[(64, 4) : (1 @ px.tx, 1)])
        with px.if_(px.tid.x < 48):
            px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: no leading axes of (64, 4) multiply to the 48 threads of scope 'cta'
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 4), and the group axes stand for the threads that are active here (PTX ISA 9.7.10.8)
  legal: group axes (48,), e.g. shape (48, ..., 4)
""")


def test_guards_that_exclude_each_other():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        with px.if_(px.tid.x < 8):  # noqa: SIM117
            with px.if_(px.tid.x > 8):
                px.tile.apply("ld.global.v4.b32", r, A, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: ld.global.v4.b32: no thread is active here
  line: <source>
  why: the guards around this line exclude each other
  legal: guards that some thread passes
""")


def test_guard_that_cuts_some_warps_differently():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((32, 4), f32, align=16)):
        r = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ laneid, 1)])
        with px.if_(px.tid.x < 48):
            px.tile.apply("ld.global.v4.b32", r, A, scope="warp")  # <- here

    refused(TraceError, kernel, """
<here>: ld.global.v4.b32: the threads that the guards leave active are not the same in every warp of the block
  line: <source>
  why: 48 threads are active, spread over 2 warps
  legal: a larger scope, or guards that cut between warps
""")


def test_unequal_repeats():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((64, 2, 4), f32, align=16)):
        r = px.local((64, 3, 4), f32, layout=S[(64, 3, 4) : (1 @ px.tx, 4, 1)])
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: its repeat axes are (2,), those of operand d are (3,)
  line: <source>
  rule: every operand has the same repeats, one instruction each (PTX ISA 9.7.10.8)
  legal: views with equal repeat axes
""")


def test_runtime_extent_as_a_repeat():
    n = px.dim("n")

    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n, 4), f32, align=16)):
        r = px.local((4, 4), f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[n, 4] f32 in .global has the runtime extent n
  line: <source>
  rule: group, repeat and atom extents are static (PTX ISA 9.7.10.8)
  legal: select a static part: x.sub(starts, extents) or x[i : i + 4]
""")


# ---- registers ------------------------------------------------------------------------------------------------------------


def test_wrong_owner():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((2, 32, 4), f32, align=16)):
        r = px.local((2, 32, 4), f32, layout=S[(2, 32, 4) : (1 @ px.tx, 2 @ px.tx, 1)])
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: r[2, 32, 4] f32 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.10.8)
  counter-example: thread 1, element 0: the layout places it in thread 2 instead of thread 1
  legal: group axes (2, 32) laid out on the thread axes in this order
""")


def test_transposed_owner():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor(SHAPE, f32, align=16)):
        r = px.local(SHAPE, f32, layout=OWNED)
        px.tile.apply("ld.global.v4.b32", r.rearrange("w l r a -> l w r a"), A.view(32, 2, 3, 4), scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: r[32, 2, 3, 4] f32 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.10.8)
  counter-example: thread 1, repeat (0,), element 0: the layout places it in thread 32 instead of thread 1
  legal: group axes (2, 32) laid out on the thread axes in this order
""")


def test_tile_without_thread_axes_at_block_scope():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((64, 4), f32, align=16)):
        r = px.local((64, 4), f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: r[64, 4] f32 in .reg is not owned by the threads that issue the instruction
  line: <source>
  rule: each thread names its own registers (PTX ISA 9.7.10.8)
  counter-example: thread 1, element 0: the layout places it in every thread, as it has no thread axis
  legal: group axes (2, 32) laid out on the thread axes in this order
""")


def test_slots_that_differ_between_threads():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 4), f32, align=16)):
        r = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ laneid + 4, 1)])
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: r[32, 4] f32 in .reg is not in the same register in every thread
  line: <source>
  rule: all threads execute one text, so an element's register can't depend on the thread (PTX ISA 9.7.10.8)
  counter-example: thread 1, element 0: register 4; thread 0: register 0
  legal: group axes with strides on thread axes only, 0 on m
""")


def test_overlapping_registers():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 2, 4), f32, align=16)):
        r = px.local((32, 2, 4), f32, layout=S[(32, 2, 4) : (1 @ laneid, 3, 1)])
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: r[32, 2, 4] f32 in .reg puts two elements into one register
  line: <source>
  rule: every element of a destination has a register of its own (PTX ISA 9.7.10.8)
  counter-example: register 3 holds repeat (0,) element 3 and repeat (1,) element 0
  legal: strides on m that keep repeat and atom elements apart
""")


def test_register_tile_too_small():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((64, 4, 4), f32, align=16)):
        r = px.local((64, 3, 4), f32, layout=S[(64, 3, 4) : (1 @ px.tx, 4, 1)])
        px.tile.apply("ld.global.v4.b32", r.sub((0, 0, 0), (64, 4, 4)), A, scope="cta")  # <- here

    refused(TraceError, kernel, """
<here>: index 0 to 3 of axis 1 of r[64, 3, 4] f32 in .reg is not below 3
  line: <source>
  legal: starts none: the part is larger than the axis
""")


def test_runtime_index_into_registers():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local((32, 4), f32)
        px.tile.apply("ld.global.v4.b32", r[px.tid.x], A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: r[4] f32 in .reg begins at a register that is known only at run time
  line: <source>
  rule: a register's name is part of the instruction's text (PTX ISA 9.7.10.8)
  legal: a Python index (unrolled), or memory instead of registers
""")


def test_packed_tile_under_a_whole_register_instruction():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local((4, 1), bf16, container=b32)
        px.tile.apply("add.rn.bf16", r, r, r, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: add.rn.bf16, operand d: r[4, 1] bf16 in .reg packs 2 elements into each .b32 register
  line: <source>
  rule: apply names whole registers and never packs or unpacks (PTX ISA 9.7.4.1)
  legal: .view(px.bf16x2) to take whole registers
""")


def test_16_bit_containers_under_b32():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), u32, align=16)):
        r = px.local(4, u16)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: register 0 of r is .u16 where the instruction takes .b32
  line: <source>
  rule: a register has the operand's size or more, and its type or untyped bits (PTX ISA 9.4.1)
  legal: 4 registers of 32 bits or wider in braces
""")


def test_integer_registers_under_a_float_instruction():
    @px.kernel(grid=1, block=1)
    def kernel():
        a = px.local((4, 1), f32)
        b = px.local((4, 1), u32)
        px.tile.apply("add.f32", a, a, b, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: add.f32, operand b: register 0 of b is .u32 where the instruction takes .f32
  line: <source>
  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)
  legal: a register of .f32 or .b32, or a constant
""")


def test_reversed_copy_in_place():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local((4, 1), b32)
        backwards = px.local((4, 1), b32, layout=px.Layout(S[(4, 1) : (-1, 1)]) + 3)
        px.tile.apply("mov.b32", r, backwards, scope="thread")  # two tiles: fine
        px.tile.apply("mov.b32", r.view(2, 2, 1), r.view(2, 2, 1).permute(1, 0, 2), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: mov.b32, operand d: r[2, 2, 1] b32 in .reg overwrites registers that operand a still reads
  line: <source>
  rule: repeats run in row-major order, each as one instruction (PTX ISA 9.7.10.3)
  counter-example: repeat (0, 1) writes register 1, which repeat (1, 0) reads
  legal: a destination tile of its own, or the same element order in both
""")
