"""mma with scales and with a sparse factor through tile.apply: scaled products against NumPy, texts that ptxas takes, what is refused."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b8, b32, bf16, e4m3, e5m2, f16, f32, laneid, s4, s8, s32, ue8m0
from ptxgen.assemble import assemble
from ptxgen.errors import PtxgenError

NARROW = {name: getattr(px, name) for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")}
M, N, K = 2, 2, 2


def fragment(repeats, rows, k, e, dtype):
    """A register tile of (*repeats, rows, k) elements as a factor of mma."""
    i, h = rows // 8, k // (4 * e)
    each = i * e * h
    steps = tuple(each * int(np.prod(repeats[at + 1 :])) for at in range(len(repeats)))
    layout = S[(*repeats, (i, 8), (h, 4, e)) : (*steps, (e, 4 @ laneid), (i * e, 1 @ laneid, 1))]
    return px.local((*repeats, rows, k), dtype, layout=layout, container=b32)


def filled(tile, given, e):
    """A factor's registers from rows of words in global memory: given (X, Y, rows, words)."""
    rows = tile.shape[-2]
    own = tile.rearrange("x y (i r) (h t e) -> (r t) x y i h e", i=rows // 8, t=4, e=e).view(b32)
    px.tile.apply("ld.global.b32", own, given.rearrange("x y (i r) (h t c) -> (r t) x y i h c", i=rows // 8, t=4, c=1), scope="warp")
    return tile


def words_of_lanes(given):
    """A word of each lane for every step: (X, Y, 32)."""
    held = px.local(given.shape, b32, layout=S[(*given.shape[:2], 32) : (given.shape[1], 1, 1 @ laneid)])
    pair = (one.permute(2, 0, 1).view(32, *given.shape[:2], 1) for one in (held, given))
    px.tile.apply("ld.global.b32", *pair, scope="warp")
    return held


def stored(sums, out):
    cut = "m n (i r) (t j) -> (r t) m n i j"
    pair = (one.rearrange(cut, i=2, t=4).view(b32) for one in (out, sums))
    px.tile.apply("st.global.v2.b32", *pair, scope="warp")


def accumulators(dtype=f32):
    sums = px.local((M, N, 16, 8), dtype, layout=S[(M, N, (2, 8), (4, 2)) : (4 * N, 4, (2, 4 @ laneid), (1 @ laneid, 1))])
    registers = sums.rearrange("m n (i r) (t j) -> (r t) m n i j", i=2, t=4)
    px.tile.ewise(lambda _: dtype(0), registers, registers, scope="warp")
    return sums


def scaled(kind, k, of_a, of_b, scale, selector_a, selector_b):
    e = 4 if kind.startswith("mxf8") else 8
    types = [NARROW[of] if e == 8 or of in ("e4m3", "e5m2") else b8 for of in (of_a, of_b)]
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.f32.{of_a}.{of_b}.f32.{scale}"

    @px.kernel(grid=1, block=32, target="sm_120a")
    def kernel(
        A: px.Tensor((M, K, 16, k // e), b32, align=16), B: px.Tensor((N, K, 8, k // e), b32, align=16), SA: px.Tensor((M, K, 32), b32),
        SB: px.Tensor((N, K, 32), b32), C: px.Tensor((M, N, 16, 8), f32, align=16),
    ):  # fmt: skip
        a, b = filled(fragment((M, K), 16, k, e, types[0]), A, e), filled(fragment((N, K), 8, k, e, types[1]), B, e)
        sums = accumulators()
        px.tile.apply(opcode, sums, a, b, sums, words_of_lanes(SA), selector_a, words_of_lanes(SB), selector_b, scope="warp")
        stored(sums, C)

    return kernel


def packed(values, of, in_bytes):
    """Rows of elements as words: each in a byte of its own (4 bits in its middle), or two in a byte."""
    octets = values.astype(NARROW[of].numpy).view(np.uint8)
    if not in_bytes:
        octets = octets[..., ::2] | octets[..., 1::2] << 4
    elif of == "e2m1":
        octets = octets << 2
    return np.ascontiguousarray(octets).view(np.uint32)


@pytest.mark.parametrize(
    ("kind", "k", "of_a", "of_b", "scale", "vectors", "selector_a", "selector_b"),
    [
        ("mxf8f6f4.block_scale", 32, "e4m3", "e5m2", "ue8m0", 1, (0, 0), (0, 0)),
        ("mxf8f6f4.block_scale.scale_vec::1X", 32, "e2m1", "e3m2", "ue8m0", 1, (3, 1), (2, 3)),
        ("mxf8f6f4.block_scale", 32, "e2m3", "e2m1", "ue8m0", 1, (1, 0), (3, 2)),
        ("mxf4.block_scale", 64, "e2m1", "e2m1", "ue8m0", 2, (2, 1), (0, 1)),
        ("mxf4nvf4.block_scale.scale_vec::2X", 64, "e2m1", "e2m1", "ue8m0", 2, (0, 0), (2, 2)),
        ("mxf4nvf4.block_scale.scale_vec::4X", 64, "e2m1", "e2m1", "ue4m3", 4, (0, 1), (0, 3)),
    ],
)
def test_products_with_scales(kind, k, of_a, of_b, scale, vectors, selector_a, selector_b):
    kernel = scaled(kind, k, of_a, of_b, scale, selector_a, selector_b)
    rng = np.random.default_rng(3)
    a, b = (rng.choice([0, 0.5, 1, 1.5, 2, -0.5, -1, -2], (count, K, rows, k)) for count, rows in ((M, 16), (N, 8)))
    of_rows, of_columns = (2.0 ** rng.integers(-2, 3, (count, K, rows, vectors)) for count, rows in ((M, 16), (N, 8)))
    # Lane 4 * g + 2 * thread gives the scales of row g of a, the next one those of row g + 8; lane 4 * g + thread those of column g of b.
    scales_a, scales_b = (rng.integers(0, 256, (count, K, 32, 4), np.uint8) for count in (M, N))
    element = (e4m3 if scale == "ue4m3" else ue8m0).numpy
    for row in range(16):
        lane = 4 * (row % 8) + 2 * selector_a[1] + row // 8
        scales_a[:, :, lane, selector_a[0] : selector_a[0] + vectors] = of_rows[:, :, row].astype(element).view(np.uint8)
    for column in range(8):
        lane = 4 * column + selector_b[1]
        scales_b[:, :, lane, selector_b[0] : selector_b[0] + vectors] = of_columns[:, :, column].astype(element).view(np.uint8)
    found = np.zeros((M, N, 16, 8), np.float32)
    in_bytes = kind.startswith("mxf8")
    words = (np.ascontiguousarray(one).view(np.uint32)[..., 0] for one in (scales_a, scales_b))
    kernel(packed(a, of_a, in_bytes), packed(b, of_b, in_bytes), *words, found)
    left, right = (one * scales.repeat(k // vectors, -1) for one, scales in ((a, of_rows), (b, of_columns)))
    np.testing.assert_array_equal(found, np.einsum("mkrx,nkcx->mnrc", left, right))
    assemble(kernel.ptx())


@pytest.mark.parametrize(
    ("shape", "types", "dtype", "sums", "target"),
    [
        ("m16n8k16", "f32.f16.f16.f32", f16, f32, "sm_90"), ("m16n8k32", "f32.bf16.bf16.f32", bf16, f32, "sm_90"),
        ("m16n8k16", "f32.tf32.tf32.f32", px.tf32, f32, "sm_90"), ("m16n8k64", "s32.s8.s8.s32", s8, s32, "sm_90"),
        ("m16n8k64", "s32.s4.s4.s32", s4, s32, "sm_90"), ("m16n8k64", "f32.e4m3.e5m2.f32", e4m3, f32, "sm_90"),
        ("m16n8k64", "kind::f8f6f4.f32.e5m2.e4m3.f32", e5m2, f32, "sm_120a"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("variant", ["sp", "sp::ordered_metadata"])
def test_texts_of_sparse_products(shape, types, dtype, sums, target, variant):
    """Half of a, in the registers of a dense one of half the k; the metadata of each step; D takes C's place from the second on."""
    if types.startswith("kind") and variant == "sp":
        pytest.skip("this kind takes ordered metadata alone")
    k, e = int(shape.partition("k")[2]), 32 // dtype.bits
    other = {"e4m3": e5m2, "e5m2": e4m3}.get(dtype.name, dtype)
    opcode = f"mma.{variant}.sync.aligned.{shape}.row.col.{types}"

    @px.kernel(grid=1, block=32, target=target)
    def kernel(
        A: px.Tensor((M, K, 16, k // 2 // e), b32, align=16), B: px.Tensor((N, K, 8, k // e), b32, align=16), E: px.Tensor((M, K, 32), b32),
        C: px.Tensor((M, N, 16, 8), sums, align=16),
    ):  # fmt: skip
        a, b = filled(fragment((M, K), 16, k // 2, e, dtype), A, e), filled(fragment((N, K), 8, k, e, other), B, e)
        d = accumulators(sums)
        px.tile.apply(opcode, d, a, b, d, words_of_lanes(E), 0, scope="warp")
        stored(d, C)

    lines = [line.strip() for line in kernel.ptx(comments=False).splitlines() if "mma" in line]
    assert len(lines) == M * N * K
    taken = [line.split("}, ")[-1].rstrip(";").split(", ") for line in lines]
    assert [one[1] for one in taken] == ["0"] * len(lines)
    # Metadata goes with M and K, whatever N.
    assert taken[:K] == taken[K : 2 * K] and len({one[0] for one in taken}) == M * K
    assemble(kernel.ptx())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"selector_a": (1, 0)}, ["selector_a"]),
        ({"selector_a": 0}, ["selector_a"]),
    ],
)
def test_other_selectors_are_refused(given, words):
    with pytest.raises(PtxgenError) as caught:
        scaled("mxf4.block_scale", 64, "e2m1", "e2m1", "ue8m0", given["selector_a"], (0, 0)).ptx()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_dense_factor_is_no_sparse_one():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(E: px.Tensor((M, K, 32), b32)):
        d = accumulators()
        a, b = fragment((M, K), 16, 16, 2, f16), fragment((N, K), 8, 16, 2, f16)
        px.tile.apply("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", d, a, b, d, words_of_lanes(E), 0, scope="warp")

    with pytest.raises(PtxgenError, match=r"operand a: .* ends in \(16, 16\) where the atom has \(16, 8\)"):
        kernel.ptx()
