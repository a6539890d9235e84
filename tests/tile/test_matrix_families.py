"""Chosen kernels of the matrix families against NumPy: each type, major, swizzle and place of an operand once.

The kernels are those of `tests.random_kernels`, where Hypothesis draws all their fields.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import ptxgen as px
from ptxgen.testing.families.case import SPANS
from tests.random_kernels import boxes, group_products, matrix_moves, warp_products


def check(family: ModuleType, **fields: Any) -> None:
    _, wrong = family.build(**fields).emulated()
    assert wrong is None


WARPS = {
    "place": ("cta", 3), "repeats": (2, 3, 2), "span": 64, "stages": 3, "margin": 8, "narrow": False, "across": (False, False),
}  # fmt: skip


@pytest.mark.parametrize("source", ["global", "shared", "ldmatrix"])
@pytest.mark.parametrize("types", warp_products.PRODUCTS, ids=lambda one: one.opcode.removeprefix("mma.sync.aligned."))
def test_products_of_every_type(types, source):
    check(warp_products, **{**WARPS, "types": types, "source": source})


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("across", [(True, False), (False, True), (True, True)])
def test_products_of_transposed_matrices(across, narrow):
    halves = warp_products.Product("f32", "bf16", "bf16", 16, 16)
    check(warp_products, **{**WARPS, "types": halves, "source": "ldmatrix", "across": across, "narrow": narrow})


GROUPS = {
    "types": ("f32", "bf16", "bf16"), "scope": "warpgroup", "groups": 2, "columns": 24, "repeats": (1, 2, 3), "spans": (32, 32),
    "majors": ("k", "k"), "registers": False, "stages": 2, "margin": 0, "fresh": False,
}  # fmt: skip


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("types", group_products.PRODUCTS, ids=".".join)
def test_products_of_warpgroups_of_every_type(types, registers):
    """Operand B begins at a stage that is known at run time only, outside of any loop, and is taken at several steps behind it."""
    columns = 32 if types[0] == "s32" else 24
    check(group_products, **{**GROUPS, "types": types, "registers": registers, "columns": columns})


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("majors", [("k", "mn"), ("mn", "k"), ("mn", "mn")])
def test_products_of_warpgroups_of_every_major(majors, span):
    check(group_products, **{**GROUPS, "majors": majors, "spans": (span, span), "columns": 64, "repeats": (1, 1, 2), "margin": 1})


@pytest.mark.parametrize(("columns", "span"), [(8, 32), (24, 64), (24, 128), (56, 128)])
def test_products_of_warpgroups_that_leave_a_part_of_a_block(columns, span):
    fields = {"majors": ("mn", "mn"), "spans": (span, span), "columns": columns, "repeats": (1, 1, 2), "margin": 1}
    check(group_products, **{**GROUPS, **fields})


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("span", SPANS)
def test_moves_of_matrices(turned, span):
    check(matrix_moves, place=("cta", 2), repeats=(3, 1), numbers=(4, 2), turned=turned, spans=(span, span), stages=3, margin=8)


BOX = {
    "dtype": "f16", "rank": 3, "extents": (7, 5, 1, 1, 2), "box": (3, 2, 1, 1, 1), "starts": (-1, 4, 0, 0, 1) * 3,
    "ends": (5, 0, 0, 0, 2) * 3, "order": (1, 0, 2, 3), "span": 32, "steps": 2, "stages": 2, "stored": "",
}  # fmt: skip


def test_a_box_over_the_edges():
    check(boxes, **BOX)


def test_rows_shorter_than_the_swizzle_keep_their_distance():
    """The hardware leaves the rest of each span alone, so a tile of dense rows is another image."""
    check(boxes, **{**BOX, "dtype": "u8", "rank": 2, "box": (6, 1, 1, 1, 0)})

    def dense(A: px.Tensor((8, 32), px.u8, align=16)):
        tile = px.shared((6, 16), px.u8, layout=px.Layout(px.S[6, 16], swizzle=px.Swizzle.B32), align=256)
        landed = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            landed.init()
            load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            px.tile.apply(load, tile, A.box((0, 0), (6, 16)), landed, scope="thread")

    with pytest.raises(px.InstructionError, match="lies 16 bytes behind the first, the copy puts it 32 behind") as refused:
        px.kernel(grid=1, block=32)(dense).ptx()
    assert "legal: a px.shared tile with rows of 32 elements, and [..., :16] of it" in str(refused.value)
