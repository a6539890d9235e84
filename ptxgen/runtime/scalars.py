"""Numbers as the bits that a PTX parameter holds."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from typing import Any

from ptxgen.runtime.errors import ArgumentError
from ptxgen.runtime.signature import TypeLike

__all__ = ["Converter", "converter", "format_code", "integer_range"]

Converter = Callable[[Any], Any]
"""From an argument to what `struct` packs under `format_code`; raises `ArgumentError` with the reason alone."""

_INTEGER_CODES = {8: "Bb", 16: "Hh", 32: "Ii", 64: "Qq"}
_FLOAT_CODES = {"f16": "e", "f32": "f", "tf32": "f", "f64": "d"}
_NARROW = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "ue8m0": "float8_e8m0fnu"}


def format_code(dtype: TypeLike) -> str:
    """`struct`'s code for a parameter of this type."""
    return _FLOAT_CODES.get(dtype.name) or _INTEGER_CODES[dtype.bits][_is_signed(dtype)]


def integer_range(dtype: TypeLike) -> tuple[int, int]:
    """The integers that an integer or untyped parameter accepts. Untyped bits take either reading: .b8 takes -128 to 255."""
    if dtype.name in ("u8", "u16", "u32", "u64"):
        return 0, (1 << dtype.bits) - 1
    top = 1 << (dtype.bits - 1)
    return (-top, top - 1) if _is_signed(dtype) else (-top, 2 * top - 1)


def _is_signed(dtype: TypeLike) -> bool:
    return dtype.name in ("s8", "s16", "s32", "s64")


def converter(dtype: TypeLike) -> Converter:
    """The function that turns an argument into what `format_code` packs."""
    if dtype.name in _FLOAT_CODES:
        return _float_converter(dtype.name)
    if dtype.name in _NARROW:
        return _narrow_converter(dtype.name)
    return _integer_converter(dtype)


def _number(value: Any) -> Any:
    """`value`, unless it is an array that would have to be read (and on a GPU waited for), text or nothing."""
    if hasattr(value, "__cuda_array_interface__") or hasattr(value, "data_ptr") or getattr(value, "ndim", 0) > 0:
        raise ArgumentError(f"an array ({type(value).__name__}); this parameter is a number: pass value.item()")
    return value


def _float_converter(name: str) -> Converter:
    code = "<" + _FLOAT_CODES[name]

    def convert(value: Any) -> float:
        number = _number(value)
        if not hasattr(number, "__float__") or isinstance(number, (str, bytes)):
            raise ArgumentError(f"{value!r}, which is no real number")
        try:
            result = float(number)
            struct.pack(code, result)
        except OverflowError:
            raise ArgumentError(f"{value!r}, which is outside the range of .{name}") from None
        except TypeError:  # complex numbers have __float__ in some libraries
            raise ArgumentError(f"{value!r}, which is no real number") from None
        return result

    return convert


def _narrow_converter(name: str) -> Converter:
    def convert(value: Any) -> int:
        import ml_dtypes
        import numpy as np

        number = _number(value)
        if not hasattr(number, "__float__") or isinstance(number, (str, bytes)):
            raise ArgumentError(f"{value!r}, which is no real number")
        exact = float(number)
        with np.errstate(all="ignore"):
            narrow = np.asarray(exact).astype(getattr(ml_dtypes, _NARROW[name]))
        if np.isfinite(exact) and not np.isfinite(narrow.astype(np.float64)):
            raise ArgumentError(f"{value!r}, which is outside the range of .{name}")
        return int.from_bytes(narrow.tobytes(), "little")

    return convert


def _integer_converter(dtype: TypeLike) -> Converter:
    low, high = integer_range(dtype)
    mask = None if _is_signed(dtype) else (1 << dtype.bits) - 1

    def convert(value: Any) -> int:
        try:
            number = operator.index(_number(value))
        except TypeError:
            if type(value).__name__ in ("bool", "bool_"):
                number = int(value)
            elif hasattr(value, "__float__") and not isinstance(value, (str, bytes)):
                raise ArgumentError(f"{value!r}, which is no integer; pass int(...) if truncation is meant") from None
            else:
                raise ArgumentError(f"{value!r}, which is no integer") from None
        if not low <= number <= high:
            raise ArgumentError(f"{number}, which is outside .{dtype.name}'s range {low} to {high}")
        return number if mask is None else number & mask

    return convert
