"""Tensor memory: its allocation, moves to and from it, and the products that it takes part in (ISA 9.7.18)."""

from __future__ import annotations

from ptxgen.instructions.descriptors import TCGEN05
from ptxgen.instructions.language import Entry, Operand, Rule, Since, address, immediate, instruction, out, predicate, source
from ptxgen.instructions.tensor_layouts import PACKED_COPIES, SPLIT_HALVES, scaled, sparse, sparse_stationary
from ptxgen.instructions.tiles import Atom, Extent, Field, Tile

_FAMILIES = "sm_100f sm_110f"
_EXACT = "sm_100a sm_103a sm_107a sm_110a"
_BASE = Since("8.6", _FAMILIES)
_CTA_GROUP = ".cta_group = { .cta_group::1, .cta_group::2 };"
_TENSOR = address("in", "b32", space="tensor")
_GROUP = {
    ".cta_group": "The blocks whose tensor memory takes part; the same in all tcgen05 instructions of a kernel.",
    ".cta_group::1": "The thread's own block.",
    ".cta_group::2": "The block and its partner: the pair whose ranks differ in the last bit.",
}
_SYNC = {
    ".sync": "Waits until all threads of the warp have come here.",
    ".aligned": "All threads of the warp execute this very instruction.",
}

# ---- allocation -------------------------------------------------------------------------------------------------------

_COLUMNS = source("u32", values=(32, 64, 128, 256, 512))

tcgen05_alloc = instruction(
    "tcgen05.alloc",
    section="9.7.18.7.1",
    summary="Allocates columns of tensor memory, waiting until so many are free, and writes their address to shared memory.",
    syntax="tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], n_cols;",
    allocates="tensor memory",
    choices=_CTA_GROUP,
    operands={"dst": address("out", "b32", space=".shared::cta"), "n_cols": _COLUMNS},
    since=(_BASE,),
    issuer="warp",
    meaning={**_GROUP, **_SYNC, ".shared::cta": "The address is in the block's shared memory; left out, it is generic."},
)

tcgen05_dealloc = instruction(
    "tcgen05.dealloc",
    section="9.7.18.7.1",
    summary="Frees columns of tensor memory; a kernel frees all that it has allocated before it ends.",
    syntax="tcgen05.dealloc.cta_group.sync.aligned.b32 taddr, n_cols;",
    frees="tensor memory",
    choices=_CTA_GROUP,
    operands={"taddr": source("u32"), "n_cols": _COLUMNS},
    since=(_BASE,),
    issuer="warp",
    meaning={**_GROUP, **_SYNC},
)

tcgen05_relinquish_alloc_permit = instruction(
    "tcgen05.relinquish_alloc_permit",
    section="9.7.18.7.1",
    summary="Says that the block allocates no more, so that other blocks on the multiprocessor may.",
    syntax="tcgen05.relinquish_alloc_permit.cta_group.sync.aligned;",
    choices=_CTA_GROUP,
    since=(_BASE,),
    issuer="warp",
    meaning={**_GROUP, **_SYNC},
)

# ---- registers --------------------------------------------------------------------------------------------------------

_SHAPES = """
    .shape1 = { .16x64b, .16x128b, .16x256b, .32x32b };
    .shape2 = { .16x32bx2 };
    .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };
"""
_REGISTERS = ".num * 4 if .shape1 in .16x256b else .num * 2 if .shape1 in .16x128b else .num"
_AT_MOST_128 = (
    Rule(".16x256b takes four registers for each repetition, and at most 128", when=".shape1 in .16x256b",
         need=".num in .x1 .x2 .x4 .x8 .x16 .x32"),
    Rule(".16x128b takes two registers for each repetition, and at most 128", when=".shape1 in .16x128b", need="not .num in .x128"),
)  # fmt: skip
# ptxas 13.5 takes any constant; tensor memory has 512 columns.
_HALF_OFFSET = immediate("u32", range(512))
_MOVED = {
    **_SYNC,
    ".shape1": "Lanes and bits of one repetition; a warp reaches the 32 lanes from 32 times its number modulo 4 on.",
    ".shape2": "Lanes and bits of one repetition.",
    ".shape3": "Lanes and bits of one repetition.",
    ".shape4": "Lanes and bits of one repetition.",
    ".16x64b": "16 lanes, two columns.",
    ".16x128b": "16 lanes, four columns.",
    ".16x256b": "16 lanes, eight columns.",
    ".32x32b": "32 lanes, one column: a lane each thread.",
    ".16x32bx2": "16 lanes, one column, and the same as far behind as the last operand says.",
    ".num": "How often the shape is repeated along the columns.",
}

