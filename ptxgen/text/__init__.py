"""PTX text: `write` a `ptxgen.ir.Module` and `read` one back, losing nothing that PTX says."""

from ptxgen.text.errors import Position, Problem, ReadError
from ptxgen.text.reader import read, read_instruction
from ptxgen.text.writer import write, write_mapped, write_operand, write_statement

__all__ = [
    "Position", "Problem", "ReadError", "read", "read_instruction", "write", "write_mapped", "write_operand", "write_statement",
]  # fmt: skip
