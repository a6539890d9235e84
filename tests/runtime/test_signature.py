"""Parameter offsets by PTX's rule, numbers as bits, and packing."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.instructions.types import TYPES, b8, b32, bf16, f16, f32, f64, s8, s32, s64, type_named, u8, u16, u32, u64
from ptxgen.layouts.errors import PtxgenError
from ptxgen.runtime import ArgumentError, Binder, BytesParam, DimParam, Packer, PointerParam, ScalarParam, Signature, TensorParam

NUMBERS = [name for name, dtype in TYPES.items() if dtype.lanes == 1 and dtype.kind in ("unsigned", "signed", "bits", "float")]


def packed(signature: Signature, *args: object) -> bytes:
    packer = Packer(signature)
    return bytes(packer.pack(Binder(signature)(*args).values).buffer)


def one(dtype, value) -> bytes:
    return packed(Signature("k", [ScalarParam("v", dtype)]), value)


@pytest.mark.parametrize(
    ("params", "offsets", "size"),
    [
        ([u64, u16], (0, 8), 10),  # C's struct would take 16
        ([u16, u64], (0, 8), 16),
        ([u8, u8, u32, u8], (0, 1, 4, 8), 9),
        ([f32, f64, f16], (0, 8, 16), 18),
        ([], (), 0),
    ],
)
def test_offsets(params, offsets, size):
    signature = Signature("k", [ScalarParam(f"p{i}", dtype) for i, dtype in enumerate(params)])
    assert (signature.offsets, signature.size) == (offsets, size)
    assert Packer(signature).layout.size == size


def test_a_block_of_bytes_has_its_own_alignment():
    signature = Signature("k", [ScalarParam("n", u8), BytesParam("map", 128, 64), ScalarParam("m", u8)])
    assert signature.offsets == (0, 64, 192)
    data = bytes(range(128))
    assert packed(signature, 1, data, 2) == b"\1" + bytes(63) + data + b"\2"
    with pytest.raises(ArgumentError, match="k: argument 'map' is 3 bytes; the parameter is a block of 128 bytes"):
        packed(signature, 1, b"abc", 2)


@given(st.lists(st.sampled_from(["u8", "s16", "b32", "f32", "u64", "f64", "f16"]), max_size=12))
def test_offsets_are_the_least_aligned_ones(names):
    signature = Signature("k", [ScalarParam(f"p{i}", TYPES[name]) for i, name in enumerate(names)])
    end = 0
    for name, offset in zip(names, signature.offsets):
        size = TYPES[name].bits // 8
        assert offset % size == 0 and end <= offset < end + size
        end = offset + size
    assert signature.size == end


def test_a_float_for_f32_takes_four_bytes():
    assert one(f32, 1.5) == struct.pack("<f", 1.5)
    assert packed(Signature("k", [ScalarParam("a", f32), ScalarParam("n", u32)]), 1.5, 7) == struct.pack("<fI", 1.5, 7)


@given(st.floats(allow_nan=False, width=32))
def test_floats_round_as_numpy_rounds(value):
    assert one(f32, value) == np.float32(value).tobytes()
    assert one(f64, value) == np.float64(value).tobytes()
    if abs(value) < 1e38:
        assert one(bf16, value) == np.float32(value).astype(ml_dtypes.bfloat16).tobytes()


@given(st.integers(-(1 << 65), 1 << 65), st.sampled_from(["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]))
def test_integers_are_exact_or_refused(value, name):
    info = np.iinfo(np.dtype(f"{'u' if name[0] == 'u' else ''}int{name[1:]}"))
    if info.min <= value <= info.max:
        assert one(TYPES[name], value) == np.array(value, info.dtype).tobytes()
    else:
        with pytest.raises(ArgumentError, match=f"is {value}, which is outside .{name}'s range {info.min} to {info.max}"):
            one(TYPES[name], value)


def test_untyped_bits_take_either_sign():
    assert one(b8, 255) == one(b8, -1) == b"\xff"
    assert one(b32, -2) == one(b32, 0xFFFFFFFE)
    for value in (256, -129):
        with pytest.raises(ArgumentError, match=r"outside \.b8's range -128 to 255"):
            one(b8, value)


@pytest.mark.parametrize("value", [True, np.bool_(True), np.uint8(1), np.int64(1), np.array(1)])
def test_numpy_scalars_and_bools(value):
    assert one(u32, value) == one(s8, value) + bytes(3) == b"\1\0\0\0"
    assert one(f32, value) == one(f32, np.float64(1)) == one(f32, 1.0)


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        (u32, 1.0, "k: argument 'v' is 1.0, which is no integer; pass int(...) if truncation is meant (the signature says .u32)"),
        (u32, None, "k: argument 'v' is None, which is no integer (the signature says .u32)"),
        (s32, "7", "k: argument 'v' is '7', which is no integer (the signature says .s32)"),
        (f32, 1j, "k: argument 'v' is 1j, which is no real number (the signature says .f32)"),
        (f32, 1e300, "k: argument 'v' is 1e+300, which is outside the range of .f32 (the signature says .f32)"),
        (f16, 65520.0, "k: argument 'v' is 65520.0, which is outside the range of .f16 (the signature says .f16)"),
        (bf16, 1e39, "k: argument 'v' is 1e+39, which is outside the range of .bf16 (the signature says .bf16)"),
        (f64, 10**400, f"k: argument 'v' is {10**400}, which is outside the range of .f64 (the signature says .f64)"),
        (s64, np.zeros(2),
         "k: argument 'v' is an array (ndarray); this parameter is a number: pass value.item() (the signature says .s64)"),
    ],
)  # fmt: skip
def test_what_is_no_such_number(dtype, value, message):
    with pytest.raises(ArgumentError) as caught:
        one(dtype, value)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", NUMBERS)
def test_every_scalar_type_can_be_passed(name):
    dtype = TYPES[name]
    if dtype.bits > 64:
        with pytest.raises(PtxgenError, match=f"a .{name} can't be passed by value"):
            ScalarParam("v", dtype)
    else:
        assert len(one(dtype, 1)) == dtype.bits // 8


def test_infinities_pass():
    assert one(f32, float("inf")) == b"\0\0\x80\x7f"
    assert one(bf16, float("-inf")) == b"\x80\xff"


def test_narrow_floats_against_the_conversion_table():
    assert [one(type_named("e4m3"), value).hex() for value in (0.40625, 448.0, 13.0)] == ["2d", "7e", "55"]


def test_pointers():
    signature = Signature("k", [PointerParam("p")])
    assert packed(signature, 0x7F00_0000_1000) == struct.pack("<Q", 0x7F00_0000_1000)
    array = np.arange(6.0).reshape(2, 3)
    assert packed(signature, array) == struct.pack("<Q", array.ctypes.data)
    assert packed(signature, -2) == struct.pack("<q", -2)
    for value, found in [(1.5, "a float"), (True, "a bool"), (1 << 64, f"{1 << 64}, which has more than 64 bits")]:
        with pytest.raises(ArgumentError, match=f"k: argument 'p' is {found}"):
            packed(signature, value)
    with pytest.raises(ArgumentError, match="an untyped pointer can't carry strides"):
        packed(signature, array.T)


def test_wrong_signatures():
    with pytest.raises(PtxgenError, match="parameter 'x': 1 strides for 2 axes"):
        TensorParam("x", f32, [2, 2], strides=[1])
    with pytest.raises(PtxgenError, match="parameter 'x': align=12 is no power of two"):
        TensorParam("x", f32, [2], align=12)
    with pytest.raises(PtxgenError, match="k: no tensor has a dimension called 'm', so nothing gives it a value; dimensions: n"):
        Signature("k", [TensorParam("x", f32, ["n"]), DimParam("m", u32)])


def test_buffers_are_used_again():
    packer = Packer(Signature("k", [ScalarParam("v", u32)]))
    first = packer.pack((1,))
    second = packer.pack((2,))
    assert first is not second and bytes(first.buffer) == struct.pack("<I", 1)
    packer.release(first)
    assert packer.pack((3,)) is first
