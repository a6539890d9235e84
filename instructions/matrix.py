"""Matrices of one warp: moves between registers and shared memory, and dense products (ISA 9.7.16.5)."""

from __future__ import annotations

from ptxgen.instructions.fragments import BYTES, COLLECTIVE, IN_BYTES, OPERANDS, PRODUCT, SAME_ACCUMULATOR, TILE, product_tile
from ptxgen.instructions.language import Rule, Since, address, instruction, out, source
from ptxgen.instructions.tiles import Atom, Tile

# ---- moves ------------------------------------------------------------------------------------------------------------

_MOVE = {
    **COLLECTIVE,
    ".shape": "Rows and columns of one matrix.",
    ".m8n8": "Eight rows of eight 16-bit elements.",
    ".m8n16": "Eight rows of 16 elements of 6 or 4 bits, each a byte in the register.",
    ".m16n16": "16 rows of 16 elements, each a byte in the register.",
    ".m16n8": "16 rows of eight bytes.",
    ".num": "How many matrices; matrix i's rows are those whose addresses the lanes from 8 * i on give (16 * i for 16 rows).",
    ".trans": "Transposes each matrix on its way.",
    ".ss": "The state space of the address; left out, the address is generic and points into shared memory.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block, said explicitly.",
    ".type": "The size of an element.",
    ".dst_fmt": "What the registers hold: 16 elements, each in a byte.",
    ".src_fmt": "How 16 elements are packed in memory.",
    ".b8x16": "Each element in the lower bits of its own byte.",
    ".b6x16_p32": "Packed in 12 bytes, followed by four bytes of padding.",
    ".b4x16_p64": "Packed in eight bytes, followed by eight bytes of padding.",
}
# Eight lanes hold a row of a matrix, two elements each; with .trans, a column. Lane 8 * i + r gives the address of row r of matrix i.
_LANES = "S[(x, (4, 2), 8) : (2, (1@laneid, 1), 4@laneid)] if .trans else S[(x, 8, (4, 2)) : (2, 4@laneid, (1@laneid, 1))]"
# Matrices of bytes have rows of 16; four lanes hold a row, or (with .trans) a column: four neighbours, or two of each of two columns.
_TALL = ".shape in .m16n16 or .m16n16"
_LOADED = (
    f"S[(x, (4, 4), (2, 8)) : (8, (1@laneid, 1), (4, 4@laneid))] if {_TALL} else "
    f"S[(x, 8, (4, 4)) : (4, 4@laneid, (1@laneid, 1))] if .m8n16 else {_LANES}"
)
_STORED = f"S[(x, (4, 2), (2, 8)) : (4, (1@laneid, 1), (2, 4@laneid))] if .shape in .m16n8 else {_LANES}"
_SQUARE, _TALL_ROWS = "S[(x, 8, 8) : (8@laneid, 1@laneid, 1)]", "S[(x, 16, 16) : (16@laneid, 1@laneid, 1)]"
_LONG_ROWS = "S[(x, 8, 16) : (8@laneid, 1@laneid, 1)]"


def _moved(memory: str, registers: str, shape: str, rows: str, layout: str, element: str) -> Tile:
    """The tile form of a move: both sides have the axes matrix, row and element of the row in memory."""
    return Tile(
        {memory: Atom(shape, rows, element=element, place="memory"), registers: Atom(shape, layout, element=element)},
        names="x = .num",
    )


_LOAD = _moved(
    "p", "r", f"x, 16, 16 if {_TALL} else x, 8, 16 if .m8n16 else x, 8, 8",
    f"{_TALL_ROWS} if {_TALL} else {_LONG_ROWS} if .m8n16 else {_SQUARE}", _LOADED, "b8 if .dst_fmt or .type in .b8 else b16",
)  # fmt: skip
# How the rows of narrow elements are packed, in bits: their padding holds nothing.
_PACKED_ROWS = Tile(
    {
        "p": Atom(
            f"x, 16, 16 if {_TALL} else x, 8, 16",
            f"S[(x, 16, 16) : (16@laneid, 1@laneid, w)] if {_TALL} else S[(x, 8, 16) : (8@laneid, 1@laneid, w)]",
            element="bit", place="memory",
        ),
    },
    names="x = .num; w = 6 if .src_fmt in .b6x16_p32 else 4",
    when=".src_fmt",
)  # fmt: skip
_STORE = _moved(
    "p", "r", "x, 8, 16 if .shape in .m16n8 else x, 8, 8", f"{_LONG_ROWS} if .shape in .m16n8 else {_SQUARE}", _STORED, ".type",
)  # fmt: skip

