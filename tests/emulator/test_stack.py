"""Memory on the stack, traps and sleep; what a driver alone provides is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.layouts.errors import PtxgenError

ALLOCATING = """
    mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd2, %r1, 8, %rd1;
    stacksave.u64 %rd3;
    mad.lo.u32 %r2, %r1, 4, 4; cvt.u64.u32 %rd4, %r2;
    alloca.u64 %rd5, %rd4;
    alloca.u64 %rd6, 24, 64;
    st.local.u32 [%rd5], %r1;
    st.local.u32 [%rd6], 7; st.local.u32 [%rd6+20], 9;
    ld.local.u32 %r3, [%rd5]; ld.local.u32 %r4, [%rd6+20];
    add.u32 %r5, %r3, %r4;
    sub.u64 %rd7, %rd3, %rd5; cvt.u32.u64 %r6, %rd7;
    st.global.v2.u32 [%rd2], {%r5, %r6};
"""


def test_allocations_lie_below_each_other(run) -> None:
    out = np.zeros((32, 2), np.uint32)
    run(ALLOCATING, out).raise_for_reports()
    threads = np.arange(32)
    np.testing.assert_array_equal(out[:, 0], threads + 9)
    np.testing.assert_array_equal(out[:, 1], -(-(4 * threads + 4) // 8) * 8)  # aligned to 8 without asking


def test_alignment_and_restoring(run) -> None:
    out = np.zeros(4, np.uint32)
    body = """
        ld.param.u64 %rd1, [a];
        stacksave.u32 %r1; alloca.u32 %r2, 5, 256; and.b32 %r3, %r2, 255; stackrestore.u32 %r1; stacksave.u32 %r4;
        sub.u32 %r5, %r4, %r1; alloca.u32 %r6, 5, 256; sub.u32 %r7, %r6, %r2;
        st.global.v4.u32 [%rd1], {%r3, %r5, %r7, 1};
    """
    run(body, out, block=1).raise_for_reports()
    assert [*out] == [0, 0, 0, 1]


def test_what_is_allocated_holds_nothing(run) -> None:
    body = "alloca.u64 %rd1, 8; st.local.u32 [%rd1], 1; ld.local.u32 %r1, [%rd1+4];"
    assert [report.kind for report in run(body).reports] == ["unwritten memory"]


def test_a_function_frees_what_it_allocates(run) -> None:
    before = """
        .func f(.param .u64 p) { .reg .u64 %p<9>; ld.param.u64 %p1, [p]; alloca.u64 %p2, 4096; st.local.u64 [%p2], %p2;
            ld.local.u64 %p3, [%p2]; st.u64 [%p1], %p3; ret; }
    """
    body = """
        ld.param.u64 %rd1, [a]; add.u64 %rd2, %rd1, 8;
        { .param .u64 x; st.param.u64 [x], %rd1; call f, (x); }
        { .param .u64 x; st.param.u64 [x], %rd2; call f, (x); }
    """
    out = np.zeros(2, np.uint64)
    run(body, out, before=before, block=1).raise_for_reports()
    assert out[0] == out[1] != 0


def test_a_stack_has_an_end(run) -> None:
    (report,) = run("alloca.u64 %rd1, 4096; alloca.u64 %rd1, 4088; alloca.u64 %rd1, 16;").reports
    assert report.kind == "stack overflow"
    assert report.message == "16 bytes are allocated where the stack has 8 left"


@pytest.mark.parametrize("name", ["trap", "brkpt"])
def test_traps_are_reports(run, name: str) -> None:
    out = np.zeros(32, np.uint32)
    body = f"""
        mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r1, 4, %rd1;
        setp.eq.u32 %p1, %r1, 5; @%p1 {name}; nanosleep.u32 %r1; pmevent 3; pmevent.mask 0xff; st.global.u32 [%rd1], 1;
    """
    (report,) = run(body, out).reports
    assert (report.kind, report.count, report.thread) == ("trap", 1, ((0, 0, 0), (5, 0, 0)))
    np.testing.assert_array_equal(out, np.arange(32) != 5)


def test_a_texture_that_the_module_declares_is_refused_by_name(run) -> None:
    with pytest.raises(PtxgenError, match=r"t is bound by a driver[^$]*a register with the handle of a px.Texture"):
        run("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5}];", before=".global .texref t;")
