"""Scalars, mutable registers and control flow: what Python would do, and what a thread of the GPU would not."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, TraceError, f32, s32, u32
from tests.errors.refusal import refused

n = px.dim("n")


# ---- truth, names and jumps -----------------------------------------------------------------------------------------------


def test_if_on_a_comparison_of_registers():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        r = px.reg(u32, 0)
        if r == a:  # <- here
            r += 1

    refused(TraceError, kernel, """
<here>: a traced .pred is used as a truth value by if
  line: <source>
  why: its value is known on the GPU alone
  legal: with px.if_(p): ...
""")


def test_accumulation_by_rebinding_in_a_loop():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32), B: px.Tensor((1,), f32)):
        acc = px.f32(0.0)
        for i in px.range(n):
            x = px.ptx.ld.global_.f32(A[i])
            acc = acc + x  # <- here
        px.ptx.st.global_.f32(B[0], acc)

    refused(TraceError, kernel, """
<here>: acc is read and then bound to something else in a px.range loop
  line: <source>
  why: the body is traced once: every iteration on the GPU would read the acc from before the loop
  legal: acc = px.reg(px.f32, ...) before the loop, and acc += ... or acc.set(...) inside
""")


def test_chained_comparison():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        with px.if_(0 < a < 8):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: a traced .pred is used as a truth value by a chained comparison
  line: <source>
  why: its value is known on the GPU alone
  legal: (a < b) & (b < c)
""")


def test_and_between_predicates():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        with px.if_(a > 0 and a < 8):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: a traced .pred is used as a truth value by and
  line: <source>
  why: its value is known on the GPU alone
  legal: p & q
""")


def test_while_on_a_traced_value():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        r = px.reg(u32, 0)
        while r < a:  # <- here
            r += 1

    refused(TraceError, kernel, """
<here>: a traced .pred is used as a truth value by while
  line: <source>
  why: its value is known on the GPU alone
  legal: with px.while_(lambda: p): ...
""")


def test_python_range_over_a_traced_value():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        for _ in range(a):  # <- here
            pass

    refused(TraceError, kernel, """
<here>: a traced .u32 is used as an index or a count of Python
  line: <source>
  why: its value is known on the GPU alone
  legal: index a px tensor with it, loop with px.range, or make it a px.constexpr
""")


def test_python_range_over_a_dim():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        for _ in range(n):  # <- here
            pass

    refused(TraceError, kernel, """
<here>: dim n is used as an int of Python
  line: <source>
  why: its value is known at launch alone
  legal: px.range(n) to loop up to it, or a px.constexpr parameter
""")


def test_if_on_a_dim():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        if n > 4:  # <- here
            A[0]

    refused(TraceError, kernel, """
<here>: a traced .pred is used as a truth value by if
  line: <source>
  why: its value is known on the GPU alone
  legal: with px.if_(p): ...
""")


def test_equality_of_a_dim():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        if n == 4:  # <- here
            A[0]

    refused(TraceError, kernel, """
<here>: a traced .pred is used as a truth value by if
  line: <source>
  why: its value is known on the GPU alone
  legal: with px.if_(p): ...
""")


def test_value_of_a_branch_used_outside():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32,), f32)):
        i = px.tid.x
        with px.if_(i < 8):  # <- there
            x = px.ptx.ld.global_.f32(A[i])
        px.ptx.st.global_.f32(A[i], x)  # <- here

    refused(TraceError, kernel, """
<here>: this value is defined inside the if block at <there> and used outside of it
  line: <source>
  why: the block may not have run, so its register may hold nothing
  legal: declare r = px.reg(dtype, init) before the block, r.set(...) inside it; or use px.select
""")


def test_break_in_a_traced_loop():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        for i in px.range(n):
            A[i]
            break  # <- here

    refused(TraceError, kernel, """
<here>: break leaves a px.range block
  line: <source>
  why: Python would jump while the kernel is traced, once, whatever the threads do on the GPU
  legal: px.break_(), inside with px.if_(...)
