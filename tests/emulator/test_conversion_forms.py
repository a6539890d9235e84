"""cvt with random bits, scales and .pzo, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.text import read

RNG = np.random.default_rng(17)
TYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m3": ml_dtypes.float6_e2m3fn,
}  # fmt: skip
STEPS = {"f16": (10, -14), "bf16": (7, -126), "e4m3": (3, -6), "e5m2": (2, -14), "e3m2": (2, -2), "e2m3": (3, 0), "e2m1": (1, 0)}
"""Bits of the fraction, and the least exponent of a normal number."""


def run(lines: str, *inputs: np.ndarray, dtype: str = "u4", target: str = "sm_100a") -> np.ndarray:
    """One thread an element: inputs in %f1, %f2, ... as .f32 and %r1, %r2, ... as bits; the result in %r0."""
    count = len(inputs[0])
    names = "abcdef"[: len(inputs)]
    loads = "".join(
        f"ld.param.u64 %rd1, [{name}]; mad.wide.u32 %rd1, %r20, 4, %rd1; ld.global.b32 %r{number}, [%rd1];\n"
        f"mov.b32 %f{number}, %r{number};\n"
        for number, name in enumerate(names, 1)
    )
    parameters = ", ".join(f".param .u64 {name}" for name in (*names, "out"))
    text = (
        f".version 9.4\n.target {target}\n.address_size 64\n.visible .entry k({parameters})\n{{\n.reg .b32 %r<21>; .reg .f32 %f<9>;"
        f".reg .b16 %h<4>; .reg .b8 %c<4>; .reg .b64 %rd<4>;\nmov.u32 %r20, %tid.x; mov.b32 %r0, 0;\n{loads}{lines}\n"
        "ld.param.u64 %rd2, [out]; mad.wide.u32 %rd2, %r20, 4, %rd2; st.global.b32 [%rd2], %r0;\n}\n"
    )
    result = np.zeros(count, np.uint32)
    emulate(read(text), "k", grid=1, block=count, arguments=[*inputs, result]).raise_for_reports()
    return result.view(dtype)


def stochastic(value: float, random: int, bits: int, name: str) -> Fraction:
    """Random bits are added below the last bit of the result, then the rest is cut."""
    exact = abs(Fraction(value))
    fraction, least = STEPS[name]
    exponent = least
    while exact >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - fraction)
    cut = (exact / step + Fraction(random % (1 << bits), 1 << bits)).__floor__() * step
    return -cut if value < 0 else cut


VALUES = (RNG.normal(0, 1, 256) * 2.0 ** RNG.integers(-3, 2, 256)).astype(np.float32)
OTHERS = RNG.permutation(VALUES)
RANDOM = RNG.integers(0, 2**32, 256, dtype=np.uint32)


@pytest.mark.parametrize("name, bits", [("f16", 13), ("bf16", 16)])
def test_pairs_are_rounded_by_random_bits(name: str, bits: int) -> None:
    found = run(f"cvt.rs.{name}x2.f32 %r0, %f1, %f2, %r3;", VALUES, OTHERS, RANDOM, dtype="u2").view(TYPES[name]).reshape(-1, 2)
    for place, source in ((0, OTHERS), (1, VALUES)):
        drawn = RANDOM >> 16 * place & 0xFFFF
        expected = [float(stochastic(float(value), int(one), bits, name)) for value, one in zip(source, drawn)]
        np.testing.assert_array_equal(found[:, place].astype(np.float64), expected)


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2", "e2m3"])
def test_four_values_are_rounded_by_random_bits(name: str) -> None:
    lines = f"cvt.rs.satfinite.{name}x4.f32 %r0, {{%f1, %f2, %f2, %f1}}, %r3;"
    found = run(lines, VALUES / 4, OTHERS / 4, RANDOM, dtype="u1").view(TYPES[name]).reshape(-1, 4).astype(np.float64)
    for place, source in enumerate((VALUES / 4, OTHERS / 4, OTHERS / 4, VALUES / 4)):
        drawn = RANDOM >> 16 * (place // 2) & 0xFFFF
        np.testing.assert_array_equal(found[:, place], [float(stochastic(float(v), int(r), 16, name)) for v, r in zip(source, drawn)])


def test_rounding_up_is_as_likely_as_it_should() -> None:
    """Of 2^13 patterns of random bits, exactly those above the missing fraction round up."""
    value = np.float32(1 + 3 / 4096)  # three quarters between two neighbours of .f16
    for random, up in ((0x0800, True), (0x07FF, False)):
        found = run("cvt.rs.f16x2.f32 %r0, %f1, %f1, %r2;", np.full(1, value), np.full(1, random, np.uint32), dtype="f2")
        assert found[0] == (1 + 2**-10 if up else 1.0)


def test_infinities_and_nan_keep_their_meaning() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 1e9, -1e9], np.float32)
    random = np.full(5, 0xFFFFFFFF, np.uint32)
    halves = run("cvt.rs.f16x2.f32 %r0, %f1, %f1, %r2;", values, random, dtype="u2")[::2]
    assert [hex(one) for one in halves] == ["0x7c00", "0xfc00", "0x7fff", "0x7c00", "0xfc00"]
    clamped = run("cvt.rs.relu.satfinite.f16x2.f32 %r0, %f1, %f1, %r2;", values, random, dtype="u2")[::2]
    assert [hex(one) for one in clamped] == ["0x7bff", "0x0", "0x7fff", "0x7bff", "0x0"]


@pytest.mark.parametrize("rounding", ["rn", "rz"])
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_values_are_divided_by_a_power_of_two(rounding: str, name: str) -> None:
    exponents = RNG.integers(120, 134, 256).astype(np.uint32)
    convert = f"cvt.{rounding}.satfinite.scaled::n1::ue8m0.{name}x2.f32 %h0, %f1, %f2, %c1;"
    lines = f"cvt.u16.u32 %h1, %r3; cvt.u8.u16 %c1, %h1; {convert} cvt.u32.u16 %r0, %h0;"
    found = run(lines, VALUES, OTHERS, exponents, dtype="u1", target="sm_107a").view(TYPES[name]).reshape(-1, 4)[:, :2]
    for place, source in ((0, OTHERS), (1, VALUES)):
        exact = source.astype(np.float64) / 2.0 ** (exponents.astype(np.float64) - 127)
        largest = float(ml_dtypes.finfo(TYPES[name]).max)
        exact = np.clip(exact, -largest, largest)
        if rounding == "rn":
            expected = exact.astype(TYPES[name]).astype(np.float64)
        else:
            expected = np.array([float(stochastic(value, 0, 1, name)) for value in exact])
        np.testing.assert_array_equal(found[:, place].astype(np.float64), expected)


def test_values_are_multiplied_by_powers_of_two() -> None:
    pairs = RNG.integers(0, 2**16, 256, dtype=np.uint32)
    scales = RNG.integers(100, 160, (256, 2)).astype(np.uint8)
    lines = "cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.rn.scaled::n2::ue8m0.bf16x2.e5m2x2 %r0, %h1, %h2;"
    packed = scales.astype(np.uint32)[:, 0] | scales.astype(np.uint32)[:, 1] << 8
    found = run(lines, pairs, packed, dtype="u2").view(ml_dtypes.bfloat16).reshape(-1, 2).astype(np.float64)
    values = pairs.astype(np.uint16).view(np.uint8).view(ml_dtypes.float8_e5m2).reshape(-1, 2).astype(np.float64)
    np.testing.assert_array_equal(found, values * 2.0 ** (scales.astype(np.float64) - 127))


def test_infinities_widen_to_the_largest_value() -> None:
    pairs = np.arange(0, 2**16, 257, dtype=np.uint32)
    lines = "cvt.u16.u32 %h1, %r1; cvt.rn.satfinite.bf16x2.e5m2x2 %r0, %h1;"
    found = run(lines, pairs, dtype="u2").view(ml_dtypes.bfloat16).reshape(-1, 2).astype(np.float64)
    values = pairs.astype(np.uint16).view(np.uint8).view(ml_dtypes.float8_e5m2).reshape(-1, 2).astype(np.float64)
    largest = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    np.testing.assert_array_equal(found, np.clip(values, -largest, largest))


def test_negative_zeros_become_positive() -> None:
    values, tiny = np.array([-0.0, -1e-19, -1.0], np.float32), np.full(3, -1e-30, np.float32)
    assert [hex(one) for one in run("cvt.rn.pzo.f16x2.f32 %r0, %f1, %f2;", values, tiny, target="sm_107a")] == ["0x0", "0x0", "0xbc000000"]
    lines = "cvt.rn.satfinite.pzo.e4m3x2.f32 %h0, %f1, %f2; cvt.u32.u16 %r0, %h0;"
    assert [hex(one) for one in run(lines, values, tiny, target="sm_107a")] == ["0x0", "0x0", "0xb800"]
    lines = "cvt.rz.satfinite.pzo.e2m3x2.f32 %h0, %f1, %f2; cvt.u32.u16 %r0, %h0;"
    assert [hex(one) for one in run(lines, values, tiny, target="sm_107a")] == ["0x0", "0x0", "0x2800"]
    assert run("cvt.rn.pzo.tf32.f32 %r0, %f1;", values, target="sm_107a").tolist() == [0, 0x9FEC2000, 0xBF800000]


def sixty_fourths(value: float) -> int:
    """To nearest, ties to even, clamped: Python rounds fractions so."""
    if not np.isfinite(value):
        return -128 if value < 0 else 127
    return max(-128, min(127, round(Fraction(value) * 64)))


@pytest.mark.parametrize("relu", ["", ".relu"])
def test_fixed_point_counts_sixty_fourths(relu: str) -> None:
    values, others = VALUES.copy(), OTHERS.copy()
    values[:8] = [np.nan, np.inf, -np.inf, -2.0, 1.9921875, 0.0234375, 0.0078125, -0.0]
    found = run(f"cvt.rn.satfinite{relu}.s2f6x2.f32 %h0, %f1, %f2; cvt.u32.u16 %r0, %h0;", values, others, dtype="i1").reshape(-1, 4)
    expected = [[sixty_fourths(float(one)) for one in source] for source in (others, values)]
    np.testing.assert_array_equal(found[:, :2].T, np.maximum(expected, 0) if relu else expected)


def test_fixed_point_is_scaled_both_ways() -> None:
    pairs = VALUES.astype(ml_dtypes.bfloat16).view(np.uint16)[:, None] + np.zeros(2, np.uint16)
    pairs[:, 1] = OTHERS.astype(ml_dtypes.bfloat16).view(np.uint16)
    scales = RNG.integers(124, 131, (256, 2)).astype(np.uint8)
    packed, words = scales.astype(np.uint32)[:, 0] | scales.astype(np.uint32)[:, 1] << 8, np.ascontiguousarray(pairs).view(np.uint32)[:, 0]
    factors = 2.0 ** (scales.astype(np.float64) - 127)
    lines = "cvt.u16.u32 %h1, %r2; cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.bf16x2 %h0, %r1, %h1; cvt.u32.u16 %r0, %h0;"
    narrow = run(lines, words, packed, dtype="i1").reshape(-1, 4)[:, :2]
    exact = pairs.view(ml_dtypes.bfloat16).astype(np.float64) / factors
    np.testing.assert_array_equal(narrow, [[sixty_fourths(one) for one in row] for row in exact])
    lines = "cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.rn.scaled::n2::ue8m0.bf16x2.s2f6x2 %r0, %h1, %h2;"
    wide = run(lines, np.ascontiguousarray(narrow).view(np.uint16)[:, 0].astype(np.uint32), packed, dtype="u2")
    np.testing.assert_array_equal(wide.view(ml_dtypes.bfloat16).reshape(-1, 2).astype(np.float64), narrow / 64 * factors)
