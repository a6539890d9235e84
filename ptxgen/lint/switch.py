"""Lints while a kernel is traced: the error that one raises, and how to switch it off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ptxgen.instructions.errors import InstructionError
from ptxgen.layouts.errors import PtxgenError
from ptxgen.lint.catalogue import LINTS

__all__ = ["LintError", "allow", "allowed"]

_allowed: ContextVar[frozenset[str]] = ContextVar("ptxgen_allowed", default=frozenset())


class LintError(InstructionError):
    """An instruction that is legal, and wrong whenever it is executed. `id` is that of the lint."""

    def __init__(self, id: str, problem: str, **details: Any) -> None:
        super().__init__(problem, rule=LINTS[id].rule, **details)
        self.id = id

    def __str__(self) -> str:
        return f'{super().__str__()}\n  lint: {self.id}; px.allow("{self.id}") switches it off'


@contextmanager
def allow(*ids: str) -> Iterator[None]:
    """Switch lints off for what is traced inside: ``with px.allow("membermask"):`` around lines of a kernel, or around its first call.

    Parameters
    ----------
    *ids : str
        Of lints (docs/lint.md). `Kernel.lint` has an argument of its own.

    Raises
    ------
    PtxgenError
        For an id that is none.
    """
    for id in ids:
        if id not in LINTS:
            raise PtxgenError(f"there is no lint {id!r}; known: {', '.join(LINTS)}")
    token = _allowed.set(_allowed.get().union(ids))
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed(id: str) -> bool:
    """Whether a lint is switched off here."""
    return id in _allowed.get()
