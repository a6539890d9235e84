"""Where values live: layouts of named axes, views, swizzles. Knows no PTX and no CUDA API."""

from __future__ import annotations

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
    "as_layout",
    "as_scalar",
    "bx",
    "by",
    "bz",
    "cbx",
    "cby",
    "cbz",
    "counterexample",
    "laneid",
    "m",
    "parse",
    "prove_nonnegative",
    "tid_in_wg",
    "tx",
    "warpid",
    "wgid",
    "wid_in_wg",
]
