from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ptxgen.emulator.numerics import NumericsError, compare, copysign, float_minmax, sign_op
from ptxgen.emulator.numerics import testp as class_test

SPECIAL32 = [
    0x00000000,
    0x80000000,
    0x00000001,
    0x80000001,
    0x00800000,
    0x3F800000,
    0xBF800000,
    0x7F7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0xFF812345,
]
PAIRS = list(itertools.product(SPECIAL32, repeat=2))
A, B = (np.array(x, np.uint32).view(np.float32) for x in zip(*PAIRS))


def as_float(pattern: int) -> float:
    return float(np.uint32(pattern).view(np.float32))


def minimum(a: int, b: int, largest: bool, nan: bool, xorsign: bool, ftz: bool) -> int:
    """One f32 minimum or maximum, on patterns."""
    if ftz:
        a, b = (x & 0x80000000 if x & 0x7F800000 == 0 else x for x in (a, b))
    sign = (a ^ b) & 0x80000000
    if xorsign:
        a, b = a & 0x7FFFFFFF, b & 0x7FFFFFFF
    is_nan = [math.isnan(as_float(x)) for x in (a, b)]
    if all(is_nan) or (nan and any(is_nan)):
        return 0x7FFFFFFF
    if any(is_nan):
        chosen = b if is_nan[0] else a
    else:
        ordered = sorted((a, b), key=lambda x: (as_float(x), math.copysign(1, as_float(x))))
        chosen = ordered[-1] if largest else ordered[0]
    return chosen & 0x7FFFFFFF | sign if xorsign else chosen


@pytest.mark.parametrize("ftz", [False, True])
@pytest.mark.parametrize("xorsign", [False, True])
@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("op", ["min", "max"])
def test_f32_minmax(same_bits, op, nan, xorsign, ftz):
    function = float_minmax(op, "f32", nan=nan, xorsign_abs=xorsign, ftz=ftz)
    expected = [minimum(a, b, op == "max", nan, xorsign, ftz) for a, b in PAIRS]
    same_bits(function(A, B), expected, A, B)


@pytest.mark.parametrize("op", ["min", "max"])
def test_other_types_agree_with_f32(op):
    # bf16 patterns are the upper halves of f32 ones; f16 and f64 hold the same small set of values.
    values = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf]
    a, b = (np.array(x) for x in zip(*itertools.product(values, repeat=2)))
    wide = float_minmax(op, "f32")(a.astype(np.float32), b.astype(np.float32))
    np.testing.assert_array_equal(float_minmax(op, "f16")(a.astype(np.float16), b.astype(np.float16)), wide)
    double = float_minmax(op, "f64")(a, b)
    np.testing.assert_array_equal(double, wide)
    np.testing.assert_array_equal(np.signbit(double), np.signbit(wide))
    upper = [(x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    np.testing.assert_array_equal(float_minmax(op, "bf16")(*upper), (wide.view(np.uint32) >> 16).astype(np.uint16))


def test_three_operands():
    a, b, c = (np.array(x, np.float32) for x in ([1, -0.0, math.nan], [0, 0.0, 2], [-5, 1, 3]))
    assert float_minmax("min", "f32")(a, b, c).view(np.uint32).tolist() == [0xC0A00000, 0x80000000, 0x40000000]
    assert float_minmax("max", "f32", nan=True)(a, b, c).view(np.uint32).tolist() == [0x3F800000, 0x3F800000, 0x7FFFFFFF]


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
def test_comparisons(type_):
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
    pairs = list(itertools.product(values, repeat=2))
    a, b = (np.array(x) for x in zip(*pairs))
    if type_ == "bf16":
        a, b = ((x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for x in (a, b))
    else:
        a, b = (x.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_]) for x in (a, b))
    ordered = {
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x != y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
    }
    for name, test in ordered.items():
        unordered = [math.isnan(x) or math.isnan(y) for x, y in pairs]
        plain = [test(x, y) for x, y in pairs]
        assert compare(name, type_)(a, b).tolist() == [p and not u for p, u in zip(plain, unordered)]
        assert compare(name + "u", type_)(a, b).tolist() == [p or u for p, u in zip(plain, unordered)]
    assert compare("nan", type_)(a, b).tolist() == unordered
    assert compare("num", type_)(a, b).tolist() == [not u for u in unordered]


def test_ftz_comparison():
    tiny, zero = np.array([1], np.uint32).view(np.float32), np.zeros(1, np.float32)
    assert compare("gt", "f32")(tiny, zero)[0]
    assert compare("eq", "f32", ftz=True)(tiny, zero)[0]
    half_tiny, half_zero = np.array([1], np.uint16).view(np.float16), np.zeros(1, np.float16)
    assert compare("gt", "f16")(half_tiny, half_zero)[0]
    assert compare("eq", "f16", ftz=True)(half_tiny, half_zero)[0]


def test_integer_comparisons():
    a, b = np.array([1, -1, 5], np.int32), np.array([1, 1, -5], np.int32)
    assert compare("lt", "s32")(a, b).tolist() == [False, True, False]
    unsigned = a.view(np.uint32), b.view(np.uint32)
    assert compare("lo", "u32")(*unsigned).tolist() == [False, False, True]
    assert compare("hs", "u32")(*unsigned).tolist() == [True, True, False]
    assert compare("ne", "b32")(*unsigned).tolist() == [False, True, True]
    for op, type_ in (("lo", "s32"), ("lt", "b32"), ("equ", "u32")):
        with pytest.raises(NumericsError):
            compare(op, type_)


@pytest.mark.parametrize(("type_", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_classes(type_, dtype):
    info = np.finfo(dtype)
    values = np.array([0, -0.0, info.smallest_subnormal, -info.tiny, 1, info.max, np.inf, -np.inf, np.nan], dtype)
    expected = {
        "finite": "111111000",
        "infinite": "000000110",
        "number": "111111110",
        "notanumber": "000000001",
        "normal": "110111000",
        "subnormal": "001000000",
    }
    for kind, flags in expected.items():
        assert "".join(str(int(x)) for x in class_test(kind, type_)(values)) == flags, kind


def test_signs():
    a, b = np.array([-1.0, 2.0, -0.0], np.float32), np.array([3.0, -math.inf, 5.0], np.float32)
    assert copysign("f32")(a, b).tolist() == [-3.0, math.inf, -5.0]
    assert copysign("f64")(a.astype(np.float64), b.astype(np.float64)).tolist() == [-3.0, math.inf, -5.0]
    subnormal = np.array([0x80000001, 0xFFC00001], np.uint32).view(np.float32)
    assert sign_op("neg", "f32", ftz=True)(subnormal).view(np.uint32).tolist() == [0, 0x7FFFFFFF]
    assert sign_op("abs", "f32")(subnormal).view(np.uint32).tolist() == [1, 0x7FFFFFFF]
    assert sign_op("neg", "f64")(np.array([-0.0, 7.0])).tolist() == [0.0, -7.0]
