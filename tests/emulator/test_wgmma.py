"""wgmma against NumPy: every type, major and swizzle, operands placed by an index function of the test's own; and what it reports."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.text import read
from tests.emulator.shared_images import hopper, place

TYPES: dict[str, tuple[Any, int]] = {
    "f16": (np.float16, 2), "bf16": (ml_dtypes.bfloat16, 2), "tf32": (np.float32, 4), "e4m3": (ml_dtypes.float8_e4m3fn, 1),
    "e5m2": (ml_dtypes.float8_e5m2, 1), "s8": (np.int8, 1), "u8": (np.uint8, 1),
}  # fmt: skip


def fragment_d(words: np.ndarray, n: int, dtype: Any) -> np.ndarray:
    """D from the registers of 128 threads, by the ISA's figure."""
    values = words.view(dtype).reshape(128, -1)
    matrix = np.zeros((64, n), dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for number, value in enumerate(values[thread]):
            row = 16 * warp + lane // 4 + 8 * (number % 4 // 2)
            matrix[row, number // 4 * 8 + lane % 4 * 2 + number % 2] = value
    return matrix


def fragment_a(matrix: np.ndarray) -> np.ndarray:
    """The registers of A, shape (threads, 4), by the ISA's figure."""
    per = 4 // matrix.dtype.itemsize
    result = np.zeros((128, 4, per), matrix.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(4):
            for part in range(per):
                row = 16 * warp + lane // 4 + 8 * (register % 2)
                result[thread, register, part] = matrix[row, register // 2 * 4 * per + lane % 4 * per + part]
    return result.view(np.uint32).reshape(128, 4)


def body(
    n: int,
    k: int,
    types: str,
    *,
    words: int,
    tail: str,
    a_registers: bool = False,
    before: str = "wgmma.fence.sync.aligned;",
    after: str = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
    scale_d: str = "1",
    products: int = 1,
    touch: str = "",
    proxy: str = "fence.proxy.async;",
    bytes_: int = 0,
    accumulators_loaded: bool = True,
) -> str:
    """A kernel of one warpgroup: copy the image to shared memory, multiply, store the accumulators."""
    reg = "%f" if types.startswith("f32") else "%d"
    d = ", ".join(f"{reg}{number}" for number in range(words))
    a = "{%r20, %r21, %r22, %r23}" if a_registers else "%rd10"
    load_a = "".join(f"ld.global.b32 %r{20 + number}, [%rd7+{4 * number}];\n" for number in range(4)) if a_registers else ""
    product = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{d}}}, {a}, %rd11, {scale_d}{tail};\n"
    loads = "".join(f"ld.global.b32 {reg}{number}, [%rd6+{4 * number}];\n" for number in range(words))
    loads = loads if accumulators_loaded else ""
    stores = "".join(f"st.global.b32 [%rd6+{4 * number}], {reg}{number};\n" for number in range(words))
    return f"""
    ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [accumulators]; ld.param.u64 %rd3, [fragments];
    ld.param.u64 %rd10, [a]; ld.param.u64 %rd11, [b];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd6, %r1, {4 * words}, %rd2;
    mad.wide.u32 %rd7, %r1, 16, %rd3;
    mov.u32 %r2, smem;
    shl.b32 %r3, %r1, 4; mov.u32 %r4, 0;
    COPY:
    add.u32 %r5, %r4, %r3;
    setp.lt.u32 %p1, %r5, {bytes_};
    cvt.u64.u32 %rd4, %r5; add.u64 %rd5, %rd1, %rd4;
    add.u32 %r6, %r2, %r5;
    @%p1 ld.global.v4.b32 {{%r7, %r8, %r9, %r10}}, [%rd5];
    @%p1 st.shared.v4.b32 [%r6], {{%r7, %r8, %r9, %r10}};
    add.u32 %r4, %r4, 2048;
    setp.lt.u32 %p1, %r4, {bytes_};
    @%p1 bra COPY;
    {proxy}
    bar.sync 0;
    setp.ne.u32 %p2, %r2, 0; setp.eq.u32 %p3, %r2, 0;
    {loads}{load_a}
    {before}
    {product * products}
    {touch}
    {after}
    {stores}
    """


def kernel_text(text: str, bytes_: int) -> str:
    return f"""
        .version 8.4
        .target sm_90a
        .address_size 64
        .visible .entry k(.param .u64 image, .param .u64 accumulators, .param .u64 fragments, .param .u64 a, .param .u64 b)
        {{
        .shared .align 1024 .b8 smem[{bytes_}];
        .reg .pred %p<8>; .reg .b32 %r<40>; .reg .f32 %f<140>; .reg .b32 %d<140>; .reg .b64 %rd<20>;
        {text}
        }}
        """


SHARED = 0x400


def prepare(
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    types: str,
    *,
    a_span: int = 128,
    b_span: int = 128,
    a_major: bool = True,
    b_major: bool = True,
    a_registers: bool = False,
    scales: tuple[int, int] = (1, 1),
    **options: Any,
) -> tuple[str, list[Any]]:
    """The kernel for A (64, K) times B (N, K) transposed, added to C (64, N), and its arguments; the second holds the accumulators."""
    n, k = b.shape
    a_image, a_leading, a_stride = place(a, a_span, a_major)
    b_image, b_leading, b_stride = place(b, b_span, b_major)
    b_start = -(-len(a_image) // 1024) * 1024
    image = np.frombuffer(a_image.ljust(b_start, b"\0") + b_image, np.uint8).copy()
    words = n // 2 * c.dtype.itemsize // 4
    accumulators = np.zeros((128, words), np.uint32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        values = [c[16 * warp + lane // 4 + 8 * (number % 4 // 2), number // 4 * 8 + lane % 4 * 2 + number % 2] for number in range(n // 2)]
        accumulators[thread] = np.array(values, c.dtype).view(np.uint32)
    of = types.split(".")[-1]
    tail = "" if of in ("s8", "u8") else f", {scales[0]}, {scales[1]}"
    if of in ("f16", "bf16"):
        tail += ("" if a_registers else f", {int(not a_major)}") + f", {int(not b_major)}"
    text = body(n, k, types, words=words, tail=tail, a_registers=a_registers, bytes_=len(image), **options)
    descriptors = hopper(SHARED, a_leading, a_stride, a_span), hopper(SHARED + b_start, b_leading, b_stride, b_span)
    return kernel_text(text, len(image)), [image, accumulators, fragment_a(a), *(word.to_bytes(8, "little") for word in descriptors)]


def multiply(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, types: str, *, seed: int = 0, checks: bool = True, **options: Any
) -> tuple[np.ndarray, EmulationResult]:
    """The product as the emulator computes it."""
    text, arguments = prepare(a, b, c, types, **options)
    result = emulate(read(text), "k", grid=1, block=128, arguments=arguments, seed=seed, checks=checks)
    return fragment_d(arguments[1], len(b), c.dtype), result


def integers(shape: tuple[int, int], seed: int, dtype: Any, low: int = -4, high: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(0 if dtype is np.uint8 else low, high, shape).astype(dtype)


def operands(n: int, type_a: str, type_b: str, type_d: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k = 32 // TYPES[type_a][1]
    c_type = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[type_d]
    return integers((64, k), 1, TYPES[type_a][0]), integers((n, k), 2, TYPES[type_b][0]), integers((64, n), 3, c_type, -9, 9)


def expected(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return a.astype(np.int64) @ b.astype(np.int64).T + c.astype(np.int64)


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize("major", [True, False])
@pytest.mark.parametrize("type_a", ["f16", "bf16"])
def test_every_major_and_swizzle_of_b(span: int, major: bool, type_a: str) -> None:
    a, b, c = operands(64, type_a, type_a, "f32")
    d, result = multiply(a, b, c, f"f32.{type_a}.{type_a}", b_span=span, b_major=major)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c))


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize("major", [True, False])
def test_every_major_and_swizzle_of_a(span: int, major: bool) -> None:
    a, b, c = operands(24, "bf16", "bf16", "f32")
    d, result = multiply(a, b, c, "f32.bf16.bf16", a_span=span, a_major=major)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c))


@pytest.mark.parametrize("n", [8, 40, 96, 136, 200, 256])
def test_every_n(n: int) -> None:
    a, b, c = operands(n, "f16", "f16", "f32")
    d, result = multiply(a, b, c, "f32.f16.f16")
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c))


FORMS = [
    ("f16", "f16", "f16"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("e4m3", "e5m2", "f32"),
    ("e5m2", "e4m3", "f16"), ("e4m3", "e4m3", "f32"), ("s8", "u8", "s32"), ("u8", "s8", "s32"), ("s8", "s8", "s32"),
]  # fmt: skip


@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize("type_a, type_b, type_d", FORMS)
def test_every_type(type_a: str, type_b: str, type_d: str, a_registers: bool) -> None:
    a, b, c = operands(32, type_a, type_b, type_d)
    d, result = multiply(a, b, c, f"{type_d}.{type_a}.{type_b}", a_registers=a_registers, a_span=32, b_span=64)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c))


@pytest.mark.parametrize("type", ["tf32", "e4m3", "s8"])
@pytest.mark.parametrize("span", [16, 32, 64, 128])
def test_swizzles_of_other_widths(type: str, span: int) -> None:
    accumulator = "s32" if type == "s8" else "f32"
    a, b, c = operands(16, type, type, accumulator)
    d, result = multiply(a, b, c, f"{accumulator}.{type}.{type}", a_span=span, b_span=span)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c))


