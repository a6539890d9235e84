"""Copies: run in the emulator against NumPy, assembled, and held against exhaustive search on small cases."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.assemble import assemble
from ptxgen.layouts.search import partition, smallest_conflict

BITS = {"u8": np.uint8, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def guarded(plan, part):
    """The guard of a part, as the plan says it."""
    return px.if_(px.tid.x < part.threads) if part.threads < plan.threads else px.if_(px.tid.x >= 0)


def round_trip(shape, dtype, strides, align, threads, target=None):
    """The kernel of a load and a store with the plans' views."""
    given = {"strides": strides, "align": align, "threads": threads, "target": target}
    load, store = px.solve.copy(shape, dtype, **given), px.solve.copy(shape, dtype, **given, direction="store")
    load.check()
    store.check()
    Tile = px.Tensor(shape, dtype, strides=strides, align=align)

    @px.kernel(grid=1, block=threads, target=target)
    def kernel(A: Tile, B: Tile):
        r = px.local(**load.tile)
        for part in load.parts:
            with guarded(load, part):
                px.tile.apply(load.opcode, part.tile(r), part.memory(A), scope="cta")
        for part in store.parts:
            with guarded(store, part):
                px.tile.apply(store.opcode, part.memory(B), part.tile(r), scope="cta")

    return kernel, load


@pytest.mark.parametrize(
    ("shape", "dtype", "strides", "align", "threads", "opcode"),
    [
        ((64, 96), "f32", (96, 1), 16, 128, "ld.global.v4.b32"),
        ((101, 24), "bf16", (24, 1), 16, 64, "ld.global.v4.b32"),
        ((1185,), "f32", (1,), 16, 128, "ld.global.b32"),
        ((7, 6), "f32", (6, 1), 16, 32, "ld.global.v2.b32"),
        ((32, 24), "bf16", (1, 40), 16, 64, "ld.global.v4.b32"),
        ((5, 30), "u8", (33, 1), 1, 128, "ld.global.b8"),
        ((4, 3, 20), "u8", (64, 20, 1), 4, 32, "ld.global.b32"),
        ((6, 10), "f64", (16, 1), 16, 32, "ld.global.v2.b64"),
        ((30, 6), "bf16", (6, 1), 2, 96, "ld.global.b16"),
    ],
)
def test_copies_in_the_emulator(shape, dtype, strides, align, threads, opcode):
    kernel, plan = round_trip(shape, getattr(px, dtype), strides, align, threads)
    assert plan.opcode == opcode
    element = np.dtype(BITS[dtype])
    span = sum((extent - 1) * step for extent, step in zip(shape, strides)) + 1
    rng = np.random.default_rng(0)
    source, target = (aligned(rng, span * element.itemsize, element) for _ in range(2))
    views = [np.lib.stride_tricks.as_strided(one, shape, [step * element.itemsize for step in strides]) for one in (source, target)]
    gaps = np.ones(span, bool)
    np.lib.stride_tricks.as_strided(gaps, shape, strides)[...] = False
    before = target[gaps].copy()
    kernel(*(view.view(getattr(px, dtype).numpy) for view in views))
    np.testing.assert_array_equal(views[1], views[0])
    np.testing.assert_array_equal(target[gaps], before)
    assert px.costs.of(kernel).total("sectors", "global", store=False) == plan.sectors
    assemble(kernel.ptx())


def aligned(rng, nbytes, element):
    """Random elements at an address that 32 divides."""
    room = rng.integers(0, 256, nbytes + 32).astype(np.uint8)
    start = -room.ctypes.data % 32
    return room[start : start + nbytes].view(element)


