"""Boxes of a tensor map: which bytes of global memory a tensor copy moves, and where they lie in shared memory (ISA "Tensors")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.tensormap import KINDS, SWIZZLES, TensorMapFields

__all__ = ["Box", "swizzle_period", "swizzled"]

_NAN = {16: 0x7FF7, 32: 0x7FF77FF7, 64: 0x7FF77FF77FF77FF7}  # as an H200 writes it


def swizzled(address: Array, mode: str) -> Array:
    """The shared-memory addresses at which a swizzled image keeps what it would keep at `address`: it acts on absolute addresses."""
    mask, source, target = SWIZZLES[mode]
    return address ^ ((address >> source & mask) << target)


def swizzle_period(mode: str) -> int:
    """Bytes after which a swizzle repeats: what an image's address must be a multiple of; 1 where nothing is swizzled."""
    mask, source, _ = SWIZZLES[mode]
    return (mask + 1) << source if mask else 1


class Box:
    """One box of a tensor, of whose elements some may lie outside of it.

    Attributes
    ----------
    start : tuple of int
        Where it begins, the contiguous axis first.
    unit : int
        Bytes of an element, or 16 where whole rows of 16 bytes lie inside or outside together.
    address : array of shape (units,)
        Where each unit lies in global memory, in the order of the image in shared memory.
    inside : array of bool
        Which units lie in the tensor.
    nbytes : int
        That a copy moves.
    row, pitch : int
        Bytes of a row of the image, and from one row to the next: as wide as the swizzle's pattern (measured on an H200).
    """

    def __init__(self, fields: TensorMapFields, coordinates: Sequence[int], rows: Sequence[int] | None = None) -> None:
        self.fields = fields
        self.start = tuple(coordinates)
        element = KINDS[fields.kind][0] // 8
        steps = (1, *fields.element_strides[1:])
        extents = [-(-extent // step) for extent, step in zip(fields.box, steps)]
        axes = [start + np.arange(extent, dtype=np.int64) * step for start, extent, step in zip(coordinates, extents, steps)]
        if rows is not None:
            axes[1] = np.array(rows, np.int64)
        wide = 16 // element
        if coordinates[0] % wide == 0 and extents[0] % wide == 0 and fields.shape[0] % wide == 0:
            axes[0] = axes[0][::wide]
            self.unit = 16
        else:
            self.unit = element
        strides = (element, *fields.strides)
        rank = fields.rank
        address = np.full((1,) * rank, fields.address, np.int64)
        inside = np.ones((1,) * rank, np.bool_)
        for axis, places in enumerate(axes):
            shape = [1] * rank
            shape[rank - 1 - axis] = len(places)
            address = address + (places * strides[axis]).reshape(shape)
            inside = inside & ((places >= 0) & (places < fields.shape[axis])).reshape(shape)
        self.address = address.reshape(-1)
        self.inside = np.broadcast_to(inside, address.shape).reshape(-1)
        self.nbytes = len(self.address) * self.unit
        mask, _, target = SWIZZLES[fields.swizzle]
        self.row = extents[0] * element
        self.pitch = (mask + 1) << target if mask else self.row

    def blank(self) -> Array:
        """The image where nothing lies in the tensor: zeros, or NaNs. Shape (units, unit)."""
        image = np.zeros((len(self.address), self.unit), np.uint8)
        bits = KINDS[self.fields.kind][0]
        if self.fields.fill == "nan" and bits in _NAN:
            image.view(f"u{bits // 8}")[...] = _NAN[bits]
        return image

    def image_rows(self, address: int, unit: int) -> Array:
        """Shared-memory addresses of the image's units of `unit` bytes, for an image that begins at `address`."""
        row, within = np.divmod(np.arange(0, self.nbytes, unit, dtype=np.int64), self.row)
        return swizzled(address + row * self.pitch + within, self.fields.swizzle)
