"""Collects what the contracts say about one opcode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple, Union

from ptxgen.explain.example import Example, example_of
from ptxgen.explain.fragments import fragments
from ptxgen.explain.nearest import nearest_opcodes
from ptxgen.instructions.checking import NAMED, legal_operand
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Choice, Element, Slot, broken_rules, condition, forms
from ptxgen.instructions.language import Entry, Operand
from ptxgen.instructions.operand_words import OPERANDS
from ptxgen.instructions.registry import Match, entries, lookup
from ptxgen.instructions.targets import Version, spelled
from ptxgen.instructions.tiles import Atom, Tile, atom_shape, evaluate_names

__all__ = ["Explanation", "FormLine", "OperandFacts", "Overview", "Qualifier", "RuleFacts", "explain", "mnemonic_of"]


class Qualifier(NamedTuple):
    """One position of the opcode.

    Attributes
    ----------
    name : str
        As the syntax line calls it, ``".type"``; a literal is called by itself.
    value : str
        What the opcode says, empty where it is left out.
    meaning : str
        What that does; where it is left out, what the position is for.
    others : tuple of str
        What could stand there instead, everything else staying as it is; an empty text means that it can be left out.
    position : str
        What the position is for, where `meaning` is about the value.
    each : tuple of (str, str)
        Where it is left out, what the values do that could stand there.
    beside : str
        Where it is left out, the qualifier without which nothing can stand there.
    """

    name: str
    value: str
    meaning: str
    others: tuple[str, ...]
    position: str
    each: tuple[tuple[str, str], ...]
    beside: str


class OperandFacts(NamedTuple):
    """One operand.

    `takes` says what may stand there, `meaning` what it is for, `holds` where elements that threads hold together (or the fields of a
    descriptor) are, `view` the shape that `px.tile.apply` takes there.
    """

    name: str
    role: str
    takes: str
    meaning: str
    holds: str
    optional: bool
    alignment: int | None
    view: str | None


class RuleFacts(NamedTuple):
    says: str
    section: str


class Explanation(NamedTuple):
    """An opcode read as one instruction of the ISA.

    `tile` says why it is no operation for `px.tile.apply`; it is empty where it is one.
    """

    opcode: str
    name: str
    summary: str
    section: str
    syntax: tuple[str, ...]
    qualifiers: tuple[Qualifier, ...]
    operands: tuple[OperandFacts, ...]
    issuer: str
    completes: str
    version: str
    targets: str
    rules: tuple[RuleFacts, ...]
    tile: str
    example: Example | None

    def json(self) -> dict[str, Any]:
        """As plain values."""
        found = self._asdict()
        for name in ("qualifiers", "operands", "rules"):
            found[name] = [one._asdict() for one in found[name]]
        found["example"] = None if self.example is None else {"statement": self.example.statement, "module": self.example.module()}
        return found


class FormLine(NamedTuple):
    """One instruction in an overview; `choices` are the values of its qualifiers, as the ISA writes them."""

    name: str
    summary: str
    section: str
    syntax: tuple[str, ...]
    choices: tuple[str, ...]


class Overview(NamedTuple):
    """All instructions whose opcode begins with some words."""

    mnemonic: str
    instructions: tuple[FormLine, ...]

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {"mnemonic": self.mnemonic, "instructions": [one._asdict() for one in self.instructions]}


Answer = Union[Overview, "list[Explanation]"]


def explain(opcode: str) -> Answer:
    """What the contracts say about an opcode: one explanation for each instruction that it can be, or an overview for a mnemonic alone.

    Raises
    ------
    InstructionError
        If no instruction is spelled so; its `legal` ends with the nearest opcodes.
    """
    opcode = opcode.strip().rstrip(";")
    try:
        matches = lookup(opcode)
    except InstructionError as error:
        overview = _overview(opcode)
        if overview.instructions:
            return overview
        near = nearest_opcodes(opcode)
        if near:
            error.legal += f"\n  nearest: {', '.join(near)}"
        raise
    grouped = groupby(matches, key=lambda match: id(match.entry))
    return [_explanation(list(group)) for _, group in grouped]


def _overview(mnemonic: str) -> Overview:
    """The instructions that a mnemonic's first words name: ``tcgen05``, ``mbarrier.try_wait``."""
    found = []
    for entry in entries():
        named = f"{mnemonic_of(entry)}.".startswith(f"{mnemonic}.")
        lines = tuple(form.syntax for form in forms(entry) if named or form.head == mnemonic)
        if lines:
            found.append(FormLine(entry.name, entry.summary, entry.section, lines, _choices(entry)))
    return Overview(mnemonic, tuple(found))


