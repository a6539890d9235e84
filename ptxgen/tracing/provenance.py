"""Where something in a kernel came from: a line of the user's Python, found in under a microsecond and decoded when asked."""

from __future__ import annotations

import linecache
import os
import sys
from bisect import bisect_right
from types import CodeType, FrameType
from typing import Union

__all__ = ["Where", "here", "raised_at", "user_frame"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_USERS = (_PACKAGE + "demo.py", os.path.join(_PACKAGE, "testing", "families") + os.sep)  # users' programs that ship with the package


class Where:
    """A place in the user's code: a code object and an instruction offset in it (`frame.f_lasti`).

    `asked` is the opcode that the line asks for; empty where it does not name the instructions that it becomes, as arithmetic does not.
    """

    __slots__ = ("_line", "asked", "code", "lasti")

    def __init__(self, code: CodeType, lasti: int, asked: str = "") -> None:
        self.code = code
        self.lasti = lasti
        self.asked = asked
        self._line = 0

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        """The line number, from 1."""
        if not self._line:
            _, starts, lines = _line_table(self.code)
            at = bisect_right(starts, self.lasti) - 1
            self._line = (lines[at] if at >= 0 else None) or self.code.co_firstlineno
        return self._line

    @property
    def source(self) -> str:
        """The line's text without its indentation; empty where the source is not at hand."""
        return linecache.getline(self.filename, self.line).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.filename)}:{self.line}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Where) and (self.code, self.lasti) == (other.code, other.lasti)

    def __hash__(self) -> int:
        return hash((self.code, self.lasti))

    def __repr__(self) -> str:
        return f"<{self}: {self.source}>"


_LineTable = tuple[CodeType, list[int], list[Union[int, None]]]
_line_tables: dict[int, _LineTable] = {}


def _line_table(code: CodeType) -> _LineTable:
    """The offsets at which runs of instructions of one line start, and their lines.

    Found by identity: code that differs only in its lines is equal in Python 3.10. The code is kept, so that its id stays its own.
    """
    found = _line_tables.get(id(code))
    if found is None:
        rows = [(start, line) for start, _, line in code.co_lines()]
        found = _line_tables[id(code)] = code, [start for start, _ in rows], [line for _, line in rows]
    return found


def user_frame() -> FrameType:
    """The innermost frame outside this package; the outermost frame of all where there is none."""
    frame = sys._getframe(1)
    while _ours[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame


class _Ours(dict[str, bool]):
    """Whether a file is the package's own. Asked for every frame of every instruction, so each file is looked at once."""

    def __missing__(self, name: str) -> bool:
        ours = self[name] = name.startswith(_PACKAGE) and not name.startswith(_USERS)
        return ours


_ours = _Ours()


def here(asked: str = "") -> Where:
    """The user's line that is being executed, and the opcode that it asks for."""
    frame = sys._getframe(1)
    while _ours[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return Where(frame.f_code, frame.f_lasti, asked)


def raised_at(error: BaseException) -> Where | None:
    """The user's line that an exception came through last; None where it came through none."""
    found, trace = None, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _ours[code.co_filename]:
            found = Where(code, trace.tb_lasti)
        trace = trace.tb_next
    return found
