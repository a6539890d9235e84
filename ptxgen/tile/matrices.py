"""Which canonical layout a matrix has that a descriptor is to describe: the address function of the hardware, walked over all elements.

A canonical layout leaves two strides open. They are read off the operand, and then every element is compared with where the hardware looks
for it. The swizzle is the same XOR of absolute addresses on both sides, so positions are compared before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ptxgen.instructions.descriptors import CANONICAL, Canonical, Descriptor
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.parse import parse
from ptxgen.layouts.swizzle import Swizzle

__all__ = ["BASE", "REACH", "UNIT", "Found", "Missed", "addresses", "canonical_layout", "recognise", "walk"]

UNIT = 16
"""Bytes that addresses and offsets in a descriptor are counted in, and that no swizzle parts."""

BASE = 128
"""Bytes that a base offset is counted in."""

REACH = 1 << 18
"""Bytes that the 14 bits of a start or an offset reach."""

_LEAD, _STRIDE = Symbol("lead"), Symbol("stride")


class Found(NamedTuple):
    """The canonical layout that an operand has, and its strides in bytes (0 where nothing uses them)."""

    canonical: Canonical
    lead: int
    stride: int


class Missed(NamedTuple):
    """How far the proof for one canonical layout came: the first element at fault, and where that layout has it, in bits.

    Where all elements agree and a distance is one that no descriptor can say, `distance` are its bytes.
    """

    canonical: Canonical
    element: int
    wanted: int
    distance: int | None = None


def recognise(
    found: np.ndarray, shape: tuple[int, ...], bits: int, swizzle: Swizzle | None, words: Sequence[str]
) -> Found | list[Missed]:
    """The canonical layout that a matrix has; or how far each one that may be meant agrees, the nearest first.

    Parameters
    ----------
    found : ndarray of int
        Bits from the first element to each of them, row-major, before the swizzle.
    shape : tuple of int
        Rows and k.
    bits : int
        Of an element.
    swizzle : Swizzle or None
    words : sequence of str
        The majors that are allowed.
    """
    missed = []
    for canonical in CANONICAL:
        if canonical.pattern == swizzle and canonical.word in words:
            outcome = _solve(canonical, shape, bits, found)
            if isinstance(outcome, Found):
                return outcome
            missed.append(outcome)
    return sorted(missed, key=lambda one: -one.element)  # stable: the first of equals


def walk(found: Found, shape: tuple[int, ...], bits: int) -> np.ndarray:
    """Where the hardware looks for each element behind the descriptor's start, in bits, before the swizzle; of shape `shape`."""
    image = _image(found.canonical, shape, bits)
    assert image is not None
    constant, lead, stride = image
    return (constant + (lead * found.lead + stride * found.stride) * 8 // bits).reshape(shape)


def addresses(word: int, fields: Descriptor, major: str, shape: tuple[int, ...], bits: int) -> np.ndarray:
    """The shared address, in bits, at which the hardware finds each element of the matrix that a descriptor describes.

    The XOR acts on absolute addresses, from which the base offset, in rows of 128 bytes, says where its pattern starts.
    """
    said = fields.decode(word)
    pattern = next(one for one, mode in fields.modes.items() if mode == said["mode"])
    canonical = next(one for one in CANONICAL if one.pattern == pattern and one.major == major)
    linear = said["start"] * UNIT * 8 + walk(Found(canonical, said["lead"] * UNIT, said["stride"] * UNIT), shape, bits)
    if pattern is None:
        return linear
    counted = linear - said["base"] * BASE * 8
    return linear ^ counted ^ np.asarray(pattern.apply_bits(counted))


def canonical_layout(canonical: Canonical, shape: tuple[int, ...], bits: int) -> Layout | None:
    """A canonical layout in elements, of whole blocks of rows, with both strides open; None where the extents do not fit."""
    rows, k = shape
    unit = 8 * UNIT // bits
    block = canonical.rows(unit)
    rows = -(-rows // block) * block
    try:
        return parse(canonical.layout, rows=rows, k=k, t=unit, lead=Expr.of(_LEAD), stride=Expr.of(_STRIDE)).reshape(rows, k)
    except LayoutError:  # an extent that the layout's units do not divide
        return None


@lru_cache(maxsize=256)
def _image(canonical: Canonical, shape: tuple[int, ...], bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Constant part and the coefficients of the two free strides, in bits for every element; None where the extents do not fit.

    The last block of rows may be cut off: where an element lies does not depend on how many rows there are.
    """
    layout = canonical_layout(canonical, shape, bits)
    if layout is None:
        return None
    table, rows = layout.table(), shape[0]
    zero = np.zeros(table.shape, np.int64)
    parts = (table.linear, table.symbols.get((_LEAD,), zero), table.symbols.get((_STRIDE,), zero))
    constant, lead, stride = (part[:rows].ravel() * bits for part in parts)
    return constant, lead, stride


def _solve(canonical: Canonical, shape: tuple[int, ...], bits: int, found: np.ndarray) -> Found | Missed:
    """The strides under which a canonical layout is the operand's."""
    image = _image(canonical, shape, bits)
    if image is None:
        return Missed(canonical, 0, 0)
    constant, lead, stride = image
    values = []
    for own, other in ((lead, stride), (stride, lead)):
        at = np.flatnonzero((own == bits) & (other == 0))
        values.append(int(found[at[0]] - constant[at[0]]) // bits if len(at) else 0)
    wanted = constant + lead * values[0] + stride * values[1]
    wrong = np.flatnonzero(wanted != found)
    if len(wrong):
        return Missed(canonical, int(wrong[0]), int(wanted[wrong[0]]))
    distances = [value * bits // 8 for value in values]
    for distance in distances:
        if distance % UNIT or not 0 <= distance < REACH:
            return Missed(canonical, prod(shape), 0, distance)
    return Found(canonical, *distances)
