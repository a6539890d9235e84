"""What is made from the contracts and checked in is current, and the stub of `px.ptx` knows every legal opcode and no other."""

from __future__ import annotations

import ast
import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ptxgen.instructions.grammar import forms, tokens_of
from ptxgen.instructions.registry import FAMILIES, entries, lookup
from ptxgen.layouts.errors import PtxgenError
from ptxgen.reference import digest, index, names, page
from ptxgen.reference.stubs import attribute

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "ptxgen" / "opcodes.pyi"
STALE = "run `python -m ptxgen.reference`"


@pytest.fixture(scope="module")
def classes():
    """Class of the stub -> (its base, attribute -> class)."""
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            steps = {one.target.id: one.annotation.id for one in node.body if isinstance(one, ast.AnnAssign)}
            found[node.name] = (node.bases[0].id if node.bases else "", steps)
    return found


def accepts(classes, opcode):
    """Whether the attributes that spell an opcode lead to a class that can be called."""
    at = "Instructions"
    for token in tokens_of(opcode):
        at = classes[at][1].get(attribute(token), "")
        if not at:
            return False
    return classes[at][0] == "Opcode"


@pytest.mark.parametrize("family", FAMILIES)
def test_page_is_current(family):
    assert (ROOT / "docs" / "instructions" / f"{family}.md").read_text(encoding="utf-8") == page(family), STALE


def test_index_is_current_and_no_page_is_left_over():
    assert (ROOT / "docs" / "instructions" / "README.md").read_text(encoding="utf-8") == index(), STALE
    assert {path.stem for path in (ROOT / "docs" / "instructions").glob("*.md")} == {"README", *FAMILIES}


def test_stub_of_the_package_is_current():
    assert (ROOT / "ptxgen" / "__init__.pyi").read_text(encoding="utf-8") == names(), STALE


def test_stub_is_made_from_these_contracts_and_small():
    text = STUB.read_text(encoding="utf-8")
    assert f"# contracts: {digest()}\n" in text, STALE
    assert len(text) <= 1_000_000


def test_stub_accepts_what_the_registry_accepts(classes):
    rng = random.Random(0)
    for entry in entries():
        for form in forms(entry):
            legal = [form.opcode(bound) for bound, _ in zip(form.combinations(), range(300))]
            for opcode in legal:
                assert accepts(classes, opcode), opcode
            for opcode in rng.sample(legal, min(3, len(legal))):
                tokens = list(tokens_of(opcode))
                other = rng.choice(tokens_of(legal[0])[1:] or (".b32",))
                for changed in (tokens[:-1], [*tokens, other], tokens[:1] + tokens[2:]):
                    spelled = "".join(changed)
                    if spelled:
                        assert accepts(classes, spelled) == known(spelled), spelled


def known(opcode):
    try:
        return bool(lookup(opcode))
    except PtxgenError:
        return False


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy: pip install 'ptxgen[dev]'")
def test_a_type_checker_tells_an_incomplete_opcode(tmp_path):
    program = tmp_path / "program.py"
    lines = ("import ptxgen as px", "px.ptx.add.f32(1, 2)", "px.ptx.ld.global_.v4(1)", "px.ptx.add.f33(1, 2)", "px.ptx['add.f32'](1, 2)")
    program.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent", str(program)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    assert [line.split(": ", 1)[0].rsplit(":")[-1] for line in told] == ["3", "4"], told
