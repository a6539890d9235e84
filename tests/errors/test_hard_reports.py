"""Wrong programs that only running them shows: the emulator's reports, word for word. Each is right but for one thing."""

# ruff: noqa: E501 - a message stands as it is written

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b32, bf16, f32, u32
from ptxgen.kernels.kernel import Kernel
from tests.errors.refusal import filled

LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
MULTIPLY = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
SUMS = S[((4, 2, 8), (8, 4, 2)) : ((32 @ px.tid_in_wg, 2, 4 @ px.tid_in_wg), (4, 1 @ px.tid_in_wg, 1))]
BOX = (8, 64)
BYTES = 8 * 64 * 2
WIDE = px.Tensor(BOX, bf16, align=16)


@pytest.fixture(autouse=True)
def _nothing_runs() -> None:
    """These programs are run."""


def reported(kernel: Kernel, arguments: tuple, expected: str) -> None:
    """Assert that the emulator's first report on a run is exactly this."""
    reports = kernel.emulate(*arguments).reports
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    assert reports, "nothing is reported"
    assert str(reports[0]) == filled(expected.strip("\n"), frame.f_back)


def box():
    return np.arange(512, dtype=np.float32).reshape(BOX).astype(bf16.numpy)


# ---- tensor copies --------------------------------------------------------------------------------------------------------


def test_expect_tx_of_fewer_bytes():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: WIDE):
        tile = px.shared(BOX, bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(BYTES // 2)
            px.tile.apply(LOAD, tile, A.box((0, 0), BOX), arrived, scope="thread")  # <- here
        px.syncthreads()
        arrived.wait(0)  # <- there

    reported(kernel, (box(),), """
<there>: mbarrier.try_wait.parity.shared.b64: deadlock: 32 threads wait for phase 0 (parity 0) of mbarrier arrived byte 0, which does not complete: phase 0, 0 of 1 arrivals pending, 512 transaction bytes more than expected (block 0, thread 0 and 31 more)
""")


def test_expect_tx_of_more_bytes():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: WIDE):
        tile = px.shared(BOX, bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(2 * BYTES)
            px.tile.apply(LOAD, tile, A.box((0, 0), BOX), arrived, scope="thread")
        px.syncthreads()
        arrived.wait(0)  # <- here

    reported(kernel, (box(),), """
<here>: mbarrier.try_wait.parity.shared.b64: deadlock: 32 threads wait for phase 0 (parity 0) of mbarrier arrived byte 0, which does not complete: phase 0, 0 of 1 arrivals pending, 1024 transaction bytes outstanding (block 0, thread 0 and 31 more)
""")


def test_copy_without_an_arrival():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: WIDE):
        tile = px.shared(BOX, bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.expect_tx(BYTES)
            px.tile.apply(LOAD, tile, A.box((0, 0), BOX), arrived, scope="thread")
        px.syncthreads()
        arrived.wait(0)  # <- here

    reported(kernel, (box(),), """
<here>: mbarrier.try_wait.parity.shared.b64: deadlock: 32 threads wait for phase 0 (parity 0) of mbarrier arrived byte 0, which does not complete: phase 0, 1 of 1 arrivals pending (block 0, thread 0 and 31 more)
""")


def test_wait_for_the_other_parity():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: WIDE, B: px.Tensor((32,), bf16)):
        tile = px.shared(BOX, bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(BYTES)
            px.tile.apply(LOAD, tile, A.box((0, 0), BOX), arrived, scope="thread")  # <- there
        px.syncthreads()
        arrived.wait(1)
        px.ptx["st.global.b16"](B[px.tid.x], px.ptx["ld.shared.b16"](tile[0, px.tid.x]))  # <- here

    reported(kernel, (box(), np.zeros(32, bf16.numpy)), """
<here>: ld.shared.b16: in flight: 2 bytes at tile byte 0 are read while cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes (<there>) is on its way to them: a wait for phase 0 (parity 0) of mbarrier arrived byte 0 is missing; the wait for parity 1 passed at once, as on every fresh mbarrier (block 0, thread 0 and 31 more)
""")


def test_read_without_the_wait():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: WIDE, B: px.Tensor((32,), bf16)):
        tile = px.shared(BOX, bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(BYTES)
            px.tile.apply(LOAD, tile, A.box((0, 0), BOX), arrived, scope="thread")  # <- there
        px.syncthreads()
        px.ptx["st.global.b16"](B[px.tid.x], px.ptx["ld.shared.b16"](tile[0, px.tid.x]))  # <- here

    reported(kernel, (box(), np.zeros(32, bf16.numpy)), """
<here>: ld.shared.b16: in flight: 2 bytes at tile byte 0 are read while cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes (<there>) is on its way to them: a wait for phase 0 (parity 0) of mbarrier arrived byte 0 is missing (block 0, thread 0 and 31 more)
""")


def test_store_without_the_proxy_fence():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: WIDE):
        tile = px.shared(BOX, bf16, align=128)
        for row in range(8):
            px.ptx["st.shared.b32"](tile[row].view(b32)[px.tid.x], 0)  # <- there
        px.syncthreads()
        with px.if_(px.tid.x == 0):
            px.tile.apply(STORE, A.box((0, 0), BOX), tile, scope="thread")  # <- here
            px.bulk_commit()
            px.bulk_wait(0)

    reported(kernel, (box(),), """
<here>: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group: proxy fence: 1024 bytes at tile byte 0 are read by the async proxy, and st.shared.b32 (<there>) in warp 0 of block 0 wrote them by the generic proxy: fence.proxy.async by those threads, before the barrier in between, is missing (block 0, thread 0)
""")


def test_source_overwritten_before_the_wait():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((8,), b32, align=16)):
        tile = px.shared(8, b32, align=16)
        for at in range(8):
            px.ptx["st.shared.b32"](tile[at], at)
        px.fence_proxy_async("shared::cta")
        px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](A, tile, 32)  # <- there
        px.bulk_commit()
        px.ptx["st.shared.b32"](tile[0], 7)  # <- here
        px.bulk_wait(0)

    reported(kernel, (np.zeros(8, np.uint32),), """
<here>: st.shared.b32: race: 4 bytes at tile byte 0 are written while cp.async.bulk.global.shared::cta.bulk_group (<there>) of warp 0 of block 0 reads them: cp.async.bulk.wait_group.read by that warp is missing (block 0, thread 0)
""")


