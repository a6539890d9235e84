from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptxgen.emulator.numerics import (
    NumericsError,
    bfe,
    bfi,
    bfind,
    bmsk,
    brev,
    clz,
    fns,
    funnel_shift,
    lop3,
    popc,
    prmt,
    shift_op,
    szext,
)

RNG = np.random.default_rng(0)
COUNT = 500
WORDS = RNG.integers(0, 1 << 32, COUNT, dtype=np.uint32) >> RNG.integers(0, 32, COUNT, dtype=np.uint32)
WORDS[:4] = 0, 1, 0xFFFFFFFF, 0x80000000
OTHERS = RNG.permutation(WORDS) ^ np.uint32(0x5A5A0F0F)
LONGS = (WORDS.astype(np.uint64) << np.uint64(32)) | OTHERS
LONGS[:4] = 0, 1, 2**64 - 1, 2**63
AMOUNTS = RNG.choice(np.array([0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 2**32 - 1], np.uint32), COUNT)
FIELDS = RNG.integers(0, 80, COUNT, dtype=np.uint32)
WIDTHS = RNG.choice(np.array([0, 1, 7, 16, 31, 32, 33, 64, 65, 255], np.uint32), COUNT)
M32, M64 = 2**32 - 1, 2**64 - 1


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts(bits):
    dtype = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    values = LONGS.astype(dtype)
    mask = (1 << bits) - 1
    pairs = list(zip(values.tolist(), [min(n, bits) for n in AMOUNTS.tolist()]))
    assert shift_op("shl", f"b{bits}")(values, AMOUNTS).tolist() == [(v << n) & mask for v, n in pairs]
    for type_ in (f"u{bits}", f"b{bits}"):
        assert shift_op("shr", type_)(values, AMOUNTS).tolist() == [v >> n for v, n in pairs]
    right = shift_op("shr", f"s{bits}")(values.view(f"i{bits // 8}"), AMOUNTS)
    assert right.tolist() == [signed(v, bits) >> n for v, n in pairs]


def test_funnel_shifts():
    for mode in ("clamp", "wrap"):
        amounts = [min(n, 32) if mode == "clamp" else n & 31 for n in AMOUNTS.tolist()]
        joined = [(b << 32) | a for a, b in zip(WORDS.tolist(), OTHERS.tolist())]
        left, right = (funnel_shift(d, mode)(WORDS, OTHERS, AMOUNTS) for d in "lr")
        assert left.tolist() == [(v << n >> 32) & M32 for v, n in zip(joined, amounts)]
        assert right.tolist() == [(v >> n) & M32 for v, n in zip(joined, amounts)]


@pytest.mark.parametrize("values", [WORDS, LONGS], ids=["b32", "b64"])
def test_counts(values):
    bits = values.dtype.itemsize * 8
    numbers = values.tolist()
    assert popc(values).tolist() == [bin(v).count("1") for v in numbers]
    assert clz(values).tolist() == [bits - v.bit_length() for v in numbers]
    assert brev(values).tolist() == [int(f"{v:0{bits}b}"[::-1], 2) for v in numbers]
    assert bfind(f"u{bits}")(values).tolist() == [(v.bit_length() - 1) & M32 for v in numbers]
    as_signed = [signed(v, bits) for v in numbers]
    tops = [(v if v >= 0 else ~v).bit_length() - 1 for v in as_signed]
    assert bfind(f"s{bits}")(values.view(f"i{bits // 8}")).tolist() == [t & M32 for t in tops]
    shifts = [bits - 1 - t if t >= 0 else M32 for t in tops]
    assert bfind(f"s{bits}", shiftamt=True)(values.view(f"i{bits // 8}")).tolist() == shifts


def test_counts_without_numpy_2():
    from ptxgen.emulator.numerics.bits import _count_ones

    assert _count_ones(LONGS).tolist() == [bin(v).count("1") for v in LONGS.tolist()]


@pytest.mark.parametrize("values", [WORDS, LONGS], ids=["b32", "b64"])
def test_extract_and_insert(values):
    bits = values.dtype.itemsize * 8
    mask = (1 << bits) - 1
    other = values[::-1].copy()
    rows = list(zip(values.tolist(), other.tolist(), FIELDS.tolist(), WIDTHS.tolist()))

    def extract(value: int, position: int, width: int, keep_sign: bool) -> int:
        sign = 0
        if keep_sign and width:
            sign = (value >> min(position + width - 1, bits - 1)) & 1
        field = [(value >> (position + i)) & 1 if i < width and position + i < bits else sign for i in range(bits)]
        return sum(bit << i for i, bit in enumerate(field))

    unsigned = bfe(f"u{bits}")(values, FIELDS, WIDTHS)
    assert unsigned.tolist() == [extract(a, p, w, False) for a, _, p, w in rows]
    result = bfe(f"s{bits}")(values.view(f"i{bits // 8}"), FIELDS, WIDTHS)
    assert (result.view(values.dtype)).tolist() == [extract(a, p, w, True) for a, _, p, w in rows]

    def insert(a: int, b: int, position: int, width: int) -> int:
        field = (((1 << width) - 1) << position) & mask
        return (b & ~field) | ((a << position) & field)

    assert bfi(values, other, FIELDS, WIDTHS).tolist() == [insert(a, b, p, w) for a, b, p, w in rows]


