"""Races in shared memory: clean kernels under several seeds, their broken twins, and the words of the reports."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read

SEEDS = range(6)

HEADER = ".version 8.8\n.target sm_100a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<20>; .reg .b8 %c<20>; .reg .b16 %h<20>; .reg .b32 %r<60>; .reg .f32 %f<20>; .reg .b64 %rd<40>;"


def launch(body: str, *arrays: np.ndarray, block: int = 64, grid: int = 1, **options: object) -> EmulationResult:
    parameters = ", ".join(f".param .u64 {name}" for name in "abcd"[: len(arrays)])
    module = read(f"{HEADER}.visible .entry k({parameters})\n{{{REGISTERS}\n{body}\n}}\n")
    return emulate(module, "k", grid=grid, block=block, arguments=arrays, **options)  # type: ignore[arg-type]


def texts(result: EmulationResult) -> list[str]:
    return [str(report).removeprefix(f"{report.where}: ") for report in result.reports]


def place(text: str, opcode: str) -> str:
    """The place that a report gives for the other instruction."""
    start = text.rindex(f"{opcode} (<text>") + len(opcode) + 1
    return text[start : text.index(")", start) + 1]


# ---- barriers of a block ----------------------------------------------------------------------------------------------

EXCHANGE = """
    .shared .align 16 .b32 s[64];
    mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd2, %r50, 4, %rd1;
    mov.u32 %r1, s; mad.lo.u32 %r2, %r50, 4, %r1; xor.b32 %r3, %r50, 32; mad.lo.u32 %r3, %r3, 4, %r1;
    st.shared.u32 [%r2], %r50;
    FIRST
    ld.shared.u32 %r4, [%r3];
    SECOND
    add.u32 %r5, %r4, 100; st.shared.u32 [%r2], %r5;
    bar.sync 0;
    ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd2], %r6;
"""


def exchange(first: str = "bar.sync 0;", second: str = "bar.sync 0;") -> str:
    return EXCHANGE.replace("FIRST", first).replace("SECOND", second)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "barrier",
    [
        "bar.sync 0;",
        "bar.sync 3, 64;",
        "barrier.sync.aligned 1;",
        "bar.red.popc.u32 %r20, 0, 1;",
        "barrier.cluster.arrive; barrier.cluster.wait;",
    ],
)
def test_barriers_order(seed: int, barrier: str) -> None:
    out = np.zeros(64, np.uint32)
    launch(exchange(barrier, barrier), out, seed=seed).raise_for_reports()
    assert (out == np.arange(64) + 100).all()


def test_a_read_without_the_barrier_after_the_write() -> None:
    for seed in SEEDS:
        found = [text for text in texts(launch(exchange(first=""), np.zeros(64, np.uint32), seed=seed)) if ": race:" in text]
        assert found, seed
    found = texts(launch(exchange(first=""), np.zeros(64, np.uint32)))
    where = place(found[0], "st.shared.u32")
    assert found == [
        f"ld.shared.u32: race: 4 bytes at s byte 128 are read, and nothing orders this after the write by st.shared.u32 {where} in warp 1"
        " of block 0 (block 0, thread 0 and 63 more)"
    ]


def test_a_write_without_the_barrier_after_the_read() -> None:
    for seed in SEEDS:
        assert not launch(exchange(second=""), np.zeros(64, np.uint32), seed=seed).ok
    found = texts(launch(exchange(second=""), np.zeros(64, np.uint32)))
    where = place(found[0], "ld.shared.u32")
    assert found == [
        f"st.shared.u32: race: 4 bytes at s byte 0 are written, and nothing orders this after the read by ld.shared.u32 {where} in warp 1"
        " of block 0 (block 0, thread 0 and 63 more)"
    ]


def test_two_writes() -> None:
    body = """.shared .align 4 .b32 s; mov.u32 %r50, %tid.x; setp.eq.u32 %p1, %r50, 0; setp.eq.u32 %p2, %r50, 40;
        @%p1 st.shared.u32 [s], 1; BARRIER @%p2 st.shared.u32 [s], VALUE;"""
    for seed in SEEDS:
        found = texts(launch(body.replace("BARRIER", "").replace("VALUE", "2"), seed=seed))
        assert len(found) == 1 and "4 bytes at s byte 0 are written, and nothing orders this after the write by st.shared.u32" in found[0]
        assert launch(body.replace("BARRIER", "bar.sync 0;").replace("VALUE", "2"), seed=seed).ok
        assert launch(body.replace("BARRIER", "").replace("VALUE", "1"), seed=seed).ok, "equal values may be written by anybody"


def test_halves_of_a_word_are_apart() -> None:
    body = """.shared .align 4 .b16 s[64]; mov.u32 %r50, %tid.x; mov.u32 %r1, s; and.b32 %r2, %r50, 31; shr.u32 %r3, %r50, 5;
        mad.lo.u32 %r1, %r2, 4, %r1; mad.lo.u32 %r1, %r3, 2, %r1; cvt.u16.u32 %h1, %r50; st.shared.u16 [%r1], %h1;
        ld.shared.u16 %h2, [%r1];"""
    for seed in SEEDS:
        assert launch(body, seed=seed).ok


def test_a_barrier_that_orders_one_way() -> None:
    """Producers arrive, consumers wait: what the producers write next is ordered by the other barrier alone."""
    body = """
        .shared .align 16 .b32 s[32]; mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; and.b32 %r2, %r50, 31; mov.u32 %r1, s;
        mad.lo.u32 %r3, %r2, 4, %r1; setp.lt.u32 %p1, %r50, 32; mov.u32 %r9, 0;
        @!%p1 bra CONSUME;
        P: st.shared.u32 [%r3], %r9; bar.arrive 1, 64; BACK bar.sync 2, 64; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 4; @%p2 bra P; ret;
        CONSUME: bar.sync 1, 64; ld.shared.u32 %r4, [%r3]; mad.lo.u32 %r6, %r9, 32, %r2; mad.wide.u32 %rd2, %r6, 4, %rd1;
        st.global.u32 [%rd2], %r4; bar.arrive 2, 64; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 4; @%p2 bra CONSUME;
    """
    for seed in SEEDS:
        out = np.zeros(128, np.uint32)
        launch(body.replace("BACK", ""), out, seed=seed).raise_for_reports()
        assert (out.reshape(4, 32) == np.arange(4)[:, None]).all()
    broken = body.replace("BACK", "").replace("bar.arrive 2, 64; add", "add").replace("bar.sync 2, 64; add", "add")
    assert any("race" in text for seed in SEEDS for text in texts(launch(broken, np.zeros(128, np.uint32), seed=seed)))


@pytest.mark.parametrize("kind", ["volatile", "relaxed.cta", "acquire.cta"])
def test_flags_by_strong_accesses(kind: str) -> None:
    """A fence and a flag order as well: nothing is reported where a program synchronises by hand."""
    write = {"acquire.cta": "st.release.cta"}.get(kind, f"st.{kind}")
    body = f"""
        .shared .align 16 .b32 s[2]; mov.u32 %r50, %tid.x; setp.eq.u32 %p1, %r50, 0; setp.eq.u32 %p2, %r50, 32;
        @%p1 st.shared.u32 [s+4], 0; bar.sync 0;
        @%p1 st.shared.u32 [s], 7; @%p1 fence.acq_rel.cta; @%p1 {write}.shared.u32 [s+4], 1;
        @!%p2 bra DONE;
        W: ld.{kind}.shared.u32 %r2, [s+4]; setp.eq.u32 %p3, %r2, 0; @%p3 bra W;
        fence.acq_rel.cta; ld.shared.u32 %r3, [s]; st.shared.u32 [s], %r3;
        DONE:
    """
    for seed in SEEDS:
        launch(body, seed=seed).raise_for_reports()


def test_exited_warps_are_ordered_before_the_barriers_that_they_release() -> None:
    body = """.shared .align 16 .b32 s[32]; mov.u32 %r50, %tid.x; setp.ge.u32 %p1, %r50, 32; mov.u32 %r1, s; and.b32 %r2, %r50, 31;
        mad.lo.u32 %r1, %r2, 4, %r1; @!%p1 bra STAY; st.shared.u32 [%r1], %r50; exit; STAY: bar.sync 0; ld.shared.u32 %r3, [%r1];"""
    for seed in SEEDS:
        assert {report.kind for report in launch(body, seed=seed).reports} == {"barrier"}


def test_checks_have_levels() -> None:
    out = np.zeros(64, np.uint32)
    assert not launch(exchange(first=""), out).ok
    assert launch(exchange(first=""), out, checks="values").ok
    assert launch(exchange(first=""), out, checks=False).ok


def test_blocks_of_a_grid_do_not_share() -> None:
    for seed in SEEDS:
        out = np.zeros(64, np.uint32)
        assert launch(exchange(), out, grid=5, seed=seed).ok


# ---- clusters ---------------------------------------------------------------------------------------------------------

REMOTE = """
    .shared .align 16 .b32 s[64];
    mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; mov.u32 %r1, s; mad.lo.u32 %r2, %r50, 4, %r1;
    mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1; mapa.shared::cluster.u32 %r12, %r2, %r11;
    mad.lo.u32 %r13, %r10, 1000, %r50; st.shared::cluster.u32 [%r12], %r13;
    FIRST
    ld.shared.u32 %r4, [%r2]; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r5, %r5, 64, %r50; mad.wide.u32 %rd2, %r5, 4, %rd1;
    st.global.u32 [%rd2], %r4;
