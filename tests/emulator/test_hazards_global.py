"""Races in global memory: between warps, blocks and waves of one launch; what orders them, and the words of the reports."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ptxgen as px
from ptxgen import u8, u32
from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read

SEEDS = range(4)
HEADER = ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{"
REGISTERS = """.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b16 %h<9>;
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
    mad.wide.u32 %rd2, %r4, 4, %rd1;  // a word of the thread's own
"""


def launch(body: str, size: int = 512, **options: Any) -> tuple[np.ndarray, EmulationResult]:
    array = np.zeros(size, np.uint32)
    options = {"grid": 2, "block": 64, **options}
    return array, emulate(read(f"{HEADER}{REGISTERS}{body}\n}}\n"), "k", arguments=[array], **options)


def told(result: EmulationResult) -> list[str]:
    return [re.sub(r"<text>:\d+:\d+", "<text>", str(report)) for report in result.reports]


MIRRORED = """
    not.b32 %r5, %r1; and.b32 %r5, %r5, 63; mad.lo.u32 %r5, %r2, %r3, %r5; mad.wide.u32 %rd3, %r5, 4, %rd1;
    st.global.u32 [%rd2], %r4; SYNC ld.global.u32 %r6, [%rd3]; SECOND add.u32 %r6, %r6, 1; st.global.u32 [%rd2], %r6;
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_warps_of_a_block(seed: int) -> None:
    array, result = launch(MIRRORED.replace("SYNC", "bar.sync 0;").replace("SECOND", "bar.sync 0;"), seed=seed)
    assert result.ok
    assert (array[:128] == np.concatenate([np.arange(64)[::-1], np.arange(64, 128)[::-1]]) + 1).all()
    for sync, second in (("", "bar.sync 0;"), ("bar.sync 0;", "")):
        _, result = launch(MIRRORED.replace("SYNC", sync).replace("SECOND", second), seed=seed)
        assert {report.kind for report in result.reports} == {"race"}


def test_the_words_of_a_read_and_of_a_write() -> None:
    _, result = launch(MIRRORED.replace("SYNC", "").replace("SECOND", "bar.sync 0;"))
    assert told(result)[0] == (
        "<text>: ld.global.u32: race: 4 bytes at a byte 252 are read, and nothing orders this after the write by st.global.u32 (<text>)"
        " in warp 1 of block 0 (block 0, thread 0 and 127 more)"
    )
    _, result = launch(MIRRORED.replace("SYNC", "bar.sync 0;").replace("SECOND", ""))
    assert told(result) == [
        "<text>: st.global.u32: race: 4 bytes at a byte 0 are written, and nothing orders this after the read by ld.global.u32 (<text>)"
        " in warp 1 of block 0 (block 0, thread 0 and 125 more)"
    ]


BLOCKS = """
    xor.b32 %r5, %r4, 64; mad.wide.u32 %rd3, %r5, 4, %rd1; add.u32 %r6, %r4, 1; st.global.u32 [%rd2], %r6; bar.sync 0;
    ld.global.u32 %r7, [%rd3];
"""


@pytest.mark.parametrize("options", [{}, {"resident_threads": 64}, {"cluster": 2}], ids=["beside", "one after the other", "cluster"])
def test_blocks_do_not_wait_for_each_other(options: dict[str, Any]) -> None:
    for seed in SEEDS:
        _, result = launch(BLOCKS, seed=seed, **options)
        assert {report.kind for report in result.reports} == {"race"}
    _, result = launch(BLOCKS, resident_threads=64)  # nothing that block 1 does comes before what block 0 does, and the other way round
    assert told(result) == [
        "<text>: st.global.u32: race: 4 bytes at a byte 256 are written, and nothing orders this after the read by ld.global.u32 (<text>)"
        " in warp 0 of block 0 (block 1, thread 0 and 63 more)",
        "<text>: ld.global.u32: race: 4 bytes at a byte 0 are read, and nothing orders this after the write by st.global.u32 (<text>)"
        " in warp 0 of block 0 (block 1, thread 0 and 63 more)",
    ]


def test_the_barrier_of_a_cluster_orders_its_blocks() -> None:
    for seed in SEEDS:
        _, result = launch(BLOCKS.replace("bar.sync 0;", "barrier.cluster.arrive; barrier.cluster.wait;"), cluster=2, seed=seed)
        assert result.ok


FLAG = """
    setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r1, 0; add.u64 %rd4, %rd1, 1024;
    @!%p1 bra CONSUME;
    add.u32 %r6, %r4, 7; st.global.u32 [%rd2], %r6; bar.sync 0;
    @%p2 PUBLISH bra DONE;
    CONSUME: @!%p2 bra READ;
    AGAIN: ACQUIRE setp.eq.u32 %p3, %r7, 0; @%p3 bra AGAIN;
    READ: bar.sync 0; mad.wide.u32 %rd3, %r1, 4, %rd1; ld.global.u32 %r8, [%rd3]; st.global.u32 [%rd2], %r8;
    DONE: ret;
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_flag_orders_blocks(seed: int) -> None:
    body = FLAG.replace("PUBLISH", "st.release.gpu.global.u32 [%rd4], 1;").replace("ACQUIRE", "ld.acquire.gpu.global.u32 %r7, [%rd4];")
    array, result = launch(body, seed=seed)
    assert result.ok
    assert (array[64:128] == np.arange(64) + 7).all()
    fenced = FLAG.replace("@%p2 PUBLISH", "fence.acq_rel.gpu; @%p2 st.volatile.global.u32 [%rd4], 1;")
    assert launch(fenced.replace("ACQUIRE", "ld.volatile.global.u32 %r7, [%rd4]; fence.acq_rel.gpu;"), seed=seed)[1].ok


def test_equal_values_and_bytes_apart_are_no_race() -> None:
    for seed in SEEDS:
        assert launch("mad.wide.u32 %rd3, %r1, 4, %rd1; st.global.u32 [%rd3], %r1;", seed=seed)[1].ok
        assert launch("cvt.u64.u32 %rd5, %r4; add.u64 %rd3, %rd1, %rd5; cvt.u16.u32 %h1, %r4; st.global.u8 [%rd3], %h1;", seed=seed)[1].ok


def test_bytes_between_words_that_others_have_read() -> None:
    """The shadow becomes finer where a smaller access comes, and keeps what it knew."""

    @px.kernel(grid=1, block=64)
    def mixed(A: px.Tensor((64,), u32), B: px.Tensor((256,), u8)):
        px.ptx["st.global.u32"](A[px.tid.x], px.ptx["ld.global.u32"](A[px.tid.x]) + 1)
        px.syncthreads()
        px.ptx["st.global.u8"](B[px.tid.x], px.tid.x.to(px.u16))

    shared = np.zeros(64, np.uint32)
    assert mixed.emulate(shared, shared.view(np.uint8)).ok
