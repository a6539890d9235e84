"""`ptxgen certify`: what is drawn, what is judged, what is kept; and a small sample of everything."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from pathlib import Path

import pytest

from ptxgen.assemble.tools import find_tool
from ptxgen.certify.cases import GATES, LEGAL, Case, all_forms, cases_of, form_id, sampled_cases
from ptxgen.certify.choices import any_choice, certified_choices, count
from ptxgen.certify.compare import batches, compare
from ptxgen.certify.differences import Difference, explanation, known_differences
from ptxgen.certify.judge import refusals
from ptxgen.certify.mutants import KINDS
from ptxgen.certify.run import Record, Summary, certify
from ptxgen.certify.verdict import complaints
from ptxgen.cli import main
from ptxgen.instructions.grammar import Form, broken_rules

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")


def form(family: str, beginning: str) -> Form:
    return next(one for one in all_forms((family,)) if one.syntax.startswith(beginning))


def ignored(done: int, total: int) -> None:
    assert 0 <= done <= total


def pairs(bound: dict[str, str | bool], names: list[str]) -> set[object]:
    return set(combinations([(name, bound.get(name)) for name in names], 2))


# ---- what is drawn ------------------------------------------------------------------------------------------------------


def test_short_lines_are_taken_whole() -> None:
    for one in all_forms(("integer", "logic", "warp")):
        every = {one.opcode(bound) for bound in one.combinations()}
        assert {one.opcode(bound) for bound in certified_choices(one, 0)} == every


def test_long_lines_hold_every_legal_pair_and_many_more() -> None:
    line = form("comparison", "setp.CmpOp.BoolOp")
    every = list(line.combinations())
    chosen = certified_choices(line, 7, most=100)
    assert 100 <= len(chosen) < len(every)
    names = sorted({name for bound in every for name in bound})
    assert set().union(*(pairs(bound, names) for bound in chosen)) == set().union(*(pairs(bound, names) for bound in every))
    assert certified_choices(line, 7, most=100) == chosen != certified_choices(line, 8, most=100)


def test_random_choices_are_legal() -> None:
    rng = random.Random(1)
    for one in (line for line in all_forms(("memory",)) if count(line.elements) > 4000):
        for _ in range(50):
            assert not any(broken_rules(one.entry, any_choice(one, rng), operands_known=False))


def test_samples_repeat_and_hold_every_kind() -> None:
    cases = sampled_cases((), 400, 3)
    assert cases == sampled_cases((), 400, 3) != sampled_cases((), 400, 4)
    kinds = [case.kind for case in cases]
    assert kinds.count(LEGAL) == 400
    assert {*kinds} == {LEGAL, *GATES, *KINDS}
    mutants = [case for case in cases if case.kind in KINDS]
    assert len(mutants) == len({(case.text, case.version, case.target) for case in mutants}) == 400


def test_modules_hold_cases_of_one_kind_of_place() -> None:
    cases = sampled_cases(("memory",), 200, 1)
    found = list(batches(cases))
    assert sorted(case for batch in found for case in batch) == sorted(cases)
    assert all(len({(case.version, case.target, case.place) for case in batch}) == 1 for batch in found)


# ---- verdicts -----------------------------------------------------------------------------------------------------------

TEXTS = {
    "add.s32 %s32_0, %s32_1, 7;": True,
    "add.s32 %s32_0, %s64_1, 7;": False,
    "add.s32 %s32_0, %s32_1;": False,
    "add.s32.wide %s32_0, %s32_1, 7;": False,
    "foo.s32 %s32_0;": False,
    "ld.global.v2.f32 {%f32_0, %f32_1}, [%b64_0];": True,
    "ld.global.v2.b32 {%f32_0, %u32_1}, [%b64_0];": False,
    "ld.global.f32 %f32_0, [256];": False,
    "ld.shared.f32 %f32_0, [g_mem];": False,
    "mbarrier.inval.b64 [g_mem];": False,
    "selp.b32 %b32_0, 1, 2, !%b32_1;": False,
    "mov.b64 {%b32_0, %b32_1}, %b64_2;": True,
    "add.f32 {%f32_0}, %f32_1, %f32_2;": False,
    "add.s32 %s32_0, %s32_1, ];": False,
}


@needs_ptxas
def test_both_verdicts_about_many_statements_at_once() -> None:
    texts = list(TEXTS)
    illegal = {index for index, text in enumerate(texts) if not TEXTS[text]}
    assert set(refusals(texts, (8, 0), "sm_90")) == illegal
    assert set(complaints(texts, (8, 0), "sm_90")) == illegal


@needs_ptxas
def test_a_wrong_contract_would_be_found() -> None:
    """Cases that are not what they are said to be are differences."""
    says = [Case(LEGAL, "", text, (8, 0), "sm_90", "entry") for text in ("add.s32.sat %s32_0, %s32_1, 1;", "add.s32 %s32_0, 1, 2;")]
    (found,) = compare(says)
    assert found.ptxas is None and "another order" in str(found.ours)
    assert explanation(found) == "qualifiers in another order"
    assert explanation(Difference(says[1], None, "Arguments mismatch for instruction 'add'")) is None
    summary = Summary()
    summary.add({LEGAL: 2, GATES[0]: 5, "target": 3}, [found, Difference(says[1], None, "refused")])
    assert summary.as_dict() == {"legal": 2, "legal_refused_by_ptxas": 1, "mutants": 3, "disagreements": 2, "unexplained": 1}


def test_the_list_of_differences_is_short_and_says_why() -> None:
    known = known_differences()
    assert len(known) < 20
    assert len({one.name for one in known}) == len(known)
    for one in known:
        assert one.verdict in ("ptxas too lax", "ptxas bug")
        assert re.fullmatch(r"\d+(\.\d+)*", one.section) and one.reason.endswith((".", ")"))
        assert {"ours", "ptxas"} <= set(one.patterns)
        assert (one.patterns["ptxas"] == "") == (one.verdict == "ptxas too lax")
        for pattern in one.patterns.values():
            re.compile(pattern)


# ---- runs ---------------------------------------------------------------------------------------------------------------


@needs_ptxas
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    whole = certify(["extended"], 1, 20, state, False, ignored)
    lines = state.read_text().splitlines()
    names = {form_id(one) for one in all_forms(("extended",))}
    assert {Record.read(line).form for line in lines} == names
    assert whole.unexplained == [] and whole.refused == 0 and whole.legal == 48 and whole.mutants == 20 * len(names)
    state.write_text("\n".join(lines[:2]) + "\n" + lines[2][:40])  # killed while it wrote
    judged: list[int] = []
    again = certify(["extended"], 1, 20, state, True, lambda done, total: judged.append(done))
    assert judged[0] == 2 and judged[-1] == len(names)
    assert again.as_dict() == whole.as_dict()
    assert sorted(state.read_text().splitlines()) == sorted(lines)
    judged.clear()
    certify(["extended"], 2, 20, state, True, lambda done, total: judged.append(done))  # another seed draws others
    assert judged[0] == 0


@needs_ptxas
def test_a_record_is_what_was_written() -> None:
    case = Case("target", "logic: x", "and.b32 %b32_0, 1, 2;", (8, 0), "sm_90", "entry")
    record = Record("logic: x", "0123", {LEGAL: 3}, [Difference(case, None, "no"), Difference(case, "no", None)])
    assert Record.read(record.line()) == record


@needs_ptxas
def test_every_legal_statement_of_a_family_is_among_its_cases() -> None:
    cases = list(cases_of(form("logic", "lop3"), 0, 10))
    assert {case.kind for case in cases} <= {LEGAL, *GATES, *KINDS}
    assert sum(case.kind == LEGAL for case in cases) == len(certified_choices(form("logic", "lop3"), 0))


@needs_ptxas
def test_the_command_prints_five_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "--sample", "300", "--seed", "20", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert list(counts) == ["legal", "legal_refused_by_ptxas", "mutants", "disagreements", "unexplained"]
    assert counts["legal"] == counts["mutants"] == 300
    assert counts["legal_refused_by_ptxas"] == counts["unexplained"] == 0
    assert main(["certify", "nothing"]) == 2
    assert "no family is called nothing" in capsys.readouterr().err
