"""Draws random small kernels and compares NumPy, the emulator and, on a machine with a Hopper GPU, the GPU bit by bit.

    python -m tests.random_kernels --seed 1 --count 200 --out report.json
    python -m tests.random_kernels --family wgmma --count 1000
    python -m tests.random_kernels --kernel '{"family": "cp.async", "fields": {...}, "seed": 0}'

The last form runs one kernel, as a report or a failing test names it, and shows its PTX.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # there is a process for each core already

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.machine import machine
from tests.random_kernels.drawing import Drawn, draw, reduced
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.workers import Outcome, gpu_missing, outcomes

SIMPLIFIED = 5
"""Differences that are made as simple as possible; others are only listed."""


def main() -> int:
    options = _options()
    console = Console()
    missing = "not asked for" if options.no_gpu else gpu_missing()
    if missing is None:
        import torch  # noqa: F401  # once, for all processes

    if options.kernel is not None:
        return _one(options.kernel, missing is None, console)
    processes = options.processes or os.cpu_count() or 1
    console.print(f"NumPy and the emulator{', and the GPU' if missing is None else f'; no GPU: {missing}'}; {processes} processes")
    families = options.family or list(FAMILIES)
    began = time.monotonic()
    found = _compared(families, options, processes, missing is None, console)
    seconds = time.monotonic() - began
    wrong = [outcome for outcome in found if outcome.wrong is not None]
    counts = _counts(families, found)
    _print(counts, seconds, console)
    differences: list[dict[str, Any]] = [{"kernel": json.loads(str(one.drawn)), "wrong": one.wrong} for one in wrong]
    report = {
        "machine": machine(), "seed": options.seed, "compared": ["NumPy", "emulator", *(["GPU"] if missing is None else [])],
        "kernels": len(found), "seconds": round(seconds, 1), "families": counts, "differences": differences,
    }  # fmt: skip
    _write(report, options.out)
    for outcome, told in zip(wrong[:SIMPLIFIED], differences):
        simplest = _simplest(outcome, processes)
        told["simplest"] = json.loads(str(simplest))
        console.print("simplest that differs so:")
        console.print(f"  python -m tests.random_kernels --kernel '{simplest}'", soft_wrap=True, markup=False, highlight=False)
        _write(report, options.out)
    return 1 if wrong else 0


def _write(report: dict[str, Any], out: Path | None) -> None:
    if out is not None:
        out.write_text(json.dumps(report, indent=2) + "\n")


def _options() -> argparse.Namespace:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.random_kernels", description=__doc__, formatter_class=kept)
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same kernels")
    parser.add_argument("--count", type=int, default=20, help="kernels of each family")
    parser.add_argument("--family", action="append", choices=list(FAMILIES), help="only this one; may be repeated")
    parser.add_argument("--processes", type=int, help="a process a core by default")
    parser.add_argument("--no-gpu", action="store_true", help="compare NumPy and the emulator alone")
    parser.add_argument("--out", type=Path, help="write the report as JSON")
    parser.add_argument("--kernel", type=Drawn.parse, help="run this one kernel and show its PTX")
    return parser.parse_args()


def _kernels(families: list[str], options: argparse.Namespace) -> Iterator[Drawn]:
    """The families in turn, so that slow ones don't come last."""
    rows = itertools.zip_longest(*(draw(family, options.count, options.seed) for family in families))
    return (drawn for row in rows for drawn in row if drawn is not None)


def _compared(families: list[str], options: argparse.Namespace, processes: int, gpu: bool, console: Console) -> list[Outcome]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    found = []
    # Processes that are replaced are forked from here, so there must be no thread that holds a lock.
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        task = progress.add_task("kernels", total=options.count * len(families))
        for outcome in outcomes(_kernels(families, options), processes, gpu):
            found.append(outcome)
            if outcome.wrong is not None:
                progress.console.print(f"[red]differs[/] {escape(str(outcome.drawn))}\n  {escape(outcome.wrong)}", soft_wrap=True)
            progress.advance(task)
            if len(found) % 10 == 0 or outcome.wrong is not None:
                progress.refresh()
    return found


def _simplest(outcome: Outcome, processes: int) -> Drawn:
    """The simplest kernel found that differs in the same way."""
    kind = _kind(outcome.wrong)

    def failing(candidates: list[Drawn]) -> list[Drawn]:
        found = outcomes(candidates, processes, kind == "GPU")
        alike = {str(one.drawn) for one in found if one.wrong is not None and _kind(one.wrong) == kind}
        return [one for one in candidates if str(one) in alike]

    return reduced(outcome.drawn, failing)


def _kind(wrong: str | None) -> str:
    """What two differences of the same kind have in common."""
    return "GPU" if "the GPU's" in str(wrong) or "on the GPU" in str(wrong) else str(wrong).partition(":")[0]


def _counts(families: list[str], found: list[Outcome]) -> dict[str, dict[str, float]]:
    total, wrong, seconds = Counter[str](), Counter[str](), Counter[str]()
    for outcome in found:
        total[outcome.drawn.family] += 1
        wrong[outcome.drawn.family] += outcome.wrong is not None
        seconds[outcome.drawn.family] += outcome.seconds  # type: ignore[assignment]
    return {
        family: {"kernels": total[family], "differ": wrong[family], "ms a kernel": round(1000 * seconds[family] / max(1, total[family]), 1)}
        for family in families
    }


def _print(counts: dict[str, dict[str, float]], seconds: float, console: Console) -> None:
    whole = sum(int(one["kernels"]) for one in counts.values())
    table = Table("family", "kernels", "differ", "ms a kernel", title=f"{whole} kernels, {seconds:.1f} s")
    for family, numbers in counts.items():
        table.add_row(family, *(str(number) for number in numbers.values()))
    console.print(table)


def _one(drawn: Drawn, gpu: bool, console: Console) -> int:
    console.print(drawn.build().kernel.ptx(comments=False), markup=False, highlight=False, soft_wrap=True)
    (outcome,) = outcomes([drawn], 1, gpu)
    console.print(outcome.wrong or "all agree", markup=False, soft_wrap=True)
    return 1 if outcome.wrong is not None else 0


if __name__ == "__main__":
    sys.exit(main())
