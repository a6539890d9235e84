"""Conversions between types (ISA "cvt")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.lanes import lanewise
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import TYPES

Function = Callable[..., Any]


def _options(match: Match) -> dict[str, bool]:
    return {"relu": ".relu" in match.bindings, "satfinite": ".satfinite" in match.bindings}


@semantics("conversion", "cvt", "cvt (to a half, with .relu or .satfinite)", "cvt (to tf32)")
def scalar(match: Match) -> Function:
    target, source = match.value(".dtype"), match.value(".atype")
    rounding = match.value(".irnd") or match.value(".frnd") or ("rna" if ".rna" in match.bindings else None)
    if match.opcode == "cvt.f32.f32":
        return lambda a: a  # a copy that keeps NaN payloads, as sm_90 has it; with .ftz or .sat it is arithmetic
    if source == "bf16" and target in ("f32", "f64"):
        rounding = None  # exact: every rounding that the opcode may name gives the same
    if {source, target} == {"bf16", "f16"}:
        rounding = rounding or "rn"
    return numerics.cvt(
        target,
        source,
        rounding=rounding,
        ftz=".ftz" in match.bindings,
        sat=".sat" in match.bindings,
        **_options(match),
    )


@semantics("conversion", "cvt (two .f32 to a pair of halves)")
def halves(match: Match) -> Function:
    return _packed(match, match.value(".dtype"), "f32")


@semantics("conversion", "cvt (to two narrow values)")
def narrow(match: Match) -> Function:
    return _packed(match, match.value(".dtype"), match.value(".halves") or "f32")


@semantics("conversion", "cvt (to and from ue8m0)")
def exponents(match: Match) -> Function:
    if not match.value(".frnd"):
        return _packed(match, "bf16x2", "ue8m0x2")
    return _packed(match, "ue8m0x2", "bf16x2" if ".bf16x2" in match.bindings else "f32")


@semantics("conversion", "cvt (from two narrow values)")
def widen(match: Match) -> Function:
    source = match.value(".atype")
    if match.type().name == "f16x2":
        return _packed(match, "f16x2", source)
    if ".satfinite" in match.bindings:
        raise numerics.NumericsError(f"cvt.satfinite.bf16x2.{source} is not emulated")
    to_f16 = _packed(match, "f16x2", source)  # exact, as is the step from there to bf16
    to_bf16 = numerics.cvt("bf16", "f16", rounding="rn")
    from_f16 = lanewise(lambda pairs: to_bf16(pairs), TYPES["f16x2"])
    return lambda a: from_f16(to_f16(a))


@semantics("conversion", "cvt (four .f32 to four narrow values)")
def four(match: Match) -> Function:
    return _packed(match, match.value(".dtype"), "f32")


@semantics("conversion", "cvt.pack")
def saturating_pack(match: Match) -> Function:
    """a above b in the low bits, and c, where there is one, above both."""
    name = match.value(".dtype16") or match.value(".dtype")
    bits = int(name[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)
    field, shift = np.int64((1 << bits) - 1), np.int64(bits)

    def apply(a: Array, b: Array, *rest: Array) -> Array:
        upper, lower = (np.clip(value.astype(np.int64), low, high) & field for value in (a, b))
        packed = upper << shift | lower
        if rest:
            packed = packed | rest[0].astype(np.int64) << 2 * shift
        return packed.astype(np.uint32)

    return apply


def _packed(match: Match, target: str, source: str) -> Function:
    for word, says in ((".rs", "stochastic rounding"), (".scaled::n2::ue8m0", "scaling")):
        if word in match.bindings:
            raise numerics.NumericsError(f"{says} ({word}) is not emulated")
    return numerics.cvt_packed(target, source, rounding=match.value(".frnd") or "rn", **_options(match))
