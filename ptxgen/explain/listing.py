"""Every form of every instruction as one record: what `ptxgen list` prints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from ptxgen.emulator.semantics.table import lookup_semantics
from ptxgen.explain.facts import mnemonic_of
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Form, forms, parse_version
from ptxgen.instructions.language import Entry
from ptxgen.instructions.matching import availability
from ptxgen.instructions.registry import entries
from ptxgen.instructions.targets import FIRST_VERSION, Version, order, spelled, target_set

__all__ = ["Record", "form_availability", "records"]


class Record(NamedTuple):
    """One syntax line of the ISA.

    Attributes
    ----------
    mnemonic : str
        As the ISA's section names it: ``mbarrier.try_wait``.
    syntax, section : str
    version : str
        The first PTX version that has some variant of it.
    targets : tuple of str
        The targets that have some variant of it, in order.
    issuer : str
        ``thread``, ``one``, ``warp``, ``warpgroup`` or ``cta``: who executes it together.
    completion : str
        ``at once``, or what tells of its completion.
    emulated : bool
        Whether the emulator executes the instruction.
    """

    mnemonic: str
    syntax: str
    section: str
    version: str
    targets: tuple[str, ...]
    issuer: str
    completion: str
    emulated: bool

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {**self._asdict(), "targets": list(self.targets)}

    def line(self) -> str:
        """In a line: the syntax, and what is needed."""
        return f"{self.syntax}  [PTX {self.version}, {spelled(frozenset(self.targets))}]"


def records(prefix: str = "") -> Iterator[Record]:
    """The forms of all instructions whose mnemonic or opcode begins so, family by family.

    Raises
    ------
    InstructionError
        If there is none.
    """
    found = False
    for entry in entries():
        for form in forms(entry):
            if entry.name.startswith(prefix) or form.syntax.startswith(prefix):
                found = True
                yield _record(entry, form)
    if not found:
        raise InstructionError(
            f"no instruction begins with {prefix!r}", rule="an opcode begins with an instruction's name", section="9.7",
            legal="ptxgen list names all",
        )  # fmt: skip


def _record(entry: Entry, form: Form) -> Record:
    version, targets = form_availability(form)
    return Record(
        mnemonic=mnemonic_of(entry),
        syntax=form.syntax,
        section=entry.section,
        version=f"{version[0]}.{version[1]}",
        targets=tuple(sorted(targets, key=order)),
        issuer=entry.issuer,
        completion=entry.completes,
        emulated=lookup_semantics(entry) is not None,
    )


_ENOUGH = 3000  # combinations of qualifiers that are looked at, where the bounds are not reached before


def form_availability(form: Form) -> tuple[Version, frozenset[str]]:
    """The first version of any variant of a form, and the targets that have some variant of it."""
    lowest, reachable = _bounds(form)
    version: Version | None = None
    targets: frozenset[str] = frozenset()
    for bound in islice(form.combinations(), _ENOUGH):
        at, on = availability(form, bound)
        version = at if version is None else min(version, at)
        targets |= on
        if version == lowest and targets == reachable:
            break
    assert version is not None, f"no choice of qualifiers is legal: {form.syntax}"
    return version, targets


def _bounds(form: Form) -> tuple[Version, frozenset[str]]:
    """What no variant can be below, and what all of them together cannot exceed: the statements without a condition."""
    always = [since for since in form.entry.since if not since.when]
    versions = [parse_version(since.ptx) for since in always]
    targets = frozenset(FIRST_VERSION)
    for since in always:
        targets &= target_set(since.targets)
    return max(versions, default=(1, 0)), targets
