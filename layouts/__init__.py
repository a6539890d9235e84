"""Where values live: layouts of named axes, views, swizzles. Knows no PTX and no CUDA API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if __name__ != "ptxgen.layouts":
    raise ImportError("import this package as ptxgen.layouts")

from ptxgen.layouts.axes import (
    AXES,
    Axis,
    AxisTerm,
    TCol,
    TLane,
    bx,
    by,
    bz,
    cbx,
    cby,
    cbz,
    laneid,
    m,
    tid_in_wg,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from ptxgen.layouts.errors import Impossible, LayoutError, PtxgenError
from ptxgen.layouts.expr import Expr, Monomial, Scalar, Symbol, as_scalar, counterexample, prove_nonnegative
from ptxgen.layouts.layout import Layout, as_layout
from ptxgen.layouts.parse import parse
from ptxgen.layouts.spec import R, Replica, S, Shard
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.table import Table

if TYPE_CHECKING:
    from ptxgen.layouts.algebra import (
        alignment,
        blocked_product,
        broadcast,
        canonical,
        complement,
        compose,
        contiguous_run,
        coordinate,
        direct_sum,
        element_table,
        elements,
        equal,
        flat_divide,
        group,
        image_size,
        in_units,
        inverse,
        is_injective,
        left_inverse,
        logical_divide,
        logical_product,
        pack,
        permute,
        raked_product,
        reshape,
        right_inverse,
        span,
        sub,
        tile,
        tile_to_shape,
        tiled_divide,
        tiled_product,
        ungroup,
        unpack,
        zipped_divide,
        zipped_product,
    )

__all__ = [
    "AXES",
    "Axis",
    "AxisTerm",
    "Expr",
    "Impossible",
    "Layout",
    "LayoutError",
    "Monomial",
    "PtxgenError",
    "R",
    "Replica",
    "S",
    "Scalar",
    "Shard",
    "Swizzle",
    "Symbol",
    "TCol",
    "TLane",
    "Table",
    "alignment",
    "as_layout",
    "as_scalar",
    "blocked_product",
    "broadcast",
    "bx",
    "by",
    "bz",
    "canonical",
    "cbx",
    "cby",
    "cbz",
    "complement",
    "compose",
    "contiguous_run",
    "coordinate",
    "counterexample",
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
    "laneid",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "m",
    "pack",
    "parse",
    "permute",
    "prove_nonnegative",
    "raked_product",
    "reshape",
    "right_inverse",
    "span",
    "sub",
    "tid_in_wg",
    "tile",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tx",
    "ungroup",
    "unpack",
    "warpid",
    "wgid",
    "wid_in_wg",
    "zipped_divide",
    "zipped_product",
]


def __getattr__(name: str) -> Any:
    """The algebra, on first use: kernels are traced without it."""
    if name not in __all__:
        raise AttributeError(f"module 'ptxgen.layouts' has no attribute {name!r}")
    from ptxgen.layouts import algebra

    found = globals()[name] = getattr(algebra, name)
    return found
