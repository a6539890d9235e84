"""Mixed-precision arithmetic: f16 and bf16 sources widened exactly, then f32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.lanes import split_lanes
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import TYPES

Function = Callable[..., Any]


@semantics("mixed", "add", "sub", "fma", "mul")
def arithmetic(match: Match) -> Function:
    """Scalars (d, a{, b}, c) and pairs with an .f32x2 result; what rounds to a pair of 16-bit floats is not emulated."""
    name = match.entry.name
    if ".atype" not in match.bindings and ".htype" not in match.bindings:
        raise numerics.NumericsError(f"how {match.opcode} rounds is not known well enough")
    compute = numerics.float_op(name, "f32", rounding=match.value(".rnd") or "rn", sat=".sat" in match.bindings)
    if ".htype" in match.bindings:
        return _pairs(match, compute)
    widen = numerics.cvt("f32", match.value(".atype"))
    if name == "fma":
        return lambda a, b, c: compute(widen(a), widen(b), c)
    return lambda a, c: compute(widen(a), c)


def _pairs(match: Match, compute: Function) -> Function:
    halves, floats = match.type(".htype"), TYPES["f32x2"]
    widen = numerics.cvt("f32", halves.element.name)

    def apply(half: Array, *rest: Array) -> Array:
        result = compute(widen(split_lanes(half, halves)), *(split_lanes(one, floats) for one in rest))
        return np.ascontiguousarray(result).view(np.uint64).reshape(len(result))

    return apply
