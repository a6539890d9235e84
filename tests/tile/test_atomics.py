"""Atomic updates, stores that go on by themselves and prefetches by tile.apply: what they do to whole views, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b8, b32, b64, b128, f16, f32, u32
from ptxgen.instructions.errors import InstructionError

SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_thread_adds_its_part_of_a_tile(seed: int) -> None:
    @px.kernel(grid=2, block=64)
    def kernel(A: px.Tensor((2, 64, 8), f32, align=16), total: px.Tensor((64, 8), f32, align=16)):
        held = px.local((64, 2, 4), f32, layout=S[(64, 2, 4) : (1 @ px.tx, 4, 1)])
        px.tile.apply("ld.global.v4.f32", held, A[px.ctaid.x].view(64, 2, 4), scope="cta")
        px.tile.apply("red.global.add.v4.f32", total.view(64, 2, 4), held, scope="cta")

    A, total = np.arange(1024, dtype=np.float32).reshape(2, 64, 8), np.ones((64, 8), np.float32)
    kernel.emulate(A, total, seed=seed).raise_for_reports()
    assert (total == A.sum(axis=0) + 1).all()
    text = kernel.ptx(comments=False)
    assert text.count("red.global.add.v4.f32") == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_all_threads_meet_at_one_element(seed: int) -> None:
    """A scalar's place goes with every thread, and each gets what was there before it."""

    @px.kernel(grid=1, block=64)
    def kernel(count: px.Tensor((1,), u32), seen: px.Tensor((64, 1), u32)):
        old = px.local(1, u32)
        px.tile.apply("atom.global.add.u32", old, count, 3, scope="thread")
        px.tile.apply("st.global.u32", seen[px.tid.x], old, scope="thread")

    count, seen = np.array([5], np.uint32), np.zeros((64, 1), np.uint32)
    kernel.emulate(count, seen, seed=seed).raise_for_reports()
    assert count[0] == 5 + 3 * 64 and sorted(seen[:, 0]) == list(range(5, 5 + 3 * 64, 3))


def test_compare_and_swap_of_a_tile() -> None:
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 4), b32), B: px.Tensor((32, 4), b32)):
        layout = S[(32, 4, 1) : (1 @ px.tx, 1, 1)]
        old, wanted = px.local((32, 4, 1), b32, layout=layout), px.local((32, 4, 1), b32, layout=layout)
        px.tile.apply("ld.global.b32", wanted, B.view(32, 4, 1), scope="warp")
        px.tile.apply("atom.global.cas.b32", old, A.view(32, 4, 1), wanted, 9, scope="warp")
        px.tile.apply("st.global.b32", B.view(32, 4, 1), old, scope="warp")

    A = np.arange(128, dtype=np.uint32).reshape(32, 4)
    B = np.where(np.arange(128).reshape(32, 4) % 3 == 0, A, 1000).astype(np.uint32)
    wanted, before = np.where(B == A, 9, A), A.copy()
    kernel.emulate(A, B).raise_for_reports()
    assert np.array_equal(A, wanted) and np.array_equal(B, before)


def test_sums_of_halves() -> None:
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 8), f16, align=16), total: px.Tensor((32, 8), f16, align=16)):
        held = px.local((32, 8), f16, layout=S[(32, 8) : (1 @ px.tx, 1)])
        px.tile.apply("ld.global.v4.b16", held.view(32, 2, 4), A.view(32, 2, 4), scope="warp")
        px.tile.apply("red.global.add.noftz.v8.f16", total, held, scope="warp")

    A, total = np.arange(256).reshape(32, 8).astype(np.float16), np.full((32, 8), 0.5, np.float16)
    kernel.emulate(A, total).raise_for_reports()
    assert (total == (A + np.float16(0.5)).astype(np.float16)).all()


def test_a_histogram_in_shared_memory() -> None:
    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((64, 4), u32), bins: px.Tensor((16,), u32)):
        counts = px.shared(16, u32)
        with px.if_(px.tid.x < 16):
            px.ptx.st.shared.u32(counts[px.tid.x], 0)
        px.syncthreads()
        for column in range(4):
            px.ptx.red.shared.add.u32(counts[px.ptx.ld.global_.u32(A[px.tid.x, column]) & 15], 1)
        px.syncthreads()
        with px.if_(px.tid.x < 16):
            px.ptx.red.relaxed.gpu.global_.add.u32(bins[px.tid.x], px.ptx.ld.shared.u32(counts[px.tid.x]))

    A, bins = np.random.default_rng(2).integers(0, 99, (64, 4)).astype(np.uint32), np.ones(16, np.uint32)
    wanted = np.bincount((A & 15).reshape(-1), minlength=16) + 1
    kernel.emulate(A, bins).raise_for_reports()
    assert (bins == wanted).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tile_goes_to_the_other_block(seed: int) -> None:
    @px.kernel(grid=2, block=32, cluster=2)
    def kernel(x: px.Tensor((2, 32, 4), b32, align=16), y: px.Tensor((2, 32, 4), b32, align=16)):
        rank = px.sreg.cluster_ctarank
        box, arrived = px.shared((32, 4), b32, align=16), px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(512)
        px.cluster_sync()
        held = px.local((32, 4), b32, layout=S[(32, 4) : (1 @ px.tx, 1)])
        px.tile.apply("ld.global.v4.b32", held, x[rank], scope="warp")
        send = "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32"
        px.tile.apply(send, px.mapa(box, rank ^ 1), held, px.mapa(arrived, rank ^ 1), scope="warp")
        arrived.wait(0)
        px.tile.apply("ld.shared.v4.b32", held, box, scope="warp")
        px.tile.apply("st.global.v4.b32", y[rank], held, scope="warp")
        px.cluster_sync()

    x, y = np.arange(256, dtype=np.uint32).reshape(2, 32, 4), np.zeros((2, 32, 4), np.uint32)
    kernel.emulate(x, y, seed=seed).raise_for_reports()
    assert (y == x[::-1]).all()


