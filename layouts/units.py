"""What positions on `m` count: elements of an as yet unknown size, or units of so many bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.layouts.axes import AxisTerm, m
from ptxgen.layouts.dims import Dim, Dims, coalesce
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, exact_int, exact_ratio, product

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout
    from ptxgen.layouts.swizzle import Swizzle

ELEMENT, BIT = "element", "bit"
_NAMED = {"bit": 1, "byte": 8, "word": 32}
_NAMES = {bits: name for name, bits in _NAMED.items()}


def unit_of(value: object) -> str:
    """The unit by its one name: "element", "bit", "byte", "word" (32 bits), and "b16", "b64" ... for other numbers of bits.

    Raises
    ------
    LayoutError
        For anything else.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return _NAMES.get(value, f"b{value}")
    if value == ELEMENT or (isinstance(value, str) and value in _NAMED):
        return str(value)
    digits = value[1:] if isinstance(value, str) and value.startswith("b") else ""
    if not digits.isdecimal() or int(digits) < 1:
        raise LayoutError(f'a layout counts "element", "bit", "byte", "word" (32 bits) or bits such as "b16", not {value!r}')
    return _NAMES.get(int(digits), f"b{int(digits)}")


def bits_of(unit: str) -> int | None:
    """Bits of one unit by its name; None for elements of unknown size."""
    return None if unit == ELEMENT else _NAMED.get(unit) or int(unit[1:])


def check_granule(swizzle: Swizzle | None, bits: int, what: str = "an element") -> None:
    """Refuse units that the swizzle would cut."""
    if swizzle is not None and swizzle.granule * 8 % bits:
        raise LayoutError(f"{swizzle} keeps {swizzle.granule} bytes together; {what} of {bits} bits would be cut by it")


def bind(layout: Layout, bits_per_element: int) -> Layout:
    """See `Layout.bind`."""
    bits = exact_int(bits_per_element, "bits per element")
    if layout.unit != ELEMENT:
        raise LayoutError(f"{layout!r} counts {layout.unit}s already; bind() turns elements into bits once")
    if bits < 1:
        raise LayoutError(f"an element has at least 1 bit, not {bits}")
    check_granule(layout.swizzle, bits)
    return _scaled(layout, bits, 1, BIT)


def in_units(layout: Layout, unit: str | int) -> Layout:
    """The same positions counted in another unit.

    Property: `in_units(layout, v)(c)[m] * bits(v) == layout(c)[m] * bits(layout.unit)` at every coordinate; the other axes stay.

    Parameters
    ----------
    unit
        "bit", "byte", "word" (32 bits), "b16" or another number of bits.

    Raises
    ------
    LayoutError
        For elements of unknown size, and for a unit that the swizzle would cut or at whose multiples not every element is.
    """
    wanted = unit_of(unit)
    if wanted == layout.unit:
        return layout
    have, want = bits_of(layout.unit), bits_of(wanted)
    if have is None:
        raise LayoutError(
            f"{layout!r} counts elements, whose size is not known", legal=f"bind(bits_per_element) first, then in_units({wanted!r})"
        )
    if want is None:
        raise LayoutError(
            f"{layout!r} counts {layout.unit}s, and does not know the size of its elements",
            legal='the number of bits of an element: in_units("b16")',
        )
    check_granule(layout.swizzle, want, "a unit")
    for what, term in [("the offset", layout.offset)] + [
        (f"the stride {stride}", stride) for part in (*layout.dims, layout.replica_dims) for extent, stride in part if extent != 1
    ]:
        if Expr.of(term[m]).divisor() * have % want:
            raise LayoutError(
                f"{layout!r} can't be counted in units of {want} bits: {what} of {Expr.of(term[m]) * have} bits is no multiple of {want}",
                legal="a unit that divides it, or elements packed into wider ones first (pack, retype)",
            )
    return _scaled(layout, have, want, wanted)


def _scaled(layout: Layout, times: int, by: int, unit: str) -> Layout:
    def scale(term: AxisTerm) -> AxisTerm:
        return AxisTerm(tuple((axis, _ratio(value, times, by) if axis is m else value) for axis, value in term.parts))

    dims = tuple(tuple((extent, scale(stride)) for extent, stride in part) for part in layout.dims)
    replicas = tuple((extent, scale(stride)) for extent, stride in layout.replica_dims)
    return layout._with(dims, scale(layout.offset), replicas, unit)


def _ratio(value: Scalar, times: int, by: int) -> Scalar:
    if by == 1:
        return value * times
    return value * times // by if isinstance(value, int) else Expr.of(value * times).floordiv(by)


def retype(layout: Layout, old_bits: int, new_bits: int) -> Layout:
    """See `Layout.retype`."""
    if layout.unit != BIT:
        raise LayoutError("retype() needs positions in bits: bind(bits_per_element) first")
    if old_bits == new_bits:
        return layout
    wide, narrow = max(old_bits, new_bits), min(old_bits, new_bits)
    if wide % narrow:
        raise LayoutError(f"elements of {old_bits} bits can't be seen as elements of {new_bits} bits")
    if not layout.dims:
        raise LayoutError(f"a layout of shape () has no last dimension to hold {wide // narrow} elements")
    check_granule(layout.swizzle, new_bits)
    last = coalesce(layout.dims[-1])
    outer, (extent, stride) = (last[:-1], last[-1]) if last else ((), (1, AxisTerm.of(old_bits)))
    if stride != AxisTerm.of(old_bits) and new_bits < old_bits:  # each element falls apart by itself
        return layout._with((*layout.dims[:-1], (*last, (old_bits // new_bits, AxisTerm.of(new_bits)))))
    if stride != AxisTerm.of(old_bits):
        raise LayoutError(
            f"the last dimension of {layout!r} is not contiguous: its elements of {old_bits} bits are {stride} bits apart"
        )
    if new_bits < old_bits:
        inner: Dim = (product((extent, old_bits // new_bits)), AxisTerm.of(new_bits))
    else:
        ratio = new_bits // old_bits
        whole = exact_ratio(extent, ratio)
        if whole is None:
            raise LayoutError(
                f"{extent} contiguous elements of {old_bits} bits in the last dimension "
                f"don't fill whole elements of {new_bits} bits"
            )
        inner = (whole, AxisTerm.of(new_bits))
        _check_widening(layout, outer, new_bits)
    return layout._with((*layout.dims[:-1], (*outer, inner)))


def _check_widening(layout: Layout, outer: Dims, bits: int) -> None:
    steps = [("the offset", layout.offset)]
    steps += [("a stride", stride) for part in (*layout.dims[:-1], outer, layout.replica_dims) for _, stride in part]
    for what, term in steps:
        value = Expr.of(term[m])
        if value.divisor() % bits:
            raise LayoutError(
                f"elements of {bits} bits would be misaligned: {what} of {value} bits is not known to be a multiple of {bits}"
            )