def test_store_that_no_commit_closes():
    @px.kernel(grid=1, block=64, target="sm_90")
    def kernel(A: px.Tensor((8,), b32, align=16)):
        tile = px.shared(8, b32, align=16)
        with px.if_(px.tid.x == 32):
            for at in range(8):
                px.ptx["st.shared.b32"](tile[at], at)
            px.fence_proxy_async("shared::cta")
            px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](A, tile, 32)  # <- there
            px.bulk_wait(0, read=True)
            px.ptx["st.shared.b32"](tile[0], 7)  # <- here

    reported(kernel, (np.zeros(8, np.uint32),), """
<here>: st.shared.b32: race: 4 bytes at tile byte 0 are written while cp.async.bulk.global.shared::cta.bulk_group (<there>) of warp 1 of block 0 reads them: cp.async.bulk.commit_group by that warp is missing, so that no wait_group covers the copy (block 0, thread 32)
""")


def test_block_that_ends_before_a_commit():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((8,), b32, align=16)):
        tile = px.shared(8, b32, align=16)
        for at in range(8):
            px.ptx["st.shared.b32"](tile[at], at)
        px.fence_proxy_async("shared::cta")
        px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](A, tile, 32)  # <- here
        px.bulk_wait(0)

    reported(kernel, (np.zeros(8, np.uint32),), """
<here>: cp.async.bulk.global.shared::cta.bulk_group: in flight: the block has exited while this copy reads its shared memory: cp.async.bulk.commit_group by its thread is missing, so that no wait_group covers the copy (block 0, thread 0)
""")


