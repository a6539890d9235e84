"""What questions about layouts cost: the solver's calls on the examples of docs/solver.md, in milliseconds of one call; and the tile
engine's exact checks of operands, in milliseconds of CPU time with its caches empty and layouts that nobody has seen. Beside them what
they may cost, and what TIRx 0.1.0a4 takes for the same question on the same kind of machine (2 cores, Python 3.11), measured on 2026-11-30.

python -m benchmarks.layouts [--out benchmarks/results/layouts.json]
"""

import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import ptxgen as px
from benchmarks.figures import report
from benchmarks.trace import seconds
from ptxgen import S, b16, b32, bf16, f32, laneid, tid_in_wg, tx, wgid, wid_in_wg

MATRIX, WALK = "matrix operand 128 x 256 bf16, B128, ms", "its descriptors' hardware walk, ms"
FRAGMENTS, COPY, MILLION = "apply ldmatrix 64 x 64, B128, ms", "apply tensor copy 256 x 64, B128, ms", "a layout of 2^20 coordinates, ms"
GOALS = {MATRIX: 5, WALK: 5, FRAGMENTS: 5, COPY: 2, MILLION: 20}
SEARCH = 100
"""Milliseconds that a call of the solver may take."""
TIRX = {MATRIX: "10,000 to 13,000 for one tcgen05.mma", FRAGMENTS: "640", COPY: "5,200"}

BOX = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
WIDE = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
ROWS = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
MATRICES = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"


