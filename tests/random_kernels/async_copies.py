"""cp.async through a ring of stages: 4, 8 and 16 bytes, by .ca and .cg, whole, cut short or left out, with several groups in flight."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import S
from ptxgen.testing.families.case import SPANS, SWIZZLES, Case, bits
from ptxgen.testing.families.threads import GROUP_AXES, THREADS, Threads

FIELDS = {
    "dtype": ["b32", "b8", "b16", "b64"],
    "bytes": [16, 4, 8],
    "cache": ["ca", "cg"],
    "prefetch": ["", ".L2::64B", ".L2::128B", ".L2::256B"],
    "tail": ["whole", "src_size", "ignore_src"],
    "threads": THREADS,
    "inner": GROUP_AXES,
    "repeats": range(1, 4),
    "span": SPANS,
    "pad": [0, 1],
    "stages": range(1, 5),
    "steps": range(1, 6),
}


def build(
    dtype: str, bytes: int, cache: str, prefetch: str, tail: str, threads: Any, inner: int, repeats: int, span: int, pad: int, stages: int,
    steps: int,
) -> Case:  # fmt: skip
    """Each step is copied to its stage by the working threads and read back from there by all threads of the block, in another order.

    A thread's copies of a step have one size of their own, known at run time only, or are left out; the rest is zeros.
    """
    them, element = Threads(threads, inner), getattr(px, dtype)
    size = element.bits // 8
    bytes = max(bytes, size) if cache == "ca" else 16
    atom = bytes // size
    whole = them.parts, them.count, repeats, atom
    lines, length = them.parts * them.count, repeats * atom
    distance = length + pad * (16 // size)
    if span > 16 and distance * size % 16:
        distance += (-distance * size % 16) // size  # a swizzle moves pieces of 16 bytes
    opcode = f"cp.async.{cache}.shared.global{prefetch}"

    @px.kernel(grid=1, block=them.block)
    def kernel(
        A: px.Tensor((steps, *whole), element, align=16), sizes: px.Tensor((steps, them.block), px.u32),
        B: px.Tensor((steps, prod(whole)), element),
    ):  # fmt: skip
        layout = px.Layout(S[(lines, length) : (distance, 1)], swizzle=SWIZZLES[span])
        tiles = px.shared((lines, length), element, layout=layout, stages=stages, align=1024)

        def load(step):
            with px.if_(step < steps):  # noqa: SIM117  # a block of a kernel stands in a statement of its own
                with them.working():
                    mine = tiles[step % stages].rearrange("(p t) c -> p t c", p=them.parts)[them.part()]
                    options = {}
                    if tail != "whole":
                        given = px.ptx["ld.global.u32"](sizes[step, px.tid.x])
                        options = {"src_size": given} if tail == "src_size" else {"ignore_src": given == 0}
                    views = (mine, A[step, them.part()])
                    px.tile.apply(opcode, *(view.view(*them.group, repeats, atom) for view in views), scope=them.scope, **options)
            px.cp_async_commit()

        for step in range(min(stages - 1, steps)):
            load(px.u32(step))
        for _ in range(steps, stages - 1):
            px.cp_async_commit()
        for step in px.range(steps):
            load(step + (stages - 1))
            px.cp_async_wait(stages - 1)
            px.syncthreads()
            for at in px.range(px.tid.x, lines, them.block):
                with px.if_(at < lines):
                    line = lines - 1 - at
                    for column in range(length):
                        found = px.ptx[f"ld.shared.{dtype}"](tiles[step % stages][line, column])
                        px.ptx[f"st.global.{dtype}"](B.view(steps, lines, length)[step, line, column], found)
            px.syncthreads()

    a = bits(1, (steps, *whole), element.bits)
    given = np.random.default_rng(2).integers(0, bytes + 1, (steps, them.block)).astype(np.uint32)
    if tail == "ignore_src":
        given = given % 2 if bytes % 2 == 0 else given
    working = [number for number in range(them.block) if works(threads, number)]
    wanted = a.reshape(steps, lines, repeats, atom).copy()
    for step in range(steps):
        for line, number in enumerate(working):
            valid = {"whole": bytes, "src_size": int(given[step, number]), "ignore_src": bytes if given[step, number] else 0}[tail]
            raw = wanted[step, line].view(np.uint8).reshape(repeats, bytes)
            raw[:, valid:] = 0
    return Case(kernel, (a, given, np.zeros((steps, prod(whole)), a.dtype)), {2: wanted.reshape(steps, -1)})


def works(threads: Any, number: int) -> bool:
    """Whether a thread of the block is one of the working threads."""
    scope, block, first, count = threads
    size = {"thread": 1, "warp": 32, "warpgroup": 128, "cta": block}[scope]
    return first <= number % size < first + count
