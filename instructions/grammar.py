"""Compiles the contract language's three notations, each once and on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from typing import NamedTuple, Union

from ptxgen.instructions.language import Entry, Rule
from ptxgen.instructions.targets import Version
from ptxgen.instructions.types import TYPES, Type, type_named
from ptxgen.layouts.errors import PtxgenError

__all__ = [
    "Bindings", "Form", "Slot", "condition", "count_expression", "forms", "operand_names", "parse_version", "predicate", "tokens_of",
    "type_expression",
]  # fmt: skip

Bindings = Mapping[str, Union[str, bool]]
"""Qualifier name -> its value (``".type": ".f32"``; a literal is bound to itself); operand name -> True where given."""


def tokens_of(opcode: str) -> tuple[str, ...]:
    """``"ld.param::entry.u32"`` -> ``("ld", ".param::entry", ".u32")``."""
    return tuple(opcode.replace(".", "\0.").split("\0"))


# ---- conditions -------------------------------------------------------------------------------------------------------


class Term(NamedTuple):
    """``not .vec in .v2 .v4``: a name, the values that count (None: any), and whether it is negated."""

    name: str
    values: frozenset[str] | None
    inverse: bool


class Condition(NamedTuple):
    """A compiled condition: `holds(bindings)`, the operand names that it mentions, and its terms, alternative by alternative."""

    holds: Callable[[Bindings], bool]
    operands: frozenset[str]
    alternatives: tuple[tuple[Term, ...], ...]


@lru_cache(maxsize=None)
def condition(text: str) -> Condition:
    """Compile a condition of the contract language (module docstring of `language`); the empty text always holds."""
    operands: set[str] = set()
    alternatives = tuple(
        tuple(_term(text, part, operands) for part in filter(None, (piece.strip() for piece in re.split(r"(?<!\S)and(?!\S)", alternative))))
        for alternative in re.split(r"(?<!\S)or(?!\S)", text)
    )
    return Condition(predicate(alternatives), frozenset(operands), alternatives)


def predicate(alternatives: Sequence[Sequence[Term]]) -> Callable[[Bindings], bool]:
    """Whether all terms of an alternative hold, as a function of the bindings."""
    if len(alternatives) == 1 and len(alternatives[0]) < 2:
        return _holds_alone(*alternatives[0])

    def holds(bindings: Bindings) -> bool:
        for terms in alternatives:
            for name, values, inverse in terms:
                found = bindings.get(name)
                if ((found is not None) if values is None else (found in values)) == inverse:
                    break
            else:
                return True
        return False

    return holds


def _holds_alone(*terms: Term) -> Callable[[Bindings], bool]:
    """What most conditions are, one term or none, without a loop."""
    if not terms:
        return lambda bindings: True
    ((name, values, inverse),) = terms
    if values is None:
        return (lambda bindings: name not in bindings) if inverse else (lambda bindings: name in bindings)
    return (lambda bindings: bindings.get(name) not in values) if inverse else (lambda bindings: bindings.get(name) in values)


def _term(text: str, part: str, operands: set[str]) -> Term:
    """Read one term; an operand's name is noted in `operands`."""
    body = part.removeprefix("not ")
    name, _, listed = body.partition(" in ")
    name = name.strip()
    inverse = part != body
    if name.endswith(" not"):
        name, inverse = name[:-4].strip(), not inverse
    if not re.fullmatch(r"\.?[\w:]+", name):
        raise PtxgenError(f"contract condition {text!r}: cannot read the term {part!r}")
    if not name.startswith("."):
        operands.add(name)
    return Term(name, frozenset(listed.split()) if listed else None, inverse)


# ---- types ------------------------------------------------------------------------------------------------------------


def _wide(of: Type) -> Type:
    return TYPES.get(of.name[0] + str(of.bits * 2), TYPES["b128"])


_TYPE_FUNCTIONS: dict[str, Callable[[Type], Type]] = {
    "wide": _wide,
    "half": lambda of: TYPES[f"b{of.bits // 2}"],
    "quarter": lambda of: type_named(f"b{of.bits // 4}"),  # b4, of b16, is no type of a register: the contract refuses it by name
    "bits": lambda of: TYPES[f"b{max(of.bits, 8)}"],
    "element": lambda of: of.element,
}


