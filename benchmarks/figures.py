"""The command line of a benchmark whose figures have names."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.machine import machine

__all__ = ["report"]


def report(
    description: str | None, measure: Callable[[], Mapping[str, float | None]], beside: Callable[[str], str] = lambda name: ""
) -> int:
    """Measure, print a figure a line, and with ``--out`` write them as JSON beside the machine. None is what could not be measured.

    `beside` says by its name what a figure is printed beside: a goal, a peer's figure.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    out = parser.parse_args().out
    figures = measure()
    for name, value in figures.items():
        print(f"{name:45} {'-' if value is None else f'{value:10.3f}'}  {beside(name)}".rstrip())
    if out is not None:
        out.write_text(json.dumps({"machine": machine(), "figures": figures}, indent=2) + "\n")
    return 0
