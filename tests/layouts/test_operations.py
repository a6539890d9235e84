"""Every operation against NumPy indexing of an array of positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import Layout, LayoutError, S, Swizzle, Symbol, TLane, m, tx
from tests.layouts.strategies import Spec, dim, factors, packed_calls, packed_table, specs


@given(specs())
def test_table_and_calls_are_the_sums_of_coordinate_times_stride(spec):
    layout = spec.layout()
    expected = spec.positions()
    assert layout.shape == spec.shape and layout.size == expected.size
    np.testing.assert_array_equal(packed_table(layout), expected)
    np.testing.assert_array_equal(packed_calls(layout), expected)


@given(specs(replicas=2), st.data())
def test_coordinates_finds_exactly_the_elements_at_a_position(spec, data):
    layout = spec.layout()
    positions, displacements = spec.positions(), sorted(spec.displacements())
    element = data.draw(st.sampled_from(list(np.ndindex(*spec.shape))))
    wanted = positions[element] + data.draw(st.sampled_from(displacements))
    expected = [e for e in np.ndindex(*spec.shape) if any(positions[e] + d == wanted for d in displacements)]
    rest, lane = (wanted + (1 << 19)) % (1 << 40), (wanted + (1 << 19)) // (1 << 40)
    position = {m: rest % (1 << 20) - (1 << 19), tx: rest // (1 << 20), TLane: lane}
    assert layout.coordinates({axis: int(value) for axis, value in position.items()}) == expected


@given(specs(), st.data())
def test_reshape_is_numpys(spec, data):
    layout, positions = spec.layout(), spec.positions()
    shape = data.draw(factors(layout.size))
    try:
        result = layout.reshape(shape)
    except LayoutError:
        # Refused only when the positions really are no mixed-radix function of the new coordinates.
        assert not _is_strided(positions.reshape(shape))
    else:
        assert result.shape == shape
        np.testing.assert_array_equal(packed_table(result), positions.reshape(shape))


def _is_strided(positions):
    """Whether the array is a sum of one function for each dimension (what any layout of its shape is)."""
    origin = positions[(0,) * positions.ndim]
    total = np.full(positions.shape, origin)
    for axis in range(positions.ndim):
        line = positions[tuple(slice(None) if a == axis else 0 for a in range(positions.ndim))]
        total = total + (line - origin).reshape([-1 if a == axis else 1 for a in range(positions.ndim)])
    return np.array_equal(total, positions) and all(_mixed_radix(positions, axis) for axis in range(positions.ndim))


def _mixed_radix(positions, axis):
    """Whether one dimension's function is linear in the digits of some factorisation of its extent."""
    line = positions[tuple(slice(None) if a == axis else 0 for a in range(positions.ndim))]
    return _linear_in_digits(tuple(int(v) for v in line - line[0]))


def _linear_in_digits(line):
    if len(line) == 1:
        return True
    for inner in (d for d in range(2, len(line) + 1) if len(line) % d == 0):
        rows = [line[i : i + inner] for i in range(0, len(line), inner)]
        linear = all(row[i] - row[0] == i * (line[1] - line[0]) for row in rows for i in range(inner))
        if linear and _linear_in_digits(tuple(row[0] for row in rows)):
            return True
    return False


@given(specs(min_dims=1), st.data())
def test_permute_is_numpys_transpose(spec, data):
    order = data.draw(st.permutations(range(len(spec.shape))))
    result = spec.layout().permute(order)
    np.testing.assert_array_equal(packed_table(result), spec.positions().transpose(order))


@given(specs(min_dims=1), st.data())
def test_group_merges_and_ungroup_splits(spec, data):
    layout, positions = spec.layout(), spec.positions()
    first = data.draw(st.integers(0, layout.ndim - 1))
    stop = data.draw(st.integers(first + 1, layout.ndim))
    shape = (*spec.shape[:first], math.prod(spec.shape[first:stop]), *spec.shape[stop:])
    grouped = layout.group(first, stop)
    np.testing.assert_array_equal(packed_table(grouped), positions.reshape(shape))
    inner = [extent for part in spec.dims[first:stop] for extent, _ in part]
    again = grouped.ungroup(first)
    np.testing.assert_array_equal(packed_table(again), positions.reshape(*spec.shape[:first], *inner, *spec.shape[stop:]))


