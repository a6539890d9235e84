"""Rearrangements into an instruction's coordinates: in kernels against NumPy, for scrambled tiles, against exhaustive search."""

# ruff: noqa: E501 - a message stands as it is written

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S, b16, b32, bf16, f32, laneid, tid_in_wg, tx, warpid
from ptxgen.assemble import assemble
from ptxgen.errors import Impossible, InstructionError, LayoutError, TraceError
from ptxgen.layouts.axes import m
from ptxgen.layouts.search.cuts import cuts
from ptxgen.solve.judge import asked, bound, judged
from tests.solve.shown import shown

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
B128 = px.Swizzle.B128
SUMS = S[((4, 2, 8), (8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]


@pytest.mark.parametrize(
    ("tensor", "opcode", "operand", "how", "pattern", "split"),
    [
        (px.Layout(S[(128, (2, 64)) : (64, (8192, 1))], swizzle=B128), WGMMA, "A", {}, '.rearrange("(m i) (k j) -> m k i j", i=64, j=16)', ((), (2, 8), (64, 16))),
        (px.Layout(S[(64, 64) : (1, 64)], swizzle=B128), WGMMA, "B", {}, '.rearrange("i (k j) -> 1 k i j", j=16)', ((), (1, 4), (64, 16))),
        (px.Layout(SUMS), WGMMA, "D", {}, '.rearrange("i j -> 1 1 i j")', ((), (1, 1), (64, 64))),
        (px.Layout(SUMS), "st.global.v2.f32", "b", {"scope": "cta", "threads": 128}, '.rearrange("(g0 p g1) (q g2 i) -> g0 g1 g2 p q i", p=2, g1=8, g2=4, i=2)', ((4, 8, 4), (2, 8), (2,))),
        (px.Layout(S[(64, 64)], swizzle=B128), LDMATRIX, "p", {}, '.rearrange("(p i1 j) (q i0 l) -> p q (i0 i1) j l", i1=2, j=8, i0=2, l=8)', ((), (4, 4), (4, 8, 8))),
        (px.Tensor((64, 128), f32, align=16), "ld.global.v4.f32", "a", {"scope": "warp"}, '.rearrange("p (g i) -> g p i", i=4)', ((32,), (64,), (4,))),
        (px.Layout(S[(256, 64)], swizzle=B128), "tcgen05.mma.cta_group::1.kind::f16", "A", {"dtype": bf16}, '.rearrange("(m i) (k j) -> m k i j", i=128, j=16)', ((), (2, 4), (128, 16))),
        (S[(16, 16) : (16, 1)], "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16", "B", {}, None, None),
        (px.Layout(S[(2, 3, 64, 16) : (3072, 1024, 16, 1)], swizzle=px.Swizzle.B32), WGMMA, "A", {}, " as it is", ((), (2, 3), (64, 16))),
        (px.Layout(S[(64, 16) : (1 @ tx, 1)]), "st.global.v4.f32", "b", {"scope": "cta", "threads": 64}, '.rearrange("g (p i) -> g p i", i=4)', ((64,), (4,), (4,))),
        (px.Tensor((64, 64), bf16, align=16), "cp.async.cg.shared.global", "src", {"scope": "cta", "threads": 128}, '.rearrange("(p g0) (g1 i) -> g0 g1 p i", g0=16, i=8)', ((16, 8), (4,), (8,))),
        (S[(2, 32) : (1, 1 @ laneid)], "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", "e", {}, '.rearrange("m i -> m 1 i")', ((), (2, 1), (32,))),
        (S[((2, 4, 2), (2, 8)) : ((4, 1 @ laneid, 1), (2, 4 @ laneid))], MMA, "A", {}, '.rearrange("j i -> 1 1 i j")', ((), (1, 1), (16, 16))),
        (S[(64, 4)], "mov.f32", "d", {"scope": "thread", "space": "reg"}, '.rearrange("p q -> p q 1")', ((), (64, 4), (1,))),
    ],
    ids=["a", "transposed b", "d", "stored d", "ldmatrix", "ld", "tcgen05", "none", "ready", "st", "cp.async", "metadata", "columns first", "own"],
)  # fmt: skip
def test_patterns(tensor, opcode, operand, how, pattern, split):
    if pattern is None:
        with pytest.raises(Impossible):
            px.solve.canonical(tensor, opcode, operand, **how)
        return
    plan = px.solve.canonical(tensor, opcode, operand, **how)
    plan.check()
    assert str(plan.view) == pattern
    assert (plan.group, plan.repeat, plan.atom) == split


def test_what_is_printed():
    assert str(px.solve.canonical(px.Layout(S[(128, 64)], swizzle=B128), WGMMA)) == """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, scope 'warpgroup': tensor of shape (128, 64), bf16
  view    tensor.rearrange("(m i) (k j) -> m k i j", i=64, j=16)
  group   none: issued once
  repeat  2 x 4: 8 instructions, along M, K
  atom    64 x 16"""


def test_the_bytes_of_a_copy_follow_from_the_alignment():
    """cp.async.ca moves 4, 8 or 16 bytes: the most that the tensor allows, unless it is said."""
    for align, how, wanted in ((16, {}, 16), (8, {}, 8), (4, {}, 4), (16, {"cp_size": 4}, 4)):
        X = px.Tensor((32, 64), bf16, align=align)
        plan = px.solve.canonical(X, "cp.async.ca.shared.global", "src", scope="warp", **how)
        plan.check()
        assert plan.atom == (wanted // 2,) and (how or plan.sizes == {"cp_size": wanted})


# ---- a whole product ----------------------------------------------------------------------------------------------------


def test_a_product_by_ldmatrix_and_mma():
    """Every view of the kernel is a plan: loads of fragments from swizzled tiles, the product, and its store."""
    a_layout = S[((2, 2, 8), (2, 2, 4, 2)) : ((16, 2, 4 @ laneid), (8, 4, 1 @ laneid, 1))]
    b_layout = S[((2, 8), (2, 2, 4, 2)) : ((8, 4 @ laneid), (4, 2, 1 @ laneid, 1))]
    c_layout = S[((2, 2, 8), (2, 4, 2)) : ((8, 2, 4 @ laneid), (4, 1 @ laneid, 1))]
    tile = px.Layout(S[(32, 32)], swizzle=px.Swizzle.B64)
    half = px.Layout(S[(16, 32)], swizzle=px.Swizzle.B64)
    from_a, to_a = (px.solve.canonical(one, LDMATRIX, name, dtype=b16) for one, name in ((tile, "p"), (px.Layout(a_layout), "r")))
    from_b, to_b = (px.solve.canonical(one, LDMATRIX, name, dtype=b16) for one, name in ((half, "p"), (px.Layout(b_layout), "r")))
    assert from_a.view == to_a.view and from_b.view == to_b.view
    a_view, b_view, c_view = (px.solve.canonical(px.Layout(one), MMA, name) for one, name in ((a_layout, "A"), (b_layout, "B"), (c_layout, "D")))
    store = px.solve.canonical(px.Layout(c_layout), "st.global.v2.f32", "b", scope="warp")
    for plan in (from_a, to_a, from_b, to_b, a_view, b_view, c_view, store):
        plan.check()

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 32), bf16, align=16), B: px.Tensor((16, 32), bf16, align=16), C: px.Tensor((32, 16), f32, align=8)):
        a_tile, b_tile = px.shared((32, 32), bf16, layout=tile), px.shared((16, 32), bf16, layout=half)
        for shared, tensor in ((a_tile, A), (b_tile, B)):
            chunks = "(p t) (c v) -> (t c) p v"
            px.tile.apply("cp.async.cg.shared.global", shared.rearrange(chunks, t=8, v=8), tensor.rearrange(chunks, t=8, v=8), 16, scope="warp")
        px.cp_async_commit()
        px.cp_async_wait(0)
        px.syncthreads()
        a, b = px.local((32, 32), bf16, layout=a_layout, container=b32), px.local((16, 32), bf16, layout=b_layout, container=b32)
        c = px.local((32, 16), f32, layout=c_layout)
        px.tile.apply(LDMATRIX, to_a.view(a.view(b16)), from_a.view(a_tile.view(b16)), scope="warp")
        px.tile.apply(LDMATRIX, to_b.view(b.view(b16)), from_b.view(b_tile.view(b16)), scope="warp")
        px.tile.ewise(lambda _: px.f32(0.0), *[store.view(c)] * 2, scope="warp")
        px.tile.apply(MMA, c_view.view(c), a_view.view(a), b_view.view(b), c_view.view(c), scope="warp")
        px.tile.apply("st.global.v2.f32", store.view(C), store.view(c), scope="warp")

    rng = np.random.default_rng(3)
    x, y = (rng.integers(-4, 5, (rows, 32)).astype(bf16.numpy) for rows in (32, 16))
    z = np.zeros((32, 16), np.float32)
    kernel(x, y, z)
    assert np.array_equal(z, x.astype(np.float32) @ y.astype(np.float32).T)
    assemble(kernel.ptx(), "sm_80")


