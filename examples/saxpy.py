"""y = a x + y over n elements, n no multiple of anything: four at a time where they fit, a guarded tail behind.

`n` is a named runtime dim: one compiled kernel serves every length. The guards are what proves that no access leaves the tensors.
"""

import numpy as np

import ptxgen as px
from ptxgen import f32

n = px.dim("n")
BLOCK, WIDTH = 256, 4


@px.kernel(grid=lambda n: px.cdiv(n, BLOCK * WIDTH), block=BLOCK)
def saxpy(x: px.Tensor((n,), f32, align=16), y: px.Tensor((n,), f32, align=16), a: f32):
    first = (px.ctaid.x * BLOCK + px.tid.x) * WIDTH
    with px.if_(first + (WIDTH - 1) < n):
        xs, ys = px.local(WIDTH, f32), px.local(WIDTH, f32)
        px.tile.apply("ld.global.v4.f32", xs, x[first : first + WIDTH], scope="thread")
        px.tile.apply("ld.global.v4.f32", ys, y[first : first + WIDTH], scope="thread")
        px.tile.ewise(lambda xi, yi: px.fma(a, xi, yi), ys, xs, ys, scope="thread")
        px.tile.apply("st.global.v4.f32", y[first : first + WIDTH], ys, scope="thread")
    with px.else_():
        for i in px.range(first, n):
            xi = px.ptx.ld.global_.f32(x[i])
            yi = px.ptx.ld.global_.f32(y[i])
            px.ptx.st.global_.f32(y[i], px.fma(a, xi, yi))


def case(seed=0, length=10_007):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards."""
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal(length, dtype=np.float32) for _ in range(2))
    a = np.float32(1.7)
    exact = np.float64(a) * x.astype(np.float64) + y.astype(np.float64)  # the product is exact in float64, the sum nearly so
    return saxpy, (x, y, a), {1: exact.astype(np.float32)}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("largest difference:", np.abs(arguments[1] - expected[1]).max())
