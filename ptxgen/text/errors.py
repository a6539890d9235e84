"""Where something stands in a text, and what a reader says about a text that is no PTX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptxgen.layouts.errors import PtxgenError

__all__ = ["Position", "Problem", "ReadError"]


class Position(NamedTuple):
    """A place in a text that was read; `line` and `column` count from 1."""

    filename: str | None
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.filename or '<text>'}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One thing wrong with a text.

    Attributes
    ----------
    position : Position
    message : str
        What was expected and what was found.
    source : str
        The line of the text, without its line end.
    """

    position: Position
    message: str
    source: str

    def __str__(self) -> str:
        if not self.source.strip():  # at the end of the text, or on an empty line: nothing to point at
            return f"{self.position}: {self.message}"
        # Tabs stay tabs in front of the caret, so that it stands below its character at any tab width.
        indent = "".join("\t" if character == "\t" else " " for character in self.source[: self.position.column - 1])
        return f"{self.position}: {self.message}\n    {self.source}\n    {indent}^"


class ReadError(PtxgenError, ValueError):
    """A text that is no PTX: `problems` holds everything found wrong, in order of the text."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Fault(Exception):
    """One problem at an offset of the text being read; never leaves the reader.

    `resume` is where reading can go on at once; None where the rest of the statement has to be skipped.
    """

    def __init__(self, offset: int, message: str, resume: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.resume = resume


def nearest(word: str, choices: Iterable[str]) -> str:
    """The end of a message that names the dotted words most like `word`; empty where none is."""
    from difflib import get_close_matches

    near = get_close_matches(word.lstrip("."), list(choices), n=3)
    return f"; nearest: {', '.join('.' + name for name in near)}" if near else ""
