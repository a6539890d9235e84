"""atom and red: every operation on every type against a model of Python numbers; turns, orders, races and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptxgen.assemble.referee import check_many
from ptxgen.assemble.tools import find_tool
from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read
from tests.emulator.atomic_forms import PLACE, THREADS, Update, array, expected, same, text, updates

SEEDS = range(4)
UPDATES = list(updates())
OPERATIONS = sorted({update.operation for update in UPDATES})
Run = Callable[..., EmulationResult]


def chosen(operation: str) -> list[Update]:
    return [update for update in UPDATES if update.operation == operation]


def test_the_updates_are_all_that_there_are() -> None:
    assert len(UPDATES) == 413
    assert {update.type for update in UPDATES} == {
        "b16", "b32", "b64", "b128", "u32", "u64", "s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64",
    }  # fmt: skip
    assert sum(update.flushes for update in UPDATES) == 12  # atom and red, .global or not, one, two or four


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_update_gives_what_the_numbers_give(operation: str) -> None:
    module = read(text(chosen(operation)))
    wrong = []
    for number, update in enumerate(chosen(operation)):
        given = array(update)
        found, wanted = given.copy(), expected(update, given)
        emulate(module, f"k{number}", grid=1, block=THREADS, arguments=[found]).raise_for_reports()
        threads = np.flatnonzero(~same(update, found, wanted))
        if len(threads):
            wrong.append(f"{update.match.opcode}: {len(threads)} threads, {found[:, threads[0]]} instead of {wanted[:, threads[0]]}")
    assert not wrong, "\n".join(wrong)



@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
def test_the_kernels_assemble() -> None:
    assert all(verdict.ok for verdict in check_many([text(UPDATES)], "sm_90"))


# ---- threads at one place ---------------------------------------------------------------------------------------------


def _together(update: Update, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The array before and after, all threads at the first place."""
    given = array(update)
    found = given.copy()
    emulate(read(text([update], together=True)), "k0", grid=1, block=THREADS, arguments=[found], seed=seed).raise_for_reports()
    return given, found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("update", [one for one in UPDATES if one.operation == "exch"], ids=lambda one: one.match.opcode)
def test_exchanges_pass_every_value_on(update: Update, seed: int) -> None:
    width = update.bits // 8
    given, found = _together(update, seed)
    put_in = sorted([given[0, 0, :width].tobytes(), *(row[:width].tobytes() for row in given[2])])
    got_out = sorted([found[0, 0, :width].tobytes(), *(row[:width].tobytes() for row in found[1])])
    assert put_in == got_out


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("opcode", [
    "atom.global.add.u32", "atom.shared.add.u64", "atom.global.xor.b32", "atom.shared.and.b32",
    "atom.global.max.s32", "atom.shared.min.u64", "atom.global.inc.u32", "atom.shared.dec.u32",
])  # fmt: skip
def test_old_values_are_those_of_some_order(opcode: str, seed: int) -> None:
    """Each old value but the first is the result of another thread's update; the last result is what stays."""
    update = next(one for one in UPDATES if one.match.opcode == opcode)
    given, found = _together(update, seed)
    width, alone = update.bits // 8, given.copy()
    alone[0, :, :width] = found[1, :, :width]
    after = expected(update, alone)
    results = sorted(after[0, thread, :width].tobytes() for thread in range(THREADS))
    seen = sorted([*(found[1, thread, :width].tobytes() for thread in range(THREADS)), found[0, 0, :width].tobytes()])
    seen.remove(given[0, 0, :width].tobytes())
    assert results == seen


def test_turns_change_with_the_seed() -> None:
    update = next(one for one in UPDATES if one.match.opcode == "atom.global.add.f32")
    sums = {_together(update, seed)[1][1].tobytes() for seed in range(6)}
    assert len(sums) == 6
    assert _together(update, 3)[1].tobytes() == _together(update, 3)[1].tobytes()


def test_a_lock_by_compare_and_swap(run: Run) -> None:
    """Each thread takes the lock in its turn, and adds to a plain word."""
    body = """
        ld.param.u64 %rd1, [a]; mov.u32 %r9, 0;
        AGAIN: atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra NEXT;
        ld.relaxed.gpu.global.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1; st.relaxed.gpu.global.u32 [%rd1+4], %r2; mov.u32 %r9, 1;
        atom.release.gpu.global.exch.b32 %r1, [%rd1], 0;
        NEXT: setp.eq.u32 %p2, %r9, 0; @%p2 bra AGAIN;
    """
    for seed in SEEDS:
        words = np.zeros(2, np.uint32)
        run(body, words, grid=2, block=40, seed=seed).raise_for_reports()
        assert words.tolist() == [0, 80]


# ---- order ------------------------------------------------------------------------------------------------------------

SHARED = ".shared .align 8 .b32 s[64]; ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.wide.u32 %rd2, %r1, 4, %rd1;"


@pytest.mark.parametrize("seed", SEEDS)
def test_atomics_do_not_race_among_themselves(run: Run, seed: int) -> None:
    body = SHARED + """
        mad.lo.u32 %r3, %r1, 4, %r2; setp.lt.u32 %p1, %r1, 64; @%p1 st.shared.u32 [%r3], 0; bar.sync 0;
        atom.shared.add.u32 %r4, [%r2], 1; red.shared.max.u32 [%r2+4], %r1; bar.sync 0;
        ld.shared.v2.u32 {%r5, %r6}, [%r2]; st.global.u32 [%rd2], %r5; st.global.u32 [%rd2+512], %r6;
    """  # fmt: skip
    words = np.zeros(256, np.uint32)
    run(body, words, block=128, seed=seed).raise_for_reports()
    assert (words[:128] == 128).all() and (words[128:] == 127).all()


