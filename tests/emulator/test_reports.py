"""What the emulator says about wrong kernels: kind, place, thread, address, and the exact words."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import EmulationError, emulate
from ptxgen.instructions.errors import InstructionError
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read

THREAD = "mov.u32 %r50, %tid.x; ld.param.u64 %rd30, [a]; mad.wide.u32 %rd30, %r50, 4, %rd30;"


def messages(result) -> list[str]:
    """Without the place in the text, which comes first."""
    return [str(report).removeprefix(f"{report.where}: ") for report in result.reports]


def test_out_of_bounds(run) -> None:
    data = np.zeros(20, np.uint32)
    result = run(f"{THREAD} ld.global.u32 %r1, [%rd30]; st.global.u32 [%rd30-400], %r1; mov.u32 %r2, %r1;", data)
    start = result.reports[0].address - 80
    assert messages(result) == [
        f"ld.global.u32: out of bounds: 4 bytes at .global address {start + 80:#x}: a has 80 bytes, the access ends at byte 84"
        " (block 0, thread 20 and 11 more)",
        f"st.global.u32: out of bounds: 4 bytes at .global address {start - 400:#x}: 400 bytes before the start of a (80 bytes)"
        " (block 0, thread 0 and 31 more)",
    ]
    report = result.reports[0]
    assert (report.kind, report.variable, report.offset, report.count) == ("out of bounds", "a", 80, 12)
    assert report.thread == ((0, 0, 0), (20, 0, 0))
    assert (data == 0).all()


def test_nothing_lies_at_null(run) -> None:
    result = run("ld.global.u32 %r1, [0]; ld.shared.u32 %r2, [8];", np.zeros(1, np.uint32), block=1)
    assert [report.kind for report in result.reports] == ["out of bounds"] * 2
    assert messages(result)[1] == "ld.shared.u32: out of bounds: 4 bytes at .shared address 0x8, where nothing is (block 0, thread 0)"


def test_misaligned(run) -> None:
    result = run(f"{THREAD} ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd30];", np.zeros(64, np.uint32), block=(2, 2))
    address = result.reports[0].address
    assert messages(result) == [
        f"ld.global.v4.b32: misaligned: 16 bytes at address {address:#x} (a byte 4), which is no multiple of 16"
        " (block 0, thread 1 and 1 more)"
    ]


def test_read_only_arguments(run) -> None:
    data = np.zeros(32, np.uint32)
    data.flags.writeable = False
    result = run(f"{THREAD} st.global.u32 [%rd30], 1;", data)
    assert messages(result) == ["st.global.u32: read-only: a byte 0 cannot be written (block 0, thread 0 and 31 more)"]
    assert (data == 0).all()


def test_unwritten_register(run) -> None:
    result = run(
        f"{THREAD} setp.lt.u32 %p1, %r50, 30; @%p1 mov.u32 %r1, 1; add.u32 %r2, %r1, %r3; st.global.u32 [%rd30], %r2;",
        np.zeros(32, np.uint32),
    )
    assert messages(result) == [
        "add.u32: unwritten register: %r1 is read, which nothing has written (block 0, thread 30 and 1 more)",
        "add.u32: unwritten register: %r3 is read, which nothing has written (block 0, thread 0 and 31 more)",
    ]


def test_unwritten_bytes(run) -> None:
    body = f"""{THREAD} .shared .align 4 .b32 s[32]; .local .b32 l;
        mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 4, %r1; setp.lt.u32 %p1, %r50, 8; @%p1 st.shared.u16 [%r1], 7;
        @!%p1 st.shared.u32 [%r1], 7; ld.shared.u32 %r2, [%r1]; ld.local.u32 %r3, [l];"""
    assert messages(run(body, np.zeros(32, np.uint32))) == [
        "ld.shared.u32: unwritten memory: 4 bytes at s byte 0 are read, which nothing has written (block 0, thread 0 and 7 more)",
        "ld.local.u32: unwritten memory: 4 bytes at l byte 0 are read, which nothing has written (block 0, thread 0 and 31 more)",
    ]


def test_conflicting_stores(run) -> None:
    body = f"{THREAD} ld.param.u64 %rd1, [a]; shr.u32 %r1, %r50, 4; mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r50;"
    assert messages(run(body, np.zeros(32, np.uint32))) == [
        "st.global.u32: conflicting stores: threads write different values to a byte 0: 0x0 by block 0 thread 0,"
        " 0xf by block 0 thread 15 (block 0, thread 0 and 29 more)"
    ]
    assert run(body.replace("%r50;", "%r1;", 1).replace("[%rd1], %r50", "[%rd1], %r1"), np.zeros(32, np.uint32)).reports == ()


def test_barrier_that_some_threads_never_reach(run) -> None:
    body = """
        mov.u32 %r50, %tid.x; setp.lt.u32 %p1, %r50, 32;
        @%p1 bra OTHER;
        bar.sync 0;
        ret;
    OTHER: bar.sync 1;"""
    result = run(body, block=64, grid=2)
    assert [report.kind for report in result.reports] == ["deadlock", "deadlock"]
    first, second = result.reports
    line = first.where.line
    assert messages(result)[0] == (
        "bar.sync: deadlock: barrier 0 of block 0 is not reached by all threads: 32 of 64 wait here,"
        f" 32 wait in barrier 1 (<text>:{line + 2}:{second.where.column}) (block 0, thread 32 and 63 more)"
    )


def test_barrier_after_an_early_exit(run) -> None:
    out = np.zeros(64, np.uint32)
    result = run(f"{THREAD} setp.ge.u32 %p1, %r50, 40; @%p1 exit; bar.sync 0; st.global.u32 [%rd30], 1;", out, block=64)
    assert messages(result) == [
        "bar.sync: barrier: barrier 0 of block 0 is not reached by all threads: 24 of 64 have exited (block 0, thread 0 and 39 more)"
    ]
    assert out.sum() == 40


def test_barrier_with_a_count_nobody_completes(run) -> None:
    result = run("bar.sync 3, 64;", block=32)
    assert messages(result) == [
        "bar.sync: barrier: barrier 3 of block 0 is not reached by all threads: 32 of 32 wait here, 64 are expected"
        " (block 0, thread 0 and 31 more)"
    ]


def test_step_limit(run) -> None:
    result = run("L: bra L;", block=32, step_limit=1000)
    assert messages(result) == [
        "bra: step limit: 32 threads have not ended after 1000 steps: endless, or raise step_limit (block 0, thread 0)"
    ]


def test_the_run_can_stop_at_its_first_report(run) -> None:
    out = np.zeros(32, np.uint32)
    result = run(f"{THREAD} add.u32 %r1, %r2, 1; add.u32 %r3, %r4, 1; st.global.u32 [%rd30], 1;", out, stop_on_report=True)
    assert len(result.reports) == 1 and out.sum() == 0


def test_checks_can_be_left_out(run) -> None:
    body = f"{THREAD} .shared .b32 s; ld.shared.u32 %r1, [s]; add.u32 %r2, %r3, %r1; st.global.u32 [%rd30+400], %r2;"
    result = run(body, np.zeros(32, np.uint32), checks=False)
    assert [report.kind for report in result.reports] == ["out of bounds"]


def test_raising() -> None:
    module = read(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 %r<3>;\nadd.u32 %r1, %r2, 1;\n}")
    result = emulate(module, "k", grid=1, block=1, arguments=[])
    with pytest.raises(EmulationError) as error:
        result.raise_for_reports()
    assert str(error.value) == (
        "the emulator found 1 fault:\n"
        "  <text>:6:1: add.u32: unwritten register: %r2 is read, which nothing has written (block 0, thread 0)"
    )


def test_refusals_before_anything_runs(run) -> None:
    with pytest.raises(InstructionError, match=r"%r1 is .b32 where the instruction takes .u64"):
        run("add.u64 %rd1, %r1, 1;")
    with pytest.raises(InstructionError, match="NOWHERE is no label of this function"):
        run("bra NOWHERE;")
    with pytest.raises(InstructionError, match="%x is not declared"):
        run("mov.u32 %r1, %x;")


def test_local_variables_are_named_at_every_call_depth(run) -> None:
    before = ".func f() { .local .b32 pad; .local .b32 inner; .reg .b32 %x; ld.local.b32 %x, [inner]; ret; }"
    result = run("call f;", before=before, block=4)
    assert messages(result) == [
        "ld.local.b32: unwritten memory: 4 bytes at inner byte 0 are read, which nothing has written (block 0, thread 0 and 3 more)"
    ]


def test_a_missing_barrier_shows_without_races_being_looked_for_under_some_seed(run) -> None:
    body = f"""{THREAD} .shared .align 4 .b32 s[128];
        mov.u32 %r1, s; mad.lo.u32 %r2, %r50, 4, %r1; st.shared.u32 [%r2], %r50;
        BARRIER
        xor.b32 %r3, %r50, 64; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd30], %r4;"""
    out = np.zeros(128, np.uint32)
    missing = body.replace("BARRIER", "")
    kinds = {one.kind for seed in range(1, 9) for one in run(missing, out, block=128, seed=seed, checks="values").reports}
    assert kinds == {"unwritten memory"}
    for seed in range(9):
        assert run(body.replace("BARRIER", "bar.sync 0;"), out, block=128, seed=seed).ok


def test_arrays_of_objects_are_refused(run) -> None:
    with pytest.raises(PtxgenError, match="argument a: an array of Python objects"):
        run("ret;", np.array([object()]))
