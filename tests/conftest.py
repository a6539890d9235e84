"""Tests marked ``gpu`` or ``torch`` run wherever the device or the library is, and say so where it isn't."""

from __future__ import annotations

import importlib.util
from functools import lru_cache

import pytest


@lru_cache(maxsize=None)
def _missing(mark: str) -> str | None:
    """Why tests with this mark can't run here, or None."""
    if mark == "torch":
        return None if importlib.util.find_spec("torch") is not None else "PyTorch is not installed"
    from ptxgen.runtime import no_gpu_reason

    return no_gpu_reason()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in ("torch", "gpu"):
            if item.get_closest_marker(mark) is not None and (reason := _missing(mark)) is not None:
                item.add_marker(pytest.mark.skip(reason=f"{mark}: {reason}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if reason.startswith(("gpu: ", "torch: ")):
            reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} tests skipped, {reason}")
