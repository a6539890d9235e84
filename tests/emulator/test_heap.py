"""malloc and free of device code: what they return, and what is reported."""

from __future__ import annotations

import numpy as np

from ptxgen.emulator import emulate
from ptxgen.emulator.heap import HEAP_BYTES
from ptxgen.text import read

HEADER = """.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 size);
.extern .func free (.param .b64 address);
.visible .entry k(.param .u64 out, .param .u64 size)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .param .b64 size_; .param .b64 address;
ld.param.b64 %rd1, [out]; ld.param.b64 %rd2, [size]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 8, %rd1;
st.param.b64 [size_], %rd2;
call.uni (address), malloc, (size_);
ld.param.b64 %rd3, [address];
"""


def _run(body: str, size: int, threads: int = 4) -> tuple[np.ndarray, list[str]]:
    out = np.zeros(threads, np.uint64)
    module = read(f"{HEADER}{body}\nret;\n}}\n", filename="k.ptx")
    result = emulate(module, "k", grid=1, block=threads, arguments=[out, size.to_bytes(8, "little")])
    return out, [str(report) for report in result.reports]


FREE = "st.param.b64 [address], %rd3; call.uni free, (address);"


def test_each_thread_has_its_own_allocation() -> None:
    out, reports = _run("st.b64 [%rd3+16], %rd3; ld.b64 %rd4, [%rd3+16]; st.global.b64 [%rd1], %rd4;" + FREE, 24)
    assert reports == []
    assert len(set(out.tolist())) == 4 and not (out % 16).any() and out.all()


def test_a_full_heap_gives_null_pointers() -> None:
    out, reports = _run("st.global.b64 [%rd1], %rd3;", HEAP_BYTES // 2)
    assert reports == [] and out.astype(bool).tolist() == [True, True, False, False]
    assert _run("st.global.b64 [%rd1], %rd3;", 0)[0].tolist() == [0, 0, 0, 0]


def test_what_is_given_back_can_be_had_again() -> None:
    again = "call.uni (address), malloc, (size_); ld.param.b64 %rd4, [address]; st.global.b64 [%rd1], %rd4;"
    out, reports = _run(FREE + again, HEAP_BYTES, threads=1)
    assert reports == [] and out.all()


def test_misuse_is_reported() -> None:
    _, (unwritten,) = _run("ld.b32 %r2, [%rd3];", 8)
    assert "memory from malloc" in unwritten and "unwritten" in unwritten
    _, (outside,) = _run("st.b32 [%rd3+8], 1;", 8)
    assert "out of bounds" in outside and "memory from malloc has 8 bytes, the access ends at byte 12" in outside
    _, (freed,) = _run(FREE + "st.b32 [%rd3], 1;", 8)
    assert "memory that was freed" in freed
    _, (twice,) = _run(FREE + FREE, 8, threads=1)
    assert "is freed, which malloc has not returned or free has taken already" in twice
