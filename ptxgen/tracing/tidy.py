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
    rows = [(statement, _named(statement)) for statement in (*builder.prologue, *builder.body)]
    gone = _unread(builder, rows)
    if gone:
        builder.prologue[:] = [one for one in builder.prologue if id(one) not in gone]
        builder.body[:] = [one for one in builder.body if id(one) not in gone]
        rows = [row for row in rows if id(row[0]) not in gone]
    _renumber(builder, [register.name for _, named in rows for register in named])


_Row = tuple[ir.Statement, list[ir.Reg]]


def _registers(operands: Iterable[ir.Operand], found: list[ir.Reg]) -> None:
    """Append all registers that operands name to `found`."""
    for operand in operands:
        kind = operand.__class__
        if kind is ir.Reg:
            found.append(operand)  # type: ignore[arg-type]
        elif isinstance(operand, ir.Address):
            _registers((operand.base, *operand.rest), found)
        elif isinstance(operand, ir.Vec):
            _registers(operand.items, found)
        elif isinstance(operand, ir.Pair):
            _registers((operand.first, operand.second), found)
        elif isinstance(operand, ir.Not):
            found.append(operand.reg)


def _named(statement: ir.Statement) -> list[ir.Reg]:
    """Every register that stands in a statement, in the order of the text."""
    found: list[ir.Reg] = []
    if isinstance(statement, ir.Instruction):
        if statement.guard is not None:
            found.append(statement.guard.reg)
        _registers(statement.operands, found)
    elif isinstance(statement, ir.Block):  # a call, with what carries its arguments and results
        for inner in statement.body:
            found += _named(inner)
    return found


def _unread(builder: Builder, rows: list[_Row]) -> set[int]:
    """The identities of pure instructions whose results nothing reads, or only such instructions."""
    makers: dict[str, _Row] = {}
    reads = Counter([register.name for _, named in rows for register in named])
    for row in rows if builder.droppable else ():
        target = _droppable(builder, row[0])
        if target is not None and target not in makers:  # what comes after the definition reads: bar.sync of a register
            makers[target] = row
            reads[target] -= 1
    unread = [name for name in makers if not reads[name]]
    gone: set[int] = set()
    while unread:
        target = unread.pop()
        maker, named = makers[target]
        gone.add(id(maker))
        for name in [register.name for register in named]:
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
