"""What is asked of both, the contracts and ptxas: a text, the module that it stands in, and what should come out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from ptxgen.certify.choices import any_choice, certified_choices
from ptxgen.certify.gates import NEWEST, targets_outside, version_before
from ptxgen.certify.mutants import mutant
from ptxgen.certify.statements import Statement, statements
from ptxgen.instructions.grammar import Form, forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries
from ptxgen.instructions.targets import Version

__all__ = ["GATES", "LEGAL", "Case", "all_forms", "cases_of", "form_id", "sampled_cases"]

LEGAL = "legal"
GATES = ("version before the first", "target outside the set")


class Case(NamedTuple):
    """A statement in its surroundings.

    `kind` is `LEGAL`, one of `GATES` or the kind of a mutant's change; `form` the `form_id` of the syntax line that it came from.
    """

    kind: str
    form: str
    text: str
    version: Version
    target: str
    place: str

    def __str__(self) -> str:
        return f".version {self.version[0]}.{self.version[1]} {self.target}: {self.text}"


def all_forms(families: tuple[str, ...] = ()) -> list[Form]:
    """Every syntax line of the registry, or of some families."""
    return [form for family in families or FAMILIES for entry in family_entries(family) for form in forms(entry)]


def form_id(form: Form) -> str:
    """A name for a syntax line: its family and itself."""
    return f"{form.entry.family}: {form.syntax}"


def cases_of(form: Form, seed: int, mutants: int) -> Iterator[Case]:
    """Every legal statement of a syntax line with its gates (`certified_choices`), and a number of mutants."""
    rng = random.Random(f"{seed} {form.syntax}")
    drawn: list[Statement] = []
    for index, bound in enumerate(certified_choices(form, seed)):
        match = Match(form.opcode(bound), form, bound)
        if not match.targets:
            continue
        for statement in statements(match, variant=index):
            drawn.append(statement)
            yield from _legal_and_gates(form, statement, rng)
    if drawn:
        yield from _mutants(form, drawn, rng, mutants)


def _legal_and_gates(form: Form, statement: Statement, rng: random.Random) -> Iterator[Case]:
    name, text, place = form_id(form), statement.text, statement.place
    yield Case(LEGAL, name, text, statement.version, statement.target, place)
    before = version_before(statement.match)
    if before is not None:
        yield Case(GATES[0], name, text, *before, place)
    outside = targets_outside(statement.match)
    if outside:
        yield Case(GATES[1], name, text, NEWEST, rng.choice(outside), place)


def _mutants(form: Form, drawn: list[Statement], rng: random.Random, number: int) -> Iterator[Case]:
    seen = set()
    for _ in range(4 * number):
        changed = mutant(rng.choice(drawn), rng)
        if changed is None or (changed.text, changed.version, changed.target) in seen:
            continue
        seen.add((changed.text, changed.version, changed.target))
        yield Case(changed.kind, form_id(form), changed.text, changed.version, changed.target, changed.place)
        if len(seen) == number:
            break


def sampled_cases(families: tuple[str, ...], number: int, seed: int) -> list[Case]:
    """`number` random legal statements with their gates, and as many mutants: every syntax line is drawn equally often."""
    rng = random.Random(seed)
    known = all_forms(families)
    found: list[Case] = []
    legal = 0
    mutants: dict[tuple[str, Version, str], Case] = {}
    while legal < number or len(mutants) < number:
        form = rng.choice(known)
        bound = any_choice(form, rng)
        match = Match(form.opcode(bound), form, bound)
        drawn = list(statements(match, variant=rng.randrange(1 << 16))) if match.targets else []
        if not drawn:
            continue
        statement = rng.choice(drawn)
        if legal < number:
            found += _legal_and_gates(form, statement, rng)
            legal += 1
        changed = mutant(statement, rng)
        if changed is not None and len(mutants) < number:
            case = Case(changed.kind, form_id(form), changed.text, changed.version, changed.target, changed.place)
            mutants.setdefault((case.text, case.version, case.target), case)
    return [*found, *mutants.values()]
