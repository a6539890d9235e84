"""Every legal combination of every syntax line, judged by ptxas: ``python -m tests.instructions.sweep [FAMILY ...]``.

The tests take a sample of the longest lines; this takes everything, in a few minutes, and exits with 1 where ptxas refuses something.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from ptxgen.instructions.grammar import Form, forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries
from tests.instructions.harness import Statement, count, judge, statements

_AT_ONCE = 20_000


def all_statements(form: Form) -> Iterator[Statement]:
    """One mixture of operands for each legal choice of qualifiers, whatever their number."""
    for index, bound in enumerate(form.combinations()):
        yield from statements(Match(form.opcode(bound), form, bound), variant=index)


def sweep(family: str) -> tuple[int, int]:
    """How many statements ptxas judged, and how many of them it refused."""
    judged = refused = 0
    for entry in family_entries(family):
        for form in forms(entry):
            began, start = time.perf_counter(), judged
            batch: list[Statement] = []
            for statement in all_statements(form):
                batch.append(statement)
                if len(batch) == _AT_ONCE:
                    judged += len(batch)
                    refused += report(batch)
                    batch = []
            judged += len(batch)
            refused += report(batch)
            if count(form.elements) > _AT_ONCE:
                print(f"  {form.syntax[:100]}: {judged - start} in {time.perf_counter() - began:.0f} s", flush=True)
    return judged, refused


def report(batch: list[Statement]) -> int:
    """Print what ptxas refuses of a batch."""
    found = judge((statement, statement.version, statement.target) for statement in batch)
    for refusal in found[:10]:
        print(f"  {refusal}", flush=True)
    return len(found)


def main(families: list[str]) -> int:
    total = bad = 0
    for family in families or FAMILIES:
        judged, refused = sweep(family)
        total += judged
        bad += refused
        print(f"{family}: {judged} statements, {refused} refused", flush=True)
    print(f"all: {total} statements, {bad} refused")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
