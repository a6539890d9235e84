"""Products of one warp whose first factor is sparse: half of its elements are zero and left out (ISA 9.7.16.6).

The ISA's one section is several entries here, by how many lanes of four give the metadata: `selector` says which they are.
"""

from __future__ import annotations

from ptxgen.instructions.fragments import BYTES, FRAGMENTS, IN_BYTES, OPERANDS, PRODUCT, SAME_ACCUMULATOR, halved, metadata, product_tile
from ptxgen.instructions.language import Operand, Rule, Since, immediate, instruction, source
from ptxgen.instructions.scaled import SCALED, exact_factors, scaled_fragments, scaled_words, scales

_SECTION = "9.7.16.6.3"
_SPARSE = {
    **PRODUCT,
    ".spvariant": "How the metadata in e orders the elements that are kept.",
    ".sp": "a is sparse; on newer targets the ordered form is the fast one.",
    ".sp::ordered_metadata": "a is sparse, and the positions in the metadata ascend.",
    "e": "Metadata: four bits for four elements of a row, two bits for the place of each one that is kept; .s4 and .u4 are kept in pairs; "
    "for .tf32 four bits for two elements, 0b0100 for the first and 0b1110 for the second. Lanes 4g to 4g + 3 tell of rows g and g + 8. "
    "Of types of 16 bits and more, a word has four times four bits of row g and above them those of row g + 8; of others eight of row g, "
    "and the next lane's those of row g + 8.",
    "selector": "Which lanes of every four give the metadata: the number of the one, or of the pair; 0 where all do.",
}
_VARIANT = ".spvariant = { .sp{::ordered_metadata} };"


def _operands(selectors: range, dense: dict[str, Operand] = OPERANDS) -> dict[str, Operand]:
    """Operands of a product with half of a, its metadata in e, and which lanes of four give it."""
    a = dense["a"]
    half = source(a.type, vector=f"{a.vector} / 2", braced=True, immediate=False, exact=a.exact)
    return {**dense, "a": half, "e": source("u32", immediate=False), "selector": immediate("u32", selectors)}


# By how many lanes of every four give metadata.
_WIDE = {
    lanes: product_tile("32 // bits(.atype)", halved(FRAGMENTS), {"e": metadata(lanes, by_row=False)}) for lanes in (1, 2)
}  # fmt: skip
_NARROW = {
    lanes: product_tile("32 // bits(.atype)", halved(FRAGMENTS), {"e": metadata(lanes, by_row=True)}) for lanes in (2, 4)
}  # fmt: skip
_BYTES_TILE = product_tile("4", halved(IN_BYTES), {"e": metadata(4, by_row=True)})

_LINE = "mma.spvariant.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c, e, selector;"
_INTEGER_LINE = "mma.spvariant.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c, e, selector;"
_SINCE = (Since("7.1", "sm_80+"), Since("8.5", when=".spvariant in .sp::ordered_metadata"))
_HALF_TYPES = (
    *SAME_ACCUMULATOR,
    *(Rule("a and b have the same type", when=f".atype in {one}", need=f".btype in {one}") for one in (".f16", ".bf16", ".tf32")),
    Rule("only products of .f16 have an .f16 result", when=".dtype in .f16", need=".atype in .f16"),
)

mma_sparse_one = instruction(
    "mma.sp (floats, metadata from one lane of four)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of .f16, .bf16 or .tf32 and adds an accumulator.",
    syntax=_LINE,
    choices=f"""
        {_VARIANT}
        .shape = {{ .m16n8k8, .m16n8k16 }};
        .dtype = {{ .f16, .f32 }};
        .atype = {{ .f16, .bf16, .tf32 }};
        .btype = {{ .f16, .bf16, .tf32 }};
        .ctype = {{ .f16, .f32 }};
    """,
    operands=_operands(range(4)),
    rules=(
        *_HALF_TYPES,
        Rule("k is 8 for .tf32 where one lane of four gives the metadata", when=".atype in .tf32", need=".shape in .m16n8k8"),
        Rule("k is 16 for .f16 and .bf16 where one lane of four gives the metadata", when=".atype in .f16 .bf16",
             need=".shape in .m16n8k16"),
    ),
    since=_SINCE,
    issuer="warp",
    tile=_WIDE[1],
    meaning=_SPARSE,
)  # fmt: skip

