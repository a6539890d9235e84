"""Floating-point arithmetic on .f32, .f64 and .f32x2 (ISA 9.7.3)."""

from __future__ import annotations

from ptxgen.instructions.glossary import FTZ, MAGNITUDE, NAN, ROUNDING, SAT
from ptxgen.instructions.language import Since, instruction, out, predicate, source

_PAIR = {".f32x2": "Two .f32 in a .b64 register, each on its own."}
_APPROX = {".approx": "A fast approximation."}
_UNARY = {"d": out(".type"), "a": source(".type")}
_BINARY = {"d": out(".type"), "a": source(".type"), "b": source(".type")}
_TERNARY = {"d": out(".type"), "a": source(".type"), "b": source(".type"), "c": source(".type")}
_PACKED = Since("8.6", "sm_100+", when=".f32x2")
_EXPLICIT = Since("1.4")

testp = instruction(
    "testp",
    section="9.7.3.1",
    summary="Tells whether a number belongs to a class.",
    syntax="""
        testp.op.type p, a;
    """,
    choices="""
        .op = { .finite, .infinite, .number, .notanumber, .normal, .subnormal };
        .type = { .f32, .f64 };
    """,
    operands={"p": predicate("out"), "a": source(".type")},
    since=(Since("2.0"),),
    meaning={
        ".op": "The class.",
        ".finite": "Neither infinite nor NaN.",
        ".infinite": "Plus or minus infinity.",
        ".number": "Not NaN.",
        ".notanumber": "NaN.",
        ".normal": "Finite, not zero and not subnormal.",
        ".subnormal": "Subnormal.",
    },
)

copysign = instruction(
    "copysign",
    section="9.7.3.2",
    summary="The magnitude of b with the sign of a.",
    syntax="""
        copysign.type d, a, b;
    """,
    choices="""
        .type = { .f32, .f64 };
    """,
    operands=_BINARY,
    since=(Since("2.0"),),
)

add = instruction(
    "add",
    section="9.7.3.3",
    reordered=True,
    summary="Adds two numbers. Without .rnd it rounds to nearest and may be fused with a multiplication.",
    syntax="""
        add{.rnd}{.ftz}{.sat}.f32 d, a, b;
        add{.rnd}{.ftz}.f32x2 d, a, b;
        add{.rnd}.f64 d, a, b;
    """,
    fuses="sum",
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_BINARY,
    since=(_PACKED, Since("2.0", when=".rnd in .rm .rp and .f32"), Since("1.4", when=".ftz")),
    meaning={**ROUNDING, **FTZ, **SAT, **_PAIR},
)

sub = instruction(
    "sub",
    section="9.7.3.4",
    reordered=True,
    summary="Subtracts b from a. Without .rnd it rounds to nearest and may be fused with a multiplication.",
    syntax="""
        sub{.rnd}{.ftz}{.sat}.f32 d, a, b;
        sub{.rnd}{.ftz}.f32x2 d, a, b;
        sub{.rnd}.f64 d, a, b;
    """,
    fuses="sum",
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_BINARY,
    since=(_PACKED, Since("2.0", when=".rnd in .rm .rp and .f32"), Since("1.4", when=".ftz")),
    meaning={**ROUNDING, **FTZ, **SAT, **_PAIR},
)

mul = instruction(
    "mul",
    section="9.7.3.5",
    reordered=True,
    summary="Multiplies two numbers. Without .rnd it rounds to nearest and may be fused with an addition.",
    syntax="""
        mul{.rnd}{.ftz}{.sat}.f32 d, a, b;
        mul{.rnd}{.ftz}.f32x2 d, a, b;
        mul{.rnd}.f64 d, a, b;
    """,
    fuses="product",
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_BINARY,
    since=(_PACKED, Since("2.0", when=".rnd in .rm .rp and .f32"), Since("1.4", when=".ftz")),
    meaning={**ROUNDING, **FTZ, **SAT, **_PAIR},
)

