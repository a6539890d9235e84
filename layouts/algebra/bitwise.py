"""Swizzles as sets of address bits: what becomes of an XOR on the other side of a layout."""

from __future__ import annotations

from collections.abc import Iterable

from ptxgen.layouts.axes import AxisTerm, m
from ptxgen.layouts.dims import Dim
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.units import bits_of

Pairs = frozenset[tuple[int, int]]  # (changed bit, bit that is read) of positions in bits

NOTHING: Pairs = frozenset()


def pairs_of(swizzle: Swizzle | None) -> Pairs:
    """The bits of a position in bits that a swizzle changes, each with the bit that it reads."""
    if swizzle is None:
        return NOTHING
    first = swizzle.base + 3
    return frozenset((first + bit, first + bit + swizzle.shift) for bit in range(swizzle.bits))


def swizzle_of(pairs: Pairs, why: str) -> Swizzle | None:
    """The one swizzle that these pairs are; None for no pairs.

    Raises
    ------
    LayoutError
        Where no `Swizzle(bits, base, shift)` does that.
    """
    if not pairs:
        return None
    targets = sorted(target for target, _ in pairs)
    shift = min(source - target for target, source in pairs)
    base = targets[0] - 3
    if base >= 0 and shift >= len(targets):
        candidate = Swizzle(len(targets), base, shift)
        if pairs_of(candidate) == pairs:
            return candidate
    text = ", ".join(f"bit {target} ^= bit {source}" for target, source in sorted(pairs))
    raise LayoutError(f"{why}: {text} (of positions in bits) is no single Swizzle(bits, base, shift)", legal=_BY_TABLE)


def after(second: Pairs, first: Pairs) -> Pairs:
    """The pairs of one XOR behind another: what both change, and what the second reads of what the first changed."""
    through = [(target, source) for target, read in second for changed, source in first if changed == read]
    total: set[tuple[int, int]] = set()
    for pair in (*first, *second, *through):
        total ^= {pair}
    return frozenset(total)


def pushed(swizzle: Swizzle, unit: str, dims: Iterable[Dim], rest: Iterable[Dim], offset: AxisTerm, to_unit: str) -> Pairs:
    """What an XOR on the coordinate does to the positions: pairs Q with `position(swizzle(c)) == Q(position(c))` for all c.

    Parameters
    ----------
    swizzle, unit
        The XOR on the coordinate, which counts places of that unit.
    dims
        Physical dimensions of the coordinate, outermost first.
    rest
        Dimensions that are added to the position and that the XOR leaves alone.
    offset
        Of the positions.
    to_unit
        What positions count.

    Raises
    ------
    LayoutError
        Where bits of the coordinate don't stay bits of the position, with the bit at fault.
    """
    have, give = bits_of(unit), bits_of(to_unit)
    if have is None or give is None:
        raise LayoutError(
            f"{swizzle} permutes bytes and can't act on numbers of elements",
            legal="bind(bits_per_element).in_units(bits_per_element): then a number counts elements of that size",
        )
    physical = [dim for dim in dims if dim[0] != 1]
    places, others, size = _bits_apart(physical)
    steps = [*others, *rest]
    found: set[tuple[int, int]] = set()
    for target, source in pairs_of(swizzle):
        low, high = target - (have.bit_length() - 1), source - (have.bit_length() - 1)
        if size <= 1 << high:  # the bit that is read is always 0
            continue
        bits = []
        for bit in (low, high):
            at = _position_bit(swizzle, bit, places, steps, offset)
            bits.append(at + give.bit_length() - 1)
        found.add((bits[0], bits[1]))
    return frozenset(found)


_BY_TABLE = "a table: element_table(layout, axes) lists the elements by position, whatever the layout"


def _bits_apart(dims: list[Dim]) -> tuple[dict[int, AxisTerm], list[Dim], int]:
    """For each bit of the coordinate that is a dimension by itself its stride; what else there is; the extent of all."""
    places: dict[int, AxisTerm] = {}
    others: list[Dim] = []
    weight = 1
    for extent, stride in reversed(dims):
        if not isinstance(extent, int):
            raise LayoutError(f"a swizzle can't pass the run-time extent {extent}", legal="static extents")
        size = extent
        while not weight & (weight - 1) and not extent % 2:
            places[weight.bit_length() - 1] = stride
            weight, extent, stride = weight * 2, extent // 2, stride * 2
            size //= 2
        if extent > 1:
            others.append((extent, stride))
        weight *= extent
    return places, others, weight


def _position_bit(swizzle: Swizzle, bit: int, places: dict[int, AxisTerm], others: list[Dim], offset: AxisTerm) -> int:
    """The bit of positions on `m` that always equals one bit of the coordinate."""
    stride = places.get(bit)
    if stride is None:
        raise LayoutError(f"{swizzle} acts on bit {bit} of the coordinate, which is no factor 2 of an extent", legal=_BY_TABLE)
    step = stride[m]
    if len(stride.parts) != 1 or not isinstance(step, int) or step < 1 or step & (step - 1):
        raise LayoutError(
            f"{swizzle} acts on bit {bit} of the coordinate, whose stride {stride} is no power of two on m", legal=_BY_TABLE
        )
    reach = _below(offset[m], 2 * step)
    for extent, other in (*others, *((2, place) for number, place in places.items() if number != bit)):
        reach += _below(other[m], 2 * step) * (extent - 1 if isinstance(extent, int) else 2 * step)
    if reach >= step:
        raise LayoutError(
            f"{swizzle} acts on bit {bit} of the coordinate, which moves positions by {step}; the other strides reach {reach} "
            f"below {2 * step} and carry into it",
            legal=_BY_TABLE,
        )
    return step.bit_length() - 1


def _below(value: object, modulus: int) -> int:
    """What a stride adds below a power of two; the modulus itself where that is not known."""
    if isinstance(value, int):
        return value % modulus
    return modulus if Expr.of(value).divisor() % modulus else 0  # type: ignore[arg-type]
