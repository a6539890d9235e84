"""A ring of stages between bulk copies and two warpgroups that multiply: clean under every order, and its broken twins are reported."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read
from tests.emulator.shared_images import hopper, place

TILES, STAGES, N = 5, 2, 32
SHARED = 0x400
A_BYTES, B_BYTES = 64 * 32, N * 32
STAGE = 2 * A_BYTES + B_BYTES
RING = 1024
"""Where the stages start, behind the mbarriers: full ones first, then empty ones."""

FULL_WAIT = "WAIT_{name}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [{at}], {parity};\n@!%p2 bra WAIT_{name};\n"
RELEASE = """
    and.b32 %r20, %r1, 127;
    setp.eq.u32 %p3, %r20, {releaser};
    @%p3 mbarrier.arrive.shared::cta.b64 _, [%r9];
"""


def text(*, empty_wait: bool = True, release_early: bool = False, wait: str = "wgmma.wait_group.sync.aligned 0;", releaser: int = 0) -> str:
    d = ", ".join(f"%f{number}" for number in range(N // 2))
    zero = "".join(f"mov.f32 %f{number}, 0f00000000;\n" for number in range(N // 2))
    stores = "".join(f"st.global.f32 [%rd6+{4 * number}], %f{number};\n" for number in range(N // 2))
    release = RELEASE.format(releaser=releaser)
    a = hopper(SHARED + RING, 0, 256, 32)
    b = hopper(SHARED + RING + 2 * A_BYTES, 0, 256, 32)
    ring = f"""
        rem.u32 %r7, %r6, {STAGES}; div.u32 %r8, %r6, {STAGES}; and.b32 %r8, %r8, 1;
        shl.b32 %r10, %r7, 3; add.u32 %r11, %r2, %r10; add.u32 %r9, %r11, {8 * STAGES};
        mul.lo.u32 %r12, %r7, {STAGE};
    """
    counts = [1] * STAGES + [2] * STAGES
    inits = "".join(f"mbarrier.init.shared::cta.b64 [%r2+{8 * number}], {count};\n" for number, count in enumerate(counts))
    inits += "fence.mbarrier_init.release.cluster;\n"
    return f"""
        .version 8.6
        .target sm_90a
        .address_size 64
        .visible .entry k(.param .u64 image, .param .u64 out)
        {{
        .shared .align 1024 .b8 smem[{RING + STAGES * STAGE}];
        .reg .pred %p<8>; .reg .b32 %r<40>; .reg .f32 %f<{N // 2}>; .reg .b64 %rd<20>;
        ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x; mov.u32 %r2, smem;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra MADE;
        {inits}
        MADE:
        bar.sync 0;
        mov.u32 %r6, 0;
        setp.ge.u32 %p4, %r1, 256;
        @%p4 bra PRODUCER;
        {zero}
        shr.u32 %r13, %r1, 7; mul.lo.u32 %r13, %r13, {A_BYTES};
        CONSUME:
        {ring}
        {FULL_WAIT.format(name="FULL", at="%r11", parity="%r8")}
        add.u32 %r14, %r12, %r13; shr.u32 %r14, %r14, 4; cvt.u64.u32 %rd10, %r14; add.u64 %rd10, %rd10, {a};
        shr.u32 %r15, %r12, 4; cvt.u64.u32 %rd11, %r15; add.u64 %rd11, %rd11, {b};
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n{N}k16.f32.bf16.bf16 {{{d}}}, %rd10, %rd11, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        {release if release_early else ""}
        {wait}
        {"" if release_early else release}
        add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, {TILES};
        @%p5 bra CONSUME;
        wgmma.wait_group.sync.aligned 0;
        mad.wide.u32 %rd6, %r1, {2 * N}, %rd2;
        {stores}
        ret;
        PRODUCER:
        setp.ne.u32 %p6, %r1, 256;
        @%p6 ret;
        PRODUCE:
        {ring}
        xor.b32 %r16, %r8, 1;
        {FULL_WAIT.format(name="EMPTY", at="%r9", parity="%r16") if empty_wait else ""}
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], {STAGE};
        mad.wide.u32 %rd4, %r6, {STAGE}, %rd1; add.u32 %r17, %r12, %r2;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r17+{RING}], [%rd4], {STAGE}, [%r11];
        add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, {TILES};
        @%p5 bra PRODUCE;
        }}
        """


def run(seed: int = 0, **options: object) -> tuple[np.ndarray, np.ndarray, EmulationResult]:
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (128, TILES * 16)).astype(ml_dtypes.bfloat16)
    b = rng.integers(-4, 5, (N, TILES * 16)).astype(ml_dtypes.bfloat16)
    image = b""
    for tile in range(TILES):
        part = slice(16 * tile, 16 * tile + 16)
        image += b"".join(place(matrix, 32, True)[0] for matrix in (a[:64, part], a[64:, part], b[:, part]))
    out = np.zeros((256, N // 2), np.float32)
    result = emulate(
        read(text(**options)),
        "k",
        grid=1,
        block=288,
        arguments=[np.frombuffer(image, np.uint8).copy(), out],
        seed=seed,  # type: ignore[arg-type]
    )
    d = np.zeros((128, N), np.float32)
    for thread in range(256):
        warp, lane = divmod(thread, 32)
        for number in range(N // 2):
            row = 16 * warp + lane // 4 + 8 * (number % 4 // 2)
            d[row, number // 4 * 8 + lane % 4 * 2 + number % 2] = out[thread, number]
    return d, a.astype(np.float32) @ b.astype(np.float32).T, result


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("releaser", [0, 77])
def test_a_ring_is_clean(seed: int, releaser: int) -> None:
    d, expected, result = run(seed, releaser=releaser)
    result.raise_for_reports()
    assert np.array_equal(d, expected)


def kinds(result: EmulationResult) -> set[str]:
    return {report.kind for report in result.reports}


def test_a_producer_that_does_not_wait_overwrites_what_is_read() -> None:
    result = run(empty_wait=False)[2]
    assert kinds(result) & {"race", "in flight"}, result.reports


@pytest.mark.parametrize("seed", range(3))
def test_a_stage_released_before_the_products_have_read_it(seed: int) -> None:
    result = run(seed, release_early=True)[2]
    assert any("reads them: wgmma.wait_group" in report.message or "wgmma" in report.message for report in result.reports), result.reports
