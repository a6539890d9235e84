"""The stub that gives `px.ptx` completion: a class for each state between the words of an opcode.

Opcodes that go on alike share their classes, so all legal opcodes fit into less than a megabyte. A class that an opcode may end with
can be called; the others cannot, so a type checker tells an incomplete opcode.
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ptxgen.instructions.grammar import forms, tokens_of
from ptxgen.instructions.registry import entries

__all__ = ["attribute", "digest", "opcodes", "stub"]

_HEAD = '''\
# Made by `python -m ptxgen.reference` from the contracts in instructions/; not to be edited.
# contracts: {digest}
# ruff: noqa
from typing import Any

class _Begun:
    """The beginning of an opcode."""

class Opcode(_Begun):
    """A whole opcode: a call emits it."""

    text: str
    def __init__(self, text: str) -> None: ...
    def __call__(self, *operands: Any, pred: Any = None, out: Any = None) -> Any: ...

'''


def digest() -> str:
    """A digest of all that legal opcodes follow from: syntax lines, choices and rules."""
    found = hashlib.sha256()
    for entry in entries():
        rules = [(rule.when, rule.need) for rule in entry.rules]
        found.update(repr((entry.syntax.split(), entry.choices.split(), rules)).encode())
    return found.hexdigest()[:16]


def opcodes() -> Iterator[str]:
    """Every legal opcode; some more than once."""
    for entry in entries():
        for form in forms(entry):
            yield from map(form.opcode, form.combinations())


def attribute(token: str) -> str:
    """The attribute of `px.ptx` that spells a word of an opcode: ``global_``, ``_2d``, ``shared__cta``."""
    word = re.sub(r"(?<=\d):(?=\d)", "to", token.lstrip(".").replace("::", "__"))
    if word[0].isdigit():
        return f"_{word}"
    return f"{word}_" if keyword.iskeyword(word) else word


class _States:
    """The states of the smallest automaton that accepts the opcodes, each written when its successors are."""

    def __init__(self) -> None:
        self.known: dict[tuple[tuple[str, int], ...], int] = {}
        self.lines: list[str] = []

    def state(self, words: Sequence[tuple[str, ...]], depth: int) -> int:
        """The state behind the first `depth` words that all of `words`, sorted, share."""
        ends = len(words[0]) == depth
        steps = [
            (attribute(token), self.state(list(group), depth + 1))
            for token, group in groupby(words[ends:], key=lambda word: word[depth])
        ]
        key = (*steps, ("", int(ends)))
        if key not in self.known:
            self.known[key] = len(self.known)
            self.lines.append(f"class _{self.known[key]}({'Opcode' if ends else '_Begun'}):{'' if steps else ' ...'}\n")
            self.lines.extend(f" {name}: _{number}\n" for name, number in steps)
        return self.known[key]


def stub() -> str:
    """The text of ptxgen/opcodes.pyi."""
    states = _States()
    words = sorted({tokens_of(opcode) for opcode in opcodes()})
    heads = [(attribute(head), states.state(list(group), 1)) for head, group in groupby(words, key=lambda word: word[0])]
    first = "".join(f"    {name}: _{number}\n" for name, number in heads)
    last = f"class Instructions:\n    def __getitem__(self, opcode: str) -> Opcode: ...\n{first}"
    return _HEAD.format(digest=digest()) + "".join(states.lines) + "\n" + last