@pytest.mark.parametrize("scale_d, adds", [("1", True), ("0", False), ("%p2", True), ("%p3", False)])
def test_scale_d(scale_d: str, adds: bool) -> None:
    a, b, c = operands(16, "bf16", "bf16", "f32")
    d, result = multiply(a, b, c, "f32.bf16.bf16", scale_d=scale_d)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c if adds else 0 * c))


@pytest.mark.parametrize("scales", [(1, -1), (-1, 1), (-1, -1)])
def test_scales_of_a_and_b(scales: tuple[int, int]) -> None:
    a, b, c = operands(16, "f16", "f16", "f32")
    d, result = multiply(a, b, c, "f32.f16.f16", scales=scales)
    result.raise_for_reports()
    assert np.array_equal(d, expected(scales[0] * a, scales[1] * b, c))


def test_products_in_a_row_need_no_fence_between_them() -> None:
    a, b, c = operands(16, "f16", "f16", "f32")
    d, result = multiply(a, b, c, "f32.f16.f16", products=3)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c) + 2 * expected(a, b, 0 * c))


@pytest.mark.parametrize("seed", range(1, 6))
def test_warps_that_come_at_different_times_multiply_together(seed: int) -> None:
    a, b, c = operands(16, "f16", "f16", "f32")
    d, result = multiply(a, b, c, "f32.f16.f16", products=2, a_registers=True, seed=seed)
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c) + expected(a, b, 0 * c))


