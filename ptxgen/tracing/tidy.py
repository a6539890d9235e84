"""The last touch on a trace: arithmetic of ours or of Python's operators that nothing reads goes, registers are numbered as they appear.

Instructions that the user named stay, whatever becomes of their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxgen import ir
from ptxgen.tracing.builder import Builder

__all__ = ["tidy"]


def tidy(builder: Builder) -> None:
    """Clean up `builder.prologue` and `builder.body` in place."""
    _drop_unread(builder)
    _renumber(builder)


def _registers(operands: Iterable[ir.Operand]) -> Iterator[ir.Reg]:
    for operand in operands:
        if isinstance(operand, ir.Reg):
            yield operand
        elif isinstance(operand, ir.Address):
            if isinstance(operand.base, ir.Reg):
                yield operand.base
            yield from _registers(operand.rest)
        elif isinstance(operand, ir.Vec):
            yield from _registers(operand.items)
        elif isinstance(operand, ir.Pair):
            yield from _registers((operand.first, operand.second))
        elif isinstance(operand, ir.Not):
            yield operand.reg


def _of(statement: ir.Statement) -> Iterator[ir.Reg]:
    """All registers that a statement names, those that it writes first."""
    if isinstance(statement, ir.Instruction):
        if statement.guard is not None:
            yield statement.guard.reg
        yield from _registers(statement.operands)


def _drop_unread(builder: Builder) -> None:
    """Remove results of pure instructions that nothing reads, and what only they read."""
    if not builder.droppable:
        return
    reads: dict[str, int] = {}
    makers: dict[str, ir.Instruction] = {}
    for statement in (*builder.prologue, *builder.body):
        for register in _of(statement):
            reads[register.name] = reads.get(register.name, 0) + 1
        target = _droppable(builder, statement)
        if target is not None:
            makers[target] = statement  # type: ignore[assignment]
            reads[target] -= 1
    unread = [name for name in makers if not reads[name]]
    gone: set[int] = set()
    while unread:
        maker = makers[unread.pop()]
        gone.add(id(maker))
        for register in _registers(maker.operands[1:]):
            reads[register.name] -= 1
            if not reads[register.name] and register.name in makers:
                unread.append(register.name)
    if gone:
        builder.prologue[:] = [one for one in builder.prologue if id(one) not in gone]
        builder.body[:] = [one for one in builder.body if id(one) not in gone]


def _droppable(builder: Builder, statement: ir.Statement) -> str | None:
    """The register that a pure instruction writes."""
    if not isinstance(statement, ir.Instruction) or not statement.operands:
        return None
    target = statement.operands[0]
    return target.name if isinstance(target, ir.Reg) and target.name in builder.droppable else None


def _renumber(builder: Builder) -> None:
    """Number the registers of each class in the order in which the text names them."""
    names: dict[str, str] = {}
    counts = dict.fromkeys(builder.registers, 0)
    for statement in (*builder.prologue, *builder.body):
        for register in _of(statement):
            prefix = register.name.rstrip("0123456789")
            if register.name not in names and prefix in counts:
                names[register.name] = f"{prefix}{counts[prefix]}"
                counts[prefix] += 1
    for handed_out in builder.registers.values():
        for register in handed_out:
            register.name = names.get(register.name, register.name)
    builder.count(counts)
