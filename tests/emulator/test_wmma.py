"""Products of wmma from memory to memory, against NumPy; matrices are such that every permutation shows."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

RNG = np.random.default_rng(5)


def registers(prefix: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{first + number}" for number in range(count)) + "}"


def body(shape: str, factor: str, into: str, added: str, mma: str, layouts: tuple[str, str, str], counts: tuple[int, int, int, int],
         strides: str = "") -> str:  # fmt: skip
    """Loads a, b and c, multiplies, stores d; `layouts` are those of a, b and of c and d."""
    wide = "d" if factor == "f64" else "r"
    a, b = registers(wide, 0, counts[0]), registers(wide, 10 if wide == "r" else 1, counts[1])
    c = registers(wide, 20 if wide == "r" else 2, counts[2]).replace("%r", "%f" if added == "f32" else "%r")
    d = registers(wide, 30 if wide == "r" else 4, counts[3]).replace("%r", "%f" if into == "f32" else "%r")
    c, d = c.replace("%f2", "%f"), d.replace("%f3", "%f1")
    return f"""
        ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u64 %rd4, [d];
        wmma.load.a.sync.aligned.{layouts[0]}.{shape}.global.{factor} {a}, [%rd1]{strides};
        wmma.load.b.sync.aligned.{layouts[1]}.{shape}.{factor} {b}, [%rd2]{strides};
        wmma.load.c.sync.aligned.{layouts[2]}.{shape}.global.{added} {c}, [%rd3]{strides};
        wmma.mma.{mma} {d}, {a}, {b}, {c};
        wmma.store.d.sync.aligned.{layouts[2]}.{shape}.global.{into} [%rd4], {d}{strides};
    """


def stored(matrix: np.ndarray, layout: str) -> np.ndarray:
    return np.ascontiguousarray(matrix if layout == "row" else matrix.T).reshape(-1)


WIDE = [("m16n16k16", 16, 16), ("m8n32k16", 8, 32), ("m32n8k16", 32, 8)]


@pytest.mark.parametrize("shape, m, n", WIDE)
@pytest.mark.parametrize("layouts", [("row", "col", "row"), ("col", "row", "col"), ("row", "row", "col"), ("col", "col", "row")])
@pytest.mark.parametrize("into, added", [("f32", "f32"), ("f16", "f16"), ("f32", "f16"), ("f16", "f32")])
def test_halves(run, shape: str, m: int, n: int, layouts: tuple[str, str, str], into: str, added: str) -> None:
    a, b = RNG.integers(-4, 5, (m, 16)).astype(np.float16), RNG.integers(-4, 5, (16, n)).astype(np.float16)
    c = RNG.integers(-99, 99, (m, n)).astype(f"f{2 if added == 'f16' else 4}")
    d = np.zeros(m * n, f"f{2 if into == 'f16' else 4}")
    counts = 8, 8, 4 if added == "f16" else 8, 4 if into == "f16" else 8
    text = body(shape, "f16", into, added, f"sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{into}.{added}", layouts, counts)
    run(text, stored(a, layouts[0]), stored(b, layouts[1]), stored(c, layouts[2]), d).raise_for_reports()
    np.testing.assert_array_equal(d, stored(a.astype(np.float64) @ b.astype(np.float64) + c, layouts[2]))


@pytest.mark.parametrize("shape, m, n", WIDE)
@pytest.mark.parametrize("factor", ["s8", "u8", "bf16"])
def test_bytes_and_wide_halves(run, shape: str, m: int, n: int, factor: str) -> None:
    layouts = ("row", "col", "row")
    dtype = {"s8": np.int8, "u8": np.uint8, "bf16": ml_dtypes.bfloat16}[factor]
    low, high = {"s8": (-128, 128), "u8": (0, 256), "bf16": (-9, 9)}[factor]
    a, b = RNG.integers(low, high, (m, 16)).astype(dtype), RNG.integers(low, high, (16, n)).astype(dtype)
    kind, sums = ("f32", np.float32) if factor == "bf16" else ("s32", np.int32)
    c, d = RNG.integers(-99, 99, (m, n)).astype(sums), np.zeros(m * n, sums)
    bits = 16 if factor == "bf16" else 8
    counts = m * 16 * bits // 1024, n * 16 * bits // 1024, 8, 8
    text = body(shape, factor, kind, kind, f"sync.aligned.row.col.{shape}.{kind}.{factor}.{factor}.{kind}", layouts, counts)
    run(text, stored(a, "row").view(f"u{bits // 8}"), stored(b, "col").view(f"u{bits // 8}"), stored(c, "row"), d).raise_for_reports()
    np.testing.assert_array_equal(d, stored((a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64)).astype(sums), "row"))


def test_single_and_double_floats(run) -> None:
    a, b = RNG.integers(-9, 9, (16, 8)).astype(np.float32), RNG.integers(-9, 9, (8, 16)).astype(np.float32)
    c, d = RNG.normal(0, 1, (16, 16)).astype(np.float32), np.zeros(256, np.float32)
    c = np.round(c * 16) / 16
    text = body("m16n16k8", "tf32", "f32", "f32", "sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ("row", "col", "row"), (4, 4, 8, 8))
    run(text, stored(a, "row"), stored(b, "col"), stored(c, "row"), d).raise_for_reports()
    np.testing.assert_array_equal(d, stored(a @ b + c, "row"))
    left, right, added = RNG.integers(-9, 9, (8, 4)) / 8, RNG.integers(-9, 9, (4, 8)) / 8, RNG.integers(-9, 9, (8, 8)) / 8
    result = np.zeros(64)
    text = body("m8n8k4", "f64", "f64", "f64", "sync.aligned.col.row.m8n8k4.f64.f64.f64.f64", ("col", "row", "col"), (1, 1, 2, 2))
    run(text, stored(left, "col"), stored(right, "row"), stored(added, "col"), result).raise_for_reports()
    np.testing.assert_array_equal(result, stored(left @ right + added, "col"))


@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
def test_doubles_are_rounded_as_asked(run, rounding: str) -> None:
    """One product and a tiny addend: the exact sum lies between two doubles."""
    a, b, c, d = np.zeros((8, 4)), np.zeros((4, 8)), np.full(64, 2.0**-80), np.zeros(64)
    a[:, 0] = [1, -1, 1, -1, 1, -1, 1, -1]
    b[0] = 1
    text = body(
        "m8n8k4", "f64", "f64", "f64", f"sync.aligned.row.row.m8n8k4.f64.f64.f64.f64.{rounding}", ("row", "row", "row"), (1, 1, 2, 2)
    )
    run(text, a.reshape(-1), b.reshape(-1), c, d).raise_for_reports()
    above, below = {"rz": (1.0, np.nextafter(-1, 0)), "rm": (1.0, -1.0), "rp": (np.nextafter(1, 2), np.nextafter(-1, 0))}[rounding]
    expected = np.where(a[:, :1] > 0, above, below) * np.ones((1, 8))
    np.testing.assert_array_equal(d.reshape(8, 8), expected)


@pytest.mark.parametrize("factor", ["s4", "u4"])
@pytest.mark.parametrize("satfinite", ["", ".satfinite"])
def test_nibbles(run, factor: str, satfinite: str) -> None:
    low, high = (-8, 8) if factor == "s4" else (0, 16)
    a, b = RNG.integers(low, high, (8, 32)), RNG.integers(low, high, (32, 8))
    c = RNG.integers(-99, 99, (8, 8))
    c[0] = [2**31 - 1, -(2**31)] * 4
    exact = a @ b + c
    expected = np.clip(exact, -(2**31), 2**31 - 1) if satfinite else (exact + 2**31) % 2**32 - 2**31

    def packed(matrix: np.ndarray) -> np.ndarray:
        pairs = (matrix & 15).astype(np.uint8).reshape(-1, 2)
        return (pairs[:, 0] | pairs[:, 1] << 4).view(np.uint32)

    d = np.zeros(64, np.int32)
    mma = f"sync.aligned.row.col.m8n8k32.s32.{factor}.{factor}.s32{satfinite}"
    text = body("m8n8k32", factor, "s32", "s32", mma, ("row", "col", "row"), (1, 1, 2, 2))
    run(text, packed(a), packed(b.T), stored(c.astype(np.int32), "row"), d).raise_for_reports()
    np.testing.assert_array_equal(d, expected.reshape(-1))


@pytest.mark.parametrize("op", ["xor", "and"])
def test_bits(run, op: str) -> None:
    a, b = RNG.integers(0, 2, (8, 128), dtype=np.uint8), RNG.integers(0, 2, (8, 128), dtype=np.uint8)  # b by columns
    c, d = RNG.integers(-99, 99, (8, 8)).astype(np.int32), np.zeros(64, np.int32)
    met = a[:, None] ^ b if op == "xor" else a[:, None] & b
    mma = f"{op}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
    text = body("m8n8k128", "b1", "s32", "s32", mma, ("row", "col", "row"), (1, 1, 2, 2))
    left, right = (np.packbits(one, axis=1, bitorder="little").reshape(-1).view(np.uint32) for one in (a, b))
    run(text, left, right, c.reshape(-1), d).raise_for_reports()
    np.testing.assert_array_equal(d.reshape(8, 8), met.sum(2) + c)


def test_a_stride_reaches_into_a_larger_matrix(run) -> None:
    whole = [RNG.integers(-4, 5, (16, 40)).astype(np.float16) for _ in range(2)]
    c, d = RNG.integers(-9, 9, (16, 40)).astype(np.float32), np.zeros((16, 40), np.float32)
    mma = "sync.aligned.row.row.m16n16k16.f32.f32"
    text = body("m16n16k16", "f16", "f32", "f32", mma, ("row", "row", "row"), (8, 8, 8, 8), strides=", 40")
    run(text, *whole, c, d).raise_for_reports()
    a, b = (one[:, :16].astype(np.float32) for one in whole)
    np.testing.assert_array_equal(d[:, :16], a @ b + c[:, :16])
    assert not d[:, 16:].any()


def test_a_warp_multiplies_together(run) -> None:
    text = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 wmma.load.a.sync.aligned.row.m16n16k16.bf16 {%r2, %r3, %r4, %r5}, [%rd1];"
    assert run("mov.b64 %rd1, 0;" + text).reports[0].kind == "collective"


def test_lanes_agree_on_the_address(run) -> None:
    matrix = np.zeros(1024, np.float16)
    text = """
        mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r1, 32, %rd1;
        wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r2, %r3, %r4, %r5}, [%rd1];
    """
    report = run(text, matrix).reports[0]
    assert report.kind == "collective"
    assert report.message == "lanes of one warp give different addresses of a matrix that they load or store together"
