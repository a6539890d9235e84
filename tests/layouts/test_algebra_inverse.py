"""Complements, inverses and questions about positions, each against all coordinates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import (
    AXES,
    Layout,
    LayoutError,
    R,
    S,
    Swizzle,
    TCol,
    TLane,
    complement,
    compose,
    coordinate,
    element_table,
    elements,
    inverse,
    laneid,
    left_inverse,
    m,
    right_inverse,
    tid_in_wg,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from ptxgen.layouts.algebra import bitwise
from tests.layouts.algebra_strategies import SWIZZLES, at, chains, places, wild
from tests.layouts.strategies import FIELD, packed_table


def position(axes, place):
    """What a coordinate of an inverse stands for, threads counted on tx."""
    found = {}
    for axis, value in zip(axes, place):
        key, scale = (tx, axis.scale) if axis.is_thread else (axis, 1)
        found[key] = found.get(key, 0) + value * scale
    return at(found)


def lowered(layout):
    """The layout moved to where its least positions are 0."""
    table = layout.expand_replicas().table()
    return layout - int(table.linear.min()) - int(0 if table.thread is None else table.thread.min()) @ tx


def turned(drawn):
    """Nested strides, and the first dimension counted backwards."""
    layout, _ = drawn
    if not layout.ndim:
        return layout
    first = layout.dims[0]
    moved = sum((stride * (extent - 1) for extent, stride in first), 0 @ m)
    return layout._with((tuple((extent, -stride) for extent, stride in first), *layout.dims[1:]), layout.offset + moved)


def is_right_inverse(layout, found, axes):
    """p is a home of the element number found(p), for all p of the domain."""
    numbers = found.table().m
    assert set(found.axes) <= {m} and found.ndim == len(axes)
    for place in np.ndindex(*found.shape):
        assert position(axes, place) in [at(home) for home in places(layout, int(numbers[place]))], place


# --- complement -------------------------------------------------------------------------------------------------------


@given(chains(), st.integers(1, 3))
def test_a_layout_and_its_complement_fill_the_box_once(drawn, times):
    layout, ends = drawn
    found = complement(layout, ends["m"] * times)
    image = np.unique(layout.table().m)
    moved = found.table().m
    assert found.ndim == 1 and moved[0] == 0 and (np.diff(moved) > 0).all()
    assert sorted((image[:, None] + moved).ravel()) == list(range(ends["m"] * times))


@given(chains(axes=("m", "tx", "TLane")), st.integers(1, 2), st.integers(1, 2))
def test_complements_fill_boxes_of_several_axes(drawn, one, two):
    layout, ends = drawn
    box = {"TLane": ends["TLane"] * one, "m": ends["m"] * two, "tx": ends["tx"]}
    found = complement(layout, box)
    assert found.ndim == 3
    every = [sum(v * FIELD[name] for name, v in zip(box, place)) for place in itertools.product(*map(range, box.values()))]
    image = np.unique(packed_table(layout))
    assert sorted((image[:, None] + packed_table(found).ravel()).ravel().tolist()) == sorted(every)


@given(wild(low=0))
def test_complements_of_any_layout_are_right_or_refused(layout):
    layout = layout - layout.offset
    image = np.unique(packed_table(layout.expand_replicas()))
    try:
        found = complement(layout)
    except LayoutError:
        return
    sums = np.sort((image[:, None] + packed_table(found).ravel()).ravel())
    assert np.unique(sums).size == sums.size and len(sums) == np.prod([len(np.unique(v)) for v in _box(sums)])


def _box(packed):
    return [np.arange((packed % (1 << 20)).max() + 1), np.arange(packed.max() // (1 << 20) + 1)]


def test_complements_that_strides_cannot_make_are_refused():
    for build, message in [
        (
            lambda: complement(Layout(S[(2, 2) : (3, 1)])),
            "Layout(S[(2, 2) : (3, 1)]) has no complement on m: its stride 3 is no multiple of the "
            "2 positions that its smaller strides make\n"
            "  legal: strides of which each is a multiple of what the smaller ones reach: here a multiple of 2",
        ),
        (
            lambda: complement(Layout(S[(3, 4) : (2, 1)])),
            "Layout(S[(3, 4) : (2, 1)]) has no complement on m: its stride 2 lies inside of the "
            "4 positions that its smaller strides make\n"
            "  legal: strides of which each is a multiple of what the smaller ones reach: here a multiple of 4",
        ),
        (
            lambda: complement(Layout(S[4]), 10),
            "the box has 10 positions on m, and copies of Layout(S[(4,) : (1,)]) come in multiples of 4\n"
            "  legal: 8 or 12 positions",
        ),
        (
            lambda: complement(Layout(S[(4,) : (1 @ tx,)]), 16),
            "Layout(S[(4,) : (1 @ tx,)]) moves on tx, where the box has extent 1\n  legal: a box that names tx: {tx: 32}, for example",
        ),
        (
            lambda: complement(Layout(S[(4,) : (1 + 1 @ tx,)])),
            "the dimension 4 : 1 + 1 @ tx of Layout(S[(4,) : (1 + 1 @ tx,)]) moves on several axes "
            "or is known only at run time; its positions have no complement with constant strides on each axis",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message


# --- inverses ---------------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.one_of(wild(), wild().map(lowered), chains(axes=("m", "tx", "TLane")).map(turned)))
def test_right_inverse(layout):
    try:
        found = right_inverse(layout)
    except LayoutError as error:
        assert "counts positions from 0, and the lowest of" in str(error)
        return
    axes = [tx, *(a for a in layout.axes if not a.is_thread and a is not m), m]
    axes = [axis for axis in axes if axis is not tx or any(a.is_thread for a in layout.axes)]
    is_right_inverse(layout, found, axes)
    if not layout.replica_dims and not found.swizzle:
        assert packed_table(compose(layout, found)).ravel().tolist() == [
            sum(v * FIELD[axis.name] for axis, v in zip(axes, place)) for place in np.ndindex(*found.shape)
        ]


@given(chains(axes=("m", "tx")))
def test_right_inverse_reaches_as_far_as_the_positions_do(drawn):
    """For nested strides its domain ends exactly where the first position without an element is."""
    layout, _ = drawn
    found = right_inverse(layout, (tx, m))
    for place, axis in ((0, tx), (1, m)):
        end = found.shape[place]
        assert layout.coordinates({axis: end - 1}) and not layout.coordinates({axis: end})


@settings(max_examples=100)
@given(st.one_of(wild(), wild().map(lowered), chains(axes=("m", "tx", "TLane")).map(turned)))
def test_left_inverse_leads_every_home_back(layout):
    try:
        found = left_inverse(layout)
    except LayoutError as error:
        assert any(
            why in str(error)
            for why in ("counts positions from 0", "two elements share", "no left inverse with strides", "no strides lead")
        )
        if "two elements share" in str(error):
            assert not layout.is_injective()
        return
    axes = [tx, *(a for a in layout.axes if not a.is_thread and a is not m), m]
    axes = [axis for axis in axes if axis is not tx or any(a.is_thread for a in layout.axes)]
    for number in range(layout.size):
        for home in places(layout, number):
            assert found(*(home.get(axis, 0) for axis in axes))[m] == number


@given(chains(axes=("m", "tx")))
def test_gaps_lead_to_numbers_that_no_element_has(drawn):
    layout, ends = drawn
    numbers = left_inverse(layout, (tx, m)).table().m
    table = element_table(layout, (tx, m))
    assert numbers.shape == (ends["tx"], ends["m"])
    whole = np.full(numbers.shape, -1)
    whole[: table.shape[0], : table.shape[1]] = table
    assert ((numbers == whole) | ((whole == -1) & (numbers >= layout.size))).all()
    assert np.unique(numbers).size == numbers.size


@given(chains(axes=("m", "tx"), gaps=False))
def test_inverse_is_both(drawn):
    layout, ends = drawn
    found = inverse(layout, (tx, m))
    assert found.shape == (ends["tx"], ends["m"]) and found == right_inverse(layout, (tx, m)) == left_inverse(layout, (tx, m))
    assert sorted(found.table().m.ravel()) == list(range(layout.size))
    is_right_inverse(layout, found, (tx, m))


def test_rows_of_32_that_are_33_apart_have_a_left_inverse():
    padded = Layout(S[(32, 32) : (33, 1)])
    found = left_inverse(padded)
    assert found == Layout(S[((32, 33),) : ((32, 1),)])
    assert compose(found.reshape(32 * 33), padded) == Layout(S[32, 32])
    with pytest.raises(LayoutError) as error:
        inverse(padded)
    assert str(error.value) == (
        "Layout(S[(32, 32) : (33, 1)]) has no two-sided inverse: position 32 on m holds no element\n"
        "  legal: left_inverse(layout), whose numbers mean nothing there, or right_inverse(layout), which ends before it"
    )


FRAGMENT = Layout(S[((2, 8), (2, 4, 2)) : ((2, 4 @ laneid), (4, 1 @ laneid, 1))])  # C of mma.m16n8: 16 rows, 16 columns of it


@pytest.mark.parametrize("axes", [(laneid, m), (m, laneid), (tx, m), ("laneid", "m")])
def test_inverses_of_a_fragment_by_lane_and_register(axes):
    found = inverse(FRAGMENT, axes)
    for place in np.ndindex(*found.shape):
        named = dict(zip(map(str, axes), place))
        [only] = elements(FRAGMENT, named)
        assert only == coordinate(FRAGMENT, found(*place)[m])


def test_warps_and_lanes():
    layout = Layout(S[(3, 32, 8) : (1 @ warpid, 1 @ laneid, 1)])
    assert inverse(layout, (warpid, laneid, m)) == Layout(S[3, 32, 8])
    assert inverse(layout, (laneid, m, warpid)).shape == (32, 8, 3)
    assert right_inverse(layout, (laneid, m)).shape == (32, 8)
    four = Layout(S[(2, 128, 2) : (1 @ wgid, 1 @ tid_in_wg, 1)])
    assert inverse(four, (wgid, wid_in_wg, laneid, m)) == Layout(S[2, 4, 32, 2])
    assert inverse(Layout(S[(8,) : (1 @ tx,)]), (warpid, laneid)) == Layout(S[1, 8])
    for build, message in [
        (
            lambda: inverse(layout, (laneid, m)),
            "the axes (laneid, m) leave out some threads of Layout(S[(3, 32, 8) : (1 @ warpid, 1 @ laneid, 1)])\n"
            "  legal: tx, or warpid and laneid",
        ),
        (lambda: inverse(layout, (warpid, m)), "the axes (warpid, m) leave out some threads of"),
        (
            lambda: inverse(layout, (warpid, tx, m)),
            "tx and warpid don't count threads together: one step of warpid is 32 of tx\n"
            "  legal: tx; warpid and laneid; wgid and tid_in_wg; wgid, wid_in_wg and laneid",
        ),
        (
            lambda: inverse(layout, (tx,)),
            "Layout(S[(3, 32, 8) : (1 @ warpid, 1 @ laneid, 1)]) moves on m, which the axes (tx) leave out\n  legal: axes with m",
        ),
        (
            lambda: inverse(Layout(S[(48,) : (1 @ tx,)]), (warpid, laneid)),
            "Layout(S[(48,) : (1 @ tx,)]) reaches 48 threads, which the 32 of laneid don't divide\n  legal: tx",
        ),
        (lambda: inverse(layout, "lane"), "unknown axis 'lane'; the axes are " + ", ".join(AXES)),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert message in str(error.value)


# --- swizzles ---------------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.data())
def test_swizzled_inverses(data):
    """The domain counts swizzled positions; wrong is never an answer, and whole tiles are."""
    bits, swizzle = data.draw(st.sampled_from(SWIZZLES))
    shape = data.draw(st.sampled_from([(64,), (8, 8), (4, 2, 8), (2, 3, 16), (6, 4), (2, 8)]))
    order = data.draw(st.permutations(range(len(shape))))
    layout = Layout(S[shape], swizzle=swizzle).permute(order).bind(bits).in_units(bits)
    for build in (right_inverse, left_inverse, inverse):
        try:
            found = build(layout)
        except LayoutError as error:
            assert str(swizzle) in str(error)
            assert shape not in ((64,), (8, 8), (4, 2, 8)) or order != sorted(order)
            continue
        numbers = found.table().m
        if build is not left_inverse:
            assert [layout.table().m.ravel()[number] for number in numbers] == list(range(found.size))
        if build is not right_inverse:
            assert numbers[layout.table().m.ravel()].tolist() == list(range(layout.size))
        if build is inverse:
            assert compose(layout, found) == Layout(S[found.size], unit=layout.unit)


def test_an_xor_swizzle_is_its_own_inverse():
    for swizzle in (Swizzle.B32, Swizzle.B64, Swizzle.B128):
        tile = Layout(S[8, 64], swizzle=swizzle).bind(16).in_units(16)
        found = inverse(tile)
        assert found.swizzle == swizzle and found.unit == "b16" and found == tile.reshape(512)
        turned = Layout(S[(64, 8) : (1, 64)], swizzle=swizzle).bind(16).in_units(16)
        table = element_table(turned)
        with pytest.raises(LayoutError, match="no single Swizzle"):
            assert inverse(turned).table().m.tolist() == table.tolist()


def test_bits_of_wider_elements_are_no_positions_to_invert():
    with pytest.raises(LayoutError) as error:
        right_inverse(Layout(S[8, 64]).bind(16))
    assert str(error.value) == (
        'no element of Layout(S[(8, 64) : (1024, 16)], unit="bit") is at position 1 on m, which counts bits: the nearest is at 16\n'
        "  legal: in_units(16), if that is an element; a left inverse has gaps"
    )
    with pytest.raises(LayoutError) as error:
        right_inverse(Layout(S[8, 64], swizzle=Swizzle.B128))
    assert str(error.value) == (
        "Swizzle(3, 4, 3) permutes bytes and can't act on numbers of elements\n"
        "  legal: bind(bits_per_element).in_units(bits_per_element): then a number counts elements of that size"
    )


# --- questions --------------------------------------------------------------------------------------------------------


@given(chains(axes=("m", "tx", "TLane")), st.sampled_from([(tx, m), (laneid, m), (m,), (TLane, tx, m), (warpid, laneid)]))
def test_element_table_lists_each_home(drawn, axes):
    layout, _ = drawn
    table = element_table(layout, axes)
    expected = {}
    for number in range(layout.size):
        [home] = places(layout, number)
        inside = tuple(
            home.get(axis, 0) if not axis.is_thread else home.get(tx, 0) // axis.scale % (axis.limit or 1 << 30) for axis in axes
        )
        if position(axes, inside) == at(home):
            expected[inside] = number
    assert {tuple(place): int(table[tuple(place)]) for place in np.argwhere(table >= 0).tolist()} == expected


@given(wild(), st.data())
def test_coordinates_are_those_of_numpys_unravel_index(layout, data):
    number = data.draw(st.integers(0, layout.size - 1))
    assert coordinate(layout, number) == (np.unravel_index(number, layout.shape) if layout.shape else ())


@given(wild(low=0), st.data())
def test_elements_are_those_with_a_home_there(layout, data):
    named = data.draw(
        st.fixed_dictionaries({}, optional={"laneid": st.integers(0, 4), "m": st.integers(0, 12), "warpid": st.integers(0, 1)})
    )
    expected = []
    for number in range(layout.size):
        for home in places(layout, number):
            thread = home.get(tx, 0)
            seen = {"m": home[m], "laneid": thread % 32, "warpid": thread // 32}
            if all(seen[axis] == value for axis, value in named.items()):
                expected.append(coordinate(layout, number))
                break
    assert elements(layout, **named) == expected == elements(layout, {AXES[axis]: value for axis, value in named.items()})


@given(st.lists(st.sets(st.tuples(st.integers(0, 2), st.integers(3, 5)), max_size=3), min_size=2, max_size=2), st.booleans())
def test_xors_behind_one_another(pairs, chained):
    first, second = (frozenset(one) for one in pairs)
    if chained:  # what the second reads is what the first changed
        first = frozenset((target + 3, source + 3) for target, source in first)

    def xored(value, by):
        return value ^ sum(1 << bit for bit in range(9) if sum(value >> source & 1 for target, source in by if target == bit) % 2)

    both = bitwise.after(second, first)
    assert all(xored(xored(value, first), second) == xored(value, both) for value in range(512))


def test_questions_refused():
    layout = Layout(S[(4, 32) : (0, 1 @ laneid)])
    for build, message in [
        (lambda: elements(layout, warpid=-1), "there is no warpid -1\n  legal: places from 0"),
        (
            lambda: elements(layout, laneid=32),
            "there is no laneid 32\n  legal: a warp has lanes 0..31: write warpid and laneid, or use tx",
        ),
        (
            lambda: element_table(layout),
            "elements (0, 0) and (3, 0) of Layout(S[(4, 32) : (0, 1 @ laneid)]) are both at tx 0, m 0\n"
            "  legal: an injective layout",
        ),
        (lambda: coordinate(layout, 128), "there is no element number 128 in shape (4, 32)\n  legal: 0..127"),
        (
            lambda: left_inverse(layout),
            "Layout(S[(4, 32) : (0, 1 @ laneid)]) has no left inverse: two elements share a position\n  legal: an injective layout",
        ),
        (
            lambda: right_inverse(layout + 3),
            "a right inverse counts positions from 0, and the lowest of "
            "Layout(S[(4, 32) : (0, 1 @ laneid)], offset=3) on m is 3\n  legal: the layout moved there: layout - (3)",
        ),
    ]:
        with pytest.raises(LayoutError) as error:
            build()
        assert str(error.value) == message
    assert right_inverse(Layout(S[4]) + R[2 : 1 @ warpid], (warpid, m)) == Layout(S[(2, 4) : (0, 1)])
    assert right_inverse(Layout(S[(32,) : (1 @ laneid,)]) + R[2 : 1 @ warpid], (warpid, laneid)) == Layout(S[(2, 32) : (0, 1)])
    assert element_table(Layout(S[(4,) : (1 @ TCol,)]), (TLane, TCol)).tolist() == [[0, 1, 2, 3]]
