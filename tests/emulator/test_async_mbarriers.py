"""mbarriers: counts, phases, states and parities; rings of stages between warps; wrong use, with the words of the reports."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read

SEEDS = range(6)
HEADER = ".version 8.8\n.target sm_100a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<20>; .reg .b32 %r<60>; .reg .b64 %rd<40>;"
START = """
    .shared .align 16 .b8 stage[8192]; .shared .align 8 .b64 full[4]; .shared .align 8 .b64 empty[4];
    mov.u32 %r50, %tid.x; setp.eq.u32 %p1, %r50, 0; mov.u32 %r2, stage; mov.u32 %r3, full; mov.u32 %r4, empty;
"""


def launch(body: str, *arrays: np.ndarray, block: int = 64, grid: int = 1, **options: object) -> EmulationResult:
    parameters = ", ".join(f".param .u64 {name}" for name in "abcd"[: len(arrays)])
    module = read(f"{HEADER}.visible .entry k({parameters})\n{{{REGISTERS}\n{START}{body}\n}}\n")
    return emulate(module, "k", grid=grid, block=block, arguments=arrays, **options)  # type: ignore[arg-type]


def texts(result: EmulationResult) -> list[str]:
    return [str(report).removeprefix(f"{report.where}: ") for report in result.reports]


def only(result: EmulationResult) -> str:
    (text,) = texts(result)
    return text


# ---- phases -----------------------------------------------------------------------------------------------------------


def test_a_fresh_barrier_passes_parity_1_and_blocks_parity_0() -> None:
    out = np.zeros(2, np.uint32)
    body = """ld.param.u64 %rd1, [a]; @%p1 mbarrier.init.shared.b64 [full], 1; bar.sync 0;
        @!%p1 ret; mbarrier.test_wait.parity.shared.b64 %p2, [full], 1; mbarrier.test_wait.parity.shared.b64 %p3, [full], 0;
        selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 1, 0, %p3; st.global.v2.u32 [%rd1], {%r5, %r6};"""
    launch(body, out).raise_for_reports()
    assert out.tolist() == [1, 0]


def test_states_and_counts() -> None:
    """Three arrivals of 1, 2 and 1 make a phase of 4; the state before each tells the pending count."""
    out = np.zeros(8, np.uint32)
    body = """ld.param.u64 %rd1, [a]; @!%p1 ret; mbarrier.init.shared.b64 [full], 4;
        mbarrier.arrive.noComplete.shared.b64 %rd2, [full], 1; mbarrier.arrive.shared.b64 %rd3, [full], 2;
        mbarrier.test_wait.shared.b64 %p2, [full], %rd2; mbarrier.arrive_drop.shared.b64 %rd4, [full];
        mbarrier.test_wait.shared.b64 %p3, [full], %rd2; mbarrier.arrive.shared.b64 %rd5, [full];
        mbarrier.pending_count.b64 %r10, %rd2; mbarrier.pending_count.b64 %r11, %rd3; mbarrier.pending_count.b64 %r12, %rd4;
        mbarrier.pending_count.b64 %r13, %rd5; selp.u32 %r14, 1, 0, %p2; selp.u32 %r15, 1, 0, %p3;
        st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13}; st.global.v2.u32 [%rd1+16], {%r14, %r15}; mbarrier.inval.shared.b64 [full];"""
    launch(body, out).raise_for_reports()
    assert out[:6].tolist() == [4, 3, 1, 3, 0, 1]


# ---- rings ------------------------------------------------------------------------------------------------------------

# Warp 0 fills stages of 512 bytes, warps 1 and 2 read them; `full` and `empty` have one barrier a stage.
RING = """
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; and.b32 %r10, %r50, 31; shr.u32 %r11, %r50, 5;
    @!%p1 bra MADE;
    mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1;
    mbarrier.init.shared.b64 [empty], READERS; mbarrier.init.shared.b64 [empty+8], READERS; fence.mbarrier_init.release.cluster;
    MADE: bar.sync 0;
    mov.u32 %r20, 0;
    setp.ne.u32 %p2, %r11, 0; @%p2 bra CONSUME;
    setp.ne.u32 %p3, %r10, 0; @%p3 bra DONE;
    PRODUCE: and.b32 %r21, %r20, 1; mad.lo.u32 %r22, %r21, 8, %r3; mad.lo.u32 %r23, %r21, 8, %r4; mad.lo.u32 %r24, %r21, 512, %r2;
    shr.u32 %r25, %r20, 1; and.b32 %r25, %r25, 1; xor.b32 %r26, %r25, 1;
    E: mbarrier.try_wait.parity.shared.b64 %p4, [%r23], PARITY; @!%p4 bra E;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r22], 512;
    mad.wide.u32 %rd5, %r20, 512, %rd1;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r24], [%rd5], 512, [%r22];
    add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, 7; @%p5 bra PRODUCE;
    bra DONE;
    CONSUME: and.b32 %r21, %r20, 1; mad.lo.u32 %r22, %r21, 8, %r3; mad.lo.u32 %r23, %r21, 8, %r4; mad.lo.u32 %r24, %r21, 512, %r2;
    shr.u32 %r25, %r20, 1; and.b32 %r25, %r25, 1;
    F: mbarrier.try_wait.parity.shared.b64 %p4, [%r22], %r25; @!%p4 bra F;
    mad.lo.u32 %r27, %r10, 16, %r24; ld.shared.v4.u32 {%r30, %r31, %r32, %r33}, [%r27];
    FENCE
    RELEASE
    mad.lo.u32 %r28, %r20, 2, %r11; add.u32 %r28, %r28, -1; mad.lo.u32 %r28, %r28, 32, %r10; mad.wide.u32 %rd6, %r28, 16, %rd2;
    st.global.v4.u32 [%rd6], {%r30, %r31, %r32, %r33};
    add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, 7; @%p5 bra CONSUME;
    DONE:
"""
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
ARRIVE = "mbarrier.arrive.shared.b64 _, [%r23];"


def ring(readers: int = 64, parity: str = "%r26", fence: str = "fence.proxy.async.shared::cta;", release: str = ARRIVE) -> str:
    return RING.replace("READERS", str(readers)).replace("PARITY", parity).replace("FENCE", fence).replace("RELEASE", release)


def run_ring(body: str, seed: int) -> tuple[np.ndarray, np.ndarray, EmulationResult]:
    source, out = np.arange(7 * 128, dtype=np.uint32), np.zeros((7, 2, 128), np.uint32)
    return source, out, launch(body, source, out, block=96, seed=seed)


@pytest.mark.parametrize("seed", range(12))
def test_a_ring_of_two_stages(seed: int) -> None:
    source, out, result = run_ring(ring(), seed)
    result.raise_for_reports()
    assert (out == source.reshape(7, 1, 128)).all()


def test_a_stage_is_refilled_while_it_is_read() -> None:
    """One arrival too few is waited for: the producer goes on while one warp may still read."""
    release = "setp.eq.u32 %p6, %r11, 1; @%p6 mbarrier.arrive.shared.b64 _, [%r23];"
    found = [texts(run_ring(ring(readers=32, release=release), seed)[2]) for seed in range(12)]
    races = [text for one in found for text in one if ": race:" in text]
    assert races
    for race in races:
        assert re.fullmatch(
            rf"{COPY}: race: 512 bytes at stage byte (0|512) are overwritten, and nothing orders this after the read by ld.shared.v4.u32"
            r" \(<text>:\d+:\d+\) in warp 2 of block 0 \(block 0, thread 0( and \d more)?\)",
            race,
        )


def test_reads_that_no_fence_orders_before_the_next_copy() -> None:
    for seed in SEEDS:
        assert re.fullmatch(
            rf"{COPY}: proxy fence: 512 bytes at stage byte (0|512) are overwritten by the async proxy, and ld.shared.v4.u32"
            r" \(<text>:\d+:\d+\) in warp [12] of block 0 read them by the generic proxy: fence.proxy.async by those threads, before the"
            r" barrier in between, is missing \(block 0, thread 0 and 4 more\)",
            only(run_ring(ring(fence=""), seed)[2]),
        )


def test_the_producer_begins_with_the_wrong_parity() -> None:
    for seed in SEEDS:
        _, _, result = run_ring(ring(parity="%r25"), seed)
        assert {report.kind for report in result.reports} == {"deadlock"}
    first, second = texts(run_ring(ring(parity="%r25"), 0)[2])
    for found, what, state in (
        (first, "empty byte 0", "phase 0, 64 of 64 arrivals pending"), (second, "full byte 0", "phase 0, 1 of 1 arrivals pending"),
    ):  # fmt: skip
        assert f"wait for phase 0 (parity 0) of mbarrier {what}, which does not complete: {state}; " in found
        for other in ("full byte 8: phase 0, 1 of 1 arrivals pending", "empty byte 8: phase 0, 64 of 64 arrivals pending"):
            assert f"; {other}" in found


# ---- cp.async and mbarriers -------------------------------------------------------------------------------------------

ARRIVALS = """
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mul.wide.u32 %rd3, %r50, 16; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
    mad.lo.u32 %r5, %r50, 16, %r2; xor.b32 %r6, %r50, 32; mad.lo.u32 %r6, %r6, 16, %r2; mul.wide.u32 %rd6, %r50, 16;
    @%p1 mbarrier.init.shared.b64 [full], COUNT; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0;
    cp.async.cg.shared.global [%r5], [%rd4], 16;
    ARRIVE
    W: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra W;
    ld.shared.v4.u32 {%r30, %r31, %r32, %r33}, [%r6]; xor.b32 %r7, %r50, 32; mad.wide.u32 %rd7, %r7, 16, %rd2;
    st.global.v4.u32 [%rd7], {%r30, %r31, %r32, %r33};
