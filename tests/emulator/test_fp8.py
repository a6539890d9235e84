"""Sums of 8-bit floats, against ml_dtypes: exact sums in f64, rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.text import read

RNG = np.random.default_rng(3)
TYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn, "e2m3": ml_dtypes.float6_e2m3fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def run(line: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    body = """
        mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [d];
        mad.wide.u32 %rd1, %r1, 4, %rd1; mad.wide.u32 %rd2, %r1, 4, %rd2; mad.wide.u32 %rd3, %r1, 4, %rd3;
        ld.global.b32 %r2, [%rd1]; ld.global.b32 %r3, [%rd2]; cvt.u16.u32 %h1, %r2;
    """
    text = (
        ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d)\n{\n"
        ".reg .b32 %r<9>; .reg .b16 %h<2>; .reg .b64 %rd<4>;\n" + body + line + "\nst.global.b32 [%rd3], %r4;\n}\n"
    )
    d = np.zeros(len(a), np.uint32)
    emulate(read(text), "k", grid=1, block=len(a), arguments=[a, b, d]).raise_for_reports()
    return d


@pytest.mark.parametrize("to", ["e4m3", "e5m2"])
@pytest.mark.parametrize("of", TYPES)
@pytest.mark.parametrize("name", ["add", "sub"])
def test_sums_are_rounded_once(to: str, of: str, name: str) -> None:
    mask = 0x3F3F3F3F if of in ("e3m2", "e2m3") else 0xFFFFFFFF
    a = RNG.integers(0, 2**32, 256, dtype=np.uint32) & np.uint32(mask)
    b = RNG.integers(0, 2**32, 256, dtype=np.uint32)
    left, right = a.view(np.uint8).view(TYPES[of]).astype(np.float64), b.view(np.uint8).view(TYPES[to]).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = left + right if name == "add" else left - right
        expected = exact.astype(TYPES[to])
    found = run(f"{name}.rn.{to}x4.{of}x4 %r4, %r2, %r3;", a, b).view(np.uint8).view(TYPES[to])
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
    clamped = run(f"{name}.satfinite.{to}x4.{of}x4 %r4, %r2, %r3;", a, b).view(np.uint8).view(TYPES[to]).astype(np.float64)
    largest = {"e4m3": 448.0, "e5m2": 57344.0}[to]
    past = ~np.isfinite(expected.astype(np.float64)) & ~np.isnan(exact)
    np.testing.assert_array_equal(clamped, np.where(past, np.copysign(largest, exact), expected.astype(np.float64)))


def test_four_bits_an_element() -> None:
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    a = np.arange(256, dtype=np.uint32)
    b = np.full(256, 0x38383838, np.uint32)  # ones
    found = run("add.e4m3x4.e2m1x4 %r4, %h1, %r3;", a, b).view(np.uint8).view(TYPES["e4m3"]).reshape(-1, 4).astype(np.float64)
    for place in range(2):
        code = a >> 4 * place & 15
        np.testing.assert_array_equal(found[:, place], 1 + np.where(code > 7, -values[code % 8], values[code % 8]))
