"""Swizzled, staged and dynamic shared tiles, scopes, clusters, packed registers and runtime strides, against NumPy."""

from math import prod

import ml_dtypes
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S

SWIZZLES = [None, px.Swizzle.B32, px.Swizzle.B64, px.Swizzle.B128, px.Swizzle(2, 3, 4), px.Swizzle(1, 5, 2), px.Swizzle(4, 4, 6)]
BITS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@st.composite
def tiles(draw):
    """Rows and columns of a shared tile, its word, what of it is read, and how."""
    rows, columns = draw(st.sampled_from([8, 16, 32])), draw(st.sampled_from([16, 32, 64]))
    bits = draw(st.sampled_from(sorted(BITS)))
    pad = draw(st.sampled_from([0, 0, 8]))
    swizzle = draw(st.sampled_from(SWIZZLES))
    stages = draw(st.sampled_from([None, 2, 3]))
    align = draw(st.sampled_from([None, 4096, 8192]))
    read = draw(st.sampled_from(["row", "rows", "column", "block", "diagonal"]))
    return rows, columns, bits, pad, swizzle, stages, align, read


def part(view, read, i, traced):
    """A part of a (rows, columns) tile at the runtime place i in 0 .. 3: what is read, with one group axis in front."""
    rows, columns = view.shape

    def box(starts, extents, one):
        if traced:
            return one.sub(starts, extents)
        return one[tuple(slice(a, a + n) for a, n in zip(starts, extents))]

    def transposed(one):
        return one.permute(1, 0) if traced else one.T

    reshaped = (lambda one, *shape: one.view(*shape)) if traced else (lambda one, *shape: one.reshape(shape))
    if read == "row":
        return reshaped(view[i], columns // 4, 1, 4)
    if read == "rows":
        return reshaped(box((i * 2, 0), (2, columns), view), 2, columns // 4, 4)
    if read == "column":
        return reshaped(transposed(box((0, i * 4), (rows, 4), view)), 4, rows, 1)
    if read == "block":
        return reshaped(box((0, i * 4), (rows, 4), view), rows, 1, 4)
    return reshaped(reshaped(view, rows // 4, 4, columns)[:, i], rows // 4, columns // 4, 4)


@given(tiles(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_shared_tiles(tile, big):
    rows, columns, bits, pad, swizzle, stages, align, read = tile
    if swizzle is not None and swizzle.granule * 8 % bits:
        return
    if swizzle is not None and align is not None:
        align = max(align, swizzle.period)
    element, kind = getattr(px, f"b{bits}"), BITS[bits]
    wanted = np.empty((rows, columns), bool)
    shape = part(wanted, read, 0, False).shape
    atom = shape[-1] if shape[-1] * bits <= 128 else 1
    shape = (*shape[:-1], shape[-1] // atom, atom)
    word = f".v{atom}.b{bits}" if atom > 1 else f".b{bits}"
    lines = columns + pad

    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((3, rows, columns), element, align=16), B: px.Tensor((3, 4, *shape), element, align=16)):
        if big:
            px.shared(40_000, px.b8)
        layout = px.Layout(S[(rows, columns) : (lines, 1)], swizzle=swizzle)
        shared = px.shared((rows, columns), element, layout=layout, align=align, stages=stages)
        for step in px.range(3):
            stage = shared if stages is None else shared[step % stages]
            r = px.local((64, rows * columns // 64), element, layout=S[(64, rows * columns // 64) : (1 @ px.tx, 1)])
            words = r.view(64, -(-rows * columns // 64), 1)
            px.tile.apply(f"ld.global.b{bits}", words, A[step].view(64, rows * columns // 64, 1), scope="cta")
            px.tile.apply(f"st.shared.b{bits}", stage.view(64, rows * columns // 64, 1), words, scope="cta")
            px.syncthreads()
            with px.if_(px.tid.x < shape[0]):
                count = prod(shape[1:])
                q = px.local(shape, element, layout=S[(shape[0], count) : (1 @ px.tx, 1)])
                for i in px.range(4):
                    px.tile.apply(f"ld.shared{word}", q, part(stage, read, i, True).view(shape), scope="cta")
                    px.tile.apply(f"st.global{word}", B[step, i], q, scope="cta")
            px.syncthreads()

    a = np.random.default_rng(5).integers(0, 1 << min(bits, 63), (3, rows, columns)).astype(kind)
    b = np.zeros((3, 4, *shape), kind)
    try:
        kernel(a, b)
    except px.InstructionError as error:  # what no one instruction can do
        assert any(text in str(error) for text in ("not contiguous", "cut by its swizzle", "not aligned", "not known to be aligned")), error
        return
    for step in range(3):
        for i in range(4):
            np.testing.assert_array_equal(b[step, i], part(a[step], read, i, False).reshape(shape))


@given(st.sampled_from([(2, 1, 1), (2, 2, 1), (1, 2, 3)]), st.sampled_from([32, 48]), st.permutations(range(3)), st.integers(1, 3))
@settings(max_examples=12, deadline=None)
def test_clusters(cluster, block, order, repeats):
    """Each CTA of the cluster, z slowest, copies its part; the tensor's axes lie in any order."""
    x, y, z = cluster
    whole = (z, y, x, block, repeats)
    axes = (x * y * z, block, repeats)
    stored = tuple(axes[axis] for axis in order)
    back = [order.index(axis) for axis in range(3)]
    layout = px.Layout(S[whole : (1 @ px.cbz, 1 @ px.cby, 1 @ px.cbx, 1 @ px.tx, 1)])

    @px.kernel(grid=cluster, block=block, cluster=cluster)
    def kernel(A: px.Tensor(stored, px.b32), B: px.Tensor(whole, px.b32)):
        r = px.local(whole, px.b32, layout=layout)
        px.tile.apply("ld.global.b32", r.view(*whole, 1), A.permute(*back).view(*whole, 1), scope="cluster")
        px.tile.apply("st.global.b32", B.view(*whole, 1), r.view(*whole, 1), scope="cluster")

    a = np.arange(prod(stored), dtype=np.uint32).reshape(stored)
    b = np.zeros(whole, np.uint32)
    kernel(a, b)
    np.testing.assert_array_equal(b, a.transpose(back).reshape(whole))


@given(st.sampled_from(["warp", "warpgroup"]), st.permutations(range(3)), st.integers(1, 3), st.booleans())
@settings(max_examples=15, deadline=None)
def test_scopes_with_a_runtime_part(scope, order, repeats, narrowed):
    """Each warp or warpgroup of the block takes the part that its own index names."""
    size, axis = {"warp": (32, px.laneid), "warpgroup": (128, px.tid_in_wg)}[scope]
    parts, axes = 256 // size, (256 // size, size, repeats)
    stored = tuple(axes[one] for one in order)
    back = [order.index(one) for one in range(3)]
    active = size // 2 if narrowed else size

    @px.kernel(grid=1, block=256)
    def kernel(A: px.Tensor(stored, px.b32), B: px.Tensor((parts, size, repeats), px.b32)):
        def body():
            r = px.local((active, repeats, 1), px.b32, layout=S[(active, repeats, 1) : (1 @ axis, 1, 1)])
            own = px.tid.x // size
            px.tile.apply("ld.global.b32", r, A.permute(*back)[own, :active].view(active, repeats, 1), scope=scope)
            px.tile.apply("st.global.b32", B[own, :active].view(active, repeats, 1), r, scope=scope)

        if narrowed:
            with px.if_(px.tid.x % size < active):
                body()
        else:
            body()

    a = np.arange(prod(stored), dtype=np.uint32).reshape(stored)
    b = np.zeros((parts, size, repeats), np.uint32)
    kernel(a, b)
    wanted = a.transpose(back).copy()
    wanted[:, active:] = 0
    np.testing.assert_array_equal(b, wanted)


@given(
    st.sampled_from(
        [(px.bf16, ml_dtypes.bfloat16, px.b32), (px.u8, np.uint8, px.b32), (px.u8, np.uint8, px.b64), (px.u16, np.uint16, px.b64)]
    ),
    st.integers(1, 3),
    st.permutations(range(2)),
)
@settings(max_examples=15, deadline=None)
def test_packed_registers(types, repeats, order):
    """Elements packed into wider registers, loaded and stored as whole registers, in any order of the registers."""
    dtype, kind, container = types
    lanes = container.bits // dtype.bits
    shape = (16, repeats, 2 * lanes)
    steps = [2 * lanes, lanes] if list(order) == [0, 1] else [lanes, repeats * lanes]
    layout = px.Layout(S[(16, repeats, 2, lanes) : (1 @ px.tx, *steps, 1)])

    @px.kernel(grid=1, block=16)
    def kernel(A: px.Tensor(shape, dtype, align=16), B: px.Tensor(shape, dtype, align=16)):
        r = px.local((16, repeats, 2, lanes), dtype, layout=layout, container=container).view(container).view(16, repeats, 2)
        px.tile.apply(f"ld.global.v2.b{container.bits}", r, A.view(container), scope="cta")
        px.tile.apply(f"st.global.v2.b{container.bits}", B.view(container), r, scope="cta")

    a = np.random.default_rng(6).integers(0, 200, shape).astype(kind)
    b = np.zeros_like(a)
    kernel(a, b)
    np.testing.assert_array_equal(b, a)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=2), st.integers(0, 3), st.integers(1, 4), st.booleans())
@settings(max_examples=15, deadline=None)
def test_runtime_strides(extents, gap, unit, static):
    """Rows of any distance, every size of them: nothing leaves the arrays, nothing is misplaced."""
    m, n, row = px.dim("m"), px.dim("n"), px.dim("row", multiple_of=unit)
    rows, columns = extents[0], 4 * extents[1]
    stride = -(-(columns + gap) // unit) * unit

    @px.kernel(grid=lambda m: m, block=4)
    def kernel(A: px.Tensor((m, n), px.u32, strides=(row, 1)), B: px.Tensor((m, n), px.u32)):
        i = px.ctaid.x
        with px.if_(i < m):
            for j in px.range(n // 4):
                r = px.local((4, 1), px.u32, layout=S[(4, 1) : (1 @ px.tx, 0)])
                px.tile.apply("ld.global.u32", r, A[i].sub((j * 4,), (4,)).view(4, 1), scope="cta")
                px.tile.apply("st.global.u32", B[i].sub((j * 4,), (4,)).view(4, 1), r, scope="cta")

    whole = np.arange(rows * stride, dtype=np.uint32)
    a = np.lib.stride_tricks.as_strided(whole, (rows, columns), (4 * stride, 4))
    b = np.zeros((rows, columns), np.uint32)
    if rows == 1:
        return
    kernel(a, b)
    np.testing.assert_array_equal(b, a)


def test_a_flipped_base_keeps_the_bits_of_a_runtime_row():
    """Repeats 2048 + 16 bytes apart under a swizzle; the runtime part is a multiple of its period, and reaches bit 11 as well."""
    layout = px.Layout(S[(4, 8, 2, 4) : (512, 64, 1024 + 8, 1)], swizzle=px.Swizzle.B128)

    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((4, 8, 2, 4), px.b16, align=8), B: px.Tensor((4, 8, 2, 4), px.b16, align=8)):
        tile = px.shared((4, 8, 2, 4), px.b16, layout=layout, align=8192)
        r = px.local((8, 2, 4), px.b16, layout=S[(8, 2, 4) : (1 @ px.tx, 4, 1)])
        for i in range(4):
            px.tile.apply("ld.global.v4.b16", r, A[i], scope="cta")
            px.tile.apply("st.shared.v4.b16", tile[i], r, scope="cta")
        for i in px.range(4):
            px.tile.apply("ld.shared.v4.b16", r, tile[i], scope="cta")
            px.tile.apply("st.global.v4.b16", B[i], r, scope="cta")

    a = np.arange(256, dtype=np.uint16).reshape(4, 8, 2, 4)
    b = np.zeros_like(a)
    kernel(a, b)
    np.testing.assert_array_equal(b, a)
