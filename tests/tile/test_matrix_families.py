"""Random small kernels of the matrix families against NumPy: fragments, matrices in shared memory, descriptors, copies.

All matrices hold small random integers, which every type holds and every sum keeps exactly, so any element in a wrong place shows.
``PTXGEN_FUZZ=20 pytest tests/tile/test_matrix_families.py`` draws twenty times as many kernels.
"""

import os

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S, b16, b32, laneid, tid_in_wg, warpid, wid_in_wg

FUZZ = int(os.environ.get("PTXGEN_FUZZ", "1"))
SWIZZLES = {16: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}  # by their span in bytes
DTYPES = {name: getattr(px, name) for name in ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "f32", "s32")}


def drawn(examples):
    """No shrinking: it takes minutes, and a drawn kernel is small as it is."""
    return settings(max_examples=examples * FUZZ, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))


def numpy_of(dtype):
    return np.dtype(np.float32) if dtype == "tf32" else DTYPES[dtype].numpy


def integers(seed, shape, dtype):
    low = 0 if dtype == "u8" else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(numpy_of(dtype))


def product(a, b, c):
    """``a @ b.T + c`` in integers."""
    return a.astype(np.int64) @ b.astype(np.int64).T + np.asarray(c).astype(np.int64)


# ---- fragments of a warp ----------------------------------------------------------------------------------------------

# opcode's types, element of a and b, accumulator, k
PRODUCTS = [
    ("f32.f16.f16.f32", "f16", "f16", "f32", 16), ("f32.f16.f16.f32", "f16", "f16", "f32", 8), ("f16.f16.f16.f16", "f16", "f16", "f16", 16),
    ("f32.bf16.bf16.f32", "bf16", "bf16", "f32", 16), ("f32.bf16.bf16.f32", "bf16", "bf16", "f32", 8),
    ("f32.tf32.tf32.f32", "tf32", "tf32", "f32", 8), ("f32.tf32.tf32.f32", "tf32", "tf32", "f32", 4),
    ("f32.e4m3.e5m2.f32", "e4m3", "e5m2", "f32", 32), ("f16.e4m3.e4m3.f16", "e4m3", "e4m3", "f16", 16),
    ("s32.s8.u8.s32", "s8", "u8", "s32", 32), ("s32.s8.s8.s32", "s8", "s8", "s32", 16),
]  # fmt: skip


# A scope, and how many warps the block has.
PLACES = [
    {"scope": scope, "warps": warps} for scope, counts in (("warp", (1, 2, 3)), ("cta", (2, 3)), ("warpgroup", (4, 8))) for warps in counts
]


@st.composite
def warp_products(draw):
    """Parameters of `warp_product`."""
    return {
        "types": draw(st.sampled_from(PRODUCTS)),
        **draw(st.sampled_from(PLACES)),
        "repeats": draw(st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3))),
        "source": draw(st.sampled_from(["global", "shared", "ldmatrix", "ldmatrix"])),
        "span": draw(st.sampled_from(sorted(SWIZZLES))),
        "stages": draw(st.sampled_from([None, 2, 3])),
        "margin": draw(st.sampled_from([0, 8])),
        "narrow": draw(st.booleans()),
        "across": draw(st.tuples(st.booleans(), st.booleans())),
    }  # fmt: skip


def copy_in(given, tile):
    """All threads copy a 3-d tensor to a part of a shared tile, a row each, 16 bytes at a time."""
    source, target = given.view(b32), tile.view(b32)
    count, rows, columns = source.shape
    for at in px.range(px.tid.x, count * rows, px.ntid.x):
        with px.if_(at < count * rows):
            for first in range(0, columns, 4):
                place = at // rows, at % rows, slice(first, first + 4)
                px.ptx["st.shared.v4.b32"](target[place], px.ptx["ld.global.v4.b32"](source[place]))


