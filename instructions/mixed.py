"""Mixed-precision arithmetic: sources, and for pairs the result, of different floating types (ISA 9.7.5)."""

from __future__ import annotations

from ptxgen.instructions.glossary import FTZ, ROUNDING, SAT
from ptxgen.instructions.language import Since, instruction, out, source

# Scalars came with the first Blackwell; pairs have a type for each operand and came with sm_107.
_SINCE = (Since("8.6", "sm_100+", when=".atype"), Since("9.4", "sm_107f", when=".f32x2"), Since("9.4", "sm_107f", when=".htype"))
_MEANING = {
    **ROUNDING,
    **SAT,
    **FTZ,
    ".atype": "The type of the 16-bit sources; they are widened without loss before the operation.",
    ".htype": "The type of the pair of 16-bit floats.",
    ".f32x2": "A pair of .f32 in a .b64 register.",
}

# The pairs' lines name their operands by type: w, x, y are .f32x2, h is .htype, f is .f16x2, g is .bf16x2.
_SUM = {
    "d": out("f32"), "a": source(".atype"), "c": source("f32"),
    "w": out("f32x2"), "h": source(".htype"), "x": source("f32x2"), "y": source("f32x2"),
    "f": out("f16x2"), "g": out("bf16x2"),
}  # fmt: skip

add = instruction(
    "add",
    section="9.7.5.1",
    summary="Adds a and c, a 16-bit float and an .f32; or pairs of them; or pairs of .f32 to a pair of 16-bit floats.",
    syntax="""
        add{.rnd}{.sat}.f32.atype d, a, c;
        add{.rnd}.f32x2.htype.f32x2 w, h, x;
        add.rz.ftz.f16x2.f32x2.f32x2 f, x, y;
        add.rz.bf16x2.f32x2.f32x2 g, x, y;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
        .htype = { .f16x2, .bf16x2 };
    """,
    operands=_SUM,
    since=_SINCE,
    meaning=_MEANING,
)

sub = instruction(
    "sub",
    section="9.7.5.2",
    summary="Subtracts c from a, an .f32 from a 16-bit float; or pairs of them; or pairs of .f32 to a pair of 16-bit floats.",
    syntax="""
        sub{.rnd}{.sat}.f32.atype d, a, c;
        sub{.rnd}.f32x2.htype.f32x2 w, h, x;
        sub.rz.ftz.f16x2.f32x2.f32x2 f, x, y;
        sub.rz.bf16x2.f32x2.f32x2 g, x, y;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
        .htype = { .f16x2, .bf16x2 };
    """,
    operands=_SUM,
    since=_SINCE,
    meaning=_MEANING,
)

fma = instruction(
    "fma",
    section="9.7.5.3",
    summary="a * b + c with 16-bit factors and an .f32 addend, rounded once; or of pairs with one 16-bit factor.",
    syntax="""
        fma.rnd{.sat}.f32.atype d, a, b, c;
        fma.rnd.f32x2.htype.f32x2.f32x2 w, h, x, y;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
        .htype = { .f16x2, .bf16x2 };
    """,
    operands={**_SUM, "b": source(".atype")},
    since=_SINCE,
    meaning=_MEANING,
)

mul = instruction(
    "mul",
    section="9.7.5.4",
    summary="Multiplies pairs: of .f32 to a pair of 16-bit floats, or of .f16 and .bf16 to the type of the first.",
    syntax="""
        mul.ftz.rz.f16x2.f32x2.f32x2 f, x, y;
        mul.rz.bf16x2.f32x2.f32x2 g, x, y;
        mul.bf16x2.bf16x2.f16x2 g, k, l;
        mul.f16x2.f16x2.bf16x2 f, l, k;
    """,
    operands={**_SUM, "k": source("bf16x2"), "l": source("f16x2")},
    since=(Since("9.4", "sm_107f"),),
    meaning=_MEANING,
)
