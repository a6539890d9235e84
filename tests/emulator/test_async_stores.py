"""Stores and sums that go on by themselves, fills, maps that a kernel changes, requests for other clusters' work, hints to caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read
from tests.emulator.test_async_tensors import tensor_map

SEEDS = range(4)
SETUP = """
    .reg .pred %p<20>; .reg .b8 %c<4>; .reg .b32 %r<60>; .reg .b64 %rd<40>; .reg .b128 %q<4>; .reg .f32 %f<9>;
    .shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 full;
    mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; setp.eq.u32 %p1, %r50, 0; mov.u32 %r1, s; mov.u32 %r2, full;
    mad.lo.u32 %r3, %r50, 4, %r1; mad.wide.u32 %rd2, %r50, 4, %rd1; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %cluster_ctarank;
"""
BOTH = "barrier.cluster.arrive; barrier.cluster.wait;"
WAIT = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;"


def launch(body: str, *arguments: Any, parameters: str = ".param .u64 a", version: str = "9.5", **options: Any) -> EmulationResult:
    header = f".version {version}\n.target sm_107a\n.address_size 64\n"
    options = {"grid": 1, "block": 32, **options}
    return emulate(read(f"{header}.visible .entry k({parameters})\n{{{SETUP}{body}\n}}\n"), "k", arguments=arguments, **options)


def only(result: EmulationResult) -> str:
    (report,) = result.reports
    return str(report).removeprefix(f"{report.where}: ")


# ---- st.async, red.async ----------------------------------------------------------------------------------------------

EXCHANGE = f"""
    @%p1 mbarrier.init.shared.b64 [full], 1; @%p1 fence.mbarrier_init.release.cluster;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], BYTES;
    PREPARE {BOTH}
    xor.b32 %r6, %r5, 1; mapa.shared::cluster.u32 %r7, %r3, %r6; mapa.shared::cluster.u32 %r8, %r2, %r6;
    mapa.shared::cluster.u32 %r9, %r1, %r6;
    mad.lo.u32 %r10, %r4, 100, %r50; add.u32 %r11, %r10, 1;
    STORE
    {WAIT}
    ld.shared.u32 %r12, [%r3]; mad.lo.u32 %r13, %r4, 128, 0; cvt.u64.u32 %rd3, %r13; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r12;
    {BOTH}
