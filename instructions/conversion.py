"""Conversions between types (ISA 9.7.10.24).

The ISA's one section is several entries here, one for each way in which sources become a destination.
"""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, instruction, out, source

_INTEGERS = ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64"
_FLOATS = ".bf16 .f16 .f32 .f64"
# The families that have the narrow types, and the architectures that have stochastic rounding and s2f6.
_NARROW = "sm_100f sm_110f sm_120f"
_STOCHASTIC = "sm_100a sm_103a sm_107a"
_FIXED_POINT = "sm_100a sm_103a sm_107a sm_110a sm_120a sm_121a"

_RUBIN = "sm_107f"
_POSITIVE_ZERO = Since("9.4", _RUBIN, when=".pzo")

_SECTION = "9.7.10.24"
_NARROW_FLOATS = {
    ".e4m3": "a sign, 4 bits of exponent (bias 7), 3 of fraction: up to 448, no infinity",
    ".e5m2": "a sign, 5 bits of exponent (bias 15), 2 of fraction: up to 57344",
    ".e3m2": "a sign, 3 bits of exponent (bias 3), 2 of fraction: up to 28, no infinity, no NaN; in the low bits of a byte",
    ".e2m3": "a sign, 2 bits of exponent (bias 1), 3 of fraction: up to 7.5, no infinity, no NaN; in the low bits of a byte",
    ".e2m1": "a sign, 2 bits of exponent (bias 1), 1 of fraction: up to 6, no infinity, no NaN",
}
_PACKED = ((2, "Two"), (4, "Four"))
_MEANING = {
    **{f"{name}x{count}": f"{number} floats: {bits}." for name, bits in _NARROW_FLOATS.items() for count, number in _PACKED},
    ".s2f6x2": "Two bytes that count 64ths: -2 to 127/64.",
    ".ue8m0x2": "Two powers of two: bytes of exponent plus 127, 255 for NaN.",
    ".dtype": "The type of the result.",
    ".atype": "The type of the source.",
    ".irnd": "Rounds to an integral value.",
    ".rni": "To the nearest integer, ties to even.",
    ".rzi": "To the next integer toward zero.",
    ".rmi": "To the next integer below.",
    ".rpi": "To the next integer above.",
    ".frnd": "How an inexact floating result is rounded.",
    ".rn": "To the nearest, ties to even.",
    ".rz": "Toward zero.",
    ".rm": "Toward minus infinity.",
    ".rp": "Toward plus infinity.",
    ".rna": "To the nearest, ties away from zero.",
    ".rs": "Stochastically: up with the probability that the discarded bits and rbits give.",
    ".ftz": "Subnormal .f32 inputs and results become zero of the same sign.",
    ".sat": "Clamps to the range of an integer result; to [0.0, 1.0] for a floating one, NaN becoming 0.",
    ".satfinite": "A value past the largest finite one becomes that one, not infinity; NaN too, where the type has none.",
    ".relu": "A negative result becomes 0; NaN becomes the canonical NaN.",
    ".pzo": "A result of -0.0 becomes +0.0.",
    ".scaled::n1::ue8m0": "Divides both values by one power of two: scale holds its .ue8m0 exponent.",
    ".scaled::n2::ue8m0": "Scales by powers of two: scale holds two .ue8m0 exponents, one for each element.",
}

# For each integer result the sources whose every value it can hold.
_CONTAINED = {
    ".u8": ".u8", ".u16": ".u8 .u16", ".u32": ".u8 .u16 .u32", ".u64": ".u8 .u16 .u32 .u64",
    ".s8": ".s8", ".s16": ".u8 .s8 .s16", ".s32": ".u8 .u16 .s8 .s16 .s32", ".s64": ".u8 .u16 .u32 .s8 .s16 .s32 .s64",
}  # fmt: skip
_ROUNDS = (
    f".dtype in {_FLOATS} and .atype in {_INTEGERS} or .dtype in .f16 and .atype in .f32 .f64 or .dtype in .f32 and .atype in .f64"
    " or .dtype in .bf16 and .atype in .f32 .f64"
)
_SAME = " or ".join(f".dtype in {one} and .atype in {one}" for one in _FLOATS.split())
_NO_BF16 = "not .dtype in .bf16 and not .atype in .bf16"

# ptxas 13.5 trips over a wide register below cvt.{rz,rm,rp}.ftz.f32.f64 ("Arguments mismatch for instruction 'mov'").
_WIDE_RESULT = " or ".join(f"{_NO_BF16} and {one}" for one in ("not .ftz", "not .atype in .f64", ".frnd in .rn"))