def mnemonic_of(entry: Entry) -> str:
    """An instruction as its section of the ISA names it, without what tells entries of one section apart."""
    return entry.name.partition(" (")[0]


def _choices(entry: Entry) -> tuple[str, ...]:
    """``.type = { .b32, .b64 };`` of each qualifier that its syntax lines use."""
    listed = (" ".join(line.split()) for line in entry.choices.split(";"))
    used = {name for form in forms(entry) for name, _, _ in _positions(form.elements)}
    return tuple(f"{line};" for line in listed if line.partition(" =")[0] in used)


def _explanation(matches: list[Match]) -> Explanation:
    match = matches[0]
    entry = match.entry
    return Explanation(
        opcode=match.opcode,
        name=entry.name,
        summary=entry.summary,
        section=entry.section,
        syntax=tuple(one.form.syntax for one in matches),
        qualifiers=_qualifiers(matches),
        operands=tuple({one.name: one for each in matches for one in _operands(each)}.values()),
        issuer=entry.issuer,
        completes=entry.completes,
        version=_version(match),
        targets=spelled(match.targets),
        rules=tuple(_rules(match)),
        tile=_why_no_tile(match),
        example=example_of(match),
    )


def _version(match: Match) -> str:
    """The first PTX version, and those of targets that have the variant from an earlier one on."""
    text = "{}.{}".format(*match.version)
    by_version: dict[Version, set[str]] = {}
    for target in match.targets:
        by_version.setdefault(match.version_on(target), set()).add(target)
    sooner = [f"{major}.{minor} on {spelled(frozenset(those))}" for (major, minor), those in sorted(by_version.items())][:-1]
    return f"{text} ({'; '.join(sooner)})" if sooner else text


# ---- qualifiers -------------------------------------------------------------------------------------------------------


def _qualifiers(matches: list[Match]) -> tuple[Qualifier, ...]:
    """Those of the first reading, and what further readings could add."""
    found: dict[str, Qualifier] = {}
    for match in matches:
        positions = tuple(_positions(match.form.elements))
        for name, values, optional in positions:
            if name not in found:
                absent = name not in match.bindings
                found[name] = _absent(match, name, values, positions) if absent else _chosen(match, name, values, optional)
    return tuple(found.values())


def _positions(elements: tuple[Element, ...], optional: bool = False) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """(name, values, whether it may be left out) of each position, in the order of the syntax line."""
    for element in elements:
        if isinstance(element, str):
            yield element, (element,), optional
        elif isinstance(element, Choice):
            yield element.name, tuple("".join(value) for value in element.values), optional
        else:
            yield from _positions(element.elements, True)


def _chosen(match: Match, name: str, values: tuple[str, ...], optional: bool) -> Qualifier:
    """A position that the opcode fills."""
    bound, meaning = match.bindings, match.entry.meaning
    value = str(bound[name])
    others = [one for one in values if one != value and _goes({**bound, name: one}, match.entry)]
    if optional and _goes({key: one for key, one in bound.items() if key != name}, match.entry):
        others.append("")
    said, position = meaning.get(value, ""), meaning.get(name, "")
    return Qualifier(name, value, said or position, tuple(others), position if said not in ("", position) else "", (), "")


def _absent(match: Match, name: str, values: tuple[str, ...], positions: tuple[tuple[str, tuple[str, ...], bool], ...]) -> Qualifier:
    """A position that the opcode leaves out: what could be added there, alone or else together with one other."""
    bound, meaning = match.bindings, match.entry.meaning
    beside = ""
    others = tuple(one for one in values if _goes({**bound, name: one}, match.entry))
    for other, theirs, _ in positions:
        if not others and other not in bound and other != name:
            others = tuple(one for one in values if any(_goes({**bound, name: one, other: its}, match.entry) for its in theirs))
            beside = other if others else ""
    each = tuple((one, meaning[one]) for one in others if one in meaning and one != name)
    return Qualifier(name, "", meaning.get(name) or meaning.get(values[0], ""), others, "", each if name in meaning else (), beside)


def _goes(bindings: Mapping[str, str | bool], entry: Entry) -> bool:
    return not any(True for _ in broken_rules(entry, bindings, operands_known=False))


