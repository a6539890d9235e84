"""Differences between the contracts and ptxas that are known, each with its reason: ``differences.json``.

An entry explains a difference where all its patterns are found: ``ours`` in the contracts' complaint, ``ptxas`` in ptxas's message and
``text`` in the statement. A pattern that is empty asks that there be no complaint or message; one that is left out takes anything.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxgen.certify.cases import Case

__all__ = ["Difference", "Known", "explanation", "known_differences"]


class Difference(NamedTuple):
    """A case that only one of the two refuses: the contracts' complaint and ptxas's message, None where there is none."""

    case: Case
    ours: str | None
    ptxas: str | None

    def __str__(self) -> str:
        head, _, _ = (self.ours or "").partition("\n")
        return f"{self.case}\n    " + (f"ptxas accepts; {head}" if self.ours is not None else f"accepted here; ptxas: {self.ptxas}")


class Known(NamedTuple):
    """A kind of difference: its name, whose fault it is (``"ptxas too lax"`` or ``"ptxas bug"``), the ISA's section, and why."""

    name: str
    verdict: str
    section: str
    reason: str
    patterns: dict[str, str]

    def explains(self, difference: Difference) -> bool:
        said = {"ours": difference.ours, "ptxas": difference.ptxas, "text": difference.case.text}
        return all(_found(pattern, said[name]) for name, pattern in self.patterns.items())


def _found(pattern: str, said: str | None) -> bool:
    return said is None if not pattern else said is not None and re.search(pattern, said) is not None


@lru_cache(maxsize=None)
def known_differences() -> tuple[Known, ...]:
    """The kinds of difference that the data file lists."""
    listed: list[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return tuple(
        Known(
            one["name"],
            one["verdict"],
            one["section"],
            one["reason"],
            {name: one[name] for name in ("ours", "ptxas", "text") if name in one},
        )
        for one in listed
    )


def explanation(difference: Difference) -> str | None:
    """The name of the kind that explains a difference; None where it is a defect of ours."""
    return next((known.name for known in known_differences() if known.explains(difference)), None)
