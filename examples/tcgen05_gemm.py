"""C = A B^T on Blackwell's data-centre GPUs: one thread feeds a ring of TMA copies, another issues products into tensor memory.

A pair of blocks multiplies a tile of 256 rows together: each has its own rows of A and of the sums, and half of the rows of B, and a thread
of the first block issues the products for both.
"""

import numpy as np

import ptxgen as px
from ptxgen import S, bf16, f32, tx

NEEDS = "sm_100a"  # the only target; without such a GPU the emulator runs it

ROWS, COLS, DEPTH, STAGES = 128, 128, 64, 3  # of a block's part of the sums; of what a stage holds of K; stages of the ring
HELD = 32  # columns of the sums that a thread has in registers at a time


def swizzled(rows):
    """Rows of 128 bytes, as TMA writes and the product reads them."""
    return px.Layout(S[(rows, DEPTH)], swizzle=px.Swizzle.B128)


def gemm(ctas=1):
    """The kernel in which one block, or a pair of blocks, multiplies a tile."""
    M, N, K = px.dim("M", multiple_of=ROWS * ctas), px.dim("N", multiple_of=COLS), px.dim("K", multiple_of=8)
    share = COLS // ctas  # rows of B in a block
    both = None if ctas == 1 else 0b11
    load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" + (".cta_group::2" if ctas == 2 else "")
    sync = px.syncthreads if ctas == 1 else px.cluster_sync

    @px.kernel(grid=lambda M, N: (M // ROWS, N // COLS), block=128, cluster=ctas, target="sm_100a")
    def tcgen05_gemm(A: px.Tensor((M, K), bf16, align=16), B: px.Tensor((N, K), bf16, align=16), C: px.Tensor((M, N), f32, align=16)):
        a = px.shared((ROWS, DEPTH), bf16, layout=swizzled(ROWS), stages=STAGES)
        b = px.shared((share, DEPTH), bf16, layout=swizzled(share), stages=STAGES)
        full = px.mbarrier(ctas, stages=STAGES)  # the first block's counts what both blocks load
        empty = px.mbarrier(1, stages=STAGES)
        done = px.mbarrier(1)
        memory = px.tensor_memory(COLS, cta_group=ctas)
        with px.if_(px.tid.x == 0):
            for stage in range(STAGES):
                full[stage].init()
                empty[stage].init()
            done.init()
            px.fence_mbarrier_init()
        warp = px.warp_uniform(px.tid.x // 32)
        with px.if_(warp == 0):
            memory.alloc()
        px.tcgen05_fence("before")
        sync()
        px.tcgen05_fence("after")
        sums = memory.tile((ROWS, COLS), f32)

        rank = px.sreg.cluster_ctarank
        row, col = px.ctaid.x * ROWS, px.ctaid.y * COLS
        steps = px.cdiv(K, DEPTH)
        with px.if_(px.tid.x == 0):
            at = px.pipeline_state(STAGES, phase=1)
            for step in px.range(0, steps):
                empty[at.stage].wait(at.phase)
                full[at.stage].arrive_expect_tx((ROWS + share) * DEPTH * 2, cta=None if ctas == 1 else 0)
                arrived = full[at.stage] if ctas == 1 else px.mapa(full[at.stage], 0)
                px.tile.apply(load, a[at.stage], A.box((row, step * DEPTH), (ROWS, DEPTH)), arrived, scope="thread")
                px.tile.apply(load, b[at.stage], B.box((col + rank * share, step * DEPTH), (share, DEPTH)), arrived, scope="thread")
                at.advance()
        with px.if_((px.tid.x == 32) & (rank == 0)):
            at = px.pipeline_state(STAGES)
            for step in px.range(0, steps):
                full[at.stage].wait(at.phase)
                px.tcgen05_fence("after")
                px.tile.apply(
                    f"tcgen05.mma.cta_group::{ctas}.kind::f16",
                    sums.view(1, 1, ROWS, COLS),
                    a[at.stage].rearrange("m (k c) -> k m c", c=16).view(1, DEPTH // 16, ROWS, 16),
                    b[at.stage].rearrange("n (k c) -> k n c", c=16).view(1, DEPTH // 16, share, 16),
                    enable_input_d=step != 0,
                    scope="thread",
                )
                px.tcgen05_commit(empty[at.stage], cta_group=ctas, mask=both)
                at.advance()
            px.tcgen05_commit(done, cta_group=ctas, mask=both)

        done.wait(0)
        px.tcgen05_fence("after")
        with px.if_((row + ROWS <= M) & (col + COLS <= N)):
            for start in range(0, COLS, HELD):
                held = px.local((ROWS, HELD), f32, layout=S[(ROWS, HELD) : (1 @ tx, 1)])
                mine = sums[:, start : start + HELD].view(4, 32, HELD)
                px.tile.apply(f"tcgen05.ld.sync.aligned.32x32b.x{HELD}.b32", held.view(4, 32, HELD), mine, scope="cta")
                px.tcgen05_wait("ld")
                out = C.sub((row, col + start), (ROWS, HELD)).view(ROWS, HELD // 4, 4)
                px.tile.apply("st.global.v4.f32", out, held.view(ROWS, HELD // 4, 4), scope="cta")
        px.tcgen05_fence("before")
        sync()
        with px.if_(warp == 0):
            memory.dealloc()

    return tcgen05_gemm


def case(seed=0, ctas=1, shape=(256, 256, 200)):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards: small integers, so any order is exact."""
    rng, (m, n, k) = np.random.default_rng(seed), shape
    a, b = (rng.integers(-4, 5, (extent, k)).astype(bf16.numpy) for extent in (m, n))
    return gemm(ctas), (a, b, np.zeros((m, n), np.float32)), {2: a.astype(np.float32) @ b.astype(np.float32).T}


if __name__ == "__main__":
    for ctas in (1, 2):
        kernel, arguments, expected = case(0, ctas)
        kernel(*arguments)
        print(kernel.ptx())
        print("elements that differ:", int((arguments[2] != expected[2]).sum()))
