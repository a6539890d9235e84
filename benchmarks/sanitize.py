"""The worked kernels under compute-sanitizer: memcheck, racecheck and synccheck. Needs a Hopper GPU and compute-sanitizer.

    python -m benchmarks.sanitize [--out benchmarks/results/sanitizer.json]

Each tool is first shown a kernel with a fault of its kind: what it then says of the examples is worth something. Results are compared
with NumPy's as well.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import ptxgen as px
from benchmarks.examples import example
from benchmarks.machine import machine

CASES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "mma_gemm": [("mma_gemm", {"shape": (512, 384, 320)})],
    "tma_copy": [("tma_copy", {"shape": (1000, 2000)})],
    "wgmma_tile": [
        ("wgmma_tile", {"a_major": a, "b_major": b, "span": span}) for a in ("k", "mn") for b in ("k", "mn") for span in (16, 32, 64, 128)
    ],
    "hopper_gemm": [
        ("hopper_gemm", {"shape": shape, "blocks": 132, "dtype": dtype})
        for dtype in (px.bf16, px.e4m3)
        for shape in ((264, 520, 400), (1000, 1032, 528))
    ],
    "row_softmax": [("row_softmax", {"shape": (513, 1000)})],
    "others": [(name, {}) for name in ("add_one_tile", "saxpy", "transpose", "block_reduction", "bf16_scale_add", "foreign")],
}

_FAULTY = """\
.version 7.8
.target sm_80
.address_size 64
.visible .entry faulty(.param .u64 x)
{{
.shared .align 4 .b8 words[4096];
.reg .pred %p;
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
ld.param.u64 %rd0, [x];
cvta.to.global.u64 %rd0, %rd0;
mov.u32 %r0, %tid.x;
mov.u32 %r1, words;
setp.lt.u32 %p, %r0, 16;
{fault}
ret;
}}
"""
FAULTS = {
    "memcheck": "mul.wide.u32 %rd1, %r0, 1048576;\nadd.u64 %rd1, %rd1, %rd0;\nst.global.u32 [%rd1], %r0;",
    "racecheck": "st.shared.u32 [%r1], %r0;\nld.shared.u32 %r2, [%r1];\nst.global.u32 [%rd0], %r2;",
    "synccheck": "@%p bra some;\nbar.sync 0;\nbra all;\nsome:\nbar.sync 0;\nall:",
}


def run_case(case: str) -> None:
    """What compute-sanitizer runs: the examples of one case, or the kernel with the fault that a tool looks for."""
    import torch

    if case in FAULTS:
        faulty = px.load_ptx(_FAULTY.format(fault=FAULTS[case]))["faulty"]
        faulty(torch.zeros(64, dtype=torch.int32, device="cuda"), grid=1, block=128)
        torch.cuda.synchronize()
        return
    for name, options in CASES[case]:
        module = example(name)
        kernel, arguments, expected = module.case(1, **options)
        on_gpu = [to_cuda(torch, one) for one in arguments]
        kernel(*on_gpu)
        for position, wanted in expected.items():
            found = on_gpu[position].view(torch.uint8).cpu().numpy().view(arguments[position].dtype).reshape(wanted.shape)
            close = getattr(module, "RELATIVE_ERROR", 0.0)
            np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=close)
        print("right:", name, options)


def to_cuda(torch: Any, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    bits = torch.from_numpy(value.view(f"u{value.dtype.itemsize}").copy()).cuda()
    return bits.view(getattr(torch, value.dtype.name))


def sanitize(tool: str, case: str) -> dict[str, Any]:
    """Run one case under one tool: its summary, the number of faults in it, and how many results were right."""
    options = ["--print-limit", "3"]
    if tool == "memcheck":  # cuda.bindings asks the driver for functions that it may not have: no fault of a kernel
        options += ["--report-api-errors", "no"]
    command = ["compute-sanitizer", "--tool", tool, *options, sys.executable, "-m", "benchmarks.sanitize", "--run", case]
    done = subprocess.run(command, capture_output=True, text=True)
    summaries = re.findall(r"=+ (\w+ SUMMARY: .*)", done.stdout)
    faults = sum(int(number) for summary in summaries for number in re.findall(r"(\d+) (?:errors?|hazards?)", summary))
    found = {"summary": "; ".join(summaries) or "none", "faults": faults, "right": done.stdout.count("right:")}
    if not summaries or (case not in FAULTS and (faults or found["right"] != len(CASES[case]))):
        found["output"] = (done.stdout + done.stderr)[-3000:]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the reports as JSON")
    parser.add_argument("--run", help="run one case and nothing else: what compute-sanitizer runs")
    options = parser.parse_args()
    if options.run:
        run_case(options.run)
        return 0
    reports: dict[str, dict[str, Any]] = {}
    clean = True
    for tool in FAULTS:
        reports[tool] = {}
        for case in ("a planted fault", *CASES):
            planted = case not in CASES
            report = reports[tool][case] = sanitize(tool, tool if planted else case)
            clean &= bool(report["faults"]) == planted and (planted or report["right"] == len(CASES[case]))
            print(f"{tool:10} {case:16} {report['summary']}  {report.get('output', '')}", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps({"machine": machine(), "reports": reports}, indent=2) + "\n")
    return 0 if clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
