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


def add(*entries: Entry, instead: bool = False) -> None:
    """Let these instructions be known: to `px.ptx`, `px.tile.apply`, the reader and the checks.

    The emulator executes what ``ptxgen.emulator.semantics.table`` has for family ``"added"``.

    Parameters
    ----------
    *entries : Entry
    instead : bool
        Whether they take the place of the registry's entries of the same names, until they are removed.

    Raises
    ------
    PtxgenError
        For an entry whose name is known (with `instead`, one that was added), or whose notation cannot be read; nothing is added then.
    """
    known = {entry.name: entry for entry in registry.entries()}
    for entry in entries:
        if entry.name in known and not (instead and known[entry.name].family != _FAMILY):
            raise PtxgenError(
                f"the registry has {entry.name} already; remove it first if you added it yourself, or add yours with instead=True"
            )
        forms(entry)
    registry.REPLACED.update(entry.name for entry in entries if entry.name in known)
    for entry in entries:
        globals()[f"_{entry.name}"] = entry
    _renew()


def remove(*entries: Entry) -> None:
    """Forget entries that were added, so that the registry's own hold again; kernels that are traced keep their text."""
    for entry in entries:
        if globals().pop(f"_{entry.name}", None) is not None:
            registry.REPLACED.discard(entry.name)
    _renew()


def _renew() -> None:
    """Have the registry look again."""
    registry.FAMILIES.pop(_FAMILY, None)
    heads = {form.head for entry in globals().values() if isinstance(entry, Entry) for form in forms(entry)}
    if heads:
        registry.FAMILIES[_FAMILY] = tuple(sorted(heads))
    registry.forget()
