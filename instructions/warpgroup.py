"""Matrix products of a warpgroup that go on by themselves (ISA 9.7.17), and how many registers its threads own (9.7.21.5)."""

from __future__ import annotations

from collections.abc import Iterable

from ptxgen.instructions.descriptors import WGMMA
from ptxgen.instructions.fragments import metadata
from ptxgen.instructions.language import Entry, Operand, Since, immediate, inout, instruction, predicate, source
from ptxgen.instructions.tiles import Atom, Tile

_ALL_N = range(8, 257, 8)
_INTEGER_N = (8, 16, 24, *range(32, 257, 16))


def _shapes(k: int, columns: Iterable[int] = _ALL_N) -> str:
    """``.shape = { .m64n8k16, ... };`` for every number of columns."""
    return f".shape = {{ {', '.join(f'.m64n{n}k{k}' for n in columns)} }};"


_FLOATS = "f16x2 if .dtype in .f16 else f32"
_DESCRIPTOR = source("u64")
_SIGN = immediate("s32", (-1, 1))
_TRANSPOSED = immediate("s32", (0, 1))
_COMMON: dict[str, Operand] = {
    "a_desc": _DESCRIPTOR,
    "b_desc": _DESCRIPTOR,
    "scale_d": predicate(negatable=True, immediate=True, values=(0, 1)),
    "imm_scale_a": _SIGN,
    "imm_scale_b": _SIGN,
    "imm_trans_a": _TRANSPOSED,
    "imm_trans_b": _TRANSPOSED,
    "sp_meta": source("u32", immediate=False),
}


def _matrices(d: str, a: str, *, selectors: int = 1) -> dict[str, Operand]:
    """The operands of a product: D of type `d`, A in registers of type `a`; a sparse one picks among `selectors` groups of lanes."""
    halves = "n(.shape) / 4 if .dtype in .f16 else n(.shape) / 2" if "f16x2" in d else "n(.shape) / 2"
    registers = source(a, vector=4, immediate=False)
    return {**_COMMON, "d": inout(d, vector=halves), "a": registers, "sp_sel": immediate("u32", tuple(range(selectors)))}


_MEANING = {
    ".mma_async": "Starts D = A x B + D, behind a wgmma.fence where registers were written. D and registers of A are not to be touched "
    "until wgmma.commit_group and wgmma.wait_group have covered it.",
    ".sync": "Waits until all threads of the warp have come here.",
    ".aligned": "All threads of the warpgroup execute this very instruction.",
    ".sp": "Half of A's elements are zero and not stored; sp_meta tells which ones are.",
    ".shape": "Rows of A and D, columns of B and D, and the depth of the product.",
    ".dtype": "The accumulator's type.",
    ".atype": "The type of A.",
    ".btype": "The type of B.",
    ".satfinite": "Sums that do not fit are clamped; left out, they wrap.",
    ".op": "What is done to pairs of bits before the ones are counted.",
    ".and": "Bitwise and.",
    ".popc": "The ones are counted.",
}
_SINCE = (Since("8.0", "sm_90a"),)
# Signed with unsigned integers came later; no other entry has such types.
_MIXED = Since("8.4", when=".atype in .s8 and .btype in .u8 or .atype in .u8 and .btype in .s8")
_SPARSE_SINCE = (Since("8.2", "sm_90a"),)
_SUMMARY = "Starts the product of a 64-row matrix A and a matrix B in shared memory, added to the accumulators of 128 threads"


