"""A sample of every register family through whole kernels, against NumPy and Python integers."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest

from ptxgen.emulator.operands import dtype_of
from ptxgen.emulator.semantics.table import UNABLE, gaps, lookup_semantics
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.registry import Match, entries, lookup

RNG = np.random.default_rng(7)
U32 = np.concatenate([RNG.integers(0, 2**32, 50, dtype=np.uint32), np.array([0, 1, 2**31, 2**32 - 1, 2**31 - 1, 31], np.uint32)])
V32 = RNG.permutation(U32)
W32 = RNG.permutation(U32)
S32, T32 = U32.view(np.int32), V32.view(np.int32)
U64 = RNG.integers(0, 2**64, 56, dtype=np.uint64)
V64 = RNG.integers(0, 2**64, 56, dtype=np.uint64)
F32 = np.concatenate([RNG.normal(0, 100, 50), [0.0, -0.0, np.inf, -np.inf, 1e-40, 3.4e38]]).astype(np.float32)
G32 = RNG.permutation(F32)


def integers(values: np.ndarray) -> list[int]:
    return [int(value) for value in values]


def wrap(values: list[int], bits: int) -> np.ndarray:
    return np.array([value % (1 << bits) for value in values], f"u{bits // 8}")


# Families whose contracts are written and whose semantics are not, or not all.
AWAITED = {"sparsity", "tensor_memory"}


def test_every_entry_of_the_registry_has_semantics() -> None:
    assert [gap for gap in gaps() if gap.partition("/")[0] not in {*AWAITED, *UNABLE}] == []


INTEGER = [
    ("add.u32 {d}, {a}, {b};", lambda a, b: a + b, U32, V32, 32),
    ("sub.s32 {d}, {a}, {b};", lambda a, b: a - b, S32, T32, 32),
    ("mul.lo.u64 {d}, {a}, {b};", lambda a, b: a * b, U64, V64, 64),
    ("mul.hi.u64 {d}, {a}, {b};", lambda a, b: a * b >> 64, U64, V64, 64),
    ("mul.hi.s32 {d}, {a}, {b};", lambda a, b: a * b >> 32, S32, T32, 32),
    ("mul.wide.s32 {d}, {a}, {b};", lambda a, b: a * b, S32, T32, 64),
    ("and.b32 {d}, {a}, {b};", lambda a, b: a & b, U32, V32, 32),
    ("xor.b64 {d}, {a}, {b};", lambda a, b: a ^ b, U64, V64, 64),
    ("shl.b32 {d}, {a}, {b};", lambda a, b: a << b if b < 32 else 0, U32, V32 % 64, 32),
    ("shr.s32 {d}, {a}, {b};", lambda a, b: a >> min(b, 31), S32, V32 % 64, 32),
    ("min.s32 {d}, {a}, {b};", min, S32, T32, 32),
    ("add.sat.s32 {d}, {a}, {b};", lambda a, b: max(-(2**31), min(a + b, 2**31 - 1)), S32, T32, 32),
    ("sub.s32 {d}, {a}, -5;", lambda a, b: a + 5, S32, T32, 32),
]


@pytest.mark.parametrize("line, oracle, a, b, bits", INTEGER, ids=[case[0].split()[0] for case in INTEGER])
def test_integer_operations(apply, line, oracle, a, b, bits) -> None:
    expected = wrap([oracle(x, y) for x, y in zip(integers(a), integers(b))], bits)
    np.testing.assert_array_equal(apply(line, f"u{bits // 8}", a, b), expected)


def test_packed_integers_are_lanes(apply) -> None:
    a, b = U32.view(np.int16).reshape(-1, 2), V32.view(np.int16).reshape(-1, 2)
    np.testing.assert_array_equal(apply("add.s16x2 {d}, {a}, {b};", "u4", U32, V32).view(np.int16).reshape(-1, 2), a + b)
    np.testing.assert_array_equal(
        apply("max.relu.s16x2 {d}, {a}, {b};", "u4", U32, V32).view(np.int16).reshape(-1, 2), np.maximum(np.maximum(a, b), 0)
    )


def test_bit_fields(apply) -> None:
    ones = apply("popc.b32 {d}, {a};", "u4", U32)
    assert integers(ones) == [bin(value).count("1") for value in integers(U32)]
    field = apply("bfe.u32 {d}, {a}, 5, 7;", "u4", U32)
    assert integers(field) == [value >> 5 & 127 for value in integers(U32)]
    majority = apply("lop3.b32 {d}, {a}, {b}, {c}, 0xE8;", "u4", U32, V32, W32)
    np.testing.assert_array_equal(majority, (U32 & V32) | (U32 & W32) | (V32 & W32))
    chosen = apply("prmt.b32 {d}, {a}, {b}, 0x7210;", "u4", U32, V32)
    np.testing.assert_array_equal(chosen, (U32 & 0xFFFFFF) | (V32 & 0xFF000000))


def test_carryless_product(apply) -> None:
    def product(a: int, b: int) -> int:
        total = 0
        for bit in range(64):
            total ^= (a << bit) * (b >> bit & 1)
        return total

    pairs = list(zip(integers(U64), integers(V64)))
    for part, shift in (("lo", 0), ("hi", 64)):
        found = apply(f"clmad.{part}.u64 {{d}}, {{a}}, {{b}}, {{a}};", "u8", U64, V64)
        assert integers(found) == [(product(a, b) >> shift ^ a) % 2**64 for a, b in pairs]


def test_carry_chain_adds_128_bits(apply) -> None:
    lines = """
        mov.u64 %rd20, 0xFFFFFFFFFFFFFFF0;
        add.cc.u64 %rd21, {a}, %rd20;
        addc.u64 {d}, {b}, 7;
    """
    expected = [((b << 64) + a + 0xFFFFFFFFFFFFFFF0 >> 64) + 7 for a, b in zip(integers(U64), integers(V64))]
    np.testing.assert_array_equal(apply(lines, "u8", U64, V64), wrap(expected, 64))


def test_borrow_chain_subtracts_64_bits(apply) -> None:
    lines = """
        mov.b64 {{%r1, %r2}}, {a}; mov.b64 {{%r3, %r4}}, {b};
        sub.cc.u32 %r5, %r1, %r3; subc.u32 %r6, %r2, %r4;
        mov.b64 {d}, {{%r5, %r6}};
    """
    np.testing.assert_array_equal(apply(lines, "u8", U64, V64), U64 - V64)


FLOAT = [
    ("add.f32 {d}, {a}, {b};", lambda a, b: a + b),
    ("sub.rn.f32 {d}, {a}, {b};", lambda a, b: a - b),
    ("mul.f32 {d}, {a}, {b};", lambda a, b: a * b),
    ("div.rn.f32 {d}, {a}, {b};", lambda a, b: a / b),
    ("min.f32 {d}, {a}, {b};", np.fmin),
]


@pytest.mark.parametrize("line, oracle", FLOAT, ids=[case[0].split()[0] for case in FLOAT])
def test_floating_operations(apply, line, oracle) -> None:
    with np.errstate(all="ignore"):
        expected = oracle(F32, G32)
    np.testing.assert_array_equal(apply(line, "f4", F32, G32), expected)


def test_fma_rounds_once(apply) -> None:
    a, b, c = (RNG.normal(0, 1, 40).astype(np.float32) for _ in range(3))
    found = apply("fma.rn.f32 {d}, {a}, {b}, {c};", "f4", a, b, c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c)]
    for value, truth in zip(found, exact):
        error = abs(Fraction(float(value)) - truth)
        for neighbour in (np.nextafter(value, np.float32(-np.inf)), np.nextafter(value, np.float32(np.inf))):
            assert error <= abs(Fraction(float(neighbour)) - truth)


def test_packed_f32_and_half(apply) -> None:
    pair = np.stack([F32, G32], 1).copy().view(np.uint64).reshape(-1)
    doubled = apply("add.rn.f32x2 {d}, {a}, {a};", "u8", pair).view(np.float32).reshape(-1, 2)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(doubled, 2 * np.stack([F32, G32], 1))
    half = RNG.normal(0, 3, (40, 2)).astype(np.float16)
    packed = half.view(np.uint32).reshape(-1)
    product = apply("mul.f16x2 {d}, {a}, {a};", "u4", packed).view(np.float16).reshape(-1, 2)
    np.testing.assert_array_equal(product, half * half)


def test_float_constants(apply) -> None:
    zero = np.zeros(4, np.float32)
    assert apply("add.f32 {d}, {a}, 0f3FC00000;", "f4", zero)[0] == 1.5
    assert apply("add.f32 {d}, {a}, 0.1;", "f4", zero)[0] == struct.unpack("<f", struct.pack("<f", 0.1))[0]


def test_comparison_and_selection(apply) -> None:
    found = apply("setp.lt.s32 %p1, {a}, {b}; selp.b32 {d}, {a}, {b}, %p1;", "i4", S32, T32)
    np.testing.assert_array_equal(found, np.minimum(S32, T32))
    lines = "setp.gt.and.f32 %p1|%p2, {a}, {b}, 1; selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 2, 0, %p2; or.b32 {d}, %r1, %r2;"
    np.testing.assert_array_equal(apply(lines, "u4", F32, G32), np.where(F32 > G32, 1, 2))
    np.testing.assert_array_equal(apply("set.ge.u32.f32 {d}, {a}, {b};", "u4", F32, G32), np.where(F32 >= G32, 2**32 - 1, 0))
    half = RNG.normal(0, 3, (40, 2)).astype(np.float16)
    other = half[::-1].copy()
    lanes = apply("set.lt.f16x2.f16x2 {d}, {a}, {b};", "u4", half.view(np.uint32)[:, 0], other.view(np.uint32)[:, 0])
    np.testing.assert_array_equal(lanes.view(np.float16).reshape(-1, 2), (half < other).astype(np.float16))


def test_packing_and_unpacking(apply) -> None:
    lines = "mov.b32 {{%h1, %h2}}, {a}; mov.b32 {d}, {{%h2, %h1}};"
    np.testing.assert_array_equal(apply(lines, "u4", U32), U32 >> 16 | U32 << 16)
    lines = "mov.b64 %rd1, {{{a}, {b}}}; mov.b128 %q1, {{%rd1, %rd1}}; mov.b128 {{%rd2, %rd3}}, %q1; mov.b64 {{_, {d}}}, %rd3;"
    np.testing.assert_array_equal(apply(lines, "u4", U32, V32), V32)


def test_predicates(apply) -> None:
    lines = """
        setp.lt.u32 %p1, {a}, {b}; not.pred %p2, %p1; xor.pred %p3, %p1, %p2; mov.pred %p4, !%p3;
        selp.u32 %r1, 1, 0, %p3; selp.u32 %r2, 2, 0, %p4; add.u32 {d}, %r1, %r2;
    """
    np.testing.assert_array_equal(apply(lines, "u4", U32, V32), np.ones(len(U32)))


def test_conversions(apply) -> None:
    np.testing.assert_array_equal(apply("cvt.rn.f32.s32 {d}, {a};", "f4", S32), S32.astype(np.float32))
    finite = np.array([-300.7, -0.5, 0.5, 1.5, 2.5, 254.6, 1e10, np.nan], np.float32)
    expected = np.array([-128, 0, 0, 2, 2, 127, 127, 0], np.int32)
    np.testing.assert_array_equal(apply("cvt.rni.sat.s8.f32 {d}, {a};", "i4", finite), expected)  # fills the wider register by sign
    np.testing.assert_array_equal(apply("cvt.u8.u32 {d}, {a};", "u4", U32), U32 & 255)
    np.testing.assert_array_equal(apply("cvt.s64.s32 {d}, {a};", "i8", S32), S32.astype(np.int64))
    np.testing.assert_array_equal(apply("cvt.u64.u32 {d}, {a};", "u8", U32), U32.astype(np.uint64))
    pair = apply("cvt.rn.f16x2.f32 {d}, {a}, {b};", "u4", np.float32([1.0]), np.float32([2.0]))
    assert pair[0] == 0x3C004000
    narrow = apply("cvt.rn.satfinite.e4m3x2.f32 {d}, {a}, {b};", "u2", np.float32([0.40625]), np.float32([12.9]))
    assert narrow[0] == 0x2D55


def test_wider_bf16_pairs_are_exact(apply) -> None:
    import ml_dtypes

    codes = np.arange(256, dtype=np.uint16) * 257
    found = apply("cvt.rn.bf16x2.e4m3x2 {d}, {a};", "u4", codes).view(ml_dtypes.bfloat16)[::2].astype(np.float32)
    np.testing.assert_array_equal(found, np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32))


def test_every_form_of_the_registry_is_compiled() -> None:
    for entry in entries():
        kind, make = lookup_semantics(entry) or ("", None)
        if kind != "semantics":
            continue
        for form in forms(entry):
            for bindings in form.combinations():
                assert callable(make(Match(form.opcode(bindings), form, bindings)))


def test_packed_comparison(apply) -> None:
    a, b = U32.view(np.int8).reshape(-1, 4), V32.view(np.int8).reshape(-1, 4)
    found = apply("set.lt.s8x4 {d}, {a}, {b};", "u4", U32, V32).view(np.int8).reshape(-1, 4)
    np.testing.assert_array_equal(found, -(a < b).astype(np.int8))


def test_mixed_precision(apply) -> None:
    half = np.array([1.5, -2.0, 6e-8], np.float16)
    single = np.array([0.25, 1e10, 1.0], np.float32)
    np.testing.assert_array_equal(apply("add.f32.f16 {d}, {a}, {b};", "f4", half, single), half.astype(np.float32) + single)


# Explicit bits of the fraction, the least exponent of a normal number, the largest number.
NARROW = {"f16": (10, -14, 65504.0), "bf16": (7, -126, float(np.uint32(0x7F7F0000).view(np.float32)))}


def cut(exact: Fraction, name: str, flush: bool) -> float:
    """Rounded towards zero to a 16-bit float."""
    fraction, least, largest = NARROW[name]
    size, exponent = abs(exact), least
    if flush and size < Fraction(2) ** least:
        return 0.0
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - fraction)
    return min(float(size / step // 1 * step), largest) * (-1 if exact < 0 else 1)


CUT = ["add.rz.ftz.f16x2", "sub.rz.ftz.f16x2", "mul.ftz.rz.f16x2", "add.rz.bf16x2", "sub.rz.bf16x2", "mul.rz.bf16x2"]


@pytest.mark.parametrize("opcode", CUT)
def test_pairs_of_floats_to_pairs_of_halves_are_cut(opcode: str) -> None:
    import ml_dtypes

    name = "bf16" if "bf16" in opcode else "f16"
    function = _compiled(f"{opcode}.f32x2.f32x2")
    a, b = (np.ldexp(RNG.normal(0, 1, 200), RNG.integers(-14, 16, 200)).astype(np.float32) for _ in range(2))
    a[:6], b[:6] = [3e38, 1.0, 2.0**-13, 1.5, -6e4, 7e-39], [3e38, -1e-39, -(2.0**-13), -1e-8, -6e4, 1.0]
    found = function(a.view(np.uint64), b.view(np.uint64)).view(np.float16 if name == "f16" else ml_dtypes.bfloat16)
    combine = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}[opcode[:3]]
    flush = "ftz" in opcode
    sources = [[Fraction(0) if flush and abs(x) < 2.0**-126 else Fraction(float(x)) for x in values] for values in (a, b)]
    np.testing.assert_array_equal(found.astype(np.float64), [cut(combine(x, y), name, flush) for x, y in zip(*sources)])


@pytest.mark.parametrize("opcode, of", [("mul.bf16x2.bf16x2.f16x2", "bfloat16"), ("mul.f16x2.f16x2.bf16x2", "float16")])
def test_mixed_pairs_are_multiplied_with_one_rounding(opcode: str, of: str) -> None:
    import ml_dtypes

    brain, half = (RNG.normal(0, 8, 200).astype(one) for one in (ml_dtypes.bfloat16, np.float16))
    first, second = (brain, half) if of == "bfloat16" else (half, brain)
    found = _compiled(opcode)(first.view(np.uint32), second.view(np.uint32)).view(first.dtype)
    exact = brain.astype(np.float64) * half.astype(np.float64)  # of 19 bits: so is .f32, which then rounds once
    np.testing.assert_array_equal(found, exact.astype(np.float32).astype(first.dtype))
    special = np.array([np.inf, np.nan], first.dtype).view(np.uint32), np.array([0.0, 1.0], second.dtype).view(np.uint32)
    assert _compiled(opcode)(*special).view(np.uint16).tolist() == [0x7FFF, 0x7FFF]


def _compiled(opcode: str):
    (match,) = lookup(opcode)
    kind, make = lookup_semantics(match.entry)
    assert kind == "semantics"
    return make(match)


def _random(of, count: int) -> np.ndarray:
    dtype = np.dtype(dtype_of(of))
    if dtype == np.bool_:
        return RNG.integers(0, 2, count).astype(np.bool_)
    return RNG.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)


def test_every_form_gives_values_of_its_destination() -> None:
    """As many values as threads, as wide as the destination, and the same whether a source is one value or one for each thread."""
    for entry in entries():
        kind, make = lookup_semantics(entry) or ("", None)
        if kind != "semantics":
            continue
        for form in forms(entry):
            for bindings in form.combinations():
                match = Match(form.opcode(bindings), form, bindings)
                function = make(match)
                operands = [entry.operands[slot.name] for slot in form.operand_lists[0]]
                if any(match.count(operand.vector) > 1 for operand in operands):  # several registers hold a value, or several values
                    continue
                target, *sources = ((match.type(operand.type), operand) for operand in operands)
                if any(of.bits == 128 for of, _ in sources):  # two numbers each
                    continue
                values = [_random(of, 5) for of, _ in sources]
                with np.errstate(all="ignore"):
                    result = function(*values)
                    one = function(*(value[:1] for value in values))
                assert result.shape == (5,), match
                assert result.dtype.itemsize == np.dtype(dtype_of(target[0])).itemsize, match
                assert one.shape == (1,) and one.tobytes() == result[:1].tobytes(), match
                if len(values) > 1:
                    with np.errstate(all="ignore"):
                        mixed = function(values[0], *(value[:1] for value in values[1:]))
                        spread = function(values[0], *(np.repeat(value[:1], 5) for value in values[1:]))
                    assert mixed.shape == (5,) and mixed.tobytes() == spread.tobytes(), match


def test_operand_order_of_uncommon_instructions(apply) -> None:
    inserted = apply("bfi.b32 {d}, {a}, {b}, 8, 4;", "u4", U32, V32)
    np.testing.assert_array_equal(inserted, (V32 & 0xFFFFF0FF) | (U32 & 15) << 8)
    funnel = apply("shf.l.wrap.b32 {d}, {a}, {b}, 8;", "u4", U32, V32)
    np.testing.assert_array_equal(funnel, V32 << 8 | U32 >> 24)
    difference = apply("sad.u32 {d}, {a}, {b}, {c};", "u4", U32, V32, W32)
    np.testing.assert_array_equal(difference, np.maximum(U32, V32) - np.minimum(U32, V32) + W32)
    chosen = apply("slct.b32.s32 {d}, {a}, {b}, {c};", "u4", U32, V32, W32)
    np.testing.assert_array_equal(chosen, np.where(W32.view(np.int32) >= 0, U32, V32))
    dot = apply("dp4a.s32.u32 {d}, {a}, {b}, {c};", "i4", U32, V32, W32)
    lanes = (U32.view(np.int8).reshape(-1, 4).astype(np.int64) * V32.view(np.uint8).reshape(-1, 4)).sum(1)
    np.testing.assert_array_equal(dot, (lanes + W32).astype(np.uint32).view(np.int32))
    np.testing.assert_array_equal(apply("mad24.lo.u32 {d}, {a}, {b}, {c};", "u4", U32, V32, W32), (U32 & 0xFFFFFF) * (V32 & 0xFFFFFF) + W32)
    sign = apply("copysign.f32 {d}, {a}, {b};", "f4", F32, np.abs(G32))
    np.testing.assert_array_equal(sign, np.copysign(G32, F32))
    top = apply("bfind.u32 {d}, {a};", "u4", U32)
    assert integers(top) == [value.bit_length() - 1 if value else 2**32 - 1 for value in integers(U32)]


def test_saturating_pack(apply) -> None:
    values, others = np.array([-200, 100, 3, 2**31 - 1], np.int32), np.array([127, 128, -4, -(2**31)], np.int32)
    c = np.array([0xABCD1234] * 4, np.uint32)
    found = apply("cvt.pack.sat.s8.s32.b32 {d}, {a}, {b}, {c};", "u4", values, others, c)
    expected = (c << 16) | np.clip(values, -128, 127).view(np.uint32) % 256 << 8 | np.clip(others, -128, 127).view(np.uint32) % 256
    np.testing.assert_array_equal(found, expected)
    pair = apply("cvt.pack.sat.u16.s32 {d}, {a}, {b};", "u4", values, others)
    np.testing.assert_array_equal(pair, np.clip(values, 0, 65535).astype(np.uint32) << 16 | np.clip(others, 0, 65535).astype(np.uint32))
