"""Approximate instructions: how far a result is from the function's value, in the unit of the ISA's bound."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen.emulator.numerics import MAX_ERROR, Bound
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import Type
from tests.differential.drawing import Values

__all__ = ["Measured", "approximated", "measure"]

Wide: Any = np.longdouble
_FUNCTIONS: dict[str, Any] = {
    "rcp": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
    "div": lambda a, b: a / b,
}
_MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_LEAST = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}
_ALWAYS = {"rsqrt", "sin", "cos", "lg2", "ex2", "tanh"}

NONE_STATED = Bound("relative", np.inf)
"""The ISA calls the f64 forms gross approximations, or says nothing of their error."""


class Measured(NamedTuple):
    """Of each element: the error in the unit of its bound (NaN where none is measured), the bound, and whether the result is wrong."""

    errors: NDArray[np.float64]
    bounds: NDArray[np.float64]
    kinds: list[str]
    which: NDArray[np.int64]
    wrong: NDArray[np.bool_]


def approximated(match: Match) -> tuple[str, tuple[Bound, ...]] | None:
    """The function that an instruction approximates and the ISA's bounds; None if the ISA defines its bits."""
    tokens = match.opcode.split(".")
    if not {"approx", "full"} & {*tokens} and tokens[0] not in _ALWAYS:
        return None
    name = "div.full" if "full" in tokens else tokens[0]
    return tokens[0], MAX_ERROR.get((name, match.type().element.name), (NONE_STATED,))


def measure(match: Match, operands: list[Values], found: Values, mine: Values) -> Measured:
    """Hold results (one lane of a register) against the function's value; `mine` are the emulator's."""
    stated = approximated(match)
    assert stated is not None
    name, bounds = stated
    of = match.type().element
    flushes = ".ftz" in match.bindings
    numbers = [_number(operand, of, flushes) for operand in operands]
    upper = of.name == "f64" and flushes  # only the upper half of the operand counts
    with np.errstate(all="ignore"):
        if upper:
            numbers = [_number(operand & np.uint64(0xFFFFFFFF << 32), of, True) for operand in operands]
        exact = _FUNCTIONS[name](*numbers)
        result = _number(found, of, False)
        size = np.abs(exact)
        normal = Wide(2.0) ** _LEAST[of.name]
        exponent = np.frexp(np.where(np.isfinite(exact) & (size > normal), size, normal))[1] - 1
        ulp = np.ldexp(Wide(1), exponent - _MANTISSA[of.name])
        apart = np.abs(result - exact)
    which = _which(bounds, np.abs(numbers[-1]))
    kinds = [bound.kind for bound in bounds]
    unit = {"ulp": ulp, "relative": np.maximum(size, normal), "absolute": np.ones_like(size)}
    limits = np.array([*(bound.value for bound in bounds), np.nan])[which]
    errors = np.full(len(found), np.nan)
    for number, bound in enumerate(bounds):
        mask = which == number
        errors[mask] = (apart / unit[bound.kind])[mask]
    # The last bit of a result below the normal range is worth more than the bound; flushed, it may be zero.
    below = (size < normal) & (apart <= (normal if flushes else ulp * 2))
    numeric = np.isfinite(exact) & np.isfinite(result) & (which < len(bounds)) & ~below
    over = np.isfinite(exact) & (size > Wide(_largest(of)) * (1 - Wide(2.0) ** (3 - _MANTISSA[of.name])))
    fits = numeric & ~(errors > limits)
    special = ~np.isfinite(exact) | ~np.isfinite(result)
    fits |= special & ((found == mine) | (np.isnan(exact) & np.isnan(result)) | (over & (np.sign(exact) == np.sign(result))))
    fits |= below | (which == len(bounds))
    return Measured(np.where(numeric, errors, np.nan), limits, kinds, which, ~fits)


def _which(bounds: tuple[Bound, ...], sizes: Any) -> NDArray[np.int64]:
    """The number of the first bound whose range holds each operand; their number where none does."""
    found = np.full(len(sizes), len(bounds))
    for number in reversed(range(len(bounds))):
        inside = bounds[number].inside
        held = np.ones(len(sizes), bool) if inside is None else (sizes >= inside[0]) & (sizes <= inside[1])
        found[held] = number
    return found


def _number(patterns: Values, of: Type, flushes: bool) -> Any:
    bits = of.bits
    if of.name == "bf16":
        values = (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32)
    else:
        values = patterns.astype(f"u{bits // 8}").view(f"f{bits // 8}")
    with np.errstate(all="ignore"):
        wide = values.astype(Wide)
        return np.where(np.abs(wide) < Wide(2.0) ** _LEAST[of.name], np.copysign(Wide(0), wide), wide) if flushes else wide


def _largest(of: Type) -> float:
    return {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}[of.name]
