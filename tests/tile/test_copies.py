"""Loads and stores through views, run in the emulator, against NumPy's own indexing of the same views."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S

DTYPES = {"b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64}


def row_major(shape):
    """A register layout: the first axis is the thread, the rest the thread's registers in row-major order."""
    strides, step = [], 1
    for extent in reversed(shape[1:]):
        strides.insert(0, step)
        step *= extent
    return px.Layout(S[tuple(shape) : (1 @ px.tx, *strides)])


def copy_kernel(shape, dtype, select, vector):
    """A kernel that loads `select(A)` (group, *repeat, atom) into registers and stores them to B, compact."""
    element = getattr(px, dtype)
    suffix = f".v{vector}.{dtype}" if vector > 1 else f".{dtype}"
    group, *rest = select(np.empty(shape, bool)).shape
    target = (group, *rest)
    align = max(1, vector * element.bits // 8)

    @px.kernel(grid=1, block=group)
    def copy(A: px.Tensor(shape, element, align=align), B: px.Tensor(target, element, align=align)):
        r = px.local(target, element, layout=row_major(target))
        px.tile.apply(f"ld.global{suffix}", r, select(A), scope="cta")
        px.tile.apply(f"st.global{suffix}", B, r, scope="cta")

    return copy


def check_copy(shape, dtype, select, vector):
    source = np.arange(np.prod(shape), dtype=np.uint64).astype(DTYPES[dtype]).reshape(shape)
    wanted = select(source)
    target = np.zeros(wanted.shape, DTYPES[dtype])
    copy_kernel(shape, dtype, select, vector)(source, target)
    np.testing.assert_array_equal(target, wanted)


class Numpy:
    """NumPy with the views of px: the oracle."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def permute(self, *order):
        return Numpy(self.array.transpose(order))

    def view(self, *shape):
        return Numpy(self.array.reshape(shape))

    def sub(self, starts, extents, steps):
        return Numpy(self.array[tuple(slice(a, a + n * s, s) for a, n, s in zip(starts, extents, steps))])


@st.composite
def selections(draw):
    """A parent shape, and a chain of view operations that ends in (group, *repeat, atom)."""
    vector = draw(st.sampled_from([1, 2, 4]))
    group = draw(st.sampled_from([1, 8, 12, 32, 48, 64]))
    repeats = draw(st.lists(st.integers(1, 4), min_size=0, max_size=2))
    atoms = draw(st.integers(1, 3))
    extents = [group, *repeats, atoms * vector]
    order = draw(st.permutations(range(len(extents) - 1)))
    margins = [draw(st.integers(0, 2)) for _ in extents[:-1]] + [draw(st.integers(0, 1)) * vector]
    steps = [draw(st.sampled_from([1, 1, 2])) for _ in extents[:-1]] + [1]
    starts = [draw(st.integers(0, margin)) for margin in margins[:-1]] + [draw(st.sampled_from([0, margins[-1]]))]
    whole = [n * s + margin for n, s, margin in zip(extents, steps, margins)]
    parent = [whole[axis] for axis in order] + [whole[-1]]
    back = [order.index(axis) for axis in range(len(order))] + [len(order)]

    def select(view):
        one = Numpy(view) if isinstance(view, np.ndarray) else view
        one = one.permute(*back).sub(starts, extents, steps).view(*extents[:-1], atoms, vector)
        return one.array if isinstance(view, np.ndarray) else one

    return tuple(parent), select, vector


@given(selections(), st.sampled_from(sorted(DTYPES)))
@settings(max_examples=60, deadline=None)
def test_any_view_is_copied_as_numpy_sees_it(selection, dtype):
    shape, select, vector = selection
    assume(vector * getattr(px, dtype).bits <= 128)
    check_copy(shape, dtype, select, vector)


def test_the_seed_layout():
    check_copy((64, 3, 4), "b32", lambda a: a, 4)


def test_a_group_may_be_spelled_by_any_leading_axes():
    @px.kernel(grid=1, block=96)
    def copy(A: px.Tensor((8, 12, 2), px.b32), B: px.Tensor((96, 2), px.b32)):
        r = px.local((8, 12, 2, 1), px.b32, layout=S[(8, 12, 2, 1) : (12 @ px.tx, 1 @ px.tx, 1, 0)])
        px.tile.apply("ld.global.b32", r, A.view(8, 12, 2, 1), scope="cta")
        px.tile.apply("st.global.b32", B.view(3, 32, 2, 1), r.view(3, 32, 2, 1), scope="cta")

    a = np.arange(192, dtype=np.uint32).reshape(8, 12, 2)
    b = np.zeros((96, 2), np.uint32)
    copy(a, b)
    np.testing.assert_array_equal(b, a.reshape(96, 2))


@pytest.mark.parametrize(("scope", "group"), [("warp", 32), ("warpgroup", 128), ("thread", 1)])
def test_scopes_below_the_block(scope, group):
    """Each warp (warpgroup, thread) of the block does the whole copy; all store the same values."""
    axis = {"warp": px.laneid, "warpgroup": px.tid_in_wg}.get(scope)
    shape = (group, 3, 2) if axis else (3, 2)
    layout = px.Layout(S[shape : (1 @ axis, 2, 1)] if axis else S[shape])

    @px.kernel(grid=1, block=256)
    def copy(A: px.Tensor(shape, px.f32, align=8), B: px.Tensor(shape, px.f32, align=8)):
        r = px.local(shape, px.f32, layout=layout)
        px.tile.apply("ld.global.v2.f32", r, A, scope=scope)
        px.tile.apply("st.global.v2.f32", B, r, scope=scope)

    a = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    b = np.zeros_like(a)
    copy(a, b)
    np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("swizzle", [px.Swizzle.B32, px.Swizzle.B64, px.Swizzle.B128, px.Swizzle(4, 3, 4)])
@pytest.mark.parametrize("stages", [None, 3])
def test_a_swizzled_tile_gives_back_what_was_stored(swizzle, stages):
    """Stored by rows in vectors, read by columns in words: the swizzle cancels out and no byte is lost."""

    @px.kernel(grid=1, block=128)
    def through(A: px.Tensor((64, 64), px.b16, align=16), B: px.Tensor((64, 64), px.b16)):
        tile = px.shared((64, 64), px.b16, layout=px.Layout(S[(64, 64)], swizzle=swizzle), stages=stages)
        tile = tile if stages is None else tile[2]
        step = 4
        r = px.local((128, 32), px.b16, layout=S[(128, 32) : (1 @ px.tx, 1)])
        words = "v4.b16"
        rows = r.view(128, 32 // step, step)
        px.tile.apply(f"ld.global.{words}", rows, A.view(128, 32 // step, step), scope="cta")
        px.tile.apply(f"st.shared.{words}", tile.view(128, 32 // step, step), rows, scope="cta")
        px.syncthreads()
        columns = r.view(128, 32, 1)
        px.tile.apply("ld.shared.b16", columns, tile.permute(1, 0).view(128, 32, 1), scope="cta")
        px.tile.apply("st.global.b16", B.view(128, 32, 1), columns, scope="cta")

    a = np.random.default_rng(2).integers(0, 1 << 16, (64, 64), np.uint16)
    b = np.zeros_like(a)
    through(a, b)
    np.testing.assert_array_equal(b, a.T)
