"""The algebra of layouts: composition, complement, inverses, division, products, and measures. Plain functions of layouts."""

from __future__ import annotations

from ptxgen.layouts.algebra.complements import complement
from ptxgen.layouts.algebra.composition import compose
from ptxgen.layouts.algebra.division import flat_divide, logical_divide, tile, tiled_divide, zipped_divide
from ptxgen.layouts.algebra.inverses import inverse, left_inverse, right_inverse
from ptxgen.layouts.algebra.lookup import coordinate, element_table, elements
from ptxgen.layouts.algebra.measure import alignment, contiguous_run, image_size
from ptxgen.layouts.algebra.packing import broadcast, pack, unpack
from ptxgen.layouts.algebra.products import (
    blocked_product,
    direct_sum,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)

__all__ = [
    "alignment",
    "blocked_product",
    "broadcast",
    "complement",
    "compose",
    "contiguous_run",
    "coordinate",
    "direct_sum",
    "element_table",
    "elements",
    "flat_divide",
    "image_size",
    "inverse",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "pack",
    "raked_product",
    "right_inverse",
    "tile",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "unpack",
    "zipped_divide",
    "zipped_product",
]
