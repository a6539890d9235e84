"""px.costs beside Nsight Compute's counters: wavefronts of shared memory, requests and sectors of global memory, kernel by kernel.

    python -m benchmarks.costs [--out benchmarks/results/h200/costs.json] [--only NAME ...]

Needs a GPU and ncu, which is started once (and once more to ask what it can count). The kernels are those of benchmarks/costs_cases.py, one
block each. Without a GPU, `--predict` prints what px.costs counts.
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

from benchmarks.costs_cases import CASES
from benchmarks.machine import machine
from ptxgen.costs import Costs

_SASS = "smsp__sass_l1tex_{}.sum"
COUNTED: dict[str, tuple[str, ...]] = {
    "shared loads, wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
    "shared stores, wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
    "global loads, requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global loads, sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global stores, requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global stores, sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global reductions, requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",),
    "global reductions, sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",),
    "cp.async, requests": ("smsp__inst_executed_op_ldgsts.sum",),
    "cp.async, sectors": tuple(_SASS.format(f"t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_{one}") for one in ("access", "bypass")),
    "cp.async.ca, wavefronts": (_SASS.format("data_pipe_lsu_wavefronts_mem_shared_op_ldgsts"),),
}
"""What px.costs counts, and the counters whose sum it is held against."""

BESIDE = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__inst_executed.sum",
)
"""Counters that are noted beside them, where the GPU has them."""

REGISTERS = "launch__registers_per_thread"


def predicted(costs: Costs) -> dict[str, int]:
    """What px.costs counts, under the names of `COUNTED`; what no counter holds alone is left out.

    The hardware counts copies among the loads. Those that pass by the cache (``.cg``) it counts by the sectors that they write, and it
    counts no wavefronts of theirs.
    """
    found = dict.fromkeys(COUNTED, 0)
    passing = any(record.opcode.startswith("cp.async.cg") for record in costs)
    for record in costs:
        copy = record.opcode.startswith("cp.async")
        for one in record.accesses:
            if one.space == "shared":
                kind = "cp.async.ca" if copy else "shared stores" if one.store else "shared loads"
                found[f"{kind}, wavefronts"] += one.wavefronts or 0
                continue
            kind = "global reductions" if record.opcode.startswith("red") else "global stores" if one.store else "global loads"
            for name in ("cp.async", kind) if copy else (kind,):
                found[f"{name}, requests"] += one.requests
                found[f"{name}, sectors"] += one.sectors or 0
    if passing:
        del found["global loads, sectors"], found["cp.async.ca, wavefronts"]
    return found


def launch(names: list[str]) -> None:
    """Each kernel once: what ncu runs."""
    import torch

    kinds = {"float32": torch.float32, "bfloat16": torch.bfloat16, "uint8": torch.uint8}
    for name in names:
        given = [parameter.annotation for parameter in CASES[name].parameters]
        CASES[name](*(torch.empty(one.shape, dtype=kinds[one.dtype.numpy.name], device="cuda") for one in given))
        torch.cuda.synchronize()


def available() -> list[str]:
    """Those of the counters that this GPU has."""
    done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True)
    known = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    wanted = [*(one for counters in COUNTED.values() for one in counters), *BESIDE]
    return [one for one in wanted if one.rpartition(".")[0] in known] or wanted


def measured(names: list[str]) -> dict[str, dict[str, float]]:
    """Case -> counter -> value."""
    metrics = [*available(), REGISTERS]
    command = [
        "ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics", ",".join(metrics),
        sys.executable, "-m", "benchmarks.costs", "--launch", "--only", *names,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or not table:
        raise SystemExit(f"ncu failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    rows = [row for row in csv.DictReader(io.StringIO("\n".join(table))) if row["Kernel Name"] in names]
    return {row["Kernel Name"]: {one: _number(row[one]) for one in metrics if _is_number(row.get(one))} for row in rows}


def _is_number(text: str | None) -> bool:
    return text not in (None, "", "n/a", "nan")


def _number(text: str) -> float:
    found = float(text.replace(",", ""))
    return int(found) if found.is_integer() else found


def report(names: list[str]) -> dict[str, Any]:
    """Prints every case and returns all figures."""
    found, figures, differ = measured(names), {}, 0
    for name in names:
        costs = CASES[name].costs()
        expected, got = predicted(costs), found.get(name, {})
        lines = {}
        for what, count in expected.items():
            counted = [got[one] for one in COUNTED[what] if one in got]
            if counted and (count or any(counted)):
                lines[what] = {"predicted": count, "measured": sum(counted)}
        beside = {one: got[one] for one in BESIDE if got.get(one)}
        figures[name] = {
            "counts": lines, "beside": beside, "registers": {"ptxas": costs.registers, "launched": got.get(REGISTERS)},
        }  # fmt: skip
        equal = bool(lines) and all(one["predicted"] == one["measured"] for one in lines.values())
        differ += not equal
        print(f"{'equal ' if equal else 'DIFFER'} {name}")
        for what, one in lines.items():
            mark = "" if one["predicted"] == one["measured"] else "   <---"
            print(f"         {what:28} {one['predicted']:>6} {one['measured']:>6}{mark}")
        if not equal:
            print(*(f"           {one}: {value}" for one, value in beside.items()), sep="\n")
    print(f"{len(names) - differ} of {len(names)} kernels equal in every count")
    return {"machine": machine(), "counters": COUNTED, "equal": len(names) - differ, "kernels": figures}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--only", nargs="+", choices=sorted(CASES), metavar="NAME", help="these kernels instead of all")
    parser.add_argument("--predict", action="store_true", help="print what px.costs counts, and measure nothing")
    parser.add_argument("--launch", action="store_true", help="launch the kernels and nothing else: what ncu runs")
    options = parser.parse_args()
    names = options.only or list(CASES)
    if options.launch:
        launch(names)
        return 0
    if options.predict:
        for name in names:
            print(CASES[name].costs(), end="\n\n")
        return 0
    figures = report(names)
    if options.out is not None:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
