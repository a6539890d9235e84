"""A tile of rows x K as the repeats of an instruction that takes rows x k of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxgen.errors import LayoutError
from ptxgen.layouts.errors import Impossible
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.judge import Asked

__all__ = ["Steps", "matrix_steps", "sized"]


class Steps(NamedTuple):
    """The operand, all of its extents said, and the view of the tile that it takes."""

    of: Asked
    view: Arrangement


def matrix_steps(of: Asked, shape: Sequence[Any], issuers: int = 1) -> Steps:
    """How a tile of shape (rows, K) becomes (M, K, rows, k), with a group axis in front where there are several issuers, each of which has
    rows of its own; any other shape is taken as it is.

    Raises
    ------
    LayoutError
        Where the tile has no static extents.
    Impossible
        Where it is no whole number of instructions.
    """
    if not all(isinstance(extent, int) for extent in shape):
        raise LayoutError(f"a tile of shape {tuple(shape)} has a runtime extent", legal="static extents")
    if len(shape) != 2:
        fitting = [one for one in of.choices() if one.shape() == tuple(shape[-2:])]
        return Steps(fitting[0] if fitting else of.choices()[0], Arrangement())
    of = sized(of, tuple(shape), issuers)
    rows, k = of.shape()
    if issuers == 1:
        return Steps(of, Arrangement().rearrange(_pattern(of), r=rows, k=k))
    return Steps(of, Arrangement().rearrange(_pattern(of, "g "), g=issuers, r=rows, k=k))


def _pattern(of: Asked, group: str = "") -> str:
    """Rows and K in the instruction's repeats: those along M or N first."""
    across = next((axis.lower() for axis in of.repeats if axis not in "*K"), "p")
    return f"({group}{across} r) (s k) -> {group}{across} s r k"


def sized(of: Asked, shape: tuple[int, int], issuers: int = 1) -> Asked:
    """The operand with extents that views give: the largest whose matrix divides the tile, or each issuer's part of it.

    Raises
    ------
    Impossible
    """
    choices = of.choices()
    for one in choices:
        rows, k = one.shape()
        if shape[0] % (rows * issuers) == 0 and shape[1] % k == 0:
            return one
    takes = sorted({one.shape() for one in choices}, reverse=True)
    shown = " or ".join(f"{rows} x {k}" for rows, k in takes[:3]) + (", ..." if len(takes) > 3 else "")
    each = f", and each of {issuers} {of.match.entry.issuer}s has its own rows" if issuers > 1 else ""
    raise Impossible(
        f"a tile of {shape[0]} x {shape[1]} is no whole number of instructions",
        (f"the tile has {shape[0]} rows and {shape[1]} of K{each}", f"one instruction takes {shown} of {of.name} ({of.match.opcode})"),
        legal=f"a tile of multiples of {shown}",
    )
