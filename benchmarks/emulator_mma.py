"""How many instructions a second the emulator runs of a kernel that does little but multiply: one block of 384 threads, all checks on.

Each of the 12 warps multiplies its own 16 x 16 tile by two 16 x 8 tiles, again and again: three ldmatrix, two mma and the
loop's bookkeeping.

    python benchmarks/emulator_mma.py --out figures.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from ptxgen.emulator import emulate
from ptxgen.text import read

THREADS = 384
WARPS = THREADS // 32
TILE_BYTES = 2 * 16 * 16

KERNEL = f"""
.version 8.0
.target sm_80
.address_size 64

.visible .entry products(.param .u64 a, .param .u64 b, .param .u64 d, .param .u32 times)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<24>;
    .reg .f32 %f<8>;
    .reg .b64 %rd<5>;
    .shared .align 16 .b8 tiles[{2 * WARPS * TILE_BYTES}];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, tiles;
    ld.param.u64 %rd0, [a];
    ld.param.u64 %rd1, [b];
    mad.wide.u32 %rd0, %r0, 16, %rd0;
    mad.wide.u32 %rd1, %r0, 16, %rd1;
    mad.lo.u32 %r2, %r0, 16, %r1;
    ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd0];
    st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}};
    ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd1];
    st.shared.v4.b32 [%r2+{WARPS * TILE_BYTES}], {{%r4, %r5, %r6, %r7}};
    bar.sync 0;
    // A row has 32 bytes. Lane l gives row l % 16 and, from lane 16 on, its second half.
    shr.u32 %r3, %r0, 5;
    and.b32 %r8, %r0, 31;
    mad.lo.u32 %r1, %r3, {TILE_BYTES}, %r1;
    and.b32 %r9, %r8, 15;
    shr.u32 %r10, %r8, 4;
    mad.lo.u32 %r2, %r9, 32, %r1;
    mad.lo.u32 %r2, %r10, 16, %r2;
    // b lies as (n, k): lanes 0-7 give rows of the first eight columns of k, lanes 8-15 of the others.
    and.b32 %r9, %r8, 7;
    shr.u32 %r10, %r8, 3;
    and.b32 %r10, %r10, 1;
    mad.lo.u32 %r3, %r9, 32, %r1;
    mad.lo.u32 %r3, %r10, 16, %r3;
    {" ".join(f"mov.f32 %f{number}, 0f00000000;" for number in range(8))}
    ld.param.u32 %r20, [times];
AGAIN:
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r2];
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r12, %r13}}, [%r3+{WARPS * TILE_BYTES}];
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r14, %r15}}, [%r3+{WARPS * TILE_BYTES + 256}];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {{%f0, %f1, %f2, %f3}}, {{%r4, %r5, %r6, %r7}}, {{%r12, %r13}}, {{%f0, %f1, %f2, %f3}};
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {{%f4, %f5, %f6, %f7}}, {{%r4, %r5, %r6, %r7}}, {{%r14, %r15}}, {{%f4, %f5, %f6, %f7}};
    sub.u32 %r20, %r20, 1;
    setp.ne.u32 %p0, %r20, 0;
    @%p0 bra AGAIN;
    ld.param.u64 %rd2, [d];
    mad.wide.u32 %rd2, %r0, 32, %rd2;
    st.global.v4.f32 [%rd2], {{%f0, %f1, %f2, %f3}};
    st.global.v4.f32 [%rd2+16], {{%f4, %f5, %f6, %f7}};
    ret;
}}
"""


def measure(times: int, repeats: int) -> dict[str, object]:
    """Run the kernel `repeats` times on whole numbers; the best and the median say what the machine can do and usually does."""
    module = read(KERNEL)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (WARPS, 16, 16)).astype(np.float16) for _ in range(2))
    d = np.zeros((WARPS, 8, 4, 2, 2, 2), np.float32)  # warp, lane as (row, pair), half of n, half of m, column of the pair
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = emulate(module, "products", grid=1, block=THREADS, arguments=[a, b, d, np.uint32(times).tobytes()])
        seconds.append(time.perf_counter() - start)
        result.raise_for_reports()
        expected = times * np.matmul(a.astype(np.float64), b.astype(np.float64).transpose(0, 2, 1))
        if not np.array_equal(d.transpose(0, 4, 1, 3, 2, 5).reshape(WARPS, 16, 16), expected):
            raise SystemExit("the emulated products are wrong")
    seconds.sort()
    best, median = seconds[0], seconds[len(seconds) // 2]
    return {
        "benchmark": "emulator_mma",
        "threads": THREADS,
        "warp_instructions": result.instructions // 32,
        "repeats": repeats,
        "seconds_best": best,
        "seconds_median": median,
        "warp_instructions_per_second_best": result.instructions / 32 / best,
        "warp_instructions_per_second_median": result.instructions / 32 / median,
        "goal_warp_instructions_per_second": 3e4,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=500, help="rounds of the kernel's loop")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    figures = measure(options.times, options.repeats)
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
