"""The summary of a whole certification, from the file that ``ptxgen certify --out STATE`` keeps.

    python -m benchmarks.certify STATE [--out FILE.json]

Counts of statements and differences, and how often each known kind of difference was met.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.machine import machine
from ptxgen.certify.cases import GATES, LEGAL
from ptxgen.certify.run import Record, Summary


def figures(state: Path) -> Mapping[str, object]:
    """What stands in a state file, summed up."""
    summary, counts, families = Summary(), Counter[str](), Counter[str]()
    for line in state.read_text(encoding="utf-8").splitlines():
        record = Record.read(line)
        summary.add(record.counts, record.differences)
        counts.update(record.counts)
        families[record.form.partition(":")[0]] += 1
    return {
        "syntax_lines": sum(families.values()),
        **summary.as_dict(),
        "gates": {gate: counts[gate] for gate in GATES},
        "mutants_by_change": {kind: number for kind, number in sorted(counts.items()) if kind not in (LEGAL, *GATES)},
        "known_differences": dict(summary.kinds.most_common()),
        "syntax_lines_by_family": dict(families),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", type=Path)
    parser.add_argument("--out", type=Path, help="write the summary as JSON")
    options = parser.parse_args()
    text = json.dumps({"benchmark": "certify", "machine": machine(), **figures(options.state)}, indent=2)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
