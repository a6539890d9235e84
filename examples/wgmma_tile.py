"""One tile of C = A B^T by wgmma: each matrix K-major or MN-major in shared memory, in each swizzle that a descriptor can name."""

import numpy as np

import ptxgen as px
from ptxgen import S, b32, bf16, f32, tid_in_wg, tx

M, N, K = 64, 128, 64
SWIZZLES = {16: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}  # by their span in bytes
# Who holds which element: row by warp, half and eighth of the lanes; column by eight, a lane's place among four and element of the pair.
FRAGMENT = S[((4, 2, 8), (N // 8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]


def blocks(lines, length, span):
    """`lines` runs of `length` elements in blocks as wide as the swizzle's span: wgmma's canonical layouts."""
    width = span // 2
    return px.Layout(S[(lines, (length // width, width)) : (width, (lines * width, 1))], swizzle=SWIZZLES[span])


def wgmma_tile(a_major="k", b_major="k", span=128):
    """The kernel for two majors, "k" or "mn", and a swizzle's span in bytes; a matrix comes with its major axis contiguous."""
    a_shape, b_shape = ((extent, K) if major == "k" else (K, extent) for extent, major in ((M, a_major), (N, b_major)))

    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(A: px.Tensor(a_shape, bf16, align=16), B: px.Tensor(b_shape, bf16, align=16), C: px.Tensor((M, N), f32, align=8)):
        a, b = (px.shared(shape, bf16, layout=blocks(*shape, span)) for shape in (a_shape, b_shape))
        for tile, given in ((a, A), (b, B)):
            part = "(n r) (t c) -> (r t) n c"
            sizes = {"t": given.shape[1] // 8, "n": given.shape[0] * given.shape[1] // 1024}
            held = px.local((128, sizes["n"], 4), b32, layout=S[(128, sizes["n"], 4) : (1 @ tx, 4, 1)])
            px.tile.apply("ld.global.v4.b32", held, given.rearrange(part, **sizes).view(b32), scope="cta")
            px.tile.apply("st.shared.v4.b32", tile.rearrange(part, **sizes).view(b32), held, scope="cta")
        px.fence_proxy_async("shared::cta")
        px.syncthreads()

        rows_k = a if a_major == "k" else a.permute(1, 0)
        cols_k = b if b_major == "k" else b.permute(1, 0)
        sums = px.local((M, N), f32, layout=FRAGMENT)
        px.wgmma_fence()
        px.tile.apply(
            f"wgmma.mma_async.sync.aligned.m64n{N}k16.f32.bf16.bf16",
            sums.view(1, 1, M, N),
            rows_k.rearrange("m (s k) -> s m k", k=16).view(1, K // 16, M, 16),
            cols_k.rearrange("n (s k) -> s n k", k=16).view(1, K // 16, N, 16),
            scale_d=0,
            scope="warpgroup",
        )
        px.wgmma_commit()
        px.wgmma_wait(0)
        pairs = "(w i r) (n t j) -> (w r t) i n j"
        sizes = {"w": 4, "i": 2, "n": N // 8, "t": 4}
        px.tile.apply("st.global.v2.f32", C.rearrange(pairs, **sizes), sums.rearrange(pairs, **sizes), scope="cta")

    return kernel


def case(seed=0, a_major="k", b_major="mn", span=128):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards: small integers, so any order is exact."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-4, 5, (extent, K)).astype(bf16.numpy) for extent in (M, N))
    given = [one if major == "k" else np.ascontiguousarray(one.T) for one, major in ((a, a_major), (b, b_major))]
    exact = a.astype(np.float32) @ b.astype(np.float32).T
    return wgmma_tile(a_major, b_major, span), (*given, np.zeros((M, N), np.float32)), {2: exact}


if __name__ == "__main__":
    for choice in [(a, b, span) for a in ("k", "mn") for b in ("k", "mn") for span in SWIZZLES]:
        kernel, arguments, expected = case(0, *choice)
        kernel(*arguments)
        print(*choice, "elements that differ:", int((arguments[2] != expected[2]).sum()))
    print(kernel.ptx())