# A thread's registers hold 32 lanes by one column; or of 16 lanes l and l + 8, with columns dealt out to the four threads of a lane; or 16
# lanes, and the same lanes `split` columns on. Where registers hold two columns, each of them is a half of the register, and of its column.
_HALVES = ".pack or .unpack"
_FRAGMENT = (
    "S[(32, num, e) : (1@laneid, e, 1)] if .shape1 in .32x32b else "
    "S[((2, 8), (num, 2), e) : ((1@laneid, 4@laneid), (e, 2@laneid), 1)] if .shape1 in .16x64b else "
    "S[((2, 8), (num, 4), e) : ((e, 4@laneid), (2 * e, 1@laneid), 1)] if .shape1 in .16x128b else "
    "S[((2, 8), (num, 4, 2), e) : ((2 * e, 4@laneid), (4 * e, 1@laneid, e), 1)] if .shape1 in .16x256b else "
    "S[(16, 2, num) : (1@laneid, 16@laneid, 1)]"
)
_MOVED_SHAPE = f"16, 2, num if .shape2 else lanes, num * bits // 32, 2 if {_HALVES} else lanes, num * bits // 32"
_MOVED_ELEMENT = f"b16 if {_HALVES} else b32"
_MOVES = Tile(
    {
        "r": Atom(_MOVED_SHAPE, _FRAGMENT, element=_MOVED_ELEMENT),
        "taddr": Atom(
            _MOVED_SHAPE,
            "S[(16, 2, num) : (LANE, split, 1)] if .shape2 else S[(lanes, num * bits // 32, e) : (e * LANE, e * e, e)]",
            element=_MOVED_ELEMENT, place="lanes", starts="32 * w if .shape1 in .32x32b else 32 * w; 32 * w + 16",
        ),
    },
    names=f"lanes, bits = .shape1; num = .num; e = 2 if {_HALVES} else 1",
    constants={"split": "imm_half_split_off"},
    when=".shape1 or not .pack and not .unpack",
)  # fmt: skip

tcgen05_ld = instruction(
    "tcgen05.ld",
    section="9.7.18.8.3",
    summary="Loads the warp's lanes of tensor memory into registers, which are not to be touched until tcgen05.wait::ld.",
    syntax="""
        tcgen05.ld.sync.aligned.shape1.num{.pack}.b32 r, [taddr];
        tcgen05.ld.sync.aligned.shape2.num{.pack}.b32 r, [taddr], imm_half_split_off;
    """,
    choices=f"""
        {_SHAPES}
        .pack = {{ .pack::16b }};
    """,
    operands={"r": out("b32", vector=_REGISTERS, braced=True), "taddr": _TENSOR, "imm_half_split_off": _HALF_OFFSET},
    tile=_MOVES,
    layouts=SPLIT_HALVES,
    rules=_AT_MOST_128,
    since=(_BASE,),
    issuer="warp",
    completes="tcgen05.wait::ld",
    meaning={**_MOVED, ".pack": "How columns go into registers.", ".pack::16b": "The lower halves of two columns in each register."},
)

_REDUCED_SHAPE = "16, 2, num if .shape4 else 32, num"

tcgen05_ld_red = instruction(
    "tcgen05.ld.red",
    section="9.7.18.8.3",
    summary="Loads as tcgen05.ld does, and gives each thread the smallest or largest of its values as well.",
    syntax="""
        tcgen05.ld.red.sync.aligned.shape3.num.redOp{.abs}{.NaN}.f32 r, redval, [taddr];
        tcgen05.ld.red.sync.aligned.shape4.num.redOp{.abs}{.NaN}.f32 r, redval, [taddr], imm_half_split_off;
        tcgen05.ld.red.sync.aligned.shape3.num.redOp.type r, redval, [taddr];
        tcgen05.ld.red.sync.aligned.shape4.num.redOp.type r, redval, [taddr], imm_half_split_off;
    """,
    choices="""
        .shape3 = { .32x32b };
        .shape4 = { .16x32bx2 };
        .num = { .x2, .x4, .x8, .x16, .x32, .x64, .x128 };
        .redOp = { .min, .max };
        .type = { .u32, .s32 };
    """,
    operands={
        "r": out(".type", vector=".num", braced=True),
        "redval": out(".type"),
        "taddr": _TENSOR,
        "imm_half_split_off": _HALF_OFFSET,
    },
    tile=Tile(
        {
            "r": Atom(
                _REDUCED_SHAPE, "S[(16, 2, num) : (1@laneid, 16@laneid, 1)] if .shape4 else S[(32, num) : (1@laneid, 1)]", element="b32"
            ),
            "redval": Atom(
                "16, 2 if .shape4 else 32", "S[(16, 2) : (1@laneid, 16@laneid)] if .shape4 else S[32 : 1@laneid]", element="b32"
            ),
            "taddr": Atom(
                _REDUCED_SHAPE,
                "S[(16, 2, num) : (LANE, split, 1)] if .shape4 else S[(32, num) : (LANE, 1)]",
                element="b32",
                place="lanes",
                starts="32 * w; 32 * w + 16 if .shape4 else 32 * w",
            ),
        },
        names="num = .num",
        constants={"split": "imm_half_split_off"},
    ),
    since=(Since("8.8", "sm_103f sm_110f"),),
    issuer="warp",
    completes="tcgen05.wait::ld",
    meaning={
        **_MOVED,
        ".redOp": "Which value.",
        ".min": "The smallest.",
        ".max": "The largest.",
        ".abs": "Compares absolute values.",
        ".NaN": "NaN where any value is; left out, NaN is ignored.",
        ".type": "How values are compared.",
    },
)

