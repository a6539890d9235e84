from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.emulator.numerics import NumericsError, float_op

MODES = ("rn", "rz", "rm", "rp")
DTYPE = {"f32": np.float32, "f64": np.float64}
ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("op", list(ARITY))
def test_matches_exact_rounding(oracle, same_bits, op, type_, mode):
    operands = oracle.stress(type_, 250, ARITY[op], seed=len(op), divide=op == "div")
    form = oracle.formats[type_]
    if op == "div":
        keep = (operands[1] & (form.sign - 1)) != 0
        operands = [x[keep] for x in operands]
    result = float_op(op, type_, rounding=mode)(*(x.view(DTYPE[type_]) for x in operands))
    expected = [oracle.finite(op, type_, mode, *map(int, row)) for row in zip(*operands)]
    same_bits(result, expected, *operands)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", list(ARITY))
def test_ftz_flushes_operands_and_results(oracle, same_bits, op, mode):
    operands = oracle.stress("f32", 250, ARITY[op], seed=7, divide=op == "div")
    if op == "div":
        keep = (operands[1] & 0x7F800000) != 0
        operands = [x[keep] for x in operands]
    result = float_op(op, "f32", rounding=mode, ftz=True)(*(x.view(np.float32) for x in operands))
    expected = [oracle.finite(op, "f32", mode, *map(int, row), ftz=True) for row in zip(*operands)]
    same_bits(result, expected, *operands)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_square_root_and_reciprocal(oracle, same_bits, type_, mode):
    (patterns,) = oracle.stress(type_, 300, 1, seed=3)
    form = oracle.formats[type_]
    positive = patterns & oracle.bits[type_](form.sign - 1)
    positive = positive[positive != 0]
    roots = float_op("sqrt", type_, rounding=mode)(positive.view(DTYPE[type_]))
    same_bits(roots, [oracle.square_root(type_, mode, int(p)) for p in positive], positive)
    nonzero = patterns[(patterns & oracle.bits[type_](form.sign - 1)) != 0]
    one = form.bias << form.fraction_bits
    reciprocals = float_op("rcp", type_, rounding=mode)(nonzero.view(DTYPE[type_]))
    same_bits(reciprocals, [oracle.finite("div", type_, mode, one, int(p)) for p in nonzero], nonzero)


# Infinities, zeros and NaN, by the definitions of IEEE 754.

SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.5, math.inf, -math.inf, math.nan]


