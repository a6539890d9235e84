"""``ptxgen check``: reads texts, verifies and lints them, and shows each problem in its line."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ptxgen.cli.output import UsageError, print_json
from ptxgen.lint import LINTS, lint
from ptxgen.text import ReadError, read
from ptxgen.verify import SWITCHES, Problem, verify

__all__ = ["Finding", "check_files", "check_text"]


class Finding(NamedTuple):
    """A problem and its place in the text: line and columns count from 1, `end` is the column behind what is meant."""

    file: str
    line: int
    column: int
    end: int
    severity: str
    id: str
    message: str
    source: str

    def __str__(self) -> str:
        head, _, details = self.message.partition("\n")
        # Tabs stay tabs in front of the marks, so that they stand below what they mark at any tab width.
        indent = "".join("\t" if character == "\t" else " " for character in self.source[: self.column - 1])
        lines = [f"{self.file}:{self.line}:{self.column}: {self.severity} {self.id}: {head}"]
        if self.source:
            lines += [f"    {self.source}", f"    {indent}{'^' * max(1, self.end - self.column)}"]
        return "\n".join((*lines, details) if details else lines)


def check_files(files: Sequence[str], target: str | None, json: bool, assemble: bool, without: Sequence[str] = ()) -> int:
    """Check each file and print what was found, but for lints, warnings and notes of the ids `without`; 1 where there is an error.

    Raises
    ------
    UsageError
        For an id that is none.
    """
    _check_switches(without)
    found: list[Finding] = []
    for file in files:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8", errors="replace")
        name = "<stdin>" if file == "-" else file
        here = [one for one in check_text(text, name, target, assemble) if one.id not in without or not _can_be_left_out(one)]
        found += here
        if not json:
            for finding in here:
                print(finding)
            print(f"{name}: {_summary(here)}")
    if json:
        print_json([finding._asdict() for finding in found])
    return 1 if any(finding.severity == "error" for finding in found) else 0


def check_text(text: str, file: str, target: str | None = None, assemble: bool = False) -> list[Finding]:
    """Everything found wrong with a text, in its order; with `assemble` also what the installed assembler says.

    Raises
    ------
    PtxgenError
        For an unknown target.
    """
    lines = text.split("\n")
    try:
        module = read(text, filename=file)
    except ReadError as error:
        return [
            Finding(file, one.position.line, one.position.column, one.position.column + 1, "error", "syntax", one.message, one.source)
            for one in error.problems
        ]
    problems = verify(module, target=target)
    if all(problem.severity != "error" or problem.id in ("version", "target") for problem in problems):
        problems += lint(module)  # what is misspelled would only be misunderstood
    found = [_placed(problem, file, lines) for problem in problems]
    if assemble:
        found += _assembled(text, file, target, lines)
    return sorted(found, key=lambda finding: (finding.line, finding.column))


def _can_be_left_out(finding: Finding) -> bool:
    return finding.severity != "error" or finding.id in LINTS


def _check_switches(ids: Sequence[str]) -> None:
    switches = {**SWITCHES, **{id: f"expects that {lint.rule}" for id, lint in LINTS.items() if id not in SWITCHES}}
    for id in ids:
        if id not in switches:
            known = "\n".join(f"  {name:22} {says}" for name, says in switches.items())
            raise UsageError(f"--no {id}: there is no such warning; those that can be left out are\n{known}")


def _summary(found: Sequence[Finding]) -> str:
    counts = [(kind, sum(one.severity == kind for one in found)) for kind in ("error", "warning", "note")]
    return ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts if count) or "ok"


# ---- places -----------------------------------------------------------------------------------------------------------


def _placed(problem: Problem, file: str, lines: Sequence[str]) -> Finding:
    """Find what a problem means in its statement; one of the whole module is looked for from the top."""
    where = problem.position
    line, column = (where.line, where.column) if where is not None else (1, 1)
    place = _find(problem.focus, line, column, lines, to_the_end=where is None)
    if place is None:
        source = lines[line - 1] if line <= len(lines) else ""
        word = re.match(r"[^\s;]*", source[column - 1 :])
        place = line, column, column + (word.end() if word else 0)
    line, column, end = place
    source = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
    return Finding(file, line, column, end, problem.severity, problem.id, problem.message, source)


def _find(focus: str, line: int, column: int, lines: Sequence[str], *, to_the_end: bool) -> tuple[int, int, int] | None:
    """(line, column, end) of a word, from a place to the end of the statement there."""
    if not focus:
        return None
    word = re.compile(rf"(?<![\w$%.]){re.escape(focus)}(?![\w$])" if focus[0] not in ".[({" else re.escape(focus))
    for number in range(line, len(lines) + 1):
        source = lines[number - 1].partition("//")[0]
        start = column - 1 if number == line else 0
        found = word.search(source, start)
        if found is not None:
            return number, found.start() + 1, found.end() + 1
        if not to_the_end and ";" in source[start:]:
            return None
    return None


# ---- the assembler ----------------------------------------------------------------------------------------------------


def _assembled(text: str, file: str, target: str | None, lines: Sequence[str]) -> list[Finding]:
    from ptxgen.assemble import AssemblyError, MissingTool
    from ptxgen.assemble import assemble as run_assembler
    from ptxgen.layouts.errors import PtxgenError

    def finding(severity: str, id: str, message: str, line: int | None = None) -> Finding:
        source: Any = lines[line - 1].rstrip("\r") if line is not None and 0 < line <= len(lines) else ""
        column = len(source) - len(source.lstrip()) + 1
        return Finding(file, line or 1, column, column + len(source.strip()), severity, id, message, source)

    try:
        run_assembler(text, target)
    except MissingTool as error:
        return [finding("note", "no-assembler", str(error))]
    except AssemblyError as error:
        return [finding("error", "assembler", one.text, one.line) for one in error.messages]
    except PtxgenError as error:
        return [finding("error", "assembler", str(error))]
    return []
