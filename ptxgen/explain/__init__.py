"""`explain`: what a contract says about an opcode or a mnemonic, as data and as text."""

from __future__ import annotations

from ptxgen.explain.example import Example, example_of
from ptxgen.explain.facts import Explanation, Overview, explain
from ptxgen.explain.listing import Record, records
from ptxgen.explain.nearest import nearest_opcodes
from ptxgen.explain.registers import described_register, explain_register
from ptxgen.explain.words import described

__all__ = [
    "Example", "Explanation", "Overview", "Record", "described", "described_register", "example_of", "explain", "explain_register",
    "nearest_opcodes", "records",
]  # fmt: skip
