"""Comparison and selection, 16-bit floats included (ISA "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.lowering import Lowering, Run, lower_function
from ptxgen.emulator.operands import Array, dtype_of
from ptxgen.emulator.semantics.lanes import split_lanes
from ptxgen.emulator.semantics.table import execution, semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import Type

Function = Callable[..., Any]

_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _comparison(match: Match, of: Type) -> Function:
    """Truths of a and b: shape (n,), or (n, lanes) for a packed type."""
    compute = numerics.compare(match.value(".CmpOp") or match.value(".packedCmpOp"), of.element.name, ftz=".ftz" in match.bindings)
    if of.lanes == 1:
        return compute
    return lambda a, b: compute(split_lanes(a, of), split_lanes(b, of))


def _combination(match: Match) -> Callable[[Array, tuple[Array, ...]], Array]:
    """``.BoolOp`` with the predicate that follows the sources, where there is one."""
    name = match.value(".BoolOp")
    if not name:
        return lambda truth, rest: truth
    combine = _COMBINE[name]
    return lambda truth, rest: combine(truth, rest[0] if truth.ndim == 1 else rest[0][:, None])


@execution("comparison", "setp")
def lower_setp(low: Lowering) -> Run:
    of = low.operand_type("a")
    compare, combine = _comparison(low.match, of), _combination(low.match)
    if of.lanes > 1:

        def lanes(a: Array, b: Array, *rest: Array) -> Any:
            truth = combine(compare(a, b), rest)
            return (truth[:, 0], truth[:, 1]) if "q" in low.named else truth[:, 0]

        return lower_function(low, lanes)
    if "q" not in low.named:
        return lower_function(low, lambda a, b, *rest: combine(compare(a, b), rest))

    def both(a: Array, b: Array, *rest: Array) -> tuple[Array, Array]:
        truth = compare(a, b)
        return combine(truth, rest), combine(~truth, rest)

    return lower_function(low, both)


@semantics("comparison", "set")
def set_(match: Match) -> Function:
    if ".packedCmpOp" in match.bindings:
        source = target = match.type()
    else:
        source, target = match.type(".stype"), match.type(".dtype")
    compare, combine = _comparison(match, source), _combination(match)
    lane_bits = target.bits // source.lanes
    one = {("float", 16): _half_one(target), ("float", 32): 0x3F800000}.get((target.kind, lane_bits), (1 << lane_bits) - 1)
    pattern = np.array({8: np.uint8, 16: np.uint16, 32: np.uint32}[lane_bits](one))

    def apply(a: Array, b: Array, *rest: Array) -> Array:
        values = np.where(combine(compare(a, b), rest), pattern, pattern.dtype.type(0))
        if values.ndim == 2:
            values = np.ascontiguousarray(values).view(np.uint32).reshape(len(values))  # all packed results have 32 bits
        return values.view(dtype_of(target))

    return apply


def _half_one(target: Type) -> int:
    return 0x3F80 if target.element.name == "bf16" else 0x3C00


@semantics("comparison", "selp")
def selp(match: Match) -> Function:
    return lambda a, b, c: np.where(c, a, b)


@semantics("comparison", "slct")
def slct(match: Match) -> Function:
    if match.type().name == "s32":
        return lambda a, b, c: np.where(c >= 0, a, b)
    not_negative = numerics.compare("ge", "f32", ftz=".ftz" in match.bindings)
    zero = np.zeros(1, np.float32)
    return lambda a, b, c: np.where(not_negative(c, zero), a, b)