@st.composite
def _boxes(draw, shape):
    starts, extents, steps = [], [], []
    for whole in shape:
        start = draw(st.integers(0, whole - 1))
        step = draw(st.integers(1, 4))
        starts.append(start)
        steps.append(step)
        extents.append(draw(st.integers(1, (whole - 1 - start) // step + 1)))
    return starts, extents, steps


@given(specs(min_dims=1), st.data())
def test_sub_is_a_box_of_the_positions(spec, data):
    starts, extents, steps = data.draw(_boxes(spec.shape))
    box = tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, extents, steps))
    expected = spec.positions()[box]
    try:
        result = spec.layout().sub(starts, extents, steps)
    except LayoutError as error:
        assert "only whole rows or a part of one row form a layout" in str(error)
        assert any(len(part) > 1 for part in spec.dims)
    else:
        assert result.shape == tuple(extents)
        np.testing.assert_array_equal(packed_table(result), expected)


@given(specs(min_dims=1, nested=1), st.data())
def test_runtime_starts_place_the_same_box(spec, data):
    starts, extents, steps = data.draw(_boxes(spec.shape))
    symbols = [Symbol(f"s{place}", 0, whole - 1) for place, whole in enumerate(spec.shape)]
    moving = spec.layout().sub(symbols, extents, steps)
    table = moving.table()
    assert all(mono in [(s,) for s in symbols] for mono in table.symbols)
    shift = sum(array * starts[symbols.index(mono[0])] for mono, array in table.symbols.items())
    fixed = spec.layout().sub(starts, extents, steps)
    np.testing.assert_array_equal(table.m + shift, fixed.table().m)


@pytest.mark.parametrize(
    "index",
    [
        (3,),
        (slice(2, 6),),
        (slice(None), 5),
        (..., slice(1, 12, 3)),
        (slice(None, None, 2), ..., 0),
        (4, 5, slice(8, None)),
        (slice(5, 8), 0),
    ],
)
def test_indexing_is_numpys(index):
    spec = Spec([[(8, {"warpid": 1})], [(6, {"m": 40})], [(12, {"m": 3})]], {"m": 7})
    expected = spec.positions()[index]
    result = spec.layout()[index]
    assert result.shape == expected.shape
    np.testing.assert_array_equal(packed_table(result), expected)


@given(specs(), st.data())
def test_any_index_is_numpys(spec, data):
    """An int, a slice or all of each dimension; only part of a dimension of several strides may be refused."""
    index = []
    for extent in spec.shape:
        start = data.draw(st.integers(0, extent - 1))
        stop, step = data.draw(st.integers(start + 1, extent)), data.draw(st.integers(1, 3))
        parts = [slice(None), slice(start, stop), slice(start, stop, step), slice(start, None, step)]
        index.append(data.draw(st.sampled_from([start, *parts])))
    index = tuple(index[: data.draw(st.integers(0, len(index)))])
    expected = spec.positions()[index]
    try:
        result = spec.layout()[index]
    except LayoutError:
        assert any(isinstance(one, slice) and one != slice(None) and len(dims) > 1 for one, dims in zip(index, spec.dims))
        return
    assert result.shape == expected.shape
    np.testing.assert_array_equal(packed_table(result), expected)


def test_runtime_index_drops_its_dimension_and_moves_the_offset():
    i, j = Symbol("i", 0, 7), Symbol("j", 0, 15)
    layout = Layout(S[(8, 16) : (1 @ tx, 2)])
    assert layout[i, j].offset == j * 2 + i @ tx
    assert layout[i].shape == (16,) and layout[i * 1, j : j + 1].shape == (1,)
    assert layout[:, 4 * 1 : 8].offset == 8 @ m


def test_runtime_start_of_a_nested_dimension_splits_only_where_it_provably_can():
    i = Symbol("i", 0, 3)
    layout = Layout(S[((4, 8),) : ((100, 1),)])
    assert layout.sub((i * 8,), (8,)) == Layout(S[(8,) : (1,)], offset=i * 100)
    assert layout.sub((i * 8 + 2,), (4,)) == Layout(S[(4,) : (1,)], offset=i * 100 + 2)
    assert layout[i * 8 + 3].offset == i * 100 + 3
    with pytest.raises(LayoutError) as error:
        layout.sub((Symbol("j", 0, 31),), (4,))
    assert str(error.value) == (
        "(j) is not known to divide by 8: j would have to stay between two multiples of 8, and its known range is 0..31"
    )


@given(st.data())
def test_rearrange_is_numpys_reshape_transpose_reshape(data):
    groups = data.draw(st.lists(st.lists(st.integers(1, 4), max_size=2), min_size=1, max_size=3))
    sizes = [size for group in groups for size in group]
    names = [f"a{place}" for place in range(len(sizes))]
    dims = [[(size, data.draw(dim)[1]) for size in group] or [(1, {"m": 0})] for group in groups]
    spec = Spec(dims, {"m": 3})
    order = data.draw(st.permutations(range(len(sizes))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sizes)), max_size=3)))
    right = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(sizes)])]
    counter = iter(names)
    left_text = " ".join(_group_text([next(counter) for _ in group]) for group in groups)
    right_text = " ".join(_group_text([names[place] for place in group]) for group in right)
    result = spec.layout().rearrange(f"{left_text} -> {right_text}", **dict(zip(names, sizes)))
    expected = spec.positions().reshape(sizes).transpose(order)
    expected = expected.reshape([math.prod(sizes[place] for place in group) for group in right])
    np.testing.assert_array_equal(packed_table(result), expected)


