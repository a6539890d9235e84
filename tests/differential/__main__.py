"""Compares the emulator's bits with a GPU's: every form of the registry that the GPU's target has, on random and special values.

    python -m tests.differential --seed 1 --count 1024 --out report.json
    python -m tests.differential --family video --opcode vadd.s32

Without a GPU every form is executed in the emulator alone. Instructions that approximate are held to the error that the ISA states.
Interrupted, it still writes its report.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # there is a process for each core already

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ptxgen.instructions.targets import Version
from tests.crew import in_a_process
from tests.differential.catalogue import Case, cases, families
from tests.differential.comparing import Spent, compared
from tests.differential.report import Report
from tests.differential.sections import THREADS

TARGET: str = "sm_90a"
VERSION: Version = (9, 0)
"""What a run without a GPU is for."""


def main() -> int:
    options = _options()
    console = Console()
    missing = "not asked for" if options.no_gpu else in_a_process(_no_gpu)
    target, version = (TARGET, VERSION) if missing is not None else in_a_process(_described)
    count = -(-options.count // THREADS) * THREADS
    began = time.monotonic()
    skipped: dict[str, str] = {}
    chosen = _chosen(options, target, version, skipped)
    what = f"the emulator{' and the GPU' if missing is None else f'; no GPU: {missing}'}"
    console.print(f"{len(chosen)} statements for {target}, {count} values each: {what}; {options.processes} processes")
    report = Report(chosen, skipped, target=target, version=version, seed=options.seed, count=count, missing=missing)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # Processes that are replaced are forked from here, so there must be no thread that holds a lock.
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        task = progress.add_task("statements", total=len(chosen))
        outcomes = compared(
            chosen, target, version, seed=options.seed, count=count, processes=options.processes, gpu=missing is None
        )  # fmt: skip
        try:
            for outcome in outcomes:
                if isinstance(outcome, Spent):
                    report.took(outcome)
                    progress.refresh()
                else:
                    report.add(outcome)
                    progress.advance(task)
        except KeyboardInterrupt:
            console.print("interrupted: the report holds what is done")
    report.finish(time.monotonic() - began)
    report.show(console)
    if options.out is not None:
        report.write(options.out)
    return 1 if report.unexplained or report.failed or report.missing else 0


def _options() -> argparse.Namespace:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.differential", description=__doc__, formatter_class=kept)
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same values")
    parser.add_argument("--count", type=int, default=1024, help="values for each statement, a multiple of the 256 threads of a block")
    parser.add_argument("--family", action="append", choices=families(), help="only this one; may be repeated")
    parser.add_argument("--opcode", default="", help="only opcodes that begin so")
    parser.add_argument("--sample", type=int, help="so many random statements of each family")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="a process a core by default")
    parser.add_argument("--no-gpu", action="store_true", help="execute everything in the emulator alone")
    parser.add_argument("--out", type=Path, help="write the report as JSON")
    return parser.parse_args()


def _chosen(options: argparse.Namespace, target: str, version: Version, skipped: dict[str, str]) -> list[Case]:
    found: list[Case] = []
    rng = random.Random(options.seed)
    for family in options.family or families():
        known = [case for case in cases(family, target, version, options.seed, skipped) if case.text.startswith(options.opcode)]
        found += rng.sample(known, min(options.sample, len(known))) if options.sample is not None else known
    return found


def _no_gpu() -> str | None:
    from ptxgen.runtime import no_gpu_reason

    return no_gpu_reason()


def _described() -> tuple[str, Version]:
    """The target of the GPU, and the newest PTX that its driver reads."""
    from ptxgen.runtime import current_device

    device = current_device()
    return device.best_target, device.ptx_version


if __name__ == "__main__":
    sys.exit(main())
