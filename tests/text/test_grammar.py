"""Every item of PTX's grammar, read into the tree that it means; ptxas accepts each text as it stands and as we write it."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest

from ptxgen import ir
from ptxgen.assemble import check_many, check_statements, find_tool
from ptxgen.ir import Address, Call, Element, Float, Guard, Instruction, Int, Neg, Not, Pair, Reg, RegDecl, Sink, Sym, Vec
from ptxgen.text import read, read_instruction, write, write_statement

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
HEADER = ".version 9.4\n.target sm_90a\n.address_size 64\n"
DECLARATIONS = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<4>; .reg .v2 .f32 %v;"
MODULE = ".global .align 16 .b32 table[64];\n.func (.param .b32 r) twice (.param .b32 x) { ret; }\n.func nothing { ret; }\n"
R, RD, F, P = (lambda n, letter=letter: Reg(f"%{letter}{n}") for letter in ("r", "rd", "f", "p"))  # type: ignore[misc]

INSTRUCTIONS = {
    "ret;": Instruction("ret"),
    "mov.u32 %r1, %tid.x;": Instruction("mov.u32", (R(1), Reg("%tid", "x"))),
    "mov.f32 %f1, %v.y;": Instruction("mov.f32", (F(1), Reg("%v", "y"))),
    "@%p1 mov.b32 %r1, 0x10;": Instruction("mov.b32", (R(1), Int(16, radix=16)), Guard(P(1))),
    "@!%p1\tmov.b32 %r1,%r2 ;": Instruction("mov.b32", (R(1), R(2)), Guard(P(1), True)),
    "@ ! %p1 mov .b32 %r1, -4;": Instruction("mov.b32", (R(1), Int(-4)), Guard(P(1), True)),
    "mov.b32 %r1, WARP_SZ;": Instruction("mov.b32", (R(1), Sym("WARP_SZ"))),
    "mov.b64 %rd1, {%r1, %r2};": Instruction("mov.b64", (RD(1), Vec((R(1), R(2))))),
    "mov.b64 {_, %r2}, %rd1;": Instruction("mov.b64", (Vec((Sink(), R(2))), RD(1))),
    "ld.global.v4.b32 {%r1, %r2,\n  %r3, _}, [%rd1 + 16];": Instruction(
        "ld.global.v4.b32", (Vec((R(1), R(2), R(3), Sink())), Address(RD(1), 16))
    ),
    "ld.global.b32 %r1, [%rd1+-8];": Instruction("ld.global.b32", (R(1), Address(RD(1), -8))),
    "ld.global.b32 %r1, [%rd1+4*(2+1)];": Instruction("ld.global.b32", (R(1), Address(RD(1), 12))),
    "ld.global.b32 %r1, [%rd1+0];": Instruction("ld.global.b32", (R(1), Address(RD(1), plus_zero=True))),
    "ld.global.b32 %r1, [%rd1+4].unified;": Instruction("ld.global.b32", (R(1), Address(RD(1), 4, unified=True))),
    "ld.global.b32 %r1, [table+8];": Instruction("ld.global.b32", (R(1), Address(Sym("table"), 8))),
    "ld.global.b32 %r1, table[3];": Instruction("ld.global.b32", (R(1), Element("table", 3))),
    "ld.global.b32 %r1, table[%r2];": Instruction("ld.global.b32", (R(1), Element("table", R(2)))),
    "ld.global.b32 %r1, table[%r2+-1];": Instruction("ld.global.b32", (R(1), Element("table", ir.RegOffset(R(2), -1)))),
    "add.u32 %r1, %r2+1, %r3+-1;": Instruction(
        "add.u32", (R(1), ir.RegOffset(R(2), 1), ir.RegOffset(R(3), -1))
    ),
    "ld.local.b32 %r1, [16];": Instruction("ld.local.b32", (R(1), Address(Int(16)))),
    "mov.u64 %rd1, table;": Instruction("mov.u64", (RD(1), Sym("table"))),
    "mov.u64 %rd1, table+16;": Instruction("mov.u64", (RD(1), ir.SymbolRef("table", 16))),
    "mov.u64 %rd1, twice;": Instruction("mov.u64", (RD(1), Sym("twice"))),
    "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;": Instruction("setp.lt.and.s32", (Pair(P(1), P(2)), R(1), R(2), Not(P(3)))),
    "shfl.sync.idx.b32 %r1|%p1, %r2, 1, 31, -1;": Instruction(
        "shfl.sync.idx.b32", (Pair(R(1), P(1)), R(2), Int(1), Int(31), Int(-1))
    ),
    "elect.sync _|%p1, 0xffffffff;": Instruction("elect.sync", (Pair(Sink(), P(1)), Int(0xFFFFFFFF, radix=16))),
    "vmad.s32.s32.u32 %r1, -%r2.b0, %r3.h1, %r4;": Instruction(
        "vmad.s32.s32.u32", (R(1), Neg(Reg("%r2", "b0")), Reg("%r3", "h1"), R(4))
    ),
    "madc.lo.u32 %r1, %r2, %r3, %r4;": Instruction("madc.lo.u32", (R(1), R(2), R(3), R(4))),
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [%rd1];": Instruction(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16", (Vec((Reg("%r"),)), Address(RD(1)))
    ),
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd2, {%r1, 0}], [%rd3];": Instruction(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
        (Address(RD(1)), Address(RD(2), 0, (Vec((R(1), Int(0))),)), Address(RD(3))),
    ),
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];": Instruction(
        "tex.2d.v4.f32.f32", (Vec((F(1), F(2), F(3), F(4))), Address(RD(1), 0, (Vec((F(5), F(6))),)))
    ),
    "call nothing;": Call("call", Sym("nothing")),
    "{ .param .b32 a; .param .b32 b; call.uni (b),\n twice,\n (\n a\n )\n ;}": ir.Block(
        (
            ir.Variable("param", "b32", "a"),
            ir.Variable("param", "b32", "b"),
            Call("call.uni", Sym("twice"), (Sym("b"),), (Sym("a"),)),
        )
    ),
    "{ .param .b32 a; .param .b32 b; mov.u64 %rd1, twice; proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "@%p1 call (b), %rd1, (a), proto; }": ir.Block(
        (
            ir.Variable("param", "b32", "a"),
            ir.Variable("param", "b32", "b"),
            Instruction("mov.u64", (RD(1), Sym("twice"))),
            ir.Prototype("proto", (ir.Variable("param", "b32", "_"),), (ir.Variable("param", "b32", "_"),)),
            Call("call", RD(1), (Sym("b"),), (Sym("a"),), Sym("proto"), Guard(P(1))),
        )
    ),
    "{ list: .calltargets nothing; mov.u64 %rd1, nothing; call %rd1, list; }": ir.Block(
        (
            ir.Targets("list", "calltargets", ("nothing",)),
            Instruction("mov.u64", (RD(1), Sym("nothing"))),
            Call("call", RD(1), targets=Sym("list")),
        )
    ),
    "{ list: .branchtargets $a, b; brx.idx %r1, list; $a: b: bra.uni %c; %c: bra $a; }": ir.Block(
        (
            ir.Targets("list", "branchtargets", ("$a", "b")),
            Instruction("brx.idx", (R(1), Sym("list"))),
            ir.Label("$a"),
            ir.Label("b"),
            Instruction("bra.uni", (Sym("%c"),)),
            ir.Label("%c"),
            Instruction("bra", (Sym("$a"),)),
        )
    ),
    "{ list: .branchtargets t<2>, u; brx.idx %r1, list; t0: t1: u: }": ir.Block(
        (
            ir.Targets("list", "branchtargets", ("t0", "t1", "u")),
            Instruction("brx.idx", (R(1), Sym("list"))),
            ir.Label("t0"),
            ir.Label("t1"),
            ir.Label("u"),
        )
    ),
    "{ .reg .pred p; .reg .b32 t, u<3>; .reg .v4 .f32 w; setp.eq.u32 p, u2, 0; @p mov.f32 %f1, w.x;\n"
    "  { .reg .b64 t; mov.b64 t, 1; } mov.b32 t, 1; }": ir.Block(
        (
            RegDecl("pred", ("p",)),
            RegDecl("b32", ("t",)),
            RegDecl("b32", ("u",), 3),
            RegDecl("f32", ("w",), None, 4),
            Instruction("setp.eq.u32", (Reg("p"), Reg("u2"), Int(0))),
            Instruction("mov.f32", (F(1), Reg("w", "x")), Guard(Reg("p"))),
            ir.Block((RegDecl("b64", ("t",)), Instruction("mov.b64", (Reg("t"), Int(1))))),
            Instruction("mov.b32", (Reg("t"), Int(1))),
        )
    ),
    '.pragma "nounroll", "other";': ir.Pragma(("nounroll", "other")),
    ".local .align 8 .v2 .b32 there[4][2];": ir.Variable("local", "b32", "there", (4, 2), 8, 2),
    ".shared .b32 some<2>;": (ir.Variable("shared", "b32", "some0"), ir.Variable("shared", "b32", "some1")),
    "# 12 \"macros.h\"\nmov.b32 %r1, 1; // one\n/* two\n   three */": (
        Instruction("mov.b32", (R(1), Int(1))), ir.Comment("one"), ir.Comment("two"), ir.Comment("three"),
    ),
}  # fmt: skip


def _body(statement: str) -> tuple[ir.Statement, ...]:
    module = read(f"{HEADER}{MODULE}.entry k() {{ {DECLARATIONS}\n{statement}\n}}")
    body = module.functions["k"].body
    assert body is not None
    return body[7:]


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_a_statement_means_its_tree(text: str) -> None:
    expected = INSTRUCTIONS[text]
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert _body(text) == expected
    rewritten = "\n".join(write_statement(statement) for statement in expected)
    assert _body(rewritten) == expected


@needs_ptxas
def test_ptxas_accepts_each_statement_as_it_stands_and_rewritten() -> None:
    declared = DECLARATIONS + " .reg .b32 %r;"
    texts = list(INSTRUCTIONS)
    rewritten = ["\n".join(write_statement(statement) for statement in _body(text)) for text in texts]
    verdicts = check_statements(texts + rewritten, "sm_90a", declarations=declared, module=MODULE)
    assert [(text, verdict.reason) for text, verdict in zip(texts + rewritten, verdicts) if not verdict.ok] == []


# ---- constants --------------------------------------------------------------------------------------------------------

ALL = (1 << 64) - 1
CONSTANTS = {
    "0": Int(0), "-1": Int(-1), "017": Int(15, radix=8), "0b101": Int(5, radix=2), "0XfF": Int(255, radix=16), "7U": Int(7, True),
    "0x1FU": Int(31, True, 16), "-0x10": Int(-16, radix=16), "+3": Int(3), "(3)": Int(3), "1+2*3": Int(7), "(1+2)*3": Int(9),
    "7/2": Int(3), "-7/2": Int(-3), "7 % 3": Int(1), "1<<4": Int(16), "-16>>2": Int(-4), "6&3": Int(2), "6|3": Int(7),
    "6^3": Int(5),
    "~0": Int(ALL), "!0": Int(1), "!7": Int(0), "1<2": Int(1), "2<=1": Int(0), "3>2": Int(1), "3>=4": Int(0), "1==1": Int(1),
    "1!=1": Int(0), "-1 < 1": Int(1), "-1 < 1U": Int(0), "1&&0": Int(0), "0||2": Int(1), "1?2:3": Int(2), "0?2:1?4:5": Int(4),
    "(.u64)-1": Int(ALL), "(.s64)18446744073709551615": Int(-1), "-4U": Int(ALL - 3), "18446744073709551615": Int(ALL),
    "-9223372036854775808": Int(-(2**63)), "1 - 2 - 3": Int(-4), "8 - -4": Int(12), "2*WARP_SZ": Int(64), "WARP_SZ-1": Int(31),
    "1|2&3^1==1": Int(1 | (2 & 3) ^ 1), "9223372036854775807+1": Int(-(2**63)), "-1/2U": Int(ALL // 2),
}  # fmt: skip


@pytest.mark.parametrize("text", CONSTANTS)
def test_an_integer_expression_has_its_value(text: str) -> None:
    assert read_instruction(f"mov.b64 %rd1, {text};").operands[1] == CONSTANTS[text]


@needs_ptxas
def test_ptxas_computes_the_same_integers() -> None:
    """Equal machine code for the expressions and for our values of them, stored one behind the other."""
    from ptxgen.assemble import ptxas

    def code(values: list[str]) -> bytes:
        stores = "".join(f"mov.b64 %rd2, {value}; st.global.b64 [%rd1+{8 * n}], %rd2;\n" for n, value in enumerate(values))
        return ptxas(f"{HEADER}.entry k(.param .u64 p) {{ .reg .b64 %rd<3>; ld.param.u64 %rd1, [p];\n{stores} ret; }}", "sm_90a").code

    assert code(list(CONSTANTS)) == code([str(constant.value) for constant in CONSTANTS.values()])


FLOATS = {
    "1.0": Fraction(1), "-1.5": Fraction(-3, 2), "1.": Fraction(1), ".5": Fraction(1, 2), "1e3": Fraction(1000),
    "2.5E-1": Fraction(1, 4), "1.0+2.0*3.0": Fraction(7), "-(1.0-0.25)": Fraction(-3, 4), "1.0/4.0": Fraction(1, 4),
    "1?0.5:2.0": Fraction(1, 2), "+0.5": Fraction(1, 2), "(.5)": Fraction(1, 2), "-.5E+3": Fraction(-500), "1.e2": Fraction(100),
}  # fmt: skip


@pytest.mark.parametrize("text", FLOATS)
def test_a_floating_expression_is_a_double(text: str) -> None:
    _, found = read_instruction(f"op %f1, {text};").operands
    assert isinstance(found, Float) and found.width == 64
    assert Fraction(struct.unpack(">d", found.bits.to_bytes(8, "big"))[0]) == FLOATS[text]


def test_hexadecimal_floats_keep_their_bits() -> None:
    operands = read_instruction("op 0f3F800000, 0F7fc00001, 0d3FF0000000000000, -0d3FF0000000000000;").operands
    expected = (0x3F800000, 32), (0x7FC00001, 32), (0x3FF0000000000000, 64), (0xBFF0000000000000, 64)
    assert operands == tuple(Float(*pair) for pair in expected)


# ---- modules ----------------------------------------------------------------------------------------------------------

V = ir.Variable
MODULES = {
    ".global .align 4 .b32 a[2][2] = {{1}, {2, 0x3}};": (
        V("global", "b32", "a", (2, 2), 4, init=((Int(1),), (Int(2), Int(3, radix=16)))),
    ),
    ".visible .global .v2 .f32 v = {1.0, 0f3F800000}; .weak .global .u8 w; .common .global .u32 c; .extern .global .u32 e[];": (
        V("global", "f32", "v", vector=2, linkage="visible", init=(Float(0x3FF0000000000000, 64), Float(0x3F800000, 32))),
        V("global", "u8", "w", linkage="weak"),
        V("global", "u32", "c", linkage="common"),
        V("global", "u32", "e", (None,), linkage="extern"),
    ),
    ".const .u32 x = 1+2, y[3], z; .extern .shared .align 16 .b8 dynamic[];": (
        V("const", "u32", "x", init=Int(3)),
        V("const", "u32", "y", (3,)),
        V("const", "u32", "z"),
        V("shared", "b8", "dynamic", (None,), 16, linkage="extern"),
    ),
    ".global .u32 t[4]; .func f { ret; } .global .u64 p[] = {t, t+4, generic(t)+8, f, 0};\n"
    ".global .u8 bytes[2] = {0xff(t), 0xff00(generic(t)+4)};": (
        V("global", "u32", "t", (4,)),
        ir.Function("func", "f", body=(Instruction("ret"),), linkage=None),
        V("global", "u64", "p", (None,), init=(
            ir.SymbolRef("t"), ir.SymbolRef("t", 4), ir.SymbolRef("t", 8, True), ir.SymbolRef("f"), Int(0),
        )),
        V("global", "u8", "bytes", (2,), init=(ir.SymbolRef("t", mask=0xFF), ir.SymbolRef("t", 4, True, 0xFF00))),
    ),
    ".global .attribute(.managed) .align 8 .b64 m; .visible .attribute(.managed) .global .b32 n;": (
        V("global", "b64", "m", align=8, attributes=(".managed",)),
        V("global", "b32", "n", linkage="visible", attributes=(".managed",)),
    ),
    ".entry k(.param .u64 .ptr .surfref s, .param .u64 .ptr .texref .align 4 t) { ret; }": (
        ir.Function("entry", "k", (V("param", "u64", "s", ptr=("surfref", None)), V("param", "u64", "t", ptr=("texref", 4))),
                    (Instruction("ret"),), linkage=None),
    ),
    ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b, .param .align 8 .b8 s[12])\n"
    ".maxntid 128, 1 .minnctapersm 2 .maxnreg 32 { ret; }": (
        ir.Function("entry", "k", (
            V("param", "u64", "a", ptr=("global", 16)), V("param", "u64", "b", ptr=(None, None)), V("param", "b8", "s", (12,), 8),
        ), (Instruction("ret"),), directives=(
            ir.Directive("maxntid", (128, 1)), ir.Directive("minnctapersm", (2,)), ir.Directive("maxnreg", (32,)),
        )),
    ),
    ".entry k .reqntid 32 .reqnctapercluster 2, 1, 1 .blocksareclusters .pragma \"nounroll\"; { ret; }": (
        ir.Function("entry", "k", body=(Instruction("ret"),), linkage=None, directives=(
            ir.Directive("reqntid", (32,)), ir.Directive("reqnctapercluster", (2, 1, 1)), ir.Directive("blocksareclusters"),
            ir.Pragma(("nounroll",)),
        )),
    ),
    ".entry k() .explicitcluster .maxclusterrank 4 { ret; }": (
        ir.Function("entry", "k", body=(Instruction("ret"),), linkage=None, directives=(
            ir.Directive("explicitcluster"), ir.Directive("maxclusterrank", (4,)),
        )),
    ),
    ".extern .func (.param .b32 r) printed (.param .b64 a, .param .b64 b);\n"
    ".func stop() .noreturn .abi_preserve 8 .abi_preserve_control 4 { trap; }": (
        ir.Function("func", "printed", (V("param", "b64", "a"), V("param", "b64", "b")), None, (V("param", "b32", "r"),),
                    linkage="extern"),
        ir.Function("func", "stop", body=(Instruction("trap"),), linkage=None, directives=(
            ir.Directive("noreturn"), ir.Directive("abi_preserve", (8,)), ir.Directive("abi_preserve_control", (4,)),
        )),
    ),
    ".visible .func f() { ret; } .visible .func g(); .alias g, f;": (
        ir.Function("func", "f", body=(Instruction("ret"),)),
        ir.Function("func", "g", body=None),
        ir.Directive("alias", ("g", "f")),
    ),
    ".file 1 \"a.cu\", 12, 34 .file 2 \"b.cu\"\n"
    ".entry k { .loc 1 2 3\n .loc 2 3 4, function_name text+3, inlined_at 1 2 3\n ret; }\n"
    ".section .debug_str {\n text: // } of names\n .b8 1,2 , 0 .b32 text\n .b64 text + 4\n}": (
        ir.FileDirective(1, "a.cu", 12, 34),
        ir.FileDirective(2, "b.cu"),
        ir.Function("entry", "k", linkage=None, body=(
            ir.Loc(1, 2, 3), ir.Loc(2, 3, 4, "text+3", (1, 2, 3)), Instruction("ret"),
        )),
        ir.Section(".debug_str", ("text:", ".b8 1, 2, 0", ".b32 text", ".b64 text+4")),
    ),
    ".file 1 \"k.py\" .file 2 \"k.tile\" .entry k .minperctamemory 2048 .local_maxnreg 32 {\n"
    ".loc 1 10 5\n .loc_intermediate 2 4 1\n ret; }\n"
    ".nv_intermediate_source_section\n{ .code_block { .ir_name: \"Tile IR\" .sourceFileName: 2 .source_begin\n load } ; \"\n\n"
    ".source_end } .code_block {\n.ir_name: \"\" .sourceFileName: 1\n.source_begin\n.source_end\n} }": (
        ir.FileDirective(1, "k.py"),
        ir.FileDirective(2, "k.tile"),
        ir.Function("entry", "k", linkage=None, directives=(ir.Directive("minperctamemory", (2048,)), ir.Directive("local_maxnreg", (32,))),
                    body=(ir.Loc(1, 10, 5), ir.Loc(2, 4, 1, intermediate=True), Instruction("ret"))),
        ir.SourceSection((ir.SourceBlock("Tile IR", 2, (' load } ; "', "")), ir.SourceBlock("", 1, ()))),
    ),
    "// one\n/* two\nthree */ .entry k /* dropped */ () { ret; // four\n }\n//\n": (
        ir.Comment("one"), ir.Comment("two"), ir.Comment("three"),
        ir.Function("entry", "k", body=(Instruction("ret"), ir.Comment("four")), linkage=None),
        ir.Comment(""),
    ),
    ".global .u32 %odd; .func %f() { ret; }\n.entry k() { .reg .b32 r; ld.global.b32 r, [%odd]; call %f; }": (
        V("global", "u32", "%odd"),
        ir.Function("func", "%f", body=(Instruction("ret"),), linkage=None),
        ir.Function("entry", "k", linkage=None, body=(
            RegDecl("b32", ("r",)), Instruction("ld.global.b32", (Reg("r"), Address(Sym("%odd")))), Call("call", Sym("%f")),
        )),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", MODULES)
def test_an_item_means_its_tree(text: str) -> None:
    module = read(HEADER + text)
    assert module == ir.Module((9, 4), ("sm_90a",), MODULES[text], 64)
    assert read(write(module)) == module


@needs_ptxas
def test_ptxas_accepts_each_module_as_it_stands_and_rewritten() -> None:
    texts = [HEADER + text for text in MODULES]
    texts += [write(read(text)) for text in texts]
    verdicts = check_many(texts, "sm_90a", ("-c",))
    assert [(text, verdict.reason) for text, verdict in zip(texts, verdicts) if not verdict.ok] == []


OLD = {
    ".version 1.4\n.target sm_10, map_f64_to_f32\n.tex .u32 t;\n.entry k (.param .u32 n)\n{\n.reg .u16 %rh<4>;\n.loc 14 1 0\n"
    "$LBB1_k:\nld.param.u32 %r1, [n];\nexit;\n$LDWend_k:\n} // k\n"
    "\t@@DWARF .section .debug_info, \"\",@progbits\n\t@@DWARF .byte\t0x95, 0x02\n": ir.Module(
        (1, 4),
        ("sm_10", "map_f64_to_f32"),
        (
            V("tex", "u32", "t"),
            ir.Function("entry", "k", (V("param", "u32", "n"),), linkage=None, body=(
                RegDecl("u16", ("%rh",), 4), ir.Loc(14, 1, 0), ir.Label("$LBB1_k"),
                Instruction("ld.param.u32", (R(1), Address(Sym("n")))), Instruction("exit"), ir.Label("$LDWend_k"),
            )),
            ir.Comment("k"),
            ir.Directive("@@DWARF", ('.section .debug_info, "",@progbits',)),
            ir.Directive("@@DWARF", (".byte 0x95, 0x02",)),
        ),
        None,
    ),
    ".version 2.1\n.target sm_20\n.visible .func f (.param .u32 a)\n.visible .func g ()\n// here\n.file 1 \"a.cu\"\n.func h\n": ir.Module(
        (2, 1),
        ("sm_20",),
        (
            ir.Function("func", "f", (V("param", "u32", "a"),), None),
            ir.Function("func", "g", (), None),
            ir.Comment("here"),
            ir.FileDirective(1, "a.cu"),
            ir.Function("func", "h", (), None, linkage=None),
        ),
        None,
    ),
    ".version 2.0\n.target sm_20\n.func (.reg .u32 y) f (.reg .u32 x)\n{ add.u32 y, x, 1; ret; }\n": ir.Module(
        (2, 0),
        ("sm_20",),
        (
            ir.Function("func", "f", (V("reg", "u32", "x"),), results=(V("reg", "u32", "y"),), linkage=None, body=(
                Instruction("add.u32", (Reg("y"), Reg("x"), Int(1))), Instruction("ret"),
            )),
        ),
        None,
    ),
    ".version 2.1\n.target sm_20, texmode_independent, debug\n.address_size 32\n.reg .u32 r;\n.extern .const[2] .b32 bank[];\n"
    ".global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };\n"
    ".entry k { ld.const[2].u32 r, [bank+4]; }\n.target sm_20\n": ir.Module(
        (2, 1),
        ("sm_20", "texmode_independent", "debug"),
        (
            RegDecl("u32", ("r",)),
            V("const[2]", "b32", "bank", (None,), linkage="extern"),
            V("global", "samplerref", "s", init=(
                ir.Field("addr_mode_0", "clamp_to_border"), ir.Field("filter_mode", "nearest"),
            )),
            ir.Function("entry", "k", linkage=None, body=(
                Instruction("ld.const[2].u32", (Reg("r"), Address(Sym("bank"), 4))),
            )),
            ir.Directive("target", ("sm_20",)),
        ),
        32,
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", OLD)
def test_old_spellings_read(text: str) -> None:
    assert read(text + "\0") == OLD[text]
    assert read(write(OLD[text])) == OLD[text]


def test_positions_count_lines_and_columns_from_one() -> None:
    module = read(f"{HEADER}\n  .entry k()\n{{\n\tmov.b32 %r1, 1; @%p1  bra\n L; call\nf;\nL: }}", filename="k.ptx")
    function = module.functions["k"]
    assert function.body is not None
    assert function.where == ("k.ptx", 5, 3)
    assert [statement.where[1:] for statement in function.body[:3]] == [(7, 2), (7, 18), (8, 5)]  # type: ignore[union-attr]
    assert str(function.where) == "k.ptx:5:3"
