"""Matrix products: bit for bit what an H200 computed, and against exact sums.

`tensor_core_sm_90.npz` holds operands and results of ``mma.sync`` and ``wgmma`` on an H200 (docs/numerics.md): for each form four rows
of 14 products whose operands are of like size, of mixed sizes, with large and small accumulators, subnormal, cancelling, infinite or
NaN, zeros of both signs, near overflow, and (tf32) with low bits set.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.emulator.numerics import NumericsError, matrix_product
from ptxgen.emulator.numerics.matrix import UNITS

RECORDED = np.load(Path(__file__).parent.parent / "data" / "tensor_core_sm_90.npz")
FORMS = sorted({name.partition("/")[0] for name in RECORDED.files})


@pytest.mark.parametrize("form", FORMS)
def test_every_bit_is_that_of_the_hardware(form: str) -> None:
    unit, _, accumulator, element = form.split(".")
    a, b, c, d = (RECORDED[f"{form}/{name}"] for name in "abcd")
    product = matrix_product(element, element, accumulator, unit=unit)
    bits = f"u{d.itemsize}"
    assert (np.ascontiguousarray(product(a, b, c)).view(bits) == d.view(bits)).all()


def test_the_recorded_sums_tell_models_apart() -> None:
    """Rounding the exact sum once, or adding in f32, gives other bits: what is recorded is not trivial."""
    a, b, c, d = (RECORDED[f"mma.m16n8k16.f32.f16/{name}"] for name in "abcd")
    left, right = a.view(np.float16).astype(np.float64), b.view(np.float16).astype(np.float64)
    with np.errstate(all="ignore"):
        once = (np.matmul(left, right.transpose(0, 2, 1)) + c).astype(np.float32)
        chain = c.copy()
        for k in range(16):
            chain = (left[:, :, k, None].astype(np.float32) * right[:, None, :, k].astype(np.float32)) + chain
    finite = np.isfinite(d)
    assert 0.3 < (once == d)[finite].mean() < 0.9
    assert 0.3 < (chain == d)[finite].mean() < 0.9


small = st.integers(-(2**11) + 1, 2**11 - 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(small, small, st.integers(-14, 4), st.integers(-14, 4)), min_size=8, max_size=8),
    small,
    st.integers(-20, 20),
)
def test_the_stated_error_bound_holds(factors: list[tuple[int, int, int, int]], c: int, scale: int) -> None:
    """docs/numerics.md: each of k + 1 terms loses less than 2^(top - 25), the result less than one unit of its last place."""
    a = np.float16([[[x * 2.0 ** (ex - 10) for x, _, ex, _ in factors]]])
    b = np.float16([[[y * 2.0 ** (ey - 10) for _, y, _, ey in factors]]])
    accumulator = np.float32([[[c * 2.0**scale]]])
    found = matrix_product("f16", "f16", "f32")(a.view(np.uint16), b.view(np.uint16), accumulator)[0, 0, 0]
    terms = [Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[0, 0], b[0, 0])] + [Fraction(float(accumulator[0, 0, 0]))]
    largest = max(abs(term) for term in terms)
    exact = sum(terms)
    # A product's exponent may be one less than that of its value; the sum is rounded towards zero.
    bound = len(terms) * largest * Fraction(2) ** -UNITS["mma"].fraction + max(abs(exact), abs(Fraction(float(found)))) * Fraction(2) ** -23
    assert abs(Fraction(float(found)) - exact) <= bound


@given(st.lists(st.integers(-60, 60), min_size=33, max_size=33))
def test_small_integers_are_exact_in_wide_accumulators(values: list[int]) -> None:
    a, b = (np.float16(part).reshape(1, 1, 16).view(np.uint16) for part in (values[:16], values[16:32]))
    found = matrix_product("f16", "f16", "f32")(a, b, np.float32([[[values[32]]]]))
    assert float(found[0, 0, 0]) == sum(x * y for x, y in zip(values[:16], values[16:32])) + values[32]


def test_large_n_is_taken_in_parts() -> None:
    """64 x 256 x 16, as wgmma has it, equals its columns one by one."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 64, 16)).astype(np.float16).view(np.uint16)
    b = rng.normal(size=(4, 256, 16)).astype(np.float16).view(np.uint16)
    c = rng.normal(size=(4, 64, 256)).astype(np.float32)
    product = matrix_product("f16", "f16", "f32", unit="wgmma")
    whole = product(a, b, c)
    for n in (0, 100, 255):
        assert (product(a, b[:, n : n + 1], c[:, :, n : n + 1])[:, :, 0] == whole[:, :, n]).all()


def test_what_has_no_product_is_refused() -> None:
    with pytest.raises(NumericsError, match="no matrix product of f16 and s8 is accumulated in f32"):
        matrix_product("f16", "s8", "f32")


@pytest.mark.parametrize("of, infinity", [("f16", 0x7C00), ("bf16", 0x7F80), ("e5m2", 0x7C)])
@pytest.mark.parametrize("unit", ["mma", "wgmma"])
def test_elements_that_a_sparse_matrix_has_not_are_not_multiplied(of: str, infinity: int, unit: str) -> None:
    """Infinity times zero is no number, infinity opposite nothing is nothing: 1 * 1 + (absent) * inf."""
    dtype = np.uint8 if of == "e5m2" else np.uint16
    one = {"f16": 0x3C00, "bf16": 0x3F80, "e5m2": 0x3C}[of]
    a, b = np.array([[[one, 0, 0, 0]]], dtype), np.array([[[one, infinity, 0, 0]]], dtype)
    product, zero = matrix_product(of, of, "f32", unit=unit), np.zeros((1, 1, 1), np.float32)
    assert np.isnan(product(a, b, zero)[0, 0, 0])
    assert product(np.ma.MaskedArray(a, [[[False, True, False, False]]]), b, zero)[0, 0, 0] == 1