tcgen05_ld_spcompress = instruction(
    "tcgen05.ld.spcompress",
    section="9.7.18.8.3",
    summary="Loads as tcgen05.ld does, and keeps two of each four values together with where they stood.",
    syntax="""
        tcgen05.ld.spcompress.sync.aligned.shape3.num.redOp.sp::2:4{.abs}.f32.b2 mdata, r, [taddr];
        tcgen05.ld.red.spcompress.sync.aligned.shape3.num.redOp.sp::2:4{.abs}{.NaN}.f32.b2 mdata, r, redval, [taddr];
    """,
    choices="""
        .shape3 = { .32x32b };
        .num = { .x4, .x8, .x16, .x32, .x64, .x128 };
        .redOp = { .min, .max };
    """,
    operands={
        "mdata": out("b32", vector="x(.num) / 32", braced=True),
        "r": out("b32", vector="x(.num) / 2", braced=True),
        "redval": out("f32"),
        "taddr": _TENSOR,
    },
    since=(Since("9.4", "sm_107a"),),
    issuer="warp",
    completes="tcgen05.wait::ld",
    meaning={
        **_MOVED,
        ".red": "Gives the smallest or largest of all values as well.",
        ".redOp": "Which values are kept.",
        ".min": "The smallest.",
        ".max": "The largest.",
        ".sp::2:4": "Two of four are kept.",
        ".abs": "Magnitudes are compared.",
        ".NaN": "NaN where one of the values is NaN.",
        ".b2": "Two bits tell where a value stood.",
    },
)

tcgen05_st = instruction(
    "tcgen05.st",
    section="9.7.18.8.4",
    summary="Stores registers to the warp's lanes of tensor memory; done when tcgen05.wait::st is.",
    syntax="""
        tcgen05.st.sync.aligned.shape1.num{.unpack}.b32 [taddr], r;
        tcgen05.st.sync.aligned.shape2.num{.unpack}.b32 [taddr], imm_half_split_off, r;
    """,
    choices=f"""
        {_SHAPES}
        .unpack = {{ .unpack::16b }};
    """,
    operands={
        "taddr": address("out", "b32", space="tensor"),
        "r": source("b32", vector=_REGISTERS, braced=True, immediate=False),
        "imm_half_split_off": _HALF_OFFSET,
    },
    tile=_MOVES,
    layouts=SPLIT_HALVES,
    rules=_AT_MOST_128,
    since=(_BASE,),
    issuer="warp",
    completes="tcgen05.wait::st",
    meaning={**_MOVED, ".unpack": "How registers go into columns.", ".unpack::16b": "Each half of a register in a column of its own."},
)

tcgen05_wait = instruction(
    "tcgen05.wait",
    section="9.7.18.8.5",
    summary="Waits until the thread's loads from, or stores to, tensor memory are done.",
    syntax="tcgen05.wait_operation.sync.aligned;",
    awaits="tcgen05.wait_operation",
    choices=".wait_operation = { .wait::ld, .wait::st };",
    since=(_BASE,),
    issuer="warp",
    meaning={
        **_SYNC,
        ".wait_operation": "What is waited for.",
        ".wait::ld": "Loads: their registers may be read, and the columns written.",
        ".wait::st": "Stores.",
    },
)

# ---- shared memory, and moves inside ----------------------------------------------------------------------------------

_WARPS_64 = ".warpx2::02_13 .warpx2::01_23"
# Where rows go to several warps, their copies are an axis in front: what is written is what the view shows.
_COPIES = Tile(
    {
        "taddr": Atom(
            "copies, rows, bits // 32 if .multicast else rows, bits // 32",
            "S[(4, bits // 32) : (32 * LANE, 1)] if .shape in .4x256b else "
            "S[(copies, rows, bits // 32) : (32 * LANE, LANE, 1)] if .multicast in .warpx4 else "
            "S[(copies, rows, bits // 32) : (64 * LANE, LANE, 1)] if .multicast in .warpx2::02_13 else "
            "S[(copies, (2, 32), bits // 32) : (32 * LANE, (64 * LANE, LANE), 1)] if .multicast in .warpx2::01_23 else "
            "S[(rows, bits // 32) : (LANE, 1)]",
            element="b32", place="lanes", starts=f"{'; '.join(map(str, range(32)))} if .shape in .4x256b else 0", copies="copies",
        ),
        "s_desc": Atom("rows, bits // 32", element="b32", place="descriptor", descriptor=TCGEN05, majors="k"),
    },
    names="rows, bits = .shape; copies = .multicast",
    when="not .dst_src_fmt",
)  # fmt: skip

