"""Floating-point arithmetic in f32, f32x2 and f64 (ISA "Floating Point Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxgen.emulator import numerics
from ptxgen.emulator.semantics.lanes import lanewise
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match

Function = Callable[..., Any]


@semantics("floating", "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt")
def arithmetic(match: Match) -> Function:
    """IEEE rounding where the opcode names one or is add, sub or mul; else the hardware's approximation."""
    of = match.type()
    name = "fma" if match.entry.name == "mad" else match.entry.name
    ftz = ".ftz" in match.bindings
    if ".approx" in match.bindings:
        return numerics.approx(name, of.name, ftz=ftz)
    if ".full" in match.bindings:
        return numerics.approx("div.full", of.name, ftz=ftz)
    rounding = match.value(".rnd") or "rn"
    return lanewise(numerics.float_op(name, of.element.name, rounding=rounding, ftz=ftz, sat=".sat" in match.bindings), of)


@semantics("floating", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")
def approximate(match: Match) -> Function:
    return numerics.approx(match.entry.name, match.type().name, ftz=".ftz" in match.bindings)


@semantics("floating", "rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64")
def approximate_f64(match: Match) -> Function:
    return numerics.approx(match.entry.name.partition(".")[0], "f64", ftz=True)


@semantics("floating", "abs", "neg")
def sign(match: Match) -> Function:
    return numerics.sign_op(match.entry.name, match.type().name, ftz=".ftz" in match.bindings)


@semantics("floating", "min", "max")
def extremes(match: Match) -> Function:
    name = match.type().name
    compute = numerics.float_minmax(
        match.entry.name,
        name,
        ftz=".ftz" in match.bindings,
        nan=".NaN" in match.bindings,
        xorsign_abs=".xorsign" in match.bindings,
    )
    if ".abs" in match.bindings and ".xorsign" not in match.bindings:
        magnitude = numerics.sign_op("abs", name)
        return lambda *operands: compute(*map(magnitude, operands))
    return compute


@semantics("floating", "testp")
def testp(match: Match) -> Function:
    return numerics.testp(match.value(".op"), match.type().name)


@semantics("floating", "copysign")
def copysign(match: Match) -> Function:
    return numerics.copysign(match.type().name)
