"""Legal opcodes that differ little from one that is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Choice, Element, forms, tokens_of
from ptxgen.instructions.registry import entries, lookup, mnemonics

__all__ = ["nearest_opcodes"]


def nearest_opcodes(opcode: str, most: int = 5) -> list[str]:
    """Legal opcodes one qualifier away from `opcode` (another mnemonic, one token more, less or other), the most alike first."""
    tokens = tokens_of(opcode)
    heads = [tokens[0]] if tokens[0] in mnemonics() else difflib.get_close_matches(tokens[0], sorted(mnemonics()), n=4)
    found: dict[str, None] = {}
    for head in heads:
        spelled = (head, *tokens[1:])
        if head != tokens[0] and _is_legal("".join(spelled)):
            found["".join(spelled)] = None
        for edited in _edits(spelled, sorted(_vocabulary(head))):
            if edited not in found and _is_legal(edited):
                found[edited] = None
    alike = difflib.SequenceMatcher(b=opcode)

    def likeness(other: str) -> float:
        alike.set_seq1(other)
        return -alike.ratio()

    return sorted(found, key=likeness)[:most]


def _edits(tokens: tuple[str, ...], vocabulary: list[str]) -> Iterator[str]:
    for place in range(1, len(tokens) + 1):
        before, after = tokens[:place], tokens[place:]
        for word in vocabulary:
            yield "".join((*before, word, *after))
            if after:
                yield "".join((*before, word, *after[1:]))
        if after:
            yield "".join((*before, *after[1:]))


def _is_legal(opcode: str) -> bool:
    try:
        lookup(opcode)
    except InstructionError:
        return False
    return True


def _vocabulary(head: str) -> set[str]:
    """Every qualifier that stands in an opcode which begins with `head`."""
    return {word for entry in entries() for form in forms(entry) if form.head == head for word in _words(form.elements)}


def _words(elements: tuple[Element, ...]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, str):
            yield element
        elif isinstance(element, Choice):
            yield from ("".join(value) for value in element.values)
        else:
            yield from _words(element.elements)