# ---- operands ---------------------------------------------------------------------------------------------------------


def _operands(match: Match) -> Iterator[OperandFacts]:
    holds = dict(fragments(match))
    for slot in _all_slots(match):
        for name in (slot.name, slot.second, *slot.inner):
            if name:
                yield _operand(match, name, match.entry.operands[name], holds)


def _all_slots(match: Match) -> tuple[Slot, ...]:
    """The longest operand list that the rules allow."""
    allowed = [slots for slots in match.form.operand_lists if slots_allowed(match, slots)]
    return (allowed or match.form.operand_lists)[-1]


def slots_allowed(match: Match, slots: tuple[Slot, ...]) -> bool:
    """Whether the rules allow an operand list here."""
    names = {name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name}
    return not any(True for _ in broken_rules(match.entry, {**match.bindings, **dict.fromkeys(names, True)}, operands_known=True))


def _operand(match: Match, name: str, contract: Operand, holds: Mapping[str, str]) -> OperandFacts:
    optional = name not in match.form.required and not _needed(match, name)
    alignment = view = None
    if contract.kind == "address" and contract.type and not _opaque(match, contract):
        alignment = max(contract.align, max(1, match.type(contract.type).bits // 8) * match.count(contract.vector))
    if contract.kind not in NAMED and contract.kind not in ("list", "sink") and (contract.kind != "address" or contract.type):
        view = f"(*group, *repeat, {match.count(contract.vector)})"
    tile = match.entry.tile
    if tile is not None:
        sized = "(*group, *repeat, elements of one copy)" if tile.sized and contract.kind == "address" else None
        view = _atom_view(tile, tile.atoms[name], match) if name in tile.atoms else sized
    meaning = match.entry.meaning.get(name) or OPERANDS.get(name, "")
    return OperandFacts(name, contract.role, legal_operand(match, contract, name), meaning, holds.get(name, ""), optional, alignment, view)


def _opaque(match: Match, contract: Operand) -> bool:
    """Whether an operand is a texture, sampler or surface, which has no elements to view."""
    return bool(contract.type) and match.type(contract.type).kind == "opaque"


def _atom_view(tile: Tile, atom: Atom, match: Match) -> str:
    """The axes of an operand with an atom: those that are repeated, by their names, and the atom's extents."""
    if atom.place == "tensor map":
        return "a box of a tensor"
    repeats = atom.repeats.replace("*", "*group *repeat").split()
    if tile.extents:  # a view gives them
        extents = [text.strip() for text in atom.shape.split(",")]
    else:
        extents = [str(extent) for extent in atom_shape(atom, evaluate_names(tile, match), match)] if atom.shape else ["*box"]
    return f"({', '.join([*repeats, *extents])})"


def _needed(match: Match, name: str) -> bool:
    """Whether every operand list that the rules allow here has this operand."""
    allowed = [slots for slots in match.form.operand_lists if slots_allowed(match, slots)]
    return all(any(name in (slot.name, slot.second, *slot.inner) for slot in slots) for slots in allowed)


def _rules(match: Match) -> Iterator[RuleFacts]:
    """The rules that bear on this choice of qualifiers, each once."""
    names = (name for slot in _all_slots(match) for name in (slot.name, slot.second, *slot.inner) if name)
    known = {**match.bindings, **dict.fromkeys(names, True)}
    seen = set()
    for rule in match.entry.rules:
        if condition(rule.when).holds(known) and rule.says not in seen:
            seen.add(rule.says)
            yield RuleFacts(rule.says, rule.section or match.entry.section)


def _why_no_tile(match: Match) -> str:
    """Why `px.tile.apply` does not take it, or an empty text."""
    tile = match.entry.tile
    if tile is not None:
        return "" if condition(tile.when).holds(match.bindings) else f"its tile form is for {tile.when}"
    for slot in match.form.operand_lists[0]:
        contract = match.entry.operands[slot.name]
        if contract.kind in NAMED or contract.kind == "list" or slot.inner or _opaque(match, contract):
            return f'operand {slot.name} is no view; call px.ptx["{match.opcode}"](...) instead'
    if not match.form.operand_lists[0]:
        return "it has no operands"
    if match.entry.issuer != "thread":
        return "one elected thread issues it" if match.entry.issuer == "one" else f"a {match.entry.issuer} issues it together"
    return ""