def test_masks_and_extension():
    pairs = list(zip(FIELDS.tolist(), WIDTHS.tolist()))
    clamp = [0 if a > 31 else ((((1 << min(b, 32)) - 1) << a) & M32) for a, b in pairs]
    assert bmsk("clamp")(FIELDS, WIDTHS).tolist() == clamp
    wrapped = [(((1 << (b & 31)) - 1) << (a & 31)) & M32 for a, b in pairs]
    assert bmsk("wrap")(FIELDS, WIDTHS).tolist() == wrapped
    assert bmsk("wrap")(np.array([1], np.uint32), np.array([2], np.uint32)).tolist() == [6]
    for mode in ("clamp", "wrap"):
        widths = [min(w, 32) if mode == "clamp" else w & 31 for w in WIDTHS.tolist()]
        low = [v & ((1 << w) - 1) for v, w in zip(WORDS.tolist(), widths)]
        assert szext(mode, "u32")(WORDS, WIDTHS).tolist() == low
        expected = [signed(v, w) if w else 0 for v, w in zip(low, widths)]
        assert szext(mode, "s32")(WORDS.view(np.int32), WIDTHS).tolist() == expected


def test_fns():
    masks = WORDS[:200]
    bases = RNG.integers(0, 32, 200, dtype=np.uint32)
    offsets = RNG.integers(-6, 7, 200).astype(np.int32)

    def find(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if (mask >> base) & 1 else M32
        step = 1 if offset > 0 else -1
        hits = [p for p in range(base, 32 if step > 0 else -1, step) if (mask >> p) & 1]
        return hits[abs(offset) - 1] if len(hits) >= abs(offset) else M32

    rows = zip(masks.tolist(), bases.tolist(), offsets.tolist())
    assert fns(masks, bases, offsets).tolist() == [find(*row) for row in rows]


def test_every_lop3_table():
    a, b, c = (np.array([v], np.uint32) for v in (0xF0, 0xCC, 0xAA))
    for table in range(256):
        # The ISA's own definition: applied to these three constants a function yields its table.
        assert int(lop3(table)(a, b, c)[0]) & 0xFF == table
    random = lop3(0xE8)(WORDS, OTHERS, FIELDS)
    np.testing.assert_array_equal(random, (WORDS & OTHERS) | (WORDS & FIELDS) | (OTHERS & FIELDS))


# Bytes d.b3 d.b2 d.b1 d.b0 for c & 3 = 0 .. 3, as the ISA's table lists them.
PRMT_MODES = {
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}


def permuted(a: int, b: int, choices: list[int]) -> int:
    joined = (b << 32) | a
    result = 0
    for i, choice in enumerate(choices):
        byte = (joined >> (8 * (choice & 7))) & 255
        result |= ((255 if byte & 128 else 0) if choice & 8 else byte) << (8 * i)
    return result


def test_prmt():
    rows = list(zip(WORDS.tolist(), OTHERS.tolist(), LONGS.astype(np.uint32).tolist()))
    expected = [permuted(a, b, [(c >> (4 * i)) & 15 for i in range(4)]) for a, b, c in rows]
    assert prmt()(WORDS, OTHERS, LONGS.astype(np.uint32)).tolist() == expected
    for selector in (0x3210, 0x7654, 0x5410, 0xBA98, 0x0123):
        constant = prmt()(WORDS, OTHERS, np.uint32(selector))
        choices = [(selector >> (4 * i)) & 15 for i in range(4)]
        assert constant.tolist() == [permuted(a, b, choices) for a, b, _ in rows]


@pytest.mark.parametrize("mode", PRMT_MODES)
def test_prmt_modes(mode):
    for selector, digits in itertools.islice(enumerate(PRMT_MODES[mode]), 4):
        result = prmt(mode)(WORDS, OTHERS, np.full(COUNT, selector + 4, np.uint32))
        choices = [int(d) for d in reversed(digits)]
        assert result.tolist() == [permuted(a, b, choices) for a, b in zip(WORDS.tolist(), OTHERS.tolist())]


def test_unknown_forms_are_refused():
    for make in (
        lambda: shift_op("shl", "u32"),
        lambda: funnel_shift("up", "wrap"),
        lambda: bfind("u16"),
        lambda: bmsk("cut"),
        lambda: lop3(256),
        lambda: prmt("rc4"),
        lambda: szext("clamp", "u64"),
    ):
        with pytest.raises(NumericsError):
            make()
