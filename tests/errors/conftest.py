"""Nothing that these tests refuse may come as far as an assembler, a launch or the emulator."""

from __future__ import annotations

from typing import Any

import pytest

import ptxgen.assemble
import ptxgen.emulator
from ptxgen.runtime.runner import Runner


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise AssertionError("a program that should have been refused came as far as this")

    monkeypatch.setattr(ptxgen.assemble, "assemble", unreachable)
    monkeypatch.setattr(ptxgen.emulator, "emulate", unreachable)
    monkeypatch.setattr(Runner, "preload", unreachable)
