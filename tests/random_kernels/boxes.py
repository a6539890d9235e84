"""Tensor copies of 1 to 5 dimensions through a ring of swizzled stages: boxes that hang over the edges, into shared memory and out."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import S
from ptxgen.testing.families.case import SPANS, SWIZZLES, Case, Several
from tests.random_kernels.shared import numpy_of

FIELDS = {
    "dtype": ["u8", "f16", "bf16", "e4m3", "s32", "f32", "u64", "f64"],
    "rank": range(1, 6),
    "extents": Several(range(1, 21), 5),
    "box": Several(range(1, 10), 5),
    "starts": Several([*range(21), *range(-6, 0)], 15),
    "ends": Several(range(21), 15),
    "stored": ["", ".add", ".max"],
    "order": Several(range(4), 4),
    "span": SPANS,
    "steps": range(1, 4),
    "stages": range(1, 4),
}

_LINES = 96  # at most, in a box
_REDUCED = {"": (), ".add": ("s32", "u64", "f16", "bf16", "f32"), ".max": ("s32", "u64", "f16", "bf16")}
_COMBINED: dict[str, Any] = {"": lambda there, arriving: arriving, ".add": np.add, ".max": np.maximum}


def within(corner: Any, box: Any, shape: Any) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """What a box covers of an array, and where that lies in the box."""
    whole = [(max(0, at), min(extent, at + length)) for at, length, extent in zip(corner, box, shape)]
    return tuple(slice(a, max(a, b)) for a, b in whole), tuple(slice(a - at, max(a, b) - at) for (a, b), at in zip(whole, corner))


def smaller(values: Any, product: int) -> list[int]:
    """The values, halved from the front until their product is small enough."""
    found = list(values)
    while np.prod(found) > product:
        place = int(np.argmax(found))
        found[place] = -(-found[place] // 2)
    return found


def build(
    dtype: str, rank: int, extents: Any, box: Any, starts: Any, ends: Any, stored: str, order: Any, span: int, steps: int, stages: int
) -> Case:
    """One warp loads a box a step, another copies it out of shared memory and stores it, or adds it, to a place of another tensor.

    The outer axes are permuted by a view. What is read of a box beyond the tensor is zero, and what is written there is not.
    """
    element = getattr(px, dtype)
    size = element.bits // 8
    unit = 16 // size  # elements of 16 bytes: boxes start at multiples along the contiguous axis, and are as long
    outer = rank - 1
    axes = (*sorted(range(outer), key=lambda axis: (order[axis], axis)), outer)
    seen = (*smaller(extents[:outer], 600), (1 + extents[4] % 6) * unit)
    inner = 1 + box[4] % (span // 16 if span > 16 else 4)
    box = (*smaller(box[:outer], _LINES), inner * unit)
    # Loads begin also before the tensor. Stores must not.
    corners, targets = (
        [(*places[step * 5 : step * 5 + outer], ((places[step * 5 + 4] - before) % 7 + before) * unit) for step in range(steps)]
        for places, before in ((starts, -2), (ends, 0))
    )
    lines, width = int(np.prod(box[:-1])), span // size if span > 16 else box[-1]
    names = "abcd"[:outer]
    merge, sizes = f"({' '.join(names)}) z -> {' '.join(names)} z", dict(zip(names, box))
    word, bare = f"b{element.bits}", getattr(px, f"b{element.bits}")
    dims = [px.dim(f"d{axis}") for axis in range(outer)] + [px.dim(f"d{outer}", multiple_of=unit)]
    load = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    stored = stored if dtype in _REDUCED[stored] else ""
    store = f"cp.{'reduce.' if stored else ''}async.bulk.tensor.{rank}d.global.shared::cta{stored}.tile.bulk_group"

    @px.kernel(grid=1, block=64, target="sm_90")
    def kernel(
        A: px.Tensor(dims, element, align=16), B: px.Tensor(dims, element, align=16), C: px.Tensor((steps, lines, box[-1]), element),
        at: px.Tensor((2, steps, rank), px.s32),
    ):  # fmt: skip
        tiles = px.shared((lines, width), element, layout=px.Layout(S[lines, width], swizzle=SWIZZLES[span]), stages=stages, align=1024)
        full, empty = px.mbarrier(1, stages=stages), px.mbarrier(32, stages=stages)

        def image(stage):
            tile = tiles[stage][:, : box[-1]]
            return tile.rearrange(merge, **sizes) if rank > 1 else tile.view(box[-1])

        def corner(which, step):
            return tuple(px.ptx["ld.global.s32"](at[which, step, axis]) for axis in range(rank))

        warp, lane = px.warp_uniform(px.tid.x // 32), px.tid.x % 32
        with px.if_(px.tid.x == 0):
            for stage in range(stages):
                full[stage].init()
                empty[stage].init()
            px.fence_mbarrier_init()
        px.syncthreads()
        ring = px.pipeline_state(stages, phase=1)
        with px.if_((warp == 0) & px.elect()):
            for step in px.range(steps):
                empty[ring.stage].wait(ring.phase)
                full[ring.stage].arrive_expect_tx(lines * box[-1] * size)
                px.tile.apply(load, image(ring.stage), A.permute(*axes).box(corner(0, step), box), full[ring.stage], scope="thread")
                ring.advance()
        ring = px.pipeline_state(stages)
        with px.if_(warp == 1):
            for step in px.range(steps):
                full[ring.stage].wait(ring.phase)
                landed, out = tiles[ring.stage][:, : box[-1]].view(bare), C.view(bare)
                for line in px.range(lane, lines, 32):
                    with px.if_(line < lines):
                        for column in range(box[-1]):
                            px.ptx[f"st.global.{word}"](out[step, line, column], px.ptx[f"ld.shared.{word}"](landed[line, column]))
                with px.if_(px.elect()):
                    px.tile.apply(store, B.permute(*axes).box(corner(1, step), box), image(ring.stage), scope="thread")
                    px.bulk_commit()
                    px.bulk_wait(0)
                px.fence_proxy_async("shared::cta")
                empty[ring.stage].arrive()
                ring.advance()

    rng = np.random.default_rng(3)
    shape = [seen[axes.index(axis)] for axis in range(rank)]
    a, b = (rng.integers(1, 60, shape).astype(numpy_of(dtype)) for _ in range(2))
    wanted, copied = b.copy(), np.zeros((steps, *box), a.dtype)
    for step in range(steps):
        there, here = within(corners[step], box, seen)
        copied[step][here] = a.transpose(axes)[there]
        there, here = within(targets[step], box, seen)
        into = wanted.transpose(axes)
        into[there] = _COMBINED[stored](into[there], copied[step][here]).astype(a.dtype)
    c = np.zeros((steps, lines, box[-1]), a.dtype)
    places = np.array([corners, targets], np.int32)
    return Case(kernel, (a, b, c, places), {1: wanted, 2: copied.reshape(c.shape)})
