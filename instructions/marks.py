"""Marks on a register: the part that is selected, ``%r1.b0``, and the minus in front, ``-%r1`` (ISA 9.7.20, "Video Instructions")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.language import Operand

if TYPE_CHECKING:
    from ptxgen.instructions.checking import Given

__all__ = ["MARK_RULE", "NO_MARKS", "SELECTOR", "mark_problem", "selectable"]

SELECTOR = re.compile(r"[bh][0-7]+")
"""What selects a part of a register, as opposed to a component of a vector."""

MARK_RULE = "the syntax line says which operands select a part of a register and which may be negated"
NO_MARKS = Slot("")


def selectable(contract: Operand, selector: str) -> bool:
    """Whether a part of a register can be selected: ``"b0"`` where the contract says ``"b[0-3]"``."""
    return any(re.fullmatch(pattern, selector) for pattern in contract.selector.split())


def mark_problem(slot: Slot, contract: Operand, one: Given) -> str:
    """What is wrong with the marks of an operand in a position of the syntax line, or an empty text."""
    negated = one.kind == "negated"
    if negated and not slot.negation:
        return f"{one.text} is negated where the instruction takes a value as it is"
    if slot.negation == "required" and not negated:
        return f"{one.text} stands where the instruction takes a negated register"
    selector = one.items[0].selector if negated else one.selector
    if selector and not slot.selector:
        return f"{one.text} selects a part of a register where the instruction takes all of it"
    if selector and not selectable(contract, selector):
        return f"{one.text}: this operand has no part .{selector}"
    if slot.selector == "required" and not selector:
        return f"{one.text} is a whole register where the instruction takes a part of one"
    return ""
