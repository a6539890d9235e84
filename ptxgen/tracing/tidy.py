"""The last touch on a trace: arithmetic of ours or of Python's operators that nothing reads goes, registers are numbered as they appear.

Instructions that the user named stay, whatever becomes of their results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count
from operator import attrgetter

from ptxgen import ir
from ptxgen.tracing.builder import Builder

__all__ = ["tidy"]

_REGISTERS_ALONE = {ir.Reg}
_NAME = attrgetter("name")


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


def _registers(operands: tuple[ir.Operand, ...], found: list[ir.Reg]) -> None:
    """Append all registers that operands name to `found`."""
    if set(map(type, operands)) == _REGISTERS_ALONE:
        found += operands  # type: ignore[arg-type]
        return
    for operand in operands:
        kind = operand.__class__
        if kind is ir.Reg:
            found.append(operand)  # type: ignore[arg-type]
        elif kind is ir.Address:
            _registers((operand.base, *operand.rest), found)  # type: ignore[union-attr]
        elif kind is ir.Vec:
            _registers(operand.items, found)  # type: ignore[union-attr]
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
    return list(map(_NAME, found)), ends


def _note(statement: ir.Statement, found: list[ir.Reg]) -> None:
    if statement.__class__ is ir.Instruction:
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
        if statement.__class__ is ir.Instruction and statement.operands:
            target = statement.operands[0]
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
    places = dict(zip(dict.fromkeys(named), count()))
    counts: dict[str, int] = {}
    for prefix, handed_out in builder.registers.items():
        own = dict(zip(map(_NAME, handed_out), handed_out))
        kept = sorted(own.keys() & places.keys(), key=places.__getitem__)
        for number, name in enumerate(kept):
            own[name].name = f"{prefix}{number}"
        counts[prefix] = len(kept)
    for part, register in builder.parts:
        part.name = register.name
    builder.count(counts)
