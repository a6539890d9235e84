"""Host time of one launch, ours beside a C loop of cuLaunchKernel, cuda.bindings, PyTorch and Triton.

    python -m benchmarks.launch [--out benchmarks/results/launch.json]

Each row is the median over batches of the host's microseconds a launch, queued without waiting in between; the kernel has three
arguments and next to nothing to do. The ratio is to the C loop, measured in the same run.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import importlib.metadata
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptxgen.instructions.types import f32, u32
from ptxgen.runtime import (
    DimParam,
    Packer,
    Runner,
    ScalarParam,
    Signature,
    TensorParam,
    current_device,
    driver_version,
    no_gpu_reason,
)

BATCH, BATCHES, WARMUP = 400, 60, 5

PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry touch(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<2>;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    setp.ge.u32 %p, %r1, %r2;
    @%p ret;
    ld.param.u64 %rd1, [y];
    ld.param.f32 %f1, [a];
    st.global.f32 [%rd1], %f1;
    ret;
}
"""

C_LOOP = """
#include <time.h>
typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
double loop(launch_t launch, void *function, void *stream, void **params, int count) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < count; i++)
        if (launch(function, 1, 1, 1, 32, 1, 1, 0, stream, params, 0)) return -1.0;
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / 1e3 / count;
}
"""


def microseconds(call: Callable[[], Any], wait: Callable[[], None]) -> float:
    """The median over batches of the time of one call, queue emptied between batches."""
    found = []
    for batch in range(BATCHES + WARMUP):
        wait()
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        spent = time.perf_counter() - start
        if batch >= WARMUP:
            found.append(spent / BATCH * 1e6)
    wait()
    return statistics.median(found)


def c_loop(function: int, stream: int, params: int, wait: Callable[[], None]) -> float | None:
    """The same launch from C, or None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(C_LOOP)
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        loop = ctypes.CDLL(str(library)).loop
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]
    launch = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p)
    found = []
    for batch in range(BATCHES + WARMUP):
        wait()
        spent = loop(launch, function, stream, params, BATCH)
        if spent < 0:
            raise RuntimeError("the C loop's launch failed")
        if batch >= WARMUP:
            found.append(spent)
    wait()
    return statistics.median(found)


def triton_row(torch: Any, wait: Callable[[], None]) -> float | None:
    try:
        from benchmarks._triton_touch import touch
    except ImportError:
        return None
    x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
    return microseconds(lambda: touch[(1,)](x, y, 1.0, 32), wait)


def measure() -> dict[str, float | None]:
    import torch
    from cuda.bindings import driver

    wait = torch.cuda.synchronize
    signature = Signature("touch", [TensorParam("x", f32, ["n"]), TensorParam("y", f32, ["n"]), ScalarParam("a", f32), DimParam("n", u32)])
    rows: dict[str, float | None] = {}
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
        runner = Runner(PTX, "touch", signature, grid=1, block=32)
        kernel = runner.preload(0)
        runner(x, y, 1.0)
        wait()
        packed = Packer(signature).pack(runner.binder(x, y, 1.0).values)
        handle, function = stream.cuda_stream, kernel._function
        rows["C loop of cuLaunchKernel"] = c_loop(int(function), handle, packed.address, wait)
        queue = driver.CUstream(handle)
        rows["cuda.bindings, prepacked"] = microseconds(
            lambda: driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, queue, packed.address, 0), wait
        )
        values = (x.data_ptr(), y.data_ptr(), 1.0, 32)
        types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_uint32)
        rows["cuda.bindings, tuples"] = microseconds(
            lambda: driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, queue, (values, types), 0), wait
        )
        grid, shape = (1, 1, 1), runner.shape
        rows["ptxgen, LoadedKernel.launch"] = microseconds(lambda: kernel.launch(grid, shape, packed, handle), wait)
        prepared = runner.prepare(x, y, 1.0)
        rows["ptxgen, prepared launch"] = microseconds(prepared, wait)
        rows["ptxgen, from tensors"] = microseconds(lambda: runner(x, y, 1.0), wait)
        rows["ptxgen, checking the arguments alone"] = microseconds(lambda: runner.binder(x, y, 1.0), wait)
        rows["torch add_"] = microseconds(lambda: y.add_(x), wait)
        rows["triton"] = triton_row(torch, wait)
    return rows


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def report(rows: dict[str, float | None]) -> dict[str, Any]:
    base = rows["C loop of cuLaunchKernel"]
    return {
        "benchmark": "launch",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "gpu": current_device().name,
            "driver": ".".join(map(str, driver_version())),
            "cpu": platform.processor() or platform.machine(),
            "system": platform.platform(),
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("ptxgen", "torch", "triton", "cuda-bindings", "cuda-core")},
        "unit": "host microseconds a launch",
        "rows": [
            {"name": name, "us": None if us is None else round(us, 3), "ratio": round(us / base, 3) if us and base else None}
            for name, us in rows.items()
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    if (reason := no_gpu_reason()) is not None:
        print(f"no figures: {reason}")
        return 1
    found = report(measure())
    print(f"{found['machine']['gpu']}, CUDA {found['machine']['driver']}: {found['unit']}")
    for row in found["rows"]:
        us = "-" if row["us"] is None else f"{row['us']:.2f}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f} x C"
        print(f"{row['name']:40s} {us:>8s}  {ratio}")
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