""")


def test_return_in_a_branch():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32,), f32)):
        with px.if_(px.tid.x > 3):
            return  # <- here
        A[0]

    refused(TraceError, kernel, """
<here>: return leaves a px.if_ block
  line: <source>
  why: Python would jump while the kernel is traced, once, whatever the threads do on the GPU
  legal: px.return_() ends the thread; a helper returns its value after the block, from a px.reg
""")


def test_traced_range_in_a_comprehension():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        [A[i] for i in px.range(n)]  # <- here

    refused(TraceError, kernel, """
<here>: px.range is not the iterable of a for statement itself
  line: <source>
  why: the loop runs on the GPU and its body is traced once: a comprehension, zip, list or next would see one element
  legal: for i in px.range(n): ...; Python's own range unrolls
""")


def test_if_without_with():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.if_(px.tid.x < 4)  # <- here
        px.syncthreads()

    refused(TraceError, kernel, """
<here>: px.if_(...) is not the head of a with statement
  line: <source>
  why: it has no effect by itself
  legal: with px.if_(...): ...
""")


def test_else_without_if():
    @px.kernel(grid=1, block=32)
    def kernel():
        with px.else_():  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: px.else_ does not directly follow a px.if_ or px.elif_ block
  line: <source>
  legal: with px.if_(p): ... and with px.else_(...): as the next statement of the same suite
""")


def test_condition_that_is_no_predicate():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        with px.if_(a):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: px.if_ needs a predicate, not a .u32
  line: <source>
  legal: px.if_(x != 0)
""")


def test_while_with_a_value():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        r = px.reg(u32, 0)
        with px.while_(r < a):  # <- here
            r += 1

    refused(TraceError, kernel, """
<here>: px.while_ takes a function that gives the condition
  line: <source>
  why: a value would be computed once, before the loop
  legal: with px.while_(lambda: i < n):
""")


def test_break_outside_of_a_loop():
    @px.kernel(grid=1, block=32)
    def kernel():
        px.break_()  # <- here

    refused(TraceError, kernel, """
<here>: px.break_ outside of a traced loop
  line: <source>
  legal: inside for i in px.range(...) or with px.while_(...)
""")


def test_range_of_a_float():
    @px.kernel(grid=1, block=32)
    def kernel(x: f32):
        for _ in px.range(x):  # <- here
            pass

    refused(TraceError, kernel, """
<here>: px.range counts no .f32
  line: <source>
  legal: u32, s32, u64 or s64
""")


def test_range_with_step_zero():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        for _ in px.range(0, a, 0):  # <- here
            pass

    refused(TraceError, kernel, """
<here>: a px.range of step 0 never ends
  line: <source>
  legal: a step other than 0
""")


def test_range_of_mixed_types():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32, b: s32):
        for _ in px.range(a, b):  # <- here
            pass

    refused(TraceError, kernel, """
<here>: the bounds of px.range are .u32 and .s32
  line: <source>
  legal: one type: .to(...)
""")


# ---- types and literals ---------------------------------------------------------------------------------------------------


def test_mixed_types():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32, x: f32):
        a + x  # <- here

    refused(TraceError, kernel, """
<here>: .u32 + .f32: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: convert one: .to(px.u32) or .to(px.f32); .bitcast keeps the bits
""")


def test_signed_and_unsigned():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32, b: s32):
        _ = a < b  # <- here

    refused(TraceError, kernel, """
<here>: .u32 < .s32: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: convert one: .to(px.u32) or .to(px.s32); .bitcast keeps the bits
""")


def test_inexact_literal():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        x * 0.1  # <- here

    refused(TraceError, kernel, """
<here>: 0.1 is not exactly representable in .f32
  line: <source>
  why: the nearest .f32 is 0.10000000149011612
  legal: px.f32(0.1) to round it here and now
""")


def test_literal_out_of_range():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        a + 2**32  # <- here

    refused(TraceError, kernel, """
<here>: 4294967296 does not fit into .u32
  line: <source>
  why: it would wrap to 0
  legal: 0 to 4294967295, or a wider type