cvt = instruction(
    "cvt",
    section=_SECTION,
    reordered=True,
    summary="Converts one value between integer and floating types of any size.",
    syntax="""
        cvt{.irnd}{.ftz}{.sat}.dtype.atype d, a;
        cvt.frnd{.ftz}{.sat}.dtype.atype d, a;
    """,
    choices="""
        .irnd = { .rni, .rzi, .rmi, .rpi };
        .frnd = { .rn, .rz, .rm, .rp };
        .dtype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .bf16, .f16, .f32, .f64 };
        .atype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .bf16, .f16, .f32, .f64 };
    """,
    operands={
        "d": out(".dtype", wider=_WIDE_RESULT),
        "a": source(".atype", wider=_NO_BF16, special=f".dtype in {_INTEGERS} and .atype in {_INTEGERS}"),
    },
    rules=(
        Rule("a floating value becomes an integer by .rni, .rzi, .rmi or .rpi",
             when=f".dtype in {_INTEGERS} and .atype in {_FLOATS}", need=".irnd"),
        Rule("a conversion between integers does not round", when=f".dtype in {_INTEGERS} and .atype in {_INTEGERS}",
             need="not .irnd and not .frnd"),
        Rule("an integer becomes a floating value, and a float a narrower one, by .rn, .rz, .rm or .rp", when=_ROUNDS,
             need=".frnd"),
        Rule(".rni, .rzi, .rmi and .rpi give an integer, or an integral value of the same floating type",
             when=f".irnd and .dtype in {_FLOATS}", need=_SAME),
        Rule("a conversion that loses nothing does not round",
             when=".dtype in .f64 and .atype in .f16 .f32 or .dtype in .f32 and .atype in .f16", need="not .frnd"),
        Rule("within one floating type only .rni, .rzi, .rmi and .rpi round", when=_SAME, need="not .frnd"),
        Rule(".ftz is for .f32", when=".ftz", need=".dtype in .f32 or .atype in .f32"),
        Rule(".sat does not go with .bf16", when=".sat", need=_NO_BF16),
        *(Rule("a result that holds every value of the source does not saturate", when=f".sat and .dtype in {result}",
               need=f"not .atype in {sources}") for result, sources in _CONTAINED.items()),
    ),
    since=(
        Since("7.0", "sm_80+", when=".dtype in .bf16 and .atype in .f32"),
        Since("7.1", "sm_80+", when=".dtype in .f32 and .atype in .bf16"),
        Since("7.8", "sm_90+", when=".dtype in .f32 and .atype in .bf16 and .ftz"),
        Since("7.8", "sm_90+", when=f".dtype in .bf16 and .atype in {_INTEGERS} .bf16 .f16 .f64"),
        Since("7.8", "sm_90+", when=f".dtype in {_INTEGERS} .f16 .f64 and .atype in .bf16"),
    ),
    meaning=_MEANING,
)  # fmt: skip

cvt_half = instruction(
    "cvt (to a half, with .relu or .satfinite)",
    section=_SECTION,
    reordered=True,
    summary="Converts .f32 to a 16-bit float whose range is clamped.",
    syntax="cvt.frnd{.relu}{.satfinite}{.pzo}.dtype.atype d, a;",
    choices="""
        .frnd = { .rn, .rz };
        .dtype = { .f16, .bf16 };
        .atype = { .f32 };
    """,
    operands={"d": out(".dtype", wider="not .dtype in .bf16"), "a": source(".atype", wider="not .dtype in .bf16")},
    rules=(Rule("without .relu, .satfinite and .pzo this is the general cvt", need=".relu or .satfinite or .pzo"),),
    since=(
        _POSITIVE_ZERO,
        Since("7.0", "sm_80+", when=".relu or .dtype in .bf16"),
        Since("8.1", when=".satfinite"),
    ),
    meaning=_MEANING,
)

cvt_tf32 = instruction(
    "cvt (to tf32)",
    section=_SECTION,
    reordered=True,
    summary="Converts .f32 to .tf32, kept in 32 bits.",
    syntax="""
        cvt.rna{.satfinite}.dtype.atype d, a;
        cvt.frnd{.satfinite}{.relu}{.pzo}.dtype.atype d, a;
        cvt.frnd.relu.satfinite.dtype.atype d, a;
    """,
    choices="""
        .frnd = { .rn, .rz };
        .dtype = { .tf32 };
        .atype = { .f32 };
    """,
    operands={"d": out(".dtype"), "a": source(".atype")},
    since=(
        Since("7.0", "sm_80+"),
        Since("8.1", when=".satfinite"),
        Since("7.8", "sm_90+", when=".frnd"),
        Since("8.6", "sm_100+", when=".frnd and .satfinite"),
        _POSITIVE_ZERO,
    ),
    meaning=_MEANING,
)

