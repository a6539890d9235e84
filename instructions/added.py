"""Contracts of a program's own beside the registry's: for instructions that it does not have yet.

This is a family like any other, whose entries are put in while a program runs.
"""

from __future__ import annotations

from ptxgen.instructions import registry
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.language import Entry
from ptxgen.layouts.errors import PtxgenError

__all__ = ["add", "remove"]

_FAMILY = "added"


def add(*entries: Entry) -> None:
    """Let these instructions be known: to `px.ptx`, `px.tile.apply`, the reader and the checks.

    The emulator executes what ``ptxgen.emulator.semantics.table`` has for family ``"added"``.

    Raises
    ------
    PtxgenError
        For an entry whose name the registry has, or whose notation cannot be read; nothing is added then.
    """
    known = {entry.name for entry in registry.entries()}
    for entry in entries:
        if entry.name in known:
            raise PtxgenError(f"the registry has {entry.name} already; remove it first if you added it yourself")
        forms(entry)
    for entry in entries:
        globals()[f"_{entry.name}"] = entry
    _renew()


def remove(*entries: Entry) -> None:
    """Forget entries that were added; kernels that are traced keep their text."""
    for entry in entries:
        globals().pop(f"_{entry.name}", None)
    _renew()


def _renew() -> None:
    """Have the registry look again."""
    registry.FAMILIES.pop(_FAMILY, None)
    heads = {form.head for entry in globals().values() if isinstance(entry, Entry) for form in forms(entry)}
    if heads:
        registry.FAMILIES[_FAMILY] = tuple(sorted(heads))
    registry.forget()
