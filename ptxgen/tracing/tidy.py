"""The last touch on a trace: arithmetic of ours or of Python's operators that nothing reads goes, registers are numbered as they appear.

Instructions that the user named stay, whatever becomes of their results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from ptxgen import ir
from ptxgen.tracing.builder import Builder

__all__ = ["tidy"]


def tidy(builder: Builder) -> None:
    """Clean up `builder.prologue` and `builder.body` in place."""
    statements = [*builder.prologue, *builder.body]
    named, ends = _named(statements)
    gone = _unread(builder, statements, named, ends)
    if gone:
        for part in (builder.prologue, builder.body):
            part[:] = [one for one in part if id(one) not in gone]
        kept = (named[start:end] for one, start, end in zip(statements, [0, *ends], ends) if id(one) not in gone)
        named = list(chain.from_iterable(kept))
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
            _registers(operand.items, found)
        elif isinstance(operand, ir.Pair):
            _registers((operand.first, operand.second), found)
        elif isinstance(operand, ir.Not):
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
    """The identities of pure instructions whose results nothing reads, or only such instructions."""
    if not builder.droppable:
        return set()
    makers: dict[str, int] = {}
    reads = Counter(named)
    for at, statement in enumerate(statements):
        target = _droppable(builder, statement)
        if target is not None and target not in makers:  # what comes after the definition reads: bar.sync of a register
            makers[target] = at
            reads[target] -= 1
    unread = [name for name in makers if not reads[name]]
    gone: set[int] = set()
    while unread:
        target = unread.pop()
        at = makers[target]
        gone.add(id(statements[at]))
        for name in named[ends[at - 1] if at else 0 : ends[at]]:
            if name != target:
                reads[name] -= 1
                if not reads[name] and name in makers:
                    unread.append(name)
    return gone


def _droppable(builder: Builder, statement: ir.Statement) -> str | None:
    """The register in the place of a result that a pure instruction defines; later instructions may read it there."""
    if not isinstance(statement, ir.Instruction) or not statement.operands:
        return None
    target = statement.operands[0]
    return target.name if isinstance(target, ir.Reg) and target.name in builder.droppable else None


def _renumber(builder: Builder, named: list[str]) -> None:
    """Number the registers of each class in the order in which the text names them."""
    names: dict[str, str] = {}
    counts = dict.fromkeys(builder.registers, 0)
    for name in dict.fromkeys(named):
        prefix = name.rstrip("0123456789")
        if prefix in counts:
            names[name] = f"{prefix}{counts[prefix]}"
            counts[prefix] += 1
    for handed_out in builder.registers.values():
        for register in handed_out:
            register.name = names.get(register.name, register.name)
    builder.count(counts)
