"""Looking opcodes up finds what the syntax lines, rules and first versions say when they are walked one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import pytest

from ptxgen.instructions.grammar import Bindings, Form, broken_rules, condition, forms, parse_version, tokens_of
from ptxgen.instructions.matching import Readings, availability
from ptxgen.instructions.registry import FAMILIES, entries, mnemonics
from ptxgen.instructions.targets import FIRST_VERSION, Version, target_set

EACH = 60  # opcodes of a syntax line


def forms_of(head: str) -> list[Form]:
    return [form for entry in entries() for form in forms(entry) if form.head == head]


def spelled(lines: list[Form], seed: str) -> Iterator[tuple[str, ...]]:
    """Legal opcodes of each line, drawn from its first combinations, and what becomes of them where a word goes, comes twice or moves."""
    draw = random.Random(seed)
    for form in lines:
        some = list(islice(form.combinations(), 2000))
        for bound in draw.sample(some, min(EACH, len(some))):
            tokens = tokens_of(form.opcode(bound))
            yield tokens
            place, other = draw.randrange(len(tokens)), draw.randrange(len(tokens))
            if place and other:
                yield (*tokens[:place], *tokens[place + 1 :])
                yield (*tokens[:place], tokens[other], *tokens[place:])
                swapped = list(tokens)
                swapped[place], swapped[other] = tokens[other], tokens[place]
                yield tuple(swapped)


def first(form: Form, bindings: Bindings) -> tuple[Version, frozenset[str]]:
    """Version and targets as the entry's lines say, each condition evaluated as it stands."""
    known = {**bindings, **dict.fromkeys(form.required, True)}
    version: Version = (1, 0)
    targets = frozenset(FIRST_VERSION)
    for since in form.entry.since:
        if condition(since.when).holds(known):
            version, targets = max(version, parse_version(since.ptx)), targets & target_set(since.targets)
    return version, targets


@pytest.mark.parametrize("head", sorted(mnemonics()))
def test_readings(head: str) -> None:
    lines = forms_of(head)
    readings = Readings(lines)
    for tokens in dict.fromkeys(spelled(lines, head)):
        walked = [(form, bound) for form in lines for bound in form.matches(tokens)]
        legal = [(form, bound) for form, bound in walked if not any(broken_rules(form.entry, bound, operands_known=False))]
        assert readings.of(tokens) == (legal, [one for one in walked if one not in legal]), tokens
        for form, bound in legal:
            assert availability(form, bound) == first(form, bound), (tokens, form)


def test_every_family_is_among_them() -> None:
    assert {entry.family for head in mnemonics() for entry in {form.entry for form in forms_of(head)}} == {*FAMILIES}


def test_a_word_that_no_line_has() -> None:
    assert Readings(forms_of("add")).of(("add", ".f33")) == ([], [])