def test_block_that_ends_before_its_store():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((8,), b32, align=16)):
        tile = px.shared(8, b32, align=16)
        for at in range(8):
            px.ptx["st.shared.b32"](tile[at], at)
        px.fence_proxy_async("shared::cta")
        px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](A, tile, 32)  # <- here
        px.bulk_commit()

    reported(kernel, (np.zeros(8, np.uint32),), """
<here>: cp.async.bulk.global.shared::cta.bulk_group: in flight: the block has exited while this copy reads its shared memory: cp.async.bulk.wait_group.read 0 is missing (block 0, thread 0)
""")


def test_bulk_copy_of_24_bytes_at_run_time():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((64,), px.u8, align=16), size: u32):
        tile = px.shared(64, px.u8, align=16)
        arrived = px.mbarrier(1)
        arrived.init()
        px.fence_mbarrier_init()
        arrived.arrive_expect_tx(size)
        px.ptx["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"](tile, A, size, arrived)  # <- here
        arrived.wait(0)

    reported(kernel, (np.zeros(64, np.uint8), 24), """
<here>: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes: bulk copy: a copy of 24 bytes; bulk copies move multiples of 16 bytes (block 0, thread 0)
""")


def test_multicast_to_a_block_that_the_cluster_has_not():
    @px.kernel(grid=2, block=1, cluster=2, target="sm_90")
    def kernel(A: WIDE, mask: px.u16):
        tile = px.shared(BOX, bf16, align=128)
        arrived = px.mbarrier(1)
        with px.if_(px.sreg.cluster_ctarank == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(BYTES)
            px.tile.apply(LOAD + ".multicast::cluster", tile, A.box((0, 0), BOX), arrived, cta_mask=mask, scope="thread")  # <- here
            arrived.wait(0)

    reported(kernel, (box(), 5), """
<here>: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster: bulk copy: the mask 0x5 names blocks that a cluster of 2 does not have (block 0, thread 0)
""")


# ---- cp.async -------------------------------------------------------------------------------------------------------------


def test_cp_async_without_its_wait():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel(A: px.Tensor((32, 4), u32, align=16), B: px.Tensor((32,), u32)):
        tile = px.shared((32, 4), u32, align=16)
        px.tile.apply("cp.async.cg.shared.global", tile, A, scope="cta")  # <- there
        px.cp_async_commit()
        px.ptx["st.global.u32"](B[px.tid.x], px.ptx["ld.shared.u32"](tile[px.tid.x, 0]))  # <- here

    reported(kernel, (np.zeros((32, 4), np.uint32), np.zeros(32, np.uint32)), """
<here>: ld.shared.u32: in flight: 4 bytes at tile byte 0 are read while cp.async.cg.shared.global (<there>) is on its way to them: cp.async.wait_group 0 by thread 0 of block 0 is missing (block 0, thread 0 and 31 more)
""")


def test_cp_async_that_another_warp_reads_without_a_barrier():
    @px.kernel(grid=1, block=64, target="sm_80")
    def kernel(A: px.Tensor((64, 4), u32, align=16), B: px.Tensor((64,), u32)):
        tile = px.shared((64, 4), u32, align=16)
        px.tile.apply("cp.async.cg.shared.global", tile, A, scope="cta")  # <- there
        px.cp_async_commit()
        px.cp_async_wait(0)
        px.ptx["st.global.u32"](B[px.tid.x], px.ptx["ld.shared.u32"](tile[63 - px.tid.x, 0]))  # <- here

    reported(kernel, (np.zeros((64, 4), np.uint32), np.zeros(64, np.uint32)), """
<here>: ld.shared.u32: race: 4 bytes at tile byte 1008 are read, and nothing orders this after the write by cp.async.cg.shared.global (<there>) in warp 1 of block 0 (block 0, thread 0 and 63 more)
""")


# ---- wgmma ----------------------------------------------------------------------------------------------------------------


def product(fence=True, proxy=True, commit=True, wait=True):
    """A product of 64 x 64 x 16 ones, with the steps that are asked for."""

    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(C: px.Tensor((64, 64), f32, align=8)):
        a, b = (px.shared((64, 16), bf16, layout=px.Layout(S[(64, 16)], swizzle=px.Swizzle.B32)) for _ in range(2))
        for tile in (a, b):
            words = tile.view(b32).rearrange("(r n) (h c) -> (r h) n c", r=64, h=2, c=4)
            for word in range(4):
                px.ptx["st.shared.b32"](words[px.tid.x, 0, word], 0x3F803F80)
        if proxy:
            px.fence_proxy_async("shared::cta")
        px.syncthreads()
        sums = px.local((64, 64), f32, layout=SUMS)
        px.tile.ewise(lambda _: px.f32(0.0), sums.rearrange(PAIRS, **SIZES), sums.rearrange(PAIRS, **SIZES), scope="cta")
        if fence:
            px.wgmma_fence()
        px.tile.apply(MULTIPLY, sums.view(1, 1, 64, 64), a.view(1, 1, 64, 16), b.view(1, 1, 64, 16), scale_d=1, scope="warpgroup")
        if commit:
            px.wgmma_commit()
        if wait:
            px.wgmma_wait(0)
        px.tile.apply("st.global.v2.f32", C.rearrange(PAIRS, **SIZES), sums.rearrange(PAIRS, **SIZES), scope="cta")

    return kernel


PAIRS, SIZES = "(w i r) (n t j) -> (w r t) i n j", {"w": 4, "i": 2, "n": 8, "t": 4}


def test_the_product_as_it_should_be():
    out = np.zeros((64, 64), np.float32)
    assert not product().emulate(out).reports
    assert (out == 16).all()


LEFT_OUT = {
    "fence": "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: register fence: no wgmma.fence comes before the first product of this warpgroup: wgmma.fence.sync.aligned orders its registers (block 0, thread 0 and 127 more)",
    "proxy": "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: proxy fence: 2048 bytes at smem byte 0 are read by the async proxy, and st.shared.b32 (<line>) in warp 0 of block 0 wrote them by the generic proxy: fence.proxy.async by those threads, before the barrier in between, is missing (block 0, thread 0 and 1 more)",
    "commit": "st.global.v2.f32: in flight: %f0 is read while wgmma.mma_async (<line>) still writes it: no wgmma.commit_group has come since, so that no wgmma.wait_group covers it (block 0, thread 0 and 127 more)",
    "wait": "st.global.v2.f32: in flight: %f0 is read while wgmma.mma_async (<line>) still writes it: wgmma.wait_group 0 (or less) must come first (block 0, thread 0 and 127 more)",
}


@pytest.mark.parametrize("missing", LEFT_OUT)
def test_a_step_of_the_product_left_out(missing):
    text = str(product(**{missing: False}).emulate(np.zeros((64, 64), np.float32)).reports[0])
    assert re.sub(r"test_hard_reports\.py:\d+", "<line>", text) == f"<line>: {LEFT_OUT[missing]}"


# ---- threads that should be together --------------------------------------------------------------------------------------


def test_shuffle_that_a_lane_does_not_reach():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((32,), f32), limit: u32):
        with px.if_(px.tid.x < limit):
            px.ptx["st.global.f32"](x[px.tid.x], px.ptx["shfl.sync.bfly.b32"](px.f32(1.0), 16, 31, 0xFFFFFFFF))  # <- here

    reported(kernel, (np.zeros(32, np.float32), 20), """
<here>: st.global.f32: undefined value: %r2 is read, which shfl.sync.bfly.b32 (<here>) took from lane 20, which has exited or is not in its member mask (block 0, thread 4 and 11 more)
""")


