"""``python -m tests.docs.pictures``: draw the pictures of the guides anew, by the commands that stand in them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from ptxgen.cli import main
from tests.docs.test_guides import ROOT, blocks

DOCS = ROOT / "docs"


def commands() -> Iterator[tuple[Path, list[str]]]:
    """Each command in docs/ that draws a picture: the guide, and its arguments."""
    for path in sorted(DOCS.glob("*.md")):
        for _, block in blocks(path, "sh"):
            for line in block:
                program, *arguments = shlex.split(line)
                if (program, arguments[0]) == ("ptxgen", "draw"):
                    yield path, arguments


if __name__ == "__main__":
    os.chdir(DOCS)
    for _, arguments in commands():
        if main(arguments) != 0:
            raise SystemExit(f"failed: ptxgen {shlex.join(arguments)}")
