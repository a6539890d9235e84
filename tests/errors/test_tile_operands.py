"""Tile operations whose operands do not fit the instruction: shape, owners, registers, alignment, order, space, width."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, LayoutError, S, TraceError, b32, bf16, f32, laneid, u16, u32, warpid
from tests.errors.refusal import refused

OWNED = S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]
SHAPE = (2, 32, 3, 4)


# ---- alignment ----------------------------------------------------------------------------------------------------------


def test_misaligned_base():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor(SHAPE, f32, align=8)):
        r = px.local(SHAPE, f32, layout=OWNED)
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[2, 32, 3, 4] f32 in .global is not known to be aligned: its base is a multiple of 8 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: A at address 0x1008 fits its declaration; 8 bytes behind a multiple of 16
  legal: declare A with align=16, or a narrower access
""")


def test_vector_over_rows_of_1185_elements():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 4), f32, align=16, strides=(1185, 1))):
        r = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ laneid, 1)])
        px.tile.apply("st.global.v4.b32", A, r, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: st.global.v4.b32, operand a: A[32, 4] f32 in .global is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.11)
  counter-example: thread 1: byte offset 4740 = 4736 + 4
  legal: scalar accesses, or padded rows
""")


def test_constant_offset_that_misaligns():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((64,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A[1:5], scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[4] f32 in .global is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: thread 0: byte offset 4 = 0 + 4
  legal: scalar accesses, or padded rows
""")


def test_sixteen_bytes_merged_at_alignment_8():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((16,), px.u8, align=8)):
        r = px.local(16, px.u8, container=b32)
        px.tile.apply("ld.global.v4.b32", r.view(b32), A.view(b32), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[4] b32 in .global is not known to be aligned: its base is a multiple of 8 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: A at address 0x1008 fits its declaration; 8 bytes behind a multiple of 16
  legal: declare A with align=16, or a narrower access
""")


def test_dim_that_guarantees_no_alignment():
    n = px.dim("n")

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, n), f32, align=16)):
        r = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ laneid, 1)])
        with px.if_(n >= 4):
            px.tile.apply("ld.global.v4.b32", r, A[:, 0:4], scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[32, 4] f32 in .global is not known to be aligned: n moves it in steps of 4 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: n = 5: moved by 20 bytes
  legal: px.dim("n", multiple_of=4); or a narrower access
""")


def test_runtime_start_that_misaligns():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((64,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A.sub((px.tid.x,), (4,)), scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[4] f32 in .global is not known to be aligned: tid.x moves it in steps of 4 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: tid.x = 1: moved by 4 bytes
  legal: an index in steps of 4 elements, such as 4 * i; or a narrower access
""")


# ---- the atom -----------------------------------------------------------------------------------------------------------


def test_wrong_atom():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor(SHAPE, f32, align=16)):
        r = px.local(SHAPE, f32, layout=OWNED)
        px.tile.apply("ld.global.v2.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v2.b32, operand d: r[2, 32, 3, 4] f32 in .reg ends in 4 where the atom has 2
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 2): the atom is what one instruction takes (PTX ISA 9.7.10.8)
  legal: .view(2, 32, 3, 2, 2)
""")


def test_scalar_instruction_on_rows_of_four():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor(SHAPE, f32)):
        r = px.local(SHAPE, f32, layout=OWNED)
        px.tile.apply("ld.global.b32", r, A, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.b32, operand d: r[2, 32, 3, 4] f32 in .reg ends in 4 where the atom has 1
  line: <source>
  rule: the shape of this operand is (*group, *repeat, 1): the atom is what one instruction takes (PTX ISA 9.7.10.8)
  legal: a last axis of 1: .view(2, 32, 3, 4, 1)
""")


def test_strided_words():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((4, 32), f32, align=16)):
        r = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ laneid, 1)])
        px.tile.apply("ld.global.v4.b32", r, A.permute(1, 0), scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[32, 4] f32 in .global is not contiguous along its atom
  line: <source>
  rule: the 4 elements behind one address are consecutive in memory (PTX ISA 9.7.10.8)
  counter-example: thread 0: element 1 is 128 bytes behind element 0; 4 bytes required
  legal: an atom axis of stride 1; .rearrange or .permute to bring the contiguous axis last, or a .v2 form
""")


