"""cp.async and bulk copies: clean kernels in several orders, and broken twins with the words of their reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

SEEDS = range(4)

THREAD = """
    mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
    mul.wide.u32 %rd3, %r50, 16; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
"""
OUT = "st.global.v4.b32 [%rd5], {%r10, %r11, %r12, %r13};"


def texts(result) -> list[str]:
    """Reports without the place in the text, lines counted from the instruction at fault."""
    return [str(report).removeprefix(f"{report.where}: ") for report in result.reports]


# ---- cp.async groups --------------------------------------------------------------------------------------------------

PIPELINE = (
    THREAD
    + """
    .shared .align 16 .b8 s[1536];
    mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 16, %r1;
    cp.async.cg.shared.global [%r1], [%rd4], 16; cp.async.commit_group;
    cp.async.cg.shared.global [%r1+512], [%rd4+512], 16; cp.async.commit_group;
    cp.async.cg.shared.global [%r1+1024], [%rd4+1024], 16; cp.async.commit_group;
    cp.async.wait_group WAIT1;
    ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1]; st.global.v4.b32 [%rd5], {%r10, %r11, %r12, %r13};
    cp.async.wait_group 0;
    ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1+1024]; st.global.v4.b32 [%rd5+1024], {%r10, %r11, %r12, %r13};
    ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1+512]; st.global.v4.b32 [%rd5+512], {%r10, %r11, %r12, %r13};
