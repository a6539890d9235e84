"""wgmma: both operands in swizzled shared memory, or A in registers, every major, several warpgroups, steps of K."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import S, b16, b32, tid_in_wg
from ptxgen.testing.families.case import SPANS, SWIZZLES, Case
from tests.random_kernels.shared import copy_in, numpy_of, product, small

SHARED_BYTES = 200_000

# Result, elements of A and of B.
PRODUCTS = [
    ("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
    *((c, a, b) for c in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    *(("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")),
]  # fmt: skip

FIELDS = {
    "types": PRODUCTS,
    "scope": ["warpgroup", "cta"],
    "groups": [1, 2],
    "columns": [8, 16, 24, 32, 40, 48, 56, 64, 80, 88, 104, 128, 192, 256],
    "repeats": [(m, n, s) for m in (1, 2) for n in (1, 2) for s in (1, 2, 3, 4)],
    "spans": [(a, b) for a in SPANS for b in SPANS],
    "majors": [("k", "k"), ("k", "mn"), ("mn", "k"), ("mn", "mn")],
    "registers": [False, True],
    "stages": [None, 2, 3],
    "margin": [0, 1],
    "fresh": [True, False],
}


def blocks(lines, length, span, bits):
    """`lines` runs of `length` elements in blocks as wide as the swizzle's span: the canonical layouts."""
    width = min(span * 8 // bits, length)
    return px.Layout(S[(lines, (length // width, width)) : (width, (lines * width, 1))], swizzle=SWIZZLES[span])


def build(
    types: Any, scope: str, groups: int, columns: int, repeats: Any, spans: Any, majors: Any, registers: bool, stages: Any, margin: int,
    fresh: bool,
) -> Case:  # fmt: skip
    """Each warpgroup multiplies rows of its own by B, at scope "cta" by columns of its own: C (groups * m * 64, n * columns) [+]= A B^T."""
    of_c, of_a, of_b = types
    m, n, s = repeats
    if m * n * columns > 256:
        m = n = 1  # a thread has registers for no more
    bits = getattr(px, of_a).bits
    if bits == 8 and of_c == "s32" and columns > 32:
        columns -= columns % 16  # what integers are multiplied by
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
    wide = getattr(px, of_c).bits == 32
    elements = [px.f32 if one == "tf32" else getattr(px, one) for one in (of_a, of_b)]
    stored = [(extent, depth) if major == "k" else (depth, extent) for extent, major in zip(extents, majors)]

    # Shared tiles are as wide as their swizzle at least, and may be larger than what is used of them.
    shapes = []
    for (lines, length), span in zip(stored, spans):
        width = span * 8 // bits
        shapes.append((-(-lines // 8) * 8 + 8 * margin, -(-length // width) * width + width * margin))

    if sum(lines * length for lines, length in shapes) * bits // 8 * (stages or 1) > SHARED_BYTES:
        stages = None  # a block has 227 KiB
    packed = {} if e == 1 else {"container": b32}
    g = "w " if lead else ""

    def tile(dtype, shape, strides, **packed):
        shape, strides = (*lead, *shape), (*((1 @ px.wgid,) if lead else ()), *strides)
        whole = [extent if isinstance(extent, int) else int(np.prod(extent)) for extent in shape]
        return px.local(whole, dtype, layout=S[tuple(shape) : tuple(strides)], **packed)

    @px.kernel(grid=1, block=128 * groups, target="sm_90a")
    def kernel(
        A: px.Tensor(stored[0], elements[0], align=16),
        B: px.Tensor(stored[1], elements[1], align=16),
        C: px.Tensor((extents[0], n * columns), getattr(px, of_c), align=8),
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
            getattr(px, of_c), (m, n, (4, 2, 8), (columns // 8, 4, 2)),
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
            af = tile(getattr(px, of_a), (m, s, (4, 2, 8), (kk, 4, e)), strides, **packed)
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
        opcode = f"wgmma.mma_async.sync.aligned.m64n{columns}k{k}.{of_c}.{of_a}.{of_b}"
        px.tile.apply(opcode, cf, rows, columns_of, scale_d=int(not fresh), scope=scope)
        px.wgmma_commit()
        px.wgmma_wait(0)
        px.tile.apply(f"st.{move}", there, held, scope=scope)

    a, b, c = small(1, (extents[0], depth), of_a), small(2, (extents[1], depth), of_b), small(3, (extents[0], n * columns), of_c)
    rows_of, columns_of = (np.split(one, count) for one in (a, b))
    sums = np.concatenate([product(*each) for each in zip(rows_of, columns_of)]) + (0 if fresh else c.astype(np.int64))
    given = (np.ascontiguousarray(one if major == "k" else one.T) for one, major in zip((a, b), majors))
    return Case(kernel, (*given, c, 4), {2: sums.astype(numpy_of(of_c))})
