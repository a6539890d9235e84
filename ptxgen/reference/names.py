"""The stub of the package itself: every public name and where it lives, for type checkers and editors."""

from __future__ import annotations

import ptxgen
from ptxgen.instructions.types import ELEMENT_TYPES, TYPES

__all__ = ["names"]

_HEAD = """\
# Made by `python -m ptxgen.reference` from ptxgen/__init__.py; not to be edited.
# ruff: noqa
"""


def names() -> str:
    """The text of ptxgen/__init__.pyi."""
    lines = [f"from ptxgen import {name} as {name}\n" for name in vars(ptxgen)["_MODULES"]]
    for name, home in vars(ptxgen)["_HOMES"].items():
        module, _, attribute = home.partition(":")
        lines.append(f"from {module} import {attribute or name} as {name}\n")
    lines.append("from ptxgen.instructions.types import Type\n")
    types = "".join(f"{name}: Type\n" for name in dict.fromkeys((*TYPES, *ELEMENT_TYPES)))
    return f"{_HEAD}{''.join(sorted(lines))}\n__version__: str\n{types}"
