"""Special registers: read once, typed, and known in range."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen.errors import TraceError
from tests.tracing.kernels import threads, traced


def test_ranges_come_from_the_block():
    seen = []

    def function(tid):
        tid.builder.grid = (10, 1, 1)
        values = (px.tid.x, px.tid.y, px.tid.z, px.ctaid.x, px.ctaid.y, px.nctaid.x, px.ntid.x, px.ntid.y, px.sreg.laneid)
        seen.extend(one.expr.range() for one in values)

    traced(function, block=(16, 4, 1))
    assert seen == [(0, 15), (0, 3), (0, 0), (0, 9), (0, 0), (1, 10), (16, 16), (4, 4), (0, 31)]


def test_what_does_not_change_is_read_once_and_counters_each_time():
    def function(tid):
        for _ in range(2):
            px.tid.y, px.sreg.lanemask_lt, px.sreg.clock64  # noqa: B018

    assert traced(function, block=(16, 4, 1)) == [
        "mov.u32 %r0, %tid.x;",
        "mov.u32 %r1, %tid.y;",
        "mov.u32 %r2, %lanemask_lt;",
        "mov.u64 %rd0, %clock64;",
        "mov.u64 %rd1, %clock64;",
    ]


def test_they_hold_what_they_say():
    def function(tid, r):
        r.set(px.tid.x + px.sreg.laneid * 1000)

    assert (threads(function, 96) == np.arange(96) + np.arange(96) % 32 * 1000).all()


@pytest.mark.parametrize(
    ("use", "problem", "legal"),
    [
        (lambda t: px.tid.w, "%tid has no component w", "px.tid.x, .y or .z"),
        (lambda t: px.sreg.lainid, "PTX has no special register 'lainid'; nearest: %laneid, %ntid, %nsmid (PTX ISA chapter 10)",
         "a special register by its name in PTX, without %"),
    ],
)  # fmt: skip
def test_refused(use, problem, legal):
    with pytest.raises(TraceError) as caught:
        traced(use)
    assert (caught.value.problem, caught.value.legal) == (problem, legal)


def test_the_target_must_have_it():
    with pytest.raises(TraceError) as caught:
        traced(lambda tid: px.sreg.cluster_ctarank, target="sm_80")
    assert caught.value.problem == "%cluster_ctarank does not exist on sm_80"
