"""Choices of the qualifiers of one syntax line: all, enough to hold every pair of values, or those that a rule forbids."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations as subsets
from math import prod

from ptxgen.instructions.grammar import Choice, Element, Form, broken_rules

__all__ = ["count", "illegal_choices", "legal_choices", "pairwise"]

_ENUMERATE = 4000
"""Syntax lines with more combinations than this are sampled."""


def count(elements: Sequence[Element]) -> int:
    """How many opcodes a syntax line spells before its rules are applied."""
    sizes = (
        1 if isinstance(element, str) else len(element.values) if isinstance(element, Choice) else 1 + count(element.elements)
        for element in elements
    )
    return prod(sizes)


def _draw(elements: Sequence[Element], rng: random.Random) -> dict[str, str | bool]:
    bound: dict[str, str | bool] = {}
    for element in elements:
        if isinstance(element, str):
            bound[element] = element
        elif isinstance(element, Choice):
            bound[element.name] = "".join(rng.choice(element.values))
        elif rng.random() < 0.5:
            bound.update(_draw(element.elements, rng))
    return bound


def _drawn(form: Form, number: int) -> Iterator[dict[str, str | bool]]:
    rng = random.Random(form.syntax)
    for _ in range(number):
        bound = _draw(form.elements, rng)
        if form.default_type:
            bound.setdefault(".type", form.default_type)
        yield bound


@lru_cache(maxsize=None)
def legal_choices(form: Form, *, everything: bool = False) -> list[dict[str, str | bool]]:
    """Qualifier bindings that the rules allow: all of them, or for long lines enough to hold every pair of values."""
    if everything or count(form.elements) <= _ENUMERATE:
        return list(form.combinations())
    legal = (bound for bound in _drawn(form, 2 * _ENUMERATE) if not any(broken_rules(form.entry, bound, operands_known=False)))
    return pairwise(form, legal)


def illegal_choices(form: Form, number: int = 1500) -> list[dict[str, str | bool]]:
    """Qualifier bindings that the syntax line spells and exactly one rule forbids."""
    found: dict[str, dict[str, str | bool]] = {}
    for bound in _drawn(form, number):
        if len(list(broken_rules(form.entry, bound, operands_known=False))) == 1:
            found.setdefault(form.opcode(bound), bound)
    return list(found.values())


def pairwise(form: Form, choices: Iterable[dict[str, str | bool]]) -> list[dict[str, str | bool]]:
    """Those of `choices` that show a pair of qualifier values for the first time; absence counts as a value."""
    names = sorted(_names(form.elements))
    seen: set[tuple[object, ...]] = set()
    kept = []
    for bound in choices:
        new = [pair for pair in subsets([(name, bound.get(name)) for name in names], 2) if pair not in seen]
        if new:
            seen.update(new)
            kept.append(bound)
    return kept


def _names(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, str):
            yield element
        elif isinstance(element, Choice):
            yield element.name
        else:
            yield from _names(element.elements)
