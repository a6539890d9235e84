"""tcgen05.mma: what the instruction descriptor says, and where the rows of A and D lie in tensor memory.

ISA "Instruction descriptor"; ISA "Data Path Layout Organization", layouts A to G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.tensor_memory import LANES

__all__ = ["Part", "Product", "Scales", "decode_instruction", "decode_scaled", "first_column", "lanes_of", "unpack", "zero_columns"]

_FLOATS8 = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_TYPES: dict[str, dict[int, str]] = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": _FLOATS8,
    "i8": {0: "u8", 1: "s8"},
}
_RESULTS: dict[str, dict[int, str]] = {
    "f16": {0: "f16", 1: "f32"},
    "tf32": {1: "f32"},
    "f8f6f4": {0: "f16", 1: "f32"},
    "i8": {2: "s32"},
}
_DEPTH = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32}
_SIGN = {"f16": 15, "bf16": 15, "tf32": 31, "e4m3": 7, "e5m2": 7, "e2m3": 5, "e3m2": 5, "e2m1": 3}
_WIDTH = {"e2m3": 6, "e3m2": 6, "e2m1": 4}


class Scales(NamedTuple):
    """Where the scales of a product lie: their type, the addresses of those of A and B, and the byte of a column in which a row's begin."""

    type: str
    a: int
    b: int
    a_byte: int
    b_byte: int


class Product(NamedTuple):
    """A decoded instruction descriptor."""

    m: int
    n: int
    k: int
    a: str
    b: str
    d: str
    a_k_major: bool
    b_k_major: bool
    negate_a: bool
    negate_b: bool
    saturates: bool
    packed: bool = False
    """Whether elements of 4 bits fill their bytes in shared memory."""
    scales: Scales | None = None
    selector: int = 0
    """Of a sparse product: which of two columns holds its metadata."""

    @staticmethod
    def signs(patterns: Array, of: str) -> Array:
        """Elements with their signs turned."""
        return patterns ^ patterns.dtype.type(1 << _SIGN[of])


def decode_instruction(word: int, kind: str, group: int, stationary: bool = False, sparse: bool = False) -> Product | str:
    """Take an instruction descriptor apart; a text says what is wrong with one that the kind does not have.

    Parameters
    ----------
    word : int
        32 bits.
    kind : str
        ``"f16"``, ``"tf32"``, ``"f8f6f4"`` or ``"i8"``.
    group : int
        1 or 2: blocks that multiply together.
    stationary, sparse : bool
        Whether it is ``.ws``, and ``.sp``, which takes twice the K.
    """
    d = _RESULTS[kind].get(word >> 4 & 3)
    a, b = (_TYPES[kind].get(word >> shift & 7) for shift in (7, 10))
    for name, found, shift, mask, known in (
        ("D (bits 4-5)", d, 4, 3, _RESULTS[kind]),
        ("A (bits 7-9)", a, 7, 7, _TYPES[kind]),
        ("B (bits 10-12)", b, 10, 7, _TYPES[kind]),
    ):
        if found is None:
            listed = ", ".join(f"{value} = {type}" for value, type in known.items())
            return f"the type of {name} is {word >> shift & mask}, and .kind::{kind} has {listed}"
    assert a is not None and b is not None and d is not None
    m, n = (word >> 24 & 0x1F) << 4, (word >> 17 & 0x3F) << 3
    problem = _stationary_problem(m, n) if stationary else _shape_problem(m, n, group, kind)
    if problem:
        return problem
    problem = _sparsity_problem(word, sparse) or (_selector_problem(word & 3, kind) if sparse else "")
    if problem:
        return problem
    if kind == "f16" and d == "f16" and "bf16" in (a, b):
        return "D is f16, and bf16 is accumulated in f32"
    if kind == "i8" and word >> 13 & 3:
        return "bits 13 and 14 negate A and B, which .kind::i8 cannot"
    return Product(
        m, n, _DEPTH[kind] * (1 + sparse), a, b, d, not word >> 15 & 1, not word >> 16 & 1,
        bool(word >> 13 & 1), bool(word >> 14 & 1), bool(word >> 3 & 1), selector=word & 3,
    )  # fmt: skip


def _sparsity_problem(word: int, sparse: bool) -> str:
    if bool(word >> 2 & 1) == sparse:
        return ""
    return "bit 2 asks for a dense A, which is not tcgen05.mma.sp" if sparse else "bit 2 asks for a sparse A, which is tcgen05.mma.sp"


def _selector_problem(selector: int, kind: str) -> str:
    """Wide elements have their metadata in one of two columns, narrower ones in both."""
    most = 1 if kind in ("f16", "tf32") else 0
    return "" if selector <= most else f"the selector of the metadata (bits 0-1) is {selector}; with .kind::{kind} it is at most {most}"


_SCALED: dict[str, dict[int, str]] = {"mxf8f6f4": _FLOATS8, "mxf4": {1: "e2m1"}, "mxf4nvf4": {1: "e2m1"}}
_SCALES: dict[str, dict[int, str]] = {"mxf8f6f4": {1: "ue8m0"}, "mxf4": {1: "ue8m0"}, "mxf4nvf4": {0: "e4m3", 1: "ue8m0"}}


