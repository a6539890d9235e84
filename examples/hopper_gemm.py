"""C = A B^T on Hopper: a ring of TMA copies that a producer fills and two consumer warpgroups multiply, on a persistent grid.

The two blocks of a cluster work on tiles that lie one above the other: each loads its own rows of A, and half of the rows of B for both.
"""

import numpy as np

import ptxgen as px
from ptxgen import S, b32, bf16, f32, tid_in_wg

M, N = (px.dim(name, multiple_of=8) for name in "MN")
ROWS, COLS, STAGES = 128, 256, 4  # of a block's tile; stages of the ring
SPAN = 128  # bytes of a row that a swizzle permutes: what a stage holds of K, and a store of C
PART = SPAN // 2  # columns of C in a store
BLOCKS = 132

LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
STMATRIX = "stmatrix.sync.aligned.m8n8.x4.shared.b16"


def swizzled(rows, cols):
    """Rows of 128 bytes, as TMA writes and wgmma reads them."""
    return px.Layout(S[(rows, cols)], swizzle=px.Swizzle.B128)


def fragment(cols):
    """Who holds which element of 64 rows: warp, half, row of eight; column of eight, lane's pair, element of the pair."""
    return S[((4, 2, 8), (cols // 8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]


def by_pair(tile):
    """Of 64 rows: thread; column of eight and half of the rows, which are repeated; element of the pair."""
    return tile.rearrange("(w i r) (n t j) -> (w r t) n i j", w=4, i=2, r=8, t=4, j=2)


def by_matrix(tile):
    """Of 64 rows: warp; sixteen columns, which are repeated; the four matrices of one instruction, row and column."""
    return tile.rearrange("(w i r) (n h c) -> w n h i r c", w=4, i=2, r=8, h=2, c=8).view(4, 4, 4, 8, 8)


def gemm(blocks=BLOCKS, dtype=bf16):
    """The kernel for matrices of `dtype`, bf16 or e4m3, and a grid of `blocks` blocks, an even number: one for each multiprocessor."""
    depth, each = 8 * SPAN // dtype.bits, 256 // dtype.bits  # elements of K: a stage's, an instruction's
    multiply = f"wgmma.mma_async.sync.aligned.m64n{COLS}k{each}.f32.{dtype.name}.{dtype.name}"
    K = px.dim("K", multiple_of=128 // dtype.bits)  # a row is a multiple of 16 bytes

    @px.kernel(grid=blocks, block=384, cluster=2, target="sm_90a", min_blocks=1)
    def hopper_gemm(
        A: px.Tensor((M, K), dtype, align=16),
        B: px.Tensor((N, K), dtype, align=16),
        C: px.Tensor((M, N), bf16, align=16),
    ):
        a = px.shared((ROWS, depth), dtype, layout=swizzled(ROWS, depth), stages=STAGES)
        b = px.shared((COLS, depth), dtype, layout=swizzled(COLS, depth), stages=STAGES)
        staged = px.shared((ROWS, PART), bf16, layout=swizzled(ROWS, PART))
        full = px.mbarrier(1, stages=STAGES)  # a producer says how many bytes come
        empty = px.mbarrier(16, stages=STAGES)  # the eight consuming warps of both blocks: each block writes into the other
        with px.if_(px.tid.x == 0):
            for stage in range(STAGES):
                full[stage].init()
                empty[stage].init()
            px.fence_mbarrier_init()
        px.cluster_sync()

        rank = px.sreg.cluster_ctarank
        across, down, steps = px.cdiv(N, COLS), px.cdiv(M, 2 * ROWS), px.cdiv(K, depth)
        first_tile, count = px.ctaid.x // 2, across * down

        def tiles():
            return px.range(first_tile, count, blocks // 2)

        def corner(tile):
            return (2 * (tile % down) + rank) * ROWS, tile // down * COLS

        with px.if_(px.tid.x < 128):
            px.setmaxnreg(40, "dec")
            with px.if_(px.tid.x == 0):
                at = px.pipeline_state(STAGES, phase=1)
                for tile in tiles():
                    row, col = corner(tile)
                    for step in px.range(0, steps):
                        empty[at.stage].wait(at.phase)
                        full[at.stage].arrive_expect_tx((ROWS + COLS) * SPAN)
                        px.tile.apply(LOAD, a[at.stage], A.box((row, step * depth), (ROWS, depth)), full[at.stage], scope="thread")
                        half = b[at.stage].rearrange("(h n) k -> h n k", h=2)[rank]
                        part = B.box((col + rank * (COLS // 2), step * depth), (COLS // 2, depth))
                        px.tile.apply(LOAD + ".multicast::cluster", half, part, full[at.stage], cta_mask=3, scope="thread")
                        at.advance()
        with px.else_():
            px.setmaxnreg(232, "inc")
            group = px.warp_uniform((px.tid.x - 128) // 128)
            sums = px.local((64, COLS), f32, layout=fragment(COLS))
            rounded = px.local((64, PART), bf16, container=b32, layout=fragment(PART))
            out = staged.rearrange("(w m) n -> w m n", w=2)[group]
            sums_by_pair, pairs, matrices, stored = by_pair(sums), by_pair(rounded).view(b32), by_matrix(rounded), by_matrix(out)
            together, leads = px.named_barrier(group + 1, 128), px.tid.x % 128 == 0
            at = px.pipeline_state(STAGES)
            for tile in tiles():
                row, col = corner(tile)
                for step in px.range(0, steps):
                    full[at.stage].wait(at.phase)
                    mine = a[at.stage].rearrange("(w m) (k c) -> w k m c", w=2, c=each)[group].view(1, depth // each, 64, each)
                    theirs = b[at.stage].rearrange("n (k c) -> k n c", c=each).view(1, depth // each, COLS, each)
                    px.wgmma_fence()
                    px.tile.apply(multiply, sums.view(1, 1, 64, COLS), mine, theirs, scale_d=step != 0, scope="warpgroup")
                    px.wgmma_commit()
                    px.wgmma_wait(0)
                    with px.if_(px.sreg.laneid < 2):
                        empty[at.stage].arrive(cta=px.sreg.laneid)
                    at.advance()

                first = row + 64 * group
                for part in range(0, COLS, PART):
                    exact = sums_by_pair[:, part // 8 : (part + PART) // 8]
                    px.tile.apply("cvt.rn.bf16x2.f32", pairs, exact[..., 1:2], exact[..., 0:1], scope="warpgroup")
                    with px.if_(leads):
                        px.bulk_wait(0, read=True)
                    together.sync()
                    px.tile.apply(STMATRIX, stored, matrices, scope="warpgroup")
                    px.fence_proxy_async("shared::cta")
                    together.sync()
                    with px.if_(leads):
                        px.tile.apply(STORE, C.box((first, col + part), (64, PART)), out, scope="thread")
                        px.bulk_commit()
            with px.if_(leads):
                px.bulk_wait(0)
        px.cluster_sync()  # no block ends while the other may still signal its barriers

    return hopper_gemm


def case(seed=0, shape=(136, 264, 328), blocks=2, dtype=bf16):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards: small integers, so any order is exact."""
    rng, (m, n, k) = np.random.default_rng(seed), shape
    a, b = (rng.integers(-2, 3, (rows, k)).astype(dtype.numpy) for rows in (m, n))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    return gemm(blocks, dtype), (a, b, np.zeros((m, n), bf16.numpy)), {2: exact.astype(bf16.numpy)}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("elements that differ:", int((arguments[2] != expected[2]).sum()))
