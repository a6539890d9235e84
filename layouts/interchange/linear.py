"""Triton's linear layouts: from the bits of register, lane, warp, block or memory offset to coordinates, by XOR of bases.

A layout of ptxgen goes the other way, from coordinates to positions, and adds strides. The two meet where every bit of a coordinate
belongs to one bit of the position (any order, any axes), and where what is XORed on top is a swizzle of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ptxgen.layouts.arguments import BUILT, takes
from ptxgen.layouts.axes import Axis, AxisTerm, cbx, laneid, m, tx, warpid
from ptxgen.layouts.dims import Dim, Dims
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.interchange.widths import byte_swizzle, check_bits, element_swizzle, in_elements, log2
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Replica, Shard
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.units import check_granule

Basis = tuple[int, ...]
Bases = Mapping[str, Sequence[Sequence[int]]]

DISTRIBUTED = ("register", "lane", "warp", "block")
SHARED = ("offset", "block")
_AXES: Mapping[str, Axis] = {"register": m, "lane": laneid, "warp": warpid, "block": cbx, "offset": m}
_LANES = 5  # bits of a lane's number


class LinearLayout:
    """A linear layout: `layout(register=3, lane=5)` is the XOR of the bases of the bits that are set. Immutable.

    Parameters
    ----------
    bases
        For "register", "lane", "warp" and "block" (a tile in registers), or "offset" and "block" (a tile in shared memory, in elements):
        the coordinates of each bit, lowest first. What is not named has no bits.
    shape
        Extents of the tile, powers of two; by default the least that the bases fit into.

    Raises
    ------
    LayoutError
        For other inputs, coordinates outside the shape, bases of different rank.

    Notes
    -----
    Source: "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2" and Triton's LinearLayout.
    """

    __slots__ = ("bases", "shape")

    bases: dict[str, tuple[Basis, ...]]  #: of every input of its kind, empty where there are no bits
    shape: tuple[int, ...]

    def __init__(self, bases: Bases, shape: Sequence[int] | None = None) -> None:
        names = SHARED if "offset" in bases else DISTRIBUTED
        strange = next((name for name in bases if name not in names), None)
        if strange is not None:
            raise LayoutError(f"a linear layout maps from {', '.join(DISTRIBUTED)}, or from {' and '.join(SHARED)}, not from {strange!r}")
        self.bases = {name: tuple(_vector(basis) for basis in bases.get(name, ())) for name in names}
        given = [basis for part in self.bases.values() for basis in part]
        if shape is None and not given:
            raise LayoutError("a linear layout without bases needs a shape")
        reach = [1 << max(column).bit_length() for column in zip(*given)]
        self.shape = tuple(reach if shape is None else shape)
        for place, extent in enumerate(self.shape):
            if not isinstance(extent, int) or log2(extent) is None:
                raise LayoutError(f"extent {extent} of dimension {place} is no power of two; linear layouts have no other extents")
        for name, bit, basis in self:
            if len(basis) != len(self.shape):
                raise LayoutError(f"{name}[{bit}] = {list(basis)} has {len(basis)} coordinates, the shape is {self.shape}")
            if any(not 0 <= value < extent for value, extent in zip(basis, self.shape)):
                raise LayoutError(f"{name}[{bit}] = {list(basis)} lies outside the shape {self.shape}")

    def __iter__(self) -> Iterator[tuple[str, int, Basis]]:
        """Every basis as (input, bit, coordinates)."""
        for name, part in self.bases.items():
            for bit, basis in enumerate(part):
                yield name, bit, basis

    @property
    def is_shared(self) -> bool:
        """Whether it maps from offsets in memory."""
        return "offset" in self.bases

    def __call__(self, **inputs: int) -> tuple[int, ...]:
        """The coordinates of an element; inputs that are not given are 0.

        Raises
        ------
        LayoutError
            For an input that the layout does not have, or out of its range.
        """
        total = [0] * len(self.shape)
        for name, value in inputs.items():
            bases = self.bases.get(name)
            if bases is None or not 0 <= value < 1 << len(bases):
                sizes = ", ".join(f"{own} < {1 << len(part)}" for own, part in self.bases.items())
                raise LayoutError(f"{name}={value} is no input of this linear layout: {sizes}")
            for bit, basis in enumerate(bases):
                if value >> bit & 1:
                    total = [own ^ part for own, part in zip(total, basis)]
        return tuple(total)

    def __eq__(self, other: object) -> bool:
        return (self.bases, self.shape) == (other.bases, other.shape) if isinstance(other, LinearLayout) else NotImplemented

    def __hash__(self) -> int:
        return hash((tuple(self.bases.items()), self.shape))

    def __repr__(self) -> str:
        return f"LinearLayout({{{', '.join(f'{name!r}: {bases_text(part)}' for name, part in self.bases.items())}}}, {self.shape})"

    def layout(self, bits: int | None = None) -> Layout:
        """The layout of ptxgen that says where this puts each element: the inverse function.

        Registers and offsets count on `m` in elements, lanes on `laneid`, warps on `warpid`, blocks on `cbx`. A zero basis makes replicas.

        Parameters
        ----------
        bits
            Bits of an element; needed where offsets are XORed, which becomes a swizzle of bytes.

        Raises
        ------
        LayoutError
            Naming the basis that no sum of strides and no swizzle says, or coordinates that no basis reaches.
        """
        plain, swizzle = self._unswizzled(bits)
        owners: dict[tuple[int, int], tuple[str, AxisTerm]] = {}
        replicas: list[Dim] = []
        for name, bit, basis in plain:
            step = (1 << bit) @ _AXES[name]
            held = _bits_of(basis)
            if not held:
                replicas.append((2, step))
                continue
            if len(held) > 1:
                raise _xored(f"{name}[{bit}]", basis)
            if held[0] in owners:
                raise LayoutError(
                    f"{name}[{bit}] and {owners[held[0]][0]} are both {list(basis)}: who holds an element is an XOR of the two, "
                    "which no strides of ptxgen say"
                )
            owners[held[0]] = f"{name}[{bit}]", step
        dims = tuple(self._dimension(place, owners) for place in range(len(self.shape)))
        layout = Layout(Shard(dims), Replica(merged(replicas[::-1])) if replicas else None, swizzle=swizzle)
        if bits is not None:
            check_granule(swizzle, bits)
        return layout

    def _dimension(self, place: int, owners: Mapping[tuple[int, int], tuple[str, AxisTerm]]) -> Dims:
        found: list[Dim] = []
        for bit in reversed(range(self.shape[place].bit_length() - 1)):
            if (place, bit) not in owners:
                element = tuple(1 << bit if own == place else 0 for own in range(len(self.shape)))
                raise LayoutError(f"no basis alone reaches bit {bit} of dimension {place}: element {element} has no place")
            found.append((2, owners[place, bit][1]))
        return merged(found)

    def _unswizzled(self, bits: int | None) -> tuple[LinearLayout, Swizzle | None]:
        """The same without XORs of offsets, and the swizzle that says them."""
        offsets = self.bases.get("offset", ())
        mixed = [bit for bit, basis in enumerate(offsets) if len(_bits_of(basis)) > 1]
        if not mixed:
            return self, None
        low = [_partner(offsets, bit) for bit in mixed]
        first, shift = low[0], mixed[0] - low[0]
        for place, (bit, partner) in enumerate(zip(mixed, low)):
            if bit != mixed[0] + place or bit - partner != shift:
                raise LayoutError(
                    f"offset[{bit}] = {list(offsets[bit])} is XORed with offset[{partner}] = {list(offsets[partner])}, "
                    f"offset[{mixed[0]}] with offset[{first}]: no swizzle does both, which XORs neighbouring bits over one distance"
                )
        name = f"the XOR of offset[{mixed[0]}] = {list(offsets[mixed[0]])} with offset[{first}]"
        swizzle = byte_swizzle(len(mixed), first, shift, check_bits(bits, f"{name} is a swizzle, which permutes bytes"), name)
        plain = list(offsets)
        for bit, partner in zip(mixed, low):
            plain[bit] = tuple(own ^ part for own, part in zip(offsets[bit], offsets[partner]))
        return LinearLayout({**self.bases, "offset": plain}, self.shape), swizzle

    @classmethod
    @takes(layout=BUILT)
    def of(cls, layout: Layout, *, shared: bool = False, bits: int | None = None) -> LinearLayout:
        """The linear layout whose inverse a layout of ptxgen is; `LinearLayout.of(x).layout() == x`.

        Parameters
        ----------
        layout
            A tile in registers (on `m`, thread axes and `cbx`), or in memory (on `m` and `cbx`).
        shared
            Whether `m` counts offsets in memory instead of registers.
        bits
            Bits of an element; needed with a swizzle and for layouts that count bits.

        Raises
        ------
        LayoutError
            For extents and steps that are no powers of two, offsets, bits of the position that nothing or two things set: with the
            coordinates' dimension.
        """
        return cls(*_bases_of(layout, shared, bits))


def bases_text(bases: Sequence[Basis]) -> str:
    """Bases as Triton prints them."""
    return str([list(basis) for basis in bases])


def _vector(basis: Sequence[int] | int) -> Basis:
    vector = (basis,) if isinstance(basis, int) else tuple(basis)
    strange = next((value for value in vector if not isinstance(value, int) or isinstance(value, bool)), None)
    if strange is not None:
        raise LayoutError(f"a basis is a list of integers, not of {strange!r}")
    return vector


def _bits_of(basis: Basis) -> list[tuple[int, int]]:
    """The bits that are set, as (dimension, bit)."""
    return [(place, bit) for place, value in enumerate(basis) for bit in range(value.bit_length()) if value >> bit & 1]


def _xored(name: str, basis: Basis) -> LayoutError:
    return LayoutError(
        f"{name} = {list(basis)} changes several bits of the coordinates: who holds an element is an XOR of them, which no strides of "
        "ptxgen say (a swizzle XORs positions in memory)"
    )


def _partner(offsets: Sequence[Basis], bit: int) -> int:
    """The bit of the offset with which a basis of several bits is XORed: a basis alone that is part of it."""
    held = set(_bits_of(offsets[bit]))
    others = [place for place, basis in enumerate(offsets) if place != bit and len(own := _bits_of(basis)) == 1 and own[0] in held]
    if len(held) != 2 or len(others) != 1:
        raise _xored(f"offset[{bit}]", offsets[bit])
    return others[0]


def merged(dims: Sequence[Dim]) -> Dims:
    """Dimensions, outermost first, merged where one goes on where the next ends; axes stay as they are."""
    merged: list[Dim] = []
    for extent, stride in reversed(dims):
        if merged and stride == merged[-1][1] * merged[-1][0]:
            inner, step = merged[-1]
            merged[-1] = (extent * inner, step)
        else:
            merged.append((extent, stride))
    return tuple(reversed(merged))


# --- from layouts ---------------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """One bit of the coordinates (a zero basis for replicas), and the power of two that it adds on an axis."""

    basis: Basis
    what: str
    axis: Axis
    bit: int


def _bases_of(layout: Layout, shared: bool, bits: int | None) -> tuple[dict[str, list[Basis]], tuple[int, ...]]:
    parts = in_elements(layout, bits)
    if parts.offset.parts:
        raise LayoutError(f"{layout!r} has the offset {parts.offset}; a linear layout maps 0 to 0")
    found: dict[str, dict[int, _Step]] = {name: {} for name in (SHARED if shared else DISTRIBUTED)}
    for step in _steps(parts):
        name, bit = _input_of(step, shared, layout)
        known = found[name].get(bit)
        if known is not None:
            raise LayoutError(f"{known.what} and {step.what} of {layout!r} both move {name}s by {1 << bit}; their sum is no XOR")
        found[name][bit] = step
    bases = {name: _filled(name, steps, layout) for name, steps in found.items()}
    if layout.swizzle is not None:
        _swizzle_bases(bases, layout.swizzle, check_bits(bits, f"{layout.swizzle} permutes bytes"))
    return bases, layout.shape


def _swizzle_bases(bases: dict[str, list[Basis]], swizzle: Swizzle, bits: int) -> None:
    """XOR the bases as the swizzle XORs offsets."""
    if "offset" not in bases:
        raise LayoutError(f"{swizzle} permutes memory; registers are no memory", "to_triton(layout, 'shared_linear')")
    count, base, shift = element_swizzle(swizzle, bits)
    offsets = bases["offset"]
    for bit in range(base + shift, min(base + shift + count, len(offsets))):
        offsets[bit] = tuple(own ^ part for own, part in zip(offsets[bit], offsets[bit - shift]))


def _steps(layout: Layout) -> Iterator[_Step]:
    rank = layout.ndim
    for place, part in enumerate(layout.dims):
        low = 0
        for extent, stride in reversed(part):
            count = _exponent(extent, f"extent {extent} of dimension {place}", layout)
            for bit in range(count):
                basis = tuple(1 << low + bit if own == place else 0 for own in range(rank))
                yield _step(basis, f"bit {low + bit} of dimension {place}", stride * (1 << bit), layout)
            low += count
    for extent, stride in layout.replica_dims:
        for bit in range(_exponent(extent, f"{extent} replicas", layout)):
            yield _step((0,) * rank, f"bit {bit} of the replicas {stride} apart", stride * (1 << bit), layout)


def _exponent(value: object, what: str, layout: Layout) -> int:
    found = log2(value) if isinstance(value, int) else None
    if found is None:
        raise LayoutError(f"{what} of {layout!r}: no power of two; a linear layout is made of bits")
    return found


def _step(basis: Basis, what: str, stride: AxisTerm, layout: Layout) -> _Step:
    stride = stride.reduced()
    if len(stride.parts) != 1:
        how = "moves along several axes" if stride.parts else "changes nothing, so elements share a place"
        raise LayoutError(f"{what} of {layout!r} {how}; each bit of a linear layout is one bit of one place")
    ((axis, value),) = stride.parts
    return _Step(basis, what, axis, _exponent(value, f"{what} adds {stride}", layout))


def _input_of(step: _Step, shared: bool, layout: Layout) -> tuple[str, int]:
    """The input of the linear layout on which a step counts."""
    if step.axis is m:
        return ("offset" if shared else "register"), step.bit
    if step.axis is cbx:
        return "block", step.bit
    if step.axis is not tx:
        raise LayoutError(f"{layout!r} is on {step.axis}; a linear layout has registers, lanes, warps, blocks and offsets")
    if shared:
        raise LayoutError(f"{layout!r} is on threads; a tile in shared memory belongs to all of them")
    return ("lane", step.bit) if step.bit < _LANES else ("warp", step.bit - _LANES)


def _filled(name: str, steps: Mapping[int, _Step], layout: Layout) -> list[Basis]:
    """The bases of an input in order of their bits, none of which may be missing."""
    count = _LANES if name == "lane" else max(steps, default=-1) + 1
    for bit in range(count):
        if bit not in steps:
            legal = "to_triton(layout, 'padded_shared'), if what is left out is padding"
            if name != "offset":
                legal = f"replicas, R[(2,) : ({(1 << bit) @ _AXES[name]},)], where it holds what {name} 0 holds"
            raise LayoutError(f"nothing in {layout!r} moves {name}s by {1 << bit}: {name} {1 << bit} holds no element", legal)
    return [steps[bit].basis for bit in range(count)]