def decode_scaled(word: int, kind: str, vectors: int, a_scales: int, b_scales: int, group: int = 1, sparse: bool = False) -> Product | str:
    """Take the instruction descriptor of a ``.block_scale`` product apart; a text says what is wrong with one that means nothing.

    Parameters
    ----------
    word : int
        32 bits.
    kind : str
        ``"mxf8f6f4"``, ``"mxf4"`` or ``"mxf4nvf4"``.
    vectors : int
        Scales of a row.
    a_scales, b_scales : int
        Addresses in tensor memory.
    group : int
        1 or 2: blocks that multiply together, of 128 rows each.
    sparse : bool
        Whether it is ``.sp``, which takes twice the K.
    """
    scale = _SCALES[kind].get(word >> 23 & 1)
    a, b = (_SCALED[kind].get(word >> shift & 7) for shift in (7, 10))
    if scale is None or a is None or b is None:
        return f"the types of A, B and the scales (bits 7-9, 10-12 and 23) are {word >> 7 & 7}, {word >> 10 & 7}, {word >> 23 & 1}"
    m, n = (word >> 24 & 0x1F) << 4, (word >> 17 & 0x3F) << 3
    if m != 128 * group or not 8 <= n <= 256:
        return f"M (bits 24-28, times 16) is {m} and N (bits 17-22, times 8) is {n}; M is {128 * group}, N up to 256"
    problem = _sparsity_problem(word, sparse)
    if problem:
        return problem
    first, second = word >> 29 & 3, word >> 4 & 3
    if first % vectors or second % vectors:
        return f"the scales of A and B begin in bytes {first} and {second} (bits 29-30, 4-5); with {vectors} a row, at a multiple of that"
    packed = kind != "mxf8f6f4"
    if word >> 31:
        return "bit 31 asks for a K of 96, which the emulator does not compute" if packed and not sparse else "bit 31 is reserved"
    if packed and word >> 15 & 3:
        return f"bits 15 and 16 ask for MN-major matrices, which .kind::{kind} does not have"
    return Product(
        m, n, (64 if packed else 32) * (1 + sparse), a, b, "f32", not word >> 15 & 1, not word >> 16 & 1, bool(word >> 13 & 1),
        bool(word >> 14 & 1), False, packed, Scales(scale, a_scales, b_scales, first, second),
    )  # fmt: skip


def _shape_problem(m: int, n: int, group: int, kind: str) -> str:
    rows = (64, 128) if group == 1 else (128, 256)
    if m not in rows:
        return f"M (bits 24-28, times 16) is {m}; with cta_group::{group} it is {rows[0]} or {rows[1]}"
    step = 8 if m == 64 and (kind != "i8" or n <= 32) else 32 if group == 2 and kind == "i8" else 16
    if n % step or not step <= n <= 256:
        return f"N (bits 17-22, times 8) is {n}; for M = {m} with cta_group::{group} it is a multiple of {step} up to 256"
    return ""


def _stationary_problem(m: int, n: int) -> str:
    if m in (32, 64, 128) and n in (64, 128, 256):
        return ""
    return f"M (bits 24-28, times 16) is {m} and N (bits 17-22, times 8) is {n}; with .ws M is 32, 64 or 128 and N 64, 128 or 256"


class Part(NamedTuple):
    """A part of D in one block: rows of D by lanes, columns of D by columns of tensor memory."""

    lane: Array
    columns: slice
    a_lane: Array


def lanes_of(m: int, n: int, group: int, stationary: bool = False, sparse: bool = False) -> list[Part]:
    """Where the rows that a block computes lie, from the address in the instruction on.

    64 rows of a block of a pair take the upper half of the lanes for half of the columns, but not where A is sparse (layout C).

    Returns
    -------
    list of Part
        `lane` for each of the block's rows, for the columns of D that it holds there, and `a_lane` where A in tensor memory is read.
    """
    if stationary or (group == 2 and m == 128 and not sparse):
        rows = np.arange(m // group)
        stacked = LANES // len(rows)
        count = n // stacked
        return [Part(rows + part * len(rows), slice(part * count, (part + 1) * count), rows + part * len(rows)) for part in range(stacked)]
    if m // group == 64:
        rows = np.arange(64)
        lane = rows // 16 * 32 + rows % 16
        return [Part(lane, slice(0, n), lane)]
    rows = np.arange(128)
    return [Part(rows, slice(0, n), rows)]


def zero_columns(word: int, m: int, n: int) -> Array:
    """Which columns of B count as zero, by a zero-column mask descriptor: n flags.

    Columns fall into 128 / m parts, in each of which runs of zero and of used columns take turns; `first_column` says where B begins.
    (The ISA's table and its examples differ in which run is which: this is as the fields are called, and as in the examples.)
    """
    if not word >> 39 & 1:
        return np.zeros(n, np.bool_)
    zero, used = (word >> 40 & 0xFF) + 1, (word >> 48 & 0xFF) + 1
    parts = LANES // m
    turns = []
    for part in range(parts):
        begin = (word >> 8 * part & 0xFF) + (0 if word >> 32 + part & 1 else zero)
        turns.append((begin + np.arange(n // parts)) % (zero + used) < zero)
    return np.concatenate(turns)


def first_column(word: int) -> int:
    """The column of B that is the product's first."""
    return word >> 56 & 0x3F


def unpack(chunks: Array, of: str, packed: bool = False) -> Array:
    """Elements from chunks of 16 bytes: unsigned patterns of floats, values of integers; narrow floats take the first bits of a chunk.

    Where they are `packed`, floats of 4 bits fill it.

    Parameters
    ----------
    chunks : array of uint8
        Shape (..., 16).
    """
    if packed:
        return np.stack((chunks & 15, chunks >> 4), axis=-1).reshape(*chunks.shape[:-1], 32)
    if of in _WIDTH:
        width = _WIDTH[of]
        bits = np.unpackbits(chunks, axis=-1, bitorder="little")[..., : 16 * width].reshape(*chunks.shape[:-1], 16, width)
        return (bits << np.arange(width, dtype=np.uint8)).sum(-1).astype(np.uint8)
    dtype = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "s8": np.int8}.get(of, np.uint8)
    return np.ascontiguousarray(chunks).view(dtype)
