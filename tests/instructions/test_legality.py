"""ptxas is the referee: what a contract allows it assembles, and what a contract refuses it refuses."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.instructions.checking import check
from ptxgen.instructions.grammar import Form, forms
from ptxgen.instructions.language import Entry
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION
from tests.instructions.harness import (
    NEWEST,
    Refusal,
    Statement,
    illegal_choices,
    judge,
    known_entries,
    legal_choices,
    statements,
    statements_of,
    targets_outside,
    version_before,
)

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
every_entry = pytest.mark.parametrize("entry", list(known_entries()), ids=lambda entry: f"{entry.family}-{entry.name}")


def shown(refusals: list[Refusal]) -> str:
    return f"{len(refusals)} of them:\n" + "\n".join(map(str, refusals[:40]))


def one_of_each_class(entry: Entry) -> Iterator[Statement]:
    """A few statements for every (first version, targets) that the entry's variants have."""
    for form in forms(entry):
        classes: dict[object, list[Match]] = {}
        for bound in legal_choices(form):
            match = Match(form.opcode(bound), form, bound)
            classes.setdefault((match.version, match.targets), []).append(match)
        for members in classes.values():
            for match in random.Random(form.syntax).sample(members, min(3, len(members))):
                yield from list(statements(match))[:1]


@needs_ptxas
@every_entry
def test_ptxas_accepts_every_legal_form_at_its_first_version_and_lowest_target(entry: Entry) -> None:
    built = [statement for form in forms(entry) for statement in statements_of(form)]
    assert built
    refused = judge((statement, statement.version, statement.target) for statement in built)
    assert not refused, shown(refused)


@needs_ptxas
@every_entry
def test_ptxas_accepts_on_every_target_of_the_contract(entry: Entry) -> None:
    refused = judge(
        (statement, max(statement.match.version, FIRST_VERSION[target]), target)
        for statement in one_of_each_class(entry)
        for target in statement.match.targets
    )
    assert not refused, shown(refused)


@needs_ptxas
@every_entry
def test_ptxas_refuses_the_version_before(entry: Entry) -> None:
    early = []
    for statement in one_of_each_class(entry):
        before = version_before(statement.match)
        if before is not None:
            early.append((statement, *before))
    refused = {id(refusal.statement) for refusal in judge(early)}
    accepted = [f"{version} {target}: {statement.text}" for statement, version, target in early if id(statement) not in refused]
    assert not accepted, "ptxas accepts earlier than the contract says:\n" + "\n".join(accepted[:40])


@needs_ptxas
@every_entry
def test_ptxas_refuses_other_targets(entry: Entry) -> None:
    placed = [(statement, NEWEST, target) for statement in one_of_each_class(entry) for target in targets_outside(statement.match)]
    refused = {(id(refusal.statement), refusal.target) for refusal in judge(placed)}
    accepted = [f"{target}: {statement.text}" for statement, _, target in placed if (id(statement), target) not in refused]
    assert not accepted, "ptxas accepts on targets that the contract excludes:\n" + "\n".join(accepted[:40])


@needs_ptxas
@every_entry
def test_ptxas_refuses_what_a_rule_forbids(entry: Entry) -> None:
    wrong = [(form, bound) for form in forms(entry) for bound in illegal_choices(form)]
    spelled_legally = {statement.match.opcode for form in forms(entry) for statement in statements_of(form)}
    placed = []
    for form, bound in wrong:
        match = Match(form.opcode(bound), form, bound)
        if match.opcode in spelled_legally or not match.targets:
            continue
        placed += [(statement, NEWEST, statement.target) for statement in list(statements(match, ignore_rules=True))[:1]]
    refused = {id(refusal.statement) for refusal in judge(placed)}
    accepted = [statement.text for statement, _, _ in placed if id(statement) not in refused]
    assert not accepted, f"ptxas accepts {len(accepted)} that a rule forbids:\n" + "\n".join(accepted[:40])


@every_entry
def test_check_accepts_what_the_contract_builds(entry: Entry) -> None:
    for form in forms(entry):
        for statement in statements_of(form):
            assert _accepts(statement), statement.text


def _accepts(statement: Statement) -> Form:
    return check(statement.match.opcode, statement.given).match.form
