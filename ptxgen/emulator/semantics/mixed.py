"""Mixed-precision arithmetic: f16 and bf16 sources widened exactly, then f32 arithmetic (ISA 9.7.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxgen.emulator import numerics
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match

Function = Callable[..., Any]


@semantics("mixed", "add", "sub", "fma")
def arithmetic(match: Match) -> Function:
    name = match.entry.name
    widen = numerics.cvt("f32", match.value(".atype"))
    compute = numerics.float_op(name, "f32", rounding=match.value(".rnd") or "rn", sat=".sat" in match.bindings)
    if name == "fma":
        return lambda a, b, c: compute(widen(a), widen(b), c)
    return lambda a, c: compute(widen(a), c)
