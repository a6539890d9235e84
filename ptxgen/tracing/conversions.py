"""Conversions of traced scalars: `.to` changes the type and keeps the number, `.bitcast` changes the type and keeps the bits."""

from __future__ import annotations

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import Type, pred
from ptxgen.tracing import ranges
from ptxgen.tracing.builder import register_class
from ptxgen.tracing.knowledge import attach, carry_out
from ptxgen.tracing.literals import bounds, literal
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.values import Scalar, emit, mov_opcode

__all__ = ["bitcast", "convert"]

_FLOATS = {"f16": 1, "bf16": 1, "f32": 2, "f64": 3}  # by width: what converts exactly into what
_FLOAT_ROUNDING = ("rn", "rz", "rm", "rp")
_INTEGER_ROUNDING = ("rni", "rzi", "rmi", "rpi")


def convert(value: Scalar, dtype: Type, rounding: str | None = None) -> Scalar:
    """The value as another type.

    Parameters
    ----------
    value : Scalar
    dtype : Type
        Integers wrap modulo 2^bits, as ``cvt`` without ``.sat`` does. A predicate becomes 1 or 0.
    rounding : str, optional
        The ISA's modifier without its dot. From float to integer it must be named: ``"rzi"`` (towards zero, as in C), ``"rni"`` (to
        nearest even), ``"rmi"`` (down), ``"rpi"`` (up). To a float that can't hold every value it is ``"rn"`` unless another
        of ``"rn"``, ``"rz"``, ``"rm"``, ``"rp"`` is named. Between equal float types an integer rounding gives an integral
        float. Elsewhere nothing is rounded, and naming it is an error.

    Raises
    ------
    TraceError
        Where no such conversion exists, or the rounding is missing or has no meaning.
    """
    where, source = here(), value.type
    if not isinstance(dtype, Type):
        raise TraceError(f".to takes a type, not {dtype!r}", where=where, legal=".to(px.f32)")
    if source is pred and dtype.is_integer and dtype.bits > 8 and rounding is None:
        one, zero = literal(value.builder, 1, dtype, where), literal(value.builder, 0, dtype, where)
        made = emit(value.builder, f"selp.{dtype.name}", dtype, [one, zero, value], where)
        attach(made, ranges.Bounds(0, 1))
        return made
    if source.name == dtype.name and rounding is None:
        made = emit(value.builder, mov_opcode(dtype), dtype, [value], where)
        attach(made, carry_out(value.expr, [value], dtype))
        made.facts, made.uniform = value.facts, value.uniform
        return made
    _check_convertible(source, dtype, where)
    suffix = _rounding(source, dtype, rounding, where)
    made = emit(value.builder, f"cvt{suffix}.{dtype.name}.{source.name}", dtype, [value], where)
    if source.is_integer:
        attach(made, carry_out(value.expr, [value], dtype))
    else:
        attach(made, None)
    return made


def _check_convertible(source: Type, dtype: Type, where: Where) -> None:
    for type in (source, dtype):
        legal = ""
        if type is pred:
            legal = "x != 0 makes a predicate" if dtype is pred else "px.select(p, a, b) makes a number of a predicate"
        elif type.kind == "bits":
            legal = f".bitcast, which keeps the bits; .{type.name} has no numeric value"
        elif type.lanes > 1 or not (type.is_integer or type.name in _FLOATS or (type.name == "tf32" and type is dtype)):
            legal = 'name the instruction: px.ptx["cvt...."](...)'
        if legal:
            raise TraceError(f".{source.name} can't be converted to .{dtype.name}", where=where, legal=legal)


def _rounding(source: Type, dtype: Type, rounding: str | None, where: Where) -> str:
    """The modifier in the opcode, with its dot."""
    if rounding is not None and rounding.startswith("."):
        rounding = rounding[1:]
    needed: tuple[str, ...] = ()
    default: str | None = None
    if source.is_float and dtype.is_integer:
        needed = _INTEGER_ROUNDING
    elif dtype.name == "tf32":
        needed = ("rna", "rn", "rz")
    elif source.is_float and source.name == dtype.name:
        needed = _INTEGER_ROUNDING
    elif dtype.is_float and not (source.is_float and _FLOATS[source.name] < _FLOATS[dtype.name]):
        needed, default = _FLOAT_ROUNDING, "rn"
    chosen = default if rounding is None else rounding
    what = f".{source.name} to .{dtype.name}"
    if chosen is None and needed:
        raise TraceError(
            f"{what} needs a rounding",
            where=where,
            why="several results are sensible, and ptxgen picks none silently",
            legal=f'.to(px.{dtype.name}, "{needed[0]}"), or {", ".join(needed[1:])}',
        )
    if chosen is not None and chosen not in needed:
        legal = f"one of {', '.join(needed)}" if needed else "no rounding: this conversion rounds nothing"
        raise TraceError(f"{chosen!r} is no rounding from {what}", where=where, legal=legal)
    return f".{chosen}" if chosen else ""


def bitcast(value: Scalar, dtype: Type) -> Scalar:
    """The same bits as another type of the same width: one ``mov`` between register classes, nothing within one class.

    Raises
    ------
    TraceError
        If the widths differ, or a predicate is involved.
    """
    where, source, builder = here(), value.type, value.builder
    if not isinstance(dtype, Type):
        raise TraceError(f".bitcast takes a type, not {dtype!r}", where=where, legal=".bitcast(px.b32)")
    if pred in (source, dtype) and source is not dtype:
        raise TraceError("a predicate has no bits", where=where, legal="px.select(p, 1, 0), or x != 0")
    if source.bits != dtype.bits:
        raise TraceError(
            f".{source.name} has {source.bits} bits and .{dtype.name} has {dtype.bits}",
            where=where,
            legal=f"a type of {source.bits} bits; .to(...) converts; mov.b{max(source.bits, dtype.bits)} packs and unpacks",
        )
    same_class = register_class(source) == register_class(dtype)
    if same_class and not value.mutable and (isinstance(value.operand, ir.Reg) or source is dtype):
        builder.visible(value, where)
        made = Scalar(builder, dtype, value.operand, value.region, where)
    else:
        opcode = f"mov.b{source.bits}" if source is not pred and source.bits > 8 else mov_opcode(source)
        made = emit(builder, opcode, dtype, [value], where)
    expr = value.expr if source.is_integer and value.expr is not None and ranges.fits(value.expr, bounds(dtype), tuple) else None
    attach(made, carry_out(expr, [value], dtype))
    return made
