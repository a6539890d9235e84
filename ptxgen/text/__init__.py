"""PTX text: `write` a `ptxgen.ir.Module` and `read` one back, losing nothing that PTX says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxgen.text.errors import Position, Problem, ReadError
from ptxgen.text.writer import write, write_mapped, write_operand, write_statement

if TYPE_CHECKING:
    from ptxgen.text.reader import read, read_instruction

__all__ = [
    "Position", "Problem", "ReadError", "read", "read_instruction", "write", "write_mapped", "write_operand", "write_statement",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The reader, loaded when it is first asked for: its expressions take milliseconds to compile, and launching never reads."""
    if name not in ("read", "read_instruction"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ptxgen.text import reader

    globals()[name] = found = getattr(reader, name)
    return found
