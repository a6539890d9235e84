"""Results recorded on an H200 (sm_90) where the ISA leaves the bits open, or where hardware and a plain reading differ."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.emulator.atomics import combination
from ptxgen.emulator.numerics import (
    add_carry,
    cvt,
    float_minmax,
    float_op,
    half_op,
    integer_op,
    sign_op,
    sub_carry,
)
from ptxgen.instructions.types import TYPES

F32, F64, F16, U32, U64, U16 = np.float32, np.float64, np.float16, np.uint32, np.uint64, np.uint16


def ftz(op, rounding):
    return float_op(op, "f32", rounding=rounding, ftz=True)


ADDED = combination("add", TYPES["f64"])

CASES = [
    # Subnormality is decided after rounding to 24 (11) bits with unbounded exponent.
    ("mul.rn.ftz.f32", ftz("mul", "rn"), F32, U32, (0x16000000, 0x29FFFFFF), 0x0),
    ("div.rn.ftz.f32", ftz("div", "rn"), F32, U32, (0xBFFFFFFF, 0x7F000000), 0x80000000),
    ("rcp.rp.ftz.f32", ftz("rcp", "rp"), F32, U32, (0x7E800001,), 0x0),
    ("fma.rm.ftz.f32", ftz("fma", "rm"), F32, U32, (0x067FFFFF, 0xB97FFFFF, 0x80000001), 0x80000000),
    ("mul.rn.ftz.f16", half_op("mul", "f16", ftz=True), F16, U16, (0x2000, 0x9FFF), 0x8000),
    ("fma.rn.ftz.f16", half_op("fma", "f16", ftz=True), F16, U16, (0x33FF, 0x8C00, 0x8231), 0x8000),
    # NaN.
    ("fma.rn.f64", float_op("fma", "f64"), F64, U64, (0xFFF8 << 48, 0x3FF0 << 48, 0x7FF0000000000001), 0x7FF8000000000001),
    ("fma.rn.f64 b", float_op("fma", "f64"), F64, U64, (0x3FF0 << 48, 0xFFF8000000000123, 0x7FF8 << 48), 0xFFF8000000000123),
    ("min.f64", float_minmax("min", "f64"), F64, U64, (0xFFF7000000000456, 0xFFF8000000000123), 0xFFF8000000000123),
    ("abs.f64", sign_op("abs", "f64"), F64, U64, (0xFFF7000000000456,), 0xFFFF000000000456),
    ("abs.f32", sign_op("abs", "f32"), F32, U32, (0xFFC00001,), 0x7FFFFFFF),
    ("cvt.f64.f32", cvt("f64", "f32"), F32, U32, (0x7F800001,), 0x7FF8000020000000),
    ("cvt.ftz.f64.f32", cvt("f64", "f32", ftz=True), F32, U32, (0xFFC00001,), 0x7FFFFFFFE0000000),
    ("cvt.rn.f32.f64", cvt("f32", "f64", rounding="rn"), F64, U64, (0xFFF7000000000456,), 0xFFF80000),
    ("cvt.rn.f16.f64", cvt("f16", "f64", rounding="rn"), F64, U64, (0xFFF7000000000456,), 0xFFC0),
    ("cvt.rn.bf16.f64", cvt("bf16", "f64", rounding="rn"), F64, U64, (0xFFF7000000000456,), 0xFFF8),
    ("cvt.f32.bf16", cvt("f32", "bf16"), U16, U16, (0xFFE0,), 0xFFE00000),
    ("cvt.f64.f16", cvt("f64", "f16"), F16, U16, (0xFC1E,), 0xFFF8780000000000),
    ("cvt.f64.f64", cvt("f64", "f64"), F64, U64, (0x7FF0000000000001,), 0x7FF0000000000001),
    # Sums of f64 in memory, of what is there and b: the adder of global memory keeps NaN as it is, a loop adds in shared memory.
    ("atom.global.add.f64", ADDED.globally, F64, U64, (0xFFF01B51C0A7AAE6, 0x1), 0xFFF01B51C0A7AAE6),
    ("red.global.add.f64", ADDED.globally, F64, U64, (0x3F10 << 48, 0xFFF686E451C30E8B), 0xFFF686E451C30E8B),
    ("atom.shared.add.f64", ADDED.shared, F64, U64, (0x7FFAD3ECBE24F195, 0xFFF2A292CBC772BA), 0x7FFAD3ECBE24F195),
    ("red.shared.add.f64", ADDED.shared, F64, U64, (0x7FF748F625B48920, 0x7FF748F625B4891F), 0x7FFF48F625B48920),
    ("cvt.rn.relu.tf32.f32", cvt("tf32", "f32", rounding="rn", relu=True), F32, U32, (0xFFC00001,), 0x7FFFE000),
    ("cvt.rna.tf32.f32", cvt("tf32", "f32", rounding="rna"), F32, U32, (0x7F800001,), 0x7F800000),
    (
        "cvt.rna.satfinite.tf32.f32",
        cvt("tf32", "f32", rounding="rna", satfinite=True),
        F32,
        U32,
        (0xFF812345,),
        0xFF810000,
    ),
    # cvt.ftz to f16 leaves subnormal f32 operands alone.
    ("cvt.rp.ftz.f16.f32", cvt("f16", "f32", rounding="rp", ftz=True), F32, U32, (0x007FFFFF,), 0x0001),
    # Out of bounds, of which the ISA does not tell the bits: found among all 65,536 values of each operand beside 21 pairs of others.
    ("fma.rn.oob.f16", half_op("fma", "f16", oob=True), F16, U16, (0x7FF7, 0x7E00, 0x8000), 0),
    ("fma.rn.oob.bf16", half_op("fma", "bf16", oob=True), U16, U16, (0xC000, 0xFFF7, 0x7FFF), 0),
    ("fma.rn.oob.relu.f16", half_op("fma", "f16", oob=True, relu=True), F16, U16, (0x3C00, 0x7FF7, 0x4000), 0),
    ("fma.rn.oob.f16 other NaN", half_op("fma", "f16", oob=True), F16, U16, (0x7FF6, 0x3C00, 0x4000), 0x7FFF),
    ("fma.rn.oob.f16 addend", half_op("fma", "f16", oob=True), F16, U16, (0x3C00, 0x4000, 0x7FF7), 0x7FFF),
    # Negative zero.
    ("add.sat.f32", float_op("add", "f32", sat=True), F32, U32, (0x80000000, 0x80000000), 0x0),
    ("cvt.rn.relu.f16.f32", cvt("f16", "f32", rounding="rn", relu=True), F32, U32, (0x80000000,), 0x0),
    # Division by zero.
    ("div.s32", integer_op("div", "s32"), np.int32, U32, (0x3F, 0), 0xFFFFFFFF),
    ("rem.u64", integer_op("rem", "u64"), U64, U64, (0x8000, 0), 0xFFFFFFFFFFFFFFFF),
    ("div.s32 overflow", integer_op("div", "s32"), np.int32, U32, (0x80000000, 0xFFFFFFFF), 0x80000000),
    ("rem.s64 overflow", integer_op("rem", "s64"), np.int64, U64, (1 << 63, (1 << 64) - 1), 0),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_recorded(case):
    _, function, dtype, unsigned, patterns, expected = case
    result = function(*(np.array([p], unsigned).view(dtype) for p in patterns))
    assert int(result.view(f"u{result.dtype.itemsize}")[0]) == expected


def test_carry_flag_between_addition_and_subtraction():
    a, b, c = (np.array([x], U32) for x in (0x80000000, 0xB41974B8, 0x2))
    _, flag = sub_carry(a, b)
    assert int(add_carry(c, a, flag)[0][0]) == 0x80000002
    _, flag = add_carry(a, b)
    assert int(sub_carry(c, a, flag)[0][0]) == 0x80000002
