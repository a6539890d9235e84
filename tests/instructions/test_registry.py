"""Every entry of the registry is whole: section, summary, a contract for each operand name, a meaning for each qualifier."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from ptxgen.certify.choices import illegal_choices, legal_choices
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Choice, Element, Optional, forms
from ptxgen.instructions.language import Entry
from ptxgen.instructions.registry import FAMILIES, entries, family_entries, lookup

ENTRIES = list(entries())
CORPUS = Path(__file__).parent.parent / "data" / "opcodes.txt"
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=[f"{entry.family}-{entry.name}" for entry in ENTRIES])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_of_families_says_what_their_modules_hold(family: str) -> None:
    heads = {form.head for entry in family_entries(family) for form in forms(entry)}
    assert heads == set(FAMILIES[family])
    assert all(entry.family == family for entry in family_entries(family))
    assert import_module(f"ptxgen.instructions.{family}").__doc__


@every_entry
def test_every_entry_is_whole(entry: Entry) -> None:
    assert re.fullmatch(r"9\.7(\.\d+)+", entry.section)
    assert entry.summary.endswith(".")
    for form in forms(entry):
        assert re.match(r"\w+", entry.name)[0] == form.head  # type: ignore[index]
        for slots in form.operand_lists:
            for slot in slots:
                for name in (slot.name, slot.second, *slot.inner):
                    assert not name or name in entry.operands, (form.syntax, name)
    for rule in entry.rules:
        assert rule.says and not rule.says.endswith("."), rule.says
    for name, says in entry.meaning.items():
        assert (name.startswith(".") or name in entry.operands) and says.endswith("."), (name, says)


@every_entry
def test_opcodes_are_read_as_they_were_spelled(entry: Entry) -> None:
    for form in forms(entry):
        for bound in legal_choices(form)[:400]:
            opcode = form.opcode(bound)
            read = [match for match in lookup(opcode) if match.form is form]
            assert any(dict(match.bindings) == bound for match in read), opcode


@every_entry
def test_no_opcode_is_read_as_one_form_in_two_ways(entry: Entry) -> None:
    for form in forms(entry):
        for bound in legal_choices(form)[:400]:
            matches = [match for match in lookup(form.opcode(bound)) if match.form is form]
            assert len(matches) == 1, [match.bindings for match in matches]


@every_entry
def test_what_is_offered_instead_of_broken_rules_is_legal(entry: Entry) -> None:
    for form in forms(entry):
        for bound in illegal_choices(form, 300)[:20]:
            try:
                lookup(form.opcode(bound))
            except InstructionError as error:
                for offered in re.findall(rf"(?<!\S){form.head}\.[^ ,]+(?=,|$)", error.legal):
                    assert lookup(offered), error


def test_real_opcodes_are_known() -> None:
    """Opcodes that stand in published PTX texts for targets that we know."""
    for opcode in CORPUS.read_text().split():
        assert lookup(opcode), opcode


@every_entry
def test_qualifiers_with_a_choice_are_explained(entry: Entry) -> None:
    for form in forms(entry):
        for name, values in _choices(form.elements):
            explained = name == ".type" or name in entry.meaning or all(value in entry.meaning for value in values)
            assert explained, f"{form.syntax} says nothing on {name} = {values}"


def _choices(elements: Sequence[Element]) -> Iterator[tuple[str, list[str]]]:
    for element in elements:
        if isinstance(element, Choice):
            yield element.name, ["".join(value) for value in element.values]
        elif isinstance(element, Optional):
            yield from _choices(element.elements)
