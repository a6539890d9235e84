"""The algebra of layouts: composition, complement, inverses, division, products, and measures. Plain functions of layouts."""

from __future__ import annotations

from ptxgen.layouts import compare, positions, shaping, slicing, units
from ptxgen.layouts.algebra.arguments import on_layout
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

canonical, equal, is_injective = on_layout(compare.canonical), on_layout(compare.equal), on_layout(compare.is_injective)
span, sub, in_units = on_layout(positions.span), on_layout(slicing.sub), on_layout(units.in_units)
group, ungroup = on_layout(shaping.group), on_layout(shaping.ungroup)
permute, reshape = on_layout(shaping.permute), on_layout(shaping.reshape)

__all__ = [
    "alignment",
    "blocked_product",
    "broadcast",
    "canonical",
    "complement",
    "compose",
    "contiguous_run",
    "coordinate",
    "direct_sum",
    "element_table",
    "elements",
    "equal",
    "flat_divide",
    "group",
    "image_size",
    "in_units",
    "inverse",
    "is_injective",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "pack",
    "permute",
    "raked_product",
    "reshape",
    "right_inverse",
    "span",
    "sub",
    "tile",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "ungroup",
    "unpack",
    "zipped_divide",
    "zipped_product",
]