"""
)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_complete_oldest_first(run, seed: int) -> None:
    source, out = np.arange(384, dtype=np.uint32), np.zeros(384, np.uint32)
    run(PIPELINE.replace("WAIT1", "2"), source, out, seed=seed).raise_for_reports()
    assert (out == source).all()


def test_a_wait_that_leaves_the_group_open(run) -> None:
    source, out = np.arange(384, dtype=np.uint32), np.zeros(384, np.uint32)
    result = run(PIPELINE.replace("WAIT1", "3"), source, out)
    assert [report.kind for report in result.reports] == ["in flight"]
    text = texts(result)[0]
    where = text[text.index("(<text>") : text.index(") is on its way") + 1]
    assert text == (
        f"ld.shared.v4.b32: in flight: 16 bytes at s byte 0 are read while cp.async.cg.shared.global {where} is on its way to them:"
        " cp.async.wait_group 2 by thread 0 of block 0 is missing (block 0, thread 0 and 31 more)"
    )
    assert (out[:128] == 0xFFFFFFFF).all() and (out[128:] == source[128:]).all()


def test_a_stage_that_is_filled_again_names_the_group_of_the_copy_under_way(run) -> None:
    again = "cp.async.cg.shared.global [%r1], [%rd4+512], 16; cp.async.commit_group;"
    first = "cp.async.cg.shared.global [%r1], [%rd4], 16; cp.async.commit_group;"
    body = f"{THREAD} .shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 16, %r1; {first} {again} cp.async.wait_all;"
    result = run(body, np.arange(384, dtype=np.uint32), np.zeros(384, np.uint32))
    assert texts(result)[0].endswith(
        "is on its way there: cp.async.wait_group 0 by thread 0 of block 0 is missing (block 0, thread 0 and 31 more)"
    )


def test_a_wait_before_the_commit_waits_for_nothing(run) -> None:
    body = (
        THREAD
        + """.shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 16, %r1;
        cp.async.ca.shared.global [%r1], [%rd4], 16; ORDER ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1];"""
        + OUT
    )
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    result = run(body.replace("ORDER", "cp.async.wait_group 0; cp.async.commit_group;"), source, out)
    assert texts(result)[0].endswith("cp.async.wait_group 0 by thread 0 of block 0 is missing (block 0, thread 0 and 31 more)")
    result = run(body.replace("ORDER", "cp.async.wait_group 0;"), source, out)
    assert texts(result)[0].endswith(
        "thread 0 of block 0 has committed it to no group (cp.async.commit_group), so that no wait_group covers it"
        " (block 0, thread 0 and 31 more)"
    )
    for order in ("cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"):
        assert run(body.replace("ORDER", order), source, out).ok and (out == source).all()


@pytest.mark.parametrize("size", [4, 8, 16])
def test_bytes_past_the_source_size_are_zeros_and_are_not_read(run, size: int) -> None:
    """Thread t copies min(t, size) bytes; the last ones stand at the end of the array, so that reading more would fault."""
    body = (
        THREAD
        + f""".shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r50, {size}, %r1;
        mul.wide.u32 %rd6, %r50, {size}; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6;
        min.u32 %r2, %r50, {size}; mov.u32 %r4, 31; sub.u32 %r5, %r4, %r50; min.u32 %r2, %r2, %r5;
        cp.async.ca.shared.global [%r1], [%rd7], {size}, %r2; cp.async.wait_all;
        ld.shared.b{8 * min(size, 8)} %rd10, [%r1]; st.global.b{8 * min(size, 8)} [%rd8], %rd10;"""
    )
    if size == 4:
        body = body.replace("%rd10", "%r10")
    source = np.arange(1, 32 * size + 1, dtype=np.uint8)[: 31 * size]
    out = np.zeros(32 * size, np.uint8)
    run(body, source, out).raise_for_reports()
    shown = min(size, 8)
    for thread in range(32):
        taken = min(thread, size, 31 - thread)
        expected = np.zeros(size, np.uint8)
        expected[:taken] = np.arange(thread * size + 1, thread * size + 1 + taken, dtype=np.uint64).astype(np.uint8)
        assert (out[thread * size : thread * size + shown] == expected[:shown]).all()


def test_ignore_src_true_writes_zeros(run) -> None:
    body = (
        THREAD
        + """.shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 16, %r1; setp.lt.u32 %p1, %r50, 4;
        cp.async.ca.shared.global [%r1], [%rd4], 16, %p1; cp.async.wait_all; ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1];"""
        + OUT
    )
    source, out = np.arange(1, 129, dtype=np.uint32), np.ones(128, np.uint32)
    run(body, source, out).raise_for_reports()
    assert (out[:16] == 0).all() and (out[16:] == source[16:]).all()


def test_what_is_wrong_with_the_ends_of_a_copy(run) -> None:
    body = (
        THREAD
        + """.shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 16, %r1;
        cp.async.cg.shared.global [%r1], [%rd4], 16; ACT cp.async.wait_all;"""
    )
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    result = run(body.replace("ACT", "mov.b32 %r9, 7; st.shared.b32 [%r1], %r9;"), source, out)
    first = texts(result)[0]
    where = first[first.index("(<text>") : first.index(") is on its way") + 1]
    open_copy = (
        f"cp.async.cg.shared.global {where} is on its way to them: thread 0 of block 0 has committed it to no group"
        " (cp.async.commit_group), so that no wait_group covers it (block 0, thread 0 and 31 more)"
    )
    assert first == f"st.shared.b32: in flight: 4 bytes at s byte 0 are written while {open_copy}"
    result = run(body.replace("ACT", "st.global.b32 [%rd4], 7;"), source.copy(), out)
    assert texts(result) == [
        "cp.async.cg.shared.global: in flight: the source of this copy was overwritten before a wait for the copy had returned"
        " (block 0, thread 0 and 31 more)"
    ]
    result = run(body.replace("ACT", "cp.async.cg.shared.global [%r1], [%rd4], 16;"), source, out)
    assert texts(result)[0].startswith("cp.async.cg.shared.global: in flight: copies into s byte 0 while cp.async.cg.shared.global (")
    result = run(body.replace("ACT", "").replace("[%r1], [%rd4], 16", "[%r1+4], [%rd4+8], 16"), source, out)
    assert [report.kind for report in result.reports] == ["out of bounds", "misaligned"]


# ---- bulk copies ------------------------------------------------------------------------------------------------------

BULK = (
    THREAD
    + """
    .shared .align 128 .b8 s[512]; .shared .align 8 .b64 full;
    mov.u32 %r1, s; mad.lo.u32 %r2, %r50, 16, %r1; setp.eq.u32 %p1, %r50, 0;
    @%p1 mbarrier.init.shared.b64 [full], 1; @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], EXPECT;
    @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd1], 512, [full];
    WAIT
    ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r2];
