"""Arguments in host memory, as the emulator takes them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.runtime import BytesParam, PointerParam, Signature, TensorMapParam, TensorParam
from ptxgen.runtime.scalars import format_code

if TYPE_CHECKING:
    from ptxgen.runtime import ArrayInfo, Bound, TensorMap

__all__ = ["emulator_arguments"]


def emulator_arguments(signature: Signature, bound: Bound) -> list[Any]:
    """What the emulator takes for each parameter: an array over the caller's memory, or the bytes of anything else.

    A tensor map holds the address that the emulator gives its tensor, so it goes as a function of the arrays' addresses.
    """
    arrays = list(bound.arrays)
    found: list[Any] = []
    places: dict[str, int] = {}
    dims = dict(zip(signature.dims, bound.dims))
    for param, value in zip(signature.params, bound.values):
        if isinstance(param, TensorParam) or (isinstance(param, PointerParam) and arrays and arrays[0].pointer == value):
            places[param.name] = len(places)
            found.append(_host_array(arrays.pop(0)))
        elif isinstance(param, PointerParam):
            found.append(struct.pack("<Q", value))
        elif isinstance(param, BytesParam):
            found.append(value)
        elif isinstance(param, TensorMapParam):
            found.append(_tensor_map(param.map.at(dims), places[param.tensor]))
        else:
            found.append(struct.pack("<" + format_code(param.dtype), value))
    return found


def _tensor_map(described: TensorMap, place: int) -> Callable[[Sequence[int]], bytes]:
    """The bytes of a tensor map, given the addresses of the arrays among the arguments."""
    from ptxgen.emulator.tensormap import encode_tensor_map

    fields = described.reversed()

    def encode(addresses: Sequence[int]) -> bytes:
        return encode_tensor_map(
            described.kind,
            addresses[place],
            fields.shape,
            fields.strides,
            fields.box,
            fields.element_strides,
            swizzle=described.swizzle,
            interleave=described.interleave,
            fill=described.fill,
        )

    return encode


def _host_array(info: ArrayInfo) -> np.ndarray:
    """A NumPy array of plain bits over an array of any library; views of one allocation keep their places in it."""
    start, size = info.root
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))
    strides = tuple(stride * info.itemsize for stride in info.strides)
    bits = f"u{info.itemsize}" if info.itemsize <= 8 else f"V{info.itemsize}"
    array: np.ndarray = np.ndarray(info.shape, bits, memory, info.pointer - start, strides)
    array.flags.writeable = not info.readonly
    return array
