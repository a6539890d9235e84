"""Composition against brute force: outer's homes of the element that inner names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import Layout, LayoutError, S, Symbol, complement, compose, image_size, inverse, reshape, span, tile, tx
from tests.layouts.algebra_strategies import SWIZZLES, homes, inners, wild
from tests.layouts.strategies import packed_table
from tests.layouts.test_operations import _is_strided


@settings(max_examples=120)
@given(wild(), st.data())
def test_composition_is_outer_behind_inner(outer, data):
    inner = data.draw(inners(outer.size))
    numbers = inner.table().linear
    expected = packed_table(outer).ravel()[numbers]
    try:
        found = compose(outer, inner)
    except LayoutError as error:  # refused only where the positions are those of no layout
        assert "the composition is no layout" in str(error)
        assert not _is_strided(expected)
        return
    assert found.shape == inner.shape
    outer_homes = homes(outer)
    assert homes(found) == [outer_homes[number] for number in numbers.ravel()]


@given(wild(replicas=False), st.data())
def test_replicas_of_inner_are_homes_too(outer, data):
    inner = data.draw(inners(outer.size, most=8))
    if inner.ndim < 2:
        return
    (copies,), rest = inner.dims[0], inner.dims[1:]
    spread = Layout._of(rest, (copies,), inner.offset)
    try:
        found = compose(outer, spread)
    except LayoutError:
        return
    whole = compose(outer, inner)
    assert homes(found) == [set(column) for column in packed_table(whole).reshape(copies[0], -1).T.tolist()]


@given(wild(), st.data())
def test_by_dimension_each_coordinate_goes_through_its_own(outer, data):
    parts = [data.draw(st.one_of(st.none(), inners(extent, most=8))) for extent in outer.shape]
    numbers = [np.arange(extent) if part is None else part.table().linear for part, extent in zip(parts, outer.shape)]
    try:
        found = compose(outer, parts)
    except LayoutError as error:
        assert "the composition is no layout" in str(error)
        return
    grid = packed_table(outer)
    for place in reversed(range(outer.ndim)):
        grid = np.take(grid, numbers[place], axis=place)
    np.testing.assert_array_equal(packed_table(found), grid)
    assert homes(found.replicas) == homes(outer.replicas)


@given(st.data())
def test_swizzles_of_both_compose(data):
    """Outer's swizzle stays; inner's moves behind outer, or is refused: never a wrong position."""
    bits, first = data.draw(st.sampled_from(SWIZZLES))
    second = data.draw(st.sampled_from([None, first, *(s for b, s in SWIZZLES if b == bits)]))
    outer = Layout(S[data.draw(st.sampled_from([(64,), (8, 8), (4, 16), (2, 2, 16)]))], swizzle=second)
    order = data.draw(st.permutations(range(outer.ndim)))
    outer = (outer.permute(order) + data.draw(st.sampled_from([0, 0, 64, 8]))).bind(bits).in_units(bits)
    inner = Layout(S[data.draw(st.sampled_from([(64,), (8, 8), (16, 4)]))], swizzle=first).bind(bits).in_units(bits)
    expected = outer.table().m.ravel()[inner.table().m]
    try:
        found = compose(outer, inner)
    except LayoutError as error:
        assert str(first) in str(error)
    else:
        assert found.unit == outer.unit
        np.testing.assert_array_equal(found.table().m, expected)


def test_runtime_parts_of_compositions():
    n, row = Symbol("n", 1), Symbol("row", 0, 3)
    outer = Layout(S[(4, 2, 8) : (n, n * 4, 1)])
    assert compose(outer, Layout(S[(2, 4) : (16, 2)])) == Layout(S[(2, 4) : (n, 2)])
    assert compose(outer, Layout(S[8], offset=row * 16)) == Layout(S[8], offset=row * n)
    assert compose(outer, Layout(S[2], offset=row * 2)) == Layout(S[2], offset=row * 2)
    tall = Layout(S[(Symbol("rows", 8, key="rows"), 8) : (n, 1)])
    assert compose(tall, Layout(S[(4, 8)])) == Layout(S[(4, 8) : (n, 1)])
    flat = Layout(S[64:2])
    step = Symbol("step", 0, 20)
    assert compose(flat, Layout(S[4:step], offset=3)) == Layout(S[4 : step * 2], offset=6)
    for build, message in [
        (
            lambda: compose(tall, Layout(S[(9, 8)])),
            "the inner layout reaches the number 71 at coordinate (8, 7); the elements of shape (rows, 8) end at 8*rows - 1",
        ),
        (
            lambda: compose(flat, Layout(S[4:step], offset=5)),
            "the inner layout reaches the number 3*step + 5 at coordinate (3,); the elements of shape (64,) end at 63",
        ),
        (
            lambda: compose(outer, Layout(S[8], offset=row * 7)),
            "the composition is no layout: the digits of the offset (7*row) in 8 are not known\n"
            "  legal: extents of which one divides the other where they meet",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message


def test_compositions_refused_and_why():
    outer = Layout(S[(4, 6) : (10, 1)])
    for build, message in [
        (
            lambda: compose(outer, Layout(S[8])),
            "the composition is no layout: the inner dimension 8 : 1 crosses outer's extent 6 after 6, which does not "
            "divide 8; the first coordinate that no strides reach is (6,)\n  legal: extents of which one divides the other where they meet",
        ),
        (
            lambda: compose(outer, Layout(S[(2, 3) : (5, 2)])),
            "the composition is no layout: the numbers Layout(S[(2, 3) : (5, 2)]) carry out of outer's "
            "extent 6: its digit would reach 9; the first coordinate that no strides reach is (1, 1)\n  legal: extents of which one "
            "divides the other where they meet",
        ),
        (
            lambda: compose(outer, 25),
            "the inner layout reaches the number 24 at coordinate (24,); the elements of shape (4, 6) end at 23",
        ),
        (
            lambda: compose(outer, Layout(S[4:-1], offset=2)),
            "the inner layout reaches the number -1 at coordinate (3,); elements of shape (4, 6) start at 0",
        ),
        (
            lambda: compose(outer, Layout(S[(4,) : (1 @ tx,)])),
            "the inner layout is Layout(S[(4,) : (1 @ tx,)]): positions on tx are no numbers of elements\n"
            "  legal: an inner layout on m alone, which counts outer's elements row-major",
        ),
        (
            lambda: compose(outer, (None,)),
            "1 inner layouts for the 2 dimensions of shape (4, 6)\n  legal: one for each dimension, None for those that stay",
        ),
        (
            lambda: compose(outer, (2, 7)),
            "the inner layout reaches the number 6 at coordinate (6,); the elements of shape (6,) end at 5",
        ),
        (lambda: compose(outer, "x"), "the inner layout must be an integer, not 'x' (str)"),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message
    assert compose(outer, (2, None)) == Layout(S[(2, 6) : (10, 1)]) == outer.compose((Layout(S[2]), S[6]))
    # Crossing an extent is no matter where the positions happen to go on.
    assert compose(outer, Layout(S[(2, 2) : (2, 1)], offset=4)) == Layout(S[(2, 2) : (6, 1)], offset=4)


def test_a_shard_is_a_layout_and_nothing_else_is():
    assert complement(S[4:2], 24) == complement(Layout(S[4:2]), 24) and compose(outer=S[8], inner=S[2:4]) == Layout(S[2:4])
    assert reshape(S[8], 2, 4) == Layout(S[2, 4]) and image_size(S[(4, 2) : (0, 1)]) == 2
    for question in (image_size, inverse, span, lambda value: tile(value, 2)):
        with pytest.raises(LayoutError) as error:
            question(8)
        assert str(error.value) == "a layout is built from S[extents : strides], not from 8"