def _tile(d: str, a: str, b: str, *, sparse: bool = False) -> Tile:
    """Warp w of the warpgroup holds rows 16 * w and up of D and A, as mma's fragments do; B, and A in shared memory, have descriptors.

    Of a `sparse` A the half that is kept lies as a dense one, K-major; each thread gives a word of metadata.
    """
    kept, of_a = ("k // 2", "k") if sparse else ("k", "")
    majors = "k mn" if a in ("f16", "bf16") else "k"
    rows = "((4, 2, 8), (h, 4, e)) : ((32@tid_in_wg, e, 4@tid_in_wg), (2*e, 1@tid_in_wg, 1))"
    wide = a in ("f16", "bf16", "tf32")
    told = metadata(2 if wide else 4, by_row=not wide, selector="sp_sel", warps=4)
    return Tile(
        {
            "d": Atom(
                "64, n", "S[((4, 2, 8), (n // 8, 4, 2)) : ((32@tid_in_wg, 2, 4@tid_in_wg), (4, 1@tid_in_wg, 1))]", element=d,
                repeats="* M N",
            ),
            "a": Atom(f"64, {kept}", f"S[{rows}]", element=a, repeats="* M K"),
            "a_desc": Atom(f"64, {kept}", element=a, repeats="* M K", place="descriptor", descriptor=WGMMA, majors=of_a or majors),
            "b_desc": Atom("n, k", element=b, repeats="* N K", place="descriptor", descriptor=WGMMA, majors=majors),
            "sp_meta": Atom("128", "S[128 : 1@tid_in_wg]", element="b32", repeats="* M K"),
        },
        names=f"m, n, k = .shape; e = 32 // bits({a}); h = {kept} // (4 * e)",
        order="* M N K",
        chain={"scale_d": "1"},
        implied={
            "imm_scale_a": "1", "imm_scale_b": "1", "imm_trans_a": "major(a_desc)", "imm_trans_b": "major(b_desc)",
        },
        words={"sp_meta": told} if sparse else None,
    )  # fmt: skip


def _product(
    name: str,
    summary: str,
    syntax: str,
    choices: str,
    operands: dict[str, Operand],
    *,
    since: tuple[Since, ...] = _SINCE,
    tile: Tile | None = None,
) -> Entry:
    return instruction(
        name,
        section="9.7.17.6.2" if name.startswith("wgmma.mma_async.sp") else "9.7.17.5.2",
        summary=f"{_SUMMARY}; {summary}.",
        syntax=syntax,
        choices=choices,
        operands=operands,
        since=(*since, _MIXED),
        issuer="warpgroup",
        completes="wgmma group",
        meaning=_MEANING,
        tile=tile,
    )


# ---- dense products, A in shared memory -------------------------------------------------------------------------------

_HALF_CHOICES = f"""
    {_shapes(16)}
    .dtype = {{ .f16, .f32 }};
"""
_FP8_TYPES = """
    .dtype = { .f16, .f32 };
    .atype = { .e4m3, .e5m2 };
    .btype = { .e4m3, .e5m2 };
"""
_INTEGER_TYPES = """
    .atype = { .s8, .u8 };
    .btype = { .s8, .u8 };
"""
_FP8 = _matrices(_FLOATS, "e4m3x4 if .atype in .e4m3 else e5m2x4")
_INTEGERS = _matrices("s32", "s8x4 if .atype in .s8 else u8x4")

wgmma_f16 = _product(
    "wgmma.mma_async (f16)",
    "A of .f16 in shared memory",
    """
    wgmma.mma_async.sync.aligned.shape.dtype.f16.f16
        d, a_desc, b_desc, scale_d, imm_scale_a, imm_scale_b, imm_trans_a, imm_trans_b;
    """,
    _HALF_CHOICES,
    _matrices(_FLOATS, "f16x2"),
    tile=_tile(".dtype", "f16", "f16"),
)
wgmma_bf16 = _product(
    "wgmma.mma_async (bf16)",
    "A of .bf16 in shared memory",
    """
    wgmma.mma_async.sync.aligned.shape.f32.bf16.bf16
        d, a_desc, b_desc, scale_d, imm_scale_a, imm_scale_b, imm_trans_a, imm_trans_b;
    """,
    _shapes(16),
    _matrices("f32", "bf16x2"),
    tile=_tile("f32", "bf16", "bf16"),
)
wgmma_tf32 = _product(
    "wgmma.mma_async (tf32)",
    "A of .tf32 in shared memory",
    "wgmma.mma_async.sync.aligned.shape.f32.tf32.tf32 d, a_desc, b_desc, scale_d, imm_scale_a, imm_scale_b;",
    _shapes(8),
    _matrices("f32", "tf32"),
    tile=_tile("f32", "tf32", "tf32"),
)
wgmma_fp8 = _product(
    "wgmma.mma_async (e4m3, e5m2)",
    "A of 8-bit floats in shared memory",
    "wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a_desc, b_desc, scale_d, imm_scale_a, imm_scale_b;",
    _shapes(32) + _FP8_TYPES,
    _FP8,
    tile=_tile(".dtype", ".atype", ".btype"),
)
wgmma_integer = _product(
    "wgmma.mma_async (s8, u8)",
    "A of 8-bit integers in shared memory",
    "wgmma.mma_async.sync.aligned.shape{.satfinite}.s32.atype.btype d, a_desc, b_desc, scale_d;",
    _shapes(32, _INTEGER_N) + _INTEGER_TYPES,
    _INTEGERS,
    tile=_tile("s32", ".atype", ".btype"),
)
wgmma_bit = _product(
    "wgmma.mma_async (b1)",
    "A of single bits in shared memory",
    "wgmma.mma_async.sync.aligned.shape.s32.b1.b1.op.popc d, a_desc, b_desc, scale_d;",
    _shapes(256, _INTEGER_N) + ".op = { .and };",
    _matrices("s32", "b32"),
    tile=_tile("s32", "b1", "b1"),
)

