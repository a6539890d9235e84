"""docs/contracts.md names every word of the contract language, and what it adds is what ptxas takes and nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

from ptxgen.instructions import grammar, language, tiles
from ptxgen.instructions.added import add, remove
from ptxgen.instructions.language import Entry, instruction
from ptxgen.instructions.registry import FAMILIES, entries, lookup
from ptxgen.layouts.errors import PtxgenError
from tests.docs.test_guides import ROOT, blocks
from tests.instructions import test_legality as legality

PAGE = ROOT / "docs" / "contracts.md"


def written(heading: str) -> set[str]:
    """The words in code style in the first columns of the tables below a heading."""
    part = PAGE.read_text(encoding="utf-8").split(f"### {heading}\n")[1].split("\n### ")[0]
    cells = [cell for line in part.splitlines() if line.startswith("|") for cell in line.split(" | ")[:2]]
    return {word for cell in cells for code in re.findall(r"`([^`]+)`", cell) for word in re.findall(r"\w+", code)}


def parameters(function: object) -> set[str]:
    return set(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_every_word_of_the_language_stands_in_a_table() -> None:
    assert parameters(instruction) <= written("instruction")
    made = {name for name in language.__all__ if name[0].islower()} - {"instruction"}
    assert made | parameters(language.Operand) <= written("Operands")
    assert {"Rule", "Since"} | parameters(language.Rule) | parameters(language.Since) <= written("Rules and versions")
    classes = [value for name, value in vars(tiles).items() if inspect.isclass(value) and name in tiles.__all__]
    assert set().union(*map(parameters, classes)) <= written("Tiles")
    assert set(grammar._TYPE_FUNCTIONS) <= written("Notations")


@pytest.fixture
def added() -> Iterator[list[Entry]]:
    """The entries that the page adds, added."""
    text = "\n".join(line for _, block in blocks(PAGE, "python") for line in block)
    names = re.findall(r"^add\((\w+), instead=True\)", text, re.M)
    space = {name: getattr(language, name) for name in language.__all__}
    found = []
    for name in names:
        start = text.index(f"{name} = instruction(")
        exec(text[start : text.index("\n)", start) + 2], space)
        found.append(space[name])
    add(*found, instead=True)
    yield found
    remove(*found)


@pytest.mark.skipif(legality.find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
def test_ptxas_agrees_with_what_the_page_adds(added: list[Entry]) -> None:
    assert len(added) == 2
    legality.test_ptxas_accepts_every_legal_form_at_its_first_version_and_lowest_target("added")
    legality.test_ptxas_refuses_what_a_rule_forbids("added")
    legality.test_check_accepts_what_the_contract_builds("added")


def test_what_is_added_is_known_until_it_is_removed(added: list[Entry]) -> None:
    assert lookup("red.global.add.u32")[0].entry is added[0]
    assert all(entry in list(entries()) for entry in added)
    remove(added[0])
    assert lookup("red.global.add.u32")[0].entry.family == "atomic"
    assert lookup("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32")[0].entry is added[1]
    remove(*added)
    assert "added" not in FAMILIES
    assert lookup("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32")[0].entry.family == "async_store"


def test_what_was_added_is_not_replaced(added: list[Entry]) -> None:
    with pytest.raises(PtxgenError, match="the registry has red already"):
        add(added[0], instead=True)


def test_what_the_registry_has_is_not_added() -> None:
    again = instruction("movmatrix", section="9.7.1", summary="", syntax="movmatrix.b16 d;")
    with pytest.raises(PtxgenError, match="the registry has movmatrix already"):
        add(again)
    assert "added" not in FAMILIES
