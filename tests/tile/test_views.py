"""Views as a hostile user writes them: patterns, runtime extents, starts and steps, dtypes, guards of products.

NumPy says what is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b32, bf16, f32, u8, u32

n, h, w, d = (px.dim(name) for name in ("n", "h", "w", "d"))
rows8 = px.dim("rows8", multiple_of=8)
load, store = px.ptx.ld.global_.f32, px.ptx.st.global_.f32


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


def elements(change: Callable[[Any], Any], shape: tuple[int, ...], expected: np.ndarray) -> None:
    """Each element of the changed view, read by its static index, is NumPy's."""

    @px.kernel(grid=1, block=1)
    def kernel(x: px.Tensor(shape, f32), out: px.Tensor((expected.size,), f32)):  # type: ignore[valid-type]
        view = change(x)
        assert view.shape == expected.shape
        for at, index in enumerate(np.ndindex(*expected.shape)):
            store(out[at], load(view[index]))

    out = np.zeros(expected.size, np.float32)
    kernel(numbers(*shape), out)
    np.testing.assert_array_equal(out.reshape(expected.shape), expected)


@pytest.mark.parametrize(("pattern", "shape", "sizes", "expected"), [
    ("... c -> c ...", (2, 3, 4), {}, lambda x: np.moveaxis(x, 2, 0)),
    ("b ... c -> b c ...", (2, 3, 2, 2), {}, lambda x: np.moveaxis(x, 3, 1)),
    ("... (h w) -> ... w h", (2, 3, 4), {"h": 2}, lambda x: x.reshape(2, 3, 2, 2).swapaxes(2, 3)),
    ("a ... -> (a ...)", (2, 3, 2), {}, np.ravel),
    ("a ... -> (...) a", (2, 3, 2), {}, lambda x: x.reshape(2, 6).T),
    ("... -> (...)", (2, 3), {}, np.ravel),
    ("a b ... -> ... b a", (2, 3), {}, np.transpose),
    ("a () b -> (b 1) a 1", (2, 1, 3), {}, lambda x: x.reshape(2, 3).T[..., None]),
])  # fmt: skip
def test_patterns(pattern: str, shape: tuple[int, ...], sizes: dict[str, int], expected: Callable[[Any], np.ndarray]) -> None:
    elements(lambda x: x.rearrange(pattern, **sizes), shape, expected(numbers(*shape)))


def test_an_open_extent_is_what_is_left() -> None:
    elements(lambda x: x.view(-1), (2, 3), numbers(2, 3).ravel())
    elements(lambda x: x.view(2, -1, 3), (4, 3), numbers(4, 3).reshape(2, 2, 3))
    elements(lambda x: x.permute(1, 0).view(3, -1), (4, 3), numbers(4, 3).T)


