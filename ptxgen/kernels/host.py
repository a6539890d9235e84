"""Arguments in host memory, as the emulator takes them."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.runtime import BytesParam, PointerParam, Signature, TensorParam
from ptxgen.runtime.scalars import format_code

if TYPE_CHECKING:
    from ptxgen.runtime import ArrayInfo, Bound

__all__ = ["emulator_arguments"]


def emulator_arguments(signature: Signature, bound: Bound) -> list[Any]:
    """What the emulator takes for each parameter: an array over the caller's memory, or the bytes of anything else."""
    arrays = list(bound.arrays)
    found: list[Any] = []
    for param, value in zip(signature.params, bound.values):
        if isinstance(param, TensorParam) or (isinstance(param, PointerParam) and arrays and arrays[0].pointer == value):
            found.append(_host_array(arrays.pop(0)))
        elif isinstance(param, PointerParam):
            found.append(struct.pack("<Q", value))
        elif isinstance(param, BytesParam):
            found.append(value)
        else:
            found.append(struct.pack("<" + format_code(param.dtype), value))
    return found


def _host_array(info: ArrayInfo) -> np.ndarray:
    """A NumPy array of plain bits over an array of any library; views of one allocation keep their places in it."""
    start, size = info.root
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))
    strides = tuple(stride * info.itemsize for stride in info.strides)
    array: np.ndarray = np.ndarray(info.shape, f"u{info.itemsize}", memory, info.pointer - start, strides)
    array.flags.writeable = not info.readonly
    return array
