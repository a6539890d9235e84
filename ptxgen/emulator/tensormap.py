"""Tensor maps in emulated memory: 128 bytes that hold what ``cuTensorMapEncodeTiled`` is given.

The hardware's encoding is not documented, so the emulator has one of its own; a map that the driver encoded means nothing here, and one of
these nothing to a GPU. All fields are little endian:

======= ====== ==========================================================
bytes   field  meaning
======= ====== ==========================================================
0-7     magic  ``b"ptxgenTM"``
8       kind   position in `KINDS`
9       rank   1 to 5
10      flags  swizzle (position in `SWIZZLES`), 3 bits; interleave, 2 bits; fill (0 zeros, 1 NaN), 1 bit
11-15   steps  element strides, one byte each
16-23   base   global address
24-43   shape  extents minus 1, five 32-bit words, the contiguous axis first
44-75   strides  bytes along the axes 1 to 4, four 64-bit words
76-85   box    extents, five 16-bit words
======= ====== ==========================================================
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from ptxgen.layouts.errors import PtxgenError

__all__ = ["ENCODED_BYTES", "KINDS", "SWIZZLES", "TensorMapFields", "decode_tensor_map", "encode_tensor_map"]

ENCODED_BYTES = 128
MAX_RANK = 5
_MAGIC = b"ptxgenTM"
_FORMAT = "<8sBBB5sQ5I4Q5H"

KINDS: dict[str, tuple[int, int]] = {
    "u8": (8, 8), "u16": (16, 16), "u32": (32, 32), "s32": (32, 32), "u64": (64, 64), "s64": (64, 64),
    "f16": (16, 16), "bf16": (16, 16), "f32": (32, 32), "f64": (64, 64),
    "b4x16": (4, 4), "b4x16_p64": (4, 8), "b6x16_p32": (6, 8),
}  # fmt: skip
"""Element kinds: bits in global and in shared memory."""

SWIZZLES: dict[str, tuple[int, int, int]] = {
    "none": (0, 0, 1), "32B": (1, 7, 4), "64B": (3, 7, 4), "128B": (7, 7, 4), "128B_atom_32B": (3, 7, 5),
}  # fmt: skip
"""Modes: the mask of address bits that change, where the bits come from that are added to them, and the lowest that changes."""

_INTERLEAVES = ("none", "16B", "32B")
_FILLS = ("zero", "nan")


class TensorMapFields(NamedTuple):
    """What a tensor map says; axes are counted from the contiguous one."""

    kind: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str
    interleave: str
    fill: str

    @property
    def rank(self) -> int:
        return len(self.shape)


def encode_tensor_map(
    kind: str,
    address: int,
    shape: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    element_strides: Sequence[int] | None = None,
    *,
    swizzle: str = "none",
    interleave: str = "none",
    fill: str = "zero",
) -> bytes:
    """The 128 bytes that stand for a tensor map in an emulated launch.

    Parameters
    ----------
    kind : str
        Element kind, one of `KINDS`.
    address : int
        Of the tensor's first element, in the emulator's global memory.
    shape : sequence of int
        Extents in elements, the contiguous axis first, as the driver takes them.
    strides : sequence of int
        Bytes from one element to the next along each axis but the first.
    box : sequence of int
        Extents of a copy.
    element_strides : sequence of int, optional
        Take every n-th element; 1 by default.
    swizzle, interleave, fill : str
        ``"none"``, ``"32B"``, ``"64B"``, ``"128B"``, ``"128B_atom_32B"``; ``"none"``, ``"16B"``, ``"32B"``; ``"zero"``, ``"nan"``.

    Raises
    ------
    PtxgenError
        For fields that do not fit. The driver's rules are checked where maps are described (`ptxgen.runtime.tensormap`).
    """
    rank = len(shape)
    steps = (1,) * rank if element_strides is None else tuple(element_strides)
    if not 1 <= rank <= MAX_RANK or len(strides) != rank - 1 or len(box) != rank or len(steps) != rank:
        raise PtxgenError(f"a tensor map of {rank} axes, {len(strides)} strides, {len(box)} box extents and {len(steps)} element strides")
    try:
        flags = tuple(SWIZZLES).index(swizzle) | _INTERLEAVES.index(interleave) << 3 | _FILLS.index(fill) << 5
        number = tuple(KINDS).index(kind)
    except ValueError as error:
        raise PtxgenError(f"a tensor map of kind {kind}, swizzle {swizzle}, interleave {interleave}, fill {fill}: {error}") from None
    gap = MAX_RANK - rank
    try:
        packed = struct.pack(
            _FORMAT, _MAGIC, number, rank, flags, bytes([*steps, *[0] * gap]), address,
            *(extent - 1 for extent in shape), *[0] * gap, *strides, *[0] * gap, *box, *[0] * gap,
        )  # fmt: skip
    except (struct.error, ValueError) as error:
        raise PtxgenError(f"a tensor map of shape {tuple(shape)}, strides {tuple(strides)}, box {tuple(box)}: {error}") from None
    return packed.ljust(ENCODED_BYTES, b"\0")


def decode_tensor_map(encoded: bytes) -> TensorMapFields | None:
    """What 128 bytes say, or None where they are no tensor map of the emulator's."""
    magic, number, rank, flags, steps, address, *rest = struct.unpack_from(_FORMAT, encoded)
    if magic != _MAGIC:
        return None
    shape, strides, box = rest[:5], rest[5:9], rest[9:]
    return TensorMapFields(
        tuple(KINDS)[number],
        address,
        tuple(extent + 1 for extent in shape[:rank]),
        tuple(strides[: rank - 1]),
        tuple(box[:rank]),
        tuple(steps[:rank]),
        tuple(SWIZZLES)[flags & 7],
        _INTERLEAVES[flags >> 3 & 3],
        _FILLS[flags >> 5 & 1],
    )
