"""Data of the module: tables in constant memory and variables in global memory, with the values that they begin with (ISA 5.1.3, 5.1.4)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import ELEMENT_TYPES, TYPES, Type
from ptxgen.layouts import S
from ptxgen.layouts.layout import Layout
from ptxgen.tracing.builder import Builder, current
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.views import Memory, View

__all__ = ["CONST_LIMIT", "const", "global_", "text_variable"]

CONST_LIMIT = 64 * 1024
"""Bytes of initialised constant memory that a module can have (ISA 5.1.3)."""


def const(values: Any, dtype: Type | None = None, *, align: int | None = None) -> View:
    """A table in constant memory, `.const`, that holds `values`.

    Parameters
    ----------
    values : array_like
        Numbers, known when the kernel is traced; equal tables of one kernel are one.
    dtype : Type, optional
        By default that of a NumPy array; Python numbers need it.
    align : int, optional
        Bytes that divide the table's address: a power of two; by default 16.

    Returns
    -------
    View
        Row-major, of the shape of `values`. ``px.ptx.ld.const.f32(table[i])`` reads an element; it can't be written.

    Raises
    ------
    TraceError
        For values that are no numbers, that the type does not hold exactly, or that do not fit into 64 KiB.
    """
    return _declare("px.const", "const", values, dtype, align)


def global_(values: Any, dtype: Type | None = None, *, align: int | None = None) -> View:
    """A variable in global memory, `.global`, that begins with `values` and keeps what launches of the kernel write.

    Parameters as for `const`. It lives as long as the loaded kernel; in the emulator every launch begins anew.
    """
    return _declare("px.global_", "global", values, dtype, align)


def _declare(what: str, space: str, values: Any, dtype: Type | None, align: int | None) -> View:
    builder, where = current(what), here()
    array, dtype = _typed(what, values, dtype, where)
    align = max(16, array.itemsize) if align is None else align
    if isinstance(align, bool) or not isinstance(align, int) or align < array.itemsize or align & (align - 1):
        raise TraceError(
            f"{what}: align={align!r} is no power of two of at least {array.itemsize} bytes, the size of an element of .{dtype.name}",
            where=where, legal=f"align={array.itemsize}, or none",
        )  # fmt: skip

    def make() -> str:
        name = builder.unique(assigned_name(where) or space)
        values = _initial(array, dtype.word)
        builder.module.append(ir.Variable(space, dtype.word, name, (array.size,), align=align, init=values, where=where))
        return name

    if space == "const":
        name = _once(builder, ("const", dtype.name, align, array.tobytes()), make)
        _check_room(builder, where)
    else:
        name = make()
    layout = Layout(S[array.shape]).bind(dtype.bits)
    return View(builder, dtype, Memory(name, space, ir.Sym(name), align, where), layout)


def _typed(what: str, values: Any, dtype: Type | None, where: Where) -> tuple[np.ndarray, Type]:
    """The values as an array of the type's own NumPy dtype, each exactly."""
    given = np.asarray(values)
    if given.dtype.kind == "O" or given.size == 0:
        raise TraceError(f"{what}: {values!r} holds no numbers", where=where, legal="a NumPy array, or nested lists of numbers and a type")
    if dtype is None:
        dtype = _type_of(given.dtype) if isinstance(values, (np.ndarray, np.generic)) else None
    if not isinstance(dtype, Type) or dtype.bits < 8 or dtype.kind in ("pred", "opaque"):
        raise TraceError(
            f"{what}: {'the type of the elements is missing' if dtype is None else f'{dtype!r} is no type of elements in memory'}",
            where=where, legal=f"{what}([0.5, 0.25], px.f32), or a NumPy array",
        )  # fmt: skip
    with np.errstate(all="ignore"):
        array = np.ascontiguousarray(given.astype(dtype.numpy))
    kept = np.equal(array.astype(object), given.astype(object)) | (given != given)
    if given.dtype != array.dtype and not np.all(kept):
        first = given[~np.asarray(kept, bool)].flat[0]
        raise TraceError(
            f"{what}: .{dtype.name} does not hold {first} exactly", where=where, why="nothing is rounded unasked",
            legal="round it in the open: np.asarray(values, dtype)",
        )  # fmt: skip
    return np.atleast_1d(array), dtype


def _type_of(dtype: np.dtype[Any]) -> Type | None:
    """The PTX type of a NumPy dtype: numbers before untyped bits."""
    for one in (*TYPES.values(), *ELEMENT_TYPES.values()):
        if one.lanes == 1 and one.kind in ("unsigned", "signed", "float") and one.bits >= 8 and one.name != "tf32" and one.numpy == dtype:
            return one
    return None


def _initial(array: np.ndarray, declared: str) -> tuple[ir.Int | ir.Float, ...]:
    """The initialiser: exact hex for floats, numbers for integers, bits for all else."""
    flat = array.reshape(-1)
    if declared in ("f32", "f64"):
        width = 8 * flat.itemsize
        return tuple(ir.Float(int(bits), width) for bits in flat.view(f"u{flat.itemsize}"))
    if flat.dtype.kind not in "iu":
        flat = flat.view(f"u{flat.itemsize}")
    return tuple(ir.Int(int(one)) for one in flat)


def _check_room(builder: Builder, where: Where) -> None:
    tables = [one for one in builder.module if isinstance(one, ir.Variable) and one.space == "const"]
    size = sum(prod(filter(None, one.dims)) * TYPES[one.type].bits // 8 for one in tables)
    if size > CONST_LIMIT:
        raise TraceError(
            f"the kernel declares {size} bytes of constant memory with this table", where=where,
            why=f"a module has at most {CONST_LIMIT} bytes of it (ISA 5.1.3)", legal="px.global_(values), or a tensor argument",
        )  # fmt: skip


def text_variable(builder: Builder, stem: str, text: str) -> str:
    """The name of a global variable that holds a text and the zero behind it; equal texts are one variable."""

    def make() -> str:
        name = builder.unique(stem)
        content = (*text.encode(), 0)
        builder.module.append(ir.Variable("global", "b8", name, (len(content),), align=1, init=tuple(map(ir.Int, content))))
        return name

    return _once(builder, ("text", text), make)


def _once(builder: Builder, key: Hashable, make: Callable[[], str]) -> str:
    """The name of what the module declares for `key`."""
    if key not in builder.declared:
        builder.declared[key] = make()
    found: str = builder.declared[key]
    return found
