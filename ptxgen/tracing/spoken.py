"""What the user calls a register: looked up when a message is written, so that a trace that succeeds pays nothing for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxgen import ir
from ptxgen.tracing.builder import Builder
from ptxgen.tracing.source import assigned_name

__all__ = ["spoken"]

_REGISTER = re.compile(r"(%(?:p|rb|rs|rd|rq|r|fd|f)\d+)(?:\.\d+)?\b")


def spoken(builder: Builder, text: str) -> str:
    """A message with the registers of a trace under the names that the user's Python gives them; others stay as they are."""
    return _REGISTER.sub(lambda found: _name(builder, found[1]) or found[1], text)


def _name(builder: Builder, register: str) -> str:
    for tile in builder.tiles:
        for number, one in enumerate(tile.registers):
            if one.name == register:
                return f"register {number} of {assigned_name(tile.where) or tile.name}"
    for mutable in builder.mutable:
        if getattr(mutable.operand, "name", "") == register:
            return assigned_name(mutable.where)
    instruction = next(_writers(builder, register), None)
    return "" if instruction is None else _source(instruction) or assigned_name(instruction.where, whole=True)


def _writers(builder: Builder, register: str) -> Iterator[ir.Instruction]:
    for statement in (*builder.prologue, *builder.body):
        if isinstance(statement, ir.Instruction) and statement.operands:
            target = statement.operands[0]
            if isinstance(target, ir.Reg) and target.name == register and not statement.opcode.startswith("st"):
                yield statement


def _source(instruction: ir.Instruction) -> str:
    """The parameter or special register that an instruction of the prologue reads."""
    source = instruction.operands[1] if len(instruction.operands) > 1 else None
    if isinstance(source, ir.Address) and isinstance(source.base, ir.Sym) and instruction.opcode.startswith("ld.param"):
        return source.base.name
    if isinstance(source, ir.Reg) and source.part is not None:
        return f"{source.name[1:]}.{source.part}"
    return ""
