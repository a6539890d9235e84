"""Microseconds that an opcode costs: found and validated for the first time, and again; and what the registry adds to the import.

    python -m benchmarks.lookup [--out FILE.json]

Over all opcodes in tests/data. The families' modules are loaded and their syntax lines compiled before, which is measured by itself.
The best of five rounds.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.figures import report
from ptxgen.instructions import registry
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.registry import FAMILIES, family_entries, lookup

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
ROUNDS = 5


def expanded(pattern: str) -> Iterator[str]:
    """``cp.async.{ca,cg}`` -> its opcodes; what stands after a comma only may be left out with its dot."""
    opened = re.search(r"\{([^{}]*)\}", pattern)
    if opened is None:
        yield pattern
        return
    for choice in opened[1].split(","):
        yield from expanded(pattern[: opened.start()] + choice + pattern[opened.end() :])


def opcodes() -> list[str]:
    """Every opcode of tests/data that the registry knows."""
    lines = chain.from_iterable(path.read_text(encoding="utf-8").splitlines() for path in sorted(DATA.glob("*opcodes.txt")))
    spelled = chain.from_iterable(expanded(line.split()[0]) for line in lines if line.strip() and line[0] != "#")
    return [one for one in dict.fromkeys(spelled) if _known(one)]


def _known(opcode: str) -> bool:
    try:
        return bool(lookup(opcode))
    except InstructionError:
        return False


def times(opcode: str) -> tuple[float, float]:
    """Seconds of the first lookup and of the next, each the best of some rounds."""
    first, again = [], []
    for _ in range(ROUNDS):
        registry._lookup.cache_clear()
        start = time.thread_time()
        lookup(opcode)
        first.append(time.thread_time() - start)
        start = time.thread_time()
        for _ in range(100):
            lookup(opcode)
        again.append((time.thread_time() - start) / 100)
    return min(first), min(again)


def compiled() -> list[float]:
    """Seconds that the first opcode of each mnemonic takes to have its syntax lines compiled, their modules loaded."""
    registry.forget()
    for family in FAMILIES:
        for entry in family_entries(family):
            entry.compiled = None
    found = []
    for head in sorted(registry.mnemonics()):
        start = time.thread_time()
        registry._readings_of(head)
        found.append(time.thread_time() - start)
    return found


def imported() -> float:
    """Seconds that the registry adds to the import of ptxgen and its layouts, bytecode cached: the best of some processes."""
    code = (
        "import time, ptxgen, ptxgen.layouts\nstart = time.thread_time()\n"
        "import ptxgen.instructions.registry\nprint(time.thread_time() - start)"
    )
    with TemporaryDirectory() as cache:
        settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        settings["PYTHONPYCACHEPREFIX"] = cache
        command = [sys.executable, "-c", code]
        outputs = [subprocess.run(command, capture_output=True, text=True, check=True, env=settings).stdout for _ in range(ROUNDS)]
    return min(map(float, outputs))


def measure() -> Mapping[str, float | None]:
    compiling = compiled()
    names = opcodes()
    found = {opcode: times(opcode) for opcode in names}
    first, again = (sorted(one[place] * 1e6 for one in found.values()) for place in (0, 1))
    slowest = sorted(names, key=lambda opcode: -found[opcode][0])[:5]
    print("slowest:", *(f"\n  {found[opcode][0] * 1e6:6.1f} us {opcode}" for opcode in slowest))
    return {
        "opcodes": len(names),
        "first lookup, us, median": median(first),
        "first lookup, us, 99 in 100": first[len(first) * 99 // 100],
        "first lookup, us, slowest": first[-1],
        "again, us, median": median(again),
        "again, us, slowest": again[-1],
        "syntax lines of a mnemonic, ms, median": median(compiling) * 1e3,
        "syntax lines of a mnemonic, ms, slowest": max(compiling) * 1e3,
        "import of the registry, ms": imported() * 1e3,
    }


if __name__ == "__main__":
    sys.exit(report(__doc__, measure))
