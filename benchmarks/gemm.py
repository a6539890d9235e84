"""examples/hopper_gemm.py beside cuBLAS (torch.matmul; for fp8 torch._scaled_mm) and, where it is installed, pyptx's Hopper GEMM.

    python -m benchmarks.gemm [--out benchmarks/results/gemm.json]

Needs a Hopper GPU. Each peer's launches are recorded in a CUDA graph; the graphs are replayed in a new random order each round, so that
clocks and heat are shared. Figures are medians; outputs are compared with float64 products of some rows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ptxgen as px
from benchmarks.examples import example
from benchmarks.machine import machine
from benchmarks.peers import pyptx_hopper_gemm

SIDES = {2048: 40, 4096: 10, 8192: 3}  # launches a graph


def recorded(torch: Any, call: Callable[[], Any], launches: int) -> Any:
    """A graph of `launches` calls."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            call()
    return graph


def rotate(torch: Any, graphs: dict[str, Any], launches: int, rounds: int) -> dict[str, float]:
    """Milliseconds a launch."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graphs[name].replay()  # what is timed begins with the clocks and caches that this peer leaves
            start.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) / launches)
    return {name: statistics.median(each) for name, each in times.items()}


def measure(dtype: px.DType, side: int, launches: int, rounds: int) -> dict[str, float]:
    import torch

    gemm = example("hopper_gemm").gemm(torch.cuda.get_device_properties(0).multi_processor_count, dtype)
    a, b = (torch.randn(side, side, device="cuda").to(getattr(torch, dtype.numpy.name)) for _ in range(2))
    ours, theirs = (torch.full((side, side), float("nan"), device="cuda", dtype=torch.bfloat16) for _ in range(2))
    calls: dict[str, Callable[[], Any]] = {"ptxgen": lambda: gemm(a, b, ours)}
    if dtype is px.bf16:
        calls["torch.matmul"] = lambda: torch.matmul(a, b.T, out=theirs)
        if importlib.util.find_spec("pyptx") is not None:
            calls["pyptx"] = pyptx_hopper_gemm(torch, a, b)
    else:
        one = torch.ones((), device="cuda")
        calls["torch._scaled_mm"] = lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=theirs)
    graphs = {name: recorded(torch, call, launches) for name, call in calls.items()}
    figures = {f"{name}, ms": value for name, value in rotate(torch, graphs, launches, rounds).items()}

    rows = torch.randperm(side, device="cuda")[:256]
    exact = a[rows].double() @ b.double().T
    error = float((ours[rows].double() - exact).norm() / exact.norm())
    assert error < 4e-3, f"relative error {error}"  # the rounding to bf16 is 1.7e-3 of it, fp8 products add to what they are summed with
    figures["relative error"] = error
    figures["TFLOP/s"] = 2e-9 * side**3 / figures["ptxgen, ms"]
    for name in list(calls)[1:]:
        figures[f"speed over {name}"] = figures[f"{name}, ms"] / figures["ptxgen, ms"]
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    found = {
        f"{dtype.name} {side}": measure(dtype, side, launches, options.rounds)
        for dtype in (px.bf16, px.e4m3)
        for side, launches in SIDES.items()
    }
    for case, figures in found.items():
        print(f"{case} cubed")
        for name, value in figures.items():
            print(f"  {name:24} {value:10.4f}")
    if options.out is not None:
        options.out.write_text(json.dumps({"machine": machine(), "figures": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
