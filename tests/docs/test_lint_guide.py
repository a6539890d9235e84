"""docs/lint.md: every lint stands there with its rule and limits, its example is found, and the one beside it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxgen.lint import LINTS
from tests.lint.kernels import ids, said

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
SECTIONS = {section.partition("\n")[0]: section for section in re.split(r"(?m)^## ", GUIDE)[1:]}


def test_every_lint_stands_there_in_its_order() -> None:
    assert list(SECTIONS) == list(LINTS)


@pytest.mark.parametrize("id", LINTS)
def test_section(id: str) -> None:
    lint, section = LINTS[id], SECTIONS[id]
    see = f"PTX ISA {lint.section}" if lint.section else "the section of the instruction"
    assert section.startswith(f"{id}\n\n*{lint.severity}*: {lint.rule} ({see}). ")
    assert section.rstrip().endswith(f"**When it speaks without need**: {lint.story}")
    directives = "".join(re.findall(r"(?m)^With `(.*)`:$", section))
    wrong, right = re.findall(r"(?s)```ptx\n(.*?)\n```", section)
    (message,) = re.findall(r"(?s)```text\n(.*?)\n```", section)
    assert said(wrong, directives) == message
    assert ids(right, directives) == []
