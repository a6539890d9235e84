"""The last touch on a trace: arithmetic of ours or of Python's operators that nothing reads goes, registers are numbered as they appear.

Instructions that the user named stay, whatever becomes of their results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ptxgen import ir
from ptxgen.tracing.builder import Builder

__all__ = ["tidy"]


def tidy(builder: Builder) -> None:
    """Clean up `builder.prologue` and `builder.body` in place."""
    named = _named(builder)
    if _drop_unread(builder, named):
        named = _named(builder)
    _renumber(builder, named)


def _registers(operands: Iterable[ir.Operand], found: list[ir.Reg]) -> None:
    """Append all registers that operands name to `found`."""
    for operand in operands:
        kind = operand.__class__
        if kind is ir.Reg:
            found.append(operand)  # type: ignore[arg-type]
        elif isinstance(operand, ir.Vec):
            _registers(operand.items, found)
        elif isinstance(operand, ir.Address):
            if isinstance(operand.base, ir.Reg):
                found.append(operand.base)
            if operand.rest:
                _registers(operand.rest, found)
        elif isinstance(operand, ir.Pair):
            _registers((operand.first, operand.second), found)
        elif isinstance(operand, ir.Not):
            found.append(operand.reg)


def _named(builder: Builder) -> list[str]:
    """The name of every register that stands in a statement, in the order of the text."""
    found: list[ir.Reg] = []
    for statement in (*builder.prologue, *builder.body):
        if isinstance(statement, ir.Instruction):
            if statement.guard is not None:
                found.append(statement.guard.reg)
            _registers(statement.operands, found)
    return [register.name for register in found]


def _drop_unread(builder: Builder, named: list[str]) -> bool:
    """Remove results of pure instructions that nothing reads, and what only they read; whether there were any."""
    if not builder.droppable:
        return False
    makers: dict[str, ir.Instruction] = {}
    reads = Counter(named)
    for statement in (*builder.prologue, *builder.body):
        target = _droppable(builder, statement)
        if target is not None and target not in makers:  # what comes after the definition reads: bar.sync of a register
            makers[target] = statement  # type: ignore[assignment]
            reads[target] -= 1
    unread = [name for name in makers if not reads[name]]
    gone: set[int] = set()
    while unread:
        maker = makers[unread.pop()]
        gone.add(id(maker))
        sources: list[ir.Reg] = []
        _registers(maker.operands[1:], sources)
        for register in sources:
            reads[register.name] -= 1
            if not reads[register.name] and register.name in makers:
                unread.append(register.name)
    if gone:
        builder.prologue[:] = [one for one in builder.prologue if id(one) not in gone]
        builder.body[:] = [one for one in builder.body if id(one) not in gone]
    return bool(gone)


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
