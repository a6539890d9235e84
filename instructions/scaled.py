"""Products of one warp whose factors are scaled block by block (ISA 9.7.16.3, "Block Scaling for mma")."""

from __future__ import annotations

from ptxgen.instructions.fragments import FRAGMENTS, IN_BYTES, OPERANDS, PRODUCT, WORDS, product_tile
from ptxgen.instructions.language import Operand, Rule, Since, instruction, source
from ptxgen.instructions.tiles import Atom

__all__ = ["SCALED", "exact_factors", "scaled_fragments", "scaled_words", "scales"]

SCALED = {
    **PRODUCT,
    ".block_scale": "Each block of a row of a, and of a column of b, is multiplied by a power of two or a narrow float of its own.",
    ".kind::mxf4": "Elements of 4 bits, eight a register, with .ue8m0 scales.",
    ".kind::mxf4nvf4": "Elements of 4 bits, eight a register, with .ue8m0 or .ue4m3 scales.",
    ".kind::mxf8f6f4": "As .kind::f8f6f4, with .ue8m0 scales.",
    ".scale_vec_size": "How many scales a row of a, and a column of b, has.",
    ".scale_vec::1X": "One scale a row.",
    ".scale_vec::2X": "Two scales a row.",
    ".scale_vec::4X": "Four scales a row.",
    ".stype": "The type of a scale.",
    ".ue8m0": "A power of two.",
    ".ue4m3": "A float without sign, of four exponent and three mantissa bits.",
}


def scales(bytes: range) -> dict[str, Operand]:
    """The scales of both factors, and which byte of which lanes' registers holds them: `bytes` are the first bytes allowed."""
    return {
        "scale_a": source("b32", immediate=False, braceable=True),
        "selector_a": source("u16", vector=2, values=(bytes, range(2))),
        "scale_b": source("b32", immediate=False, braceable=True),
        "selector_b": source("u16", vector=2, values=(bytes, range(4))),
    }


def exact_factors(elements: int) -> dict[str, Operand]:
    """Operands of a product with so many elements in each register of a and b; ptxas takes registers of .b32 alone for these."""
    return {
        **OPERANDS,
        "a": source("b32", vector=f"m(.shape) * k(.shape) / {32 * elements}", braced=True, immediate=False, exact=True),
        "b": source("b32", vector=f"n(.shape) * k(.shape) / {32 * elements}", braced=True, immediate=False, exact=True),
    }


def scaled_fragments(fragments: dict[str, Atom]) -> dict[str, Atom]:
    """Fragments with the words of scales of the lanes; the selectors say which lanes' words and which of their bytes are taken."""
    return {
        **fragments,
        "scale_a": Atom("32", WORDS, element="b32", repeats="* M K"),
        "scale_b": Atom("32", WORDS, element="b32", repeats="* N K"),
    }


def scaled_words(vectors: int) -> dict[str, Atom]:
    """So many scales of each row of a and column of b, in bytes: two lanes of four give those of rows g and g + 8, one of four b's."""
    given = {"byte": "selector_{}.0", "thread": "selector_{}.1"}
    return {
        "scale_a": Atom(
            f"16, {vectors}", f"S[((2, 8), {vectors}) : ((1@laneid, 4@laneid), 1)] + (2*thread)@laneid + byte", element="b8",
            constants={name: source.format("a") for name, source in given.items()},
        ),
        "scale_b": Atom(
            f"8, {vectors}", f"S[(8, {vectors}) : (4@laneid, 1)] + thread@laneid + byte", element="b8",
            constants={name: source.format("b") for name, source in given.items()},
        ),
    }  # fmt: skip


# Elements of 4 bits fill their registers, unlike those beside wider ones; by scales of a row.
_TILES = {
    1: product_tile("4", scaled_fragments(IN_BYTES), scaled_words(1)),
    **{vectors: product_tile("8", scaled_fragments(FRAGMENTS), scaled_words(vectors)) for vectors in (2, 4)},
}

# The second line is how compilers write it.
_SYNTAX = """
    mma.sync.aligned.shape.row.col.kind.block_scale{.scale_vec_size}.dtype.atype.btype.ctype.stype
        d, a, b, c, scale_a, selector_a, scale_b, selector_b;
    mma.sync.aligned.kind.block_scale{.scale_vec_size}.shape.row.col.dtype.atype.btype.ctype.stype
        d, a, b, c, scale_a, selector_a, scale_b, selector_b;
"""
_SINCE = (Since("8.7", "sm_120f"),)

mma_scaled_1x = instruction(
    "mma (one scale a row)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of 8-, 6- or 4-bit floats with a scale for each row of a and column of b.",
    syntax=_SYNTAX,
    choices="""
        .shape = { .m16n8k32 };
        .kind = { .kind::mxf8f6f4 };
        .scale_vec_size = { .scale_vec::1X };
        .dtype = { .f32 };
        .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .ctype = { .f32 };
        .stype = { .ue8m0 };
    """,
    operands={**exact_factors(4), **scales(range(4))},
    since=_SINCE,
    issuer="warp",
    tile=_TILES[1],
    meaning=SCALED,
)

mma_scaled_2x = instruction(
    "mma (two scales a row)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of 4-bit floats with two scales for each row of a and column of b.",
    syntax=_SYNTAX,
    choices="""
        .shape = { .m16n8k64 };
        .kind = { .kind::mxf4, .kind::mxf4nvf4 };
        .scale_vec_size = { .scale_vec::2X };
        .dtype = { .f32 };
        .atype = { .e2m1 };
        .btype = { .e2m1 };
        .ctype = { .f32 };
        .stype = { .ue8m0 };
    """,
    operands={**exact_factors(8), **scales(range(0, 4, 2))},
    rules=(Rule(".kind::mxf4nvf4 says how many scales there are", when=".kind in .kind::mxf4nvf4", need=".scale_vec_size"),),
    since=_SINCE,
    issuer="warp",
    tile=_TILES[2],
    meaning=SCALED,
)

mma_scaled_4x = instruction(
    "mma (four scales a row)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of 4-bit floats with four scales for each row of a and column of b.",
    syntax=_SYNTAX.replace("{.scale_vec_size}", ".scale_vec_size"),
    choices="""
        .shape = { .m16n8k64 };
        .kind = { .kind::mxf4nvf4 };
        .scale_vec_size = { .scale_vec::4X };
        .dtype = { .f32 };
        .atype = { .e2m1 };
        .btype = { .e2m1 };
        .ctype = { .f32 };
        .stype = { .ue8m0, .ue4m3 };
    """,
    operands={**exact_factors(8), **scales(range(1))},
    since=(*_SINCE, Since("9.1", when=".stype in .ue8m0")),
    issuer="warp",
    tile=_TILES[4],
    meaning=SCALED,
)
