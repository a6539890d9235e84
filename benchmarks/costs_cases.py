"""Kernels of one block whose accesses are one pattern each: what benchmarks/costs.py counts and Nsight Compute measures.

Each is named for its pattern. `lane` is the index in the warp; words have 4 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import S, b16, b32, bf16, f32, laneid, u8

__all__ = ["CASES", "arguments"]

CASES: dict[str, Any] = {}
"""Kernels by name; each takes the arrays x and y."""

WORDS = 4096
_X = px.Tensor((WORDS,), f32, align=256)
_BYTES = px.Tensor((4 * WORDS,), u8, align=256)
_HALVES = px.Tensor((2 * WORDS,), bf16, align=256)


def arguments(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Arrays for a case."""
    kinds = [parameter.annotation.dtype.numpy for parameter in CASES[name].parameters]
    made = [np.zeros(parameter.annotation.shape, kind) for parameter, kind in zip(CASES[name].parameters, kinds)]
    return made[0], made[1]


def case(function: Callable[..., Any] | None = None, *, block: int = 32, target: str | None = None) -> Any:
    """Make a kernel of one block and enter it under its name."""

    def enter(function: Callable[..., Any]) -> Any:
        CASES[function.__name__] = made = px.kernel(grid=1, block=block, target=target)(function)
        return made

    return enter if function is None else enter(function)


# ---- shared memory, words ---------------------------------------------------------------------------------------------


def _shared_words(name: str, place: Callable[[Any], Any], words: int = 1024, active: int = 32) -> None:
    """Fill shared memory word by word, then load one word a lane from where `place` says."""

    def kernel(x: _X, y: _X) -> None:
        s, lane = px.shared((words,), f32), px.tid.x
        for at in range(0, words, 32):
            px.ptx["st.shared.f32"](s[lane + at], px.f32(at))
        px.syncthreads()
        with px.if_(lane < active):
            px.ptx["st.global.f32"](y[lane], px.ptx["ld.shared.f32"](s[place(lane)]))

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel)


for _stride in (1, 2, 3, 8, 16, 32, 33):
    _shared_words(f"load_stride_{_stride}", lambda lane, stride=_stride: lane * stride, words=1088 if _stride == 33 else 1024)
