"""What `verify` finds."""

from __future__ import annotations

from typing import Any

from ptxgen.instructions.errors import InstructionError

__all__ = ["SWITCHES", "Problem", "explained"]

SWITCHES = {
    "misaligned": "a variable's address or an offset from it is not a multiple of the bytes that are accessed there",
    "out-of-bounds": "an access by name leaves its variable",
    "no-component": "a part of a vector register that it does not have, which ptxas takes all the same",
    "version": "a module newer than what is known here, so that its own news is not",
    "target": "a target older than what is known here",
    "qualifier-order": "qualifiers in another order than the ISA's, which ptxas takes all the same",
    "illegal-instruction": "for a target older than what is known here: a form that newer ones do not have",
    "illegal-operand": "for a target older than what is known here: an operand that newer ones do not take",
    "not-yet-known": "an instruction of the ISA that has no contract here",
}
"""What is no error, and can be switched off by its id: what it says."""


class Problem:
    """One finding about a module.

    Attributes
    ----------
    severity : str
        ``"error"`` (an assembler would refuse it, or it is wrong whenever it is executed), ``"warning"`` (it assembles, and misbehaves
        when run) or ``"note"`` (what could not be judged, or may be meant).
    id : str
        Which kind of finding, e.g. ``"undeclared-register"``; stable, for filters.
    message : str
        What is wrong; further lines give the rule with its ISA section, and what would be legal.
    position : Position or None
        Where the statement begins; None for a module that was not read from a text.
    focus : str
        The part of the statement that is meant, such as a register's name; empty for the whole.
    """

    __slots__ = ("focus", "id", "message", "position", "severity")

    def __init__(self, severity: str, id: str, message: str, position: Any, focus: str = "") -> None:
        self.severity = severity
        self.id = id
        self.message = message
        self.position = position
        self.focus = focus

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position is not None else ""
        return f"{place}{self.severity} {self.id}: {self.message}"

    def __repr__(self) -> str:
        return f"<{self.severity} {self.id} at {self.position}>"


def explained(
    problem: str, *, opcode: str = "", operand: str = "", rule: str = "", section: str = "", example: str = "", legal: str = ""
) -> str:
    """A message in the words and order of every other message about an instruction."""
    error = InstructionError(problem, opcode=opcode, operand=operand, rule=rule, section=section, example=example, legal=legal)
    return str(error)