tcgen05_cp = instruction(
    "tcgen05.cp",
    section="9.7.18.9.2",
    summary="Copies a matrix that a descriptor names from shared memory into tensor memory.",
    syntax="tcgen05.cp.cta_group.shape{.multicast}{.dst_src_fmt} [taddr], s_desc;",
    choices=f"""
        {_CTA_GROUP}
        .shape = {{ .128x256b, .4x256b, .128x128b, .64x128b, .32x128b }};
        .multicast = {{ .warpx2::02_13, .warpx2::01_23, .warpx4 }};
        .dst_src_fmt = {{ .b8x16.b6x16_p32, .b8x16.b4x16_p64 }};
    """,
    operands={"taddr": address("out", "b32", space="tensor", align=16), "s_desc": source("u64")},
    rules=(
        Rule(".64x128b goes to pairs of warps", when=".shape in .64x128b", need=f".multicast in {_WARPS_64}"),
        Rule("pairs of warps take .64x128b", when=f".multicast in {_WARPS_64}", need=".shape in .64x128b"),
        Rule(".32x128b goes to four warps", when=".shape in .32x128b", need=".multicast in .warpx4"),
        Rule("four warps take .32x128b", when=".multicast in .warpx4", need=".shape in .32x128b"),
    ),
    since=(_BASE,),
    issuer="one",
    completes="tcgen05 commit",
    tile=_COPIES,
    layouts=PACKED_COPIES,
    meaning={
        **_GROUP,
        ".shape": "Lanes and bits that are copied.",
        ".multicast": "The warps whose lanes each get a copy.",
        ".warpx2::02_13": "Half of it to warps 0 and 2, half to warps 1 and 3.",
        ".warpx2::01_23": "Half of it to warps 0 and 1, half to warps 2 and 3.",
        ".warpx4": "All of it to each of the four warps.",
        ".dst_src_fmt": "How narrow elements are unpacked to bytes.",
        ".b8x16.b6x16_p32": "16 elements of 6 bits and 32 bits of padding.",
        ".b8x16.b4x16_p64": "16 elements of 4 bits and 64 bits of padding.",
    },
)

tcgen05_shift = instruction(
    "tcgen05.shift",
    section="9.7.18.9.3",
    summary="Moves 32 bytes of every lane, but for the last one, down by one lane.",
    syntax="tcgen05.shift.cta_group.down [taddr];",
    choices=_CTA_GROUP,
    operands={"taddr": address("inout", "b32", space="tensor")},
    since=(Since("8.6", _EXACT),),
    issuer="one",
    completes="tcgen05 commit",
    meaning={**_GROUP, ".down": "Lane i takes what lane i + 1 held."},
)

# ---- products ---------------------------------------------------------------------------------------------------------

_MATRIX = address("in", "b32", space="tensor", exact=True)
_OPERANDS: dict[str, Operand] = {
    "d_tmem": address("inout", "b32", space="tensor", exact=True),
    "a_desc": source("u64"),
    "a_tmem": _MATRIX,
    "b_desc": source("u64"),
    "sp_meta_tmem": _MATRIX,
    "idesc": source("u32"),
    "disable_output_lane": source("b32", vector="4 if .cta_group in .cta_group::1 else 8", immediate=False),
    "scale_a_tmem": _MATRIX,
    "scale_b_tmem": _MATRIX,
    "enable_input_d": predicate(negatable=True, immediate=True),
    "scale_input_d": immediate("u32", range(16)),
    "zero_column_mask_desc": source("u64"),
}
_KINDS = ".kind = { .kind::f16, .kind::tf32, .kind::f8f6f4, .kind::i8 };"
_SCALED = """
    .kind = { .kind::mxf8f6f4, .kind::mxf4, .kind::mxf4nvf4 };
    .scale_vectorsize = { .scale_vec::1X, .scale_vec::2X, .scale_vec::4X, .block16, .block32 };
"""


def _collectors(buffers: str) -> str:
    """``.collector_usage = { .collector::a::fill, ... };`` for each buffer and each of its uses."""
    used = (f".collector::{buffer}::{use}" for buffer in buffers.split() for use in ("fill", "use", "lastuse", "discard"))
    return f".collector_usage = {{ {', '.join(used)} }};"


