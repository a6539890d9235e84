"""The notation: `S[extents : strides]` for dimensions, `R[extents : strides]` for replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.layouts.axes import AxisTerm
from ptxgen.layouts.dims import Dim, Dims, dims_text, extent_of
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar, is_number

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout


class Shard:
    """Extents with their strides, as `S[...]` writes them. Add replicas and offsets to it, or hand it to `Layout`."""

    __slots__ = ("dims",)

    def __init__(self, dims: tuple[Dims, ...]) -> None:
        self.dims = dims

    def __add__(self, other: object) -> Layout:
        from ptxgen.layouts.layout import Layout

        if not isinstance(other, (Replica, AxisTerm)) and not is_number(other):
            return NotImplemented
        return Layout(self) + other

    def __radd__(self, other: object) -> Layout:
        return self + other

    def __eq__(self, other: object) -> bool:
        return self.dims == other.dims if isinstance(other, Shard) else NotImplemented

    def __hash__(self) -> int:
        return hash((Shard, self.dims))

    def __repr__(self) -> str:
        return f"S[{bracket_text(self.dims)}]"


class Replica:
    """Displacements at which every element also lives, as `R[...]` writes them."""

    __slots__ = ("dims",)

    def __init__(self, dims: tuple[Dim, ...]) -> None:
        self.dims = dims

    def __eq__(self, other: object) -> bool:
        return self.dims == other.dims if isinstance(other, Replica) else NotImplemented

    def __hash__(self) -> int:
        return hash((Replica, self.dims))

    def __repr__(self) -> str:
        return f"R[{bracket_text(tuple((dim,) for dim in self.dims))}]"


class _ShardNotation:
    """`S[(2, 32) : (1 @ warpid, 1 @ laneid)]`; nested extents make one logical dimension of several strides."""

    def __getitem__(self, key: object) -> Shard:
        return Shard(dims_of(key, "S"))

    def __repr__(self) -> str:
        return "S"


class _ReplicaNotation:
    """`R[(2,) : (1 @ warpid,)]`: each element also lives one warp further."""

    def __getitem__(self, key: object) -> Replica:
        if not isinstance(key, slice):
            raise LayoutError(f"R[{key}] needs strides, such as R[(2,) : (1 @ warpid,)]")
        return Replica(tuple(dim for dims in dims_of(key, "R") for dim in dims))

    def __repr__(self) -> str:
        return "R"


S = _ShardNotation()
R = _ReplicaNotation()


def dims_of(key: object, letter: str) -> tuple[Dims, ...]:
    """The logical dimensions that the brackets of `S` or `R` describe."""
    if isinstance(key, slice):
        if key.step is not None:
            raise LayoutError(f"{letter}[extents : strides] has one colon, not two")
        extents, strides = key.start, key.stop
        if extents is None or strides is None:
            raise LayoutError(f"{letter}[extents : strides] needs both sides of the colon; {letter}[extents] is row-major")
        if not isinstance(extents, (tuple, list)):
            extents, strides = (extents,), (strides,)
        return _pair(tuple(extents), strides, f"{letter}[{_plain(extents)} : {_plain(strides)}]")
    extents = tuple(key) if isinstance(key, (tuple, list)) else (key,)
    if any(isinstance(part, slice) for part in extents):
        raise LayoutError(f"{letter}[...] has one colon between all extents and all strides: {letter}[(8, 4) : (4, 1)]")
    return row_major(extents)


def _plain(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_plain, value))}{',' if len(value) == 1 else ''})"
    return str(value)


def _pair(extents: tuple[object, ...], strides: object, text: str) -> tuple[Dims, ...]:
    if not isinstance(strides, (tuple, list)):
        strides = (strides,)
    if len(extents) != len(strides):
        raise LayoutError(f"{text}: {_count(len(extents), 'extent')} against {_count(len(strides), 'stride')}")
    dims = []
    for extent, stride in zip(extents, strides):
        if isinstance(extent, (tuple, list)) != isinstance(stride, (tuple, list)):
            raise LayoutError(f"{text}: extents {_plain(extent)} against strides {_plain(stride)}; nest both alike")
        if isinstance(extent, (tuple, list)):
            dims.append(tuple(dim for part in _pair(tuple(extent), stride, text) for dim in part))
        else:
            dims.append(((as_extent(extent), AxisTerm.of(stride)),))
    return tuple(dims)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def as_extent(value: object) -> Scalar:
    """A positive int, or an Expr for an extent that is only known at run time."""
    extent = as_scalar(value, "an extent")
    if isinstance(extent, int) and extent < 1:
        raise LayoutError(f"an extent must be at least 1, not {extent}")
    return extent


def row_major(extents: tuple[object, ...]) -> tuple[Dims, ...]:
    """Dimensions counted row-major on `m`, nested extents included."""
    dims: list[Dims] = []
    stride: Scalar = 1
    for extent in reversed(extents):
        if isinstance(extent, (tuple, list)):
            inner = row_major(tuple(extent))
            flat = tuple((e, s * stride) for part in inner for e, s in part)
            dims.append(flat)
            stride = as_scalar(stride * extent_of(flat), "a stride")
        else:
            size = as_extent(extent)
            dims.append(((size, AxisTerm.of(stride)),))
            stride = as_scalar(Expr.of(stride) * size, "a stride") if isinstance(size, Expr) else stride * size
    return tuple(reversed(dims))


def bracket_text(dims: tuple[Dims, ...]) -> str:
    """What stands inside the brackets of the notation."""
    texts = [dims_text(part) for part in dims]
    comma = "," if len(texts) == 1 else ""
    extents, strides = (", ".join(side) for side in zip(*texts)) if texts else ("", "")
    return f"({extents}{comma}) : ({strides}{comma})"
