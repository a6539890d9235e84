"""Legal opcodes that differ little from one that is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Choice, Element, forms, tokens_of
from ptxgen.instructions.registry import entries, lookup, mnemonics

__all__ = ["nearest_opcodes"]


def nearest_opcodes(opcode: str, most: int = 5) -> list[str]:
    """Legal opcodes one qualifier away from `opcode` (another mnemonic, one token more, less or other), the most alike first.

    Where there is none, those that have all of its qualifiers, in any order, and what a syntax line demands besides.
    """
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
        if not found:
            completed = (_completed(form.elements, [*spelled[1:]]) for entry in entries() for form in forms(entry) if form.head == head)
            found.update(dict.fromkeys(one for words in completed if words and _is_legal(one := "".join((head, *words)))))
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


def _completed(elements: tuple[Element, ...], given: list[str]) -> list[str]:
    """A syntax line's words with all that are `given`, or none where those do not fit or do not suffice."""
    words = _filled(elements, given)
    return words if words is not None and not given else []


def _filled(elements: tuple[Element, ...], given: list[str]) -> list[str] | None:
    """What stands in these positions, taken out of `given`; only words that nothing can replace come from elsewhere."""
    words: list[str] = []
    for element in elements:
        if isinstance(element, (str, Choice)):
            values = (element,) if isinstance(element, str) else tuple("".join(value) for value in element.values)
            word = next((one for one in given if one in values), values[0] if len(values) == 1 else None)
            if word is None:
                return None
            if word in given:
                given.remove(word)
            words.append(word)
        elif any(one in given for one in _words(element.elements)):
            words += _filled(element.elements, given) or []
    return words


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
