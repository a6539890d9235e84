"""Tokens of PTX (ISA chapter 4): one compiled expression, read one token ahead.

Most instruction lines never come here, `ptxgen.text.statements` reads them whole. What is left, declarations, calls, lists
over several lines and everything that turns out to be wrong, is read token by token.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ptxgen.text.errors import Fault

__all__ = ["IDENTIFIER", "Scanner"]

IDENTIFIER = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
_NUMBER = (
    r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?"
    r"|(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0[0-7]+U?|0U?|[1-9]\d*U?"
)
_TOKEN = re.compile(
    r"(?:\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*"
    r"(?:"
    rf"(?P<name>{IDENTIFIER}|_)"
    rf"|(?P<number>{_NUMBER})(?![\w$])"
    r"|(?P<dot>\.\w+(?:::\w+)*)"
    r"|(?P<malformed>\d[\w$.]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%~!<>&^|?:;,=@(){}\[\]])"
    r"|(?P<end>\Z)"
    r"|(?P<stray>.)"
    r")",
    re.ASCII | re.DOTALL,
)


class Scanner:
    """The current token of a text, and the means to go on or to complain.

    Attributes
    ----------
    kind : str
        ``"name"``, ``"dot"`` (``.f32``, ``.shared::cta``), ``"number"``, ``"string"`` (with its quotes), ``"mark"``, ``"end"``;
        ``"malformed"`` (a number) and ``"stray"`` (a character) for what no token begins with.
    text : str
        The token as it stands.
    start, end : int
        Its offsets in `source`.
    passed : int
        Where the token before it ended: everything up to here is read.
    """

    __slots__ = ("end", "kind", "passed", "source", "start", "text")

    def __init__(self, source: str, offset: int = 0) -> None:
        self.source = source
        self.text = ""
        self.end = offset
        self.advance()

    def advance(self) -> str:
        """Take the current token and return its text."""
        self.passed = self.end
        taken = self.text
        match = _TOKEN.match(self.source, self.end)
        assert match is not None and match.lastgroup is not None
        self.kind = match.lastgroup
        self.text = match[self.kind]
        self.start, self.end = match.span(self.kind)
        return taken

    def accept(self, text: str) -> bool:
        """Take the current token if it is `text` (a mark, a name or a dotted word)."""
        if self.text == text and self.kind != "string":
            self.advance()
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"'{text}'")

    def name(self, what: str) -> str:
        """Take an identifier; `what` says in an error what it would have named."""
        if self.kind != "name" or self.text == "_":
            self.fail(what)
        return self.advance()

    def string(self, what: str) -> str:
        """Take a string and return what stands between its quotes."""
        if self.kind != "string":
            self.fail(what)
        return self.advance()[1:-1]

    def fail(self, expected: str) -> NoReturn:
        """Raise a fault at the current token."""
        if self.kind == "malformed":
            raise Fault(self.start, f"'{self.text}' is no number of PTX (ISA 4.5)")
        if self.source.startswith("/*", self.start):
            raise Fault(self.start, "this comment is never closed", len(self.source))
        if self.text == '"':
            raise Fault(self.start, "this string is not closed on its line")
        raise Fault(self.start, f"expected {expected}, found {self.describe()}")

    def finish(self, otherwise: str = "") -> None:
        """Take a statement's ``;``. `otherwise` names in an error what else could stand here.

        Where it is missing at a line's end the fault lies there, and the next line is a statement of its own.
        """
        if self.text == ";":
            self.advance()
            return
        expected = f"{otherwise} or ';'" if otherwise else "';'"
        if "\n" in self.source[self.passed : self.start]:
            raise Fault(self.passed, f"expected {expected} at the end of the line", self.passed)
        self.fail(expected)

    def describe(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        return self.text if self.kind == "string" else f"'{self.text}'"
