"""`tile.ewise`: a scalar function applied to every element of register tiles."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import prod
from typing import Any

from ptxgen import ir
from ptxgen.errors import InstructionError, TraceError
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.language import Operand, instruction, out, source
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import Type
from ptxgen.tile.apply import common_repeats, scope_left_out
from ptxgen.tile.group import Group
from ptxgen.tile.image import Image
from ptxgen.tile.operands import RegisterOperand, refuse
from ptxgen.tracing.builder import Builder, Region, Value, current
from ptxgen.tracing.provenance import here
from ptxgen.tracing.values import Scalar, as_value, emit, mov_opcode, operand
from ptxgen.tracing.views import Registers, View

__all__ = ["ewise"]

# The scalar function's operands in the contract language: one register of any type each, so that tiles are checked as everywhere.
_CONTRACT = instruction(
    "tile.ewise",
    section="",
    summary="A scalar function, once for every element.",
    syntax="ewise dst, src;",
    operands={"dst": out("b32"), "src": source("b32")},
)


def ewise(function: Callable[..., Any], dst: View | tuple[View, ...], *srcs: Any, scope: str | None = None) -> None:
    """Apply a scalar function to every element.

    Parameters
    ----------
    function : callable
        Takes one traced scalar for each source and returns one for each destination (a tuple for several). It is traced once an element.
    dst : View or tuple of View
        Register tiles of shape (*group, *repeat). The results must have their element types; nothing is converted.
    *srcs : View or scalar
        Register tiles of the same repeats, possibly `dst` itself in any arrangement: every element is read before any is overwritten.
    scope : {"thread", "warp", "warpgroup", "cta", "cluster"}
        As for `tile.apply`.

    Raises
    ------
    InstructionError
        Where a tile's shape, owners or registers do not fit.
    TraceError
        Where the function's results do not have the destinations' types.
    """
    builder = current("tile.ewise")
    where = here()
    try:
        if scope is None:
            raise scope_left_out("tile.ewise")
        _check_function(function, srcs)
        _run(builder, function, dst if isinstance(dst, tuple) else (dst,), srcs, Group.at(builder, scope), where)
    except InstructionError as error:
        raise error.at(where) from None
    except TraceError as error:
        raise error.of("tile.ewise").at(where) from None


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _check_function(function: Any, srcs: tuple[Any, ...]) -> None:
    """A function, and one that takes as many arguments as there are sources."""
    if not callable(function):
        raise TraceError(
            f"{function!r} is no function", legal='px.tile.ewise(lambda x: x + 1, destination, source, scope="cta"): the function first'
        )
    if inspect.isfunction(function):  # nearly always: no need for a signature then
        code = function.__code__
        if code.co_argcount == len(srcs) and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC:
            return
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have none: then the call itself tells
        return
    try:
        signature.bind(*srcs)
    except TypeError:
        count = len(signature.parameters)
        raise TraceError(
            f"the function takes {_count(count, 'argument')}, and there {_are(len(srcs), 'source')}",
            legal=f"a function of {_count(len(srcs), 'argument')}, one for each source tile",
        ) from None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _are(number: int, what: str) -> str:
    return f"{'is' if number == 1 else 'are'} {_count(number, what)}"


def _run(builder: Builder, function: Callable[..., Any], dsts: tuple[View, ...], srcs: tuple[Any, ...], group: Group, where: Any) -> None:
    match = Match("tile.ewise", forms(_CONTRACT)[0], {})
    outputs = [_tile(match, "dst", view, group, _CONTRACT.operands["dst"]) for view in dsts]
    inputs = [_tile(match, "src", one, group, _CONTRACT.operands["src"]) if isinstance(one, View) else one for one in srcs]
    tiles = [one for one in inputs if isinstance(one, RegisterOperand)]
    repeats = prod(common_repeats(match, [*outputs, *tiles]))
    for one in outputs:
        one.check_distinct()
    late = _overwritten(outputs, tiles, repeats)
    targets = [one.column() for one in outputs]
    written = {register for column in targets for register in column}
    if len(written) < repeats * len(outputs):
        raise refuse(
            match, "dst", "two destinations share registers", rule="every element of a destination has a register of its own",
            legal="a tile for each destination, or parts that do not overlap",
        )  # fmt: skip
    read = [one.column() if isinstance(one, RegisterOperand) else None for one in inputs]
    pending: list[tuple[ir.Reg, ir.Operand, Type]] = []
    for element in range(repeats):
        region = Region(builder.region, "tile.ewise", where)
        outer, builder.region = builder.region, region
        try:
            start = len(builder.body)
            results = function(*[
                one if column is None else Scalar(builder, one.view.dtype, column[element], region, where)
                for one, column in zip(inputs, read)
            ])  # fmt: skip
            results = results if isinstance(results, tuple) else (results,)
            _check_results(builder, results, outputs, where)
            values = [as_value(builder, result, one.view.dtype, where) for one, result in zip(outputs, results)]
            sources = [operand(builder, value, where)[0] for value in values]  # refuses what another block or element holds
            for one, column, value, source in zip(outputs, targets, values, sources):
                target = column[element]
                if late:
                    pending.append((target, _kept(builder, value, source, written, where), one.view.dtype))
                elif sources.count(source) > 1 or not _retargeted(builder, target, value, start):
                    _copy(builder, target, source, one.view.dtype, where)
        finally:
            builder.region = outer
        outer.written.update(region.written)  # a px.reg that the function wrote: it runs wherever the call does
    for target, source, dtype in pending:
        _copy(builder, target, source, dtype, where)


def _tile(match: Match, name: str, view: Any, group: Group, contract: Operand) -> RegisterOperand:
    if not isinstance(view, View) or not isinstance(view.storage, Registers):
        raise refuse(
            match, name, f"{view!r} is no register tile", rule="a scalar function works on registers",
            legal="a px.local tile; load memory with tile.apply first",
        )  # fmt: skip
    view.check_visible()
    return RegisterOperand(match, name, contract, view.view(*view.shape, 1), group, Image.words(1, view.storage.container.bits))


def _check_results(builder: Builder, results: tuple[Any, ...], outputs: list[RegisterOperand], where: Any) -> None:
    if len(results) != len(outputs):
        raise TraceError(
            f"the function returns {_count(len(results), 'value')} where there {_are(len(outputs), 'destination')}",
            where=where, legal="one value for each destination: a tuple for several",
        )  # fmt: skip
    for result, one in zip(results, outputs):
        wanted = one.view.dtype
        if result is None or isinstance(result, View):
            found = "nothing" if result is None else "a view"
            raise TraceError(
                f"the function returns {found} for elements of .{wanted.name}", where=where, legal=f"a traced .{wanted.name}, or a number"
            )
        if isinstance(result, Value) and result.type.name != wanted.name:
            raise TraceError(
                f"the function returns .{result.type.name} for elements of .{wanted.name}",
                where=where, why="ewise converts nothing", legal=f"return x.to(px.{wanted.name}) or x.bitcast(px.{wanted.name})",
            )  # fmt: skip


def _overwritten(outputs: list[RegisterOperand], inputs: list[RegisterOperand], repeats: int) -> bool:
    """Whether some element is written before a later element reads the same register."""
    for written in outputs:
        writer = {int(written.slots[r, 0]): r for r in range(repeats)}
        for read in inputs:
            if read.storage is written.storage and any(writer.get(int(read.slots[r, 0]), r) < r for r in range(repeats)):
                return True
    return len(outputs) > 1 and any(read.storage is written.storage for read in inputs for written in outputs)


def _kept(builder: Builder, value: Value, source: ir.Operand, written: set[ir.Reg], where: Any) -> ir.Operand:
    """A result to be stored later: a copy where its register is written before, as an element's that is moved or that of a px.reg."""
    if source in written or getattr(value, "mutable", False):
        return emit(builder, mov_opcode(value.type), value.type, [value], where).operand
    return source


def _retargeted(builder: Builder, target: ir.Reg, value: Value, start: int) -> bool:
    """Have the instruction that made a result write into the destination itself, where that is its only purpose."""
    last = builder.body[-1] if len(builder.body) > start else None
    made = (
        isinstance(last, ir.Instruction)
        and last.guard is None
        and last.operands
        and last.operands[0] == value.operand
        and value.operand != target
        and value.region is builder.region
        and not getattr(value, "mutable", False)
    )
    if not made:
        return False
    assert isinstance(last, ir.Instruction) and isinstance(value.operand, ir.Reg)
    builder.body[-1] = ir.Instruction(last.opcode, (target, *last.operands[1:]), None, last.where)
    builder.release(value.operand)
    value.operand = target
    return True


def _copy(builder: Builder, target: ir.Reg, source: ir.Operand, dtype: Type, where: Any) -> None:
    if source != target:
        builder.append(ir.Instruction(mov_opcode(dtype), (target, source), None, where))
