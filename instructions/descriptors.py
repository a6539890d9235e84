"""Matrix descriptors: how wgmma and tcgen05 find an operand in shared memory (ISA 9.7.16.5.1 and 9.7.17.4.1, "Matrix descriptor").

An operand is a matrix of rows by k. In 16-byte units, `t` elements each, its shared-memory layout is one of the canonical ones below, with
two free strides: `lead` (the leading-dimension byte offset) and `stride` (the stride byte offset). The hardware XORs the swizzle into
the absolute address of every 16-byte unit.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CANONICAL", "TCGEN05", "WGMMA", "Canonical", "Descriptor"]


class Canonical:
    """One canonical layout of a shared operand.

    Attributes
    ----------
    swizzle : int
        Bytes of the swizzle's span: 0 (none), 32, 64 or 128.
    major : str
        ``"k"``: neighbours in memory lie along k; ``"mn"``: along the rows.
    layout : str
        Element (row, k) in elements, over rows, k, t, lead and stride.
    """

    __slots__ = ("layout", "major", "swizzle")

    def __init__(self, swizzle: int, major: str, layout: str) -> None:
        self.swizzle = swizzle
        self.major = major
        self.layout = layout

    def rows(self, unit: int) -> int:
        """Rows of a block of the layout, for `unit` elements in 16 bytes."""
        return 8 if self.major == "k" else unit * max(1, self.swizzle // 16)

    def __repr__(self) -> str:
        name = f"a {self.swizzle}-byte swizzle" if self.swizzle else "no swizzle"
        return f"{'K' if self.major == 'k' else 'MN'}-major with {name}: {self.layout}"


def _k_major(units: int) -> str:
    """Eight rows of `units` 16-byte units each; without a swizzle every 8 x 16-byte core matrix is apart."""
    if units == 1:
        return "S[((rows // 8, 8), (k // t, t)) : ((stride, t), (lead, 1))]"
    return f"S[((rows // 8, 8), (k // t, t)) : ((stride, {units} * t), (t, 1))]"


def _mn_major(units: int) -> str:
    """Eight steps of k, each `units` 16-byte units of rows."""
    if units == 1:
        return "S[((rows // t, t), (k // 8, 8)) : ((stride, 1), (lead, t))]"
    return f"S[((rows // ({units} * t), {units} * t), (k // 8, 8)) : ((lead, 1), (stride, {units} * t))]"


CANONICAL = tuple(
    Canonical(swizzle, major, layout(max(1, swizzle // 16)))
    for major, layout in (("k", _k_major), ("mn", _mn_major))
    for swizzle in (0, 32, 64, 128)
)


class Descriptor:
    """The bit fields of a 64-bit descriptor: name -> (lowest bit, width). Addresses and offsets are stored in 16-byte units.

    Attributes
    ----------
    fields : mapping
        ``start``, ``lead``, ``stride``, ``base`` (base offset) and ``mode``.
    modes : mapping of int to int
        Swizzle span in bytes -> the value of ``mode``.
    constant : int
        Bits that are always set.
    """

    __slots__ = ("constant", "fields", "modes")

    def __init__(self, fields: Mapping[str, tuple[int, int]], modes: Mapping[int, int], constant: int = 0) -> None:
        self.fields = fields
        self.modes = modes
        self.constant = constant

    def encode(self, **values: int) -> int:
        """The descriptor with these field values."""
        word = self.constant
        for name, value in values.items():
            low, width = self.fields[name]
            word |= (value & ((1 << width) - 1)) << low
        return word


WGMMA = Descriptor(
    {"start": (0, 14), "lead": (16, 14), "stride": (32, 14), "base": (49, 3), "mode": (62, 2)}, {0: 0, 128: 1, 64: 2, 32: 3}
)
TCGEN05 = Descriptor(
    {"start": (0, 14), "lead": (16, 14), "stride": (32, 14), "base": (49, 3), "mode": (61, 3)}, {0: 0, 128: 2, 64: 4, 32: 6}, 1 << 46
)
