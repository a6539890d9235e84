"""The error that names an instruction: what is wrong, the rule, one counter-example, and what would be legal."""

from __future__ import annotations

from typing import Any

from ptxgen.layouts.errors import PtxgenError

__all__ = ["InstructionError"]


class InstructionError(PtxgenError):
    """An instruction used against its contract.

    Parameters
    ----------
    problem : str
        One sentence: what is wrong with this use.
    opcode : str
        As the user wrote it.
    operand : str
        The operand's name in the contract's syntax line; empty where the opcode itself is wrong.
    rule : str
        The rule that is broken, as a sentence.
    section : str
        Section of the PTX ISA that states it.
    example : str
        One concrete counter-example: values, coordinates, an address.
    legal : str
        What would be legal here.
    where : object
        The user's line; str() of it opens the message. Set later by `at` where the raiser does not know it.
    """

    def __init__(
        self,
        problem: str,
        *,
        opcode: str = "",
        operand: str = "",
        rule: str = "",
        section: str = "",
        example: str = "",
        legal: str = "",
        where: Any = None,
    ) -> None:
        self.problem = problem
        self.opcode = opcode
        self.operand = operand
        self.rule = rule
        self.section = section
        self.example = example
        self.legal = legal
        self.where = where
        super().__init__(problem)

    def __str__(self) -> str:
        subject = self.opcode
        if self.operand:
            subject += f", operand {self.operand}" if subject else f"operand {self.operand}"
        lines = self.placed(f"{subject}: {self.problem}" if subject else self.problem)
        if self.rule:
            lines.append(f"  rule: {self.rule}" + (f" (PTX ISA {self.section})" if self.section else ""))
        elif self.section:
            lines.append(f"  see: PTX ISA {self.section}")
        if self.example:
            lines.append(f"  counter-example: {self.example}")
        if self.legal:
            lines.append(f"  legal: {self.legal}")
        return "\n".join(lines)
