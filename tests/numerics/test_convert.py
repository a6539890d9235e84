from __future__ import annotations

import math
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator.numerics import DTYPES, NumericsError, cvt, cvt_packed

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
MODES = ("rn", "rz", "rm", "rp")
FLOAT_DTYPE = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}


def limits(type_: str) -> tuple[int, int]:
    bits = int(type_[1:])
    return (0, (1 << bits) - 1) if type_[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def integers(type_: str, count: int = 120) -> np.ndarray:
    """Values of every size, near powers of two and near rounding ties."""
    low, high = limits(type_)
    rng = np.random.default_rng(len(type_))
    values = {low, high, 0, 1, low + 1, high - 1}
    for _ in range(count):
        bits = int(rng.integers(1, int(type_[1:]) + 1))
        value = int(rng.integers(0, 1 << 62)) >> (62 - min(bits, 62)) << max(bits - 62, 0)
        digits = int(rng.choice([8, 11, 24, 53]))
        tie = ((1 << digits) | int(rng.integers(0, 1 << digits)) | 1) << max(bits - digits - 1, 0)
        values |= {value, -value, tie + int(rng.integers(-1, 2)), -tie}
    return np.array([v for v in values if low <= v <= high], DTYPES[type_])


@pytest.mark.parametrize("src", INTEGERS)
@pytest.mark.parametrize("dst", INTEGERS)
def test_between_integers(dst, src):
    values = integers(src, 30)
    low, high = limits(dst)
    wrapped = [(int(v) - low) % (high - low + 1) + low for v in values]
    assert cvt(dst, src)(values).tolist() == wrapped
    assert cvt(dst, src, sat=True)(values).tolist() == [min(max(int(v), low), high) for v in values]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("src", INTEGERS)
@pytest.mark.parametrize("dst", ["f16", "bf16", "f32", "f64"])
def test_integers_to_floats(oracle, same_bits, dst, src, mode):
    values = integers(src)
    form = oracle.formats[dst]
    same_bits(cvt(dst, src, rounding=mode)(values), [form.round(Fraction(int(v)), mode) for v in values], values)


ROUND_TO_INTEGER = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("mode", ROUND_TO_INTEGER)
@pytest.mark.parametrize("src", ["f16", "bf16", "f32", "f64"])
def test_floats_to_integers(oracle, same_bits, src, mode):
    form = oracle.formats[src]
    rng = np.random.default_rng(5)
    exponent = rng.integers(-3, min(67, form.bias + 1), 300) + form.bias
    mantissa = rng.integers(0, 1 << form.fraction_bits, 300) & -(1 << rng.integers(0, form.fraction_bits))
    patterns = ((exponent << form.fraction_bits) + mantissa).astype(oracle.bits[src])
    patterns[::2] |= oracle.bits[src](form.sign)
    patterns = np.concatenate([patterns, np.array([0, form.sign, 1, form.sign | 1], patterns.dtype)])
    exact = [form.decode(int(p)) for p in patterns]
    for dst in INTEGERS:
        low, high = limits(dst)
        result = cvt(dst, src, rounding=mode)(patterns.view(FLOAT_DTYPE[src]))
        assert result.tolist() == [min(max(int(ROUND_TO_INTEGER[mode](v)), low), high) for v in exact]
        assert result.dtype == DTYPES[dst]
        special = np.array([form.infinity, form.infinity | form.sign, form.infinity + 1], patterns.dtype)
        nan = 1 << (int(dst[1:]) - 1) if src == "f64" or dst[1:] == "64" else 0
        nan -= (high - low + 1) if nan > high else 0
        assert cvt(dst, src, rounding=mode)(special.view(FLOAT_DTYPE[src])).tolist() == [high, low, nan]
    integral = cvt(src, src, rounding=mode)(patterns.view(FLOAT_DTYPE[src]))
    signs = [bool(int(p) & form.sign) for p in patterns]
    expected = [form.round(Fraction(ROUND_TO_INTEGER[mode](v)), "rn", s) for v, s in zip(exact, signs)]
    same_bits(integral, expected, patterns)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("dst", "src"),
    [("f32", "f64"), ("f16", "f64"), ("bf16", "f64"), ("f16", "f32"), ("bf16", "f32"), ("bf16", "f16"), ("f16", "bf16")],
)
def test_narrowing(oracle, same_bits, dst, src, mode):
    source, target = oracle.formats[src], oracle.formats[dst]
    (patterns,) = oracle.stress(src, 300, 1, seed=8)
    # Move most values to the ends of the destination's range, where ties and subnormals are.
    rng = np.random.default_rng(1)
    ends = np.where(rng.integers(0, 2, 300) > 0, target.bias + rng.integers(-1, 2, 300), 1 - target.bias - rng.integers(-2, 12, 300))
    field = np.clip(ends + source.bias, 0, 2 * source.bias).astype(np.uint64)
    mask = np.uint64(source.infinity)
    moved = (patterns.astype(np.uint64) & ~mask) | (field << np.uint64(source.fraction_bits))
    cut = max(source.fraction_bits - target.fraction_bits - 1, 0)
    moved[::3] = (moved[::3] >> np.uint64(cut)) << np.uint64(cut)
    patterns = np.concatenate([patterns, moved.astype(patterns.dtype)])
    result = cvt(dst, src, rounding=mode)(patterns.view(FLOAT_DTYPE[src]))
    expected = [
        target.round(Fraction(v) if v != 0 else Fraction(0), mode, bool(int(p) & source.sign))
        for p in patterns
        for v in [source.decode(int(p))]
    ]
    same_bits(result, expected, patterns)