"""
CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;"


def test_remote_stores() -> None:
    for seed in SEEDS:
        out = np.zeros(256, np.uint32)
        launch(REMOTE.replace("FIRST", CLUSTER), out, grid=4, cluster=2, seed=seed).raise_for_reports()
        assert (out.reshape(2, 2, 64) == np.array([1000, 0])[:, None] + np.arange(64)).all()
    kinds = {
        report.kind
        for seed in SEEDS
        for report in launch(REMOTE.replace("FIRST", "bar.sync 0;"), out, grid=4, cluster=2, seed=seed).reports
    }
    assert "race" in kinds


def test_generic_addresses_of_the_cluster_and_ranks() -> None:
    body = """
        .shared .align 16 .b32 s[64]; mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; cvta.shared.u64 %rd3, s; mov.u64 %rd3, s;
        cvta.shared.u64 %rd3, %rd3; mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1; mapa.u64 %rd4, %rd3, %r11;
        getctarank.u64 %r12, %rd4; setp.eq.u32 %p1, %r50, 0; @%p1 st.u32 [%rd4], %r12;
        barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %r5, %ctaid.x; mad.wide.u32 %rd2, %r5, 4, %rd1; @%p1 ld.shared.u32 %r6, [s]; @%p1 st.global.u32 [%rd2], %r6;
    """.replace("cvta.shared.u64 %rd3, s; ", "")
    out = np.full(4, 9, np.uint32)
    launch(body, out, grid=4, cluster=2).raise_for_reports()
    assert (out == [0, 1, 0, 1]).all()
    wrong = launch(body.replace("xor.b32 %r11, %r10, 1", "mov.u32 %r11, 2"), out, grid=4, cluster=2)
    assert texts(wrong)[0] == "mapa.u64: out of bounds: rank 2 in a cluster of 2 blocks (block 0, thread 0 and 255 more)"
