"""The bytes that the driver reads at a launch: one buffer a launch, laid out once a signature."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from ptxgen.runtime.scalars import format_code
from ptxgen.runtime.signature import BytesParam, DimParam, ScalarParam, Signature, TensorMapParam

__all__ = ["Packed", "Packer"]


class Packed:
    """Parameter values in memory, and the array of their addresses that ``cuLaunchKernel`` takes.

    Attributes
    ----------
    buffer : ctypes array
        The values, at PTX's offsets.
    address : int
        Address of the array of pointers; 0 for an entry without parameters.
    """

    __slots__ = ("_pointers", "address", "buffer")

    def __init__(self, size: int, offsets: tuple[int, ...]) -> None:
        self.buffer = (ctypes.c_ubyte * max(size, 1))()
        base = ctypes.addressof(self.buffer)
        self._pointers = (ctypes.c_void_p * max(len(offsets), 1))(*(base + offset for offset in offsets))
        self.address = ctypes.addressof(self._pointers) if offsets else 0


class Packer:
    """Packs values of one signature. Buffers are lent from a pool, since several threads may launch at once.

    ``list.append`` and ``list.pop`` are atomic, so the pool needs no lock. The driver copies the values before a launch
    returns, so a buffer can be given back at once.
    """

    __slots__ = ("_offsets", "_pack", "_pool", "_size", "layout")

    def __init__(self, signature: Signature) -> None:
        self.layout = struct.Struct(_format(signature))
        self._pack = self.layout.pack_into
        self._size = signature.size
        self._offsets = signature.offsets
        self._pool: list[Packed] = []

    def pack(self, values: tuple[Any, ...]) -> Packed:
        """Write converted `values` (as a binder returns them) into a buffer from the pool."""
        try:
            packed = self._pool.pop()
        except IndexError:
            packed = Packed(self._size, self._offsets)
        self._pack(packed.buffer, 0, *values)
        return packed

    def release(self, packed: Packed) -> None:
        """Give a buffer back."""
        self._pool.append(packed)


def _format(signature: Signature) -> str:
    """A `struct` format with PTX's padding written out."""
    codes, end = ["<"], 0
    for param, offset in zip(signature.params, signature.offsets):
        if offset > end:
            codes.append(f"{offset - end}x")
        if isinstance(param, (BytesParam, TensorMapParam)):
            codes.append(f"{param.size}s")
        elif isinstance(param, (ScalarParam, DimParam)):
            codes.append(format_code(param.dtype))
        else:
            codes.append("Q")
        end = offset + param.size
    return "".join(codes)
