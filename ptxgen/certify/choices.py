"""Choices of the qualifiers of one syntax line: all, enough to hold every pair of values, or those that a rule forbids."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations as subsets
from math import prod

from ptxgen.instructions.grammar import Choice, Element, Form, broken_rules

__all__ = ["any_choice", "certified_choices", "count", "illegal_choices", "legal_choices", "pairwise"]

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
        yield _complete(form, _draw(form.elements, rng))


def _complete(form: Form, bound: dict[str, str | bool]) -> dict[str, str | bool]:
    if form.default_type:
        bound.setdefault(".type", form.default_type)
    return bound


@lru_cache(maxsize=None)
def legal_choices(form: Form, *, everything: bool = False) -> list[dict[str, str | bool]]:
    """Qualifier bindings that the rules allow: all of them, or for long lines enough to hold every pair of values."""
    if everything or count(form.elements) <= _ENUMERATE:
        return list(form.combinations())
    legal = (bound for bound in _drawn(form, 2 * _ENUMERATE) if not any(broken_rules(form.entry, bound, operands_known=False)))
    return pairwise(form, legal)


def certified_choices(form: Form, seed: int, most: int = 2000) -> list[dict[str, str | bool]]:
    """All legal choices where there are at most `most`; else enough to hold every pair of values, and `most` random ones."""
    rng = random.Random(f"{seed} {form.syntax}")
    if count(form.elements) <= 20 * most:
        found = list(form.combinations())
        if len(found) <= most:
            return found
        rng.shuffle(found)
        paired = pairwise(form, found)
        spelled = {form.opcode(bound) for bound in paired}
        return paired + [bound for bound in found if form.opcode(bound) not in spelled][:most]
    more = {form.opcode(bound): bound for bound in (any_choice(form, rng) for _ in range(most))}
    return list({**{form.opcode(bound): bound for bound in legal_choices(form)}, **more}.values())


def any_choice(form: Form, rng: random.Random) -> dict[str, str | bool]:
    """A random legal choice."""
    known = legal_choices(form)
    if count(form.elements) > _ENUMERATE and rng.random() < 0.8:
        for _ in range(100):
            bound = _complete(form, _draw(form.elements, rng))
            if not any(broken_rules(form.entry, bound, operands_known=False)):
                return bound
    return rng.choice(known)


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
