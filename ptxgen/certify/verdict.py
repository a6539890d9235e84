"""The contracts' verdict about many statements at once: the module that ptxas gets is read and verified."""

from __future__ import annotations

from collections.abc import Sequence

from ptxgen.certify.surroundings import module
from ptxgen.instructions.targets import Version
from ptxgen.text import ReadError, read
from ptxgen.verify import verify

__all__ = ["complaints"]


def complaints(texts: Sequence[str], version: Version, target: str, place: str = "entry") -> dict[int, str]:
    """Indices of the statements that are not legal in their surroundings, each with the first complaint: its id and message."""
    left = list(range(len(texts)))
    found: dict[int, str] = {}
    while left:
        text, first = module([texts[index] for index in left], version, target, place)
        try:
            read_back = read(text)
        except ReadError as error:  # with the first problems only: read what is left again
            faulty = {left[problem.position.line - first]: problem.message for problem in error.problems}
            found.update((index, f"syntax: {message}") for index, message in faulty.items())
            left = [index for index in left if index not in faulty]
            continue
        for problem in verify(read_back):
            if problem.severity == "error":
                place_of = problem.position.line - first if problem.position is not None else -1
                if not 0 <= place_of < len(left):
                    raise AssertionError(f"the surroundings are refused: {problem}")
                found.setdefault(left[place_of], f"{problem.id}: {problem.message}")
        break
    return found
