"""Lines a second that the reader takes, and microseconds an instruction that the writer takes.

    python benchmarks/reader.py [FILE.ptx ...]

Without files: 40,000 lines in the manner of nvcc (loops, calls over several lines, inline assembly, vectors, source lines).
Single-threaded, in processor time; the best of five runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ptxgen import ir
from ptxgen.text import read, write

_BLOCK = """\
$L__BB{n}_1:
	.loc	1 {n} 9
	mul.wide.s32 	%rd{a}, %r{a}, 4;
	add.s64 	%rd{b}, %rd1, %rd{a};
	ld.global.nc.v4.f32 	{{%f{a}, %f{b}, %f{c}, %f{d}}}, [%rd{b}+{n}];
	fma.rn.f32 	%f{c}, %f{a}, %f{b}, 0f3F800000;
	@%p{n} bra 	$L__BB{n}_1;
	// begin inline asm
	{{
	.reg .pred p;
	setp.ne.u32 p, %r{a}, 0;
	@p mov.u32 %r{b}, %r{c};
	}}
	// end inline asm
	{{ // callseq {n}, 0
	.reg .b32 temp_param_reg;
	.param .b32 param0;
	st.param.f32 	[param0+0], %f{c};
	.param .b32 retval0;
	call.uni (retval0),
	twice,
	(
	param0
	);
	ld.param.f32 	%f{d}, [retval0+0];
	}} // callseq {n}
	and.b32  	%r{b}, %r{a}, -32;
	setp.lt.s32 	%p{n}, %r{b}, 1024;
	selp.b32 	%r{c}, %r{a}, %r{b}, %p{n};
	st.shared.v2.u32 	[%r{b}+{n}], {{%r{a}, %r{c}}};
	bar.sync 	0;
	mov.b64 	%rd{c}, {{%r{a}, %r{b}}};
	cvt.rn.f32.s32 	%f{a}, %r{c};
	max.f32 	%f{b}, %f{a}, 0f00000000;
	st.global.f32 	[%rd{b}+-8], %f{b};

"""


def synthetic(lines: int) -> str:
    """A module of about that many lines; every block has registers of its own, as compiled code does."""
    count = lines // (_BLOCK.count("\n"))
    blocks = [_BLOCK.format(n=n, a=4 * n, b=4 * n + 1, c=4 * n + 2, d=4 * n + 3) for n in range(count)]
    registers = f".reg .pred %p<{count}>; .reg .f32 %f<{4 * count}>; .reg .b32 %r<{4 * count}>; .reg .b64 %rd<{4 * count}>;"
    head = ".version 9.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) twice (.param .b32 x);\n"
    return f"{head}.visible .entry k(.param .u64 p)\n{{\n{registers}\n{''.join(blocks)}ret;\n}}\n"


def best_of(runs: int, call: Callable[[], Any]) -> float:
    """Processor seconds of the fastest run."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def report(name: str, text: str) -> None:
    """Print one line of figures for one text, and check that it survives."""
    module = read(text)
    bodies = [function.body for function in module.functions.values() if function.body is not None]
    instructions = sum(isinstance(s, (ir.Instruction, ir.Call)) for body in bodies for s in ir.walk(body))
    lines = text.count("\n")
    reading = best_of(5, lambda: read(text))
    writing = best_of(5, lambda: write(module))
    assert read(write(module)) == module
    print(
        f"{name}: {lines} lines, {instructions} instructions; read {lines / reading:,.0f} lines/s, "
        f"{reading * 1e6 / instructions:.1f} us/instruction; write {writing * 1e6 / instructions:.2f} us/instruction"
    )


def main() -> None:
    if len(sys.argv) == 1:
        report("synthetic", synthetic(40_000))
    for path in sys.argv[1:]:
        report(path, Path(path).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
