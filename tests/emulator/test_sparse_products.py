"""mma.sp against NumPy, with random places of what is kept, in the emulator and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import b32, bf16, f16, f32, s8, s32, u8
from tests.tile.test_warp_scales import K, M, N, accumulators, filled, fragment, stored, words_of_lanes

# Shape, types, elements of A, B and D, lanes that give metadata, selector.
PRODUCTS = {
    f"{shape}.{types}-{selector}": (shape, types, *of, lanes, selector)
    for shape, types, *of, lanes in (
        ("m16n8k16", "f32.f16.f16.f32", f16, f16, f32, 1), ("m16n8k32", "f32.f16.f16.f32", f16, f16, f32, 2),
        ("m16n8k16", "f32.bf16.bf16.f32", bf16, bf16, f32, 1), ("m16n8k32", "f32.bf16.bf16.f32", bf16, bf16, f32, 2),
        ("m16n8k8", "f32.tf32.tf32.f32", px.tf32, px.tf32, f32, 1), ("m16n8k16", "f32.tf32.tf32.f32", px.tf32, px.tf32, f32, 2),
        ("m16n8k32", "s32.s8.u8.s32", s8, u8, s32, 2), ("m16n8k32", "s32.u8.s8.s32", u8, s8, s32, 2),
        ("m16n8k64", "s32.s8.s8.s32", s8, s8, s32, 4), ("m16n8k64", "f32.e4m3.e5m2.f32", px.e4m3, px.e5m2, f32, 4),
        ("m16n8k64", "s32.s4.u4.s32", px.s4, px.u4, s32, 2), ("m16n8k128", "s32.u4.s4.s32", px.u4, px.s4, s32, 4),
    )
    for selector in range(4 // lanes)
}  # fmt: skip


def sparse(shape, types, of_a, of_b, of_d, selector, variant="sp::ordered_metadata"):
    k, e = int(shape.partition("k")[2]), 32 // of_a.bits

    @px.kernel(grid=1, block=32, target="sm_90")
    def k_sparse(
        A: px.Tensor((M, K, 16, k // 2 // e), b32, align=16), B: px.Tensor((N, K, 8, k // e), b32, align=16), E: px.Tensor((M, K, 32), b32),
        C: px.Tensor((M, N, 16, 8), of_d, align=16),
    ):  # fmt: skip
        a, b = filled(fragment((M, K), 16, k // 2, e, of_a), A, e), filled(fragment((N, K), 8, k, e, of_b), B, e)
        d = accumulators(of_d)
        px.tile.apply(f"mma.{variant}.sync.aligned.{shape}.row.col.{types}", d, a, b, d, words_of_lanes(E), selector, scope="warp")
        stored(d, C)

    return k_sparse, k


def drawn(of, k, lanes, selector, seed=0):
    """A (M, K, 16, k) that is sparse, its kept half, and the words of lanes, random where no metadata is taken from."""
    rng = np.random.default_rng(seed)
    parts, kept_parts = (2, 1) if of is px.tf32 else (4, 2)
    each = 2 if of.bits == 4 else 1  # 4-bit elements are kept in pairs of neighbours
    chunks = k // (parts * each)
    places = np.sort(np.argsort(rng.random((M, K, 16, chunks, parts)), -1)[..., :kept_parts], -1)
    kept = rng.integers(0 if of in (u8, px.u4) else -4, 5, (M, K, 16, chunks, kept_parts, each))
    dense = np.zeros((M, K, 16, chunks, parts, each), np.int64)
    np.put_along_axis(dense, places[..., None] + np.zeros(each, int), kept, -2)
    bits = np.where(places[..., 0] == 1, 14, 4) if parts == 2 else places[..., 0] | places[..., 1] << 2
    words = rng.integers(0, 1 << 32, (M, K, 32), np.uint32)
    for row in range(8):
        for lane in range(lanes):
            if of.bits >= 16:
                nibbles = [bits[:, :, at, 4 * lane + c] for at in (row, row + 8) for c in range(4)]
            else:
                nibbles = [bits[:, :, row + 8 * (lane % 2), 8 * (lane // 2) + c] for c in range(8)]
            words[:, :, 4 * row + selector * lanes + lane] = sum(int(1 << 4 * c) * one for c, one in enumerate(nibbles))
    return dense.reshape(M, K, 16, k), kept.reshape(M, K, 16, k // 2), words


def words_of(values, of):
    """Integers as elements of a type, packed into words of 32 bits, lowest first."""
    if of.bits == 4:
        halves = values.astype(np.uint8) & 15
        return np.ascontiguousarray(halves[..., 0::2] | halves[..., 1::2] << 4).view(np.uint32)
    return np.ascontiguousarray(values.astype(of.numpy)).view(np.uint32)


def case(name, variant="sp::ordered_metadata"):
    shape, types, of_a, of_b, of_d, lanes, selector = PRODUCTS[name]
    kernel, k = sparse(shape, types, of_a, of_b, of_d, selector, variant)
    dense, kept, words = drawn(of_a, k, lanes, selector)
    b = np.random.default_rng(9).integers(0 if of_b in (u8, px.u4) else -4, 5, (N, K, 8, k))
    arrays = [words_of(kept, of_a), words_of(b, of_b)]
    found = np.zeros((M, N, 16, 8), of_d.numpy)
    return kernel, [*arrays, words, found], np.einsum("mkrx,nkcx->mnrc", dense, b)


@pytest.mark.parametrize("variant", ["sp", "sp::ordered_metadata"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_sparse_products(name, variant):
    kernel, arrays, expected = case(name, variant)
    kernel(*arrays)
    np.testing.assert_array_equal(arrays[-1], expected)


@pytest.mark.gpu
@pytest.mark.parametrize("name", PRODUCTS)
def test_sparse_products_on_the_gpu(name):
    from tests.instructions.device import launch

    kernel, arrays, expected = case(name)
    launch(kernel.ptx(comments=False), "k_sparse", arrays)
    np.testing.assert_array_equal(arrays[-1], expected)


def test_metadata_that_names_one_place_twice_is_reported():
    kernel, arrays, _ = case("m16n8k16.f32.f16.f16.f32-0")
    arrays[2][0, 0, 4 * 3] = arrays[2][0, 0, 4 * 3] & 0xFFFF0FFF | 0x5000
    reports = kernel.emulate(*arrays).reports
    assert any("the metadata of row 3, chunk 3 is 0b0101, which names no two different places" in str(one) for one in reports), reports
