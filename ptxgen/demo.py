"""The kernel that ``ptxgen demo`` shows and runs."""

import ptxgen as px
from ptxgen import S, f32, laneid, warpid

# Element (warp, lane, row, word) lives in register 4 * row + word of lane `lane` of warp `warp`.
registers = px.Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])


@px.kernel(grid=1, block=64)
def add_one_tile(A: px.Tensor((2, 32, 3, 4), f32, align=16), B: px.Tensor((2, 32, 3, 4), f32, align=16)):
    r = px.local((2, 32, 3, 4), f32, layout=registers)
    px.tile.apply("ld.global.v4.b32", r, A, scope="cta")
    px.tile.ewise(lambda x: x + 1, r, r, scope="cta")
    px.tile.apply("st.global.v4.b32", B, r, scope="cta")