def test_lines_are_fetched_ahead() -> None:
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32, 4096), b8)):
        px.tile.apply("prefetch.global.L2", A.view(32, 32, 128)[:, :, :1], scope="warp")

    kernel.emulate(np.zeros((32, 4096), np.uint8)).raise_for_reports()
    assert kernel.ptx(comments=False).count("prefetch.global.L2") == 32


def test_a_fill_begins_with_a_register() -> None:
    """ptxas takes the name of no variable in st.bulk, for code without optimisation."""

    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(out: px.Tensor((32, 2), u32), *, tiles: px.constexpr = False):
        room = px.shared((32, 2), u32)
        with px.if_(px.tid.x == 0):
            if tiles:
                px.tile.apply("st.bulk.weak.shared::cta", room.view(b64)[:1, 0], 256, 0, scope="thread")
            else:
                px.ptx["st.bulk.weak.shared::cta"](room, 256, 0)
        px.syncthreads()
        held = px.local((32, 2), u32, layout=S[(32, 2) : (1 @ px.tx, 1)])
        px.tile.apply("ld.shared.v2.u32", held, room, scope="warp")
        px.tile.apply("st.global.u32", out.view(32, 2, 1), held.view(32, 2, 1), scope="warp")

    for tiles in (False, True):
        out = np.full((32, 2), 7, np.uint32)
        kernel.emulate(out, tiles=tiles).raise_for_reports()
        assert (out == 0).all()
        assert "st.bulk.weak.shared::cta [%r" in kernel.specialize(tiles=tiles).ptx(comments=False)


def test_128_bits_are_exchanged() -> None:
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(A: px.Tensor((32, 1), b128, align=16), B: px.Tensor((32, 1), b128, align=16)):
        layout = S[(32, 1) : (1 @ px.tx, 1)]
        mine, old = px.local((32, 1), b128, layout=layout), px.local((32, 1), b128, layout=layout)
        px.tile.apply("ld.global.b128", mine, B, scope="warp")
        px.tile.apply("atom.global.exch.b128", old, A, mine, scope="warp")
        px.tile.apply("st.global.b128", B, old, scope="warp")

    A, B = (np.random.default_rng(seed).random((32, 2)).view(np.complex128) for seed in range(2))
    first, second = A.copy(), B.copy()
    kernel.emulate(A, B).raise_for_reports()
    assert np.array_equal(A, second) and np.array_equal(B, first)


# ---- what is refused --------------------------------------------------------------------------------------------------


def test_a_vector_that_is_not_aligned() -> None:
    @px.kernel(grid=1, block=32)
    def kernel(total: px.Tensor((32, 4), f32)):
        held = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ px.tx, 1)])
        px.tile.apply("red.global.add.v4.f32", total, held, scope="warp")

    with pytest.raises(InstructionError, match="an access of 16 bytes is aligned to 16 bytes"):
        kernel.ptx()


def test_a_width_and_a_space_that_do_not_fit() -> None:
    @px.kernel(grid=1, block=32)
    def widths(total: px.Tensor((32, 1), u32)):
        px.tile.apply("red.global.add.u64", total, 1, scope="warp")

    with pytest.raises(InstructionError, match="total"):
        widths.ptx()

    @px.kernel(grid=1, block=32)
    def spaces(total: px.Tensor((32, 1), u32)):
        px.tile.apply("red.shared.add.u32", total, 1, scope="warp")

    with pytest.raises(InstructionError, match=r"\.global"):
        spaces.ptx()


def test_an_operation_that_a_type_does_not_have() -> None:
    @px.kernel(grid=1, block=32)
    def kernel(total: px.Tensor((32, 1), f32)):
        px.tile.apply("red.global.max.f32", total, 1.0, scope="warp")

    with pytest.raises(InstructionError, match=r"red\.global\.max\.f32"):
        kernel.ptx()
