"""ptxas is the referee: what a contract allows it assembles, and what a contract refuses it refuses.

A test takes a family or all of them at once, since ptxas judges thousands of statements of equal version and target in one run. The
sample holds every pair of qualifier values; ``ptxgen certify`` goes through more, and through what is illegal.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.choices import illegal_choices, legal_choices
from ptxgen.certify.gates import NEWEST, targets_outside, version_before
from ptxgen.certify.judge import Refusal, judge
from ptxgen.certify.statements import Statement, statements, statements_of
from ptxgen.instructions.checking import check
from ptxgen.instructions.grammar import Form, broken_rules, forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries
from ptxgen.instructions.targets import FIRST_VERSION

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
every_family = pytest.mark.parametrize("family", FAMILIES)


# Families whose operands are up to 256 registers: few statements fit into one function.
MANY_REGISTERS = {"warpgroup", "tensor_memory"}

# Rules that ptxas 13.5 does not hold us to while it reads: its code generator crashes or gives up, as the contracts say.
BEHIND_THE_PARSER = {
    "sums of bits and of numbers of 4 bits are s32",
    "a vector of eight holds 32-bit elements",
    "generic addresses are 64 bits wide",
    "the priority of four rows is set in a tensor of two dimensions",
    "of floats, those of 16 bits are summed in .f32",
}


# Statements at which ptxas 13.5 dies with an internal error (C7907) as it generates code without optimisation: a constant is stored.
BREAKS_PTXAS = re.compile(r"(st|red|multimem\.st|multimem\.red)\.async\S*\.release\..*, (-?\d+|0[fd][0-9A-F]+);")


def family_forms(family: str) -> list[Form]:
    return [form for entry in family_entries(family) for form in forms(entry)]


def shown(refusals: list[Refusal]) -> str:
    return f"ptxas refuses {len(refusals)}:\n" + "\n".join(map(str, refusals[:40]))


@lru_cache(maxsize=None)
def some_of_each_class() -> list[Statement]:
    """A few statements for every (first version, targets) that the variants of a syntax line have."""
    found: list[Statement] = []
    for form in (form for family in FAMILIES for form in family_forms(family)):
        classes: dict[object, list[Match]] = {}
        for bound in legal_choices(form):
            match = Match(form.opcode(bound), form, bound)
            classes.setdefault((match.version, match.targets), []).append(match)
        for members in classes.values():
            for match in random.Random(form.syntax).sample(members, min(3, len(members))):
                found += list(statements(match))[:1]
    return found


@needs_ptxas
@every_family
def test_ptxas_accepts_every_legal_form_at_its_first_version_and_lowest_target(family: str) -> None:
    built = [statement for form in family_forms(family) for statement in statements_of(form)]
    assert built
    refused = judge((statement, statement.version, statement.target) for statement in built)
    assert not refused, shown(refused)


@needs_ptxas
@every_family
def test_ptxas_generates_code(family: str) -> None:
    built = [statement for form in family_forms(family) for statement in statements_of(form) if not BREAKS_PTXAS.match(statement.text)]
    some = random.Random(family).sample(built, min(60 if family in MANY_REGISTERS else 250, len(built)))
    refused = judge(((statement, statement.version, statement.target) for statement in some), generate=True)
    assert not refused, shown(refused)


@needs_ptxas
def test_ptxas_accepts_on_every_target_of_the_contract() -> None:
    refused = judge(
        (statement, max(statement.match.version, FIRST_VERSION[target]), target)
        for statement in some_of_each_class()
        for target in statement.match.targets
    )
    assert not refused, shown(refused)


@needs_ptxas
def test_ptxas_refuses_the_version_before() -> None:
    early = [(statement, *before) for statement in some_of_each_class() if (before := version_before(statement.match))]
    refused = {id(refusal.statement) for refusal in judge(early)}
    accepted = [f"{version} {target}: {statement.text}" for statement, version, target in early if id(statement) not in refused]
    assert not accepted, "ptxas accepts earlier than the contract says:\n" + "\n".join(accepted[:40])


@needs_ptxas
def test_ptxas_refuses_other_targets() -> None:
    placed = [(statement, NEWEST, target) for statement in some_of_each_class() for target in targets_outside(statement.match)]
    refused = {(id(refusal.statement), refusal.target) for refusal in judge(placed)}
    accepted = [f"{target}: {statement.text}" for statement, _, target in placed if (id(statement), target) not in refused]
    assert not accepted, "ptxas accepts on targets that the contract excludes:\n" + "\n".join(accepted[:40])


@needs_ptxas
@every_family
def test_ptxas_refuses_what_a_rule_forbids(family: str) -> None:
    spelled_legally = {statement.match.opcode for form in family_forms(family) for statement in statements_of(form)}
    placed = []
    for form in family_forms(family):
        for bound in illegal_choices(form):
            match = Match(form.opcode(bound), form, bound)
            broken = {rule.says for rule in broken_rules(form.entry, bound, operands_known=False)}
            if match.opcode not in spelled_legally and match.targets and not broken & BEHIND_THE_PARSER:
                placed += [(statement, NEWEST, statement.target) for statement in list(statements(match, ignore_rules=True))[:1]]
    refused = {id(refusal.statement) for refusal in judge(placed)}
    accepted = [statement.text for statement, _, _ in placed if id(statement) not in refused]
    assert not accepted, f"ptxas accepts {len(accepted)} that a rule forbids:\n" + "\n".join(accepted[:40])


@every_family
def test_check_accepts_what_the_contract_builds(family: str) -> None:
    for form in family_forms(family):
        for statement in statements_of(form):
            checked = check(statement.match.opcode, statement.given, statement.setting)
            assert checked.match.entry.family == family or len(checked.operands) == len(statement.given), statement.text
