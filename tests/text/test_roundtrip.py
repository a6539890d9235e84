"""The law between writer and reader: what is written reads back as itself, and reading what was written changes nothing more."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

from ptxgen import ir
from ptxgen.text import read, read_instruction, write, write_mapped, write_operand, write_statement
from tests.text import strategies

_SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def _first_difference(a: ir.Module, b: ir.Module) -> str:
    pairs = [(x, y) for x, y in zip(a.items, b.items) if x != y]
    return f"{pairs[:1]} in\n{write(a)}"


@_SLOW
@given(strategies.modules)
def test_a_written_module_reads_back_as_itself(module: ir.Module) -> None:
    text = write(module)
    again = read(text)
    assert again == module, _first_difference(module, again)
    assert write(again) == text


@settings(_SLOW, max_examples=50)
@given(strategies.modules)
def test_comments_are_left_out_on_request_and_nothing_else(module: ir.Module) -> None:
    def without(body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        kept = [statement for statement in body if not isinstance(statement, ir.Comment)]
        return tuple(ir.Block(without(s.body)) if isinstance(s, ir.Block) else s for s in kept)

    items = []
    for item in module.items:
        if isinstance(item, ir.Function) and item.body is not None:
            f = item
            item = ir.Function(f.kind, f.name, f.params, without(f.body), f.results, f.directives, f.linkage, None, f.attributes)
        if not isinstance(item, ir.Comment):
            items.append(item)
    bare = ir.Module(module.version, module.target, tuple(items), module.address_size)
    assert read(write(module, comments=False)) == bare


@settings(max_examples=300, deadline=None)
@given(strategies.instructions | strategies.calls)
def test_an_instruction_reads_the_same_whole_and_token_by_token(instruction: ir.Instruction | ir.Call) -> None:
    text = write_statement(instruction)
    assert read_instruction(text) == instruction
    # A comment within keeps the expression for whole instructions off; blanks, tabs and line ends mean nothing anywhere.
    for spaced in (text.replace(",", "/* , */,\n\t"), re.sub(r"([,\[\]{}|])", r" \1 ", text), text.replace(";", " // ;\n;")):
        module = read(f".version 8.0\n.target sm_90\n.entry k() {{\n{spaced}\n}}")
        assert module.functions["k"].body == (instruction,)


@settings(max_examples=200, deadline=None)
@given(strategies.bodies)
def test_lines_lead_back_to_where_their_instructions_came_from(body: tuple[ir.Statement, ...]) -> None:
    placed: list[ir.Instruction | ir.Call] = []

    def place(statements: tuple[ir.Statement, ...]) -> None:
        for statement in ir.walk(statements):
            if isinstance(statement, (ir.Instruction, ir.Call)):
                statement.where = len(placed)
                placed.append(statement)

    place(body)
    module = ir.Module((8, 0), ("sm_90",), (ir.Function("entry", "k", body=body),))
    text, origins = write_mapped(module)
    assert text == write(module)
    lines = text.split("\n")
    shown = [lines[number - 1].strip() for number, _ in origins]
    expected = [s for s in ir.walk(body) if isinstance(s, (ir.Instruction, ir.Call))]
    assert shown == [write_statement(statement) for statement in expected]
    assert [where for _, where in origins] == [statement.where for statement in expected]


@pytest.mark.parametrize(
    "operand, text",
    [
        (ir.Reg("%tid", "x"), "%tid.x"),
        (ir.Int(-4), "-4"),
        (ir.Int(0xFFFFFFFF, radix=16), "0xffffffff"),
        (ir.Int(-255, radix=16), "-0xff"),
        (ir.Int(0, radix=8), "00"),
        (ir.Int(5, True, 2), "0b101U"),
        (ir.Float(0x3F800000, 32), "0f3F800000"),
        (ir.Float(0x3FF0000000000000, 64), "0d3FF0000000000000"),
        (ir.Vec((ir.Reg("%r1"),)), "{%r1}"),
        (ir.Address(ir.Reg("%rd1"), 16), "[%rd1+16]"),
        (ir.Address(ir.Reg("%rd1"), -8), "[%rd1+-8]"),
        (ir.Address(ir.Sym("map"), 0, (ir.Vec((ir.Reg("%r1"), ir.Int(0))),)), "[map, {%r1, 0}]"),
        (ir.SymbolRef("table", 16), "table+16"),
        (ir.SymbolRef("table", -4, True, 0xFF00), "0xff00(generic(table)+-4)"),
        (ir.Pair(ir.Sink(), ir.Reg("%p1")), "_|%p1"),
        (ir.Not(ir.Reg("%p1")), "!%p1"),
        (ir.Neg(ir.Reg("%r1", "b0")), "-%r1.b0"),
        (ir.Element("table", ir.Reg("%r1")), "table[%r1]"),
    ],
)
def test_operands_look_as_written_by_hand(operand: ir.Operand, text: str) -> None:
    assert write_operand(operand) == text


HAND_WRITTEN = """\
.version 8.5
.target sm_90
.address_size 64

.global .align 4 .b32 table[2] = {1, 2};
.shared .b32 flag;

// Adds one.
.visible .entry add_one(
    .param .u64 .ptr .global .align 16 A,
    .param .u32 n
)
.maxntid 64, 1, 1
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;

    ld.param.u64    %rd1, [A];
    mov.u32         %r1, %tid.x;
    setp.ge.u32     %p1, %r1, 64;
    @%p1 bra        $done;
    cvta.to.global.u64      %rd2, %rd1;
    ld.global.L1::no_allocate.b32 %r2, [%rd2+4];
$loop:
    {
        .reg .b32 t;

        add.s32         t, %r2, 1;
        st.global.b32   [%rd2+-4], t;
    }
    // Out.
$done:
    ret;
}

.func (.param .b32 result) twice(
    .param .b32 x
);
"""


def test_a_module_looks_as_written_by_hand() -> None:
    assert write(read(HAND_WRITTEN)) == HAND_WRITTEN
