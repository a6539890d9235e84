from __future__ import annotations

import math

import numpy as np
import pytest

from ptxgen.emulator.numerics import MAX_ERROR, NumericsError, approx

INF, NAN = math.inf, math.nan
# Operand and result of the ISA's tables of special values.
TABLES = {
    "rcp": [(-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)],
    "sqrt": [(-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN)],
    "rsqrt": [(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)],
    "sin": [(-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN)],
    "cos": [(-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN)],
    "lg2": [(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, -INF), (INF, INF), (NAN, NAN)],
    "ex2": [(-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN)],
    "tanh": [(-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN)],
}
REFERENCE = {
    "rcp": lambda x: 1 / x,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "lg2": math.log2,
    "ex2": lambda x: 2.0**x,
    "tanh": math.tanh,
}


def assert_same(found: np.ndarray, wanted: list[float]) -> None:
    np.testing.assert_array_equal(found.astype(np.float64), wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize("op", TABLES)
def test_special_values(op):
    operands, wanted = zip(*TABLES[op])
    found = approx(op, "f32")(np.array(operands, np.float32))
    assert_same(found, list(wanted))
    assert (found.view(np.uint32)[np.isnan(found)] == 0x7FFFFFFF).all()


@pytest.mark.parametrize("op", TABLES)
def test_nearest_value(op):
    x = np.random.default_rng(0).uniform(0.01, 60, 500).astype(np.float32)
    found = approx(op, "f32")(x).astype(np.float64)
    exact = np.array([REFERENCE[op](float(v)) for v in x])
    # Half an ulp, and a hair for the reference's own error.
    assert (np.abs(found - exact) <= 0.5001 * np.spacing(np.abs(exact).astype(np.float32))).all()
    assert (op, "f32") in MAX_ERROR


def test_division():
    a = np.array([1.0, 6.0, INF, -INF, 3.0, 0.0], np.float32)
    b = np.array([2.0**127, 3.0, 2.0**127, 2.0**100, -(2.0**127), 2.0**126.5], np.float32)
    assert_same(approx("div", "f32")(a, b), [0.0, 2.0, NAN, -INF, -0.0, 0.0])
    full = approx("div.full", "f32")(a[:2], b[:2])
    assert full.tolist() == [2.0**-127, 2.0]
    assert approx("div.full", "f32", ftz=True)(a[:2], b[:2]).tolist() == [0.0, 2.0]


def test_ftz():
    subnormal = np.array([0x00000001, 0x80000001], np.uint32).view(np.float32)
    assert approx("rcp", "f32", ftz=True)(subnormal).tolist() == [INF, -INF]
    assert approx("lg2", "f32")(subnormal[:1]).tolist() == [-149.0]
    assert approx("lg2", "f32", ftz=True)(subnormal).tolist() == [-INF, -INF]
    below = np.array([-126.5, -149.0], np.float32)
    assert approx("ex2", "f32", ftz=True)(below).tolist() == [0.0, 0.0]
    assert approx("ex2", "f32")(below)[1] == 2.0**-149


def test_f64_upper_words():
    a = np.array([4.0, 0.0, -0.0, INF, 5e-324, 1.7e308])
    rcp = approx("rcp", "f64", ftz=True)(a)
    assert_same(rcp[:5], [0.25, INF, -INF, 0.0, INF])
    assert (rcp.view(np.uint64) & np.uint64(0xFFFFFFFF) == 0).all()
    assert rcp[5] == 0.0  # 1/a is subnormal
    assert abs(approx("rsqrt", "f64", ftz=True)(np.array([2.0]))[0] - 2**-0.5) < 2**-20
    assert_same(approx("rsqrt", "f64")(np.array([4.0, -0.0, 0.0, INF])), [0.5, -INF, INF, 0.0])
    nan = approx("rcp", "f64", ftz=True)(np.array([NAN]))
    assert int(nan.view(np.uint64)[0]) == 0x7FFFFFFF00000000


def test_halves():
    x = np.array([0.0, 1.0, -2.0, INF, -INF, NAN], np.float16)
    assert approx("ex2", "f16")(x).view(np.uint16).tolist() == [0x3C00, 0x4000, 0x3400, 0x7C00, 0, 0x7FFF]
    assert approx("tanh", "f16")(x).view(np.uint16)[[0, 3, 4, 5]].tolist() == [0, 0x3C00, 0xBC00, 0x7FFF]
    bf16 = np.array([0x0001, 0x3F80, 0xC300, 0x7F80], np.uint16)  # subnormal, 1, -128, infinity
    assert approx("ex2", "bf16", ftz=True)(bf16).tolist() == [0x3F80, 0x4000, 0, 0x7F80]


def test_unknown_forms_are_refused():
    for op, type_, ftz in (("tanh", "f32", True), ("rcp", "f64", False), ("sin", "f16", False), ("ex2", "bf16", False)):
        with pytest.raises(NumericsError):
            approx(op, type_, ftz=ftz)