def test_views_of_a_kernel():
    """A view inside a kernel is asked about as it is: its type, space and alignment are known."""
    plans = []

    @px.kernel(grid=1, block=128)
    def kernel(X: px.Tensor((64, 32), f32, align=16)):
        tile = px.shared((64, 32), f32)
        plans.append(px.solve.canonical(X, "ld.global.v4.f32", "a", scope="cta", threads=128))
        plans.append(px.solve.canonical(tile, "st.shared.v4.f32", "a", scope="cta", threads=128))
        plans.append(px.solve.canonical(px.local((64, 32), f32, layout=S[((4, 16), (8, 4)) : ((32 @ tx, 4), (4 @ tx, 1))]), "mov.f32", "d", threads=None))

    with pytest.raises(Impossible):
        kernel.specialize()
    assert [plan.group for plan in plans] == [(16, 8), (16, 8)]


# ---- what is impossible -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "opcode", "operand", "how", "message"),
    [
        (
            px.Layout(S[(72, 64)], swizzle=B128), WGMMA, "A", {},
            """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: no rearrangement of this tensor is an operand
  demand: the tensor's shape is (72, 64)
  demand: one instruction takes 64 x 16, and 64 does not divide 72
  legal: an extent of a multiple of 64""",
        ),
        (
            px.Layout(S[(64, 64)]), WGMMA, "A", {},
            """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: no rearrangement of this tensor is an operand
  demand: the tensor lies as Layout(S[(64, 64) : (64, 1)])
  demand: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides; element (1, 0) lies 128 bytes behind element (0, 0), where the nearest canonical layout, K-major with no swizzle, puts it 16 bytes behind
  legal: the same tile with layout=px.Layout(..., swizzle=px.Swizzle.B128)""",
        ),
        (
            px.Layout(SUMS), "st.global.v2.f32", "b", {"scope": "warp"},
            """\
b of st.global.v2.f32: no rearrangement of this tensor is an operand
  demand: 128 threads own the tensor
  demand: scope 'warp' has 32
  legal: the scope of as many threads, or a part of the tensor""",
        ),
        (
            px.Layout(S[(3, 5, 64) : (320, 64, 1)]), "ld.shared.v4.f32", "a", {"scope": "warp"},
            """\
a of ld.shared.v4.f32: no rearrangement of this tensor is an operand
  demand: the tensor is 240 times what one instruction takes
  demand: scope 'warp' has 32 that issue it
  legal: a tensor of a multiple of 32 times 4, or a part of it""",
        ),
        (
            px.Tensor((64, 65), f32, align=16), "ld.global.v4.f32", "a", {"scope": "warp"},
            """\
a of ld.global.v4.f32: no rearrangement of this tensor is an operand
  demand: the tensor's shape is (64, 65)
  demand: one instruction takes 4, and 4 does not divide 65
  legal: an extent of a multiple of 4""",
        ),
        (
            px.Layout(S[(64, 64) : (1, 65)]), LDMATRIX, "p", {},
            """\
p of ldmatrix.sync.aligned.m8n8.x4.shared.b16: no rearrangement of this tensor is an operand
  demand: the tensor lies as Layout(S[(64, 64) : (1, 65)])
  demand: an access of 16 bytes is aligned to 16 bytes; lane 1, repeat (0, 0): byte offset 130 = 128 + 2
  legal: strides and starts that are multiples of 16 bytes: padded rows""",
        ),
    ],
    ids=["rows", "descriptor", "owners", "threads", "divides", "aligned"],
)  # fmt: skip
def test_what_is_impossible(tensor, opcode, operand, how, message):
    assert shown(Impossible, lambda: px.solve.canonical(tensor, opcode, operand, **how)) == message


