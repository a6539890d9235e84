"""The rule behind a refused operand, as a sentence with its section of the PTX ISA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.special import is_special

if TYPE_CHECKING:
    from ptxgen.instructions.checking import Given

__all__ = ["rule_of"]


def rule_of(match: Match, contract: Operand, one: Given) -> tuple[str, str]:
    """What an operand must be that `one` is not, and the section that says so."""
    section = match.entry.section
    if contract.kind == "address":
        if one.kind != "address":
            return "a memory operand is an address", "6.4.1"
        if one.value is not None or (one.type is not None and not one.named):
            return "an address is held by a register of 32 or 64 bits, as its state space asks", "6.4.1"
        return "the address lies in the state space that the opcode names", section
    if contract.kind in ("label", "function"):
        return "control goes to a name", "6.4.4"
    if contract.kind == "list":
        return "results and arguments of a call stand in parentheses", section
    if contract.kind == "sink":
        return "the instruction gives no result here, and _ says so", section
    if one.kind == "vector" or contract.braced or match.count(contract.vector) > 1:
        return _rule_of_vector(match, contract, one)
    return _rule_of_scalar(match, contract, one)


def _rule_of_vector(match: Match, contract: Operand, one: Given) -> tuple[str, str]:
    count = match.count(contract.vector)
    if one.kind != "vector" or len(one.items) != count:
        size = f"is a vector of {count}" if count > 1 or contract.braced else "is one register"
        return f"this operand {size}, as the opcode says", "6.4.3"
    if any(item.kind == "sink" for item in one.items):
        return _rule_of_scalar(match, contract, next(item for item in one.items if item.kind == "sink"))
    names = [item.text for item in one.items]
    if contract.role == "out" and len(set(names)) < len(names):
        return "the elements of a destination are different registers", match.entry.section
    return _rule_of_scalar(match, contract, one.items[0])


_ENCODED = "the instruction encodes this operand in few bits"


def _rule_of_scalar(match: Match, contract: Operand, one: Given) -> tuple[str, str]:
    section = match.entry.section
    if one.kind == "sink":
        return "the sink _ drops a result; a source has a value", section
    if one.kind == "not":
        return "only a predicate source can be negated, and not everywhere", section
    if one.kind in ("int", "float"):
        if contract.values is not None:
            few = isinstance(contract.values, tuple) or contract.values.step > 1
            return "the instruction has this operand for some numbers only" if few else _ENCODED, section
        return ("a constant has the operand's type", "4.5") if contract.role == "in" else ("a result goes to a register", section)
    if contract.kind == "immediate":
        return "this operand is part of the instruction's encoding", section
    if one.kind == "register" and is_special(one.text):
        return "a special register is read by mov", "10"
    if one.kind != "register":
        return "this operand is a register", section
    if contract.exact:
        return "a register has exactly the operand's type", section
    wide = match.allows(contract.wider)
    return f"a register has the operand's size{' or more' if wide else ''}, and its type or untyped bits", "9.4.1" if wide else "9.4"
