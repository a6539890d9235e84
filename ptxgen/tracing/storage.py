"""Storage that a kernel declares: register tiles and shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from ptxgen import ir
from ptxgen.errors import LayoutError, TraceError
from ptxgen.instructions.types import Type
from ptxgen.layouts import S
from ptxgen.layouts.layout import Layout, as_layout
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.views import Memory, Registers, View

__all__ = ["STATIC_LIMIT", "SharedMemory", "declare", "local", "shared", "shared_memory", "static_extents"]

STATIC_LIMIT = 48 * 1024
"""Bytes of shared memory that a kernel can declare statically; above, all of it is dynamic (CUDA C++ Programming Guide, 16.4.3)."""

DEVICE_LIMIT = 227 * 1024
"""Bytes of shared memory that a block can have on any device (CUDA C++ Programming Guide, technical specifications, 9.0 and 10.0)."""

DYNAMIC_NAME = "dynamic_shared"
DYNAMIC_ALIGN = 128


def local(shape: int | Sequence[int], dtype: Type, layout: Any = None, container: Type | None = None) -> View:
    """Declare a register tile: the same registers in every thread.

    Parameters
    ----------
    shape : int or tuple of int
        Extents, those of thread axes included.
    dtype : Type
        Element type.
    layout : Layout or S[...], optional
        Where each element lives: thread axes name its owner, positions on `m` its place among the thread's elements. Row-major and
        thread-private by default.
    container : Type, optional
        The register type; several narrow elements are packed into one wider register, lowest bits first. By default the type's own.

    Returns
    -------
    View
        Of the registers, which hold nothing yet.

    Raises
    ------
    LayoutError
        Where the layout's shape is another, or an element would straddle two registers.
    """
    builder = current("px.local")
    _check_types("px.local", shape, dtype, container)
    extents = static_extents(shape)
    tile = _bound(layout, extents, dtype, "px.local")
    container = container or dtype
    if container.bits % dtype.bits:
        raise LayoutError(
            f"px.local: a .{container.name} register does not hold whole elements of .{dtype.name}",
            legal=f"a container of a multiple of {dtype.bits} bits, or none",
        )
    if tile.swizzle is not None:
        raise LayoutError("px.local: registers have names and no addresses, so a swizzle means nothing", legal="the layout without it")
    table = tile.table()
    if table.symbols:
        raise LayoutError(
            f"px.local: {layout!r} puts elements into registers that are known only at run time", legal="ints as strides and offsets"
        )
    if int(table.m.min()) < 0:
        least = int(table.m.min()) // dtype.bits
        raise LayoutError(
            f"px.local: {layout!r} puts an element at position {least} of its thread",
            legal=f"positions begin at 0: px.Layout(...) + {-least}",
        )
    count = int(table.m.max()) // container.bits + 1
    registers = builder.take(container, count)
    where = here()
    storage = Registers(container, registers, where)
    builder.tiles.append(storage)
    return View(builder, dtype, storage, tile)


def shared(
    shape: int | Sequence[int], dtype: Type, layout: Any = None, align: int | None = None, stages: int | None = None
) -> View:
    """Declare shared memory of the block.

    Parameters
    ----------
    shape : int or tuple of int
        Extents of one stage.
    dtype : Type
        Element type.
    layout : Layout or S[...], optional
        Positions of one stage, in elements; row-major by default.
    align : int, optional
        Bytes that divide the address of every stage. By default 16, or the swizzle's period.
    stages : int, optional
        Adds a leading axis of that extent; ``s[i]`` is one stage, also for a runtime `i`.

    Returns
    -------
    View
        Of shape (stages, \\*shape), or shape. Static up to 48 KiB a kernel, dynamic above.
    """
    builder = current("px.shared")
    _check_types("px.shared", shape, dtype)
    extents = static_extents(shape)
    tile = _bound(layout, extents, dtype, "px.shared")
    if tile.table().thread is not None:
        raise LayoutError(
            f"px.shared: {layout!r} has thread axes, and all threads share the memory", legal="strides on m alone: plain ints"
        )
    if dtype.kind == "pred":
        raise TraceError("px.shared: memory holds no predicates", where=here(), legal="px.u8, and x != 0 for a predicate")
    period = tile.swizzle.period if tile.swizzle is not None else 1
    align = max(16, period) if align is None else align
    if isinstance(align, bool) or not isinstance(align, int) or align & (align - 1) or align < max(1, dtype.bits // 8) or align % period:
        least = max(1, dtype.bits // 8, period)
        reason = "the period of its swizzle" if period == least > 1 else f"the size of an element of .{dtype.name}"
        raise LayoutError(
            f"px.shared: align={align!r} is no power of two of at least {least} bytes, {reason}", legal=f"align={least}, or none"
        )
    lo, hi = (int(end) for end in tile.span())  # type: ignore[arg-type]
    if lo < 0:
        raise LayoutError(
            f"px.shared: {layout!r} begins {-lo // 8} bytes before its storage",
            legal=f"positions begin at 0: px.Layout(...) + {-lo // dtype.bits}",
        )
    size = -(-(hi + dtype.bits) // 8)
    if stages is not None:
        (stages,) = static_extents(stages)
        size = -(-size // align) * align
        tile = _staged(tile, stages, size * 8)
    where = here()
    return View(builder, dtype, declare(builder, "smem", size * (stages or 1), align, where), tile)


def declare(builder: Builder, stem: str, size: int, align: int, where: Where) -> Memory:
    """Shared memory of so many bytes, under a fresh name that begins with `stem`."""
    name = builder.unique(stem)
    builder.shared.append(ir.Variable("shared", "b8", name, (size,), align=align, where=where))
    _check_limit(builder, where)
    return Memory(name, "shared", ir.Sym(name), align, where)


def _check_types(what: str, shape: Any, dtype: Any, container: Any = None) -> None:
    for one in (dtype, container):
        if not isinstance(one, Type) and (one is dtype or one is not None):
            found = "the type stands first" if isinstance(shape, Type) else f"{one!r} is no element type"
            raise TraceError(f"{what}: {found}", where=here(), legal=f"{what}((4, 8), px.f32): a shape, then px.f32, px.bf16, px.u8, ...")


def _check_limit(builder: Builder, where: Where) -> None:
    """Refuse what no device has; a launch compares the rest with its own."""
    _, end = _places(builder.shared)
    if end > DEVICE_LIMIT:
        raise TraceError(
            f"the kernel declares {end} bytes of shared memory with this tile", where=where,
            why=f"a block has at most {DEVICE_LIMIT} bytes (227 KiB) on any device", legal="a smaller tile, or fewer stages",
        )  # fmt: skip


def _places(variables: Sequence[ir.Variable]) -> tuple[dict[str, int], int]:
    """Where each shared variable begins when they lie one behind the other, and where the last one ends."""
    end = 0
    places: dict[str, int] = {}
    for variable in variables:
        assert variable.align is not None and variable.dims[0] is not None
        end = -(-end // variable.align) * variable.align
        places[variable.name] = end
        end += variable.dims[0]
    return places, end


def static_extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for extent in extents:
        traced = isinstance(extent, Value) or hasattr(extent, "__ptxgen_value__")
        if traced or isinstance(extent, bool) or not hasattr(extent, "__index__") or int(extent) < 1:
            raise TraceError(
                f"the extent {extent!r} of a tile is no positive int", where=here(),
                why="registers and shared memory are allotted before the kernel runs", legal="an int, or a px.constexpr parameter",
            )  # fmt: skip
    return tuple(int(extent) for extent in extents)


def _bound(layout: Any, extents: tuple[int, ...], dtype: Type, what: str) -> Layout:
    """The layout of a tile in bits, its shape compared."""
    tile = Layout(S[extents]) if layout is None else as_layout(layout)
    if tile.shape != extents:
        if prod(tile.shape) != prod(extents):
            raise LayoutError(
                f"{what}: the layout has shape {tile.shape}, {prod(tile.shape)} elements, the tile {extents}, {prod(extents)}",
                legal="a layout with one position for every element of the tile",
            )
        tile = tile.reshape(extents)
    return tile.bind(dtype.bits)


def _staged(tile: Layout, stages: int, distance: int) -> Layout:
    """The layout with a leading stage axis, `distance` bits apart."""
    return tile.stacked(stages, distance)


class SharedMemory(NamedTuple):
    """How a kernel's shared memory is declared."""

    declarations: tuple[ir.Variable, ...]
    module_level: tuple[ir.Variable, ...]
    dynamic_bytes: int
    variables: tuple[ir.Variable, ...]

    def dynamic_parts(self) -> list[tuple[int, int, str]]:
        """Offset, size and name of each variable in dynamic shared memory."""
        places = _places(self.variables)[0] if self.dynamic_bytes else {}
        return [(places[one.name], one.dims[0] or 0, one.name) for one in self.variables if one.name in places]

    def spoken_names(self) -> dict[str, str]:
        """What the user calls the variables, for messages: those that have a name of their own."""
        given = [assigned_name(one.where) for one in self.variables]
        return {one.name: name for one, name in zip(self.variables, given, strict=True) if name and given.count(name) == 1}


