"""Asks ptxas about thousands of statements at once.

The batches that ptxas sees hold statements of equal version, target and place (an entry or a device function); ptxas reports every
refused line, so one run judges a batch, and another one follows only where a refusal may have hidden others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ptxgen.assemble.cubin import parse_messages
from ptxgen.assemble.referee import run_ptxas
from ptxgen.assemble.tools import require_tool
from ptxgen.certify.statements import Statement
from ptxgen.certify.surroundings import module
from ptxgen.instructions.targets import Version

__all__ = ["Refusal", "judge", "refusals"]


def refusals(texts: Sequence[str], version: Version, target: str, place: str = "entry", *, generate: bool = False) -> dict[int, str]:
    """Indices of the statements that ptxas refuses, each with its first message.

    ptxas only reads and checks them unless it is told to `generate` code.
    """
    tool = require_tool("ptxas")
    architecture, options = (target, ("-w", "-O0")) if generate else (target.replace("sm_", "compute_"), ("-w",))
    left = list(range(len(texts)))
    refused: dict[int, str] = {}
    while left:
        text, first = module([texts[index] for index in left], version, target, place)
        code, log = run_ptxas(tool, text, architecture, options)
        if code is not None:
            break
        found: dict[int, str] = {}
        for message in parse_messages(log):
            if message.failed and message.line is not None and 0 <= message.line - first < len(left):
                found.setdefault(left[message.line - first], message.text)
        if not found and generate and len(left) > 1:  # too many registers are live at once in one function
            for part in (left[: len(left) // 2], left[len(left) // 2 :]):
                inner = refusals([texts[index] for index in part], version, target, place, generate=True)
                refused.update({part[index]: reason for index, reason in inner.items()})
            break
        if not found:
            raise AssertionError(f"ptxas refuses the surroundings of {len(left)} statements for {target}:\n{log[:2000]}")
        refused.update(found)
        left = [index for index in left if index not in found]
    return refused


class Refusal(NamedTuple):
    statement: Statement
    version: Version
    target: str
    reason: str

    def __str__(self) -> str:
        return f".version {self.version[0]}.{self.version[1]} {self.target}: {self.statement.text}  -- {self.reason}"


def judge(placed: Iterable[tuple[Statement, Version, str]], *, generate: bool = False) -> list[Refusal]:
    """Ask ptxas about statements, each at its version and target; those that it refuses."""
    batches: dict[tuple[Version, str, str], list[Statement]] = {}
    for statement, version, target in placed:
        batches.setdefault((version, target, statement.place), []).append(statement)

    def one(batch: tuple[tuple[Version, str, str], list[Statement]]) -> list[Refusal]:
        (version, target, place), members = batch
        found = refusals([member.text for member in members], version, target, place, generate=generate)
        return [Refusal(members[index], version, target, reason) for index, reason in found.items()]

    with ThreadPoolExecutor(2) as pool:
        return [refusal for found in pool.map(one, batches.items()) for refusal in found]