_CTA = Since("7.8", when=".ss in .shared::cta")
_NARROW = "sm_100f sm_110f sm_120f"
_ROW = address("in", "b128", space=".ss")  # each row is 16 consecutive aligned bytes

ldmatrix = instruction(
    "ldmatrix",
    section="9.7.16.5.15",
    summary="Loads matrices from shared memory into registers in the pattern that mma takes; each lane gives the address of one row.",
    syntax="""
        ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type r, [p];
        ldmatrix.sync.aligned.num{.trans}.shape{.ss}.type r, [p];
        ldmatrix.sync.aligned.m8n16.num{.ss}.dst_fmt.src_fmt r, [p];
        ldmatrix.sync.aligned.m16n16.num.trans{.ss}.dst_fmt.src_fmt r, [p];
    """,
    choices="""
        .shape = { .m8n8, .m16n16 };
        .num = { .x1, .x2, .x4 };
        .ss = { .shared{::cta} };
        .type = { .b16, .b8 };
        .dst_fmt = { .b8x16 };
        .src_fmt = { .b6x16_p32, .b4x16_p64 };
    """,
    operands={
        "r": out("b32", vector=".num * 2 if .shape in .m16n16 or .m16n16 else .num", braced=True),
        "p": _ROW,
    },
    rules=(
        Rule(".m8n8 loads elements of 16 bits", when=".shape in .m8n8", need=".type in .b16"),
        Rule(".m16n16 loads elements of 8 bits", when=".shape in .m16n16", need=".type in .b8"),
        Rule(".m16n16 loads one matrix or two", when=".shape in .m16n16 or .m16n16", need=".num in .x1 .x2"),
        Rule(".m16n16 is transposed", when=".shape in .m16n16", need=".trans"),
    ),
    since=(Since("6.5", "sm_75+"), Since("8.6", _NARROW, when=".shape in .m16n16 or .dst_fmt"), _CTA),
    issuer="warp",
    tile=_LOAD,
    layouts=_PACKED_ROWS,
    meaning=_MOVE,
)

stmatrix = instruction(
    "stmatrix",
    section="9.7.16.5.16",
    summary="Stores matrices from registers to shared memory; each lane gives the address of one row.",
    syntax="""
        stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [p], r;
        stmatrix.sync.aligned.num{.trans}.shape{.ss}.type [p], r;
    """,
    choices="""
        .shape = { .m8n8, .m16n8 };
        .num = { .x1, .x2, .x4 };
        .ss = { .shared{::cta} };
        .type = { .b16, .b8 };
    """,
    operands={
        "p": address("out", "b128", space=".ss"),
        "r": source("b32", vector=".num", braced=True, immediate=False),
    },
    rules=(
        Rule(".m8n8 stores elements of 16 bits", when=".shape in .m8n8", need=".type in .b16"),
        Rule(".m16n8 stores elements of 8 bits", when=".shape in .m16n8", need=".type in .b8"),
        Rule(".m16n8 is transposed", when=".shape in .m16n8", need=".trans"),
    ),
    since=(Since("7.8", "sm_90+"), Since("8.6", _NARROW, when=".shape in .m16n8")),
    issuer="warp",
    tile=_STORE,
    meaning=_MOVE,
)

movmatrix = instruction(
    "movmatrix",
    section="9.7.16.5.17",
    summary="Transposes an 8 x 8 matrix of 16-bit elements across the registers of a warp.",
    syntax="movmatrix.sync.aligned.m8n8.trans.b16 d, a;",
    operands={"d": out("b32"), "a": source("b32", immediate=False)},
    since=(Since("7.8", "sm_75+"),),
    issuer="warp",
    # An element keeps its coordinates: d holds in columns what a holds in rows.
    tile=Tile(
        {
            "d": Atom("8, 8", "S[((4, 2), 8) : ((1@laneid, 1), 4@laneid)]", element="b16"),
            "a": Atom("8, 8", "S[(8, (4, 2)) : (4@laneid, (1@laneid, 1))]", element="b16"),
        }
    ),
    meaning=_MOVE,
)

# ---- products ---------------------------------------------------------------------------------------------------------

