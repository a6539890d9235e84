"""Scalars and mutable registers: types that do not go together, literals that do not fit."""

from __future__ import annotations

import ptxgen as px
from ptxgen import TraceError, f32, s32, u32
from tests.errors.refusal import refused


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


def test_true_division_of_a_dim():
    n = px.dim("n")

    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        n / 2  # <- here

    refused(TraceError, kernel, """
<here>: / on .u32
  line: <source>
  why: Python's / gives a float, and nothing is converted implicitly
  legal: // for unsigned integers, px.div(a, b) truncating for signed ones, or .to(px.f32)
""")


def test_thread_index_by_number():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.tid[0]  # <- here

    refused(TraceError, kernel, """
<here>: px.tid is used with an index, a call or unpacking
  line: <source>
  why: it has components
  legal: px.tid.x, .y or .z
""")