def test_integers_wrap_or_saturate() -> None:
    a, b = np.full((64, 32), 127, np.int8), np.full((8, 32), 127, np.int8)
    c = np.full((64, 8), 2**31 - 5, np.int32)
    d, _ = multiply(a, b, c, "s32.s8.s8")
    assert (d == np.int32(2**31 - 5 + 127 * 127 * 32 - 2**32)).all()
    d, _ = multiply(a, b, c, "satfinite.s32.s8.s8")
    assert (d == 2**31 - 1).all()


# ---- what is reported -------------------------------------------------------------------------------------------------


def only(result: EmulationResult, kind: str) -> str:
    """The message of the first report, all being of one kind."""
    assert {report.kind for report in result.reports} == {kind}, result.reports
    return str(result.reports[0])


def faulty(**options: Any) -> EmulationResult:
    a, b, c = operands(16, "f16", "f16", "f32")
    return multiply(a, b, c, "f32.f16.f16", **options)[1]


def test_the_wait_is_missing() -> None:
    message = only(faulty(after="wgmma.commit_group.sync.aligned;"), "in flight")
    assert "%f0 is read while wgmma.mma_async (" in message
    assert "still writes it: wgmma.wait_group 0 (or less) must come first" in message


def test_a_wait_before_the_commit_waits_for_nothing() -> None:
    waits = "wgmma.wait_group.sync.aligned 0;\n"
    assert "wgmma.wait_group 0" in only(faulty(after=f"{waits}wgmma.commit_group.sync.aligned;"), "in flight")
    assert "no wgmma.commit_group has come since" in only(faulty(after=waits), "in flight")


def test_a_wait_that_leaves_one_group_is_not_enough() -> None:
    only(faulty(after="wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;"), "in flight")


def test_an_older_group_is_covered_though_a_newer_one_is_open() -> None:
    a, b, c = operands(16, "f16", "f16", "f32")
    d, result = multiply(
        a, b, c, "f32.f16.f16",
        after="wgmma.commit_group.sync.aligned;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;",
    )  # fmt: skip
    result.raise_for_reports()
    assert np.array_equal(d, expected(a, b, c))


