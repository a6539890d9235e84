"""Integer arithmetic (ISA "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions").

Operands are arrays of the instruction's own dtype (uint32 for u32, int32 for s32 ...); results wrap around.
Division by zero, unspecified in the ISA, gives all ones for quotient and remainder, as seen on sm_90; the most negative
value divided by -1 wraps to itself, remainder 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.emulator.numerics.common import INTEGERS, Array, Op, blocked, pack, unsupported
from ptxgen.emulator.numerics.softfloat import multiply_wide

_UNSIGNED: dict[int, type[np.generic]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_SIGNED: dict[int, type[np.generic]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_WRAPPING: dict[str, Op] = {
    "add": np.add,
    "sub": np.subtract,
    "mul.lo": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
    "abs": np.abs,
}


def integer_op(op: str, type_: str, *, sat: bool = False, relu: bool = False) -> Op:
    """The callable for one integer arithmetic instruction.

    Parameters
    ----------
    op : str
        Two operands: add sub mul.lo mul.hi mul.wide mul24.lo mul24.hi div rem min max. Three: mad.lo mad.hi mad.wide
        mad24.lo mad24.hi sad. One: neg abs. The results of .wide have twice the width.
    type_ : str
        u8 ... s64 (the instruction's legal types are the contract's business).
    sat : bool
        s32 add, sub, mad.hi, mad24.hi: clamp to the range of s32 instead of wrapping.
    relu : bool
        Signed min, max: negative results to 0.

    Raises
    ------
    NumericsError
        No such form.
    """
    if type_ not in INTEGERS or (sat and type_ != "s32") or (relu and (op not in ("min", "max") or type_[0] == "u")):
        raise unsupported(op, type_, sat=sat, relu=relu)
    if sat:
        return _saturating(op)
    if op in _WRAPPING:
        plain = _WRAPPING[op]
        zero = INTEGERS[type_](0)
        return (lambda a, b: np.maximum(plain(a, b), zero)) if relu else plain
    makers: dict[str, Callable[[str], Op]] = {
        "mul.hi": _multiply_high,
        "mul.wide": _multiply_wide,
        "div": _divide,
        "rem": _remainder,
        "sad": _sum_of_differences,
        "mul24.lo": lambda t: _multiply24(t, 0),
        "mul24.hi": lambda t: _multiply24(t, 16),
    }
    if op in makers:
        return blocked(makers[op](type_))
    family, _, part = op.partition(".")
    if family in ("mad", "mad24") and part in ("lo", "hi", "wide"):
        product = integer_op(f"{'mul' if family == 'mad' else 'mul24'}.{part}", type_)
        return lambda a, b, c: product(a, b) + c
    raise unsupported(op, type_)


def _multiply_high(type_: str) -> Op:
    dtype, bits = INTEGERS[type_], int(type_[1:])
    if bits < 64:
        wide = (_UNSIGNED if type_[0] == "u" else _SIGNED)[2 * bits]
        shift = wide(bits)
        return lambda a, b: (np.multiply(a, b, dtype=wide) >> shift).astype(dtype)
    if type_[0] == "u":
        return lambda a, b: multiply_wide(a, b)[0]

    def signed(a: Array, b: Array) -> Array:
        u, v = np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64)
        zero = np.uint64(0)
        high = multiply_wide(u, v)[0] - np.where(a < 0, v, zero) - np.where(b < 0, u, zero)
        return high.view(np.int64)

    return signed


def _multiply_wide(type_: str) -> Op:
    bits = int(type_[1:])
    if bits == 64:
        raise unsupported("mul.wide", type_)
    wide = (_UNSIGNED if type_[0] == "u" else _SIGNED)[2 * bits]
    return lambda a, b: np.multiply(a, b, dtype=wide)


def _multiply24(type_: str, shift: int) -> Op:
    if type_ not in ("u32", "s32"):
        raise unsupported("mul24", type_)
    if type_ == "u32":
        mask = np.uint32(0xFFFFFF)
        return lambda a, b: (np.multiply(a & mask, b & mask, dtype=np.uint64) >> np.uint64(shift)).astype(np.uint32)

    def low24(x: Array) -> Array:
        return (x << np.int32(8)) >> np.int32(8)

    return lambda a, b: (np.multiply(low24(a), low24(b), dtype=np.int64) >> np.int64(shift)).astype(np.int32)


def _divide(type_: str) -> Op:
    ones = np.array(-1).astype(INTEGERS[type_])[()]
    if type_[0] == "u":
        return lambda a, b: np.where(b == 0, ones, a // np.maximum(b, INTEGERS[type_](1)))
    return lambda a, b: np.where(b == 0, ones, _truncated(a, b)[0])


def _remainder(type_: str) -> Op:
    ones = np.array(-1).astype(INTEGERS[type_])[()]
    if type_[0] == "u":
        return lambda a, b: np.where(b == 0, ones, a % np.maximum(b, INTEGERS[type_](1)))
    return lambda a, b: np.where(b == 0, ones, _truncated(a, b)[1])


def _truncated(a: Array, b: Array) -> tuple[Array, Array]:
    """Quotient towards zero and remainder with the dividend's sign, through magnitudes (NumPy's own floor)."""
    dtype = np.result_type(a, b)
    unsigned = _UNSIGNED[dtype.itemsize * 8]
    size_a, size_b = np.abs(a).view(unsigned), np.abs(b).view(unsigned)
    quotient, rest = np.divmod(size_a, np.maximum(size_b, unsigned(1)))
    signed_quotient, signed_rest = quotient.view(dtype), rest.view(dtype)
    return np.where((a < 0) != (b < 0), -signed_quotient, signed_quotient), np.where(a < 0, -signed_rest, signed_rest)


def _sum_of_differences(type_: str) -> Op:
    return lambda a, b, c: c + np.where(a < b, b - a, a - b)


def _saturating(op: str) -> Op:
    """add, sub, mad.hi, mad24.hi of s32 with the sum clamped, not wrapped."""
    if op not in ("add", "sub", "mad.hi", "mad24.hi"):
        raise unsupported(op, "s32", sat=True)
    if op == "add":
        return lambda a, b: clamp_s32(np.add(a, b, dtype=np.int64))
    if op == "sub":
        return lambda a, b: clamp_s32(np.subtract(a, b, dtype=np.int64))
    product = integer_op("mul.hi" if op == "mad.hi" else "mul24.hi", "s32")
    return lambda a, b, c: clamp_s32(np.add(product(a, b), c, dtype=np.int64))


def clamp_s32(values: Array) -> Array:
    """int64 values clamped to the range of s32, as int32."""
    return np.clip(values, -(1 << 31), (1 << 31) - 1).astype(np.int32)


# Packed halves


def packed_op(op: str, type_: str, *, relu: bool = False) -> Op:
    """``add``, ``min`` or ``max`` of u16x2 or s16x2 on uint32 arrays, lane by lane.

    Parameters
    ----------
    relu : bool
        s16x2 min, max: negative lanes to 0.
    """
    if op not in ("add", "min", "max") or type_ not in ("u16x2", "s16x2") or (relu and (op == "add" or type_[0] == "u")):
        raise unsupported(op, type_, relu=relu)
    lane = integer_op(op, type_[:3], relu=relu)
    dtype = INTEGERS[type_[:3]]

    def apply(a: Array, b: Array) -> Array:
        low = lane(a.astype(dtype), b.astype(dtype))
        high = lane((a >> np.uint32(16)).astype(dtype), (b >> np.uint32(16)).astype(dtype))
        return pack(low, high)

    return blocked(apply)


def dot_product(op: str, a_type: str, b_type: str) -> Op:
    """``dp4a``, ``dp2a.lo`` or ``dp2a.hi`` with a and b signed or not ("u32" or "s32").

    The callable takes (a, b, c) as uint32 patterns and returns uint32 patterns, wrapped.
    """
    if op not in ("dp4a", "dp2a.lo", "dp2a.hi") or not {a_type, b_type} <= {"u32", "s32"}:
        raise unsupported(op, f"{a_type}.{b_type}")
    count = 4 if op == "dp4a" else 2
    width_a, first_b = 32 // count, 16 if op == "dp2a.hi" else 0

    def part(values: Array, position: int, width: int, type_: str) -> Array:
        left = 32 - width - position
        if type_ == "u32":
            return (values << np.uint32(left)) >> np.uint32(32 - width)
        signed = (values << np.uint32(left)).view(np.int32) >> np.int32(32 - width)
        return signed.view(np.uint32)

    def apply(a: Array, b: Array, c: Array) -> Array:
        total = c
        for i in range(count):
            total = total + part(a, i * width_a, width_a, a_type) * part(b, first_b + 8 * i, 8, b_type)
        return total

    return blocked(apply)


# Carry chains: the condition code CC.CF as a bool array, the carry out of the adder. A subtraction adds the complement
# and 1, so that CC.CF is true where nothing was borrowed; only a program that mixes both kinds can tell (seen on sm_90).


def add_carry(a: Array, b: Array, carry: Array | None = None) -> tuple[Array, Array]:
    """``add.cc`` / ``addc{.cc}`` of unsigned arrays: the sum and CC.CF.

    Parameters
    ----------
    carry : bool array, optional
        CC.CF of the instruction before; none for ``add.cc``.
    """
    total = a + b
    out = total < a
    if carry is not None:
        total = total + carry.astype(total.dtype)
        out = out | (carry & (total == 0))
    return total, out


def sub_carry(a: Array, b: Array, carry: Array | None = None) -> tuple[Array, Array]:
    """``sub.cc`` / ``subc{.cc}`` of unsigned arrays: the difference and CC.CF (true: no borrow)."""
    if carry is None:
        return a - b, np.greater_equal(a, b)
    return add_carry(a, ~b, carry)


def mad_carry(part: str, type_: str) -> Callable[..., tuple[Array, Array]]:
    """``mad{c}.lo/hi{.cc}``: callable (a, b, c, carry=None) of u32, s32, u64 or s64 arrays to (value, carry out).

    The product is signed or not as ``type_`` says; the carry is that of the unsigned addition of c.
    """
    product = integer_op(f"mul.{part}", type_)
    unsigned = _UNSIGNED[int(type_[1:])]

    def apply(a: Array, b: Array, c: Array, carry: Array | None = None) -> tuple[Array, Array]:
        value, out = add_carry(product(a, b).view(unsigned), np.asarray(c).view(unsigned), carry)
        return value.view(INTEGERS[type_]), out

    return apply