def test_every_f16_and_bf16_to_f32():
    every = np.arange(65536, dtype=np.uint16)
    number = (every & 0x7FFF) <= 0x7C00
    unpacked = np.array(struct.unpack("<65536e", every.tobytes()), np.float32)
    widened = cvt("f32", "f16")(every.view(np.float16))
    np.testing.assert_array_equal(widened.view(np.uint32)[number], unpacked.view(np.uint32)[number])
    assert (widened.view(np.uint32)[~number] == 0x7FFFFFFF).all()
    bf16 = cvt("f32", "bf16")(every)
    np.testing.assert_array_equal(bf16, every.view(ml_dtypes.bfloat16).astype(np.float32))


def test_f32_to_bf16_agrees_with_ml_dtypes():
    bits = np.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[~np.isnan(values)]
    expected = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(cvt("bf16", "f32", rounding="rn")(values), expected)


def test_modifiers_from_f32():
    values = np.array([1e9, -1e9, -0.0, 0.5, math.nan, math.inf], np.float32)
    f16 = cvt("f16", "f32", rounding="rn", satfinite=True)(values).view(np.uint16)
    assert [hex(x) for x in f16] == ["0x7bff", "0xfbff", "0x8000", "0x3800", "0x7fff", "0x7bff"]
    relu = cvt("f16", "f32", rounding="rz", relu=True)(values).view(np.uint16)
    assert [hex(x) for x in relu] == ["0x7bff", "0x0", "0x0", "0x3800", "0x7fff", "0x7c00"]
    sat = cvt("f16", "f32", rounding="rn", sat=True)(values).view(np.uint16)
    assert [hex(x) for x in sat] == ["0x3c00", "0x0", "0x0", "0x3800", "0x0", "0x3c00"]
    tiny = np.array([1, 0x80000001], np.uint32).view(np.float32)
    assert cvt("f64", "f32", ftz=True)(tiny).view(np.uint64).tolist() == [0, 1 << 63]
    assert cvt("s32", "f32", rounding="rpi")(tiny).tolist() == [1, 0]
    assert cvt("s32", "f32", rounding="rpi", ftz=True)(tiny).tolist() == [0, 0]


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_tf32(oracle, same_bits, mode):
    (patterns,) = oracle.stress("f32", 400, 1, seed=4)
    patterns[::2] = (patterns[::2] & np.uint32(0xFFFFE000)) | np.uint32(0x1000)  # ties
    form = oracle.formats["tf32"]
    values = [oracle.formats["f32"].decode(int(p)) for p in patterns]
    expected = [
        form.round(Fraction(v) if v != 0 else Fraction(0), mode, bool(p & 0x80000000)) << 13 for v, p in zip(values, map(int, patterns))
    ]
    same_bits(cvt("tf32", "f32", rounding=mode)(patterns.view(np.float32)), expected, patterns)


# Packed pairs

NARROW = {
    "e4m3x2": ml_dtypes.float8_e4m3fn,
    "e5m2x2": ml_dtypes.float8_e5m2,
    "e2m3x2": ml_dtypes.float6_e2m3fn,
    "e3m2x2": ml_dtypes.float6_e3m2fn,
    "e2m1x2": ml_dtypes.float4_e2m1fn,
}
MAX_NORM = {"e4m3x2": 448.0, "e5m2x2": 57344.0, "e2m3x2": 7.5, "e3m2x2": 28.0, "e2m1x2": 6.0}


def test_first_source_is_the_upper_half():
    one, two = np.ones(1, np.float32), np.full(1, 2, np.float32)
    assert cvt_packed("f16x2", "f32")(one, two)[0] == 0x3C004000
    assert cvt_packed("bf16x2", "f32")(one, two)[0] == 0x3F804000
    a, b = np.array([0.40625], np.float32), np.array([12.9], np.float32)
    assert cvt_packed("e4m3x2", "f32")(a, b)[0] == 0x2D55


