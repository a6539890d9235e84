"""Contracts against a table that others made: first version and targets of 832 forms; where the two differ, ptxas is asked.

A line of the table gives a form with its operands, its first PTX version, its targets (empty: all; one plain target: it and all newer
ones) and the choices of its qualifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.gates import NEWEST
from ptxgen.certify.judge import refusals
from ptxgen.certify.statements import Statement, statements
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.special import special_register
from ptxgen.instructions.targets import FIRST_VERSION, Version, lowest_target, order, target_set

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
DATA = Path(__file__).parent.parent / "data"

# Where the table and the contracts differ: forms, and what the table says of them that ptxas proves wrong.
WRONG_VERSIONS = {
    r"tcgen05\.mma\S*\.kind::mxf4nvf4\.block_scale": "said to be of PTX 8.6, which ptxas refuses; new in 8.7",
}
WRONG_TARGETS = {
    r"clusterlaunchcontrol\.try_cancel\S*\.multicast::cluster::all": "said to be on sm_100a alone; ptxas takes it on the families",
    r"cp\.async\.bulk(\.tensor)?\.\S*\.multicast::cluster$": "said to need an a or f target, which ptxas only advises",
    r"tcgen05\.mma\S*\.kind::i8": "said to be on sm_100f and sm_103a, which ptxas refuses",
    r"tcgen05\.mma\S*\.kind::(f16|tf32)": "said to be on two families, ptxas takes scale_input_d on sm_110a too",
}


class Claim(NamedTuple):
    """One opcode of one line, with what the line says of it and the statement that our contract makes of it."""

    opcode: str
    version: Version
    targets: frozenset[str]
    statement: Statement


def rows() -> list[list[str]]:
    return [line.split("\t") for line in (DATA / "independent_contracts.tsv").read_text().splitlines()]


def spelled(template: str, choices: str) -> Iterator[str]:
    """The opcodes of a line."""
    opcode = template.partition(" ")[0]
    listed = {name: re.findall(r"\.[\w:]+", body) for name, body in re.findall(r"(\.\w+) = \{([^}]*)\}", choices)}
    for chosen in product(*listed.values()):
        text = opcode
        for name, value in zip(listed, chosen):
            inside = text.replace(f"::{name[1:]}.", f"::{value[1:]}.") if f"::{name[1:]}." in f"{text}." else text
            text = inside if inside != text else re.sub(rf"{re.escape(name)}(?![\w:])", value, text, count=1)
        yield text


def shape(template: str) -> list[bool]:
    """Which operands of a line stand in brackets."""
    operands = template.partition(" ")[2]
    return [piece.startswith("[") for piece in re.findall(r"\[[^\]]*\]|[^,\[\]]+", operands) if piece.strip()]


def fitting(slots: tuple[Slot, ...], wanted: list[bool]) -> bool:
    return [slot.bracket for slot in slots] == wanted


def read(opcode: str) -> tuple[Match, ...]:
    """The forms of an opcode; the table has some qualifiers in another order than the ISA."""
    try:
        return lookup(opcode)
    except InstructionError as error:
        assert "in another order" in error.problem, error
        return lookup(error.legal)


def statement_of(opcode: str, wanted: list[bool]) -> Statement | None:
    for match in read(opcode):
        for statement in statements(match, variant=0):
            if fitting(statement.slots, wanted):
                return statement
    return None


def named(words: str) -> frozenset[str]:
    known = [word for word in words.split() if word in FIRST_VERSION]
    if not words or (not known and order(words)[0] < 75):
        return frozenset(FIRST_VERSION)
    return target_set(" ".join(f"{one}+" if one[-1].isdigit() else one for one in known))


@lru_cache(maxsize=1)
def claims() -> list[Claim]:
    found = []
    for template, version, targets, choices in rows():
        if "%" in template:
            continue
        for opcode in spelled(template, choices):
            statement = statement_of(opcode, shape(template))
            assert statement is not None, (opcode, template)
            major, minor = version.split(".")
            found.append(Claim(opcode, (int(major), int(minor)), named(targets), statement))
    return found


def test_every_form_of_the_table_is_known() -> None:
    assert len(rows()) == 832
    assert len(claims()) == 1484


def test_special_registers() -> None:
    sregs = [(template.rpartition(" ")[2], version, targets) for template, version, targets, _ in rows() if "%" in template]
    assert len(sregs) == 48
    for name, version, targets in sregs:
        special, _ = special_register(name)
        first = FIRST_VERSION[lowest_target(special.targets)]
        assert max(special.version, first) == max(tuple(map(int, version.split("."))), first), name
        assert special.targets == named(targets), name


def earliest(version: Version, targets: frozenset[str]) -> Version:
    return max(version, min(FIRST_VERSION[target] for target in targets))


def matched(differing: list[Claim], wrong: dict[str, str]) -> None:
    """Every difference is listed, and every line of the list is met."""
    met = {one.opcode: [pattern for pattern in wrong if re.match(pattern, one.opcode)] for one in differing}
    assert all(len(found) == 1 for found in met.values()), [opcode for opcode, found in met.items() if len(found) != 1]
    assert {found[0] for found in met.values()} == set(wrong)


@needs_ptxas
def test_where_versions_differ_ptxas_is_of_our_opinion() -> None:
    differing = [one for one in claims() if earliest(one.version, one.targets) != earliest(one.statement.match.version, one.targets)]
    matched(differing, WRONG_VERSIONS)
    for one in differing:
        ours, theirs = one.statement.match.version, one.version
        target = min(one.statement.match.targets, key=lambda target: (FIRST_VERSION[target], order(target)))
        refused = bool(refusals([one.statement.text], max(min(ours, theirs), FIRST_VERSION[target]), target, one.statement.place))
        assert refused == (ours > theirs), (one.opcode, ours, theirs, target)


@needs_ptxas
def test_where_targets_differ_ptxas_is_of_our_opinion() -> None:
    """On targets that the table knows: it is older than sm_107."""
    known = frozenset(target for target in FIRST_VERSION if not target.startswith("sm_107"))
    differing = [one for one in claims() if one.targets & known != one.statement.match.targets & known]
    matched(differing, WRONG_TARGETS)
    asked: dict[tuple[Version, str], list[Claim]] = {}
    for one in differing:
        for target in (one.statement.match.targets ^ one.targets) & known:
            asked.setdefault((max(FIRST_VERSION[target], one.statement.match.version), target), []).append(one)
    for (version, target), members in asked.items():
        refused = refusals([one.statement.text for one in members], version, target)
        for index, one in enumerate(members):
            assert (index in refused) == (target not in one.statement.match.targets), (one.opcode, target)


# Opcodes of the corpus that no target from sm_75 on has; ptxas says so, too.
GONE = {
    "mad.f32 %f32_0, %f32_1, %f32_2, %f32_3;": "without rounding on sm_1x alone",
    "vote.all.pred %pred_0, %pred_1;": "without .sync up to sm_62",
    "vote.ballot.b32 %b32_0, %pred_1;": "without .sync up to sm_62",
}


@needs_ptxas
def test_opcodes_that_somebody_assembled_are_accepted_for_a_target() -> None:
    opcodes = (DATA / "assembled_opcodes.txt").read_text().split()
    assert len(opcodes) == 1820
    gone = {text.partition(" ")[0] for text in GONE}
    for opcode in opcodes:
        if opcode not in gone:
            assert any(match.targets for match in read(opcode)), opcode
    assert len(refusals(list(GONE), NEWEST, "sm_75")) == len(GONE)
