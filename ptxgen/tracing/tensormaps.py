"""Tensor maps that a kernel's copies need: parameters of the entry that the launch makes from a tensor argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxgen import ir
from ptxgen.errors import LayoutError, TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.targets import target_set
from ptxgen.instructions.types import Type, u64
from ptxgen.layouts.axes import AxisTerm, m
from ptxgen.layouts.dims import coalesce
from ptxgen.layouts.expr import Expr, Scalar
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.runtime.tensormap import TensorMap, TensorMapError, swizzle_mode
from ptxgen.tracing.builder import Builder, Value, given_register
from ptxgen.tracing.provenance import here

if TYPE_CHECKING:
    from ptxgen.tracing.views import Memory

__all__ = ["DeclaredTensorMap", "declare", "described_axes"]

_ALIGN, _BYTES = 64, 128  # ISA 5.5.8


class DeclaredTensorMap:
    """One tensor-map parameter of the kernel being traced.

    Attributes
    ----------
    name : str
        The parameter's name in the text.
    tensor : str
        The argument whose tensor it maps.
    map : TensorMap
        Shape and strides in terms of the kernel's dims, and the box of one copy.
    """

    __slots__ = ("builder", "map", "name", "tensor")

    def __init__(self, builder: Builder, name: str, tensor: str, map: TensorMap) -> None:
        self.builder = builder
        self.name = name
        self.tensor = tensor
        self.map = map

    @property
    def address(self) -> Value:
        """The map's generic address, a ``.u64`` computed once in the prologue: what stands in ``[map, {x, y}]``."""
        found: Value = self.builder.once(("tensor map", self.name), self._address)
        return found

    def _address(self) -> Value:
        builder = self.builder
        within, generic = builder.register(u64), builder.register(u64)
        symbol = ir.Sym(self.name), Given("symbol", self.name, space="param")
        builder.emit("mov.b64", [(within, given_register(within, u64)), symbol], into=builder.prologue)
        builder.emit("cvta.param.u64", [(one, given_register(one, u64)) for one in (generic, within)], into=builder.prologue)
        value = Value(builder, u64, generic, builder.root, None)
        value.same = True
        return value

    def declaration(self) -> ir.Variable:
        """``.param .align 64 .b8 name[128]``."""
        return ir.Variable("param", "b8", self.name, (_BYTES,), align=_ALIGN)


def declare(
    builder: Builder,
    storage: Memory,
    box: Sequence[int],
    *,
    layout: Layout | None = None,
    dtype: Type | None = None,
    swizzle: Swizzle | None = None,
    element_strides: Sequence[int] | None = None,
    **options: str,
) -> DeclaredTensorMap:
    """The tensor-map parameter for a tensor argument; declared once for each distinct description.

    Parameters
    ----------
    storage : Memory
        Of a tensor argument.
    box : sequence of int
        Extents that one copy spans along each axis of `layout`, the contiguous axis last.
    layout : Layout, optional
        The whole tensor in bits, its extents and strides ints or expressions of named dims; the argument's own by default.
    dtype : Type, optional
        Element type of `layout`; the argument's own by default.
    swizzle : Swizzle, optional
        Of the box's image in shared memory.
    element_strides, interleave, promotion, fill
        As for `ptxgen.runtime.TensorMap`.

    Raises
    ------
    TraceError, LayoutError, TensorMapError
        Where the storage is no argument, the layout none that a tensor map has, or a rule of the encoding is broken.
    """
    tensor = getattr(storage, "tensor", None)
    if tensor is None:
        raise TraceError(
            f"{storage.name} is no tensor argument, so no tensor map describes it", where=here(),
            why="a tensor map is made at launch, for an address in global memory", legal="a parameter x: px.Tensor(shape, dtype)",
        )  # fmt: skip
    element = dtype or tensor.dtype
    shape, strides = described_axes(layout or tensor.layout(), element.bits, storage.name)
    try:
        made = TensorMap(
            element, shape, strides, box=box, element_strides=element_strides, swizzle=swizzle_mode(swizzle), name=storage.name, **options
        )
    except TensorMapError as error:
        raise error.at(here()) from None
    if made.newer:
        builder.require((8, 6), target_set("sm_100+"), f"a tensor map with {made.newer}", "5.5")
    found = builder.tensor_maps.get((storage.name, made))
    if found is None:
        found = DeclaredTensorMap(builder, _name(builder, storage.name), storage.name, made)
        builder.tensor_maps[storage.name, made] = found
    return found


def _name(builder: Builder, tensor: str) -> str:
    """``a_map``, unless a parameter or a dim is called so."""
    stem = f"{tensor}_map"
    while stem in builder.parameters:
        stem += "_"
    return builder.unique(stem)


def described_axes(layout: Layout, bits: int, name: str) -> tuple[list[Scalar], list[Scalar]]:
    """Extents, and strides in bytes of all axes but the last, of a layout in bits.

    Raises
    ------
    LayoutError
        Where the layout is none that a tensor map has: swizzled, displaced, an axis with two strides, the last axis not contiguous.
    """
    if layout.swizzle is not None or layout.offset.parts or layout.replica_dims:
        raise LayoutError(
            f"the tensor map of {name}: {layout!r} has a swizzle, an offset or replicas",
            legal="the whole tensor's layout; the box's coordinates say which part is copied",
        )
    shape: list[Scalar] = []
    strides: list[Scalar] = []
    for axis, dims in enumerate(layout.dims):
        last = axis == layout.ndim - 1
        merged = coalesce(dims)
        if len(merged) > 1:
            raise LayoutError(
                f"the tensor map of {name}: axis {axis} of {layout!r} has {len(merged)} strides",
                legal="a view with an axis for each of them",
            )
        extent, stride = merged[0] if merged else (1, AxisTerm.of(bits))
        _check_dims(extent, name)
        shape.append(extent)
        if not last:
            strides.append(_bytes(stride[m], axis, name))
        elif merged and stride[m] != bits:
            raise LayoutError(
                f"the tensor map of {name}: elements along its last axis are {stride[m]} bits apart, not {bits}: that axis is contiguous",
                legal="x.permute(...) that puts the contiguous axis last",
            )
    return shape, strides


def _bytes(bits: Scalar, axis: int, name: str) -> Scalar:
    _check_dims(bits, name)
    expr = Expr.of(bits)
    if expr.divisor() % 8:
        raise LayoutError(f"the tensor map of {name}: the stride of axis {axis}, {bits} bits, is no whole number of bytes")
    return expr.floordiv(8)


def _check_dims(value: Scalar, name: str) -> None:
    """A launch knows the named dims, and nothing that the kernel computes."""
    for symbol in () if isinstance(value, int) else value.symbols:
        if symbol.key != (tuple, ("dim", symbol.name)):
            raise LayoutError(
                f"the tensor map of {name} depends on {symbol}, which the kernel computes",
                legal="extents and strides of ints and named dims",
            )
