"""Accesses to a variable by name: whether they lie inside it and are aligned (ISA 6.4.1: an address is naturally aligned)."""

from __future__ import annotations

from typing import NamedTuple

from ptxgen.instructions.checking import Checked
from ptxgen.instructions.types import TYPES
from ptxgen.ir import Address, Operand, Sym, Variable
from ptxgen.text.writer import write_operand
from ptxgen.verify.names import Names
from ptxgen.verify.operands import Report
from ptxgen.verify.problems import explained

__all__ = ["alignment_of", "check_accesses", "size_of"]


class _Access(NamedTuple):
    opcode: str
    section: str
    text: str
    variable: Variable
    offset: int
    bytes: int


def check_accesses(checked: Checked, operands: tuple[Operand, ...], names: Names, report: Report) -> None:
    """Report accesses through ``[name+offset]`` that miss the variable's space, are misaligned, or leave the variable."""
    named = [one for one in operands if isinstance(one, Address) and isinstance(one.base, Sym)]
    if not named:
        return
    match = checked.match
    name_of = {one.text: name for name, one in checked.operands}
    given = {one.text: (contract, one) for name, one in checked.operands if (contract := match.entry.operands[name]).kind == "address"}
    for operand in named:
        assert isinstance(operand.base, Sym)
        known = given.get(write_operand(operand))
        variable = names.find(operand.base.name)
        if known is None or not isinstance(variable, Variable) or not known[0].type:
            continue
        contract, one = known
        if contract.role != "in" and variable in names.inputs:
            _refuse_write(match.opcode, match.entry.section, name_of[one.text], one.text, report)
        space = match.value(contract.space) if contract.space.startswith(".") else contract.space
        if not space and one.space in ("const", "param"):
            _refuse_generic(match.opcode, match.entry.section, one.text, one.space, report)
        size = max(1, match.type(contract.type).bits // 8) * match.count(contract.vector)
        access = _Access(match.opcode, match.entry.section, one.text, variable, operand.offset, size)
        _check_bounds(access, report)
        _check_alignment(access, report)


def _refuse_write(opcode: str, section: str, operand: str, text: str, report: Report) -> None:
    message = explained(
        f"{text} is written, and it is an input parameter of the function",
        opcode=opcode,
        operand=operand,
        rule="a function reads its input parameters and writes its return parameters",
        section=section,
    )
    report("illegal-operand", message, text)


def _refuse_generic(opcode: str, section: str, text: str, space: str, report: Report) -> None:
    message = explained(
        f"{text} lies in .{space}, which an access without a state space does not reach by name",
        opcode=opcode,
        operand="a",
        section=section,
        legal=f"{opcode.partition('.')[0]}.{space}",
    )
    report("illegal-operand", message, text)


def _check_bounds(access: _Access, report: Report) -> None:
    size = size_of(access.variable)
    if size is None or (access.variable.linkage == "extern" and not size) or 0 <= access.offset <= size - access.bytes:
        return
    message = explained(
        f"{access.text} reaches bytes {access.offset} to {access.offset + access.bytes - 1} of {access.variable.name}, which has {size}",
        opcode=access.opcode,
        section="6.4.1",
        legal=f"offsets 0 to {size - access.bytes}" if size >= access.bytes else f"an access of at most {size} bytes",
    )
    report("warning out-of-bounds", message, access.text)


def _check_alignment(access: _Access, report: Report) -> None:
    align = alignment_of(access.variable)
    if access.offset % min(align, access.bytes) == 0 and align >= access.bytes:
        return
    name, bytes = access.variable.name, access.bytes
    if access.offset % min(align, bytes):
        problem = f"{access.text} is never a multiple of {bytes} bytes: {name} is aligned to {align}"
    else:
        problem = f"nothing says that {access.text} is a multiple of {bytes} bytes: {name} is aligned to {align}"
    message = explained(
        problem,
        opcode=access.opcode,
        rule=f"an access of {bytes} bytes needs an address that is a multiple of {bytes}",
        section="6.4.1",
        legal=f".{access.variable.space} .align {bytes} {name}, and an offset that is a multiple of {bytes}",
    )
    report("warning misaligned", message, access.text)


def size_of(variable: Variable) -> int | None:
    """Bytes of a variable; None for an open array."""
    size = max(1, TYPES[variable.type].bits // 8) * (variable.vector or 1)
    for extent in variable.dims:
        if extent is None:
            return None
        size *= extent
    return size


def alignment_of(variable: Variable) -> int:
    """Bytes that the variable's address is a multiple of: what it says, else its element's size (ISA 5.4.5)."""
    return variable.align or max(1, TYPES[variable.type].bits // 8) * (variable.vector or 1)