""")


def test_negative_literal_for_unsigned():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        a + -1  # <- here

    refused(TraceError, kernel, """
<here>: -1 does not fit into .u32
  line: <source>
  why: it would wrap to 4294967295
  legal: 0 to 4294967295, or a wider type
""")


def test_float_literal_beside_an_integer():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        a * 0.5  # <- here

    refused(TraceError, kernel, """
<here>: 0.5 is no integer, and the other operand is .u32
  line: <source>
  why: nothing is converted implicitly
  legal: an int, or convert the traced value first: x.to(px.f32)
""")


def test_true_division_of_integers():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        a / 2  # <- here

    refused(TraceError, kernel, """
<here>: / on .u32
  line: <source>
  why: Python's / gives a float, and nothing is converted implicitly
  legal: // for unsigned integers, px.div(a, b) truncating for signed ones, or .to(px.f32)
""")


def test_floor_division_of_signed_integers():
    @px.kernel(grid=1, block=1)
    def kernel(a: s32):
        a // 2  # <- here

    refused(TraceError, kernel, """
<here>: // on signed .s32
  line: <source>
  why: Python rounds towards minus infinity, PTX towards zero: -7 // 2 is -4 in Python and -3 in PTX
  legal: px.div(a, b), which truncates as PTX does; >> and & for powers of two; or unsigned types
""")


def test_register_set_to_another_type():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        acc = px.reg(f32, 0)
        acc += a  # <- here

    refused(TraceError, kernel, """
<here>: .f32 + .u32: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: convert one: .to(px.f32) or .to(px.u32); .bitcast keeps the bits
""")


def test_register_without_type():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.reg(0)  # <- here

    refused(TraceError, kernel, """
<here>: px.reg takes the type of a register, not 0
  line: <source>
  legal: px.reg(px.f32, 0)
""")


def test_conversion_without_rounding():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        x.to(u32)  # <- here

    refused(TraceError, kernel, """
<here>: .f32 to .u32 needs a rounding
  line: <source>
  why: several results are sensible, and ptxgen picks none silently
  legal: .to(px.u32, "rni"), or rzi, rmi, rpi
""")


def test_conversion_with_an_unknown_rounding():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        x.to(px.f16, "nearest")  # <- here

    refused(TraceError, kernel, """
<here>: 'nearest' is no rounding from .f32 to .f16
  line: <source>
  legal: one of rn, rz, rm, rp
""")


def test_bitcast_to_another_width():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        x.bitcast(px.u16)  # <- here

    refused(TraceError, kernel, """
<here>: .f32 has 32 bits and .u16 has 16
  line: <source>
  legal: a type of 32 bits; .to(...) converts; mov.b32 packs and unpacks
""")


def test_float_of_a_traced_value():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        float(a)  # <- here

    refused(TraceError, kernel, """
<here>: a traced .u32 is used as float(...)
  line: <source>
  why: its value is known on the GPU alone
  legal: x.to(px.f32) to convert on the GPU
""")


def test_select_on_an_integer():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        px.select(a, 1, 2)  # <- here

    refused(TraceError, kernel, """
<here>: px.select takes a predicate first
  line: <source>
  legal: px.select(x > 0, a, b)
""")


def test_fma_of_integers():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        px.fma(a, a, a)  # <- here

    refused(TraceError, kernel, """
<here>: px.fma of .u32
  line: <source>
  legal: a * b + c, which is exact; px.ptx["mad.lo.u32"] is one instruction
""")


def test_unknown_special_register():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.sreg.lane_id + 1  # <- here

    refused(TraceError, kernel, """
<here>: PTX has no special register 'lane_id'; nearest: %laneid, %ntid, %lanemask_lt (PTX ISA chapter 10)
  line: <source>
  legal: a special register by its name in PTX, without %
""")


def test_component_w():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.tid.w + 1  # <- here

    refused(TraceError, kernel, """
