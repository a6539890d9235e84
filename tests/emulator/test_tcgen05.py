"""tcgen05 against NumPy: products by the datapath layouts of the ISA, moves by index formulas of the test's own, and what is reported."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read
from tests.emulator.shared_images import blackwell, place

SHARED = 0x400
IMAGE = 0x800
"""Where the image starts: behind the mbarrier and the address of tensor memory."""

TYPES: dict[str, tuple[str, int, Any]] = {
    "f16": ("f16", 0, np.float16), "bf16": ("f16", 1, ml_dtypes.bfloat16), "tf32": ("tf32", 2, np.float32),
    "e4m3": ("f8f6f4", 0, ml_dtypes.float8_e4m3fn), "e5m2": ("f8f6f4", 1, ml_dtypes.float8_e5m2), "u8": ("i8", 0, np.uint8),
    "s8": ("i8", 1, np.int8),
}  # fmt: skip
RESULTS: dict[str, tuple[int, Any]] = {"f16": (0, np.float16), "f32": (1, np.float32), "s32": (2, np.int32)}


def idesc(m: int, n: int, a: str, b: str, d: str, **bits: int) -> int:
    word = RESULTS[d][0] << 4 | TYPES[a][1] << 7 | TYPES[b][1] << 10 | n >> 3 << 17 | m >> 4 << 24
    places = {"negate_a": 13, "negate_b": 14, "transpose_a": 15, "transpose_b": 16, "saturate": 3}
    return word | sum(value << places[name] for name, value in bits.items())


ALLOC = "tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%r30], 512;"
FREE = "tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r31, 512;"
WAIT = """
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r29], 0;
    @!%p5 bra WAIT;
    tcgen05.fence::after_thread_sync;
