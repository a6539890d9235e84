"""Equality, canonical form, injectivity and swizzles against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.layouts import Layout, LayoutError, R, S, Swizzle, Symbol, laneid, m, tid_in_wg, tx, warpid, wgid, wid_in_wg
from tests.layouts.strategies import packed_table, small_dim, specs

tiny = specs(max_dims=2, extents=small_dim, replicas=2)


def homes(spec):
    return [{int(p) + d for d in spec.displacements()} for p in spec.positions().ravel()]


@given(tiny, tiny)
def test_equality_is_that_of_functions(a, b):
    same = a.shape == b.shape and homes(a) == homes(b)
    assert (a.layout() == b.layout()) == same
    if same:
        assert hash(a.layout()) == hash(b.layout())


@given(specs(), st.data())
def test_respelled_layouts_are_equal(spec, data):
    """Splitting a dimension in two, and threads on other axes, changes nothing."""
    spelled = []
    for part in spec.dims:
        new = []
        for extent, step in part:
            outer = data.draw(st.sampled_from([d for d in range(1, extent + 1) if extent % d == 0]))
            other = {**{k: v for k, v in step.items() if k != "warpid"}}
            if "warpid" in step:
                other["tx"] = other.get("tx", 0) + 32 * step["warpid"]
            new += [(outer, {k: v * (extent // outer) for k, v in other.items()}), (extent // outer, other)]
        spelled.append(new)
    a = spec.layout()
    b = type(spec)(spelled, spec.offset).layout()
    assert a == b and hash(a) == hash(b)
    canonical = a.canonical()
    assert (canonical.dims, canonical.offset) == (b.canonical().dims, b.canonical().offset)
    np.testing.assert_array_equal(packed_table(canonical), packed_table(a))


@given(tiny)
def test_canonical_is_the_same_function_and_a_fixed_point(spec):
    layout = spec.layout()
    canonical = layout.canonical()
    assert canonical == layout and canonical.canonical() is canonical
    assert repr(canonical.reshape(canonical.shape).canonical()) == repr(canonical)


def test_equivalent_spellings_of_threads():
    assert Layout(S[(64,) : (1 @ tx)]) == Layout(S[(2, 32) : (1 @ warpid, 1 @ laneid)]).reshape(64)
    assert Layout(S[(2, 128) : (1 @ wgid, 1 @ tid_in_wg)]) == Layout(S[(2, (4, 32)) : (1 @ wgid, (1 @ wid_in_wg, 1 @ laneid))])
    assert Layout(S[(8,) : (1 @ warpid)]) == Layout(S[((2, 4),) : ((1 @ wgid, 1 @ wid_in_wg),)])
    assert Layout(S[(8,) : (1,)]) != Layout(S[(2, 4) : (4, 1)])


def test_replicas_are_sets():
    base = S[(4,) : (1,)]
    assert Layout(base, R[(2, 2) : (4, 8)]) == Layout(base, R[(4,) : (4,)])
    assert Layout(base, R[(3, 2) : (4, 4)]) == Layout(base, R[(4,) : (4,)])
    assert Layout(base, R[(2,) : (-4,)], offset=4) == Layout(base, R[(2,) : (4,)])
    assert Layout(base, R[(1, 5) : (4, 0)]) == Layout(base)
    assert Layout(base, R[(2,) : (4,)]) != Layout(base)
    assert Layout(base, R[(2,) : (1 @ warpid,)]) == Layout(base, R[(2,) : (32 @ tx,)])


def test_runtime_strides_compare_as_polynomials():
    n = Symbol("n", 1)
    assert Layout(S[(4, 8) : (n * 8, n)]).reshape(32) == Layout(S[(32,) : (n,)])
    assert Layout(S[(4, 8) : (n * 8, n)]) != Layout(S[(4, 8) : (n * 8, n * 2)])
    assert Layout(S[(4,) : (n,)], offset=n) == Layout(S[(5,) : (n,)])[1:]
    assert Layout(S[(4,) : (n,)], offset=n) != Layout(S[(4,) : (n,)], offset=Symbol("n", 1))
    assert Layout(S[(n, 4)]) == Layout(S[(n, 4) : (4, 1)]) and hash(Layout(S[(n, 4)])) == hash(Layout(S[(n, 4) : (4, 1)]))
    assert Layout(S[(4,) : (n,)], R[2:n]) == Layout(S[(4,) : (n,)], R[2:n])
    assert Layout(S[4], R[(2, 2) : (n, n)]) == Layout(S[4], R[3:n]) != Layout(S[4], R[2:n])
    k = Symbol("k", None)
    assert Layout(S[4], R[2:-n], offset=n) == Layout(S[4], R[2:n])
    assert Layout(S[4], R[3 : n - k], offset=k * 2) == Layout(S[4], R[3 : k - n], offset=n * 2) != Layout(S[4], R[3 : k - n], offset=n)
    assert Layout(S[4], R[2 : n - 4], offset=4) == Layout(S[4], R[2 : 4 - n], offset=n)
    assert Layout(S[4], R[n:-4], offset=n * 4 - 4) == Layout(S[4], R[n:4])


def test_units_do_not_mix():
    with pytest.raises(LayoutError) as error:
        assert Layout(S[8]) == Layout(S[8]).bind(8)
    assert str(error.value) == "a layout in elements can't be compared with one in bits; bind(bits_per_element) the other one"
    with pytest.raises(LayoutError) as error:
        Layout(S[8]).bind(8).bind(8)
    assert str(error.value) == ('Layout(S[(8,) : (8,)], unit="bit") counts bits already; bind() turns elements into bits once')
    assert (Layout(S[8]) == 8) is False


# --- swizzles ---------------------------------------------------------------------------------------------------------

swizzles = st.builds(
    lambda bits, base, more: Swizzle(bits, base, bits + more), st.integers(1, 4), st.integers(0, 5), st.integers(0, 2)
)


@given(swizzles)
def test_a_swizzle_permutes_its_period_keeps_granules_and_is_its_inverse(swizzle):
    assert swizzle.period == 2 ** (swizzle.base + swizzle.shift + swizzle.bits) and swizzle.granule == 2**swizzle.base
    positions = np.arange(2 * swizzle.period)
    moved = swizzle.apply_bytes(positions)
    assert sorted(moved[: swizzle.period]) == list(range(swizzle.period))
    np.testing.assert_array_equal(moved[swizzle.period :], moved[: swizzle.period] + swizzle.period)
    np.testing.assert_array_equal(swizzle.inverse.apply_bytes(moved), positions)
    np.testing.assert_array_equal(moved % swizzle.granule, positions % swizzle.granule)
    np.testing.assert_array_equal(swizzle.apply_bits(positions * 8 + 5), moved * 8 + 5)
    assert all(swizzle.apply_bytes(int(p)) == q for p, q in zip(positions[:64], moved[:64]))


def test_the_named_swizzles_move_16_byte_chunks_as_the_hardware_does():
    """Chunk c of 16 bytes in 128-byte row r goes to chunk c ^ (r mod 8); the narrower ones count rows of their span."""
    for row, chunk in itertools.product(range(8), range(8)):
        assert Swizzle.B128.apply_bytes(128 * row + 16 * chunk) == 128 * row + 16 * (chunk ^ row)
        assert Swizzle.B64.apply_bytes(64 * row + 16 * (chunk % 4)) == 64 * row + 16 * ((chunk % 4) ^ (row // 2 % 4))
        assert Swizzle.B32.apply_bytes(32 * row + 16 * (chunk % 2)) == 32 * row + 16 * ((chunk % 2) ^ (row // 4 % 2))
    assert [s.period for s in (Swizzle.B128, Swizzle.B64, Swizzle.B32)] == [1024, 512, 256]


def test_a_byte_swizzle_never_meets_element_positions():
    layout = Layout(S[8, 64], swizzle=Swizzle.B128)
    message = (
        "Swizzle(3, 4, 3) permutes bytes, and this layout still counts elements: "
        "call .bind(bits_per_element) before asking for positions, which are bits then, and .in_units(...) for others"
    )
    for question in (lambda: layout(1, 0), lambda: layout.table().m, lambda: layout.coordinates(4), layout.span):
        with pytest.raises(LayoutError) as error:
            question()
        assert str(error.value) == message
    assert layout.bind(16)(1, 0) == {m: (128 ^ 16) * 8}
    assert layout.bind(8)(2, 0) == {m: (128 ^ 16) * 8}
    with pytest.raises(LayoutError) as error:
        layout.bind(256)
    assert str(error.value) == "Swizzle(3, 4, 3) keeps 16 bytes together; an element of 256 bits would be cut by it"


@st.composite
def swizzled(draw):
    """Bound layouts of 16-byte steps within a few swizzle rows, so that different spellings often coincide."""
    extents = draw(st.sampled_from([(2,), (4,), (2, 2), (3,)]))
    strides = tuple(draw(st.sampled_from([0, 16, 32, 128, 144, 1024])) for _ in extents)
    swizzle = draw(st.sampled_from([None, Swizzle.B32, Swizzle.B64, Swizzle.B128]))
    replicas = draw(st.sampled_from([None, R[2:1024], R[2:16]]))
    return Layout(S[extents:strides], replicas, offset=draw(st.sampled_from([0, 16])), swizzle=swizzle).bind(8)


@given(swizzled(), swizzled())
def test_equality_sees_through_swizzles(a, b):
    def sets(layout):
        tables = layout.expand_replicas().table().m.reshape(-1, layout.size)
        return [set(column) for column in tables.T.tolist()]

    same = a.shape == b.shape and sets(a) == sets(b)
    assert (a == b) == same
    if same:
        assert hash(a) == hash(b)


def test_runtime_offsets_through_a_swizzle():
    stage, row = Symbol("stage", 0, 3), Symbol("row", 0, 7)
    tile = Layout(S[8, 64], swizzle=Swizzle.B128).bind(16)
    staged = tile + stage * 8192
    assert staged.table().separable and staged(1, 0) == {m: stage * 8192 + (128 ^ 16) * 8}
    moving = tile[row]
    assert not moving.table().separable
    with pytest.raises(LayoutError) as error:
        moving(0)
    assert str(error.value) == (
        "the position Swizzle(3, 4, 3)(1024*row) is known only at run time: its symbolic part is no multiple of the "
        "swizzle's period, 8192 bits"
    )
    with pytest.raises(LayoutError, match="is known only at run time, through its swizzle"):
        moving.span()
    assert moving == tile[row] and moving != tile[row][1:] and staged != tile
    unswizzled = Layout(S[8, 64], offset=stage * 512).bind(16)
    assert staged != unswizzled
    first_row = tile[0] + stage * 8192
    assert first_row == unswizzled[0] and hash(first_row) == hash(unswizzled[0])
    copied = [layout + R[2 : 1 @ warpid] + R[2 : stage * 8192] for layout in (first_row, unswizzled[0], unswizzled[1])]
    assert copied[0] == copied[1] != copied[2] and copied[0] != first_row + R[2 : 1 @ warpid] + R[2 : stage * 16384]


# --- injectivity ------------------------------------------------------------------------------------------------------


@given(tiny)
def test_injectivity_is_exact(spec):
    all_homes = [home for element in homes(spec) for home in element]
    assert spec.layout().is_injective() == (len(set(all_homes)) == len(all_homes))


def test_injectivity_without_sorted_strides():
    assert Layout(S[(3, 2) : (2, 3)]).is_injective()
    assert not Layout(S[(4, 3) : (2, 3)]).is_injective()
    assert Layout(S[(3, 2) : (2, 3)], swizzle=Swizzle.B128).bind(8).is_injective()
    assert not Layout(S[(4,) : (0,)]).is_injective() and Layout(S[(4,) : (0,)], offset=3)[:1].is_injective()
    assert Layout(S[(1 << 20, 3, 2) : (1 @ tx, 1 << 40, 1 << 50)]).is_injective()


def test_injectivity_of_runtime_strides():
    n, k = Symbol("n", 8), Symbol("k", 1)
    assert Layout(S[(4, 8) : (n, 1)]).is_injective()
    assert Layout(S[(4, 3, 8) : (n * 3, n, 1)]).is_injective()
    assert Layout(S[(4, 8) : (n, 1)], offset=k).is_injective()
    with pytest.raises(LayoutError) as error:
        Layout(S[(4, 8) : (k, 1)]).is_injective()
    assert str(error.value) == (
        "whether Layout(S[(4, 8) : (k, 1)]) is injective depends on run-time values; give its symbols ranges that settle it"
    )


def test_layouts_are_keys():
    a, b = Layout(S[(2, 4) : (4, 1)]), Layout(S[2, 4])
    assert {a: 1}[b] == 1 and len({a, b, a.reshape(8), a + 1}) == 3
