"""CuTe's layouts of memory, both ways: `((2,4),8):((1,16),2)`, and swizzled ones, `Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)`.

In CuTe the first mode of a nested mode runs fastest (colexicographic); in ptxgen the last of a dimension does (row-major). A mode of
CuTe is a logical dimension here, and what is nested in it stands in opposite order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

from ptxgen.layouts.arguments import BUILT, takes
from ptxgen.layouts.axes import AxisTerm, m
from ptxgen.layouts.dims import Dim, Dims
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, Symbol, as_scalar
from ptxgen.layouts.interchange.cute_text import Node, Read, flat, node_of, read_cute
from ptxgen.layouts.interchange.widths import byte_swizzle, check_bits, element_swizzle, in_elements
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard, as_extent
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.units import check_granule

IntTuple = Union[int, Expr, Symbol, Sequence[Any]]
"""A number or a tuple of IntTuples."""


def from_cute(shape: str | IntTuple, stride: IntTuple | None = None, *, bits: int | None = None, **names: int | Expr | Symbol) -> Layout:
    """The layout that CuTe writes `shape:stride`.

    For every coordinate `(c0, c1, ...)` of the outermost modes, `from_cute(text)(c0, c1, ...)` is CuTe's index, a position on `m` in
    elements. With a swizzle it is the byte address of CuTe's index, once the layout is bound to the element's width.

    Parameters
    ----------
    shape
        A text, or CuTe's shape as a number or nested tuple. `_8` is `8`. A shape without strides is compact and column-major. The text
        may be C++: `Layout<Shape<_8,_4>, Stride<_4,_1>>`, `make_layout(make_shape(8, Int<4>{}), LayoutRight{})`,
        `composition(Swizzle<3,4,3>{}, offset, layout)`. Names of C++ types, such as those of atoms, say no layout.
    stride
        The strides, nested like the shape; not with a text.
    bits
        Bits of an element. In `Sw<B,M,S> o offset o layout` the swizzle acts on the indices of elements, so this must be given. In
        `Sw<B,M,S> o smem_ptr[16b](unset) o layout` it acts on byte addresses and the text says the width.
    names
        Values of names in a text, e.g. `from_cute("(M,8):(8,1)", M=Symbol("M"))`.

    Raises
    ------
    LayoutError
        For a text that is no layout, with the column of the fault; shapes and strides that are not nested alike; a swizzle that XORs
        lower into higher bits or parts of bytes.

    Notes
    -----
    Source: CuTe's documentation, "CuTe Layouts" and "Layout algebra".
    """
    if isinstance(shape, str):
        if stride is not None:
            raise LayoutError("a text says its strides itself; give shape and stride as tuples")
        read = read_cute(shape, names)
    else:
        read = Read(node_of(shape), None if stride is None else node_of(stride))
    if bits is not None:
        check_bits(bits, "")
    dims = [outermost_first(mode) for mode in modes_of(read)]
    layout = Layout(Shard(tuple(dims)), offset=read.offset, swizzle=_imported(read, bits))
    width = read.pointer or bits
    if layout.swizzle is not None and width is not None:
        check_granule(layout.swizzle, width)
    return layout


def _imported(read: Read, bits: int | None) -> Swizzle | None:
    if read.swizzle is None:
        return None
    name = "Sw<{},{},{}>".format(*read.swizzle)
    count, base, shift = read.swizzle
    if count < 0 or base < 0 or abs(shift) < count:
        raise LayoutError(f"{name} is no swizzle: CuTe needs B >= 0, M >= 0 and |S| >= B")
    if read.pointer is None:
        return byte_swizzle(count, base, shift, check_bits(bits, f"{name} acts on the indices of elements") if count else 8, name)
    if bits is not None and bits != read.pointer:
        raise LayoutError(f"smem_ptr[{read.pointer}b] points to elements of {read.pointer} bits, not of {bits}")
    return byte_swizzle(count, base, shift, 8, name)


# --- modes ----------------------------------------------------------------------------------------------------------------

_Modes = list[list[tuple[Scalar, Scalar]]]
_Fail = Callable[[str, int], LayoutError]


def modes_of(read: Read) -> _Modes:
    """For each outermost mode its (extent, stride) as one flat list, the fastest first."""
    shape, stride = read.shape, read.stride
    outer = shape if isinstance(shape.value, tuple) else Node((shape,), shape.column)
    assert isinstance(outer.value, tuple)
    if stride is None:
        return _compact(outer.value, read)
    if isinstance(shape.value, tuple) != isinstance(stride.value, tuple):
        raise read.fail(f"the stride {stride} against the extent {shape}; nest both alike", stride.column)
    strides = stride.value if isinstance(stride.value, tuple) else (stride,)
    return [list(zip(*pair)) for pair in _congruent(outer, Node(strides, stride.column), read.fail)]


def _congruent(shape: Node, stride: Node, fail: _Fail) -> list[tuple[list[Scalar], list[Scalar]]]:
    """Extents and strides of each part of a tuple."""
    assert isinstance(shape.value, tuple) and isinstance(stride.value, tuple)
    if len(shape.value) != len(stride.value):
        raise fail(f"the strides {stride} against the extents {shape}; there must be as many", stride.column)
    found = []
    for extent, step in zip(shape.value, stride.value):
        if isinstance(extent.value, tuple) != isinstance(step.value, tuple):
            raise fail(f"the stride {step} against the extent {extent}; nest both alike", step.column)
        if isinstance(extent.value, tuple):
            _congruent(extent, step, fail)
        found.append(([_extent(number, extent, fail) for number in flat(extent)], flat(step)))
    return found


def _extent(number: Scalar, node: Node, fail: _Fail) -> Scalar:
    try:
        return as_extent(number)
    except LayoutError as problem:
        raise fail(str(problem), node.column) from None


def _compact(modes: tuple[Node, ...], read: Read) -> _Modes:
    """Strides that count the elements of all modes, without regard to their nesting."""
    found: _Modes = []
    stride: Scalar = 1
    step = -1 if read.from_right else 1
    for mode in modes[::step]:
        part = []
        for extent in flat(mode)[::step]:
            part.append((_extent(extent, mode, read.fail), stride))
            stride = as_scalar(Expr.of(stride) * extent, "a stride")
        found.append(part[::step])
    return found[::step]


def outermost_first(mode: Sequence[tuple[Scalar, Scalar]]) -> Dims:
    """A mode's flat list as a logical dimension of ptxgen."""
    return tuple((extent, AxisTerm.of(stride)) for extent, stride in reversed(mode))


