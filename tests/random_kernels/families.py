"""The families by name: those of `ptxgen.testing`, and those of the matrix, collective and asynchronous instructions."""

from __future__ import annotations

from ptxgen.testing.families.drawing import FAMILIES
from tests.random_kernels import async_copies, boxes, bulk_copies, group_products, lanes, matrix_moves, warp_products

__all__ = ["FAMILIES"]

FAMILIES.update(
    {
        "shfl, vote, match, redux": lanes,
        "ldmatrix and stmatrix": matrix_moves,
        "mma.sync": warp_products,
        "wgmma": group_products,
        "cp.async": async_copies,
        "cp.async.bulk": bulk_copies,
        "tensor copies": boxes,
    }
)
