"""Opcodes and operands that contracts call legal: what `ptxgen certify` shows ptxas, one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from ptxgen.certify.cases import all_forms
from ptxgen.certify.choices import legal_choices
from ptxgen.certify.statements import Statement
from ptxgen.certify.statements import statements as certified_statements
from ptxgen.certify.surroundings import module
from ptxgen.errors import PtxgenError
from ptxgen.instructions.arguments import OPCODE
from ptxgen.instructions.checking import Given
from ptxgen.instructions.grammar import Form
from ptxgen.instructions.registry import FAMILIES, Match, lookup
from ptxgen.instructions.targets import FIRST_VERSION, target_set
from ptxgen.layouts.arguments import TEXT, WORDS, takes

__all__ = ["module_of", "opcodes", "operand_sets", "statements"]

_VARIANTS = 1 << 10


@takes(families=WORDS, target=TEXT)
def opcodes(families: str | Iterable[str] = (), *, target: str | None = None) -> st.SearchStrategy[str]:
    """Opcodes that the contracts accept, every syntax line equally often.

    Parameters
    ----------
    families : str or iterable of str
        Of instructions, such as ``"memory"`` or ``"matrix"``; all by default.
    target : str, optional
        What the opcode must run on, such as ``"sm_90a"``.

    Returns
    -------
    strategy of str
        Shrinks to the first syntax line of the first family, and to the first choice of its qualifiers.

    Raises
    ------
    PtxgenError
        For an unknown family or target, or families none of whose instructions run on the target.
    """
    return _matches(_names(families), target).map(lambda match: match.opcode)


@takes(opcode=OPCODE)
def operand_sets(opcode: str) -> st.SearchStrategy[tuple[Given, ...]]:
    """Operands that the contract of an opcode accepts, as `ptxgen.instructions.checking.check` takes them: those that need no word of
    ``.target``.

    Returns
    -------
    strategy of tuple of Given
        Each has the ``text`` that it stands as. Shrinks to plain registers.

    Raises
    ------
    InstructionError
        For an opcode that no contract has.
    """
    drawn = _statements(st.sampled_from(lookup(opcode)))
    return drawn.filter(lambda statement: not statement.setting).map(lambda statement: statement.given)


@takes(families=WORDS, target=TEXT)
def statements(families: str | Iterable[str] = (), *, target: str | None = None) -> st.SearchStrategy[Statement]:
    """Whole instructions: an opcode with operands, the lowest target and PTX version that it needs, as a line of text.

    Parameters are those of `opcodes`. `module_of` puts a statement into a module.

    Returns
    -------
    strategy of Statement
        With ``text``, ``match``, ``given``, ``target`` and ``version``.
    """
    return _statements(_matches(_names(families), target))


def module_of(statement: Statement, target: str | None = None) -> str:
    """A module with the statement, for its lowest target or another one, and with all that it names declared: a text that assembles."""
    target = statement.target if target is None else target
    text, _ = module([statement.text], max(statement.match.version, FIRST_VERSION[target]), target, statement.place)
    return text


def _names(families: str | Iterable[str]) -> tuple[str, ...]:
    names = (families,) if isinstance(families, str) else tuple(families)
    for name in names:
        if name not in FAMILIES:
            raise PtxgenError(f"no family of instructions is called {name!r}; there are {', '.join(FAMILIES)}")
    return names


@lru_cache(maxsize=None)
def _matches(families: tuple[str, ...], target: str | None) -> st.SearchStrategy[Match]:
    if target is not None and target not in FIRST_VERSION:
        raise PtxgenError(f"unknown target {target!r}; known: {', '.join(FIRST_VERSION)}")
    forms = [form for form in all_forms(families) if target is None or _some(form, target)]
    if not forms:
        raise PtxgenError(f"no instruction of {', '.join(families)} runs on {target}")
    known = st.sampled_from(forms).map(lambda form: _of_form(form, target)).filter(bool)
    return known.flatmap(st.sampled_from)


def _some(form: Form, target: str) -> bool:
    """Whether a syntax line may hold an opcode for a target: as far as what holds for all of its opcodes says."""
    return all(target in target_set(one.targets) for one in form.entry.since if not one.when)


@lru_cache(maxsize=None)
def _of_form(form: Form, target: str | None) -> list[Match]:
    found = (Match(form.opcode(bound), form, bound) for bound in legal_choices(form))
    return [one for one in found if one.targets and (target is None or target in one.targets)]


def _statements(matches: st.SearchStrategy[Match]) -> st.SearchStrategy[Statement]:
    """One mixture of operands for one of the operand lists that the rules allow."""

    def drawn(match: Match, variant: int, place: int) -> Statement | None:
        found = list(certified_statements(match, variant=variant))
        return found[place % len(found)] if found else None

    made: Any = st.builds(drawn, matches, st.integers(0, _VARIANTS), st.integers(0, 7))
    return made.filter(lambda one: one is not None)
