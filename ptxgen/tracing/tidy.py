"""The last touch on a trace: arithmetic of ours or of Python's operators that nothing reads goes, registers are numbered as they appear.

Instructions that the user named stay, whatever becomes of their results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ptxgen import ir
from ptxgen.tracing.builder import Builder

__all__ = ["tidy"]

_REGISTERS_ALONE = {ir.Reg}


def tidy(builder: Builder) -> None:
    """Clean up `builder.prologue` and `builder.body` in place."""
    statements = [*builder.prologue, *builder.body]
    named, ends = _named(statements)
    first = len(builder.prologue)
    for at in sorted(_unread(builder, statements, named, ends), reverse=True):
        del statements[at], named[ends[at - 1] if at else 0 : ends[at]]
        first -= at < first
    builder.prologue[:], builder.body[:] = statements[:first], statements[first:]
    _renumber(builder, named)


def _registers(operands: Iterable[ir.Operand], found: list[ir.Reg]) -> None:
    """Append all registers that operands name to `found`."""
    for operand in operands:
        kind = operand.__class__
        if kind is ir.Reg:
            found.append(operand)  # type: ignore[arg-type]
        elif isinstance(operand, ir.Address):
            if isinstance(operand.base, ir.Reg):
                found.append(operand.base)
            if operand.rest:
                _registers(operand.rest, found)
        elif isinstance(operand, ir.Vec):
            if set(map(type, operand.items)) == _REGISTERS_ALONE:
                found += operand.items  # type: ignore[arg-type]
            else:
                _registers(operand.items, found)
        elif isinstance(operand, ir.Pair):
            _registers((operand.first, operand.second), found)
        elif isinstance(operand, (ir.Not, ir.Neg)):
            found.append(operand.reg)


def _named(statements: Iterable[ir.Statement]) -> tuple[list[str], list[int]]:
    """The name of every register that stands in a statement, in the order of the text; how many there are up to each statement's end."""
    found: list[ir.Reg] = []
    ends: list[int] = []
    for statement in statements:
        _note(statement, found)
        ends.append(len(found))
    return [register.name for register in found], ends


def _note(statement: ir.Statement, found: list[ir.Reg]) -> None:
    if isinstance(statement, ir.Instruction):
        if statement.guard is not None:
            found.append(statement.guard.reg)
        _registers(statement.operands, found)
    elif isinstance(statement, ir.Block):  # a call, with what carries its arguments and results
        for inner in statement.body:
            _note(inner, found)


def _unread(builder: Builder, statements: list[ir.Statement], named: list[str], ends: list[int]) -> set[int]:
    """The places of pure instructions whose results nothing reads, or only such instructions."""
    droppable = builder.droppable
    makers: dict[str, int] = {}
    reads = Counter(named)
    for at, statement in enumerate(statements):
        if statement.__class__ is ir.Instruction and statement.operands:  # type: ignore[union-attr]
            target = statement.operands[0]  # type: ignore[union-attr]
            # What comes after the definition reads, also in the place of a result: bar.sync of a register.
            if target.__class__ is ir.Reg and target.name in droppable and target.name not in makers:
                makers[target.name] = at
                reads[target.name] -= 1
    unread = [name for name in makers if not reads[name]]
    gone: set[int] = set()
    while unread:
        dropped = unread.pop()
        at = makers[dropped]
        gone.add(at)
        for name in named[ends[at - 1] if at else 0 : ends[at]]:
            if name != dropped:
                reads[name] -= 1
                if not reads[name] and name in makers:
                    unread.append(name)
    return gone


def _renumber(builder: Builder, named: list[str]) -> None:
    """Number the registers of each class in the order in which the text names them."""
    places = {name: place for place, name in enumerate(dict.fromkeys(named))}
    counts: dict[str, int] = {}
    for prefix, handed_out in builder.registers.items():
        kept = sorted([one for one in handed_out if one.name in places], key=lambda one: places[one.name])
        for number, register in enumerate(kept):
            register.name = f"{prefix}{number}"
        counts[prefix] = len(kept)
    for part, register in builder.parts:
        part.name = register.name
    builder.count(counts)
