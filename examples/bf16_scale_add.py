"""z = scale x + y on bfloat16, two values in each 32-bit register: packed loads, one fma for two elements, packed stores.

`container=b32` makes the tile hold pairs; its view as b32 words is what loads and stores take, its view as bf16x2 what fma takes.
Nothing is packed or unpacked behind the user's back.
"""

import ml_dtypes
import numpy as np

import ptxgen as px
from ptxgen import S, b32, bf16, bf16x2, tx

blocks = px.dim("blocks")
BLOCK, WIDTH = 128, 8
owned = S[(BLOCK, WIDTH) : (1 @ tx, 1)]


@px.kernel(grid=lambda blocks: blocks, block=BLOCK)
def scale_add(
    x: px.Tensor((blocks, BLOCK, WIDTH), bf16, align=16),
    y: px.Tensor((blocks, BLOCK, WIDTH), bf16, align=16),
    z: px.Tensor((blocks, BLOCK, WIDTH), bf16, align=16),
    scale: bf16x2,
):
    block = px.ctaid.x
    with px.if_(block < blocks):
        xs = px.local((BLOCK, WIDTH), bf16, layout=owned, container=b32)
        ys = px.local((BLOCK, WIDTH), bf16, layout=owned, container=b32)
        px.tile.apply("ld.global.v4.b32", xs.view(b32), x[block].view(b32), scope="cta")
        px.tile.apply("ld.global.v4.b32", ys.view(b32), y[block].view(b32), scope="cta")
        pairs = (BLOCK, WIDTH // 2, 1)
        px.tile.apply(
            "fma.rn.bf16x2", ys.view(bf16x2).view(pairs), xs.view(bf16x2).view(pairs), scale, ys.view(bf16x2).view(pairs), scope="cta"
        )
        px.tile.apply("st.global.v4.b32", z[block].view(b32), ys.view(b32), scope="cta")


def case(seed=0, count=5):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards."""
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal((count, BLOCK, WIDTH)).astype(ml_dtypes.bfloat16) for _ in range(2))
    scale = ml_dtypes.bfloat16(1.25)
    bits = int(np.asarray(scale).view(np.uint16))
    exact = np.float64(scale) * x.astype(np.float64) + y.astype(np.float64)
    return scale_add, (x, y, np.zeros_like(x), bits << 16 | bits), {2: exact.astype(ml_dtypes.bfloat16)}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("elements that differ:", int((arguments[2] != expected[2]).sum()))
