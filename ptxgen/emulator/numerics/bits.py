"""Shifts, bit fields, counts, permutes and logic (ISA "Logic and Shift Instructions" and the bit instructions of
"Integer Arithmetic Instructions").

Values are uint32 or uint64 arrays unless a signed form is named; shift amounts, positions and widths are uint32 arrays.
Counts and positions come back as uint32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator.numerics.common import INTEGERS, Array, Op, blocked, unsupported
from ptxgen.emulator.numerics.softfloat import leading_bit

_U32, _U64 = np.uint32, np.uint64


def _width(type_: str, allowed: tuple[str, ...], op: str) -> int:
    if type_ not in allowed:
        raise unsupported(op, type_)
    return int(type_[1:])


def _unsigned(bits: int) -> Any:
    return {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]


# Shifts


def shift_op(op: str, type_: str) -> Op:
    """``shl.b16/b32/b64`` or ``shr.{b,u,s}16/32/64``: amounts (uint32) above the width count as the width."""
    bits = _width(type_, ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"), op)
    if op not in ("shl", "shr") or (op == "shl" and type_[0] != "b"):
        raise unsupported(op, type_)
    dtype: Any = INTEGERS[type_] if type_[0] == "s" else _unsigned(bits)
    most = dtype(bits - 1)
    if type_[0] == "s":
        return lambda a, n: a >> np.minimum(n, _U32(bits - 1)).astype(dtype)
    shift = np.left_shift if op == "shl" else np.right_shift

    def apply(a: Array, n: Array) -> Array:
        over = n > most
        return np.where(over, dtype(0), shift(a, np.where(over, most, n).astype(dtype)))

    return blocked(apply)


def funnel_shift(direction: str, mode: str) -> Op:
    """``shf.l`` or ``shf.r`` with ``clamp`` or ``wrap``: callable (a, b, c) on the 64-bit value b:a."""
    if direction not in ("l", "r") or mode not in ("clamp", "wrap"):
        raise unsupported(f"shf.{direction}.{mode}", "b32")

    def apply(a: Array, b: Array, c: Array) -> Array:
        amount = (np.minimum(c, _U32(32)) if mode == "clamp" else c & _U32(31)).astype(_U64)
        value = (b.astype(_U64) << _U64(32)) | a
        moved = (value << amount) >> _U64(32) if direction == "l" else value >> amount
        return moved.astype(_U32)

    return blocked(apply)


# Counting and searching


def _count_ones(values: Array) -> Array:
    """Population count without `numpy.bitwise_count`, which NumPy 1 lacks."""
    v = values.astype(_U64)
    v = v - ((v >> _U64(1)) & _U64(0x5555555555555555))
    v = (v & _U64(0x3333333333333333)) + ((v >> _U64(2)) & _U64(0x3333333333333333))
    v = (v + (v >> _U64(4))) & _U64(0x0F0F0F0F0F0F0F0F)
    return (v * _U64(0x0101010101010101)) >> _U64(56)


_ones: Op = getattr(np, "bitwise_count", _count_ones)


def _leading(values: Array) -> Array:
    """Position of the highest set bit of uint32 or uint64 values, as int64; -1 for 0."""
    if values.dtype == _U64:
        return leading_bit(values)
    exponent = (values.astype(np.float64).view(np.int64) >> 52) - 1023
    return np.maximum(exponent, -1)


@blocked
def popc(a: Array) -> Array:
    """Number of ones."""
    return _ones(a).astype(_U32)


@blocked
def clz(a: Array) -> Array:
    """Number of leading zeros."""
    return (a.dtype.itemsize * 8 - 1 - _leading(a)).astype(_U32)


def bfind(type_: str, *, shiftamt: bool = False) -> Op:
    """``bfind{.shiftamt}``: position of the most significant non-sign bit, or the shift that moves it to the top.

    Takes uint or int arrays as ``type_`` says; 0xffffffff where there is no such bit.
    """
    bits = _width(type_, ("u32", "s32", "u64", "s64"), "bfind")
    unsigned = _unsigned(bits)

    def apply(a: Array) -> Array:
        if type_[0] == "s":
            a = np.where(a < 0, ~a, a)
        top = _leading(a.view(unsigned))
        position = np.where(top < 0, top, bits - 1 - top) if shiftamt else top
        return position.astype(np.int32).view(_U32)

    return blocked(apply)


@blocked
def brev(a: Array) -> Array:
    """The bits in reverse order."""
    bits = a.dtype.itemsize * 8
    make = a.dtype.type
    swapped = a.byteswap()
    for step, mask in ((4, 0x0F), (2, 0x33), (1, 0x55)):
        lower = make(int.from_bytes(bytes([mask]) * (bits // 8), "little"))
        swapped = ((swapped >> make(step)) & lower) | ((swapped & lower) << make(step))
    return swapped


@blocked
def fns(mask: Array, base: Array, offset: Array) -> Array:
    """``fns``: position of the offset-th set bit of mask from bit base on (downwards if negative), or 0xffffffff.

    mask, base: uint32; offset: int32.
    """
    base_, offset_ = base.astype(np.int64), offset.astype(np.int64)
    shape = np.broadcast_shapes(mask.shape, base.shape, offset.shape)
    found = np.full(shape, -1, np.int64)
    wanted = np.abs(offset_)
    for upwards in (True, False):
        wants = (offset_ > 0) if upwards else (offset_ < 0)
        if not wants.any():
            continue
        seen = np.zeros(shape, np.int64)
        for position in range(32) if upwards else range(31, -1, -1):
            reached = base_ <= position if upwards else base_ >= position
            is_set = ((mask >> _U32(position)) & _U32(1)).astype(bool) & reached
            seen += is_set
            found = np.where(wants & is_set & (seen == wanted), position, found)
    here = (offset_ == 0) & (base_ < 32) & (((mask >> np.minimum(base, _U32(31))) & _U32(1)) != 0)
    return np.where(here, base_, found).astype(np.int32).view(_U32)


# Fields


def _ones_below(count: Array, dtype: Any) -> Array:
    """Masks of ``count`` low ones, any count from 0 up."""
    bits = np.dtype(dtype).itemsize * 8
    full = count >= bits
    return np.where(full, dtype(-1 % (1 << bits)), (dtype(1) << np.where(full, 0, count).astype(dtype)) - dtype(1))


def bfe(type_: str) -> Op:
    """``bfe``: the field of width c & 255 at position b & 255 of a, zero- or sign-extended; a in the type's dtype."""
    bits = _width(type_, ("u32", "s32", "u64", "s64"), "bfe")
    dtype = _unsigned(bits)

    def apply(a: Array, b: Array, c: Array) -> Array:
        value = a.view(dtype)
        position, width = (b & _U32(255)).astype(np.int64), (c & _U32(255)).astype(np.int64)
        start = np.minimum(position, bits - 1).astype(dtype)
        field = np.where(position < bits, value >> start, dtype(0)) & _ones_below(width, dtype)
        if type_[0] == "u":
            return field
        sign_at = np.clip(position + width - 1, 0, bits - 1).astype(dtype)
        negative = ((value >> sign_at) & dtype(1) != 0) & (width > 0)
        # Bits beyond the operand's top copy the sign as well.
        filled = field | ~_ones_below(np.minimum(width, np.maximum(bits - position, 0)), dtype)
        return np.where(negative, filled, field).view(INTEGERS[type_])

    return blocked(apply)


