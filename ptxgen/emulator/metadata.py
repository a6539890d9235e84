"""Metadata of sparse matrices: four bits for every chunk of a row say where what is kept of it stood (ISA "Sparse matrix storage").

Chunks follow each other along a row. In registers each lane that gives metadata has 32 bits: for elements of 16 and 32 bits four chunks of
row g and above them four of row g + 8; for narrower ones eight chunks of row g, and the next lane those of row g + 8. The ISA shows this in
figures; an H200 was asked, with random words in all lanes (tests/emulator/test_sparse_products.py).
"""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.instructions.types import type_named

__all__ = ["chunks_of_lanes", "expanded", "first_fault"]

_ROWS = 8
_WORD = 8
"""Chunks that the metadata of one lane tells of."""


def chunks_of_lanes(words: Array, selector: int, lanes: int, of: str) -> Array:
    """Four bits for every chunk of 16 rows.

    Parameters
    ----------
    words : array of uint32
        Shape (warps, 32).
    selector, lanes : int
        So many lanes of every four give metadata; which of such groups.
    of : str
        The type of an element.

    Returns
    -------
    array of uint32
        Shape (warps, 16, chunks).
    """
    begin = selector * lanes
    own = np.ascontiguousarray(words).reshape(-1, _ROWS, 4)[:, :, begin : begin + lanes]
    nibbles = own[..., None] >> np.arange(0, 4 * _WORD, 4, dtype=np.uint32) & 15  # warp, g, lane, chunk
    each = _WORD if type_named(of).bits <= 8 else _WORD // 2
    parted = nibbles.reshape(len(nibbles), _ROWS, -1, 2, each)  # ..., whether row g or g + 8, chunk
    return parted.transpose(0, 3, 1, 2, 4).reshape(len(nibbles), 2 * _ROWS, -1)


def expanded(kept: Array, chunks: Array, of: str, *, in_pairs: bool = False, ordered: bool = False) -> tuple[Array, Array]:
    """The matrices, shape (matrices, rows, k), what is not kept masked; and which chunks name places, shape (matrices, rows, chunks).

    Parameters
    ----------
    kept : array
        Elements, shape (matrices, rows, k / 2).
    chunks : array
        What `chunks_of_lanes` gives: of two elements one is kept for ``tf32``, else two of four.
    of : str
        The type of an element.
    in_pairs : bool
        Whether neighbours are kept together: two pairs of four.
    ordered : bool
        Whether the places must ascend.
    """
    places, valid = _of_two(chunks) if of == "tf32" else _of_four(chunks, 2 if in_pairs else 1, ordered)
    dense = np.zeros((*kept.shape[:2], 2 * kept.shape[2]), kept.dtype)
    absent = np.ones(dense.shape, np.bool_)
    np.put_along_axis(dense, places, kept, axis=2)
    np.put_along_axis(absent, places, False, axis=2)
    return np.ma.MaskedArray(dense, absent), valid


def _of_four(chunks: Array, each: int, ordered: bool) -> tuple[Array, Array]:
    """Where in a row the two parts that are kept of four lie, each of so many elements; which chunks say so."""
    indices = np.stack((chunks & 3, chunks >> 2), axis=-1).astype(np.int64)
    parts = indices + 4 * np.arange(chunks.shape[2])[:, None]
    places = parts[..., None] * each + np.arange(each)
    valid = indices[..., 0] < indices[..., 1] if ordered else indices[..., 0] != indices[..., 1]
    return places.reshape(*chunks.shape[:2], -1), valid


def _of_two(chunks: Array) -> tuple[Array, Array]:
    """The same for one element that is kept of two: 0b0100 is the first, 0b1110 the second."""
    return (chunks == 14) + 2 * np.arange(chunks.shape[2]), (chunks == 4) | (chunks == 14)


def first_fault(chunks: Array, valid: Array) -> tuple[int, str]:
    """The first matrix with a chunk that is not valid, and what to say of it."""
    matrix, row, chunk = map(int, np.argwhere(~valid)[0])
    bits = int(chunks[matrix, row, chunk])
    wrong = "names no two different places" if bits & 3 == bits >> 2 else "names places that do not ascend"
    return matrix, f"the metadata of row {row}, chunk {chunk} is {bits:#06b}, which {wrong}"
