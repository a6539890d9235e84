"""What questions about layouts cost: the solver's calls on the examples of docs/solver.md, in milliseconds of one call.

python -m benchmarks.layouts [--out benchmarks/results/layouts.json]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ptxgen as px
from benchmarks.figures import report
from benchmarks.trace import seconds
from ptxgen import S, bf16, f32, laneid, tx

BOX = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
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
    blocked = S[(128, 32) : (1 @ tx, 1)], S[((32, 4), 32) : ((1, 32 @ tx), 1 @ tx)]
    return {
        "copy 101 x 96 bf16, 128 threads": lambda: px.solve.copy((101, 96), bf16, align=16, threads=128),
        "copy 128 x 256 bf16, 256 threads": lambda: px.solve.copy((128, 256), bf16, align=16, threads=256, strides=(8192, 1)),
        "shared 64 x 64 bf16, rows and columns": lambda: px.solve.shared((64, 64), bf16, [words, column], threads=128),
        "shared 64 x 64 bf16, 16 bytes and columns": lambda: px.solve.shared((64, 64), bf16, [pieces, column], threads=128),
        "shared 64 x 64 bf16, ldmatrix.trans": lambda: px.solve.shared((64, 64), bf16, [pieces, matrices], threads=128),
        "shared 64 x 256 bf16, TMA and wgmma": lambda: px.solve.shared((64, 256), bf16, [box, operand], threads=128),
        "convert two words, shuffles": lambda: px.solve.convert(*halves, bf16, container=px.b32),
        "convert a 32 x 32 transpose, shared": lambda: px.solve.convert(*transposed, f32),
        "convert 128 x 32 between warps, shared": lambda: px.solve.convert(*blocked, f32),
    }


def _steps(tile: Any) -> Any:
    """The steps along K of a 64 x 256 operand."""
    return tile.rearrange("m (k c) -> k m c", c=16).view(1, 16, 64, 16)


def measure() -> Mapping[str, float | None]:
    return {f"{name}, ms": 1e3 * seconds(call, rounds=9) for name, call in solver().items()}


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