@blocked
def bfi(a: Array, b: Array, c: Array, d: Array) -> Array:
    """``bfi``: b with the low d & 255 bits of a inserted at position c & 255 (uint32 or uint64 values)."""
    dtype = b.dtype.type
    bits = b.dtype.itemsize * 8
    position, width = (c & _U32(255)).astype(np.int64), (d & _U32(255)).astype(np.int64)
    inside = position < bits
    start = np.where(inside, position, 0).astype(dtype)
    mask = np.where(inside, _ones_below(width, dtype) << start, dtype(0))
    return (b & ~mask) | ((a << start) & mask)


def bmsk(mode: str) -> Op:
    """``bmsk``: b ones from bit a on; ``clamp`` cuts at the top, ``wrap`` takes both modulo 32."""
    if mode not in ("clamp", "wrap"):
        raise unsupported(f"bmsk.{mode}", "b32")

    def apply(a: Array, b: Array) -> Array:
        if mode == "wrap":
            a, b = a & _U32(31), b & _U32(31)
        start = np.minimum(a, _U32(31))
        ones = _ones_below(np.minimum(b, _U32(32)).astype(np.int64), _U32) << start
        return np.where(a > 31, _U32(0), ones)

    return blocked(apply)


def szext(mode: str, type_: str) -> Op:
    """``szext``: a extended from its low b bits, by sign (s32) or zeros (u32); a in the type's dtype, b uint32."""
    if mode not in ("clamp", "wrap") or type_ not in ("u32", "s32"):
        raise unsupported(f"szext.{mode}", type_)

    def apply(a: Array, b: Array) -> Array:
        value = a.view(_U32)
        whole = (b >= 32) if mode == "clamp" else np.zeros(b.shape, bool)
        width = np.where(whole, 32, b & _U32(31)).astype(np.int64)
        keep = _ones_below(width, _U32)
        low = value & keep
        if type_ == "u32":
            return low
        sign_at = np.maximum(width - 1, 0).astype(_U32)
        negative = ((value >> sign_at) & _U32(1) != 0) & (width > 0)
        return np.where(negative, low | ~keep, low).view(np.int32)

    return blocked(apply)


