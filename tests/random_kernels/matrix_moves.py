"""ldmatrix and stmatrix, either of them transposing or not, through swizzled and padded stages of shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import S, b16, b32, laneid, warpid, wid_in_wg
from ptxgen.testing.families.case import SPANS, SWIZZLES, Case, bits
from tests.random_kernels.shared import copy_in
from tests.random_kernels.warp_products import PLACES

FIELDS = {
    "place": PLACES,
    "repeats": [(m, s) for m in (1, 2, 3) for s in (1, 2)],
    "numbers": [(a, b) for a in (1, 2, 4) for b in (1, 2, 4)],
    "turned": [(False, False), (False, True), (True, False), (True, True)],
    "spans": [(a, b) for a in SPANS for b in SPANS],
    "stages": [None, 2],
    "margin": [0, 8],
}


def build(place: Any, repeats: Any, numbers: Any, turned: Any, spans: Any, stages: Any, margin: int) -> Case:
    """Each warp loads matrices of its own by ldmatrix and stores them by stmatrix, either of them transposing or not."""
    (scope, warps), m, s = place, repeats[0], 4 * repeats[1]
    count = {"warp": 1, "warpgroup": 4, "cta": warps}[scope]
    g, lead = ("w ", (count,)) if count > 1 else ("", ())
    axis = wid_in_wg if scope == "warpgroup" else warpid
    shape = warps, 8 * m, 8 * s
    exchanged = turned[0] != turned[1]
    target = (warps, shape[2], shape[1]) if exchanged else shape
    one = (((4, 2), 8), ((1 @ laneid, 1), 4 @ laneid)) if turned[0] else ((8, (4, 2)), (4 @ laneid, (1 @ laneid, 1)))

    @px.kernel(grid=1, block=32 * warps, target="sm_90")
    def kernel(X: px.Tensor(shape, b16, align=16), Y: px.Tensor(target, b16, align=16), stage: px.u32):
        part = px.warp_uniform(px.tid.x // 32) // count

        def mine(matrix):
            return matrix.rearrange("(p w) r c -> p w r c", w=count)[part] if lead else matrix[part]

        tiles = []
        for (number, rows, columns), span in zip((shape, target), spans):
            width = span // 2
            whole = number, rows + margin, -(-(columns + margin) // width) * width
            tile = px.shared(whole, b16, layout=px.Layout(S[whole], swizzle=SWIZZLES[span]), stages=stages)
            tiles.append((tile if stages is None else tile[stage % stages])[:, margin:, margin : margin + columns])
        copy_in(X, tiles[0])
        px.syncthreads()
        extents, strides = (*lead, m, s, *one[0]), (*((1 @ axis,) if lead else ()), 2 * s, 2, *one[1])
        held = px.local((*lead, m, s, 8, 8), b16, container=b32, layout=S[tuple(extents) : tuple(strides)])
        source = mine(tiles[0]).rearrange(f"{g}(m r) (s c) -> {g}m s r c", r=8, c=8)
        x, trans = numbers[0], ".trans" if turned[0] else ""
        cut = *lead, m, s // x, x, 8, 8
        px.tile.apply(f"ldmatrix.sync.aligned.m8n8.x{x}{trans}.shared.b16", held.view(*cut), source.view(*cut), scope=scope)
        x, trans = numbers[1], ".trans" if turned[1] else ""
        cut, last = (*lead, m, s // x, x, 8, 8), "c r" if exchanged else "r c"
        stored = "(s c) (m r)" if exchanged else "(m r) (s c)"
        result = mine(tiles[1]).rearrange(f"{g}{stored} -> {g}m s {last}", r=8, c=8)
        held = held.rearrange(f"{g}m s r c -> {g}m s {last}")
        px.tile.apply(f"stmatrix.sync.aligned.m8n8.x{x}{trans}.shared.b16", result.view(*cut), held.view(*cut), scope=scope)
        px.syncthreads()
        words, out = tiles[1].view(b32), Y.view(b32)
        for row in px.range(px.tid.x, warps * target[1], 32 * warps):
            with px.if_(row < warps * target[1]):
                for column in range(target[2] // 2):
                    place = row // target[1], row % target[1], column
                    px.ptx["st.global.b32"](out[place], px.ptx["ld.shared.b32"](words[place]))

    x = bits(7, shape, 16)
    return Case(kernel, (x, np.zeros(target, np.uint16), 4), {1: x.swapaxes(1, 2) if exchanged else x})
