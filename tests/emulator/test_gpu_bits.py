"""Sequences of instructions, on the GPU and in the emulator, with equal bits. Single ones: `tests.differential`."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.instructions.types import TYPES
from ptxgen.text import read, write
from tests.differential.drawing import draw
from tests.differential.running import on_gpu

pytestmark = pytest.mark.gpu

TARGET, THREADS = "sm_90a", 256

CHAINS = [
    "add.cc.u32 %r1, %r10, %r11; addc.cc.u32 %r2, %r11, %r12; addc.u32 %r3, %r10, 0;",
    "sub.cc.u32 %r1, %r10, %r11; subc.cc.u32 %r2, %r11, %r12; subc.u32 %r3, %r10, 0;",
    "add.cc.u32 %r1, %r10, %r11; subc.u32 %r2, %r11, %r12; mov.u32 %r3, 0;",
    "sub.cc.u32 %r1, %r10, %r11; addc.u32 %r2, %r11, %r12; mov.u32 %r3, 0;",
    "mad.lo.cc.u32 %r1, %r10, %r11, %r12; madc.hi.cc.u32 %r2, %r10, %r11, %r12; addc.u32 %r3, %r10, 0;",
    "mad.hi.cc.s32 %r1, %r10, %r11, %r12; madc.lo.cc.s32 %r2, %r10, %r11, %r12; addc.u32 %r3, %r10, 0;",
    "bar.sync 0; setp.lt.u32 %p1, %r10, %r11; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p1;"
    " selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3;",
    "mov.b32 {%h1, %h2}, %r10; mov.b32 %r1, {%h2, %h1}; mov.b64 %rd1, {%r11, %r12}; mov.b64 {%r2, %r3}, %rd1;",
    "mov.u32 %r1, %laneid; mov.u32 %r2, %lanemask_le; mov.u32 %r3, %ntid.x;",
    "cvt.s8.u32 %r1, %r10; cvt.u16.u32 %r2, %r11; cvt.sat.s16.s32 %r3, %r12;",
    "setp.lt.u32 %p1, %r50, 200; @!%p1 exit; bar.sync 0; mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3;",
]

SHARED = ".shared .align 16 .b8 s[4096]; mov.u32 %r5, s; mad.lo.u32 %r6, %r50, 16, %r5;"
WARPS = [
    "shfl.sync.up.b32 %r1|%p1, %r10, %r11, 0x0c00, -1; selp.u32 %r2, 1, 0, %p1; shfl.sync.down.b32 %r3, %r10, %r12, 0x0c1f, -1;",
    "shfl.sync.bfly.b32 %r1|%p1, %r10, %r11, 0x1807, -1; selp.u32 %r2, 1, 0, %p1; shfl.sync.idx.b32 %r3, %r10, %r12, 0x181f, -1;",
    "setp.lt.u32 %p1, %r10, %r11; vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1;"
    " vote.sync.uni.pred %p4, %p1, -1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; selp.u32 %r4, 4, 0, %p4; or.b32 %r3, %r3, %r4;",
    "and.b32 %r5, %r10, 3; match.any.sync.b32 %r1, %r5, -1; match.all.sync.b32 %r2|%p1, %r5, -1; selp.u32 %r3, 1, 0, %p1;",
    "and.b32 %r5, %r50, 1; setp.eq.u32 %p1, %r5, 0; selp.b32 %r5, 0x55555555, 0xaaaaaaaa, %p1; elect.sync %r1|%p2, %r5;"
    " selp.u32 %r2, 1, 0, %p2; vote.sync.ballot.b32 %r3, 1, %r5;",
    "redux.sync.add.s32 %r1, %r10, -1; redux.sync.min.u32 %r2, %r11, -1; redux.sync.max.s32 %r3, %r12, -1;",
    "redux.sync.and.b32 %r1, %r10, -1; redux.sync.or.b32 %r2, %r11, -1; redux.sync.xor.b32 %r3, %r12, -1;",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r10; mov.u32 %r2, 0; mov.u32 %r3, 0;",
    f"{SHARED} st.shared.v4.b32 [%r6], {{%r10, %r11, %r12, %r10}}; bar.sync 0; and.b32 %r7, %r10, 255; mad.lo.u32 %r7, %r7, 16, %r5;"
    " ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r8}, [%r7];",
    f"{SHARED} st.shared.v4.b32 [%r6], {{%r10, %r11, %r12, %r10}}; bar.sync 0; and.b32 %r7, %r10, 255; mad.lo.u32 %r7, %r7, 16, %r5;"
    " ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r7]; mov.u32 %r3, 0;",
    f"{SHARED} stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r6], {{%r10, %r11, %r12, %r10}}; bar.sync 0;"
    " ld.shared.v4.b32 {%r1, %r2, %r3, %r8}, [%r6];",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12}, {%r12, %r10, %r11, %r12};",
    "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%r1, %r2, %r3, %r8}, {%r10, %r11}, {%r12, %r10}, {%r11, %r12, %r10, %r11};",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16 {%r1, %r2, %r3, %r8, %r9, %r13, %r14, %r15}, {%r10, %r11}, {%r12, %r10},"
    " {%r11, %r12, %r10, %r11};",
]


@pytest.mark.parametrize("chain", CHAINS + WARPS)
def test_sequences_give_the_gpus_bits(kernel, chain) -> None:
    rng = np.random.default_rng(11)
    values = np.stack([draw(TYPES["b32"], rng, THREADS).astype(np.uint32) for _ in range(3)])
    found = np.zeros((THREADS, 4), np.uint32)
    body = f"""
        mov.u32 %r50, %tid.x; ld.param.u64 %rd30, [out]; ld.param.u64 %rd31, [x];
        mad.wide.u32 %rd30, %r50, 16, %rd30; mad.wide.u32 %rd31, %r50, 4, %rd31;
        ld.global.u32 %r10, [%rd31]; ld.global.u32 %r11, [%rd31+{4 * THREADS}]; ld.global.u32 %r12, [%rd31+{8 * THREADS}];
        {chain}
        mov.u32 %r4, 0; st.global.v4.u32 [%rd30], {{%r1, %r2, %r3, %r4}};"""
    text = write(kernel(body, ".param .u64 out, .param .u64 x")).replace("sm_100a", TARGET)
    expected, _ = on_gpu(text, "k", 1, THREADS, [found, values])
    emulate(read(text), "k", grid=1, block=THREADS, arguments=[found, values])
    np.testing.assert_array_equal(found, expected)
