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


EXPLAINED: tuple[Explained, ...] = (
    Explained(
        r"^v(add|sub|absdiff|min|max|shl|shr)\.(?!\S*\.sat)\S*\.(min|max) ",
        "without .sat a result may need more than 32 bits: the ISA's pseudocode hands 34 of them to .min and .max, and the code that"
        " assemblers generate cuts it to 32 first",
        "9.7.20.1",
    ),
)


def explanation(case: Case) -> Explained | None:
    """Why a difference of this case is none, or None."""
    whole = f"{case.text} {case.style}"
    return next((one for one in EXPLAINED if re.search(one.pattern, whole)), None)