<here>: %tid has no component w
  line: <source>
  legal: px.tid.x, .y or .z
""")


def test_thread_index_without_component():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.tid + 1  # <- here

    refused(TraceError, kernel, """
<here>: px.tid is used with +
  line: <source>
  why: it has components
  legal: px.tid.x, .y or .z
""")


def test_comparison_of_a_special_register_without_component():
    @px.kernel(grid=1, block=1)
    def kernel():
        with px.if_(px.tid < 1):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: px.tid is used with <
  line: <source>
  why: it has components
  legal: px.tid.x, .y or .z
""")


# ---- raw instructions -----------------------------------------------------------------------------------------------------


def test_unsigned_register_under_a_float_add():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32, x: f32):
        px.ptx.add.f32(x, a)  # <- here

    refused(InstructionError, kernel, """
<here>: add.f32, operand b: a is .u32 where the instruction takes .f32
  line: <source>
  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)
  legal: a register of .f32 or .b32, or a constant
""")


def test_misspelled_state_space():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32)):
        px.ptx["ld.globl.f32"](A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.globl.f32: '.globl' cannot stand after 'ld'; did you mean .global or .local?
  line: <source>
  see: PTX ISA 9.7.10.8
  legal: after 'ld': .global; .ss: .const .global .local .param .param::entry .param::func .shared .shared::cta .shared::cluster
""")


def test_unknown_mnemonic():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32)):
        px.ptx.load.global_.f32(A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: load.global.f32: 'load' is not an instruction of the PTX ISA known here
  line: <source>
  legal: did you mean ld or clmad?
""")


def test_near_miss_of_a_mnemonic():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx["sqr.rn.f32"](x)  # <- here

    refused(InstructionError, kernel, """
<here>: sqr.rn.f32: 'sqr' is not an instruction of the PTX ISA known here
  line: <source>
  legal: did you mean sqrt or rsqrt or shr?
""")


def test_qualifiers_in_another_order():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        px.ptx["ld.v4.global.f32"](A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.v4.global.f32: the ISA writes these qualifiers in another order: ld.global.v4.f32
  line: <source>
  see: PTX ISA 9.7.10.8
  legal: ld.global.v4.f32
""")


def test_type_left_out():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx.add.rn(x, x)  # <- here

    refused(InstructionError, kernel, """
<here>: add.rn: the opcode stops after 'add.rn'
  line: <source>
  see: PTX ISA 9.7.1.1
  legal: after 'add.rn': .ftz, .sat, .f32, .f32x2, .f64; .type: .f16 .f16x2 .bf16 .bf16x2
""")


def test_rounding_that_div_does_not_have():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx["div.f32"](x, x)  # <- here

    refused(InstructionError, kernel, """
<here>: div.f32: a qualifier is missing between 'div' and '.f32'
  line: <source>
  see: PTX ISA 9.7.1.9
  legal: div.approx.f32, div.full.f32, div.rn.f32, div.rz.f32, div.rm.f32, div.rp.f32
""")


def test_too_many_sources():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx.add.f32(x, x, x)  # <- here

    refused(InstructionError, kernel, """
<here>: add.f32: takes 2 operands besides its results, not 3; a result is not listed, it is returned or goes to out=
  line: <source>
  see: PTX ISA 9.7.3.3
  legal: add{.rnd}{.ftz}{.sat}.f32 d, a, b;
""")


def test_destination_listed_among_the_sources():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32)):
        r = px.reg(f32, 0)
        px.ptx.ld.global_.f32(r, A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.f32: takes 1 or 2 operands besides its results, not 2; a result is not listed, it is returned or goes to out=
  line: <source>
  see: PTX ISA 9.7.10.8
  legal: ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
""")


def test_sink_in_a_vector_store():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16), x: f32):
        px.ptx["st.global.v4.f32"](A, (x, px.sink, x, x))  # <- here

    refused(InstructionError, kernel, """
<here>: st.global.v4.f32, operand b: the sink _ cannot stand here
  line: <source>
  rule: the sink _ drops a result; a source has a value (PTX ISA 9.7.10.11)
  legal: 4 registers of .f32 or .b32 or wider in braces, or a constant
""")


