"""Transpose a matrix through shared memory: rows come in, columns go out, both coalesced.

The tile is padded by one column, so that a warp that walks down a column meets 32 different banks. Both sides are one view each of the
same storage: `rearrange` says which thread handles which element.
"""

import numpy as np

import ptxgen as px
from ptxgen import S, b32, f32, laneid, warpid

rows, cols = px.dim("rows", multiple_of=32), px.dim("cols", multiple_of=32)
TILE, WARPS = 32, 8
padded = S[(TILE, TILE) : (TILE + 1, 1)]
owned = S[(WARPS, 32, 4, 1) : (1 @ warpid, 1 @ laneid, 1, 1)]


def by_warp(tile):
    """Rows go to warps in turn, columns to lanes: (warp, lane, repeat, atom)."""
    return tile.rearrange("(repeat warp) (lane atom) -> warp lane repeat atom", warp=WARPS, atom=1)


@px.kernel(grid=lambda rows, cols: (cols // TILE, rows // TILE), block=WARPS * 32)
def transpose(A: px.Tensor((rows, cols), f32), B: px.Tensor((cols, rows), f32)):
    row, col = px.ctaid.y * TILE, px.ctaid.x * TILE
    with px.if_((row < rows) & (col < cols)):
        tile = px.shared((TILE, TILE), f32, layout=padded)
        r = px.local((WARPS, 32, 4, 1), b32, layout=owned)
        source = A.sub((row, col), (TILE, TILE)).view(b32)
        target = B.sub((col, row), (TILE, TILE)).view(b32)
        words = tile.view(b32)
        px.tile.apply("ld.global.b32", r, by_warp(source), scope="cta")
        px.tile.apply("st.shared.b32", by_warp(words), r, scope="cta")
        px.syncthreads()
        px.tile.apply("ld.shared.b32", r, by_warp(words.permute(1, 0)), scope="cta")
        px.tile.apply("st.global.b32", by_warp(target), r, scope="cta")


def case(seed=0, shape=(96, 160)):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards."""
    a = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return transpose, (a, np.zeros(shape[::-1], np.float32)), {1: a.T.copy()}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("elements that differ:", int((arguments[1] != expected[1]).sum()))
