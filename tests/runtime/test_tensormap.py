"""Tensor maps: every rule by name, what the driver is handed, and what a launch or a trace makes of them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.emulator import EmulationError, emulate
from ptxgen.emulator.tensormap import decode_tensor_map
from ptxgen.errors import LayoutError, PtxgenError, TraceError
from ptxgen.instructions.types import f32, type_named, u32
from ptxgen.kernels.host import emulator_arguments
from ptxgen.layouts import Swizzle
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.runtime import (
    ArgumentError,
    Binder,
    DimParam,
    DriverError,
    Packer,
    PointerParam,
    Runner,
    ScalarParam,
    Signature,
    TensorMap,
    TensorMapError,
    TensorMapParam,
    TensorParam,
)
from ptxgen.runtime.fastpath import fast_path_source
from ptxgen.runtime.tensormap import element_kind, swizzle_mode
from ptxgen.text import read
from ptxgen.tracing.builder import active

ROOT = Path(__file__).parents[2]
GOOD = {"kind": "bf16", "shape": (256, 512), "box": (64, 64), "swizzle": "128B", "name": "a"}

# What is changed in a map that is right, the rule, the axis, and the message behind "tensor map of 'a': ".
WRONG = {
    "rank 6": (
        {"shape": (2,) * 5 + (64,), "box": (1,) * 5 + (64,)}, "rank", None,
        "6 axes; a tensor map has 1 to 5. Fix: merge axes that are contiguous, or fix one",
    ),
    "rank 0": (
        {"shape": (), "box": (), "strides": ()}, "rank", None,
        "0 axes; a tensor map has 1 to 5. Fix: merge axes that are contiguous, or fix one",
    ),
    "a stride too many": (
        {"strides": (1024, 2)}, "rank", None,
        "2 strides for 2 axes; 1 are needed (the last axis has none). Fix: one for each axis",
    ),
    "a box extent too few": ({"box": (64,)}, "rank", None, "1 box extents for 2 axes; 2 are needed. Fix: one for each axis"),
    "an element stride too few": (
        {"element_strides": (1,)}, "rank", None, "1 element strides for 2 axes; 2 are needed. Fix: one for each axis",
    ),
    "box 257": (
        {"box": (257, 64)}, "box extent", 0,
        "the box spans 257 elements along axis 0; 1 to 256 are allowed. Fix: 2 copies of 129 elements",
    ),
    "box 0": (
        {"box": (0, 64)}, "box extent", 0,
        "the box spans 0 elements along axis 0; 1 to 256 are allowed. Fix: at least one element",
    ),
    "inner box of 24 bytes": (
        {"box": (64, 12), "swizzle": "none"}, "inner box", 1,
        "the box's rows, 12 elements of 16 bits along axis 1, are 24 bytes; a multiple of 16 is needed. Fix: a box of 16 "
        "elements along axis 1",
    ),
    "inner box past the swizzle": (
        {"box": (64, 72)}, "swizzle span", 1,
        "the box's rows, 72 elements of 16 bits along axis 1, are 144 bytes; swizzle 128B takes at most 128. Fix: a box of at "
        "most 64 elements "
        "along axis 1, and more copies",
    ),
    "inner box past 32 bytes": (
        {"swizzle": "32B"}, "swizzle span", 1,
        "the box's rows, 64 elements of 16 bits along axis 1, are 128 bytes; swizzle 32B takes at most 32. Fix: a box of at "
        "most 16 elements "
        "along axis 1, and more copies",
    ),
    "rows of 130 bytes": (
        {"shape": (256, 65)}, "stride", 0,
        "axis 0 has a stride of 130 bytes, which is 2 modulo 16; strides are multiples of 16 bytes. Fix: rows padded to 144 "
        "bytes (72 elements)",
    ),
    "a stride of 2^40": (
        {"strides": (1 << 40,)}, "stride", 0,
        "axis 0 has a stride of 1099511627776 bytes; 0 to 2^40 - 1 are allowed. Fix: a contiguous copy of the tensor",
    ),
    "a flipped axis": (
        {"strides": (-1024,)}, "stride", 0,
        "axis 0 has a stride of -1024 bytes; 0 to 2^40 - 1 are allowed. Fix: a contiguous copy of the tensor",
    ),
    "no elements": (
        {"shape": (0, 512)}, "extent", 0, "axis 0 has 0 elements; 1 to 2^32 are allowed. Fix: launch nothing for an empty tensor",
    ),
    "an extent past 2^32": (
        {"shape": ((1 << 32) + 1, 512)}, "extent", 0, "axis 0 has 4294967297 elements; 1 to 2^32 are allowed. Fix: split the axis",
    ),
    "more than a block's shared memory": (
        {"kind": "f32", "box": (256, 256), "swizzle": "none"}, "box bytes", None,
        "a copy moves 256, 256 elements, 262144 bytes; 233472 are the most. Fix: a smaller box, and more copies",
    ),
    "inner box of 12 bytes, interleaved": (
        {"interleave": "16B", "swizzle": "none", "shape": (4, 256, 8), "box": (1, 64, 6)}, "inner box", 2,
        "the box's rows, 6 elements of 16 bits along axis 2, are 12 bytes; a multiple of 16 is needed. Fix: a box of 8 elements "
        "along axis 2",
    ),
    "element stride 9": (
        {"element_strides": (9, 1)}, "element stride", 0,
        "the element stride along axis 0 is 9; 1 to 8 are allowed. Fix: a view of the tensor with that stride",
    ),
    "element stride along the contiguous axis": (
        {"element_strides": (1, 2)}, "element stride", 1,
        "the element stride along the contiguous axis 1 is 2, and the hardware ignores it. Fix: 1 there, and take every n-th "
        "element out of "
        "shared memory",
    ),
    "interleave of two axes": (
        {"interleave": "16B"}, "interleave", None, "interleave 16B with 2 axes; it needs 3 to 5. Fix: interleave='none'",
    ),
    "interleave 32B without its swizzle": (
        {"interleave": "32B", "shape": (4, 256, 512), "box": (1, 64, 64)}, "interleave", None,
        "interleave 32B with swizzle 128B; it needs swizzle 32B. Fix: swizzle='32B'",
    ),
    "interleave 32B with strides of 16": (
        {"interleave": "32B", "swizzle": "32B", "shape": (4, 256, 8), "box": (1, 64, 8)}, "stride", 1,
        "axis 1 has a stride of 16 bytes, which is 16 modulo 32; strides are multiples of 32 bytes. Fix: rows padded to 32 "
        "bytes (16 elements)",
    ),
    "padded packed rows": (
        {"kind": "b6x16_p32", "shape": (8, 192), "strides": (160,), "box": (8, 128)}, "packed extent", 1,
        "axis 1 has 192 elements of kind b6x16_p32; a multiple of 128 is needed. Fix: 256 elements",
    ),
    "a padded packed box": (
        {"kind": "b4x16_p64", "shape": (8, 256), "box": (8, 64)}, "packed box", 1,
        "the box spans 64 elements of kind b4x16_p64 along axis 1; it must span 128. Fix: 128",
    ),
    "a padded packed swizzle": (
        {"kind": "b4x16_p64", "shape": (8, 256), "box": (8, 32), "swizzle": "32B"}, "packed box", 1,
        "the box spans 32 elements of kind b4x16_p64 along axis 1; it must span 128. Fix: 128",
    ),
    "odd fours": (
        {"kind": "b4x16", "shape": (8, 33), "strides": (32,), "box": (8, 32), "swizzle": "none"}, "packed extent", 1,
        "axis 1 has 33 elements of kind b4x16; a multiple of 2 is needed. Fix: 34 elements",
    ),
    "NaN among integers": (
        {"kind": "u16", "fill": "nan"}, "fill", None,
        "fill 'nan' for elements of kind u16; only f16, bf16, f32, f64 have NaNs. Fix: fill='zero'",
    ),
    "an unknown swizzle": (
        {"swizzle": "256B"}, "swizzle", None, "swizzle '256B' is none of none, 32B, 64B, 128B, 128B_atom_32B",
    ),
    "an unknown promotion": ({"promotion": "32B"}, "promotion", None, "promotion '32B' is none of none, 64B, 128B, 256B"),
}  # fmt: skip


def made(**changes: object) -> TensorMap:
    options = {**GOOD, **changes}
    return TensorMap(options.pop("kind"), options.pop("shape"), options.pop("strides", None), **options)


@pytest.mark.parametrize("name", WRONG)
def test_every_rule_is_refused_by_name(name: str) -> None:
    changes, rule, axis, message = WRONG[name]
    with pytest.raises(TensorMapError) as caught:
        made(**changes)
    assert str(caught.value) == f"tensor map of 'a': {message}"
    assert (caught.value.rule, caught.value.axis) == (rule, axis)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (1,) * 4 + (64,), "box": (1,) * 4 + (64,), "strides": (16,) * 4},
        {"shape": (64,), "box": (64,)},
        {"box": (256, 64)},
        {"box": (1, 8)},
        {"box": (256, 256), "swizzle": "none"},
        {"strides": ((1 << 40) - 16,)},
        {"shape": (1 << 32, 512)},
        {"element_strides": (8, 1)},
        {"swizzle": "64B", "box": (4, 32)},
        {"swizzle": "128B_atom_32B"},
        {"interleave": "16B", "shape": (4, 256, 8), "box": (1, 64, 8), "swizzle": "none"},
        {"kind": "f32", "box": (228, 256), "swizzle": "none"},
        {"interleave": "32B", "shape": (4, 256, 16), "box": (1, 64, 16), "swizzle": "32B"},
        {"kind": "b6x16_p32", "shape": (8, 256), "box": (8, 128)},
        {"kind": "b4x16", "shape": (8, 256), "box": (8, 256)},
        {"kind": "f64", "shape": (8, 16), "box": (8, 16), "fill": "nan"},
    ],
    ids=str,
)
def test_the_last_legal_number_of_each_rule_is_taken(changes: dict[str, object]) -> None:
    made(**changes)


def test_alignment_of_the_base() -> None:
    made().check_address(0x7F0010)
    with pytest.raises(TensorMapError) as caught:
        made().check_address(0x7F0008)
    assert str(caught.value) == (
        "tensor map of 'a': the tensor begins at an address that is 8 modulo 16; tensor maps need 16-byte alignment. Fix: a tensor that is "
        "no offset view, or a copy of it"
    )
    interleaved = made(interleave="32B", shape=(4, 256, 16), box=(1, 64, 16), swizzle="32B")
    for described in (interleaved, made(kind="b4x16_p64", shape=(8, 256), box=(8, 128))):
        described.check_address(0x20)
        with pytest.raises(TensorMapError, match="16 modulo 32"):
            described.check_address(0x30)


@given(st.integers(1, 5).flatmap(lambda rank: st.tuples(*[st.lists(st.integers(1, 8), min_size=rank, max_size=rank) for _ in range(3)])))
def test_what_a_copy_moves(drawn: tuple[list[int], list[int], list[int]]) -> None:
    extents, box, steps = drawn
    described = TensorMap("u32", [*extents[:-1], extents[-1] * 4], box=[*box[:-1], box[-1] * 4], element_strides=[*steps[:-1], 1])
    taken = np.zeros([*box[:-1], box[-1] * 4], np.uint32)[tuple(slice(None, None, step) for step in [*steps[:-1], 1])]
    assert described.box_shape == taken.shape
    assert described.box_bytes == described.image_bytes == taken.nbytes
    assert described.strides == np.zeros([*extents[:-1], extents[-1] * 4], np.uint32).strides[:-1]


def test_rows_shorter_than_the_swizzle_are_its_span_apart() -> None:
    for swizzle, span in (("32B", 32), ("64B", 64), ("128B", 128)):
        short = made(box=(20, 8), swizzle=swizzle)
        assert (short.row_pitch, short.box_bytes, short.image_bytes) == (span, 20 * 16, 20 * span)
    assert made(box=(20, 8), swizzle="none").row_pitch == 16


def test_elements_packed_in_global_memory_have_gaps_in_shared_memory() -> None:
    assert made(kind="b4x16", shape=(8, 256), box=(8, 64)).box_bytes == 8 * 64 // 2
    assert made(kind="b4x16_p64", shape=(8, 256), box=(8, 128)).box_bytes == 8 * 128
    assert made(kind="b6x16_p32", shape=(8, 256), box=(8, 128)).box_bytes == 8 * 128


def test_a_box_begins_at_whole_16_bytes() -> None:
    assert [made(kind=kind, box=(8, 16), swizzle="none").start_multiple for kind in ("u8", "bf16", "f32", "f64")] == [16, 8, 4, 2]


def test_kinds_of_elements() -> None:
    names = ("bf16", "f16", "f32", "tf32", "e4m3", "e5m2", "s8", "s16", "b32", "s32", "u64")
    assert {name: element_kind(type_named(name)) for name in names} == {
        "bf16": "bf16", "f16": "f16", "f32": "f32", "tf32": "f32", "e4m3": "u8", "e5m2": "u8", "s8": "u8", "s16": "u16", "b32": "u32",
        "s32": "s32", "u64": "u64",
    }  # fmt: skip
    with pytest.raises(TensorMapError, match="elements of 128 bits have no kind"):
        element_kind(type_named("b128"))


def test_swizzles_of_layouts() -> None:
    modes = [swizzle_mode(one) for one in (None, Swizzle.B32, Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM32)]
    assert modes == ["none", "32B", "64B", "128B", "128B_atom_32B"]
    with pytest.raises(TensorMapError, match=r"no tensor map swizzles by Swizzle\(3, 3, 3\)"):
        swizzle_mode(Swizzle(3, 3, 3))


# ---- named dims ------------------------------------------------------------------------------------------------------


def named(name: str) -> Expr:
    return Expr.of(Symbol(name, 0, key=("dim", name)))


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 64))
def test_named_dims_take_their_values_at_launch(b: int, m: int, k8: int) -> None:
    k = 8 * k8
    described = TensorMap("bf16", [named("b"), named("m"), named("k")], box=(1, 64, 64), swizzle="128B")
    found = described.at({"b": b, "m": m, "k": k})
    assert found.shape == (b, m, k)
    fields = found.reversed()
    assert fields.shape == (k, m, b)
    assert fields.box == (64, 64, 1)
    # The stride of an axis with one element says nothing: any legal one stands there.
    for extent, stride, dense in zip((m, b), fields.strides, (2 * k, 2 * k * m)):
        assert stride == (16 if extent == 1 else dense)


def test_what_breaks_a_rule_at_launch_alone() -> None:
    described = TensorMap("bf16", [named("m"), named("k")], box=(64, 64), name="a")
    with pytest.raises(TensorMapError, match="axis 0 has a stride of 130 bytes"):
        described.at({"m": 4, "k": 65})
    with pytest.raises(TensorMapError, match="axis 0 has 0 elements"):
        described.at({"m": 0, "k": 64})
    with pytest.raises(TensorMapError, match="m has its value at launch alone"):
        described.reversed()


def test_equal_descriptions_are_one() -> None:
    one, same = (TensorMap("bf16", [named("m"), named("k")], box=(64, 64)) for _ in range(2))
    other = TensorMap("bf16", [named("m"), named("k")], box=(64, 32))
    assert one == same and hash(one) == hash(same) and one != other


# ---- signatures ------------------------------------------------------------------------------------------------------


def signature(shape: tuple[object, ...] = ("m", "k"), **options: object) -> Signature:
    described = TensorMap(f32, [named(one) if isinstance(one, str) else one for one in shape], box=(4, 16), name="a", **options)
    dims = [DimParam(one, u32) for one in shape if isinstance(one, str)]
    return Signature("copy", [TensorParam("a", f32, shape), *dims, TensorMapParam("a_map", "a", described)])


def test_the_parameter_is_64_byte_aligned_behind_the_dims() -> None:
    found = signature()
    assert found.offsets == (0, 8, 12, 64)
    assert found.size == 192
    assert [one.name for one in found.arguments] == ["a"]
    packed = Packer(found).pack((0x1000, 5, 6, bytes(range(128))))
    assert bytes(packed.buffer)[64:] == bytes(range(128))


def test_a_map_needs_its_tensor_and_its_dims() -> None:
    described = TensorMap("f32", [named("m"), named("k")], box=(4, 16))
    with pytest.raises(PtxgenError, match="copy: 'a_map' is the tensor map of 'b', which is no tensor among the parameters: a"):
        Signature("copy", [TensorParam("a", f32, ["m", "k"]), TensorMapParam("a_map", "b", described)])
    with pytest.raises(PtxgenError, match="no tensor has a dimension called 'k', so nothing gives tensor map 'a_map' a value"):
        Signature("copy", [TensorParam("a", f32, ["m", 4]), TensorMapParam("a_map", "a", described)])


def test_the_rules_that_a_launch_breaks_name_the_kernel() -> None:
    with pytest.raises(ArgumentError) as caught:
        Binder(signature())(np.zeros((8, 17), np.float32))
    assert str(caught.value) == (
        "copy: tensor map of 'a': axis 0 has a stride of 68 bytes, which is 4 modulo 16; strides are multiples of 16 bytes. "
        "Fix: rows padded "
        "to 80 bytes (20 elements)"
    )
    flat = np.zeros(8 * 16 + 1, np.float32)
    with pytest.raises(ArgumentError) as caught:
        Binder(signature())(flat[1:].reshape(8, 16))
    assert str(caught.value) == (
        "copy: argument 'a' is at an address that is 4 modulo 16 (it starts 4 bytes into its allocation); the signature wants 16-byte "
        "alignment. Fix: a.copy() moves it to a fresh allocation"
    )


def test_the_emulator_gets_the_address_that_it_gives_the_tensor() -> None:
    found = signature(swizzle="64B", fill="nan", element_strides=(2, 1))
    bound = Binder(found)(np.zeros((8, 32), np.float32))
    array, m, k, encode = emulator_arguments(found, bound)
    assert array.shape == (8, 32) and (m, k) == (b"\x08\0\0\0", b"\x20\0\0\0")
    fields = decode_tensor_map(encode([0x7F0000001000]))
    assert fields == ("f32", 0x7F0000001000, (32, 8), (128,), (16, 4), (1, 2), "64B", "none", "nan")


# ---- the driver ------------------------------------------------------------------------------------------------------

DRIVEN = """
from ptxgen.runtime.tensormap import TensorMap
from ptxgen.layouts.expr import Expr, Symbol
n = Expr.of(Symbol("n", 0, key=("dim", "n")))
MAPPED = Signature("saxpy", [
    TensorParam("x", f32, ["n"]), TensorParam("y", f32, ["n"]), ScalarParam("a", f32), DimParam("n", u32),
    TensorMapParam("y_map", "y", TensorMap(f32, [n], box=[64], name="y")),
])
mapped = Runner(PTX, "saxpy", MAPPED, grid=1, block=32)
"""


def encodings(calls: list[str]) -> list[str]:
    return [call for call in calls if call.startswith("encode")]


def test_what_the_driver_is_handed(drive) -> None:
    said, calls = drive("""
        maps = [
            TensorMap("bf16", (3, 64, 72), box=(2, 16, 64), swizzle="128B", element_strides=(1, 2, 1), promotion="256B", fill="nan"),
            TensorMap("u8", (64, 96), (112,), box=(8, 32), swizzle="32B", promotion="none"),
            TensorMap("f64", (16, 64, 4), box=(4, 4, 4), interleave="32B", swizzle="32B", promotion="64B"),
        ]
        for one in maps:
            words = one.encode(0xABC0)
            print(len(words), int.from_bytes(words[:8], "little") == 0xABC0, int.from_bytes(words[120:], "little"))
    """)
    assert said == ["128 True 1015"] * 3
    # CUtensorMapDataType, ...Interleave, ...Swizzle, ...L2promotion, ...FloatOOBfill by their numbers in cuda.h.
    assert encodings(calls) == [
        "encode kind 9 rank 3 at 0xabc0 | 72 64 3 | 144 9216 | 64 16 2 | 1 2 1 | 0 3 3 1",
        "encode kind 0 rank 2 at 0xabc0 | 96 64 | 112 | 32 8 | 1 1 | 0 1 0 0",
        "encode kind 8 rank 3 at 0xabc0 | 4 64 16 | 32 2048 | 4 4 4 | 1 1 1 | 2 1 1 0",
    ]


def test_what_a_device_does_not_have(drive) -> None:
    code = """
        refused(lambda: TensorMap("b4x16", (8, 256), box=(8, 64), name="a").encode(0))
        refused(lambda: TensorMap("b6x16_p32", (8, 256), box=(8, 128), name="a").encode(0))
        refused(lambda: TensorMap("f32", (64, 32), box=(16, 32), swizzle="128B_atom_32B", name="a").encode(0))
        refused(lambda: TensorMap("f32", (64, 32), box=(16, 32), name="a").encode(0))
    """
    assert drive(code)[0] == [
        "TensorMapError: tensor map of 'a': kind b4x16 on sm_90; it needs sm_100 or newer",
        "TensorMapError: tensor map of 'a': kind b6x16_p32 on sm_90; it needs sm_100 or newer",
        "TensorMapError: tensor map of 'a': swizzle 128B_atom_32B on sm_90; it needs sm_100 or newer",
        "accepted",
    ]
    assert drive(code, FAKE_CUDA_MAJOR="8")[0][3] == "TensorMapError: tensor map of 'a': sm_80 has no tensor maps; they need sm_90 or newer"


def test_a_map_is_encoded_once_for_each_address_and_shape(drive) -> None:
    _, calls = drive(
        DRIVEN
        + textwrap.dedent("""
        for pointer, n in ((0x2000, 64), (0x2000, 64), (0x3000, 64), (0x2000, 96), (0x3000, 64)):
            mapped(Array(0x1000, n), Array(pointer, n), 1.0)
        again = mapped.prepare(x, Array(0x2000, 1000), 2.0)
        again(); again()
        for i in range(300):
            mapped(Array(0x1000, 64), Array(0x100000 + 16 * i, 64), 1.0)
        print(len(mapped.binder.encoders["y_map"]._encoded) <= 256)
        """)
    )
    assert encodings(calls)[:4] == [
        "encode kind 7 rank 1 at 0x2000 | 64 | | 64 | 1 | 0 0 2 0",
        "encode kind 7 rank 1 at 0x3000 | 64 | | 64 | 1 | 0 0 2 0",
        "encode kind 7 rank 1 at 0x2000 | 96 | | 64 | 1 | 0 0 2 0",
        "encode kind 7 rank 1 at 0x2000 | 1000 | | 64 | 1 | 0 0 2 0",
    ]
    assert len(encodings(calls)) == 4 + 300
    assert len([call for call in calls if call.startswith("launch")]) == 5 + 2 + 300


def test_the_generated_call_looks_a_map_up(drive, stub_torch) -> None:
    said, calls = drive(
        stub_torch
        + DRIVEN
        + textwrap.dedent("""
        mapped(Tensor(0x1000, 64), Tensor(0x2000, 64), 1.0)
        print(Tensor.described)
        mapped(Tensor(0x1000, 64), Tensor(0x2000, 64), 1.0)
        mapped(Tensor(0x1000, 64), Tensor(0x2010, 64), 1.0)
        print(Tensor.described)
        refused(lambda: mapped(Tensor(0x1000, 64), Tensor(0x2004, 64), 1.0))
        """)
    )
    assert said == [
        "2",
        "2",
        "ArgumentError: saxpy: argument 'y' is at an address that is 4 modulo 16; the signature wants 16-byte alignment. Fix: "
        "y.copy() moves "
        "it to a fresh allocation",
    ]
    assert encodings(calls) == [
        "encode kind 7 rank 1 at 0x2000 | 64 | | 64 | 1 | 0 0 2 0",
        "encode kind 7 rank 1 at 0x2010 | 64 | | 64 | 1 | 0 0 2 0",
    ]


def test_the_generated_call_hands_over_address_and_dims() -> None:
    source = fast_path_source(signature())
    assert source is not None
    assert "m3 = M3(p0, s0_0, s0_1, )" in source


# ---- kernels ---------------------------------------------------------------------------------------------------------

M, K = px.dim("M"), px.dim("K", multiple_of=8)


def traced(body, a: px.Tensor) -> px.kernels.specialization.Specialization:
    def k(a, out):
        body(active(), a, out)

    k.__annotations__ = {"a": a, "out": px.Tensor((4,), px.u64)}
    return px.kernel(grid=1, block=32)(k).specialize()


def test_a_kernel_declares_a_map_once_and_takes_its_address_once() -> None:
    def body(builder, a, out):
        one = builder.tensor_map(a.storage, (64, 64), swizzle=Swizzle.B128)
        same = builder.tensor_map(a.storage, (64, 64), swizzle=Swizzle.B128)
        other = builder.tensor_map(a.storage, (32, 64), swizzle=Swizzle.B128)
        assert one is same and one is not other
        assert (one.name, other.name) == ("a_map", "a_map_2")
        assert one.map.box_bytes == 64 * 64 * 2
        px.ptx.st.global_.u64(out[0], one.address)
        px.ptx.st.global_.u64(out[1], same.address)
        px.ptx.st.global_.u64(out[2], other.address)

    found = traced(body, px.Tensor((M, K), px.bf16))
    text = found.ptx(comments=False)
    assert "    .param .u32 M,\n    .param .u32 K,\n    .param .align 64 .b8 a_map[128],\n    .param .align 64 .b8 a_map_2[128]\n)" in text
    assert [line.split() for line in text.splitlines() if "a_map" in line and "param" not in line] == [
        ["mov.b64", "%rd0,", "a_map;"],
        ["mov.b64", "%rd4,", "a_map_2;"],
    ]
    assert text.count("cvta.param.u64") == 2
    assert found.resources("sm_90a")["k"].registers > 0
    maps = [one for one in found.runner.signature.params if isinstance(one, TensorMapParam)]
    assert [(one.name, one.tensor, one.map.box) for one in maps] == [("a_map", "a", (64, 64)), ("a_map_2", "a", (32, 64))]
    assert maps[0].map.at({"M": 100, "K": 72}).reversed() == ((72, 100), (144,), (64, 64), (1, 1))


def test_a_view_of_the_tensor_has_a_map_of_its_own() -> None:
    """A box may span axes that the argument does not have: a layout of the whole tensor in another shape."""

    def body(builder, a, out):
        split = a.view(16, 4, 64).permute(1, 0, 2)
        found = builder.tensor_map(a.storage, (2, 8, 64), layout=split.layout)
        words = builder.tensor_map(a.storage, (8, 32), layout=a.view(px.b32).layout, dtype=px.b32)
        px.ptx.st.global_.u64(out[0], found.address)
        px.ptx.st.global_.u64(out[1], words.address)

    maps = [one.map for one in traced(body, px.Tensor((64, 64), px.bf16)).runner.signature.params if isinstance(one, TensorMapParam)]
    shown = np.zeros((64, 64), np.uint16).reshape(16, 4, 64).transpose(1, 0, 2)
    assert (maps[0].shape, maps[0].strides) == (shown.shape, shown.strides[:-1])
    assert (maps[1].kind, maps[1].shape, maps[1].strides) == ("u32", (64, 32), (128,))


def test_names_that_are_taken() -> None:
    def k(a, a_map):
        px.ptx.st.global_.u64(a_map[0], active().tensor_map(a.storage, (64,)).address)

    k.__annotations__ = {"a": px.Tensor((64,), px.f32), "a_map": px.Tensor((4,), px.u64)}
    assert "a_map_[128]" in px.kernel(grid=1, block=32)(k).specialize().ptx()


def refusal(body, a: px.Tensor) -> PtxgenError:
    with pytest.raises(PtxgenError) as caught:
        traced(body, a)
    return caught.value


def test_what_a_trace_refuses() -> None:
    square, ragged = px.Tensor((64, 64), px.bf16), px.Tensor((64, 65), px.bf16)
    found = refusal(lambda builder, a, out: builder.tensor_map(a.storage, (257, 64)), square)
    assert isinstance(found, TensorMapError) and found.rule == "box extent" and found.where is not None
    assert "stride of 130 bytes" in str(refusal(lambda builder, a, out: builder.tensor_map(a.storage, (64, 64)), ragged))

    def transposed(builder, a, out):
        builder.tensor_map(a.storage, (64, 64), layout=a.permute(1, 0).layout)

    found = refusal(transposed, square)
    assert isinstance(found, LayoutError)
    assert "elements along its last axis are 1024 bits apart, not 16" in str(found)

    def part(builder, a, out):
        builder.tensor_map(a.storage, (8, 64), layout=a[8:16].layout)

    assert "the box's coordinates say which part is copied" in str(refusal(part, square))

    def mixed(builder, a, out):
        builder.tensor_map(a.storage, (64,), layout=a.view(2, 32, 64).permute(1, 0, 2).view(4096).layout)

    assert "axis 0" in str(refusal(mixed, square)) and "strides" in str(refusal(mixed, square))

    def shared(builder, a, out):
        builder.tensor_map(px.shared((64, 64), px.bf16).storage, (64, 64))

    found = refusal(shared, square)
    assert isinstance(found, TraceError)
    assert "is no tensor argument, so no tensor map describes it" in str(found)


# ---- the hardware ----------------------------------------------------------------------------------------------------

# One thread has a box copied into shared memory, zeroed before, at an address that 1024 divides, with a barrier behind it; all threads hand
# its bytes over. Bytes that never come end the wait, and the comparison fails.
COPY = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 tile[];
.visible .entry copy(
    .param .u64 a, .param .u64 out, {coordinates}, .param .u32 bytes, .param .u32 moved, .param .align 64 .b8 a_map[128]
)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<6>;
    mov.b64 %rd1, a_map;
    cvta.param.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [out];
    ld.param.u32 %r1, [bytes];
    ld.param.u32 %r14, [moved];
{loads}
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    mov.u32 %r13, 0;
    mov.u32 %r4, %tid.x;
    shl.b32 %r5, %r4, 2;
    mov.u32 %r7, 0;
zeroing:
    setp.ge.u32 %p2, %r5, %r1;
    @%p2 bra zeroed;
    add.u32 %r6, %r2, %r5;
    st.shared.u32 [%r6], %r7;
    add.u32 %r5, %r5, 128;
    bra zeroing;
zeroed:
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p0, %r4, 0;
    @%p0 bra waiting;
    mbarrier.init.shared::cta.b64 [%r3], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd4, [%r3], %r14;
    cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {{{registers}}}], [%r3];
waiting:
    bar.sync 0;
again:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0;
    add.u32 %r13, %r13, 1;
    setp.lt.and.u32 %p1, %r13, 1000, !%p1;
    @%p1 bra again;
    shl.b32 %r5, %r4, 2;
next:
    setp.ge.u32 %p2, %r5, %r1;
    @%p2 ret;
    add.u32 %r6, %r2, %r5;
    ld.shared.u32 %r7, [%r6];
    cvt.u64.u32 %rd4, %r5;
    add.u64 %rd5, %rd3, %rd4;
    st.global.u32 [%rd5], %r7;
    add.u32 %r5, %r5, 128;
    bra next;
}}
"""


