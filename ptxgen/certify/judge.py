"""Asks ptxas about thousands of statements at once.

The batches that ptxas sees hold statements of equal version, target and place (an entry or a device function); ptxas reports every
refused line, so one run judges a batch, and another one follows only where a refusal may have hidden others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

from ptxgen.assemble.cubin import parse_messages
from ptxgen.assemble.referee import run_ptxas
from ptxgen.assemble.tools import require_tool
from ptxgen.certify.statements import Statement
from ptxgen.certify.surroundings import module
from ptxgen.instructions.targets import Version

__all__ = ["Refusal", "judge", "refusals"]


_SECONDS = 20
"""So long a module may take: there are illegal statements for which ptxas 13.5 never ends generating code."""


def refusals(texts: Sequence[str], version: Version, target: str, place: str = "entry", *, generate: bool = False) -> dict[int, str]:
    """Indices of the statements that ptxas refuses, each with its first message.

    ptxas only reads and checks them unless it is told to `generate` code.
    """
    refused: dict[int, str] = {}
    groups = [list(range(len(texts)))]
    while groups:
        group = groups.pop()
        found, log = _refused_lines([texts[index] for index in group], version, target, place, generate)
        if log is None:
            continue
        refused.update((group[position], reason) for position, reason in found.items())
        if found:  # which may have hidden others
            groups.append([index for position, index in enumerate(group) if position not in found])
        elif len(group) > 1:  # an error without a line, or more registers than one function can have
            groups += [group[: len(group) // 2], group[len(group) // 2 :]]
        else:
            _surroundings_are_legal(version, target, place)
            refused[group[0]] = next((message.text for message in parse_messages(log) if message.failed), log)
    return refused


def _refused_lines(texts: Sequence[str], version: Version, target: str, place: str, generate: bool) -> tuple[dict[int, str], str | None]:
    """What one run of ptxas refuses, by position, and its log; no log where it refuses nothing."""
    architecture, options = (target, ("-w", "-O0")) if generate else (target.replace("sm_", "compute_"), ("-w",))
    text, first = module(texts, version, target, place)
    code, log = run_ptxas(require_tool("ptxas"), text, architecture, options, seconds=_SECONDS)
    if code is not None:
        return {}, None
    found: dict[int, str] = {}
    for message in parse_messages(log):
        if message.failed and message.line is not None and 0 <= message.line - first < len(texts):
            found.setdefault(message.line - first, message.text)
    return found, log


@lru_cache(maxsize=None)
def _surroundings_are_legal(version: Version, target: str, place: str) -> None:
    found, log = _refused_lines(["mov.b32 %b32_0, 1;"], version, target, place, False)
    if log is not None:
        raise AssertionError(f"ptxas refuses the surroundings of all statements for {target}: {found}\n{log[:2000]}")


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
