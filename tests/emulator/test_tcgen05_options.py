"""What tcgen05.mma takes besides its matrices: zero-column masks, shifted rows of A, scales of a pair of blocks."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator.tensor_products import zero_columns
from tests.emulator.shared_images import blackwell, place
from tests.emulator.test_tcgen05 import IMAGE, idesc, integers, kernel, launch
from tests.emulator.test_tcgen05_scales import rows_of

COMMIT = "@%p6 tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [%r29]{mask};"


def mask_of(starts: tuple[int, ...], zeros_first: tuple[int, ...], skip: int, use: int, shift: int = 0, *, some: int = 1) -> int:
    word = some << 39 | skip << 40 | use << 48 | shift << 56
    return word | sum(start << 8 * part | first << 32 + part for part, (start, first) in enumerate(zip(starts, zeros_first)))


def bits(text: str, count: int) -> list[bool]:
    """The lowest `count` bits of ``111 0000 111``, lowest first, which the ISA writes last."""
    return [one == "1" for one in text.replace(" ", "")[::-1][:count]]


@pytest.mark.parametrize(("m", "word", "masks"), [
    (128, mask_of((0,), (0,), 2, 3), ["111 0000 111 0000"]),
    (64, mask_of((0, 0), (1, 0), 2, 3), ["111 0000 111 0000 111", "0000 111 0000 111 0000"]),
    (32, mask_of((0, 1, 2, 1), (1, 1, 0, 0), 2, 3, 2), ["0000 111 0000 111", "0000 111 0000 11", "111 0000 111 00", "111 0000 111 000"]),
])  # fmt: skip
def test_the_examples_of_the_isa(m: int, word: int, masks: list[str]) -> None:
    """ISA "Zero-Column Mask Descriptor", examples 2 to 4."""
    found = zero_columns(word, m, 128).reshape(len(masks), -1)
    for mask, own in zip(masks, found):
        count = len(mask.replace(" ", ""))
        assert own[:count].tolist() == bits(mask, count)
    assert not zero_columns(mask_of((0,), (0,), 4, 3, some=0), m, 128).any()


@pytest.mark.parametrize(("m", "shift"), [(32, 0), (64, 2), (128, 5)])
def test_zero_columns(m: int, shift: int) -> None:
    n, columns = 64, 64
    a, b = integers((m, 16), 1, np.float16), integers((n + 8, 16), 2, np.float16)
    a_image, a_leading, a_stride = place(a, 32, True)
    b_image, b_leading, b_stride = place(b, 32, True)
    image = np.frombuffer(a_image + b_image, np.uint8)[None]
    word = mask_of((3, 1, 0, 2), (0, 1, 1, 0), 1, 4, shift)
    issue = f"""
        mov.b64 %rd30, {word:#x};
        @%p6 tcgen05.mma.ws.cta_group::1.kind::f16 [%r31], %rd20, %rd21, %r40, %p8, %rd30;
        {COMMIT.format(group=1, multicast="", mask="")}
    """
    words = blackwell(IMAGE, a_leading, a_stride, 32), blackwell(IMAGE + len(a_image), b_leading, b_stride, 32)
    start = np.zeros((1, 128, columns), np.uint32)
    result, outcome = launch(kernel(image.shape[1], issue, columns=columns), image, start, (*words, idesc(m, n, "f16", "f16", "f32")))
    outcome.raise_for_reports()
    taken = np.where(zero_columns(word, m, n)[:, None], 0, b[shift : shift + n].astype(np.float32))
    product, width = a.astype(np.float32) @ taken.T, n * m // 128
    for part in range(128 // m):
        found = result[0, part * m : (part + 1) * m, :width].view(np.float32)
        np.testing.assert_array_equal(found, product[:, part * width : (part + 1) * width])


@pytest.mark.parametrize("m", [64, 128])
def test_rows_of_a_are_taken_from_below(m: int) -> None:
    """Row i from row i + 1, the last from its own place."""
    a, b = integers((m, 16), 1, np.float16), integers((16, 16), 2, np.float16)
    b_image, leading, stride = place(b, 32, True)
    lanes = np.arange(128) if m == 128 else np.arange(64) // 16 * 32 + np.arange(64) % 16
    start = np.zeros((1, 128, 32), np.uint32)
    start[0, lanes, 24:32] = a.view(np.uint32)
    issue = f"""
        add.u32 %r41, %r31, 24;
        @%p6 tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::discard [%r31], [%r41], %rd20, %r40, %p8;
        {COMMIT.format(group=1, multicast="", mask="")}
    """
    image = np.frombuffer(b_image, np.uint8)[None]
    words = blackwell(IMAGE, leading, stride, 32), 0, idesc(m, 16, "f16", "f16", "f32")
    result, outcome = launch(kernel(image.shape[1], issue), image, start, words)
    outcome.raise_for_reports()
    moved = np.concatenate([a[1:], a[-1:]]).astype(np.float32)
    np.testing.assert_array_equal(result[0, lanes, :16].view(np.float32), moved @ b.astype(np.float32).T)


def test_scales_of_a_pair_of_blocks() -> None:
    """Each block has the scales of its own rows of A, and of all columns of the product."""
    n, rng = 32, np.random.default_rng(6)
    a, b = (rng.choice([0, 0.5, 1, 1.5, -1, -2], (rows, 32)) for rows in (256, n))
    sa, sb = (2.0 ** rng.integers(-2, 3, rows) for rows in (256, n))
    images, start = [], np.zeros((2, 128, 64), np.uint32)
    octets = start.view(np.uint8).reshape(2, 128, 64, 4)
    for block in range(2):
        own, half = slice(128 * block, 128 * block + 128), slice(16 * block, 16 * block + 16)
        parts = [place(one.astype(ml_dtypes.float8_e4m3fn), 32, True) for one in (a[own], b[half])]
        images.append(np.frombuffer(parts[0][0] + parts[1][0], np.uint8))
        for first, scales in ((40, sa[own]), (48, sb)):
            for row, scale in enumerate(scales.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)):
                octets[block, row % 32 :: 32, first + row // 32, 0] = scale
    issue = f"""
        add.u32 %r41, %r31, 40; add.u32 %r42, %r31, 48;
        @%p6 tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale [%r31], %rd20, %rd21, %r40, [%r41], [%r42], %p8;
        {COMMIT.format(group=2, multicast=".multicast::cluster", mask=", 3")}
    """
    descriptors = [blackwell(IMAGE + at, *one[1:], 32) for at, one in zip((0, len(parts[0][0])), parts)]
    image = np.stack(images)
    word = n >> 3 << 17 | 1 << 23 | 16 << 24
    cells, outcome = launch(kernel(image.shape[1], issue, group=2, columns=64), image, start, (*descriptors, word), group=2)  # type: ignore[arg-type]
    outcome.raise_for_reports()
    wanted = (a * sa[:, None]) @ (b * sb[:, None]).T
    np.testing.assert_array_equal(cells[:, :, :n].reshape(256, n).view(np.float32), wanted)


def test_packed_elements_of_a_in_tensor_memory() -> None:
    """Two of 4 bits in a byte, without gaps."""
    rng = np.random.default_rng(8)
    a, b = (rng.choice([0, 0.5, 1, 1.5, 2, 3, -0.5, -4, -6], (rows, 64)) for rows in (128, 16))
    start = np.zeros((1, 128, 64), np.uint32)
    start[0, :, 40:48] = np.ascontiguousarray(rows_of(a, "e2m1", True)).view(np.uint32)
    start[0, :, 48:52] = start[0, :, 56:57] = 0x7F7F7F7F  # scales of 1
    b_image, leading, stride = place(rows_of(b, "e2m1", True), 32, True)
    issue = f"""
        add.u32 %r41, %r31, 40; add.u32 %r42, %r31, 48; add.u32 %r43, %r31, 56;
        @%p6 tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r31], [%r41], %rd20, %r40, [%r42], [%r43], %p8;
        {COMMIT.format(group=1, multicast="", mask="")}
    """
    image = np.frombuffer(b_image, np.uint8)[None]
    words = blackwell(IMAGE, leading, stride, 32), 0, 1 << 7 | 1 << 10 | 16 >> 3 << 17 | 1 << 23 | 8 << 24
    cells, outcome = launch(kernel(image.shape[1], issue, columns=64), image, start, words)
    outcome.raise_for_reports()
    np.testing.assert_array_equal(cells[0, :, :16].view(np.float32), a @ b.T)
