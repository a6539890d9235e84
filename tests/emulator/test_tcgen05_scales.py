"""tcgen05.mma with block scales in the emulator: narrow floats of every width, any number of columns, scales in any byte, wrong scales."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import EmulationResult
from tests.emulator.shared_images import blackwell, place
from tests.emulator.test_tcgen05 import IMAGE, kernel, launch, only

FLOATS = {
    "e4m3": (0, ml_dtypes.float8_e4m3fn, 8), "e5m2": (1, ml_dtypes.float8_e5m2, 8), "e2m3": (3, ml_dtypes.float6_e2m3fn, 6),
    "e3m2": (4, ml_dtypes.float6_e3m2fn, 6), "e2m1": (5, ml_dtypes.float4_e2m1fn, 4),
}  # fmt: skip
SA, SB = 64, 72


def rows_of(values: np.ndarray, of: str, packed: bool) -> np.ndarray:
    """Rows of 32 bytes: 16 elements in the first bits of each 16 bytes, or 4-bit elements without gaps."""
    _, dtype, bits = FLOATS[of]
    octets = values.astype(dtype).view(np.uint8)
    if packed:
        return octets[:, ::2] | octets[:, 1::2] << 4
    spread = np.unpackbits(octets[..., None], axis=-1, bitorder="little")[..., :bits].reshape(len(values), -1, 16 * bits)
    return np.packbits(np.pad(spread, ((0, 0), (0, 0), (0, 128 - 16 * bits))), axis=-1, bitorder="little").reshape(len(values), 32)


def run(
    kind: str, a_type: str, b_type: str, n: int, vectors: int, byte: int, *, spoiled: tuple[int, int] | None = None,
    no_number: int | None = None, word: int | None = None,
) -> tuple[np.ndarray, np.ndarray, EmulationResult]:  # fmt: skip
    """D as it should be, as it is, and the result; scales lie from `byte` of their columns on."""
    packed = not kind.startswith("mxf8f6f4")
    k = 64 if packed else 32
    rng = np.random.default_rng(n + byte)
    a, b = (rng.choice([0, 0.5, 1, 1.5, 2, -0.5, -1, -2], (rows, k)) for rows in (128, n))
    sa, sb = (2.0 ** rng.integers(-2, 3, (rows, vectors)) for rows in (128, n))
    images = [place(rows_of(matrix, of, packed), 32, True) for matrix, of in ((a, a_type), (b, b_type))]
    start_b = -(-len(images[0][0]) // 1024) * 1024
    image = np.frombuffer(images[0][0].ljust(start_b, b"\0") + images[1][0], np.uint8)[None]
    block16 = kind.endswith(("4X", "block16"))
    scale = ml_dtypes.float8_e4m3fn if block16 else ml_dtypes.float8_e8m0fnu
    start = np.zeros((1, 128, 128), np.uint32)
    octets = start.view(np.uint8).reshape(128, 128, 4)
    for first, scales in ((SA, sa), (SB, sb)):
        for row, values in enumerate(scales):
            for copy in range(4):
                octets[32 * copy + row % 32, first + row // 32, byte : byte + vectors] = values.astype(scale).view(np.uint8)
    if no_number is not None:
        octets[no_number % 32 :: 32, SA + no_number // 32, byte] = 0xFF
    if spoiled is not None:
        octets[spoiled[0], spoiled[1], byte] ^= 1
    formats = 1 << 7 | 1 << 10 if packed else FLOATS[a_type][0] << 7 | FLOATS[b_type][0] << 10
    idesc = formats | byte << 4 | n >> 3 << 17 | (not block16) << 23 | 8 << 24 | byte << 29
    descriptors = [blackwell(IMAGE + at, leading, stride, 32) for at, (_, leading, stride) in zip((0, start_b), images)]
    issue = f"""
        add.u32 %r41, %r31, {SA}; add.u32 %r42, %r31, {SB};
        @%p6 tcgen05.mma.cta_group::1.kind::{kind} [%r31], %rd20, %rd21, %r40, [%r41], [%r42], %p8;
        @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r29];
    """
    text = kernel(image.shape[1], issue, columns=128).replace(".version 8.6", ".version 8.8")
    cells, outcome = launch(text, image, start, (*descriptors, idesc if word is None else word))  # type: ignore[arg-type]
    wanted = (a * sa.repeat(k // vectors, 1)) @ (b * sb.repeat(k // vectors, 1)).T
    return wanted, cells[0, :, :n].view(np.float32), outcome


@pytest.mark.parametrize("a_type", FLOATS)
@pytest.mark.parametrize("b_type", FLOATS)
def test_narrow_floats_in_bytes_of_their_own(a_type: str, b_type: str) -> None:
    wanted, found, outcome = run("mxf8f6f4.block_scale", a_type, b_type, 16, 1, 2)
    outcome.raise_for_reports()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("n", [8, 24, 40, 64])
@pytest.mark.parametrize(
    ("kind", "vectors", "byte"),
    [
        ("mxf8f6f4.block_scale.scale_vec::1X", 1, 0), ("mxf8f6f4.block_scale.block32", 1, 3), ("mxf4.block_scale.scale_vec::2X", 2, 0),
        ("mxf4nvf4.block_scale.scale_vec::2X", 2, 2), ("mxf4nvf4.block_scale.scale_vec::4X", 4, 0), ("mxf4nvf4.block_scale.block16", 4, 0),
    ],
)  # fmt: skip
def test_scales_of_every_kind(kind: str, vectors: int, byte: int, n: int) -> None:
    of = "e5m2" if kind.startswith("mxf8") else "e2m1"
    wanted, found, outcome = run(kind, of, of, n, vectors, byte)
    outcome.raise_for_reports()
    np.testing.assert_array_equal(found, wanted)


def test_a_scale_of_nan_spoils_its_row_only() -> None:
    wanted, found, outcome = run("mxf8f6f4.block_scale", "e4m3", "e4m3", 8, 1, 0, no_number=70)
    outcome.raise_for_reports()
    wanted[70] = np.nan
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("lane", "row"), [(33, 1), (127, 31)])
def test_copies_that_differ_are_reported(lane: int, row: int) -> None:
    message = only(run("mxf8f6f4.block_scale", "e4m3", "e4m3", 32, 1, 0, spoiled=(lane, SA))[2], "tensor memory")
    assert f"the four copies of the scales of row {row} differ: lanes {row}, and 32, 64 and 96 more, hold the same" in message


@pytest.mark.parametrize(
    ("kind", "vectors", "change", "words"),
    [
        ("mxf4.block_scale", 2, 1 << 29, "scales of A and B begin in bytes 1 and 0"),
        ("mxf4.block_scale", 2, 1 << 16, "ask for MN-major matrices"),
        ("mxf8f6f4.block_scale", 1, 4, "sparse A"),
        ("mxf4.block_scale", 2, 1 << 31, "a K of 96, which the emulator does not compute"),
    ],
)
def test_instruction_descriptors_that_mean_nothing(kind: str, vectors: int, change: int, words: str) -> None:
    of, formats = ("e2m1", 1 << 7 | 1 << 10) if kind.startswith("mxf4") else ("e4m3", 0)
    outcome = run(kind, of, of, 8, vectors, 0, word=formats | 1 << 17 | 1 << 23 | 8 << 24 | change)[2]
    assert any("the instruction descriptor is" in str(one) and words in str(one) for one in outcome.reports), outcome.reports
