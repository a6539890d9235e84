"""The command line, ``ptxgen``. Importing this loads nothing else; ``main`` loads what its command needs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``ptxgen`` with `arguments` (those of the process by default) and return the exit status.

    0 for success, 1 where something was found wrong, 2 for a command that was not understood.
    """
    from ptxgen.cli.app import run_app

    return run_app(arguments)
