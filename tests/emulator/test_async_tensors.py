"""Tensor copies against NumPy: boxes of one to five dimensions, what lies outside, swizzles, multicast; and what is wrong with them."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.emulator.tensormap import decode_tensor_map, encode_tensor_map
from ptxgen.ir import Module
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read

SEEDS = range(3)
CHUNK = 16


def module(body: str, block: int = 32) -> Module:
    return read(
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .align 64 .b8 m[128], .param .u64 b)\n{\n"
        ".reg .pred %p<20>; .reg .b32 %r<60>; .reg .b64 %rd<40>;\n"
        ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 full;\n"
        "mov.u32 %r50, %tid.x; ld.param.u64 %rd2, [b]; setp.eq.u32 %p1, %r50, 0; mov.u64 %rd7, m; cvta.param.u64 %rd7, %rd7;\n"
        f"mov.u32 %r1, s;\n{body}\n}}\n"
    )


LOAD = """
    @%p1 mbarrier.init.shared.b64 [full], 1; @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], {nbytes};
    @%p1 cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd7, {{{at}}}], [full];
    W: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra W;
    mov.u32 %r2, %r50;
    L: setp.ge.u32 %p3, %r2, {chunks}; @%p3 bra E;
    mad.lo.u32 %r3, %r2, 16, %r1; ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r3];
    mul.wide.u32 %rd3, %r2, 16; add.u64 %rd3, %rd2, %rd3; st.global.v4.b32 [%rd3], {{%r10, %r11, %r12, %r13}};
    add.u32 %r2, %r2, 32; bra L;
    E: ret;
