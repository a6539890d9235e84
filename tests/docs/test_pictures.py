"""The pictures of the guides are what the commands beside them draw, and every one is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxgen.cli import main
from tests.docs.pictures import DOCS, commands

COMMANDS = [arguments for _, arguments in commands()]


def test_pictures_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [main(arguments) for arguments in COMMANDS] == [0] * len(COMMANDS)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "pictures").glob("*.svg")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "pictures").glob("*.svg")}
    assert sorted(drawn) == sorted(kept)
    stale = [name for name in drawn if drawn[name] != kept[name]]
    assert not stale, "run `python -m tests.docs.pictures`"


def test_every_picture_is_shown_beside_its_command() -> None:
    shown = {path.name: re.findall(r"!\[[^]]+\]\((pictures/[^)]+)\)", path.read_text(encoding="utf-8")) for path in DOCS.glob("*.md")}
    assert len(COMMANDS) > 10
    for path, arguments in commands():
        assert arguments[arguments.index("-o") + 1] in shown[path.name]
