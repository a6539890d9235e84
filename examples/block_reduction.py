"""The sum of each row: every thread adds a strided part of the row, then the block adds the threads' sums through shared memory.

The order of the additions is fixed, so the result is the same on every run and on every machine.
"""

import numpy as np

import ptxgen as px
from ptxgen import f32

rows, cols = px.dim("rows"), px.dim("cols")
BLOCK = 128


@px.kernel(grid=lambda rows: rows, block=BLOCK)
def row_sums(x: px.Tensor((rows, cols), f32), sums: px.Tensor((rows,), f32)):
    row, thread = px.ctaid.x, px.tid.x
    partial = px.shared(BLOCK, f32)
    with px.if_(row < rows):
        total = px.reg(f32, 0)
        for col in px.range(thread, cols, BLOCK):
            total += px.ptx.ld.global_.f32(x[row, col])
        px.ptx.st.shared.f32(partial[thread], total)
        width = BLOCK // 2
        while width:  # a Python loop: unrolled, one step of the tree each time
            px.syncthreads()
            with px.if_(thread < width):
                other = px.ptx.ld.shared.f32(partial[thread + width])
                total += other
                px.ptx.st.shared.f32(partial[thread], total)
            width //= 2
        with px.if_(thread == 0):
            px.ptx.st.global_.f32(sums[row], total)


def case(seed=0, shape=(37, 1000)):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards."""
    x = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    padded = np.zeros((shape[0], -(-shape[1] // BLOCK) * BLOCK), np.float32)
    padded[:, : shape[1]] = x
    total = np.zeros((shape[0], BLOCK), np.float32)
    for step in range(0, padded.shape[1], BLOCK):
        total += padded[:, step : step + BLOCK]
    width = BLOCK // 2
    while width:
        total = total[:, :width] + total[:, width : 2 * width]
        width //= 2
    return row_sums, (x, np.zeros(shape[0], np.float32)), {1: total[:, 0]}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print(kernel.ptx())
    print("rows that differ:", int((arguments[1] != expected[1]).sum()))
