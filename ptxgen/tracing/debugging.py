"""`printf` and `assert` in a kernel: calls of the two functions that the driver provides for them.

CUDA C++ Programming Guide, "Formatted Output" and "Assertion".
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.targets import FIRST_VERSION
from ptxgen.instructions.types import Type, f32, f64, s32, s64, u32, u64
from ptxgen.tile.expressions import compute
from ptxgen.tracing.blocks import branch, predicate_of
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.calls import call
from ptxgen.tracing.literals import is_number, literal
from ptxgen.tracing.mixed import no_scalar
from ptxgen.tracing.module_data import text_variable
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.values import Scalar

__all__ = ["assert_", "printf"]

_MOST = 32  # arguments that the driver's vprintf takes
_CONVERSION = re.compile(
    r"%[-+ #0]*(?P<width>\*|\d+)?(?:\.\d*)?(?P<size>hh|h|ll|l|j|z|t|L)?(?P<kind>.|$)", re.S
)
_SIGNED, _UNSIGNED, _FLOAT = "di", "uoxX", "eEfFgGaA"
_WIDE = ("l", "ll", "j", "z", "t")
_BUFFER = "printf_arguments"


class _Wanted(NamedTuple):
    """What a conversion of the format takes: ``"signed"``, ``"unsigned"``, ``"float"``, ``"text"``, and its width."""

    text: str
    kind: str
    bits: int


def printf(format: str, *arguments: Any) -> None:
    """Print from the kernel, as CUDA's ``printf``: each thread that comes here prints for itself.

    On the GPU the text appears when the host next synchronises; in the emulator at once.

    Parameters
    ----------
    format : str
        C's conversions: ``%d %i`` signed, ``%u %o %x %X`` unsigned, with ``ll`` for 64 bits; ``%c``; ``%f %e %g %a``; ``%p`` a .u64;
        ``%s`` a Python text; ``%%``.
    *arguments : scalar, number or str
        One for each conversion, at most 32. Integers narrower than 32 bits are extended, floats become .f64, as in C.

    Raises
    ------
    TraceError
        Where an argument is not what its conversion takes.
    """
    builder, where = current("px.printf"), here()
    if not isinstance(format, str):
        raise TraceError(f"px.printf takes a format first, not {format!r}", where=where, legal='px.printf("%d\\n", i)')
    wanted = _conversions(format, where)
    if len(wanted) != len(arguments):
        raise TraceError(
            f"px.printf: the format has {_count(wanted, 'conversion')}, and {_count(arguments, 'argument')} follow"
            + "s" * (len(arguments) == 1), where=where,
            legal="an argument for each conversion, and one more for each *",
        )  # fmt: skip
    if len(arguments) > _MOST:
        raise TraceError(f"px.printf: {len(arguments)} arguments", where=where, legal=f"at most {_MOST}; several px.printf")
    values = [_argument(builder, one, given, where) for one, given in zip(wanted, arguments)]
    buffer = _fill(builder, values, where) if values else literal(builder, 0, u64, where)
    _need(builder, ir.Function("func", "vprintf", _parameters("vprintf", u64, u64), None, (_result("vprintf"),), linkage="extern"))
    call(builder, "vprintf", [_text(builder, "format", format), buffer], [s32], where)


def assert_(condition: Any, message: str | None = None) -> None:
    """End the whole launch where a condition does not hold, as CUDA's ``assert``; behind it the condition is known to hold.

    On the GPU the failing thread's message goes to stderr, and the context is lost: every later call fails with the driver's
    "device-side assert triggered". The emulator reports it, with the line, and ends the thread.

    Parameters
    ----------
    condition : predicate, or bool
        A bool is settled while the kernel is traced.
    message : str, optional
        By default the line itself.
    """
    builder, where = current("px.assert_"), here()
    said = message if message is not None else where.source
    if isinstance(condition, bool):
        if not condition:
            raise TraceError(
                f"the assertion does not hold: {said}", where=where, why="it is False for every thread",
                legal="a condition that holds for the constants of this kernel",
            )  # fmt: skip
        return
    predicate = predicate_of(condition, "px.assert_", where)
    label = builder.label("assert")
    branch(builder, label, where, builder.guard(predicate, where))
    types = (u64, u64, u32, u64, u64)
    noreturn = (ir.Directive("noreturn"),)
    _need(builder, ir.Function("func", "__assertfail", _parameters("__assertfail", *types), None, directives=noreturn, linkage="extern"))
    builder.require((6, 4), frozenset(FIRST_VERSION), ".noreturn", "11.4.12")
    told = [
        _text(builder, "assertion", said),
        _text(builder, "file", os.path.basename(where.filename)),  # the same text on every machine
        literal(builder, where.line, u32, where),
        _text(builder, "function", where.code.co_name),
        literal(builder, 1, u64, where),  # bytes of a character
    ]
    call(builder, "__assertfail", told, [], where)
    builder.append(ir.Label(label))
    builder.region.facts.extend(predicate.facts[0])


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


# ---- the format ---------------------------------------------------------------------------------------------------------


def _conversions(format: str, where: Where) -> list[_Wanted]:
    """What each conversion takes, in order; a ``*`` takes an int."""
    found = []
    for match in _CONVERSION.finditer(format):
        kind, size = match["kind"], match["size"] or ""
        if match[0] == "%%":
            continue
        if match["width"] == "*":
            found.append(_Wanted("*", "signed", 32))
        bits = 64 if size in _WIDE else 32
        if kind in _FLOAT and kind and size in ("", "l"):
            found.append(_Wanted(match[0], "float", 64))
        elif kind in _SIGNED + _UNSIGNED and kind and size != "L":
            found.append(_Wanted(match[0], "signed" if kind in _SIGNED else "unsigned", bits))
        elif kind == "c" and not size:
            found.append(_Wanted(match[0], "character", 32))
        elif kind == "p" and not size:
            found.append(_Wanted(match[0], "unsigned", 64))
        elif kind == "s" and not size:
            found.append(_Wanted(match[0], "text", 64))
        else:
            raise TraceError(
                f"px.printf: {match[0]!r} at {match.start()} of the format is no conversion", where=where,
                legal="%d %i %u %o %x %X %c %f %e %g %a %p %s, l or ll before an integer's letter, %% for %; no * for a precision",
            )  # fmt: skip
    return found


_INTEGERS = {(True, 32): s32, (False, 32): u32, (True, 64): s64, (False, 64): u64}  # by whether they are signed, and their width
_LETTERS = {("signed", 32): "%d", ("signed", 64): "%lld", ("unsigned", 32): "%u", ("unsigned", 64): "%llu", ("float", 64): "%f"}


def _argument(builder: Builder, wanted: _Wanted, given: Any, where: Where) -> Value:
    """An argument as it lies in the buffer: 32 or 64 bits of an integer, a double, or a text's address."""
    if wanted.kind == "text":
        if not isinstance(given, str):
            legal = 'px.printf("%s\\n", "tile")'
            raise TraceError(f"px.printf: {wanted.text} takes a Python text, not {given!r}", where=where, legal=legal)
        return _text(builder, "text", given)
    if is_number(given) and not isinstance(given, bool):
        type = f64 if wanted.kind == "float" else _INTEGERS[wanted.kind != "unsigned", wanted.bits]
        return literal(builder, given, type, where)
    value = given.__ptxgen_value__(builder) if hasattr(given, "__ptxgen_value__") else given
    if not isinstance(value, Scalar):
        raise no_scalar(given, f"px.printf: {given!r} is no scalar", "traced scalars, numbers, and texts for %s", where)
    builder.visible(value, where)
    fits = _fits(value.type, wanted)
    if not fits:
        letter = _letter(value.type)
        raise TraceError(
            f"px.printf: {wanted.text} takes {_words(wanted)}, and the argument is a .{value.type.name}", where=where,
            why="C would print other digits", legal=f"{letter} for it" if letter else "convert it: x.to(px.f32), x.bitcast(px.u32)",
        )  # fmt: skip
    if wanted.kind == "float":
        return (value.to(f32) if value.type.bits == 16 else value).to(f64) if value.type is not f64 else value
    if value.type.bits < 32:
        return value.to(s32 if value.type.signed else u32)
    return value