"""


def tensor_map(array: np.ndarray, box: tuple[int, ...], **options: Any) -> Any:
    """A function of the launch's addresses; `box` in the order of the array's axes."""
    kinds = {"float16": "f16", "float32": "f32", "uint8": "u8", "int32": "s32", "uint64": "u64", "float64": "f64", "uint16": "u16"}
    kind = options.pop("kind", kinds[array.dtype.name])
    strides = array.strides[::-1][1:]

    def encode(addresses: Any) -> bytes:
        return encode_tensor_map(kind, addresses[0], array.shape[::-1], strides, box[::-1], **options)

    return encode


def windowed(array: np.ndarray, box: tuple[int, ...], at: tuple[int, ...], fill: Any, steps: tuple[int, ...]) -> np.ndarray:
    """Element by element what a box holds: `at` and `box` in the order of the array's axes."""
    extents = [-(-extent // step) for extent, step in zip(box, steps)]
    result = np.full(extents, fill, array.dtype)
    for index in product(*map(range, extents)):
        place = tuple(start + step * one for start, step, one in zip(at, steps, index))
        if all(0 <= one < extent for one, extent in zip(place, array.shape)):
            result[index] = array[place]
    return result


def swizzle_image(image: np.ndarray, mode: str) -> np.ndarray:
    """The bytes of an image as they lie in shared memory: chunk numbers XORed with the number of their row of 128 bytes."""
    mask = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[mode]
    flat = np.ascontiguousarray(image).reshape(-1).view(np.uint8).reshape(-1, CHUNK)
    result = np.zeros_like(flat)
    for chunk in range(len(flat)):
        result[chunk ^ (chunk // 8 & mask)] = flat[chunk]
    return result.reshape(-1)


def load(
    array: np.ndarray, box: tuple[int, ...], at: tuple[int, ...], seed: int = 0, nbytes: int | None = None, **options: Any
) -> tuple[np.ndarray, EmulationResult]:
    steps = options.get("element_strides", (1,) * len(box))[::-1]
    count = int(np.prod([-(-extent // step) for extent, step in zip(box, steps)])) * array.itemsize
    out = np.zeros(count, np.uint8)
    body = LOAD.format(rank=len(box), at=", ".join(map(str, at[::-1])), nbytes=count if nbytes is None else nbytes, chunks=count // CHUNK)
    result = emulate(module(body), "k", grid=1, block=32, arguments=[array, tensor_map(array, box, **options), out], seed=seed)
    return out, result


CASES = [
    ((64,), (32,), (16,), np.float16),
    ((20, 64), (8, 32), (4, 16), np.float16),
    ((20, 64), (8, 32), (-3, 48), np.float16),
    ((9, 24), (4, 8), (7, -4), np.float32),
    ((9, 22), (4, 8), (7, 16), np.float64),
    ((5, 6, 16), (2, 3, 16), (4, 4, 0), np.uint8),
    ((3, 4, 5, 8), (2, 2, 3, 4), (2, -1, 3, 4), np.int32),
    ((2, 3, 2, 3, 4), (1, 2, 2, 2, 2), (1, 2, 1, -1, 2), np.uint64),
]


@pytest.mark.parametrize(("shape", "box", "at", "dtype"), CASES)
def test_boxes(shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], dtype: Any) -> None:
    array = (np.arange(np.prod(shape)) % 1999 + 1).astype(dtype).reshape(shape)
    out, result = load(array, box, at)
    result.raise_for_reports()
    assert (out.view(dtype).reshape(box) == windowed(array, box, at, 0, (1,) * len(box))).all()


@pytest.mark.parametrize("mode", ["32B", "64B", "128B"])
@pytest.mark.parametrize("seed", SEEDS)
def test_swizzles_and_an_early_landing(mode: str, seed: int) -> None:
    width = int(mode[:-1]) // 2
    array = np.arange(40 * 3 * width, dtype=np.uint16).reshape(40, 3 * width)
    box, at = (24, width), (19, width)
    out, result = load(array, box, at, seed, swizzle=mode)
    result.raise_for_reports()
    assert (out == swizzle_image(windowed(array, box, at, 0, (1, 1)), mode)).all()


def test_element_strides_and_nan_fill() -> None:
    array = np.arange(1, 20 * 16 + 1, dtype=np.float32).reshape(20, 16)
    out, result = load(array, (12, 8), (11, 12), element_strides=(1, 3), fill="nan")
    result.raise_for_reports()
    expected = windowed(array, (12, 8), (11, 12), np.nan, (3, 1))
    np.testing.assert_array_equal(out.view(np.float32).reshape(4, 8), expected)


def test_bytes_outside_of_the_tensor_count_as_well() -> None:
    array = np.ones((4, 32), np.float16)
    _, result = load(array, (8, 32), (2, 0), nbytes=2 * 32 * 2)
    assert [report.kind for report in result.reports] == ["deadlock"]
    assert "384 transaction bytes more than expected" in str(result.reports[0])


STORE = """
    mov.u32 %r2, %r50;
    L: setp.ge.u32 %p3, %r2, {chunks}; @%p3 bra E;
    mul.wide.u32 %rd3, %r2, 16; add.u64 %rd3, %rd2, %rd3; ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd3];
    mad.lo.u32 %r3, %r2, 16, %r1; st.shared.v4.b32 [%r3], {{%r10, %r11, %r12, %r13}};
    add.u32 %r2, %r2, 32; bra L;
    E: {fence} bar.sync 0;
    @%p1 cp{op}.async.bulk.tensor.{rank}d.global.shared::cta{kind}.tile.bulk_group [%rd7, {{{at}}}], [s];
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group{read} 0;
"""


def store(
    array: np.ndarray, image: np.ndarray, at: tuple[int, ...], swizzle: str = "none", operation: str = "",
    fence: str = "fence.proxy.async;", seed: int = 0,
) -> EmulationResult:  # fmt: skip
    data = swizzle_image(image, swizzle)
    body = STORE.format(
        chunks=len(data) // CHUNK, fence=fence, rank=image.ndim, at=", ".join(map(str, at[::-1])),
        op=".reduce" if operation else "", kind=operation, read=".read" if seed % 2 else "",
    )  # fmt: skip
    arguments = [array, tensor_map(array, image.shape, swizzle=swizzle), data]
    return emulate(module(body), "k", grid=1, block=32, arguments=arguments, seed=seed)


@pytest.mark.parametrize(("swizzle", "width"), [("none", 40), ("32B", 16), ("64B", 32), ("128B", 64)])
@pytest.mark.parametrize("seed", SEEDS)
def test_stores_leave_out_what_lies_outside(swizzle: str, width: int, seed: int) -> None:
    array = np.zeros((21, 3 * width), np.uint16)
    image = np.arange(1, 16 * width + 1, dtype=np.uint16).reshape(16, width)
    at = (9, 3 * width - 8)
    store(array, image, at, swizzle, seed=seed).raise_for_reports()
    expected = np.zeros_like(array)
    expected[9:, -8:] = image[:12, :8]
    assert (array == expected).all()


@pytest.mark.parametrize(("at", "axis", "start"), [((-3, 8), 0, -3), ((4, -16), 1, -16)])
@pytest.mark.parametrize("operation", ["", ".add"])
def test_stores_do_not_begin_before_the_tensor(at: tuple[int, int], axis: int, start: int, operation: str) -> None:
    """On an H200 such a store is an illegal instruction, however much of the box lies inside."""
    array, image = np.zeros((20, 32), np.int32), np.ones((8, 16), np.int32)
    (report,) = store(array, image, at, operation=operation).reports
    assert report.kind == "tensor map"
    assert f"the box begins at element {start} along axis {axis}, before the tensor: a store or reduction there is" in str(report)
    assert not array.any()


@pytest.mark.parametrize(("operation", "function"), [(".add", np.add), (".max", np.maximum), (".min", np.minimum)])
def test_reductions(operation: str, function: Any) -> None:
    array = (np.arange(20 * 24) * 7 % 311).astype(np.int32).reshape(20, 24)
    expected = array.copy()
    image = (np.arange(6 * 12) * 5 % 293).astype(np.int32).reshape(6, 12)
    expected[4:10, 8:20] = function(expected[4:10, 8:20], image)
    store(array, image, (4, 8), operation=operation).raise_for_reports()
    assert (array == expected).all()


def test_a_store_without_its_fence() -> None:
    array, image = np.zeros((20, 64), np.uint16), np.ones((8, 64), np.uint16)
    for seed in SEEDS:
        reports = store(array, image, (0, 0), "128B", fence="", seed=seed).reports
        assert [report.kind for report in reports] == ["proxy fence"]
        assert "1024 bytes at s byte 0 are read by the async proxy, and st.shared.v4.b32" in str(reports[0])


MULTICAST = """
    .reg .b16 %mask; .reg .b32 %rank;
    mov.u32 %rank, %cluster_ctarank; setp.eq.and.u32 %p4, %rank, 0, %p1;
    @%p1 mbarrier.init.shared.b64 [full], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    SYNC
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 2048;
    mov.u16 %mask, 13;
    setp.ne.u32 %p5, %rank, 1;
    @%p4 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
        [s], [%rd7, {0, 4}], [full], %mask;
    @!%p5 bra DONE;
    W: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra W;
    mov.u32 %r2, %r50;
    L: mad.lo.u32 %r3, %r2, 16, %r1; ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r3];
    mov.u32 %r6, %ctaid.x; mad.lo.u32 %r7, %r6, 128, %r2; mul.wide.u32 %rd3, %r7, 16; add.u64 %rd3, %rd2, %rd3;
    st.global.v4.b32 [%rd3], {%r10, %r11, %r12, %r13};
    add.u32 %r2, %r2, 32; setp.lt.u32 %p3, %r2, 128; @%p3 bra L;
    DONE: barrier.cluster.arrive; barrier.cluster.wait;
"""
CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;"


@pytest.mark.parametrize("seed", SEEDS)
def test_multicast_tells_each_block_that_receives(seed: int) -> None:
    array = np.arange(32 * 64, dtype=np.uint16).reshape(32, 64)
    out = np.zeros((8, 16, 64), np.uint16)
    arguments = [array, tensor_map(array, (16, 64)), out]
    result = emulate(module(MULTICAST.replace("SYNC", CLUSTER)), "k", grid=8, block=32, cluster=4, arguments=arguments, seed=seed)
    result.raise_for_reports()
    for block in range(8):
        assert (out[block] == (0 if block % 4 == 1 else array[4:20])).all()


def test_multicast_to_blocks_that_are_not_ready() -> None:
    array, out = np.zeros((32, 64), np.uint16), np.zeros((8, 16, 64), np.uint16)
    arguments = [array, tensor_map(array, (16, 64)), out]
    body = MULTICAST.replace("SYNC", "bar.sync 0;")
    kinds = set()
    for seed in range(6):
        result = emulate(module(body), "k", grid=4, block=32, cluster=4, arguments=arguments, seed=seed)
        kinds |= {report.kind for report in result.reports}
    assert "race" in kinds


def multicast(body: str, seed: int = 0) -> list[str]:
    array, out = np.zeros((32, 64), np.uint16), np.zeros((8, 16, 64), np.uint16)
    arguments = [array, tensor_map(array, (16, 64)), out]
    result = emulate(module(body), "k", grid=4, block=32, cluster=4, arguments=arguments, seed=seed)
    return [str(report) for report in result.reports]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("fence", "sync"),
    [
        ("fence.mbarrier_init.release.cluster;", "barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;"),
        ("fence.proxy.async.shared::cta;", CLUSTER),
        ("", CLUSTER + " fence.proxy.async.shared::cluster;"),  # a fence anywhere between the init and the copy
        ("fence.acq_rel.cluster; fence.mbarrier_init.release.cluster;", "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"),
    ],
)
def test_mbarriers_made_known_to_the_cluster(fence: str, sync: str, seed: int) -> None:
    body = MULTICAST.replace("fence.mbarrier_init.release.cluster;", fence or "mov.u32 %r40, 0;")
    assert multicast(body.replace("SYNC", sync), seed) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_mbarriers_whose_init_no_fence_makes_known(seed: int) -> None:
    reports = multicast(MULTICAST.replace("fence.mbarrier_init.release.cluster;", "mov.u32 %r40, 0;").replace("SYNC", CLUSTER), seed)
    first = re.sub(r"<text>:\d+:\d+", "<text>", reports[0])
    copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
    assert first == (
        f"<text>: {copy}: proxy fence: mbarrier full byte 0 is told by the async proxy, and mbarrier.init.shared.b64 (<text>) in warp 0 of"
        " block 0 initialised it by the generic proxy: fence.mbarrier_init.release.cluster (or fence.proxy.async) behind the init, before"
        " the barrier in between, is missing (block 0, thread 0 and 2 more)"
    )
    relaxed = MULTICAST.replace("fence.mbarrier_init.release.cluster;", "mov.u32 %r40, 0;")
    relaxed = relaxed.replace("SYNC", "barrier.cluster.arrive.relaxed; barrier.cluster.wait;")
    assert any("nothing orders this after mbarrier.init" in report for report in multicast(relaxed, seed))


def test_what_is_wrong_with_a_tensor_copy() -> None:
    array, out = np.zeros((32, 64), np.uint16), np.zeros(2048, np.uint8)

    def reports(body: str, given: Any) -> str:
        body = LOAD.format(rank=2, at="0, 0", nbytes=2048, chunks=128).replace(*body.split(" -> ")) if body else ""
        return "\n".join(map(str, emulate(module(body), "k", grid=1, block=32, arguments=[array, given, out]).reports))

    assert "the destination is at address 0x880, which is no multiple of 1024 (swizzle 128B)" in reports(
        "[s], [%rd7 -> [s+1152], [%rd7", tensor_map(array, (16, 64), swizzle="128B")
    )
    assert "which is no multiple of 128" in reports("[s], [%rd7 -> [s+64], [%rd7", tensor_map(array, (16, 64)))
    assert "a tensor map of 1 dimensions for a copy of 2" in reports(
        "bar -> bar", lambda addresses: encode_tensor_map("u16", addresses[0], (64,), (), (64,))
    )
    assert "no tensor map that the emulator has encoded lies at address" in reports("bar -> bar", bytes(128))
    assert "the tensor map is at address" in reports("[%rd7, -> [%rd7+16,", tensor_map(array, (16, 64)))


def test_encoding() -> None:
    encoded = encode_tensor_map(
        "f32", 0x7F00_1234_5670, (5, 1 << 32, 7), (32, 1 << 39), (4, 256, 1), (1, 8, 2), swizzle="64B", interleave="none", fill="nan"
    )
    assert len(encoded) == 128
    decoded = decode_tensor_map(encoded)
    assert decoded is not None
    assert decoded == ("f32", 0x7F00_1234_5670, (5, 1 << 32, 7), (32, 1 << 39), (4, 256, 1), (1, 8, 2), "64B", "none", "nan")
    assert decode_tensor_map(bytes(128)) is None
    with pytest.raises(PtxgenError, match="a tensor map of 2 axes, 0 strides, 2 box extents and 2 element strides"):
        encode_tensor_map("f32", 0, (4, 4), (), (4, 4))
    with pytest.raises(PtxgenError, match="kind f33"):
        encode_tensor_map("f33", 0, (4,), (), (4,))
    with pytest.raises(PtxgenError, match="box"):
        encode_tensor_map("f32", 0, (4,), (), (1 << 16,))