def copy_text(rank: int) -> str:
    names = "xyzuv"[:rank]
    return COPY.format(
        rank=rank,
        coordinates=", ".join(f".param .s32 {name}" for name in names),
        loads="\n".join(f"    ld.param.u32 %r{8 + place}, [{name}];" for place, name in enumerate(names)),
        registers=", ".join(f"%r{8 + place}" for place in range(rank)),
    )


def image(tensor: np.ndarray, described: TensorMap, start: tuple[int, ...]) -> np.ndarray:
    """The bytes that a copy leaves, by NumPy alone: gather with bounds, row-major, rows as far apart as the swizzle is wide, then
    each 16 bytes moved by it."""
    grids = np.meshgrid(
        *(first + step * np.arange(extent) for first, step, extent in zip(start, described.element_strides, described.box_shape)),
        indexing="ij",
    )
    inside = np.logical_and.reduce([(grid >= 0) & (grid < extent) for grid, extent in zip(grids, tensor.shape)])
    clipped = tuple(np.clip(grid, 0, extent - 1) for grid, extent in zip(grids, tensor.shape))
    fill = NAN_BITS[described.kind] if described.fill == "nan" else 0
    gathered = np.where(inside, tensor[clipped], np.array(fill, tensor.dtype))
    flat = np.ascontiguousarray(gathered).view(np.uint8).reshape(-1)
    addresses = np.arange(flat.size)
    if described.swizzle == "none":
        return flat
    span = int(described.swizzle[:-1])
    row = described.box[-1] * tensor.itemsize
    places = addresses // row * span + addresses % row  # short rows leave a gap
    found = np.zeros(flat.size // row * span, np.uint8)
    found[places ^ places // 128 % (span // 16) * 16] = flat
    return found


# Kind, PTX type, the type of its bits, torch's name of it.
ELEMENTS = {
    "u8": ("u8", np.uint8, "uint8"), "u16": ("u16", np.uint16, "uint16"), "s32": ("s32", np.uint32, "int32"),
    "u32": ("u32", np.uint32, "uint32"), "s64": ("s64", np.uint64, "int64"), "u64": ("u64", np.uint64, "uint64"),
    "f16": ("f16", np.uint16, "float16"), "bf16": ("bf16", np.uint16, "bfloat16"), "f32": ("f32", np.uint32, "float32"),
    "f64": ("f64", np.uint64, "float64"), "e4m3": ("e4m3", np.uint8, "float8_e4m3fn"),
}  # fmt: skip

# Shape, box, where it begins, options. Boxes that reach over both ends of an axis too. Along the contiguous axis they begin at multiples of
# 16 bytes.
BOXES = {
    "1d": ((1000,), (64,), (928,), {}),
    "1d past the end": ((100,), (64,), (64,), {}),
    "2d": ((40, 128), (16, 16), (8, 32), {}),
    "2d before the start": ((40, 128), (16, 16), (-3, -16), {}),
    "2d every third row": ((40, 128), (16, 16), (5, 0), {"element_strides": (3, 1)}),
    "3d": ((5, 12, 64), (2, 8, 16), (4, 8, 16), {}),
    "4d": ((3, 4, 6, 32), (2, 3, 4, 16), (1, 2, 3, 16), {}),
    "5d": ((3, 2, 4, 6, 32), (2, 1, 3, 4, 16), (2, 1, 2, 3, 16), {}),
}


def swizzled_boxes(kind: str, swizzle: str) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Rows as wide as the swizzle, shorter ones, and three dimensions; more than one period: kind, shape, box and start."""
    size = np.dtype(ELEMENTS[kind][1]).itemsize
    span = {"none": 128, "32B": 32, "64B": 64, "128B": 128}[swizzle] // size
    for box in ((64, span), (64, max(16 // size, span // 2)), (3, 20, span), (3, 20, 16 // size)):
        yield kind, tuple(2 * extent for extent in box), box, tuple(extent // 2 for extent in box[:-1]) + (span // 2,)


def run_copy(
    kind: str, shape: tuple[int, ...], box: tuple[int, ...], start: tuple[int, ...], **options: object
) -> tuple[np.ndarray, np.ndarray]:
    """The bytes that the hardware leaves in shared memory, and those that NumPy expects there."""
    import torch

    values, found = copied(kind, shape, box, options)
    described = found.params[-1].map
    a = torch.from_numpy(values.view(f"i{values.itemsize}")).cuda().view(getattr(torch, ELEMENTS[kind][2]))
    out = torch.zeros(described.image_bytes, dtype=torch.uint8, device="cuda")
    run = Runner(copy_text(len(shape)), "copy", found, grid=1, block=32, shared_bytes=described.image_bytes + 8)
    run(a, out, *start[::-1], described.image_bytes, described.box_bytes)
    torch.cuda.synchronize()
    return out.cpu().numpy(), image(values, described, start)


def copied(kind: str, shape: tuple[int, ...], box: tuple[int, ...], options: dict[str, object]) -> tuple[np.ndarray, Signature]:
    """The bits of a random tensor, and the signature of the kernel that copies from it."""
    name, bits, _ = ELEMENTS[kind]
    values = np.random.default_rng(sum(shape)).integers(0, 1 << 62, shape).astype(bits)
    element = type_named(name)
    found = Signature(
        "copy",
        [
            TensorParam("a", element, shape),
            PointerParam("out"),
            *(ScalarParam(one, type_named("s32")) for one in "xyzuv"[: len(shape)]),
            ScalarParam("bytes", u32),
            ScalarParam("moved", u32),
            TensorMapParam("a_map", "a", TensorMap(element, shape, box=box, name="a", **options)),
        ],
    )
    return values, found


def emulate_copy(kind: str, shape: tuple[int, ...], box: tuple[int, ...], start: tuple[int, ...], **options: object) -> None:
    """The same in the emulator, compared."""
    values, found = copied(kind, shape, box, options)
    described = found.params[-1].map
    out = np.zeros(described.image_bytes, np.uint8)
    names = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}
    bound = Binder(found)(values.view(names.get(kind, ELEMENTS[kind][2])), out, *start[::-1], described.image_bytes, described.box_bytes)
    result = emulate(
        read(copy_text(len(shape))), "copy", grid=1, block=32, arguments=emulator_arguments(found, bound),
        dynamic_shared=described.image_bytes + 8,
    )  # fmt: skip
    result.raise_for_reports()
    np.testing.assert_array_equal(out, image(values, described, start))


# What the hardware writes for fill="nan": every 16 bits are 0x7FF7.
NAN_BITS = {"f16": 0x7FF7, "bf16": 0x7FF7, "f32": 0x7FF77FF7, "f64": 0x7FF77FF77FF77FF7}


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("kind", ["u8", "bf16", "f64"])
def test_boxes_in_the_emulator(kind: str, name: str) -> None:
    shape, box, start, options = BOXES[name]
    emulate_copy(kind, shape, box, start, **options)


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_swizzles_in_the_emulator(swizzle: str) -> None:
    for kind, shape, box, start in swizzled_boxes("bf16", swizzle):
        emulate_copy(kind, shape, box, start, swizzle=swizzle)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_what_stands_for_elements_outside_in_the_emulator(kind: str) -> None:
    emulate_copy(kind, (40, 128), (16, 16), (30, 120), fill="nan")


@st.composite
def copies(draw) -> dict[str, object]:
    """A legal map and a box of it that touches the tensor or misses it."""
    kind = draw(st.sampled_from(sorted(ELEMENTS)))
    wide = 16 // np.dtype(ELEMENTS[kind][1]).itemsize
    swizzle = draw(st.sampled_from(["none", "32B", "64B", "128B"]))
    rank = draw(st.integers(1, 5))
    most = {"none": 8, "32B": 2, "64B": 4, "128B": 8}[swizzle]
    outer = st.lists(st.integers(1, 5), min_size=rank - 1, max_size=rank - 1)
    shape = (*draw(outer), wide * draw(st.integers(1, 12)))
    box = (*draw(outer), wide * draw(st.integers(1, most)))
    steps = (*draw(st.lists(st.integers(1, 3), min_size=rank - 1, max_size=rank - 1)), 1)
    start = (*draw(st.lists(st.integers(-3, 5), min_size=rank - 1, max_size=rank - 1)), wide * draw(st.integers(-3, 12)))
    return {"kind": kind, "shape": shape, "box": box, "start": start, "swizzle": swizzle, "element_strides": steps}


@settings(max_examples=40, deadline=None)
@given(copies())
def test_any_box_in_the_emulator(drawn: dict[str, object]) -> None:
    emulate_copy(**drawn)


@pytest.mark.gpu
@pytest.mark.torch
@settings(max_examples=300, deadline=None)
@given(copies())
def test_any_box_on_the_hardware(drawn: dict[str, object]) -> None:
    got, expected = run_copy(**drawn)
    np.testing.assert_array_equal(got, expected)


def test_the_emulator_reports_a_start_that_the_hardware_refuses() -> None:
    with pytest.raises(EmulationError, match="begins 132 bytes along the contiguous axis, which is no multiple of 16"):
        emulate_copy("s32", (40, 128), (16, 16), (8, 33))


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_boxes_on_the_hardware(kind: str, name: str) -> None:
    shape, box, start, options = BOXES[name]
    got, expected = run_copy(kind, shape, box, start, **options)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("kind", ["u8", "bf16", "f32", "f64"])
def test_swizzles_on_the_hardware(kind: str, swizzle: str) -> None:
    for one, shape, box, start in swizzled_boxes(kind, swizzle):
        got, expected = run_copy(one, shape, box, start, swizzle=swizzle)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize("kind", NAN_BITS)
def test_what_stands_for_elements_outside(kind: str) -> None:
    got, expected = run_copy(kind, (40, 128), (16, 16), (30, 120), fill="nan")
    np.testing.assert_array_equal(got, expected)


@pytest.mark.gpu
@pytest.mark.torch
def test_a_foreign_text_takes_a_map_as_bytes() -> None:
    import torch

    values = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    a, out = torch.from_numpy(values).cuda(), torch.zeros((16, 16), dtype=torch.int32, device="cuda")
    described = TensorMap("s32", (64, 64), box=(16, 16))
    entry = px.load_ptx(copy_text(2))["copy"]
    entry(
        a,
        out,
        32,
        8,
        described.box_bytes,
        described.box_bytes,
        described.encode(a.data_ptr()),
        grid=1,
        block=32,
        shared=described.box_bytes + 8,
    )
    torch.cuda.synchronize()
    np.testing.assert_array_equal(out.cpu().numpy(), values[8:24, 32:48])


# The driver takes these, which the hardware then ignores or which the documentation forbids.
TAKEN_BY_THE_DRIVER = {"element stride along the contiguous axis", "interleave 32B without its swizzle"}


@pytest.mark.gpu
@pytest.mark.parametrize(
    "name", [name for name, (_, rule, _, _) in WRONG.items() if rule not in ("promotion",) and name != "an unknown swizzle"]
)
def test_the_driver_refuses_what_the_rules_refuse(name: str) -> None:
    unchecked = object.__new__(TensorMap)
    options = {
        "strides": None, "element_strides": None, "interleave": "none", "promotion": "128B", "fill": "zero", **GOOD, **WRONG[name][0],
    }  # fmt: skip
    for slot, value in options.items():
        setattr(unchecked, slot, value)
    unchecked.strides = unchecked._row_major() if unchecked.strides is None else unchecked.strides
    unchecked.element_strides = unchecked.element_strides or (1,) * len(unchecked.shape)
    if name in TAKEN_BY_THE_DRIVER:
        unchecked.encode(0x1000)
    else:
        with pytest.raises((DriverError, OverflowError, ValueError)):
            unchecked.encode(0x1000)


@pytest.mark.gpu
def test_what_the_driver_takes_besides() -> None:
    """Rows that repeat, rows that overlap, and the largest numbers of each rule."""
    for changes in ({"strides": (0,)}, {"strides": (64,)}, {"shape": (1 << 32, 512)}, {"strides": ((1 << 40) - 16,)}, {"box": (256, 64)}):
        made(**changes).encode(0x1000)
    made(kind="f32", box=(228, 256), swizzle="none").encode(0x1000)


@pytest.mark.gpu
@pytest.mark.torch
def test_a_box_begins_at_a_multiple_of_16_bytes_along_the_contiguous_axis() -> None:
    """Measured: any other start is an illegal instruction, which ends the context, so a process of its own asks."""
    code = "from tests.runtime.test_tensormap import run_copy; run_copy('s32', (40, 128), (16, 16), (8, {}))"
    for start, fine in ((36, True), (33, False), (34, False)):
        asked = subprocess.run([sys.executable, "-c", code.format(start)], cwd=ROOT, capture_output=True, text=True)
        assert (asked.returncode == 0) is fine, asked.stderr
        assert fine or "illegal instruction" in asked.stderr
