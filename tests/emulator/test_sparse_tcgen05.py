"""tcgen05.mma.sp against NumPy: metadata put into tensor memory by formulas of the ISA's figures; one block, pairs, scales."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import EmulationResult
from tests.emulator.shared_images import blackwell, place
from tests.emulator.test_tcgen05 import IMAGE, RESULTS, TYPES, idesc, integers, kernel, launch, only
from tests.emulator.test_tcgen05_scales import FLOATS, rows_of

A, META, SA, SB = 40, 48, 56, 60  # columns behind D


def drawn(values: np.ndarray, parts: int, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix (rows, k) with zeros, the half that is kept, and four bits for each chunk of parts of so many elements."""
    rows, kept = values.shape
    chunks = kept // (each * parts // 2)
    places = np.sort(np.argsort(np.random.default_rng(3).random((rows, chunks, parts)), -1)[..., : parts // 2], -1)
    dense = np.zeros((rows, chunks, parts, each), values.dtype)
    np.put_along_axis(dense, places[..., None] + np.zeros(each, int), values.reshape(rows, chunks, parts // 2, each), 2)
    bits = np.where(places[..., 0] == 1, 14, 4) if parts == 2 else places[..., 0] | places[..., -1] << 2
    return dense.reshape(rows, 2 * kept), values, bits


def put(start: np.ndarray, bits: np.ndarray, lanes: np.ndarray, selector: int, wide: bool) -> None:
    """Metadata of rows whose 16s begin in these lanes."""
    for row, nibbles in enumerate(bits):
        for chunk, nibble in enumerate(nibbles):
            first, r = lanes[row] - row % 16, row % 16
            if wide:
                lane, column, at = first + r % 8 + 8 * (chunk // 4), selector, r // 8 * 4 + chunk % 4
            else:
                lane, column, at = first + r, chunk // 8, chunk % 8
            start[lane, META + column] |= np.uint32(int(nibble) << 4 * at)


def product(
    m: int, n: int, of: str, *, group: int = 1, selector: int = 0, in_tensor_memory: bool = False, stationary: bool = False,
    spoiled: int | None = None, flip: int = 0,
) -> tuple[np.ndarray, np.ndarray, EmulationResult]:  # fmt: skip
    """What A (M, K) B (N, K)^T should be, and what tensor memory holds."""
    kind, _, dtype = TYPES[of]
    d = "s32" if of in ("s8", "u8") else "f32"
    size, rows = np.dtype(dtype).itemsize, m // group
    dense, kept, bits = drawn(integers((m, 32 // size), 1, dtype), 2 if of == "tf32" else 4, 1)
    b = integers((n, 64 // size), 2, dtype)
    lanes = np.arange(rows) if rows != 64 or stationary else np.arange(64) // 16 * 32 + np.arange(64) % 16
    stacked = 128 // rows if stationary else 1
    images, start = [], np.zeros((group, 128, 64), np.uint32)
    for block in range(group):
        own = slice(block * rows, (block + 1) * rows)
        a_image, a_leading, a_stride = place(kept[own], 32, True)
        b_image, b_leading, b_stride = place(b[block * n // group : (block + 1) * n // group], 64, True)
        b_start = -(-len(a_image) // 1024) * 1024
        images.append(np.frombuffer(a_image.ljust(b_start, b"\0") + b_image, np.uint8))
        for copy in range(stacked):
            put(start[block], bits[own], lanes + copy * rows, selector, size > 1)
            if in_tensor_memory:
                start[block, lanes + copy * rows, A : A + 8] = np.ascontiguousarray(kept[own]).view(np.uint32)
    if spoiled is not None:
        start[0, spoiled, META] = 0
    words = (
        blackwell(IMAGE, a_leading, a_stride, 32), blackwell(IMAGE + b_start, b_leading, b_stride, 64),
        (idesc(m, n, of, of, d) | 1 << 2 | selector) ^ flip,
    )  # fmt: skip
    first, ws = "[%r41]" if in_tensor_memory else "%rd20", ".ws" if stationary else ""
    multicast, mask = (".multicast::cluster", ", 3") if group == 2 else ("", "")
    issue = f"""
        add.u32 %r41, %r31, {A}; add.u32 %r42, %r31, {META};
        @%p6 tcgen05.mma{ws}.sp.cta_group::{group}.kind::{kind} [%r31], {first}, %rd21, [%r42], %r40, %p8;
        @%p6 tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [%r29]{mask};
    """
    image = np.stack(images)
    cells, outcome = launch(kernel(image.shape[1], issue, group=group, columns=64), image, start, words, group=group)
    found = np.zeros((m, n), RESULTS[d][1])
    for block in range(group):
        for copy in range(stacked):
            columns = slice(copy * n // stacked, (copy + 1) * n // stacked)
            found[block * rows : (block + 1) * rows, columns] = cells[block, lanes + copy * rows, : n // stacked].view(found.dtype)
    return dense.astype(np.int64) @ b.astype(np.int64).T, found, outcome


@pytest.mark.parametrize("in_tensor_memory", [False, True])
@pytest.mark.parametrize("of, selector", [("f16", 0), ("bf16", 1), ("tf32", 1), ("e4m3", 0), ("s8", 0)])
@pytest.mark.parametrize("m", [64, 128])
def test_every_width(m: int, of: str, selector: int, in_tensor_memory: bool) -> None:
    wanted, found, outcome = product(m, 32, of, selector=selector, in_tensor_memory=in_tensor_memory)
    outcome.raise_for_reports()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("m, of", [(128, "f16"), (256, "e5m2")])
def test_pairs_of_blocks(m: int, of: str) -> None:
    """With M = 128 each block's 64 rows use half of the lanes, and all columns lie there: layout C."""
    wanted, found, outcome = product(m, 32, of, group=2)
    outcome.raise_for_reports()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("m", [32, 64])
def test_stationary_weights(m: int) -> None:
    wanted, found, outcome = product(m, 64, "f16", stationary=True, selector=1, in_tensor_memory=True)
    outcome.raise_for_reports()
    np.testing.assert_array_equal(found, wanted)


def test_metadata_that_names_one_place_twice_is_reported() -> None:
    message = only(product(128, 16, "e4m3", spoiled=21)[2], "metadata")
    assert "the metadata of row 21, chunk 0 is 0b0000, which names no two different places" in message


@pytest.mark.parametrize(("flip", "words"), [
    (4, "bit 2 asks for a dense A, which is not tcgen05.mma.sp"),
    (3, "the selector of the metadata (bits 0-1) is 3; with .kind::f16 it is at most 1"),
])  # fmt: skip
def test_instruction_descriptors_of_something_else(flip: int, words: str) -> None:
    assert words in str(product(128, 16, "f16", flip=flip)[2].reports[0])


@pytest.mark.parametrize("kind, of, vectors", [("mxf8f6f4", "e2m3", 1), ("mxf4", "e2m1", 2), ("mxf4nvf4", "e2m1", 4)])
def test_scales(kind: str, of: str, vectors: int) -> None:
    packed, n, rng = kind != "mxf8f6f4", 16, np.random.default_rng(4)
    width = 64 if packed else 32
    dense, kept, bits = drawn(rng.choice([0.5, 1, 1.5, 2, -0.5, -1, -2], (128, width)), 4, 2 if packed else 1)
    b = rng.choice([0, 0.5, 1, 1.5, 2, -0.5, -1, -2], (n, 2 * width))
    sa, sb = (2.0 ** rng.integers(-2, 3, (rows, vectors)) for rows in (128, n))
    images = place(rows_of(kept, of, packed), 32, True), place(rows_wide(b, of, packed), 64, True)
    start_b = -(-len(images[0][0]) // 1024) * 1024
    image = np.frombuffer(images[0][0].ljust(start_b, b"\0") + images[1][0], np.uint8)[None]
    start = np.zeros((1, 128, 64), np.uint32)
    put(start[0], bits, np.arange(128), 0, False)
    octets = start.view(np.uint8).reshape(128, 64, 4)
    dtype: Any = ml_dtypes.float8_e4m3fn if vectors == 4 else ml_dtypes.float8_e8m0fnu
    for first, scales in ((SA, sa), (SB, sb)):
        for row, values in enumerate(scales):
            octets[row % 32 :: 32, first + row // 32, :vectors] = values.astype(dtype).view(np.uint8)
    formats = 1 << 7 | 1 << 10 if packed else FLOATS[of][0] << 7 | FLOATS[of][0] << 10
    word = formats | 1 << 2 | n >> 3 << 17 | (vectors != 4) << 23 | 8 << 24
    descriptors = [blackwell(IMAGE + at, *one[1:], span) for at, one, span in zip((0, start_b), images, (32, 64))]
    name = f"{kind}.block_scale{'.scale_vec::4X' if vectors == 4 else ''}"
    issue = f"""
        add.u32 %r41, %r31, {SA}; add.u32 %r42, %r31, {SB}; add.u32 %r43, %r31, {META};
        @%p6 tcgen05.mma.sp.cta_group::1.kind::{name} [%r31], %rd20, %rd21, [%r43], %r40, [%r41], [%r42], %p8;
        @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r29];
    """
    text = kernel(image.shape[1], issue, columns=64).replace(".version 8.6", ".version 8.8")
    cells, outcome = launch(text, image, start, (*descriptors, word))  # type: ignore[arg-type]
    outcome.raise_for_reports()
    wanted = (dense * sa.repeat(2 * width // vectors, 1)) @ (b * sb.repeat(2 * width // vectors, 1)).T
    np.testing.assert_array_equal(cells[0, :, :n].view(np.float32), wanted)


def rows_wide(values: np.ndarray, of: str, packed: bool) -> np.ndarray:
    """Rows of 64 bytes."""
    half = values.shape[1] // 2
    return np.concatenate([rows_of(values[:, part], of, packed) for part in (slice(0, half), slice(half, None))], axis=1)