"""
    + OUT
)
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
NOBODY = (
    f"{COPY}: in flight: the block has exited, and nobody has waited for this copy:"
    " a wait for phase 0 (parity 0) of mbarrier full byte 0 is missing (block 0, thread 0)"
)
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra W;"


def bulk(expect: int = 512, wait: str = WAIT) -> str:
    return BULK.replace("EXPECT", str(expect)).replace("WAIT", wait)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bulk_copy_lands_when_its_phase_is_waited_for(run, seed: int) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    run(bulk(), source, out, seed=seed).raise_for_reports()
    assert (out == source).all()
    test = WAIT.replace("try_wait", "test_wait")
    run(bulk(wait=test), source, out, seed=seed).raise_for_reports()


def test_a_try_wait_may_fail(run) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    result = run(bulk(wait="mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;"), source, out)
    assert [report.opcode for report in result.reports] == ["ld.shared.v4.b32", COPY]


@pytest.mark.parametrize(
    ("wait", "hint"),
    [("", ""), (WAIT.replace("0; @", "1; @"), "; the wait for parity 1 passed at once, as on every fresh mbarrier")],
    ids=["none", "parity"],
)
def test_a_stage_that_is_read_before_its_wait(run, wait: str, hint: str) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    result = run(bulk(wait=wait), source, out)
    text = texts(result)[0]
    where = text[text.index("(<text>") : text.index(") is on its way") + 1]
    assert texts(result) == [
        f"ld.shared.v4.b32: in flight: 16 bytes at s byte 0 are read while {COPY} {where} is on its way to them:"
        f" a wait for phase 0 (parity 0) of mbarrier full byte 0 is missing{hint} (block 0, thread 0 and 31 more)",
        NOBODY,
    ]
    assert (out == 0xFFFFFFFF).all()


@pytest.mark.parametrize(("expect", "state"), [(528, "16 transaction bytes outstanding"), (496, "16 transaction bytes more than expected")])
def test_wrong_transaction_bytes_are_a_deadlock(run, expect: int, state: str) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    for seed in SEEDS:
        assert texts(run(bulk(expect), source, out, seed=seed)) == [
            "mbarrier.try_wait.parity.shared.b64: deadlock: 32 threads wait for phase 0 (parity 0) of mbarrier full byte 0, which does not"
            f" complete: phase 0, 0 of 1 arrivals pending, {state} (block 0, thread 0 and 31 more)"
        ]


def test_a_warp_that_does_not_wait_while_another_does(run) -> None:
    """The bytes have landed, but this warp does not know it."""
    source, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    body = bulk(wait=f"setp.ge.u32 %p5, %r50, 32; @%p5 bra SKIP; {WAIT} SKIP: bar.arrive 1, 64;").replace("512", "1024")
    found = texts(run(body, source, out, block=64, seed=1))
    where = found[0][found[0].index("(<text>") : found[0].index(": a wait")]
    assert found == [
        f"ld.shared.v4.b32: race: 16 bytes at s byte 512 are read, and nothing orders this after {COPY} {where}:"
        " a wait for phase 0 (parity 0) of mbarrier full byte 0 is missing (block 0, thread 32 and 31 more)"
    ]
    for seed in SEEDS:
        assert not run(body, source, out, block=64, seed=seed).ok
    late = body.replace("SKIP: bar.arrive 1, 64;", "bar.arrive 2, 64; SKIP: @%p5 bar.sync 2, 64;")
    assert run(late, source, out, block=64).ok


def test_a_copy_that_nobody_waits_for(run) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    body = bulk(wait="ret;")
    assert texts(run(body, source, out)) == [NOBODY]


@pytest.mark.parametrize(
    ("change", "report"),
    [
        (
            ("], 512, [full]", "], 504, [full]"),
            "bulk copy: a copy of 504 bytes; bulk copies move multiples of 16 bytes",
        ),
        (("[%rd1], 512", "[%rd1+4], 496"), "misaligned: the source is at address"),
        (("[s], [%rd1]", "[s+8], [%rd1]"), "misaligned: the destination is at address 0x408, which is no multiple of 16"),
        (("[s], [%rd1]", "[s+16], [%rd1]"), "the destination begins at s byte 16 and ends 8 bytes behind the end of the block's"),
        (("[%rd1], 512", "[%rd1+16], 512"), "a has 512 bytes, the access ends at byte 528"),
    ],
)
def test_ends_of_bulk_copies(run, change: tuple[str, str], report: str) -> None:
    source, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    body = bulk()
    assert change[0] in body
    body = body.replace("mov.u32 %r50, %tid.x;", "mov.u32 %r50, %tid.x; mov.u32 %r40, 504; mov.u32 %r41, s;")
    if "504" in change[1]:
        body = body.replace("], 512, [full]", "], %r40, [full]")
    elif "[s" in change[1]:
        body = body.replace("[s], [%rd1]", f"[{change[1][1 : change[1].index(']')].replace('s', '%r41')}], [%rd1]")
    else:
        body = body.replace(*change)
    assert any(report in text for text in texts(run(body, source, out)))


STORE = (
    THREAD
    + """
    .shared .align 128 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r2, %r50, 16, %r1; setp.eq.u32 %p1, %r50, 0;
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4]; st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13};
    FENCE
    bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 512;
    @%p1 cp.async.bulk.commit_group;
    @%p1 WAIT
    bar.sync 0;
    st.shared.b32 [%r2], 0;
