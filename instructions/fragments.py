"""How the registers of a warp hold the matrices of a product: shared words of the contracts of mma (ISA 9.7.16.5.1 to 9.7.16.5.13)."""

from __future__ import annotations

from collections.abc import Mapping

from ptxgen.instructions.language import Rule, out, source
from ptxgen.instructions.tiles import Atom, Tile

__all__ = [
    "BYTES", "COLLECTIVE", "FRAGMENTS", "IN_BYTES", "OPERANDS", "PRODUCT", "SAME_ACCUMULATOR", "TILE", "WORDS", "halved", "metadata",
    "product_tile",
]  # fmt: skip

COLLECTIVE = {
    ".sync": "Waits until all threads of the warp have come here.",
    ".aligned": "All threads of the warp execute this very instruction.",
}

PRODUCT = {
    **COLLECTIVE,
    ".shape": "The product's extents: a is m x k, b is k x n, c and d are m x n.",
    ".row": "a is row-major: a register's elements lie along k.",
    ".col": "b is column-major: a register's elements lie along k.",
    ".alayout": "Whether a register of a holds elements along k (.row) or along m (.col).",
    ".blayout": "Whether a register of b holds elements along n (.row) or along k (.col).",
    ".dtype": "The type of the result.",
    ".atype": "The type of the elements of a.",
    ".btype": "The type of the elements of b.",
    ".ctype": "The type of the accumulator that is added.",
    ".kind": "What the element types of a and b are combined from.",
    ".kind::f8f6f4": "Elements of 8, 6 or 4 bits in any combination, each in its own byte: six bits at its bottom, four in bits 2 to 5.",
    ".satfinite": "A sum beyond the range of .s32 becomes its nearest end; without it the sum wraps.",
    ".bitOp": "What replaces the multiplication of bits.",
    ".xor": "Exclusive or.",
    ".and": "And.",
    ".popc": "Ones are counted where products would be added.",
}

# Registers of 32 bits in each of 32 lanes hold a matrix.
_A, _B = "m(.shape) * k(.shape) * bits(.atype) / 1024", "n(.shape) * k(.shape) * bits(.btype) / 1024"
_D, _C = "m(.shape) * n(.shape) * bits(.dtype) / 1024", "m(.shape) * n(.shape) * bits(.ctype) / 1024"
_D_TYPE, _C_TYPE = (f"f16x2 if {name} in .f16 else {name}" for name in (".dtype", ".ctype"))
_PACKED = "f16x2 if .atype in .f16 else bf16x2 if .atype in .bf16 else tf32 if .atype in .tf32 else b32 if .atype in .e4m3 .e5m2 else u32"

OPERANDS = {
    "d": out(_D_TYPE, vector=_D, braced=True),
    "a": source(_PACKED, vector=_A, braced=True, immediate=False),
    "b": source(_PACKED, vector=_B, braced=True, immediate=False),
    "c": source(_C_TYPE, vector=_C, braced=True),
}
# Every element of a and b in a byte of its own.
BYTES = {
    **OPERANDS,
    "a": source("b32", vector="m(.shape) * k(.shape) / 128", braced=True, immediate=False),
    "b": source("b32", vector="n(.shape) * k(.shape) / 128", braced=True, immediate=False),
}

# Row g + 8 * i of a and d, column g of b, belong to lanes 4 * g + t; along k (or n), lane t of them has e (or two) neighbours, then again
# 4 * e further on. a is written (m, k), b (n, k), c and d (m, n).
FRAGMENTS = {
    "d": Atom("m, n", "S[((i, 8), (4, 2)) : ((2, 4@laneid), (1@laneid, 1))]", element=".dtype", repeats="* M N"),
    "a": Atom("m, k", "S[((i, 8), (h, 4, e)) : ((e, 4@laneid), (i*e, 1@laneid, 1))]", element=".atype", repeats="* M K"),
    "b": Atom("n, k", "S[(8, (h, 4, e)) : (4@laneid, (e, 1@laneid, 1))]", element=".btype", repeats="* N K"),
    "c": Atom("m, n", "S[((i, 8), (4, 2)) : ((2, 4@laneid), (1@laneid, 1))]", element=".ctype", repeats="* M N"),
}


def product_tile(elements: str, fragments: dict[str, Atom] = FRAGMENTS, words: Mapping[str, Atom] | None = None) -> Tile:
    """The tile form of a product whose registers hold so many `elements` of a and b each."""
    names = f"m, n, k = .shape; i = m // 8; e = {elements}; h = k // (4 * e)"
    return Tile(fragments, names=names, order="* M N K", chain={"c": "d"}, words=words)


TILE = product_tile("32 // bits(.atype)")

# Elements of 6 and 4 bits lie in bytes of their own.
IN_BYTES = {
    **FRAGMENTS,
    "a": Atom("m, k", FRAGMENTS["a"].layout, element=".atype if .atype in .e4m3 .e5m2 else b8", repeats="* M K"),
    "b": Atom("n, k", FRAGMENTS["b"].layout, element=".btype if .btype in .e4m3 .e5m2 else b8", repeats="* N K"),
}

WORDS = "S[32 : 1@laneid]"
"""A word of each lane, whose bits the instruction takes from the lanes that another operand selects."""


def halved(fragments: dict[str, Atom]) -> dict[str, Atom]:
    """The fragments of a product with a sparse a: the half that is kept lies as a dense a of half the k, and each lane gives metadata."""
    return {
        **fragments,
        "a": Atom(
            "m, k // 2", "S[((i, 8), (h // 2, 4, e)) : ((e, 4@laneid), (i*e, 1@laneid, 1))]", element=fragments["a"].element,
            repeats="* M K",
        ),
        "e": Atom("32", WORDS, element="b32", repeats="* M K"),
    }  # fmt: skip


def metadata(lanes: int, *, by_row: bool, selector: str = "selector", warps: int = 1) -> Atom:
    """Four bits for each chunk of a row of a sparse a, which so many `lanes` of every four give (ISA 9.7.16.6.1 and 9.7.17.6.1).

    A word tells `by_row` of eight chunks of one row, the next lane's of those of the row 8 further on; or of four chunks of each of the
    two. The axes are rows and chunks; chunks are as long as the type's sparsity says.
    """
    thread, rows = ("laneid", "") if warps == 1 else ("tid_in_wg", f"{warps}, ")
    far = f"32@{thread}, " if rows else ""
    if by_row:
        parted, steps = f"({rows}2, 8), ({lanes // 2}, 8)", f"({far}1@{thread}, 4@{thread}), (2@{thread}, 1)"
    else:
        parted, steps = f"({rows}2, 8), ({lanes}, 4)", f"({far}4, 4@{thread}), (1@{thread}, 1)"
    return Atom(
        f"{16 * warps}, {4 * lanes}", f"S[({parted}) : ({steps})] + (selector * {lanes})@{thread}", element="b4",
        constants={"selector": selector},
    )  # fmt: skip


SAME_ACCUMULATOR = (
    Rule("the accumulator has the type of the result", when=".dtype in .f16", need=".ctype in .f16"),
    Rule("the accumulator has the type of the result", when=".dtype in .f32", need=".ctype in .f32"),
)
