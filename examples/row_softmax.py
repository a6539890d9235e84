"""Softmax of each row: one warp a row, its maximum and its sum by shuffles between lanes.

exp(x) is 2^(x log2 e) with ex2.approx and the division is div.rn, as the instructions' names say.
"""

import numpy as np

import ptxgen as px
from ptxgen import f32

rows, cols = px.dim("rows"), px.dim("cols")
WARPS, ALL = 4, 0xFFFFFFFF
RELATIVE_ERROR = 1e-5  # of ex2.approx at arguments of some dozens, and of the sum


def across_lanes(combine, value):
    """`combine` over the 32 lanes, in every lane: a butterfly of five steps."""
    for distance in (16, 8, 4, 2, 1):
        value = combine(value, px.ptx["shfl.sync.bfly.b32"](value, distance, 31, ALL))
    return value


@px.kernel(grid=lambda rows: px.cdiv(rows, WARPS), block=32 * WARPS)
def row_softmax(x: px.Tensor((rows, cols), f32), y: px.Tensor((rows, cols), f32)):
    row, lane = px.ctaid.x * WARPS + px.tid.x // 32, px.tid.x % 32
    log2e = px.f32(1.4426950408889634)
    with px.if_(row < rows):
        top = px.reg(f32, -np.inf)
        for col in px.range(lane, cols, 32):
            top.set(px.ptx.max.f32(top, px.ptx.ld.global_.f32(x[row, col])))
        highest = across_lanes(px.ptx.max.f32, top)
        total = px.reg(f32, 0)
        for col in px.range(lane, cols, 32):
            power = px.ptx.ex2.approx.f32((px.ptx.ld.global_.f32(x[row, col]) - highest) * log2e)
            px.ptx.st.global_.f32(y[row, col], power)
            total += power
        whole = across_lanes(px.ptx.add.rn.f32, total)
        for col in px.range(lane, cols, 32):
            px.ptx.st.global_.f32(y[row, col], px.ptx.div.rn.f32(px.ptx.ld.global_.f32(y[row, col]), whole))


def case(seed=0, shape=(23, 300)):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards, up to RELATIVE_ERROR."""
    x = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) * np.float32(4)
    exact = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    return row_softmax, (x, np.zeros_like(x)), {1: exact}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("largest relative error:", float(np.abs(arguments[1] / expected[1] - 1).max()))