fma = instruction(
    "fma",
    section="9.7.3.6",
    reordered=True,
    summary="a * b + c, rounded once.",
    syntax="""
        fma.rnd{.ftz}{.sat}.f32 d, a, b, c;
        fma.rnd{.ftz}.f32x2 d, a, b, c;
        fma.rnd.f64 d, a, b, c;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_TERNARY,
    since=(_PACKED, Since("1.4", when=".f64"), Since("2.0", when=".f32")),
    meaning={**ROUNDING, **FTZ, **SAT, **_PAIR},
)

mad = instruction(
    "mad",
    section="9.7.3.7",
    reordered=True,
    summary="a * b + c, rounded once: the older spelling of fma.",
    syntax="""
        mad.rnd{.ftz}{.sat}.f32 d, a, b, c;
        mad.rnd.f64 d, a, b, c;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_TERNARY,
    since=(Since("1.4", when=".f64"), Since("2.0", when=".f32")),
    meaning={**ROUNDING, **FTZ, **SAT},
)

div = instruction(
    "div",
    section="9.7.3.8",
    reordered=True,
    summary="Divides a by b.",
    syntax="""
        div.approx{.ftz}.f32 d, a, b;
        div.full{.ftz}.f32 d, a, b;
        div.rnd{.ftz}.f32 d, a, b;
        div.rnd.f64 d, a, b;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_BINARY,
    since=(_EXPLICIT, Since("2.0", when=".rnd and .f32"), Since("2.0", when=".rnd in .rz .rm .rp")),
    meaning={
        **ROUNDING,
        **FTZ,
        ".approx": "A fast approximation: a times the reciprocal of b, within 2 ulp for a b of magnitude 2^-126 to 2^126.",
        ".full": "A full-range approximation that scales its operands, within 2 ulp.",
    },
)

abs_ = instruction(
    "abs",
    section="9.7.3.9",
    summary="The absolute value.",
    syntax="""
        abs{.ftz}.f32 d, a;
        abs.f64 d, a;
    """,
    operands=_UNARY,
    since=(Since("1.4", when=".ftz"),),
    meaning=FTZ,
)

neg = instruction(
    "neg",
    section="9.7.3.10",
    summary="Negates a number.",
    syntax="""
        neg{.ftz}.f32 d, a;
        neg.f64 d, a;
    """,
    operands=_UNARY,
    since=(Since("1.4", when=".ftz"),),
    meaning=FTZ,
)

_EXTREME_SINCE = (
    Since("1.4", when=".ftz"),
    Since("7.0", "sm_80+", when=".NaN"),
    Since("7.2", "sm_86+", when=".xorsign"),
    Since("8.8", "sm_100+", when="c"),
)

min_ = instruction(
    "min",
    section="9.7.3.11",
    reordered=True,
    summary="The smallest of two or three numbers; -0.0 counts as less than +0.0.",
    syntax="""
        min{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b;
        min{.ftz}{.NaN}{.abs}.f32 d, a, b, c;
        min.f64 d, a, b;
    """,
    operands=_TERNARY,
    since=_EXTREME_SINCE,
    meaning={**FTZ, **NAN, **MAGNITUDE},
)

max_ = instruction(
    "max",
    section="9.7.3.12",
    reordered=True,
    summary="The largest of two or three numbers; +0.0 counts as greater than -0.0.",
    syntax="""
        max{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b;
        max{.ftz}{.NaN}{.abs}.f32 d, a, b, c;
        max.f64 d, a, b;
    """,
    operands=_TERNARY,
    since=_EXTREME_SINCE,
    meaning={**FTZ, **NAN, **MAGNITUDE},
)

rcp = instruction(
    "rcp",
    section="9.7.3.13",
    reordered=True,
    summary="The reciprocal.",
    syntax="""
        rcp.approx{.ftz}.f32 d, a;
        rcp.rnd{.ftz}.f32 d, a;
        rcp.rnd.f64 d, a;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_UNARY,
    since=(_EXPLICIT, Since("2.0", when=".rnd and .f32"), Since("2.0", when=".rnd in .rz .rm .rp")),
    meaning={**ROUNDING, **FTZ, ".approx": "A fast approximation, within 1 ulp."},
)

rcp_approx_ftz_f64 = instruction(
    "rcp.approx.ftz.f64",
    section="9.7.3.14",
    reordered=True,
    summary="A gross approximation of the reciprocal, computed from and written to the upper 32 bits; the lower are 0.",
    syntax="""
        rcp.approx.ftz.f64 d, a;
    """,
    operands=_UNARY,
    since=(Since("2.1"),),
    meaning={**_APPROX, ".ftz": "Subnormal inputs and results become zero of the same sign."},
)

sqrt = instruction(
    "sqrt",
    section="9.7.3.15",
    reordered=True,
    summary="The square root.",
    syntax="""
        sqrt.approx{.ftz}.f32 d, a;
        sqrt.rnd{.ftz}.f32 d, a;
        sqrt.rnd.f64 d, a;
    """,
    choices="""
        .rnd = { .rn, .rz, .rm, .rp };
    """,
    operands=_UNARY,
    since=(_EXPLICIT, Since("2.0", when=".rnd and .f32"), Since("2.0", when=".rnd in .rz .rm .rp")),
    meaning={**ROUNDING, **FTZ, **_APPROX},
)

rsqrt = instruction(
    "rsqrt",
    section="9.7.3.16",
    reordered=True,
    summary="An approximation of the reciprocal of the square root.",
    syntax="""
        rsqrt.approx{.ftz}.f32 d, a;
        rsqrt.approx.f64 d, a;
    """,
    operands=_UNARY,
    since=(_EXPLICIT, Since("4.0", when=".f64")),
    meaning={**_APPROX, **FTZ},
)

rsqrt_approx_ftz_f64 = instruction(
    "rsqrt.approx.ftz.f64",
    section="9.7.3.17",
    reordered=True,
    summary="A gross approximation of the reciprocal square root, computed from and written to the upper 32 bits; the lower are 0.",
    syntax="""
        rsqrt.approx.ftz.f64 d, a;
    """,
    operands=_UNARY,
    since=(Since("4.0"),),
    meaning={**_APPROX, ".ftz": "Subnormal inputs and results become zero of the same sign."},
)

sin = instruction(
    "sin",
    section="9.7.3.18",
    reordered=True,
    summary="An approximation of the sine of an angle in radians.",
    syntax="""
        sin.approx{.ftz}.f32 d, a;
        sin.approx.ftz.2pi.f32 d, a;
    """,
    operands=_UNARY,
    since=(_EXPLICIT, Since("9.5", when=".2pi")),
    meaning={**_APPROX, **FTZ, ".2pi": "The angle is given in turns: 1.0 is a whole circle."},
)

cos = instruction(
    "cos",
    section="9.7.3.19",
    reordered=True,
    summary="An approximation of the cosine of an angle in radians.",
    syntax="""
        cos.approx{.ftz}.f32 d, a;
        cos.approx.ftz.2pi.f32 d, a;
    """,
    operands=_UNARY,
    since=(_EXPLICIT, Since("9.5", when=".2pi")),
    meaning={**_APPROX, **FTZ, ".2pi": "The angle is given in turns: 1.0 is a whole circle."},
)

lg2 = instruction(
    "lg2",
    section="9.7.3.20",
    reordered=True,
    summary="An approximation of the logarithm to the base 2.",
    syntax="""
        lg2.approx{.ftz}.f32 d, a;
    """,
    operands=_UNARY,
    since=(_EXPLICIT,),
    meaning={**_APPROX, **FTZ},
)

ex2 = instruction(
    "ex2",
    section="9.7.3.21",
    reordered=True,
    summary="An approximation of 2 to the power of a.",
    syntax="""
        ex2.approx{.ftz}.f32 d, a;
    """,
    operands=_UNARY,
    since=(_EXPLICIT,),
    meaning={**_APPROX, **FTZ},
)

tanh = instruction(
    "tanh",
    section="9.7.3.22",
    reordered=True,
    summary="An approximation of the hyperbolic tangent.",
    syntax="""
        tanh.approx.f32 d, a;
    """,
    operands=_UNARY,
    since=(Since("7.0", "sm_75+"),),
    meaning=_APPROX,
)
