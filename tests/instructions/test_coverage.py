"""Every instruction of the ISA has a contract, and every contract is of an instruction of the ISA."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.gates import NEWEST
from ptxgen.certify.judge import refusals
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.registry import entries, mnemonics

LIST = Path(__file__).parent.parent / "data" / "isa_instructions.txt"
MISSING: frozenset[str] = frozenset()
"""Instructions without a contract."""


@lru_cache(maxsize=1)
def instructions() -> tuple[str, ...]:
    chapters = [line.partition(": ")[2] for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return tuple(dict.fromkeys(name for names in chapters for name in names.split()))


@lru_cache(maxsize=1)
def opcodes() -> frozenset[str]:
    """The longest spelling of each syntax line, and the names of the entries."""
    lines = {re.sub(r"[{}]", "", form.syntax.rstrip(";").partition(" ")[0]) for entry in entries() for form in forms(entry)}
    return frozenset(lines | {entry.name.partition(" ")[0] for entry in entries()})


def begins(opcode: str, name: str) -> bool:
    return opcode == name or opcode.startswith(name + ".")


def test_every_instruction_has_a_contract() -> None:
    assert len(instructions()) > 190
    assert {name for name in instructions() if not any(begins(opcode, name) for opcode in opcodes())} == MISSING


def test_every_contract_is_of_an_instruction() -> None:
    assert mnemonics() == {name.partition(".")[0] for name in instructions()}


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
def test_what_the_list_leaves_out_is_gone() -> None:
    texts = [
        "tensormap.query.rank.b32 %b32_0, [%b64_0];",
        "shfl.bfly.b32 %b32_0, %b32_1, 1, 31;",
        "vote.ballot.b32 %b32_0, %pred_1;",
    ]
    for version, target in (((6, 4), "sm_75"), (NEWEST, "sm_75"), (NEWEST, "sm_120a")):
        assert len(refusals(texts, version, target)) == len(texts)
