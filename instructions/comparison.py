"""Comparison and selection (ISA 9.7.7 and, for 16-bit floats, 9.7.8)."""

from __future__ import annotations

from ptxgen.instructions.glossary import COMBINE, COMPARE, FTZ
from ptxgen.instructions.language import Rule, Since, instruction, out, predicate, source

_BITS = ".b16 .b32 .b64"
_SIGNED = ".s16 .s32 .s64"
_UNSIGNED = ".u16 .u32 .u64"
_FLOATS = ".f16 .f16x2 .bf16 .bf16x2 .f32 .f64"
_ORDER = ".eq .ne .lt .le .gt .ge"
_FLUSHED = {**FTZ, ".ftz": "Subnormal inputs count as zero of the same sign; without it subnormals are compared as they are."}


def _comparisons(type: str) -> tuple[Rule, ...]:
    """Which comparisons the type under the qualifier `type` has."""
    return (
        Rule("untyped bits are only equal or different", when=f"{type} in {_BITS}", need=".CmpOp in .eq .ne"),
        Rule("signed integers compare by eq, ne, lt, le, gt, ge", when=f"{type} in {_SIGNED}", need=f".CmpOp in {_ORDER}"),
        Rule(
            "unsigned integers compare by eq, ne, lt, le, gt, ge, lo, ls, hi, hs",
            when=f"{type} in {_UNSIGNED}",
            need=f".CmpOp in {_ORDER} .lo .ls .hi .hs",
        ),
        Rule("floats have no lo, ls, hi, hs", when=f"{type} in {_FLOATS}", need=".CmpOp not in .lo .ls .hi .hs"),
        Rule(".ftz goes with .f32, .f16 and .f16x2", when=".ftz", need=f"{type} in .f32 .f16 .f16x2"),
    )


_COMBINED_WITH = predicate(negatable=True, immediate=True)

set_ = instruction(
    "set",
    section="9.7.7.1",
    reordered=True,
    summary="Compares two values, or packed ones each on its own; writes all ones or 1.0 for true, zero for false.",
    syntax="""
        set.CmpOp{.ftz}.dtype.stype d, a, b;
        set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;
        set.packedCmpOp.type e, f, g;
    """,
    choices="""
        .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
        .packedCmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs };
        .BoolOp = { .and, .or, .xor };
        .type = { .u8x4, .s8x4, .u16x2, .s16x2 };
        .dtype = { .u32, .s32, .f32 };
        .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
    """,
    operands={
        "d": out(".dtype"),
        "a": source(".stype"),
        "b": source(".stype"),
        "c": _COMBINED_WITH,
        "e": out(".type"),
        "f": source(".type"),
        "g": source(".type"),
    },
    rules=(
        *_comparisons(".stype"),
        Rule("lo, ls, hi, hs compare unsigned integers", when=".type in .s8x4 .s16x2", need=".packedCmpOp not in .lo .ls .hi .hs"),
    ),
    since=(Since("1.4", when=".ftz"), Since("9.4", "sm_107f", when=".packedCmpOp")),
    meaning={**COMPARE, **COMBINE, **_FLUSHED, ".dtype": "The type of the outcome.", ".stype": "The type of the compared values."},
)

setp = instruction(
    "setp",
    section="9.7.7.2",
    reordered=True,
    summary="Compares two values and writes the outcome to predicate p; q gets the opposite outcome, each combined with c.",
    syntax="""
        setp.CmpOp{.ftz}.type p{|q}, a, b;
        setp.CmpOp.BoolOp{.ftz}.type p{|q}, a, b, {!}c;
    """,
    choices="""
        .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
        .BoolOp = { .and, .or, .xor };
        .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
    """,
    operands={
        "p": predicate("out", sink=True),
        "q": predicate("out", sink=True),
        "a": source(".type"),
        "b": source(".type"),
        "c": _COMBINED_WITH,
    },
    rules=_comparisons(".type"),
    since=(Since("1.4", when=".ftz"),),
    meaning={**COMPARE, **COMBINE, **_FLUSHED},
)

selp = instruction(
    "selp",
    section="9.7.7.3",
    summary="a where the predicate c is true, else b.",
    syntax="""
        selp.type d, a, b, c;
    """,
    choices="""
        .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
    """,
    operands={"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": _COMBINED_WITH},
)

