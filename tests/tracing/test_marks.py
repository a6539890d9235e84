"""Parts of registers and negated sources in kernels: video instructions by name."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import u32

X = np.random.default_rng(1).integers(0, 2**32, (32, 2), dtype=np.uint32)
A, B = X[:, 0].astype(np.int64), X[:, 1].astype(np.int64)


def sums(x: px.Tensor((32, 2), u32), y: px.Tensor((32, 4), u32)):
    t = px.tid.x
    unread = t * 3 + 1
    assert unread is not None
    a, b = px.ptx.ld.global_.u32(x[t, 0]), px.ptx.ld.global_.u32(x[t, 1])
    s = px.ptx["vadd.u32.u32.u32.sat"](px.part(a, "b0"), px.part(b, "h1"))
    r = px.reg(u32, 7)
    px.ptx["vsub.u32.u32.u32.sat"](px.part(a, "b1"), px.part(b, "b0"), s, out=px.part(r, "b2"))
    m = px.ptx["vmad.s32.u32.u32"](px.negated(px.part(a, "b3")), b, s)
    q = px.ptx["vadd4.u32.u32.u32"](a, px.part(b, "b0123"), a, out=px.part(px.reg(u32, 0), "b310"))
    for place, value in enumerate((s, r, m)):
        px.ptx.st.global_.b32(y[t, place], value)
    assert q is not None


def test_parts_are_written_and_read() -> None:
    kernel = px.kernel(grid=1, block=32)(sums)
    y = np.zeros((32, 4), np.uint32)
    kernel(X, y)
    total = (A & 255) + (B >> 16)
    difference = np.clip((A >> 8 & 255) - (B & 255), 0, 255)
    np.testing.assert_array_equal(y[:, 0], total)
    np.testing.assert_array_equal(y[:, 1], total & ~0xFF0000 | difference << 16)
    np.testing.assert_array_equal(y[:, 2], (-(A >> 24) * B + total) % 2**32)


def test_parts_keep_the_number_of_their_register() -> None:
    """What nothing reads goes, and what stays is numbered anew, parts with their registers."""
    text = px.kernel(grid=1, block=32)(sums).ptx(comments=False)
    lines = [line.split() for line in text.splitlines() if line.strip().startswith("v")]
    assert [line[1:] for line in lines[:3]] == [
        ["%r3,", "%r1.b0,", "%r2.h1;"], ["%r4.b2,", "%r1.b1,", "%r2.b0,", "%r3;"], ["%r5,", "-%r1.b3,", "%r2,", "%r3;"],
    ]  # fmt: skip


def refused(call) -> str:
    def body(x: px.Tensor((32, 2), u32)):
        a = px.ptx.ld.global_.u32(x[px.tid.x, 0])
        call(a)

    with pytest.raises(px.PtxgenError) as caught:
        px.kernel(grid=1, block=32)(body).ptx()
    return str(caught.value)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda a: px.part(a, "q1"), "'q1' selects no part of a register"),
        (lambda a: px.part(3, "b1"), "px.part takes a value of the kernel, not 3"),
        (lambda a: px.negated(3), "px.negated takes a value of the kernel, not 3"),
        (lambda a: px.ptx["vadd.u32.u32.u32"](px.part(a, "b7"), a), "this operand has no part .b7"),
        (lambda a: px.ptx["vadd.u32.u32.u32"](px.negated(a), a), "is negated where the instruction takes a value as it is"),
        (lambda a: px.ptx["add.u32"](px.part(a, "b0"), a), "selects a part of a register where the instruction takes all of it"),
        (lambda a: px.ptx["vmad.u32.u32.u32.po"](a, px.negated(a), a), "is negated where the instruction takes a value as it is"),
    ],
)
def test_marks_that_do_not_fit_are_refused(call, words: str) -> None:
    assert words in refused(call)