def _group_text(names):
    return names[0] if len(names) == 1 else f"({' '.join(names)})" if names else "1"


def test_rearrange_infers_one_size_of_each_dimension():
    layout = Layout(S[64, 6])
    assert layout.rearrange("(w l) (r v) -> w l r v", l=32, v=3).shape == (2, 32, 2, 3)
    assert layout.rearrange("(w l) r -> r (l w)", l=32).shape == (6, 64)


@given(st.sampled_from([4, 8, 16, 32]), st.sampled_from([2, 4, 8]), st.integers(1, 6), st.data())
def test_retype_is_numpys_view(narrow, ratio, rows, data):
    """The narrow elements of a wide element are its bits from the lowest up; there and back is the identity."""
    wide = narrow * ratio
    columns = data.draw(st.integers(1, 5))
    stride = data.draw(st.integers(0, 40))
    layout = Layout(S[(rows, columns) : (stride, 1)], offset=data.draw(st.integers(0, 5))).bind(wide)
    split = layout.retype(wide, narrow)
    assert split.shape == (rows, columns * ratio)
    expected = (layout.table().m[:, :, None] + np.arange(ratio) * narrow).reshape(rows, -1)
    np.testing.assert_array_equal(split.table().m, expected)
    assert split.retype(narrow, wide) == layout


def test_elements_fall_apart_wherever_they_lie():
    """Narrower elements need no contiguous dimension: each element is split by itself."""
    halves = Layout(S[(4, 8) : (1, 4)]).bind(32).retype(32, 16)
    assert halves.shape == (4, 16)
    for row, column, half in np.ndindex(4, 8, 2):
        assert halves(row, 2 * column + half) == {m: 32 * (row + 4 * column) + 16 * half}
    owned = Layout(S[(8, 4) : (4 @ tx, 1 @ tx)]).bind(32).retype(32, 16)
    assert owned.shape == (8, 8) and owned(3, 5) == {m: 16, tx: 14}


def test_retype_through_a_swizzle_keeps_the_bytes():
    """A bf16 tile seen as f32: each f32 is where its two bf16 halves are."""
    halves = Layout(S[(8, 64)], swizzle=Swizzle.B128).bind(16)
    words = halves.retype(16, 32)
    assert words.shape == (8, 32)
    np.testing.assert_array_equal(words.table().m, halves.table().m[:, ::2])
    np.testing.assert_array_equal(words.table().m + 16, halves.table().m[:, 1::2])


