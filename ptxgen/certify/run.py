"""Runs a certification on all cores: a random sample, or every syntax line, whose results a state file keeps."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxgen.assemble.tools import require_tool
from ptxgen.certify.cases import GATES, LEGAL, Case, all_forms, cases_of, form_id, sampled_cases
from ptxgen.certify.compare import batches, compare
from ptxgen.certify.differences import Difference, explanation
from ptxgen.instructions.grammar import Form

__all__ = ["Record", "Summary", "certify", "certify_sample"]

Advance = Callable[[int, int], None]
"""Is told how much is done, of how much."""

_FORMS_AT_ONCE = 12


class Record(NamedTuple):
    """What came out for one syntax line; `fingerprint` tells whether it would come out again."""

    form: str
    fingerprint: str
    counts: dict[str, int]
    differences: list[Difference]

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(self._asdict())

    @staticmethod
    def read(line: str) -> Record:
        found: dict[str, Any] = json.loads(line)
        differences = [
            Difference(Case(kind, form, text, (version[0], version[1]), target, place), ours, ptxas)
            for (kind, form, text, version, target, place), ours, ptxas in found["differences"]
        ]
        return Record(found["form"], found["fingerprint"], found["counts"], differences)


class Summary:
    """The sum of a run.

    Attributes
    ----------
    legal, mutants : int
        Statements judged.
    refused : int
        Legal ones that ptxas refuses at their first version and lowest target.
    kinds : Counter
        The known kinds of difference, and how often each was met.
    disagreements : int
        Differences, known or not, the gates included.
    unexplained : list of Difference
        Those that no kind explains.
    """

    def __init__(self) -> None:
        self.legal = self.mutants = self.refused = self.disagreements = 0
        self.kinds: Counter[str] = Counter()
        self.unexplained: list[Difference] = []

    def add(self, counts: Counter[str] | dict[str, int], differences: Iterable[Difference]) -> None:
        """Take in the results of some cases: how many of each kind, and the differences among them."""
        self.legal += counts.get(LEGAL, 0)
        self.mutants += sum(number for kind, number in counts.items() if kind not in (LEGAL, *GATES))
        for difference in differences:
            self.disagreements += 1
            self.refused += difference.case.kind == LEGAL and difference.ptxas is not None
            name = explanation(difference)
            if name is None:
                self.unexplained.append(difference)
            else:
                self.kinds[name] += 1

    def as_dict(self) -> dict[str, int]:
        """The five numbers that ``--json`` prints."""
        return {
            "legal": self.legal,
            "legal_refused_by_ptxas": self.refused,
            "mutants": self.mutants,
            "disagreements": self.disagreements,
            "unexplained": len(self.unexplained),
        }


def certify_sample(families: Sequence[str], number: int, seed: int, advance: Advance) -> Summary:
    """Judge `number` random legal statements with their gates, and as many mutants."""
    cases = sampled_cases(tuple(families), number, seed)
    summary = Summary()
    summary.add(Counter(case.kind for case in cases), ())
    done = 0
    advance(0, len(cases))
    for batch, found in _in_processes(compare, sorted(batches(cases), key=len, reverse=True)):
        summary.add({}, found)
        done += len(batch)
        advance(done, len(cases))
    return summary


def certify(families: Sequence[str], seed: int, mutants: int, state: Path, resume: bool, advance: Advance) -> Summary:
    """Judge every syntax line: all its legal statements (`cases.cases_of`) with their gates, and so many mutants.

    What is done stands in `state`, one line a form; with `resume` the forms that stand there already, and are still what they were, are
    not judged again.
    """
    names = {form_id(form): form for form in all_forms(tuple(families))}
    kept = _kept(state, names, seed, mutants) if resume and state.exists() else {}
    with state.open("w", encoding="utf-8") as file:
        file.writelines(record.line() + "\n" for record in kept.values())
        file.flush()
        summary = Summary()
        for record in kept.values():
            summary.add(record.counts, record.differences)
        left = [name for name in names if name not in kept]
        units = [(left[at : at + _FORMS_AT_ONCE], seed, mutants) for at in range(0, len(left), _FORMS_AT_ONCE)]
        done = len(kept)
        advance(done, len(names))
        for _, records in _in_processes(_certify_forms, units):
            for record in records:
                file.write(record.line() + "\n")
                summary.add(record.counts, record.differences)
            file.flush()
            done += len(records)
            advance(done, len(names))
    return summary


def _kept(state: Path, names: dict[str, Form], seed: int, mutants: int) -> dict[str, Record]:
    records = [Record.read(line) for line in state.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {
        record.form: record
        for record in records
        if record.form in names and record.fingerprint == _fingerprint(names[record.form], seed, mutants)
    }


def _in_processes(work: Callable[[Any], Any], units: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Each unit with what `work` made of it, as they are done."""
    pool = ProcessPoolExecutor(os.cpu_count())
    try:
        futures = {pool.submit(work, unit): unit for unit in units}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _certify_forms(unit: tuple[list[str], int, int]) -> list[Record]:
    """The records of some syntax lines, judged together so that modules are large."""
    names, seed, mutants = unit
    known = _forms_by_name()
    cases = {name: list(cases_of(known[name], seed, mutants)) for name in names}
    found: dict[str, list[Difference]] = {name: [] for name in names}
    for batch in batches(case for members in cases.values() for case in members):
        for difference in compare(batch):
            found[difference.case.form].append(difference)
    return [
        Record(name, _fingerprint(known[name], seed, mutants), Counter(case.kind for case in cases[name]), found[name]) for name in names
    ]


@lru_cache(maxsize=1)
def _forms_by_name() -> dict[str, Form]:
    return {form_id(form): form for form in all_forms()}


def _fingerprint(form: Form, seed: int, mutants: int) -> str:
    """Changes with the form's contract, with ptxas, and with what is drawn."""
    entry = form.entry
    parts: list[Any] = [*entry.operands.values(), *entry.rules, *entry.since]
    stated = [tuple(getattr(one, name) for name in one.__slots__) for one in parts]
    said = repr((str(require_tool("ptxas")), seed, mutants, form.syntax, entry.choices, sorted(entry.operands), stated))
    return hashlib.sha256(said.encode()).hexdigest()[:16]
