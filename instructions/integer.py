"""Integer arithmetic (ISA 9.7.1)."""

from __future__ import annotations

from ptxgen.instructions.glossary import SHIFT_AMOUNT
from ptxgen.instructions.language import Rule, Since, instruction, out, source

_PACKED_16 = Since("8.0", "sm_90+", when=".type in .u16x2 .s16x2")
_PACKED_8 = Since("9.2", "sm_107f sm_120f", when=".type in .u8x4 .s8x4")

_PACKED = {
    ".u16x2": "Two unsigned halfwords of a .b32 register, each on its own.",
    ".s16x2": "Two signed halfwords of a .b32 register, each on its own.",
    ".u8x4": "Four unsigned bytes of a .b32 register, each on its own.",
    ".s8x4": "Four signed bytes of a .b32 register, each on its own.",
}
_SATURATE = {".sat": "A result past the type's range becomes its nearest end instead of wrapping around."}
_PART_OF_PRODUCT = {
    ".mode": "Which part of the product is taken.",
    ".hi": "The upper half of the double-width product.",
    ".lo": "The lower half of the double-width product.",
    ".wide": "The whole product; destination (and addend) are twice as wide as the factors.",
}
_PART_OF_48 = {".lo": "Bits 31..0 of the 48-bit product.", ".hi": "Bits 47..16 of the 48-bit product."}

_PRODUCT = "wide(.type) if .mode in .wide else .type"
_WIDE_ENDS = Rule(".wide multiplies 16-bit and 32-bit integers", when=".mode in .wide", need=".type not in .u64 .s64")

_RELU_TYPES = Rule(".relu goes with .s32, .s16x2 and .s8x4", when=".relu", need=".type in .s32 .s16x2 .s8x4")

_ACCUMULATOR = "u32 if .atype in .u32 and .btype in .u32 else s32"
_DOT_OPERANDS = {"d": out(_ACCUMULATOR), "a": source(".atype"), "b": source(".btype"), "c": source(_ACCUMULATOR)}


add = instruction(
    "add",
    section="9.7.1.1",
    summary="Adds two integers; the result wraps around unless .sat is given.",
    syntax="""
        add{.sat}.type d, a, b;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .s16, .s32, .s64, .u16x2, .s16x2, .u8x4, .s8x4 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
    rules=(Rule(".sat goes with .s32, .u32 and the packed types", when=".sat", need=".type in .s32 .u32 .u16x2 .s16x2 .u8x4 .s8x4"),),
    since=(_PACKED_16, _PACKED_8, Since("9.2", "sm_107f sm_120f", when=".sat and .type in .u32 .u16x2 .s16x2")),
    meaning={**_SATURATE, **_PACKED},
)

sub = instruction(
    "sub",
    section="9.7.1.2",
    summary="Subtracts b from a; the result wraps around unless .sat is given.",
    syntax="""
        sub{.sat}.type d, a, b;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .s16, .s32, .s64, .u8x4, .s8x4 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
    rules=(Rule(".sat goes with .s32 and the packed types", when=".sat", need=".type in .s32 .u8x4 .s8x4"),),
    since=(_PACKED_8,),
    meaning={**_SATURATE, **_PACKED},
)

mul = instruction(
    "mul",
    section="9.7.1.3",
    summary="Multiplies two integers and keeps the named part of the product.",
    syntax="""
        mul.mode.type d, a, b;
    """,
    choices="""
        .mode = { .hi, .lo, .wide };
        .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
    """,
    operands={"d": out(_PRODUCT), "a": source(".type"), "b": source(".type")},
    rules=(_WIDE_ENDS,),
    meaning=_PART_OF_PRODUCT,
)

mad = instruction(
    "mad",
    section="9.7.1.4",
    summary="Multiplies two integers and adds a third to the named part of the product.",
    syntax="""
        mad.mode.type d, a, b, c;
        mad.hi.sat.s32 d, a, b, c;
    """,
    choices="""
        .mode = { .hi, .lo, .wide };
        .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
    """,
    operands={"d": out(_PRODUCT), "a": source(".type"), "b": source(".type"), "c": source(_PRODUCT)},
    rules=(_WIDE_ENDS,),
    meaning={**_PART_OF_PRODUCT, **_SATURATE},
)

