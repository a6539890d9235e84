"""Texts that are legal but for one change: what the contracts should refuse, unless the change leads to another legal text.

Each kind of change is one function of a statement; it may find nothing to change. Nobody knows beforehand whether a mutant is legal:
the contracts and ptxas are both asked.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ptxgen.certify.gates import NEWEST, VERSIONS
from ptxgen.certify.statements import Statement
from ptxgen.instructions.checking import Given
from ptxgen.instructions.grammar import Choice, Element, forms, tokens_of
from ptxgen.instructions.registry import entries
from ptxgen.instructions.targets import FIRST_VERSION, Version

__all__ = ["KINDS", "Mutant", "mutant"]


class Mutant(NamedTuple):
    """A changed statement: the kind of change, its text, and the module that it stands in."""

    kind: str
    text: str
    version: Version
    target: str
    place: str
    original: str

    def __str__(self) -> str:
        return f".version {self.version[0]}.{self.version[1]} {self.target}: {self.text}"


def mutant(statement: Statement, rng: random.Random) -> Mutant | None:
    """One random change of a statement; None where the kind that was drawn finds nothing to change."""
    kind = rng.choices(tuple(KINDS), weights=tuple(weight for weight, _ in KINDS.values()))[0]
    version, target = statement.version, statement.target
    if rng.random() < 0.5:
        version = NEWEST
    if kind == "target":
        target = rng.choice(tuple(FIRST_VERSION))
        version = rng.choice([one for one in VERSIONS if one >= FIRST_VERSION[target]])
        text = statement.text
    else:
        changed = KINDS[kind][1](statement, rng)
        if changed is None or changed == statement.text:
            return None
        text = changed
    place = statement.place if statement.setting else "func" if "param::func" in text or "r_mem" in text else "entry"
    return Mutant(kind, text, version, target, place, statement.text)


# ---- qualifiers -------------------------------------------------------------------------------------------------------


def _vocabulary(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, str):
            yield element
        elif isinstance(element, Choice):
            for value in element.values:
                yield from value
        else:
            yield from _vocabulary(element.elements)


@lru_cache(maxsize=None)
def _words(head: str) -> tuple[str, ...]:
    """Every qualifier that instructions with this first word have; without one, those of all instructions."""
    every = (form for entry in entries() for form in forms(entry) if not head or form.head == head)
    return tuple(dict.fromkeys(word for form in every for word in _vocabulary(form.elements)))


def _another(statement: Statement, rng: random.Random) -> str:
    """A qualifier: mostly of the instruction itself."""
    return rng.choice(_words(statement.match.form.head) if rng.random() < 0.8 else _words(""))


def _respelled(statement: Statement, change: Callable[[list[str]], object]) -> str | None:
    head, *qualifiers = tokens_of(statement.match.opcode)
    if not qualifiers:
        return None
    change(qualifiers)
    rest = statement.text[len(statement.match.opcode) :]
    return head + "".join(qualifiers) + rest


def _swap_qualifier(statement: Statement, rng: random.Random) -> str | None:
    def change(qualifiers: list[str]) -> None:
        qualifiers[rng.randrange(len(qualifiers))] = _another(statement, rng)

    return _respelled(statement, change)


def _drop_qualifier(statement: Statement, rng: random.Random) -> str | None:
    return _respelled(statement, lambda qualifiers: qualifiers.pop(rng.randrange(len(qualifiers))) and None)


def _add_qualifier(statement: Statement, rng: random.Random) -> str | None:
    return _respelled(statement, lambda qualifiers: qualifiers.insert(rng.randint(0, len(qualifiers)), _another(statement, rng)))


def _repeat_qualifier(statement: Statement, rng: random.Random) -> str | None:
    return _respelled(statement, lambda qualifiers: qualifiers.insert(rng.randint(0, len(qualifiers)), rng.choice(qualifiers)))


def _reorder_qualifiers(statement: Statement, rng: random.Random) -> str | None:
    def change(qualifiers: list[str]) -> None:
        first, second = rng.randrange(len(qualifiers)), rng.randrange(len(qualifiers))
        qualifiers[first], qualifiers[second] = qualifiers[second], qualifiers[first]

    return _respelled(statement, change)


# ---- operands ---------------------------------------------------------------------------------------------------------

_REGISTERS = (
    "pred", "b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "f16x2", "b64", "u64", "s64", "f64",
)  # fmt: skip
_NUMBER = 200
"""Registers from this number on stand in no legal statement."""
_VARIABLES = ("g_mem", "s_mem", "c_mem", "l_mem", "p_mem")
_INTEGERS = (
    -(1 << 31) - 1, -(1 << 31), -32769, -129, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129,
    255, 256, 257, 511, 512, 1 << 15, 65535, 65536, 1 << 20, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1,
    1 << 63, (1 << 64) - 1,
)  # fmt: skip


def _register(rng: random.Random, number: int = 0) -> str:
    return f"%{rng.choice(_REGISTERS)}_{_NUMBER + number}"


def _any_operand(rng: random.Random) -> str:
    """An operand of any class."""
    two, four = _register(rng), _register(rng)
    return rng.choice(
        (
            _register(rng),
            str(rng.choice(_INTEGERS)),
            rng.choice(("0f3F800000", "0d3FF0000000000000", "1.5")),
            rng.choice(_VARIABLES),
            rng.choice(_VARIABLES) + "+4",
            f"[{rng.choice(_VARIABLES)}]",
            f"[{rng.choice(('%b32', '%b64'))}_{_NUMBER}]",
            f"{{{two}, {two[:-1]}1}}",
            f"{{{four}, {four[:-1]}1, {four[:-1]}2, {four[:-1]}3}}",
            "_",
            "!%pred_200",
            f"{two}|%pred_201",
            rng.choice(("%laneid", "%tid.x", "%clock64", "%lanemask_eq", "WARP_SZ")),
            "L_end",
            "callee",
        )
    )


def _with_operands(statement: Statement, change: Callable[[list[str]], object]) -> str | None:
    operands = [one.text for one in statement.given]
    if change(operands) is False:
        return None
    return f"{statement.match.opcode} {', '.join(operands)}".rstrip() + ";"


def _missing_operand(statement: Statement, rng: random.Random) -> str | None:
    return _with_operands(statement, lambda found: found.pop(rng.randrange(len(found))) and None if found else False)


def _extra_operand(statement: Statement, rng: random.Random) -> str | None:
    def change(operands: list[str]) -> None:
        operands.insert(len(operands) if rng.random() < 0.6 else rng.randint(0, len(operands)), _any_operand(rng))

    return _with_operands(statement, change)


def _exchanged_operands(statement: Statement, rng: random.Random) -> str | None:
    def change(operands: list[str]) -> bool:
        if len(operands) < 2:
            return False
        first, second = rng.sample(range(len(operands)), 2)
        operands[first], operands[second] = operands[second], operands[first]
        return True

    return _with_operands(statement, change)


def _other_class(statement: Statement, rng: random.Random) -> str | None:
    def change(operands: list[str]) -> bool:
        if not operands:
            return False
        operands[rng.randrange(len(operands))] = _any_operand(rng)
        return True

    return _with_operands(statement, change)


_REGISTER = re.compile(r"%(?:pred|[bsuf]\d+(?:x2)?)_\d+")


def _other_type(statement: Statement, rng: random.Random) -> str | None:
    """A register, or all of a vector's, of another type."""
    places = [one for one in statement.given if _REGISTER.search(one.text)]
    if not places:
        return None
    chosen = rng.choice(places)
    type = rng.choice(_REGISTERS)
    if len(_REGISTER.findall(chosen.text)) > 1 and rng.random() < 0.3:
        one = rng.choice(_REGISTER.findall(chosen.text))
        changed = re.sub(rf"{one}\b", f"%{type}_{_NUMBER}", chosen.text, count=1)
    else:
        changed = _REGISTER.sub(lambda found: f"%{type}_{found[0].rpartition('_')[2]}", chosen.text)
    return _replaced(statement, chosen, changed)