def warp_product(types, scope, warps, repeats, source, span, stages, margin, narrow, across):
    """Each warp multiplies matrices of its own, C (warps, m * 16, n * 8) += A (warps, m * 16, k * s) B (warps, n * 8, k * s)^T.

    `across`: whether A and B lie in memory with their rows and columns exchanged, which takes ``ldmatrix.trans``.
    """
    names, of_a, of_b, of_c, k = types
    m, n, s = repeats
    bits = DTYPES[of_a].bits
    e = 32 // bits
    kk = k // (4 * e)
    across = across if source == "ldmatrix" and bits == 16 else (False, False)
    count = {"warp": 1, "warpgroup": 4, "cta": warps}[scope]  # warps behind one apply
    g, lead = ("w ", (count,)) if count > 1 else ("", ())
    axis = wid_in_wg if scope == "warpgroup" else warpid
    element = {"tf32": px.f32}
    wide = DTYPES[of_c].bits == 32
    shapes = [(warps, *((k * s, rows) if turned else (rows, k * s))) for rows, turned in zip((m * 16, n * 8), across)]
    packed = {} if e == 1 else {"container": b32}

    def tile(dtype, shape, strides, **packed):
        """A register tile of every warp behind one apply."""
        shape, strides = (*lead, *shape), (*((1 @ axis,) if lead else ()), *strides)
        whole = [extent if isinstance(extent, int) else int(np.prod(extent)) for extent in shape]
        return px.local(whole, dtype, layout=S[tuple(shape) : tuple(strides)], **packed)

    @px.kernel(grid=1, block=32 * warps, target="sm_90a")
    def kernel(
        A: px.Tensor(shapes[0], element.get(of_a, DTYPES[of_a]), align=16),
        B: px.Tensor(shapes[1], element.get(of_b, DTYPES[of_b]), align=16),
        C: px.Tensor((warps, m * 16, n * 8), DTYPES[of_c], align=8),
        stage: px.u32,
    ):
        part = px.warp_uniform(px.tid.x // 32) // count

        def mine(matrix):
            """The matrices of the warps behind one apply, (*lead, ...)."""
            return matrix.rearrange("(p w) r c -> p w r c", w=count)[part] if lead else matrix[part]

        af = tile(DTYPES[of_a], (m, s, (2, 8), (kk, 4, e)), (2 * kk * e * s, 2 * kk * e, (e, 4 @ laneid), (2 * e, 1 @ laneid, 1)), **packed)
        bf = tile(DTYPES[of_b], (n, s, 8, (kk, 4, e)), (kk * e * s, kk * e, 4 @ laneid, (e, 1 @ laneid, 1)), **packed)
        halves = {} if wide else {"container": b32}
        cf = tile(DTYPES[of_c], (m, n, (2, 8), (4, 2)), (4 * n, 4, (2, 4 @ laneid), (1 @ laneid, 1)), **halves)

        held = cf.rearrange(f"{g}m n (i r) (t j) -> ({g}r t) m n i j", i=2, t=4)
        there = mine(C).rearrange(f"{g}(m i r) (n t j) -> ({g}r t) m n i j", m=m, i=2, t=4, j=2)
        held, there = (held, there) if wide else (held.view(b32), there.view(b32))
        move = f"global.v2.{of_c}" if wide else "global.b32"
        px.tile.apply(f"ld.{move}", held, there, scope=scope)

        matrices = [A, B]
        if source != "global":
            for number, matrix in enumerate((A, B)):
                _, extent, depth = matrix.shape
                whole = warps, extent + margin, max(depth, span * 8 // bits)
                shared = px.shared(whole, matrix.dtype, layout=px.Layout(S[whole], swizzle=SWIZZLES[span]), stages=stages)
                matrices[number] = (shared if stages is None else shared[stage % stages])[:, margin:, :depth]
                copy_in(matrix, matrices[number])
            px.syncthreads()
        for frag, matrix, i, turned in ((af, mine(matrices[0]), 2, across[0]), (bf, mine(matrices[1]), 1, across[1])):
            if source == "ldmatrix":
                number = i * kk if not narrow or i * kk == 1 else i * kk // 2
                last, stored = ("c r", "(s h c) (m i r)") if turned else ("r c", "(m i r) (s h c)")
                to = frag.view(b16).rearrange(f"{g}m s (i r) (h c) -> {g}m s (h i) {last}", i=i, c=8)
                of = matrix.view(b16).rearrange(f"{g}{stored} -> {g}m s (h i) {last}", i=i, r=8, c=8, s=s)
                shape = *to.shape[:-3], i * kk // number, number, 8, 8
                trans = ".trans" if turned else ""
                px.tile.apply(f"ldmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16", to.view(*shape), of.view(*shape), scope=scope)
            else:
                to = frag.rearrange(f"{g}m s (i r) (h t e) -> ({g}r t) m s i h e", i=i, t=4, e=e).view(b32)
                of = matrix.rearrange(f"{g}(m i r) (s h t e) -> ({g}r t) m s i h e", i=i, r=8, h=kk, t=4, e=e).view(b32)
                px.tile.apply(f"ld.{source}.b32", to, of, scope=scope)
        px.tile.apply(f"mma.sync.aligned.m16n8k{k}.row.col.{names}", cf, af, bf, cf, scope=scope)
        px.tile.apply(f"st.{move}", there, held, scope=scope)

    def turn(matrix, turned):
        return np.ascontiguousarray(matrix.swapaxes(1, 2)) if turned else matrix

    a, b = integers(1, (warps, m * 16, k * s), of_a), integers(2, (warps, n * 8, k * s), of_b)
    c = integers(3, (warps, m * 16, n * 8), of_c)
    wanted = np.stack([product(*each) for each in zip(a, b, c)])
    kernel(turn(a, across[0]), turn(b, across[1]), c, 4)
    np.testing.assert_array_equal(c.astype(np.int64), wanted)


WARPS = {"scope": "cta", "warps": 3, "repeats": (2, 3, 2), "span": 64, "stages": 3, "margin": 8, "narrow": False, "across": (False, False)}


@pytest.mark.parametrize("source", ["global", "shared", "ldmatrix"])
@pytest.mark.parametrize("types", PRODUCTS, ids=lambda one: f"{one[0]}-k{one[4]}")
def test_products_of_every_type(types, source):
    warp_product(**{**WARPS, "types": types, "source": source})


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("across", [(True, False), (False, True), (True, True)])
def test_products_of_transposed_matrices(across, narrow):
    warp_product(**{**WARPS, "types": PRODUCTS[3], "source": "ldmatrix", "across": across, "narrow": narrow})


@given(warp_products())
@drawn(40)
def test_products_of_warps(case):
    warp_product(**case)


# ---- products of a warpgroup ------------------------------------------------------------------------------------------

# types, element of a and b, accumulator, columns that are legal
GROUP_PRODUCTS = [
    ("f32.f16.f16", "f16", "f16", "f32"), ("f16.f16.f16", "f16", "f16", "f16"), ("f32.bf16.bf16", "bf16", "bf16", "f32"),
    ("f32.tf32.tf32", "tf32", "tf32", "f32"), ("f32.e4m3.e5m2", "e4m3", "e5m2", "f32"), ("f16.e5m2.e4m3", "e5m2", "e4m3", "f16"),
    ("s32.s8.u8", "s8", "u8", "s32"), ("s32.s8.s8", "s8", "s8", "s32"),
]  # fmt: skip


@st.composite
def group_products(draw):
    """Parameters of `group_product`."""
    types = draw(st.sampled_from(GROUP_PRODUCTS))
    return {
        "types": types,
        "scope": draw(st.sampled_from(["warpgroup", "cta"])),
        "groups": draw(st.sampled_from([1, 1, 2])),
        "columns": draw(st.sampled_from([8, 16, 24, 32, 48] if types[1] == "s8" else [8, 16, 24, 40, 56])),
        "repeats": draw(st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 4))),
        "spans": draw(st.tuples(st.sampled_from(sorted(SWIZZLES)), st.sampled_from(sorted(SWIZZLES)))),
        "majors": draw(st.tuples(st.sampled_from(["k", "mn"]), st.sampled_from(["k", "mn"]))),
        "registers": draw(st.booleans()),
        "stages": draw(st.sampled_from([None, 2, 3])),
        "margin": draw(st.sampled_from([0, 1])),
        "fresh": draw(st.booleans()),
    }


