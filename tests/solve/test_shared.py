"""Shared tiles: conflicts counted by hand and by px.costs, kernels in the emulator, and wider families of layouts searched exhaustively."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.assemble import assemble
from ptxgen.layouts import Layout, S
from ptxgen.layouts.search import Pattern, Unplaced, place
from ptxgen.solve import Access
from ptxgen.solve.probe import Probe
from ptxgen.solve.shared import _pattern as pattern_of

TMA = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"

WORDS = Access("st.shared.b32", lambda t: t.view(px.b32).rearrange("(r w) l -> (w l) r 1", w=4).view(128, 16, 1))
ROWS = Access("st.shared.v4.b32", lambda t: t.view(px.b32).rearrange("(r w l) (c v) -> (w l c) r v", w=4, l=4, v=4))
COLUMN = Access("ld.shared.b16", lambda t: t.rearrange("(q l) (r w) -> (w l) q r 1", w=4, l=32).view(128, 2, 16, 1))
COLUMN_MATRICES = Access(
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    lambda t: t.rearrange("(q x r) (w p c) -> w q p x r c", x=4, r=8, w=4, c=8).view(4, 4, 4, 8, 8),
)


def naive(addresses, width):
    """Wavefronts of one warp's loads or stores by the rules of layouts/banks.py, lane by lane; without shared room."""
    lanes = max(1, min(32, 128 // width))
    total = 0
    for first in range(0, len(addresses), lanes):
        banks = {}
        for address in addresses[first : first + lanes]:
            for word in range(address // 4, (address + width + 3) // 4):
                banks.setdefault(word % 32, set()).add(word)
        total += max(map(len, banks.values()), default=0)
    return total


def test_a_transposing_tile_without_conflicts():
    plan = px.solve.shared((64, 64), px.bf16, [WORDS, COLUMN], threads=128)
    plan.check()
    assert (plan.conflicts, plan.size, plan.wavefronts) == (0, 8192, (64, 128))

    @px.kernel(grid=1, block=128)
    def transpose(A: px.Tensor((64, 64), px.bf16, align=16), B: px.Tensor((64, 64), px.bf16, align=16)):
        tile = px.shared(**plan.tile)
        words = px.local((128, 16, 1), px.b32, layout=S[(128, 16, 1) : (1 @ px.tx, 1, 1)])
        halves = px.local((128, 2, 16, 1), px.b16, layout=S[(128, 2, 16, 1) : (1 @ px.tx, 16, 1, 1)])
        px.tile.apply("ld.global.b32", words, WORDS.view(A), scope="cta")
        px.tile.apply(WORDS.opcode, WORDS.view(tile), words, scope="cta")
        px.syncthreads()
        px.tile.apply(COLUMN.opcode, halves, COLUMN.view(tile), scope="cta")
        px.tile.apply("st.global.b16", COLUMN.view(B.permute(1, 0)), halves, scope="cta")

    source, target = np.random.default_rng(0).random((64, 64)).astype(ml_dtypes.bfloat16), np.zeros((64, 64), ml_dtypes.bfloat16)
    transpose(source, target)
    np.testing.assert_array_equal(target.view(np.uint16), source.T.view(np.uint16))
    counted = [one.wavefronts for record in px.costs.of(transpose).memory for one in record.accesses if one.space == "shared"]
    assert counted == list(plan.wavefronts)
    assemble(transpose.ptx())


def test_matrices_of_a_transposing_tile_without_conflicts():
    plan = px.solve.shared((64, 64), px.bf16, [ROWS, COLUMN_MATRICES], threads=128, exact=True, limit=8192)
    plan.check()
    assert plan.layout == Layout(S[64, 64], swizzle=px.Swizzle.B128)
    assert plan.wavefronts == plan.least == (64, 64)

    @px.kernel(grid=1, block=128)
    def kernel(A: px.Tensor((64, 64), px.bf16, align=16), B: px.Tensor((4, 4, 4, 8, 8), px.bf16, align=4)):
        tile = px.shared(**plan.tile)
        words = px.local((128, 4, 4), px.b32, layout=S[(128, 4, 4) : (1 @ px.tx, 4, 1)])
        px.tile.apply("ld.global.v4.b32", words, ROWS.view(A), scope="cta")
        px.tile.apply(ROWS.opcode, ROWS.view(tile), words, scope="cta")
        px.syncthreads()
        # with .trans lanes 4c to 4c + 3 hold column c, two rows each
        owners = S[(4, 4, 4, (4, 2), 8) : (1 @ px.warpid, 8, 2, (1 @ px.laneid, 1), 4 @ px.laneid)]
        held = px.local((4, 4, 4, 8, 8), px.bf16, layout=owners, container=px.b32)
        px.tile.apply(COLUMN_MATRICES.opcode, held, COLUMN_MATRICES.view(tile), scope="cta")
        turned = "w q x r c -> w c r q x"
        px.tile.apply(
            "st.global.b32",
            B.rearrange("w q x c r -> w c r q x").view(128, 2, 16).permute(0, 2, 1).view(px.b32),
            held.rearrange(turned).view(128, 2, 16).permute(0, 2, 1).view(px.b32),
            scope="cta",
        )

    source, target = np.random.default_rng(1).random((64, 64)).astype(ml_dtypes.bfloat16), np.zeros((4, 4, 4, 8, 8), ml_dtypes.bfloat16)
    kernel(source, target)
    wanted = source.reshape(2, 4, 8, 4, 2, 8).transpose(3, 0, 4, 1, 5, 2).reshape(4, 4, 4, 8, 8)
    np.testing.assert_array_equal(target.view(np.uint16), wanted.view(np.uint16))
    assert [one.conflicts for record in px.costs.of(kernel).memory for one in record.accesses if one.space == "shared"] == [0, 0]
    assemble(kernel.ptx())


def test_what_can_not_be_free_of_conflicts_takes_the_least():
    """Rows by 16 bytes and a column element by element: eight 16-byte groups of banks for 32 rows, four wavefronts at least."""
    plan = px.solve.shared((64, 64), px.bf16, [ROWS, COLUMN], threads=128)
    plan.check()
    assert (plan.wavefronts, plan.least) == ((64, 512), (64, 128))
    with pytest.raises(px.Impossible) as caught:
        px.solve.shared((64, 64), px.bf16, [ROWS, COLUMN], threads=128, exact=True)
    assert caught.value.demands == (
        "st.shared.v4.b32 takes 8 elements at once, together and at multiples of 16 bytes",
        "ld.shared.b16 has no bank conflicts",
    )


def test_no_linear_map_of_rows_onto_banks_does_better():
    """Every XOR of the eight 16-byte pieces of a row by a linear function of its number: 8^5 of them for the 32 rows of a warp's column."""
    maps = np.array(list(itertools.product(range(8), repeat=5)))
    bits = np.arange(32)[:, None] >> np.arange(5) & 1
    moved = np.bitwise_xor.reduce(np.where(bits, maps[:, None], 0), axis=-1)  # (map, row): what piece 0 of the row becomes
    best = (moved[..., None] == np.arange(8)).sum(1).max(1).min()  # rows of 128 bytes begin at bank 0
    plan = px.solve.shared((64, 64), px.bf16, [ROWS, COLUMN], threads=128)
    assert best * 2 * 64 == plan.wavefronts[1]  # two halves of 64 columns


def test_tensor_copies_and_descriptors_admit_canonical_swizzles_alone():
    box = Access(TMA, lambda t: t[:, :64])
    matrix = Access(WGMMA, lambda t: t.rearrange("m (k c) -> k m c", c=16).view(1, 16, 64, 16), operand="a")
    plan = px.solve.shared((64, 256), px.bf16, [box, matrix], threads=128)
    plan.check()
    assert plan.layout == Layout(S[(64, (4, 64)) : (64, (4096, 1))], swizzle=px.Swizzle.B128)
    with pytest.raises(px.Impossible) as caught:
        px.solve.shared((64, 64), px.bf16, [Access(TMA), COLUMN], threads=128, exact=True)
    assert caught.value.demands == (
        f"{TMA} finds its elements in a box, dense and row-major, with a swizzle of 32, 64 or 128 bytes or none",
        "ld.shared.b16 has no bank conflicts",
    )
    plan = px.solve.shared((64, 64), px.bf16, [Access(TMA), COLUMN_MATRICES, matrix_of(64)], threads=128, exact=True)
    plan.check()
    assert plan.layout.swizzle == px.Swizzle.B128


def test_bulk_copies_take_consecutive_bytes():
    line = Access("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", lambda t: t[0])
    column = Access("ld.shared.f32", lambda t: t.rearrange("r (w c) -> (w r) c 1", w=2).view(64, 16, 1))
    plan = px.solve.shared((32, 32), px.f32, [line, column], threads=64)
    plan.check()
    assert plan.layout.swizzle is None and plan.conflicts == 0
    across = px.solve.Access("st.shared.v4.f32", lambda t: t.rearrange("r (w c v) -> (w r) c v", w=2, v=4))
    plan = px.solve.shared((32, 32), px.f32, [line, across], threads=64)
    plan.check()
    assert plan.words == "row-major, 16 bytes behind each row" and plan.conflicts == 0


def test_matrices_of_any_legal_extents():
    a = Access("tcgen05.mma.cta_group::1.kind::f16", lambda t: t.rearrange("m (k c) -> k m c", c=16).view(1, 4, 128, 16), operand="a")
    plan = px.solve.shared((128, 64), px.bf16, [Access(TMA), a], threads=128)
    plan.check()
    assert plan.layout.swizzle == px.Swizzle.B128
    with pytest.raises(px.LayoutError, match="does not end in"):
        px.solve.shared((96, 64), px.bf16, [a._replace(view=lambda t: t.view(1, 4, 96, 16))], threads=128)


def test_an_access_that_does_not_reach_shared_memory():
    with pytest.raises(px.LayoutError, match="has 0 operands in shared memory"):
        px.solve.shared((32, 32), px.f32, [Access("ld.global.f32")], threads=64)


def matrix_of(k):
    return Access(WGMMA, lambda t: t.rearrange("m (k c) -> k m c", c=16).view(1, k // 16, 64, 16), operand="a")


@pytest.mark.parametrize("swizzle", [None, px.Swizzle.B32, px.Swizzle.B64, px.Swizzle.B128, px.Swizzle(2, 4, 4)])
@pytest.mark.parametrize("pitch", [32, 64])
def test_the_search_accepts_the_tiles_that_the_engine_takes_from_a_tensor_copy(swizzle, pitch):
    """A box of 32 columns of 16 bits, in rows of 64 or of 128 bytes."""
    layout = Layout(S[(16, (2, 32)) : (pitch, (1024, 1))], swizzle=swizzle)
    pattern = pattern_of(Access(TMA, lambda t: t[:, :32]), (16, 64), px.bf16, 32)
    accepted = pattern.accepts(layout.bind(16).table().linear.ravel()[pattern.elements], swizzle)

    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(A: px.Tensor((16, 32), px.bf16, align=16)):
        tile = px.shared((16, 64), px.bf16, layout=layout, align=1024)
        arrived = px.mbarrier(1)
        arrived.init()
        px.tile.apply(TMA, tile[:, :32], A.box((0, 0), (16, 32)), arrived, scope="thread")

    try:
        kernel.ptx()
        taken = True
    except px.InstructionError:
        taken = False
    assert accepted == taken


def test_two_wide_accesses_along_two_axes_are_impossible():
    down = Access("ld.shared.v4.b32", lambda t: t.permute(1, 0).rearrange("(r w l) (c v) -> (w l c) r v", w=4, l=4, v=8).view(px.b32))
    with pytest.raises(px.Impossible) as caught:
        px.solve.shared((64, 64), px.bf16, [COLUMN, ROWS, down], threads=128)
    assert str(caught.value) == (
        "no layout of a shared tile of shape (64, 64) of bf16 serves all accesses\n"
        "  demand: st.shared.v4.b32 takes 8 elements at once, together and at multiples of 16 bytes\n"
        "  demand: ld.shared.v4.b32 takes 8 elements at once, together and at multiples of 16 bytes\n"
        "  legal: an access that is narrower or along another axis, or two tiles"
    )


def test_a_padded_tile_where_rows_are_no_power_of_two():
    """33 columns conflict in no way already; 48 rows of 24 words do, and a swizzle or a few bytes help."""
    across = Access("st.shared.f32", lambda t: t.view(48, 24, 1))
    plan = px.solve.shared((48, 24), px.f32, [across], threads=48)
    plan.check()
    places = plan.layout.bind(32).table().m // 8
    assert plan.wavefronts == (sum(naive(list(places[first : first + 32, c]), 4) for first in (0, 32) for c in range(24)),)
    assert plan.conflicts == 0
    assert px.solve.shared((48, 33), px.f32, [Access("st.shared.f32", lambda t: t.view(48, 33, 1))], threads=48).words == "row-major"


def test_a_plan_in_words():
    assert str(px.solve.shared((64, 64), px.bf16, [ROWS, COLUMN], threads=128)) == (
        "shared (64, 64) bf16: row-major, 128-byte swizzle, 8192 bytes\n"
        "  tile: px.shared((64, 64), px.bf16, layout=Layout(S[(64, 64) : (64, 1)], swizzle=Swizzle(3, 4, 3)))\n"
        "  st.shared.v4.b32: 64 wavefronts, no conflicts\n"
        "  ld.shared.b16: 512 wavefronts, 128 without conflicts"
    )


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_counts_and_the_best_of_an_exhaustive_search(data):
    """A small tile, one warp reading it in two random orders: the search is no worse than any swizzle and any padding."""
    rows, columns = data.draw(st.sampled_from([(8, 8), (4, 16), (16, 4), (6, 10), (5, 13)]))
    size = data.draw(st.sampled_from([4, 2]))
    numbers = np.arange(rows * columns).reshape(rows, columns)
    patterns = []
    for _ in range(2):
        order = data.draw(st.sampled_from(["r c -> (r c)", "r c -> (c r)"]))
        stride = data.draw(st.sampled_from([1, 2]))
        start = data.draw(st.integers(0, 3))
        lanes = (numbers if order.endswith("(r c)") else numbers.T).ravel()[start::stride][:32]
        both = np.stack([np.resize(lanes, 32), np.resize(numbers.ravel()[start : start + 32], 32)])  # a second access beside it
        patterns.append(Pattern(both[..., None], 8 * size, np.stack([np.arange(32) < len(lanes)] * 2)))
    found = place((rows, columns), 8 * size, patterns)
    places = found.layout.bind(8 * size).table().m.ravel() // 8
    counts = [counted(one, places, size) for one in patterns]
    assert tuple(counts) == found.wavefronts
    assert sum(counts) == min(sum(counted(one, places, size) for one in patterns) for places in every_layout(rows, columns, size))


def counted(pattern, places, size):
    return sum(naive(list(places[row[on]]), size) for row, on in zip(pattern.elements[..., 0], pattern.active))


def every_layout(rows, columns, size):
    """Byte addresses of all elements under each padding by words and each swizzle of words inside 32 banks, either axis contiguous."""
    r, c = np.indices((rows, columns))
    for pad in range(0, 129, 4):
        yield (r * (columns * size + pad) + c * size).ravel()
        yield (c * (rows * size + pad) + r * size).ravel()
    for plain in (size * (r * columns + c), size * (c * rows + r)):
        for base, bits, shift in itertools.product(range(2, 7), range(1, 6), range(1, 8)):
            if bits <= shift and base + bits <= 7:
                yield (plain ^ ((plain >> shift) & (((1 << bits) - 1) << base))).ravel()


def test_a_limit_is_a_demand():
    pattern = Pattern(np.arange(64).reshape(2, 32, 1), 32, np.ones((2, 32), bool))
    found = place((8, 8), 32, [pattern], limit=255)
    assert found == Unplaced((1,))


def test_the_probe_sees_what_numpy_sees():
    numbers = np.arange(12 * 8).reshape(12, 8)
    probe = Probe.of((12, 8), px.bf16)
    for view, wanted in [
        (probe[2:6, ::2], numbers[2:6, ::2]),
        (probe[..., 3], numbers[:, 3]),
        (probe.permute(1, 0).sub((1, 2), (3, 4)), numbers.T[1:4, 2:6]),
        (probe.rearrange("(a b) c -> b (c a)", a=3), numbers.reshape(3, 4, 8).transpose(1, 2, 0).reshape(4, 24)),
    ]:
        np.testing.assert_array_equal(view.elements[..., 0], wanted)
    np.testing.assert_array_equal(probe.permute(1, 0).view(px.b32).elements, numbers.T.reshape(8, 6, 2))
    np.testing.assert_array_equal(probe.view(px.b32).rearrange("... c -> c ...").elements, numbers.reshape(12, 4, 2).swapaxes(0, 1))
    np.testing.assert_array_equal(probe.view(3, -1).elements[..., 0], numbers.reshape(3, 32))
    for view, told in [
        (lambda: probe.view(px.b8), "a tile of shape (12, 8) of bf16 can't be seen as .b8"),
        (lambda: probe.view(5, -1), "can't reshape (12, 8) to (5, 19): 96 elements against 95"),
        (lambda: probe.rearrange("a b"), 'rearrange("a b") on shape (12, 8): a pattern has one "->" between its two sides'),
        (lambda: probe.rearrange("(a b) c -> a b c", a=5), 'rearrange("(a b) c -> a b c", a=5) on shape (12, 8): '
                                                            "axis b: the extent 12 of dimension 0 is no multiple of 5"),
    ]:  # fmt: skip
        with pytest.raises(px.LayoutError) as caught:
            view()
        assert str(caught.value).startswith(told)


def test_a_limit_below_the_tile_itself_says_what_it_takes():
    with pytest.raises(px.Impossible) as caught:
        px.solve.shared((64, 64), px.bf16, [ROWS], threads=128, limit=8000)
    assert caught.value.demands == ("the tile takes at most 8000 bytes",)
    assert caught.value.legal == "the 8192 bytes of its elements, or more"


def test_accesses_that_are_no_list_and_types_that_are_names():
    with pytest.raises(px.LayoutError, match="the accesses are a list of opcodes with their views"):
        px.solve.shared((64, 64), px.bf16, ROWS, threads=128)
    with pytest.raises(px.LayoutError, match="takes an element type for dtype, not 'bf16'"):
        px.solve.shared((64, 64), "bf16", [ROWS], threads=128)