def test_calls_that_mean_nothing():
    assert "takes no view of memory" in shown(LayoutError, lambda: px.solve.canonical(S[(64, 64)], MMA, "A"))
    assert "threads=256" in shown(LayoutError, lambda: px.solve.canonical(S[(64, 64)], "ld.shared.v4.f32", "a", scope="cta"))
    runtime = px.Tensor((px.dim("n"), 64), f32, align=16)
    assert "a static part of it" in shown(LayoutError, lambda: px.solve.canonical(runtime, "ld.global.v4.f32", "a", scope="warp"))
    elements = shown(Impossible, lambda: px.solve.canonical(px.Layout(S[(64, 64)], swizzle=B128), WGMMA, dtype=f32))
    assert "demand: the instruction takes elements of 16 bits" in elements


# ---- scrambled tiles ----------------------------------------------------------------------------------------------------

FRAGMENTS = {  # pieces of rows and of columns that the lanes of a fragment have, (extent, stride); the others may lie anywhere
    "A": ([(2, 2), (8, 4 @ laneid)], [(2, 4), (4, 1 @ laneid), (2, 1)]),
    "B": ([(8, 4 @ laneid)], [(2, 2), (4, 1 @ laneid), (2, 1)]),
    "D": ([(2, 2), (8, 4 @ laneid)], [(4, 1 @ laneid), (2, 1)]),
}


