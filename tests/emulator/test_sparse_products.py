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
    size, count = (2, 1) if of is px.tf32 else (4, 2)
    places = np.sort(np.argsort(rng.random((M, K, 16, k // size, size)), -1)[..., :count], -1)
    kept = rng.integers(0 if of is u8 else -4, 5, places.shape)
    dense = np.zeros((M, K, 16, k // size, size), np.int64)
    np.put_along_axis(dense, places, kept, -1)
    bits = np.where(places[..., 0] == 1, 14, 4) if size == 2 else places[..., 0] | places[..., 1] << 2
    words = rng.integers(0, 1 << 32, (M, K, 32), np.uint32)
    for row in range(8):
        for lane in range(lanes):
            halves = [sum(int(1 << 4 * c) * bits[:, :, at, 4 * lane + c] for c in range(4)) for at in (row, row + 8)]
            words[:, :, 4 * row + selector * lanes + lane] = halves[0] | halves[1] << 16
    return dense.reshape(M, K, 16, k), kept.reshape(M, K, 16, k // 2), words


def case(name, variant="sp::ordered_metadata"):
    shape, types, of_a, of_b, of_d, lanes, selector = PRODUCTS[name]
    kernel, k = sparse(shape, types, of_a, of_b, of_d, selector, variant)
    dense, kept, words = drawn(of_a, k, lanes, selector)
    b = np.random.default_rng(9).integers(0 if of_b is u8 else -4, 5, (N, K, 8, k))
    arrays = [np.ascontiguousarray(one.astype(of.numpy)).view(np.uint32) for one, of in ((kept, of_a), (b, of_b))]
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