def test_barrier_in_a_branch_of_half_a_warp():
    @px.kernel(grid=1, block=64)
    def kernel(limit: u32):
        with px.if_(px.tid.x < limit):
            px.syncthreads()  # <- here

    reported(kernel, (16,), """
<here>: bar.sync: barrier: barrier 0 of block 0 is not reached by all threads: 48 of 64 have exited (block 0, thread 0 and 15 more)
""")


def test_barrier_that_one_warp_never_reaches():
    @px.kernel(grid=1, block=64)
    def kernel():
        with px.if_(px.tid.x < 32):
            px.named_barrier(1, 64).sync()  # <- here

    reported(kernel, (), """
<here>: bar.sync: barrier: barrier 1 of block 0 is not reached by all threads: 32 of 64 wait here, 32 have exited, 64 are expected (block 0, thread 0 and 31 more)
""")


def test_mbarrier_that_expects_one_arrival_more():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        met = px.mbarrier(33)
        with px.if_(px.tid.x == 0):
            met.init()
        px.syncthreads()
        met.arrive()
        met.wait(0)  # <- here

    reported(kernel, (), """
<here>: mbarrier.try_wait.parity.shared.b64: deadlock: 32 threads wait for phase 0 (parity 0) of mbarrier met byte 0, which does not complete: phase 0, 1 of 33 arrivals pending (block 0, thread 0 and 31 more)
""")