def test_words_at_a_runtime_distance():
    n = px.dim("n", multiple_of=4)

    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, n), f32, align=16)):
        r = px.local(4, f32)
        with px.if_(n > 0):
            px.tile.apply("ld.global.v4.b32", r, A[:, 0], scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[4] f32 in .global has elements at a runtime distance in its atom
  line: <source>
  rule: the 4 elements behind one address are consecutive in memory (PTX ISA 9.7.10.8)
  counter-example: thread 0: element 1 is 4*n bytes behind element 0; 4 bytes required
  legal: an atom axis of stride 1; .rearrange or .permute to bring the contiguous axis last, or a .v2 form
""")


# ---- group and repeats --------------------------------------------------------------------------------------------------


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


# ---- registers ----------------------------------------------------------------------------------------------------------


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
        a, b = px.local((4, 1), f32), px.local((4, 1), u32)
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


# ---- memory and registers exchanged, spaces, widths -----------------------------------------------------------------------


def test_memory_where_registers_are_needed():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16), B: px.Tensor((4,), f32, align=16)):
        px.tile.apply("ld.global.v4.b32", A, B, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: A[4] f32 in .global is memory where the instruction takes registers
  line: <source>
  rule: operand d is a vector of 4 registers (PTX ISA 9.7.10.8)
  legal: a px.local tile; ld and st alone reach memory
""")


def test_registers_where_memory_is_needed():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("st.global.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: st.global.v4.b32, operand a: r[4] f32 in .reg is a register tile where the instruction takes memory
  line: <source>
  rule: operand a is an address (PTX ISA 9.7.10.11)
  legal: a px.Tensor parameter, a px.shared tile, or a view of one
""")


def test_wrong_state_space():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.shared.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.shared.v4.b32, operand a: A[4] f32 in .global lies in .global, not in .shared
  line: <source>
  rule: the address lies in the state space that the opcode names (PTX ISA 9.7.10.8)
  legal: an address [base+offset] in .shared
""")


def test_elements_of_another_width():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), u16, align=16)):
        r = px.local(4, u32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: A[4] u16 in .global has elements of 16 bits where the instruction moves .b32
  line: <source>
  rule: one element of the view is one word of the instruction (PTX ISA 9.7.10.8)
  legal: .view(px.b32) to see the same memory as 32-bit words
""")


def test_array_where_a_view_is_needed():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, [1, 2, 3, 4], scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: [1, 2, 3, 4] is no view of memory
  line: <source>
  rule: operand a is an address (PTX ISA 9.7.10.8)
  legal: a px.Tensor parameter, a px.shared tile, or a view of one
""")


def test_address_as_an_int():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.u64):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: <A: u64> is no view of memory
  line: <source>
  rule: operand a is an address (PTX ISA 9.7.10.8)
  legal: a px.Tensor parameter, a px.shared tile, or a view of one
""")


# ---- scope, opcode, parameters --------------------------------------------------------------------------------------------


def test_scope_left_out():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A)  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32: scope is left out
  line: <source>
  rule: the group axes of every operand stand for the threads of the scope (PTX ISA 9.7.10.8)
  counter-example: 64 rows of a block of 64 threads are one row a thread at scope 'cta', and 64 rows for each thread at scope 'thread'
  legal: scope='thread' | 'warp' | 'warpgroup' | 'cta' | 'cluster'
""")


def test_unknown_scope():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="block")  # <- here

    refused(TraceError, kernel, """
<here>: ld.global.v4.b32: 'block' is no execution scope
  line: <source>
  legal: scope='thread' | 'warp' | 'warpgroup' | 'cta' | 'cluster'
""")