@st.composite
def scrambled(draw):
    """A register tile of an mma's operand whose repeats stand anywhere between the pieces of its fragments."""
    name = draw(st.sampled_from(sorted(FRAGMENTS)))
    strides = iter(draw(st.permutations([8, 16, 32, 64])))
    axes = []
    for pieces in FRAGMENTS[name]:
        pieces = list(pieces)
        for _ in range(draw(st.integers(0, 2))):
            pieces.insert(draw(st.integers(0, len(pieces) - 1)), (2, next(strides)))
        axes.append(pieces)
    return name, S[tuple(tuple(e for e, _ in one) for one in axes) : tuple(tuple(s for _, s in one) for one in axes)]


@given(scrambled())
@settings(max_examples=40, deadline=None)
def test_scrambled_fragments_are_found(drawn):
    """What was made of a fragment is one again: the engine says so, and the plan's atoms are the first lane's registers in order."""
    name, layout = drawn
    plan = px.solve.canonical(px.Layout(layout), MMA, name)
    plan.check()
    whole = px.Layout(layout)
    assert np.prod(plan.repeat) * np.prod(plan.atom) == whole.size
    seen = plan.view.on(whole.bind(plan.dtype.bits), plan.dtype.bits)[0]
    assert sorted(seen.table().m.ravel() * 64 + seen.table().thread.ravel()) == sorted(
        whole.bind(plan.dtype.bits).table().m.ravel() * 64 + whole.bind(plan.dtype.bits).table().thread.ravel()
    )


# ---- exhaustive ---------------------------------------------------------------------------------------------------------