def test_uniform_condition_that_is_not():
    @px.kernel(grid=1, block=32)
    def kernel(limit: u32):
        with px.if_(px.uniform(px.tid.x < limit)):  # <- here
            px.ptx["bar.warp.sync"](0xFFFFFFFF)

    reported(kernel, (16,), """
<here>: bra.uni: branch: threads of one warp go different ways, and .uni promises that they do not (block 0, thread 16 and 15 more)
""")


# ---- tensor memory --------------------------------------------------------------------------------------------------------

ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"


def test_tensor_memory_that_is_not_given_back():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel():
        slot = px.shared(1, b32)
        px.ptx[ALLOC](slot, 64)  # <- here

    reported(kernel, (), """
<here>: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32: tensor memory: 64 columns at 0x0 are not given back when block 0 ends: tcgen05.dealloc is missing (block 0, thread 0)
""")


def test_half_of_the_tensor_memory_given_back():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel():
        slot = px.shared(1, b32)
        px.ptx[ALLOC](slot, 64)
        px.syncthreads()
        px.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](px.ptx["ld.shared.b32"](slot), 32)  # <- here

    reported(kernel, (), """
<here>: tcgen05.dealloc.cta_group::1.sync.aligned.b32: tensor memory: 32 columns at 0x0 are given back; this block holds 64 columns at 0x0 (block 0, thread 0)
""")


def test_tensor_memory_read_before_it_is_written():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel():
        slot = px.shared(1, b32)
        px.ptx[ALLOC](slot, 32)
        px.syncthreads()
        memory = px.ptx["ld.shared.b32"](slot)
        px.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](memory)  # <- here
        px.ptx["tcgen05.wait::ld.sync.aligned"]()
        px.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](memory, 32)

    reported(kernel, (), """
<here>: tcgen05.ld.sync.aligned.32x32b.x1.b32: unwritten memory: lane 0, column 0 of tensor memory is read, which nothing has written (block 0, thread 0)
""")


