"""Load, add one, store: 64 threads, twelve float32 values each, four a vector instruction.

The shape (2, 32, 3, 4) reads: group (2 warps, 32 lanes) | repeat (3 instructions a thread) | atom (4 words an instruction).
"""

import numpy as np

import ptxgen as px
from ptxgen import S, f32, laneid, warpid

registers = px.Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])


@px.kernel(grid=1, block=64)
def add_one_tile(A: px.Tensor((2, 32, 3, 4), f32, align=16), B: px.Tensor((2, 32, 3, 4), f32, align=16)):
    r = px.local((2, 32, 3, 4), f32, layout=registers)
    px.tile.apply("ld.global.v4.b32", r, A, scope="cta")
    px.tile.ewise(lambda x: x + 1, r, r, scope="cta")
    px.tile.apply("st.global.v4.b32", B, r, scope="cta")


def case(seed=0):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards."""
    a = np.random.default_rng(seed).standard_normal((2, 32, 3, 4), dtype=np.float32)
    return add_one_tile, (a, np.empty_like(a)), {1: a + 1}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("largest difference:", np.abs(arguments[1] - expected[1]).max())
