"""Where tcgen05's operands lie that no tile operation takes: sparse factors and their metadata, pairs of blocks with scales, packed copies.

Metadata is four bits for each chunk of a row of A, in tensor memory. For elements of 16 and 32 bits 16 lanes and a column tell of 16 rows:
lane r the first four chunks of rows r and r + 8, lane r + 8 the other four; the selector says which of two columns. For narrower elements
each lane tells of its own row, in two columns (ISA 9.7.18.10.8.4, in figures). Where a block's 64 rows use half of the lanes, so does the
metadata (ISA 9.7.18.10.8.5).
"""

from __future__ import annotations

from ptxgen.instructions.descriptors import TCGEN05
from ptxgen.instructions.tiles import Atom, Extent, Tile

__all__ = ["PACKED_COPIES", "SPLIT_HALVES", "scaled", "sparse", "sparse_stationary"]

_WIDE = ".kind in .kind::f16 .kind::tf32"
_NIBBLES = 8  # in a column
_SELECTED = {"selector": "0 1"}


def _metadata(rows: str, lanes: str, *, copies: str = "") -> Atom:
    """Rows `rows`, whose 16s lie `lanes` lanes apart; shape and steps are those of all copies."""
    apart = f"{lanes} * {_NIBBLES} * LANE"
    wide = (
        f"S[(({rows} // 16, 2, 8), (2, 4)) : (({apart}, 4, {_NIBBLES} * LANE), ({8 * _NIBBLES} * LANE, 1))] + {_NIBBLES} * selector"
    )
    narrow = f"S[(({rows} // 16, 16), 16) : (({apart}, {_NIBBLES} * LANE), 1)]"
    return Atom(
        f"{rows}, 8 if {_WIDE} else {rows}, 16", f"{wide} if {_WIDE} else {narrow}", element="b4", place="lanes", copies=copies,
        blocks="half", constants=_SELECTED,
    )  # fmt: skip


def _shared(shape: str, element: str, majors: str) -> Atom:
    return Atom(shape, element=element, place="descriptor", descriptor=TCGEN05, majors=majors, blocks="half")


def sparse(element: str, majors: str) -> Tile:
    """Operands of a sparse product: 64 rows of a block use half of the lanes, with pairs of blocks as well (layouts A, C, D and F)."""
    return Tile(
        {
            "d_tmem": Atom(
                "rows, n", "S[((rows // 16, 16), n) : ((step * LANE, LANE), 1)]", element="b32", place="lanes", blocks="half"
            ),
            "a_desc": _shared("rows, k // 2", element, majors),
            "a_tmem": Atom(
                "rows, k // 2", "S[((rows // 16, 16), k // 2) : ((step * LANE * e, LANE * e), 1)]", element=element, place="lanes",
                blocks="half",
            ),
            "b_desc": _shared("n // ctas, k", element, majors),
            "sp_meta_tmem": _metadata("rows", "step"),
        },
        extents={
            "rows": Extent("d_tmem", -2, "64 : 128 : 64"),
            "n": Extent(
                "d_tmem", -1,
                "32 : 256 : 32 if .kind in .kind::i8 and .cta_group in .cta_group::2 else "
                "8; 16; 24; 32 : 256 : 16 if .kind in .kind::i8 else 8 * ctas : 256 : 8 * ctas",
            ),
        },
        names=f"""
            ctas = .cta_group
            step = 48 - rows // 4
            k = 512 // bits({element})
            e = k // 16
        """,
    )  # fmt: skip


def sparse_stationary(element: str, majors: str) -> Tile:
    """Operands of a sparse product whose B stays: what is left of the lanes holds the other columns, and needs A and metadata again."""
    return Tile(
        {
            "d_tmem": Atom(
                "rows, n", "S[(rows, (copies, n // copies)) : (LANE, (rows * LANE, 1))]", element="b32", place="lanes"
            ),
            "a_desc": _shared("rows, k // 2", element, majors),
            "a_tmem": Atom("128, k // 2", "S[(128, k // 2) : (LANE * e, 1)]", element=element, place="lanes", copies="copies"),
            "b_desc": _shared("n, k", element, majors),
            "sp_meta_tmem": _metadata("128", "16", copies="copies"),
        },
        extents={"rows": Extent("d_tmem", -2, "32; 64; 128"), "n": Extent("d_tmem", -1, "64; 128")},
        names=f"""
            copies = 128 // rows
            k = 512 // bits({element})
            e = k // 16
        """,
    )  # fmt: skip


