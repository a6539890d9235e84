"""Conversions between types (ISA "cvt")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.numerics.half import bf16_to_f32
from ptxgen.emulator.numerics.rounding import narrow as narrow_to
from ptxgen.emulator.numerics.stochastic import FORMATS, decoded, fixed_point, power_of_two, rounded_by
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.lanes import lanewise, split_lanes
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import TYPES, Type

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
    convert = numerics.cvt(
        target,
        source,
        rounding=rounding,
        ftz=".ftz" in match.bindings,
        sat=".sat" in match.bindings,
        **_options(match),
    )
    return _without_negative_zero(convert, target) if ".pzo" in match.bindings else convert


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
    if ".scaled::n2::ue8m0" in match.bindings or ".satfinite" in match.bindings or source == "s2f6x2":
        return _multiplied(match, source)
    to_f16 = _packed(match, "f16x2", source)  # exact, as is the step from there to bf16
    to_bf16 = numerics.cvt("bf16", "f16", rounding="rn")
    from_f16 = lanewise(lambda pairs: to_bf16(pairs), TYPES["f16x2"])
    return lambda a: from_f16(to_f16(a))


def _multiplied(match: Match, source: str) -> Function:
    """Each value, with ``.scaled::n2`` times its power of two, as a .bf16, rounded once."""
    of, (saturate, relu) = TYPES[source], (".satfinite" in match.bindings, ".relu" in match.bindings)
    width = of.bits // of.lanes

    def apply(a: Array, *scale: Array) -> Array:
        elements = []
        for lane in range(2):
            exact = decoded(a.astype(np.int64) >> lane * width, of.element.name)
            for one in scale:
                exact = exact * power_of_two(one.astype(np.int64) >> lane * 8)
            elements.append(narrow_to(np.where(exact <= 0, 0.0, exact) if relu else exact, FORMATS["bf16"], "rn", saturate=saturate))
        return _joined(elements, TYPES["bf16x2"])

    return apply


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
    if target == "s2f6x2":
        return _fixed_point(match, source)
    if ".rs" in match.bindings:
        return _stochastic(match, target)
    if ".scaled::n1::ue8m0" in match.bindings:
        return _divided(match, target, source)
    convert = numerics.cvt_packed(target, source, rounding=match.value(".frnd") or "rn", **_options(match))
    return _without_negative_zero(convert, target) if ".pzo" in match.bindings else convert


def _fixed_point(match: Match, source: str) -> Function:
    """Pairs of 64ths of two values, with ``.scaled::n2`` each divided by its power of two."""
    scaled, relu = ".scaled::n2::ue8m0" in match.bindings, ".relu" in match.bindings

    def apply(*sources: Array) -> Array:
        values, scale = (sources[:-1], sources[-1]) if scaled else (sources, None)
        if source != "f32":
            pair = values[0].view(np.uint32)
            values = tuple(bf16_to_f32(half) for half in (pair >> np.uint32(16), pair))
        elements = []
        for lane, value in enumerate(reversed(values)):
            with np.errstate(all="ignore"):
                exact = value.astype(np.float64)
                if scale is not None:
                    exact = exact / power_of_two(scale.astype(np.int64) >> lane * 8)
            elements.append(fixed_point(np.maximum(exact, 0.0) if relu else exact))
        return _joined(elements, TYPES["s2f6x2"])

    return apply


def _without_negative_zero(convert: Function, target: str) -> Function:
    """``.pzo``: -0.0 in a lane, which is its sign alone, becomes +0.0."""
    of = TYPES[target]
    width = of.bits // of.lanes
    sign = {"e2m1x2": 3, "e2m3x2": 5, "e3m2x2": 5}.get(target, width - 1)
    mask, minus = (1 << width) - 1, 1 << sign

    def apply(*sources: Array) -> Array:
        result = convert(*sources)
        patterns = result.view(_UNSIGNED[of.bits]).astype(np.int64)
        for lane in range(of.lanes):
            zero = (patterns >> lane * width & mask) == minus
            patterns = np.where(zero, patterns ^ (minus << lane * width), patterns)
        return patterns.astype(_UNSIGNED[of.bits]).view(result.dtype)

    return apply


_UNSIGNED: dict[int, Any] = {8: np.uint8, 16: np.uint16, 32: np.uint32}


def _joined(elements: list[Array], of: Type) -> Array:
    """Patterns of a packed value's elements, the lowest first, as that value."""
    width = of.bits // of.lanes
    total = sum(element.astype(np.int64) << place * width for place, element in enumerate(elements))
    return np.asarray(total).astype(_UNSIGNED[of.bits])


def _stochastic(match: Match, target: str) -> Function:
    """Two values share a register's halves of random bits; of four, the upper two take the upper half (of .e2m1x4: the upper bytes)."""
    of = TYPES[target]
    to, options = FORMATS[of.element.name], _options(match)
    bits = {"f16": 13, "e2m1": 8}.get(of.element.name, 16)

    def apply(*sources: Array) -> Array:
        *values, random = sources
        halves = [random & np.uint32(0xFFFF), random >> np.uint32(16)]
        if of.lanes == 2:
            drawn = halves
        elif of.element.name == "e2m1":
            drawn = [half >> np.uint32(first) for first in (0, 8) for half in halves]
        else:
            drawn = [halves[0], halves[0], halves[1], halves[1]]
        elements = [
            rounded_by(value, bits_of, bits, to, saturate=options["satfinite"], relu=options["relu"])
            for value, bits_of in zip(reversed(values), drawn)
        ]
        return _joined(elements, of)

    return apply


def _divided(match: Match, target: str, source: str) -> Function:
    """``.scaled::n1``: both values are divided by a power of two, then rounded."""
    of, to = TYPES[target], FORMATS[TYPES[target].element.name]
    rounding, relu = match.value(".frnd"), ".relu" in match.bindings
    widen = None if source == "f32" else numerics.cvt("f32", source[:-2])

    def apply(*sources: Array) -> Array:
        *values, scale = sources
        if widen is not None:
            packed = split_lanes(values[0], TYPES[source])
            values = [widen(packed[:, 1]), widen(packed[:, 0])]
        with np.errstate(all="ignore"):
            quotients = [value.astype(np.float64) / power_of_two(scale) for value in reversed(values)]
        if relu:
            quotients = [np.where(value <= 0, 0.0, value) for value in quotients]
        return _joined([narrow_to(value, to, rounding, saturate=True) for value in quotients], of)

    return _without_negative_zero(apply, target) if ".pzo" in match.bindings else apply
