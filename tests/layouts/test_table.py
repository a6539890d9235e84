"""Tables of positions: constants and symbolic terms apart, shared and read-only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.layouts import Expr, Layout, S, Swizzle, Symbol, TCol, TLane, cbx, laneid, m, tx, warpid

A, B = Symbol("a", 0, 9, divisor=1), Symbol("b", -4, 4)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9), st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=3),
    st.integers(0, 9),
    st.integers(-4, 4),
)
def test_symbolic_strides_add_up_to_the_strides_they_become(dims, a, b):
    extents = tuple(extent for extent, *_ in dims)
    moving = Layout(S[extents : tuple(A * x + B * y + A * B + c for _, c, x, y in dims)], offset=A * 5 + B @ tx + 3)
    fixed = Layout(S[extents : tuple(a * x + b * y + a * b + c for _, c, x, y in dims)], offset=a * 5 + 3)
    table = moving.table()
    values = {A: a, B: b}
    total = table.m + sum(array * Expr({mono: 1}).evaluate(values) for mono, array in table.symbols.items())
    np.testing.assert_array_equal(total, fixed.table().m)
    for mono, array in table.symbols.items():
        assert np.broadcast_shapes(array.shape, extents) == extents, mono
    assert [(mono, array.tolist()) for mono, array in table.thread_symbols.items()] == [((B,), np.ones(extents).tolist())]
    corner = tuple(extent - 1 for extent in extents)
    position = moving(*corner)
    assert Expr.of(position[m]).evaluate(values) == total[corner] and position[tx] == B * 1


def test_arrays_are_computed_once_and_cannot_be_changed():
    layout = Layout(S[(2, 32, 4) : (1 @ warpid, 1 @ laneid, 1)], swizzle=Swizzle(1, 0, 1)).bind(8)
    table = layout.table()
    assert layout.table() is table and table.m is table.m and table.shape == (2, 32, 4)
    for array in (table.m, table.linear, table.thread):
        assert array.shape == (2, 32, 4) and array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0, 0] = 1


def test_axes_that_count_neither_memory_nor_threads_stay_apart():
    table = Layout(S[(2, 128, 8) : (1 @ cbx, 1 @ TLane, 2 @ TCol)], offset=64 @ TCol).table()
    assert set(table.axes) == {cbx, TLane, TCol} and table.thread is None
    assert table.axes[TCol][1, 5].tolist() == [64, 66, 68, 70, 72, 74, 76, 78]
    assert not table.m.any() and table.axes[TLane][0, :, 3].tolist() == list(range(128))


def test_the_layout_of_the_add_one_kernel():
    table = Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]).table()
    warp, lane, row, column = np.indices((2, 32, 3, 4))
    np.testing.assert_array_equal(table.thread, 32 * warp + lane)
    np.testing.assert_array_equal(table.m, 4 * row + column)


def test_a_scalar_has_one_position():
    layout = Layout(S[() : ()], offset=7 + 3 @ tx)
    assert layout.table().m.shape == () and layout.table().m == 7 and layout.table().thread == 3
    assert layout() == {m: 7, tx: 3} and layout.coordinates(7 + 3 @ tx) == [()] and layout.size == 1
    assert Layout(S[() : ()], offset=16, swizzle=Swizzle.B128).bind(8).table().m == 128