"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("count", "arrive"),
    [
        (64, "cp.async.mbarrier.arrive.noinc.shared.b64 [full];"),
        (64, "cp.async.mbarrier.arrive.shared.b64 [full]; mbarrier.arrive.shared.b64 _, [full];"),
    ],
)
def test_copies_that_arrive(seed: int, count: int, arrive: str) -> None:
    source, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    launch(ARRIVALS.replace("COUNT", str(count)).replace("ARRIVE", arrive), source, out, seed=seed).raise_for_reports()
    assert (out == source).all()


def test_copies_that_do_not_arrive() -> None:
    source, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    body = ARRIVALS.replace("COUNT", "64").replace("ARRIVE", "mbarrier.arrive.shared.b64 _, [full];")
    found = only(launch(body, source, out))
    assert found.startswith("ld.shared.v4.u32: in flight: 16 bytes at stage byte 512 are read while cp.async.cg.shared.global (")
    assert found.endswith(
        "thread 32 of block 0 has committed it to no group (cp.async.commit_group), so that no wait_group covers it"
        " (block 0, thread 0 and 63 more)"
    )


# ---- wrong use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "report"),
    [
        (
            "@%p1 mbarrier.arrive.shared.b64 _, [full];",
            "mbarrier.arrive.shared.b64: mbarrier: no mbarrier.init has made an mbarrier at full byte 0 (block 0, thread 0)",
        ),
        (
            "mbarrier.try_wait.parity.shared.b64 %p2, [full+8], 0;",
            "mbarrier.try_wait.parity.shared.b64: mbarrier: no mbarrier.init has made an mbarrier at full byte 8 (block 0, thread 0)",
        ),
        (
            "add.u32 %r5, %r3, 4; @%p1 mbarrier.init.shared.b64 [%r5], 1;",
            "mbarrier.init.shared.b64: mbarrier: an mbarrier at full byte 4, which is no multiple of 8 (block 0, thread 0)",
        ),
        (
            "mov.u32 %r5, 0; @%p1 mbarrier.init.shared.b64 [full], %r5;",
            "mbarrier.init.shared.b64: mbarrier: a count of 0 for mbarrier full byte 0; it is 1 to 1048575 (block 0, thread 0)",
        ),
        (
            "mov.u32 %r5, 1048576; @%p1 mbarrier.init.shared.b64 [full], %r5;",
            "mbarrier.init.shared.b64: mbarrier: a count of 1048576 for mbarrier full byte 0; it is 1 to 1048575 (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 3; @%p1 mbarrier.init.shared.b64 [full], 3;",
            "mbarrier.init.shared.b64: mbarrier: mbarrier full byte 0 is initialised again without mbarrier.inval"
            " (phase 0, 3 of 3 arrivals pending) (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 1; mov.u32 %r5, 1048576; @%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [full], %r5;",
            "mbarrier.expect_tx.relaxed.cta.shared.b64: mbarrier: 1048576 transaction bytes take mbarrier full byte 0 past its limit of"
            " 1048575 (phase 0, 1 of 1 arrivals pending) (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 2; @%p1 mbarrier.arrive.shared.b64 _, [full], 3;",
            "mbarrier.arrive.shared.b64: mbarrier: 3 more arrive at mbarrier full byte 0 than its phase waits for"
            " (phase 0, 2 of 2 arrivals pending) (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 1; @%p1 mbarrier.arrive.noComplete.shared.b64 _, [full], 1;",
            "mbarrier.arrive.noComplete.shared.b64: mbarrier: the arrival completes the phase of mbarrier full byte 0, and .noComplete"
            " promises that it does not (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 1; mov.u32 %r5, 2; @%p1 mbarrier.test_wait.parity.shared.b64 %p2, [full], %r5;",
            "mbarrier.test_wait.parity.shared.b64: mbarrier: phase parity 2 at mbarrier full byte 0; it is 0 or 1 (block 0, thread 0)",
        ),
        (
            "@!%p1 ret; mbarrier.init.shared.b64 [full], 1; mbarrier.arrive.shared.b64 %rd1, [full]; mbarrier.arrive.shared.b64 _, [full];"
            " mbarrier.test_wait.shared.b64 %p2, [full], %rd1;",
            "mbarrier.test_wait.shared.b64: mbarrier: a state of phase 0 at mbarrier full byte 0, which is in phase 2: it is of the current"
            " phase or the one before (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 1; @%p1 st.shared.b32 [full+4], 0; @%p1 mbarrier.arrive.shared.b64 _, [full];",
            "mbarrier.arrive.shared.b64: mbarrier: something else has written to the mbarrier full byte 0 (block 0, thread 0)",
        ),
        (
            "@%p1 mbarrier.init.shared.b64 [full], 64; mbarrier.arrive.shared.b64 _, [full];",
            "mbarrier.arrive.shared.b64: race: mbarrier full byte 0 is used, and nothing orders this after mbarrier.init.shared.b64 ("
            "<text>:8:6) in warp 0 of block 0: a barrier between them is missing (block 0, thread 32)",
        ),
    ],
)  # fmt: skip
def test_wrong_use(body: str, report: str) -> None:
    found = texts(launch(body))
    if "race" in report:
        body = body.replace("; mbarrier.arrive", "; setp.ge.u32 %p3, %r50, 32; @!%p3 ret; mbarrier.arrive").replace("64;", "32;")
        found = [text.replace(text[text.index("(<text>") : text.index(") in")], "(<text>:8:6") for text in texts(launch(body))]
    assert found[0] == report


