"""Tile operations on memory: alignment, consecutive words, state space, width."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, S, b32, f32, laneid, u16, u32, warpid
from tests.errors.refusal import refused

OWNED = S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]
SHAPE = (2, 32, 3, 4)


# ---- alignment ------------------------------------------------------------------------------------------------------------


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


# ---- the atom -------------------------------------------------------------------------------------------------------------


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