_RULES = (
    Rule("a scale for the accumulator is for .kind::f16 and .kind::tf32", when="scale_input_d", need=".kind in .kind::f16 .kind::tf32"),
    Rule("with .ashift the collector can only give A away", when=".ashift and .collector_usage",
         need=".collector_usage in .collector::a::lastuse .collector::a::discard"),
)  # fmt: skip
_SINCE = (
    _BASE,
    Since("8.6", "sm_100a sm_110a", when=".kind in .kind::i8"),
    Since("8.6", "sm_100f", when="scale_input_d"),
)
_SCALE_RULES = (
    Rule(".kind::mxf8f6f4 has a scale for every 32 elements: .scale_vec::1X or .block32",
         when=".kind in .kind::mxf8f6f4 and .scale_vectorsize", need=".scale_vectorsize in .scale_vec::1X .block32"),
    Rule(".kind::mxf4 has a scale for every 32 elements: .scale_vec::2X or .block32",
         when=".kind in .kind::mxf4 and .scale_vectorsize", need=".scale_vectorsize in .scale_vec::2X .block32"),
    Rule(".kind::mxf4nvf4 says how many elements share a scale: .scale_vec::2X, .scale_vec::4X, .block16 or .block32",
         when=".kind in .kind::mxf4nvf4", need=".scale_vectorsize in .scale_vec::2X .scale_vec::4X .block16 .block32"),
)  # fmt: skip
_SCALE_SINCE = (
    _BASE,
    Since("8.7", when=".kind in .kind::mxf4nvf4"),
    Since("8.6", _EXACT, when=".scale_vectorsize in .scale_vec::1X .scale_vec::2X .scale_vec::4X"),
    Since("8.8", when=".scale_vectorsize in .block16 .block32"),
    Since("8.6", _EXACT, when=".sp and .kind in .kind::mxf4 .kind::mxf4nvf4"),
)
_USES = {
    "fill": "Loads {} into its buffer, which keeps it.",
    "use": "Takes {} from the buffer that an instruction before has filled; the buffer keeps it.",
    "lastuse": "Takes {} from the buffer that an instruction before has filled; the buffer may then be used for anything else.",
    "discard": "Keeps nothing of {} in its buffer.",
}
_COLLECTED = {
    f".collector::{buffer}::{use}": does.format("A" if buffer == "a" else f"B, buffer {buffer[1]},")
    for buffer in ("a", "b0", "b1", "b2", "b3")
    for use, does in _USES.items()
}
_MEANING = {
    **_GROUP,
    ".mma": "Starts the product; one thread issues it for all. tcgen05.commit has an mbarrier told when it is done; whoever has waited for "
    "that begins with tcgen05.fence::after_thread_sync.",
    ".kind": "The types of A and B; the instruction descriptor idesc says which of them, the shape and more.",
    ".kind::f16": "16-bit floats.",
    ".kind::tf32": "tf32.",
    ".kind::f8f6f4": "Floats of 8, 6 and 4 bits.",
    ".kind::i8": "8-bit integers.",
    ".kind::mxf8f6f4": "Floats of 8, 6 and 4 bits with scales of their own.",
    ".kind::mxf4": "4-bit floats with scales of their own.",
    ".kind::mxf4nvf4": "4-bit floats with scales for 16 or 32 elements.",
    ".block_scale": "A and B are multiplied by scales in tensor memory first.",
    ".scale_vectorsize": "How many elements of a row share a scale.",
    ".scale_vec::1X": "One scale for each row of the instruction's A and each column of its B.",
    ".scale_vec::2X": "Two scales for each row of the instruction's A and each column of its B.",
    ".scale_vec::4X": "Four scales for each row of the instruction's A and each column of its B.",
    ".block16": "One scale for 16 elements.",
    ".block32": "One scale for 32 elements.",
    ".ashift": "Row i of A is taken from row i + 1, but for the last one.",
    ".collector_usage": "What happens to the buffer that holds an operand for the instructions that follow; left out, it is discarded.",
    **_COLLECTED,
    ".sp": "Half of A's elements are zero and not stored; sp_meta_tmem tells which ones are.",
    ".ws": "B stays in a buffer while A changes; the rows of D lie in other lanes.",
}
_TYPES_OF_NARROW = "e4m3 0, e5m2 1, e2m3 3, e3m2 4, e2m1 5"
_IDESC_BITS = {
    "idesc": "The instruction descriptor, 32 bits: 0-1 the selector of the metadata; 2 whether A is sparse; 3 whether s32 sums clamp; "
    f"4-5 the type of D (f16 0, f32 1, s32 2); 7-9 of A, 10-12 of B (f16 0, bf16 1; tf32 2; {_TYPES_OF_NARROW}; u8 0, s8 1); 13 and 14 "
    "whether A and B are negated; 15 and 16 whether A and B are MN-major; 17-22 n / 8; 24-28 m / 16; 30-31 with .ws, by how many columns "
    "B may be moved as it is used again (0, 8, 16 or 32: 0 to 3). All others are 0.",
}
_SCALED_IDESC_BITS = {
    "idesc": "The instruction descriptor, 32 bits: 2 whether A is sparse; 4-5 the byte of a column where B's scales begin; 7-9 the type of "
    f"A, 10-12 of B ({_TYPES_OF_NARROW}; with .kind::mxf4 and .kind::mxf4nvf4 e2m1 1); 13 and 14 whether A and B are negated; 15 and 16 "
    "whether A and B are MN-major (8-bit elements alone); 17-22 n / 8; 23 the type of scales (ue4m3 0, ue8m0 1); 27-28 m / 128; 29-30 the "
    "byte of a column where A's scales begin; 31 whether k is 96 (dense kinds of 4 bits). All others are 0.",
}
_SUMMARY = "Adds the product of a matrix A, in shared or tensor memory, and a matrix B in shared memory to one in tensor memory"


