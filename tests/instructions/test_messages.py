"""What a user reads after a typical mistake, word by word."""

from __future__ import annotations

import pytest

from ptxgen.instructions.checking import Given, check
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.registry import lookup
from ptxgen.instructions.types import type_named


def register(name: str, type: str) -> Given:
    return Given("register", name, type_named(type))


def vector(*items: Given) -> Given:
    return Given("vector", "{" + ", ".join(item.text for item in items) + "}", items=items)


def number(value: int) -> Given:
    return Given("int", str(value), value=value)


WORDS = [register(f"%r{index}", "b32") for index in range(8)]
FLOATS = [register(f"%f{index}", "f32") for index in range(4)]
WIDE, HALF, UNSIGNED = register("%rd1", "b64"), register("%h1", "b16"), register("%u1", "u32")
GENERIC, TILE, SINK = Given("address", "[%rd1]"), Given("address", "[tile]", space="shared"), Given("sink", "_")

OPCODES = [
    ("ld.globl.b32", "'.globl' cannot stand after 'ld'; did you mean .global or .local?", ""),
    ("ld.global.v3.f32", "'.v3' cannot stand after 'ld.global'; did you mean .v8 or .v4?", ""),
    ("ld.global", "the opcode stops after 'ld.global'", ""),
    ("mvo.b32", "'mvo' is not an instruction of the PTX ISA known here", ""),
    ("bar.snc", "'.snc' cannot stand after 'bar'; did you mean .sync?", ""),
    ("ld.global.v8.b64", "", "a vector of eight holds 32-bit elements"),
    ("cvta.to.shared.u32", "", "generic addresses are 64 bits wide"),
    ("st.shared.v8.b32", "", "an access of 256 bits is for global memory alone"),
    ("ld.global.v2.b128", "", ".b128 is loaded and stored alone, not as a vector"),
    ("ld.volatile.const.b32", "", ".volatile does not apply to constant memory and parameters"),
    ("ld.acquire.gpu.local.u32", "", "synchronising accesses are for global and shared memory"),
    ("ld.shared.L1::evict_first.b32", "", "an L1 eviction priority is for global memory alone"),
    ("cvt.f32.s32", "", "an integer becomes a floating value, and a float a narrower one, by .rn, .rz, .rm or .rp"),
    ("cvt.rn.f64.f32", "", "a conversion that loses nothing does not round"),
    ("redux.sync.add.b32", "", "untyped bits are reduced by .and, .or or .xor"),
    ("ldmatrix.sync.aligned.m8n8.x3.shared.b16", "'.x3' cannot stand after 'ldmatrix.sync.aligned.m8n8'; did you mean .x4 or .x2?", ""),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b8", "", ".m8n8 loads elements of 16 bits"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16", "", "the accumulator has the type of the result"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "", "k is 4 or 8 for .tf32"),
    ("cvt.s32.f32", "", "a floating value becomes an integer by .rni, .rzi, .rmi or .rpi"),
]

_LOAD = "ldmatrix.sync.aligned.m8n8."
_PAIR, _FOUR = vector(*WORDS[:2]), vector(*FLOATS)
_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

