"""Declarations, initial values and directives: the verdict of each text is ptxas's, both ways."""

from __future__ import annotations

import pytest

from ptxgen.assemble import check_many, find_tool
from ptxgen.text import read
from ptxgen.verify import Problem, verify

HEADER = ".version 9.5\n.target sm_90a\n.address_size 64\n"

RIGHT = """
.global .b64 x = 1.5;
.global .b32 x = 0f3F800000;
.global .f32 x = 0d3FF0000000000000;
.global .f64 x = 0f3F800000;
.global .f16 x;
.global .f16x2 x[2];
.global .b128 x[2] = {1,2};
.global .v2 .b64 x;
.global .v4 .b8 x;
.global .v2 .b32 x[2] = {{1,2}};
.global .b32 x[][4] = {{1}};
.global .b32 x[2][2] = {{1,2},{3,4}};
.global .align 64 .b8 x[128];
.global .align 8 .texref x;
.global .texref x[2];
.global .texref t = { width = 4, height = 5, channel_data_type = 0x10 };
.global .u8 x = 300;
.global .u32 z; .global .u64 y[2] = {z + 4, generic(z) + 8};
.global .u32 z; .global .u8 y[8] = {0xff(z+4), 0xff00(generic(z))};
.extern .global .u32 z; .visible .global .u32 z; .global .u64 y = z;
.global .u64 y = y;
.const .align 8 .u64 p[2] = {generic(p)+8, 0};
.func z { ret; } .const .u64 y[2] = {0, z};
.func f; .global .u64 y = f; .func f { ret; }
.weak .shared .b32 x;
.extern .shared .align 16 .b8 x[];
.common .global .b32 x = 5;
.global .attribute(.managed) .b32 x = 4;
.entry k { .reg .v4 .f16 p; .reg .b8 q; .reg .f16x2 r; .reg .b128 s; ret; }
.entry k { .const .b32 p = 4; .shared .align 256 .b8 q[4]; .local .v2 .f64 r[3]; .param .b32 t[2]; ret; }
.entry k (.param .b8 a, .param .b128 b, .param .align 16 .b8 c[3], .param .f64 .ptr .global .align 8 d) { ret; }
.entry k (.param .texref t, .param .surfref u, .param .u64 .ptr .surfref v) { ret; }
.func f (.param .b32 a, .param .align 1 .b8 p[]) { ret; }
.func (.param .b32 r) f (.reg .b32 s) { ret; }
.entry k .maxntid 1024,2,1 .minnctapersm 2 .maxnreg 32 { ret; }
.entry k .reqntid 32 .reqnctapercluster 2 .blocksareclusters { ret; }
.entry k .explicitcluster .maxclusterrank 64 { ret; }
.file 1 "x" .entry k .minperctamemory 2048 .local_maxnreg 32 { .loc_intermediate 1 2 3 ret; }
.func f .local_maxnreg 32 { ret; }
.func f .abi_preserve 200 .abi_preserve_control 3 { ret; }
.func f .noreturn { trap; }
.visible .func b { ret; } .weak .func a; .alias a, b;
""".strip().splitlines()