mma_sparse_two = instruction(
    "mma.sp (floats, metadata from two lanes of four)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of .f16, .bf16 or .tf32, with twice the k, and adds an accumulator.",
    syntax=_LINE,
    choices=f"""
        {_VARIANT}
        .shape = {{ .m16n8k16, .m16n8k32 }};
        .dtype = {{ .f16, .f32 }};
        .atype = {{ .f16, .bf16, .tf32 }};
        .btype = {{ .f16, .bf16, .tf32 }};
        .ctype = {{ .f16, .f32 }};
    """,
    operands=_operands(range(2)),
    rules=(
        *_HALF_TYPES,
        Rule("k is 16 for .tf32 where two lanes of four give the metadata", when=".atype in .tf32", need=".shape in .m16n8k16"),
        Rule("k is 32 for .f16 and .bf16 where two lanes of four give the metadata", when=".atype in .f16 .bf16",
             need=".shape in .m16n8k32"),
    ),
    since=_SINCE,
    issuer="warp",
    tile=_WIDE[2],
    meaning=_SPARSE,
)  # fmt: skip

mma_sparse_f8 = instruction(
    "mma.sp (e4m3, e5m2)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of 8-bit floats and adds an accumulator.",
    syntax=_LINE,
    choices=f"""
        {_VARIANT}
        .shape = {{ .m16n8k64 }};
        .dtype = {{ .f16, .f32 }};
        .atype = {{ .e4m3, .e5m2 }};
        .btype = {{ .e4m3, .e5m2 }};
        .ctype = {{ .f16, .f32 }};
    """,
    operands=_operands(range(1)),
    rules=(
        *SAME_ACCUMULATOR,
        Rule("an .f16 result takes ordered metadata", when=".dtype in .f16", need=".spvariant in .sp::ordered_metadata"),
    ),
    since=(
        Since("8.4", "sm_89+"),
        Since("8.5", when=".spvariant in .sp::ordered_metadata"),
        Since("8.7", "sm_120f", when=".dtype in .f16"),
    ),
    issuer="warp",
    tile=_NARROW[4],
    meaning=_SPARSE,
)

mma_sparse_f8f6f4 = instruction(
    "mma.sp (f8f6f4)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of 8-, 6- or 4-bit floats and adds an accumulator.",
    syntax="""
        mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.dtype.atype.btype.ctype d, a, b, c, e, selector;
        mma.sp::ordered_metadata.sync.aligned.kind.shape.row.col.dtype.atype.btype.ctype d, a, b, c, e, selector;
    """,
    choices="""
        .shape = { .m16n8k64 };
        .kind = { .kind::f8f6f4 };
        .dtype = { .f16, .f32 };
        .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .ctype = { .f16, .f32 };
    """,
    operands=_operands(range(1), BYTES),
    rules=SAME_ACCUMULATOR,
    since=(
        Since("8.6", "sm_100f sm_110f sm_120f"),
        Since("8.7", "sm_120f", when=".dtype in .f16 or .atype in .e3m2 .e2m3 .e2m1 or .btype in .e3m2 .e2m3 .e2m1"),
    ),
    issuer="warp",
    tile=_BYTES_TILE,
    meaning=_SPARSE,
)

mma_sparse_integer_two = instruction(
    "mma.sp (integers, metadata from two lanes of four)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of bytes or 4-bit integers and adds an .s32 accumulator.",
    syntax=_INTEGER_LINE,
    choices=f"""
        {_VARIANT}
        .shape = {{ .m16n8k32, .m16n8k64 }};
        .dtype = {{ .s32 }};
        .atype = {{ .s8, .u8, .s4, .u4 }};
        .btype = {{ .s8, .u8, .s4, .u4 }};
        .ctype = {{ .s32 }};
    """,
    operands=_operands(range(2)),
    rules=(
        Rule("a and b have elements of the same width", when=".atype in .s8 .u8", need=".btype in .s8 .u8"),
        Rule("a and b have elements of the same width", when=".atype in .s4 .u4", need=".btype in .s4 .u4"),
        Rule("k is 32 for bytes where two lanes of four give the metadata", when=".atype in .s8 .u8", need=".shape in .m16n8k32"),
        Rule("k is 64 for 4 bits where two lanes of four give the metadata", when=".atype in .s4 .u4", need=".shape in .m16n8k64"),
    ),
    since=_SINCE,
    issuer="warp",
    tile=_NARROW[2],
    meaning=_SPARSE,
)

