"""What a trace holds is freed when it is over: a program that makes kernels again and again has no work for the garbage collector."""

import gc

import ptxgen as px
from ptxgen import S, f32, tid_in_wg, u32


def made() -> str:
    n = px.dim("n", multiple_of=4)

    @px.kernel(grid=1, block=128)
    def kernel(A: px.Tensor((n, 128), f32, align=16), count: u32):
        tile = px.shared((128, 4), f32, stages=2)
        arrived = px.mbarrier(1, stages=2)
        sums = px.local((128, 4), f32, layout=S[(128, 4) : (1 @ tid_in_wg, 1)])
        with px.if_(px.tid.x == 0):
            arrived[0].init()
        at = px.pipeline_state(2)
        total = px.reg(u32, 0)
        for i in px.range(0, count):
            total += i * 3
            with px.if_(i < 7):
                px.tile.apply("ld.shared.v4.f32", sums, tile[at.stage], scope="cta")
            with px.else_():
                px.tile.ewise(lambda x: x * x + 1, sums, sums, scope="cta")
            at.advance()
        row = px.min(total, 3)
        with px.if_(row < n):
            px.ptx.st.global_.f32(A[row, px.tid.x], px.f32(1))

    return kernel.ptx() + kernel.ptx(comments=False)


def test_a_trace_leaves_nothing_to_the_garbage_collector():
    text = made()  # what is kept for all traces
    while gc.collect():  # what earlier tests left, and what that held in turn
        pass
    gc.disable()
    try:
        assert made() == text
        assert gc.collect() == 0
    finally:
        gc.enable()