# Each block of a pair holds half of the rows of A and D, and half of the rows of B. D's rows are consecutive lanes, but for M = 64, whose
# rows lie in the first 16 of every 32 lanes, and for 64 rows of a pair, where the second half of the columns has the upper 64 lanes.
_ELEMENT = "b16 if .kind in .kind::f16 else b32 if .kind in .kind::tf32 else b8"
_CODES = {
    ".kind::f16": {"f16": 0, "bf16": 1},
    ".kind::tf32": {"tf32": 2, "f32": 2},
    ".kind::f8f6f4": {"e4m3": 0, "e5m2": 1},
    ".kind::i8": {"u8": 0, "s8": 1},
}
_SUMS = {".kind::f16": {"f32": 1}, ".kind::tf32": {"f32": 1}, ".kind::f8f6f4": {"f32": 1}, ".kind::i8": {"s32": 2}}
# What the instruction descriptor says of types, majors and extents.
_IDESC = (
    *(Field(4, "type(d_tmem)", codes, when=f".kind in {kind}") for kind, codes in _SUMS.items()),
    *(Field(7, "type(a_desc a_tmem)", codes, when=f".kind in {kind}") for kind, codes in _CODES.items()),
    *(Field(10, "type(b_desc)", codes, when=f".kind in {kind}") for kind, codes in _CODES.items()),
    Field(15, "major(a_desc)"),
    Field(16, "major(b_desc)"),
    Field(17, "n // 8"),
    Field(24, "m // 16"),
)
_MAJORS = "k mn32 if .kind in .kind::tf32 else k mn"
_PRODUCTS = Tile(
    {
        "d_tmem": Atom(
            "rows, n", "S[((rows // 16, 16), (halves, n // halves)) : ((step * LANE, LANE), (64 * LANE, 1))]", element="b32",
            repeats="* M N", place="lanes", starts="0; 16 * (64 // m)", blocks="half",
        ),
        "a_desc": Atom(
            "rows, k", element=_ELEMENT, repeats="* M K", place="descriptor", descriptor=TCGEN05, majors=_MAJORS, blocks="half"
        ),
        # Where the lower lanes have one half of the columns and the upper ones the other, both need all rows of A.
        "a_tmem": Atom(
            "halves * rows, k", "S[((halves * rows // 16, 16), k) : ((step * LANE * e, LANE * e), 1)]", element=_ELEMENT,
            repeats="* M K", place="lanes", starts="0; 16 * (64 // m)", copies="halves", blocks="half",
        ),
        "b_desc": Atom(
            "n // ctas, k", element=_ELEMENT, repeats="* N K", place="descriptor", descriptor=TCGEN05, majors=_MAJORS, blocks="half"
        ),
    },
    extents={
        "rows": Extent("d_tmem", -2, "64 : 128 : 64"),
        "n": Extent(
            "d_tmem", -1,
            "32 : 256 : 32 if .kind in .kind::i8 and .cta_group in .cta_group::2 else "
            "least : 32 : least; 48 : 256 : 16 if .kind in .kind::i8 else least : 256 : least",
        ),
    },
    names=f"""
        ctas = .cta_group
        m = rows * ctas
        least = 16 - 8 * (64 // m)
        k = 256 // bits({_ELEMENT})
        small = 128 // rows - 1
        step = 16 + 16 * small * (2 - ctas)
        halves = 1 + small * (ctas - 1)
        e = k // 8
    """,
    order="* M N K",
    chain={"enable_input_d": "1"},
    implied={"idesc": _IDESC},
    when="not .ashift",
)  # fmt: skip
# Factors with scales: those of 4 bits lie eight in a column. Scales are bytes, as many for a row as the instruction has blocks along K; 32
# rows lie in the lanes, the next 32 in the next column, and all of them four times, for the lanes of each warp. In their columns the scales
# of one instruction begin at any multiple of their number.
_SCALED_ELEMENT = "b8 if .kind in .kind::mxf8f6f4 else b4"
_SCALES_OF = "S[(4, ({rows} // 32, 32), v) : (128 * LANE, (4, 4 * LANE), 1)]"
_FACTORS = {".kind::mxf8f6f4": {"e4m3": 0, "e5m2": 1}, ".kind::mxf4": {"e2m1": 1}, ".kind::mxf4nvf4": {"e2m1": 1}}
_SCALE_CODES = {".kind::mxf8f6f4": {"ue8m0": 1}, ".kind::mxf4": {"ue8m0": 1}, ".kind::mxf4nvf4": {"e4m3": 0, "ue8m0": 1}}
_BLOCK_SCALED = Tile(
    {
        "d_tmem": Atom("128, n", "S[(128, n) : (LANE, 1)]", element="b32", repeats="* M N", place="lanes"),
        "a_desc": Atom("128, k", element=_SCALED_ELEMENT, repeats="* M K", place="descriptor", descriptor=TCGEN05,
                       majors="k mn if .kind in .kind::mxf8f6f4 else k"),
        "a_tmem": Atom("128, k", "S[(128, k) : (LANE * e, 1)]", element=_SCALED_ELEMENT, repeats="* M K", place="lanes"),
        "b_desc": Atom("n, k", element=_SCALED_ELEMENT, repeats="* N K", place="descriptor", descriptor=TCGEN05,
                       majors="k mn if .kind in .kind::mxf8f6f4 else k"),
        "scale_a_tmem": Atom("4, 128, v", _SCALES_OF.format(rows=128), repeats="* M K", place="lanes", inside="8 * v", copies="4"),
        "scale_b_tmem": Atom("4, n, v", _SCALES_OF.format(rows="n"), repeats="* N K", place="lanes", inside="8 * v", copies="4"),
    },
    extents={"n": Extent("d_tmem", -1, "32 : 256 : 32")},
    names=f"""
        k = 256 // bits({_SCALED_ELEMENT})
        e = k // 8
        v = 1 if .kind in .kind::mxf8f6f4 else 4 if .scale_vectorsize in .scale_vec::4X .block16 else 2
    """,
    order=_PRODUCTS.order,
    chain=_PRODUCTS.chain,
    implied={
        "idesc": (
            Field(4, "inside(scale_b_tmem)"),
            *(Field(7, "type(a_desc a_tmem)", codes, when=f".kind in {kind}") for kind, codes in _FACTORS.items()),
            *(Field(10, "type(b_desc)", codes, when=f".kind in {kind}") for kind, codes in _FACTORS.items()),
            Field(15, "major(a_desc)"),
            Field(16, "major(b_desc)"),
            Field(17, "n // 8"),
            *(Field(23, "types(scale_a_tmem scale_b_tmem)", codes, when=f".kind in {kind}") for kind, codes in _SCALE_CODES.items()),
            Field(24, "8"),
            Field(29, "inside(scale_a_tmem)"),
        ),
    },
    when=".cta_group in .cta_group::1",
)  # fmt: skip
# Rows of D, and of A in tensor memory, are lanes in turn; 64 and 32 rows fill the 128 lanes with two and four parts of the columns.
_STATIONARY = Tile(
    {
        **_PRODUCTS.atoms,
        "d_tmem": Atom(
            "rows, n", "S[(rows, (halves, n // halves)) : (LANE, (rows * LANE, 1))]", element="b32", repeats="* M N", place="lanes"
        ),
        "a_tmem": Atom(
            "halves * rows, k", "S[(128, k) : (LANE * e, 1)]", element=_ELEMENT, repeats="* M K", place="lanes", copies="halves"
        ),
        "b_desc": Atom("n, k", element=_ELEMENT, repeats="* N K", place="descriptor", descriptor=TCGEN05, majors=_MAJORS),
    },
    extents={"rows": Extent("d_tmem", -2, "32; 64; 128"), "n": Extent("d_tmem", -1, "64; 128; 256")},
    names=f"""
        m = rows
        k = 256 // bits({_ELEMENT})
        halves = 128 // rows
        e = k // 8
    """,
    order=_PRODUCTS.order,
    chain=_PRODUCTS.chain,
    implied=_PRODUCTS.implied,
)


