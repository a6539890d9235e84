"""What a reducing copy makes of the bytes that arrive and those that are there (ISA "cp.reduce.async.bulk")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.emulator.operands import Array

__all__ = ["Combine", "combiner"]

Combine = Callable[[Array, Array], Array]
"""(bytes there, bytes arriving) -> bytes, arrays of uint8 of one shape."""

_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "min": np.fmin,
    "max": np.fmax,
    "inc": lambda there, arriving: np.where(there >= arriving, 0, there + 1).astype(there.dtype),
    "dec": lambda there, arriving: np.where((there == 0) | (there > arriving), arriving, there - 1).astype(there.dtype),
}
_DTYPES: dict[str, str] = {"f16": "f2", "f32": "f4", "f64": "f8"}


def combiner(operation: str, type: str) -> Combine:
    """The reduction of elements of one PTX type.

    Sums of .f16 and .bf16 are rounded once: single precision holds enough bits that rounding a sum twice changes nothing.
    """
    function = _OPERATIONS[operation]
    if type == "bf16":
        return _brain(function)
    kind = _DTYPES.get(type) or ("i" if type[0] == "s" else "u") + str(int(type[1:]) // 8)

    def combine(there: Array, arriving: Array) -> Array:
        with np.errstate(all="ignore"):
            result = function(np.ascontiguousarray(there).view(kind), np.ascontiguousarray(arriving).view(kind))
        return np.ascontiguousarray(result.astype(kind)).view(np.uint8)

    return combine


def _brain(function: Combine) -> Combine:
    def wide(data: Array) -> Array:
        return (np.ascontiguousarray(data).view(np.uint16).astype(np.uint32) << 16).view(np.float32)

    def combine(there: Array, arriving: Array) -> Array:
        with np.errstate(all="ignore"):
            bits = function(wide(there), wide(arriving)).astype(np.float32).view(np.uint32)
        rounded = bits + 0x7FFF + (bits >> 16 & 1)
        quiet = np.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FFF0000, rounded)
        return np.ascontiguousarray((quiet >> 16).astype(np.uint16)).view(np.uint8)

    return combine
