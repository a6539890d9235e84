"""What is written, what it prints as, and how it is read back."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.layouts import (
    AXES,
    Layout,
    LayoutError,
    R,
    S,
    Swizzle,
    Symbol,
    TCol,
    TLane,
    as_layout,
    laneid,
    m,
    parse,
    tid_in_wg,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from tests.layouts.strategies import packed_table, specs

N = Symbol("n", 1)
AXIS_NAMES = (
    *("m", "laneid", "warpid", "wid_in_wg", "wgid", "tid_in_wg", "tx"),
    *("cbx", "cby", "cbz", "bx", "by", "bz", "TLane", "TCol"),
)


@given(specs(replicas=2), st.booleans())
def test_parse_reads_what_repr_prints(spec, bound):
    layout = spec.layout().bind(8) if bound else spec.layout()
    again = parse(repr(layout))
    assert again == layout and repr(again) == repr(layout)
    assert (again.dims, again.replica_dims, again.offset, again.unit) == (
        layout.dims,
        layout.replica_dims,
        layout.offset,
        layout.unit,
    )


@pytest.mark.parametrize(
    "layout, text",
    [
        (Layout(S[8:1]), "Layout(S[(8,) : (1,)])"),
        (Layout(S[8, 16]), "Layout(S[(8, 16) : (16, 1)])"),
        (Layout(S[(8, 16)]), "Layout(S[(8, 16) : (16, 1)])"),
        (Layout(S[((2, 4), 8) : ((32, 1), 4)]), "Layout(S[((2, 4), 8) : ((32, 1), 4)])"),
        (Layout(S[((2, 4), 8)]), "Layout(S[((2, 4), 8) : ((32, 8), 1)])"),
        (Layout(S[() : ()]), "Layout(S[() : ()])"),
        (Layout(S[(32,) : (1 @ laneid + 4,)]), "Layout(S[(32,) : (4 + 1 @ laneid,)])"),
        (
            S[(2, 32) : (1 @ warpid, 1 @ laneid)] + R[(2,) : (2 @ warpid,)] + 4 @ warpid + 1 @ m,
            "Layout(S[(2, 32) : (1 @ warpid, 1 @ laneid)], R[(2,) : (2 @ warpid,)], offset=1 + 4 @ warpid)",
        ),
        (
            Layout(S[8, 64], swizzle=Swizzle.B128).bind(16),
            'Layout(S[(8, 64) : (1024, 16)], swizzle=Swizzle(3, 4, 3), unit="bit")',
        ),
        (Layout(S[(N, 4) : (N * 2, -1)], offset=(N - 1) @ tx), "Layout(S[(n, 4) : (2*n, -1)], offset=(n - 1) @ tx)"),
    ],
)
def test_printing(layout, text):
    assert repr(layout) == text
    assert parse(text, n=N) == layout
    names = {"S": S, "R": R, "Layout": Layout, "Swizzle": Swizzle, "n": N, **AXES}
    assert eval(text, names) == layout  # the notation is Python


def test_parse_takes_names_and_expressions():
    assert parse("S[(x, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]", x=4) == Layout(S[(4, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
    assert parse("S[(m//2, k-1) : (k*2+1, -1)]", m=8, k=4) == Layout(S[(4, 3) : (9, -1)])
    assert parse("S[8, 16]") == Layout(S[8, 16]) and parse(" S[8:1] ") == Layout(S[8:1])
    assert parse("S[4 : 1] + R[2 : 1@warpid] + 3@warpid - 1") == S[4:1] + R[2 : 1 @ warpid] + (3 @ warpid - 1)
    assert parse("S[(8,) : (stride,)]", stride=N * 4) == Layout(S[(8,) : (N * 4,)])


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "S[(2,) : (1@lane,)]",
            "can't read '1@lane' in 'S[(2,) : (1@lane,)]': unknown axis; the axes are m, laneid, warpid, wid_in_wg, wgid, "
            "tid_in_wg, tx, cbx, cby, cbz, bx, by, bz, TLane, TCol",
        ),
        ("S[(x,) : (1,)]", "can't read 'x' in 'S[(x,) : (1,)]': the name x has no value here (given: none)"),
        (
            "S[(32,) : (laneid,)]",
            "can't read 'laneid' in 'S[(32,) : (laneid,)]': the name laneid has no value here (given: none); "
            "a step along the axis is written 1 @ laneid",
        ),
        ("T[2 : 1]", "can't read 'T[2 : 1]' in 'T[2 : 1]': expected S[extents : strides] or R[extents : strides]"),
        ("R[2 : 1]", "can't read 'R[2 : 1]' in 'R[2 : 1]': a layout starts with S[extents : strides]"),
        ("S[f(2) : 1]", "can't read 'f(2)' in 'S[f(2) : 1]': only integers, names, + - * // and @ are understood"),
        ("S[2**3 : 1]", "can't read '2**3' in 'S[2**3 : 1]': only integers, names, + - * // and @ are understood"),
        ("S[2//0 : 1]", "can't read '2//0' in 'S[2//0 : 1]': division by 0"),
        ("S[2.0 : 1]", "a number in the notation must be an integer, not 2.0 (float)"),
        ("S[2 : 1@tx@tx]", "can't read '1@tx@tx' in 'S[2 : 1@tx@tx]': a step has one axis; write a sum of steps"),
        ("S[2 : 1 : 1]", "S[extents : strides] has one colon, not two"),
        (
            "Layout(S[2 : 1], base=3)",
            "can't read 'Layout(S[2 : 1], base=3)' in 'Layout(S[2 : 1], base=3)': "
            "unknown argument base; offset, swizzle and unit are known",
        ),
        (
            "Layout(S[2 : 1], swizzle=128)",
            "can't read '128' in 'Layout(S[2 : 1], swizzle=128)': expected Swizzle(bits, base, shift)",
        ),
        ("Layout(R[2 : 1])", "can't read 'Layout(R[2 : 1])' in 'Layout(R[2 : 1])': Layout() takes S[...] and at most one R[...]"),
    ],
)
def test_parse_refuses(text, message):
    with pytest.raises(LayoutError) as error:
        parse(text)
    assert str(error.value) == message


def test_parse_refuses_what_is_no_expression():
    with pytest.raises(LayoutError, match=r"^can't read the layout 'S\[\(2, : 1\]': no expression \(near column \d+\)$"):
        parse("S[(2, : 1]")


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: S[(4, 8, 2) : (1, 1)], "S[(4, 8, 2) : (1, 1)]: 3 extents against 2 strides"),
        (lambda: S[(4, 8) : 1], "S[(4, 8) : 1]: 2 extents against 1 stride"),
        (lambda: S[((2, 4), 8) : (32, 4)], "S[((2, 4), 8) : (32, 4)]: extents (2, 4) against strides 32; nest both alike"),
        (lambda: S[(4, (2, 2)) : (4, (1,))], "S[(4, (2, 2)) : (4, (1,))]: 2 extents against 1 stride"),
        (lambda: S[(4, 0)], "an extent must be at least 1, not 0"),
        (lambda: S[(-4,) : (1,)], "an extent must be at least 1, not -4"),
        (lambda: S[(True, 4)], "an extent must be an integer, not the truth value True"),
        (lambda: S[(4.0,) : (1,)], "an extent must be an integer, not 4.0 (float)"),
        (lambda: S[(4,) : (0.5,)], "a stride must be an integer, not 0.5 (float)"),
        (lambda: S[(4,) : ("m",)], "a stride must be an integer, not 'm' (str)"),
        (lambda: S[(32,) : (laneid,)], "a stride is a number of steps along an axis: write 1 @ laneid instead of laneid"),
        (lambda: laneid @ 4, "a step is written number @ axis, such as 1 @ laneid"),
        (lambda: 1.5 @ laneid, "a step along laneid must be an integer, not 1.5 (float)"),
        (lambda: True @ laneid, "a step along laneid must be an integer, not the truth value True"),
        (lambda: S[4:1:2], "S[extents : strides] has one colon, not two"),
        (lambda: S[4:1, 2:1], "S[...] has one colon between all extents and all strides: S[(8, 4) : (4, 1)]"),
        (lambda: S[4:], "S[extents : strides] needs both sides of the colon; S[extents] is row-major"),
        (lambda: R[2], "R[2] needs strides, such as R[(2,) : (1 @ warpid,)]"),
        (lambda: Layout((4, 8)), "a layout is built from S[extents : strides], not from (4, 8)"),
        (lambda: Layout(S[4], 3), "replicas are written R[extents : strides], not 3"),
        (lambda: Layout(S[4], swizzle=128), "a swizzle is a Swizzle(bits, base, shift), not 128"),
        (
            lambda: Layout(S[4], unit="bytes"),
            'a layout counts "element", "bit", "byte", "word" (32 bits) or bits such as "b16", not \'bytes\'',
        ),
        (
            lambda: Layout(S[4], unit="b256", swizzle=Swizzle.B128),
            "Swizzle(3, 4, 3) keeps 16 bytes together; a unit of 256 bits would be cut by it",
        ),
        (lambda: Layout(S[4], offset=1.0), "an offset must be an integer, not 1.0 (float)"),
        (
            lambda: Layout(S[(64,) : (1 @ laneid,)]),
            "laneid reaches 63 at coordinate (63,); a warp has lanes 0..31: write warpid and laneid, or use tx",
        ),
        (
            lambda: Layout(S[((2, 8), 4) : ((16 @ laneid, 1), 8 @ laneid)]),
            "laneid reaches 40 at coordinate (8, 3); a warp has lanes 0..31: write warpid and laneid, or use tx",
        ),
        (
            lambda: S[(16,) : (1 @ laneid,)] + R[(2, 2) : (16 @ laneid, 1)] + 1 @ laneid,
            "laneid reaches 32 at coordinate (15,) of replica (1, 0); a warp has lanes 0..31: write warpid and laneid, or use tx",
        ),
        (
            lambda: Layout(S[(5,) : (1 @ wid_in_wg,)]),
            "wid_in_wg reaches 4 at coordinate (4,); a warpgroup has warps 0..3: write wgid and wid_in_wg, or use warpid",
        ),
        (
            lambda: Layout(S[(2,) : (128 @ tid_in_wg,)]),
            "tid_in_wg reaches 128 at coordinate (1,); a warpgroup has threads 0..127: write wgid and tid_in_wg, or use tx",
        ),
        (lambda: Layout(S[(4,) : (-1 @ tx,)]), "tx reaches -3 at coordinate (3,); thread indices start at 0"),
        (lambda: Swizzle(3, 4, 2), "Swizzle(3, 4, 2): shift must be at least bits (3), else the bits that are read overlap "
         "the bits that change and the swizzle has no inverse of its own form"),
        (lambda: Swizzle(0, 4, 3), "Swizzle(0, 4, 3): bits must be at least 1 and base at least 0; no swizzle is swizzle=None"),
    ],
)  # fmt: skip
def test_wrong_construction_is_refused(build, message):
    with pytest.raises(LayoutError) as error:
        build()
    assert str(error.value) == message


def test_symbolic_thread_offsets_are_left_to_proofs_unless_they_cannot_be_right():
    lane = Symbol("lane", 0, 63)
    assert Layout(S[(4,) : (1,)], offset=lane @ laneid).offset == lane @ laneid
    with pytest.raises(LayoutError) as error:
        Layout(S[(4,) : (1,)], offset=(lane + 32) @ laneid)
    assert str(error.value).startswith("laneid reaches 32 at coordinate (0,)")


@given(specs())
def test_thread_axes_reduce_to_one_index(spec):
    """The packed reference scales warpid and wgid itself."""
    np.testing.assert_array_equal(packed_table(spec.layout()), spec.positions())


def test_each_thread_axis_counts_threads():
    for axis, threads in ((laneid, 1), (tid_in_wg, 1), (tx, 1), (warpid, 32), (wid_in_wg, 32), (wgid, 128)):
        assert Layout(S[(2,) : (1 @ axis,)])(1) == {m: 0, tx: threads}
    assert Layout(S[(2, 3) : (1 @ TLane, 2 @ TCol)])(1, 2) == {m: 0, TLane: 1, TCol: 4}


def test_terms_add_and_scale():
    assert 5 + 2 @ warpid + 1 @ m == 6 + 2 @ warpid
    assert 64 @ tx + 4 == 4 @ m + 64 @ tx
    assert 3 * (2 @ tx - 1) == 6 @ tx - 3 and 1 @ tx - 1 @ tx == 0
    assert np.int64(3) @ laneid == 3 @ laneid and N + 1 @ tx == N @ m + 1 @ tx
    assert hash(4 @ m) == hash(4) and len({4 @ m, 2 @ tx + 2 @ tx, 4 @ tx}) == 2
    with pytest.raises(TypeError):
        1 @ tx + "x"


def test_axes_are_single_values():
    assert copy.deepcopy(laneid) is laneid and pickle.loads(pickle.dumps(laneid)) is laneid
    assert list(AXES) == [
        "m",
        "laneid",
        "warpid",
        "wid_in_wg",
        "wgid",
        "tid_in_wg",
        "tx",
        "cbx",
        "cby",
        "cbz",
        "bx",
        "by",
        "bz",
        "TLane",
        "TCol",
    ]


def test_sums_of_notation_build_layouts():
    assert S[8:1] + 5 @ tx == Layout(S[8:1], offset=5 @ tx)
    assert 3 + S[8:1] == Layout(S[8:1], offset=3)
    assert S[8:1] + R[2 : 1 @ warpid] == Layout(S[8:1], R[2 : 1 @ warpid])
    assert as_layout(S[8:1]) == Layout(S[8:1]) and as_layout(Layout(S[8:1])) == Layout(S[8:1])
    with pytest.raises(TypeError):
        S[8:1] + "x"
