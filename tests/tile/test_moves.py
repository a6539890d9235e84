"""`tile.ewise` with functions that move elements: each is read before any is overwritten, whatever the destinations' order."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, f32, tx

TILE = px.Tensor((64, 4), f32, align=16)
MOVES = {
    "shifted": (lambda r: px.tile.ewise(lambda x: x, r[:, 1:], r[:, :3], scope="cta"), [0, 0, 1, 2]),
    "halves swapped": (
        lambda r: px.tile.ewise(lambda x, y: (y, x), (r[:, :2], r[:, 2:]), r[:, :2], r[:, 2:], scope="cta"),
        [2, 3, 0, 1],
    ),
    "transposed": (lambda r: px.tile.ewise(lambda x: x, r.view(64, 2, 2), r.view(64, 2, 2).permute(0, 2, 1), scope="cta"), [0, 2, 1, 3]),
    "moved and computed": (
        lambda r: px.tile.ewise(lambda x, y: (y, x + y), (r[:, :2], r[:, 2:]), r[:, :2], r[:, 2:], scope="cta"),
        [2, 3, 2, 4],
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_elements_are_read_before_they_are_overwritten(name):
    move, wanted = MOVES[name]

    @px.kernel(grid=1, block=64)
    def kernel(x: TILE):
        r = px.local((64, 4), f32, layout=S[(64, 4) : (1 @ tx, 1)])
        px.tile.apply("ld.global.v4.f32", r, x, scope="cta")
        move(r)
        px.tile.apply("st.global.v4.f32", x, r, scope="cta")

    x = np.tile(np.arange(4, dtype=np.float32), (64, 1))
    kernel(x)
    assert np.array_equal(x, np.tile(np.float32(wanted), (64, 1)))
