"""From a Python function to its first result on the GPU, against the bare driver JIT of the same text. Needs a GPU and PyTorch.

Every round defines a kernel that was never seen before (another constant), traces, writes, loads, launches and waits; the driver's own
cache is off. The bare figure is what `cuModuleLoadData` takes for that text, with the launch and the wait.

    python -m benchmarks.first_call [--out benchmarks/results/first_call.json]
"""

from __future__ import annotations

import os

os.environ["CUDA_CACHE_DISABLE"] = "1"  # read by the driver when it starts

import statistics
import time
from typing import Any

import ptxgen as px
from benchmarks.figures import report
from ptxgen import S, f32, laneid, warpid

registers = px.Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])


def define(constant: int) -> Any:
    """add_one_tile with another constant than any before."""

    @px.kernel(grid=1, block=64)
    def add_one_tile(A: px.Tensor((2, 32, 3, 4), f32, align=16), B: px.Tensor((2, 32, 3, 4), f32, align=16)):
        r = px.local((2, 32, 3, 4), f32, layout=registers)
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")
        px.tile.ewise(lambda x: x + constant, r, r, scope="cta")
        px.tile.apply("st.global.v4.b32", B, r, scope="cta")

    return add_one_tile


def measure(rounds: int = 15) -> dict[str, float]:
    import torch
    from cuda.bindings import driver

    a = torch.randn((2, 32, 3, 4), device="cuda")
    b = torch.empty_like(a)
    ours, bare, traced = [], [], []
    for constant in range(1, rounds + 4):
        start = time.perf_counter()
        kernel = define(constant)
        kernel(a, b)
        torch.cuda.synchronize()
        ours.append(time.perf_counter() - start)
        assert torch.equal(b, a + constant)

        start = time.perf_counter()
        text = define(1000 + constant).ptx(comments=False)
        traced.append(time.perf_counter() - start)

        start = time.perf_counter()
        error, module = driver.cuModuleLoadData(text.encode() + b"\0")
        assert error == 0, error
        error, function = driver.cuModuleGetFunction(module, b"add_one_tile")
        arguments = ((driver.CUdeviceptr(a.data_ptr()), driver.CUdeviceptr(b.data_ptr())), (None, None))
        driver.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, torch.cuda.current_stream().cuda_stream, arguments, 0)
        torch.cuda.synchronize()
        bare.append(time.perf_counter() - start)
        assert torch.equal(b, a + 1000 + constant)
    median = lambda times: 1e3 * statistics.median(times[3:])  # noqa: E731
    return {
        "function to first result, ms": median(ours),
        "bare driver JIT, launch and wait, ms": median(bare),
        "difference, ms": median(ours) - median(bare),
        "of which trace + write, ms": median(traced),
    }


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
