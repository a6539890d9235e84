"""mma.sync of every dense type: operands from global memory, from swizzled stages of shared memory, or by ldmatrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ptxgen as px
from ptxgen import S, b16, b32, b64, laneid, warpid, wid_in_wg
from ptxgen.testing.families.case import SPANS, SWIZZLES, Case
from tests.random_kernels.shared import copy_in, numpy_of, product, small


class Product(NamedTuple):
    """A form of mma.sync: result, elements of A and B, extents, and the operation of single bits."""

    of_c: str
    of_a: str
    of_b: str
    m: int
    k: int
    bit_op: str = ""

    @property
    def opcode(self) -> str:
        return f"mma.sync.aligned.m{self.m}n8k{self.k}.row.col.{self.of_c}.{self.of_a}.{self.of_b}.{self.of_c}{self.bit_op}"


PRODUCTS = [
    Product("f32", "f16", "f16", 16, 16), Product("f32", "f16", "f16", 16, 8), Product("f16", "f16", "f16", 16, 16),
    Product("f16", "f16", "f16", 16, 8), Product("f32", "bf16", "bf16", 16, 16), Product("f32", "bf16", "bf16", 16, 8),
    Product("f32", "tf32", "tf32", 16, 8), Product("f32", "tf32", "tf32", 16, 4), Product("f64", "f64", "f64", 8, 4),
    *(Product("f64", "f64", "f64", 16, k) for k in (4, 8, 16)),
    *(Product("f32", a, b, 16, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    *(Product("f32", a, a, 16, 16) for a in ("e4m3", "e5m2")),
    Product("f16", "e4m3", "e5m2", 16, 32), Product("f16", "e4m3", "e4m3", 16, 16),
    *(Product("s32", a, b, m, k) for m, k in ((16, 32), (16, 16), (8, 16)) for a in ("s8", "u8") for b in ("s8", "u8")),
    *(Product("s32", a, b, m, k) for m, k in ((16, 64), (16, 32), (8, 32)) for a in ("s4", "u4") for b in ("s4", "u4")),
    *(Product("s32", "b1", "b1", m, k, f".{op}.popc") for m, k in ((16, 256), (16, 128), (8, 128)) for op in ("and", "xor")),
]  # fmt: skip

# A scope, and how many warps the block has.
PLACES = [("warp", 1), ("warp", 2), ("warp", 3), ("cta", 2), ("cta", 3), ("warpgroup", 4), ("warpgroup", 8)]

FIELDS = {
    "types": PRODUCTS,
    "place": PLACES,
    "repeats": [(m, n, s) for m in (1, 2) for n in (1, 2, 3) for s in (1, 2, 3)],
    "source": ["global", "shared", "ldmatrix"],
    "span": SPANS,
    "stages": [None, 2, 3],
    "margin": [0, 8],
    "narrow": [False, True],
    "across": [(False, False), (False, True), (True, False), (True, True)],
}

_SHARED = 227 << 10
"""Bytes of shared memory that a block may have."""


def packed(values: np.ndarray, width: int) -> np.ndarray:
    """Elements of less than a byte in 32-bit words, the first in the lowest bits."""
    lanes = values.reshape(*values.shape[:-1], -1, 32 // width).astype(np.int64) & ((1 << width) - 1)
    return (lanes << (np.arange(32 // width) * width)).sum(-1).astype(np.uint32)


def matrices(form: Product, seed: int, shape: tuple[int, ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """A random matrix as NumPy multiplies it, and as the argument that holds it."""
    narrow = {"s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}.get(dtype)
    if narrow is None:
        values = small(seed, shape, dtype)
        return values, values
    values = np.random.default_rng(seed).integers(*narrow, shape)
    return values, packed(values, int(dtype[1]))


def multiplied(form: Product, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if form.bit_op.startswith(".xor"):
        return (a[..., :, None, :] ^ b[..., None, :, :]).sum(-1)
    return product(a, b)


def build(
    types: Product, place: tuple[str, int], repeats: Any, source: str, span: int, stages: Any, margin: int, narrow: bool, across: Any
) -> Case:
    """Each warp multiplies matrices of its own, C (warps, m * 16, n * 8) += A (warps, m * 16, k * s) B (warps, n * 8, k * s)^T.

    `across`: whether A and B lie in memory with their rows and columns exchanged, which takes ``ldmatrix.trans``. Elements of less than
    a byte lie in 32-bit words.
    """
    form, (scope, warps), (m, n, s) = types, place, repeats
    of_a, of_b, of_c, k = form.of_a, form.of_b, form.of_c, form.k
    size = getattr(px, of_a).bits
    word, i_a = (b64, form.m // 8) if size == 64 else (b32, form.m // 8)
    e = word.bits // size
    kk = k // (4 * e)
    if size == 64 and source == "ldmatrix":
        source = "shared"
    across = across if source == "ldmatrix" and size == 16 else (False, False)
    count = {"warp": 1, "warpgroup": 4, "cta": warps}[scope]  # warps behind one apply
    g, lead = ("w ", (count,)) if count > 1 else ("", ())
    axis = wid_in_wg if scope == "warpgroup" else warpid
    wide = getattr(px, of_c).bits >= 32
    element, stored = ((b32, e) if size < 8 else ({"tf32": px.f32}.get(of_a), 1)) if size != 64 else (None, 1)
    elements = [element or getattr(px, one) for one in (of_a, of_b)]
    extents, depth = (m * form.m, n * 8), k * s // stored
    shapes = [(warps, *((depth, rows) if turned else (rows, depth))) for rows, turned in zip(extents, across)]
    lines = [(one.bits, warps * (rows + margin), columns) for one, (_, rows, columns) in zip(elements, shapes)]
    bytes_of_stage = sum(rows * max(columns * bits // 8, span) for bits, rows, columns in lines)
    stages = stages and min(stages, _SHARED // bytes_of_stage)
    container = {} if e == 1 else {"container": b32}

    def tile(dtype, shape, strides, **container):
        """A register tile of every warp behind one apply."""
        shape, strides = (*lead, *shape), (*((1 @ axis,) if lead else ()), *strides)
        whole = [extent if isinstance(extent, int) else int(np.prod(extent)) for extent in shape]
        return px.local(whole, getattr(px, dtype), layout=S[tuple(shape) : tuple(strides)], **container)

    @px.kernel(grid=1, block=32 * warps, target="sm_90a")
    def kernel(
        A: px.Tensor(shapes[0], elements[0], align=16),
        B: px.Tensor(shapes[1], elements[1], align=16),
        C: px.Tensor((warps, *extents), getattr(px, of_c), align=16),
        stage: px.u32,
    ):
        part = px.warp_uniform(px.tid.x // 32) // count

        def mine(matrix):
            """The matrices of the warps behind one apply, (*lead, ...)."""
            return matrix.rearrange("(p w) r c -> p w r c", w=count)[part] if lead else matrix[part]

        step = i_a * kk * e
        af = tile(of_a, (m, s, (i_a, 8), (kk, 4, e)), (step * s, step, (e, 4 @ laneid), (i_a * e, 1 @ laneid, 1)), **container)
        bf = tile(of_b, (n, s, 8, (kk, 4, e)), (kk * e * s, kk * e, 4 @ laneid, (e, 1 @ laneid, 1)), **container)
        halves = {} if wide else {"container": b32}
        each = 2 * i_a
        cf = tile(of_c, (m, n, (i_a, 8), (4, 2)), (each * n, each, (2, 4 @ laneid), (1 @ laneid, 1)), **halves)

        held = cf.rearrange(f"{g}m n (i r) (t j) -> ({g}r t) m n i j", i=i_a, t=4)
        there = mine(C).rearrange(f"{g}(m i r) (n t j) -> ({g}r t) m n i j", m=m, i=i_a, t=4, j=2)
        held, there = (held, there) if wide else (held.view(b32), there.view(b32))
        move = f"global.v2.{of_c}" if wide else "global.b32"
        px.tile.apply(f"ld.{move}", held, there, scope=scope)

        operands = [A, B]
        if source != "global":
            for number, matrix in enumerate((A, B)):
                _, rows, columns = matrix.shape
                whole = warps, rows + margin, max(columns, span * 8 // matrix.dtype.bits)
                shared = px.shared(whole, matrix.dtype, layout=px.Layout(S[whole], swizzle=SWIZZLES[span]), stages=stages)
                operands[number] = (shared if stages is None else shared[stage % stages])[:, margin:, :columns]
                copy_in(matrix, operands[number])
            px.syncthreads()
        for frag, matrix, i, turned in ((af, mine(operands[0]), i_a, across[0]), (bf, mine(operands[1]), 1, across[1])):
            if source == "ldmatrix":
                number = i * kk if not narrow or i * kk == 1 else i * kk // 2
                last, lies = ("c r", "(s h c) (m i r)") if turned else ("r c", "(m i r) (s h c)")
                to = frag.view(b16).rearrange(f"{g}m s (i r) (h c) -> {g}m s (h i) {last}", i=i, c=8)
                of = matrix.view(b16).rearrange(f"{g}{lies} -> {g}m s (h i) {last}", i=i, r=8, c=8, s=s)
                shape = *to.shape[:-3], i * kk // number, number, 8, 8
                trans = ".trans" if turned else ""
                px.tile.apply(f"ldmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16", to.view(*shape), of.view(*shape), scope=scope)
            else:
                to = frag.rearrange(f"{g}m s (i r) (h t e) -> ({g}r t) m s i h e", i=i, t=4, e=e).view(word)
                of = matrix.rearrange(f"{g}(m i r) (s h t e) -> ({g}r t) m s i h e", i=i, r=8, h=kk, t=4, e=e // stored).view(word)
                px.tile.apply(f"ld.{source}.{word.name}", to, of, scope=scope)
        px.tile.apply(form.opcode, cf, af, bf, cf, scope=scope)
        px.tile.apply(f"st.{move}", there, held, scope=scope)

    def turn(matrix, turned):
        return np.ascontiguousarray(matrix.swapaxes(1, 2)) if turned else matrix

    (a, given_a), (b, given_b) = (
        matrices(form, seed, (warps, rows, k * s), dtype) for seed, rows, dtype in ((1, extents[0], of_a), (2, extents[1], of_b))
    )
    c = small(3, (warps, *extents), of_c)
    wanted = (multiplied(form, a, b) + c.astype(np.int64)).astype(numpy_of(of_c))
    return Case(kernel, (turn(given_a, across[0]), turn(given_b, across[1]), c, 4), {2: wanted})