def blocks(lines, length, span, bits):
    """`lines` runs of `length` elements in blocks as wide as the swizzle's span: the canonical layouts."""
    width = min(span * 8 // bits, length)
    return px.Layout(S[(lines, (length // width, width)) : (width, (lines * width, 1))], swizzle=SWIZZLES[span])


def group_product(types, scope, groups, columns, repeats, spans, majors, registers, stages, margin, fresh):
    """Each warpgroup multiplies rows of its own by B, at scope "cta" by columns of its own: C (groups * m * 64, n * columns) [+]= A B^T."""
    names, of_a, of_b, of_c = types
    m, n, s = repeats
    bits = DTYPES[of_a].bits
    e, k = 32 // bits, 256 // bits
    kk = k // (4 * e)
    majors = majors if bits == 16 else ("k", "k")
    depth = k * s
    lead = (groups,) if scope == "cta" and groups > 1 else ()
    count = groups if lead else 1
    if majors[1] == "mn" and (n * count > 1 or columns * 2 > spans[1]):
        spans = spans[0], min(spans[1], columns * 2 & -(columns * 2))  # of blocks in a row, instructions take whole ones or equal parts
    # A tile is cut inside one block of its rows, or between blocks.
    length = depth * bits // 8
    spans = tuple(min(span, length & -length) if major == "k" and length > span else span for span, major in zip(spans, majors))
    extents = groups * m * 64, n * columns * count
    wide = DTYPES[of_c].bits == 32
    element = {"tf32": px.f32}
    stored = [(extent, depth) if major == "k" else (depth, extent) for extent, major in zip(extents, majors)]

    # Shared tiles are as wide as their swizzle at least, and may be larger than what is used of them.
    shapes = []
    for (lines, length), span in zip(stored, spans):
        width = span * 8 // bits
        shapes.append((-(-lines // 8) * 8 + 8 * margin, -(-length // width) * width + width * margin))

    if sum(lines * length for lines, length in shapes) * bits // 8 * (stages or 1) > 200_000:
        stages = None  # a block has 227 KiB
    packed = {} if e == 1 else {"container": b32}
    g = "w " if lead else ""

    def tile(dtype, shape, strides, **packed):
        shape, strides = (*lead, *shape), (*((1 @ px.wgid,) if lead else ()), *strides)
        whole = [extent if isinstance(extent, int) else int(np.prod(extent)) for extent in shape]
        return px.local(whole, dtype, layout=S[tuple(shape) : tuple(strides)], **packed)

    @px.kernel(grid=1, block=128 * groups, target="sm_90a")
    def kernel(
        A: px.Tensor(stored[0], element.get(of_a, DTYPES[of_a]), align=16),
        B: px.Tensor(stored[1], element.get(of_b, DTYPES[of_b]), align=16),
        C: px.Tensor((extents[0], n * columns), DTYPES[of_c], align=8),
        stage: px.u32,
    ):
        part = px.warp_uniform(px.tid.x // 128) // count
        matrices = []
        for matrix, whole, span in zip((A, B), shapes, spans):
            shared = px.shared(whole, matrix.dtype, layout=blocks(*whole, span, bits), stages=stages)
            used = (shared if stages is None else shared[stage % stages])[8 * margin :, span * 8 // bits * margin :]
            used = used[: matrix.shape[0], : matrix.shape[1]]
            copy_in(matrix.view(1, *matrix.shape), used.view(1, *matrix.shape))
            matrices.append(used)
        px.fence_proxy_async("shared::cta")
        px.syncthreads()
        a, b = (matrix if major == "k" else matrix.permute(1, 0) for matrix, major in zip(matrices, majors))

        def mine(matrix):
            parts = matrix.rearrange("(p w r) c -> p w r c", w=count, r=m * 64)[part]
            return parts if lead else parts[0]

        each = 2 * columns // 4
        cf = tile(
            DTYPES[of_c], (m, n, (4, 2, 8), (columns // 8, 4, 2)),
            (n * each, each, (32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1)), **({} if wide else {"container": b32}),
        )  # fmt: skip
        cut = "(v i r) (c t j)"
        held = cf.rearrange(f"{g}m n {cut} -> ({g}v r t) m n i c j", v=4, i=2, t=4, j=2)
        there = mine(C).rearrange(f"{g}(m v i r) (n c t j) -> ({g}v r t) m n i c j", m=m, n=n, v=4, i=2, t=4, j=2)
        held, there = (held, there) if wide else (held.view(b32), there.view(b32))
        move = f"global.v2.{of_c}" if wide else "global.b32"
        if not fresh:
            px.tile.apply(f"ld.{move}", held, there, scope=scope)

        rows = mine(a).rearrange(f"{g}(m r) (s k) -> {g}m s r k", m=m, s=s)
        if registers:
            own = 2 * kk * e
            strides = own * s, own, (32 @ tid_in_wg, e, 4 @ tid_in_wg), (2 * e, 1 @ tid_in_wg, 1)
            af = tile(DTYPES[of_a], (m, s, (4, 2, 8), (kk, 4, e)), strides, **packed)
            if majors[0] == "k":
                words = f"{g}m s (v i r) (h t e) -> ({g}v r t) m s i h e"
                to, of = (one.rearrange(words, v=4, i=2, t=4, e=e) for one in (af, rows))
                px.tile.apply("ld.shared.b32", to.view(b32), of.view(b32), scope=scope)
            else:
                moved = f"{g}m s (v i r) (h c) -> ({g}v) m s (h i) c r"
                to, of = (one.rearrange(moved, v=4, i=2, h=2) for one in (af, rows))
                px.tile.apply("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", to.view(b16), of.view(b16), scope=scope)
            rows = af
        columns_of = b.rearrange(f"({g}n c) (s k) -> {g}n s c k", c=columns, n=n, s=s)
        px.wgmma_fence()
        px.tile.apply(f"wgmma.mma_async.sync.aligned.m64n{columns}k{k}.{names}", cf, rows, columns_of, scale_d=int(not fresh), scope=scope)
        px.wgmma_commit()
        px.wgmma_wait(0)
        px.tile.apply(f"st.{move}", there, held, scope=scope)

    a, b, c = integers(1, (extents[0], depth), of_a), integers(2, (extents[1], depth), of_b), integers(3, (extents[0], n * columns), of_c)
    rows_of, columns_of = (np.split(one, count) for one in (a, b))
    wanted = np.concatenate([product(*each, 0) for each in zip(rows_of, columns_of)]) + (0 if fresh else c.astype(np.int64))
    kernel(*(np.ascontiguousarray(one if major == "k" else one.T) for one, major in zip((a, b), majors)), c, 4)
    np.testing.assert_array_equal(c.astype(np.int64), wanted)


GROUPS = {
    "types": GROUP_PRODUCTS[2], "scope": "warpgroup", "groups": 2, "columns": 24, "repeats": (1, 2, 3), "spans": (32, 32),
    "majors": ("k", "k"), "registers": False, "stages": 2, "margin": 0, "fresh": False,
}  # fmt: skip


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("types", GROUP_PRODUCTS, ids=lambda one: one[0])
def test_products_of_warpgroups_of_every_type(types, registers):
    """Operand B begins at a stage that is known at run time only, outside of any loop, and is taken at several steps behind it."""
    columns = 32 if types[1] == "s8" else 24
    group_product(**{**GROUPS, "types": types, "registers": registers, "columns": columns})


@pytest.mark.parametrize("span", sorted(SWIZZLES))
@pytest.mark.parametrize("majors", [("k", "mn"), ("mn", "k"), ("mn", "mn")])
def test_products_of_warpgroups_of_every_major(majors, span):
    group_product(**{**GROUPS, "majors": majors, "spans": (span, span), "columns": 64, "repeats": (1, 1, 2), "margin": 1})


@pytest.mark.parametrize(("columns", "span"), [(8, 32), (24, 64), (24, 128), (56, 128)])
def test_products_of_warpgroups_that_leave_a_part_of_a_block(columns, span):
    group_product(**{**GROUPS, "majors": ("mn", "mn"), "spans": (span, span), "columns": columns, "repeats": (1, 1, 2), "margin": 1})


@given(group_products())
@drawn(40)
def test_products_of_warpgroups(case):
    group_product(**case)


# ---- matrices on their way --------------------------------------------------------------------------------------------


@st.composite
def moves(draw):
    """Parameters of `move`."""
    return {
        **draw(st.sampled_from(PLACES)),
        "repeats": draw(st.tuples(st.integers(1, 3), st.integers(1, 2))),
        "numbers": draw(st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]))),
        "turned": draw(st.tuples(st.booleans(), st.booleans())),
        "spans": draw(st.tuples(st.sampled_from(sorted(SWIZZLES)), st.sampled_from(sorted(SWIZZLES)))),
        "stages": draw(st.sampled_from([None, 2])),
        "margin": draw(st.sampled_from([0, 8])),
    }


def move(scope, warps, repeats, numbers, turned, spans, stages, margin):
    """Each warp loads matrices of its own by ldmatrix and stores them by stmatrix, either of them transposing or not."""
    m, s = repeats[0], 4 * repeats[1]
    count = {"warp": 1, "warpgroup": 4, "cta": warps}[scope]
    g, lead = ("w ", (count,)) if count > 1 else ("", ())
    axis = wid_in_wg if scope == "warpgroup" else warpid
    shape = warps, 8 * m, 8 * s
    exchanged = turned[0] != turned[1]
    target = (warps, shape[2], shape[1]) if exchanged else shape
    one = (((4, 2), 8), ((1 @ laneid, 1), 4 @ laneid)) if turned[0] else ((8, (4, 2)), (4 @ laneid, (1 @ laneid, 1)))

    @px.kernel(grid=1, block=32 * warps, target="sm_90")
    def kernel(X: px.Tensor(shape, b16, align=16), Y: px.Tensor(target, b16, align=16), stage: px.u32):
        part = px.warp_uniform(px.tid.x // 32) // count

        def mine(matrix):
            return matrix.rearrange("(p w) r c -> p w r c", w=count)[part] if lead else matrix[part]

        tiles = []
        for (number, rows, columns), span in zip((shape, target), spans):
            width = span // 2
            whole = number, rows + margin, -(-(columns + margin) // width) * width
            tile = px.shared(whole, b16, layout=px.Layout(S[whole], swizzle=SWIZZLES[span]), stages=stages)
            tiles.append((tile if stages is None else tile[stage % stages])[:, margin:, margin : margin + columns])
        copy_in(X, tiles[0])
        px.syncthreads()
        extents, strides = (*lead, m, s, *one[0]), (*((1 @ axis,) if lead else ()), 2 * s, 2, *one[1])
        held = px.local((*lead, m, s, 8, 8), b16, container=b32, layout=S[tuple(extents) : tuple(strides)])
        source = mine(tiles[0]).rearrange(f"{g}(m r) (s c) -> {g}m s r c", r=8, c=8)
        x, trans = numbers[0], ".trans" if turned[0] else ""
        cut = *lead, m, s // x, x, 8, 8
        px.tile.apply(f"ldmatrix.sync.aligned.m8n8.x{x}{trans}.shared.b16", held.view(*cut), source.view(*cut), scope=scope)
        x, trans = numbers[1], ".trans" if turned[1] else ""
        cut, last = (*lead, m, s // x, x, 8, 8), "c r" if exchanged else "r c"
        stored = "(s c) (m r)" if exchanged else "(m r) (s c)"
        result = mine(tiles[1]).rearrange(f"{g}{stored} -> {g}m s {last}", r=8, c=8)
        held = held.rearrange(f"{g}m s r c -> {g}m s {last}")
        px.tile.apply(f"stmatrix.sync.aligned.m8n8.x{x}{trans}.shared.b16", result.view(*cut), held.view(*cut), scope=scope)
        px.syncthreads()
        words, out = tiles[1].view(b32), Y.view(b32)
        for row in px.range(px.tid.x, warps * target[1], 32 * warps):
            with px.if_(row < warps * target[1]):
                for column in range(target[2] // 2):
                    place = row // target[1], row % target[1], column
                    px.ptx["st.global.b32"](out[place], px.ptx["ld.shared.b32"](words[place]))

    x = np.random.default_rng(7).integers(0, 1 << 16, shape).astype(np.uint16)
    y = np.zeros(target, np.uint16)
    kernel(x, y, 4)
    np.testing.assert_array_equal(y, x.swapaxes(1, 2) if exchanged else x)


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("span", sorted(SWIZZLES))
def test_moves_of_matrices(turned, span):
    move("cta", 2, (3, 1), (4, 2), turned, (span, span), 3, 8)


@given(moves())
@drawn(25)
def test_moves(case):
    move(**case)


# ---- copies that go on by themselves ----------------------------------------------------------------------------------


@st.composite
def boxes(draw):
    """Parameters of `box_copy`."""
    dtype = draw(st.sampled_from(["u8", "f16", "f32"]))
    rank = draw(st.integers(1, 3))
    size = DTYPES[dtype].bits // 8
    span = draw(st.sampled_from(sorted(SWIZZLES)))
    inner = draw(st.integers(1, span // 16)) * 16 // size
    return {
        "dtype": dtype,
        "extents": (*(draw(st.integers(1, 20)) for _ in range(rank - 1)), draw(st.integers(1, 6)) * 16 // size),
        "box": (*(draw(st.integers(1, 9)) for _ in range(rank - 1)), inner),
        "starts": [(*(draw(st.integers(-6, 20)) for _ in range(rank - 1)), draw(st.integers(-2, 6)) * 16 // size) for _ in range(2)],
        "order": draw(st.permutations(range(rank - 1))),
        "span": span,
        "stages": draw(st.sampled_from([None, 2, 3])),
    }


def windowed(array, starts, box):
    """What a box holds, zeros outside of the array."""
    found = np.zeros(box, array.dtype)
    for index in np.ndindex(*box):
        place = tuple(start + one for start, one in zip(starts, index))
        if all(0 <= one < extent for one, extent in zip(place, array.shape)):
            found[index] = array[place]
    return found


def box_copy(dtype, extents, box, starts, order, span, stages):
    """A box of a tensor, whose outer axes are permuted, into a swizzled stage, read there, and out to another place of another tensor."""
    rank, element = len(extents), DTYPES[dtype]
    size = element.bits // 8
    order = (*order, rank - 1)
    dims = [px.dim(f"d{axis}") for axis in range(rank - 1)] + [px.dim(f"d{rank - 1}", multiple_of=16 // size)]
    lines, width = int(np.prod(box[:-1])), span // size
    moved = "abc"[: rank - 1]
    merge = f"({' '.join(moved)}) z -> {' '.join(moved)} z"
    sizes = dict(zip(moved, box))
    word, bare = f"b{element.bits}", getattr(px, f"b{element.bits}")

    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(
        A: px.Tensor(dims, element, align=16), B: px.Tensor(dims, element, align=16), C: px.Tensor((lines, box[-1]), element),
        at: px.Tensor((2, rank), px.s32), stage: px.u32,
    ):  # fmt: skip
        layout = px.Layout(S[(lines, width)], swizzle=SWIZZLES[span])
        tile = px.shared((lines, width), element, layout=layout, stages=stages, align=1024)
        tile = (tile if stages is None else tile[stage % stages])[:, : box[-1]]
        landed = px.mbarrier(1)
        from_, to = (tuple(px.ptx["ld.global.s32"](at[row, axis]) for axis in range(rank)) for row in range(2))
        image = tile.rearrange(merge, **sizes) if rank > 1 else tile.view(box[-1])
        with px.if_(px.tid.x == 0):
            landed.init()
            px.fence_mbarrier_init()
            landed.arrive_expect_tx(lines * box[-1] * size)
            load = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            px.tile.apply(load, image, A.permute(*order).box(from_, box), landed, scope="thread")
            landed.wait(0)
            px.tile.apply(
                f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group", B.permute(*order).box(to, box), image, scope="thread"
            )
            px.bulk_commit()
            px.bulk_wait(0)
        px.syncthreads()
        landed.wait(0)
        for line in px.range(px.tid.x, lines, 32):
            with px.if_(line < lines):
                for column in range(box[-1]):
                    px.ptx[f"st.global.{word}"](C.view(bare)[line, column], px.ptx[f"ld.shared.{word}"](tile.view(bare)[line, column]))

    rng = np.random.default_rng(3)
    stored = [extents[order.index(axis)] for axis in range(rank)]
    a, b = (rng.integers(1, 200, stored).astype(numpy_of(dtype)) for _ in range(2))
    seen, wanted = a.transpose(order), b.copy()
    copied = windowed(seen, starts[0], box)
    for index in np.ndindex(*box):
        place = tuple(start + one for start, one in zip(starts[1], index))
        if all(0 <= one < extent for one, extent in zip(place, extents)):
            wanted.transpose(order)[place] = copied[index]
    c = np.zeros((lines, box[-1]), numpy_of(dtype))
    kernel(a, b, c, np.array(starts, np.int32), 5)
    np.testing.assert_array_equal(c, copied.reshape(c.shape))
    np.testing.assert_array_equal(b, wanted)


def test_a_box_over_the_edges():
    box_copy("f16", (7, 5, 24), (3, 2, 16), [(-1, 4, 16), (5, -1, -8)], (1, 0), 32, 2)


def test_rows_shorter_than_the_swizzle_keep_their_distance():
    """The hardware leaves the rest of each span alone, so a tile of dense rows is another image."""
    box_copy("u8", (8, 32), (6, 16), [(1, 16), (0, 0)], (0,), 32, None)

    def dense(A: px.Tensor((8, 32), px.u8, align=16)):
        tile = px.shared((6, 16), px.u8, layout=px.Layout(S[6, 16], swizzle=px.Swizzle.B32), align=256)
        landed = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            landed.init()
            load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            px.tile.apply(load, tile, A.box((0, 0), (6, 16)), landed, scope="thread")

    with pytest.raises(px.InstructionError, match="lies 16 bytes behind the first, the copy puts it 32 behind") as refused:
        px.kernel(grid=1, block=32)(dense).ptx()
    assert "legal: a px.shared tile with rows of 32 elements, and [..., :16] of it" in str(refused.value)


@given(boxes())
@drawn(25)
def test_boxes(case):
    box_copy(**case)