def test_bind_turns_memory_positions_into_bits_and_nothing_else():
    spec = Spec([[(4, {"m": 3, "warpid": 1})], [(5, {"m": -1})]], {"m": 9, "TLane": 2}, [(2, {"m": 100})])
    plain, bound = spec.layout(), spec.layout().bind(12)
    assert (plain.unit, bound.unit) == ("element", "bit")
    np.testing.assert_array_equal(bound.table().m, plain.table().m * 12)
    np.testing.assert_array_equal(bound.table().thread, plain.table().thread)
    np.testing.assert_array_equal(bound.table().axes[TLane], plain.table().axes[TLane])
    assert bound.replicas.table().m.tolist() == [0, 1200]


@settings(max_examples=30)
@given(specs(min_dims=1), st.data())
def test_views_of_swizzled_layouts_swizzle_the_same_positions(spec, data):
    """Slicing and reshaping act before the swizzle, so the swizzled positions are sliced and reshaped alike."""
    from ptxgen.layouts import AxisTerm

    swizzle = data.draw(st.sampled_from([Swizzle.B32, Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM32, Swizzle(2, 2, 3)]))
    dims = [[(e, {"m": s.get("m", 0) * 11}) for e, s in part] for part in spec.dims]
    inner = Spec(dims, {"m": 64})
    extents = tuple(tuple(e for e, _ in part) for part in inner.dims)
    strides = tuple(tuple(s["m"] for _, s in part) for part in inner.dims)
    layout = Layout(S[extents:strides], offset=AxisTerm.of(64), swizzle=swizzle).bind(16)
    linear = inner.positions() * 2  # bytes
    mask = ((1 << swizzle.bits) - 1) << swizzle.base
    expected = (linear ^ ((linear >> swizzle.shift) & mask)) * 8
    np.testing.assert_array_equal(layout.table().m, expected)
    place = data.draw(st.integers(0, spec.shape[0] - 1))
    np.testing.assert_array_equal(layout[place].table().m, expected[place])
    np.testing.assert_array_equal(layout.reshape(layout.size).table().m, expected.reshape(-1))


@given(specs(replicas=2))
def test_expand_replicas_lists_every_home(spec):
    full = spec.layout().expand_replicas()
    homes = packed_table(full).reshape(-1, *spec.shape)
    expected = spec.positions()
    for element in np.ndindex(*spec.shape):
        assert set(homes[(slice(None), *element)].tolist()) == {int(expected[element]) + d for d in spec.displacements()}


@given(specs(replicas=2))
def test_span_is_the_least_and_greatest_position(spec):
    layout = spec.layout()
    linear = layout.expand_replicas().table().m
    assert layout.span() == (linear.min(), linear.max())


def test_span_of_runtime_strides_is_symbolic():
    n = Symbol("n", 1)
    assert Layout(S[(4, 8) : (n * 8, 1)], offset=n).span() == (n, n * 25 + 7)
    assert Layout(S[(4, 8) : (-n, 1)]).span() == (n * -3, 7)
    assert Layout(S[(Symbol("rows", 0, key="rows"), 8)]).span() == (0, Symbol("rows", 0, key="rows") * 8 - 1)
    swizzled = Layout(S[(8, 64)], swizzle=Swizzle.B128, offset=n * 512).bind(16)
    assert swizzled.span() == (n * 8192, n * 8192 + 8176)
    with pytest.raises(LayoutError, match="is known only at run time, through its swizzle"):
        Layout(S[(2, 64) : (n * 512, 1)], swizzle=Swizzle.B128, offset=n * 512).bind(16).span()


def test_runtime_extents_stay_whole():
    n = Symbol("n", 0, None, divisor=8)
    layout = Layout(S[(n, 64)])
    assert layout.shape == (n, 64) and not layout.is_static
    assert layout.permute(1, 0).shape == (64, n)
    assert layout[3].offset == 192
    assert layout.rearrange("r (a b) -> a r b", b=8).shape == (8, n, 8)
    assert layout.sub((n - 8, 0), (8, 64)).offset == n * 64 - 512
    assert layout[0:n].shape == (n, 64)
    assert Layout(S[(n, 64)]).reshape(n, 8, 8).shape == (n, 8, 8)
