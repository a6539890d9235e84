"""Block-scaled products through tile.apply, their scales brought by tcgen05.cp, against NumPy; what is refused."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b32, e2m1, e4m3, e5m2, f32, tx, ue8m0
from ptxgen.assemble import assemble
from ptxgen.errors import PtxgenError
from ptxgen.layouts import Layout
from tests.tracing.kernels import traced

SWIZZLES = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}

# Kind and how many scales a row has: element, scale, scales of a row, elements of K in one instruction.
KINDS = {
    "mxf8f6f4.block_scale": (e4m3, ue8m0, 1, 32),
    "mxf8f6f4.block_scale.scale_vec::1X": (e5m2, ue8m0, 1, 32),
    "mxf8f6f4.block_scale.block32": (e4m3, ue8m0, 1, 32),
    "mxf4.block_scale": (e2m1, ue8m0, 2, 64),
    "mxf4nvf4.block_scale.scale_vec::2X": (e2m1, ue8m0, 2, 64),
    "mxf4nvf4.block_scale.scale_vec::4X": (e2m1, e4m3, 4, 64),
    "mxf4nvf4.block_scale.block16": (e2m1, e4m3, 4, 64),
}


def multiply(kind, n, steps, other=None, a_in_tensor_memory=False):
    """A kernel that computes C (128, n) = (A * scales) (B * scales)^T in `steps` instructions along K."""
    dtype, scale, v, k = KINDS[kind]
    other = other or dtype
    span = min(128, steps * k * dtype.bits // 8)
    K, words = steps * k, steps * k * dtype.bits // 32
    groups, across = -(-steps * v // 4), max(4, n // 32)  # columns of scales: along K, and of 32 rows each of B
    atoms = across // 4

    def staged(given, tile):
        """Words of a (rows, words) tensor to a shared tile of as many."""
        rows, width = given.shape
        threads = min(128, rows)
        through = px.local((threads, rows // threads, width // 4, 4), b32,
                           layout=S[(threads, rows // threads, width // 4, 4) : (1 @ tx, width, 4, 1)])  # fmt: skip
        with px.if_(px.tid.x < threads):
            cut = "(n r) (t c) -> r n t c"
            px.tile.apply("ld.global.v4.b32", through, given.rearrange(cut, r=threads, c=4), scope="cta")
            px.tile.apply("st.shared.v4.b32", tile.rearrange(cut, r=threads, c=4), through, scope="cta")

    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel(
        A: px.Tensor((128, words), b32, align=16), B: px.Tensor((n, words), b32, align=16), SA: px.Tensor((groups * 32, 4), b32, align=16),
        SB: px.Tensor((groups * atoms * 32, 4), b32, align=16), C: px.Tensor((128, n), f32, align=16),
    ):  # fmt: skip
        a, b = (px.shared((rows, K), of, layout=Layout(S[rows, K], swizzle=SWIZZLES[span])) for rows, of in ((128, dtype), (n, other)))
        sa, sb = px.shared((groups * 32, 4), b32), px.shared((groups * atoms * 32, 4), b32)
        done = px.mbarrier(1)
        memory = px.tensor_memory(512)
        for given, tile in ((A, a.view(b32)), (B, b.view(b32)), (SA, sa), (SB, sb)):
            staged(given, tile)
        with px.if_(px.tid.x == 0):
            done.init()
            px.fence_mbarrier_init()
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.fence_proxy_async()
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        of_a = memory.tile((128, 16 * groups), scale, column=256)
        of_b = memory.tile((128, 4 * across * groups), scale, column=256 + 4 * groups)
        left = a.rearrange("m (s k) -> s m k", k=k).view(1, steps, 128, k)
        if a_in_tensor_memory:
            rows = px.local((128, words), b32, layout=S[(128, words) : (1 @ tx, 1)])
            px.tile.apply("ld.global.v4.b32", rows.view(128, words // 4, 4), A.view(128, words // 4, 4), scope="cta")
            held = memory.tile((128, K), dtype, column=448)
            pair = held.view(b32).view(4, 32, words), rows.view(4, 32, words)
            px.tile.apply(f"tcgen05.st.sync.aligned.32x32b.x{words}.b32", *pair, scope="cta")
            px.tcgen05_wait("st")
            left = held.rearrange("m (s k) -> s m k", k=k).view(1, steps, 128, k)
            px.tcgen05_fence("before")
            px.syncthreads()
            px.tcgen05_fence("after")
        with px.if_(px.tid.x == 0):
            for cells, tile in ((of_a, sa), (of_b, sb)):
                copies = cells.view(b32).rearrange("(c l) (a w) -> a c l w", c=4, w=4)
                px.tile.apply("tcgen05.cp.cta_group::1.32x128b.warpx4", copies, tile.rearrange("(a l) w -> a l w", l=32), scope="thread")
            seen = "(c l) (g q b) -> c (q l) (g b)"
            step = "c r (s v) -> s c r v"
            scales_a = of_a.rearrange(seen, c=4, g=groups, q=4)[:, :, : steps * v].rearrange(step, v=v)
            scales_b = of_b.rearrange(seen, c=4, g=groups, q=across)[:, :n, : steps * v].rearrange(step, v=v)
            px.tile.apply(
                f"tcgen05.mma.cta_group::1.kind::{kind}", memory.tile((128, n), f32).view(1, 1, 128, n), left,
                b.rearrange("n (s k) -> s n k", k=k).view(1, steps, n, k),
                scales_a.view(1, steps, 4, 128, v), scales_b.view(1, steps, 4, n, v), enable_input_d=0, scope="thread",
            )  # fmt: skip
            px.tcgen05_commit(done)
        done.wait(0)
        px.tcgen05_fence("after")
        held = px.local((128, n), f32, layout=S[(128, n) : (1 @ tx, 1)])
        pair = (one.view(4, 32, n // 32, 32).permute(0, 2, 1, 3) for one in (held, memory.tile((128, n), f32)))
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x32.b32", *pair, scope="cta")
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.f32", C.view(128, n // 4, 4), held.view(128, n // 4, 4), scope="cta")
        px.tcgen05_fence("before")
        px.syncthreads()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    return kernel, (groups, atoms)


def packed(values, dtype):
    """Elements as 32-bit words of rows, four bits each where they are so narrow."""
    octets = values.astype(dtype.numpy).view(np.uint8)
    if dtype.bits == 4:
        octets = octets[:, ::2] | octets[:, 1::2] << 4
    return np.ascontiguousarray(octets).view(np.uint32)


def in_atoms(scales, of, groups, atoms):
    """Scales (rows, blocks along K) as tcgen05.cp wants them: 32 lines of 16 bytes for 128 rows by four blocks (ISA 9.7.18.10.7)."""
    octets = np.full((atoms * 128, groups * 4), 0x70, np.uint8)
    octets[: len(scales), : scales.shape[1]] = scales.astype(of.numpy).view(np.uint8)
    lines = octets.reshape(atoms, 4, 32, groups, 4).transpose(3, 0, 2, 1, 4)  # group, atom, line, 32 rows, block
    return np.ascontiguousarray(lines).reshape(-1, 16).view(np.uint32)


def check(kind, n=64, steps=None, other=None, **options):
    dtype, scale, v, k = KINDS[kind]
    steps = steps or 4 // v
    kernel, (groups, atoms) = multiply(kind, n, steps, other, **options)
    rng = np.random.default_rng(5)
    numbers = [0, 0.5, 1, 1.5, 2, 3, -0.5, -1, -2] if dtype is e2m1 else [-3, -2, -1, 0, 1, 2, 3]
    a, b = (rng.choice(numbers, (rows, steps * k)) for rows in (128, n))
    of_a, of_b = (2.0 ** rng.integers(-2, 3, (rows, steps * v)) for rows in (128, n))
    found = np.zeros((128, n), np.float32)
    kernel(packed(a, dtype), packed(b, other or dtype), in_atoms(of_a, scale, groups, 1), in_atoms(of_b, scale, groups, atoms), found)
    block = k // v
    expected = (a * of_a.repeat(block, 1)) @ (b * of_b.repeat(block, 1)).T
    np.testing.assert_array_equal(found, expected)
    assemble(kernel.ptx())
    return kernel


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [32, 64, 256])
def test_products_with_scales(kind, n):
    check(kind, n)


@pytest.mark.parametrize(("kind", "steps"), [("mxf8f6f4.block_scale", 4), ("mxf4.block_scale", 4), ("mxf4nvf4.block_scale.block16", 4)])
def test_more_scales_than_a_column_holds(kind, steps):
    check(kind, 128, steps)


def test_factors_of_two_types():
    check("mxf8f6f4.block_scale", other=e5m2)


def test_a_from_tensor_memory():
    check("mxf8f6f4.block_scale", a_in_tensor_memory=True)


@pytest.mark.parametrize(
    ("kind", "places"), [("mxf8f6f4.block_scale", [0, 1, 2, 3]), ("mxf4.block_scale", [0, 2]), ("mxf4nvf4.block_scale.block16", [0])]
)
def test_the_instruction_descriptor_tells_where_scales_begin(kind, places):
    dtype, scale, _, _ = KINDS[kind]
    lines = [line for line in multiply(kind, 64, len(places))[0].ptx().splitlines() if "tcgen05.mma" in line]
    words = [int(line.split("//")[0].rstrip(" ;").split(", ")[3]) for line in lines]
    formats = 1 << 7 | 1 << 10 if dtype is e2m1 else 0
    constant = formats | (scale is ue8m0) << 23 | 8 << 17 | 8 << 24
    assert words == [constant | place << 29 | place << 4 for place in places]


# ---- what is refused --------------------------------------------------------------------------------------------------


def product(kind="mxf8f6f4.block_scale", scale=ue8m0, n=64, cta_group=1, seen=None):
    def body(tid):
        memory = px.tensor_memory(128, cta_group=cta_group)
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.syncthreads()
        a, b = (px.shared((rows, 32), e4m3, layout=Layout(S[rows, 32], swizzle=px.Swizzle.B32)) for rows in (128, n))
        cells = memory.tile((128, 16), scale, column=64).rearrange("(c l) (q b) -> c (q l) b", c=4, q=4)
        cells = cells[:, :, :1] if seen is None else seen(memory.tile((128, 16), scale, column=64))
        of_b = memory.tile((128, 16), ue8m0, column=68).rearrange("(c l) (q b) -> c (q l) b", c=4, q=4)[:, :n, :1]
        with px.if_(px.tid.x == 0):
            px.tile.apply(
                f"tcgen05.mma.cta_group::{cta_group}.kind::{kind}", memory.tile((128, n), f32).view(1, 1, 128, n), a.view(1, 1, 128, 32),
                b.view(1, 1, n, 32), cells.view(1, 1, 4, 128, 1), of_b.view(1, 1, 4, n, 1), enable_input_d=0, scope="thread",
            )  # fmt: skip

    return traced(body, block=(128, 1, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": e4m3}, ["operand scale_a_tmem", "px.ue8m0"]),
        ({"scale": px.u8}, ["does not take", "px.ue8m0"]),
        ({"n": 16}, ["n = 16", "multiples of 32 up to 256"]),
        ({"cta_group": 2}, ["no tile form", ".cta_group in .cta_group::1"]),
        ({"kind": "mxf4.block_scale"}, ["8 bits", "4"]),
        (
            {"seen": lambda cells: cells.rearrange("(c l) (q b) -> c (l q) b", c=4, q=4)[:, :, :1]},
            ["element (0, 1, 0) lies at lane 0, column 65", "lane 1, column 64 is required"],
        ),
    ],
)
def test_other_scales_are_refused(options, words):
    with pytest.raises(PtxgenError) as caught:
        product(**options)
    assert all(word in str(caught.value) for word in words), str(caught.value)
