"""Mixed-precision arithmetic: .f32 results from .f16 or .bf16 sources (ISA 9.7.5)."""

from __future__ import annotations

from ptxgen.instructions.glossary import ROUNDING, SAT
from ptxgen.instructions.language import Since, instruction, out, source

_SINCE = (Since("8.6", "sm_100+"),)
_MEANING = {**ROUNDING, **SAT, ".atype": "The type of the 16-bit sources; they are widened without loss before the operation."}

add = instruction(
    "add",
    section="9.7.5.1",
    summary="Adds a 16-bit float a to the .f32 c.",
    syntax="""
        add{.rnd}{.sat}.f32.atype d, a, c;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
    """,
    operands={"d": out("f32"), "a": source(".atype"), "c": source("f32")},
    since=_SINCE,
    meaning=_MEANING,
)

sub = instruction(
    "sub",
    section="9.7.5.2",
    summary="Subtracts the .f32 c from a 16-bit float a.",
    syntax="""
        sub{.rnd}{.sat}.f32.atype d, a, c;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
    """,
    operands={"d": out("f32"), "a": source(".atype"), "c": source("f32")},
    since=_SINCE,
    meaning=_MEANING,
)

fma = instruction(
    "fma",
    section="9.7.5.3",
    summary="a * b + c with 16-bit factors and an .f32 addend, rounded once.",
    syntax="""
        fma.rnd{.sat}.f32.atype d, a, b, c;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
    """,
    operands={"d": out("f32"), "a": source(".atype"), "b": source(".atype"), "c": source("f32")},
    since=_SINCE,
    meaning=_MEANING,
)
