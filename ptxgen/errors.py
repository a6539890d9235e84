"""All errors of ptxgen, in one place to import from."""

from __future__ import annotations

from typing import Any

from ptxgen.instructions.errors import InstructionError
from ptxgen.layouts.errors import Impossible, LayoutError, PtxgenError

__all__ = ["Impossible", "InstructionError", "LayoutError", "PtxgenError", "TraceError"]


class TraceError(PtxgenError):
    """Python that would not do in a kernel what it seems to say, or a construct used where it has no meaning.

    Parameters
    ----------
    problem : str
        One sentence.
    where : object
        The user's line.
    why : str
        What would have happened.
    legal : str
        What to write instead.
    """

    def __init__(self, problem: str, *, where: Any = None, why: str = "", legal: str = "") -> None:
        self.problem = problem
        self.where = where
        self.why = why
        self.legal = legal
        self.opcode = ""
        super().__init__(problem)

    def of(self, opcode: str, operand: str = "") -> TraceError:
        """The same error, said of an instruction and its operand; an earlier one is kept."""
        if not self.opcode:
            self.opcode = f"{opcode}, operand {operand}" if operand else opcode
        return self

    def __str__(self) -> str:
        lines = self.placed(f"{self.opcode}: {self.problem}" if self.opcode else self.problem)
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.legal:
            lines.append(f"  legal: {self.legal}")
        return "\n".join(lines)
