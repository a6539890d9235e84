"""Lints in ``ptxgen check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxgen.cli import main
from ptxgen.cli.check import check_text
from ptxgen.lint import LINTS
from tests.lint.kernels import text_of

WRONG = "mov.u32\t%r1, %tid.x;\nshfl.sync.bfly.b32\t%r2, %r1, 1, 31, 0xff;\nadd.u32 %r3, %r4, 1;"


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.ptx"
    path.write_text(text_of(WRONG, ".reqntid 32", target="sm_90a"))
    return str(path)


def test_findings_are_underlined(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", wrong]) == 1
    assert capsys.readouterr().out == (
        f"{wrong}:10:37: error membermask: shfl.sync.bfly.b32, operand membermask: the mask 0xff leaves out lanes that execute this\n"
        "    shfl.sync.bfly.b32\t%r2, %r1, 1, 31, 0xff;\n"
        "                      \t                 ^^^^\n"
        "  rule: a mask names lanes that the warp has, the executing one among them (PTX ISA 9.7.10.6)\n"
        "  counter-example: thread 31 executes it, and bit 31 is not set\n"
        "  legal: a mask with the bits 0xffffffff\n"
        f"{wrong}:11:14: warning unwritten-register: add.u32: %r4 is read, and nothing has written it on any path to here\n"
        "    add.u32 %r3, %r4, 1;\n"
        "                 ^^^\n"
        "  rule: a register is written before it is read (PTX ISA 5.1)\n"
        "  legal: a write of %r4 on every path\n"
        f"{wrong}: 1 error, 1 warning\n"
    )


def test_each_has_a_switch(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", wrong, "--no", "membermask", "--json"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == ["unwritten-register"]
    assert main(["check", wrong, *(word for id in LINTS for word in ("--no", id))]) == 0
    assert capsys.readouterr().out == f"{wrong}: ok\n"


def test_a_text_with_other_errors_is_not_linted() -> None:
    found = check_text(text_of(WRONG.replace("%r3", "%x3"), ".reqntid 32", target="sm_90a"), "k.ptx")
    assert [one.id for one in found] == ["undeclared-register"]


def test_a_text_for_another_target_is() -> None:
    found = check_text(text_of("add.u32 %r3, %r4, 1;", target="sm_90a"), "k.ptx", target="sm_75")
    assert [one.id for one in found] == ["target", "unwritten-register"]
