"""Matrix descriptors: how wgmma and tcgen05 find an operand in shared memory (ISA 9.7.16.5.1 and 9.7.17.4.1, "Matrix descriptor").

An operand is a matrix of rows by k. In 16-byte units, `t` elements each, its shared-memory layout is one of the canonical ones below, with
two free strides: `lead` (the leading-dimension byte offset) and `stride` (the stride byte offset). The hardware XORs the swizzle into
the absolute address of every 16-byte unit.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptxgen.layouts.swizzle import Swizzle

__all__ = ["CANONICAL", "SPANNING", "TCGEN05", "WGMMA", "Canonical", "Descriptor"]


SPANNING: dict[int, Swizzle | None] = {0: None, 32: Swizzle.B32, 64: Swizzle.B64, 128: Swizzle.B128}
"""The swizzles by the bytes of their span, as calls take them as well."""


class Canonical:
    """One canonical layout of a shared operand.

    Attributes
    ----------
    swizzle : int
        Bytes of the swizzle's span: 0 (none), 32, 64 or 128.
    pattern : Swizzle or None
        The swizzle itself.
    major : str
        ``"k"``: neighbours in memory lie along k; ``"mn"``: along the rows.
    word : str
        What stands for it in `Atom.majors`: the major; ``"mn32"`` where the swizzle moves 32 bytes together, which instructions take apart
        from the others.
    layout : str
        Element (row, k) in elements, over rows, k, t, lead and stride.
    """

    __slots__ = ("layout", "major", "pattern", "swizzle", "word")

    def __init__(self, pattern: Swizzle | None, major: str, layout: str, word: str = "") -> None:
        self.pattern = pattern
        self.swizzle = 1 << (pattern.base + pattern.bits) if pattern is not None else 0
        self.major = major
        self.word = word or major
        self.layout = layout

    def has(self, swizzle: Swizzle | int | None) -> bool:
        """Whether this is its swizzle: given itself, or by the bytes of its span; None and 0 are none."""
        return (self.pattern if isinstance(swizzle, Swizzle) or swizzle is None else self.swizzle) == swizzle

    def rows(self, unit: int) -> int:
        """Rows of a block of the layout, for `unit` elements in 16 bytes."""
        return 8 if self.major == "k" else unit * max(1, self.swizzle // 16)

    @property
    def described(self) -> str:
        """Its major and its swizzle, in words."""
        atoms = f" of {self.pattern.granule}-byte atoms" if self.pattern is not None and self.pattern.granule != 16 else ""
        name = f"a {self.swizzle}-byte swizzle{atoms}" if self.swizzle else "no swizzle"
        return f"{'K' if self.major == 'k' else 'MN'}-major with {name}"

    def __repr__(self) -> str:
        return f"{self.described}: {self.layout}"


def _k_major(units: int) -> str:
    """Eight rows of `units` 16-byte units each; without a swizzle every 8 x 16-byte core matrix is apart."""
    if units == 1:
        return "S[((rows // 8, 8), (k // t, t)) : ((stride, t), (lead, 1))]"
    return f"S[((rows // 8, 8), (k // t, t)) : ((stride, {units} * t), (t, 1))]"


def _mn_major(units: int, steps: int = 8) -> str:
    """`steps` steps of k, each `units` 16-byte units of rows."""
    if units == 1:
        return "S[((rows // t, t), (k // 8, 8)) : ((stride, 1), (lead, t))]"
    return f"S[((rows // ({units} * t), {units} * t), (k // {steps}, {steps})) : ((lead, 1), (stride, {units} * t))]"


CANONICAL = (
    *(
        Canonical(pattern, major, layout(units))
        for major, layout in (("k", _k_major), ("mn", _mn_major))
        for pattern, units in ((None, 1), (Swizzle.B32, 2), (Swizzle.B64, 4), (Swizzle.B128, 8))
    ),
    Canonical(Swizzle.B128_ATOM32, "mn", _mn_major(8, steps=4), "mn32"),
)


class Descriptor:
    """The bit fields of a 64-bit descriptor: name -> (lowest bit, width). Addresses and offsets are stored in 16-byte units.

    Attributes
    ----------
    fields : mapping
        ``start``, ``lead``, ``stride``, ``base`` (base offset) and ``mode``.
    modes : mapping of Swizzle or None to int
        Swizzle -> the value of ``mode``.
    constant : int
        Bits that are always set.
    midway : bool
        Whether a K-major matrix may begin in any row of a swizzle's pattern, as measured: the XOR acts on absolute addresses alone.
    """

    __slots__ = ("constant", "fields", "midway", "modes")

    def __init__(
        self, fields: Mapping[str, tuple[int, int]], modes: Mapping[Swizzle | None, int], constant: int = 0, *, midway: bool = False
    ) -> None:
        self.fields = fields
        self.modes = modes
        self.constant = constant
        self.midway = midway

    def encode(self, **values: int) -> int:
        """The descriptor with these field values."""
        word = self.constant
        for name, value in values.items():
            low, width = self.fields[name]
            word |= (value & ((1 << width) - 1)) << low
        return word

    def decode(self, word: int) -> dict[str, int]:
        """The field values of a descriptor."""
        return {name: word >> low & (1 << width) - 1 for name, (low, width) in self.fields.items()}


_PLACES = {"start": (0, 14), "lead": (16, 14), "stride": (32, 14), "base": (49, 3)}
WGMMA = Descriptor(
    {**_PLACES, "mode": (62, 2)}, {None: 0, Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}, midway=True
)
TCGEN05 = Descriptor(
    {**_PLACES, "mode": (61, 3)}, {None: 0, Swizzle.B128: 2, Swizzle.B64: 4, Swizzle.B32: 6, Swizzle.B128_ATOM32: 1}, 1 << 46
)
