"""The layout: a function from logical coordinates to positions on named axes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ptxgen.layouts import compare, positions, shaping, slicing, units
from ptxgen.layouts.axes import ZERO, Axis, AxisTerm, m, tx
from ptxgen.layouts.dims import Dim, Dims, extent_of, index, shape_text
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, Symbol, as_scalar, exact_int, is_number, product
from ptxgen.layouts.spec import Replica, Shard, as_extent
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.table import Table, unbound_swizzle
from ptxgen.layouts.threads import check_thread_ranges

if TYPE_CHECKING:
    from ptxgen.layouts.algebra.complements import Box
    from ptxgen.layouts.algebra.composition import Inner
    from ptxgen.layouts.algebra.digits import Axes

_REMEMBERED = 16  # layouts that each layout keeps of those that were made of it


class Layout:
    """Where each element of a tile lives: its position on memory (`m`), its thread, and other named axes.

    `layout(i, j, ...)` is the swizzle of (offset + the sum of coordinate x stride); with replicas the element also lives
    at each replica's displacement. Immutable; equal as functions over the same shape. Built in elements of an as yet
    unknown type: `bind(bits)` turns `m` into bits, in which everything about memory and registers is then said.

    Parameters
    ----------
    shard
        `S[extents : strides]`.
    replicas
        `R[extents : strides]`.
    offset
        Added to every position, before the swizzle: `5 @ warpid + 16`, or an Expr.
    swizzle
        XOR swizzle of byte positions; needs `bind` before positions can be asked for.
    unit
        "element", or what strides on `m` count already: "bit", "byte", "word" (32 bits), "b16" ... (see `in_units`).

    Raises
    ------
    LayoutError
        When a thread axis leaves its range (lane 32 of a warp), with the coordinate that gets there.
    """

    __slots__ = ("_canonical", "_derived", "_dims", "_hash", "_offset", "_replicas", "_swizzle", "_table", "_unit", "shape")

    shape: tuple[int, ...]  #: logical extents (an Expr stands for an extent known only at run time)

    def __init__(
        self,
        shard: Shard,
        replicas: Replica | None = None,
        *,
        offset: int | Expr | Symbol | AxisTerm = 0,
        swizzle: Swizzle | None = None,
        unit: str = units.ELEMENT,
    ) -> None:
        if not isinstance(shard, Shard):
            read = "parse(text); from_cute and from_triton of ptxgen.layouts.interchange read those of others"
            legal = read if isinstance(shard, str) else ""
            raise LayoutError(f"a layout is built from S[extents : strides], not from {shard!r}", legal=legal)
        if replicas is not None and not isinstance(replicas, Replica):
            raise LayoutError(f"replicas are written R[extents : strides], not {replicas!r}")
        if swizzle is not None and not isinstance(swizzle, Swizzle):
            raise LayoutError(f"a swizzle is a Swizzle(bits, base, shift), not {swizzle!r}")
        unit = units.unit_of(unit)
        if swizzle is not None and unit != units.ELEMENT:
            units.check_granule(swizzle, units.bits_of(unit) or 1, "a unit")
        moved = AxisTerm.of(offset, "an offset")
        self._set(shard.dims, replicas.dims if replicas else (), moved, swizzle, unit)
        check_thread_ranges(self)

    def _set(self, dims: tuple[Dims, ...], replicas: tuple[Dim, ...], offset: AxisTerm, swizzle: Swizzle | None, unit: str) -> None:
        self._dims = dims
        self._replicas = replicas
        self._offset = offset
        self._swizzle = swizzle
        self._unit = unit
        self.shape = tuple(extent_of(part) for part in dims)  # type: ignore[misc]
        self._table: Table | None = None
        self._derived: dict[Hashable, Layout] = {}
        self._canonical: Layout | None = None
        self._hash: int | None = None

    def _with(
        self,
        dims: tuple[Dims, ...] | None = None,
        offset: AxisTerm | None = None,
        replicas: tuple[Dim, ...] | None = None,
        unit: str | None = None,
    ) -> Layout:
        """A layout that differs in some parts and whose positions were all positions of this one."""
        return Layout._of(
            self._dims if dims is None else dims,
            self._replicas if replicas is None else replicas,
            self._offset if offset is None else offset,
            self._swizzle,
            unit or self._unit,
        )

    @staticmethod
    def _of(
        dims: tuple[Dims, ...],
        replicas: tuple[Dim, ...] = (),
        offset: AxisTerm = ZERO,
        swizzle: Swizzle | None = None,
        unit: str = units.ELEMENT,
    ) -> Layout:
        """A layout of parts that come from layouts, and so need no checks but those of the swizzle, which the caller makes."""
        new = object.__new__(Layout)
        new._set(dims, replicas, offset, swizzle, unit)
        return new

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of logical dimensions."""
        return len(self._dims)

    @property
    def size(self) -> int:
        """Number of elements."""
        return product(self._static_shape("count elements"))  # type: ignore[return-value]

    @property
    def unit(self) -> str:
        """What positions on `m` count: "element", "bit", "byte", "word" (32 bits), or a number of bits such as "b16"."""
        return self._unit

    @property
    def offset(self) -> AxisTerm:
        """The displacement of every element, before the swizzle."""
        return self._offset

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle of byte positions on `m`."""
        return self._swizzle

    @property
    def dims(self) -> tuple[Dims, ...]:
        """For each logical dimension its physical ones as (extent, stride), outermost first."""
        return self._dims

    @property
    def spelling(self) -> tuple[Any, ...]:
        """All that it is, to be compared and hashed as it is spelled: where spellings are equal, so are the layouts and their tables."""
        return self._dims, self._replicas, self._offset, self._swizzle, self._unit

    @property
    def replicas(self) -> Layout:
        """The replicas alone: a layout over the replica extents whose positions are the displacements."""
        return Layout._of(tuple((dim,) for dim in self._replicas), unit=self._unit)

    @property
    def replica_dims(self) -> tuple[Dim, ...]:
        """The replicas' physical dimensions as (extent, stride)."""
        return self._replicas

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes on which positions differ from zero, as the layout spells them."""
        strides = [stride for part in (*self._dims, self._replicas) for _, stride in part]
        used = {axis for term in (*strides, self._offset) for axis, _ in term.parts}
        return tuple(sorted(used, key=lambda axis: axis.order))

    @property
    def is_static(self) -> bool:
        """Whether every extent is known now."""
        return all(isinstance(extent, int) for extent in self.shape)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols in extents, strides and offset."""
        terms = [stride for part in (*self._dims, self._replicas) for _, stride in part] + [self._offset]
        values = [value for term in terms for _, value in term.parts] + list(self.shape)
        found = {symbol for value in values if isinstance(value, Expr) for symbol in value.symbols}
        return tuple(sorted(found, key=lambda symbol: symbol.order))

    def __repr__(self) -> str:
        parts = [repr(Shard(self._dims))]
        if self._replicas:
            parts.append(repr(Replica(self._replicas)))
        if self._offset.parts:
            parts.append(f"offset={self._offset}")
        if self._swizzle is not None:
            parts.append(f"swizzle={self._swizzle}")
        if self._unit != units.ELEMENT:
            parts.append(f'unit="{self._unit}"')
        return f"Layout({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return compare.equal(self, other) if isinstance(other, Layout) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = compare.hash_of(self)
        return self._hash

    def canonical(self) -> Layout:
        """The same function spelled in one way: threads on `tx`, dimensions of each axis merged, replicas sorted.

        Layouts that are equal and have the same swizzle and no replicas have the same canonical spelling.
        """
        return compare.canonical(self)

    def is_injective(self) -> bool:
        """Whether no position holds two elements (replicas of one element may coincide). Exact.

        Raises
        ------
        LayoutError
            When symbolic strides leave it open.
        """
        return compare.is_injective(self)

    # --- units --------------------------------------------------------------------------------------------------------

    def bind(self, bits_per_element: int) -> Layout:
        """The same layout of elements of a known size: positions on `m` count bits from here on.

        Raises
        ------
        LayoutError
            For a layout that counts bits already, or elements wider than the swizzle's granule.
        """
        known = self._derived.get(bits_per_element) if type(bits_per_element) is int else None
        return known or self._remember(bits_per_element, units.bind(self, bits_per_element))

    def in_units(self, unit: str | int) -> Layout:
        """The same positions counted in "bit", "byte", "word" (32 bits), or another number of bits; see `units.in_units`."""
        return units.in_units(self, unit)

    def _remember(self, how: Hashable, derived: Layout) -> Layout:
        """Keep a bound, reshaped or rearranged layout: each kernel asks for the same few again, and their tables come with them."""
        if len(self._derived) < _REMEMBERED:
            self._derived[how] = derived
        return derived

    def retype(self, old_bits: int, new_bits: int) -> Layout:
        """The same memory as elements of another size: the last dimension grows or shrinks, as `ndarray.view` does.

        Parameters
        ----------
        old_bits, new_bits
            Bits of an element now and then; one divides the other. The layout counts bits (see `bind`).

        Raises
        ------
        LayoutError
            When elements are to be wider and the last dimension is not contiguous or does not divide, or they would be
            misaligned or cut by the swizzle.
        """
        return units.retype(self, old_bits, new_bits)

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def _static_shape(self, purpose: str) -> tuple[int, ...]:
        for place, extent in enumerate(self.shape):
            if not isinstance(extent, int):
                raise LayoutError(
                    f"can't {purpose}: dimension {place} of shape {shape_text(self.shape)} has the extent {extent}, "
                    "which is known only at run time"
                )
        return self.shape

    def __call__(self, *coordinates: int) -> dict[Axis, Scalar]:
        """The position of one element: a value for `m` and each other axis, thread axes reduced to `tx`.

        Raises
        ------
        LayoutError
            For coordinates out of range, or a swizzled layout that still counts elements.
        """
        if len(coordinates) != self.ndim:
            raise LayoutError(f"{len(coordinates)} coordinates for shape {shape_text(self.shape)}")
        total = self._offset
        for place, (dims, value) in enumerate(zip(self._dims, coordinates)):
            coordinate = exact_int(value, f"coordinate {place}")
            slicing.check_coordinate(self.shape, place, coordinate)
            total = total + index(dims, coordinate)
        position: dict[Axis, Scalar] = {m: 0}
        position.update((axis, 0) for axis in (tx if a.is_thread else a for a in self.axes))
        position.update(total.reduced().parts)
        position[m] = self._swizzled(position[m])
        return position

    def _swizzled(self, linear: Scalar) -> Scalar:
        if self._swizzle is None:
            return linear
        bits = units.bits_of(self._unit)
        if bits is None:
            raise LayoutError(unbound_swizzle(self._swizzle))
        whole = Expr.of(linear)
        constant = whole.terms.get((), 0)
        period = self._swizzle.period * 8 // bits
        if (whole - constant).divisor() % period:
            raise LayoutError(
                f"the position {self._swizzle}({whole}) is known only at run time: its symbolic part is no multiple "
                f"of the swizzle's period, {period} {self._unit}s"
            )
        return as_scalar(whole - constant + self._swizzle.apply_units(constant, bits), "a position")

    def table(self) -> Table:
        """The positions of all elements, computed once for each layout; replicas are left out (`expand_replicas`)."""
        if self._table is None:
            shape = self._static_shape("tabulate positions")
            self._table = Table(self._dims, shape, self._offset, self._swizzle, self._unit)
        return self._table

    def coordinates(self, position: int | AxisTerm | Mapping[Axis, int]) -> list[tuple[int, ...]]:
        """The coordinates of all elements that live at a position, replicas included, in row-major order.

        Parameters
        ----------
        position
            `5 @ tx + 3`, a mapping from axes, or a number on `m`; axes not named are at 0.
        """
        return positions.coordinates(self, position)

    def expand_replicas(self) -> Layout:
        """The layout with its replicas as leading dimensions, one for each extent in `R[...]`."""
        if not self._replicas:
            return self
        return self._with((*((dim,) for dim in self._replicas), *self._dims), replicas=())

    def span(self) -> tuple[Scalar, Scalar]:
        """The least and greatest position on `m` (of an element's first unit), replicas included; an Expr if symbolic.

        Runtime extents are taken to be at least 1: an empty layout has no positions.

        Raises
        ------
        LayoutError
            When a symbolic stride's sign is unknown, or a swizzled position is known only at run time.
        """
        return positions.span(self)

    # --- operations ---------------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> Layout:
        """Add an offset, or replicas."""
        if isinstance(other, Replica):
            new = self._with(replicas=self._replicas + other.dims)
        elif isinstance(other, AxisTerm) or is_number(other):
            new = self._with(offset=self._offset + AxisTerm.of(other, "an offset"))
        else:
            return NotImplemented
        check_thread_ranges(new)
        return new

    __radd__ = __add__

    def __sub__(self, other: object) -> Layout:
        """Take an offset away."""
        return self + -AxisTerm.of(other, "an offset") if isinstance(other, AxisTerm) or is_number(other) else NotImplemented

    def reshape(self, *shape: int | tuple[int, ...]) -> Layout:
        """Another shape with the same elements in row-major order: positions are `np.reshape(positions, shape)`.

        Merging dimensions always works (a logical dimension may consist of several strides); splitting needs factors.

        Raises
        ------
        LayoutError
            With the extent that does not split.
        """
        return shaping.reshape(self, *shape)

    def group(self, first: int, stop: int) -> Layout:
        """Merge the logical dimensions `first .. stop - 1` into one: a reshape that never fails."""
        return shaping.group(self, first, stop)

    def ungroup(self, place: int) -> Layout:
        """Replace a logical dimension by its physical ones, the inverse of `group`."""
        return shaping.ungroup(self, place)

    def permute(self, *order: int | Sequence[int]) -> Layout:
        """Dimensions in another order, dimension i being `order[i]` of this layout: positions are `np.transpose(positions, order)`."""
        return shaping.permute(self, *order)

    def rearrange(self, pattern: str, **sizes: int) -> Layout:
        """Split, reorder and merge dimensions by a pattern: `layout.rearrange("(w l) r -> w l r", l=32)`."""
        from ptxgen.layouts.rearrange import rearrange

        return rearrange(self, pattern, sizes)

    def stacked(self, extent: int, distance: int | Expr) -> Layout:
        """`extent` copies of this layout under a new leading dimension, `distance` positions on `m` apart (in this unit)."""
        return self._with((((as_extent(extent), AxisTerm.of(distance)),), *self._dims))

    def sub(self, starts: Sequence[int | Expr | Symbol], shape: Sequence[int], steps: Sequence[int | Expr] | None = None) -> Layout:
        """A box of this layout: positions are those at `starts[d] + i * steps[d]` in each dimension d.

        Parameters
        ----------
        starts
            First coordinate of each dimension. Constant ones are checked here; bounds of an Expr are the caller's proof.
        shape
            Extents of the result.
        steps
            Distance between neighbours in each dimension; 1 by default.

        Raises
        ------
        LayoutError
            When a coordinate lies outside, or when part of a nested dimension is no product of strides.
        """
        return slicing.sub(self, starts, shape, steps)

    def __getitem__(self, key: Any) -> Layout:
        """NumPy's basic indexing: ints (or Exprs) drop a dimension, slices have a positive step; nothing wraps or clips.

        The start of a slice may be an Expr when its stop is start + an integer.
        """
        return slicing.index(self, key)

    # --- pictures -----------------------------------------------------------------------------------------------------

    def svg(
        self,
        by: str | None = None,
        *,
        bits: int | None = None,
        container: int | None = None,
        rows: int | None = None,
        names: Sequence[str] | None = None,
        title: str = "",
        limit: int = 32,
    ) -> str:
        """A picture of the layout as SVG text: a cell for each element, or one for a run of elements that are together.

        Parameters
        ----------
        by
            What cells say and their colours mean: "owner" (thread and register), "bank" (of shared memory, 32 of four bytes) or
            "address" (bytes from the tile's start, elements where `bits` is not known, lane and column in tensor memory). By default the
            owner where the layout has thread axes, else the address.
        bits
            Bits of an element; not to be known for owners and addresses in elements.
        container
            Bits of a register, as in `px.local`: elements of 16 bits in a container of 32 share registers. By default an element each.
        rows
            How many of the leading dimensions run downwards; by default half of them.
        names
            The dimensions' names.
        title
            Stands above the layout.
        limit
            Rows and columns of cells that are drawn at most: of more, the first and the last of each warp, dimension or step.

        Raises
        ------
        LayoutError
            For what has no picture: run-time extents, more than 2^20 elements, owners of memory, addresses of registers, banks or a swizzle
            of elements of unknown width.
        """
        from ptxgen.layouts.pictures import svg

        return svg(self, by, bits=bits, container=container, rows=rows, names=names, title=title, limit=limit)

    def _repr_svg_(self) -> str | None:
        from ptxgen.layouts.pictures import repr_svg

        return repr_svg(self)

    # --- algebra: see `ptxgen.layouts.algebra`, whose functions also make layouts of several ----------------------------

    def compose(self, inner: Inner | Sequence[Inner]) -> Layout:
        """This layout behind `inner`, which numbers its elements row-major; or one `inner` for each dimension. See `algebra.compose`."""
        return algebra().compose(self, inner)

    def complement(self, box: Box = None) -> Layout:
        """The displacements at which copies of this layout fill a box of positions. See `algebra.complement`."""
        return algebra().complement(self, box)

    def inverse(self, axes: Axes = None) -> Layout:
        """From positions, such as `(laneid, m)`, to the row-major numbers of elements; for a bijection. See `algebra.inverse`."""
        return algebra().inverse(self, axes)

    def elements(self, at: Mapping[Axis | str, int] | None = None, **named: int) -> list[tuple[int, ...]]:
        """The coordinates of what is in lane 5 at 3: `layout.elements(laneid=5, m=3)`; other axes are free. See `algebra.elements`."""
        return algebra().elements(self, at, **named)

    def tile(self, *shape: int | None) -> Layout:
        """Tiles of neighbours: shape (rest0, rest1, ..., tile0, tile1, ...). See `algebra.tile`."""
        return algebra().tile(self, *shape)

    def broadcast(self, *shape: int) -> Layout:
        """A larger shape that repeats dimensions of extent 1, as NumPy does. See `algebra.broadcast`."""
        return algebra().broadcast(self, *shape)

    def pack(self, count: int) -> Layout:
        """`count` neighbours in one container: the layout of the containers. See `algebra.pack`."""
        return algebra().pack(self, count)

    def unpack(self, count: int) -> Layout:
        """Each element as `count` parts, the inverse of `pack`. See `algebra.unpack`."""
        return algebra().unpack(self, count)

    def contiguous_run(self, step: int = 1) -> int:
        """How many neighbours always follow one another on `m`, through the swizzle. See `algebra.contiguous_run`."""
        return algebra().contiguous_run(self, step)

    def alignment(self, run: int = 1) -> int:
        """The greatest number that divides all positions on `m` at which runs begin. See `algebra.alignment`."""
        return algebra().alignment(self, run)

    def image_size(self) -> int:
        """The number of different positions, replicas included. See `algebra.image_size`."""
        return algebra().image_size(self)


def algebra() -> ModuleType:
    """The package that computes with layouts, loaded when it is first asked."""
    from ptxgen.layouts import algebra

    return algebra


def as_layout(value: Layout | Shard) -> Layout:
    """The value as a layout; `S[...]` alone is one without replicas and offset."""
    return value if isinstance(value, Layout) else Layout(value)
