"""What every numerics module shares: the value convention, the guard against warnings, NaN rules.

Values are NumPy arrays, one element a thread, in these dtypes (`DTYPES`)::

    u8 u16 u32 u64 s8 s16 s32 s64    the integer dtype of that width and signedness
    f32 f64 f16                      float32, float64, float16
    bf16                             uint16: the bit pattern
    tf32                             uint32: the bit pattern in a .b32 register
    packed pairs (f16x2, e4m3x2 ...) the unsigned dtype of the packed width

Operands broadcast, and at least one of them has a dimension: a zero-dimensional result would be a NumPy scalar,
whose integer overflow warns.

NaN results follow what sm_90 hardware was seen to do, within what the ISA leaves open: f32, f16 and bf16
arithmetic give one canonical NaN (0x7fffffff, 0x7fff, 0x7fff); f64 arithmetic passes an input NaN on, made quiet,
and generates 0xfff8000000000000.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxgen.layouts.errors import PtxgenError

Array = NDArray[Any]
Op = Callable[..., Array]

INTEGERS: dict[str, type[np.generic]] = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "s8": np.int8,
    "s16": np.int16,
    "s32": np.int32,
    "s64": np.int64,
}
DTYPES: dict[str, type[np.generic]] = {
    **INTEGERS,
    "f16": np.float16,
    "bf16": np.uint16,
    "tf32": np.uint32,
    "f32": np.float32,
    "f64": np.float64,
}
ROUNDINGS = ("rn", "rz", "rm", "rp")

NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
NAN64_GENERATED = np.uint64(0xFFF8 << 48)
SIGN64 = np.uint64(1 << 63)
QUIET64 = np.uint64(1 << 51)
TINY32 = np.float32(2.0**-126)
ONE32, ZERO32 = np.float32(1), np.float32(0)


class NumericsError(PtxgenError, ValueError):
    """An operation, type or modifier combination for which there is no arithmetic here."""


def unsupported(op: str, type_: str, **modifiers: object) -> NumericsError:
    """Build the error for a form that the factories do not know."""
    named = " ".join(f"{name}={value!r}" for name, value in modifiers.items() if value)
    return NumericsError(f"no arithmetic for {op}.{type_}{' with ' + named if named else ''}")


_BLOCK = 1 << 14


def blocked(function: Op) -> Op:
    """Make ``function`` work through long vectors in blocks, so that its temporaries stay in the cache.

    Above some 10^5 elements every temporary would be fresh memory from the operating system, which costs several
    times the arithmetic. Operands may be vectors of one length and scalars; other shapes go through whole.
    """

    @wraps(function)
    def apply(*operands: Array) -> Array:
        for operand in operands:
            if operand.size > 2 * _BLOCK:
                return _by_blocks(function, operands, operand.shape)
        return function(*operands)

    return apply


def _by_blocks(function: Op, operands: tuple[Array, ...], shape: tuple[int, ...]) -> Array:
    if len(shape) != 1 or any(x.shape != shape and x.size != 1 for x in operands):
        return function(*operands)
    result: Array | None = None
    for start in range(0, shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        part = function(*(x[block] if x.shape == shape else x for x in operands))
        if result is None:
            result = np.empty(shape, part.dtype)
        result[block] = part
    return function(*operands) if result is None else result


def quiet(function: Op) -> Op:
    """Wrap ``function`` so that it never warns about overflow, invalid operations or division by zero.

    Entering the guard costs about 2 microseconds a call. A caller that already runs inside
    ``np.errstate(all="ignore")`` may call the result's ``__wrapped__``, which is ``function`` itself.
    """

    @wraps(function)
    def guarded(*operands: Array) -> Array:
        with np.errstate(all="ignore"):
            return function(*operands)

    return guarded


def has_nan(values: Array) -> bool:
    """Whether any element of a floating array is NaN, in one pass (``minimum`` propagates NaN)."""
    return values.size > 0 and isnan(np.minimum.reduce(values, None))


def canonical32(values: Array) -> Array:
    """Replace every NaN of a fresh f32 array, in place, by 0x7fffffff."""
    if has_nan(values):
        values[values != values] = NAN32
    return values


def propagate64(result: Array, *operands: Array) -> Array:
    """Give every NaN of a fresh f64 ``result`` the bits that the hardware gives.

    The first NaN among ``operands`` (in the order handed in) passes on with its quiet bit set; a NaN that no
    operand explains is 0xfff8000000000000.
    """
    if not has_nan(result):
        return result
    where = np.isnan(result)
    bits = np.full(result.shape, NAN64_GENERATED)
    for operand in reversed(operands):
        wide = np.broadcast_to(np.asarray(operand, np.float64), result.shape)
        bits = np.where(wide != wide, np.ascontiguousarray(wide).view(np.uint64) | QUIET64, bits)
    result[where] = bits[where].view(np.float64)
    return result


def flush32(values: Array) -> Array:
    """Replace f32 subnormals by a zero of the same sign (``.ftz``)."""
    return np.multiply(values, np.abs(values) >= TINY32, dtype=np.float32)


def saturate32(values: Array) -> Array:
    """Clamp f32 to [0, 1]; NaN and -0 become +0 (``.sat``)."""
    return np.where(values > 0, np.minimum(values, ONE32), ZERO32)


def saturate64(values: Array) -> Array:
    """Clamp f64 to [0, 1]; NaN and -0 become +0 (``.sat``)."""
    return np.where(values > 0, np.minimum(values, 1.0), 0.0)


def lanes(packed: Array) -> tuple[Array, Array]:
    """Split b32 values into their (low, high) uint16 halves."""
    return packed.astype(np.uint16), (packed >> np.uint32(16)).astype(np.uint16)


def pack(low: Array, high: Array) -> Array:
    """Join two 16-bit arrays (any dtype of that width) into b32 values."""
    return low.view(np.uint16).astype(np.uint32) | (high.view(np.uint16).astype(np.uint32) << np.uint32(16))
