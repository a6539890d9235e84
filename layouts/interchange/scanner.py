"""Reading short texts of other notations: tokens, and faults with their column."""

from __future__ import annotations

import re

from ptxgen.layouts.errors import LayoutError

_SPACE = re.compile(r"\s*")


class Scanner:
    """A place in a text; every question skips white space first."""

    __slots__ = ("at", "text", "what")

    def __init__(self, text: str, what: str) -> None:
        self.text = text
        self.what = what  #: what the text should be, for messages
        self.at = 0

    def fail(self, why: str, at: int | None = None) -> LayoutError:
        """The error that something is wrong here (or `at` another place)."""
        column = (self.place if at is None else at) + 1
        return LayoutError(f"can't read the {self.what} {self.text!r}: column {column}: {why}")

    @property
    def place(self) -> int:
        """Where the next token begins."""
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.at

    @property
    def found(self) -> str:
        """What stands here, for messages."""
        here = self.place
        return repr(self.text[here]) if here < len(self.text) else "the end"

    @property
    def done(self) -> bool:
        return self.place == len(self.text)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The pattern, if it stands here; then it is read."""
        found = pattern.match(self.text, self.place)
        if found is not None:
            self.at = found.end()
        return found

    def take(self, literal: str) -> bool:
        """Whether the literal stands here; then it is read."""
        if not self.ahead(literal):
            return False
        self.at += len(literal)
        return True

    def ahead(self, literal: str) -> bool:
        """Whether the literal stands here."""
        return self.text.startswith(literal, self.place)

    def expect(self, literal: str) -> None:
        if not self.take(literal):
            raise self.fail(f"expected {literal!r}, found {self.found}")

    def end(self) -> None:
        if not self.done:
            raise self.fail(f"unexpected {self.found}")
