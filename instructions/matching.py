"""Reads opcodes fast: the syntax lines of one mnemonic, arranged for looking up.

What `grammar` compiles says everything about a syntax line, and walking it costs tens of microseconds a line. Here lines that spell the
same opcodes are read once, by a chain of functions, one for each part; bit masks tell which lines can spell a set of words at all; and
conditions are found once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Union

from ptxgen.instructions.grammar import Bindings, Choice, Condition, Element, Form, Optional, Term, condition, parse_version, predicate
from ptxgen.instructions.language import Entry
from ptxgen.instructions.targets import FIRST_VERSION, Version, target_set

__all__ = ["Readings", "availability", "version_on"]

Bound = dict[str, Union[str, bool]]
Reading = tuple[Form, Bound]
"""A syntax line, and what an opcode binds its qualifiers to; lines that spell the same share it."""

_Reader = Callable[[Sequence[str], int, Bound, list[Bound]], None]
"""Reads words from a place on; what is bound so far is changed and restored, and each complete reading is appended."""


class Readings:
    """All syntax lines of one mnemonic."""

    __slots__ = ("_bits", "_lines")

    def __init__(self, forms: Sequence[Form]) -> None:
        self._bits: dict[str, int] = {}
        for form in forms:
            for word in form.words:
                self._bits.setdefault(word, 1 << len(self._bits))
        for form in forms:
            _gates_of(form)
        alike: dict[tuple[Entry, tuple[Element, ...]], list[tuple[int, Form]]] = {}
        for place, form in enumerate(forms):
            alike.setdefault((form.entry, form.elements), []).append((place, form))
        self._lines = [
            (self._mask(lines[0][1].words), self._mask(_required(elements)), _reader(lines[0][1]), _rules(lines[0][1]), lines)
            for (_, elements), lines in alike.items()
        ]

    def _mask(self, words: Iterator[str] | frozenset[str]) -> int:
        mask = 0
        for word in words:
            mask |= self._bits[word]
        return mask

    def of(self, tokens: Sequence[str]) -> tuple[list[Reading], list[Reading]]:
        """Every way to read an opcode (mnemonic first), in the order of the lines: what the rules allow, and what they do not."""
        bits, mask = self._bits, 0
        for token in tokens[1:]:
            bit = bits.get(token)
            if bit is None:
                return [], []
            mask |= bit
        padded = (*tokens, "")
        legal: list[tuple[int, Form, Bound]] = []
        broken: list[tuple[int, Form, Bound]] = []
        for words, required, reader, rules, lines in self._lines:
            if mask & words != mask or mask & required != required:
                continue
            read: list[Bound] = []
            reader(padded, 1, {}, read)
            for bound in read:
                into = legal
                for when, need in rules:
                    if when(bound) and not need(bound):
                        into = broken
                        break
                into += [(place, form, bound) for place, form in lines]
        return _ordered(legal), _ordered(broken)


def _ordered(found: list[tuple[int, Form, Bound]]) -> list[Reading]:
    if len(found) > 1:
        found.sort(key=lambda one: one[0])
    return [(form, bound) for _, form, bound in found]


def _rules(form: Form) -> list[tuple[Callable[[Bindings], bool], Callable[[Bindings], bool]]]:
    """The rules between qualifiers that can concern a line, `when` and `need`."""
    names = _names(form)
    compiled = ((condition(rule.when), condition(rule.need)) for rule in form.entry.rules)
    between = ((when, need) for when, need in compiled if not (when.operands or need.operands))
    kept = ((_narrowed(when, names), _narrowed(need, names)) for when, need in between)
    return [(predicate(when), predicate(need)) for when, need in kept if when]


def _names(form: Form) -> dict[str, bool | None]:
    """What the bindings of a line can hold: True what they always do, None what they may."""
    found: dict[str, bool | None] = {}
    for element in form.elements:
        if isinstance(element, Optional):
            for name in _inside(element.elements):
                found.setdefault(name, None)
        else:
            found[element if isinstance(element, str) else element.name] = True
    if form.default_type is not None:
        found[".type"] = True
    return found


def _inside(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, Optional):
            yield from _inside(element.elements)
        else:
            yield element if isinstance(element, str) else element.name


def _narrowed(of: Condition, names: Mapping[str, bool | None]) -> list[list[Term]]:
    """The alternatives of a condition that can hold in a line, without terms that do: none where it never holds, ``[[]]`` where it does."""
    found = []
    for terms in of.alternatives:
        # A name that is not the line's is never there: its term is false, or true if it is negated.
        if all(term.name in names or term.inverse for term in terms):
            left = [term for term in terms if term.name in names and not (term.values is None and names[term.name] and not term.inverse)]
            if not any(term.values is None and term.inverse and names[term.name] for term in left):
                found.append(left)
    return [[]] if [] in found else found


def _required(elements: Sequence[Element]) -> Iterator[str]:
    """Words that every opcode of a line has: its literals that may not be left out."""
    return (element for element in elements if isinstance(element, str))


# ---- reading ----------------------------------------------------------------------------------------------------------


def _reader(form: Form) -> _Reader:
    straight = _straight(form)
    return _chain(form.elements, _ending(form.default_type)) if straight is None else _walk(straight, form.default_type)


_Part = tuple[str, dict[str, tuple[str, ...]], bool]
"""A qualifier's name, the words of each value by the first of them, and whether it may be left out."""