WRONG = """
.global .u32 x = 1.5;
.global .s32 x = 0f3F800000;
.global .f32 x = 1;
.global .f16 x = 1;
.global .v2 .b128 x;
.global .v4 .f64 x;
.global .v2 .pred x;
.global .pred x;
.global .v2 .b32 x = 1;
.global .v2 .b32 x = {1};
.global .v2 .b32 x[2] = {1,2,3,4};
.global .b32 x[2] = 5;
.global .b32 x[2] = {1,2,3};
.global .b32 x[2] = {{1},{2}};
.global .b32 x[2][2] = {{1,2},3};
.global .b32 x = {1};
.global .b32 x[];
.global .b32 x[0];
.global .align 3 .b32 x;
.shared .b32 x = 5;
.extern .global .b32 x = 5;
.const .texref x;
.global .texref x = 5;
.global .samplerref s = { addr_mode_0 = 1 };
.global .u32 z; .global .b64 y = z;
.global .u32 z; .global .s32 y = z;
.global .u32 z; .global .u8 y = z;
.global .u32 z; .global .u8 y = 0xff0(z);
.global .u32 z; .global .u64 y = {z};
.global .u64 y = z; .global .u32 z;
.func z { ret; } .global .u64 y = z+4;
.func z { ret; } .global .u64 y = generic(z);
.shared .u32 z; .global .u64 y = z;
.common .const .b32 x;
.const .attribute(.managed) .b32 x;
.func .attribute(.managed) f { ret; }
.global .b32 x; .global .b32 x;
.extern .global .b32 x; .global .b32 x;
.global .b32 x; .func x { ret; }
.local .b32 x;
.reg .b32 q;
.param .b32 p;
.tex .u32 t;
.const[3] .b32 x[4];
.entry k { .reg .v2 .pred p; ret; }
.entry k { .reg .v4 .b64 p; ret; }
.entry k { .reg .e4m3x2 p; ret; }
.entry k { .reg .bf16 p; ret; }
.entry k { .local .b32 p = 4; ret; }
.entry k { .local .b32 p[]; ret; }
.entry k { .param .v2 .b32 p; ret; }
.entry k { .global .texref p; ret; }
.entry k { .extern .shared .b32 q[]; ret; }
.entry k (.param .pred p) { ret; }
.entry k (.param .v4 .f32 a) { ret; }
.entry k (.param .b32 p[]) { ret; }
.entry k (.reg .u32 a) { ret; }
.entry k (.param .u64 .ptr .global .align 3 p) { ret; }
.func f (.param .u64 .ptr .global p) { ret; }
.func f (.param .align 1 .b8 p[], .param .b32 a) { ret; }
.func f (.param .b32 _) { ret; }
.func (.param .b8 r[]) f () { ret; }
.func (.param .b32 r, .param .b32 s) f () { ret; }
.entry k .maxntid 0 { ret; }
.entry k .maxntid 32 .reqntid 32 { ret; }
.entry k .reqnctapercluster 2 .maxclusterrank 4 { ret; }
.entry k .blocksareclusters .maxntid 32 .reqnctapercluster 2 { ret; }
.entry k .maxnctapersm 3 .maxntid 32 { ret; }
.entry k .noreturn { ret; }
.func f .minperctamemory 2048 { ret; }
.func f .local_maxnreg 0 { ret; }
.func f .maxnreg 32 { ret; }
.func (.param .b32 r) f .noreturn { trap; }
.alias a, b;
.visible .entry b { ret; } .visible .func a; .alias a, b;
.visible .func b { ret; } .visible .func (.param .b32 r) a; .alias a, b;
@@DWARF .section .debug_info, "",@progbits
""".strip().splitlines()


def _errors(text: str) -> list[Problem]:
    return [problem for problem in verify(read(HEADER + text + "\n")) if problem.severity == "error"]


@pytest.mark.parametrize("text", RIGHT)
def test_nothing_is_wrong(text: str) -> None:
    assert list(map(str, _errors(text))) == []


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named_once(text: str) -> None:
    (problem,) = _errors(text)
    assert problem.id in ("declaration", "initializer", "directive", "duplicate")
    assert "legal: " in problem.message


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
def test_ptxas_agrees() -> None:
    texts = [*RIGHT, *WRONG]
    verdicts = check_many([HEADER + text + "\n" for text in texts], "sm_90a")
    assert [text for text, verdict in zip(texts, verdicts) if verdict.ok] == RIGHT


MESSAGES = {
    ".global .f32 x = 1;": "the integer 1 stands where x is .f32\n  see: PTX ISA 5.4.4\n  legal: 1.0",
    ".global .v4 .f64 x;": ".v4 .f64 has 256 bits\n  see: PTX ISA 5.4.2\n  legal: .v2 and .v4, of at most 128 bits",
    ".entry k { .reg .e4m3x2 p; ret; }": (
        ".e4m3x2 is a type of instructions, not of what is declared\n  see: PTX ISA 5.2.3\n  legal: .b16"
    ),
    ".func f .maxnreg 32 { ret; }": ".maxnreg stands at a .func\n  see: PTX ISA 11.4.1\n  legal: .maxnreg is for .entry",
    ".global .u32 z; .global .b64 y = z;": (
        "the address of z stands where y is .b64\n  see: PTX ISA 5.4.4\n  legal: .u64; .u8 where a mask takes one byte of it"
    ),
}


@pytest.mark.parametrize("text", MESSAGES)
def test_the_whole_message(text: str) -> None:
    (problem,) = _errors(text)
    assert problem.message == MESSAGES[text]


def test_intermediate_places_need_their_version() -> None:
    (problem,) = verify(read('.version 9.3\n.target sm_75\n.file 1 "x" .entry k { .loc_intermediate 1 2 3 ret; }'))
    assert problem.message == (
        ".loc_intermediate: needs PTX 9.4; the module says .version 9.3\n  see: PTX ISA 11.5.5\n  legal: .version 9.4"
    )


def test_directives_need_their_version_and_target() -> None:
    text = ".version 7.0\n.target sm_75\n.entry k .explicitcluster { ret; } .func f .noreturn { ret; }\n"
    assert [(problem.id, problem.focus) for problem in verify(read(text)) if problem.severity == "error"] == [
        ("version", ".explicitcluster"), ("target", ".explicitcluster"),
    ]  # fmt: skip