cvt_halves = instruction(
    "cvt (two .f32 to a pair of halves)",
    section=_SECTION,
    reordered=True,
    summary="Converts two .f32 values to 16-bit floats and packs them, a in the upper half.",
    syntax="""
        cvt.frnd{.relu}{.satfinite}{.pzo}.dtype.atype d, a, b;
        cvt.rs{.relu}{.satfinite}.dtype.atype d, a, b, rbits;
    """,
    choices="""
        .frnd = { .rn, .rz };
        .dtype = { .f16x2, .bf16x2 };
        .atype = { .f32 };
    """,
    operands={
        "d": out(".dtype"),
        "a": source(".atype"),
        "b": source(".atype"),
        "rbits": source("b32", immediate=False, exact=True),
    },
    since=(
        Since("7.0", "sm_80+"),
        Since("8.1", when=".satfinite"),
        Since("8.7", _STOCHASTIC, when=".rs"),
        _POSITIVE_ZERO,
    ),
    meaning={**_MEANING, "a": "Becomes the upper half.", "b": "Becomes the lower half."},
)

cvt_narrow = instruction(
    "cvt (to two narrow values)",
    section=_SECTION,
    reordered=True,
    summary="Converts two values to 8, 6 or 4 bits each and packs them, the first or upper one on top.",
    syntax="""
        cvt.frnd.satfinite{.relu}{.pzo}.dtype.f32 d, a, b;
        cvt.frnd.satfinite{.relu}{.pzo}.dtype.halves d, h;
        cvt.rn.relu.satfinite.dtype.f32 d, a, b;
        cvt.rn.relu.satfinite.dtype.halves d, h;
        cvt.frnd.satfinite{.relu}.scaled::n2::ue8m0.dtype.f32 d, a, b, scale;
        cvt.frnd.satfinite{.relu}.scaled::n2::ue8m0.dtype.halves d, h, scale;
        cvt.frnd.satfinite{.relu}{.pzo}.scaled::n1::ue8m0.dtype.f32 d, a, b, one;
        cvt.frnd.satfinite{.relu}{.pzo}.scaled::n1::ue8m0.dtype.halves d, h, one;
    """,
    choices="""
        .frnd = { .rn, .rz };
        .dtype = { .e4m3x2, .e5m2x2, .e2m3x2, .e3m2x2, .e2m1x2, .s2f6x2 };
        .halves = { .f16x2, .bf16x2 };
    """,
    operands={
        "d": out(".dtype"),
        "a": source("f32"),
        "b": source("f32"),
        "h": source(".halves"),
        "scale": source("ue8m0x2", immediate=False),
        "one": source("ue8m0", immediate=False),
    },
    rules=(
        Rule(".s2f6x2 has no negative zero", when=".dtype in .s2f6x2", need="not .pzo"),
        Rule(".s2f6x2 takes a scale for each element", when=".dtype in .s2f6x2", need="not .scaled::n1::ue8m0"),
        Rule(".s2f6x2 comes from .f32 or .bf16x2", when=".dtype in .s2f6x2", need="not .halves in .f16x2"),
        Rule("only .s2f6x2 takes a scale for each element", when=".scaled::n2::ue8m0", need=".dtype in .s2f6x2"),
    ),
    since=(
        Since("8.1", "sm_89+", when=".dtype in .e4m3x2 .e5m2x2", sooner=("7.8", "sm_90+")),
        Since("8.6", _NARROW, when=".dtype in .e2m3x2 .e3m2x2 .e2m1x2"),
        Since("9.1", when=".dtype in .e2m3x2 .e3m2x2 .e2m1x2 and .halves"),
        Since("9.1", _NARROW, when=".halves in .bf16x2"),
        Since("9.1", _FIXED_POINT, when=".dtype in .s2f6x2"),
        Since("9.4", _RUBIN, when=".frnd in .rz"),
        Since("9.4", _RUBIN, when=".scaled::n1::ue8m0"),
        _POSITIVE_ZERO,
    ),
    meaning={
        **_MEANING,
        ".halves": "A pair of 16-bit floats as the source.",
        "a": "Goes on top.",
        "b": "Goes to the bottom.",
        "h": "A pair, whose upper half goes on top.",
        "scale": "Two exponents of a power of two plus 127, that of the upper value on top.",
        "one": "The exponent of a power of two, plus 127.",
    },
)

