"""What a guard proves, against running the kernel over all small sizes: the emulator never finds an access out of bounds."""
# ruff: noqa: SIM117  (a traced block stands in a with statement of its own)

import numpy as np
import pytest

import ptxgen as px


def test_an_asserted_predicate_keeps_what_a_mutable_one_held():
    n = px.dim("n")

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), px.u32)):
        i = px.tid.x
        register = px.reg(px.pred, i < n)
        inside = px.uniform(register)
        register.set(i < 100)
        with px.if_(inside):
            px.ptx.st.global_.u32(A[i], i + 1)

    a = np.zeros(32, np.uint32)
    kernel(a)
    assert a.tolist() == list(range(1, 33))


def run(kernel, sizes, expected):
    """The kernel on arrays of all sizes; the emulator raises for what leaves them."""
    for size in sizes:
        a = np.zeros(size, np.uint32)
        kernel(a)
        np.testing.assert_array_equal(a, expected(size))


def store(view, value):
    px.ptx.st.global_.u32(view, value)


def test_a_minimum_bounds_what_is_left():
    n = px.dim("n")

    @px.kernel(grid=lambda n: px.cdiv(n, 8), block=1)
    def counted(A: px.Tensor((n,), px.u32)):
        base = px.ctaid.x * 8
        with px.if_(base < n):
            for i in px.range(px.min(n - base, 8)):
                store(A[base + i], base + i)

    @px.kernel(grid=lambda n: px.cdiv(n, 8), block=1)
    def ended(A: px.Tensor((n,), px.u32)):
        base = px.ctaid.x * 8
        for i in px.range(base, px.min(base + 8, n)):
            store(A[i], i)

    @px.kernel(grid=lambda n: px.cdiv(n, 4), block=4)
    def clamped(A: px.Tensor((n,), px.u32)):
        with px.if_(n > 0):
            i = px.min(px.ctaid.x * 4 + px.tid.x, n - 1)
            store(A[i], i)

    for kernel in (counted, ended, clamped):
        run(kernel, range(1, 20), np.arange)


def test_a_quotient_bounds_whole_tiles():
    n = px.dim("n")

    @px.kernel(grid=1, block=4)
    def divided(A: px.Tensor((n,), px.u32)):
        for tile in px.range(n // 4):
            i = tile * 4 + px.tid.x
            store(A[i], i)
        i = n // 4 * 4 + px.tid.x
        with px.if_(px.tid.x < n % 4):
            with px.if_(i < n):
                store(A[i], i)

    @px.kernel(grid=1, block=4)
    def shifted(A: px.Tensor((n,), px.u32)):
        for tile in px.range(px.div(n, 4)):
            store(A[tile * 4 + px.tid.x], tile * 4 + px.tid.x)
        for i in px.range(n >> 2 << 2, n):
            store(A[i], i)

    for kernel in (divided, shifted):
        run(kernel, range(1, 20), np.arange)


def test_what_an_ewise_function_writes_is_forgotten_behind_its_block():
    n = px.dim("n")

    with pytest.raises(px.TraceError, match="not proved"):

        @px.kernel(grid=1, block=1)
        def kernel(A: px.Tensor((n,), px.u32)):
            index, tile = px.reg(px.u32, 100), px.local(1, px.u32)

            def function():
                index.set(0)
                return 1

            with px.if_(n > 5):
                px.tile.ewise(function, tile, scope="thread")
            with px.if_(n > 0):
                store(A[index], 1)

        kernel.ptx()


def test_a_constant_slice_of_a_runtime_extent_needs_its_guard():
    n = px.dim("n")

    def kernel(guarded):
        @px.kernel(grid=1, block=1)
        def slices(A: px.Tensor((n,), px.u32)):
            if guarded:
                with px.if_(n >= 6):
                    store(A[1:6:2].sub((2,), (1,))[0], 7)
            else:
                store(A[1:6:2][2], 7)

        return slices

    with pytest.raises(px.TraceError, match="not proved to be below n"):
        kernel(False).ptx()
    run(kernel(True), range(1, 9), lambda size: [7 if size >= 6 and at == 5 else 0 for at in range(size)])
