"""Logic and shifts (ISA "Logic and Shift Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.lowering import Lowering, Run, lower_function
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import execution, semantics
from ptxgen.instructions.registry import Match

Function = Callable[..., Any]


@semantics("logic", "and", "or", "xor", "not")
def bitwise(match: Match) -> Function:
    functions: dict[str, Function] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}
    return functions[match.entry.name]


@semantics("logic", "cnot")
def cnot(match: Match) -> Function:
    return lambda a: (a == 0).astype(a.dtype)


@execution("logic", "lop3")
def lower_lop3(low: Lowering) -> Run:
    compute = numerics.lop3(low.named["immLut"].value)
    combination = low.match.value(".BoolOp")
    if not combination:
        return lower_function(low, lambda a, b, c, table: compute(a, b, c))
    combine = np.logical_and if combination == "and" else np.logical_or

    def both(a: Array, b: Array, c: Array, table: Array, q: Array) -> tuple[Array, Array]:
        result = compute(a, b, c)
        return result, combine(result != 0, q)

    return lower_function(low, both)


@semantics("logic", "shf")
def shf(match: Match) -> Function:
    return numerics.funnel_shift(match.value(".dir"), match.value(".mode"))


@semantics("logic", "shl", "shr")
def shift(match: Match) -> Function:
    return numerics.shift_op(match.entry.name, match.type().name)