def test_inval_and_memory_that_is_free_again() -> None:
    body = """@!%p1 ret; mbarrier.init.shared.b64 [full], 1; mbarrier.inval.shared.b64 [full]; ACT"""
    assert only(launch(body.replace("ACT", "mbarrier.arrive.shared.b64 _, [full];"))).endswith(
        "no mbarrier.init has made an mbarrier at full byte 0 (block 0, thread 0)"
    )
    assert "unwritten memory" in only(launch(body.replace("ACT", "ld.shared.b64 %rd1, [full];")))
    assert launch(body.replace("ACT", "mbarrier.init.shared.b64 [full], 2; st.shared.b64 [full+8], 1;")).ok


def test_a_deadlock_names_everybody_who_waits() -> None:
    body = """@%p1 mbarrier.init.shared.b64 [full], 1; @%p1 mbarrier.init.shared.b64 [empty+8], 7; bar.sync 0;
        setp.lt.u32 %p2, %r50, 32; @%p2 bra FIRST; bar.sync 1; ret;
        FIRST: mbarrier.try_wait.parity.shared.b64 %p3, [full], 0; @!%p3 bra FIRST;"""
    for seed in SEEDS:
        barrier, wait = texts(launch(body, seed=seed))
        assert barrier == (
            "bar.sync: barrier: barrier 1 of block 0 is not reached by all threads: 32 of 64 wait here, the others never come;"
            " mbarrier full byte 0: phase 0, 1 of 1 arrivals pending; mbarrier empty byte 8: phase 0, 7 of 7 arrivals pending"
            " (block 0, thread 32 and 31 more)"
        )
        assert wait == (
            "mbarrier.try_wait.parity.shared.b64: deadlock: 32 threads wait for phase 0 (parity 0) of mbarrier full byte 0, which does not"
            " complete: phase 0, 1 of 1 arrivals pending; empty byte 8: phase 0, 7 of 7 arrivals pending (block 0, thread 0 and 31 more)"
        )