def _fits(type: Type, wanted: _Wanted) -> bool:
    if wanted.kind == "float":
        return type.is_float and type.lanes == 1 and type.name != "tf32"
    if not type.is_integer or (type.bits > 32) != (wanted.bits > 32):
        return False
    return wanted.kind == "character" or type.signed == (wanted.kind == "signed") or (type.bits < 32 and not type.signed)


def _letter(type: Type) -> str:
    kind = "float" if type.is_float else "signed" if type.signed else "unsigned"
    plain = (type.is_float or type.is_integer) and type.lanes == 1
    return _LETTERS.get((kind, 64 if type.is_float or type.bits > 32 else 32), "") if plain else ""


def _words(wanted: _Wanted) -> str:
    if wanted.kind == "float":
        return "a float"
    return f"{'a signed' if wanted.kind == 'signed' else 'an unsigned'} integer of {wanted.bits} bits"


# ---- the call -----------------------------------------------------------------------------------------------------------


def _text(builder: Builder, stem: str, text: str) -> Value:
    """The generic address of a text in global memory; read once, in the prologue."""
    name = text_variable(builder, stem, text)
    return _generic(builder, "global", name)


def _generic(builder: Builder, space: str, name: str) -> Value:
    def make() -> Value:
        inside = compute(builder, "mov.u64", u64, (ir.Sym(name), Given("symbol", name, space=space)), into=builder.prologue)
        return compute(builder, f"cvta.{space}.u64", u64, inside.described(), into=builder.prologue)

    found: Value = builder.once(("generic", name), make)
    return found


def _fill(builder: Builder, values: list[Value], where: Where) -> Value:
    """Store the arguments one behind the other, each naturally aligned, into a buffer in local memory that all px.printf share."""
    end = 0
    for value in values:
        size = value.type.bits // 8
        start = -(-end // size) * size
        end = start + size
        opcode = f"st.local.{'f64' if value.type is f64 else f'b{value.type.bits}'}"
        address = ir.Address(ir.Sym(_BUFFER), start), Given("address", f"[{_BUFFER}+{start}]", space="local")
        builder.emit(opcode, [address, value.described()], where=where)
    builder.local_bytes[_BUFFER] = max(end, builder.local_bytes.get(_BUFFER, 0))
    return _generic(builder, "local", _BUFFER)


def _need(builder: Builder, function: ir.Function) -> None:
    """Declare a function of the driver's, once."""
    if function not in builder.module:
        builder.module.insert(0, function)


def _parameters(function: str, *types: Type) -> tuple[ir.Variable, ...]:
    return tuple(ir.Variable("param", f"b{type.bits}", f"{function}_param_{number}") for number, type in enumerate(types))


def _result(function: str) -> ir.Variable:
    return ir.Variable("param", "b32", f"{function}_result")
