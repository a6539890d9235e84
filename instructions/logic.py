"""Logic and shifts (ISA 9.7.9)."""

from __future__ import annotations

from ptxgen.instructions.glossary import SHIFT_AMOUNT
from ptxgen.instructions.language import Since, immediate, instruction, out, predicate, source

_PREDICATE = predicate(negatable=True, immediate=True)
# A predicate may be negated where it is read; registers of bits may not, so the lines for .pred name their operands differently.
_BINARY = {
    "d": out(".type"), "a": source(".type"), "b": source(".type"),
    "p": predicate("out"), "q": _PREDICATE, "r": _PREDICATE,
}  # fmt: skip

and_ = instruction(
    "and",
    section="9.7.9.1",
    summary="AND, bit by bit.",
    syntax="""
        and.type d, a, b;
        and.pred p, q, r;
    """,
    choices="""
        .type = { .b16, .b32, .b64 };
    """,
    operands=_BINARY,
)

or_ = instruction(
    "or",
    section="9.7.9.2",
    summary="OR, bit by bit.",
    syntax="""
        or.type d, a, b;
        or.pred p, q, r;
    """,
    choices="""
        .type = { .b16, .b32, .b64 };
    """,
    operands=_BINARY,
)

xor = instruction(
    "xor",
    section="9.7.9.3",
    summary="Exclusive OR, bit by bit.",
    syntax="""
        xor.type d, a, b;
        xor.pred p, q, r;
    """,
    choices="""
        .type = { .b16, .b32, .b64 };
    """,
    operands=_BINARY,
)

not_ = instruction(
    "not",
    section="9.7.9.4",
    summary="Inverts every bit.",
    syntax="""
        not.type d, a;
        not.pred p, q;
    """,
    choices="""
        .type = { .b16, .b32, .b64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "p": predicate("out"), "q": _PREDICATE},
)

cnot = instruction(
    "cnot",
    section="9.7.9.5",
    summary="1 where a is zero, else 0 (C's logical negation).",
    syntax="""
        cnot.type d, a;
    """,
    choices="""
        .type = { .b16, .b32, .b64 };
    """,
    operands={"d": out(".type"), "a": source(".type")},
)

lop3 = instruction(
    "lop3",
    section="9.7.9.6",
    summary="Any function of three bits, bit by bit: immLut is F(0xF0, 0xCC, 0xAA) for the wanted function F(a, b, c).",
    syntax="""
        lop3.b32 d, a, b, c, immLut;
        lop3.BoolOp.b32 d|p, a, b, c, immLut, q;
    """,
    choices="""
        .BoolOp = { .or, .and };
    """,
    operands={
        "d": out("b32", sink=".BoolOp"),
        "p": predicate("out"),
        "a": source("b32"),
        "b": source("b32"),
        "c": source("b32"),
        "immLut": immediate("u32", range(256)),
        "q": _PREDICATE,
    },
    since=(Since("4.3"), Since("8.2", when=".BoolOp")),
    meaning={
        ".BoolOp": "Also writes p: whether the result is not zero, combined with q.",
        ".or": "(result != 0) OR q.",
        ".and": "(result != 0) AND q.",
        "a": "0xF0 in the table.",
        "b": "0xCC in the table.",
        "c": "0xAA in the table.",
        "p": "(d != 0) combined with q.",
    },
)

shf = instruction(
    "shf",
    section="9.7.9.7",
    summary="Shifts the 64-bit value whose halves are a (low) and b (high), and gives 32 bits of it.",
    syntax="""
        shf.dir.mode.b32 d, a, b, c;
    """,
    choices="""
        .dir = { .l, .r };
        .mode = { .clamp, .wrap };
    """,
    operands={"d": out("b32"), "a": source("b32"), "b": source("b32"), "c": source("u32")},
    since=(Since("3.1"),),
    meaning={
        **SHIFT_AMOUNT,
        ".dir": "The direction.",
        ".l": "Shifts left and gives the upper 32 bits.",
        ".r": "Shifts right and gives the lower 32 bits.",
    },
)

shl = instruction(
    "shl",
    section="9.7.9.8",
    summary="Shifts left and fills with zeros; an amount past the width counts as the width.",
    syntax="""
        shl.type d, a, b;
    """,
    choices="""
        .type = { .b16, .b32, .b64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source("u32")},
)

shr = instruction(
    "shr",
    section="9.7.9.9",
    summary="Shifts right and fills with the sign (signed types) or zeros; an amount past the width counts as the width.",
    syntax="""
        shr.type d, a, b;
    """,
    choices="""
        .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source("u32")},
)
