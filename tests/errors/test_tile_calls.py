"""How tile operations are called: scope, opcode, parameters, and the function of ewise."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, LayoutError, S, TraceError, b32, bf16, f32, laneid, u32, warpid
from tests.errors.refusal import refused

OWNED = S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]
SHAPE = (2, 32, 3, 4)


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
  rule: what a kernel uses exists on its target (PTX ISA 9.7.10.8)
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
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.10.8)
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
  rule: tile operations repeat an instruction over views (PTX ISA 9.7.3.3)
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


# ---- ewise ----------------------------------------------------------------------------------------------------------------


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
  rule: a scalar function works on registers
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