@lru_cache(maxsize=None)
def type_expression(text: str) -> Callable[[Bindings], Type]:
    """Compile a type expression: ``.type``, ``u32``, ``wide(.type)``, ``wide(.type) if .mode in .wide else .type``."""
    chosen = re.fullmatch(r"(.+?) if (.+?) else (.+)", text)
    if chosen:
        then, when, otherwise = type_expression(chosen[1]), condition(chosen[2]), type_expression(chosen[3])
        return lambda bindings: then(bindings) if when.holds(bindings) else otherwise(bindings)
    called = re.fullmatch(r"(\w+)\((.+)\)", text)
    if called:
        function, inner = _TYPE_FUNCTIONS[called[1]], type_expression(called[2])
        return lambda bindings: function(inner(bindings))
    if text.startswith("."):
        return lambda bindings: type_named(str(bindings[text]))
    fixed = type_named(text)
    return lambda bindings: fixed


# ---- counts -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def count_expression(text: str) -> Callable[[Bindings], int]:
    """Compile a count expression: ``.vec``, ``m(.shape) * k(.shape) * bits(.atype) / 1024``, ``2 if .x2 else 1``."""
    chosen = re.fullmatch(r"(.+?) if (.+?) else (.+)", text)
    if chosen:
        then, when, otherwise = count_expression(chosen[1]), condition(chosen[2]), count_expression(chosen[3])
        return lambda bindings: then(bindings) if when.holds(bindings) else otherwise(bindings)
    first, *rest = re.split(r"\s*([*/])\s*", text.strip())
    factors = [(operator, _factor(text, factor)) for operator, factor in zip(("*", *rest[::2]), (first, *rest[1::2]))]
    if len(factors) == 1:
        return factors[0][1]

    def product_of(bindings: Bindings) -> int:
        found = 1
        for operator, factor in factors:
            by = factor(bindings)
            found = found * by if operator == "*" else -(-found // by)
        return found

    return product_of


def _factor(text: str, factor: str) -> Callable[[Bindings], int]:
    """A number, the number in a qualifier's value (after a letter, where one is named), or a type's width."""
    if factor.isdigit():
        number = int(factor)
        return lambda _: number
    called = re.fullmatch(r"(\w+)\((.+)\)", factor)
    if called and called[1] == "bits":
        of = type_expression(called[2])
        return lambda bindings: of(bindings).bits
    if called and called[1] in ("kept", "group"):
        ratio, side = called[2], ("kept", "group").index(called[1])
        return lambda bindings: int(str(bindings[ratio]).split(":")[side - 2])
    name, letter = (called[2], called[1]) if called else (factor, "")
    if not name.startswith("."):
        raise PtxgenError(f"contract count {text!r}: cannot read {factor!r}")
    pattern = re.compile(letter + r"(\d+)")

    def number_in(bindings: Bindings) -> int:
        value = bindings.get(name)
        if value is None:
            return 1
        found = pattern.search(str(value))
        if found is None:
            raise PtxgenError(f"contract count {text!r}: {value} has no number for {factor}")
        return int(found[1])

    return number_in


# ---- syntax -----------------------------------------------------------------------------------------------------------


class Slot(NamedTuple):
    """One operand position of a syntax line.

    `second` is q in ``p|q``; `inner` are the names inside ``[a, b]``; `listed` marks ``(a)``, a list of any length. `selector`
    and `negation` say whether a part of a register is selected (``d.dsel``, ``a{.asel}``) and whether a minus stands in front (``-a``,
    ``{-}a``): ``"required"``, ``"optional"`` or, for neither, empty.
    """

    name: str
    bracket: bool = False
    second: str = ""
    inner: tuple[str, ...] = ()
    listed: bool = False
    selector: str = ""
    negation: str = ""


class Choice(NamedTuple):
    """A qualifier position: the values it may take, each a tuple of tokens."""

    name: str
    values: tuple[tuple[str, ...], ...]


class Optional(NamedTuple):
    """A part of the opcode that may be left out."""

    elements: tuple[Element, ...]


Element = Union[str, Choice, Optional]

_OPCODE_PART = re.compile(r"\{|\}|\.[\w:]+")


def _parse_opcode(text: str, choices: Mapping[str, tuple[tuple[str, ...], ...]], line: str) -> tuple[Element, ...]:
    stack: list[list[Element]] = [[]]
    for part in _OPCODE_PART.findall(text):
        if part == "{":
            stack.append([])
        elif part == "}":
            inner = stack.pop()
            stack[-1].append(Optional(tuple(inner)))
        else:
            stack[-1].append(Choice(part, choices[part]) if part in choices else part)
    if len(stack) != 1:
        raise PtxgenError(f"contract syntax {line!r}: braces do not match")
    return tuple(stack[0])


def _parse_choices(text: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """``.ss = { .global, .shared{::cta, ::cluster} };`` as the ISA writes it; several lists a text."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for name, body in re.findall(r"(\.[\w:]+)\s*=\s*\{(.*?)\}\s*;", text, re.S):
        values: list[tuple[str, ...]] = []
        for base, suffixes in re.findall(r"((?:\.[\w:]+)+)(?:\{([^}]*)\})?", body):
            values.append(tokens_of(base)[1:])
            values.extend(tokens_of(base + suffix.strip())[1:] for suffix in suffixes.split(",") if suffix.strip())
        found[name] = tuple(values)
    return found


def _operand_lists(text: str) -> tuple[tuple[Slot, ...], ...]:
    """Every operand list that a syntax line allows, shortest first: each ``{, x}`` or ``{|p}`` is left out or taken."""
    opened = re.search(r"\{([,|][^{}]*)\}", text)
    if opened:
        without = text[: opened.start()] + text[opened.end() :]
        taken = text[: opened.start()] + opened[1] + text[opened.end() :]
        return tuple(sorted(dict.fromkeys((*_operand_lists(without), *_operand_lists(taken))), key=len))
    text = text.replace("{!}", "").replace("{.unified}", "")
    slots = []
    for piece in re.findall(r"\[[^\]]*\]|\([^)]*\)|[^,\[\]()]+", text):
        piece = piece.strip()
        if not piece:
            continue
        if piece.startswith("["):
            first, *rest = (name.strip() for name in piece[1:-1].split(","))
            slots.append(Slot(first, bracket=True, inner=tuple(rest)))
        elif piece.startswith("("):
            slots.append(Slot(piece[1:-1].strip(), listed=True))
        else:
            first, _, second = piece.partition("|")
            marked = _MARKED.fullmatch(first.strip())
            if marked is None:
                raise PtxgenError(f"contract syntax: cannot read the operand {piece!r}")
            minus, name, part = marked.groups()
            slots.append(Slot(name, second=second.strip(), selector=_presence(part), negation=_presence(minus)))
    return (tuple(slots),)


_MARKED = re.compile(r"(\{-\}|-)?(\w+)(\{\.\w+\}|\.\w+)?")


def _presence(mark: str | None) -> str:
    """What a mark that a syntax line gives an operand says of it."""
    return "" if not mark else "optional" if mark.startswith("{") else "required"


def operand_names(slots: Sequence[Slot]) -> frozenset[str]:
    """The names of all operands in a list, those inside of braces and behind bars as well."""
    return frozenset(name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name)


class Form:
    """One syntax line of an entry, compiled.

    `required` are the operands that stand in each of its operand lists, `words` all qualifiers that its opcodes can have.
    """

    __slots__ = ("default_type", "elements", "entry", "head", "operand_lists", "required", "syntax", "words")

    def __init__(self, entry: Entry, syntax: str, choices: Mapping[str, tuple[tuple[str, ...], ...]]) -> None:
        self.entry = entry
        self.syntax = syntax
        opcode, _, operands = syntax.rstrip(";").strip().partition(" ")
        self.head = re.match(r"\w+", opcode)[0]  # type: ignore[index]
        self.elements = _parse_opcode(opcode[len(self.head) :], choices, syntax)
        values = chain.from_iterable(values for _, values, _ in _qualifiers(self.elements, False))
        self.words = frozenset(word for value in values for word in tokens_of(value)[1:])
        self.operand_lists = _operand_lists(operands)
        self.required = frozenset.intersection(*(operand_names(slots) for slots in self.operand_lists))
        literal_types = [part for part in _OPCODE_PART.findall(opcode) if part[1:] in TYPES and part not in choices]
        self.default_type = literal_types[-1] if literal_types else None

    def matches(self, tokens: Sequence[str]) -> list[dict[str, str | bool]]:
        """All ways to read an opcode's tokens (mnemonic first) as this form: qualifier bindings, rules not yet applied."""
        found: list[dict[str, str | bool]] = []
        if tokens[0] == self.head and self.words.issuperset(tokens[1:]):
            complete = len(tokens)
            _match(self.elements, 0, tokens, 1, {}, lambda position, bound: found.append(bound) if position == complete else None)
        for bound in found:
            if self.default_type:
                bound.setdefault(".type", self.default_type)
        return found

    def arranged(self, qualifiers: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """The opcodes (mnemonic first) that this form spells with just these qualifiers, in its own order."""
        if self.words.issuperset(qualifiers):
            for _, spelled in _arrange(self.elements, tuple(sorted(qualifiers))):
                if len(spelled) == len(qualifiers):
                    yield (self.head, *spelled)

    def furthest(self, tokens: Sequence[str]) -> tuple[int, dict[str, tuple[str, ...]]]:
        """How far this form follows `tokens`, and the qualifiers that could stand there instead, each with its values: for messages.

        A literal stands for itself; the name ``""`` says that the opcode may end there.
        """
        reached = 0
        expected: dict[str, tuple[str, ...]] = {}

        def note(position: int, name: str, values: tuple[str, ...]) -> None:
            nonlocal reached
            if position > reached:
                reached = position
                expected.clear()
            if position == reached:
                expected[name] = values

        if tokens[0] == self.head:
            _match(self.elements, 0, tokens, 1, {}, lambda position, bound: note(position, "", ()), note)
        return reached, expected

    def combinations(self) -> Iterator[dict[str, str | bool]]:
        """Every choice of qualifiers that the entry's rules allow (rules that speak of operands set aside)."""
        for bound in _combine(self.elements):
            if self.default_type:
                bound.setdefault(".type", self.default_type)
            if not any(True for _ in broken_rules(self.entry, bound, operands_known=False)):
                yield bound

    def nearest(self, bindings: Bindings) -> Iterator[tuple[str, str]]:
        """The legal opcodes of this form that differ from a choice of qualifiers in one of them: its name and the opcode."""
        qualifiers = list(_qualifiers(self.elements, False))
        if not {*bindings} - {".type"} <= {name for name, _, _ in qualifiers}:
            return
        required = {name for name, _, optional in qualifiers if not optional}
        foreign = {name for name, values, _ in qualifiers if bindings.get(name, values[0]) not in values}
        for name, values, optional in qualifiers:
            if not foreign <= {name}:
                continue  # another qualifier has a value that this form does not know
            others: list[str | None] = [value for value in values if value != bindings.get(name)]
            if optional and name in bindings:
                others.insert(0, None)
            for other in others:
                changed = {**bindings, name: other} if other else {one: bindings[one] for one in bindings if one != name}
                if required <= {*changed} and not any(True for _ in broken_rules(self.entry, changed, operands_known=False)):
                    yield name, self.opcode(changed)

    def opcode(self, bindings: Bindings) -> str:
        """The opcode that a choice of qualifiers spells."""
        return self.head + "".join(_spell(self.elements, bindings))

    def __repr__(self) -> str:
        return f"<form {self.syntax}>"


def _match(
    elements: Sequence[Element],
    index: int,
    tokens: Sequence[str],
    position: int,
    bound: dict[str, str | bool],
    done: Callable[[int, dict[str, str | bool]], object],
    miss: Callable[[int, str, tuple[str, ...]], None] | None = None,
) -> None:
    """Backtracking match of `elements[index:]` against `tokens[position:]`; calls `done` with the end of each way to match."""
    if index == len(elements):
        done(position, bound)
        return
    element = elements[index]
    if isinstance(element, str):
        if position < len(tokens) and tokens[position] == element:
            _match(elements, index + 1, tokens, position + 1, {**bound, element: element}, done, miss)
        elif miss:
            miss(position, element, (element,))
    elif isinstance(element, Choice):
        for value in element.values:
            if tuple(tokens[position : position + len(value)]) == value:
                _match(elements, index + 1, tokens, position + len(value), {**bound, element.name: "".join(value)}, done, miss)
        if miss:
            miss(position, element.name, tuple(map("".join, element.values)))
    else:

        def proceed(end: int, inner: dict[str, str | bool]) -> None:
            _match(elements, index + 1, tokens, end, inner, done, miss)

        _match(element.elements, 0, tokens, position, bound, proceed, miss)
        _match(elements, index + 1, tokens, position, bound, done, miss)


def _arrange(elements: Sequence[Element], left: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Ways to spell `elements` with some of the qualifiers in `left`: those that stay, and the spelling."""
    if not elements:
        yield left, ()
        return
    first, rest = elements[0], elements[1:]
    if isinstance(first, Optional):
        taken: Iterator[tuple[tuple[str, ...], tuple[str, ...]]] = chain(_arrange(first.elements, left), [(left, ())])
    else:
        values = ((first,),) if isinstance(first, str) else first.values
        taken = ((stays, value) for value in values if (stays := _without(left, value)) is not None)
    for stays, spelled in taken:
        for end, more in _arrange(rest, stays):
            yield end, (*spelled, *more)


def _without(left: tuple[str, ...], taken: Sequence[str]) -> tuple[str, ...] | None:
    """`left` without each of `taken` once; None where one is not there."""
    for token in taken:
        if token not in left:
            return None
        place = left.index(token)
        left = left[:place] + left[place + 1 :]
    return left


def _combine(elements: Sequence[Element]) -> Iterator[dict[str, str | bool]]:
    options: list[list[dict[str, str | bool]]] = []
    for element in elements:
        if isinstance(element, str):
            options.append([{element: element}])
        elif isinstance(element, Choice):
            options.append([{element.name: "".join(value)} for value in element.values])
        else:
            options.append([{}, *_combine(element.elements)])
    for chosen in product(*options):
        merged: dict[str, str | bool] = {}
        for part in chosen:
            merged.update(part)
        yield merged


def _qualifiers(elements: Sequence[Element], optional: bool) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Every qualifier of an opcode with its values, and whether it may be left out."""
    for element in elements:
        if isinstance(element, str):
            yield element, (element,), optional
        elif isinstance(element, Choice):
            yield element.name, tuple(map("".join, element.values)), optional
        else:
            yield from _qualifiers(element.elements, True)


def _spell(elements: Sequence[Element], bindings: Bindings) -> Iterator[str]:
    for element in elements:
        if isinstance(element, str):
            yield element
        elif isinstance(element, Choice):
            yield str(bindings[element.name])
        elif all(_bound(inner, bindings) for inner in element.elements):
            yield from _spell(element.elements, bindings)


def _bound(element: Element, bindings: Bindings) -> bool:
    if isinstance(element, Optional):
        return True
    return (element if isinstance(element, str) else element.name) in bindings


# ---- entries ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def first_words(entry: Entry) -> frozenset[str]:
    """The words with which the syntax lines of an entry begin."""
    return frozenset(_FIRST_WORD.findall(entry.syntax))


_FIRST_WORD = re.compile(r"(?:^|;)\s*(\w+)")


def forms(entry: Entry) -> tuple[Form, ...]:
    """The syntax lines of an entry, compiled once."""
    if entry.compiled is None:
        choices = _parse_choices(entry.choices)
        joined = re.sub(r"\n\s*(?=\{?\.)", "", entry.syntax)  # an opcode that goes on in the next line
        lines = (" ".join(line.split()) for line in joined.split(";"))
        entry.compiled = tuple(Form(entry, line + ";", choices) for line in lines if line)
    compiled: tuple[Form, ...] = entry.compiled
    return compiled


def broken_rules(entry: Entry, bindings: Bindings, *, operands_known: bool) -> Iterator[Rule]:
    """The rules that a choice of qualifiers breaks. Those that speak of operands wait until the operands are known."""
    for rule in entry.rules:
        when, need = condition(rule.when), condition(rule.need)
        if not operands_known and (when.operands or need.operands):
            continue
        if when.holds(bindings) and not need.holds(bindings):
            yield rule


@lru_cache(maxsize=None)
def parse_version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)
