"""What the reader says of a text that is no PTX: where, what was expected, what was found, all of it at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import ReadError, read, read_instruction, write
from tests.text import strategies

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"

STATEMENTS = {
    "add.u32 %r1, %r2,;": (18, "expected an operand, found ';'"),
    "add.u32 %r1 %r2;": (13, "expected ',' or ';', found '%r2'"),
    "mov.b64 {%r1 %r2}, %rd1;": (14, "expected ',' or '}', found '%r2'"),
    "mov.b64 {}, %rd1;": (10, "expected an operand, found '}'"),
    "ld.global.u32 %r1, [%rd1;": (25, "expected '+', ',' or ']', found ';'"),
    "ld.global.u32 %r1, [];": (21, "expected an address: a register, a variable or an integer, found ']'"),
    "ld.global.u32 %r1, [%rd1+1.0];": (26, "expected an integer offset, found a floating constant"),
    "mov.u32 %r1, 08;": (14, "'08' is no number of PTX (ISA 4.5)"),
    "mov.u32 %r1, 5u;": (14, "'5u' is no number of PTX (ISA 4.5)"),
    "mov.u32 %r1, 0f3F80;": (14, "'0f3F80' is no number of PTX (ISA 4.5)"),
    "mov.u32 %r1, 36893488147419103232;": (14, "expected a number of at most 64 bits, found '36893488147419103232'"),
    "mov.f64 %fd1, 1.0e400;": (15, "expected a number that a double can hold, found '1.0e400'"),
    "mov.u32 %r1, 1/0;": (15, "a constant expression divides by zero"),
    "mov.f32 %f1, 1.0+2;": (17, "'+' takes two integers or two floating constants (ISA 4.5.6)"),
    "mov.f32 %f1, ~1.0;": (14, "'~' takes integers (ISA 4.5.6)"),
    "mov.f32 %f1, -0f3F800000;": (
        14,
        "'-' does not apply to a single-precision pattern; set its sign bit instead (ISA 4.5.2)",
    ),
    "mov.u32 %r1, (.u32)4;": (15, "expected a cast to '.u64' or '.s64', found '.u32'"),
    "mov.f32 %f1, v.x;": (14, "'v' is declared as no register, so it has no part '.x'"),
    "mov.u32 %r1, $;": (14, "expected an operand, found '$'"),
    "@ mov.u32 %r1, 1;": (6, "expected an instruction, found '.u32'"),
    "@!5 mov.u32 %r1, 1;": (3, "expected a predicate register, found '5'"),
    "call (%r1;": (10, "expected ',' or ')', found ';'"),
    "call (%r1) f;": (12, "expected ',', found 'f'"),
    "call f, (%r1), 5;": (16, "expected call targets or a prototype, found '5'"),
    ".regg .b32 %r1;": (1, "expected a statement, found '.regg'; nearest: .reg"),
    ".reg .b31 %r1;": (6, "expected a type, found '.b31'; nearest: .b32, .b16"),
    ".reg .b32 %r<n>;": (14, "expected a count of names, found 'n'"),
    ".reg .b32 .f32 %r;": (11, "expected a name, found '.f32'"),
    ".reg %r1;": (6, "expected a type such as '.b32', found '%r1'"),
    ".local .align x .b32 a;": (15, "expected an alignment in bytes, found 'x'"),
    ".local .b32 a[1.5];": (15, "expected an extent or ']', found a floating constant"),
    ".pragma nounroll;": (9, "expected a string, found 'nounroll'"),
    ".loc 1 2;": (9, "expected a column, found ';'"),
    ".loc 1 2 3, function L;": (13, "expected 'function_name', found 'function'"),
    "t: .branchtargets 5;": (19, "expected a target's name, found '5'"),
    "p: .callprototype (.local .b32 x) _;": (20, "expected a parameter: '.param' or '.reg', found '.local'"),
    "= 5;": (1, "expected a statement, found '='"),
    "/* open": (1, "this comment is never closed"),
    "mov.u32 /* open": (9, "this comment is never closed"),
    '.pragma "nounroll;': (9, "this string is not closed on its line"),
    "ld.global.b32 %r1, table[%r2;": (29, "expected ']', found ';'"),
}  # fmt: skip


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_faulty_statement_is_explained_and_reading_goes_on(text: str) -> None:
    column, message = STATEMENTS[text]
    with pytest.raises(ReadError) as caught:
        read(f"{HEADER}.entry k()\n{{\n{text}\nmov.u32 %r1, ?;\n}}\n", filename="k.ptx")
    first, *others = caught.value.problems
    assert (first.position, first.message, first.source) == (("k.ptx", 6, column), message, text)
    if "/*" not in text:
        assert [problem.message for problem in others] == ["expected an operand, found '?'"]


SECTION_DATA = "a label, or '.b8', '.b16', '.b32' or '.b64' with numbers, labels or differences of labels"
ITEMS = {
    ".globl k": (1, "expected a declaration or a function, found '.globl'; nearest: .global, .local"),
    "mov.u32 %r1, 1;": (1, "expected a declaration or a function, found 'mov'"),
    "}": (1, "this '}' closes nothing"),
    ".visible .entri k() { ret; }": (10, "expected '.entry', '.func' or a state space, found '.entri'"),
    ".entry k() .maxnreq 4 { ret; }": (
        12,
        "expected a directive of a function, '{' or ';', found '.maxnreq'; nearest: .maxnreg, .local_maxnreg",
    ),
    ".entry k() .maxntid { ret; }": (21, "expected an integer for '.maxntid', found '{'"),
    ".entry k(.param .u32) { ret; }": (21, "expected the parameter's name, found ')'"),
    ".entry k(.param .u32 a .param .u32 b) { ret; }": (24, "expected ',' or ')', found '.param'"),
    ".entry { ret; }": (8, "expected the function's name, found '{'"),
    ".func f() = 4;": (11, "expected a directive, '{' or ';', found '='"),
    ".global .u32 a[2] = {1, 2;": (26, "expected ',' or '}', found ';'"),
    ".global .u32 a = 1 2;": (20, "expected ',' or ';', found '2'"),
    ".global .u8 a[] = {1.0(b)};": (20, "expected an integer mask in front of '('"),
    ".global .attribute(managed) .u32 a;": (20, "expected an attribute such as '.managed', found 'managed'"),
    ".file 1 a": (9, "expected a file's name in quotes, found 'a'"),
    ".alias f g;": (10, "expected ',', found 'g'"),
    ".section .debug_str { .b8 1; .b8 2 }": (28, f"expected {SECTION_DATA}, found ';'"),
    ".section .debug_str { /* ; */ .b8 x.y }": (31, f"expected {SECTION_DATA}, found '.b8'"),
    ".section .debug_str { .b24 1 }": (23, f"expected {SECTION_DATA}, found '.b24'"),
    ".visible .attribute(.managed) .func f() { ret; }": (31, "expected a state space, found '.func'"),
    ".nv_intermediate_source_section { .code_block { .ir_name: x } }": (59, "expected a name in quotes, found 'x'"),
    ".nv_intermediate_source_section { .ir_name }": (35, "expected '.code_block', found '.ir_name'"),
    '.nv_intermediate_source_section { .code_block { .ir_name: "" .sourceFileName: 1 .source_begin } }': (
        81,
        "expected lines of any text, and '.source_end' on a line of its own",
    ),
    ".section 5 {}": (10, "expected a section's name, found '5'"),
}  # fmt: skip


@pytest.mark.parametrize("text", ITEMS)
def test_a_faulty_item_is_explained_and_reading_goes_on(text: str) -> None:
    column, message = ITEMS[text]
    with pytest.raises(ReadError) as caught:
        read(f"{HEADER}{text}\n.global .u32 last = ?;\n")
    first, *others = caught.value.problems
    assert (first.position, first.message) == ((None, 4, column), message)
    assert [problem.message for problem in others] == ["expected a constant, found '?'"]


@pytest.mark.parametrize(
    "text, line, column, message",
    [
        ("", 1, 1, "expected '.version', found the end of the text"),
        ("hello", 1, 1, "expected '.version', found 'hello'"),
        (".target sm_90", 1, 1, "expected '.version', found '.target'"),
        (".version 8\n.target sm_90", 1, 10, "expected a version such as 8.0, found '8'"),
        (".version 8.0\n.entry k() {}", 2, 1, "expected '.target', found '.entry'"),
        (".version 8.0\n.target 90", 2, 9, "expected a target such as sm_90, found '90'"),
        (".version 8.0\n.target sm_90\n.address_size 16", 3, 15, "expected 32 or 64, found '16'"),
        (HEADER + ".entry k() { ret; ", 4, 19, "expected '}' to close the body, found the end of the text"),
        (HEADER + ".entry k() { ret;\n.visible .entry l() { ret; }", 5, 1, "expected '}' to close the body before '.visible'"),
        (HEADER + ".entry k() { { ret; }", 4, 22, "expected '}' to close the body, found the end of the text"),
        (HEADER + ".section .debug_str {", 4, 21, "expected '}' to close the section, found '{'"),
    ],
)
def test_what_is_missing_around_statements(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ReadError) as caught:
        read(text)
    (problem,) = caught.value.problems
    assert (problem.position, problem.message) == ((None, line, column), message)


def test_the_whole_message() -> None:
    text = HEADER + ".entry k()\n{\n\tmov.u32\t%r1, %r2 // copy\n\tadd.u32\t%r1, %r2;\n    ld.b32 %r1, [%rd1;\n}\n"
    with pytest.raises(ReadError) as caught:
        read(text, filename="k.ptx")
    assert str(caught.value) == (
        "k.ptx:6:18: expected ',' or ';' at the end of the line\n"
        "    \tmov.u32\t%r1, %r2 // copy\n"
        "    \t       \t        ^\n"
        "k.ptx:8:22: expected '+', ',' or ']', found ';'\n"
        "        ld.b32 %r1, [%rd1;\n"
        "                         ^"
    )
    assert isinstance(caught.value, (PtxgenError, ValueError))


def test_one_instruction_alone() -> None:
    cases = {
        "ret": "expected an operand, found the end of the text",
        "ret; ret;": "expected the end of the text, found 'ret'",
    }
    for text, message in cases.items():
        with pytest.raises(ReadError) as caught:
            read_instruction(text)
        assert caught.value.problems[0].message == message


def test_reading_stops_after_fifty_problems() -> None:
    with pytest.raises(ReadError) as caught:
        read(HEADER + ".entry k() {\n" + "mov ?;\n" * 1000 + "}")
    assert len(caught.value.problems) == 50


@settings(max_examples=150, deadline=None)
@given(strategies.modules, st.data())
def test_damaged_texts_are_read_or_refused_and_never_else(module: object, data: st.DataObject) -> None:
    text = write(module)  # type: ignore[arg-type]
    place = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 8))
    text = text[:place] + data.draw(st.text('{}[]();,.:%$@!|_+-"/*#=<> \na0', max_size=4)) + text[place + length :]
    try:
        again = read(text)
    except ReadError as error:
        assert error.problems
    else:
        assert read(write(again)) == again


@pytest.mark.parametrize("filler", ["/*", "a.", "{", "[", "%r1, ", "(", "-", ".x::", "\n", '"', "a:", "{1,", "0?", "1+", "@"])
@pytest.mark.parametrize("start", ["", ".entry k() { mov.u32 ", ".entry k() { ", ".global .u32 a = ", ".section .d { .b8 1, 2"])
def test_the_longest_nonsense_is_refused_in_words(start: str, filler: str) -> None:
    """No depth of nesting ends in Python's own recursion error, and no expression backtracks for minutes."""
    with pytest.raises(ReadError):
        read(HEADER + start + filler * 5000 + "?}")
