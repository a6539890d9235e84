"""`verify` against ptxas: what it calls an error ptxas refuses, and it finds no error in what ptxas takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxgen.assemble.referee import check_many
from ptxgen.assemble.tools import find_tool
from ptxgen.certify.gates import version_before
from ptxgen.certify.statements import Statement, statements_of
from ptxgen.certify.surroundings import module
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.registry import FAMILIES, family_entries
from ptxgen.text import read
from ptxgen.verify import Problem, verify

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
REPOSITORY = Path(__file__).parents[2]
TEXTS = sorted(path for folder in ("tests", "examples", "ptxgen") for path in (REPOSITORY / folder).rglob("*.ptx"))


def _text(outside: str, body: str, version: str = "8.8", target: str = "sm_90") -> str:
    return f".version {version}\n.target {target}\n.address_size 64\n{outside}\n.visible .entry k()\n{{\n{body}\nret;\n}}\n"


def _errors(text: str) -> list[Problem]:
    return [problem for problem in verify(read(text)) if problem.severity == "error"]


# (what stands outside, body, the ids of all errors)
CASES: dict[str, tuple[str, str, list[str]]] = {
    "use before the declaration": ("", "mov.b32 %r1, 1; .reg .b32 %r<5>;", ["undeclared-register"]),
    "a family's end": ("", ".reg .b32 %r<5>; mov.b32 %r5, 1;", ["undeclared-register"]),
    "leading zeros": ("", ".reg .b32 %r<5>; mov.b32 %r01, 1;", []),
    "a register inside a family": ("", ".reg .b32 %r<5>; .reg .b32 %r3;", ["duplicate"]),
    "a register behind a family": ("", ".reg .b32 %r<5>; .reg .b32 %r5;", []),
    "a family twice": ("", ".reg .b32 %r<5>; .reg .b32 %r<3>;", ["duplicate"]),
    "a register twice": ("", ".reg .b32 a; .reg .f32 a;", ["duplicate"]),
    "a register in two scopes": ("", ".reg .b32 a; { .reg .f32 a; mov.f32 a, 0f00000000; }", []),
    "a register of an inner scope": ("", "{ .reg .b32 a; } mov.b32 a, 1;", ["undeclared-name"]),
    "a label as a register": ("", ".reg .b32 a; a: ret;", ["duplicate"]),
    "a label twice": ("", "L: L:", ["duplicate"]),
    "a label in two scopes": ("", "L: { L: bra L; }", []),
    "a branch into a scope": ("", "bra M; { M: ret; }", ["undeclared-label"]),
    "a branch out of a scope": ("", "{ bra M; } M:", []),
    "a branch to a variable": (".global .b32 g;", "bra g;", ["undeclared-label"]),
    "a branch list": ("", ".reg .b32 %r; T: .branchtargets A, B; mov.b32 %r, 0; brx.idx %r, T; A: B:", []),
    "a branch list of no labels": ("", ".reg .b32 %r; T: .branchtargets A, B; mov.b32 %r, 0; brx.idx %r, T; A:", ["undeclared-label"]),
    "a register as an array": ("", ".reg .b64 a; .reg .b32 b, c; ld.global.b32 b, a[c];", ["not-a-variable"]),
    "a guard of bits": ("", ".reg .b32 a; @a ret;", ["guard"]),
    "a guard": ("", ".reg .pred p; setp.eq.u32 p, 1, 2; @!p ret;", []),
    "a float as an address": ("", ".reg .f64 a; .reg .b32 b; ld.global.b32 b, [a];", ["address-type"]),
    "signed as an address": ("", ".reg .s64 a; .reg .b32 b; ld.global.b32 b, [a];", []),
    "a variable in another space": (".shared .b32 s;", ".reg .b32 b; ld.global.b32 b, [s];", ["illegal-operand"]),
    "a constant without its space": (".const .b32 c;", ".reg .b32 b; ld.b32 b, [c];", ["illegal-operand"]),
    "global and shared without their space": (".global .b32 g; .shared .b32 s;", ".reg .b32 b; ld.b32 b, [g]; st.b32 [s], b;", []),
    "a layer beside coordinates": (
        "", ".reg .u32 l; .reg .f32 x, a, b, c, d; .reg .b64 t; tex.a1d.v4.f32.f32 {a, b, c, d}, [t, {l, x}];", []
    ),
    "a part of the accesses": ("", ".reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 0.5;", []),
    "more than all accesses": ("", ".reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.5;", ["illegal-operand"]),
    "more bytes than 2**63, in 32 bits": (
        "", ".reg .b64 p, a; createpolicy.range.L2::evict_first.b64 p, [a], 1, 9223372036854775808;", ["illegal-operand"]
    ),
    "a component of a vector of two": ("", ".reg .v2 .f32 v; .reg .f32 f; mov.f32 f, v.y;", []),
    "a part of a register": ("", ".reg .b32 r; mov.b32 r, 1; vadd.u32.u32.s32 r.h1, -r, r.b3, r;", ["illegal-operand"]),
    "parts of registers": ("", ".reg .b32 r; mov.b32 r, 1; vadd.u32.u32.s32 r.h1, r, r.b3, r; vmad.s32.u32.u32 r, r.b0, -r.h1, r;", []),
    "a part that is none": ("", ".reg .b32 r; mov.b32 r, 1; vadd2.u32.u32.u32 r.h10, r.b1, r.h33, r;", ["illegal-operand"]),
    "a part for another instruction": ("", ".reg .b32 r; mov.b32 r, 1; add.u32 r, r.b1, r;", ["illegal-operand"]),
    "a texture": (".global .texref t;", ".reg .f32 x<5>; tex.1d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4}];", []),
    "a surface as a texture": (".global .surfref t;", ".reg .f32 x<5>; tex.1d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4}];",
                               ["illegal-operand"]),
    "memory as a texture": (".global .b32 t;", ".reg .f32 x<5>; tex.1d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4}];", ["illegal-operand"]),
    "coordinates padded to four": ("", """.reg .f32 x<9>; .reg .b32 i; .reg .b64 t; mov.b64 t, 0;
        tex.1d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4, x5, x6, x7}]; tex.2d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4, x5, x6, x7}];
        tex.a1d.v4.f32.f32 {x0, x1, x2, x3}, [t, {i, x5, x6, x7}]; tld4.r.2d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4, x5, x6, x7}];""", []),
    "coordinates padded to three": ("", ".reg .f32 x<9>; .reg .b64 t; tex.2d.v4.f32.f32 {x0, x1, x2, x3}, [t, {x4, x5, x6}];",
                                    ["illegal-operand"]),
    "a texture with an offset": (".global .texref t;", ".reg .b32 x; txq.width.b32 x, [t+8];", ["illegal-operand"]),
    "half an address of a surface": ("", ".reg .b32 x<2>; mov.b32 x1, 0; suq.width.b32 x0, [x1];", ["illegal-operand"]),
    "a negated register": ("", ".reg .b32 r; .reg .pred p; selp.b32 r, -r, 0, p;", ["illegal-operand"]),
    "a component of a scalar": ("", ".reg .f32 v; .reg .f32 f; mov.f32 f, v.x;", ["no-component"]),
    "an unknown variable": ("", ".reg .b32 b; ld.global.b32 b, [g];", ["undeclared-name"]),
    "a variable's address": (".global .b32 g;", ".reg .b64 b; mov.b64 b, g; mov.u64 b, g+4;", []),
    "a label's address": ("", ".reg .b64 b; mov.b64 b, g;", ["undeclared-name"]),
    "an element": (".global .b32 g[4];", ".reg .b32 b; .reg .b64 c; ld.global.b32 b, g[1]; mov.u64 c, g[2];", []),
    "an element of nothing": ("", ".reg .b32 b; ld.global.b32 b, g[1];", ["undeclared-name"]),
    "an unknown register": ("", ".reg .b32 b; mov.b32 b, %foo;", ["undeclared-register"]),
    "a special register": ("", ".reg .b32 b; .reg .b16 h; mov.u32 b, %tid.x; mov.u16 h, %ntid.y; mov.u32 b, %laneid;", []),
    "a special register's vector": ("", ".reg .b32 b; mov.u32 b, %tid;", ["illegal-operand"]),
    "a special register in an addition": ("", ".reg .b32 b; add.u32 b, b, %laneid;", ["illegal-operand"]),
    "WARP_SZ": ("", ".reg .b32 b; mov.u32 b, WARP_SZ;", []),
    "another type": ("", ".reg .u32 b; .reg .f32 f; add.f32 f, b, f;", ["illegal-operand"]),
    "another width": ("", ".reg .b64 b; add.u32 b, b, b;", ["illegal-operand"]),
    "too few operands": ("", ".reg .b32 b; add.u32 b, b;", ["illegal-instruction"]),
    "an unknown qualifier": ("", ".reg .b32 b; add.nope.u32 b, b, b;", ["illegal-instruction"]),
    "an unknown instruction": ("", ".reg .b32 b; adde.u32 b, b, b;", ["unknown-instruction"]),
    "vectors": ("", ".reg .v4 .f32 v; .reg .f32 f; .reg .b64 a; ld.global.v4.f32 v, [a]; mov.f32 f, v.x; st.global.v4.f32 [a], v;", []),
    "a parameter's shadow": (".func f(.reg .b32 x) { .reg .b32 x; ret; }", "", ["duplicate"]),
    "a variable twice": (".global .b32 g; .global .b32 g;", "", ["duplicate"]),
    "a function twice": (".func f() { ret; } .func f() { ret; }", "", ["duplicate"]),
    "a function declared before": (".func f(.param .b32 a); .func f(.param .b32 a) { ret; }", "", []),
    "a function declared otherwise": (".func f(.param .b32 a); .func f(.param .b64 a) { ret; }", "", ["redeclared"]),
    "call: a register": (".func f(.reg .b32 x) { ret; }", ".reg .f32 a; call f, (a);", []),
    "call: u32 for s32": (".func f(.reg .s32 x) { ret; }", ".reg .u32 a; call f, (a);", []),
    "call: f32 for u32": (".func f(.reg .u32 x) { ret; }", ".reg .f32 a; call f, (a);", ["call"]),
    "call: another width": (".func f(.reg .b32 x) { ret; }", ".reg .b64 a; call f, (a);", ["call"]),
    "call: register for .param": (".func f(.param .b32 x) { ret; }", ".reg .f32 a; call f, (a);", []),
    "call: wide register for .param": (".func f(.param .b32 x) { ret; }", ".reg .b64 a; call f, (a);", ["call"]),
    "call: .param": (".func f(.param .b32 x) { ret; }", ".param .f32 a; call f, (a);", []),
    "call: wide .param": (".func f(.param .b32 x) { ret; }", ".param .b64 a; call f, (a);", ["call"]),
    "call: fewer bytes": (".func f(.param .align 8 .b8 x[16]) { ret; }", ".param .align 8 .b8 a[8]; call f, (a);", ["call"]),
    "call: alignment": (".func f(.param .align 8 .b8 x[16]) { ret; }", ".param .align 16 .b8 a[16]; call f, (a);", ["call"]),
    "call: constants": (".func f(.param .b32 x) { ret; }", "call f, (7); call f, (0f3F800000);", []),
    "call: no arguments": (".func f(.param .b32 x) { ret; }", "call f;", ["call"]),
    "call: too many": (".func f(.param .b32 x) { ret; }", "call f, (1, 2);", ["call"]),
    "call: no result": (".func (.param .b32 r) f() { ret; }", "call f, ();", ["call"]),
    "call: results": (".func (.param .b32 r) f() { ret; }", ".reg .b32 a; call (a), f, (); call (_), f, ();", []),
    "call: through a prototype": ("", ".reg .b64 p; .reg .b32 a; P: .callprototype _ (.param .b32 _); mov.b64 p, 0; call p, (a), P;", []),
    "call: nothing": ("", "call f;", ["undeclared-name"]),
    "call: before its declaration": ("", "call later;\nret;\n}\n.func later()\n{", ["undeclared-name"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_names_and_operands(name: str) -> None:
    outside, body, expected = CASES[name]
    assert [problem.id for problem in _errors(_text(outside, body))] == expected


@needs_ptxas
def test_ptxas_is_of_the_same_opinion() -> None:
    verdicts = check_many([_text(outside, body) for outside, body, _ in CASES.values()], "compute_90")
    differing = [name for (name, (_, _, ids)), verdict in zip(CASES.items(), verdicts) if verdict.ok == bool(ids)]
    assert differing == []


# ---- versions and targets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "version, target, body, expected",
    [
        ("7.8", "sm_90", "cvt.rn.f16x2.e4m3x2 %r1, %rs1;", []),
        ("8.0", "sm_89", "cvt.rn.f16x2.e4m3x2 %r1, %rs1;", ["version"]),
        ("8.1", "sm_89", "cvt.rn.f16x2.e4m3x2 %r1, %rs1;", []),
        ("7.8", "sm_90", "mov.u32 %r1, %clusterid.x;", []),
        ("7.0", "sm_80", "mov.u32 %r1, %clusterid.x;", ["version", "target"]),
        ("7.8", "sm_80", "mov.u32 %r1, %clusterid.x;", ["target"]),
        ("7.4", "sm_90", "mov.u32 %r1, 0;", ["version"]),
        ("8.8", "sm_100", "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd1];", []),
        ("8.8", "sm_90", "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd1];", ["target"]),
        ("8.7", "sm_100", "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd1];", ["version"]),
        ("8.8", "sm_91", "", ["target"]),
    ],
)
def test_versions_and_targets(version: str, target: str, body: str, expected: list[str]) -> None:
    text = _text("", ".reg .b16 %rs<2>; .reg .b32 %r<8>; .reg .b64 %rd<2>;\n" + body, version, target)
    assert [problem.id for problem in _errors(text)] == expected
    if find_tool("ptxas") is not None and target != "sm_91":
        (verdict,) = check_many([text], target.replace("sm_", "compute_"))
        assert verdict.ok == (not expected), verdict.log


def test_an_old_target_is_noted_not_refused() -> None:
    (problem,) = verify(read(_text("", "", "6.0", "sm_52")))
    assert (problem.severity, problem.id) == ("note", "target")


@pytest.mark.parametrize("written, wanted, runs", [("sm_80", "sm_90", True), ("sm_90a", "sm_100", False), ("sm_90", "sm_80", False)])
def test_the_target_asked_for(written: str, wanted: str, runs: bool) -> None:
    problems = verify(read(_text("", "", "8.8", written)), target=wanted)
    assert [problem.id for problem in problems] == ([] if runs else ["target"])


# ---- accesses to variables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variable, statement, expected",
    [
        (".align 16 .b8 s[64]", "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [s+16];", []),
        (".align 16 .b8 s[64]", "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [s+48];", []),
        (".align 16 .b8 s[64]", "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [s+8];", ["misaligned"]),
        (".align 4 .b8 s[64]", "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [s];", ["misaligned"]),
        (".b32 s[4]", "ld.shared.b32 %r0, [s+12];", []),
        (".b32 s[4]", "ld.shared.b32 %r0, [s+16];", ["out-of-bounds"]),
        (".b32 s[4]", "st.shared.b32 [s+-4], %r0;", ["out-of-bounds"]),
        (".b32 s[4]", "ld.shared.b64 %rd0, [s+8];", ["misaligned"]),
    ],
)
def test_accesses_by_name(variable: str, statement: str, expected: list[str]) -> None:
    problems = verify(read(_text(f".shared {variable};", ".reg .b32 %r<4>; .reg .b64 %rd<2>;\n" + statement)))
    assert [(problem.severity, problem.id) for problem in problems] == [("warning", id) for id in expected]


def test_a_component_past_the_end_is_a_warning() -> None:
    (problem,) = verify(read(_text("", ".reg .v2 .f32 v; .reg .f32 f; mov.f32 f, v.z;")))
    assert (problem.severity, problem.id) == ("warning", "no-component")
    assert problem.message == "v.z: v has the components .x, .y (PTX ISA 6.4.3)"


def test_dynamic_shared_memory_has_no_end() -> None:
    text = _text(".extern .shared .align 16 .b8 dynamic[];", ".reg .b32 %r<4>; ld.shared.b32 %r1, [dynamic+4096];")
    assert verify(read(text)) == []


# ---- no false alarms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_text_of_this_repository(path: Path) -> None:
    found = [str(problem) for problem in verify(read(path.read_text(encoding="utf-8"))) if problem.severity != "note"]
    assert found == []


def _statements() -> Iterator[Statement]:
    for family in FAMILIES:
        for entry in family_entries(family):
            for form in forms(entry):
                yield from statements_of(form)


def test_nothing_is_wrong_with_any_legal_form() -> None:
    batches: dict[tuple[tuple[int, int], str, str], list[str]] = {}
    for statement in _statements():
        batches.setdefault((statement.version, statement.target, statement.place), []).append(statement.text)
    for (version, target, place), texts in batches.items():
        text, _ = module(texts, version, target, place)
        assert [str(problem) for problem in verify(read(text))] == []


def test_a_form_is_refused_by_the_version_before() -> None:
    batches: dict[tuple[tuple[int, int], str, str], list[str]] = {}
    for statement in _statements():
        before = version_before(statement.match)
        if before is not None:
            batches.setdefault((*before, statement.place), []).append(statement.text)
    assert batches
    for (version, target, place), texts in batches.items():
        text, first = module(texts, version, target, place)
        refused = {problem.position.line - first for problem in verify(read(text)) if problem.id in ("version", "target")}
        accepted = [one for number, one in enumerate(texts) if number not in refused]
        assert accepted == []


# ---- what has no contract yet -------------------------------------------------------------------------------------------


def test_instructions_without_a_contract_are_noted_once() -> None:
    text = _text("", ".reg .b32 %r<4>;\nshfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\nshfl.sync.idx.b32 %r1, %r2, 0, 31, -1;")
    known = "shfl" in {head for heads in FAMILIES.values() for head in heads}
    assert [(problem.severity, problem.id) for problem in verify(read(text))] == ([] if known else [("note", "not-yet-known")])


def test_a_message_in_full() -> None:
    text = _text("", ".reg .u32 %r<2>;\n.reg .f32 %f<2>;\n@%r1 bra DUNE;\nadd.f32 %f0, %r1, %f1;\nDONE:")
    assert [str(problem) for problem in verify(read(text, filename="k.ptx"))] == [
        "k.ptx:9:1: error guard: the guard @%r1 is .u32, not a predicate (PTX ISA 9.3)\n  legal: a register of .pred",
        "k.ptx:9:1: error undeclared-label: bra: DUNE is no label in sight\n"
        "  rule: a branch goes to a label of the same scope or of one around it (PTX ISA 4.4)\n"
        "  legal: nearest: DONE",
        "k.ptx:10:1: error illegal-operand: add.f32, operand a: %r1 is .u32 where the instruction takes .f32\n"
        "  rule: a register has the operand's size, and its type or untyped bits (PTX ISA 9.4)\n"
        "  legal: a register of .f32 or .b32, or a constant",
    ]


def test_samplers_are_named_in_independent_mode() -> None:
    """``.target`` decides whether a sampler stands beside its texture (ISA 5.3)."""
    outside = ".global .texref t;\n.global .samplerref s;"
    body = ".reg .b32 x<5>;\nmov.b32 x4, 0;\ntex.1d.v4.u32.s32 {x0, x1, x2, x3}, [t, s, {x4}], {1};\n"
    mode = "sm_90, texmode_independent"
    good = _text(outside, body + "txq.filter_mode.b32 x0, [s];", target=mode)
    bad = _text(outside, body.replace("t, s", "t"), target=mode)
    assert not _errors(good)
    assert [problem.id for problem in _errors(bad)] == ["illegal-instruction"]
    assert "in independent mode a sampler is named beside the texture" in _errors(bad)[0].message
    if find_tool("ptxas") is not None:
        assert [verdict.ok for verdict in check_many([good, bad], "compute_90")] == [True, False]


def test_qualifiers_in_another_order_are_noted_and_their_operands_checked() -> None:
    text = "\n.reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .f64 %fd<3>;\nred.add.global.relaxed.gpu.f64 [%rd1], {};"
    (note,) = verify(read(_text("", text.format("%fd1"))))
    assert (note.severity, note.id, note.focus) == ("note", "qualifier-order", "red.add.global.relaxed.gpu.f64")
    assert note.message.splitlines()[0] == (
        "red.add.global.relaxed.gpu.f64: the ISA writes these qualifiers in another order: red.add.relaxed.gpu.global.f64"
    )
    (error,) = _errors(_text("", text.format("%r2")))
    assert (error.severity, error.id, error.focus) == ("error", "illegal-operand", "%r2")


def test_types_in_another_order_are_wrong() -> None:
    (error,) = verify(read(_text("", ".reg .f32 %f<3>; .reg .f64 %fd<3>;\ncvt.f32.rn.f64 %fd1, %f1;")))
    assert (error.severity, error.id) == ("error", "illegal-instruction")


CALLS = {
    ".reg .v2 .b32 v; call f, (v);": "",
    ".reg .v4 .b32 v; call f, (v);": "v has 4 elements where 2 are passed",
    ".reg .b32 a, b; call f, (a);": "a has 1 elements where 2 are passed",
    ".reg .b32 a, b; call f, ({a, b});": "{a, b} cannot stand in a list of arguments",
}


@pytest.mark.parametrize("call", CALLS)
def test_vectors_of_registers_are_passed_whole(call: str) -> None:
    found = verify(read(_text(".func f (.reg .v2 .b32 x) { ret; }", call)))
    assert [CALLS[call] in problem.message for problem in found] == [True] * bool(CALLS[call])
    assert check_many([_text(".func f (.reg .v2 .b32 x) { ret; }", call)], "sm_90")[0].ok == (not CALLS[call])


def test_forms_of_old_targets_are_not_judged() -> None:
    body = ".reg .f32 %f<4>; .reg .pred %p<3>;\nmad.f32 %f1, %f2, %f3, %f1; vote.all.pred %p1, %p2; mov.f32 %f9, %f1;"
    text = _text("", body, "2.1", "sm_20")
    assert [(one.severity, one.id) for one in verify(read(text))] == [
        ("note", "target"), ("note", "illegal-instruction"), ("note", "illegal-instruction"), ("error", "undeclared-register"),
    ]  # fmt: skip
