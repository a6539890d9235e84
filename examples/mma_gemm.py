"""C = A B^T with mma.sync: three stages of cp.async, ldmatrix into fragments, four warps that share a tile of 64 x 64."""

import numpy as np

import ptxgen as px
from ptxgen import S, b32, bf16, f32, laneid

TILE, DEPTH, STAGES = 64, 32, 3
M, N, K = px.dim("M", multiple_of=TILE), px.dim("N", multiple_of=TILE), px.dim("K", multiple_of=DEPTH)

COPY = "cp.async.cg.shared.global"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
STEPS = DEPTH // 16

# Who holds what in a warp: 16 x 16 of A and 8 x 16 of B as pairs of bf16 in a register, 16 x 8 of C as two rows of f32 pairs.
A_FRAGMENT = S[(2, STEPS, (2, 8), (2, 4, 2)) : (8 * STEPS, 8, (2, 4 @ laneid), (4, 1 @ laneid, 1))]
B_FRAGMENT = S[(4, STEPS, 8, (2, 4, 2)) : (4 * STEPS, 4, 4 @ laneid, (2, 1 @ laneid, 1))]
C_FRAGMENT = S[(2, 4, (2, 8), (4, 2)) : (16, 4, (2, 4 @ laneid), (1 @ laneid, 1))]


@px.kernel(grid=lambda M, N: (N // TILE, M // TILE), block=128, target="sm_80")
def mma_gemm(
    A: px.Tensor((M, K), bf16, align=16),
    B: px.Tensor((N, K), bf16, align=16),
    C: px.Tensor((M, N), f32, align=8),
):
    rows = px.Layout(S[(TILE, DEPTH)], swizzle=px.Swizzle.B64)
    a = px.shared((TILE, DEPTH), bf16, layout=rows, stages=STAGES)
    b = px.shared((TILE, DEPTH), bf16, layout=rows, stages=STAGES)
    sums = px.local((2, 4, 16, 8), f32, layout=C_FRAGMENT)
    af = px.local((2, STEPS, 16, 16), bf16, container=b32, layout=A_FRAGMENT)
    bf = px.local((4, STEPS, 8, 16), bf16, container=b32, layout=B_FRAGMENT)
    mine = sums.rearrange("m n (i r) (t j) -> (r t) m n i j", i=2, t=4)
    px.tile.ewise(lambda _: px.f32(0.0), mine, mine, scope="warp")

    row, col = px.ctaid.y * TILE, px.ctaid.x * TILE

    def load(step):
        first = step * DEPTH
        with px.if_((row + TILE <= M) & (col + TILE <= N) & (first + DEPTH <= K)):
            here = slice(first, first + DEPTH)
            for stages, part in ((a, A[row : row + TILE, here]), (b, B[col : col + TILE, here])):
                parts = [tile.rearrange("(n r) (t c) -> (r t) n c", n=2, t=4) for tile in (stages[step % STAGES], part)]
                px.tile.apply(COPY, *parts, scope="cta")
        px.cp_async_commit()  # an empty group too: the count of groups in flight stays the same

    warp = px.warp_uniform(px.tid.x // 32)
    for step in range(STAGES - 1):
        load(px.u32(step))
    for step in px.range(0, K // DEPTH):
        px.cp_async_wait(STAGES - 2)
        px.syncthreads()
        load(step + (STAGES - 1))
        rows_of = a[step % STAGES].rearrange("(w m) k -> w m k", w=2)[warp // 2]
        cols_of = b[step % STAGES].rearrange("(w n) k -> w n k", w=2)[warp % 2]
        px.tile.apply(
            LDMATRIX,
            af.rearrange("m k (i r) (h c) -> m k h i r c", i=2, h=2).view(2, STEPS, 4, 8, 8),
            rows_of.rearrange("(m i r) (k h c) -> m k h i r c", i=2, r=8, h=2, c=8).view(2, STEPS, 4, 8, 8),
            scope="warp",
        )
        px.tile.apply(
            LDMATRIX,
            bf.rearrange("n k r (h c) -> n (k h) r c", h=2),
            cols_of.rearrange("(n r) (k h c) -> n (k h) r c", r=8, h=2, c=8),
            scope="warp",
        )
        px.tile.apply(MMA, sums, af, bf, sums, scope="warp")

    with px.if_((row + TILE <= M) & (col + TILE <= N)):
        out = C[row : row + TILE, col : col + TILE].rearrange("(v m i r) (w n t j) -> v w (r t) m n i j", v=2, m=2, i=2, w=2, n=4, t=4)
        px.tile.apply("st.global.v2.f32", out[warp // 2, warp % 2], mine, scope="warp")


def case(seed=0, shape=(128, 192, 160)):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards: small integers, so any order is exact."""
    rng, (m, n, k) = np.random.default_rng(seed), shape
    a, b = (rng.integers(-4, 5, (extent, k)).astype(bf16.numpy) for extent in (m, n))
    return mma_gemm, (a, b, np.zeros((m, n), np.float32)), {2: a.astype(np.float32) @ b.astype(np.float32).T}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("elements that differ:", int((arguments[2] != expected[2]).sum()))