def test_wide_accesses_where_the_target_has_them():
    narrow, wide = (px.solve.copy((64, 64), px.f32, align=32, threads=128, target=target) for target in ("sm_90a", "sm_100a"))
    assert (narrow.opcode, narrow.width, wide.opcode, wide.width) == ("ld.global.v4.b32", 16, "ld.global.v8.b32", 32)
    assert px.solve.copy((64,), px.f64, align=32, threads=16, target="sm_120", direction="store").opcode == "st.global.v4.b64"
    kernel, _ = round_trip((16, 64), px.f32, (64, 1), 32, 64, "sm_100a")
    assemble(kernel.ptx())
    with pytest.raises(px.Impossible) as caught:
        px.solve.copy((64, 64), px.f32, align=32, threads=128, target="sm_90", width=32)
    assert caught.value.demands == ("an access moves 32 bytes", "the target is sm_90")


def test_asynchronous_copies():
    plan = px.solve.copy((48, 72), px.bf16, align=16, threads=96, strides=(80, 1), direction="async", qualifiers=".L2::128B")
    plan.check()
    assert (plan.opcode, plan.width) == ("cp.async.cg.shared.global.L2::128B", 16)

    @px.kernel(grid=1, block=96)
    def kernel(A: px.Tensor((48, 72), px.bf16, strides=(80, 1), align=16), B: px.Tensor((48, 72), px.bf16, align=16)):
        tile = px.shared(**plan.tile)
        for part in plan.parts:
            with guarded(plan, part):
                px.tile.apply(plan.opcode, part.tile(tile), part.memory(A), scope="cta")
        px.cp_async_commit()
        px.cp_async_wait(0)
        px.syncthreads()
        out = px.solve.copy((48, 72), px.bf16, align=16, threads=96, direction="store")
        r = px.local(**out.tile)
        for part in out.parts:
            with guarded(out, part):
                px.tile.apply("ld.shared.v4.b32", part.tile(r), part.memory(tile), scope="cta")
                px.tile.apply(out.opcode, part.memory(B), part.tile(r), scope="cta")

    rng = np.random.default_rng(1)
    source = aligned(rng, 48 * 160, np.dtype(np.uint16)).reshape(48, 80)[:, :72].view(px.bf16.numpy)
    target = np.zeros((48, 72), px.bf16.numpy)
    kernel(source, target)
    np.testing.assert_array_equal(target.view(np.uint16), source.view(np.uint16))


