from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator.numerics import NumericsError, half_op, sign_op

DTYPE = {"f16": np.float16, "bf16": np.uint16}
ARITY = {"add": 2, "sub": 2, "mul": 2, "fma": 3}


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("op", list(ARITY))
def test_matches_exact_rounding(oracle, same_bits, op, type_):
    operands = oracle.stress(type_, 1500, ARITY[op], seed=1)
    result = half_op(op, type_)(*(x.view(DTYPE[type_]) for x in operands))
    same_bits(result, [oracle.finite(op, type_, "rn", *map(int, row)) for row in zip(*operands)], *operands)


@pytest.mark.parametrize("op", list(ARITY))
def test_f16_ftz(oracle, same_bits, op):
    operands = oracle.stress("f16", 1500, ARITY[op], seed=2)
    result = half_op(op, "f16", ftz=True)(*(x.view(np.float16) for x in operands))
    same_bits(result, [oracle.finite(op, "f16", "rn", *map(int, row), ftz=True) for row in zip(*operands)], *operands)


def test_fma_has_one_rounding():
    # (1 + 2^-10) * (1 + 2^-10) + 2^-24: a product rounded first would lose the 2^-20 that decides a tie.
    a = np.array([1 + 2.0**-10], np.float16)
    c = np.array([2.0**-11], np.float16)
    assert half_op("fma", "f16")(a, a, c)[0] == np.float16(1 + 3 * 2.0**-10)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_relu_and_saturation(type_):
    if type_ == "f16":
        a = np.array([-1.5, -0.0, 0.25, 3, np.nan], np.float16)
        one, zero = np.ones(5, np.float16), np.zeros(5, np.float16)
        assert half_op("add", "f16", sat=True)(a, zero).tolist() == [0, 0, 0.25, 1, 0]
        expected = [0, 0, 0x3400, 0x4200, 0x7FFF]
    else:
        a = np.array([0xBFC0, 0x8000, 0x3E80, 0x4040, 0xFFC1], np.uint16)
        one, zero = np.full(5, 0x3F80, np.uint16), np.full(5, 0x8000, np.uint16)
        expected = [0, 0, 0x3E80, 0x4040, 0x7FFF]
    assert half_op("fma", type_, relu=True)(a, one, zero).view(np.uint16).tolist() == expected


@pytest.mark.parametrize(("type_", "infinity"), [("f16", 0x7C00), ("bf16", 0x7F80)])
def test_abs_and_neg_of_every_pattern(type_, infinity):
    every = np.arange(65536, dtype=np.uint16)
    nan = (every & 0x7FFF) > infinity
    magnitude = sign_op("abs", type_)(every.view(DTYPE[type_])).view(np.uint16)
    opposite = sign_op("neg", type_)(every.view(DTYPE[type_])).view(np.uint16)
    np.testing.assert_array_equal(magnitude, np.where(nan, 0x7FFF, every & 0x7FFF))
    np.testing.assert_array_equal(opposite, np.where(nan, 0x7FFF, every ^ 0x8000))


def test_packed_pairs_are_two_lanes():
    pairs = np.array([0x3C004000, 0x44003800], np.uint32)
    doubled = half_op("add", "f16")(pairs.view(np.float16), pairs.view(np.float16)).view(np.uint32)
    assert doubled.tolist() == [0x40004400, 0x48003C00]


def test_unknown_forms_are_refused():
    for op, type_, options in (("add", "bf16", {"ftz": True}), ("mul", "f16", {"relu": True}), ("div", "f16", {})):
        with pytest.raises(NumericsError):
            half_op(op, type_, **options)
