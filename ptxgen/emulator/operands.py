"""Operands as closures: what reads a source for a set of threads, and what writes a destination.

A set of threads is None (all of the wave) or an array of their indices. A source gives an array with one element a thread, or with
one element where all threads see the same; its dtype is that of the type the instruction takes (convention of
`ptxgen.emulator.numerics`). 128-bit values have two 64-bit words on a last axis, the low one first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ptxgen.emulator.frames import Frame, register_dtype
from ptxgen.instructions.types import Type
from ptxgen.ir import Call, Float, Instruction, Int
from ptxgen.layouts.errors import PtxgenError

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["Get", "Put", "constant", "dtype_of", "float_bits", "read_register", "write_register"]

Array = NDArray[Any]
Get = Callable[["Wave", Frame, Any], Array]
Put = Callable[["Wave", Frame, Any, Array], None]

_FLOATS: dict[str, type[np.generic]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_INTEGER_DTYPES: dict[tuple[bool, int], type[np.generic]] = {
    (False, 8): np.uint8, (False, 16): np.uint16, (False, 32): np.uint32, (False, 64): np.uint64,
    (True, 8): np.int8, (True, 16): np.int16, (True, 32): np.int32, (True, 64): np.int64,
}  # fmt: skip


def dtype_of(of: Type) -> type[np.generic]:
    """The dtype in which a value of a PTX type reaches its semantics."""
    if of.kind == "pred":
        return np.bool_
    if of.bits == 128:
        return np.uint64
    return _FLOATS.get(of.name) or _INTEGER_DTYPES[of.signed and of.lanes == 1, of.bits]


def float_bits(constant: Float, of: Type) -> int:
    """The bits of a floating constant as a value of type `of`: a 64-bit one is rounded to nearest for f32 (ISA 4.5.2)."""
    if constant.width == 32:
        if of.name == "f64":
            return int(np.array([constant.bits], np.uint32).view(np.float32).astype(np.float64).view(np.uint64)[0])
        return constant.bits
    if of.bits == 64:
        return constant.bits
    value = struct.unpack("<d", constant.bits.to_bytes(8, "little"))[0]
    with np.errstate(all="ignore"):
        return int(np.array([value], np.float64).astype(np.float32).view(np.uint32)[0])


def constant(operand: Int | Float, of: Type) -> Get:
    """A source that is the same number in all threads; an integer is cut to the type's width."""
    if of.kind == "pred":
        fixed: Array = np.array([bool(operand.value)]) if isinstance(operand, Int) else np.array([True])
    elif of.bits == 128:
        assert isinstance(operand, Int)
        fixed = np.array([[operand.value & (2**64 - 1), operand.value >> 64 & (2**64 - 1)]], np.uint64)
    else:
        bits = operand.value & ((1 << of.bits) - 1) if isinstance(operand, Int) else float_bits(operand, of)
        unsigned, _ = register_dtype(of)
        fixed = np.array([bits], unsigned).view(dtype_of(of))
    fixed.flags.writeable = False
    return lambda wave, frame, index: fixed


def read_register(slot: int, register: Type, of: Type, statement: Instruction | Call, name: str) -> Get:
    """A register as a value of type `of`; of a wider register the low bits count (ISA 9.4.1)."""
    dtype = dtype_of(of)
    narrow = register_dtype(of)[0] if register.bits > of.bits else None
    if register.bits == 128 and of.bits != 128:
        raise PtxgenError(f"{name} has 128 bits where the instruction takes .{of.name}")

    def get(wave: Wave, frame: Frame, index: Any) -> Array:
        flag = frame.written[slot]
        if flag is not True and wave.checks:
            wave.check_register(frame, slot, index, statement, name)
        value = frame.values[slot]
        if index is not None:
            value = value[index]
        if narrow is not None:
            value = value.astype(narrow)
        return value if value.dtype == dtype else value.view(dtype)

    return get


def write_register(slot: int, register: Type, of: Type) -> Put:
    """Write values of type `of`; a wider register is filled by sign or zero extension (ISA 9.4.1)."""
    unsigned, _ = register_dtype(register)
    signed_source = of.signed and register.bits > of.bits
    wide_signed = _INTEGER_DTYPES[True, register.bits] if signed_source else None

    def put(wave: Wave, frame: Frame, index: Any, value: Array) -> None:
        if wide_signed is not None:
            value = value.astype(wide_signed)
        if value.dtype != unsigned:
            if value.dtype.itemsize == frame.values[slot].dtype.itemsize:
                value = value.view(unsigned)
            else:
                value = _unsigned(value)
        if index is None:
            frame.values[slot][...] = value
            frame.written[slot] = True
        else:
            frame.values[slot][index] = value
            if frame.written[slot] is not True:
                frame.mark(slot, index)

    return put


def _unsigned(value: Array) -> Array:
    """The bits of a narrower value, ready for zero extension by assignment."""
    return value if value.dtype.kind in "ub" else value.view(_INTEGER_DTYPES[False, value.dtype.itemsize * 8])


def sink(wave: Wave, frame: Frame, index: Any, value: Array) -> None:
    """``_`` as a destination."""