mma_sparse_integer_all = instruction(
    "mma.sp (integers, metadata from all lanes)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of bytes or 4-bit integers, with twice the k, and adds an .s32 accumulator.",
    syntax=_INTEGER_LINE,
    choices=f"""
        {_VARIANT}
        .shape = {{ .m16n8k64, .m16n8k128 }};
        .dtype = {{ .s32 }};
        .atype = {{ .s8, .u8, .s4, .u4 }};
        .btype = {{ .s8, .u8, .s4, .u4 }};
        .ctype = {{ .s32 }};
    """,
    operands=_operands(range(1)),
    rules=(
        Rule("a and b have elements of the same width", when=".atype in .s8 .u8", need=".btype in .s8 .u8"),
        Rule("a and b have elements of the same width", when=".atype in .s4 .u4", need=".btype in .s4 .u4"),
        Rule("k is 64 for bytes where all lanes give the metadata", when=".atype in .s8 .u8", need=".shape in .m16n8k64"),
        Rule("k is 128 for 4 bits where all lanes give the metadata", when=".atype in .s4 .u4", need=".shape in .m16n8k128"),
    ),
    since=_SINCE,
    issuer="warp",
    tile=_NARROW[4],
    meaning=_SPARSE,
)

_SCALED_SYNTAX = """
    mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.block_scale{.scale_vec_size}.dtype.atype.btype.ctype.stype
        d, a, b, c, e, selector, scale_a, selector_a, scale_b, selector_b;
    mma.sp::ordered_metadata.sync.aligned.kind.block_scale{.scale_vec_size}.shape.row.col.dtype.atype.btype.ctype.stype
        d, a, b, c, e, selector, scale_a, selector_a, scale_b, selector_b;
"""
_SCALED_WORDS = {vectors: {"e": metadata(4, by_row=True), **scaled_words(vectors)} for vectors in (1, 2, 4)}
_SCALED_TILES = {
    1: product_tile("4", scaled_fragments(halved(IN_BYTES)), _SCALED_WORDS[1]),
    **{vectors: product_tile("8", scaled_fragments(halved(FRAGMENTS)), _SCALED_WORDS[vectors]) for vectors in (2, 4)},
}  # by scales of a row
_SCALED = {**SCALED, ".sp::ordered_metadata": _SPARSE[".sp::ordered_metadata"]}

mma_sparse_scaled_1x = instruction(
    "mma.sp (one scale a row)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of 8-, 6- or 4-bit floats with a scale for each row of a and column of b.",
    syntax=_SCALED_SYNTAX,
    choices="""
        .shape = { .m16n8k64 };
        .kind = { .kind::mxf8f6f4 };
        .scale_vec_size = { .scale_vec::1X };
        .dtype = { .f32 };
        .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .ctype = { .f32 };
        .stype = { .ue8m0 };
    """,
    operands={**_operands(range(1), exact_factors(4)), **scales(range(4))},
    since=(Since("8.7", "sm_120f"),),
    issuer="warp",
    tile=_SCALED_TILES[1],
    meaning=_SCALED,
)

mma_sparse_scaled_2x = instruction(
    "mma.sp (two scales a row)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of 4-bit floats with two scales for each row of a and column of b.",
    syntax=_SCALED_SYNTAX,
    choices="""
        .shape = { .m16n8k128 };
        .kind = { .kind::mxf4, .kind::mxf4nvf4 };
        .scale_vec_size = { .scale_vec::2X };
        .dtype = { .f32 };
        .atype = { .e2m1 };
        .btype = { .e2m1 };
        .ctype = { .f32 };
        .stype = { .ue8m0 };
    """,
    operands={**_operands(range(1), exact_factors(8)), **scales(range(0, 4, 2))},
    rules=(Rule(".kind::mxf4nvf4 says how many scales there are", when=".kind in .kind::mxf4nvf4", need=".scale_vec_size"),),
    since=(Since("8.7", "sm_120a sm_121a"),),
    issuer="warp",
    tile=_SCALED_TILES[2],
    meaning=_SCALED,
)

mma_sparse_scaled_4x = instruction(
    "mma.sp (four scales a row)",
    section=_SECTION,
    summary="Multiplies a sparse by a dense matrix of 4-bit floats with four scales for each row of a and column of b.",
    syntax=_SCALED_SYNTAX.replace("{.scale_vec_size}", ".scale_vec_size"),
    choices="""
        .shape = { .m16n8k128 };
        .kind = { .kind::mxf4nvf4 };
        .scale_vec_size = { .scale_vec::4X };
        .dtype = { .f32 };
        .atype = { .e2m1 };
        .btype = { .e2m1 };
        .ctype = { .f32 };
        .stype = { .ue8m0, .ue4m3 };
    """,
    operands={**_operands(range(1), exact_factors(8)), **scales(range(1))},
    since=(Since("8.7", "sm_120a sm_121a"), Since("9.1", when=".stype in .ue8m0")),
    issuer="warp",
    tile=_SCALED_TILES[4],
    meaning=_SCALED,
)
