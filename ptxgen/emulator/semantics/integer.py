"""Integer arithmetic (ISA "Integer Arithmetic Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.operands import Array, dtype_of
from ptxgen.emulator.semantics.lanes import lanewise
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import Type

Function = Callable[..., Any]

_LANE_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
}


@semantics("integer", "add", "sub", "min", "max", "neg", "abs", "div", "rem", "sad")
def arithmetic(match: Match) -> Function:
    of, name = match.type(), match.entry.name
    saturate, relu = ".sat" in match.bindings, ".relu" in match.bindings
    if of.lanes > 1 or (saturate and of.name != "s32"):
        return _by_lanes(name, of, saturate, relu)
    return numerics.integer_op(name, of.name, sat=saturate, relu=relu)


def _by_lanes(name: str, of: Type, saturate: bool, relu: bool) -> Function:
    """Exact in 64 bits, then cut or clamped to the lane's type."""
    element = dtype_of(of.element)
    limits: Any = np.iinfo(element)
    exact = _LANE_FUNCTIONS[name]

    def apply(*operands: Array) -> Array:
        result = exact(*(operand.astype(np.int64) for operand in operands))
        if saturate:
            result = np.clip(result, limits.min, limits.max)
        if relu:
            result = np.maximum(result, 0)
        return result.astype(element)

    return lanewise(apply, of)


@semantics("integer", "mul", "mad", "mul24", "mad24")
def product(match: Match) -> Function:
    mode = match.value(".mode") or "hi"  # the .sat forms spell .hi literally
    return numerics.integer_op(f"{match.entry.name}.{mode}", match.type().name, sat=".sat" in match.bindings)


@semantics("integer", "popc", "clz", "brev", "fns", "bfi")
def bits(match: Match) -> Function:
    function: Function = getattr(numerics, match.entry.name)
    return function


@semantics("integer", "bfind")
def bfind(match: Match) -> Function:
    return numerics.bfind(match.type().name, shiftamt=".shiftamt" in match.bindings)


@semantics("integer", "bfe")
def bfe(match: Match) -> Function:
    return numerics.bfe(match.type().name)


@semantics("integer", "bmsk")
def bmsk(match: Match) -> Function:
    return numerics.bmsk(match.value(".mode"))


@semantics("integer", "szext")
def szext(match: Match) -> Function:
    return numerics.szext(match.value(".mode"), match.type().name)


@semantics("integer", "dp4a", "dp2a")
def dot_product(match: Match) -> Function:
    mode = match.value(".mode")
    name = f"{match.entry.name}.{mode}" if mode else match.entry.name
    compute = numerics.dot_product(name, match.value(".atype"), match.value(".btype"))
    return lambda *operands: compute(*(operand.view(np.uint32) for operand in operands))


@semantics("integer", "clmad")
def carryless(match: Match) -> Function:
    """Half of the product of polynomials over GF(2), added (exclusive or) to c."""
    high = match.value(".mode") == "hi"

    def apply(a: Array, b: Array, c: Array) -> Array:
        a, b = a.view(np.uint64), b.view(np.uint64)
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.uint64)
        for bit in range(1 if high else 0, 64):
            chosen = (b >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)
            shifted = a >> np.uint64(64 - bit) if high else a << np.uint64(bit)
            result = np.where(chosen, result ^ shifted, result)
        return result ^ c.view(np.uint64)

    return apply