def _product(
    name: str,
    section: str,
    what: str,
    syntax: str,
    choices: str,
    *,
    rules: tuple[Rule, ...] = (),
    since: tuple[Since, ...] = _SINCE,
    tile: Tile | None = None,
    layouts: Tile | None = None,
) -> Entry:
    return instruction(
        name,
        section=section,
        summary=f"{_SUMMARY}{what}.",
        syntax=syntax,
        choices=choices,
        operands=_OPERANDS,
        rules=rules,
        since=since,
        issuer="one",
        completes="tcgen05 commit",
        meaning={**_MEANING, **(_SCALED_IDESC_BITS if "block_scale" in syntax else _IDESC_BITS)},
        tile=tile,
        layouts=layouts,
    )


tcgen05_mma = _product(
    "tcgen05.mma",
    "9.7.18.10.9.1",
    "",
    """
    tcgen05.mma.cta_group.kind{.collector_usage} [d_tmem], a_desc, b_desc, idesc{, disable_output_lane}, enable_input_d;
    tcgen05.mma.cta_group.kind{.collector_usage}
        [d_tmem], a_desc, b_desc, idesc{, disable_output_lane}, enable_input_d, scale_input_d;
    tcgen05.mma.cta_group.kind{.ashift}{.collector_usage}
        [d_tmem], [a_tmem], b_desc, idesc{, disable_output_lane}, enable_input_d;
    tcgen05.mma.cta_group.kind{.ashift}{.collector_usage}
        [d_tmem], [a_tmem], b_desc, idesc{, disable_output_lane}, enable_input_d, scale_input_d;
    """,
    f"{_CTA_GROUP} {_KINDS} {_collectors('a')}",
    rules=_RULES,
    tile=_PRODUCTS,
    layouts=Tile(_PRODUCTS.atoms, extents=_PRODUCTS.extents, names=_PRODUCTS.names, when=".ashift"),
)

tcgen05_mma_block_scale = _product(
    "tcgen05.mma (block scale)",
    "9.7.18.10.9.1",
    ", each element times the scale of its block",
    """
    tcgen05.mma.cta_group.kind.block_scale{.scale_vectorsize}{.collector_usage}
        [d_tmem], a_desc, b_desc, idesc, [scale_a_tmem], [scale_b_tmem], enable_input_d;
    tcgen05.mma.cta_group.kind.block_scale{.scale_vectorsize}{.collector_usage}
        [d_tmem], [a_tmem], b_desc, idesc, [scale_a_tmem], [scale_b_tmem], enable_input_d;
    """,
    f"{_CTA_GROUP} {_SCALED} {_collectors('a')}",
    rules=_SCALE_RULES,
    since=_SCALE_SINCE,
    tile=_BLOCK_SCALED,
    layouts=scaled(_SCALED_ELEMENT, _SCALES_OF, half=False, when=".cta_group in .cta_group::2"),
)