tiles = st.integers(1, 3).flatmap(
    lambda rank: st.tuples(st.lists(st.integers(1, 12), min_size=rank, max_size=rank), st.permutations(range(rank)),
                           st.lists(st.integers(0, 3), min_size=rank, max_size=rank))
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(tiles, st.sampled_from(["u8", "bf16", "f32", "f64"]), st.sampled_from([1, 7, 32, 48]), st.sampled_from([4, 8, 16]))
def test_every_plan_is_proved_and_its_width_is_the_greatest(drawn, name, threads, align):
    shape, order, gaps = drawn
    strides, step = [0] * len(shape), 1
    for axis in order:
        strides[axis] = step
        step = step * shape[axis] + gaps[axis]
    dtype = getattr(px, name)
    align = max(align, dtype.bits // 8)
    plan = px.solve.copy(shape, dtype, strides=strides, align=align, threads=threads)
    plan.check()
    assert plan.width == max(width for width in (1, 2, 4, 8, 16) if legal(shape, strides, dtype.bits // 8, align, width))


def legal(shape, strides, size, align, width):
    """Whether the tile's bytes are whole, aligned blocks of `width`, found element by element, each inside one run of the axes.

    A tile that happens to consist of such blocks though its rows do not (two rows of three that follow one another) counts as well where
    the axes merge in the order in which they lie.
    """
    if width < size or align % width:
        return False
    order = sorted((axis for axis in range(len(shape)) if shape[axis] > 1), key=lambda axis: -strides[axis])
    grid = np.transpose(sum(np.arange(n).reshape([-1 if i == axis else 1 for i in range(len(shape))]) * strides[axis]
                            for axis, n in enumerate(shape)), [*order, *(a for a in range(len(shape)) if a not in order)])  # fmt: skip
    places = grid.ravel() * size
    count = width // size
    if len(places) % count:
        return False
    blocks = places.reshape(-1, count)
    return bool((blocks == blocks[:, :1] + np.arange(count) * size).all() and (blocks[:, 0] % width == 0).all())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.sampled_from([4, 6, 32, 40]), st.booleans(), st.data())
def test_the_cut_among_threads_is_the_best_of_all(grid, threads, whole, data):
    steps = [data.draw(st.sampled_from([32, 96, 128, 512])) for _ in grid[1:]] + [16]
    steps = [step * math.prod(grid[at + 1 :]) for at, step in enumerate(steps)]
    found = partition(grid, steps, 16, threads, whole=whole)
    costs = [cost for counts in itertools.product(*(range(1, extent + 1) for extent in grid))
             if (cost := brute_cost(grid, steps, counts, threads, whole)) is not None]  # fmt: skip
    assert (found is None) == (not costs)
    if found is not None:
        assert found.cost == min(costs)


def brute_cost(grid, steps, counts, threads, whole):
    """The cost of so many threads along each axis, every access of every warp looked at; None where at most one axis may be ragged."""
    ragged = [axis for axis, (extent, count) in enumerate(zip(grid, counts)) if extent % count]
    if len(ragged) > 1 or math.prod(counts) > threads or (whole and (ragged or math.prod(counts) != threads)):
        return None
    order = [*ragged, *(axis for axis in range(len(grid)) if axis not in ragged)]
    accesses, sectors = 0, 0
    for repeat in itertools.product(*(range(-(-extent // count)) for extent, count in zip(grid, counts))):
        accesses += 1
        touched = set()
        for thread, digits in enumerate(itertools.product(*(range(counts[axis]) for axis in order))):
            at = [repeat[axis] * counts[axis] + digits[order.index(axis)] for axis in range(len(grid))]
            if all(one < extent for one, extent in zip(at, grid)):
                touched.add((thread // 32, sum(one * step for one, step in zip(at, steps)) // 32))
        sectors += len(touched)
    return 4 * -(-threads // 32) * accesses + sectors


tables = st.integers(1, 5).flatmap(
    lambda demands: st.lists(st.lists(st.booleans(), min_size=demands, max_size=demands), min_size=1, max_size=6)
)


@given(tables)
def test_the_conflict_is_the_smallest(table):
    found = smallest_conflict(table)
    demands = range(len(table[0]))

    def together(chosen):
        return any(all(row[at] for at in chosen) for row in table)

    if together(demands):
        assert found == ()
        return
    assert not together(found)
    assert all(together([at for at in found if at != left]) for left in found)
    assert all(together(chosen) for size in range(len(found)) for chosen in itertools.combinations(demands, size))


@pytest.mark.parametrize(
    ("given", "demands"),
    [
        ({"width": 16, "strides": (1185, 1)}, ["an access moves 16 bytes", "an axis of 63 has steps of 4740 bytes"]),
        ({"align": 2}, ["the address of the first element is a multiple of 2 bytes"]),
        ({"direction": "store", "strides": (0, 1)}, ["an axis of 63 has stride 0: as many threads would write one element"]),
        ({"whole": True}, ["all 128 threads take part in every access to 6048 elements"]),
    ],
)
def test_what_is_impossible_names_the_demands_in_conflict(given, demands):
    with pytest.raises(px.Impossible) as caught:
        px.solve.copy((63, 96), px.f32, threads=128, **{"align": 16, **given})
    assert list(caught.value.demands) == demands


def test_an_impossible_copy_in_words():
    with pytest.raises(px.Impossible) as caught:
        px.solve.copy((64, 6), px.bf16, threads=32, align=16, width=16, strides=(12, 1))
    assert str(caught.value) == (
        "no access copies a tile of shape (64, 6) of bf16 so\n"
        "  demand: an access moves 16 bytes\n"
        "  demand: runs of 6 elements, 12 bytes, are contiguous\n"
        "  legal: bytes that the instruction moves: 2 (all), 4 (all), 8 (all), 16 (all), 32 (sm_100 and newer)"
    )


@pytest.mark.parametrize(
    ("given", "demand"),
    [
        ({"shape": (7, 3), "align": 2}, "runs of 21 elements, 42 bytes, are contiguous"),
        ({"shape": (8, 4), "align": 2}, "the address of the first element is a multiple of 2 bytes"),
        ({"shape": (8, 4), "align": 16, "width": 2}, "an access moves 2 bytes"),
    ],
)
def test_what_is_too_narrow_for_cp_async(given, demand):
    with pytest.raises(px.Impossible) as caught:
        px.solve.copy(dtype=px.bf16, threads=128, direction="async", **given)
    assert caught.value.demands == ("cp.async moves at least 4 bytes", demand)


def test_threads_that_must_not_be_idle_say_what_would_do():
    with pytest.raises(px.Impossible) as caught:
        px.solve.copy((100, 37), px.f32, align=16, threads=128, whole=True)
    assert caught.value.demands == ("all 128 threads take part in every access to 3700 elements",)
    assert caught.value.legal == "as many threads as divide the accesses, or whole=False, where some are idle"


def test_a_plan_in_words():
    plan = px.solve.copy((101, 96), px.bf16, align=16, threads=128, qualifiers=".nc")
    assert str(plan) == """\
copy of (101, 96) bf16 by 128 threads: 16 bytes an access, 10 a thread
  opcode: ld.global.nc.v4.b32
  no wider: ld.global.nc.v8.b32 moves 32 bytes, but no target= is named, and the kernel runs wherever the instruction exists
  tile: px.local((105, 96), px.bf16, layout=Layout(S[((5, 21), (2, 6, 8)) : ((16, 6 @ tx), (8, 1 @ tx, 1))]), container=px.b32)
  memory of part 0: x[:84, :].rearrange("(ar at) (br bt v) -> (at bt) (ar br) v", at=21, bt=6, v=8).view(px.b32)
  memory of part 1: x[84:101, :].rearrange("(ar at) (br bt v) -> (at bt) (ar br) v", at=17, bt=6, v=8).view(px.b32)
  guard: px.tid.x < 126; px.tid.x < 102
  sectors: 606 of 32 bytes for 606 of data"""


def test_a_plan_does_not_change():
    plan = px.solve.copy((8, 8), px.f32, align=16, threads=16)
    assert repr(plan) == str(plan)
    with pytest.raises(AttributeError):
        plan.opcode = "ld.global.b32"
    with pytest.raises(TypeError):
        plan.tile["container"] = None
    with pytest.raises(AttributeError):
        plan.parts[0].memory.steps = ()


def test_a_runtime_stride_counts_by_its_divisor():
    row = px.dim("row", multiple_of=4)
    plan = px.solve.copy((32, 64), px.f32, align=16, threads=64, strides=(row, 1))
    plan.check()
    assert plan.width == 16
    assert px.solve.copy((32, 64), px.f32, align=16, threads=64, strides=(px.dim("other"), 1)).width == 4

    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((32, row), px.f32, align=16), B: px.Tensor((32, 64), px.f32, align=16)):
        r = px.local(**plan.tile)
        with px.if_(row >= 64):
            px.tile.apply(plan.opcode, plan.parts[0].tile(r), plan.parts[0].memory(A[:, :64]), scope="cta")
            px.tile.apply("st.global.v4.b32", plan.parts[0].memory(B), plan.parts[0].tile(r), scope="cta")

    source, target = np.random.default_rng(2).random((32, 100), np.float32), np.zeros((32, 64), np.float32)
    kernel(source, target)
    np.testing.assert_array_equal(target, source[:, :64])
