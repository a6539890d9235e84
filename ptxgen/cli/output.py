"""Output: plain where it goes to a file or pipe, coloured on a terminal."""

from __future__ import annotations

import json
import sys
from typing import Any

from ptxgen.layouts.errors import PtxgenError

__all__ = ["UsageError", "print_json", "print_python"]


class UsageError(PtxgenError):
    """A command whose options or arguments make no sense: exit status 2."""


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_python(source: str) -> None:
    """Python source, with colours on a terminal."""
    if not sys.stdout.isatty():
        print(source)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console(soft_wrap=True).print(Syntax(source, "python", background_color="default", word_wrap=False))
