"""`@px.func`: functions that kernels call. Results against NumPy, texts assembled, the same bits on the GPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import TraceError
from ptxgen.assemble import assemble
from tests.errors.refusal import refused

TYPES = [px.u8, px.s8, px.u16, px.s16, px.u32, px.s32, px.u64, px.s64, px.f32, px.f64]


@px.func
def divided(a: px.u32, b: px.u32):
    """Quotient and remainder, by a loop."""
    quotient = px.reg(px.u32, 0)
    rest = px.reg(px.u32, a)
    with px.while_(lambda: rest >= b):
        rest -= b
        quotient += 1
    return quotient, rest


@px.func
def element(t: px.Tensor((4, 8), px.f32, align=16), i: px.u32, *, ROW: px.constexpr = 2) -> px.f32:
    px.assert_(i < 8)
    return px.ptx.ld.global_.f32(t[ROW, i])


@px.func
def twice(t: px.Tensor((4, 8), px.f32, align=16), i: px.u32) -> px.f32:
    return element(t, i) + element(t, i, ROW=3)


@px.kernel(grid=1, block=8)
def kernel(x: px.Tensor((2, 4, 8), px.f32, align=16), q: px.Tensor((8, 2), px.u32), out: px.Tensor((8,), px.f32), b: px.u32):
    t = px.tid.x
    quotient, rest = divided(t * 11, b)
    px.ptx.st.global_.u32(q[t, 0], quotient)
    px.ptx.st.global_.u32(q[t, 1], rest)
    px.ptx.st.global_.f32(out[t], twice(x[1], t) + element(x[0], 5))


def arguments():
    x = np.random.default_rng(0).integers(-50, 50, (2, 4, 8)).astype(np.float32)
    q, out = np.zeros((8, 2), np.uint32), np.zeros(8, np.float32)
    values = np.arange(8) * 11
    return (x, q, out, 7), {1: np.stack([values // 7, values % 7], 1), 2: x[1, 2] + x[1, 3] + x[0, 2, 5]}


def test_results_are_numpys():
    given, expected = arguments()
    kernel(*given)
    for position, wanted in expected.items():
        np.testing.assert_array_equal(given[position], wanted)


def test_one_function_for_each_set_of_constants_and_threads():
    text = kernel.ptx(comments=False)
    assemble(text)
    named = [line.partition(") ")[2] for line in text.splitlines() if line.startswith(".func")]
    assert named == ["divided(", "element(", "element_2(", "twice("]

    @px.kernel(grid=1, block=64)
    def parted(q: px.Tensor((2,), px.u32)):
        quotient, _ = divided(9, 2)
        with px.if_(px.tid.x < 32):  # other threads: what a warp does together may be legal in one and not in the other
            rest, _ = divided(9, 2)
            px.ptx.st.global_.u32(q[0], quotient + rest)

    assert parted.ptx().count(".func (") == 2


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_scalar_type_is_passed_and_returned(dtype):
    @px.func
    def same(x: dtype, y: dtype) -> (dtype, dtype):
        return y, x

    @px.func
    def first(x: dtype, y: dtype) -> dtype:
        return x

    @px.kernel(grid=1, block=1)
    def swap(x: dtype, y: dtype, out: px.Tensor((3,), dtype)):
        store = px.ptx[f"st.global.{dtype.name}"]
        a, b = same(x, y)
        store(out[0], a)
        store(out[1], b)
        store(out[2], first(x, y))

    assemble(swap.ptx())
    x, y = (np.array([1], dtype.numpy)[0], (np.array([-3]).astype(dtype.numpy))[0])
    out = np.zeros(3, dtype.numpy)
    swap(x, y, out)
    assert out.tolist() == [y, x, x]


@given(st.integers(0, 2**32 - 1), st.integers(2**28, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_divided_is_divmod(a, b):
    q = np.zeros(2, np.uint32)
    one(q, a, b)
    assert q.tolist() == list(divmod(a, b))


@px.kernel(grid=1, block=1)
def one(q: px.Tensor((2,), px.u32), a: px.u32, b: px.u32):
    quotient, rest = divided(a, b)
    px.ptx.st.global_.u32(q[0], quotient)
    px.ptx.st.global_.u32(q[1], rest)


@pytest.mark.gpu
def test_gpu_gives_the_same():
    torch = pytest.importorskip("torch")
    given, expected = arguments()
    on_gpu = [torch.from_numpy(one.copy()).cuda() if isinstance(one, np.ndarray) else one for one in given]
    kernel(*on_gpu)
    for position, wanted in expected.items():
        np.testing.assert_array_equal(on_gpu[position].cpu().numpy(), wanted)


# ---- refused --------------------------------------------------------------------------------------------------------------


def test_argument_of_another_type():
    @px.kernel(grid=1, block=1)
    def program(x: px.f32):
        divided(x, 2)  # <- here

    refused(TraceError, program, """
