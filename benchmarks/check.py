"""Lines a second that `ptxgen check` takes: reading, holding against contracts, linting, and all three.

    python -m benchmarks.check [--out FILE.json]

Over what nvcc made of the sources in tests/foreign for four targets. Single-threaded, in processor time, the best of five rounds;
contracts that the texts need are loaded before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.figures import report
from ptxgen.lint import lint
from ptxgen.text import read
from ptxgen.verify import verify

TEXTS = sorted((Path(__file__).resolve().parents[1] / "tests" / "foreign" / "ptx").glob("*.ptx"))
ROUNDS = 5

Given = TypeVar("Given")


def seconds(step: Callable[[Given], Any], over: Sequence[Given]) -> float:
    """Processor seconds of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for one in over:
            step(one)
        times.append(time.process_time() - start)
    return min(times)


def measure() -> Mapping[str, float | None]:
    texts = [path.read_text(encoding="utf-8") for path in TEXTS]
    modules = [read(text) for text in texts]
    for module in modules:
        verify(module), lint(module)
    lines = sum(text.count("\n") for text in texts)
    reading, verifying, linting = seconds(read, texts), seconds(verify, modules), seconds(lint, modules)
    return {
        "lines": lines,
        "read, lines/s": lines / reading,
        "verify, lines/s": lines / verifying,
        "lint, lines/s": lines / linting,
        "all, lines/s": lines / (reading + verifying + linting),
    }


if __name__ == "__main__":
    sys.exit(report(__doc__, measure))
