"""The layout: a function from logical coordinates to positions on named axes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ptxgen.layouts import compare
from ptxgen.layouts.axes import ZERO, Axis, AxisTerm, m, tx
from ptxgen.layouts.dims import (
    Dim,
    Dims,
    Unsplittable,
    coalesce,
    extent_of,
    index,
    slice_dims,
    split,
)
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, Symbol, as_scalar, exact_int, is_number, product, prove_nonnegative
from ptxgen.layouts.spec import Replica, Shard, as_extent
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.table import Table, unbound_swizzle
from ptxgen.layouts.threads import check_thread_ranges

ELEMENT, BIT = "element", "bit"
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
        "element", or "bit" for strides on `m` that count bits already.

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
        unit: str = ELEMENT,
    ) -> None:
        if not isinstance(shard, Shard):
            raise LayoutError(f"a layout is built from S[extents : strides], not from {shard!r}")
        if replicas is not None and not isinstance(replicas, Replica):
            raise LayoutError(f"replicas are written R[extents : strides], not {replicas!r}")
        if swizzle is not None and not isinstance(swizzle, Swizzle):
            raise LayoutError(f"a swizzle is a Swizzle(bits, base, shift), not {swizzle!r}")
        if unit not in (ELEMENT, BIT):
            raise LayoutError(f'a layout counts "element" or "bit", not {unit!r}')
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
        new = object.__new__(Layout)
        new._set(
            self._dims if dims is None else dims,
            self._replicas if replicas is None else replicas,
            self._offset if offset is None else offset,
            self._swizzle,
            unit or self._unit,
        )
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
        """What positions on `m` count: "element" or "bit"."""
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
        new = object.__new__(Layout)
        new._set(tuple((dim,) for dim in self._replicas), (), ZERO, None, self._unit)
        return new

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
        if self._unit != ELEMENT:
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
        if self._canonical is None:
            replicas, shift = compare.canonical_replicas(self._replicas)
            dims = tuple(coalesce(part) for part in self._dims)
            self._canonical = self._with(dims, self._offset.reduced() + shift, replicas)
            self._canonical._canonical = self._canonical
        return self._canonical

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
        bits = exact_int(bits_per_element, "bits per element")
        known = self._derived.get(bits)
        if known is not None:
            return known
        if self._unit == BIT:
            raise LayoutError(f"{self!r} counts bits already; bind() turns elements into bits once")
        if bits < 1:
            raise LayoutError(f"an element has at least 1 bit, not {bits}")
        self._check_granule(bits)
        dims = tuple(tuple((e, s.scaled(m, bits)) for e, s in part) for part in self._dims)
        replicas = tuple((e, s.scaled(m, bits)) for e, s in self._replicas)
        return self._remember(bits, self._with(dims, self._offset.scaled(m, bits), replicas, BIT))

    def _remember(self, how: Hashable, derived: Layout) -> Layout:
        """Keep a bound, reshaped or rearranged layout: each kernel asks for the same few again, and their tables come with them."""
        if len(self._derived) < _REMEMBERED:
            self._derived[how] = derived
        return derived

    def _check_granule(self, bits: int) -> None:
        if self._swizzle is not None and self._swizzle.granule * 8 % bits:
            raise LayoutError(
                f"{self._swizzle} keeps {self._swizzle.granule} bytes together; an element of {bits} bits would be cut by it"
            )

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
        if self._unit != BIT:
            raise LayoutError("retype() needs positions in bits: bind(bits_per_element) first")
        if old_bits == new_bits:
            return self
        wide, narrow = max(old_bits, new_bits), min(old_bits, new_bits)
        if wide % narrow:
            raise LayoutError(f"elements of {old_bits} bits can't be seen as elements of {new_bits} bits")
        if not self._dims:
            raise LayoutError(f"a layout of shape () has no last dimension to hold {wide // narrow} elements")
        self._check_granule(new_bits)
        last = coalesce(self._dims[-1])
        outer, (extent, stride) = (last[:-1], last[-1]) if last else ((), (1, AxisTerm.of(old_bits)))
        if stride != AxisTerm.of(old_bits) and new_bits < old_bits:  # each element falls apart by itself
            return self._with((*self._dims[:-1], (*last, (old_bits // new_bits, AxisTerm.of(new_bits)))))
        if stride != AxisTerm.of(old_bits):
            raise LayoutError(
                f"the last dimension of {self!r} is not contiguous: its elements of {old_bits} bits are {stride} bits apart"
            )
        if new_bits < old_bits:
            inner: Dim = (product((extent, old_bits // new_bits)), AxisTerm.of(new_bits))
        else:
            ratio = new_bits // old_bits
            if not isinstance(extent, int) or extent % ratio:
                raise LayoutError(
                    f"{extent} contiguous elements of {old_bits} bits in the last dimension "
                    f"don't fill whole elements of {new_bits} bits"
                )
            inner = (extent // ratio, AxisTerm.of(new_bits))
            self._check_widening(outer, new_bits)
        return self._with((*self._dims[:-1], (*outer, inner)))

    def _check_widening(self, outer: Dims, bits: int) -> None:
        steps = [("the offset", self._offset)]
        steps += [("a stride", stride) for part in (*self._dims[:-1], outer, self._replicas) for _, stride in part]
        for what, term in steps:
            value = Expr.of(term[m])
            if value.divisor() % bits:
                raise LayoutError(
                    f"elements of {bits} bits would be misaligned: {what} of {value} bits is not known to be a multiple of {bits}"
                )

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def _static_shape(self, purpose: str) -> tuple[int, ...]:
        for place, extent in enumerate(self.shape):
            if not isinstance(extent, int):
                raise LayoutError(
                    f"can't {purpose}: dimension {place} of shape {_shape_text(self.shape)} has the extent {extent}, "
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
            raise LayoutError(f"{len(coordinates)} coordinates for shape {_shape_text(self.shape)}")
        total = self._offset
        for place, (dims, value) in enumerate(zip(self._dims, coordinates)):
            coordinate = exact_int(value, f"coordinate {place}")
            self._check_coordinate(place, coordinate)
            total = total + index(dims, coordinate)
        position: dict[Axis, Scalar] = {m: 0}
        position.update((axis, 0) for axis in (tx if a.is_thread else a for a in self.axes))
        position.update(total.reduced().parts)
        position[m] = self._swizzled(position[m])
        return position

    def _swizzled(self, linear: Scalar) -> Scalar:
        if self._swizzle is None:
            return linear
        if self._unit != BIT:
            raise LayoutError(unbound_swizzle(self._swizzle))
        whole = Expr.of(linear)
        constant = whole.terms.get((), 0)
        if (whole - constant).divisor() % (self._swizzle.period * 8):
            raise LayoutError(
                f"the position {self._swizzle}({whole}) is known only at run time: its symbolic part is no multiple "
                f"of the swizzle's period, {self._swizzle.period * 8} bits"
            )
        return as_scalar(whole - constant + self._swizzle.apply_bits(constant), "a position")

    def _check_coordinate(self, place: int, coordinate: int) -> None:
        extent = self.shape[place]
        if coordinate < 0 or (isinstance(extent, int) and coordinate >= extent):
            raise LayoutError(
                f"coordinate {coordinate} of dimension {place} is outside 0..{Expr.of(extent) - 1} "
                f"(shape {_shape_text(self.shape)})"
            )

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
        if isinstance(position, Mapping):
            strange = next((axis for axis in position if not isinstance(axis, Axis)), None)
            if strange is not None:
                raise LayoutError(f"a position is a mapping from axes such as m and tx, not from {strange!r}")
            position = AxisTerm.collect((axis, as_scalar(value, "a position")) for axis, value in position.items())
        wanted = AxisTerm.of(position, "a position").reduced()
        full = self.expand_replicas()
        table = full.table()
        if self.symbols or any(isinstance(value, Expr) for _, value in wanted.parts):
            raise LayoutError("coordinates() needs positions that are known now, without symbols")
        found = {m: table.m, **table.axes}
        if table.thread is not None:
            found[tx] = table.thread
        if any(axis not in found for axis, _ in wanted.parts):
            return []
        hits = np.ones(full.shape, np.bool_)
        for axis, values in found.items():
            hits = hits & (values == wanted[axis])
        leading = len(self._replicas)
        unique = sorted({tuple(row[leading:]) for row in np.argwhere(hits).tolist()})
        return unique

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
        if self._swizzle is not None:
            if self._unit != BIT:
                raise LayoutError(unbound_swizzle(self._swizzle))
            table = self.expand_replicas().table()
            moved = Expr.of(self._offset[m]) - Expr.of(self._offset[m]).terms.get((), 0)
            if not table.separable or self._with(offset=ZERO).symbols:
                raise LayoutError(f"the span of {self!r} is known only at run time, through its swizzle")
            return as_scalar(moved + int(table.m.min()), "lo"), as_scalar(moved + int(table.m.max()), "hi")
        lo = hi = self._offset[m]
        for extent, stride in (dim for part in (*self._dims, self._replicas) for dim in part):
            reach = Expr.of(stride[m]) * (Expr.of(extent) - 1)
            if prove_nonnegative(stride[m]):
                hi = as_scalar(reach + hi, "hi")
            elif prove_nonnegative(-stride[m]):
                lo = as_scalar(reach + lo, "lo")
            else:
                raise LayoutError(f"the stride {stride[m]} may have either sign; give its symbols a range")
        return lo, hi

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

    def reshape(self, *shape: int | tuple[int, ...]) -> Layout:
        """Another shape with the same elements in row-major order.

        Merging dimensions always works (a logical dimension may consist of several strides); splitting needs factors.

        Raises
        ------
        LayoutError
            With the extent that does not split.
        """
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        sizes = tuple([as_extent(extent) for extent in given])
        known = self._derived.get(sizes)
        if known is not None:
            return known
        if product(sizes) != product(self.shape):
            raise self._unreshapable(sizes, f"{product(self.shape)} elements against {product(sizes)}")
        try:
            return self._remember(sizes, self._with(tuple(split(tuple(dim for part in self._dims for dim in part), sizes))))
        except Unsplittable as problem:
            raise self._unreshapable(sizes, problem) from None

    def _unreshapable(self, sizes: tuple[Scalar, ...], problem: object) -> LayoutError:
        return LayoutError(f"can't reshape {_shape_text(self.shape)} to {_shape_text(sizes)}: {problem}")

    def group(self, first: int, stop: int) -> Layout:
        """Merge the logical dimensions `first .. stop - 1` into one, row-major."""
        if not 0 <= first < stop <= self.ndim:
            raise LayoutError(f"no dimensions {first}..{stop - 1} in shape {_shape_text(self.shape)}")
        merged = tuple(dim for part in self._dims[first:stop] for dim in part)
        return self._with((*self._dims[:first], merged, *self._dims[stop:]))

    def ungroup(self, place: int) -> Layout:
        """Replace a logical dimension by its physical ones, the inverse of `group`."""
        if not 0 <= place < self.ndim:
            raise LayoutError(f"no dimension {place} in shape {_shape_text(self.shape)}")
        return self._with((*self._dims[:place], *((dim,) for dim in self._dims[place]), *self._dims[place + 1 :]))

    def permute(self, *order: int | Sequence[int]) -> Layout:
        """Dimensions in another order: dimension i of the result is `order[i]` of this layout."""
        given = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
        wanted = tuple(exact_int(place, "a dimension's number") for place in given)
        if sorted(wanted) != list(range(self.ndim)):
            raise LayoutError(
                f"the order {wanted} does not name each of the {self.ndim} dimensions of shape {_shape_text(self.shape)} once"
            )
        return self._with(tuple(self._dims[place] for place in wanted))

    def rearrange(self, pattern: str, **sizes: int) -> Layout:
        """Split, reorder and merge dimensions by a pattern: `layout.rearrange("(w l) r -> w l r", l=32)`."""
        from ptxgen.layouts.rearrange import rearrange

        return rearrange(self, pattern, sizes)

    def stacked(self, extent: int, distance: int | Expr) -> Layout:
        """`extent` copies of this layout under a new leading dimension, `distance` positions on `m` apart (in this unit)."""
        return self._with((((as_extent(extent), AxisTerm.of(distance)),), *self._dims))

    def sub(self, starts: Sequence[int | Expr | Symbol], shape: Sequence[int], steps: Sequence[int] | None = None) -> Layout:
        """A box of this layout.

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
        steps = (1,) * self.ndim if steps is None else steps
        if not len(starts) == len(shape) == len(steps) == self.ndim:
            raise LayoutError(
                f"sub() needs {self.ndim} starts, extents and steps for shape {_shape_text(self.shape)}, "
                f"not {len(starts)}, {len(shape)} and {len(steps)}"
            )
        dims: list[Dims] = []
        offset = self._offset
        for place, (start, extent, step) in enumerate(zip(starts, shape, steps)):
            part, moved = self._slice(place, start, extent, step)
            dims.append(part)
            offset = offset + moved
        return self._with(tuple(dims), offset)

    def _slice(self, place: int, start: object, extent: object, step: object) -> tuple[Dims, AxisTerm]:
        first = as_scalar(start, f"the start in dimension {place}")
        count = as_extent(extent)
        stride = exact_int(step, f"the step in dimension {place}")
        if isinstance(count, Expr):
            if first == 0 and stride == 1 and count == self.shape[place]:
                return self._dims[place], ZERO
            raise LayoutError(f"the extent {count} of a part of dimension {place} must be known now")
        if stride < 1:
            raise LayoutError(f"the step in dimension {place} must be positive, not {stride}")
        whole = self.shape[place]
        if isinstance(first, int):
            self._check_coordinate(place, first)
            self._check_coordinate(place, first + (count - 1) * stride)
        elif isinstance(whole, int) and (count - 1) * stride >= whole:
            raise LayoutError(f"{count} elements {stride} apart don't fit into dimension {place} of extent {whole}")
        if first == 0 and count == whole and stride == 1:
            return self._dims[place], ZERO
        return slice_dims(self._dims[place], first, count, stride)

    def __getitem__(self, key: Any) -> Layout:
        """NumPy's basic indexing: ints (or Exprs) drop a dimension, slices have a positive step; nothing wraps or clips.

        The start of a slice may be an Expr when its stop is start + an integer.
        """
        items = key if isinstance(key, tuple) else (key,)
        given = sum(item is not Ellipsis for item in items)
        if given < len(items) - 1:
            raise LayoutError("an index has at most one ellipsis (...)")
        if given > self.ndim:
            raise LayoutError(f"{given} indices for shape {_shape_text(self.shape)}")
        if given == len(items):
            items = (*items, Ellipsis)
        dims: list[Dims] = []
        offset = self._offset
        for place, item in self._places(items, self.ndim - given):
            if isinstance(item, slice) and item.start is item.stop is item.step is None:
                dims.append(self._dims[place])
                continue
            if isinstance(item, slice):
                part, moved = self._slice(place, *self._slice_bounds(place, item))
                dims.append(part)
            else:
                moved = self._slice(place, item, 1, 1)[1]
            offset = offset + moved
        return self._with(tuple(dims), offset)

    @staticmethod
    def _places(items: tuple[Any, ...], omitted: int) -> Iterator[tuple[int, Any]]:
        expanded: list[Any] = []
        for item in items:
            expanded += [slice(None)] * omitted if item is Ellipsis else [item]
        return enumerate(expanded)

    def _slice_bounds(self, place: int, item: slice) -> tuple[Scalar, Scalar, int]:
        step = 1 if item.step is None else exact_int(item.step, f"the step in dimension {place}")
        start = 0 if item.start is None else as_scalar(item.start, f"the start in dimension {place}")
        stop = self.shape[place] if item.stop is None else as_scalar(item.stop, f"the stop in dimension {place}")
        length = as_scalar(Expr.of(stop) - start, "a length")
        if isinstance(length, Expr):
            return start, length, step
        if step < 1 or length < 1:
            raise LayoutError(
                f"the slice {start}:{stop}:{step} of dimension {place} is empty or runs backwards; "
                "layouts have positive steps and at least one element"
            )
        if isinstance(start, int):
            self._check_coordinate(place, start + length - 1)
        return start, -(-length // step), step


def as_layout(value: Layout | Shard) -> Layout:
    """The value as a layout; `S[...]` alone is one without replicas and offset."""
    return value if isinstance(value, Layout) else Layout(value)


def _shape_text(shape: Sequence[Scalar]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
