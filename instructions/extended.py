"""Extended-precision integer arithmetic (ISA 9.7.2): instructions that pass a carry through the condition code register CC.CF."""

from __future__ import annotations

from ptxgen.instructions.language import Since, instruction, out, source

_WRITES_CARRY = {".cc": "Writes the carry (for a subtraction the borrow) into CC.CF."}
_PART = {
    ".mode": "Which part of the product is taken.",
    ".hi": "The upper half of the double-width product.",
    ".lo": "The lower half of the double-width product.",
}
_SUM = {"d": out(".type"), "a": source(".type"), "b": source(".type")}
_PRODUCT_SUM = {"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": source(".type")}
# 64-bit operands came later than 32-bit ones.
_LONG = Since("4.3", when=".type in .u64 .s64")

add_cc = instruction(
    "add.cc",
    section="9.7.2.1",
    summary="Adds two integers and writes the carry into CC.CF.",
    syntax="""
        add.cc.type d, a, b;
    """,
    choices="""
        .type = { .u32, .s32, .u64, .s64 };
    """,
    operands=_SUM,
    since=(Since("1.2"), _LONG),
    meaning=_WRITES_CARRY,
)

addc = instruction(
    "addc",
    section="9.7.2.2",
    summary="Adds two integers and the carry in CC.CF.",
    syntax="""
        addc{.cc}.type d, a, b;
    """,
    choices="""
        .type = { .u32, .s32, .u64, .s64 };
    """,
    operands=_SUM,
    since=(Since("1.2"), _LONG),
    meaning=_WRITES_CARRY,
)

sub_cc = instruction(
    "sub.cc",
    section="9.7.2.3",
    summary="Subtracts b from a and writes the borrow into CC.CF.",
    syntax="""
        sub.cc.type d, a, b;
    """,
    choices="""
        .type = { .u32, .s32, .u64, .s64 };
    """,
    operands=_SUM,
    since=(Since("1.2"), _LONG),
    meaning=_WRITES_CARRY,
)

subc = instruction(
    "subc",
    section="9.7.2.4",
    summary="Subtracts b and the borrow in CC.CF from a.",
    syntax="""
        subc{.cc}.type d, a, b;
    """,
    choices="""
        .type = { .u32, .s32, .u64, .s64 };
    """,
    operands=_SUM,
    since=(Since("3.0"), _LONG),
    meaning=_WRITES_CARRY,
)

mad_cc = instruction(
    "mad.cc",
    section="9.7.2.5",
    summary="Multiplies two integers, adds a third to half of the product, and writes the carry into CC.CF.",
    syntax="""
        mad.mode.cc.type d, a, b, c;
    """,
    choices="""
        .mode = { .hi, .lo };
        .type = { .u32, .s32, .u64, .s64 };
    """,
    operands=_PRODUCT_SUM,
    since=(Since("3.0"), _LONG),
    meaning={**_WRITES_CARRY, **_PART},
)

madc = instruction(
    "madc",
    section="9.7.2.6",
    summary="Multiplies two integers and adds a third and the carry in CC.CF to half of the product.",
    syntax="""
        madc.mode{.cc}.type d, a, b, c;
    """,
    choices="""
        .mode = { .hi, .lo };
        .type = { .u32, .s32, .u64, .s64 };
    """,
    operands=_PRODUCT_SUM,
    since=(Since("3.0"), _LONG),
    meaning={**_WRITES_CARRY, **_PART},
)