# ---- runtime extents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 37])
def test_a_product_as_a_guard(count: int) -> None:
    """The product in the guard may wrap, and is then less than the extent that the index must stay below."""

    @px.kernel(grid=lambda n: px.cdiv(n * 4, 64), block=64)
    def kernel(x: px.Tensor((n, 4), f32), y: px.Tensor((n, 4), f32), z: px.Tensor((n, 4), f32)):  # type: ignore[valid-type]
        i = px.ctaid.x * 64 + px.tid.x
        with px.if_(i < n * 4):
            value = load(x.view(-1)[i])
            store(y[i // 4, i % 4], value)
            store(z[i >> 2, i & 3], value)

    x = numbers(count, 4)
    y, z = np.zeros_like(x), np.zeros_like(x)
    kernel(x, y, z)
    np.testing.assert_array_equal([y, z], [x, x])


@pytest.mark.parametrize("shape", [(5, 37), (1, 1), (0, 5), (7, 0)])
def test_rows_and_columns_of_a_guarded_index(shape: tuple[int, int]) -> None:
    @px.kernel(grid=lambda h, w: px.cdiv(h * w, 128), block=128)
    def kernel(x: px.Tensor((h, w), f32), y: px.Tensor((h, w), f32)):  # type: ignore[valid-type]
        i = px.ctaid.x * 128 + px.tid.x
        with px.if_(i < h * w):
            store(y[i // w, i % w], load(x[i // w, i % w]))

    x = numbers(*shape)
    y = np.zeros_like(x)
    kernel(x, y)
    np.testing.assert_array_equal(y, x)


def test_three_extents_of_a_guarded_index() -> None:
    @px.kernel(grid=lambda d, h, w: px.cdiv(d * h * w, 64), block=64)
    def kernel(x: px.Tensor((d, h, w), f32), y: px.Tensor((d, h, w), f32)):  # type: ignore[valid-type]
        i = px.ctaid.x * 64 + px.tid.x
        with px.if_(i < d * h * w):
            column, rest = i % w, i // w
            store(y[rest // h, rest % h, column], load(x[rest // h, rest % h, column]))

    x = numbers(3, 5, 7)
    y = np.zeros_like(x)
    kernel(x, y)
    np.testing.assert_array_equal(y, x)


def test_a_chosen_index_and_a_quotient_by_a_runtime_value() -> None:
    @px.kernel(grid=2, block=64)
    def kernel(x: px.Tensor((n,), f32), y: px.Tensor((128,), f32), z: px.Tensor((64,), f32), by: u32):  # type: ignore[valid-type]
        i = px.ctaid.x * 64 + px.tid.x
        with px.if_(n > 0):
            store(y[i], load(x[px.select(i < n, i, n - 1)]))
        with px.if_((by > 0) & (n >= 64)):
            store(z[px.tid.x], load(x[px.tid.x // by]))

    x, y, z = numbers(100), np.zeros(128, np.float32), np.zeros(64, np.float32)
    kernel(x, y, z, 3)
    np.testing.assert_array_equal(y, x[np.minimum(np.arange(128), 99)])
    np.testing.assert_array_equal(z, x[np.arange(64) // 3])

    @px.kernel(grid=2, block=64)
    def other_way(x: px.Tensor((n,), f32)):  # type: ignore[valid-type]
        i = px.ctaid.x * 64 + px.tid.x
        with px.if_(n > 0):
            x[px.select(i < n, n - 1, i)]

    assert "is not proved to be below n" in refusal(other_way)


def refusal(kernel: Any) -> str:
    with pytest.raises(px.TraceError) as caught:
        kernel.ptx()
    return "\n".join(line for line in str(caught.value).split(": ", 1)[1].splitlines() if "line:" not in line)


def test_a_remainder_by_what_may_be_0_is_refused() -> None:
    @px.kernel(grid=1, block=128)
    def kernel(x: px.Tensor((h, w), f32)):  # type: ignore[valid-type]
        row, column = px.tid.x // w, px.tid.x % w
        with px.if_(row < h):
            x[row, column]

    assert refusal(kernel) == (
        "index column of axis 1 of x[h, w] f32 in .global is not proved to be below w\n"
        "  why: it leaves the tensor for row = 0, column = 0, h = 1, tid.x = 0, w = 0\n"
        "  legal: guard it: with px.if_(column < w): ...; or make the extents divide"
    )

    @px.kernel(grid=1, block=128)
    def guarded(x: px.Tensor((h, w), f32)):  # type: ignore[valid-type]
        row, column = px.tid.x // w, px.tid.x % w
        with px.if_((row < h) & (w > 0)):
            load(x[row, column])

    assert "ld.global.f32" in guarded.ptx()


def test_a_divisor_that_may_have_wrapped_is_refused() -> None:
    """``h * w`` may be small where both are large: then the quotient by it is large, though the guard holds."""

    def kernel_of(h: Any, w: Any) -> Any:
        @px.kernel(grid=lambda d, h, w: px.cdiv(d * h * w, 64), block=64)
        def kernel(x: px.Tensor((d, h, w), f32)):  # type: ignore[valid-type]
            i = px.ctaid.x * 64 + px.tid.x
            with px.if_(i < d * h * w):
                plane = i // (h * w)
                load(x[plane, i % (h * w) // w, i % w])

        return kernel

    assert refusal(kernel_of(h, w)) == (
        "index plane of axis 0 of x[d, h, w] f32 in .global is not proved to be below d\n"
        "  why: h*w may wrap, and nothing else bounds it\n"
        "  legal: guard it: with px.if_(plane < d): ...; or make the extents divide; or dims whose products fit: px.dim(name, max=...)"
    )
    assert "ld.global.f32" in kernel_of(px.dim("h", max=1 << 12), px.dim("w", max=1 << 12)).ptx()


def test_a_difference_in_a_guard_that_may_wrap_is_refused() -> None:
    @px.kernel(grid=1, block=128)
    def kernel(x: px.Tensor((n,), f32)):  # type: ignore[valid-type]
        with px.if_(px.tid.x < n - 1):
            x[px.tid.x + 1]

    assert refusal(kernel) == (
        "index tid.x + 1 of axis 0 of x[n] f32 in .global is not proved to be below n\n"
        "  why: n - 1 in the guard may wrap: it is 4294967295 for n = 0, tid.x = 0, and the guard holds\n"
        "  legal: bound tid.x + 1 as well: with px.if_((tid.x + 1 < n) & ...): ..."
    )


@pytest.mark.parametrize("rows", [8, 24])
def test_a_runtime_extent_splits_by_what_divides_it(rows: int) -> None:
    @px.kernel(grid=lambda rows8: rows8 // 8, block=32)
    def kernel(x: px.Tensor((rows8, 4), f32), y: px.Tensor((rows8, 4), f32), z: px.Tensor((4, rows8), f32)):  # type: ignore[valid-type]
        block, row, column = px.ctaid.x, px.tid.x // 4, px.tid.x % 4
        with px.if_(block < rows8 // 8):
            value = load(x.rearrange("(b r) c -> b r c", r=8)[block, row, column])
            store(y.view(rows8 // 8, 8, 4)[block, row, column], value)
            store(z.view(4, -1, 8)[column, block, row], value)

    x = numbers(rows, 4)
    y, z = np.zeros_like(x), np.zeros((4, rows), np.float32)
    kernel(x, y, z)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, x.T)


def test_runtime_extents_that_are_not_known_to_divide() -> None:
    def refused(change: Callable[[Any], Any]) -> str:
        @px.kernel(grid=1, block=1)
        def kernel(x: px.Tensor((n, 4), f32), q: u32):  # type: ignore[valid-type]
            change(x, q)

        with pytest.raises(px.LayoutError) as caught:
            kernel.ptx()
        return "\n".join(line for line in str(caught.value).split(": ", 1)[1].splitlines() if "line:" not in line)

    assert refused(lambda x, q: x.rearrange("(b r) c -> b r c", r=8)) == (
        'rearrange("(b r) c -> b r c", r=8) on shape (n, 4): dimension 0: the runtime extent n can\'t be split into b and 8'
    )
    assert refused(lambda x, q: x.view(-1, 8)) == (
        "can't reshape (n, 4) to (-1, 8): 4*n elements are not known to be a multiple of 8\n"
        "  legal: extents that divide them; a dim that is a multiple: px.dim(name, multiple_of=...)"
    )
    assert refused(lambda x, q: x.view(q, 4)) == "can't reshape (n, 4) to (q, 4): 4*n elements against 4*q"
    assert refused(lambda x, q: x.view(-1, -1)).startswith("the shape (-1, -1) leaves more than one extent open")
    assert refused(lambda x, q: x.view(0, -1)).startswith("an extent must be at least 1, not 0")


def test_an_axis_of_several_strides_by_a_runtime_index() -> None:
    """Merged axes are no single stride: an index is taken apart by quotients and remainders."""

    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((4, rows8), f32), y: px.Tensor((rows8, 4), f32)):  # type: ignore[valid-type]
        mine, there = x.rearrange("a (b c) -> b (c a)", c=8), y.rearrange("(b c) a -> b (c a)", c=8)
        for block in px.range(rows8 // 8):
            store(there[block, px.tid.x], load(mine[block, px.tid.x]))

    x = numbers(4, 24)
    y = np.zeros((24, 4), np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, x.T)


# ---- runtime starts and steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0, 1, 3, 21, 22])
def test_runtime_steps(step: int) -> None:
    @px.kernel(grid=1, block=1)
    def kernel(x: px.Tensor((64,), f32), y: px.Tensor((4,), f32), step: u32):  # type: ignore[valid-type]
        with px.if_((step >= 1) & (step <= 21)):
            part = x.sub((0,), (4,), (step,))
            for i in range(4):
                store(y[i], load(part[i]))

    x, y = numbers(64), np.zeros(4, np.float32)
    kernel(x, y, step)
    np.testing.assert_array_equal(y, x[: 3 * step + 1 : step] if 1 <= step <= 21 else 0)


def test_a_tile_of_rows_at_a_runtime_distance() -> None:
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((n, 4), f32, align=16), y: px.Tensor((32, 4), f32, align=16), step: u32):  # type: ignore[valid-type]
        with px.if_((step >= 1) & (step < 1000) & (step * 31 < n)):
            r = px.local((32, 4), f32, layout=S[(32, 4) : (1 @ px.laneid, 1)])
            px.tile.apply("ld.global.v4.f32", r, x.sub((0, 0), (32, 4), (step, 1)), scope="cta")
            px.tile.apply("st.global.v4.f32", y, r, scope="cta")

    x = numbers(200, 4)
    for step in (1, 6):
        y = np.zeros((32, 4), np.float32)
        kernel(x, y, step)
        np.testing.assert_array_equal(y, x[: 31 * step + 1 : step])


def test_runtime_steps_that_are_refused() -> None:
    @px.kernel(grid=1, block=1)
    def far(x: px.Tensor((64,), f32), step: u32):  # type: ignore[valid-type]
        with px.if_((step >= 1) & (step <= 22)):
            x.sub((0,), (4,), (step,))

    assert refusal(far) == (
        "index 0 to 3*step of axis 0 of x[64] f32 in .global is not proved to be below 64\n"
        "  why: it leaves the tensor for step = 22\n  legal: guard it: with px.if_(3*step < 64): ...; or make the extents divide"
    )

    @px.kernel(grid=1, block=1)
    def nowhere(x: px.Tensor((64,), f32), step: u32):  # type: ignore[valid-type]
        with px.if_(step < 10):
            x.sub((0,), (4,), (step,))

    assert refusal(nowhere) == (
        "step step of axis 0 of x[64] f32 in .global is not proved to be at least 1\n"
        "  why: elements of a view lie apart\n  legal: guard it: with px.if_(step > 0): ..."
    )


def test_parts_of_parts_at_runtime_starts() -> None:
    @px.kernel(grid=lambda rows8: rows8 // 8, block=32)
    def kernel(x: px.Tensor((rows8, 32), f32, align=16), y: px.Tensor((rows8, 32), f32, align=16), half: u32):  # type: ignore[valid-type]
        with px.if_((px.ctaid.x * 8 + 8 <= rows8) & (half < 2)):
            parts = [one.sub((px.ctaid.x * 8, 0), (8, 32)).sub((0, half * 16), (8, 16)).view(32, 4)[px.tid.x] for one in (x, y)]
            r = px.local((4,), f32)
            px.tile.apply("ld.global.v4.f32", r, parts[0], scope="thread")
            px.tile.apply("st.global.v4.f32", parts[1], r, scope="thread")

    x = numbers(16, 32)
    for half in (0, 1, 2):
        y, expected = np.zeros_like(x), np.zeros_like(x)
        kernel(x, y, half)
        if half < 2:
            expected[:, 16 * half : 16 * half + 16] = x[:, 16 * half : 16 * half + 16]
        np.testing.assert_array_equal(y, expected)


# ---- dtypes -------------------------------------------------------------------------------------------------------------


def test_dtypes_through_a_swizzle() -> None:
    """f32 words, halves and bytes of a tile under the 128-byte swizzle: each view finds the bytes that another has written."""

    @px.kernel(grid=1, block=64)
    def kernel(x: px.Tensor((64, 64), bf16, align=16), y: px.Tensor((64, 32), u32), z: px.Tensor((64, 128), u8)):  # type: ignore[valid-type]
        tile = px.shared((64, 64), bf16, layout=px.Layout(S[(64, 64)], swizzle=px.Swizzle.B128), align=1024)
        for chunk in range(8):
            r = px.local((4,), b32)
            px.tile.apply("ld.global.v4.b32", r, x.view(b32).view(64, 8, 4)[px.tid.x, chunk], scope="thread")
            px.tile.apply("st.shared.v4.b32", tile.view(b32).view(64, 8, 4)[px.tid.x, chunk], r, scope="thread")
        px.syncthreads()
        words, octets = tile.view(f32).view(u32), tile.view(px.e4m3).view(bf16).view(u8)
        for i in px.range(32):
            px.ptx.st.global_.u32(y[px.tid.x, i], px.ptx.ld.shared.u32(words[px.tid.x, i]))
        for i in px.range(128):
            px.ptx.st.global_.u8(z[px.tid.x, i], px.ptx.ld.shared.u8(octets[px.tid.x, i]))

    x = np.random.default_rng(0).integers(0, 1 << 16, (64, 64)).astype(np.uint16).view(ml_dtypes.bfloat16)
    y, z = np.zeros((64, 32), np.uint32), np.zeros((64, 128), np.uint8)
    kernel(x, y, z)
    np.testing.assert_array_equal(y, x.view(np.uint32))
    np.testing.assert_array_equal(z, x.view(np.uint8))


def test_wider_elements_along_a_runtime_extent() -> None:
    @px.kernel(grid=1, block=1)
    def kernel(x: px.Tensor((3, rows8), bf16, align=16), y: px.Tensor((3,), u32)):  # type: ignore[valid-type]
        with px.if_(rows8 > 0):
            for row in range(3):
                px.ptx.st.global_.u32(y[row], px.ptx.ld.global_.u32(x.view(u32)[row, 3]))

    x = np.arange(48).astype(ml_dtypes.bfloat16).reshape(3, 16)
    y = np.zeros(3, np.uint32)
    kernel(x, y)
    np.testing.assert_array_equal(y, x.view(np.uint32)[:, 3])