slct = instruction(
    "slct",
    section="9.7.7.4",
    summary="a where c is greater than or equal to zero, else b; NaN selects b, -0.0 selects a.",
    syntax="""
        slct.dtype.s32 d, a, b, c;
        slct{.ftz}.dtype.f32 d, a, b, c;
    """,
    choices="""
        .dtype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
    """,
    operands={"d": out(".dtype"), "a": source(".dtype"), "b": source(".dtype"), "c": source(".type")},
    since=(Since("1.4", when=".ftz"),),
    meaning={".ftz": "A subnormal c counts as zero and selects a.", ".dtype": "The type of the selected values."},
)

# ptxas takes a constant for c wherever no .bf16 is compared or written.
_COMBINED_WITH_HALF = predicate(negatable=True, immediate=".dtype not in .bf16 .bf16x2 and .stype not in .bf16 .bf16x2")

set_half = instruction(
    "set",
    section="9.7.8.1",
    reordered=True,
    summary="Compares values where they or the outcome are 16-bit floats; pairs are compared half by half.",
    syntax="""
        set.CmpOp{.ftz}.dtype.stype d, a, b;
        set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;
    """,
    choices="""
        .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
        .BoolOp = { .and, .or, .xor };
        .dtype = { .f16, .bf16, .f16x2, .bf16x2, .u16, .s16, .u32, .s32 };
        .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f16, .f32, .f64, .bf16, .f16x2, .bf16x2 };
    """,
    operands={"d": out(".dtype"), "a": source(".stype"), "b": source(".stype"), "c": _COMBINED_WITH_HALF},
    rules=(
        *_comparisons(".stype"),
        Rule("a 16-bit integer outcome comes from .f16 or .bf16", when=".dtype in .u16 .s16", need=".stype in .f16 .bf16"),
        Rule(
            "a 32-bit integer outcome comes from 16-bit floats or pairs of them",
            when=".dtype in .u32 .s32",
            need=".stype in .f16 .bf16 .f16x2 .bf16x2",
        ),
        Rule("an .f16 outcome comes from any scalar but .bf16", when=".dtype in .f16", need=".stype not in .bf16 .f16x2 .bf16x2"),
        Rule("a .bf16 outcome comes from any scalar", when=".dtype in .bf16", need=".stype not in .f16x2 .bf16x2"),
        Rule("an .f16x2 outcome comes from .f16x2", when=".dtype in .f16x2", need=".stype in .f16x2"),
        Rule("a .bf16x2 outcome comes from .bf16x2", when=".dtype in .bf16x2", need=".stype in .bf16x2"),
        Rule("a .bf16 outcome takes no .ftz", when=".dtype in .bf16", need="not .ftz"),
    ),
    since=(
        Since("4.2"),
        Since("6.5", when=".dtype in .u16 .s16 .u32 .s32"),
        Since("7.8", "sm_90+", when=".dtype in .bf16 .bf16x2"),
        Since("7.8", "sm_90+", when=".stype in .bf16 .bf16x2"),
    ),
    meaning={**COMPARE, **COMBINE, **_FLUSHED, ".dtype": "The type of the outcome.", ".stype": "The type of the compared values."},
)

setp_half = instruction(
    "setp",
    section="9.7.8.2",
    reordered=True,
    summary="Compares 16-bit floats; of a pair, the lower halves write p and the upper halves write q.",
    syntax="""
        setp.CmpOp{.ftz}.type p{|q}, a, b;
        setp.CmpOp.BoolOp{.ftz}.type p{|q}, a, b, {!}c;
    """,
    choices="""
        .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
        .BoolOp = { .and, .or, .xor };
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands={
        "p": predicate("out", sink=True),
        "q": predicate("out", sink=True),
        "a": source(".type"),
        "b": source(".type"),
        "c": predicate(negatable=True, immediate=".type not in .bf16 .bf16x2"),
    },
    rules=(
        Rule("only pairs write a second predicate", when="q", need=".type in .f16x2 .bf16x2"),
        Rule(".ftz goes with .f16 and .f16x2", when=".ftz", need=".type in .f16 .f16x2"),
    ),
    since=(Since("4.2"), Since("7.8", "sm_90+", when=".type in .bf16 .bf16x2")),
    meaning={**COMPARE, **COMBINE, **_FLUSHED},
)