"""


def kernel(
    size: int,
    issue: str,
    *,
    group: int = 1,
    columns: int = 32,
    alloc: str = ALLOC,
    free: str = FREE,
    wait: str = WAIT,
    proxy: str = "fence.proxy.async;",
    fence: str = "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;",
    wait_load: str = "tcgen05.wait::ld.sync.aligned;",
    wait_store: str = "tcgen05.wait::st.sync.aligned;",
    elected: str = "setp.eq.u32 %p6, %r1, 0;",
) -> str:
    """128 threads a block: fill shared memory and tensor memory, have `issue` executed by one thread, and read tensor memory back.

    `start` and `result` are (blocks, 128, columns) words of lanes and columns; %rd20 and %rd21 are the descriptors of A and B, %r40 the
    instruction descriptor, %r31 the address of tensor memory, %r29 an mbarrier; %p7 is true and %p8 false.
    """
    cluster = ".explicitcluster\n.reqnctapercluster 2" if group == 2 else ""
    sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" if group == 2 else "bar.sync 0;"
    names = [f"%v{number}" for number in range(columns)]
    loads = "".join(f"ld.global.b32 {name}, [%rd7+{4 * number}];\n" for number, name in enumerate(names))
    stores = "".join(f"st.global.b32 [%rd8+{4 * number}], {name};\n" for number, name in enumerate(names))
    leader = "and.pred %p6, %p6, %p9;" if group == 2 else ""
    return f"""
        .version 8.6
        .target sm_100a
        .address_size 64
        .visible .entry k(.param .u64 image, .param .u64 start, .param .u64 result, .param .u64 a, .param .u64 b, .param .u32 idesc)
        {cluster}
        {{
        .shared .align 1024 .b8 smem[{IMAGE - SHARED + size}];
        .reg .pred %p<12>; .reg .b32 %r<60>; .reg .b64 %rd<40>; .reg .b32 %v<{columns + 4}>;
        ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [start]; ld.param.u64 %rd3, [result];
        ld.param.u64 %rd20, [a]; ld.param.u64 %rd21, [b]; ld.param.u32 %r40, [idesc];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
        mov.u32 %r29, smem; add.u32 %r30, %r29, 16;
        mad.lo.u32 %r3, %r2, 128, %r1;
        mad.wide.u32 %rd7, %r3, {4 * columns}, %rd2; mad.wide.u32 %rd8, %r3, {4 * columns}, %rd3;
        mad.wide.u32 %rd1, %r2, {size}, %rd1;
        shr.u32 %r4, %r1, 5; setp.eq.u32 %p1, %r4, 0;
        setp.eq.u32 %p7, %r1, %r1; not.pred %p8, %p7; setp.eq.u32 %p9, %r2, 0;
        {elected}
        @!%p6 bra MADE;
        mbarrier.init.shared::cta.b64 [%r29], 1;
        fence.mbarrier_init.release.cluster;
        MADE:
        {leader}
        shl.b32 %r5, %r1, 4;
        COPY:
        setp.ge.u32 %p2, %r5, {size};
        @%p2 bra COPIED;
        cvt.u64.u32 %rd4, %r5; add.u64 %rd5, %rd1, %rd4; add.u32 %r6, %r29, %r5;
        ld.global.v4.b32 {{%r7, %r8, %r9, %r10}}, [%rd5];
        st.shared.v4.b32 [%r6+{IMAGE - SHARED}], {{%r7, %r8, %r9, %r10}};
        add.u32 %r5, %r5, 2048;
        bra COPY;
        COPIED:
        {proxy}
        @%p1 {alloc.format(group=group)}
        bar.sync 0;
        ld.shared.b32 %r31, [%r30];
        shl.b32 %r11, %r4, 21; add.u32 %r32, %r31, %r11;
        {loads}
        tcgen05.st.sync.aligned.32x32b.x{columns}.b32 [%r32], {{{", ".join(names)}}};
        {wait_store}
        {fence}
        {sync}
        {issue}
        {wait}
        tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {{{", ".join(names)}}}, [%r32];
        {wait_load}
        {stores}
        tcgen05.fence::before_thread_sync;
        {sync}
        @%p1 {free.format(group=group)}
        }}
        """


def launch(
    text: str, image: np.ndarray, start: np.ndarray, words: tuple[int, int, int], *, group: int = 1, **options: Any
) -> tuple[np.ndarray, EmulationResult]:
    """Run a kernel on images of shape (blocks, bytes) and tensor memory of shape (blocks, 128, columns)."""
    result = np.zeros_like(start)
    blocks = len(start)
    outcome = emulate(
        read(text), "k", grid=blocks, block=128, cluster=2 if group == 2 else None,
        arguments=[image, start, result, *(word.to_bytes(8, "little") for word in words[:2]), words[2].to_bytes(4, "little")],
        **options,
    )  # fmt: skip
    return result, outcome


MMA = """
    @%p6 tcgen05.mma.cta_group::{group}.kind::{kind} [%r31], {a}, %rd21, %r40, {lanes}%p{adds}{scale};
    @%p6 tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [%r29]{mask};
