"""Descriptors outside of kernels: fields by hand, slices of a parent, starts inside a swizzle's pattern in kernels, what is refused."""

# ruff: noqa: E501 - a message stands as it is written

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, bf16, f32, tid_in_wg
from ptxgen.assemble import assemble
from ptxgen.errors import InstructionError, LayoutError
from tests.solve.shown import shown

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
TCGEN05 = "tcgen05.mma.cta_group::1.kind::f16"
B128 = px.Swizzle.B128
SWIZZLES = {32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: B128}
SUMS = S[((4, 2, 8), (8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]


def fields(plan):
    return plan.major, plan.lead, plan.stride, plan.mode, plan.k_steps[:3]


def test_fields_of_the_canonical_layouts():
    """LBO, SBO and modes from the ISA's tables: 8 rows of the span where K-major and swizzled, blocks of the span where MN-major."""
    swizzled = px.Layout(S[(128, (2, 64)) : (64, (8192, 1))], swizzle=B128)
    assert fields(px.solve.descriptor(swizzled, WGMMA)) == ("k", 0, 1024, 1, (0, 32, 64))
    cores = S[((8, 8), (8, 8)) : ((64, 8), (512, 1))]  # core matrices of 128 bytes, those of 8 rows side by side along M
    assert fields(px.solve.descriptor(cores, WGMMA)) == ("k", 1024, 128, 0, (0, 2048, 4096))
    transposed = px.Layout(S[((2, 64), 64) : ((4096, 1), 64)], swizzle=B128)
    assert fields(px.solve.descriptor(transposed, WGMMA.replace("n64", "n128"), "B")) == ("mn", 8192, 1024, 1, (0, 2048, 4096))
    assert fields(px.solve.descriptor(transposed, TCGEN05, "B", dtype=bf16, n=128)) == ("mn", 8192, 1024, 2, (0, 2048, 4096))
    atoms = px.Layout(S[(32, 32) : (1, 32)], swizzle=px.Swizzle.B128_ATOM32)
    assert fields(px.solve.descriptor(atoms, "tcgen05.mma.cta_group::1.kind::tf32", "B", n=32)) == ("mn", 0, 512, 1, (0, 1024, 2048))


def test_words():
    plan = px.solve.descriptor(px.Layout(S[(64, 64)], swizzle=B128), WGMMA)
    assert plan.word(0x8000) == 1 << 62 | 64 << 32 | 0x800
    assert plan.word(0x8000, 0, 3) == plan.word(0x8000) + 6
    assert plan.word(0x8180) >> 49 & 7 == 3  # three rows of 128 bytes inside the pattern of 1024
    assert plan.word(0x8180) & 0x3FFF == 0x818
    assert px.solve.descriptor(px.Layout(S[(128, 64)], swizzle=B128), TCGEN05, dtype=bf16).word() == 2 << 61 | 1 << 46 | 64 << 32
    assert "legal: a multiple of 128 bytes" in shown(LayoutError, lambda: plan.word(64))


def test_slices_keep_their_parents_strides():
    parent = px.Layout(S[(128, (2, 64)) : (64, (8192, 1))], swizzle=B128)
    whole = px.solve.descriptor(parent, WGMMA)
    part = px.solve.descriptor(parent[64:, 64:], WGMMA)
    part.check(1024)
    assert (part.stride, part.lead) == (whole.stride, whole.lead) == (1024, 0)
    assert part.starts.ravel()[0] == (8192 + 64 * 64) * 2
    narrow = px.Layout(S[(64, 192)], swizzle=None)  # rows of 384 bytes: the stride between 8 of them is none that a swizzle has
    assert "is in none of the layouts" in shown(InstructionError, lambda: px.solve.descriptor(narrow[:, :64], WGMMA))
    every_other = px.Layout(S[((8, 8), 64) : ((1024, 64), 1)], swizzle=B128)  # groups of 8 rows 2048 bytes apart
    assert px.solve.descriptor(every_other, WGMMA).stride == 2048


def test_what_is_printed():
    assert str(px.solve.descriptor(px.Layout(S[(64, 64)], swizzle=B128), WGMMA)) == """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: 64 x 16 elements of .bf16, K-major with a 128-byte swizzle
  layout        Layout(S[(64, 64) : (1024, 16)], swizzle=Swizzle(3, 4, 3), unit="bit")
  view          .rearrange("(m r) (s k) -> m s r k", r=64, k=16)
  offsets       leading 0 (not looked at), stride 1024 bytes: fields 0, 64
  start         0 bytes behind the tile's first
  swizzle mode  1, base offset 0 at a multiple of 1024 bytes; transpose flag 0
  steps of K    0, 32, 64, 96 bytes
  descriptor    0x4000004000000000 + (address >> 4)"""


@pytest.mark.parametrize(
    ("layout", "operand", "message"),
    [
        (
            px.Layout(S[(64, 64)], swizzle=px.Swizzle.B64), "A",
            """\
wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: tile[1, 4, 64, 16] bf16 in .shared is in none of the layouts that a \
descriptor can describe
  rule: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides (PTX ISA 9.7.17.5.2)
  counter-example: element (1, 0) lies 128 bytes behind element (0, 0), where the nearest canonical layout, K-major with a 64-byte swizzle, \
puts it 64 bytes behind
  legal: the same tile with layout=px.Layout(..., swizzle=px.Swizzle.B128)""",
        ),
        (
            px.Layout(S[((8, 8), 64) : ((513, 64), 1)]), "A",
            """\
wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: tile[1, 4, 64, 16] bf16 in .shared is in none of the layouts that a \
descriptor can describe
  rule: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides (PTX ISA 9.7.17.5.2)
  counter-example: element (1, 0) lies 128 bytes behind element (0, 0), where the nearest canonical layout, K-major with no swizzle, \
puts it 16 bytes behind
  legal: K-major Layout(S[((8, 8), (2, 8)) : ((stride, 8), (lead, 1))]) or MN-major Layout(S[((8, 8), (2, 8)) : ((stride, 1), (lead, 8))]), \
whatever lead and stride; px.solve.operand makes one""",
        ),
        (
            S[((8, 8), (8, 8)) : ((68, 8), (1024, 1))], "A",
            """\
wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, operand a_desc: tile[1, 4, 64, 16] bf16 in .shared is in none of the layouts that a \
descriptor can describe
  rule: a matrix descriptor describes the canonical layouts of the ISA, each with two free strides (PTX ISA 9.7.17.5.2)
  counter-example: it is K-major with no swizzle, and a stride of 136 bytes is none that a descriptor says
  legal: strides that are multiples of 16 bytes, below 262144""",
        ),
    ],
    ids=["swizzle", "rows", "stride"],
)  # fmt: skip
def test_what_is_refused(layout, operand, message):
    assert shown(InstructionError, lambda: px.solve.descriptor(layout, WGMMA, operand)) == message


def test_the_nearest_layout_is_the_one_whose_proof_came_furthest():
    """Eight rows fit the swizzled layout; the ninth is the first at fault, behind 128 elements that agree."""
    displaced = px.Layout(S[((2, 4, 8), 64) : ((2048 + 64, 512, 64), 1)], swizzle=B128)
    message = shown(InstructionError, lambda: px.solve.descriptor(displaced, WGMMA))
    assert "element (32, 0) lies 4224 bytes behind element (0, 0)" in message
    assert "the nearest canonical layout, K-major with a 128-byte swizzle, puts it 4096 bytes behind" in message


def test_operands_without_a_descriptor():
    assert "is found by no descriptor" in shown(LayoutError, lambda: px.solve.descriptor(S[(64, 64)], WGMMA, "D"))
    runtime = px.Layout(S[(64, 64)], offset=px.Expr.of(px.Symbol("i", 0, 4)) * 64)
    assert "depends on what is known at run time" in shown(LayoutError, lambda: px.solve.descriptor(runtime, WGMMA))


def displaced_product(first, span):
    """wgmma with K-major matrices from the middle of a swizzle's pattern: a constant row of A, a runtime row of B; its arguments and C."""
    width = span // 2
    blocks = px.Layout(S[(72, (64 // width, width)) : (width, (72 * width, 1))], swizzle=SWIZZLES[span])

    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(A: px.Tensor((72, 64), bf16, align=16), B: px.Tensor((72, 64), bf16, align=16), C: px.Tensor((64, 64), f32, align=8), n: px.u32):
        a, b = (px.shared((72, 64), bf16, layout=blocks) for _ in range(2))
        for tile, tensor in ((a, A), (b, B)):
            part = px.solve.canonical(tensor, "cp.async.cg.shared.global", "src", scope="cta", threads=64)
            with px.if_(px.tid.x < 64):
                px.tile.apply("cp.async.cg.shared.global", part.view(tile), part.view(tensor), 16, scope="cta")
        px.cp_async_commit()
        px.cp_async_wait(0)
        px.fence_proxy_async("shared::cta")
        px.syncthreads()
        c = px.local((64, 64), f32, layout=SUMS)
        steps = "m (s k) -> s m k"
        px.wgmma_fence()
        with px.if_(px.uniform(n <= 8)):
            rows = b.sub((n, 0), (64, 64))
            px.tile.apply(
                WGMMA, c.view(1, 1, 64, 64), a[first : first + 64].rearrange(steps, k=16).view(1, 4, 64, 16),
                rows.rearrange(steps, k=16).view(1, 4, 64, 16), scale_d=0, scope="warpgroup",
            )  # fmt: skip
        px.wgmma_commit()
        px.wgmma_wait(0)
        pairs = "(w i r) (n t j) -> (w r t) i n j"
        px.tile.apply("st.global.v2.f32", C.rearrange(pairs, w=4, i=2, t=4, j=2), c.rearrange(pairs, w=4, i=2, t=4, j=2), scope="cta")

    rng = np.random.default_rng(first)
    x, y = (rng.integers(-3, 5, (72, 64)).astype(bf16.numpy) for _ in range(2))
    rows = x[first : first + 64].astype(np.float32), y[8 - first : 72 - first].astype(np.float32)
    return kernel, (x, y, np.zeros((64, 64), np.float32), 8 - first), rows[0] @ rows[1].T


@pytest.mark.parametrize(("first", "span"), [(1, 128), (4, 128), (7, 64), (3, 32)])
def test_products_that_begin_in_any_row_of_a_pattern(first, span):
    kernel, arguments, wanted = displaced_product(first, span)
    kernel(*arguments)
    assert np.array_equal(arguments[2], wanted)
    if first == 4:
        assemble(kernel.ptx(), "sm_90a")


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize("span", [32, 64, 128])
def test_products_that_begin_in_any_row_of_a_pattern_on_a_gpu(span):
    from ptxgen.testing.families.case import Case
    from tests.random_kernels.running import on_gpu

    for first in range(8):
        kernel, arguments, wanted = displaced_product(first, span)
        case = Case(kernel, arguments, {2: wanted})
        assert case.disagrees(on_gpu(case)) is None
