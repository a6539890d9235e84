"""Half-precision arithmetic: f16, bf16 and their pairs (ISA "Half Precision Floating Point Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxgen.emulator import numerics
from ptxgen.emulator.semantics.lanes import lanewise
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match

Function = Callable[..., Any]


@semantics("half", "add", "sub", "mul", "fma")
def arithmetic(match: Match) -> Function:
    of = match.type()
    compute = numerics.half_op(
        match.entry.name,
        of.element.name,
        ftz=".ftz" in match.bindings,
        sat=".sat" in match.bindings,
        relu=".relu" in match.bindings,
        oob=".oob" in match.bindings,
    )
    return lanewise(compute, of)


@semantics("half", "neg", "abs")
def sign(match: Match) -> Function:
    of = match.type()
    return lanewise(numerics.sign_op(match.entry.name, of.element.name, ftz=".ftz" in match.bindings), of)


@semantics("half", "min", "max")
def extremes(match: Match) -> Function:
    of = match.type()
    compute = numerics.float_minmax(
        match.entry.name,
        of.element.name,
        ftz=".ftz" in match.bindings,
        nan=".NaN" in match.bindings,
        xorsign_abs=".xorsign" in match.bindings,
    )
    return lanewise(compute, of)


@semantics("half", "tanh", "ex2")
def approximate(match: Match) -> Function:
    of = match.type()
    return lanewise(numerics.approx(match.entry.name, of.element.name, ftz=".ftz" in match.bindings), of)