def test_three_registers_for_a_vector_of_four():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16), x: f32):
        px.ptx["st.global.v4.f32"](A, (x, x, x))  # <- here

    refused(InstructionError, kernel, """
<here>: st.global.v4.f32, operand b: {x, x, x} has 3 elements where the instruction takes 4
  line: <source>
  rule: this operand is a vector of 4, as the opcode says (PTX ISA 6.4.3)
  legal: 4 registers of .f32 or .b32 or wider in braces, or a constant
""")


def test_scalar_for_a_vector_of_four():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16), x: f32):
        px.ptx["st.global.v4.f32"](A, x)  # <- here

    refused(InstructionError, kernel, """
<here>: st.global.v4.f32, operand b: x is one register where the instruction takes a vector of 4
  line: <source>
  rule: this operand is a vector of 4, as the opcode says (PTX ISA 6.4.3)
  legal: 4 registers of .f32 or .b32 or wider in braces, or a constant
""")


def test_raw_vector_load_misaligned():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32, align=16)):
        px.ptx["ld.global.v4.f32"](A[1:5])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.f32, operand a: A[4] f32 in .global is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: byte offset 4
  legal: a start in steps of 4 elements, px.dim(..., multiple_of=4) for a stride, or a narrower access
""")


def test_raw_vector_load_at_a_constant_byte_offset():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32, align=16)):
        px.ptx["ld.global.v4.f32"]((A, 4))  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.f32, operand a: A[8] f32 in .global is not aligned
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: byte offset 4
  legal: a start in steps of 4 elements, px.dim(..., multiple_of=4) for a stride, or a narrower access
""")


def test_raw_vector_load_past_the_end():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32, align=16)):
        px.ptx["ld.global.v4.f32"](A[6])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.f32, operand a: A[] f32 in .global has 4 bytes in one piece where the instruction accesses 16 bytes
  line: <source>
  rule: an access stays inside the view that it is given, whose bounds are proved (PTX ISA 9.7.10.8)
  legal: a view of all that is accessed: x[i : i + 4]
""")


def test_raw_load_of_wider_words_than_the_elements():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), px.u16, align=16)):
        px.ptx["ld.global.u32"](A[7])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.u32, operand a: A[] u16 in .global has 2 bytes in one piece where the instruction accesses 4 bytes
  line: <source>
  rule: an access stays inside the view that it is given, whose bounds are proved (PTX ISA 9.7.10.8)
  legal: a view of all that is accessed: x[i : i + 2]
""")


def test_value_of_an_element_as_an_operand():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32), x: f32):
        px.ptx.add.f32(x, A[0])  # <- here

    refused(TraceError, kernel, """
<here>: A[] f32 in .global can't be an operand of add.f32
  line: <source>
  legal: a traced scalar, a px.reg, a number, a tuple of these for a vector, a view for an address
""")


def test_register_tile_as_an_address():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.ptx.ld.global_.f32(r[0])  # <- here

    refused(TraceError, kernel, """
<here>: r[] f32 in .reg is a register tile and has no address
  line: <source>
""")


def test_wrong_space_of_a_raw_address():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32)):
        px.ptx.ld.shared.f32(A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.shared.f32, operand a: A[] f32 in .global lies in .global, not in .shared
  line: <source>
  rule: the address lies in the state space that the opcode names (PTX ISA 9.7.10.8)
  legal: an address [base+offset] in .shared
""")


def test_float_as_an_address():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx.ld.global_.f32(x)  # <- here

    refused(TraceError, kernel, """
<here>: <x: f32> can't be an address of ld.global.f32
  line: <source>
  legal: a view, a .u64 scalar (.u32 in shared memory), or (base, offset) with an int of bytes
""")


def test_raw_vector_at_a_runtime_start():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((128,), f32, align=16)):
        i = px.tid.x * 2
        px.ptx["ld.global.v4.f32"](A.sub((i,), (4,)))  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.f32, operand a: A[4] f32 in .global begins at a multiple of 8 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: byte offset 8 for tid.x = 1
  legal: a start in steps of 4 elements, px.dim(..., multiple_of=4) for a stride, or a narrower access
""")


