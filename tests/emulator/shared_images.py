"""Matrices as the tensor cores read them from shared memory, placed element by element from the definition of their layouts."""

from __future__ import annotations

import numpy as np

HOPPER = {16: 0, 128: 1, 64: 2, 32: 3}
BLACKWELL = {16: 0, 128: 2, 64: 4, 32: 6}


def place(matrix: np.ndarray, span: int, k_major: bool, granule: int = 16) -> tuple[bytes, int, int]:
    """The shared image of a (rows, K) matrix, with its leading and stride byte offsets.

    Atoms are 8 rows of `span` bytes (4 rows where `granule`, the bytes that a swizzle moves together, is 32). K-major: a row is one row
    of the matrix, atoms follow one another along M or N first; an atom with a span of 16 bytes holds only half of the K of one
    instruction. MN-major: a row is one k, holding span bytes of consecutive rows of the matrix; atoms follow one another along K first.
    """
    size = matrix.dtype.itemsize
    rows, depth = matrix.shape
    per_line, lines = span // size, 8 * 16 // granule
    atom = lines * span
    across = -(-rows // lines) if k_major else -(-depth // lines)
    along = -(-(depth if k_major else rows) // per_line)
    image = bytearray(across * along * atom)
    raw = matrix.view(f"u{size}")
    for row in range(rows):
        for column in range(depth):
            line, inside = (row, column) if k_major else (column, row)
            outer, position = divmod(inside, per_line)
            byte = outer * across * atom + line // lines * atom + line % lines * span + position * size
            swizzled = (byte // granule ^ (byte // 128 % (span // granule) if span > 16 else 0)) * granule + byte % granule
            image[swizzled : swizzled + size] = int(raw[row, column]).to_bytes(size, "little")
    if span > 16:
        return bytes(image), (0 if k_major else across * atom), atom
    return (bytes(image), across * atom, atom) if k_major else (bytes(image), atom, across * atom)


def hopper(address: int, leading: int, stride: int, span: int) -> int:
    """A descriptor of wgmma."""
    return address >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | HOPPER[span] << 62


def blackwell(address: int, leading: int, stride: int, span: int, granule: int = 16) -> int:
    """A descriptor of tcgen05."""
    mode = 1 if granule == 32 else BLACKWELL[span]
    return address >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | mode << 61
