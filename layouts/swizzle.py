"""XOR swizzles of memory positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import exact_int

if TYPE_CHECKING:
    import numpy as np

    Positions = TypeVar("Positions", int, np.ndarray)

_BITS_PER_BYTE_LOG2 = 3


class Swizzle:
    """XOR byte-address bits `[base + shift, base + shift + bits)` into bits `[base, base + bits)`. Immutable.

    Counts in bytes, whatever the element type: `Swizzle(3, 4, 3)` is the 128-byte swizzle of tensor maps and matrix
    descriptors (the same numbers as in CUTLASS, applied to byte addresses). It is its own inverse.

    Attributes
    ----------
    period
        Bytes after which the pattern repeats; adding a multiple of it commutes with the swizzle.
    granule
        Bytes that stay together.

    Raises
    ------
    LayoutError
        Unless `bits >= 1`, `base >= 0` and `shift >= bits` (the two bit fields must not overlap).
    """

    __slots__ = ("base", "bits", "granule", "period", "shift")

    B32: ClassVar[Swizzle]  #: 32-byte swizzle, period 256 bytes
    B64: ClassVar[Swizzle]  #: 64-byte swizzle, period 512 bytes
    B128: ClassVar[Swizzle]  #: 128-byte swizzle, period 1024 bytes
    B128_ATOM32: ClassVar[Swizzle]  #: 128-byte swizzle that moves 32-byte atoms

    def __init__(self, bits: int, base: int, shift: int) -> None:
        self.bits = exact_int(bits, "a swizzle's bits")
        self.base = exact_int(base, "a swizzle's base")
        self.shift = exact_int(shift, "a swizzle's shift")
        if self.bits < 1 or self.base < 0:
            raise LayoutError(f"{self!r}: bits must be at least 1 and base at least 0; no swizzle is swizzle=None")
        if self.shift < self.bits:
            raise LayoutError(
                f"{self!r}: shift must be at least bits ({self.bits}), else the bits that are read overlap "
                "the bits that change and the swizzle has no inverse of its own form"
            )
        self.period = 1 << (self.base + self.shift + self.bits)
        self.granule = 1 << self.base

    def apply_bytes(self, positions: Positions) -> Positions:
        """Swizzled byte positions of unswizzled byte positions (int or int64 array)."""
        return positions ^ (positions >> self.shift & self._mask(0))

    def apply_bits(self, positions: Positions) -> Positions:
        """Swizzled bit positions of unswizzled bit positions (int or int64 array)."""
        return positions ^ (positions >> self.shift & self._mask(_BITS_PER_BYTE_LOG2))

    def apply_units(self, positions: Positions, bits: int) -> Positions:
        """Swizzled positions of unswizzled ones, counted in units of so many bits, which divide the granule."""
        moved = positions >> self.shift
        moved &= self._mask(_BITS_PER_BYTE_LOG2) // bits  # in place: arrays of positions are large
        moved ^= positions
        return moved

    def _mask(self, unit: int) -> int:
        return ((1 << self.bits) - 1) << (self.base + unit)

    @property
    def inverse(self) -> Swizzle:
        """The swizzle itself: the bits that it reads never change."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Swizzle):
            return NotImplemented
        return (self.bits, self.base, self.shift) == (other.bits, other.base, other.shift)

    def __hash__(self) -> int:
        return hash((Swizzle, self.bits, self.base, self.shift))

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"


Swizzle.B32 = Swizzle(1, 4, 3)
Swizzle.B64 = Swizzle(2, 4, 3)
Swizzle.B128 = Swizzle(3, 4, 3)
Swizzle.B128_ATOM32 = Swizzle(2, 5, 2)