tcgen05_mma_sp = _product(
    "tcgen05.mma.sp",
    "9.7.18.10.9.2",
    "; half of A is zero",
    """
    tcgen05.mma.sp.cta_group.kind{.collector_usage}
        [d_tmem], a_desc, b_desc, [sp_meta_tmem], idesc{, disable_output_lane}, enable_input_d;
    tcgen05.mma.sp.cta_group.kind{.collector_usage}
        [d_tmem], a_desc, b_desc, [sp_meta_tmem], idesc{, disable_output_lane}, enable_input_d, scale_input_d;
    tcgen05.mma.sp.cta_group.kind{.ashift}{.collector_usage}
        [d_tmem], [a_tmem], b_desc, [sp_meta_tmem], idesc{, disable_output_lane}, enable_input_d;
    tcgen05.mma.sp.cta_group.kind{.ashift}{.collector_usage}
        [d_tmem], [a_tmem], b_desc, [sp_meta_tmem], idesc{, disable_output_lane}, enable_input_d, scale_input_d;
    """,
    f"{_CTA_GROUP} {_KINDS} {_collectors('a')}",
    rules=_RULES,
    layouts=sparse(_ELEMENT, _MAJORS),
)

tcgen05_mma_sp_block_scale = _product(
    "tcgen05.mma.sp (block scale)",
    "9.7.18.10.9.2",
    "; half of A is zero, and each element is taken times the scale of its block",
    """
    tcgen05.mma.sp.cta_group.kind.block_scale{.scale_vectorsize}{.collector_usage}
        [d_tmem], a_desc, b_desc, [sp_meta_tmem], idesc, [scale_a_tmem], [scale_b_tmem], enable_input_d;
    tcgen05.mma.sp.cta_group.kind.block_scale{.scale_vectorsize}{.collector_usage}
        [d_tmem], [a_tmem], b_desc, [sp_meta_tmem], idesc, [scale_a_tmem], [scale_b_tmem], enable_input_d;
    """,
    f"{_CTA_GROUP} {_SCALED} {_collectors('a')}",
    rules=_SCALE_RULES,
    since=_SCALE_SINCE,
    layouts=scaled(_SCALED_ELEMENT, _SCALES_OF, half=True),
)

tcgen05_mma_ws = _product(
    "tcgen05.mma.ws",
    "9.7.18.10.9.3",
    "; B stays while A changes",
    """
    tcgen05.mma.ws.cta_group::1.kind{.collector_usage} [d_tmem], a_desc, b_desc, idesc, enable_input_d{, zero_column_mask_desc};
    tcgen05.mma.ws.cta_group::1.kind{.collector_usage} [d_tmem], [a_tmem], b_desc, idesc, enable_input_d{, zero_column_mask_desc};
    """,
    f"{_KINDS} {_collectors('b0 b1 b2 b3')}",
    tile=_STATIONARY,
)

tcgen05_mma_ws_sp = _product(
    "tcgen05.mma.ws.sp",
    "9.7.18.10.9.4",
    "; half of A is zero, and B stays while A changes",
    """
    tcgen05.mma.ws.sp.cta_group::1.kind{.collector_usage}
        [d_tmem], a_desc, b_desc, [sp_meta_tmem], idesc, enable_input_d{, zero_column_mask_desc};
    tcgen05.mma.ws.sp.cta_group::1.kind{.collector_usage}
        [d_tmem], [a_tmem], b_desc, [sp_meta_tmem], idesc, enable_input_d{, zero_column_mask_desc};
    """,
    f"{_KINDS} {_collectors('b0 b1 b2 b3')}",
    layouts=sparse_stationary(_ELEMENT, _MAJORS),
)

# ---- completion and order ---------------------------------------------------------------------------------------------

tcgen05_commit = instruction(
    "tcgen05.commit",
    section="9.7.18.12.1",
    summary="Has an mbarrier arrived at once all tcgen05 copies, shifts and products that the thread has issued before are done.",
    syntax="tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast}.b64 [mbar]{, cta_mask};",
    choices=f"""
        {_CTA_GROUP}
        .multicast = {{ .multicast::cluster }};
    """,
    operands={"mbar": address("inout", "b64", space=".shared::cluster"), "cta_mask": source("u16", values=range(1 << 16), blocks=True)},
    rules=(
        Rule("a mask of blocks is given exactly where .multicast::cluster is", when="cta_mask", need=".multicast"),
        Rule("a mask of blocks is given exactly where .multicast::cluster is", when=".multicast", need="cta_mask"),
    ),
    since=(_BASE,),
    several=".multicast",
    issuer="one",
    completes="mbarrier arrival",
    meaning={
        **_GROUP,
        ".mbarrier::arrive::one": "One arrival, with the effect of tcgen05.fence::before_thread_sync.",
        ".shared::cluster": "The mbarrier lies in the cluster's shared memory; left out, the address is generic.",
        ".multicast": "The mbarrier at the same offset in each block that cta_mask names.",
        ".multicast::cluster": "Blocks of the cluster.",
    },
)

tcgen05_fence = instruction(
    "tcgen05.fence",
    section="9.7.18.11.1",
    summary="Orders the thread's tcgen05 instructions against a synchronisation with other threads.",
    syntax="""
        tcgen05.fence::before_thread_sync;
        tcgen05.fence::after_thread_sync;
    """,
    since=(_BASE,),
    meaning={
        ".fence::before_thread_sync": "Those before it come before the synchronisation that follows.",
        ".fence::after_thread_sync": "Those behind it come after the synchronisation before.",
    },
)
