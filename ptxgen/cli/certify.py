"""``ptxgen certify``: contracts and ptxas against each other, with a bar while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ptxgen.certify.differences import known_differences
from ptxgen.certify.run import Advance, Summary, certify, certify_sample
from ptxgen.cli.output import UsageError
from ptxgen.instructions.registry import FAMILIES

__all__ = ["certify_contracts"]

_SHOWN = 20


def certify_contracts(families: Sequence[str], sample: int | None, seed: int, mutants: int, out: Path, resume: bool, as_json: bool) -> int:
    """Run it and print what came out; 1 where something is unexplained."""
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        raise UsageError(f"no family is called {unknown[0]}; families: {', '.join(FAMILIES)}")
    with _bar() as advance:
        if sample is not None:
            summary = certify_sample(families, sample, seed, advance)
        else:
            summary = certify(families, seed, mutants, out, resume, advance)
    if as_json:
        print(json.dumps(summary.as_dict()))
    else:
        _show(summary)
    return 1 if summary.unexplained else 0


@contextmanager
def _bar() -> Iterator[Advance]:
    columns = TextColumn("certify"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("certify", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _show(summary: Summary) -> None:
    console = Console(soft_wrap=True, highlight=False)
    table = Table("known kind of difference", "", "PTX ISA", "times")
    for known in known_differences():
        table.add_row(known.name, known.verdict, known.section, str(summary.kinds[known.name]))
    console.print(table)
    for difference in summary.unexplained[:_SHOWN]:
        console.print(f"[{difference.case.kind}] {difference}", markup=False)
    if len(summary.unexplained) > _SHOWN:
        console.print(f"and {len(summary.unexplained) - _SHOWN} more")
    console.print(", ".join(f"{number} {name.replace('_', ' ')}" for name, number in summary.as_dict().items()))
