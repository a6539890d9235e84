"""`ptxgen list` is held against the registry itself: every form once, its first version and its targets by going over all combinations."""

from __future__ import annotations

import json

import pytest

from ptxgen.cli import main
from ptxgen.emulator.semantics.table import gaps
from ptxgen.explain import records
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.matching import availability
from ptxgen.instructions.registry import entries

ALL = list(records())


def test_every_form_is_listed_once_and_in_order():
    assert [(one.syntax, one.section) for one in ALL] == [(form.syntax, entry.section) for entry in entries() for form in forms(entry)]


def test_version_and_targets_are_those_of_all_variants():
    both = zip(ALL, (form for entry in entries() for form in forms(entry)))
    for record, form in both:
        variants = [availability(form, bound) for bound, _ in zip(form.combinations(), range(400))]
        if len(variants) < 400:
            version = min(version for version, _ in variants)
            assert record.version == f"{version[0]}.{version[1]}"
            assert set(record.targets) == set().union(*(targets for _, targets in variants))


def test_what_the_emulator_cannot_execute_is_said():
    missing = set(gaps())
    families = [f"{entry.family}/{entry.name}" for entry in entries() for _ in forms(entry)]
    assert [one.emulated for one in ALL] == [name not in missing for name in families]


def test_json_has_a_record_a_form(capsys):
    assert main(["list", "mbarrier.try_wait", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["mnemonic"] for one in found} == {"mbarrier.try_wait"}
    assert set(found[0]) == {"mnemonic", "syntax", "section", "version", "targets", "issuer", "completion", "emulated"}
    assert found[0]["version"] == "7.8" and found[0]["targets"][0] == "sm_90" and found[0]["emulated"] is True


def test_lines_stand_under_their_mnemonic(capsys):
    assert main(["list", "selp"]) == 0
    assert capsys.readouterr().out == "selp  (PTX ISA 9.7.7.3)\n  selp.type d, a, b, c;  [PTX 1.0, all]\n"


def test_an_unknown_beginning_is_refused():
    with pytest.raises(InstructionError, match="no instruction begins with 'frobnicate'"):
        list(records("frobnicate"))
