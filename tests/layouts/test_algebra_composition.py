"""Composition against brute force: outer's homes of the element that inner names."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import Layout, LayoutError, S, compose
from tests.layouts.algebra_strategies import SWIZZLES, homes, inners, wild
from tests.layouts.strategies import packed_table
from tests.layouts.test_operations import _is_strided


@settings(max_examples=200)
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