"""
)
FENCE = "fence.proxy.async.shared::cta;"


def store(fence: str = FENCE, wait: str = "cp.async.bulk.wait_group.read 0;") -> str:
    return STORE.replace("FENCE", fence).replace("@%p1 WAIT", f"@%p1 {wait}" if wait else "")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bulk_store(run, seed: int) -> None:
    source, out = np.arange(512, dtype=np.uint32)[:128], np.zeros(128, np.uint32)
    run(store(), source, out, seed=seed).raise_for_reports()
    assert (out == source).all()


def test_a_bulk_store_without_the_fence_of_its_writers(run) -> None:
    source, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    body = store("").replace("s[512]", "s[1024]").replace("[s], 512", "[s], 1024")
    for seed in SEEDS:
        texts_found = texts(run(body, source, out, block=64, seed=seed))
        where = texts_found[0][texts_found[0].index("(<text>") : texts_found[0].index(") in warp") + 1]
        assert texts_found == [
            "cp.async.bulk.global.shared::cta.bulk_group: proxy fence: 1024 bytes at s byte 0 are read by the async proxy, and"
            f" st.shared.v4.b32 {where} in warp 0 of block 0 wrote them by the generic proxy: fence.proxy.async by those threads,"
            " before the barrier in between, is missing (block 0, thread 0)"
        ]
    assert run(store().replace("s[512]", "s[1024]").replace("[s], 512", "[s], 1024"), source, out, block=64).ok
    late = body.replace("@%p1 cp.async.bulk.global", f"@%p1 {FENCE} @%p1 cp.async.bulk.global")
    assert "warp 1 of block 0 wrote them" in texts(run(late, source, out, block=64))[0]


def test_a_source_that_is_written_too_early(run) -> None:
    source, out = np.arange(1, 129, dtype=np.uint32), np.zeros(128, np.uint32)
    result = run(store(wait=""), source, out)
    found = texts(result)
    where = found[0][found[0].index("(<text>") : found[0].index(") of warp") + 1]
    copy = "cp.async.bulk.global.shared::cta.bulk_group"
    assert found == [
        f"st.shared.b32: race: 4 bytes at s byte 0 are written while {copy} {where} of warp 0 of block 0 reads them:"
        " cp.async.bulk.wait_group.read by that warp is missing (block 0, thread 0 and 31 more)",
        f"{copy}: in flight: the block has exited while this copy reads its shared memory: cp.async.bulk.wait_group.read 0 is missing"
        " (block 0, thread 0)",
        f"{copy}: in flight: the source of this copy was overwritten before a wait for the copy had returned (block 0, thread 0)",
    ]
    full = store(wait="cp.async.bulk.wait_group 0;")
    assert run(full, source, out).ok


@pytest.mark.parametrize(
    ("kind", "dtype", "function"),
    [
        ("add.u32", np.uint32, np.add),
        ("max.s32", np.int32, np.maximum),
        ("add.f32", np.float32, np.add),
        ("xor.b32", np.uint32, np.bitwise_xor),
        ("min.u64", np.uint64, np.minimum),
        ("add.noftz.f16", np.float16, np.add),
    ],
)
def test_reducing_stores(run, kind: str, dtype: type, function: Any) -> None:
    source = (np.arange(512 // np.dtype(dtype).itemsize) * 3).astype(dtype)
    out = (np.arange(len(source)) * 5 % 97).astype(dtype)
    expected = function(source, out)
    plain = "cp.async.bulk.global.shared::cta.bulk_group ["
    run(store().replace(plain, f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{kind} ["), source, out).raise_for_reports()
    assert (out == expected).all()