def test_vector_of_eight_for_sm_90():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((8,), f32, align=32)):
        r = px.local(8, f32)
        px.tile.apply("ld.global.v8.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v8.b32: does not exist on sm_90, the target of this kernel
  line: <source>
  rule: every instruction exists on the kernel's target (PTX ISA 9.7.10.8)
  legal: targets sm_100 and newer, from PTX 8.8
""")


def test_sub_byte_memory():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), px.u8)):
        r = px.local((8, 1), px.u8)
        px.tile.apply("ld.global.b4", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.b4: '.b4' cannot stand after 'ld.global'; did you mean .b64 or .v4?
  line: <source>
  see: PTX ISA 9.7.10.8
  legal: after 'ld.global': .vec: .v2 .v4 .v8; .type: .b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64
""")


def test_cache_policy_without_its_qualifier():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16), policy: px.b64):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread", cache_policy=policy)  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32: these qualifiers and operands do not go together
  line: <source>
  rule: a cache policy is given exactly where .L2::cache_hint is (PTX ISA 9.7.10.8)
  legal: ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
""")


def test_qualifier_without_its_cache_policy():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.L2::cache_hint.v4.b32", r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.L2::cache_hint.v4.b32: these qualifiers and operands do not go together
  line: <source>
  rule: a cache policy is given exactly where .L2::cache_hint is (PTX ISA 9.7.10.8)
  legal: ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
""")


def test_unknown_parameter():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread", cache=1)  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32: has no operand 'cache'
  line: <source>
  rule: operands by keyword have the names of the syntax line (PTX ISA 9.7.10.8)
  legal: ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
""")


def test_too_many_operands():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand a: r[4] f32 in .reg is a register tile where the instruction takes memory
  line: <source>
  rule: operand a is an address (PTX ISA 9.7.10.8)
  legal: a px.Tensor parameter, a px.shared tile, or a view of one
""")


def test_operands_exchanged_in_a_store():
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor(SHAPE, f32, align=16)):
        r = px.local(SHAPE, f32, layout=OWNED)
        px.tile.apply("ld.global.v4.b32", A, r, scope="cta")  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.b32, operand d: A[2, 32, 3, 4] f32 in .global is memory where the instruction takes registers
  line: <source>
  rule: operand d is a vector of 4 registers (PTX ISA 9.7.10.8)
  legal: a px.local tile; ld and st alone reach memory
""")


def test_predicate_of_another_type():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16), p: u32):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread", pred=p)  # <- here

    refused(TraceError, kernel, """
<here>: ld.global.v4.b32: pred=<p: u32> is no traced predicate
  line: <source>
  legal: a comparison such as pred=i < n, or ~p
""")


def test_python_bool_as_predicate():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply("ld.global.v4.b32", r, A, scope="thread", pred=True)  # <- here

    refused(TraceError, kernel, """
<here>: ld.global.v4.b32: pred=True is no traced predicate
  line: <source>
  legal: a comparison such as pred=i < n, or ~p
""")


def test_no_operand_is_a_view():
    @px.kernel(grid=1, block=1)
    def kernel(a: f32):
        px.tile.apply("add.f32", a, a, 1.0, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: add.f32: no operand is a view
  line: <source>
  legal: the raw call px.ptx["add.f32"](...)
""")


def test_opcode_that_is_no_text():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        r = px.local(4, f32)
        px.tile.apply(r, "ld.global.v4.b32", A, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: tile.apply takes the opcode first, as text, not r[4] f32 in .reg
  line: <source>
  legal: px.tile.apply("ld.global.v4.b32", destination, source, scope="cta")
""")


def test_inexact_scalar_operand():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local((4, 1), f32)
        px.tile.apply("mul.f32", r, r, 0.1, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: mul.f32, operand b: 0.1 is not exactly representable in .f32
  line: <source>
  why: the nearest .f32 is 0.10000000149011612
  legal: px.f32(0.1) to round it here and now
""")