@pytest.mark.parametrize("dst", NARROW)
def test_f32_to_narrow_agrees_with_ml_dtypes(dst):
    rng = np.random.default_rng(2)
    top = MAX_NORM[dst]
    values = np.concatenate([rng.uniform(-1.2 * top, 1.2 * top, 3000), rng.standard_normal(3000) * top / 2000]).astype(np.float32)
    grid = np.arange({"e4m3x2": 256, "e5m2x2": 256, "e2m1x2": 16}.get(dst, 64), dtype=np.uint8)
    numbers = grid.view(NARROW[dst]).astype(np.float32)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    values = np.concatenate([values, numbers, (numbers[1:] + numbers[:-1]) / 2, [0.0, -0.0]]).astype(np.float32)
    # The peer overflows to NaN or infinity instead of saturating: clamp what it sees.
    expected = np.clip(values, -top, top).astype(NARROW[dst]).view(np.uint8)
    packed = cvt_packed(dst, "f32")(values, np.ones_like(values))
    shift = 4 if dst == "e2m1x2" else 8
    np.testing.assert_array_equal(packed >> shift, expected)
    one = np.float32(1).astype(NARROW[dst]).view(np.uint8)
    assert (packed & ((1 << shift) - 1) == one).all()


@pytest.mark.parametrize("dst", NARROW)
def test_narrow_saturation_nan_and_relu(dst):
    values = np.array([math.inf, -math.inf, math.nan, -1.0], np.float32)
    shift = 4 if dst == "e2m1x2" else 8
    largest = np.float32(MAX_NORM[dst]).astype(NARROW[dst]).view(np.uint8)
    width = 8 if dst in ("e4m3x2", "e5m2x2") else 4 if dst == "e2m1x2" else 6
    nan = 0x7F if width == 8 else largest
    minus_one = np.float32(-1).astype(NARROW[dst]).view(np.uint8)
    upper = cvt_packed(dst, "f32")(values, values) >> shift
    assert upper.tolist() == [largest, largest | 1 << (width - 1), nan, minus_one]
    assert (cvt_packed(dst, "f32", relu=True)(values, values) >> shift).tolist() == [largest, 0, nan, 0]


@pytest.mark.parametrize("src", NARROW)
def test_narrow_to_f16x2(src):
    count, step = (16, 4) if src == "e2m1x2" else (256 if src in ("e4m3x2", "e5m2x2") else 64, 8)
    code = np.arange(count, dtype=np.uint16)
    packed = (code | (code[::-1] << step)).astype(np.uint8 if step == 4 else np.uint16)
    wide = cvt_packed("f16x2", src)(packed)
    exact = code.astype(np.uint8).view(NARROW[src]).astype(np.float16)
    expected = np.where(np.isnan(exact), 0x7FFF, exact.view(np.uint16))
    np.testing.assert_array_equal(wide & 0xFFFF, expected)
    np.testing.assert_array_equal(wide >> 16, expected[::-1])
    if src == "e4m3x2":
        again = cvt_packed(src, "f16x2")(wide)
        lanes = packed.view(np.uint8)
        np.testing.assert_array_equal(again.view(np.uint8), np.where(lanes == 0xFF, 0x7F, lanes))  # NaN loses its sign


@pytest.mark.parametrize("src", ["f16x2", "bf16x2"])
def test_wide_pairs_to_narrow(src):
    values = np.array([0.40625, -3.0, 500.0, 1.0], np.float32)
    pair = cvt_packed(src, "f32")(values, values[::-1])
    np.testing.assert_array_equal(cvt_packed("e4m3x2", src)(pair), cvt_packed("e4m3x2", "f32")(values, values[::-1]))


def test_ue8m0():
    values = np.array([1.0, 1.5, 3.0, 2.0**-127, 0.0, 2.0**-130, 3e38, math.inf, math.nan], np.float32)
    down = cvt_packed("ue8m0x2", "f32", rounding="rz", satfinite=True)(values, values)
    up = cvt_packed("ue8m0x2", "f32", rounding="rp", satfinite=True)(values, values)
    assert (down >> 8).tolist() == [127, 127, 128, 0, 0, 0, 254, 254, 255]
    assert (up & 255).tolist() == [127, 128, 129, 0, 0, 0, 254, 254, 255]
    code = np.arange(255, dtype=np.uint16)
    wide = cvt_packed("bf16x2", "ue8m0x2")(code | (code << 8))
    low = (wide & 0xFFFF).astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(low, 2.0 ** (code.astype(np.float64) - 127))


@pytest.mark.parametrize(
    ("dst", "src", "options"),
    [
        ("f32", "f64", {}),
        ("f64", "f32", {"rounding": "rn"}),
        ("f32", "s32", {}),
        ("s32", "f32", {"rounding": "rn"}),
        ("bf16", "f32", {"rounding": "rn", "sat": True}),
        ("f16", "f64", {"rounding": "rn", "relu": True}),
        ("f32", "f16", {"rounding": "rni"}),
    ],
)
def test_unknown_conversions_are_refused(dst, src, options):
    with pytest.raises(NumericsError, match="cvt"):
        cvt(dst, src, **options)