"""


def exchange(store: str, nbytes: int, prepare: str = "", **options: Any) -> tuple[np.ndarray[Any, Any], EmulationResult]:
    words = np.zeros(64, np.uint32)
    body = EXCHANGE.replace("STORE", store).replace("BYTES", str(nbytes)).replace("PREPARE", prepare)
    return words.reshape(2, 32), launch(body, words, grid=2, cluster=2, **options)


OTHERS = np.stack([100 + np.arange(32), np.arange(32)])
TOLD = "st.async.shared::cluster.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize("seed", SEEDS)
def test_each_thread_stores_into_the_other_block(seed: int) -> None:
    words, result = exchange(f"{TOLD}.u32 [%r7], %r10, [%r8];", 128, seed=seed)
    result.raise_for_reports()
    assert (words == OTHERS).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_vectors_are_stored(seed: int) -> None:
    store = f"""
        shl.b32 %r14, %r50, 4; mapa.shared::cluster.u32 %r9, %r1, %r6; add.u32 %r14, %r9, %r14; setp.lt.u32 %p4, %r50, 8;
        shl.b32 %r15, %r50, 2; add.u32 %r20, %r15, 1; add.u32 %r21, %r15, 2; add.u32 %r22, %r15, 3;
        @%p4 {TOLD}.v4.b32 [%r14], {{%r15, %r20, %r21, %r22}}, [%r8];
    """
    words, result = exchange(store, 128, seed=seed)
    result.raise_for_reports()
    assert (words == np.arange(32)).all()


def test_bytes_that_nobody_expects_and_bytes_that_are_missing() -> None:
    _, result = exchange(f"@%p1 {TOLD}.u32 [%r7], %r10, [%r8];", 8)
    assert {report.kind for report in result.reports} >= {"deadlock"} or not result.ok
    _, result = exchange(f"{TOLD}.u32 [%r7+2], %r10, [%r8];", 128)
    assert "out of bounds" in {report.kind for report in result.reports}


RED = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
NUMBERED = "st.shared.u32 [%r3], %r50;"
SUMS = {
    "add.u32": lambda there, given: there + given.sum(),
    "min.u32": lambda there, given: min(there, given.min()),
    "max.s32": lambda there, given: max(there, given.max()),
    "and.b32": lambda there, given: there & np.bitwise_and.reduce(given),
    "or.b32": lambda there, given: there | np.bitwise_or.reduce(given),
    "xor.b32": lambda there, given: there ^ np.bitwise_xor.reduce(given),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operation", SUMS)
def test_sums_of_many_threads_meet_at_one_place(operation: str, seed: int) -> None:
    words, result = exchange(f"{RED}.{operation} [%r9+8], %r10, [%r8];", 128, NUMBERED, seed=seed)
    result.raise_for_reports()
    wanted = np.stack([np.arange(32)] * 2)
    wanted[:, 2] = [SUMS[operation](2, OTHERS[block]) for block in range(2)]
    assert (words == wanted).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_counters_turn_over(seed: int) -> None:
    """inc and dec: 32 steps from 2 with the limit 6."""
    for operation, last in (("inc.u32", (2 + 32) % 7), ("dec.u32", (2 - 32) % 7)):
        words, result = exchange(f"mov.u32 %r10, 6; {RED}.{operation} [%r9+8], %r10, [%r8];", 128, NUMBERED, seed=seed)
        result.raise_for_reports()
        assert (words[:, 2] == last).all()


def test_a_sum_of_64_bits() -> None:
    words, result = exchange(f"mov.u64 %rd4, 0x100000001; {RED}.add.u64 [%r9+8], %rd4, [%r8];", 256, NUMBERED)
    result.raise_for_reports()
    assert (words[:, 2:4] == [2 + 32, 3 + 32]).all()


def test_what_a_sum_needs() -> None:
    """A barrier between the first value and the sum, and a wait before the result is read."""
    _, result = exchange(f"{NUMBERED} {RED}.add.u32 [%r9+8], %r10, [%r8];", 128)
    assert "race" in {report.kind for report in result.reports}
    store = f"{RED}.add.u32 [%r9+8], %r10, [%r8]; {BOTH} ld.shared.u32 %r30, [%r1+8];"
    _, result = exchange(store, 128, NUMBERED)
    assert "in flight" in {report.kind for report in result.reports}


def test_released_stores_and_sums() -> None:
    """Whoever acquires the flag sees what its writer wrote before."""
    body = """
        setp.ne.u32 %p3, %r50, 0; @%p3 exit; setp.ne.u32 %p4, %r4, 0; @%p4 bra READ;
        st.global.u32 [%rd1+4], 7; st.async.release.gpu.global.u32 [%rd1], %r51; red.async.release.gpu.global.add.u32 [%rd1+8], %r51; exit;
        READ: ld.acquire.gpu.global.u32 %r10, [%rd1]; setp.eq.u32 %p5, %r10, 0; @%p5 bra READ;
        ld.global.u32 %r11, [%rd1+4]; st.global.u32 [%rd1+12], %r11;
    """
    for seed in SEEDS:
        words = np.zeros(4, np.uint32)
        launch("mov.u32 %r51, 5;" + body, words, grid=2, seed=seed).raise_for_reports()
        assert words.tolist() == [5, 7, 5, 7]


# ---- st.bulk ----------------------------------------------------------------------------------------------------------


def test_a_fill() -> None:
    body = """
        @%p1 st.bulk.weak.shared::cta [%r1], 64, 0; bar.sync 0; setp.lt.u32 %p3, %r50, 16;
        GUARD ld.shared.u32 %r10, [%r3]; @%p3 st.global.u32 [%rd2], %r10;
    """
    words = np.full(32, 9, np.uint32)
    launch(body.replace("GUARD", "@%p3"), words).raise_for_reports()
    assert (words[:16] == 0).all() and (words[16:] == 9).all()
    assert [report.kind for report in launch(body.replace("GUARD", ""), words).reports] == ["unwritten memory"]


def test_a_fill_of_a_size_that_is_no_multiple_of_8() -> None:
    body = "mov.u64 %rd8, 12; @%p1 st.bulk.weak.shared::cta [%r1], %rd8, 0;"
    assert only(launch(body, np.zeros(4, np.uint32))) == (
        "st.bulk.weak.shared::cta: misaligned: 12 bytes are to be filled, which is no multiple of 8 (block 0, thread 0)"
    )


# ---- tensormap.replace ------------------------------------------------------------------------------------------------

COPY = """
    mov.u64 %rd7, m; cvta.param.u64 %rd7, %rd7; ld.param.u64 %rd3, [b]; ld.param.u64 %rd4, [c]; ld.param.u64 %rd9, [d];
    add.u64 %rd9, %rd9, 127; and.b64 %rd9, %rd9, -128;
    @%p1 mbarrier.init.shared.b64 [full], 1; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0;
    setp.lt.u32 %p4, %r50, 16; mad.wide.u32 %rd8, %r50, 8, %rd7; mad.lo.u32 %r20, %r50, 8, %r1;
    @%p4 ld.b64 %rd10, [%rd8]; @%p4 st.shared.b64 [%r20+2048], %rd10; bar.sync 0;
    @%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [s+2048], %rd3;
    CHANGE
    bar.sync 0; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd9], [s+2048], 128;
    bar.sync 0; @%p1 fence.proxy.tensormap::generic.acquire.gpu [%rd9], 128;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
    @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd9, {0, 0}], [full];
    W: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra W;
    ld.shared.v2.b32 {%r10, %r11}, [%r20]; mad.wide.u32 %rd5, %r50, 8, %rd4; st.global.v2.b32 [%rd5], {%r10, %r11};
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_map_is_made_to_mean_another_tensor(seed: int) -> None:
    first, second = np.zeros((16, 8), np.int32), np.arange(256, dtype=np.int32).reshape(16, 16)
    out, room = np.zeros((8, 8), np.int32), np.zeros(32, np.uint64)
    change = """
        @%p1 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [s+2048], 0, %rd11;
        @%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s+2048], 0, 6;
        @%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s+2048], 1, 5;
    """
    parameters = ".param .u64 a, .param .align 64 .b8 m[128], .param .u64 b, .param .u64 c, .param .u64 d"
    arguments = [first, tensor_map(first, (8, 8)), second, out, room]
    body = "mov.u64 %rd11, 64;" + COPY.replace("CHANGE", change)
    launch(body, *arguments, parameters=parameters, seed=seed).raise_for_reports()
    wanted = np.zeros((8, 8), np.int32)
    wanted[:5, :6] = second[:5, :6]
    assert (out == wanted).all()