# ---- ewise --------------------------------------------------------------------------------------------------------------


def test_ewise_without_scope():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.tile.ewise(lambda x: x + 1, r, r)  # <- here

    refused(InstructionError, kernel, """
<here>: tile.ewise: scope is left out
  line: <source>
  rule: the group axes of every operand stand for the threads of the scope
  counter-example: 64 rows of a block of 64 threads are one row a thread at scope 'cta', and 64 rows for each thread at scope 'thread'
  legal: scope='thread' | 'warp' | 'warpgroup' | 'cta' | 'cluster'
""")


def test_ewise_result_of_another_type():
    @px.kernel(grid=1, block=1)
    def kernel():
        r, s = px.local(4, f32), px.local(4, u32)
        px.tile.ewise(lambda x: x.to(u32, "rzi"), r, r, scope="thread")  # <- here
        del s

    refused(TraceError, kernel, """
<here>: tile.ewise: the function returns .u32 for elements of .f32
  line: <source>
  why: ewise converts nothing
  legal: return x.to(px.f32) or x.bitcast(px.f32)
""")


def test_ewise_of_memory():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32)):
        r = px.local(4, f32)
        px.tile.ewise(lambda x: x + 1, r, A, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: tile.ewise, operand src: A[4] f32 in .global is no register tile
  line: <source>
  legal: a px.local tile; load memory with tile.apply first
""")


def test_ewise_function_with_too_few_results():
    @px.kernel(grid=1, block=1)
    def kernel():
        r, s = px.local(4, f32), px.local(4, f32)
        px.tile.ewise(lambda x: x + 1, (r, s), r, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: tile.ewise: the function returns 1 value where there are 2 destinations
  line: <source>
  legal: one value for each destination: a tuple for several
""")


def test_ewise_function_without_result():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.tile.ewise(lambda x: None, r, r, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: tile.ewise: the function returns nothing for elements of .f32
  line: <source>
  legal: a traced .f32, or a number
""")


def test_ewise_destination_and_function_exchanged():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.tile.ewise(r, lambda x: x + 1, r, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: tile.ewise: r[4] f32 in .reg is no function
  line: <source>
  legal: px.tile.ewise(lambda x: x + 1, destination, source, scope="cta"): the function first
""")


def test_ewise_function_with_other_parameters():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.tile.ewise(lambda x, y: x + y, r, r, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: tile.ewise: the function takes 2 arguments, and there is 1 source
  line: <source>
  legal: a function of 1 argument, one for each source tile
""")


def test_ewise_inexact_literal():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.tile.ewise(lambda x: x * 0.1, r, r, scope="thread")  # <- here

    refused(TraceError, kernel, """
<here>: tile.ewise: 0.1 is not exactly representable in .f32
  line: <source>
  why: the nearest .f32 is 0.10000000149011612
  legal: px.f32(0.1) to round it here and now
""")


def test_ewise_of_another_count():
    @px.kernel(grid=1, block=1)
    def kernel():
        r, s = px.local(4, f32), px.local(5, f32)
        px.tile.ewise(lambda x: x + 1, r, s, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: tile.ewise, operand src: its repeat axes are (5,), those of operand dst are (4,)
  line: <source>
  rule: every operand has the same repeats, one instruction each
  legal: views with equal repeat axes
""")


def test_ewise_of_a_packed_tile():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, bf16, container=b32)
        px.tile.ewise(lambda x: x + x, r, r, scope="thread")  # <- here

    refused(InstructionError, kernel, """
<here>: tile.ewise, operand dst: r[4, 1] bf16 in .reg packs 2 elements into each .b32 register
  line: <source>
  rule: apply names whole registers and never packs or unpacks
  legal: .view(px.bf16x2) to take whole registers
""")


def test_layout_error_names_the_line():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 6), f32)):
        A.view(5, 5)  # <- here

    refused(LayoutError, kernel, """
<here>: can't reshape (4, 6) to (5, 5): 24 elements against 25
  line: <source>
""")