"""


def integers(shape: tuple[int, int], seed: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(seed).integers(0 if dtype is np.uint8 else -4, 5, shape).astype(dtype)


def lane_of(row: int, m: int, group: int) -> tuple[int, int]:
    """Block and lane of a row of D, for its first columns."""
    block, row = divmod(row, m // group)
    return block, row // 16 * 32 + row % 16 if m == 64 else row


def column_of(n: int, column: int, m: int, group: int) -> tuple[int, int]:
    """Further lanes and the column of tensor memory of a column of D."""
    return (column // (n // 2) * 64, column % (n // 2)) if (m, group) == (128, 2) else (0, column)


def as_words(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint16).astype(np.uint32) if values.dtype.itemsize == 2 else values.view(np.uint32)


def product(
    m: int = 128,
    n: int = 32,
    type_a: str = "f16",
    type_b: str = "",
    type_d: str = "f32",
    *,
    group: int = 1,
    a_span: int = 128,
    b_span: int = 128,
    a_major: bool = True,
    b_major: bool = True,
    a_in_tensor_memory: bool = False,
    adds: bool = True,
    issue: str = MMA,
    lanes: str = "",
    scale: str = "",
    image_only: bool = False,
    negate: tuple[int, int] = (0, 0),
    seed: int = 0,
    checks: bool = True,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, EmulationResult]:
    """A (M, K), B (N, K), C and D (M, N), and the emulator's result."""
    type_b = type_b or type_a
    kind, _, dtype_a = TYPES[type_a]
    dtype_b, dtype_d = TYPES[type_b][2], RESULTS[type_d][1]
    k = 32 // np.dtype(dtype_a).itemsize
    a, b, c = integers((m, k), 1, dtype_a), integers((n, k), 2, dtype_b), integers((m, n), 3, dtype_d)
    images, columns = [], 64 if a_in_tensor_memory else 32
    granules = [32 if np.dtype(of).itemsize == 4 and not major else 16 for of, major in ((dtype_a, a_major), (dtype_b, b_major))]
    for block in range(group):
        a_image, a_leading, a_stride = place(a[block * m // group : (block + 1) * m // group], a_span, a_major, granules[0])
        b_image, b_leading, b_stride = place(b[block * n // group : (block + 1) * n // group], b_span, b_major, granules[1])
        b_start = -(-len(a_image) // 1024) * 1024
        images.append(np.frombuffer(a_image.ljust(b_start, b"\0") + b_image, np.uint8))
    start = np.zeros((group, 128, columns), np.uint32)
    for row in range(m):
        for column in range(n):
            block, lane = lane_of(row, m, group)
            more, where = column_of(n, column, m, group)
            start[block, lane + more, where] = as_words(c[row : row + 1, column])[0]
        if a_in_tensor_memory:
            words = np.ascontiguousarray(a[row]).view(np.uint32)
            for more in (0, 64) if (m, group) == (128, 2) else (0,):
                start[block, lane + more, 40 : 40 + 8] = words
    word = idesc(
        m, n, type_a, type_b, type_d, transpose_a=int(not a_major), transpose_b=int(not b_major), negate_a=negate[0], negate_b=negate[1]
    )
    issue = issue.format(
        group=group, kind=kind, a="[%r33]" if a_in_tensor_memory else "%rd20", lanes=lanes, adds=7 if adds else 8, scale=scale,
        multicast=".multicast::cluster" if group == 2 else "", mask=", 3" if group == 2 else "",
    )  # fmt: skip
    if a_in_tensor_memory:
        issue = "add.u32 %r33, %r31, 40;\n" + issue
    image = np.stack(images)
    words = (
        blackwell(IMAGE, a_leading, a_stride, a_span, granules[0]),
        blackwell(IMAGE + b_start, b_leading, b_stride, b_span, granules[1]),
        word,
    )
    text = kernel(image.shape[1], issue, group=group, columns=columns, **options)
    if image_only:
        return image, start, words, text, None  # type: ignore[return-value]
    cells, outcome = launch(text, image, start, words, group=group, seed=seed, checks=checks)
    d = np.zeros((m, n), dtype_d)
    for row in range(m):
        for column in range(n):
            block, lane = lane_of(row, m, group)
            more, where = column_of(n, column, m, group)
            value = cells[block, lane + more, where : where + 1]
            d[row, column] = value.astype(np.uint16).view(dtype_d)[0] if type_d == "f16" else value.view(dtype_d)[0]
    return a, b, c, d, outcome


def check(**options: Any) -> None:
    a, b, c, d, outcome = product(**options)
    outcome.raise_for_reports()
    assert np.array_equal(d, a.astype(np.int64) @ b.astype(np.int64).T + c.astype(np.int64))


@pytest.mark.parametrize("m, n", [(128, 16), (128, 32), (64, 8), (64, 24)])
def test_shapes_of_one_block(m: int, n: int) -> None:
    check(m=m, n=n)


@pytest.mark.parametrize("type_a, type_b, type_d", [
    ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("e4m3", "e5m2", "f32"), ("e5m2", "e4m3", "f16"),
    ("s8", "u8", "s32"), ("u8", "s8", "s32"),
])  # fmt: skip
def test_every_type(type_a: str, type_b: str, type_d: str) -> None:
    check(type_a=type_a, type_b=type_b, type_d=type_d, a_span=32, b_span=64)


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize("a_major, b_major", [(True, True), (True, False), (False, True), (False, False)])
def test_every_major_and_swizzle(span: int, a_major: bool, b_major: bool) -> None:
    check(a_span=span, b_span=span, a_major=a_major, b_major=b_major)


@pytest.mark.parametrize("type, span", [("s8", 128), ("e4m3", 32), ("tf32", 128)])
def test_majors_of_other_widths(type: str, span: int) -> None:
    check(type_a=type, type_d="s32" if type == "s8" else "f32", a_span=span, b_span=span, a_major=False, b_major=False)


@pytest.mark.parametrize("m, n", [(128, 32), (256, 32), (256, 16)])
@pytest.mark.parametrize("major", [True, False])
def test_pairs_of_blocks(m: int, n: int, major: bool) -> None:
    check(m=m, n=n, group=2, a_span=32, b_span=16, b_major=major)


@pytest.mark.parametrize("m, group, type", [(128, 1, "f16"), (64, 1, "bf16"), (128, 2, "f16"), (256, 2, "e4m3"), (128, 1, "tf32")])
def test_a_in_tensor_memory(m: int, group: int, type: str) -> None:
    check(m=m, group=group, type_a=type, a_in_tensor_memory=True)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_orders_of_warps(seed: int) -> None:
    check(seed=seed)
    check(seed=seed, m=256, group=2)


@pytest.mark.parametrize("m", [32, 64, 128])
def test_stationary_weights(m: int) -> None:
    """Rows of D lie in the first lanes; the lanes behind them hold further columns."""
    n, columns = 64, 64
    a, b = integers((m, 16), 1, np.float16), integers((n, 16), 2, np.float16)
    a_image, a_leading, a_stride = place(a, 32, True)
    b_image, b_leading, b_stride = place(b, 32, True)
    image = np.frombuffer(a_image + b_image, np.uint8)[None]
    start = np.random.default_rng(0).integers(-9, 9, (1, 128, columns)).astype(np.float32).view(np.uint32)
    issue = MMA.replace("tcgen05.mma", "tcgen05.mma.ws").format(
        group=1, kind="f16", a="%rd20", lanes="", adds=7, scale="", multicast="", mask=""
    )
    words = blackwell(IMAGE, a_leading, a_stride, 32), blackwell(IMAGE + len(a_image), b_leading, b_stride, 32)
    text = kernel(image.shape[1], issue, columns=columns)
    result, outcome = launch(text, image, start, (*words, idesc(m, n, "f16", "f16", "f32")))
    outcome.raise_for_reports()
    expected = start.view(np.float32).copy()
    product = a.astype(np.float32) @ b.astype(np.float32).T
    width = n * m // 128
    for lane in range(128):
        expected[0, lane, :width] += product[lane % m, lane // m * width : (lane // m + 1) * width]
    assert np.array_equal(result.view(np.float32), expected)


def test_without_the_accumulator() -> None:
    a, b, _, d, outcome = product(adds=False)
    outcome.raise_for_reports()
    assert np.array_equal(d, a.astype(np.int64) @ b.astype(np.int64).T)


def test_negated_operands_and_a_scaled_accumulator() -> None:
    a, b, c, d, outcome = product(negate=(1, 0), scale=", 2")
    outcome.raise_for_reports()
    assert np.array_equal(d, c / 4 - a.astype(np.int64) @ b.astype(np.int64).T)


def test_output_lanes_that_are_off() -> None:
    lanes = "mov.b32 %r50, 0x80000001; mov.b32 %r51, 0; mov.b32 %r52, 6; mov.b32 %r53, 0;\n"
    a, b, c, d, outcome = product(issue=lanes + MMA, lanes="{%r50, %r51, %r52, %r53}, ")
    outcome.raise_for_reports()
    off = np.zeros(128, bool)
    off[[0, 31, 65, 66]] = True
    assert np.array_equal(d, np.where(off[:, None], c, a.astype(np.int64) @ b.astype(np.int64).T + c))


def test_products_follow_one_another() -> None:
    one = MMA.split("\n")[1]
    a, b, c, d, outcome = product(issue=one + "\n" + MMA)
    outcome.raise_for_reports()
    assert np.array_equal(d, 2 * (a.astype(np.int64) @ b.astype(np.int64).T) + c)


# ---- moves ------------------------------------------------------------------------------------------------------------


def cell_of(shape: str, thread: int, register: int, split: int) -> tuple[int, int]:
    """Lane and column of a register, by the ISA's figures."""
    group, rest = divmod(thread, 4)
    match shape:
        case "32x32b":
            return thread, register
        case "16x64b":  # threads 0, 1 of four hold row g, 2, 3 the next column; odd ones the rows from 8 on
            return group + 8 * (rest % 2), 2 * register + rest // 2
        case "16x128b":
            return group + 8 * (register % 2), 4 * (register // 2) + rest
        case "16x256b":
            return group + 8 * (register // 2 % 2), 8 * (register // 4) + 2 * rest + register % 2
    return thread % 16, register + split * (thread // 16)


MOVES = [
    ("32x32b", 1), ("32x32b", 8), ("16x64b", 1), ("16x64b", 4), ("16x128b", 1), ("16x128b", 2), ("16x256b", 1), ("16x256b", 2),
    ("16x32bx2", 1), ("16x32bx2", 4),
]  # fmt: skip
PER = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


@pytest.mark.parametrize("lane", [0, 16])
@pytest.mark.parametrize("shape, repeats", MOVES)
def test_loads(shape: str, repeats: int, lane: int) -> None:
    if lane and shape == "32x32b":
        return
    count = PER[shape] * repeats
    split = "7" if shape == "16x32bx2" else ""
    names = ", ".join(f"%v{number}" for number in range(count))
    load = f"tcgen05.ld.sync.aligned.{shape}.x{repeats}.b32 {{{names}}}, [%r35]{', ' if split else ''}{split};"
    issue = f"add.u32 %r35, %r32, {lane << 16};\n{load}\ntcgen05.wait::ld.sync.aligned;\n"
    issue += "".join(f"st.global.b32 [%rd8+{4 * number}], %v{number};\n" for number in range(count)) + "bra FREE;\n"
    start = np.arange(128 * 32, dtype=np.uint32).reshape(1, 128, 32)
    end = "FREE: tcgen05.fence::before_thread_sync; bar.sync 0;\n@%p1 "
    text = kernel(16, issue, wait="bra FREE;", free=end + FREE).replace("@%p1 FREE: ", "FREE: ")
    result, outcome = launch(text, np.zeros((1, 16), np.uint8), start, (0, 0, 0))
    outcome.raise_for_reports()
    for thread in range(128):
        for register in range(count):
            row, column = cell_of(shape, thread % 32, register, 7)
            assert result[0, thread, register] == start[0, thread // 32 * 32 + lane + row, column]


@pytest.mark.parametrize("operation, of, expected", [
    ("min", "u32", lambda words: words.min(1)),
    ("max", "s32", lambda words: words.view(np.int32).max(1).view(np.uint32)),
    ("max.abs", "f32", lambda words: np.abs(words.view(np.float32)).max(1).view(np.uint32)),
])  # fmt: skip
def test_loads_with_a_reduction(operation: str, of: str, expected: Any) -> None:
    issue = f"""
        tcgen05.ld.red.sync.aligned.32x32b.x4.{operation}.{of} {{%v0, %v1, %v2, %v3}}, %v9, [%r32];
        tcgen05.wait::ld.sync.aligned;
        add.u32 %r35, %r32, 16;
        tcgen05.st.sync.aligned.32x32b.x1.b32 [%r35], {{%v9}};
        tcgen05.wait::st.sync.aligned;
    """
    values = np.random.default_rng(0).standard_normal((1, 128, 32)).astype(np.float32)
    text = kernel(16, issue, wait="").replace("sm_100a", "sm_103a").replace(".version 8.6", ".version 8.8")
    if of == "f32":
        text = text.replace("%v<", "%u<").replace("%v", "%u").replace(".b32 %u<", ".f32 %u<")
    result, outcome = launch(text, np.zeros((1, 16), np.uint8), values.view(np.uint32), (0, 0, 0))
    outcome.raise_for_reports()
    assert np.array_equal(result[0, :, 16], expected(values[0, :, :4].copy().view(np.uint32)))


@pytest.mark.parametrize("shape, repeats", MOVES)
def test_stores(shape: str, repeats: int) -> None:
    count = PER[shape] * repeats
    split = "7, " if shape == "16x32bx2" else ""
    names = ", ".join(f"%v{number}" for number in range(count))
    issue = f"tcgen05.st.sync.aligned.{shape}.x{repeats}.b32 [%r32], {split}{{{names}}};\ntcgen05.wait::st.sync.aligned;"
    start = np.arange(128 * 32, dtype=np.uint32).reshape(1, 128, 32)
    result, outcome = launch(kernel(16, issue, wait=""), np.zeros((1, 16), np.uint8), start, (0, 0, 0))
    outcome.raise_for_reports()
    expected = start.copy()
    for thread in range(128):
        for register in range(count):
            row, column = cell_of(shape, thread % 32, register, 7)
            expected[0, thread // 32 * 32 + row, column] = start[0, thread, register]
    assert np.array_equal(result, expected)


def test_halves_of_registers() -> None:
    """Two columns in each register, of which the lower halves count; and back."""
    issue = """
        tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%v0, %v1}, [%r32];
        tcgen05.wait::ld.sync.aligned;
        add.u32 %r35, %r32, 16;
        tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r35], {%v0, %v1};
        tcgen05.wait::st.sync.aligned;
    """
    start = np.random.default_rng(0).integers(0, 2**32, (1, 128, 32), dtype=np.uint32)
    result, outcome = launch(kernel(16, issue, wait=""), np.zeros((1, 16), np.uint8), start, (0, 0, 0))
    outcome.raise_for_reports()
    expected = start.copy()
    expected[:, :, 16:20] = start[:, :, :4] & 0xFFFF
    assert np.array_equal(result, expected)


COPIES = [
    ("128x256b", "", 128, 32, lambda row: [row]),
    ("128x128b", "", 128, 16, lambda row: [row]),
    ("64x128b", ".warpx2::02_13", 64, 16, lambda row: [row, row + 64]),
    ("64x128b", ".warpx2::01_23", 64, 16, lambda row: [row % 32 + 64 * (row // 32), row % 32 + 64 * (row // 32) + 32]),
    ("32x128b", ".warpx4", 32, 16, lambda row: [row, row + 32, row + 64, row + 96]),
    ("4x256b", "", 4, 32, lambda row: [32 * row]),
]


@pytest.mark.parametrize("span", [16, 32])
@pytest.mark.parametrize("shape, multicast, rows, width, lanes", COPIES, ids=[case[0] + case[1] for case in COPIES])
def test_copies(shape: str, multicast: str, rows: int, width: int, lanes: Any, span: int) -> None:
    matrix = np.random.default_rng(0).integers(0, 256, (rows, width), dtype=np.uint8)
    image, leading, stride = place(matrix, span, True)
    issue = f"""
        @%p6 tcgen05.cp.cta_group::1.{shape}{multicast} [%r31], %rd20;
        @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r29];
    """
    start = np.arange(128 * 32, dtype=np.uint32).reshape(1, 128, 32)
    packed = np.frombuffer(image, np.uint8)[None]
    result, outcome = launch(kernel(packed.shape[1], issue), packed, start, (blackwell(IMAGE, leading, stride, span), 0, 0))
    outcome.raise_for_reports()
    expected = start.copy()
    for row in range(rows):
        for lane in lanes(row):
            expected[0, lane, : width // 4] = matrix[row].view(np.uint32)
    assert np.array_equal(result, expected)


def test_a_shift_moves_31_lanes_down() -> None:
    issue = """
        add.u32 %r35, %r31, 0x200004;
        @%p6 tcgen05.shift.cta_group::1.down [%r35];
        @%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r29];
    """
    start = np.arange(128 * 32, dtype=np.uint32).reshape(1, 128, 32)
    result, outcome = launch(kernel(16, issue), np.zeros((1, 16), np.uint8), start, (0, 0, 0))
    outcome.raise_for_reports()
    expected = start.copy()
    expected[0, 32:63, 4:12] = start[0, 33:64, 4:12]
    assert np.array_equal(result, expected)


# ---- what is reported -------------------------------------------------------------------------------------------------


def only(outcome: EmulationResult, kind: str) -> str:
    """The message of the first report, all being of one kind."""
    assert {report.kind for report in outcome.reports} == {kind}, outcome.reports
    return str(outcome.reports[0])


def faulty(**options: Any) -> EmulationResult:
    return product(**options)[4]


def test_columns_are_a_power_of_two() -> None:
    alloc = "mov.b32 %r41, 48;\n@%p1 " + ALLOC.replace("512", "%r41")
    message = str(faulty(alloc=alloc).reports[0])
    assert "48 columns are asked for; it is a power of two from 32 to 512" in message


def test_tensor_memory_is_leaked() -> None:
    message = only(faulty(free="bar.warp.sync -1;"), "tensor memory")
    assert "512 columns at 0x0 are not given back when block 0 ends: tcgen05.dealloc is missing" in message


def test_other_columns_are_given_back() -> None:
    message = str(faulty(free=FREE.replace("512", "256")).reports[0])
    assert "256 columns at 0x0 are given back; this block holds 512 columns at 0x0" in message


def test_columns_that_are_never_free() -> None:
    outcome = faulty(alloc=ALLOC + "\n@%p1 " + ALLOC)
    assert "deadlock: 512 columns in a row are never free: 0 of 512 are, and nobody gives any back" in str(outcome.reports)


def test_columns_come_free_for_who_waits() -> None:
    """Warp 1 waits for columns until warp 0 gives its own back."""
    again = (
        FREE
        + """
        setp.eq.u32 %p10, %r4, 1;
        @%p10 bra SECOND;
        bra DONE;
        SECOND:
        tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r30], 256;
        ld.shared.b32 %r51, [%r30];
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r51, 256;
        DONE:
    """
    )
    faulty(free=again).raise_for_reports()


def test_allocation_behind_the_end_of_the_right() -> None:
    right = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
    message = str(faulty(alloc=f"{right}\n@%p1 {ALLOC}").reports[0])
    assert "this block has given up its right to allocate" in message


def test_use_of_columns_given_back() -> None:
    message = str(faulty(issue=FREE.replace("tcgen05", "@%p1 tcgen05").format(group=1) + "\nbar.sync 0;\n" + MMA).reports[0])
    assert "column 0 of block 0 was given back before" in message


def test_columns_never_allocated() -> None:
    small = {"alloc": ALLOC.replace("512", "32"), "free": FREE.replace("512", "32")}
    message = str(faulty(a_in_tensor_memory=True, **small).reports[0])
    assert "column 32 of block 0 was never allocated" in message


def test_lanes_of_another_warp() -> None:
    issue = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%v0}}, [%r31];\ntcgen05.wait::ld.sync.aligned;\n" + MMA
    message = str(faulty(issue=issue).reports[0])
    assert "warp 1 reaches lanes 32 to 63; the address names lane 0, where 32 is legal" in message


def test_the_wait_for_loads_is_missing() -> None:
    message = str(faulty(wait_load="").reports[0])
    assert "%v0 is read while tcgen05.ld (" in message
    assert "tcgen05.wait::ld must come first" in message


def test_the_wait_for_stores_is_missing() -> None:
    message = str(faulty(wait_store="").reports[0])
    assert "is read before a tcgen05.wait::st of the storing warp" in message


def test_the_wait_for_the_commit_is_missing() -> None:
    message = only(faulty(wait=""), "in flight")
    assert "this reads lane 0, column 0 of tensor memory while tcgen05.mma.cta_group::1.kind::f16 (" in message
    assert "a wait for mbarrier smem byte 0, which its tcgen05.commit tells, must come first" in message


def test_the_commit_is_missing() -> None:
    message = only(faulty(issue=MMA.split("\n")[1], wait=""), "in flight")
    assert "a tcgen05.commit of the issuing thread and a wait for its mbarrier must come first" in message


def test_a_load_in_flight_where_a_product_writes() -> None:
    issue = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%v0}}, [%r32];\nbar.sync 0;\n" + MMA
    message = only(faulty(issue=issue), "in flight")
    assert "may still read here with tcgen05.ld (" in message


def test_the_fence_behind_the_wait_is_missing() -> None:
    message = only(faulty(wait=WAIT.replace("tcgen05.fence::after_thread_sync;", "")), "tensor fence")
    assert "tcgen05.fence::after_thread_sync must come first" in message


def test_the_fences_around_the_barrier_are_missing() -> None:
    message = only(faulty(fence="bar.sync 0;\ntcgen05.fence::after_thread_sync;"), "tensor fence")
    assert "with no tcgen05.fence::before_thread_sync behind the store" in message
    message = only(faulty(fence="tcgen05.fence::before_thread_sync;\nbar.sync 0;"), "tensor fence")
    assert "tcgen05.fence::after_thread_sync must come first" in message


LOAD_OF_ALL = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%v0}}, [%r32];\ntcgen05.wait::ld.sync.aligned;\n"


def test_a_product_over_what_other_warps_have_read() -> None:
    """ld, wait::ld, fence::before, barrier; fence::after, mma: each step left out is named (ISA 9.7.16.6.4.4)."""
    before, after = "tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"
    faulty(issue=LOAD_OF_ALL + before + "bar.sync 0;\n" + after + MMA).raise_for_reports()
    where = "<text>: tcgen05.mma.cta_group::1.kind::f16"

    def told(issue: str, kind: str) -> str:
        return re.sub(r"<text>:\d+:\d+", "<text>", only(faulty(issue=LOAD_OF_ALL + issue + MMA), kind))

    assert told("bar.sync 0;\n" + after, "tensor fence") == (
        f"{where}: tensor fence: lane 32, column 0 of tensor memory is written after warp 1 of block 0 has read there with"
        " tcgen05.ld (<text>): its tcgen05.fence::before_thread_sync, behind its tcgen05.wait::ld and before the barrier, is missing"
        " (block 0, thread 0)"
    )
    assert told(before + "bar.sync 0;\n", "tensor fence") == (
        f"{where}: tensor fence: lane 32, column 0 of tensor memory is written after another warp has read there:"
        " tcgen05.fence::after_thread_sync must come first (block 0, thread 0)"
    )
    assert told(before + after, "race") == (
        f"{where}: race: lane 32, column 0 of tensor memory is written, and nothing orders this after tcgen05.ld (<text>) in warp 1 of"
        " block 0: a barrier between them is missing (block 0, thread 0)"
    )


def test_a_whole_warp_issues() -> None:
    outcome = faulty(issue=MMA.replace("@%p6", "@%p1"))
    assert "issued by 32 threads of a warp, each of which issues its own" in str(outcome.reports[0])


@pytest.mark.parametrize("word, told", [
    (0x08080490 | 3 << 7, "the type of A (bits 7-9) is"),
    (1 << 4 | 4 << 17 | 12 << 24, "M (bits 24-28, times 16) is 192; with cta_group::1 it is 64 or 128"),
    (1 << 4 | 3 << 17 | 8 << 24, "N (bits 17-22, times 8) is 24; for M = 128 with cta_group::1 it is a multiple of 16 up to 256"),
    (1 << 4 | 1 << 2 | 4 << 17 | 8 << 24, "bit 2 asks for a sparse A"),
])  # fmt: skip
def test_instruction_descriptors_that_mean_nothing(word: int, told: str) -> None:
    image, start, words, text, _ = product(image_only=True)
    _, outcome = launch(text, image, start, (words[0], words[1], word))
    assert told in str(outcome.reports[0])


def test_a_descriptor_of_wgmma() -> None:
    image, start, words, text, _ = product(image_only=True)
    _, outcome = launch(text, image, start, (words[0] & ~(7 << 46), words[1], words[2]))
    assert "bits 46-48 are 000, which must be 001" in str(outcome.reports[0])


def test_the_proxy_fence_is_missing() -> None:
    message = only(faulty(proxy=""), "proxy fence")
    assert "are read by the async proxy, and st.shared.v4.b32 (" in message


def test_a_stage_is_overwritten_before_the_commit_is_waited_for() -> None:
    store = "st.shared.b32 [%r6+1024], %r1;\n"
    message = only(faulty(wait=f"bar.sync 0;\n{store}{WAIT}"), "race")
    assert "a wait for the mbarrier that its tcgen05.commit tells by that warp is missing" in message
    faulty(wait=f"{WAIT}{store}").raise_for_reports()


def test_the_address_of_an_allocation_is_read_without_a_barrier() -> None:
    """bar.sync between the allocation and the load of its address is left out; the one before keeps the rest in order."""
    image, start, words, text, _ = product(image_only=True)
    allocation = f"@%p1 {ALLOC.format(group=1)}"
    assert text.count("bar.sync 0;\n        ld.shared.b32 %r31") == 1
    text = text.replace("bar.sync 0;\n        ld.shared.b32 %r31", "ld.shared.b32 %r31").replace(allocation, f"bar.sync 0;\n{allocation}")
    _, outcome = launch(text, image, start, words)
    first = str(outcome.reports[0])
    assert "ld.shared.b32" in first
    assert "nothing orders this after the write by tcgen05.alloc" in first