<here>: divided, operand a: a .f32 stands where a .u32 is needed
  line: <source>
  why: nothing is converted implicitly
  legal: .to(px.u32) converts the value, .bitcast(px.u32) keeps the bits
""")


def test_missing_argument():
    @px.kernel(grid=1, block=1)
    def program():
        divided(1)  # <- here

    refused(TraceError, program, """
<here>: divided: missing a required argument: 'b'
  line: <source>
  legal: divided(a: 'px.u32', b: 'px.u32')
""")


def test_view_of_another_shape():
    @px.kernel(grid=1, block=1)
    def program(x: px.Tensor((8, 8), px.f32, align=16)):
        element(x, 0)  # <- here

    refused(TraceError, program, """
<here>: element: t takes px.Tensor((4, 8), f32), and x[8, 8] f32 in .global is another
  line: <source>
  legal: a view in global memory of that shape, type and strides, whose address is known to be as well aligned
""")


def test_view_that_is_less_aligned():
    @px.kernel(grid=1, block=1)
    def program(x: px.Tensor((33,), px.f32, align=16)):
        element(x[1:33].view(4, 8), 0)  # <- here

    refused(TraceError, program, """
<here>: element: t takes px.Tensor((4, 8), f32), and x[4, 8] f32 in .global is not known to be aligned to 16 bytes
  line: <source>
  legal: a view in global memory of that shape, type and strides, whose address is known to be as well aligned
""")


def test_function_that_calls_itself():
    @px.func
    def down(n: px.u32) -> px.u32:
        return down(n - 1)  # <- here

    @px.kernel(grid=1, block=1)
    def program(n: px.u32):
        down(n)

    refused(TraceError, program, """
<here>: down calls itself
  line: <source>
  why: a function's text is written before its callers'
  legal: a loop: with px.while_(...), for i in px.range(...)
""")


def test_value_of_the_kernel_used_inside():
    @px.kernel(grid=1, block=1)
    def program(x: px.f32):
        @px.func
        def scaled(y: px.f32) -> px.f32:
            return y * x  # <- here

        scaled(x)

    refused(TraceError, program, """
<here>: this value belongs to program, and is used in scaled
  line: <source>
  why: a function has registers of its own
  legal: pass it as an argument
""")


def test_shared_memory_inside():
    @px.func  # <- here
    def tile(x: px.f32):
        px.shared((4,), px.f32)

    @px.kernel(grid=1, block=1)
    def program(x: px.f32):
        tile(x)

    refused(TraceError, program, """
<here>: function tile declares shared memory
  line: <source>
  why: all shared memory is the kernel's to place
  legal: declare it in the kernel; a function without @px.func is written out there and may take views of it
""")


def test_result_that_is_a_predicate():
    @px.func
    def positive(x: px.f32):
        return x > 0  # <- here

    @px.kernel(grid=1, block=1)
    def program(x: px.f32):
        positive(x)

    refused(TraceError, program, """
<here>: function positive returns <%p0: pred>
  line: <source>
  why: a result travels in a .param variable: a scalar
  legal: traced scalars; px.select(p, one, zero) for a predicate; def f(...) -> px.f32 for a Python number
""")


def test_call_outside_of_a_kernel():
    with pytest.raises(TraceError) as caught:
        divided(1, 2)
    assert "divided(...), a px.func, only has a meaning inside a kernel" in str(caught.value)
