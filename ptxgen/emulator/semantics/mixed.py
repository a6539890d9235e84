"""Mixed-precision arithmetic: sources widened exactly, then f32 arithmetic, or one rounding to pairs of 16-bit floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.numerics.ieee import sum_odd
from ptxgen.emulator.numerics.rounding import BF16, F16, narrow
from ptxgen.emulator.operands import Array, dtype_of
from ptxgen.emulator.semantics.lanes import split_lanes
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import TYPES

Function = Callable[..., Any]


@semantics("mixed", "add", "sub", "fma", "mul")
def arithmetic(match: Match) -> Function:
    """Scalars (d, a{, b}, c), and pairs."""
    name = match.entry.name
    if ".atype" not in match.bindings and ".htype" not in match.bindings:
        return _narrow_pairs(match)
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


def _narrow_pairs(match: Match) -> Function:
    """Pairs whose result is a pair of 16-bit floats, rounded once: towards zero with .rz, else to nearest, as ``mul`` of such floats is.

    With .ftz subnormal sources, and subnormal results, are zeros of their sign.
    """
    target, *sources = (match.type(match.entry.operands[slot.name].type) for slot in match.form.operand_lists[0])
    to = BF16 if target.element.name == "bf16" else F16
    rounding, flush = "rz" if ".rz" in match.bindings else "rn", ".ftz" in match.bindings
    widen = [numerics.cvt("f64", one.element.name) for one in sources]
    name, packed = match.entry.name, dtype_of(target)

    def apply(*operands: Array) -> Array:
        a, b = (to_f64(split_lanes(operand, of)) for operand, of, to_f64 in zip(operands, sources, widen))
        if flush:
            a, b = (np.where(np.abs(value) < 2.0**-126, np.copysign(0.0, value), value) for value in (a, b))
        with np.errstate(all="ignore"):
            exact = a * b if name == "mul" else sum_odd(a, b if name == "add" else -b, "rn")
            if flush:
                exact = np.where(np.abs(exact) < 2.0**-14, np.copysign(0.0, exact), exact)
        return np.ascontiguousarray(narrow(exact, to, rounding)).view(packed).reshape(len(exact))

    return apply
