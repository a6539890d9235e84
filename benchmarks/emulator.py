"""How many threads a second the emulator runs: a vector add with a guarded tail, all checks on.

python benchmarks/emulator.py --out figures.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from ptxgen.emulator import emulate
from ptxgen.text import read

VECTOR_ADD = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<11>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r2, [n];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd4, %rd1;
    mul.wide.s32 %rd5, %r1, 4;
    add.s64 %rd6, %rd4, %rd5;
    cvta.to.global.u64 %rd7, %rd2;
    add.s64 %rd8, %rd7, %rd5;
    ld.global.f32 %f1, [%rd8];
    ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f2, %f1;
    cvta.to.global.u64 %rd9, %rd3;
    add.s64 %rd10, %rd9, %rd5;
    st.global.f32 [%rd10], %f3;
DONE:
    ret;
}
"""

BLOCK = 256


def measure(elements: int, repeats: int) -> dict[str, object]:
    """Launch the vector add `repeats` times; the best and the median say what the machine can do and usually does."""
    module = read(VECTOR_ADD)
    a, b = np.random.default_rng(0).standard_normal((2, elements), dtype=np.float32)
    c = np.zeros(elements, np.float32)
    count = elements - 3
    seconds = []
    for _ in range(repeats):
        c[...] = 0
        start = time.perf_counter()
        result = emulate(module, "vector_add", grid=-(-elements // BLOCK), block=BLOCK, arguments=[a, b, c, np.uint32(count).tobytes()])
        seconds.append(time.perf_counter() - start)
        result.raise_for_reports()
        if not (np.array_equal(c[:count], a[:count] + b[:count]) and not c[count:].any()):
            raise SystemExit("the emulated vector add is wrong")
    seconds.sort()
    best, median = seconds[0], seconds[len(seconds) // 2]
    return {
        "benchmark": "emulator",
        "machine": machine(),
        "elements": elements,
        "instructions": result.instructions,
        "repeats": repeats,
        "seconds_best": best,
        "seconds_median": median,
        "threads_per_second_best": elements / best,
        "threads_per_second_median": elements / median,
        "goal_threads_per_second": 3e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    figures = measure(options.elements, options.repeats)
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