clmad = instruction(
    "clmad",
    section="9.7.1.5",
    summary="Multiplies without carries (over GF(2)) and adds (XOR) a third operand to half of the product.",
    syntax="""
        clmad.mode.type d, a, b, c;
    """,
    choices="""
        .mode = { .lo, .hi };
        .type = { .u64, .s64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": source(".type")},
    since=(Since("9.3", "sm_80+"),),
    meaning={".lo": "The lower 64 bits of the 127-bit product.", ".hi": "The upper bits of the 127-bit product."},
)

mul24 = instruction(
    "mul24",
    section="9.7.1.6",
    summary="Multiplies the low 24 bits of two integers and keeps 32 bits of the 48-bit product.",
    syntax="""
        mul24.mode.type d, a, b;
    """,
    choices="""
        .mode = { .hi, .lo };
        .type = { .u32, .s32 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
    meaning=_PART_OF_48,
)

mad24 = instruction(
    "mad24",
    section="9.7.1.7",
    summary="Multiplies the low 24 bits of two integers and adds a third to 32 bits of the 48-bit product.",
    syntax="""
        mad24.mode.type d, a, b, c;
        mad24.hi.sat.s32 d, a, b, c;
    """,
    choices="""
        .mode = { .hi, .lo };
        .type = { .u32, .s32 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": source(".type")},
    meaning={**_PART_OF_48, **_SATURATE},
)

sad = instruction(
    "sad",
    section="9.7.1.8",
    summary="Adds the absolute difference of a and b to c.",
    syntax="""
        sad.type d, a, b, c;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": source(".type")},
)

div = instruction(
    "div",
    section="9.7.1.9",
    summary="Divides a by b and drops the fraction; what a division by zero gives is unspecified.",
    syntax="""
        div.type d, a, b;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
)

rem = instruction(
    "rem",
    section="9.7.1.10",
    summary="The remainder of dividing a by b.",
    syntax="""
        rem.type d, a, b;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
)

abs_ = instruction(
    "abs",
    section="9.7.1.11",
    summary="The absolute value; the most negative number stays as it is.",
    syntax="""
        abs.type d, a;
    """,
    choices="""
        .type = { .s16, .s32, .s64 };
    """,
    operands={"d": out(".type"), "a": source(".type")},
)

neg = instruction(
    "neg",
    section="9.7.1.12",
    summary="Negates an integer.",
    syntax="""
        neg.type d, a;
    """,
    choices="""
        .type = { .s16, .s32, .s64, .s8x4 };
    """,
    operands={"d": out(".type"), "a": source(".type")},
    since=(_PACKED_8,),
    meaning=_PACKED,
)

min_ = instruction(
    "min",
    section="9.7.1.13",
    summary="The smaller of two integers.",
    syntax="""
        min{.relu}.type d, a, b;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .u16x2, .u8x4, .s16, .s32, .s64, .s16x2, .s8x4 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
    rules=(_RELU_TYPES,),
    since=(_PACKED_16, _PACKED_8, Since("8.0", "sm_90+", when=".relu")),
    meaning={**_PACKED, ".relu": "A negative result becomes 0."},
)

max_ = instruction(
    "max",
    section="9.7.1.14",
    summary="The larger of two integers.",
    syntax="""
        max{.relu}.type d, a, b;
    """,
    choices="""
        .type = { .u16, .u32, .u64, .u16x2, .u8x4, .s16, .s32, .s64, .s16x2, .s8x4 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type")},
    rules=(_RELU_TYPES,),
    since=(_PACKED_16, _PACKED_8, Since("8.0", "sm_90+", when=".relu")),
    meaning={**_PACKED, ".relu": "A negative result becomes 0."},
)

popc = instruction(
    "popc",
    section="9.7.1.15",
    summary="Counts the one bits.",
    syntax="""
        popc.type d, a;
    """,
    choices="""
        .type = { .b32, .b64 };
    """,
    operands={"d": out("u32"), "a": source(".type")},
    since=(Since("2.0"),),
)

clz = instruction(
    "clz",
    section="9.7.1.16",
    summary="Counts the zero bits above the highest one bit; the width where there is none.",
    syntax="""
        clz.type d, a;
    """,
    choices="""
        .type = { .b32, .b64 };
    """,
    operands={"d": out("u32"), "a": source(".type")},
    since=(Since("2.0"),),
)

bfind = instruction(
    "bfind",
    section="9.7.1.17",
    summary="The position of the highest bit that is not a copy of the sign; 0xffffffff where there is none.",
    syntax="""
        bfind{.shiftamt}.type d, a;
    """,
    choices="""
        .type = { .u32, .u64, .s32, .s64 };
    """,
    operands={"d": out("u32"), "a": source(".type")},
    since=(Since("2.0"),),
    meaning={".shiftamt": "Gives the left shift that brings the bit to the top, instead of its position."},
)

fns = instruction(
    "fns",
    section="9.7.1.18",
    summary="The position of the n-th one bit of a mask, counted from a base position; 0xffffffff where there is none.",
    syntax="""
        fns.b32 d, mask, base, offset;
    """,
    operands={"d": out("b32"), "mask": source("b32"), "base": source("b32"), "offset": source("s32")},
    since=(Since("6.0"),),
    meaning={
        "mask": "The bits.",
        "base": "Where the search begins, 0 to 31.",
        "offset": "Which one bit: 1 the first at base or above, 2 the next; -1 the first at base or below; 0 base itself, if it is one.",
    },
)

brev = instruction(
    "brev",
    section="9.7.1.19",
    summary="Reverses the order of the bits.",
    syntax="""
        brev.type d, a;
    """,
    choices="""
        .type = { .b32, .b64 };
    """,
    operands={"d": out(".type"), "a": source(".type")},
    since=(Since("2.0"),),
)

bfe = instruction(
    "bfe",
    section="9.7.1.20",
    summary="Extracts the field of c bits that begins at bit b of a, and extends it by zeros or its sign.",
    syntax="""
        bfe.type d, a, b, c;
    """,
    choices="""
        .type = { .u32, .u64, .s32, .s64 };
    """,
    operands={
        "d": out(".type"),
        "a": source(".type"),
        "b": source("u32", values=range(256)),
        "c": source("u32", values=range(256)),
    },
    since=(Since("2.0"),),
)

bfi = instruction(
    "bfi",
    section="9.7.1.21",
    summary="Inserts the low d bits of a into b, beginning at bit c.",
    syntax="""
        bfi.type f, a, b, c, d;
    """,
    choices="""
        .type = { .b32, .b64 };
    """,
    operands={
        "f": out(".type"),
        "a": source(".type"),
        "b": source(".type"),
        "c": source("u32", values=range(256)),
        "d": source("u32", values=range(256)),
    },
    since=(Since("2.0"),),
)

szext = instruction(
    "szext",
    section="9.7.1.22",
    summary="Extends the low b bits of a by zeros or their sign.",
    syntax="""
        szext.mode.type d, a, b;
    """,
    choices="""
        .mode = { .clamp, .wrap };
        .type = { .u32, .s32 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source("u32")},
    since=(Since("7.6"),),
    meaning=SHIFT_AMOUNT,
)

bmsk = instruction(
    "bmsk",
    section="9.7.1.23",
    summary="A mask of b one bits that begins at bit a.",
    syntax="""
        bmsk.mode.b32 d, a, b;
    """,
    choices="""
        .mode = { .clamp, .wrap };
    """,
    operands={"d": out("u32"), "a": source("u32"), "b": source("u32")},
    since=(Since("7.6"),),
    meaning=SHIFT_AMOUNT,
)

dp4a = instruction(
    "dp4a",
    section="9.7.1.24",
    summary="Adds the products of the four byte pairs of a and b to c.",
    syntax="""
        dp4a.atype.btype d, a, b, c;
    """,
    choices="""
        .atype = { .u32, .s32 };
        .btype = { .u32, .s32 };
    """,
    operands=_DOT_OPERANDS,
    since=(Since("5.0"),),
    meaning={".atype": "Whether the bytes of a are signed.", ".btype": "Whether the bytes of b are signed."},
)

dp2a = instruction(
    "dp2a",
    section="9.7.1.25",
    summary="Adds the products of the two halfwords of a with two bytes of b to c.",
    syntax="""
        dp2a.mode.atype.btype d, a, b, c;
    """,
    choices="""
        .mode = { .lo, .hi };
        .atype = { .u32, .s32 };
        .btype = { .u32, .s32 };
    """,
    operands=_DOT_OPERANDS,
    since=(Since("5.0"),),
    meaning={
        ".lo": "The lower two bytes of b.",
        ".hi": "The upper two bytes of b.",
        ".atype": "Whether the halfwords of a are signed.",
        ".btype": "Whether the bytes of b are signed.",
    },
)
