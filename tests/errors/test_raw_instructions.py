"""Instructions by name: opcodes that do not exist, operands that do not fit, accesses that leave their view."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, TraceError, f32, u32
from tests.errors.refusal import refused


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
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.10.8)
  legal: after 'ld': .global; .ss: .const .global .local .param .param::entry .param::func .shared .shared::cta .shared::cluster
""")


def test_unknown_mnemonic():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32)):
        px.ptx.load.global_.f32(A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: load.global.f32: 'load' is not an instruction of the PTX ISA known here
  line: <source>
  rule: an opcode begins with an instruction's name (PTX ISA 9.7)
  legal: did you mean ld or clmad or alloca?
""")


def test_near_miss_of_a_mnemonic():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx["sqr.rn.f32"](x)  # <- here

    refused(InstructionError, kernel, """
<here>: sqr.rn.f32: 'sqr' is not an instruction of the PTX ISA known here
  line: <source>
  rule: an opcode begins with an instruction's name (PTX ISA 9.7)
  legal: did you mean sqrt or rsqrt or suq?
""")


def test_qualifiers_in_another_order():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), f32, align=16)):
        px.ptx["ld.v4.global.f32"](A[0])  # <- here

    refused(InstructionError, kernel, """
<here>: ld.v4.global.f32: the ISA writes these qualifiers in another order: ld.global.v4.f32
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.10.8)
  legal: ld.global.v4.f32
""")


def test_type_left_out():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx.add.rn(x, x)  # <- here

    refused(InstructionError, kernel, """
<here>: add.rn: the opcode stops after 'add.rn'
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.1.1)
  legal: after 'add.rn': .ftz, .sat, .f32, .f32x2, .f64, .satfinite; .type: .f16 .f16x2 .bf16 .bf16x2 .e4m3x4 .e5m2x4
""")


def test_rounding_that_div_does_not_have():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx["div.f32"](x, x)  # <- here

    refused(InstructionError, kernel, """
<here>: div.f32: a qualifier is missing between 'div' and '.f32'
  line: <source>
  rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.1.9)
  legal: div.approx.f32, div.full.f32, div.rn.f32, div.rz.f32, div.rm.f32, div.rp.f32
""")


def test_too_many_sources():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        px.ptx.add.f32(x, x, x)  # <- here

    refused(InstructionError, kernel, """
<here>: add.f32: takes 2 operands besides its results, not 3; a result is not listed, it is returned or goes to out=
  line: <source>
  rule: operands are those of the syntax line (PTX ISA 9.7.3.3)
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
  rule: operands are those of the syntax line (PTX ISA 9.7.10.8)
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
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_register_tile_as_an_address():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(4, f32)
        px.ptx.ld.global_.f32(r[0])  # <- here

    refused(TraceError, kernel, """
<here>: r[] f32 in .reg is a register tile and has no address
  line: <source>
  legal: a px.Tensor parameter, a px.shared tile, or a part of one
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
  rule: what a kernel uses exists on its target (PTX ISA 9.7.10.8)
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


def test_label_of_a_branch():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.ptx.bra("L1")  # <- here

    refused(InstructionError, kernel, """
<here>: bra: a traced kernel has no labels and functions that it could go to
  line: <source>
  rule: control goes to a name, and names in the text are ptxgen's to place (PTX ISA 9.7.14.3)
  legal: px.if_, px.while_, px.break_, px.continue_, px.return_; a Python function is inlined
""")


def test_misspelled_special_register():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.ptx["mov.u32"]("%clok")  # <- here

    refused(TraceError, kernel, """
<here>: PTX has no special register '%clok'; nearest: %clock, %clock64, %clock_hi (PTX ISA chapter 10)
  line: <source>
  legal: px.sreg, or a special register by its name, such as "%clock"
""")


def test_register_by_its_name():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.ptx["add.u32"]("%r1", 1)  # <- here

    refused(TraceError, kernel, """
<here>: PTX has no special register '%r1' (PTX ISA chapter 10)
  line: <source>
  legal: px.sreg, or a special register by its name, such as "%clock"
""")