# ---- dense products, A in registers -----------------------------------------------------------------------------------

wgmma_f16_registers = _product(
    "wgmma.mma_async (f16, A in registers)",
    "A of .f16 in registers",
    "wgmma.mma_async.sync.aligned.shape.dtype.f16.f16 d, a, b_desc, scale_d, imm_scale_a, imm_scale_b, imm_trans_b;",
    _HALF_CHOICES,
    _matrices(_FLOATS, "f16x2"),
    tile=_tile(".dtype", "f16", "f16"),
)
wgmma_bf16_registers = _product(
    "wgmma.mma_async (bf16, A in registers)",
    "A of .bf16 in registers",
    "wgmma.mma_async.sync.aligned.shape.f32.bf16.bf16 d, a, b_desc, scale_d, imm_scale_a, imm_scale_b, imm_trans_b;",
    _shapes(16),
    _matrices("f32", "bf16x2"),
    tile=_tile("f32", "bf16", "bf16"),
)
wgmma_tf32_registers = _product(
    "wgmma.mma_async (tf32, A in registers)",
    "A of .tf32 in registers",
    "wgmma.mma_async.sync.aligned.shape.f32.tf32.tf32 d, a, b_desc, scale_d, imm_scale_a, imm_scale_b;",
    _shapes(8),
    _matrices("f32", "tf32"),
    tile=_tile("f32", "tf32", "tf32"),
)
wgmma_fp8_registers = _product(
    "wgmma.mma_async (e4m3, e5m2, A in registers)",
    "A of 8-bit floats in registers",
    "wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b_desc, scale_d, imm_scale_a, imm_scale_b;",
    _shapes(32) + _FP8_TYPES,
    _FP8,
    tile=_tile(".dtype", ".atype", ".btype"),
)
wgmma_integer_registers = _product(
    "wgmma.mma_async (s8, u8, A in registers)",
    "A of 8-bit integers in registers",
    "wgmma.mma_async.sync.aligned.shape{.satfinite}.s32.atype.btype d, a, b_desc, scale_d;",
    _shapes(32, _INTEGER_N) + _INTEGER_TYPES,
    _INTEGERS,
    tile=_tile("s32", ".atype", ".btype"),
)
wgmma_bit_registers = _product(
    "wgmma.mma_async (b1, A in registers)",
    "A of single bits in registers",
    "wgmma.mma_async.sync.aligned.shape.s32.b1.b1.op.popc d, a, b_desc, scale_d;",
    _shapes(256, _INTEGER_N) + ".op = { .and };",
    _matrices("s32", "b32"),
    tile=_tile("s32", "b1", "b1"),
)

# ---- sparse products --------------------------------------------------------------------------------------------------

_SPARSE_HALF_CHOICES = f"""
    {_shapes(32)}
    .dtype = {{ .f16, .f32 }};
"""