# Logic and permutation


def lop3(table: int) -> Op:
    """``lop3.b32`` with immLut ``table``: callable (a, b, c). Bit 4a + 2b + c of the table is the result."""
    if not 0 <= table <= 255:
        raise unsupported("lop3", "b32", table=table)

    def apply(a: Array, b: Array, c: Array) -> Array:
        # Whichever of the ones and the zeros are fewer, as a sum of products.
        wanted = 1 if table.bit_count() <= 4 else 0
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
        for row in range(8):
            if (table >> row) & 1 == wanted:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result if wanted else ~result

    return blocked(apply)


_SELECTORS: dict[str, Callable[[int], tuple[int, int, int, int]]] = {
    "f4e": lambda n: (n, n + 1, n + 2, n + 3),
    "b4e": lambda n: (n, (n + 7) % 8, (n + 6) % 8, (n + 5) % 8),
    "rc8": lambda n: (n, n, n, n),
    "ecl": lambda n: (n, max(n, 1), max(n, 2), 3),
    "ecr": lambda n: (0, min(n, 1), min(n, 2), n),
    "rc16": lambda n: (2 * (n & 1), 2 * (n & 1) + 1, 2 * (n & 1), 2 * (n & 1) + 1),
}


def prmt(mode: str | None = None) -> Op:
    """``prmt.b32{.mode}``: four bytes chosen from b:a by the selector c; callable (a, b, c) on uint32.

    Without a mode the four low nibbles of c choose, bit 3 of each replicating the byte's sign; the modes f4e b4e rc8
    ecl ecr rc16 use the two low bits of c.
    """
    if mode is None:
        return blocked(_prmt_general)
    if mode not in _SELECTORS:
        raise unsupported(f"prmt.{mode}", "b32")
    words = [sum(byte << (4 * i) for i, byte in enumerate(_SELECTORS[mode](n))) for n in range(4)]
    selectors = np.array(words, _U32)
    return blocked(lambda a, b, c: _prmt_general(a, b, selectors[c & _U32(3)]))


def _prmt_general(a: Array, b: Array, c: Array) -> Array:
    if c.size == 1:
        return _prmt_constant(a, b, int(np.ravel(c)[0]))
    a, b, c = np.broadcast_arrays(a, b, c)
    source = np.stack((a, b), axis=-1).view(np.uint8)
    choice = (c[..., None] >> np.arange(0, 16, 4, dtype=_U32)) & _U32(15)
    chosen = np.take_along_axis(source, (choice & _U32(7)).astype(np.intp), axis=-1)
    sign = np.where(chosen > 127, np.uint8(255), np.uint8(0))
    return np.where(choice > 7, sign, chosen).view(_U32)[..., 0]


def _prmt_constant(a: Array, b: Array, selector: int) -> Array:
    result: Any = _U32(0)
    for i in range(4):
        choice = (selector >> (4 * i)) & 15
        byte = ((b if choice & 4 else a) >> _U32(8 * (choice & 3))) & _U32(255)
        if choice & 8:
            byte = (byte >> _U32(7)) * _U32(255)
        result = result | (byte << _U32(8 * i))
    return result
