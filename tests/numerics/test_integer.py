from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.emulator.numerics import (
    DTYPES,
    NumericsError,
    add_carry,
    dot_product,
    integer_op,
    mad_carry,
    packed_op,
    sub_carry,
)

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")


def limits(type_: str) -> tuple[int, int]:
    bits = int(type_[1:])
    return (0, (1 << bits) - 1) if type_[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrap(value: int, type_: str) -> int:
    low, high = limits(type_)
    return (value - low) % (high - low + 1) + low


def values(type_: str, seed: int, count: int = 400) -> np.ndarray:
    """Extremes, small numbers and numbers of every size."""
    low, high = limits(type_)
    rng = np.random.default_rng(seed)
    special = [0, 1, 2, low, high, low + 1, high - 1, wrap(-1, type_), high // 2 + 1]
    drawn = [special[int(rng.integers(len(special)))] if rng.random() < 0.4 else None for _ in range(count)]
    bits = int(type_[1:])
    sized = [wrap(int.from_bytes(rng.bytes(bits // 8), "little") >> int(rng.integers(0, bits)), type_) for _ in range(count)]
    return np.array([s if d is None else d for d, s in zip(drawn, sized)], DTYPES[type_])


def truncated(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def expected(op: str, type_: str, a: int, b: int, c: int) -> int:
    """One result, with Python's integers."""
    bits = int(type_[1:])
    if op in ("div", "rem"):
        return wrap(truncated(a, b)[op == "rem"] if b else -1, type_)
    if op == "sad":
        return wrap(c + abs(a - b), type_)
    if op.startswith("mad"):
        wide = type_[0] + str(2 * bits)
        product = expected("mul" + op[3:], type_, a, b, 0)
        return wrap(product + c, wide if op == "mad.wide" else type_)
    table = {
        "add": a + b,
        "sub": a - b,
        "mul.lo": a * b,
        "mul.hi": (a * b) >> bits,
        "min": min(a, b),
        "max": max(a, b),
    }
    if op == "mul.wide":
        return wrap(a * b, type_[0] + str(2 * bits))
    return wrap(table[op], type_)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    "op", ["add", "sub", "mul.lo", "mul.hi", "mul.wide", "div", "rem", "min", "max", "mad.lo", "mad.hi", "mad.wide", "sad"]
)
def test_against_python_integers(op, type_):
    if op.endswith("wide") and type_[1:] == "64":
        with pytest.raises(NumericsError):
            integer_op(op, type_)
        return
    a, b = values(type_, 1), values(type_, 2)
    c = values(type_[0] + str(2 * int(type_[1:])) if op == "mad.wide" else type_, 3)
    operands = (a, b, c) if op.startswith("mad") or op == "sad" else (a, b)
    result = integer_op(op, type_)(*operands)
    assert result.tolist() == [expected(op, type_, *map(int, row)) for row in zip(a, b, c)]
    assert result.dtype == (DTYPES[type_[0] + str(2 * int(type_[1:]))] if op.endswith("wide") else DTYPES[type_])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_64_bit_high_products(a, b):
    x, y = np.array([a], np.uint64), np.array([b], np.uint64)
    assert integer_op("mul.hi", "u64")(x, y)[0] == (a * b) >> 64
    signed = wrap(a, "s64") * wrap(b, "s64")
    assert int(integer_op("mul.hi", "s64")(x.view(np.int64), y.view(np.int64))[0]) == signed >> 64


def sext24(value: int) -> int:
    return (value & 0xFFFFFF) - ((value & 0x800000) << 1)


@pytest.mark.parametrize("type_", ["u32", "s32"])
def test_mul24(type_):
    a, b, c = (values(type_, seed) for seed in (4, 5, 6))
    low24 = sext24 if type_ == "s32" else lambda v: v & 0xFFFFFF
    for part, shift in (("lo", 0), ("hi", 16)):
        product = [wrap((low24(int(x)) * low24(int(y))) >> shift, type_) for x, y in zip(a, b)]
        assert integer_op(f"mul24.{part}", type_)(a, b).tolist() == product
        sums = [wrap(p + int(z), type_) for p, z in zip(product, c)]
        assert integer_op(f"mad24.{part}", type_)(a, b, c).tolist() == sums


def test_saturating_s32():
    a, b, c = (values("s32", seed) for seed in (7, 8, 9))
    low, high = limits("s32")

    def clamp(value: int) -> int:
        return min(max(value, low), high)

    rows = [tuple(map(int, row)) for row in zip(a, b, c)]
    assert integer_op("add", "s32", sat=True)(a, b).tolist() == [clamp(x + y) for x, y, _ in rows]
    assert integer_op("sub", "s32", sat=True)(a, b).tolist() == [clamp(x - y) for x, y, _ in rows]
    assert integer_op("mad.hi", "s32", sat=True)(a, b, c).tolist() == [clamp((x * y >> 32) + z) for x, y, z in rows]
    with pytest.raises(NumericsError):
        integer_op("add", "u32", sat=True)


def test_abs_neg_relu():
    a = values("s32", 1)
    assert integer_op("abs", "s32")(a).tolist() == [wrap(abs(int(x)), "s32") for x in a]
    assert integer_op("neg", "s32")(a).tolist() == [wrap(-int(x), "s32") for x in a]
    b = values("s32", 2)
    assert integer_op("max", "s32", relu=True)(a, b).tolist() == [max(int(x), int(y), 0) for x, y in zip(a, b)]
    assert integer_op("min", "s32", relu=True)(a, b).tolist() == [max(min(int(x), int(y)), 0) for x, y in zip(a, b)]


@pytest.mark.parametrize("type_", ["u16x2", "s16x2"])
def test_packed_halves(type_):
    a, b = values("u32", 3), values("u32", 4)
    lane = type_[:3]

    def lanes(value: int) -> list[int]:
        return [wrap(value & 0xFFFF, lane), wrap(value >> 16, lane)]

    for op, function in (("add", lambda x, y: x + y), ("min", min), ("max", max)):
        both = [[function(x, y) & 0xFFFF for x, y in zip(lanes(int(p)), lanes(int(q)))] for p, q in zip(a, b)]
        assert packed_op(op, type_)(a, b).tolist() == [low | high << 16 for low, high in both]


@pytest.mark.parametrize("a_type", ["u32", "s32"])
@pytest.mark.parametrize("b_type", ["u32", "s32"])
def test_dot_products(a_type, b_type):
    a, b, c = (values("u32", seed) for seed in (5, 6, 7))

    def part(value: int, position: int, width: int, type_: str) -> int:
        field = (value >> position) & ((1 << width) - 1)
        return field - (1 << width) if type_ == "s32" and field >> (width - 1) else field

    for op, count, first in (("dp4a", 4, 0), ("dp2a.lo", 2, 0), ("dp2a.hi", 2, 16)):
        width = 32 // count
        sums = [
            sum(part(x, i * width, width, a_type) * part(y, first + 8 * i, 8, b_type) for i in range(count)) + z
            for x, y, z in zip(a.tolist(), b.tolist(), c.tolist())
        ]
        assert dot_product(op, a_type, b_type)(a, b, c).tolist() == [s % 2**32 for s in sums]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**96 - 1), st.integers(0, 2**96 - 1))
def test_carry_chains_make_long_arithmetic(a, b):
    def words(value: int) -> list[np.ndarray]:
        return [np.array([(value >> (32 * i)) & 0xFFFFFFFF], np.uint32) for i in range(3)]

    def number(parts: list[np.ndarray]) -> int:
        return sum(int(p[0]) << (32 * i) for i, p in enumerate(parts))

    for step, exact in ((add_carry, a + b), (sub_carry, a - b)):
        out, carry = [], None
        for x, y in zip(words(a), words(b)):
            value, carry = step(x, y, carry)
            out.append(value)
        assert number(out) == exact % 2**96
    assert bool(carry[0]) == (a >= b)  # after a subtraction: no borrow
    low, carry = mad_carry("lo", "u32")(words(a)[0], words(b)[0], words(b)[1])
    high, _ = mad_carry("hi", "u32")(words(a)[0], words(b)[0], np.zeros(1, np.uint32), carry)
    assert int(low[0]) + (int(high[0]) << 32) == int(words(a)[0][0]) * int(words(b)[0][0]) + int(words(b)[1][0])