def test_an_accumulator_is_poison_until_the_wait() -> None:
    a, b, c = operands(16, "f16", "f16", "f32")
    d, _ = multiply(a, b, c, "f32.f16.f16", after="")
    assert np.isnan(d).all()


def test_an_accumulator_is_written_in_flight() -> None:
    message = only(faulty(touch="mov.f32 %f3, 0f00000000;"), "in flight")
    assert "%f3 is written by another instruction while wgmma.mma_async (" in message


def test_a_register_of_a_is_overwritten_in_flight() -> None:
    message = only(faulty(a_registers=True, touch="mov.b32 %r21, 0;"), "in flight")
    assert "%r21 is written by another instruction while wgmma.mma_async (" in message


def test_a_register_of_a_may_be_read_in_flight() -> None:
    assert faulty(a_registers=True, touch="add.u32 %r30, %r21, %r22;").ok


def test_the_fence_is_missing() -> None:
    assert "no wgmma.fence comes before the first product" in only(faulty(before=""), "register fence")


def test_a_register_is_touched_behind_the_fence() -> None:
    message = only(faulty(before="wgmma.fence.sync.aligned;\nadd.f32 %f5, %f5, %f5;"), "register fence")
    assert "%f5 was read or written since the last wgmma.fence" in message


def test_an_accumulator_read_after_the_wait_needs_a_new_fence() -> None:
    again = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %rd10, %rd11, 1, 1, 1, 0, 0;"
    wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    assert faulty(after=f"{wait}{again}{wait}").ok
    read = "add.f32 %f20, %f2, %f2;\n"
    assert "%f2 was read or written" in only(faulty(after=f"{wait}{read}{again}{wait}"), "register fence")
    assert faulty(after=f"{wait}{read}wgmma.fence.sync.aligned;\n{again}{wait}").ok


def test_an_accumulator_that_nothing_has_written() -> None:
    a, b, c = operands(16, "f16", "f16", "f32")
    message = str(multiply(a, b, c, "f32.f16.f16", accumulators_loaded=False)[1].reports[0])
    assert "%f0 is read, which nothing has written" in message
    assert multiply(a, b, c, "f32.f16.f16", accumulators_loaded=False, scale_d="0")[1].ok


def test_a_part_of_a_warpgroup() -> None:
    message = only(faulty(before="setp.gt.u32 %p4, %r1, 95;\n@%p4 exit;\nwgmma.fence.sync.aligned;"), "collective")
    assert "the four warps of a warpgroup execute wgmma together" in message


def test_a_branch_around_one_warp() -> None:
    result = faulty(before="wgmma.fence.sync.aligned;\nsetp.gt.u32 %p4, %r1, 95;\n@%p4 bra SKIP;", touch="SKIP:")
    assert "collective" in {report.kind for report in result.reports}


def test_a_descriptor_that_reads_outside() -> None:
    message = str(faulty(before="mov.b64 %rd11, 0x4000004000013f00;\nwgmma.fence.sync.aligned;").reports[0])
    assert "B takes 16 bytes from shared address 0x3f000, outside of shared memory" in message


def test_a_descriptor_that_differs_between_threads() -> None:
    result = faulty(before="cvt.u64.u32 %rd12, %r1; add.u64 %rd11, %rd11, %rd12;\nwgmma.fence.sync.aligned;")
    assert "the descriptor of B differs between threads of a warpgroup" in str(result.reports[0])


def test_the_proxy_fence_is_missing() -> None:
    message = only(faulty(proxy=""), "proxy fence")
    assert "are read by the async proxy, and st.shared.v4.b32 (" in message
    assert "fence.proxy.async by those threads, before the barrier in between, is missing" in message


def test_a_stage_is_overwritten_before_the_wait() -> None:
    message = only(faulty(touch="st.shared.v4.b32 [%r6], {%r7, %r8, %r9, %r1};"), "race")
    assert "while wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 (" in message
    assert "wgmma.wait_group by that warp is missing" in message
    wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    late = wait + "bar.sync 0;\nst.shared.v4.b32 [%r6], {%r7, %r8, %r9, %r1};"
    faulty(after=late).raise_for_reports()


def test_a_register_of_a_is_loaded_anew_for_the_next_product_before_the_wait() -> None:
    next_product = (
        "mov.b32 %r21, 0;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
        "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r20, %r21, %r22, %r23}, %rd11, 1, 1, 1, 0;"
    )
    message = only(faulty(a_registers=True, touch=next_product), "in flight")
    assert "%r21 is written by another instruction while wgmma.mma_async (" in message