@pytest.mark.parametrize(("first", "second", "verb"), [
    ("@%p1 st.shared.u32 [%r2], 5;", "red.shared.add.u32 [%r2], 1;", "are combined into"),
    ("red.shared.add.u32 [%r2], 1;", "ld.shared.u32 %r5, [%r2];", "are read"),
    ("red.shared.add.u32 [%r2], 1;", "@%p2 st.shared.u32 [%r2], 7;", "are written"),
])  # fmt: skip
def test_plain_accesses_race_with_atomics(run: Run, first: str, second: str, verb: str) -> None:
    body = SHARED + f"""
        setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 40; @%p1 st.shared.u32 [%r2], 5; bar.sync 0;
        {first} SYNC {second}
    """  # fmt: skip
    words = np.zeros(4, np.uint32)
    found = run(body.replace("SYNC", ""), words, block=96).reports
    assert {report.kind for report in found} == {"race"}
    assert any(f"4 bytes at s byte 0 {verb}, and nothing orders this" in str(report) for report in found), found
    run(body.replace("SYNC", "bar.sync 0;"), words, block=96).raise_for_reports()


def test_an_update_of_what_was_never_written(run: Run) -> None:
    result = run(SHARED + "red.shared.add.u32 [%r2+8], 1;", np.zeros(4, np.uint32))
    assert [report.kind for report in result.reports] == ["unwritten memory"]
    assert "s byte 8" in str(result.reports[0])


def test_an_update_out_of_bounds_and_one_that_is_not_aligned(run: Run) -> None:
    for place, kind in (("[%rd1+64]", "out of bounds"), ("[%rd1+2]", "misaligned")):
        result = run(f"ld.param.u64 %rd1, [a]; red.global.add.u32 {place}, 1;", np.zeros(16, np.uint32))
        assert [report.kind for report in result.reports] == [kind]


def test_blocks_hand_over_by_release_and_acquire(run: Run) -> None:
    """The last block to arrive sums what the others have written; without a release it races."""
    body = """
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1; setp.ne.u32 %p1, %r2, 0;
        @%p1 exit; add.u32 %r3, %r1, 10; st.global.u32 [%rd2+8], %r3;
        atom.acq_rel.gpu.global.add.u32 %r4, [%rd1], 1; setp.ne.u32 %p2, %r4, 3; @%p2 exit;
        ld.global.u32 %r5, [%rd1+8]; ld.global.u32 %r6, [%rd1+12]; ld.global.u32 %r7, [%rd1+16]; ld.global.u32 %r8, [%rd1+20];
        add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8; st.global.u32 [%rd1+4], %r5;
    """
    for seed in SEEDS:
        words = np.zeros(8, np.uint32)
        run(body, words, grid=4, seed=seed).raise_for_reports()
        assert words.tolist() == [4, 46, 10, 11, 12, 13, 0, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_update_of_another_blocks_shared_memory(run: Run, seed: int) -> None:
    body = SHARED + """
        setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r2], 0; barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r3, %r2, 1; red.shared::cluster.add.u32 [%r3], %r1;
        barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %r6, %cluster_ctarank; mad.wide.u32 %rd2, %r6, 4, %rd1; ld.shared.u32 %r5, [%r2]; @%p1 st.global.u32 [%rd2], %r5;
    """  # fmt: skip
    words = np.zeros(2, np.uint32)
    run(body, words, grid=2, cluster=2, seed=seed).raise_for_reports()
    assert words.tolist() == [0, 2 * sum(range(32))]


# ---- multimem addresses, which stand for one place here ---------------------------------------------------------------


def test_multimem_addresses_stand_for_one_place(run: Run) -> None:
    """One device: loads that reduce find one value; stores and reductions are those of global memory."""
    words, halves = np.arange(100, 104, dtype=np.uint32), np.array([1.5, -2.0, 3.0, 4.0], np.float16)
    body = """
        ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
        multimem.red.relaxed.sys.global.add.u32 [%rd1], 1;
        @%p1 multimem.ld_reduce.acquire.gpu.global.max.u32 %r2, [%rd1+4];
        @%p1 multimem.st.release.gpu.global.u32 [%rd1+8], %r2;
        @%p1 multimem.ld_reduce.add.acc::f32.v4.f16 {%h1, %h2, %h3, %h4}, [%rd2];
        @%p1 multimem.red.add.v4.f16 [%rd2], {%h1, %h2, %h3, %h4};
        @%p1 multimem.st.async.release.gpu.global.u32 [%rd1+12], 7;
        multimem.red.async.release.gpu.add.u32 [%rd1+12], 2;
    """
    run(body, words, halves).raise_for_reports()
    assert words.tolist() == [132, 101, 101, 7 + 64]
    assert halves.tolist() == [3.0, -4.0, 6.0, 8.0]


def test_bulk_copies_to_multimem_addresses(run: Run) -> None:
    words = np.arange(8, dtype=np.uint32)
    body = """
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 4; setp.eq.u32 %p2, %r1, 0;
        mov.u32 %r2, box; mad.lo.u32 %r3, %r1, 4, %r2;
        add.u32 %r4, %r1, 10; @%p1 st.shared.u32 [%r3], %r4;
        fence.proxy.async; bar.sync 0;
        @%p2 multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;
        @%p2 multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1+16], [%r2], 16;
        @%p2 cp.async.bulk.commit_group; @%p2 cp.async.bulk.wait_group 0;
    """
    run(body, words, before=".shared .align 16 .b8 box[16];").raise_for_reports()
    assert words.tolist() == [10, 11, 12, 13, 14, 16, 18, 20]


def test_a_place_is_as_large_as_the_operands() -> None:
    assert max(update.count * update.bits // 8 for update in UPDATES) == PLACE
