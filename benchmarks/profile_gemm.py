"""What holds examples/hopper_gemm.py back: Nsight Compute's account of it, beside cuBLAS's kernel for the same product.

    python -m benchmarks.profile_gemm [--out benchmarks/results/profile_gemm.json]

Needs a Hopper GPU and ncu. "Tensor cores busy" is the cycles that the product takes at the 4096 floating-point operations a cycle of an
SM's tensor cores (bf16, dense), as a share of the cycles in which the SMs were active. Clocks are left as they are, so that the power
limit shows.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.examples import example
from benchmarks.machine import machine

SIDES = (2048, 4096, 8192)
_PER_CYCLE = 4096  # floating-point operations of an SM's tensor cores, bf16 without sparsity
METRICS = {
    "time, us": "gpu__time_duration.sum",
    "SM clock, GHz": "smsp__cycles_elapsed.avg.per_second",
    "active cycles, sum over SMs": "sm__cycles_active.sum",
    "elapsed cycles, sum over SMs": "sm__cycles_elapsed.sum",
    "blocks": "launch__grid_size",
    "registers a thread": "launch__registers_per_thread",
    "dynamic shared memory, bytes": "launch__shared_mem_per_block_dynamic",
    "L2, % of peak": "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "DRAM, % of peak": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "DRAM read, bytes": "dram__bytes_read.sum",
    "shared memory pipe, % of peak": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "instructions issued, % of active cycles": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "local memory stores": "smsp__inst_executed_op_local_st.sum",
}
_STALLS = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
for _name in ("barrier", "gmma", "long_scoreboard", "wait", "membar", "branch_resolving", "sleeping", "not_selected"):
    METRICS[f"warps stalled at an issue: {_name}"] = _STALLS.format(_name)


def launch() -> None:
    """Each product twice, by ptxgen and by cuBLAS: the second one of each is what counts."""
    import torch

    gemm = example("hopper_gemm").gemm(torch.cuda.get_device_properties(0).multi_processor_count)
    for side in SIDES:
        a, b = (torch.randn(side, side, device="cuda").bfloat16() for _ in range(2))
        c = torch.empty(side, side, device="cuda", dtype=torch.bfloat16)
        for _ in range(2):
            gemm(a, b, c)
        for _ in range(2):
            torch.matmul(a, b.T, out=c)
    torch.cuda.synchronize()


def profile() -> dict[str, dict[str, dict[str, float | str]]]:
    """Side -> ``"ptxgen"`` or ``"cuBLAS"`` -> figures."""
    command = [
        "ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--kernel-name", "regex:gemm|nvjet",
        "--metrics", ",".join(METRICS.values()), sys.executable, "-m", "benchmarks.profile_gemm", "--launch",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or not table:
        raise SystemExit(f"ncu failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    rows = list(csv.DictReader(io.StringIO("\n".join(table))))[1:]  # behind the line of units
    if len(rows) != 4 * len(SIDES):
        raise SystemExit(f"{len(rows)} kernels were profiled, not {4 * len(SIDES)}: {[row['Kernel Name'] for row in rows]}")
    found: dict[str, dict[str, dict[str, float | str]]] = {}
    for place, side in enumerate(SIDES):
        ours, theirs = rows[4 * place + 1], rows[4 * place + 3]
        found[str(side)] = {"ptxgen": figures(ours, side), "cuBLAS": figures(theirs, side)}
    return found


def figures(row: dict[str, Any], side: int) -> dict[str, float | str]:
    """The metrics of one kernel under their plain names; what ncu does not know on this GPU is left out."""
    found: dict[str, float | str] = {"kernel": row["Kernel Name"]}
    for name, metric in METRICS.items():
        text = (row.get(metric) or "").replace(",", "")
        if text and text not in ("n/a", "nan"):
            scale = {"time, us": 1e-3, "SM clock, GHz": 1e-9}.get(name, 1)
            found[name] = float(text) * scale
    needed = 2 * side**3 / _PER_CYCLE
    for of, cycles in (("active", "active cycles, sum over SMs"), ("elapsed", "elapsed cycles, sum over SMs")):
        found[f"tensor cores busy, % of {of} cycles"] = 100 * needed / float(found[cycles])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--launch", action="store_true", help="launch the kernels and nothing else: what ncu runs")
    options = parser.parse_args()
    if options.launch:
        launch()
        return 0
    found = profile()
    for side, both in found.items():
        print(f"{side} cubed: {both['ptxgen']['kernel']}, {both['cuBLAS']['kernel']}")
        for name in list(both["ptxgen"])[1:]:
            print(f"  {name:45} {both['ptxgen'].get(name, '-')!s:>20} {both['cuBLAS'].get(name, '-')!s:>20}")
    if options.out is not None:
        options.out.write_text(json.dumps({"machine": machine(), "figures": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