mma_f16 = instruction(
    "mma (f16)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of .f16 and adds an accumulator.",
    syntax="mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .shape = { .m16n8k8, .m16n8k16 };
        .dtype = { .f16, .f32 };
        .atype = { .f16 };
        .btype = { .f16 };
        .ctype = { .f16, .f32 };
    """,
    operands=OPERANDS,
    rules=SAME_ACCUMULATOR,
    since=(Since("6.5", "sm_75+"), Since("7.0", "sm_80+", when=".shape in .m16n8k16")),
    issuer="warp",
    tile=TILE,
    meaning=PRODUCT,
)

mma_bf16_tf32 = instruction(
    "mma (bf16, tf32)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of .bf16 or .tf32 and adds an .f32 accumulator.",
    syntax="mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .shape = { .m16n8k4, .m16n8k8, .m16n8k16 };
        .dtype = { .f32 };
        .atype = { .bf16, .tf32 };
        .btype = { .bf16, .tf32 };
        .ctype = { .f32 };
    """,
    operands=OPERANDS,
    rules=(
        Rule("a and b have the same type", when=".atype in .bf16", need=".btype in .bf16"),
        Rule("a and b have the same type", when=".atype in .tf32", need=".btype in .tf32"),
        Rule("k is 8 or 16 for .bf16", when=".atype in .bf16", need=".shape in .m16n8k8 .m16n8k16"),
        Rule("k is 4 or 8 for .tf32", when=".atype in .tf32", need=".shape in .m16n8k4 .m16n8k8"),
    ),
    since=(Since("7.0", "sm_80+"),),
    issuer="warp",
    tile=TILE,
    meaning=PRODUCT,
)

mma_f8 = instruction(
    "mma (e4m3, e5m2)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of 8-bit floats and adds an accumulator.",
    syntax="mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .shape = { .m16n8k16, .m16n8k32 };
        .dtype = { .f16, .f32 };
        .atype = { .e4m3, .e5m2 };
        .btype = { .e4m3, .e5m2 };
        .ctype = { .f16, .f32 };
    """,
    operands=OPERANDS,
    rules=SAME_ACCUMULATOR,
    since=(Since("8.4", "sm_89+"), Since("8.7", when=".dtype in .f16 or .shape in .m16n8k16")),
    issuer="warp",
    tile=TILE,
    meaning=PRODUCT,
)

mma_f8f6f4 = instruction(
    "mma (f8f6f4)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of 8-, 6- or 4-bit floats and adds an accumulator.",
    syntax="""
        mma.sync.aligned.shape.row.col.kind.dtype.atype.btype.ctype d, a, b, c;
        mma.sync.aligned.kind.shape.row.col.dtype.atype.btype.ctype d, a, b, c;
    """,
    choices="""
        .shape = { .m16n8k32 };
        .kind = { .kind::f8f6f4 };
        .dtype = { .f16, .f32 };
        .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
        .ctype = { .f16, .f32 };
    """,
    operands=BYTES,
    rules=SAME_ACCUMULATOR,
    since=(
        Since("8.6", _NARROW),
        Since("8.7", when=".dtype in .f16"),
        Since("8.7", "sm_120f", when=".atype in .e3m2 .e2m3 .e2m1 or .btype in .e3m2 .e2m3 .e2m1"),
    ),
    issuer="warp",
    tile=product_tile("4", IN_BYTES),
    meaning=PRODUCT,
)

mma_f64 = instruction(
    "mma (f64)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of .f64 and adds an accumulator.",
    syntax="mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .shape = { .m8n8k4, .m16n8k4, .m16n8k8, .m16n8k16 };
        .dtype = { .f64 };
        .atype = { .f64 };
        .btype = { .f64 };
        .ctype = { .f64 };
    """,
    operands={
        "d": out(".dtype", vector="m(.shape) * n(.shape) / 32", braced=True),
        "a": source(".atype", vector="m(.shape) * k(.shape) / 32", braced=True, immediate=False),
        "b": source(".btype", vector="n(.shape) * k(.shape) / 32", braced=True, immediate=False),
        "c": source(".ctype", vector="m(.shape) * n(.shape) / 32", braced=True),
    },
    since=(Since("7.0", "sm_80+"), Since("7.8", "sm_90+", when=".shape in .m16n8k4 .m16n8k8 .m16n8k16")),
    issuer="warp",
    tile=product_tile("1"),
    meaning=PRODUCT,
)

