"""What assembling yields: code, log and resources; or an error that points at the PTX line and the user's line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ptxgen.layouts.errors import PtxgenError

__all__ = ["AssemblyError", "Cubin", "LineMap", "Message", "Resources", "describe", "parse_messages", "parse_resources"]

LineMap = Mapping[int, str]
"""PTX line number (from 1) to the user's line, as ``"file:line  source"``."""


class Message(NamedTuple):
    """One message of an assembler: ``severity`` is info, warning, error or fatal; ``line`` the PTX line where one is named."""

    severity: str
    text: str
    line: int | None = None

    @property
    def failed(self) -> bool:
        return self.severity in ("error", "fatal")


class Resources(NamedTuple):
    """What one entry needs, as ptxas reports it. Sizes are in bytes.

    ``shared`` is what the entry declares statically; ``notes`` are ptxas's remarks on it (serialised wgmma, spills and the like).
    """

    entry: str
    registers: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    shared: int = 0
    barriers: int = 0
    local: int = 0
    constant: int = 0
    notes: tuple[str, ...] = ()


class Cubin:
    """An assembled module.

    Attributes
    ----------
    code : bytes
        The ELF image that the driver loads.
    log : str
        What the assembler said.
    target : str
        The architecture it was assembled for, e.g. ``"sm_90a"``.
    tool : str
        Which assembler made it, e.g. ``"nvJitLink 13.5"``.
    line_map : mapping of int to str, or None
        PTX line to the user's line.
    """

    __slots__ = ("code", "line_map", "log", "target", "tool")

    def __init__(self, code: bytes, log: str, target: str, tool: str, line_map: LineMap | None = None) -> None:
        self.line_map = line_map
        self.code = code
        self.log = log
        self.target = target
        self.tool = tool

    @property
    def resources(self) -> dict[str, Resources]:
        """Resources by entry name, in the order of the log."""
        return parse_resources(self.log, self.line_map)

    @property
    def messages(self) -> tuple[Message, ...]:
        return parse_messages(self.log)

    def __repr__(self) -> str:
        return f"Cubin({len(self.code)} bytes for {self.target} by {self.tool})"


class AssemblyError(PtxgenError):
    """An assembler refused a text.

    Attributes
    ----------
    messages : tuple[Message, ...]
        What it said, errors only.
    log : str
        Its whole log.
    """

    def __init__(self, summary: str, *, log: str, ptx: str, line_map: LineMap | None = None) -> None:
        self.log = log
        self.messages = tuple(message for message in parse_messages(log) if message.failed)
        super().__init__(describe(summary, log, ptx, line_map))


_MESSAGE = re.compile(
    r"^(?:ptxas|nvlink|nvJitLink)?\s*(?:(?P<file>[^;]*), line (?P<line>\d+); )?"
    r"(?P<severity>error|warning|fatal|info)\s*: ?(?P<text>.*)$",
    re.IGNORECASE,
)
# Errors beyond these rarely say anything new; the whole log stays in `AssemblyError.log`.
_SHOWN = 12
# A summary that ptxas adds below the messages that matter.
_ECHO = ("Ptx assembly aborted due to errors",)


def parse_messages(log: str) -> tuple[Message, ...]:
    """The messages in a log of ptxas, nvJitLink or the driver's JIT, without ptxas's closing summary."""
    found = []
    for line in log.splitlines():
        match = _MESSAGE.match(line)
        if match is None or match["text"].strip() in _ECHO:
            continue
        # ptxas rewrites some instructions into texts of its own, whose lines are none of ours.
        ours = match["line"] and "<builtin>" not in match["file"]
        number = int(match["line"]) if ours else None
        found.append(Message(match["severity"].lower(), match["text"].strip(), number))
    return tuple(found)


def describe(summary: str, log: str, ptx: str, line_map: LineMap | None) -> str:
    """A message that shows, for each error in `log`, the PTX line, its text and the user's line."""
    failed = [message for message in parse_messages(log) if message.failed]
    if not failed:
        return f"{summary}\n{_indented(log.strip() or '(the log is empty)')}"
    lines = ptx.splitlines()
    shown = [summary]
    previous: int | None = None
    for message in failed[:_SHOWN]:
        if message.line is not None and message.line != previous and 1 <= message.line <= len(lines):
            shown.append(f"  PTX line {message.line}: {lines[message.line - 1].strip()}")
            if line_map is not None and message.line in line_map:
                shown.append(f"    from {line_map[message.line]}")
        indent = "    " if message.line is not None else "  "
        shown.append(f"{indent}{message.severity}: {message.text}")
        previous = message.line
    if len(failed) > _SHOWN:
        shown.append(f"  and {len(failed) - _SHOWN} more errors")
    return "\n".join(shown)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for '?([^'\s:]+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(.*)")
_BARRIERS = re.compile(r"used (\d+) barriers")
_BYTES = re.compile(r"(\d+) bytes (smem|lmem|cmem)")
_ROUTINE = re.compile(r"\d+ bytes gmem|Compile time|Compiling entry function|Function properties for|Used \d+ registers")


def parse_resources(log: str, line_map: LineMap | None = None) -> dict[str, Resources]:
    """Resources by entry from a log written with ptxas's ``-v``; functions that are no entries are left out.

    Notes that name a PTX line get the user's line from `line_map`.
    """
    found: dict[str, Resources] = {}
    entry = described = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entry = described = match[1]
            found[entry] = Resources(entry)
        elif not entry:
            continue
        elif match := _PROPERTIES.search(line):
            described = match[1]
        elif (match := _FRAME.search(line)) and described == entry:
            stack, stores, loads = map(int, match.groups())
            found[entry] = found[entry]._replace(stack=stack, spill_stores=stores, spill_loads=loads)
        elif match := _USED.search(line):
            found[entry] = _used(found[entry], int(match[1]), match[2])
    return _with_notes(found, parse_messages(log), line_map or {})


def _used(base: Resources, registers: int, rest: str) -> Resources:
    sizes = {"smem": 0, "lmem": 0, "cmem": 0}
    for amount, space in _BYTES.findall(rest):
        sizes[space] += int(amount)
    barriers = _BARRIERS.search(rest)
    return base._replace(
        registers=registers,
        barriers=int(barriers[1]) if barriers else 0,
        shared=sizes["smem"],
        local=sizes["lmem"],
        constant=sizes["cmem"],
    )


def _line_named_in(text: str) -> int | None:
    match = re.search(r"\bline (\d+)\b", text)
    return int(match[1]) if match else None


def _with_notes(found: dict[str, Resources], messages: tuple[Message, ...], line_map: LineMap) -> dict[str, Resources]:
    """Attach remarks to the entries that they name, or to all where they name none."""
    for message in messages:
        if message.failed or _ROUTINE.match(message.text):
            continue
        named = [entry for entry in found if re.search(rf"\b{re.escape(entry)}\b", message.text)]
        line = message.line if message.line is not None else _line_named_in(message.text)
        note = f"{message.text} [{line_map[line]}]" if line is not None and line in line_map else message.text
        for entry in named or found:
            found[entry] = found[entry]._replace(notes=(*found[entry].notes, note))
    return found
