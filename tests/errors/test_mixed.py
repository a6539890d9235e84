"""Values that do not go together, and what has no value at all: the advice is what would be taken."""

# ruff: noqa: E501 - a message stands as it is written

from __future__ import annotations

import pytest

import ptxgen as px
from ptxgen import TraceError, f16x2, f32, u32
from tests.errors.refusal import refused

ROW = px.Tensor((32,), f32, align=8)


def test_bits_beside_a_number():
    @px.kernel(grid=1, block=32)
    def kernel(x: ROW):
        v = px.ptx.ld.global_.f32(x[px.tid.x])
        v + px.ptx.shfl.sync.bfly.b32(v, 1, 31, 0xFFFFFFFF)  # <- here

    refused(TraceError, kernel, """
<here>: .f32 + .b32: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: .bitcast(px.f32) keeps the bits
""")


def test_bits_of_another_width():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((32,), px.f16), y: f32):
        y * px.ptx.ld.global_.b16(x[0])  # <- here

    refused(TraceError, kernel, """
<here>: .f32 * .b16: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: .bitcast to a type of 16 bits says what they mean, then .to(px.f32)
""")


def test_bits_where_a_float_is_needed():
    @px.kernel(grid=1, block=32)
    def kernel(x: ROW):
        px.reg(f32, 0).set(px.ptx.ld.global_.b32(x[0]))  # <- here

    refused(TraceError, kernel, """
<here>: a .b32 stands where a .f32 is needed
  line: <source>
  why: nothing is converted implicitly
  legal: .bitcast(px.f32) keeps the bits
""")


def test_float_literal_beside_bits():
    @px.kernel(grid=1, block=32)
    def kernel(x: ROW):
        px.ptx.ld.global_.b32(x[0]) * 0.5  # <- here

    refused(TraceError, kernel, """
<here>: 0.5 is no integer, and the other operand is .b32
  line: <source>
  why: nothing is converted implicitly
  legal: an int, or say what the bits mean first: x.bitcast(px.f32)
""")


def test_predicate_beside_a_number():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32, y: f32):
        with pytest.raises(TraceError, match="select"):
            y + (a < 3)
        a + (a < 3)  # <- here

    refused(TraceError, kernel, """
<here>: .u32 + .pred: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: .to(px.u32) makes 1 or 0 of a predicate
""")


def test_packed_beside_a_number():
    @px.kernel(grid=1, block=32)
    def kernel(a: f16x2, b: px.f16):
        a * b  # <- here

    refused(TraceError, kernel, """
<here>: .f16x2 * .f16: the operands have different types
  line: <source>
  why: nothing is promoted implicitly
  legal: name the instruction that converts: px.ptx["cvt...."](...)
""")


def test_widths_apart_have_no_bitcast():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        px.reg(px.u64, 0).set(a)  # <- here

    refused(TraceError, kernel, """
<here>: a .u32 stands where a .u64 is needed
  line: <source>
  why: nothing is converted implicitly
  legal: .to(px.u64) converts the value
""")


def test_view_as_an_operand():
    @px.kernel(grid=1, block=32)
    def kernel(x: ROW, a: f32):
        a * x[px.tid.x]  # <- here

    refused(TraceError, kernel, """
<here>: x[] f32 in .global (View) can't be an operand of *
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_view_in_a_named_operation():
    @px.kernel(grid=1, block=32)
    def kernel(x: ROW, a: f32):
        with pytest.raises(TraceError, match="load it"):
            px.max(x[0], x[1])
        px.fma(a, x[px.tid.x], 1.0)  # <- here

    refused(TraceError, kernel, """
<here>: x[] f32 in .global (View) is no scalar
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_element_of_a_register_tile():
    @px.kernel(grid=1, block=32)
    def kernel(x: ROW):
        r = px.local((4,), f32)
        with pytest.raises(TraceError, match="copies an element into acc"):
            px.printf("%f\n", r[0])
        px.ptx.st.global_.f32(x[0], r[2])  # <- here

    refused(TraceError, kernel, """
<here>: r[] f32 in .reg can't be an operand of st.global.f32
  line: <source>
  why: a view says where values are; it has none itself
  legal: px.tile.ewise(lambda x: ..., destination, source, scope=...), or px.tile.apply with an instruction's name; px.tile.apply("mov.f32", acc, r[2:3], scope="thread") copies an element into acc, a px.reg
""")


def test_barrier_as_an_operand():
    @px.kernel(grid=1, block=32)
    def kernel(a: u32):
        a + px.mbarrier(1)  # <- here

    refused(TraceError, kernel, """
<here>: mbar (MBarrier) can't be an operand of +
  line: <source>
  why: a barrier has no value that an instruction could read
  legal: bar.test_wait(parity), which gives a predicate
""")


def test_formatted_value():
    @px.kernel(grid=1, block=32)
    def kernel(a: f32):
        assert f"{a}" == repr(a)
        f"{a:.3f}"  # <- here

    refused(TraceError, kernel, """
<here>: a traced .f32 is used as a number to format
  line: <source>
  why: its value is known on the GPU alone
  legal: px.printf("...", x), which prints it on the GPU
""")


def test_attributes_of_other_libraries():
    told = {}

    @px.kernel(grid=1, block=32)
    def kernel(a: f32):
        names = dict.fromkeys(("astype", "item", "bitcats", "nothing_like_it", "__len_hint__"), a)
        for name, value in {**names, "gett": px.reg(f32, 0)}.items():
            with pytest.raises(AttributeError) as caught:
                getattr(value, name)
            told[name] = str(caught.value)

    kernel.ptx()
    assert told == {
        "astype": "a traced value has no attribute 'astype'; x.to(px.f32) converts, x.bitcast(px.b32) keeps the bits",
        "item": "a traced value has no attribute 'item'; its value is known on the GPU alone, where px.printf prints it",
        "bitcats": "a traced value has no attribute 'bitcats'; x.bitcast",
        "gett": "a traced value has no attribute 'gett'; x.get",
        "nothing_like_it": "a traced value has no attribute 'nothing_like_it'",
        "__len_hint__": "a traced value has no attribute '__len_hint__'",
    }


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("threadIdx", "px.tid.x"),
        ("program_id", "px.ctaid.x"),
        ("load", "px.ptx.ld.global_.f32(x[i]): a load names its instruction"),
        ("tanh", 'px.ptx["tanh.approx.f32"](x), to within the bound that the ISA states'),
        ("__syncthreads", "px.syncthreads()"),
    ],
)  # fmt: skip
def test_names_of_other_languages(name, here):
    with pytest.raises(AttributeError) as caught:
        getattr(px, name)
    assert str(caught.value) == f"module 'ptxgen' has no attribute {name!r}; here: {here}"
