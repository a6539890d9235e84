"""The reference pages in docs/instructions/: what the contracts of a family say, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from ptxgen.emulator.semantics.table import lookup_semantics
from ptxgen.explain import Example, example_of
from ptxgen.explain.facts import mnemonic_of
from ptxgen.instructions.grammar import Choice, Element, Form, forms
from ptxgen.instructions.language import Entry, Operand
from ptxgen.instructions.operand_words import OPERANDS
from ptxgen.instructions.registry import FAMILIES, Match, family_entries
from ptxgen.instructions.targets import spelled, target_set

__all__ = ["index", "page"]

_ISSUERS = {
    "thread": "each thread for itself",
    "one": "one elected thread",
    "warp": "all threads of a warp together",
    "warpgroup": "the four warps of a warpgroup together",
    "cta": "all threads of the block",
}
_MADE = "Made by `python -m ptxgen.reference` from the contracts in `instructions/{family}.py`; not to be edited."


def index() -> str:
    """The text of docs/instructions/README.md: every instruction with its page."""
    lines = ["# Instructions", "", _MADE.format(family="*"), "", "| family | instructions |", "|---|---|"]
    for family in sorted(FAMILIES):
        names = dict.fromkeys(mnemonic_of(entry) for entry in family_entries(family))
        lines.append(f"| [{family}]({family}.md) | {' '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines) + "\n"


def page(family: str) -> str:
    """The text of docs/instructions/FAMILY.md."""
    said = (import_module(f"ptxgen.instructions.{family}").__doc__ or "").strip().partition("\n")[0]
    lines = [f"# {family}", "", said, "", _MADE.format(family=family)]
    for entry in family_entries(family):
        lines += ["", *_entry(entry)]
    return "\n".join(lines) + "\n"


def _entry(entry: Entry) -> Iterator[str]:
    yield f"## {entry.name}"
    yield ""
    yield f"{entry.summary} (PTX ISA {entry.section})"
    yield ""
    yield "```text"
    yield from (form.syntax for form in forms(entry))
    listed = (" ".join(line.split()) for line in entry.choices.split(";"))
    yield from (f"{line};" for line in listed if line)
    yield "```"
    yield from _table(("qualifier", "what it does"), [(f"`{name}`", text) for name, text in _meanings(entry)])
    operands = [
        (f"`{name}`", _ROLES[contract.role], _takes(contract), entry.meaning.get(name) or OPERANDS.get(name, ""))
        for name, contract in entry.operands.items()
    ]
    yield from _table(("operand", "is", "takes", "meaning"), operands)
    if entry.rules:
        yield ""
        said = dict.fromkeys((rule.says, rule.section or entry.section) for rule in entry.rules)
        yield from (f"- {says} (PTX ISA {section})" for says, section in said)
    yield ""
    emulated = "" if lookup_semantics(entry) is not None else " Not emulated."
    yield f"Issued by {_ISSUERS.get(entry.issuer, entry.issuer)}; completes {_completes(entry)}.{emulated}"
    yield from _availability(entry)
    example = _example(entry)
    if example is not None:
        yield from ("", "```ptx", *example.outside, *example.declarations, example.statement, *example.behind, "```")


def _completes(entry: Entry) -> str:
    return entry.completes if entry.completes == "at once" else f"by: {entry.completes}"


_ROLES = {"in": "read", "out": "written", "inout": "read and written"}


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"| {' | '.join(heads)} |"
        yield "|" + "---|" * len(heads)
        yield from (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _meanings(entry: Entry) -> Iterator[tuple[str, str]]:
    """What the contract says of the qualifiers that its syntax lines and choices have."""
    used = {name for form in forms(entry) for name in _qualifiers(form.elements)}
    return ((name, text) for name, text in entry.meaning.items() if name in used)


def _qualifiers(elements: tuple[Element, ...]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, str):
            yield element
        elif isinstance(element, Choice):
            yield element.name
            yield from map("".join, element.values)
        else:
            yield from _qualifiers(element.elements)


def _takes(contract: Operand) -> str:
    """What may stand for an operand, with the contract's own expressions for what follows from the qualifiers."""
    if contract.kind not in ("register", "address", "immediate", "predicate", "special"):
        return {"sink": "`_`", "list": "values in parentheses"}.get(contract.kind, f"the name of a {contract.kind}")
    type = f"`{contract.type}`" if contract.type else ""
    count = "" if contract.vector == 1 else f"{_code(contract.vector)} "
    if contract.kind == "predicate":
        found = ["a predicate, or its negation" if contract.negatable else "a predicate"]
    elif contract.kind == "address":
        space = f"{_code(contract.space)} memory" if contract.space else "memory, by a generic address"
        found = [f"an address of {count}{type} in {space}" if type else f"an address in {space}"]
        if contract.align:
            found.append(f"aligned to {contract.align} bytes")
    elif contract.kind == "immediate":
        found = [f"a constant of {type}"]
    else:
        found = [f"{count}registers of {type}" if count else f"a register of {type}"]
    found += _also(contract)
    return ", ".join(found)


def _also(contract: Operand) -> Iterator[str]:
    constant = "" if contract.values is None else " " + _ranges(contract.values)
    if contract.kind == "immediate" and constant:
        yield constant.lstrip()
    for permission, what in (
        (contract.immediate and contract.kind != "immediate", f"or a constant{constant}"),
        (contract.wider, "or a wider register"),
        (contract.special, "or a special register"),
        (contract.symbol, "or a variable's name for its address"),
        (contract.sink, "or `_`"),
    ):
        if permission:
            yield what if permission is True else f"{what} (where `{permission}`)"


def _ranges(values: tuple[int, ...] | range | tuple[range, ...]) -> str:
    """``0, 1``; ``0 to 31``; for the elements of a vector ``0 to 3, 0 to 7``."""
    each = values if isinstance(values, tuple) else (values,)
    return ", ".join(str(one) if isinstance(one, int) else _range(one) for one in each)


def _range(values: range) -> str:
    step = f" in steps of {values.step}" if values.step != 1 else ""
    return f"{values[0]} to {values[-1]}{step}"


def _code(expression: str | int) -> str:
    return str(expression) if isinstance(expression, int) else f"`{expression}`"


def _availability(entry: Entry) -> Iterator[str]:
    yield ""
    for since in entry.since:
        where = f" where `{since.when}`" if since.when else ""
        targets = "" if since.targets == "all" else f", on {spelled(target_set(since.targets))}"
        sooner = f" (PTX {since.sooner[0]} on {spelled(target_set(since.sooner[1]))})" if since.sooner else ""
        yield f"- from PTX {since.ptx}{targets}{sooner}{where}"
    if not entry.since:
        yield "- from PTX 1.0, on all targets"


def _example(entry: Entry) -> Example | None:
    """The plainest use of the first form that some target has."""
    for form in forms(entry):
        match = _first(form)
        if match is not None and (example := example_of(match)) is not None:
            return example
    return None


def _first(form: Form) -> Match | None:
    bound = next(form.combinations(), None)
    return None if bound is None else Match(form.opcode(bound), form, bound)