def ieee_special(op: str, a: float, b: float, mode: str) -> float:
    """a op b for values whose finite results are exact."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if op in ("add", "sub"):
        b = -b if op == "sub" else b
        if math.isinf(a) and math.isinf(b) and a != b:
            return math.nan
        total = a + b
        if total == 0 and mode == "rm" and (math.copysign(1, a) < 0 or math.copysign(1, b) < 0):
            return -0.0
        return total
    sign = math.copysign(1, a) * math.copysign(1, b)
    if op == "mul":
        bad = (math.isinf(a) and b == 0) or (math.isinf(b) and a == 0)
        return math.nan if bad else a * b
    if (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return math.nan
    return sign * math.inf if b == 0 else a / b


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_special_operands(op, type_, mode):
    pairs = [(a, b) for a in SPECIAL for b in SPECIAL if not (op == "div" and 3.5 in (abs(a), abs(b)))]
    a, b = (np.array(x, DTYPE[type_]) for x in zip(*pairs))
    result = float_op(op, type_, rounding=mode)(a, b)
    for pair, found in zip(pairs, result):
        wanted = ieee_special(op, *pair, mode)
        same = math.isnan(found) if math.isnan(wanted) else (found == wanted and np.signbit(found) == np.signbit(wanted))
        assert same, (op, pair, mode, found, wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_fma_of_infinities(type_, mode):
    fma = float_op("fma", type_, rounding=mode)
    huge = float(np.finfo(DTYPE[type_]).max)
    rows = [
        (math.inf, 1, 1, math.inf),
        (math.inf, -1, math.inf, math.nan),
        (math.inf, 0, 1, math.nan),
        (0, math.inf, math.nan, math.nan),
        (huge, huge, -math.inf, -math.inf),  # the product is finite before rounding
        (huge, -huge, math.inf, math.inf),
        (1, 1, math.inf, math.inf),
    ]
    *operands, wanted = (np.array(x, DTYPE[type_]) for x in zip(*rows))
    np.testing.assert_array_equal(fma(*operands), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_fma_zero_signs(oracle, same_bits, mode):
    values = [0, 1 << 63, 0x3FF0 << 48, 0xBFF0 << 48]
    rows = [(a, b, c) for a in values for b in values for c in values]
    operands = [np.array(x, np.uint64) for x in zip(*rows)]
    result = float_op("fma", "f64", rounding=mode)(*(x.view(np.float64) for x in operands))
    same_bits(result, [oracle.finite("fma", "f64", mode, *row) for row in rows], *operands)


@settings(max_examples=150, deadline=None)
@given(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3), st.sampled_from(MODES))
def test_f64_fma_property(oracle, operands, mode):
    patterns = [int(np.float64(x).view(np.uint64)) for x in operands]
    found = float_op("fma", "f64", rounding=mode)(*(np.array([x]) for x in operands))
    assert int(found.view(np.uint64)[0]) == oracle.finite("fma", "f64", mode, *patterns)


def test_f32_fma_is_rounded_once():
    a, b, c = (np.array([x], np.float32) for x in (1 + 2.0**-23, 1.5, 2.0**-80))
    # 1.5 + 1.5 * 2^-23 + 2^-80: just above a midpoint of f32
    assert float_op("fma", "f32")(a, b, c)[0] == np.float32(1.5 + 2.0**-22)


def test_saturation():
    a = np.array([0.25, -0.0, 2.0, -3.0, math.nan, math.inf, -math.inf, 1.0], np.float32)
    result = float_op("add", "f32", sat=True)(a, np.zeros(8, np.float32))
    assert result.view(np.uint32).tolist() == [0x3E800000, 0, 0x3F800000, 0, 0, 0x3F800000, 0, 0x3F800000]


def test_canonical_nan_of_f32():
    payloads = np.array([0x7F800001, 0xFFC12345, 0x7FC00000], np.uint32).view(np.float32)
    for op in ("add", "mul", "div"):
        for mode in MODES:
            result = float_op(op, "f32", rounding=mode)(payloads, np.ones(3, np.float32))
            assert (result.view(np.uint32) == 0x7FFFFFFF).all()


def test_f64_nan_passes_on_quietly():
    one = np.array([1.0])
    signalling = np.array([0xFFF7000000000456], np.uint64).view(np.float64)
    other = np.array([0xFFF8000000000123], np.uint64).view(np.float64)

    def bits(result):
        return hex(int(result.view(np.uint64)[0]))

    for mode in MODES:
        assert bits(float_op("add", "f64", rounding=mode)(signalling, one)) == "0xffff000000000456"
        assert bits(float_op("add", "f64", rounding=mode)(signalling, other)) == "0xfff8000000000123"
        assert bits(float_op("div", "f64", rounding=mode)(signalling, other)) == "0xffff000000000456"
        assert bits(float_op("sub", "f64", rounding=mode)(one * np.inf, one * np.inf)) == "0xfff8000000000000"
        assert bits(float_op("sqrt", "f64", rounding=mode)(-one)) == "0xfff8000000000000"


def test_scalar_operands_and_long_vectors_agree():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(100_000).astype(np.float32)
    b = np.float32(0.1)
    for mode in MODES:
        fma = float_op("fma", "f32", rounding=mode)
        whole = fma(a, b, a)
        pieces = np.concatenate([fma(a[i : i + 1000], np.full(1000, b), a[i : i + 1000]) for i in range(0, 100_000, 1000)])
        np.testing.assert_array_equal(whole, pieces)
        assert whole.dtype == np.float32


@pytest.mark.filterwarnings("error")
def test_never_warns():
    a = np.array([math.inf, 3e38, 1e-45, 0], np.float32)
    for op in ("add", "sub", "mul", "div"):
        for mode in MODES:
            float_op(op, "f32", rounding=mode)(a, a)
            float_op(op, "f64", rounding=mode)(a.astype(np.float64), a.astype(np.float64))


@pytest.mark.parametrize(
    ("op", "type_", "options"),
    [("add", "f64", {"ftz": True}), ("div", "f32", {"sat": True}), ("pow", "f32", {}), ("add", "f32", {"rounding": "rni"})],
)
def test_unknown_forms_are_refused(op, type_, options):
    with pytest.raises(NumericsError, match=f"no arithmetic for {op}.{type_}"):
        float_op(op, type_, **options)
