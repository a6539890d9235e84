"""Sizes, runs and alignments by brute force, through swizzles; and units."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.layouts import (
    Layout,
    LayoutError,
    R,
    S,
    Swizzle,
    Symbol,
    alignment,
    contiguous_run,
    image_size,
    in_units,
    m,
    tx,
    warpid,
)
from tests.layouts.algebra_strategies import SWIZZLES, chains, homes, wild


@given(st.one_of(wild(), chains(axes=("m", "tx")).map(lambda drawn: drawn[0])))
def test_image_size_counts_positions(layout):
    assert image_size(layout) == len(set().union(*homes(layout)))


@st.composite
def swizzled(draw):
    """(layout, bits of an element) in one of several units, with and without a swizzle, contiguous more often than not."""
    bits, swizzle = draw(st.sampled_from([(16, None), *SWIZZLES]))
    layout = draw(
        st.one_of(wild(replicas=False), chains(gaps=False).map(lambda drawn: drawn[0]), chains().map(lambda drawn: drawn[0]))
    )
    if layout.ndim and draw(st.booleans()):
        layout = layout.permute(
            sorted(range(layout.ndim), key=lambda place: -abs(layout.dims[place][-1][1][m]) if layout.dims[place] else 0)
        )
    layout = layout + draw(st.sampled_from([0, 0, 4, 16]))
    copies = draw(st.sampled_from([(), ((2, 64 @ m),), ((3, 6 @ m),)]))
    bound = Layout._of(layout.dims, copies, layout.offset, swizzle).bind(bits)
    return bound.in_units(draw(st.sampled_from(["bit", bits]))), bits


def step_of(layout, bits):
    return {"bit": bits}.get(layout.unit, 1)


@given(swizzled())
def test_contiguous_run_is_the_longest(drawn):
    layout, bits = drawn
    step = step_of(layout, bits)
    table = layout.expand_replicas().table()
    places = table.m.ravel()
    threads = np.zeros(places.size, int) if table.thread is None else table.thread.ravel()

    def follows(n):
        runs, owners = places.reshape(-1, n), threads.reshape(-1, n)
        return (runs == runs[:, :1] + step * np.arange(n)).all() and (owners == owners[:, :1]).all()

    assert contiguous_run(layout, step) == max(n for n in range(1, layout.size + 1) if layout.size % n == 0 and follows(n))


@given(swizzled(), st.data())
def test_alignment_divides_every_start_and_nothing_greater_does(drawn, data):
    layout, _ = drawn
    run = data.draw(st.sampled_from([n for n in range(1, layout.size + 1) if layout.size % n == 0]))
    starts = layout.expand_replicas().table().m.reshape(-1, layout.size // run, run)[:, :, 0]
    try:
        found = alignment(layout, run)
    except LayoutError as error:
        assert "can't reshape" in str(error)
        return
    assert found == math.gcd(*starts.ravel().tolist())


def test_runs_and_alignments_of_a_swizzled_tile():
    tile = Layout(S[64, 64], swizzle=Swizzle.B128).bind(16)
    assert (contiguous_run(tile, 16), alignment(tile, 8)) == (8, 128)
    assert contiguous_run(tile.in_units(16)) == 8 and contiguous_run(tile[0], 16) == 64 and contiguous_run(tile[1], 16) == 8
    assert contiguous_run(tile[:, 0:4], 16) == 4 and contiguous_run(tile.permute(1, 0), 16) == 1
    assert (
        contiguous_run(Layout(S[(32, 224) : (256, 1)])) == 224
        and contiguous_run(Layout(S[(2, 3, 224) : (1 @ warpid, 224, 1)])) == 672
    )
    assert contiguous_run(Layout(S[(4, 8) : (1 @ tx, 0)])) == 1 and contiguous_run(Layout(S[(4, 8) : (1 @ tx, 0)]), 0) == 8
    assert contiguous_run(Layout(S[2:2], offset=1, swizzle=Swizzle(1, 0, 1), unit="byte")) == 2  # bytes 1 and 3 go to 1 and 2
    n, row = Symbol("n", 0, 64, divisor=8), Symbol("row", 0, 7)
    assert alignment(Layout(S[(4, 8) : (n, 1)], offset=4), 8) == 4 and alignment(Layout(S[8 : n * 2])) == 16
    assert alignment(Layout(S[4:0])) == 0
    assert alignment(tile + n * 1024, 8) == 128
    assert image_size(Layout(S[(4, 8) : (8, 0)]) + R[3:100]) == 12 and image_size(Layout(S[(n * 0 + 4, 8) : (n + 8, 1)])) == 32
    for build, message in [
        (
            lambda: contiguous_run(Layout(S[8, 64], swizzle=Swizzle.B128)),
            "the run of Layout(S[(8, 64) : (64, 1)], swizzle=Swizzle(3, 4, 3)) depends on "
            "the size of its elements: Swizzle(3, 4, 3) permutes bytes\n  legal: bind(bits_per_element) first",
        ),
        (lambda: alignment(tile, 48), "runs of 48 don't divide the 4096 elements\n  legal: a divisor of 4096"),
        (
            lambda: alignment(tile[row], 8),
            "the alignment of " + repr(tile[row].reshape(8, 8)[:, 0]) + " is known only at run time, through its swizzle",
        ),
        (
            lambda: image_size(Layout(S[(4, 8) : (n, 1)])),
            "how many positions Layout(S[(4, 8) : (n, 1)]) has depends on run-time values; give its "
            "symbols ranges that settle it",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message


# --- units ------------------------------------------------------------------------------------------------------------


@given(wild(), st.sampled_from([4, 8, 16, 32, 96]), st.sampled_from(["bit", "byte", "word", "b16", "b48", 64]))
def test_units_count_the_same_places(layout, bits, unit):
    bound = layout.bind(bits)
    size = {"bit": 1, "byte": 8, "word": 32, "b16": 16, "b48": 48, 64: 64}[unit]
    full = bound.expand_replicas()
    strides = [s[m] for part in (*bound.dims, bound.replica_dims) for e, s in part if e != 1]
    whole = not any(int(value) % size for value in (*strides, bound.offset[m]))
    try:
        found = in_units(bound, unit)
    except LayoutError as error:
        assert "can't be counted in units of" in str(error) and not whole
        return
    assert whole and found.unit == {64: "b64"}.get(unit, unit)
    np.testing.assert_array_equal(found.expand_replicas().table().m * size, full.table().m)
    assert in_units(found, "bit") == bound and (bound.table().thread is None) == (found.table().thread is None)


@given(st.sampled_from(SWIZZLES), st.sampled_from([1, 8, 16]))
def test_units_see_through_swizzles(drawn, size):
    bits, swizzle = drawn
    bound = Layout(S[(4, 4, 4) : (4, 16, 1)], swizzle=swizzle).bind(bits)
    if swizzle.granule * 8 % size:
        with pytest.raises(LayoutError, match=r"bytes together; a unit of 16 bits would be cut by it"):
            bound.in_units(size)
        return
    if bits % size:
        with pytest.raises(LayoutError, match="can't be counted in units of"):
            bound.in_units(size)
        return
    found = bound.in_units(size)
    np.testing.assert_array_equal(found.table().m * size, bound.table().m)
    assert all(found(*place)[m] * size == bound(*place)[m] for place in np.ndindex(4, 4, 4))
    assert found.span() == tuple(value // size for value in bound.span())


def test_units_never_mix():
    tile = Layout(S[8, 64], swizzle=Swizzle.B128)
    halves = tile.bind(16)
    assert [halves.in_units(unit).unit for unit in (1, 8, 16, "byte", "b8")] == ["bit", "byte", "b16", "byte", "byte"]
    assert halves.in_units(16) == Layout(S[8, 64], swizzle=Swizzle.B128, unit="b16") and repr(halves.in_units(16)).endswith(
        'unit="b16")'
    )
    for build, message in [
        (
            lambda: tile.in_units("byte"),
            "Layout(S[(8, 64) : (64, 1)], swizzle=Swizzle(3, 4, 3)) counts elements, whose size is not known\n"
            "  legal: bind(bits_per_element) first, then in_units('byte')",
        ),
        (
            lambda: halves.in_units("element"),
            'Layout(S[(8, 64) : (1024, 16)], swizzle=Swizzle(3, 4, 3), unit="bit") counts bits, and does not know the '
            'size of its elements\n  legal: the number of bits of an element: in_units("b16")',
        ),
        (
            lambda: halves.in_units("word"),
            'Layout(S[(8, 64) : (1024, 16)], swizzle=Swizzle(3, 4, 3), unit="bit") can\'t be counted in units of 32 bits: '
            "the stride 16 of 16 bits is no multiple of 32\n  legal: a unit that divides it, or "
            "elements packed into wider ones first (pack, retype)",
        ),
        (
            lambda: halves.in_units(8) == halves,
            "a layout in bytes can't be compared with one in bits; count the other one so: in_units('byte')",
        ),
        (
            lambda: halves.in_units(8).bind(8),
            'Layout(S[(8, 64) : (128, 2)], swizzle=Swizzle(3, 4, 3), unit="byte") counts bytes already; bind() turns '
            "elements into bits once",
        ),
        (
            lambda: tile.compose(Layout(S[8, 64], swizzle=Swizzle.B128)),
            "Swizzle(3, 4, 3) permutes bytes, and the inner layout numbers elements of unknown "
            "size\n  legal: both in units of the element's size: bind(bits).in_units(bits)",
        ),
        (
            lambda: halves.compose(halves.in_units(8)),
            "the inner layout counts bytes, and outer bits; numbers of elements are neither bits nor bytes\n"
            "  legal: an inner layout in elements, or in_units('bit') where an element of outer is one bit",
        ),
        (
            lambda: tile.compose(halves),
            "the inner layout counts bits, and outer elements; numbers of elements are neither bits nor bytes\n"
            "  legal: an inner layout in elements",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message
