"""Triton's encodings of tiles in shared memory, as the linear layouts that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from ptxgen.layouts.axes import AxisTerm, m
from ptxgen.layouts.dims import Dim, Dims
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.interchange.encodings import Encoding, checked_cga, checked_order, checked_power, checked_shape, fields_text
from ptxgen.layouts.interchange.linear import Basis, LinearLayout, merged
from ptxgen.layouts.interchange.widths import log2
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Replica, Shard

_TMA_EXTENT = 256  # most elements of a tensor map's box along one dimension
_TMA_ROWS = 8  # rows over which the swizzles of tensor maps run
_SWIZZLE_VECTOR_BITS = 128


class _Offsets:
    """Bases of offsets that grow from the inside out."""

    def __init__(self, rank: int) -> None:
        self.size = [1] * rank
        self.bases: list[Basis] = []

    def grow(self, place: int, extent: int) -> None:
        """Further offsets until a dimension has this extent."""
        while self.size[place] < extent:
            self.bases.append(tuple(self.size[place] if own == place else 0 for own in range(len(self.size))))
            self.size[place] *= 2

    def phases(self, minor: int, vec: int, per_phase: int, max_phase: int, rows: int, columns: int) -> None:
        """XOR into the bases of rows what the phase of each moves along the minor dimension."""
        for bit, basis in enumerate(self.bases):
            row = basis[rows]
            moved = vec * (row // per_phase % max_phase) % columns
            self.bases[bit] = tuple(value ^ moved if own == minor else value for own, value in enumerate(basis))


class SwizzledShared(Encoding):
    """`#ttg.swizzled_shared`: groups of `vec` elements along the minor dimension, XORed with the phase of their row.

    The phase of row r is `r // per_phase % max_phase`; rows count along the second dimension of `order`.
    """

    __slots__ = ("max_phase", "order", "per_phase", "vec")

    kind = "swizzled_shared"
    shared = True

    def __init__(self, *, vec: int, per_phase: int, max_phase: int, order: Sequence[int], cga_layout: Sequence[Sequence[int]] = ()) -> None:
        self.vec, self.per_phase = checked_power(vec, "vec"), checked_power(per_phase, "perPhase")
        self.max_phase = checked_power(max_phase, "maxPhase")
        self.order = checked_order(order, len(order))
        self.cga_layout = checked_cga(cga_layout, len(self.order))

    @property
    def rank(self) -> int:
        return len(self.order)

    def block_bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        offsets = _Offsets(self.rank)
        for place in self.order:
            offsets.grow(place, shape[place])
        if self.rank > 1:
            minor, rows = self.order[:2]
            offsets.phases(minor, self.vec, self.per_phase, self.max_phase, rows, shape[minor])
        return {"offset": offsets.bases}

    def parameters(self) -> dict[str, Any]:
        return {"vec": self.vec, "perPhase": self.per_phase, "maxPhase": self.max_phase, "order": self.order}


class NvmmaShared(Encoding):
    """`#ttg.nvmma_shared`: what a copy by tensor map with this swizzle leaves in shared memory, one box behind the other.

    A box is as wide as the swizzle along the minor dimension (the last one, or the first of two if `transposed`), and at most 256 elements
    along every dimension. Rows of a box are the other dimensions together.
    """

    __slots__ = ("element_bit_width", "ndim", "swizzling_byte_width", "transposed")

    kind = "nvmma_shared"
    shared = True

    def __init__(
        self,
        *,
        swizzling_byte_width: int,
        transposed: bool = False,
        element_bit_width: int,
        rank: int | None = None,
        cga_layout: Sequence[Sequence[int]] = (),
    ) -> None:
        if swizzling_byte_width not in (0, 32, 64, 128):
            raise LayoutError(f"swizzlingByteWidth = {swizzling_byte_width}: tensor maps swizzle 0, 32, 64 or 128 bytes")
        if element_bit_width not in (8, 16, 32, 64):
            raise LayoutError(f"elementBitWidth = {element_bit_width}: elements have 8, 16, 32 or 64 bits")
        self.swizzling_byte_width, self.transposed, self.element_bit_width = swizzling_byte_width, bool(transposed), element_bit_width
        self.cga_layout = checked_cga(cga_layout, rank)
        self.ndim = rank

    @property
    def rank(self) -> int | None:
        return self.ndim

    def layout(self, shape: Sequence[int], bits: int | None = None) -> Layout:
        if bits is not None and bits != self.element_bit_width:
            raise LayoutError(f"elementBitWidth = {self.element_bit_width} is not {bits}, the bits given")
        return self.linear(shape).layout(self.element_bit_width)

    def block_bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        rank = len(shape)
        if rank < 2:
            raise LayoutError(f"nvmma_shared has 2 dimensions or more, not {rank}")
        if self.transposed and rank > 2:
            raise LayoutError(f"transposed = true with {rank} dimensions: only tiles of 2 have one meaning")
        minor, *outer = range(rank) if self.transposed else range(rank)[::-1]
        width = 8 * self.swizzling_byte_width // self.element_bit_width
        columns = min(width or _TMA_EXTENT, shape[minor], _TMA_EXTENT)
        offsets = _Offsets(rank)
        offsets.grow(minor, columns)
        if width:
            self._check_box(shape, minor, width)
        for place in outer:
            offsets.grow(place, min(shape[place], _TMA_EXTENT))
        if width:
            self._swizzle(offsets, minor, columns)
        for place in range(rank) if width else range(rank)[::-1]:  # further boxes
            offsets.grow(place, shape[place])
        return {"offset": offsets.bases}

    def _check_box(self, shape: tuple[int, ...], minor: int, width: int) -> None:
        rows = 1
        for place, extent in enumerate(shape):
            rows *= 1 if place == minor else extent
        if shape[minor] < width or rows < _TMA_ROWS:
            raise LayoutError(
                f"the tile {shape} is smaller than the swizzle of {self.swizzling_byte_width} bytes, which needs {_TMA_ROWS} rows of "
                f"{width} elements"
            )

    def _swizzle(self, offsets: _Offsets, minor: int, columns: int) -> None:
        """XOR the three bits of the row in 8, less those that share a row of 128 bytes, into the place of a group of 16 bytes."""
        vec = _SWIZZLE_VECTOR_BITS // self.element_bit_width
        per_phase, max_phase = 128 // self.swizzling_byte_width, self.swizzling_byte_width // 16
        first = columns.bit_length() - 1
        for row in (1, 2, 4):
            basis = offsets.bases[first]
            moved = vec * (row // per_phase % max_phase)
            offsets.bases[first] = tuple(value ^ moved if own == minor else value for own, value in enumerate(basis))
            first += 1

    def parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = {"swizzlingByteWidth": self.swizzling_byte_width, "transposed": self.transposed}
        given["elementBitWidth"] = self.element_bit_width
        if self.ndim not in (None, 2) and not self.cga_layout:  # those say how many dimensions there are
            given["rank"] = self.ndim
        return given


class SharedLinear(Encoding):
    """`#ttg.shared_linear`: the bases themselves, aligned to so many bytes. They are for one shape."""

    __slots__ = ("_linear", "alignment")

    kind = "shared_linear"
    shared = True

    def __init__(self, *, offset: Sequence[Sequence[int]], block: Sequence[Sequence[int]] = (), alignment: int = 16) -> None:
        self._linear = LinearLayout({"offset": offset, "block": block})
        self.alignment = checked_power(alignment, "alignment")
        self.cga_layout = ()

    @property
    def rank(self) -> int:
        return len(self._linear.shape)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        return _of_shape(self._linear, shape)

    def parameters(self) -> dict[str, Any]:
        return {name: part for name, part in self._linear.bases.items() if part or name == "offset"}

    def __str__(self) -> str:
        return f"#ttg.{self.kind}<{{{fields_text(self.parameters())}}}, alignment = {self.alignment}>"


def _of_shape(linear: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    extents = checked_shape(shape, len(linear.shape))
    if extents != linear.shape:
        raise LayoutError(f"the bases reach {linear.shape}, the tile is {extents}")
    return linear


class PaddedShared(Encoding):
    """`#ttg.padded_shared`: a linear layout, with `padding` elements left out behind every `interval` elements of each pair.

    Give the linear part as `order` (with the tile's shape), minor dimension first, or as the bases `offset` and `block`.
    """

    __slots__ = ("_linear", "_order", "padding")

    kind = "padded_shared"
    shared = True

    def __init__(
        self,
        *,
        padding: Sequence[tuple[int, int]],
        order: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        offset: Sequence[Sequence[int]] | None = None,
        block: Sequence[Sequence[int]] = (),
    ) -> None:
        self.padding = tuple((checked_power(every, "interval"), checked_power(left, "padding")) for every, left in padding)
        if not self.padding or len({every for every, _ in self.padding}) < len(self.padding):
            raise LayoutError("padded_shared has pairs of an interval and a padding, each interval once")
        self.cga_layout = ()
        self._order: tuple[int, ...] | None = None
        if offset is not None and order is None and shape is None:
            self._linear = LinearLayout({"offset": offset, "block": block})
            return
        if order is None or shape is None or offset is not None or block:
            raise LayoutError("padded_shared has either order and shape, or the bases offset and block")
        self._order = checked_order(order, len(shape))
        offsets = _Offsets(len(shape))
        for place in self._order:
            offsets.grow(place, checked_shape(shape, None)[place])
        self._linear = LinearLayout({"offset": offsets.bases}, shape)

    @property
    def rank(self) -> int:
        return len(self._linear.shape)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        raise LayoutError(f"{self} is no linear layout: padding leaves holes between offsets", f"from_triton('{self}', {tuple(shape)})")

    def layout(self, shape: Sequence[int], bits: int | None = None) -> Layout:
        """See `Encoding.layout`: every bit of the offset moves by itself and by the padding that it passes."""
        plain = _of_shape(self._linear, shape).layout(bits)
        if plain.swizzle is not None:
            raise LayoutError(f"{self} XORs offsets and then pads them; a swizzle of ptxgen comes last")
        dims = tuple(self._padded(part) for part in plain.dims)
        replicas = self._padded(plain.replica_dims)
        return Layout(Shard(dims), Replica(replicas) if replicas else None)

    def _padded(self, dims: Dims) -> Dims:
        found: list[Dim] = []
        for extent, stride in dims:
            assert isinstance(extent, int)
            steps = [stride * (extent >> bit) for bit in range(1, extent.bit_length())]
            found += [(2, self._passed(step)) for step in steps]
        return merged(found)

    def _passed(self, step: AxisTerm) -> AxisTerm:
        elements = step[m]
        assert isinstance(elements, int)
        return step + sum(elements // every * left for every, left in self.padding)

    def parameters(self) -> dict[str, Any]:
        if self._order is not None:
            return {"order": self._order, "shape": self._linear.shape}
        return dict(self._linear.bases)

    def __str__(self) -> str:
        pairs = ", ".join(f"{every}:+{left}" for every, left in self.padding)
        return f"#ttg.{self.kind}<[{pairs}] {{{fields_text(self.parameters())}}}>"


def padded_of(layout: Layout) -> PaddedShared:
    """The padded encoding of a layout of memory in elements: offsets by size, and the padding between them.

    Raises
    ------
    LayoutError
        When some step is no offset with padding before it.
    """
    steps: list[tuple[int, Basis]] = []
    for place, part in enumerate(layout.dims):
        low = 1
        for extent, stride in reversed(part):
            step = stride[m]
            if not isinstance(extent, int) or log2(extent) is None or not isinstance(step, int) or step <= 0 or len(stride.parts) > 1:
                raise LayoutError(f"the dimension {extent} : {stride} of {layout!r}: padded_shared has extents of 2, 4, ..., steps above 0")
            for bit in range(extent.bit_length() - 1):
                steps.append((step << bit, tuple(low << bit if own == place else 0 for own in range(layout.ndim))))
            low *= extent
    if layout.replica_dims or layout.offset.parts or layout.swizzle is not None:
        raise LayoutError(f"{layout!r} has replicas, an offset or a swizzle; padded_shared has none")
    steps.sort()
    offset = [basis for _, basis in steps]
    padding = _padding([step for step, _ in steps], layout)
    for order in permutations(range(layout.ndim)[::-1]):
        by_order = PaddedShared(padding=padding, order=order, shape=layout.shape)
        if list(by_order._linear.bases["offset"]) == offset:
            return by_order
    return PaddedShared(padding=padding, offset=offset)


def _padding(steps: Sequence[int], layout: Layout) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for bit, step in enumerate(steps):
        usual = 1 if bit == 0 else 2 * steps[bit - 1]
        if step == usual:
            continue
        left = step - usual
        if bit == 0 or left < 0 or log2(left) is None:
            raise LayoutError(
                f"a step of {step} elements in {layout!r} where {usual} would follow: padded_shared leaves out a power of two elements "
                "behind every 2, 4, 8, ..."
            )
        found.append((1 << bit, left))
    if not found:
        raise LayoutError(f"{layout!r} has no padding", "to_triton(layout, 'shared_linear')")
    return found