def test_tensor_memory_loaded_and_used_without_the_wait():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(out: px.Tensor((32,), b32)):
        slot = px.shared(1, b32)
        px.ptx[ALLOC](slot, 32)
        px.syncthreads()
        memory = px.ptx["ld.shared.b32"](slot)
        px.ptx["tcgen05.st.sync.aligned.32x32b.x1.b32"](memory, (px.tid.x + 0,))
        px.ptx["tcgen05.wait::st.sync.aligned"]()
        loaded = px.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](memory)  # <- there
        px.ptx["st.global.b32"](out[px.tid.x], loaded)  # <- here
        px.ptx["tcgen05.wait::ld.sync.aligned"]()
        px.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](memory, 32)

    reported(kernel, (np.zeros(32, np.uint32),), """
<here>: st.global.b32: in flight: %r3 is read while tcgen05.ld (<there>) still writes it: tcgen05.wait::ld must come first (block 0, thread 0 and 31 more)
""")


def test_raw_product_issued_by_a_whole_warp():
    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel():
        slot = px.shared(1, b32)
        done = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            done.init()
        px.ptx[ALLOC](slot, 32)
        px.syncthreads()
        memory = px.ptx["ld.shared.b32"](slot)
        px.ptx["tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"](done)  # <- here
        done.wait(0)
        px.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](memory, 32)

    reported(kernel, (), """
<here>: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64: collective: issued by 32 threads of a warp, each of which issues its own; one elected thread does (elect.sync) (block 0, thread 0 and 31 more)
""")


# ---- what only a launch knows ---------------------------------------------------------------------------------------------


@px.kernel(grid=1, block=1, target="sm_90")
def any_matrix(A: px.Tensor((px.dim("rows"), px.dim("cols")), bf16)):
    tile = px.shared(BOX, bf16, align=128)
    px.tile.apply(STORE, A.box((0, 0), BOX), tile, scope="thread")


def test_rows_of_130_bytes_at_launch():
    with pytest.raises(px.PtxgenError) as caught:
        any_matrix.emulate(np.zeros((8, 65), bf16.numpy))
    assert str(caught.value).split("\n")[0].partition(": ")[2] == (
        "any_matrix: tensor map of 'A': axis 0 has a stride of 130 bytes, which is 2 modulo 16; strides are multiples of 16 bytes. Fix: rows padded to 144 bytes (72 elements)"
    )


def test_tensor_that_begins_inside_another_at_launch():
    with pytest.raises(px.PtxgenError) as caught:
        any_matrix.emulate(np.zeros(8 * 64 + 4, bf16.numpy)[4:].reshape(8, 64))
    assert str(caught.value).split("\n")[0].partition(": ")[2] == (
        "any_matrix: argument 'A' is at an address that is 8 modulo 16 (it starts 8 bytes into its allocation); the signature wants 16-byte alignment. Fix: A.copy() moves it to a fresh allocation"
    )


@pytest.mark.parametrize("words", [8, 13000], ids=["static", "dynamic"])
def test_what_shared_memory_is_called(words):
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((1,), u32)):
        big = px.shared(words, u32)
        left, right = px.shared(4, u32), px.shared(4, u32)
        pair = [px.shared(4, u32) for _ in range(2)]
        total = px.reg(u32, 0)
        for one in (big, left, right, *pair):
            total += px.ptx.ld.shared.u32(one[1])
        px.ptx.st.global_.u32(A[0], total)

    found = [report.message.split(" at ")[1].split(" are")[0] for report in kernel.emulate(np.zeros(1, np.uint32)).reports]
    assert found == ["big byte 4", "left byte 4", "right byte 4", "smem_4 byte 4", "smem_5 byte 4"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"checks": "all"}, "checks='all' is none of True, \"values\" and False"),
        ({"seed": "a"}, "seed='a' is no int of at least 0"),
        ({"seed": -1}, "seed=-1 is no int of at least 0"),
        ({"step_limit": 0}, "step_limit=0 is no int of at least 1"),
    ],
)
def test_options_of_a_run(option, message):
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((1,), u32)):
        px.ptx.st.global_.u32(A[0], 1)

    with pytest.raises(px.PtxgenError) as caught:
        kernel.emulate(np.zeros(1, np.uint32), **option)
    assert str(caught.value) == message
