"""C = A B^T on Blackwell's data-centre GPUs: one thread feeds a ring of TMA copies, another issues products into tensor memory.

With two blocks a pair multiplies a tile of 256 rows together: each holds its own 128 rows of A and D, and half of the columns' rows of B,
and the first block's thread issues the products for both.
"""

import numpy as np

import ptxgen as px
from ptxgen import S, bf16, f32, u32

NEEDS = "sm_100a"  # the only target; without such a GPU the emulator runs it

ROWS, COLS, DEPTH, STAGES = 128, 128, 64, 3  # of D in a block; of what a stage holds of K; stages of the ring


def swizzled(rows):
    """Rows of 128 bytes, as TMA writes and the product reads them."""
    return px.Layout(S[(rows, DEPTH)], swizzle=px.Swizzle.B128)


def described(address):
    """The descriptor of a matrix of 128-byte rows: eight rows are 1024 bytes, the swizzle is that of 128 bytes (ISA 9.7.18.4.1)."""
    fields = 1 << 46 | 1024 // 16 << 32 | 2 << 61
    return px.ptx["or.b64"](px.ptx["cvt.u64.u32"]((address & 0x3FFFF) // 16), fields)


def gemm(ctas=1):
    """The kernel in which one block, or a pair of blocks, multiplies a tile of D."""
    M, N, K = px.dim("M", multiple_of=ROWS * ctas), px.dim("N", multiple_of=COLS), px.dim("K", multiple_of=8)
    group = f"cta_group::{ctas}"
    product = 1 << 4 | 1 << 7 | 1 << 10 | COLS >> 3 << 17 | ROWS * ctas >> 4 << 24  # f32 from bf16, by N and M (ISA 9.7.18.4.2)

    load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" + (".cta_group::2" if ctas == 2 else "")

    def commit(barrier):
        """The barrier, in both blocks of a pair, is told when the products so far are done."""
        told = f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster"
        px.ptx[told + ".multicast::cluster.b64"](barrier, 3) if ctas == 2 else px.ptx[told + ".b64"](barrier)

    @px.kernel(grid=lambda M, N: (M // ROWS, N // COLS), block=128, cluster=ctas, target="sm_100a")
    def tcgen05_gemm(A: px.Tensor((M, K), bf16, align=16), B: px.Tensor((N, K), bf16, align=16), C: px.Tensor((M, N), f32, align=16)):
        a = px.shared((ROWS, DEPTH), bf16, layout=swizzled(ROWS), stages=STAGES)
        b = px.shared((COLS // ctas, DEPTH), bf16, layout=swizzled(COLS // ctas), stages=STAGES)
        where = px.shared(1, u32)
        full, empty, done = px.mbarrier(ctas, stages=STAGES), px.mbarrier(1, stages=STAGES), px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            for stage in range(STAGES):
                full[stage].init()
                empty[stage].init()
            done.init()
            px.fence_mbarrier_init()
        warp = px.warp_uniform(px.tid.x // 32)
        with px.if_(warp == 0):
            px.ptx[f"tcgen05.alloc.{group}.sync.aligned.shared::cta.b32"](where[0], COLS)
            px.ptx[f"tcgen05.relinquish_alloc_permit.{group}.sync.aligned"]()
        px.ptx["tcgen05.fence::before_thread_sync"]()
        px.cluster_sync() if ctas == 2 else px.syncthreads()
        px.ptx["tcgen05.fence::after_thread_sync"]()
        d = px.ptx["ld.shared.u32"](where[0])

        rank = px.sreg.cluster_ctarank
        row, col = px.ctaid.x * ROWS, px.ctaid.y * COLS
        steps = px.cdiv(K, DEPTH)
        with px.if_(px.tid.x == 0):
            at = px.pipeline_state(STAGES, phase=1)
            for step in px.range(0, steps):
                empty[at.stage].wait(at.phase)
                bytes = (ROWS + COLS // ctas) * DEPTH * 2
                full[at.stage].arrive_expect_tx(bytes, cta=0) if ctas == 2 else full[at.stage].arrive_expect_tx(bytes)
                arrived = px.mapa(full[at.stage], 0) if ctas == 2 else full[at.stage]
                px.tile.apply(load, a[at.stage], A.box((row, step * DEPTH), (ROWS, DEPTH)), arrived, scope="thread")
                mine = B.box((col + rank * (COLS // ctas), step * DEPTH), (COLS // ctas, DEPTH))
                px.tile.apply(load, b[at.stage], mine, arrived, scope="thread")
                at.advance()
        with px.if_((px.tid.x == 32) & (rank == 0)):
            smem = px.ptx["mov.u32"]("smem")
            at = px.pipeline_state(STAGES)
            for step in px.range(0, steps):
                full[at.stage].wait(at.phase)
                px.ptx["tcgen05.fence::after_thread_sync"]()
                left = smem + at.stage * (ROWS * DEPTH * 2)
                right = smem + at.stage * (COLS // ctas * DEPTH * 2) + STAGES * ROWS * DEPTH * 2
                for k in range(0, DEPTH, 16):
                    adds = step != 0 if k == 0 else True
                    px.ptx[f"tcgen05.mma.{group}.kind::f16"](d, described(left + 2 * k), described(right + 2 * k), product, adds)
                commit(empty[at.stage])
                at.advance()
            commit(done)

        done.wait(0)
        px.ptx["tcgen05.fence::after_thread_sync"]()
        with px.if_((row + ROWS <= M) & (col + COLS <= N)):
            for start in range(0, COLS, 32):
                sums = px.ptx["tcgen05.ld.sync.aligned.32x32b.x32.b32"](d + start + (warp << 21))
                px.ptx["tcgen05.wait::ld.sync.aligned"]()
                for at in range(0, 32, 4):
                    px.ptx["st.global.v4.b32"](C[row + px.tid.x].sub((col + start + at,), (4,)), sums[at : at + 4])
        px.ptx["tcgen05.fence::before_thread_sync"]()
        px.cluster_sync() if ctas == 2 else px.syncthreads()
        with px.if_(warp == 0):
            px.ptx[f"tcgen05.dealloc.{group}.sync.aligned.b32"](d, COLS)

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
