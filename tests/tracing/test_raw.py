"""Instructions by name: spellings, operands, results, and exact refusals."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen.errors import PtxgenError
from tests.tracing.kernels import apply, traced


def body(function):
    """The lines behind the reading of %tid.x."""
    return traced(function)[1:]


def test_spellings():
    assert px.ptx.ld.global_.v4.b32.text == "ld.global.v4.b32"
    assert px.ptx.and_.b32.text == "and.b32"
    assert px.ptx.st.shared__cta.b32.text == "st.shared::cta.b32"
    assert px.ptx.cp.async_.bulk.tensor._2d.text == "cp.async.bulk.tensor.2d"
    assert px.ptx.ld.global_.L2__128B.b32.text == "ld.global.L2::128B.b32"
    assert px.ptx["ld.global"].b32.text == "ld.global.b32"


def test_results_are_a_register_or_a_tuple_or_nothing():
    found = []

    def function(tid):
        found.append(px.ptx["add.u32"](tid, 1))
        found.append(px.ptx["ld.shared.v2.f32"](tid))
        found.append(px.ptx["setp.lt.u32"](tid, 5))
        found.append(px.ptx["st.shared.f32"]((tid, 8), found[1][0]))

    assert body(function) == [
        "add.u32 %r1, %r0, 1;",
        "ld.shared.v2.f32 {%f0, %f1}, [%r0];",
        "setp.lt.u32 %p0, %r0, 5;",
        "st.shared.f32 [%r0+8], %f0;",
    ]
    one, pair, predicate, none = found
    assert one.type is px.u32 and [x.type for x in pair] == [px.f32, px.f32] and predicate.type is px.pred and none is None


def test_numbers_become_what_the_instruction_takes():
    def function(tid):
        x = tid.to(px.f32)
        px.ptx["add.f32"](x, 1)
        px.ptx["fma.rn.f64"](x.to(px.f64), 0.1, -1)
        px.ptx["and.b32"](tid, 0xFFFFFFFF)
        px.ptx["st.shared.v2.b32"](tid, (tid, 7))
        px.ptx["mov.b64"]((tid, 3))

    lines = [line for line in body(function) if not line.startswith("cvt")]
    assert lines == [
        "add.f32 %f1, %f0, 0f3F800000;",
        "fma.rn.f64 %fd1, %fd0, 0d3FB999999999999A, 0dBFF0000000000000;",
        "and.b32 %r1, %r0, 4294967295;",
        "st.shared.v2.b32 [%r0], {%r0, 7};",
        "mov.b64 %rd0, {%r0, 3};",
    ]


def test_out_writes_mutable_registers_under_a_predicate():
    def function(tid):
        acc, low, high = px.reg(px.f32, 0), px.reg(px.u32), px.reg(px.u32)
        p = tid < 4
        assert px.ptx["ld.shared.f32"](tid, pred=p, out=acc) is acc
        px.ptx["ld.shared.f32"](tid, pred=~p, out=acc)
        px.ptx["mov.b64"](px.u64(5), out=(low, high))
        px.ptx["ld.shared.v2.b32"](tid, out=(low, px.sink))

    assert body(function) == [
        "mov.f32 %f0, 0f00000000;",
        "setp.lt.u32 %p0, %r0, 4;",
        "@%p0 ld.shared.f32 %f0, [%r0];",
        "@!%p0 ld.shared.f32 %f0, [%r0];",
        "mov.b64 {%r1, %r2}, 5;",
        "ld.shared.v2.b32 {%r1, _}, [%r0];",
    ]


def test_a_written_register_is_a_new_version():
    seen = []

    def function(tid):
        r = px.reg(px.u32, 3)
        seen.append(r.expr.range())
        px.ptx["ld.shared.u32"](tid, out=r)
        seen.append(r.expr.range())

    traced(function)
    assert seen == [(3, 3), (0, 2**32 - 1)]


def test_named_instructions_run():
    a = np.arange(64, dtype=np.uint32) * 0x01010101
    found = apply(lambda x: px.ptx["popc.b32"](x), a, out=np.uint32)
    assert found.tolist() == [bin(int(one)).count("1") for one in a]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: px.ptx["add.f32"](t, 1.0),
         ["add.f32, operand a: %r0 is .u32 where the instruction takes .f32",
          "rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)"]),
        (lambda t: px.ptx["add.f32"](px.f32(1)),
         ["add.f32: takes 2 operands besides its results, not 1", "rule: operands are those of the syntax line (PTX ISA 9.7.3.3)",
          "legal: add{.rnd}{.ftz}{.sat}.f32 d, a, b;"]),
        (lambda t: px.ptx["add.u32"](px.reg(px.u32), t, t),
         ["add.u32: takes 2 operands besides its results, not 3; a result is not listed, it is returned or goes to out="]),
        (lambda t: px.ptx["ld.globl.b32"](t),
         ["ld.globl.b32: '.globl' cannot stand after 'ld'; did you mean .global or .local?"]),
        (lambda t: px.ptx["addd.u32"](t, t), ["addd.u32: 'addd' is not an instruction of the PTX ISA known here"]),
        (lambda t: px.ptx["add.f32"](px.f32(1), 0.1),
         ["add.f32, operand b: 0.1 is not exactly representable in .f32", "why: the nearest .f32 is 0.10000000149011612",
          "legal: px.f32(0.1) to round it here and now"]),
        (lambda t: px.ptx["and.b32"](t, -1),
         ["and.b32, operand b: -1 does not fit into .b32", "why: it would wrap to 4294967295", "legal: 0 to 4294967295, or a wider type"]),
        (lambda t: px.ptx["ld.shared.b32"](t, pred=t < 1),
         ["ld.shared.b32 with pred= has a result, which is undefined where the predicate is false",
          "legal: out=r with r = px.reg(dtype, init), which keeps its value there"]),
        (lambda t: px.ptx["st.shared.b32"](t, t, pred=t),
         ["pred=<%r0: u32> is no predicate", "legal: pred=x > 0, or pred=~p"]),
        (lambda t: px.ptx["add.u32"](t, t, out=t),
         ["out= takes a mutable register, not <%r0: u32>", "legal: r = px.reg(dtype, init)"]),
        (lambda t: px.ptx["ld.shared.v2.b32"](t, out=px.reg(px.u32)),
         ["ld.shared.v2.b32, operand d: out= gives 1 registers for 2 results"]),
        (lambda t: px.ptx["st.shared.b32"](t, t, out=px.reg(px.u32)), ["st.shared.b32: has no result, and out= is given"]),
        (lambda t: px.ptx["ld.shared.b32"](t.to(px.f32)),
         ["<%f0: f32> can't be an address of ld.shared.b32",
          "legal: a view, a .u64 scalar (.u32 in shared memory), or (base, offset) with an int of bytes"]),
        (lambda t: px.ptx["ld.shared.b32"]((t, t)),
         ["the offset <%r0: u32> of an address is no int", "legal: (base, 16): bytes; add runtime offsets"]),
        (lambda t: px.ptx["st.shared.v4.b32"](t, (t, t)),
         ["st.shared.v4.b32, operand b: {%r0, %r0} has 2 elements where the instruction takes 4"]),
        (lambda t: px.ptx[3], ["px.ptx[...] takes an opcode as text, not 3", 'legal: px.ptx["add.f32"]']),
    ],
)  # fmt: skip
def test_refused(function, message):
    with pytest.raises(PtxgenError) as caught:
        traced(function)
    place, *rest = str(caught.value).splitlines()
    assert place.startswith("test_raw.py:")
    found = [place.split(": ", 1)[1], *(line.strip() for line in rest if not line.startswith("  line:"))]
    assert found[: len(message)] == message


def test_the_kernels_target_is_checked():
    with pytest.raises(PtxgenError) as caught:
        traced(lambda tid: px.ptx["ld.global.v8.b32"](px.u64(4096)), target="sm_90")
    assert "does not exist on sm_90, the target of this kernel" in str(caught.value)


def test_a_move_of_16_bits_has_no_quarters():
    assert body(lambda tid: px.ptx["mov.b16"](px.u16(7))) == ["mov.b16 %rs0, 7;"]
    with pytest.raises(PtxgenError):
        traced(lambda tid: px.ptx["mov.b16"](px.u16(7), out=tuple(px.reg(px.b8) for _ in range(4))))


def test_an_instruction_without_results_keeps_its_place_when_it_reads_a_register_first():
    def function(tid):
        px.ptx["bar.sync"](tid // 128, 128)
        px.ptx["add.u32"](tid * 3, 1)

    assert body(function) == [
        "div.u32 %r1, %r0, 128;",
        "bar.sync %r1, 128;",
        "mul.lo.u32 %r2, %r0, 3;",
        "add.u32 %r3, %r2, 1;",
    ]


def test_an_offset_in_a_swizzled_tile_stays_in_one_piece_of_it():
    """The offset is added to the swizzled address: 16 bytes behind t[1, 0] lies t[1, 2] and not t[1, 1], as pieces are exchanged."""

    def kernel(out: px.Tensor((8, 32), px.u32), row: px.u32, *, offset: px.constexpr = 12):
        tile = px.shared((8, 32), px.u32, layout=px.Layout(px.S[8, 32], swizzle=px.Swizzle.B128))
        for each in range(8):
            px.ptx["st.shared.u32"](tile[each, px.tid.x], px.tid.x + 100 * each)
        px.syncthreads()
        px.ptx["st.global.u32"](out[row % 8, px.tid.x], px.ptx["ld.shared.u32"]((tile[row % 8], offset)))

    program = px.kernel(grid=1, block=32)(kernel)
    out = np.zeros((8, 32), np.uint32)
    for row in range(8):
        program(out, row)
    assert np.array_equal(out, np.tile(100 * np.arange(8)[:, None] + 3, 32))
    with pytest.raises(px.InstructionError, match=r"tile\[32\] u32 in .shared is cut by its swizzle 16 bytes behind its first element"):
        program.specialize(offset=16)