def _replaced(statement: Statement, chosen: Given, text: str) -> str:
    operands = ", ".join(text if one is chosen else one.text for one in statement.given)
    return f"{statement.match.opcode} {operands};"


def _other_width(statement: Statement, rng: random.Random) -> str | None:
    """A vector of another length, braces around a register or none."""
    places = [one for one in statement.given if one.kind == "vector" or (one.kind == "register" and one.text[1:2] in "bsufp")]
    if not places:
        return None
    chosen = rng.choice(places)
    items = [item.text for item in chosen.items] or [chosen.text]
    length = rng.choice((1, 2, 3, 4, 8, len(items) - 1, len(items) + 1, len(items) * 2))
    if length < 1 or (length == 1 and rng.random() < 0.5):
        return _replaced(statement, chosen, items[0])
    prefix = items[0].rpartition("_")[0]
    more = [f"{prefix}_{_NUMBER + number}" if _REGISTER.fullmatch(items[0]) else items[0] for number in range(length)]
    return _replaced(statement, chosen, "{" + ", ".join((items + more)[:length]) + "}")


def _other_space(statement: Statement, rng: random.Random) -> str | None:
    """An address in another state space, or of another width."""
    places = [one for one in statement.given if one.kind == "address" or one.text in _VARIABLES]
    if not places:
        return None
    chosen = rng.choice(places)
    base = rng.choice((*_VARIABLES, f"%b64_{_NUMBER}", f"%b32_{_NUMBER}", f"%u64_{_NUMBER}", f"%s32_{_NUMBER}", f"%b16_{_NUMBER}",
                       f"%f64_{_NUMBER}", "256"))  # fmt: skip
    return _replaced(statement, chosen, re.sub(r"^(\[?)[%\w]+", lambda found: found[1] + base, chosen.text))


def _other_constant(statement: Statement, rng: random.Random) -> str | None:
    """A constant of another value."""
    places = [one for one in statement.given if one.kind == "int" or any(item.kind == "int" for item in one.items)]
    if not places:
        return None
    chosen = rng.choice(places)
    value = str(rng.choice(_INTEGERS))
    if chosen.kind == "int":
        return _replaced(statement, chosen, value)
    old = rng.choice([item.text for item in chosen.items if item.kind == "int"])
    return _replaced(statement, chosen, re.sub(rf"(?<![\w%.+-]){re.escape(old)}\b", value, chosen.text, count=1))


KINDS: dict[str, tuple[int, Callable[[Statement, random.Random], str | None]]] = {
    "qualifier swapped": (4, _swap_qualifier),
    "qualifier dropped": (2, _drop_qualifier),
    "qualifier added": (3, _add_qualifier),
    "qualifier repeated": (1, _repeat_qualifier),
    "qualifiers reordered": (1, _reorder_qualifiers),
    "operand missing": (1, _missing_operand),
    "operand extra": (2, _extra_operand),
    "operands exchanged": (1, _exchanged_operands),
    "operand of another class": (4, _other_class),
    "operand of another type": (4, _other_type),
    "vector of another width": (2, _other_width),
    "address in another space": (2, _other_space),
    "constant of another value": (2, _other_constant),
    "target": (2, lambda statement, rng: statement.text),
}
"""Kind of change -> its weight, and what makes it."""