mma_s8 = instruction(
    "mma (s8, u8)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of bytes and adds an .s32 accumulator.",
    syntax="mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .shape = { .m8n8k16, .m16n8k16, .m16n8k32 };
        .dtype = { .s32 };
        .atype = { .s8, .u8 };
        .btype = { .s8, .u8 };
        .ctype = { .s32 };
    """,
    operands=OPERANDS,
    since=(Since("6.5", "sm_75+"), Since("7.0", "sm_80+", when=".shape in .m16n8k16 .m16n8k32")),
    issuer="warp",
    tile=TILE,
    meaning=PRODUCT,
)

mma_s4 = instruction(
    "mma (s4, u4)",
    section="9.7.16.5.14",
    summary="Multiplies two matrices of 4-bit integers and adds an .s32 accumulator.",
    syntax="mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .shape = { .m8n8k32, .m16n8k32, .m16n8k64 };
        .dtype = { .s32 };
        .atype = { .s4, .u4 };
        .btype = { .s4, .u4 };
        .ctype = { .s32 };
    """,
    operands=OPERANDS,
    since=(Since("6.5", "sm_75+"), Since("7.0", "sm_80+", when=".shape in .m16n8k32 .m16n8k64")),
    issuer="warp",
    tile=TILE,
    meaning=PRODUCT,
)

mma_b1 = instruction(
    "mma (b1)",
    section="9.7.16.5.14",
    summary="Combines rows of bits with columns of bits, counts the ones and adds an .s32 accumulator.",
    syntax="mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype.bitOp.popc d, a, b, c;",
    choices="""
        .shape = { .m8n8k128, .m16n8k128, .m16n8k256 };
        .dtype = { .s32 };
        .atype = { .b1 };
        .btype = { .b1 };
        .ctype = { .s32 };
        .bitOp = { .xor, .and };
    """,
    operands=OPERANDS,
    since=(
        Since("7.0", "sm_75+"),
        Since("7.0", "sm_80+", when=".shape in .m16n8k128 .m16n8k256"),
        Since("7.1", "sm_80+", when=".bitOp in .and"),
    ),
    issuer="warp",
    tile=TILE,
    meaning=PRODUCT,
)

# Product q has lanes 4 * q to 4 * q + 3 and the same 16 further on, which hold the second half of the rows.
_ALONG_K = "S[(4, (2, 4), 4) : (4@laneid, (16@laneid, 1@laneid), 1)]"
_ACROSS_K = "S[(4, (2, 4), 4) : (4@laneid, (16@laneid, 1), 1@laneid)]"
_OF_F16 = "S[(4, (2, 4), 8) : (4@laneid, (16@laneid, 1@laneid), 1)]"
_OF_F32 = "S[(4, (2, 2, 2), (2, 2, 2)) : (4@laneid, (16@laneid, 2, 1@laneid), (4, 2@laneid, 1))]"
_QUARTERS = Tile(
    {
        "d": Atom("4, 8, 8", f"{_OF_F16} if .dtype in .f16 else {_OF_F32}", element=".dtype", repeats="* M N"),
        "a": Atom("4, 8, 4", f"{_ALONG_K} if .alayout in .row else {_ACROSS_K}", element=".atype", repeats="* M K"),
        "b": Atom("4, 8, 4", f"{_ALONG_K} if .blayout in .col else {_ACROSS_K}", element=".btype", repeats="* N K"),
        "c": Atom("4, 8, 8", f"{_OF_F16} if .ctype in .f16 else {_OF_F32}", element=".ctype", repeats="* M N"),
    },
    order="* M N K",
    chain={"c": "d"},
)

mma_m8n8k4 = instruction(
    "mma (four products of f16)",
    section="9.7.16.5.14",
    summary="Multiplies four pairs of .f16 matrices, one pair for each eight lanes, and adds accumulators.",
    syntax="mma.sync.aligned.m8n8k4.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;",
    choices="""
        .alayout = { .row, .col };
        .blayout = { .row, .col };
        .dtype = { .f16, .f32 };
        .atype = { .f16 };
        .btype = { .f16 };
        .ctype = { .f16, .f32 };
    """,
    operands={
        "d": out(OPERANDS["d"].type, vector="4 if .dtype in .f16 else 8", braced=True),
        "a": source("f16x2", vector=2, braced=True, immediate=False),
        "b": source("f16x2", vector=2, braced=True, immediate=False),
        "c": source(OPERANDS["c"].type, vector="4 if .ctype in .f16 else 8", braced=True),
    },
    rules=(Rule("an .f32 accumulator makes an .f32 result", when=".ctype in .f32", need=".dtype in .f32"),),
    since=(Since("6.4"),),
    issuer="warp",
    tile=_QUARTERS,
    meaning=PRODUCT,
)
