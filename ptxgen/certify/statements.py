"""Statements: one choice of qualifiers of one syntax line, with operands that its contract calls legal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ptxgen.certify.choices import legal_choices
from ptxgen.certify.operands import OperandBuilder, slot_options
from ptxgen.instructions.checking import SETTINGS, Given
from ptxgen.instructions.grammar import Form, Slot, broken_rules
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION, Version, lowest_target

__all__ = ["Statement", "statements", "statements_of", "within_limits"]


class Statement(NamedTuple):
    """One instruction as text, what it was built from, and the surroundings that it needs."""

    match: Match
    slots: tuple[Slot, ...]
    given: tuple[Given, ...]
    text: str
    place: str

    @property
    def setting(self) -> frozenset[str]:
        """What its module's ``.target`` says besides the target."""
        return SETTINGS if self.place == "independent" else frozenset()

    @property
    def target(self) -> str:
        return lowest_target(self.match.targets)

    @property
    def version(self) -> Version:
        return max(self.match.version, FIRST_VERSION[self.target])


def statements(match: Match, *, variant: int | None = None, ignore_rules: bool = False) -> Iterator[Statement]:
    """Statements for each operand list that the rules allow here.

    With `variant` None every alternative of every operand is shown once, the others staying plain; a number picks one mixture.
    With `ignore_rules` the operand lists come as they stand, for choices of qualifiers that a rule forbids.
    """
    for slots in match.form.operand_lists:
        names = {name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name}
        setting = _setting(match, names)
        if setting is None and not ignore_rules:
            continue
        builder = OperandBuilder(match, slots)
        options = [slot_options(builder, slot) for slot in slots]
        if variant is not None:
            mixture = [found[(variant + place) % len(found)] for place, found in enumerate(options)]
            mixture = mixture if within_limits(match, slots, mixture) else [found[0] for found in options]
            yield _statement(match, slots, mixture, setting)
            continue
        plain = [found[0] for found in options]
        yield _statement(match, slots, plain, setting)
        for place, found in enumerate(options):
            for other in found[1:]:
                varied = [*plain[:place], other, *plain[place + 1 :]]
                if within_limits(match, slots, varied):
                    yield _statement(match, slots, varied, setting)


def _setting(match: Match, names: set[str]) -> frozenset[str] | None:
    """The words of ``.target`` with which the rules allow these operands; None where they never do."""
    for setting in (frozenset[str](), SETTINGS):
        bindings = {**match.bindings, **dict.fromkeys((*names, *setting), True)}
        if not any(broken_rules(match.entry, bindings, operands_known=True)):
            return setting
    return None


def within_limits(match: Match, slots: tuple[Slot, ...], given: Sequence[Given]) -> bool:
    """Whether no constant exceeds the one that its contract names as its limit."""
    constants = {slot.name: one.value for slot, one in zip(slots, given) if one.value is not None}
    limits = {name: constants.get(match.entry.operands[name].limit) for name in constants}
    return all(limit is None or constants[name] <= limit for name, limit in limits.items())


def _statement(match: Match, slots: tuple[Slot, ...], given: Sequence[Given], setting: frozenset[str] | None) -> Statement:
    place = "independent" if setting else "func" if "param::func" in match.opcode or any("r_mem" in one.text for one in given) else "entry"
    text = f"{match.opcode} {', '.join(one.text for one in given)}".rstrip() + ";"
    return Statement(match, slots, tuple(given), text, place)


@lru_cache(maxsize=None)
def statements_of(form: Form, *, everything: bool = False) -> list[Statement]:
    """Statements of one syntax line: every alternative operand for short lines, one mixture a combination for long ones."""
    found: list[Statement] = []
    choices = legal_choices(form, everything=everything)
    for index, bound in enumerate(choices):
        match = Match(form.opcode(bound), form, bound)
        found += statements(match, variant=None if len(choices) <= 200 else index)
    return found
