"""saxpy at 2^28 elements beside PyTorch's and beside a device copy, in one run. Needs a GPU and PyTorch.

python -m benchmarks.saxpy [--out benchmarks/results/saxpy.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.examples import example
from benchmarks.machine import machine

ELEMENTS = 1 << 28


def milliseconds(torch: Any, call: Callable[[], Any], rounds: int = 30) -> float:
    """The median of CUDA event times, after five to warm up."""
    for _ in range(5):
        call()
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def measure(elements: int) -> dict[str, float]:
    import torch

    saxpy = example("saxpy").saxpy
    x, y = (torch.randn(elements, device="cuda") for _ in range(2))
    a = 1.7000000476837158  # a float32, so that float64 has the exact product
    found = y.clone()
    saxpy(x, found, a)
    assert torch.equal(found, (a * x.double() + y.double()).float())
    del found

    target = torch.empty_like(x)
    ours = milliseconds(torch, lambda: saxpy(x, y, 1e-6))
    theirs = milliseconds(torch, lambda: torch.add(y, x, alpha=1e-6, out=y))
    copy = milliseconds(torch, lambda: target.copy_(x))
    terabytes = 4e-9 * elements
    return {
        "ptxgen, ms": ours,
        "torch.add, ms": theirs,
        "ptxgen, TB/s": 3 * terabytes / ours,
        "torch.add, TB/s": 3 * terabytes / theirs,
        "device copy, TB/s": 2 * terabytes / copy,
        "ptxgen / torch.add": theirs / ours,
        "ptxgen / device copy": (3 * terabytes / ours) / (2 * terabytes / copy),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--elements", type=int, default=ELEMENTS)
    options = parser.parse_args()
    figures = measure(options.elements)
    for name, value in figures.items():
        print(f"{name:25} {value:10.3f}")
    if options.out is not None:
        options.out.write_text(json.dumps({"machine": machine(), "elements": options.elements, "figures": figures}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
