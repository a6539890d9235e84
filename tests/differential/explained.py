"""Differences that are none: where the ISA leaves the result open, each with the reason and the section."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.differential.catalogue import Case

__all__ = ["EXPLAINED", "Explained", "explanation"]


class Explained(NamedTuple):
    """Statements whose text, followed by the style of its threads, a pattern matches."""

    pattern: str
    reason: str
    section: str


EXPLAINED: tuple[Explained, ...] = ()


def explanation(case: Case) -> Explained | None:
    """Why a difference of this case is none, or None."""
    whole = f"{case.text} {case.style}"
    return next((one for one in EXPLAINED if re.search(one.pattern, whole)), None)
