"""Between bits, bytes and elements: ptxgen's swizzles permute bytes, those of CuTe and Triton mostly elements."""

from __future__ import annotations

from ptxgen.layouts import units
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.swizzle import Swizzle


def check_bits(bits: int | None, why: str) -> int:
    """The bits of an element, which must be given."""
    if bits is None:
        raise LayoutError(f"{why}; say how wide an element is: bits=16")
    if not isinstance(bits, int) or isinstance(bits, bool) or bits < 1:
        raise LayoutError(f"an element has at least 1 bit, not {bits!r}")
    return bits


def log2(value: int) -> int | None:
    """The exponent of a power of two, else None."""
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


def byte_swizzle(count: int, base: int, shift: int, bits: int, name: str) -> Swizzle | None:
    """The swizzle of bytes that does to elements of `bits` bits what the swizzle (count, base, shift) does to their indices.

    Raises
    ------
    LayoutError
        For XORs that a swizzle of ptxgen does not say: of lower into higher bits, or inside a byte.
    """
    if count == 0:
        return None
    width = log2(bits)
    if width is None:
        raise LayoutError(f"{name} on elements of {bits} bits permutes no whole bytes: {bits} is no power of two")
    if shift < 0:
        raise LayoutError(f"{name} XORs lower bits of a position into higher ones; a Swizzle of ptxgen XORs higher ones into lower ones")
    if base + width < 3:
        raise LayoutError(f"{name} on elements of {bits} bits moves parts of a byte; a Swizzle of ptxgen permutes bytes")
    return Swizzle(count, base + width - 3, shift)


def element_swizzle(swizzle: Swizzle, bits: int) -> tuple[int, int, int]:
    """The numbers (count, base, shift) of a swizzle of bytes as one of the indices of elements of `bits` bits."""
    width = log2(bits)
    if width is None:
        raise LayoutError(f"{swizzle} permutes bytes; elements of {bits} bits, no power of two, have no such bits in their index")
    base = swizzle.base + 3 - width
    if base < 0:
        raise LayoutError(f"{swizzle} keeps {swizzle.granule} bytes together; an element of {bits} bits would be cut by it")
    return swizzle.bits, base, swizzle.shift


def in_elements(layout: Layout, bits: int | None) -> Layout:
    """The layout with positions on `m` in elements of `bits` bits; one that counts elements already is as it is."""
    if layout.unit == units.ELEMENT:
        return layout
    return units.in_units(layout, check_bits(bits, f"{layout!r} counts {layout.unit}s"))
