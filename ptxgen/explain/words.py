"""An explanation as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ptxgen.explain.facts import Explanation, OperandFacts, Overview, Qualifier

__all__ = ["described"]

_ROLES = {"in": "read", "out": "written", "inout": "read and written"}
_ISSUERS = {
    "thread": "each thread for itself",
    "one": "one elected thread",
    "warp": "all threads of a warp together",
    "warpgroup": "all four warps of a warpgroup together",
    "cta": "all threads of the block together",
}
_WIDTH = 110


def described(answer: Explanation | Overview) -> str:
    """Plain text, without a final line end."""
    return "\n".join(_overview(answer) if isinstance(answer, Overview) else _explanation(answer))


def _overview(answer: Overview) -> Iterator[str]:
    for place, one in enumerate(answer.instructions):
        if place:
            yield ""
        yield f"{one.name}  (PTX ISA {one.section})"
        yield from _wrapped(one.summary, "  ")
        for line in (*one.syntax, *one.choices):
            yield from _wrapped(line, "    ")


def _explanation(answer: Explanation) -> Iterator[str]:
    yield f"{answer.opcode}  (PTX ISA {answer.section})"
    yield from _wrapped(answer.summary, "  ")
    yield from _section("syntax", list(answer.syntax))
    chosen = [one for one in answer.qualifiers if one.value]
    added = [one for one in answer.qualifiers if not one.value and one.others]
    yield from _section("qualifiers", [line for one in chosen for line in _chosen(one)])
    yield from _section("could be added", [line for one in added for line in _addable(one)])
    yield from _section("operands", [_operand(one) for one in answer.operands])
    yield from _section("where their elements are", [*_places(answer)])
    yield from _section("rules", [f"{one.says} (PTX ISA {one.section})" for one in answer.rules])
    yield ""
    yield f"issued by: {_ISSUERS.get(answer.issuer, answer.issuer)}"
    yield f"completes: {answer.completes}"
    targets = "on all targets" if answer.targets == "all" else f"on {answer.targets}"
    yield f"available: PTX {answer.version}, {targets}"
    yield from _tile(answer)
    if answer.example is not None:
        example = answer.example
        yield from _section("example", [*example.outside, *example.declarations, example.statement, *example.behind])


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"{title}:"
        for line in lines:
            yield from _wrapped(line, "  ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False
    )


def _chosen(one: Qualifier) -> Iterator[str]:
    """The value, what it does, and what else could stand there."""
    yield one.value + (f": {one.meaning}" if one.meaning else "")
    if one.position:
        yield f"  {one.name}: {one.position}"
    others = [other for other in one.others if other]
    if others:
        yield f"  instead: {' '.join(others)}{', or nothing' if '' in one.others else ''}"
    elif "" in one.others:
        yield "  may be left out"


def _addable(one: Qualifier) -> Iterator[str]:
    """The values that could be added, what the position is for, and what each of them does."""
    beside = f" (together with {one.beside})" if one.beside else ""
    yield f"{' '.join(one.others)}{beside}{f': {one.meaning}' if one.meaning else ''}"
    yield from (f"  {value}: {meaning}" for value, meaning in one.each)


def _places(answer: Explanation) -> Iterator[str]:
    """Where elements are; what is said of one operand is not said again of another."""
    told: dict[str, str] = {}
    for one in answer.operands:
        if one.holds:
            yield f"{one.name}: {f'as {told[one.holds]}' if one.holds in told else one.holds}"
            told.setdefault(one.holds, one.name)


def _operand(one: OperandFacts) -> str:
    aligned = f", aligned to {one.alignment} bytes" if one.alignment and one.alignment > 1 else ""
    optional = ", may be left out" if one.optional else ""
    meaning = f". {one.meaning}" if one.meaning else ""
    return f"{one.name} ({_ROLES[one.role]}{optional}): {one.takes}{aligned}{meaning}"


def _tile(answer: Explanation) -> Iterator[str]:
    if answer.tile:
        yield f"tile.apply: no; {answer.tile}"
        return
    shapes = ", ".join(f"{one.name} {one.view}" for one in answer.operands if one.view is not None)
    yield f"tile.apply: shapes {shapes}"