# --- writing --------------------------------------------------------------------------------------------------------------


@takes(layout=BUILT)
def to_cute(layout: Layout, *, bits: int | None = None, pointer: bool = False) -> str:
    """The text that CuTe prints for a layout of memory; `from_cute(to_cute(layout, bits=b), bits=b) == layout`.

    Parameters
    ----------
    layout
        A layout on `m` alone. An offset is written as that of a composed layout, `Sw<0,4,3> o 5 o (8,64):(64,1)`.
    bits
        Bits of an element; needed with a swizzle and for layouts that count bits.
    pointer
        How a swizzle is written: on byte addresses behind a pointer, `Sw<3,4,3> o smem_ptr[16b](unset) o ...`, instead of on indices
        of elements, `Sw<3,3,3> o 0 o ...`.

    Raises
    ------
    LayoutError
        For threads and other axes (`to_cute_tv` writes layouts of registers), replicas, steps of parts of an element.
    """
    parts = _memory_parts(layout, bits)
    shape, stride = to_cute_tuples(layout, bits=bits)
    text = f"{tuple_text(shape)}:{tuple_text(stride)}"
    offset = parts.offset[m]
    if layout.swizzle is None:
        return f"Sw<0,4,3> o {offset} o {text}" if offset != 0 else text
    width = check_bits(bits, f"{layout.swizzle} permutes bytes")
    check_granule(layout.swizzle, width)
    if not pointer:
        return "Sw<{},{},{}> o {} o {}".format(*element_swizzle(layout.swizzle, width), offset, text)
    if offset != 0:
        raise LayoutError(
            f"the pointer of a composed layout holds its offset, which is {offset}; the text has no place for it", "pointer=False"
        )
    swizzle = layout.swizzle
    return f"Sw<{swizzle.bits},{swizzle.base},{swizzle.shift}> o smem_ptr[{width}b](unset) o {text}"


@takes(layout=BUILT)
def to_cute_tuples(layout: Layout, *, bits: int | None = None) -> tuple[IntTuple, IntTuple]:
    """CuTe's shape and stride of a layout of memory as nested tuples, in elements and without its offset and swizzle.

    Parameters and errors as for `to_cute`.
    """
    dims = _memory_parts(layout, bits).dims
    modes = [[(extent, term[m]) for extent, term in reversed(part)] or [(1, 0)] for part in dims]
    if len(modes) == 1 and len(modes[0]) == 1:
        return modes[0][0]
    shape, stride = ([_side(mode, side) for mode in modes] for side in (0, 1))
    return tuple(shape), tuple(stride)


def _side(mode: Sequence[tuple[Scalar, Scalar]], side: int) -> IntTuple:
    numbers = tuple(pair[side] for pair in mode)
    return numbers[0] if len(numbers) == 1 else numbers


def tuple_text(value: IntTuple) -> str:
    """A number or nested tuple as CuTe prints it."""
    return f"({','.join(map(tuple_text, value))})" if isinstance(value, tuple) else str(value)


def _memory_parts(layout: Layout, bits: int | None) -> Layout:
    other = next((axis for axis in layout.axes if axis is not m), None)
    if other is not None:
        raise LayoutError(
            f"{layout!r} is on {other}; a CuTe layout maps to one index",
            "to_cute_tv() for a tile in the registers of threads" if other.is_thread else "",
        )
    if layout.replica_dims:
        raise LayoutError(f"{layout!r} has replicas; a CuTe layout gives each coordinate one index")
    return in_elements(layout, bits)


def flat_dims(layout: Layout) -> list[Dim]:
    """All physical dimensions, the fastest of CuTe's order first."""
    return [dim for part in layout.dims for dim in reversed(part)]