OPERANDS = [
    ("ld.global.v4.f32", [FLOATS[0], GENERIC], "operand d: %f0 is one register where the instruction takes a vector of 4"),
    ("ld.global.v4.f32", [vector(*FLOATS[:3]), GENERIC], "operand d: {%f0, %f1, %f2} has 3 elements where the instruction takes 4"),
    ("ld.global.v2.f32", [vector(FLOATS[0], FLOATS[0]), GENERIC], "operand d: %f0 is written twice"),
    ("ld.global.b32", [HALF, GENERIC], "operand d: %h1 is .b16 where the instruction takes .b32"),
    ("ld.global.f32", [UNSIGNED, GENERIC], "operand d: %u1 is .u32 where the instruction takes .f32"),
    ("ld.global.f32", [FLOATS[0], TILE], "operand a: [tile] lies in .shared, not in .global"),
    ("ld.global.f32", [FLOATS[0], WIDE], "operand a: %rd1 is not an address"),
    ("ld.global.f32", [SINK, GENERIC], "operand d: the sink _ cannot stand here"),
    ("st.global.v4.b32", [GENERIC, vector(WORDS[0], SINK, *WORDS[2:4])], "operand b: the sink _ cannot stand here"),
    ("st.global.u32", [GENERIC, Given("symbol", "table")], "operand b: the name table stands where the instruction takes a register"),
    ("mov.u32", [WORDS[0], FLOATS[0]], "operand a: %f0 is .f32 where the instruction takes .u32"),
    ("mov.b64", [WIDE, vector(WORDS[0], HALF)], "operand halves: %h1 is .b16 where the instruction takes .b32"),
    ("mov.b32", [WORDS[0]], "takes 2 operands, not 1"),
    ("bar.sync", [Given("int", "16", value=16)], "operand a: the constant 16 is out of range"),
    ("bar.sync", [Given("int", "1", value=1), Given("int", "100", value=100)], "operand b: the constant 100 is out of range"),
    (_LOAD + "x1.b16", [WORDS[0], GENERIC], "operand r: %r0 stands where the instruction takes one register in braces"),
    (_LOAD + "x4.b16", [_PAIR, GENERIC], "operand r: {%r0, %r1} has 2 elements where the instruction takes 4"),
    (_MMA, [_FOUR, _FOUR, _PAIR, _FOUR], "operand a: %f0 is .f32 where the instruction takes .f16x2"),
    (_MMA, [vector(*FLOATS[:2]), _FOUR, _PAIR, _FOUR], "operand d: {%f0, %f1} has 2 elements where the instruction takes 4"),
    ("bra", [WORDS[0]], "operand target: %r0 is not a label"),
    ("call", [Given("symbol", "f"), WORDS[0]], "operand arguments: %r0 is not a list in parentheses"),
    ("cvta.global.u64", [WIDE, Given("symbol", "tile", space="shared")], "operand a: tile lies in .shared, not in .global"),
    ("cvt.rn.bf16.f32", [WORDS[0], FLOATS[0]], "operand d: %r0 is .b32 where the instruction takes .bf16"),
    ("cvt.rn.f16x2.f32", [WORDS[0], FLOATS[0]], "takes 3 operands, not 2"),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "problem", "rule"), OPCODES, ids=[opcode for opcode, _, _ in OPCODES])
def test_opcodes(opcode: str, problem: str, rule: str) -> None:
    with pytest.raises(InstructionError) as caught:
        lookup(opcode)
    error = caught.value
    assert error.problem == (problem or "these qualifiers do not go together")
    spelling = "an opcode begins with" if "is not an instruction" in problem else "an opcode is spelled as its syntax line says"
    assert error.rule.startswith(rule or spelling)
    assert str(error).splitlines()[0] == f"{opcode}: {error.problem}"
    assert error.legal


@pytest.mark.parametrize(("opcode", "given", "problem"), OPERANDS, ids=lambda value: value if isinstance(value, str) else "")
def test_operands(opcode: str, given: list[Given], problem: str) -> None:
    with pytest.raises(InstructionError) as caught:
        check(opcode, given)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{opcode}, {problem}" if problem.startswith("operand") else f"{opcode}: {problem}"), first
    assert caught.value.legal


def test_what_would_be_legal_stands_in_one_line() -> None:
    def legal(opcode: str, given: list[Given] | None = None) -> str:
        with pytest.raises(InstructionError) as caught:
            lookup(opcode) if given is None else check(opcode, given)
        return caught.value.legal

    assert legal("ld.global.v3.f32") == "after 'ld.global': .vec: .v2 .v4 .v8"
    assert legal("st.shared.v8.b32") == "st.v8.b32, st.global.v8.b32, st.shared.b32, st.shared.v2.b32, st.shared.v4.b32"
    assert legal("cvt.f32.s32").startswith("cvt.rn.f32.s32, cvt.rz.f32.s32, cvt.rm.f32.s32, cvt.rp.f32.s32")
    assert legal("bar.snc") == "after 'bar': .sync"
    assert legal("mvo.b32") == "did you mean mov?"
    assert legal("bar.sync", [Given("int", "16", value=16)]) == "a register of .u32, .s32 or .b32, or a constant (0 to 15)"
    assert legal("cvt.rn.bf16.f32", [WORDS[0], FLOATS[0]]) == "a register of .b16 (holding .bf16)"
    assert legal("bra", [WORDS[0]]) == "a label"