def _straight(form: Form) -> list[_Part] | None:
    """The parts of a line of which at each word one alone can go on; None for a line that may have to try several."""
    parts: list[_Part] = []
    for element in form.elements:
        optional = isinstance(element, Optional)
        inner = element.elements if isinstance(element, Optional) else (element,)
        if len(inner) != 1 or isinstance(inner[0], Optional):
            return None
        choice = _as_choice(inner[0])
        values = {words[0]: words for words in choice.values}
        if len(values) < len(choice.values):
            return None
        parts.append((choice.name, values, optional))
    for place, (_, values, optional) in enumerate(parts):
        for _, others, more in parts[place + 1 :] if optional else ():
            if values.keys() & others.keys():
                return None
            if not more:
                break
    return parts


def _walk(parts: list[_Part], default_type: str | None) -> _Reader:
    """A reader that need not turn back."""

    def read(tokens: Sequence[str], place: int, bound: Bound, found: list[Bound]) -> None:
        bound = {}
        for name, values, optional in parts:
            words = values.get(tokens[place])
            if words is None:
                if optional:
                    continue
                return
            if len(words) == 1:
                bound[name] = words[0]
                place += 1
            elif tuple(tokens[place : place + len(words)]) == words:
                bound[name] = "".join(words)
                place += len(words)
            elif not optional:
                return
        if not tokens[place]:
            if default_type is not None:
                bound.setdefault(".type", default_type)
            found.append(bound)

    return read


def _ending(default_type: str | None) -> _Reader:
    """At the end of an opcode: what is bound is a reading."""

    def end(tokens: Sequence[str], place: int, bound: Bound, found: list[Bound]) -> None:
        if not tokens[place]:
            reading = dict(bound)
            if default_type is not None:
                reading.setdefault(".type", default_type)
            found.append(reading)

    return end


def _chain(elements: Sequence[Element], then: _Reader) -> _Reader:
    """A reader of parts one after another, and then of what follows."""
    for element in reversed(elements):
        if not isinstance(element, Optional):
            then = _choice(_as_choice(element), then)
        elif len(element.elements) == 1 and not isinstance(element.elements[0], Optional):
            then = _choice(_as_choice(element.elements[0]), then, optional=True)
        else:
            then = _either(_chain(element.elements, then), then)
    return then


def _as_choice(element: str | Choice) -> Choice:
    return Choice(element, ((element,),)) if isinstance(element, str) else element


def _either(taken: _Reader, left_out: _Reader) -> _Reader:
    def read(tokens: Sequence[str], place: int, bound: Bound, found: list[Bound]) -> None:
        taken(tokens, place, bound, found)
        left_out(tokens, place, bound, found)

    return read


def _choice(choice: Choice, then: _Reader, optional: bool = False) -> _Reader:
    """One of several values, looked up by its first word; where it is `optional`, also none of them."""
    name = choice.name
    values: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for words in choice.values:
        values.setdefault(words[0], []).append((words, "".join(words)))

    def read(tokens: Sequence[str], place: int, bound: Bound, found: list[Bound]) -> None:
        for words, value in values.get(tokens[place], ()):
            count = len(words)
            if count == 1 or tuple(tokens[place : place + count]) == words:
                before = bound.get(name)
                bound[name] = value
                then(tokens, place + count, bound, found)
                if before is None:
                    del bound[name]
                else:
                    bound[name] = before
        if optional:
            then(tokens, place, bound, found)

    return read


# ---- first versions ---------------------------------------------------------------------------------------------------

_Known = dict[tuple[bool, ...], tuple[Version, frozenset[str]]]


class _Gates:
    """When which version and targets are needed, as far as it can concern a line: what always is, what may be, and what followed.

    `last` are the bindings that were asked for last, which lines that spell the same share, and what they need.
    """

    __slots__ = ("known", "last", "maybe", "says", "targets", "version")

    def __init__(self, form: Form) -> None:
        names = {**_names(form), **dict.fromkeys(form.required, True)}
        self.version: Version = (1, 0)
        self.targets = frozenset(FIRST_VERSION)
        self.maybe: list[tuple[Callable[[Bindings], bool], Version, frozenset[str]]] = []
        self.known: _Known = {}
        self.last: tuple[Bindings | None, tuple[Version, frozenset[str]]] = None, (self.version, self.targets)
        says: list[object] = []
        for one in form.entry.since:
            when, version, targets = _narrowed(condition(one.when), names), parse_version(one.ptx), target_set(one.targets)
            if when == [[]]:
                self.version, self.targets = max(self.version, version), self.targets & targets
            elif when:
                self.maybe.append((predicate(when), version, targets))
                says.append((tuple(map(tuple, when)), version, targets))
        self.says = (self.version, self.targets, *says)


_gates: dict[Form, _Gates] = {}
_alike: dict[tuple[object, ...], _Gates] = {}


def _gates_of(form: Form) -> _Gates:
    """Lines that need the same share their gates."""
    found = _gates.get(form)
    if found is None:
        made = _Gates(form)
        found = _gates[form] = _alike.setdefault(made.says, made)
    return found


def availability(form: Form, bindings: Bindings) -> tuple[Version, frozenset[str]]:
    """The first PTX version of a variant, and the targets that have it."""
    gates = _gates_of(form)
    last, found = gates.last
    if last is bindings:
        return found
    key = tuple([holds(bindings) for holds, _, _ in gates.maybe])
    known = gates.known.get(key)
    if known is None:
        version, targets = gates.version, gates.targets
        for holds, (_, first, those) in zip(key, gates.maybe):
            if holds:
                version, targets = max(version, first), targets & those
        known = gates.known[key] = version, targets
    gates.last = bindings, known
    return known


def version_on(form: Form, bindings: Bindings, target: str) -> Version:
    """The first PTX version of a variant on one target."""
    given = {**bindings, **dict.fromkeys(form.required, True)}
    holding = (one for one in form.entry.since if condition(one.when).holds(given))
    versions = (one.sooner[0] if one.sooner and target in target_set(one.sooner[1]) else one.ptx for one in holding)
    return max(map(parse_version, versions), default=(1, 0))
