"""The families by name."""

from __future__ import annotations

from types import ModuleType

from tests.random_kernels import async_copies, boxes, bulk_copies, copies, elements, group_products, lanes, matrix_moves, warp_products

FAMILIES: dict[str, ModuleType] = {
    "ld and st": copies,
    "elements": elements,
    "shfl, vote, match, redux": lanes,
    "ldmatrix and stmatrix": matrix_moves,
    "mma.sync": warp_products,
    "wgmma": group_products,
    "cp.async": async_copies,
    "cp.async.bulk": bulk_copies,
    "tensor copies": boxes,
}
