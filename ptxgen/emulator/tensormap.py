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
from typing import Any, NamedTuple

import numpy as np

from ptxgen.layouts.errors import PtxgenError

__all__ = [
    "ELEMENT_CODES", "ENCODED_BYTES", "FIELDS", "KINDS", "MAGIC", "SWIZZLES", "Place", "TensorMapFields", "decode_tensor_map",
    "encode_tensor_map",
]  # fmt: skip

ENCODED_BYTES = 128
MAX_RANK = 5
_MAGIC = b"ptxgenTM"
MAGIC = int.from_bytes(_MAGIC, "little")
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


ELEMENT_CODES: dict[int, int] = {
    code: tuple(KINDS).index(name)
    for code, name in enumerate(
        ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32", "b4x16", "b4x16_p64", "b6x16_p32")
    )
}
"""The codes of element types (ISA "tensormap.replace"), as positions in `KINDS`; values are moved, so that tf32 is as f32."""


class Place(NamedTuple):
    """Where a field lies in the 128 bytes, as words of `width` bytes, and how a new value is put there.

    `mask` are the bits of a field in a byte that it shares, from `shift` on; `step` are the bytes from one dimension's to the next.
    """

    offset: int
    width: int
    words: int = 1
    step: int = 0
    add: int = 0
    shift: int = 0
    mask: int = 0
    codes: tuple[int, ...] = ()

    def of(self, dimension: int) -> Place:
        """The field of one dimension."""
        return self._replace(offset=self.offset + dimension * self.step)

    def word(self, new: Any, old: Any, number: int) -> Any:
        """Word `number` of the field for values `new` (u64), where `old` is there."""
        value = (new + np.uint64(self.add % (1 << 64))) >> np.uint64(8 * self.width * number)
        if self.codes:
            value = np.array(self.codes, np.uint64)[value.astype(np.int64)]
        value = value.astype(old.dtype)
        if self.mask:
            kind = old.dtype.type
            return old & kind(~self.mask & 0xFF) | (value << kind(self.shift)) & kind(self.mask)
        return value


FIELDS: dict[str, Place] = {
    "global_address": Place(16, 8),
    "rank": Place(9, 1, add=1),
    "box_dim": Place(76, 2, step=2),
    "global_dim": Place(24, 4, step=4, add=-1),
    "global_stride": Place(44, 4, words=2, step=8),
    "element_stride": Place(11, 1, step=1),
    "elemtype": Place(8, 1, codes=tuple(ELEMENT_CODES.values())),
    "swizzle_mode": Place(10, 1, mask=0b111),
    "swizzle_atomicity": Place(10, 1, mask=0b100, codes=(0, 4)),
    "interleave_layout": Place(10, 1, shift=3, mask=0b11000),
    "fill_mode": Place(10, 1, shift=5, mask=0b100000),
}
"""What ``tensormap.replace`` replaces. A mode of 128 bytes whose atoms have 32 is 4 here: the mode goes first, its atoms second."""


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
