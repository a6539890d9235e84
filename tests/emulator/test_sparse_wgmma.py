"""wgmma with a sparse factor against NumPy: random places of what is kept, and words of metadata by the ISA's figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read
from tests.emulator.test_wgmma import FORMS, TYPES, fragment_d, integers, prepare

N = 24


def drawn(type_a: str, selector: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (64, k) with its zeros, the half that is kept, and a word of metadata for each of 128 threads: random in lanes that give none."""
    dtype, size = TYPES[type_a]
    k, rng = 64 // size, np.random.default_rng(5)
    parts, each = (2, 1) if type_a == "tf32" else (4, 2)
    chunks = k // parts
    places = np.sort(np.argsort(rng.random((64, chunks, parts)), -1)[..., :each], -1)
    kept = integers((64, k // 2), 1, dtype).reshape(64, chunks, each)
    dense = np.zeros((64, chunks, parts), dtype)
    np.put_along_axis(dense, places, kept, -1)
    bits = np.where(places[..., 0] == 1, 14, 4) if parts == 2 else places[..., 0] | places[..., -1] << 2
    words = rng.integers(0, 1 << 32, 128, np.uint32)
    for thread in range(128):
        row, member = 16 * (thread // 32) + thread % 32 // 4, thread % 4
        if size == 1:  # all four: rows g and g + 8 in turn, eight chunks each
            nibbles = bits[row + 8 * (member % 2), 8 * (member // 2) :][:8]
        elif member // 2 == selector:  # four chunks of row g, then of row g + 8
            nibbles = np.concatenate([bits[at, 4 * (member % 2) :][:4] for at in (row, row + 8)])
        else:
            continue
        words[thread] = sum(int(nibble) << 4 * place for place, nibble in enumerate(nibbles))
    return dense.reshape(64, k), kept.reshape(64, k // 2), words


def case(type_a: str, type_b: str, type_d: str, selector: int = 0, **options: Any) -> tuple[str, list[Any], np.ndarray]:
    """The kernel, its arguments, and what it should compute."""
    dense, kept, words = drawn(type_a, selector)
    b = integers((N, dense.shape[1]), 2, TYPES[type_b][0])
    c = integers((64, N), 3, {"f32": np.float32, "f16": np.float16, "s32": np.int32}[type_d], -9, 9)
    text, arguments = prepare(kept, b, c, f"{type_d}.{type_a}.{type_b}", **options)
    text = text.replace(".param .u64 image", ".param .u64 metadata, .param .u64 image")
    text = text.replace("wgmma.mma_async.", "wgmma.mma_async.sp.").replace("%rd11, 1", f"%rd11, %r30, {selector}, 1")
    load = "ld.param.u64 %rd12, [metadata]; mad.wide.u32 %rd12, %r1, 4, %rd12; ld.global.b32 %r30, [%rd12];\n"
    text = text.replace("wgmma.fence", f"{load}wgmma.fence")
    return text, [words, *arguments], dense.astype(np.int64) @ b.astype(np.int64).T + c.astype(np.int64)


def multiplied(*types: str, **options: Any) -> tuple[np.ndarray, np.ndarray, EmulationResult]:
    text, arguments, expected = case(*types, **options)
    result = emulate(read(text), "k", grid=1, block=128, arguments=arguments)
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[types[2]]
    return fragment_d(arguments[2], N, dtype), expected, result


@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize("types", FORMS, ids=".".join)
def test_every_type(types: tuple[str, str, str], a_registers: bool) -> None:
    d, expected, result = multiplied(*types, a_registers=a_registers, a_span=32, b_span=64)
    result.raise_for_reports()
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("a_span, b_span, b_major, selector", [(16, 16, True, 1), (64, 128, False, 1), (128, 32, False, 0)])
def test_selectors_and_places(a_span: int, b_span: int, b_major: bool, selector: int) -> None:
    d, expected, result = multiplied("bf16", "bf16", "f32", selector=selector, a_span=a_span, b_span=b_span, b_major=b_major)
    result.raise_for_reports()
    np.testing.assert_array_equal(d, expected)


def test_metadata_that_names_one_place_twice_is_reported() -> None:
    text, arguments, _ = case("f16", "f16", "f32")
    arguments[0][37] = arguments[0][37] & 0xFFFFFF0F | 0xA0  # of warp 1: row 16 + 1, chunk 5
    result = emulate(read(text), "k", grid=1, block=128, arguments=arguments)
    assert "the metadata of row 17, chunk 5 is 0b1010, which names no two different places" in str(result.reports[0])