cvt_widen = instruction(
    "cvt (from two narrow values)",
    section=_SECTION,
    reordered=True,
    summary="Unpacks two values of 8, 6 or 4 bits and converts them to a pair of 16-bit floats.",
    syntax="""
        cvt.rn{.relu}.f16x2.atype d, a;
        cvt.rn{.satfinite}{.relu}.bf16x2.atype d, a;
        cvt.rn.relu.satfinite.bf16x2.atype d, a;
        cvt.rn{.satfinite}{.relu}.scaled::n2::ue8m0.bf16x2.atype d, a, scale;
    """,
    choices=".atype = { .e4m3x2, .e5m2x2, .e2m3x2, .e3m2x2, .e2m1x2, .s2f6x2 };",
    operands={"d": out(".type"), "a": source(".atype", immediate=False), "scale": source("ue8m0x2", immediate=False)},
    rules=(Rule(".s2f6x2 becomes .bf16x2", when=".atype in .s2f6x2", need="not .f16x2"),),
    since=(
        Since("8.1", "sm_89+", when=".atype in .e4m3x2 .e5m2x2", sooner=("7.8", "sm_90+")),
        Since("8.6", _NARROW, when=".atype in .e2m3x2 .e3m2x2 .e2m1x2"),
        Since("9.2", _NARROW, when=".bf16x2 and not .atype in .s2f6x2"),
        Since("9.1", _FIXED_POINT, when=".atype in .s2f6x2"),
    ),
    meaning={
        **_MEANING,
        "a": "Two values, that of the upper half of the result on top.",
        "scale": "Two exponents of a power of two plus 127, that of the upper value on top.",
    },
)

cvt_exponent = instruction(
    "cvt (to and from ue8m0)",
    section=_SECTION,
    reordered=True,
    summary="Converts between two values and two 8-bit powers of two.",
    syntax="""
        cvt.frnd{.satfinite}.ue8m0x2.f32 d, a, b;
        cvt.frnd{.satfinite}.ue8m0x2.bf16x2 d, h;
        cvt.rn.bf16x2.ue8m0x2 wide, e;
    """,
    choices=".frnd = { .rz, .rp };",
    operands={
        "d": out("ue8m0x2"),
        "a": source("f32"),
        "b": source("f32"),
        "h": source("bf16x2"),
        "wide": out("bf16x2"),
        "e": source("ue8m0x2", immediate=False),
    },
    since=(Since("8.6", _NARROW),),
    meaning={
        **_MEANING,
        "a": "Goes on top.",
        "b": "Goes to the bottom.",
        "h": "A pair, whose upper half goes on top.",
        "e": "Two exponents of a power of two, plus 127; 255 is NaN.",
    },
)

cvt_four = instruction(
    "cvt (four .f32 to four narrow values)",
    section=_SECTION,
    reordered=True,
    summary="Converts four .f32 values to 8, 6 or 4 bits each with stochastic rounding and packs them, the first on top.",
    syntax="""
        cvt.rs{.relu}.satfinite.dtype.atype d, four, rbits;
        cvt.rs.satfinite.relu.dtype.atype d, four, rbits;
    """,
    choices="""
        .dtype = { .e4m3x4, .e5m2x4, .e2m3x4, .e3m2x4, .e2m1x4 };
        .atype = { .f32 };
    """,
    operands={"d": out(".dtype"), "four": source(".atype", vector=4), "rbits": source("b32", immediate=False, exact=True)},
    since=(Since("8.7", _STOCHASTIC),),
    meaning={**_MEANING, "four": "From the top down."},
)

cvt_pack = instruction(
    "cvt.pack",
    section="9.7.10.25",
    summary="Converts two integers to narrower ones with saturation and packs them, a above b, above a shifted third operand.",
    syntax="""
        cvt.pack.sat.dtype16.s32 d, a, b;
        cvt.pack.sat.dtype.s32.b32 d, a, b, c;
    """,
    choices="""
        .dtype16 = { .u16, .s16 };
        .dtype = { .u2, .s2, .u4, .s4, .u8, .s8 };
    """,
    operands={"d": out("u32"), "a": source("s32"), "b": source("s32"), "c": source("b32")},
    since=(Since("6.5"),),
    meaning={
        **_MEANING,
        ".pack": "Packs both results into one register.",
        ".sat": "Clamps to the range of the result.",
        ".dtype16": "The type of each result; the two fill the register.",
        ".dtype": "The type of each result; the two take the low bits, and c moves up by as much.",
        "a": "The upper of the two.",
        "b": "The lower of the two.",
        "c": "What goes above them, its upper bits lost: a result of the same, or 0.",
    },
)
