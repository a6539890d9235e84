"""Sums of four small floats (ISA 9.7.6): exact in f64 as far as rounding can tell, then rounded once. No GPU was seen to do it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.emulator.numerics.rounding import E2M1, E2M3, E3M2, E4M3, E5M2, Format, every_value, narrow
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match

_FORMATS: dict[str, Format] = {"e4m3": E4M3, "e5m2": E5M2, "e3m2": E3M2, "e2m3": E2M3, "e2m1": E2M1}

_E4M3_PAST = 464.0
"""Magnitudes above this round past the largest .e4m3, 448, which has no infinity."""


def _decoder(name: str) -> Callable[[Array], Array]:
    """Four elements of a register, lowest first on a last axis, as f64."""
    if name == "ue8m0":
        table = np.ldexp(1.0, np.arange(256) - 127)
        table[255] = np.nan
    else:
        table = every_value(_FORMATS[name])
    width = 4 if name == "e2m1" else 8
    steps = np.arange(0, 4 * width, width)
    return lambda packed: table[(packed[..., None].astype(np.int64) >> steps) & (len(table) - 1)]


@semantics("fp8", "add", "sub")
def arithmetic(match: Match) -> Callable[[Array, Array], Array]:
    to = _FORMATS[match.type().element.name]
    left, right = _decoder(match.type(".atype").element.name), _decoder(match.type().element.name)
    compute, saturate = (np.add if match.entry.name == "add" else np.subtract), ".satfinite" in match.bindings

    def apply(a: Array, b: Array) -> Array:
        with np.errstate(invalid="ignore"):
            exact = compute(left(a), right(b))
        result = narrow(exact, to, "rn", saturate=saturate).astype(np.uint8)
        if to is E4M3 and not saturate:
            result = np.where(np.abs(exact) > _E4M3_PAST, np.uint8(E4M3.nan), result)
        return np.ascontiguousarray(result).view(np.uint32)[..., 0]

    return apply