_shared_words("load_one_word", lambda lane: lane // 32 + 5)
_shared_words("load_pairs_of_lanes", lambda lane: lane // 2 * 32)
_shared_words("load_stride_32_by_5_lanes", lambda lane: lane * 32, active=5)
_shared_words("load_xor_swizzled_column", lambda lane: lane * 32 + (lane ^ 3))


@case
def load_bytes(x: _BYTES, y: _BYTES):
    s, lane = px.shared((1024,), u8), px.tid.x
    for at in range(0, 1024, 32):
        px.ptx["st.shared.u8"](s[lane + at], px.u8(at // 32))
    px.syncthreads()
    px.ptx["st.global.u8"](y[lane], px.ptx["ld.shared.u8"](s[lane]))


@case
def load_bf16_column(x: _HALVES, y: _HALVES):
    """A column of a row-major tile of 64 bf16: rows of 128 bytes."""
    s, lane = px.shared((32, 64), bf16), px.tid.x
    words = s.view(b32)
    for row in range(32):
        px.ptx["st.shared.b32"](words[row, lane], px.u32(row))
    px.syncthreads()
    px.ptx["st.global.b16"](y.view(b16)[lane], px.ptx["ld.shared.b16"](s.view(b16)[lane, 3]))


# ---- shared memory, vectors -------------------------------------------------------------------------------------------


def _shared_vectors(name: str, count: int, place: Callable[[Any], Any], active: int = 32, words: int = 2048) -> None:
    """Load `count` words a lane, from the vector that `place` says."""

    def kernel(x: _X, y: _X) -> None:
        s, lane = px.shared((words,), f32, align=128), px.tid.x
        for at in range(0, words, 32):
            px.ptx["st.shared.f32"](s[lane + at], px.f32(at))
        px.syncthreads()
        with px.if_(lane < active):
            values = px.ptx[f"ld.shared.v{count}.f32"](s.view(words // count, count)[place(lane)])
            for at, value in enumerate(values):
                px.ptx["st.global.f32"](y[lane + 32 * at], value)

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel)


_shared_vectors("load_v2", 2, lambda lane: lane)
_shared_vectors("load_v2_by_16_lanes", 2, lambda lane: lane, active=16)
_shared_vectors("load_v2_by_20_lanes", 2, lambda lane: lane, active=20)
_shared_vectors("load_v2_every_other", 2, lambda lane: lane * 2)
_shared_vectors("load_v2_stride_64", 2, lambda lane: lane * 32)
_shared_vectors("load_v2_stride_66", 2, lambda lane: lane * 33, words=2112)
_shared_vectors("load_v2_pairs", 2, lambda lane: lane // 2)
_shared_vectors("load_v2_pairs_at_2", 2, lambda lane: lane // 4 * 2 + lane % 2)
_shared_vectors("load_v2_pairs_far_apart", 2, lambda lane: lane // 2 * 16)
_shared_vectors("load_v2_fours_at_4", 2, lambda lane: lane % 4)
_shared_vectors("load_v2_halves_alike", 2, lambda lane: lane % 16)
_shared_vectors("load_v2_half_in_pairs", 2, lambda lane: px.select(lane < 16, lane // 2, lane))
_shared_vectors("load_v2_one", 2, lambda lane: lane // 32 + 1)
_shared_vectors("load_v4", 4, lambda lane: lane)
_shared_vectors("load_v4_by_8_lanes", 4, lambda lane: lane, active=8)
_shared_vectors("load_v4_by_12_lanes", 4, lambda lane: lane, active=12)
_shared_vectors("load_v4_every_other", 4, lambda lane: lane * 2)
_shared_vectors("load_v4_stride_32", 4, lambda lane: lane * 8)
_shared_vectors("load_v4_stride_36", 4, lambda lane: lane * 9)
_shared_vectors("load_v4_pairs", 4, lambda lane: lane // 2)
_shared_vectors("load_v4_pairs_at_2", 4, lambda lane: lane // 4 * 2 + lane % 2)
_shared_vectors("load_v4_pairs_far_apart", 4, lambda lane: lane // 2 * 8)
_shared_vectors("load_v4_half_in_pairs", 4, lambda lane: px.select(lane < 16, lane // 2, lane))
_shared_vectors("load_v4_quarters_alike", 4, lambda lane: lane % 8)
_shared_vectors("load_v4_one", 4, lambda lane: lane // 32 + 1)
_shared_vectors("load_v4_xor", 4, lambda lane: lane * 8 + (lane % 8 ^ 5))


# ---- shared memory, stores --------------------------------------------------------------------------------------------


def _shared_stores(name: str, count: int, place: Callable[[Any], Any], words: int = 1024) -> None:
    """Store `count` words a lane to the vector that `place` says, and load some of it in order."""

    def kernel(x: _X, y: _X) -> None:
        s, lane = px.shared((words,), f32, align=128), px.tid.x
        vectors = s.view(words // count, count) if count > 1 else s
        values = tuple(px.f32(at) for at in range(count))
        px.ptx[f"st.shared{f'.v{count}' if count > 1 else ''}.f32"](vectors[place(lane)], values if count > 1 else values[0])
        px.syncthreads()
        px.ptx["st.global.f32"](y[lane], px.ptx["ld.shared.f32"](s[lane]))

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel)


_shared_stores("store_stride_1", 1, lambda lane: lane)
_shared_stores("store_stride_32", 1, lambda lane: lane * 32)
_shared_stores("store_stride_33", 1, lambda lane: lane * 33, words=1088)
_shared_stores("store_pairs_of_lanes", 1, lambda lane: lane // 2 * 32)
_shared_stores("store_one_word", 1, lambda lane: lane // 32 + 7)
_shared_stores("store_v2", 2, lambda lane: lane)
_shared_stores("store_v2_pairs", 2, lambda lane: lane // 2)
_shared_stores("store_v2_pairs_far_apart", 2, lambda lane: lane // 2 * 16)
_shared_stores("store_v2_stride_64", 2, lambda lane: lane * 32, words=2048)
_shared_stores("store_v4", 4, lambda lane: lane)
_shared_stores("store_v4_pairs", 4, lambda lane: lane // 2)
_shared_stores("store_v4_stride_32", 4, lambda lane: lane * 8)
_shared_stores("store_v4_stride_36", 4, lambda lane: lane * 9, words=1184)


@case
def store_bytes(x: _BYTES, y: _BYTES):
    s, lane = px.shared((1024,), u8), px.tid.x
    px.ptx["st.shared.u8"](s[lane], px.u8(3))
    px.ptx["st.shared.u8"](s[lane * 4 + 128], px.u8(4))
    px.syncthreads()
    px.ptx["st.global.u8"](y[lane], px.ptx["ld.shared.u8"](s[lane]))


# ---- matrices ---------------------------------------------------------------------------------------------------------


def _matrices(name: str, number: int, layout: Any, trans: str = "", store: bool = False) -> None:
    """Load `number` 8 x 8 matrices that lie one below the other in a shared tile of 64 or more columns of 16 bits; or store them too."""
    one = (((4, 2), 8), ((1 @ laneid, 1), 4 @ laneid)) if trans else ((8, (4, 2)), (4 @ laneid, (1 @ laneid, 1)))

    def kernel(x: _X, y: _X) -> None:
        s, lane = px.shared((32, 64), b16, layout=layout, align=1024), px.tid.x
        words = s.view(b32)
        for row in range(32):
            px.ptx["st.shared.b32"](words[row, lane], px.u32(row))
        px.syncthreads()
        held = px.local((number, 8, 8), b16, container=b32, layout=S[(number, *one[0]) : (2, *one[1])])
        tile = s[: 8 * number, 8:16].rearrange("(m r) c -> m r c", r=8)
        px.tile.apply(f"ldmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16", held, tile, scope="warp")
        if store:
            px.tile.apply(f"stmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16", tile, held, scope="warp")
            px.syncthreads()
            px.ptx["st.global.b32"](y.view(b32)[lane], px.ptx["ld.shared.b32"](words[31, lane]))
        else:
            owned = held.rearrange("m (t j) c -> (c t) m j" if trans else "m r (t j) -> (r t) m j", j=2).view(b32)
            px.tile.apply("st.global.b32", y.view(b32)[: 32 * number].rearrange("(m l j) -> l m j", l=32, j=1), owned, scope="warp")

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel, target="sm_90" if store else None)


_matrices("ldmatrix_x1", 1, S[(32, 64)])
_matrices("ldmatrix_x2", 2, S[(32, 64)])
_matrices("ldmatrix_x4", 4, S[(32, 64)])
_matrices("ldmatrix_x4_swizzle_128B", 4, px.Layout(S[(32, 64)], swizzle=px.Swizzle.B128))
_matrices("ldmatrix_x4_swizzle_64B", 4, px.Layout(S[(32, 64)], swizzle=px.Swizzle.B64))
_matrices("ldmatrix_x4_swizzle_32B", 4, px.Layout(S[(32, 64)], swizzle=px.Swizzle.B32))
_matrices("ldmatrix_x4_padded", 4, S[(32, 64) : (72, 1)])
_matrices("ldmatrix_x4_trans_swizzled", 4, px.Layout(S[(32, 64)], swizzle=px.Swizzle.B128), trans=".trans")
_matrices("stmatrix_x4", 4, S[(32, 64)], store=True)
_matrices("stmatrix_x4_swizzled", 4, px.Layout(S[(32, 64)], swizzle=px.Swizzle.B128), store=True)
_matrices("stmatrix_x2_swizzled", 2, px.Layout(S[(32, 64)], swizzle=px.Swizzle.B64), store=True)


# ---- global memory ----------------------------------------------------------------------------------------------------


def _global(name: str, count: int, place: Callable[[Any], Any], active: int = 32, store: bool = False) -> None:
    """Load `count` words a lane from the vector of x that `place` says and store them in order; or the reverse."""

    def kernel(x: _X, y: _X) -> None:
        lane, vector = px.tid.x, f".v{count}" if count > 1 else ""
        far, near = (y, x) if store else (x, y)
        far, near = (view.view(WORDS // count, count) if count > 1 else view for view in (far, near))
        with px.if_(lane < active):
            source, target = (near[lane], far[place(lane)]) if store else (far[place(lane)], near[lane])
            px.ptx[f"st.global{vector}.f32"](target, px.ptx[f"ld.global{vector}.f32"](source))

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel)


_global("global_load", 1, lambda lane: lane)
_global("global_load_from_word_1", 1, lambda lane: lane + 1)
_global("global_load_from_word_4", 1, lambda lane: lane + 4)
_global("global_load_stride_2", 1, lambda lane: lane * 2)
_global("global_load_stride_8", 1, lambda lane: lane * 8)
_global("global_load_stride_9", 1, lambda lane: lane * 9)
_global("global_load_stride_32", 1, lambda lane: lane * 32)
_global("global_load_stride_64", 1, lambda lane: lane * 64)
_global("global_load_one", 1, lambda lane: lane // 32 + 3)
_global("global_load_mixed", 1, lambda lane: lane * 7 % 32 * 3)
_global("global_load_by_5_lanes", 1, lambda lane: lane * 8, active=5)
_global("global_load_v2", 2, lambda lane: lane)
_global("global_load_v2_every_other", 2, lambda lane: lane * 2)
_global("global_load_v2_pairs", 2, lambda lane: lane // 2)
_global("global_load_v2_halves_alike", 2, lambda lane: lane % 16)
_global("global_load_v4", 4, lambda lane: lane)
_global("global_load_v4_from_4", 4, lambda lane: lane + 1)
_global("global_load_v4_every_other", 4, lambda lane: lane * 2)
_global("global_load_v4_stride_32", 4, lambda lane: lane * 8)
_global("global_load_v4_one", 4, lambda lane: lane // 32 + 1)
_global("global_load_v4_quarters_alike", 4, lambda lane: lane % 8)
_global("global_load_v4_halves_of_sectors", 4, lambda lane: lane % 16 * 2 + lane // 16)
_global("global_load_v4_by_9_lanes", 4, lambda lane: lane, active=9)
_global("global_store_stride_2", 1, lambda lane: lane * 2, store=True)
_global("global_store_stride_32", 1, lambda lane: lane * 32, store=True)
_global("global_store_from_word_1", 1, lambda lane: lane + 1, store=True)
_global("global_store_one", 1, lambda lane: lane // 32 + 3, store=True)
_global("global_store_v2_every_other", 2, lambda lane: lane * 2, store=True)
_global("global_store_v4_stride_32", 4, lambda lane: lane * 8, store=True)
_global("global_store_v4_halves_of_sectors", 4, lambda lane: lane % 16 * 2 + lane // 16, store=True)


@case
def global_bytes(x: _BYTES, y: _BYTES):
    px.ptx["st.global.u8"](y[px.tid.x * 3], px.ptx["ld.global.u8"](x[px.tid.x]))


@case
def global_bf16_column(x: _HALVES, y: _HALVES):
    """A column of a row-major matrix of 64 bf16: one sector a row."""
    px.ptx["st.global.b16"](y.view(b16)[px.tid.x], px.ptx["ld.global.b16"](x.view(b16).view(128, 64)[px.tid.x, 5]))


@case
def global_add(x: _X, y: _X):
    value = px.ptx["ld.global.f32"](x[px.tid.x])
    px.ptx["red.global.add.f32"](y[px.tid.x * 8], value)


# ---- several warps, tiles ---------------------------------------------------------------------------------------------


@case(block=40)
def warp_of_8_lanes(x: _X, y: _X):
    px.ptx["st.global.f32"](y[px.tid.x], px.ptx["ld.global.f32"](x[px.tid.x * 4]))


def _copies(name: str, size: int, source: Callable[[Any], Any], target: Callable[[Any], Any], cache: str = "ca") -> None:
    """One cp.async a thread of two warps: from the piece of `size` bytes of x that `source` says to that of shared memory."""
    count = size // 4

    def kernel(x: _X, y: _X) -> None:
        s, lane = px.shared((2 * WORDS,), f32, align=1024), px.tid.x
        pieces, from_x = s.view(2 * WORDS // count, count), x.view(WORDS // count, count)
        px.ptx[f"cp.async.{cache}.shared.global"](pieces[target(lane)], from_x[source(lane)], size)
        px.cp_async_commit()
        px.cp_async_wait(0)
        px.syncthreads()
        px.ptx["st.global.f32"](y[lane], px.ptx["ld.shared.f32"](s[lane % 32]))

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel, block=64)


def _row_swizzled(lane: Any) -> Any:
    """Piece 0 of row `lane`, 8 pieces of 16 bytes a row, under the 128-byte swizzle."""
    return lane * 8 + lane % 8


_copies("cp_async_16", 16, lambda lane: lane, lambda lane: lane, "cg")
_copies("cp_async_16_apart", 16, lambda lane: lane * 2, lambda lane: lane, "cg")
_copies("cp_async_16_far_apart", 16, lambda lane: lane * 8, lambda lane: lane, "cg")
_copies("cp_async_16_to_column", 16, lambda lane: lane, lambda lane: lane * 8, "cg")
_copies("cp_async_16_to_swizzled_column", 16, lambda lane: lane, _row_swizzled, "cg")
_copies("cp_async_16_apart_to_column", 16, lambda lane: lane * 2, lambda lane: lane * 8, "cg")
_copies("cp_async_16_halves_alike", 16, lambda lane: lane % 16, lambda lane: lane, "cg")
_copies("cp_async_16_ca", 16, lambda lane: lane, lambda lane: lane)
_copies("cp_async_16_ca_apart", 16, lambda lane: lane * 2, lambda lane: lane)
_copies("cp_async_16_ca_far_apart", 16, lambda lane: lane * 8, lambda lane: lane)
_copies("cp_async_16_ca_to_column", 16, lambda lane: lane, lambda lane: lane * 8)
_copies("cp_async_16_ca_to_swizzled_column", 16, lambda lane: lane, _row_swizzled)
_copies("cp_async_16_ca_apart_to_every_other", 16, lambda lane: lane * 2, lambda lane: lane * 2)
_copies("cp_async_16_ca_from_4", 16, lambda lane: lane + 4, lambda lane: lane)
_copies("cp_async_8", 8, lambda lane: lane, lambda lane: lane)
_copies("cp_async_8_apart", 8, lambda lane: lane * 2, lambda lane: lane)
_copies("cp_async_8_to_column", 8, lambda lane: lane, lambda lane: lane * 16)
_copies("cp_async_4", 4, lambda lane: lane, lambda lane: lane)
_copies("cp_async_4_from_16", 4, lambda lane: lane + 16, lambda lane: lane)
_copies("cp_async_4_one", 4, lambda lane: lane // 64 + 3, lambda lane: lane)
_copies("cp_async_4_apart", 4, lambda lane: lane * 2, lambda lane: lane)
_copies("cp_async_4_lines", 4, lambda lane: lane * 32, lambda lane: lane)
_copies("cp_async_4_to_column", 4, lambda lane: lane, lambda lane: lane * 32)
_copies("cp_async_4_apart_to_column", 4, lambda lane: lane * 2, lambda lane: lane * 32)
_copies("cp_async_4_by_4_to_every_other", 4, lambda lane: lane * 4, lambda lane: lane * 2)
_copies("cp_async_4_every_other_by_4", 4, lambda lane: lane * 2, lambda lane: lane * 4)


def _transpose(name: str, layout: Any) -> None:
    """examples/transpose.py of one tile: 32 x 32 words through shared memory, by eight warps."""

    def kernel(x: px.Tensor((32, 32), f32, align=256), y: px.Tensor((32, 32), f32, align=256)) -> None:
        tile = px.shared((32, 32), f32, layout=layout, align=1024)
        held = px.local((8, 32, 4, 1), b32, layout=S[(8, 32, 4, 1) : (1 @ px.warpid, 1 @ laneid, 1, 1)])

        def by_warp(view: Any) -> Any:
            return view.view(b32).rearrange("(repeat warp) (lane atom) -> warp lane repeat atom", warp=8, atom=1)

        px.tile.apply("ld.global.b32", held, by_warp(x), scope="cta")
        px.tile.apply("st.shared.b32", by_warp(tile), held, scope="cta")
        px.syncthreads()
        px.tile.apply("ld.shared.b32", held, by_warp(tile.permute(1, 0)), scope="cta")
        px.tile.apply("st.global.b32", by_warp(y), held, scope="cta")

    kernel.__name__ = kernel.__qualname__ = name
    case(kernel, block=256)


_transpose("transpose", S[(32, 32)])
_transpose("transpose_padded", S[(32, 32) : (33, 1)])
_transpose("transpose_swizzled", px.Layout(S[(32, 32)], swizzle=px.Swizzle.B128))