def test_what_is_no_map_is_not_changed() -> None:
    body = "st.shared.u64 [%r1], 0; @%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [s], 2;"
    assert "the 128 bytes are no tensor map that this launch was given" in only(launch(body, np.zeros(4, np.uint32)))


# ---- clusterlaunchcontrol ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_no_cluster_waits_to_be_cancelled(seed: int) -> None:
    body = f"""
        @%p1 mbarrier.init.shared.b64 [full], 1; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0;
        @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;
        @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s], [full];
        {WAIT}
        ld.shared.b128 %q1, [s]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;
        selp.u32 %r10, 1, 2, %p3; st.global.u32 [%rd2], %r10;
        @%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r11, %q1;
        @%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r11, %r12, %r13, _}}, %q1;
    """
    words = np.zeros(32, np.uint32)
    launch(body, words, seed=seed).raise_for_reports()
    assert (words == 2).all()


# ---- mbarriers of layout v1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_layouts_and_reports(seed: int) -> None:
    body = """
        @%p1 mbarrier.init.layout::v1.shared.b64 [full], 32; bar.sync 0; mov.b32 %r9, 0;
        mbarrier.check_layout.layout::v1.shared.b64 %p3, [full]; @%p3 or.b32 %r9, %r9, 1;
        mbarrier.check_layout.layout::v0.shared.b64 %p3, [full]; @%p3 or.b32 %r9, %r9, 2;
        mbarrier.arrive.shared.b64 %rd3, [full];
        W: mbarrier.try_wait.phase_type::primary.shared.b64 %p2|%p4, %c1, [full], %rd3; @!%p2 bra W;
        V: mbarrier.test_wait.parity.phase_type::conditional.shared.b64 %p5, [full], 0; @!%p5 bra V;
        @%p4 or.b32 %r9, %r9, 4; cvt.u32.u8 %r12, %c1; shl.b32 %r12, %r12, 8; or.b32 %r9, %r9, %r12; st.global.u32 [%rd2], %r9;
    """
    words = np.zeros(32, np.uint32)
    launch(body, words, seed=seed).raise_for_reports()
    assert (words == 1).all()


def test_layout_v1_counts_to_511() -> None:
    result = launch("mov.u32 %r9, 512; @%p1 mbarrier.init.layout::v1.shared.b64 [full], %r9;", np.zeros(4, np.uint32))
    assert "a count of 512 for mbarrier full byte 0; it is 1 to 511" in only(result)


# ---- what changes nothing, and what is refused ------------------------------------------------------------------------


def test_hints_to_caches_change_nothing() -> None:
    body = """
        prefetch.global.L2 [%rd1]; prefetch.global.L2::evict_last [%rd1]; prefetchu.L1 [%rd1];
        applypriority.global.L2::evict_normal [%rd1], 128;
        createpolicy.fractional.L2::evict_last.b64 %rd4, 0.5; createpolicy.range.L2::evict_last.L2::evict_first.b64 %rd5, [%rd1], 64, 128;
        ld.global.L2::cache_hint.u32 %r10, [%rd2], %rd4; add.u32 %r10, %r10, 1; st.global.L2::cache_hint.u32 [%rd2], %r10, %rd5;
        @%p1 cp.async.bulk.prefetch.L2.global [%rd1], 128;
    """
    words = np.arange(32, dtype=np.uint32)
    launch(body, words).raise_for_reports()
    assert (words == np.arange(32) + 1).all()


@pytest.mark.parametrize(("statement", "reason"), [
    ("fabric.wait.sync_restrict::reads;", "it moves data between devices by their fabric, and there is one device here"),
    ("mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [%r2], 3;", "the emulator does not follow .multicast::cluster::32b"),
])  # fmt: skip
def test_what_is_refused(statement: str, reason: str) -> None:
    with pytest.raises(PtxgenError) as caught:
        launch(statement, np.zeros(4, np.uint32))
    assert reason in str(caught.value) and "GPU" in str(caught.value)
