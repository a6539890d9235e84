"""The table of semantics: what executes each entry of the registry, keyed by family and entry name.

Three kinds, by what an instruction needs:

``@semantics("integer", "add")``
    ``make(match)`` returns a function of the source values, in the order of the syntax line, that returns the destination's value
    (a tuple for several). Values follow `ptxgen.emulator.numerics`.
``@execution("memory", "ld")``
    ``make(lowering)`` returns a closure on (wave, frame, threads): for instructions that touch more than registers.
``@control("control", "bra")``
    ``make(lowering)`` returns a closure on (wave, group) that says where the threads go on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

from ptxgen.instructions.language import Entry
from ptxgen.instructions.registry import FAMILIES, entries

__all__ = ["UNABLE", "control", "execution", "gaps", "lookup_semantics", "semantics"]

UNABLE: dict[str, str] = {
    "fabric": "it moves data between devices by their fabric, and there is one device here",
}
"""Families whose instructions the emulator will not execute, and why."""

Made = TypeVar("Made", bound=Callable[..., Any])

_TABLE: dict[tuple[str, str], tuple[str, Callable[..., Any]]] = {}


def _registrar(kind: str, family: str, names: tuple[str, ...]) -> Callable[[Made], Made]:
    def register(make: Made) -> Made:
        for name in names:
            _TABLE[family, name] = kind, make
        return make

    return register


def semantics(family: str, *names: str) -> Callable[[Made], Made]:
    """Register ``make(match) -> function of source values``."""
    return _registrar("semantics", family, names)


def execution(family: str, *names: str) -> Callable[[Made], Made]:
    """Register ``make(lowering) -> closure on (wave, frame, threads)``."""
    return _registrar("execution", family, names)


def control(family: str, *names: str) -> Callable[[Made], Made]:
    """Register ``make(lowering) -> closure on (wave, group)``."""
    return _registrar("control", family, names)


@lru_cache(maxsize=None)
def _load(family: str) -> None:
    module = f"ptxgen.emulator.semantics.{family}"
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise


def lookup_semantics(entry: Entry) -> tuple[str, Callable[..., Any]] | None:
    """The kind and the maker behind an entry, or None. A family's module is imported on first use."""
    _load(entry.family)
    return _TABLE.get((entry.family, entry.name))


def gaps() -> list[str]:
    """``family/name`` of every registry entry that the emulator cannot execute."""
    for family in FAMILIES:
        _load(family)
    return [f"{entry.family}/{entry.name}" for entry in entries() if (entry.family, entry.name) not in _TABLE]