def shared_memory(builder: Builder) -> tuple[SharedMemory, tuple[ir.Statement, ...]]:
    """Declare the shared variables: static where they fit, else parts of one dynamic array whose symbol the body then names."""
    body = (*builder.prologue, *builder.body)
    variables = builder.shared
    places, end = _places(variables)
    if end <= STATIC_LIMIT:
        return SharedMemory(tuple(variables), (), 0, tuple(variables)), body
    align = max(DYNAMIC_ALIGN, *(variable.align or 1 for variable in variables))
    array = ir.Variable("shared", "b8", DYNAMIC_NAME, (None,), align=align, linkage="extern")
    moved = list(body)
    for at, statement in enumerate(body):
        if statement.__class__ is ir.Instruction and not _NAMING.isdisjoint(map(type, statement.operands)):
            moved[at] = _moved(statement, places)
    return SharedMemory((), (array,), end, tuple(variables)), tuple(moved)


_NAMING = frozenset((ir.Address, ir.Sym))  # operands that may name a variable


def _moved(statement: ir.Instruction, places: dict[str, int]) -> ir.Instruction:
    if not any(_variable(operand) in places for operand in statement.operands):
        return statement
    operands = tuple(_moved_operand(operand, places) for operand in statement.operands)
    return ir.Instruction(statement.opcode, operands, statement.guard, statement.where)


def _variable(operand: ir.Operand) -> str:
    """The name that an operand is, or whose address it begins with."""
    named = operand.base if isinstance(operand, ir.Address) else operand
    return named.name if isinstance(named, ir.Sym) else ""


def _moved_operand(operand: ir.Operand, places: dict[str, int]) -> ir.Operand:
    offset = places.get(_variable(operand))
    if offset is None:
        return operand
    if isinstance(operand, ir.Address):
        return ir.Address(ir.Sym(DYNAMIC_NAME), operand.offset + offset, operand.rest)
    return ir.SymbolRef(DYNAMIC_NAME, offset) if offset else ir.Sym(DYNAMIC_NAME)
