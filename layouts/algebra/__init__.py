"""The algebra of layouts: composition, complement, inverses, division, products, and measures. Plain functions of layouts."""

from __future__ import annotations

from ptxgen.layouts.algebra.complements import complement
from ptxgen.layouts.algebra.composition import compose
from ptxgen.layouts.algebra.inverses import inverse, left_inverse, right_inverse
from ptxgen.layouts.algebra.lookup import coordinate, element_table, elements
from ptxgen.layouts.algebra.measure import alignment, contiguous_run, image_size

__all__ = [
    "alignment",
    "complement",
    "compose",
    "contiguous_run",
    "coordinate",
    "element_table",
    "elements",
    "image_size",
    "inverse",
    "left_inverse",
    "right_inverse",
]