wgmma_sparse_f16 = _product(
    "wgmma.mma_async.sp (f16)",
    "A of .f16 with two zeros in every four",
    """
    wgmma.mma_async.sp.sync.aligned.shape.dtype.f16.f16
        d, a_desc, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b, imm_trans_a, imm_trans_b;
    wgmma.mma_async.sp.sync.aligned.shape.dtype.f16.f16
        d, a, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b, imm_trans_b;
    """,
    _SPARSE_HALF_CHOICES,
    _matrices(_FLOATS, "f16x2", selectors=2),
    since=_SPARSE_SINCE,
    tile=_tile(".dtype", "f16", "f16", sparse=True),
)
wgmma_sparse_bf16 = _product(
    "wgmma.mma_async.sp (bf16)",
    "A of .bf16 with two zeros in every four",
    """
    wgmma.mma_async.sp.sync.aligned.shape.f32.bf16.bf16
        d, a_desc, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b, imm_trans_a, imm_trans_b;
    wgmma.mma_async.sp.sync.aligned.shape.f32.bf16.bf16
        d, a, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b, imm_trans_b;
    """,
    _shapes(32),
    _matrices("f32", "bf16x2", selectors=2),
    since=_SPARSE_SINCE,
    tile=_tile("f32", "bf16", "bf16", sparse=True),
)
wgmma_sparse_tf32 = _product(
    "wgmma.mma_async.sp (tf32)",
    "A of .tf32 with one zero in every two",
    """
    wgmma.mma_async.sp.sync.aligned.shape.f32.tf32.tf32 d, a_desc, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b;
    wgmma.mma_async.sp.sync.aligned.shape.f32.tf32.tf32 d, a, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b;
    """,
    _shapes(16),
    _matrices("f32", "tf32", selectors=2),
    since=_SPARSE_SINCE,
    tile=_tile("f32", "tf32", "tf32", sparse=True),
)
wgmma_sparse_fp8 = _product(
    "wgmma.mma_async.sp (e4m3, e5m2)",
    "A of 8-bit floats with two zeros in every four",
    """
    wgmma.mma_async.sp.sync.aligned.shape.dtype.atype.btype d, a_desc, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b;
    wgmma.mma_async.sp.sync.aligned.shape.dtype.atype.btype d, a, b_desc, sp_meta, sp_sel, scale_d, imm_scale_a, imm_scale_b;
    """,
    _shapes(64) + _FP8_TYPES,
    _FP8,
    since=_SPARSE_SINCE,
    tile=_tile(".dtype", ".atype", ".btype", sparse=True),
)
wgmma_sparse_integer = _product(
    "wgmma.mma_async.sp (s8, u8)",
    "A of 8-bit integers with two zeros in every four",
    """
    wgmma.mma_async.sp.sync.aligned.shape{.satfinite}.s32.atype.btype d, a_desc, b_desc, sp_meta, sp_sel, scale_d;
    wgmma.mma_async.sp.sync.aligned.shape{.satfinite}.s32.atype.btype d, a, b_desc, sp_meta, sp_sel, scale_d;
    """,
    _shapes(64, _INTEGER_N) + _INTEGER_TYPES,
    _INTEGERS,
    since=_SPARSE_SINCE,
    tile=_tile("s32", ".atype", ".btype", sparse=True),
)

# ---- order and completion ---------------------------------------------------------------------------------------------

_ORDER = {".sync": _MEANING[".sync"], ".aligned": _MEANING[".aligned"]}

wgmma_fence = instruction(
    "wgmma.fence",
    section="9.7.17.7.1",
    summary="Orders earlier accesses to registers before the products behind it: the first, and one whose registers were written between.",
    syntax="wgmma.fence.sync.aligned;",
    fences="wgmma group",
    since=_SINCE,
    issuer="warpgroup",
    meaning=_ORDER,
)

wgmma_commit_group = instruction(
    "wgmma.commit_group",
    section="9.7.17.7.2",
    summary="Closes a group of all products of the warp that belong to none yet; it may be empty.",
    syntax="wgmma.commit_group.sync.aligned;",
    commits="wgmma group",
    since=_SINCE,
    issuer="warpgroup",
    meaning={**_ORDER, ".commit_group": "The group is complete when all of its products are."},
)

wgmma_wait_group = instruction(
    "wgmma.wait_group",
    section="9.7.17.7.3",
    summary="Waits until at most n of the warp's youngest groups are still under way.",
    syntax="wgmma.wait_group.sync.aligned n;",
    awaits="wgmma group",
    operands={"n": immediate("u32", range(1 << 31))},
    since=_SINCE,
    issuer="warpgroup",
    meaning={**_ORDER, ".wait_group": "Accumulators of the older groups may be read afterwards."},
)

setmaxnreg = instruction(
    "setmaxnreg",
    section="9.7.21.5",
    summary="Gives registers of the warp back to the block, or waits for free ones; all warps of a warpgroup do so alike.",
    syntax="setmaxnreg.action.sync.aligned.u32 imm_reg_count;",
    choices=".action = { .inc, .dec };",
    operands={"imm_reg_count": immediate("u32", range(24, 257, 8))},
    since=(Since("8.0", "sm_90a sm_100f sm_110f sm_120f"),),
    issuer="warpgroup",
    meaning={
        **_ORDER,
        ".action": "Which of the two.",
        ".inc": "Waits until the block has enough free registers; the new ones hold anything.",
        ".dec": "Registers above the count are lost.",
    },
)