def test_raw_vector_in_a_tensor_aligned_too_little():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((64,), f32)):
        px.ptx["ld.global.v4.f32"](A)  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v4.f32, operand a: A[64] f32 in .global is not known to be aligned: A is a multiple of 4 bytes
  line: <source>
  rule: an access of 16 bytes is aligned to 16 bytes (PTX ISA 9.7.10.8)
  counter-example: A at address 0x1004 fits its declaration
  legal: declare A with align=16, or a narrower access
""")


def test_guarded_instruction_without_a_destination():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32), a: u32):
        px.ptx.ld.global_.f32(A[0], pred=a > 0)  # <- here

    refused(TraceError, kernel, """
<here>: ld.global.f32 with pred= has a result, which is undefined where the predicate is false
  line: <source>
  legal: out=r with r = px.reg(dtype, init), which keeps its value there
""")


def test_guard_that_is_no_predicate():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32), a: u32):
        px.ptx.st.global_.f32(A[0], 1.0, pred=a)  # <- here

    refused(TraceError, kernel, """
<here>: pred=<a: u32> is no predicate
  line: <source>
  legal: pred=x > 0, or pred=~p
""")


def test_destination_that_is_immutable():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        y = x + 1
        px.ptx.add.f32(x, x, out=y)  # <- here

    refused(TraceError, kernel, """
<here>: out= takes a mutable register, not <y: f32>
  line: <source>
  legal: r = px.reg(dtype, init)
""")


def test_destination_of_another_type():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        r = px.reg(u32, 0)
        px.ptx.add.f32(x, x, out=r)  # <- here

    refused(InstructionError, kernel, """
<here>: add.f32, operand d: r is .u32 where the instruction takes .f32
  line: <source>
  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)
  legal: a register of .f32 or .b32
""")


def test_immediate_out_of_range():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        px.ptx["bar.sync"](16)  # <- here

    refused(InstructionError, kernel, """
<here>: bar.sync, operand a: the constant 16 is out of range
  line: <source>
  rule: the instruction encodes this operand in few bits (PTX ISA 9.7.15.1)
  legal: a register of .u32, .s32 or .b32, or a constant (0 to 15)
""")


def test_opcode_by_attribute_that_is_no_text():
    @px.kernel(grid=1, block=1)
    def kernel(a: u32):
        px.ptx[a]  # <- here

    refused(TraceError, kernel, """
<here>: px.ptx[...] takes an opcode as text, not <a: u32>
  line: <source>
  legal: px.ptx["add.f32"]
""")


def test_operand_of_no_kind():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx.add.f32(x, None)  # <- here

    refused(TraceError, kernel, """
<here>: None can't be an operand of add.f32
  line: <source>
  legal: a traced scalar, a px.reg, a number, a tuple of these for a vector, a view for an address
""")


def test_raw_vector_of_eight_for_sm_90():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((8,), f32, align=32)):
        px.ptx["ld.global.v8.f32"](A)  # <- here

    refused(InstructionError, kernel, """
<here>: ld.global.v8.f32: does not exist on sm_90, the target of this kernel
  line: <source>
  rule: every instruction exists on the kernel's target (PTX ISA 9.7.10.8)
  legal: targets sm_100 and newer, from PTX 8.8
""")


def test_values_of_another_kernel():
    kept = []

    @px.kernel(grid=1, block=1)
    def first(x: f32):
        kept.append(x)

    @px.kernel(grid=1, block=1)
    def second(y: f32):
        y + kept[0]  # <- here

    first.specialize()
    refused(TraceError, second, """
<here>: a value of another trace is used
  line: <source>
  why: it was made at None, when another kernel (or another specialisation of this one) was traced
  legal: pass it as a parameter
""")
