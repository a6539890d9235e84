"""Divergence, loops, calls, barriers: what threads do when they part and meet again."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.instructions.special import SPECIAL

SEEDS = [0, 1, 2, 3]
THREAD = "mov.u32 %r50, %tid.x; ld.param.u64 %rd30, [a]; mad.wide.u32 %rd30, %r50, 4, %rd30;"


@pytest.mark.parametrize("seed", SEEDS)
def test_nested_branches(run, seed) -> None:
    out = np.zeros(64, np.uint32)
    body = f"""{THREAD}
        and.b32 %r1, %r50, 1; and.b32 %r2, %r50, 6; mov.u32 %r3, 0;
        setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r2, 4;
        @!%p1 bra ODD;
        @%p2 bra LOW; add.u32 %r3, %r3, 10; bra JOIN;
    LOW: add.u32 %r3, %r3, 20; bra JOIN;
    ODD: @%p2 add.u32 %r3, %r3, 30; @!%p2 add.u32 %r3, %r3, 40;
    JOIN: add.u32 %r3, %r3, 1; st.global.u32 [%rd30], %r3; ret;"""
    run(body, out, block=64, seed=seed).raise_for_reports()
    tid = np.arange(64)
    low = tid % 8 // 2 * 2 < 4
    np.testing.assert_array_equal(out, np.where(tid % 2 == 0, np.where(low, 20, 10), np.where(low, 30, 40)) + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_thread_has_its_own_trip_count(run, seed) -> None:
    out = np.zeros(100, np.uint32)
    body = f"""{THREAD}
        mov.u32 %r1, 0; mov.u32 %r2, 0;
    HEAD: setp.ge.u32 %p1, %r1, %r50; @%p1 bra DONE;
        add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; bra HEAD;
    DONE: st.global.u32 [%rd30], %r2;"""
    run(body, out, block=100, seed=seed).raise_for_reports()
    tid = np.arange(100)
    np.testing.assert_array_equal(out, tid * (tid - 1) // 2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("writer", [0, 31])
def test_a_spinning_thread_does_not_starve_the_one_it_waits_for(run, seed, writer) -> None:
    flag, out = np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    body = f"""
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mad.wide.u32 %rd2, %r50, 4, %rd2;
        setp.eq.u32 %p1, %r50, {writer}; @%p1 bra WRITE;
    SPIN: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN;
        st.global.u32 [%rd2], %r1; bra END;
    WRITE: mov.u32 %r2, 0;
    WORK: add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 500; @%p3 bra WORK;
        st.volatile.global.u32 [%rd1], 7;
    END: ret;"""
    run(body, flag, out, seed=seed, step_limit=100_000).raise_for_reports()
    np.testing.assert_array_equal(out, np.where(np.arange(32) == writer, 0, 7))


def test_blocks_of_one_wave_wait_for_one_another(run) -> None:
    flag = np.zeros(1, np.uint32)
    body = """
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 3; @%p1 st.volatile.global.u32 [%rd1], 1;
    SPIN: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN; ret;"""
    assert run(body, flag, grid=4).ok


def test_indexed_branch(run) -> None:
    out = np.zeros(32, np.uint32)
    body = f"""{THREAD}
        and.b32 %r1, %r50, 3;
    TS: .branchtargets A, B, C, A;
        brx.idx %r1, TS;
    A: mov.u32 %r2, 1; bra J;
    B: mov.u32 %r2, 2; bra J;
    C: mov.u32 %r2, 3;
    J: st.global.u32 [%rd30], %r2;"""
    run(body, out).raise_for_reports()
    np.testing.assert_array_equal(out, np.tile([1, 2, 3, 1], 8))


FACTORIAL = """
.func (.param .b32 result) fact(.param .b32 n)
{
    .reg .pred %p; .reg .b32 %r<4>;
    ld.param.b32 %r0, [n];
    setp.le.u32 %p, %r0, 1;
    @%p bra ONE;
    sub.u32 %r1, %r0, 1;
    {
        .param .b32 x; .param .b32 y;
        st.param.b32 [x], %r1;
        call.uni (y), fact, (x);
        ld.param.b32 %r2, [y];
    }
    mul.lo.u32 %r3, %r0, %r2;
    st.param.b32 [result], %r3;
    ret;
ONE:
    st.param.b32 [result], 1;
    ret;
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_recursion_of_different_depth(run, seed) -> None:
    out = np.zeros(12, np.uint32)
    body = f"""{THREAD}
        {{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r50; call (y), fact, (x); ld.param.b32 %r1, [y]; }}
        st.global.u32 [%rd30], %r1;"""
    run(body, out, before=FACTORIAL, block=12, seed=seed).raise_for_reports()
    np.testing.assert_array_equal(out, [1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800])


REGISTER_FUNCTIONS = """
.func (.reg .b32 r) twice(.reg .b32 x) { add.u32 r, x, x; ret; }
.func (.reg .b32 r) square(.reg .b32 x) { mul.lo.u32 r, x, x; ret; }
"""


def test_register_parameters_and_indirect_calls(run) -> None:
    out = np.zeros(32, np.uint32)
    body = f"""{THREAD}
        mov.u64 %rd1, twice; mov.u64 %rd2, square; setp.lt.u32 %p1, %r50, 16; selp.b64 %rd3, %rd1, %rd2, %p1;
    P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
        call (%r1), %rd3, (%r50), P;
        st.global.u32 [%rd30], %r1;"""
    run(body, out, before=REGISTER_FUNCTIONS).raise_for_reports()
    tid = np.arange(32)
    np.testing.assert_array_equal(out, np.where(tid < 16, 2 * tid, tid * tid))


ARRAY_FUNCTION = """
.func (.param .align 8 .b8 out[8]) swap(.param .align 8 .b8 pair[8])
{
    .reg .b32 %r<3>;
    ld.param.v2.b32 {%r1, %r2}, [pair];
    st.param.b32 [out], %r2;
    st.param.b32 [out+4], %r1;
    ret;
}
"""


def test_parameter_arrays(run) -> None:
    out = np.zeros(32, np.uint32)
    body = f"""{THREAD}
        {{ .param .align 8 .b8 x[8]; .param .align 8 .b8 y[8];
           st.param.v2.b32 [x], {{%r50, 100}}; call (y), swap, (x); ld.param.v2.b32 {{%r1, %r2}}, [y]; }}
        mad.lo.u32 %r3, %r1, 1000, %r2; st.global.u32 [%rd30], %r3;"""
    run(body, out, before=ARRAY_FUNCTION).raise_for_reports()
    np.testing.assert_array_equal(out, 100_000 + np.arange(32))


REDUCE = f"""
    .shared .align 4 .b8 s[512];
    {THREAD}
    mov.u32 %r1, s; shl.b32 %r2, %r50, 2; add.u32 %r2, %r1, %r2;
    mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mad.lo.u32 %r12, %r10, %r11, %r50;
    ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r12, 4, %rd1; ld.global.f32 %f1, [%rd1]; st.shared.f32 [%r2], %f1;
    mov.u32 %r3, 64;
LOOP: bar.sync 0;
    setp.ge.u32 %p1, %r50, %r3; @%p1 bra SKIP;
    shl.b32 %r4, %r3, 2; add.u32 %r4, %r2, %r4; ld.shared.f32 %f2, [%r4]; ld.shared.f32 %f1, [%r2];
    add.f32 %f1, %f1, %f2; st.shared.f32 [%r2], %f1;
SKIP: shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra LOOP;
    setp.ne.u32 %p3, %r50, 0; @%p3 ret;
    ld.param.u64 %rd2, [b]; mad.wide.u32 %rd2, %r10, 4, %rd2; st.global.f32 [%rd2], %f1;
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_block_reduction(run, seed) -> None:
    values, sums = np.arange(1024, dtype=np.float32), np.zeros(8, np.float32)
    run(REDUCE, values, sums, grid=8, block=128, seed=seed).raise_for_reports()
    np.testing.assert_array_equal(sums, values.reshape(8, 128).sum(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_transpose_through_dynamic_shared_memory(run, seed) -> None:
    matrix, out = np.arange(1024, dtype=np.uint32).reshape(32, 32), np.zeros((32, 32), np.uint32)
    body = """
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
        mad.lo.u32 %r3, %r2, 32, %r1; mad.wide.u32 %rd3, %r3, 4, %rd1; ld.global.u32 %r4, [%rd3];
        mad.lo.u32 %r5, %r2, 33, %r1; shl.b32 %r5, %r5, 2; mov.u32 %r6, tile; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], %r4;
        bar.sync 0;
        mad.lo.u32 %r7, %r1, 33, %r2; shl.b32 %r7, %r7, 2; add.u32 %r7, %r7, %r6; ld.shared.u32 %r8, [%r7];
        mad.wide.u32 %rd4, %r3, 4, %rd2; st.global.u32 [%rd4], %r8;"""
    before = ".extern .shared .align 16 .b8 tile[];"
    run(body, matrix, out, before=before, block=(32, 32), dynamic_shared=32 * 33 * 4, seed=seed).raise_for_reports()
    np.testing.assert_array_equal(out, matrix.T)


@pytest.mark.parametrize("seed", SEEDS)
def test_producer_and_consumer_through_a_named_barrier(run, seed) -> None:
    out = np.zeros(32, np.uint32)
    body = f"""{THREAD}
        .shared .b32 box;
        setp.ge.u32 %p1, %r50, 32; @%p1 bra CONSUME;
        setp.eq.u32 %p2, %r50, 0; @%p2 st.shared.u32 [box], 42; bar.arrive 1, 64; ret;
    CONSUME: bar.sync 1, 64; ld.shared.u32 %r1, [box]; st.global.u32 [%rd30-128], %r1;"""
    run(body, out, block=64, seed=seed).raise_for_reports()
    np.testing.assert_array_equal(out, 42)


@pytest.mark.parametrize("seed", SEEDS)
def test_reductions_at_barriers(run, seed) -> None:
    out = np.zeros((96, 3), np.uint32)
    body = """
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r50, 12, %rd1;
        setp.lt.u32 %p1, %r50, 70;
        barrier.red.popc.aligned.u32 %r1, 2, %p1;
        bar.red.and.pred %p2, 2, %p1; bar.red.or.pred %p3, 2, !%p1;
        selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3;
        st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3;"""
    run(body, out, block=96, seed=seed).raise_for_reports()
    np.testing.assert_array_equal(out, np.tile([70, 0, 1], (96, 1)))


@pytest.mark.parametrize("seed", SEEDS)
def test_warp_barrier_joins_divergent_threads(run, seed) -> None:
    out = np.zeros(64, np.uint32)
    body = f"""{THREAD}
        .shared .b32 s[64];
        mov.u32 %r1, s; mad.lo.u32 %r1, %r50, 4, %r1; and.b32 %r2, %r50, 1; setp.eq.u32 %p1, %r2, 1;
        @%p1 bra ODD;
        st.shared.u32 [%r1], %r50; bar.warp.sync 0xffffffff; bra READ;
    ODD: mul.lo.u32 %r3, %r50, 10; st.shared.u32 [%r1], %r3; bar.warp.sync 0xffffffff;
    READ: xor.b32 %r4, %r50, 1; mov.u32 %r5, s; mad.lo.u32 %r5, %r4, 4, %r5; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd30], %r6;"""
    run(body, out, block=64, seed=seed).raise_for_reports()
    other = np.arange(64) ^ 1
    np.testing.assert_array_equal(out, np.where(other % 2 == 1, other * 10, other))


@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_barrier(run, seed) -> None:
    box, out = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    body = """
        mov.u32 %r1, %ctaid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r5, %tid.x; setp.ne.u32 %p1, %r5, 0;
        xor.b32 %r2, %r1, 1; mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r2, 4, %rd1; mad.wide.u32 %rd5, %r1, 4, %rd2;
        add.u32 %r3, %r1, 5; @!%p1 st.global.u32 [%rd3], %r3;
        barrier.cluster.arrive; barrier.cluster.wait;
        @!%p1 ld.global.u32 %r4, [%rd4]; @!%p1 st.global.u32 [%rd5], %r4;"""
    run(body, box, out, grid=4, block=64, cluster=2, seed=seed).raise_for_reports()
    np.testing.assert_array_equal(out, [6, 5, 8, 7])


def test_the_same_seed_gives_the_same_run(run) -> None:
    body = f"{THREAD} ld.param.u64 %rd1, [b]; mov.u64 %rd2, %clock64; mad.wide.u32 %rd1, %r50, 8, %rd1; st.global.u64 [%rd1], %rd2;"

    def clocks(seed: int) -> bytes:
        out, times = np.zeros(256, np.uint32), np.zeros(256, np.uint64)
        run("bar.sync 0;" * 20 + body, out, times, block=256, seed=seed)
        return times.tobytes()

    assert clocks(5) == clocks(5)
    assert len({clocks(seed) for seed in range(6)}) > 1


def test_special_registers(run) -> None:
    out = np.zeros((2, 2, 24, 6), np.uint32)
    body = """
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;
        mad.lo.u32 %r6, %r3, 3, %r2; mad.lo.u32 %r6, %r6, 4, %r1; mov.u32 %r7, %nctaid.x; mad.lo.u32 %r8, %r5, %r7, %r4;
        mad.lo.u32 %r9, %r8, 24, %r6; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r9, 24, %rd1;
        mov.u32 %r10, %laneid; mov.u32 %r11, %ntid.y; mov.u32 %r12, %lanemask_lt;
        st.global.v2.u32 [%rd1], {%r1, %r2}; st.global.v2.u32 [%rd1+8], {%r3, %r10}; st.global.v2.u32 [%rd1+16], {%r11, %r12};"""
    run(body, out, grid=(2, 2), block=(4, 3, 2)).raise_for_reports()
    thread = np.arange(24)
    expected = np.stack([thread % 4, thread // 4 % 3, thread // 12, thread, np.full(24, 3), (1 << thread) - 1], 1)
    np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))


def test_every_special_register_can_be_read(run) -> None:
    for name, register in SPECIAL.items():
        target = {"pred": "%p1", "u32": "%r1", "b32": "%r1", "u64": "%rd1", "b64": "%rd1"}[register.type.name]
        for component in register.components or ("",):
            text = f"{name}.{component}" if component else name
            assert run(f"mov.{register.type.name} {target}, {text};", block=40).ok, text
    assert run("mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid;", block=40).ok


def test_vectors_of_registers_are_passed_and_returned(run) -> None:
    out = np.zeros((4, 2), np.uint32)
    run(
        """.reg .v2 .b32 %v, %w; mov.u32 %v.x, %tid.x; mov.u32 %v.y, 100; call (%w), swap, (%v, 7);
        ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %v.x, 8, %rd1; st.global.v2.b32 [%rd1], %w;""",
        out,
        before=".func (.reg .v2 .b32 r) swap (.reg .v2 .b32 x, .reg .b32 more) { add.u32 r.x, x.y, more; mov.u32 r.y, x.x; ret; }",
        block=4,
    ).raise_for_reports()
    assert out.tolist() == [[107, thread] for thread in range(4)]


def test_qualifiers_in_another_order_mean_the_same(run) -> None:
    out = np.zeros(4, np.float32)
    run(
        """ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1; cvt.rn.f32.u32 %f1, %r1;
        setp.ftz.gt.f32 %p1, %f1, 0f3F800000; selp.f32 %f2, 0f40000000, 0f00000000, %p1; red.add.global.relaxed.gpu.f32 [%rd1], %f2;""",
        out,
        block=4,
    ).raise_for_reports()
    assert out.tolist() == [0, 0, 2, 2]
