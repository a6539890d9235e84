"""ld and st of every width: from a tensor whose axes lie in any order, through a swizzled or padded tile, to other threads."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import S
from ptxgen.testing.families.case import SPANS, SWIZZLES, Case, Several, bits
from ptxgen.testing.families.threads import GROUP_AXES, THREADS, Threads

FIELDS = {
    "dtype": ["b32", "b8", "b16", "b64", "u8", "s8", "u16", "s16", "u32", "s32", "f32", "u64", "s64", "f64"],
    "threads": THREADS,
    "inner": GROUP_AXES,
    "rows": range(1, 4),
    "columns": range(1, 4),
    "widths": [(a, b) for a in (1, 2, 4) for b in (1, 2, 4)],
    "axes": list(permutations(range(3))),
    "order": Several(range(3), 3),
    "gap": [0, 1],
    "span": SPANS,
    "pad": [0, 1],
    "stages": [None, 2],
}


def build(
    dtype: str, threads: Any, inner: int, rows: int, columns: int, widths: Any, axes: Any, order: Any, gap: int, span: int, pad: int,
    stages: Any,
) -> Case:  # fmt: skip
    """Each group stores its part to shared memory by rows, and loads the next group's with threads and repeats exchanged."""
    them, element = Threads(threads, inner), getattr(px, dtype)
    size = element.bits // 8
    loads, stores = (min(width, 16 // size) for width in widths)
    length = 4 * columns
    whole = them.parts, them.count, rows, length
    lies = (*(whole[axis] for axis in axes), length)
    back = (*(axes.index(axis) for axis in range(3)), 3)
    distance = length + pad * max(1, 16 // size)

    def word(width: int) -> str:
        return f"{f'.v{width}' if width > 1 else ''}.{dtype}"

    def cut(view: Any, width: int) -> Any:
        """(threads, rows, length) as (*group, rows, repeats, atom)."""
        return view.view(*them.group, rows, length // width, width)

    @px.kernel(grid=1, block=them.block)
    def kernel(A: px.Tensor(lies, element, align=16), B: px.Tensor(whole, element, align=16), stage: px.u32):
        lines = prod(whole[:3])
        layout = px.Layout(S[(lines, length) : (distance, 1)], swizzle=SWIZZLES[span])
        tile = px.shared((lines, length), element, layout=layout, stages=stages, align=1024)
        tile = tile if stages is None else tile[stage % stages]
        with them.working():
            held = them.registers((rows, length // loads, loads), order, gap, element)
            px.tile.apply(f"ld.global{word(loads)}", held, cut(A.permute(*back)[them.part()], loads), scope=them.scope)
            mine = tile.rearrange("(p t r) c -> p t r c", p=them.parts, r=rows)[them.part()]
            px.tile.apply(f"st.shared{word(loads)}", cut(mine, loads), held, scope=them.scope)
        px.syncthreads()
        with them.working():
            held = them.registers((rows, length // stores, stores), order[::-1], gap, element)
            parts = tile.rearrange("(p r t) c -> p t r c", p=them.parts, r=rows)
            px.tile.apply(f"ld.shared{word(stores)}", held, cut(parts[(them.part() + 1) % them.parts], stores), scope=them.scope)
            px.tile.apply(f"st.global{word(stores)}", cut(B[them.part()], stores), held, scope=them.scope)

    kind = element.numpy if dtype[0] != "b" else np.dtype(f"u{size}")
    a = bits(1, whole, element.bits).view(kind)
    if dtype[0] == "f":
        a = np.random.default_rng(1).standard_normal(whole).astype(kind)
    wanted = np.roll(a.reshape(them.parts, rows, them.count, length).swapaxes(1, 2), -1, axis=0)
    return Case(kernel, (np.ascontiguousarray(a.transpose(*axes, 3)), np.zeros(whole, kind), 5), {1: wanted})
