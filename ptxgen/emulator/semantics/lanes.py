"""Packed types: one scalar function applied to every lane of a register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator.operands import Array, dtype_of
from ptxgen.instructions.types import Type

__all__ = ["lanewise", "split_lanes"]


def split_lanes(packed: Array, of: Type) -> Array:
    """Packed values of shape (n,) as elements of shape (n, lanes), the lowest lane first."""
    return np.ascontiguousarray(packed).view(dtype_of(of.element)).reshape(len(packed), of.lanes)


def lanewise(function: Callable[..., Array], of: Type) -> Callable[..., Array]:
    """The packed form of an elementwise function; the function itself where `of` is not packed."""
    if of.lanes == 1:
        return function
    packed = dtype_of(of)

    def apply(*operands: Any) -> Array:
        results = function(*(split_lanes(operand, of) for operand in operands))
        return np.ascontiguousarray(results).view(packed).reshape(len(results))

    return apply