def test_arrivals_from_another_block() -> None:
    body = """
        ld.param.u64 %rd1, [a]; mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1; mapa.shared::cluster.u32 %r12, %r3, %r11;
        @%p1 mbarrier.init.shared.b64 [full], 64; @%p1 fence.mbarrier_init.release.cluster;
        SYNC
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
        W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;
        barrier.cluster.arrive; barrier.cluster.wait;
    """
    cluster = "barrier.cluster.arrive; barrier.cluster.wait;"
    for seed in SEEDS:
        launch(body.replace("SYNC", cluster), np.zeros(1), grid=4, cluster=2, seed=seed).raise_for_reports()
    found = {
        report.kind
        for seed in SEEDS
        for report in launch(body.replace("SYNC", "bar.sync 0;"), np.zeros(1), grid=4, cluster=2, seed=seed).reports
    }
    assert found & {"mbarrier", "race"}


def test_a_block_that_may_exit_before_its_mbarrier_is_used() -> None:
    body = """
        mov.u32 %r10, %cluster_ctarank; setp.eq.and.u32 %p3, %r10, 1, %p1; mov.u32 %r11, 0; mapa.shared::cluster.u32 %r12, %r3, %r11;
        @%p1 mbarrier.init.shared.b64 [full], 64; @%p1 fence.mbarrier_init.release.cluster;
        barrier.cluster.arrive; barrier.cluster.wait;
        @%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
        END
    """
    cluster = "barrier.cluster.arrive; barrier.cluster.wait;"
    for seed in SEEDS:
        assert launch(body.replace("END", cluster), np.zeros(1), grid=2, cluster=2, seed=seed).ok
    assert only(launch(body.replace("END", ""), np.zeros(1), grid=2, cluster=2)) == (
        "mbarrier.arrive.release.cluster.shared::cluster.b64: race: mbarrier full byte 0 of another block is used, and nothing orders"
        " this before the exit of that block: a barrier of the cluster is missing (block 1, thread 0)"
    )
