"""Memory: widths, spaces, views of one array, variables with initialisers."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read

THREAD = "mov.u32 %r50, %tid.x; ld.param.u64 %rd30, [a]; mad.wide.u32 %rd30, %r50, 4, %rd30;"


def test_narrow_loads_extend_and_stores_truncate(run) -> None:
    source, out = np.arange(-16, 16, dtype=np.int8), np.zeros((32, 4), np.uint32)
    body = """
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
        cvt.u64.u32 %rd3, %r50; add.u64 %rd1, %rd1, %rd3; mad.wide.u32 %rd2, %r50, 16, %rd2;
        ld.global.s8 %r1, [%rd1]; ld.global.u8 %r2, [%rd1]; ld.global.b8 %rd4, [%rd1]; cvt.u32.u64 %r3, %rd4;
        st.global.v2.u32 [%rd2], {%r1, %r2}; st.global.u32 [%rd2+8], %r3; st.global.u16 [%rd2+12], 0x12345; st.global.u8 [%rd2+14], %r1;"""
    run(body, source, out).raise_for_reports()
    np.testing.assert_array_equal(out[:, 0].view(np.int32), source)
    np.testing.assert_array_equal(out[:, 1], source.view(np.uint8))
    np.testing.assert_array_equal(out[:, 2], source.view(np.uint8))
    np.testing.assert_array_equal(out[:, 3], 0x2345 | source.view(np.uint8).astype(np.uint32) << 16)


def test_vectors_and_sinks(run) -> None:
    source, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    body = """
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
        mad.wide.u32 %rd1, %r50, 32, %rd1; mad.wide.u32 %rd2, %r50, 32, %rd2;
        ld.global.v8.b32 {%r1, _, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
        ld.global.v4.b64 {%rd3, %rd4, %rd5, %rd6}, [%rd1];
        st.global.v8.b32 [%rd2], {%r8, _, %r3, %r4, %r5, %r6, %r7, %r1};
        mov.b64 {%r10, %r11}, %rd3; st.global.b32 [%rd2+4], %r11;"""
    run(body, source, out).raise_for_reports()
    expected = source.reshape(32, 8).copy()
    expected[:, [0, 7]] = expected[:, [7, 0]]
    np.testing.assert_array_equal(out.reshape(32, 8), expected)


def test_a_base_below_zero_and_an_offset_meet_again(run) -> None:
    """The sum of a 32-bit register and an offset has 32 bits, as an H200 does it."""
    out = np.zeros(32, np.uint32)
    body = f"""{THREAD}
        .shared .align 4 .b8 tile[8192];
        mov.u32 %r1, tile; mul.lo.u32 %r2, %r50, 256; sub.u32 %r3, %r1, %r2;
        st.shared.u32 [%r3+7936], %r50; bar.sync 0;
        add.u32 %r4, %r1, %r2; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd30], %r5;"""
    run(body, out).raise_for_reports()
    np.testing.assert_array_equal(out, 31 - np.arange(32))


def test_quadwords(run) -> None:
    source, out = np.arange(64, dtype=np.uint64), np.zeros(64, np.uint64)
    body = """
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
        mad.wide.u32 %rd1, %r50, 16, %rd1; mad.wide.u32 %rd2, %r50, 16, %rd2;
        ld.global.b128 %q1, [%rd1]; mov.b128 {%rd3, %rd4}, %q1; mov.b128 %q2, {%rd4, %rd3}; st.global.b128 [%rd2], %q2;"""
    run(body, source, out).raise_for_reports()
    np.testing.assert_array_equal(out.reshape(-1, 2), source.reshape(-1, 2)[:, ::-1])


def test_views_of_one_array_alias(run) -> None:
    base = np.arange(64, dtype=np.uint32)
    body = f"{THREAD} ld.param.u64 %rd1, [b]; mad.wide.u32 %rd1, %r50, 4, %rd1; ld.global.u32 %r1, [%rd30]; st.global.u32 [%rd1], %r1;"
    run(body, base[:32], base[32:]).raise_for_reports()
    np.testing.assert_array_equal(base, np.tile(np.arange(32), 2))
    distance = np.zeros(1, np.uint64)
    run("ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; sub.u64 %rd3, %rd1, %rd2; ld.param.u64 %rd4, [c]; st.global.u64 [%rd4], %rd3;",
        base[7:], base[3:], distance, block=1).raise_for_reports()
    assert distance[0] == 16


def test_negative_strides_start_at_their_first_element(run) -> None:
    base, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    body = """
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; mul.wide.s32 %rd2, %r50, -4; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r1, [%rd1];
        ld.param.u64 %rd3, [b]; mad.wide.u32 %rd3, %r50, 4, %rd3; st.global.u32 [%rd3], %r1;"""
    run(body, base[::-1], out).raise_for_reports()
    np.testing.assert_array_equal(out, base[::-1])


def test_local_memory_is_private(run) -> None:
    out = np.zeros(64, np.uint32)
    body = f"""{THREAD}
        .local .align 4 .b8 mine[64];
        mov.u64 %rd1, mine; cvta.local.u64 %rd2, %rd1;
        mov.u32 %r1, 0;
    FILL: mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; mad.lo.u32 %r2, %r1, %r50, 1; st.local.u32 [%rd4], %r2;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 16; @%p1 bra FILL;
        and.b32 %r3, %r50, 15; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd2, %rd3; ld.u32 %r4, [%rd4];
        st.global.u32 [%rd30], %r4;"""
    run(body, out, block=64).raise_for_reports()
    tid = np.arange(64)
    np.testing.assert_array_equal(out, tid % 16 * tid + 1)


def test_generic_addresses_of_several_windows(run) -> None:
    data, out = np.arange(100, 132, dtype=np.uint32), np.zeros((32, 2), np.uint32)
    body = """
        .shared .align 4 .b32 s[32];
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r50, 4, %rd1;
        mov.u64 %rd2, s; mad.wide.u32 %rd2, %r50, 4, %rd2; st.shared.u32 [%rd2], %r50; cvta.shared.u64 %rd3, %rd2;
        and.b32 %r1, %r50, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %rd4, %rd1, %rd3, %p1;
        ld.u32 %r2, [%rd4]; isspacep.shared %p2, %rd4; isspacep.global %p3, %rd4; selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3;
        add.u32 %r3, %r3, %r4; cvta.to.shared.u64 %rd5, %rd3; setp.eq.u64 %p4, %rd5, %rd2; @!%p4 mov.u32 %r3, 99;
        ld.param.u64 %rd6, [b]; mad.wide.u32 %rd6, %r50, 8, %rd6; st.global.v2.u32 [%rd6], {%r2, %r3};"""
    run(body, data, out).raise_for_reports()
    tid = np.arange(32)
    np.testing.assert_array_equal(out[:, 0], np.where(tid % 2 == 0, data, tid))
    np.testing.assert_array_equal(out[:, 1], np.where(tid % 2 == 0, 2, 1))


VARIABLES = """
.const .align 4 .f32 weights[4] = {1.0, 2.0, 0f40400000};
.global .align 8 .b32 table[2][3] = {{1, 2}, {-1}};
.global .u64 pointer = generic(table)+4;
.global .b8 text[] = {72, 105, 0};
.global .u32 counter;
"""


def test_module_variables(run) -> None:
    out = np.zeros(16, np.uint32)
    body = """
        ld.param.u64 %rd1, [a];
        ld.const.v4.b32 {%r1, %r2, %r3, %r4}, [weights]; st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
        ld.global.b32 %r5, [table+4]; ld.global.b32 %r6, [table+8]; ld.global.b32 %r7, [table+12]; mov.u64 %rd2, pointer;
        ld.global.u64 %rd3, [%rd2]; ld.b32 %r8, [%rd3]; st.global.v4.b32 [%rd1+16], {%r5, %r6, %r7, %r8};
        ld.global.u8 %r9, [text+1]; ld.global.u32 %r10, [counter]; add.u32 %r10, %r10, 3; st.global.u32 [counter], %r10;
        ld.global.u32 %r11, [counter]; mov.u32 %r12, 0; st.global.v4.b32 [%rd1+32], {%r9, %r10, %r11, %r12};"""
    run(body, out, before=VARIABLES, block=1).raise_for_reports()
    np.testing.assert_array_equal(out[:4].view(np.float32), [1, 2, 3, 0])
    np.testing.assert_array_equal(out[4:11], [2, 0, 2**32 - 1, 2, 105, 3, 3])


def test_scalar_parameters_and_their_addresses(run) -> None:
    out = np.zeros(3, np.uint32)
    body = """
        ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b]; ld.param.u16 %r2, [c];
        mov.b64 %rd2, b; cvta.param.u64 %rd3, %rd2; ld.u32 %r3, [%rd3];
        st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3;"""
    run(body, out, np.uint32(7).tobytes(), np.uint16(9).tobytes(), block=1).raise_for_reports()
    np.testing.assert_array_equal(out, [7, 9, 7])


def test_blocks_have_their_own_shared_memory_in_every_wave(run) -> None:
    out = np.zeros(8 * 32, np.uint32)
    body = """
        .shared .align 4 .b32 s;
        mov.u32 %r50, %tid.x; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r50, 0; @%p1 st.shared.u32 [s], %r1; bar.sync 0;
        ld.shared.u32 %r2, [s]; ld.param.u64 %rd1, [a]; mad.lo.u32 %r3, %r1, 32, %r50; mad.wide.u32 %rd1, %r3, 4, %rd1;
        st.global.u32 [%rd1], %r2;"""
    run(body, out, grid=8, resident_threads=96).raise_for_reports()
    np.testing.assert_array_equal(out, np.repeat(np.arange(8), 32))


def test_scoped_registers_shadow(run) -> None:
    out = np.zeros(32, np.uint32)
    body = f"{THREAD} mov.u32 %r1, 5; {{ .reg .b32 %r1; mov.u32 %r1, 9; }} st.global.u32 [%rd30], %r1;"
    run(body, out).raise_for_reports()
    np.testing.assert_array_equal(out, 5)


def test_empty_arrays_and_empty_grids(run) -> None:
    assert run("ret;", np.zeros(0, np.float32)).ok
    assert run("trap_never: ret;", np.zeros(4), grid=0).threads == 0


def test_launches_that_do_not_fit() -> None:
    module = read(".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 a, .param .u32 n) { ret; }")
    array, number = np.zeros(4), np.uint32(4).tobytes()
    for arguments, message in (
        ([array], "k has 2 parameters (a, n), 1 arguments are given"),
        ([array, array], "k, parameter n: 4 bytes are taken, 8 are given"),
        ([array, 4], "k, parameter n: a NumPy array or bytes are taken, not int"),
    ):
        with pytest.raises(PtxgenError) as error:
            emulate(module, "k", grid=1, block=32, arguments=arguments)
        assert str(error.value) == message
    with pytest.raises(PtxgenError, match="the module has no entry 'other'; it has k"):
        emulate(module, "other", grid=1, block=32, arguments=[])
    with pytest.raises(PtxgenError, match=r"block=\(2048, 1, 1\) has 2048 threads"):
        emulate(module, "k", grid=1, block=2048, arguments=[array, number])


def test_elements_of_arrays_and_vector_registers(run) -> None:
    out = np.zeros((8, 4), np.uint32)
    body = """
        .reg .v4 .b32 %v;
        mov.u32 %r50, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r50, 16, %rd1; and.b32 %r1, %r50, 1;
        ld.const.b32 %v.x, weights[1]; ld.global.b32 %v.y, table[%r1]; mov.b32 %v.z, 5; mov.b32 %v.w, %v.z;
        st.global.v4.b32 [%rd1], %v;"""
    run(body, out, before=VARIABLES, block=8).raise_for_reports()
    np.testing.assert_array_equal(out[:, 0].view(np.float32), 2)
    np.testing.assert_array_equal(out[:, 1:], [[thread % 2 + 1, 5, 5] for thread in range(8)])


def test_every_wave_starts_with_unwritten_shared_memory(run) -> None:
    body = """
        .shared .b32 s; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 1; ld.shared.u32 %r2, [s];"""
    result = run(body, grid=2, resident_threads=32)
    assert [(report.kind, report.thread[0]) for report in result.reports] == [("unwritten memory", (1, 0, 0))]


def test_a_register_and_a_constant_stand_for_their_sum(run) -> None:
    """ISA 6.2 and 6.4.2: as a source, and as the index of an array."""
    out = np.zeros((4, 2), np.uint32)
    run(
        """ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 8, %rd1;
        add.u32 %r2, %r1+100, %r1+-1; ld.global.b32 %r3, table[%r1+2]; st.global.v2.b32 [%rd1], {%r2, %r3};""",
        out,
        before=".global .b32 table[6] = {1, 2, 3, 4, 5, 6};",
        block=4,
    ).raise_for_reports()
    assert out.tolist() == [[99 + 2 * thread, thread + 3] for thread in range(4)]