def solver() -> dict[str, Callable[[], Any]]:
    """The searches, by what they are for."""
    words = px.solve.Access("st.shared.b32", lambda t: t.view(px.b32).rearrange("(r w) l -> (w l) r 1", w=4).view(128, 16, 1))
    pieces = px.solve.Access("st.shared.v4.b32", lambda t: t.view(px.b32).rearrange("(r w l) (c v) -> (w l c) r v", w=4, l=4, v=4))
    column = px.solve.Access("ld.shared.b16", lambda t: t.rearrange("(q l) (r w) -> (w l) q r 1", w=4, l=32).view(128, 2, 16, 1))
    matrices = px.solve.Access(MATRICES, lambda t: t.rearrange("(q x r) (w p c) -> w q p x r c", x=4, r=8, w=4, c=8).view(4, 4, 4, 8, 8))
    box = px.solve.Access(BOX, lambda t: t[:, :64])
    operand = px.solve.Access(WGMMA, _steps, operand="a_desc")
    transposed = S[(32, 32) : (1 @ laneid, 1)], S[(32, 32) : (1, 1 @ laneid)]
    halves = S[(32, 2) : (1 @ laneid, 1)], S[((16, 2), 2) : ((1 @ laneid, 1), 16 @ laneid)]
    sums = S[((4, 2, 8), (16, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]
    blocked = S[(128, 32) : (1 @ tx, 1)], S[((32, 4), 32) : ((1, 32 @ tx), 1 @ tx)]
    return {
        "copy 101 x 96 bf16, 128 threads": lambda: px.solve.copy((101, 96), bf16, align=16, threads=128),
        "copy 128 x 256 bf16, 256 threads": lambda: px.solve.copy((128, 256), bf16, align=16, threads=256, strides=(8192, 1)),
        "shared 64 x 64 bf16, rows and columns": lambda: px.solve.shared((64, 64), bf16, [words, column], threads=128),
        "shared 64 x 64 bf16, 16 bytes and columns": lambda: px.solve.shared((64, 64), bf16, [pieces, column], threads=128),
        "shared 64 x 64 bf16, ldmatrix.trans": lambda: px.solve.shared((64, 64), bf16, [pieces, matrices], threads=128),
        "shared 64 x 256 bf16, TMA and wgmma": lambda: px.solve.shared((64, 256), bf16, [box, operand], threads=128),
        "operand 128 x 256 bf16, three stages": lambda: px.solve.operand(WIDE, (128, 256), operand="B", stages=3),
        "canonical 128 x 256 bf16, operand of wgmma": lambda: px.solve.canonical(swizzled(), WIDE, "B"),
        "canonical 64 x 128 sums, st.v2": lambda: px.solve.canonical(sums, "st.global.v2.f32", "b", scope="cta", threads=128),
        "convert two words, shuffles": lambda: px.solve.convert(*halves, bf16, container=px.b32),
        "convert a 32 x 32 transpose, shared": lambda: px.solve.convert(*transposed, f32),
        "convert 128 x 32 between warps, shared": lambda: px.solve.convert(*blocked, f32),
    }


def _steps(tile: Any) -> Any:
    """The steps along K of a 64 x 256 operand."""
    return tile.rearrange("m (k c) -> k m c", c=16).view(1, 16, 64, 16)


def swizzled() -> px.Layout:
    """128 x 256 elements in lines of 128 bytes."""
    return px.Layout(S[(128, (4, 64)) : (64, (8192, 1))], swizzle=px.Swizzle.B128)


# ---- the tile engine ----------------------------------------------------------------------------------------------------

CACHED = type(lru_cache(len))
ENGINE = ("ptxgen.layouts", "ptxgen.tile", "ptxgen.tracing", "ptxgen.solve")


def forget() -> None:
    """Empty every cache of the engine; what contracts were compiled to stays."""
    for name, module in list(sys.modules.items()):
        if name.startswith(ENGINE):
            for value in list(vars(module).values()):
                if isinstance(value, CACHED):
                    value.cache_clear()


def cold(call: Callable[[], float], rounds: int = 7) -> float:
    """CPU seconds of what a call measures, the best of some rounds behind a first one."""
    found = []
    for _ in range(rounds + 1):
        forget()
        found.append(call())
    return min(found[1:])


def timed(statement: Callable[[], Any]) -> float:
    start = time.process_time()
    statement()
    return time.process_time() - start


def within(block: int, target: str, body: Callable[[Any], Callable[[], None]]) -> float:
    """CPU seconds of one statement of a kernel: what `body`, given a tensor, returns when it has made everything else."""
    taken: list[float] = []

    def kernel(x: px.Tensor((1024, 1024), bf16, align=16)) -> None:  # type: ignore[valid-type]
        taken.append(timed(body(x)))

    px.kernel(grid=1, block=block, target=target)(kernel).specialize()
    return taken[-1]


def matrix_operand() -> float:
    """The descriptor of 128 x 256 elements, proved for all of them."""
    layout = swizzled()
    return timed(lambda: px.solve.descriptor(layout, WIDE, "B"))


def hardware_walk() -> float:
    """The addresses that the hardware makes of its descriptors, of every element of every repeat, against the layout."""
    return timed(px.solve.descriptor(swizzled(), WIDE, "B").check)


def rows_of_matrices() -> float:
    """64 x 64 elements under a swizzle into fragments: 16 instructions."""

    def body(_: Any) -> Callable[[], None]:
        tile = px.shared((64, 64), bf16, layout=px.Layout(S[(64, 64)], swizzle=px.Swizzle.B128))
        held = px.local((64, 64), bf16, layout=S[((4, 2, 8), (4, 2, 4, 2)) : ((32, 2, 4 @ laneid), (8, 4, 1 @ laneid, 1))], container=b32)
        pieces = "(p i r) (q h c) -> p q (h i) r c"
        parts = [one.view(b16).rearrange(pieces, i=2, r=8, h=2, c=8) for one in (held, tile)]
        return lambda: px.tile.apply(ROWS, *parts, scope="warp")

    return within(32, "sm_80", body)


def box_of_a_tensor() -> float:
    """A box of 256 x 64 elements under a swizzle, with its tensor map."""

    def body(x: Any) -> Callable[[], None]:
        tile = px.shared((256, 64), bf16, layout=px.Layout(S[(256, 64)], swizzle=px.Swizzle.B128))
        arrived = px.mbarrier(1)
        arrived.init()
        where = x.box((0, 0), (256, 64))
        return lambda: px.tile.apply(BOX, tile, where, arrived, scope="thread")

    return within(1, "sm_90a", body)


def evaluation() -> float:
    """The positions and threads of 1024 x 1024 elements, under a swizzle and on several axes."""
    shard = S[(1024, (4, 2, 128)) : (128, (1 @ wid_in_wg, 1 @ wgid, 1))]
    layout = px.Layout(shard, swizzle=px.Swizzle.B128).bind(16)

    def positions() -> None:
        table = layout.table()
        assert table.m.size == table.thread.size == 1 << 20  # type: ignore[union-attr]

    return timed(positions)


def engine() -> dict[str, Callable[[], float]]:
    """Exact checks of operands, and where all elements of a layout are, by what is asked."""
    return {
        MATRIX: matrix_operand,
        WALK: hardware_walk,
        FRAGMENTS: rows_of_matrices,
        COPY: box_of_a_tensor,
        MILLION: evaluation,
    }


def measure() -> Mapping[str, float | None]:
    solved = {f"{name}, ms": 1e3 * seconds(call, rounds=9) for name, call in solver().items()}
    return {**solved, **{name: 1e3 * cold(call) for name, call in engine().items()}}


def beside(name: str) -> str:
    """What a figure stands beside: at most so much, and TIRx's."""
    peer = f"; TIRx {TIRX[name]}" if name in TIRX else ""
    return f"at most {GOALS.get(name, SEARCH)}{peer}"


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure, beside))
