"""Control flow and names: what Python would do while the kernel is traced, and a thread of the GPU would not."""

from __future__ import annotations

import ptxgen as px
from ptxgen import TraceError, f32, s32, u32
from tests.errors.refusal import refused

n = px.dim("n")


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
