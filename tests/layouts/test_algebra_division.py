"""Division, products, sums, broadcasts and packing, each by its defining property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import (
    Layout,
    LayoutError,
    R,
    S,
    Swizzle,
    Symbol,
    blocked_product,
    broadcast,
    complement,
    direct_sum,
    flat_divide,
    laneid,
    logical_divide,
    logical_product,
    m,
    pack,
    raked_product,
    tile,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    tx,
    unpack,
    zipped_divide,
    zipped_product,
)
from tests.layouts.algebra_strategies import chains, homes, wild
from tests.layouts.strategies import packed_table
from tests.layouts.test_operations import _is_strided


def positions(layout):
    return packed_table(layout)


@st.composite
def tilers(draw, extent):
    """A layout whose copies fill `extent`: some of the digits of a factorisation of it."""
    dims, weight = [], 1
    while weight < extent:
        factor = draw(st.sampled_from([f for f in range(2, extent // weight + 1) if extent // weight % f == 0]))
        if draw(st.booleans()):
            dims.append((factor, weight))
        weight *= factor
    order = draw(st.permutations(dims))
    return Layout(S[tuple(e for e, _ in order) : tuple(s for _, s in order)])


@settings(max_examples=70)
@given(wild(replicas=False), st.data())
def test_division_by_element_numbers(layout, data):
    tiler = data.draw(
        st.one_of(tilers(layout.size), st.sampled_from([d for d in range(1, layout.size + 1) if layout.size % d == 0]))
    )
    inner = Layout(S[tiler]) if isinstance(tiler, int) else tiler
    rest = complement(inner, layout.size)
    numbers = (inner.table().m[..., None] + rest.table().m).reshape(*inner.shape, rest.size)
    try:
        found = logical_divide(layout, tiler)
    except LayoutError as error:
        assert "the composition is no layout" in str(error)
        return
    expected = positions(layout).ravel()[numbers]
    assert sorted(numbers.ravel()) == list(range(layout.size))
    np.testing.assert_array_equal(positions(found), expected)
    np.testing.assert_array_equal(positions(flat_divide(layout, tiler)), expected)
    np.testing.assert_array_equal(positions(tiled_divide(layout, tiler)), expected.reshape(inner.size, rest.size))
    np.testing.assert_array_equal(positions(zipped_divide(layout, tiler)), expected.reshape(inner.size, rest.size))


@settings(max_examples=70)
@given(wild(replicas=False), st.data())
def test_division_by_dimension(layout, data):
    tiler = [data.draw(st.one_of(st.none(), tilers(extent))) for extent in layout.shape]
    grid, inside, rests = positions(layout), [], []
    for place in reversed(range(layout.ndim)):
        one = tiler[place]
        if one is not None:
            rest = complement(one, layout.shape[place])
            numbers = (one.table().m[..., None] + rest.table().m).reshape(*one.shape, rest.size)
            grid = np.take(grid, numbers, axis=place)
    at = 0
    for one in tiler:
        count = 0 if one is None else one.ndim
        inside += range(at, at + count)
        rests.append(at + count)
        at += count + 1
    try:
        found = logical_divide(layout, tiler)
    except LayoutError as error:
        assert "the composition is no layout" in str(error)
        return
    np.testing.assert_array_equal(positions(found), grid)
    flat = grid.transpose(*inside, *rests)
    np.testing.assert_array_equal(positions(flat_divide(layout, tiler)), flat)
    sizes = flat.shape[: len(inside)], flat.shape[len(inside) :]
    np.testing.assert_array_equal(positions(tiled_divide(layout, tiler)), flat.reshape(int(np.prod(sizes[0])), *sizes[1]))
    np.testing.assert_array_equal(positions(zipped_divide(layout, tiler)), flat.reshape(int(np.prod(sizes[0])), -1))


@given(wild(), st.data())
def test_tiles_of_neighbours(layout, data):
    sizes = [data.draw(st.one_of(st.none(), st.sampled_from([d for d in (1, 2, 3, 6) if e % d == 0]))) for e in layout.shape]
    try:
        found = tile(layout, *sizes)
    except LayoutError as error:
        assert "the composition is no layout" in str(error)
        return
    whole = [1 if size is None else size for size in sizes]
    split = [n for e, size in zip(layout.shape, whole) for n in (e // size, size)]
    order = [2 * p for p in range(layout.ndim)] + [2 * p + 1 for p in range(layout.ndim) if sizes[p] is not None]
    shaped = positions(layout).reshape(split).transpose([*order, *(2 * p + 1 for p in range(layout.ndim) if sizes[p] is None)])
    np.testing.assert_array_equal(positions(found), shaped.reshape(found.shape))
    assert homes(found.replicas) == homes(layout.replicas)


def test_tiles_of_224_columns_and_3_repeats():
    layout = Layout(S[(64, 224) : (224, 1)])
    assert tile(layout, 16, 32).shape == (4, 7, 16, 32) and tile(layout, None, 32).shape == (64, 7, 32)
    assert tile(Layout(S[(3, 8, 4)]), 1, 8, 2) == Layout(S[(3, 1, 2, 1, 8, 2) : (32, 0, 2, 0, 4, 1)])
    swizzled = Layout(S[64, 64], swizzle=Swizzle.B128).bind(16)
    np.testing.assert_array_equal(tile(swizzled, 8, 16).table().m, swizzled.table().m.reshape(8, 8, 4, 16).transpose(0, 2, 1, 3))
    for build, message in [
        (
            lambda: tile(layout, 16, 48),
            "the tile Layout(S[(48,) : (1,)]) does not divide dimension 1 of shape (64, 224): the box has 224 positions on m, and "
            "copies of Layout(S[(48,) : (1,)]) come in multiples of 48\n  legal: 192 or 240 positions",
        ),
        (
            lambda: tile(layout, 16),
            "1 tiles for the 2 dimensions of shape (64, 224)\n  legal: one for each dimension, None for those that stay "
            "whole; or one tile of element numbers, not in a tuple",
        ),
        (
            lambda: tile(Layout(S[((4, 6),) : ((100, 1),)]), 8),
            "the composition is no layout: the inner dimension 8 : 1 crosses outer's extent 6 after 6, which does not divide 8; "
            "the first coordinate that no strides reach is (6, 0)\n  legal: extents of which one divides the other where they meet",
        ),
        (
            lambda: tile(Layout(S[Symbol("n"), 8]), 4, 8),
            "dimension 0 of shape (n, 8) has the run-time extent n\n  legal: None: it stays whole",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message
    assert tile(Layout(S[Symbol("n"), 8]), None, 4).shape[1:] == (2, 4)


# --- products ---------------------------------------------------------------------------------------------------------


@st.composite
def orders(draw, ndim=None):
    count = draw(st.integers(0, 2)) if ndim is None else ndim
    extents = tuple(draw(st.sampled_from([1, 2, 3, 4])) for _ in range(count))
    steps, weight = [0] * count, 1
    for place in draw(st.permutations(range(count))):
        steps[place] = weight
        weight *= extents[place] * draw(st.sampled_from([1, 1, 2]))
    return Layout(S[extents : tuple(steps)])


def displacements(layout, count):
    """Where copies of the positions on m go, found one after the other: the least place that no copy covers yet."""
    own = np.unique(layout.expand_replicas().table().linear)
    own = own - own[0]
    covered, found = set(), []
    place = 0
    while len(found) < count:
        if place not in covered:
            assert not covered & set((own + place).tolist())
            covered |= set((own + place).tolist())
            found.append(place)
        place += 1
    return np.array(found)


@settings(max_examples=70)
@given(chains(axes=("m", "m", "tx"), most=48), st.data())
def test_products_are_copies_side_by_side(drawn, data):
    layout = drawn[0] + data.draw(st.sampled_from([0, 5]))
    order = data.draw(orders())
    numbers = order.table().linear
    moved = displacements(layout, int(numbers.max()) + 1)[numbers]
    expected = positions(layout).reshape(*layout.shape, *(1,) * order.ndim) + moved
    try:
        found = logical_product(layout, order)
    except LayoutError as error:  # some copies in gaps and some behind: their places are those of no layout
        assert "are no strides apart" in str(error) and not _is_strided(moved)
        return
    np.testing.assert_array_equal(positions(found), expected)
    assert found.is_injective()
    np.testing.assert_array_equal(positions(tiled_product(layout, order)), expected.reshape(layout.size, *order.shape))
    np.testing.assert_array_equal(positions(zipped_product(layout, order)), expected.reshape(layout.size, order.size))


@given(chains(most=24), st.data())
def test_blocked_and_raked_products(drawn, data):
    layout = drawn[0]
    order = data.draw(orders(layout.ndim))
    try:
        flat = positions(logical_product(layout, order))
    except LayoutError:
        return
    n = layout.ndim
    shape = [a * b for a, b in zip(layout.shape, order.shape)]
    blocked = flat.transpose([p for d in range(n) for p in (n + d, d)]).reshape(shape)
    np.testing.assert_array_equal(positions(blocked_product(layout, order)), blocked)
    raked = flat.transpose([p for d in range(n) for p in (d, n + d)]).reshape(shape)
    np.testing.assert_array_equal(positions(raked_product(layout, order)), raked)


@given(chains(most=24), st.data())
def test_a_shape_is_filled_block_by_block(drawn, data):
    """Each block is a translate of the first, and in the order asked for they begin where copies of the positions go."""
    layout = drawn[0]
    n = layout.ndim
    blocks = [data.draw(st.sampled_from([1, 2, 3])) for _ in range(n)]
    order = data.draw(st.one_of(st.none(), st.permutations(range(n))))
    slowest_first = list(range(n)) if order is None else order
    count = int(np.prod(blocks))
    numbers = np.arange(count).reshape([blocks[d] for d in slowest_first]).transpose(np.argsort(slowest_first))
    moved = displacements(layout, count)[numbers]
    try:
        found = tile_to_shape(layout, [e * b for e, b in zip(layout.shape, blocks)], order)
    except LayoutError as error:  # some copies in gaps and some behind
        assert "are no strides apart" in str(error) and not _is_strided(moved)
        return
    cut = positions(found).reshape([extent for pair in zip(blocks, layout.shape) for extent in pair])
    by_block = cut.transpose([*range(0, 2 * n, 2), *range(1, 2 * n, 2)])
    np.testing.assert_array_equal(by_block, moved.reshape(*blocks, *(1,) * n) + positions(layout))


def test_tiles_of_a_swizzled_atom():
    atom = Layout(S[8, 64], swizzle=Swizzle.B128).bind(16).in_units(16)
    tall = tile_to_shape(atom, (64, 128), (1, 0))
    assert tall == Layout(S[(64, (2, 64)) : (64, (4096, 1))], swizzle=Swizzle.B128).bind(16).in_units(16)
    assert tile_to_shape(atom, (64, 128)) == Layout(S[((8, 8), (2, 64)) : ((1024, 64), (512, 1))], swizzle=Swizzle.B128, unit="b16")
    assert logical_product(Layout(S[4:2]), 4) == Layout(S[(4, (2, 2)) : (2, (8, 1))])
    with pytest.raises(LayoutError) as error:
        logical_product(Layout(S[4:2]), 3)
    assert str(error.value) == (
        "the copies Layout(S[(3,) : (1,)]) of Layout(S[(4,) : (2,)]) are no strides apart: the composition is no layout: the inner "
        "dimension 3 : 1 crosses outer's extent 2 after 2, which does not divide 3; the first coordinate that no strides reach is (2,)\n"
        "  legal: extents of which one divides the other where they meet"
    )
    for build, message in [
        (lambda: tile_to_shape(atom, (64, 96)), "dimension 1 of extent 96 is no multiple of the block's 64\n  legal: 64 or 128"),
        (lambda: tile_to_shape(atom, (4, 64)), "dimension 0 of extent 4 is no multiple of the block's 8\n  legal: 8"),
        (
            lambda: tile_to_shape(atom.in_units("bit"), (16, 64)),
            'Layout(S[(8, 64) : (1024, 16)], swizzle=Swizzle(3, 4, 3), unit="bit") counts bits, and does not know the size of its '
            "elements; copies might lie inside of them\n  legal: in_units(bits of an element), or the product before bind()",
        ),
        (
            lambda: logical_product(Layout(S[(2, 2) : (3, 1)]), 2),
            "Layout(S[(2, 2) : (3, 1)]) has no complement on m: its stride 3 is no multiple "
            "of the 2 positions that its smaller strides make\n  legal: strides of which each is a multiple of what the smaller ones "
            "reach: here a multiple of 2",
        ),
        (
            lambda: logical_product(Layout(S[4]), Layout(S[4:2], offset=1)),
            "the order of copies is S[extents : strides] alone, not "
            "Layout(S[(4,) : (2,)], offset=1)\n  legal: numbers from 0: S[(2, 3) : (1, 2)]",
        ),
        (
            lambda: blocked_product(atom, 2),
            "copies of shape (2,) and a layout of shape (8, 64) have no dimensions in common\n"
            "  legal: as many dimensions as the layout has, of extent 1 where there is one copy",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message


@given(wild(), wild())
def test_direct_sums_add_positions(a, b):
    found = direct_sum(a, b)
    assert found.shape == (*a.shape, *b.shape)
    assert homes(found) == [{p + q for p in one for q in other} for one in homes(a) for other in homes(b)]


@given(wild(most=12, replicas=False), wild(most=12), st.sampled_from([1, 4, 8]))
def test_sums_with_swizzled_layouts_are_right_or_refused(a, b, times):
    swizzle = Swizzle(1, 0, 2)
    one = Layout._of(a.dims, (), a.offset, swizzle, "byte")
    other = Layout._of(
        tuple(tuple((e, s.scaled(m, times)) for e, s in part) for part in b.dims), (), b.offset.scaled(m, times), None, "byte"
    )
    try:
        found = direct_sum(one, other)
    except LayoutError as error:
        assert "acts before the sum" in str(error) and (times != 8)
        return
    assert homes(found) == [{p + q for p in x for q in y} for x in homes(one) for y in homes(other)]


# --- broadcast, pack --------------------------------------------------------------------------------------------------


@given(wild(), st.data())
def test_broadcast_is_numpys(layout, data):
    shape = [data.draw(st.sampled_from([1, 2, 3])) if e == 1 else e for e in layout.shape]
    shape = [*data.draw(st.lists(st.integers(1, 3), max_size=2)), *shape]
    found = broadcast(layout, *shape)
    np.testing.assert_array_equal(positions(found), np.broadcast_to(positions(layout), shape))
    assert homes(found.replicas) == homes(layout.replicas)


@given(wild(), st.integers(1, 4), st.booleans())
def test_packed_elements_are_parts_of_their_container(layout, count, fitting):
    if not layout.ndim:
        return
    layout = unpack(layout, count) if fitting else layout
    try:
        found = pack(layout, count)
    except LayoutError as error:
        assert "can't pack" in str(error) and not fitting
        return
    assert found.shape == (*layout.shape[:-1], layout.shape[-1] // count)
    whole = layout.expand_replicas()
    packed = found.expand_replicas()
    parts = whole.table().m.reshape(*packed.shape, count)
    np.testing.assert_array_equal(parts, packed.table().m[..., None] * count + np.arange(count))
    owners = [np.zeros(one.shape, int) if one.table().thread is None else one.table().thread for one in (whole, packed)]
    assert (owners[0].reshape(parts.shape) == owners[1][..., None]).all()
    assert unpack(found, count) == layout


def test_packing_before_bind_is_retyping_after_it():
    tile_ = Layout(S[8, 64], swizzle=Swizzle.B128)
    assert pack(tile_, 2).bind(32) == tile_.bind(16).retype(16, 32) and unpack(tile_, 2).bind(8) == tile_.bind(16).retype(16, 8)
    registers = Layout(S[(32, 8) : (1 @ laneid, 1)])
    assert pack(registers, 2) == Layout(S[(32, 4) : (1 @ tx, 1)])
    for build, message in [
        (
            lambda: direct_sum(registers, Layout(S[(2,) : (16 @ laneid,)])),
            "laneid reaches 47 at coordinate (31, 0, 1); a warp has lanes 0..31: write warpid and laneid, or use tx",
        ),
        (
            lambda: pack(Layout(S[4, 8], offset=3), 2),
            "can't pack 2 elements of Layout(S[(4, 8) : (8, 1)], offset=3): the offset 3 would put a container at a part of one\n"
            "  legal: a multiple of 2",
        ),
        (
            lambda: pack(registers, 3),
            "can't pack 3 elements of Layout(S[(32, 8) : (1 @ laneid, 1)]): neighbours in the last dimension are 8 at a step "
            "of 1\n  legal: a multiple of 3 neighbours at a step of 1",
        ),
        (
            lambda: pack(Layout(S[(4, 8) : (9, 1)]), 2),
            "can't pack 2 elements of Layout(S[(4, 8) : (9, 1)]): the stride 9 would put a container at a "
            "part of one\n  legal: a multiple of 2",
        ),
        (
            lambda: pack(registers.bind(16), 2),
            'pack counts elements, and Layout(S[(32, 8) : (1 @ laneid, 16)], unit="bit") counts bits\n'
            "  legal: pack before bind(), or retype(old_bits, new_bits) after it",
        ),
        (
            lambda: broadcast(registers, 64, 8),
            "can't broadcast (32, 8) to (64, 8): its dimension 0 has extent 32, and 64 is asked for\n"
            "  legal: 32; only extent 1 is repeated",
        ),
        (
            lambda: direct_sum(registers, registers.bind(16)),
            "a layout in elements and one in bits have no sum\n  legal: the same unit: bind, in_units",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message
    assert broadcast(Layout(S[(1, 8)]) + R[2:8], 4, 8).replicas == (Layout(S[8]) + R[2:8]).replicas
