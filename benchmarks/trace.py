"""What ptxgen costs on the host: import, tracing and writing, microseconds an emitted instruction. pyptx beside it where installed.

python -m benchmarks.trace [--out benchmarks/results/trace.json]
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import ptxgen as px
from benchmarks.examples import example
from benchmarks.figures import report
from ptxgen import S, f32, laneid, warpid

REPEATS = 128


def seconds(call: Callable[[], Any], rounds: int = 40) -> float:
    """The median processor time of `rounds` calls, after three to warm up."""
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def additions() -> None:
    """Three million additions: how fast this machine's Python is at the moment."""
    total = 0
    for number in range(3_000_000):
        total += number


def first_milliseconds(before: str, text: str) -> float:
    """The processor time of statements behind others, the median of fresh interpreters that find the bytecode cached."""
    timed = f"{before}; import time; start = time.process_time(); {text}; print(time.process_time() - start)"
    with tempfile.TemporaryDirectory() as cache:
        settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}

        def run() -> float:
            return float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True, env=settings).stdout)

        run()
        return 1e3 * statistics.median(run() for _ in range(9))


def import_milliseconds(names: str = "px") -> float:
    """`import ptxgen` over numpy, and what loads the names."""
    return first_milliseconds("import numpy", f"import ptxgen as px; {names}")


registers = px.Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])


def add_one() -> str:
    """The seed's kernel from nothing to text."""

    @px.kernel(grid=1, block=64)
    def add_one_tile(A: px.Tensor((2, 32, 3, 4), f32, align=16), B: px.Tensor((2, 32, 3, 4), f32, align=16)):
        r = px.local((2, 32, 3, 4), f32, layout=registers)
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")
        px.tile.ewise(lambda x: x + 1, r, r, scope="cta")
        px.tile.apply("st.global.v4.b32", B, r, scope="cta")

    return add_one_tile.ptx(comments=False)


loaded = cache(example)


def hopper_gemm() -> str:
    """examples/hopper_gemm.py from nothing to text, with its Python lines."""
    text: str = loaded("hopper_gemm").gemm().ptx()
    return text


def many_repeats(repeats: int) -> str:
    """Two applies of many repeats each."""
    shape = (32, repeats, 4)

    @px.kernel(grid=1, block=32)
    def copy(A: px.Tensor(shape, f32, align=16), B: px.Tensor(shape, f32, align=16)):
        r = px.local(shape, f32, layout=S[shape : (1 @ laneid, 4, 1)])
        px.tile.apply("ld.global.v4.b32", r, A, scope="cta")
        px.tile.apply("st.global.v4.b32", B, r, scope="cta")

    return copy.ptx(comments=False)


def many_raw(count: int) -> str:
    """One instruction after the other, each named by itself."""

    @px.kernel(grid=1, block=32)
    def chain(A: px.Tensor((32,), f32)):
        x = px.ptx.ld.global_.f32(A[px.tid.x])
        for _ in range(count):
            x = px.ptx.add.rn.f32(x, x)
        px.ptx.st.global_.f32(A[px.tid.x], x)

    return chain.ptx(comments=False)


def per_instruction(make: Callable[[int], str], few: int, many: int, instructions: int) -> float:
    """Microseconds an additional instruction costs."""
    return 1e6 * (seconds(lambda: make(many), 15) - seconds(lambda: make(few), 15)) / ((many - few) * instructions)


def pyptx_milliseconds() -> float | None:
    """pyptx's own vector add, traced and emitted, where pyptx is installed."""
    if importlib.util.find_spec("pyptx") is None:
        return None
    from benchmarks.peers import pyptx_vector_add

    return 1e3 * seconds(pyptx_vector_add)


def measure() -> dict[str, float | None]:
    return {
        "three million additions, ms": 1e3 * seconds(additions, 5),
        "import over numpy, ms": import_milliseconds(),
        "import and the names of a kernel, ms": import_milliseconds("px.kernel, px.Tensor, px.f32, px.S, px.local, px.tile"),
        "trace + write of add_one_tile, ms": 1e3 * seconds(add_one),
        "lines of the text of add_one_tile": float(len(add_one().splitlines())),
        "trace + write of hopper_gemm, ms": 1e3 * seconds(hopper_gemm, 15),
        "the same, the first time, ms": first_milliseconds("from benchmarks.trace import hopper_gemm", "hopper_gemm()"),
        "lines of the text of hopper_gemm": float(len(hopper_gemm().splitlines())),
        "pyptx: trace + emit of its vector add, ms": pyptx_milliseconds(),
        "an apply repeat, us an instruction": per_instruction(many_repeats, 8, REPEATS, 2),
        "a raw instruction, us": per_instruction(many_raw, 8, 4 * REPEATS, 1),
    }


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
