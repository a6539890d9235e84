"""Half-precision arithmetic on .f16, .bf16 and their packed pairs (ISA 9.7.4)."""

from __future__ import annotations

from ptxgen.instructions.glossary import HALF_FTZ, MAGNITUDE, NAN, OOB, RELU, ROUND_NEAREST, SAT
from ptxgen.instructions.language import Rule, Since, instruction, out, source

_UNARY = {"d": out(".type"), "a": source(".type")}
_BINARY = {"d": out(".type"), "a": source(".type"), "b": source(".type")}
_TERNARY = {"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": source(".type")}

_TYPES = {
    ".f16x2": "Two .f16 in a .b32 register, each on its own.",
    ".bf16x2": "Two .bf16 in a .b32 register, each on its own.",
}
_BF16 = ".bf16 .bf16x2"
_SUM_RULES = (
    Rule("the .bf16 types keep subnormals and take neither .ftz nor .sat", when=f".type in {_BF16}", need="not .ftz and not .sat"),
)
_SUM_SINCE = (Since("4.2", when=".type in .f16 .f16x2"), Since("7.8", "sm_90+", when=f".type in {_BF16}"))
_KEEPS_SUBNORMALS = Rule("the .bf16 types keep subnormals: no .ftz", when=f".type in {_BF16}", need="not .ftz")

add = instruction(
    "add",
    section="9.7.4.1",
    reordered=True,
    summary="Adds two numbers. Without .rnd it rounds to nearest and may be fused with a multiplication.",
    syntax="""
        add{.rnd}{.ftz}{.sat}.type d, a, b;
    """,
    choices="""
        .rnd = { .rn };
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_BINARY,
    rules=_SUM_RULES,
    since=_SUM_SINCE,
    meaning={**ROUND_NEAREST, **HALF_FTZ, **SAT, **_TYPES},
)

sub = instruction(
    "sub",
    section="9.7.4.2",
    reordered=True,
    summary="Subtracts b from a. Without .rnd it rounds to nearest and may be fused with a multiplication.",
    syntax="""
        sub{.rnd}{.ftz}{.sat}.type d, a, b;
    """,
    choices="""
        .rnd = { .rn };
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_BINARY,
    rules=_SUM_RULES,
    since=_SUM_SINCE,
    meaning={**ROUND_NEAREST, **HALF_FTZ, **SAT, **_TYPES},
)

mul = instruction(
    "mul",
    section="9.7.4.3",
    reordered=True,
    summary="Multiplies two numbers. Without .rnd it rounds to nearest and may be fused with an addition.",
    syntax="""
        mul{.rnd}{.ftz}{.sat}.type d, a, b;
    """,
    choices="""
        .rnd = { .rn };
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_BINARY,
    rules=_SUM_RULES,
    since=_SUM_SINCE,
    meaning={**ROUND_NEAREST, **HALF_FTZ, **SAT, **_TYPES},
)

fma = instruction(
    "fma",
    section="9.7.4.4",
    reordered=True,
    summary="a * b + c, rounded once.",
    syntax="""
        fma.rnd{.ftz}{.sat}.type d, a, b, c;
        fma.rnd{.ftz}.relu.type d, a, b, c;
        fma.rnd.oob{.relu}.type d, a, b, c;
    """,
    choices="""
        .rnd = { .rn };
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_TERNARY,
    rules=_SUM_RULES,
    since=(
        Since("4.2", when=".type in .f16 .f16x2"),
        Since("7.0", "sm_80+", when=".relu"),
        Since("7.0", "sm_80+", when=f".type in {_BF16}"),
        Since("8.1", "sm_90+", when=".oob"),
    ),
    meaning={**ROUND_NEAREST, **HALF_FTZ, **SAT, **RELU, **OOB, **_TYPES},
)

neg = instruction(
    "neg",
    section="9.7.4.5",
    summary="Negates a number.",
    syntax="""
        neg{.ftz}.type d, a;
    """,
    choices="""
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_UNARY,
    rules=(_KEEPS_SUBNORMALS,),
    since=(Since("6.0", when=".type in .f16 .f16x2"), Since("7.0", "sm_80+", when=f".type in {_BF16}")),
    meaning={**HALF_FTZ, **_TYPES},
)

abs_ = instruction(
    "abs",
    section="9.7.4.6",
    summary="The absolute value.",
    syntax="""
        abs{.ftz}.type d, a;
    """,
    choices="""
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_UNARY,
    rules=(_KEEPS_SUBNORMALS,),
    since=(Since("6.5", when=".type in .f16 .f16x2"), Since("7.0", "sm_80+", when=f".type in {_BF16}")),
    meaning={**HALF_FTZ, **_TYPES},
)

_EXTREME_SINCE = (Since("7.0", "sm_80+"), Since("7.2", "sm_86+", when=".xorsign"))

min_ = instruction(
    "min",
    section="9.7.4.7",
    reordered=True,
    summary="The smaller of two numbers; -0.0 counts as less than +0.0.",
    syntax="""
        min{.ftz}{.NaN}{.xorsign.abs}.type d, a, b;
    """,
    choices="""
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_BINARY,
    rules=(_KEEPS_SUBNORMALS,),
    since=_EXTREME_SINCE,
    meaning={**HALF_FTZ, **NAN, **MAGNITUDE, **_TYPES},
)

max_ = instruction(
    "max",
    section="9.7.4.8",
    reordered=True,
    summary="The larger of two numbers; +0.0 counts as greater than -0.0.",
    syntax="""
        max{.ftz}{.NaN}{.xorsign.abs}.type d, a, b;
    """,
    choices="""
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_BINARY,
    rules=(_KEEPS_SUBNORMALS,),
    since=_EXTREME_SINCE,
    meaning={**HALF_FTZ, **NAN, **MAGNITUDE, **_TYPES},
)

tanh = instruction(
    "tanh",
    section="9.7.4.9",
    reordered=True,
    summary="An approximation of the hyperbolic tangent.",
    syntax="""
        tanh.approx.type d, a;
    """,
    choices="""
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_UNARY,
    since=(Since("7.0", "sm_75+", when=".type in .f16 .f16x2"), Since("7.8", "sm_90+", when=f".type in {_BF16}")),
    meaning={".approx": "A fast approximation.", **_TYPES},
)

ex2 = instruction(
    "ex2",
    section="9.7.4.10",
    reordered=True,
    summary="An approximation of 2 to the power of a.",
    syntax="""
        ex2.approx{.ftz}.type d, a;
    """,
    choices="""
        .type = { .f16, .f16x2, .bf16, .bf16x2 };
    """,
    operands=_UNARY,
    rules=(
        Rule("the .bf16 types always flush subnormals: .ftz is written out", when=f".type in {_BF16}", need=".ftz"),
        Rule("the .f16 types keep subnormals: no .ftz", when=".type in .f16 .f16x2", need="not .ftz"),
    ),
    since=(Since("7.0", "sm_75+", when=".type in .f16 .f16x2"), Since("7.8", "sm_90+", when=f".type in {_BF16}")),
    meaning={".approx": "A fast approximation.", **HALF_FTZ, **_TYPES},
)
