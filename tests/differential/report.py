"""What a comparison found, as a table and as JSON."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.machine import machine
from ptxgen.instructions.targets import Version
from tests.differential.approximate import approximated
from tests.differential.catalogue import LEFT_OUT, Case
from tests.differential.comparing import Outcome, Spent
from tests.differential.explained import CRASHES, EXPLAINED, of_crash
from tests.differential.sections import DOMAIN_REASONS

__all__ = ["Report"]

LISTED = 4
"""Differences of a form that the report holds in full; all are counted."""


class Report:
    """Counts and differences of a run."""

    def __init__(
        self, cases: Sequence[Case], skipped: dict[str, str], *, target: str, version: Version, seed: int, count: int, missing: str | None
    ) -> None:
        self._cases = cases
        self._head = {
            "machine": machine(), "target": target, "PTX version": f"{version[0]}.{version[1]}", "seed": seed, "values a statement": count,
            "compared": ["emulator"] if missing is not None else ["emulator", "GPU"],
        }  # fmt: skip
        self._skipped = skipped
        self._forms: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._errors: dict[str, dict[str, Any]] = {}
        self._explained: Counter[str] = Counter()
        self._examples: dict[str, dict[str, Any]] = {}
        self._seconds = 0.0
        self._spent = Spent(0.0, 0.0, 0.0, 0.0, 0.0)
        self._differences: list[dict[str, Any]] = []
        self.unexplained = 0
        self.failed: list[dict[str, str]] = []

    def add(self, outcome: Outcome) -> None:
        case = self._cases[outcome.case]
        counts = self._forms[case.family][case.form]
        counts["statements"] += 1
        if outcome.failed is not None:
            crash = of_crash(case, outcome.failed)
            if crash is not None:
                counts["explained"] += 1
                self._explained[crash.pattern] += 1
            else:
                counts["failed"] += 1
                self.failed.append({**_named(case), "why": outcome.failed})
        if outcome.judged is None:
            return
        counts["values"] += outcome.judged.values
        self._measured(case, outcome)
        if not outcome.judged.differ:
            return
        shown = {**_named(case), "threads that differ": outcome.judged.differ, **(outcome.judged.example or {})}
        reason = outcome.judged.reason
        if reason is not None:
            counts["explained"] += 1
            self._explained[reason] += 1
            self._examples.setdefault(reason, shown)
            return
        counts["differ"] += 1
        self.unexplained += 1
        if counts["differ"] <= LISTED:
            self._differences.append(shown)

    def took(self, spent: Spent) -> None:
        self._spent = Spent(*map(sum, zip(self._spent, spent)))

    def _measured(self, case: Case, outcome: Outcome) -> None:
        assert outcome.judged is not None
        for name, (error, bound, at) in outcome.judged.errors.items():
            stated = approximated(case.match)
            assert stated is not None
            held = self._errors.setdefault(f"{case.match.opcode}, {name}", {"largest": -1.0})
            if error > held["largest"]:
                kind, _, number = name.partition(" ")
                inside = stated[1][int(number)].inside
                held.update({
                    "section": case.match.entry.section, "kind": kind, "bound": bound if bound != float("inf") else "none stated",
                    "largest": error, "at": at, **({"for operands of magnitude": inside} if inside else {}),
                })  # fmt: skip

    @property
    def missing(self) -> int:
        """Statements that an interrupted run did not get to."""
        done = sum(counts["statements"] for lines in self._forms.values() for counts in lines.values())
        return len(self._cases) - done

    def finish(self, seconds: float) -> None:
        self._seconds = seconds

    def _families(self) -> dict[str, dict[str, int]]:
        found = {}
        for family, lines in self._forms.items():
            total: Counter[str] = sum(lines.values(), Counter())
            found[family] = {
                "forms": len(lines),
                **{name: total[name] for name in ("statements", "values", "differ", "explained", "failed")},
            }
        return found

    def show(self, console: Console) -> None:
        rows = self._families()
        table = Table("family", "forms", "statements", "values", "differ", "explained", "failed", title=f"{self._seconds:.1f} s")
        for family, numbers in rows.items():
            table.add_row(family, *(f"{number:,}" for number in numbers.values()))
        table.add_row("all", *(f"{sum(numbers[name] for numbers in rows.values()):,}" for name in next(iter(rows.values()), {})))
        console.print(table)
        console.print(
            ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self._spent._asdict().items()) + " in all processes together"
        )
        for title, listed in (("differs", self._differences), ("failed", self.failed)):
            for one in listed[:20]:
                console.print(f"[red]{title}[/] {escape(json.dumps(one))}", soft_wrap=True, highlight=False)

    def write(self, path: Path) -> None:
        reasons: dict[str, list[str]] = defaultdict(list)
        for what, reason in self._skipped.items():
            reasons[reason].append(what)
        report = {
            **self._head,
            "seconds": round(self._seconds, 1),
            "seconds of all processes": {name: round(seconds, 1) for name, seconds in self._spent._asdict().items()},
            "families": self._families(),
            "statements left": self.missing,
            "unexplained differences": self.unexplained,
            "differences": self._differences,
            "explained": [self._of_reason(*one[:3]) for one in (*EXPLAINED, *CRASHES)],
            "not run": self.failed,
            "largest errors": dict(sorted(self._errors.items())),
            "values restricted to where the ISA defines the result": DOMAIN_REASONS,
            "not compared": [
                {"reason": reason, "forms": len(listed), "for example": sorted(listed)[:5]} for reason, listed in sorted(reasons.items())
            ],
            "families not compared": LEFT_OUT,
            "forms": {
                family: {form: dict(counts) for form, counts in sorted(lines.items())} for family, lines in sorted(self._forms.items())
            },
        }
        path.write_text(json.dumps(report, indent=1) + "\n")

    def _of_reason(self, pattern: str, reason: str, section: str) -> dict[str, Any]:
        found = {"pattern": pattern, "reason": reason, "section": section, "statements": self._explained[pattern]}
        return found | ({"for example": self._examples[pattern]} if pattern in self._examples else {})


def _named(case: Case) -> dict[str, str]:
    return {"family": case.family, "statement": case.text, **({} if case.style == "plain" else {"threads": case.style})}
