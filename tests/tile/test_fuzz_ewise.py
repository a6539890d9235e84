"""`tile.ewise` with destinations that alias sources in any order, and functions that return whatever Python lets them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S

THREADS = 4
SLOTS = 6
MASK = (1 << 32) - 1

# Each takes the elements, a value from outside and a counter, and gives one result for each of two destinations.
FUNCTIONS = {
    "the inputs exchanged": lambda x, y, outside, count: (y, x),
    "one input twice": lambda x, y, outside, count: (x, x),
    "one result twice": lambda x, y, outside, count: (lambda z: (z, z))(x + y),
    "a result and what it was made of": lambda x, y, outside, count: (lambda z: (z, z * 3))(x + y),
    "the last result first": lambda x, y, outside, count: (lambda z: (z + 1, z))(x * y),
    "a constant": lambda x, y, outside, count: (7, x - y),
    "a value from outside": lambda x, y, outside, count: (outside, y),
    "a counter": lambda x, y, outside, count: (count(x), y),
    "a counter twice": lambda x, y, outside, count: (count(y), count(x)),
}


def expected(a, name, repeats, parts):
    """NumPy's answer: everything is read before anything is written."""
    out, total = a.copy(), np.zeros(THREADS, np.uint64)
    for r in range(repeats):
        x, y = (a[:, parts[2 + one][r]].astype(np.uint64) for one in (0, 1))

        def count(by):
            nonlocal total
            total = (total + by) & MASK
            return total

        results = FUNCTIONS[name](x, y, np.arange(THREADS, dtype=np.uint64) + 40, count)
        for one, result in enumerate(results):
            out[:, parts[one][r]] = np.asarray(result, np.uint64) & MASK
    return out


def check(name, repeats, parts):
    """The slots of `parts` are destination 0 and 1, then source 0 and 1."""
    shape = (THREADS, SLOTS)
    views = [slice(order[0], order[-1] + 1, order[1] - order[0] if repeats > 1 else 1) for order in parts]

    @px.kernel(grid=1, block=THREADS)
    def kernel(A: px.Tensor(shape, px.u32), B: px.Tensor(shape, px.u32)):
        tile = px.local(shape, px.u32, layout=S[shape : (1 @ px.tx, 1)])
        words = tile.view(*shape, 1)
        px.tile.apply("ld.global.u32", words, A.view(*shape, 1), scope="cta")
        total, outside = px.reg(px.u32, 0), px.tid.x + 40

        def count(by):
            total.set(total + by)
            return total.get()

        out0, out1, in0, in1 = (tile[:, view] for view in views)
        px.tile.ewise(lambda x, y: FUNCTIONS[name](x, y, outside, count), (out0, out1), in0, in1, scope="cta")
        px.tile.apply("st.global.u32", B.view(*shape, 1), words, scope="cta")

    a = np.random.default_rng(3).integers(0, 1 << 32, shape, np.uint32)
    b = np.zeros_like(a)
    kernel(a, b)
    np.testing.assert_array_equal(b, expected(a, name, repeats, parts))


slots = st.integers(0, SLOTS - 1)


@given(st.lists(slots, min_size=2, max_size=2, unique=True), slots, slots, st.sampled_from(sorted(FUNCTIONS)))
@settings(max_examples=60, deadline=None)
def test_single_elements(outputs, one, other, name):
    check(name, 1, [[slot] for slot in (*outputs, one, other)])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("repeats", [2, 3])
def test_overlapping_tiles(name, repeats):
    """Two destinations side by side, one source shifted by a slot and one that takes every second slot."""
    places = [(0, 1), (repeats, 1), (1, 1), (0, 2)]
    check(name, repeats, [[start + step * r for r in range(repeats)] for start, step in places])


def test_a_px_reg_may_be_returned():
    """Elements run in order, and each destination keeps what the register held at its own element, in place or not."""
    shape = (THREADS, 3)

    @px.kernel(grid=1, block=THREADS)
    def kernel(A: px.Tensor(shape, px.u32), B: px.Tensor(shape, px.u32)):
        tile = px.local(shape, px.u32, layout=S[shape : (1 @ px.tx, 1)])
        px.tile.apply("ld.global.u32", tile.view(*shape, 1), A.view(*shape, 1), scope="cta")
        total = px.reg(px.u32, 0)

        def add(x):
            total.set(total + x)
            return total

        px.tile.ewise(add, tile[:, 1:3], tile[:, 0:2], scope="cta")
        px.tile.apply("st.global.u32", B.view(*shape, 1), tile.view(*shape, 1), scope="cta")

    a = np.arange(12, dtype=np.uint32).reshape(shape)
    b = np.zeros_like(a)
    kernel(a, b)
    np.testing.assert_array_equal(b, np.stack([a[:, 0], a[:, 0], a[:, 0] + a[:, 1]], axis=1))


def test_an_instruction_behind_a_retargeted_one_stays():
    """The register that an ewise result no longer needs is handed out again: to an instruction that the user named."""

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 1), px.u32), B: px.Tensor((1,), px.u32)):
        tile = px.local((32, 1), px.u32, layout=S[(32, 1) : (1 @ px.tx, 1)])
        px.tile.apply("ld.global.u32", tile, A, scope="cta")
        px.tile.ewise(lambda x: x + 1, tile, tile, scope="cta")
        px.ptx["ld.global.b32"](B[0])
        px.tile.apply("st.global.u32", A, tile, scope="cta")

    assert "ld.global.b32" in kernel.ptx()


def test_destinations_that_overlap_are_refused():
    with pytest.raises(px.InstructionError, match="two destinations share registers"):

        @px.kernel(grid=1, block=1)
        def kernel():
            tile = px.local(3, px.u32)
            px.tile.ewise(lambda: (1, 2), (tile[0:2], tile[1:3]), scope="thread")

        kernel.ptx()


def test_a_result_of_an_earlier_element_is_refused():
    kept = []

    def first(x):
        kept.append(x + 1)
        return kept[0]

    with pytest.raises(px.TraceError, match="used outside of it"):

        @px.kernel(grid=1, block=1)
        def kernel():
            tile = px.local(2, px.u32)
            px.tile.ewise(first, tile, tile, scope="thread")

        kernel.ptx()
