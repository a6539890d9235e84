"""mma.sp against NumPy, with random places of what is kept, in the emulator and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import b32, bf16, f16, f32, s8, s32, u8
from tests.tile.test_warp_scales import NARROW, K, M, N, accumulators, filled, fragment, packed, stored, words_of_lanes

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


def test_metadata_must_ascend_where_the_opcode_says_so():
    kernel, arrays, _ = case("m16n8k16.f32.f16.f16.f32-0")
    arrays[2][0, 0, 0] = arrays[2][0, 0, 0] & 0xFFFFFFF0 | 0b0001
    reports = kernel.emulate(*arrays).reports
    assert any("row 0, chunk 0 is 0b0001, which names places that do not ascend" in str(one) for one in reports), reports
    kernel, unordered, _ = case("m16n8k16.f32.f16.f16.f32-0", "sp")
    unordered[2][...] = arrays[2]
    assert not kernel.emulate(*unordered).reports


def narrow(kind, of_a, of_b, k, scale=None):
    """A sparse product of narrow floats, with scales of lane pair 1 and lane 2 where there are any."""
    in_bytes = "f8f6f4" in kind
    e = 4 if in_bytes else 8
    types = [NARROW[of] if e == 8 or of in ("e4m3", "e5m2") else px.b8 for of in (of_a, of_b)]
    opcode = f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.kind::{kind}.f32.{of_a}.{of_b}.f32" + (f".{scale}" if scale else "")

    @px.kernel(grid=1, block=32, target="sm_120a")
    def k_narrow(
        A: px.Tensor((M, K, 16, k // 2 // e), b32, align=16), B: px.Tensor((N, K, 8, k // e), b32, align=16), E: px.Tensor((M, K, 32), b32),
        SA: px.Tensor((M, K, 32), b32), SB: px.Tensor((N, K, 32), b32), C: px.Tensor((M, N, 16, 8), f32, align=16),
    ):  # fmt: skip
        a, b = filled(fragment((M, K), 16, k // 2, e, types[0]), A, e), filled(fragment((N, K), 8, k, e, types[1]), B, e)
        d = accumulators()
        scales = (words_of_lanes(SA), (0, 1), words_of_lanes(SB), (0, 2)) if scale else ()
        px.tile.apply(opcode, d, a, b, d, words_of_lanes(E), 0, *scales, scope="warp")
        stored(d, C)

    return k_narrow


@pytest.mark.parametrize(
    ("kind", "of_a", "of_b", "k", "scale", "vectors"),
    [
        ("f8f6f4", "e2m1", "e3m2", 64, None, 1), ("f8f6f4", "e5m2", "e2m1", 64, None, 1),
        ("mxf8f6f4.block_scale", "e2m3", "e2m1", 64, "ue8m0", 1), ("mxf4.block_scale", "e2m1", "e2m1", 128, "ue8m0", 2),
        ("mxf4nvf4.block_scale.scale_vec::4X", "e2m1", "e2m1", 128, "ue4m3", 4),
    ],
)  # fmt: skip
def test_narrow_sparse_products(kind, of_a, of_b, k, scale, vectors):
    rng = np.random.default_rng(11)
    in_bytes = "f8f6f4" in kind
    dense, _, words = drawn(NARROW["e4m3"] if in_bytes else px.s4, k, 4, 0)
    values = rng.choice([0.5, 1, 1.5, 2, -0.5, -1, -2], dense.shape)
    each = 1 if in_bytes else 2  # drawn() keeps places by the pattern of its own numbers, so take the places from the words
    chunks = k // (4 * each)
    places = np.zeros((M, K, 16, chunks, 2), np.int64)
    for row in range(16):
        for chunk in range(chunks):
            nibble = words[:, :, 4 * (row % 8) + row // 8 + 2 * (chunk // 8)] >> 4 * (chunk % 8) & 15
            places[:, :, row, chunk] = np.stack([nibble & 3, nibble >> 2], -1)
    parts = values.reshape(M, K, 16, chunks, 4, each)
    kept = np.take_along_axis(parts, places[..., None] + np.zeros(each, int), -2)
    a = np.zeros_like(parts)
    np.put_along_axis(a, places[..., None] + np.zeros(each, int), kept, -2)
    b = rng.choice([0, 0.5, 1, 1.5, 2, -0.5, -1, -2], (N, K, 8, k))
    of_rows, of_columns = (2.0 ** rng.integers(-2, 3, (count, K, rows, vectors)) for count, rows in ((M, 16), (N, 8)))
    scales_a, scales_b = (rng.integers(0, 256, (count, K, 32, 4), np.uint8) for count in (M, N))
    element = (px.e4m3 if scale == "ue4m3" else px.ue8m0).numpy
    for row in range(16):
        scales_a[:, :, 4 * (row % 8) + 2 + row // 8, :vectors] = of_rows[:, :, row].astype(element).view(np.uint8)
    for column in range(8):
        scales_b[:, :, 4 * column + 2, :vectors] = of_columns[:, :, column].astype(element).view(np.uint8)
    found = np.zeros((M, N, 16, 8), np.float32)
    given = (np.ascontiguousarray(one).view(np.uint32)[..., 0] for one in (scales_a, scales_b))
    halved = kept.reshape(M, K, 16, k // 2)
    narrow(kind, of_a, of_b, k, scale)(packed(halved, of_a, in_bytes), packed(b, of_b, in_bytes), words, *given, found)
    left, right = a.reshape(M, K, 16, k), b
    if scale:
        left, right = (one * scales.repeat(k // vectors, -1) for one, scales in ((left, of_rows), (right, of_columns)))
    np.testing.assert_array_equal(found, np.einsum("mkrx,nkcx->mnrc", left, right))