def factorizations(extent):
    """All ways to write an extent as a product of factors above 1, in order."""
    if extent == 1:
        return [()]
    return [(first, *rest) for first in range(2, extent + 1) if extent % first == 0 for rest in factorizations(extent // first)]


def every_view(layout, of, atom, issuers):
    """Every view (group, repeat, atom) of a tile of one axis or two that splits and permutes its axes, as layouts."""
    pieces = [[(axis, extents) for extents in factorizations(extent)] for axis, extent in enumerate(layout.shape)]
    for chosen in _product(pieces):
        split = layout.reshape(*(extent for _, extents in chosen for extent in (extents or (1,))))
        for order in permutations(range(split.ndim)):
            moved = split.permute(*order)
            for first in range(len(order) + 1):  # the axes from here on are the atom
                if np.prod(moved.shape[first:], dtype=int) == atom and (issuers == 1 or moved.shape[0] == issuers):
                    yield moved.reshape(*moved.shape[:first], atom)


def _product(lists):
    return [(one, *rest) for one in lists[0] for rest in _product(lists[1:])] if lists else [()]


@st.composite
def small_tiles(draw):
    """Tiles of at most 32 elements, strided by anything."""
    rows, columns = draw(st.sampled_from([(2, 4), (4, 4), (8, 2), (3, 4), (2, 8), (4, 2), (2, 6)]))
    steps = draw(st.permutations([1, columns, rows, 2 * rows * columns]))
    return px.Layout(S[(rows, columns) : (steps[0], steps[1])])


@given(small_tiles(), st.sampled_from([1, 2, 4]), st.sampled_from(["thread", "two"]))
@settings(max_examples=60, deadline=None)
def test_plans_exist_exactly_where_a_view_does(layout, width, scope):
    """Against every view there is: a vector access by one thread, or by the two of a block."""
    opcode = "ld.shared.f32" if width == 1 else f"ld.shared.v{width}.f32"
    how = {"scope": "thread"} if scope == "thread" else {"scope": "cta", "threads": 2}
    of = next(asked(opcode, "a", {}, lambda one: True))
    issuers = 1 if scope == "thread" else 2

    def fits(view):
        try:
            judged(of, view, f32, scope=how["scope"], threads=how.get("threads"), align=1024, space="shared", name="t")
        except (InstructionError, TraceError):
            return False
        return True

    possible = any(fits(view) for view in every_view(bound(layout, 32), of, width, issuers))
    try:
        plan = px.solve.canonical(layout, opcode, "a", dtype=f32, **how)
        plan.check()
        assert possible
    except Impossible:
        assert not possible


def test_cuts_of_an_axis():
    """Every subsequence of pieces with the atom's strides, the innermost first."""
    same = lambda own, wanted: own == wanted  # noqa: E731
    of = lambda shard: px.Layout(shard).dims  # noqa: E731

    def found(tile, atom):
        return [[[(piece.extent, piece.stride[m], piece.atom) for piece in axis] for axis in one] for one in cuts(of(tile), of(atom), same)]

    assert found(S[((2, 4, 2),) : ((1, 8, 1),)], S[2]) == [[[(2, 1, None), (4, 8, None), (2, 1, 0)]], [[(2, 1, 0), (4, 8, None), (2, 1, None)]]]
    assert found(S[12], S[4]) == [[[(3, 4, None), (4, 1, 0)]]]
    assert found(S[(3, 2) : (2, 1)], S[2]) == [[[(3, 2, None)], [(2, 1, 0)]]]
    assert found(S[(4, 2) : (2, 1)], S[4]) == [[[(2, 4, None), (2, 2, 0)], [(2, 1, 0)]]]  # from both axes
    assert found(S[(2, 4) : (1, 2)], S[4]) == [[[(2, 1, 0)], [(2, 4, None), (2, 2, 0)]]]
    assert not found(S[4], S[2, 2]) and not found(S[9], S[2])


def test_groups_of_warps():
    """Warps of a block hold rows of their own; the group's axis is found between the fragment's."""
    tile = px.Layout(S[((2, 2, 8), (4, 2)) : ((1 @ warpid, 2, 4 @ laneid), (1 @ laneid, 1))])
    plan = px.solve.canonical(tile, MMA, "D", scope="cta", threads=64)
    assert (plan.group, plan.repeat, plan.atom) == ((2,), (1, 1), (16, 8))