def scaled(element: str, scales: str, *, half: bool, when: str = "") -> Tile:
    """Operands of a product with scales, 128 rows a block; `half` of A is stored where it is sparse.

    Each block of a pair has the scales of its rows of A and of all rows of B.
    """
    kept, majors = "k // 2" if half else "k", "k mn if .kind in .kind::mxf8f6f4 else k"
    depth = 512 if half else 256
    return Tile(
        {
            "d_tmem": Atom("128, n", "S[(128, n) : (LANE, 1)]", element="b32", place="lanes", blocks="half"),
            "a_desc": _shared(f"128, {kept}", element, majors),
            "a_tmem": Atom(f"128, {kept}", f"S[(128, {kept}) : (LANE * e, 1)]", element=element, place="lanes", blocks="half"),
            "b_desc": _shared("n // ctas, k", element, majors),
            "sp_meta_tmem": _metadata("128", "16"),
            "scale_a_tmem": Atom(
                "4, 128, v", scales.format(rows=128), element="b8", place="lanes", copies="4", blocks="half", inside="8 * v"
            ),
            "scale_b_tmem": Atom(
                "4, n, v", scales.format(rows="n"), element="b8", place="lanes", copies="4", blocks="copy", inside="8 * v"
            ),
        },
        extents={"n": Extent("d_tmem", -1, "32 : 256 : 32")},
        names=f"""
            ctas = .cta_group
            k = {depth} // bits({element})
            e = 32 // bits({element})
            v = 1 if .kind in .kind::mxf8f6f4 else 4 if .scale_vectorsize in .scale_vec::4X .block16 else 2
        """,
        when=when,
    )  # fmt: skip


# Sixteen elements, each in a byte of tensor memory, come from 16 bytes of shared memory, packed from the first bit on.
PACKED_COPIES = Tile(
    {
        "taddr": Atom(
            "copies, rows, bits // 8 if .multicast else rows, bits // 8",
            "S[(4, bits // 8) : (32 * 4 * LANE, 1)] if .shape in .4x256b else "
            "S[(copies, rows, bits // 8) : (32 * 4 * LANE, 4 * LANE, 1)] if .multicast in .warpx4 else "
            "S[(copies, rows, bits // 8) : (64 * 4 * LANE, 4 * LANE, 1)] if .multicast in .warpx2::02_13 else "
            "S[(copies, (2, 32), bits // 8) : (32 * 4 * LANE, (64 * 4 * LANE, 4 * LANE), 1)] if .multicast in .warpx2::01_23 else "
            "S[(rows, bits // 8) : (4 * LANE, 1)]",
            element="b8", place="lanes", copies="copies",
        ),
        "s_desc": Atom("rows, bits // 128", element="b128", place="descriptor", descriptor=TCGEN05, majors="k"),
    },
    names="rows, bits = .shape; copies = .multicast",
    when=".dst_src_fmt",
)  # fmt: skip

# Halves of registers, with the two halves of the lanes `split` columns apart.
SPLIT_HALVES = Tile(
    {
        "r": Atom("16, 2, num, 2", "S[(16, 2, num, 2) : (1@laneid, 16@laneid, 2, 1)]", element="b16"),
        "taddr": Atom("16, 2, num, 2", "S[(16, 2, num, 2) : (2 * LANE, 2 * split, 4, 2)]", element="b16", place="lanes"),
    },
    names="num = .num",
    constants={"split": "imm_half_split_off"},
    when=".shape2 and .pack or .shape2 and .unpack",
)
