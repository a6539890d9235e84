"""Finds the contract behind an opcode. A family's module is imported when one of its mnemonics is first asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import chain, islice

from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import (
    Bindings,
    Form,
    broken_rules,
    condition,
    count_expression,
    first_words,
    forms,
    tokens_of,
    type_expression,
)
from ptxgen.instructions.language import Entry
from ptxgen.instructions.matching import Readings, availability, version_on
from ptxgen.instructions.targets import Version
from ptxgen.instructions.types import TYPES, Type

__all__ = ["FAMILIES", "REPLACED", "Match", "entries", "family_entries", "forget", "in_order", "lookup", "mnemonics"]

# Family (a module of this package) -> the first words of the mnemonics that it holds; a test compares this with the modules.
FAMILIES: dict[str, tuple[str, ...]] = {
    "integer": (
        "abs", "add", "bfe", "bfi", "bfind", "bmsk", "brev", "clmad", "clz", "div", "dp2a", "dp4a", "fns", "mad", "mad24", "max",
        "min", "mul", "mul24", "neg", "popc", "rem", "sad", "sub", "szext",
    ),
    "extended": ("add", "addc", "mad", "madc", "sub", "subc"),
    "floating": (
        "abs", "add", "copysign", "cos", "div", "ex2", "fma", "lg2", "mad", "max", "min", "mul", "neg", "rcp", "rsqrt", "sin",
        "sqrt", "sub", "tanh", "testp",
    ),
    "half": ("abs", "add", "ex2", "fma", "max", "min", "mul", "neg", "sub", "tanh"),
    "fp8": ("add", "sub"),
    "mixed": ("add", "fma", "mul", "sub"),
    "comparison": ("selp", "set", "setp", "slct"),
    "logic": ("and", "cnot", "lop3", "not", "or", "shf", "shl", "shr", "xor"),
    "memory": ("ld", "ldu", "st"),
    "move": ("cvta", "isspacep", "mov", "prmt"),
    "conversion": ("cvt",),
    "texture": ("istypep", "tex", "tld4", "txq"),
    "surface": ("suld", "suq", "sured", "sust"),
    "control": ("bra", "brx", "call", "exit", "ret"),
    "barrier": ("bar", "barrier"),
    "atomic": ("atom", "red"),
    "async_store": ("red", "st"),
    "multimem": ("multimem",),
    "cache": ("applypriority", "createpolicy", "discard", "prefetch", "prefetchu"),
    "async_copy": ("cp",),
    "bulk_copy": ("cp",),
    "tensor_copy": ("cp",),
    "tensormap": ("tensormap",),
    "fabric": ("fabric",),
    "cluster_launch": ("clusterlaunchcontrol",),
    "fence": ("fence", "getctarank", "griddepcontrol", "mapa", "membar"),
    "mbarrier": ("mbarrier",),
    "warpgroup": ("setmaxnreg", "wgmma"),
    "tensor_memory": ("tcgen05",),
    "matrix": ("ldmatrix", "mma", "movmatrix", "stmatrix"),
    "wmma": ("wmma",),
    "sparsity": ("spcompress", "spdecompress"),
    "scaled": ("mma",),
    "sparse": ("mma",),
    "stack": ("alloca", "stackrestore", "stacksave"),
    "miscellaneous": ("brkpt", "nanosleep", "pmevent", "trap"),
    "video": (
        "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4", "vmin",
        "vmin2", "vmin4", "vset", "vset2", "vset4", "vshl", "vshr", "vsub", "vsub2", "vsub4",
    ),
    "warp": ("activemask", "elect", "match", "redux", "shfl", "vote"),
}  # fmt: skip

REPLACED: set[str] = set()
"""Names of entries whose place a program's own have taken: see `ptxgen.instructions.added`."""


@lru_cache(maxsize=None)
def family_entries(family: str) -> tuple[Entry, ...]:
    """The entries of one family, in the order of its file."""
    module = import_module(f"ptxgen.instructions.{family}")
    found = tuple(value for value in vars(module).values() if isinstance(value, Entry))
    for entry in found:
        entry.family = family
    return found


def _valid_entries(family: str) -> tuple[Entry, ...]:
    return tuple(entry for entry in family_entries(family) if entry.name not in REPLACED or entry.family == "added")


def entries() -> Iterator[Entry]:
    """Every entry of the registry, family by family."""
    return chain.from_iterable(map(_valid_entries, FAMILIES))


@lru_cache(maxsize=None)
def _forms_of(head: str) -> tuple[Form, ...]:
    families = [family for family, heads in FAMILIES.items() if head in heads]
    spelled = [entry for family in families for entry in _valid_entries(family) if head in first_words(entry)]  # no other is compiled
    return tuple(form for entry in spelled for form in forms(entry) if form.head == head)


@lru_cache(maxsize=None)
def _readings_of(head: str) -> Readings:
    return Readings(_forms_of(head))


@lru_cache(maxsize=None)
def mnemonics() -> frozenset[str]:
    """The first words of all opcodes."""
    return frozenset(chain.from_iterable(FAMILIES.values()))


class Match:
    """An opcode read as one form: its qualifiers are bound and its rules hold.

    Attributes
    ----------
    opcode : str
    form : Form
    entry : Entry
    bindings : dict
        Qualifier -> value with its dot.
    version, targets
        First PTX version and the targets that have this variant.
    """

    __slots__ = ("bindings", "entry", "form", "opcode", "targets", "version")

    version: Version
    targets: frozenset[str]

    def __init__(self, opcode: str, form: Form, bindings: Bindings) -> None:
        self.opcode = opcode
        self.form = form
        self.entry = form.entry
        self.bindings = bindings
        self.version, self.targets = availability(form, bindings)

    def version_on(self, target: str | None) -> Version:
        """The first PTX version on one target, which may be an earlier one than on the others."""
        if target is None or not self.entry.varies:
            return self.version
        return version_on(self.form, self.bindings, target)

    def type(self, expression: str = ".type") -> Type:
        """The type that a type expression of the contract means here."""
        return type_expression(expression)(self.bindings)

    def count(self, vector: str | int) -> int:
        """The number of registers that an operand's `vector` means here: a scalar where the qualifier is left out."""
        return vector if isinstance(vector, int) else count_expression(vector)(self.bindings)

    def allows(self, permission: bool | str) -> bool:
        """Whether an operand's `immediate` or `sink` grants what it names, here."""
        return permission if isinstance(permission, bool) else condition(permission).holds(self.bindings)

    def value(self, name: str) -> str:
        """A qualifier's value without its dot, ``""`` where it is left out."""
        return str(self.bindings.get(name, ""))[1:]

    def __repr__(self) -> str:
        return f"<{self.opcode} as {self.form.syntax}>"


@lru_cache(maxsize=None)
def _lookup(opcode: str) -> tuple[Match, ...] | InstructionError:
    tokens = tokens_of(opcode)
    legal, broken = _readings_of(tokens[0]).of(tokens)
    if legal:
        return tuple([Match(opcode, form, bound) for form, bound in legal])
    return _refusal(opcode, tokens, broken)


def lookup(opcode: str) -> tuple[Match, ...]:
    """Every form that an opcode can be read as; which one is meant, the operands decide.

    Raises
    ------
    InstructionError
        If no instruction is spelled so, or a rule between its qualifiers is broken; it names the token, the rule and what is legal.
    """
    found = _lookup(opcode)
    if isinstance(found, InstructionError):
        raise InstructionError(**{name: getattr(found, name) for name in ("problem", "opcode", "rule", "section", "example", "legal")})
    return found


def forget() -> None:
    """Look again at `FAMILIES` and their modules: see `ptxgen.instructions.added`."""
    for found in (family_entries, _forms_of, _readings_of, mnemonics, _lookup):
        found.cache_clear()


_SPELLING = "an opcode is spelled as its syntax line says, qualifier by qualifier"


def _refusal(opcode: str, tokens: tuple[str, ...], candidates: list[tuple[Form, dict[str, str | bool]]]) -> InstructionError:
    """Say why nothing matches: a broken rule where the spelling is right, else the first token that does not fit."""
    import difflib

    if candidates:
        form, bound = min(candidates, key=lambda one: len(list(broken_rules(one[0].entry, one[1], operands_known=False))))
        rule = next(broken_rules(form.entry, bound, operands_known=False))
        found = chain.from_iterable(other.nearest(bound) for other in _forms_of(tokens[0]))
        nearest = dict.fromkeys(legal for _, legal in sorted(found, key=lambda one: one[0].endswith("type")))
        return InstructionError(
            "these qualifiers do not go together",
            opcode=opcode,
            rule=rule.says,
            section=rule.section or form.entry.section,
            legal=", ".join(islice(nearest, 5)) or form.syntax,
        )
    known = _forms_of(tokens[0])
    if not known:
        near = difflib.get_close_matches(tokens[0], sorted(mnemonics()), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(mnemonics()))}"
        return InstructionError(
            f"{tokens[0]!r} is not an instruction of the PTX ISA known here",
            opcode=opcode,
            rule="an opcode begins with an instruction's name",
            section="9.7",
            legal=hint,
        )
    ordered = _in_order(tokens)
    if ordered:
        problem = f"the ISA writes these qualifiers in another order: {ordered}"
        return InstructionError(problem, opcode=opcode, rule=_SPELLING, section=known[0].entry.section, legal=ordered)
    once, twice = _once(tokens)
    if once:
        problem = f"{twice!r} is given twice"
        return InstructionError(problem, opcode=opcode, rule=_SPELLING, section=known[0].entry.section, legal=once)
    reached = max(form.furthest(tokens)[0] for form in known)
    expected: dict[str, tuple[str, ...]] = {}
    for form in known:
        far, wanted = form.furthest(tokens)
        if far == reached:
            expected.update({name: (*expected.get(name, ()), *wanted[name]) for name in wanted})
    behind = "".join(tokens[:reached])
    expected.pop("", None)
    options = list(dict.fromkeys(value for values in expected.values() for value in values))
    completed = [spelled for option in options if (spelled := _legal((*tokens[:reached], option, *tokens[reached:])))]
    if reached == len(tokens):
        problem = f"the opcode stops after {behind!r}"
    elif completed:
        problem, legal = f"a qualifier is missing between {behind!r} and {tokens[reached]!r}", ", ".join(completed)
        return InstructionError(problem, opcode=opcode, rule=_SPELLING, section=known[0].entry.section, legal=legal)
    else:
        problem = f"{tokens[reached]!r} cannot stand after {behind!r}"
        near = _nearest_numbers(tokens[reached], options) if len(options) > _MANY else []
        near = near or difflib.get_close_matches(tokens[reached], options, n=2)
        if near:
            problem += f"; did you mean {' or '.join(near)}?"
        expected = {name: values for name, values in expected.items() if set(near) & set(values)} or expected
        if near and len(options) > _MANY and _NUMBERS.search(near[0]):
            expected = {name: _alike(near[0], values) for name, values in expected.items()}
    legal = f"after {behind!r}: {_grouped(expected)}" if options else f"{behind!r} as it is"
    return InstructionError(problem, opcode=opcode, rule=_SPELLING, section=known[0].entry.section, legal=legal)


_MANY = 40  # so many values of a qualifier are listed; of more, those that differ from the nearest in one number
_NUMBERS = re.compile(r"\d+")


def _nearest_numbers(written: str, options: Sequence[str]) -> list[str]:
    """The values that are spelled alike but for one number, nearest first: at most one below and one above."""
    numbers = [int(number) for number in _NUMBERS.findall(written)]
    found: dict[bool, tuple[int, str]] = {}
    for option in _alike(written, options):
        differing = [(ours, int(theirs)) for ours, theirs in zip(numbers, _NUMBERS.findall(option)) if ours != int(theirs)]
        if len(differing) == 1:
            ours, theirs = differing[0]
            found[theirs > ours] = min(found.get(theirs > ours, (1 << 30, "")), (abs(theirs - ours), option))
    return [option for _, option in sorted(found.values())]


def _alike(written: str, options: Sequence[str]) -> tuple[str, ...]:
    """The values that differ from one in at most one number."""
    numbers = _NUMBERS.findall(written)
    spelled = [option for option in options if _NUMBERS.sub("0", option) == _NUMBERS.sub("0", written)]
    return tuple(one for one in spelled if sum(a != b for a, b in zip(numbers, _NUMBERS.findall(one))) <= 1)


def _grouped(expected: dict[str, tuple[str, ...]]) -> str:
    """Literals first, then each qualifier with its values: ``.weak; .ss: .global .shared; .type: .b32 .b64``."""
    alone = [name for name, values in expected.items() if values[:1] == (name,)]
    groups = [f"{name}: {' '.join(dict.fromkeys(values))}" for name, values in expected.items() if name not in alone]
    return "; ".join([", ".join(alone)] * bool(alone) + groups)


@lru_cache(maxsize=256)
def in_order(opcode: str) -> str:
    """The opcode in the ISA's order, where a compiler writes ``red.add.global.relaxed.gpu.f64`` or ``setp.ftz.gt.f32``, as ptxas takes it.

    Only choices in front of the types move, and only where the contract says that they do. An empty text for any other opcode.
    """
    tokens = tokens_of(opcode)
    if not any(form.entry.reordered for form in _forms_of(tokens[0])):
        return ""
    ordered = _in_order(tokens)
    if not ordered:
        return ""
    match, arranged = lookup(ordered)[0], tokens_of(ordered)
    chosen = set(match.bindings.values())
    types = sum(token[1:] in TYPES for token in arranged)
    name = tokens_of(match.entry.name.partition(" ")[0])
    fixed = all(one == other or {one, other} <= chosen for one, other in zip(arranged, tokens)) and arranged[-types:] == tokens[-types:]
    # A word that the line spells itself, such as .full, is part of the name.
    fixed &= all(tokens.index(one) == arranged.index(one) for one in match.form.elements if isinstance(one, str))
    return ordered if fixed and tokens[: len(name)] == name and match.entry.reordered else ""


def _in_order(tokens: tuple[str, ...]) -> str:
    """The legal opcode with the same qualifiers in another order (ptxas takes any), or an empty text."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        places.setdefault(token, []).append(place)

    def moved(arranged: tuple[str, ...]) -> int:
        """How many pairs of qualifiers change their order."""
        left = {token: iter(found) for token, found in places.items()}
        order = [next(left[token]) for token in arranged]
        return sum(one > other for place, one in enumerate(order) for other in order[place:])

    found = {arranged for form in _forms_of(tokens[0]) for arranged in form.arranged(tokens[1:])}
    ordered = sorted((one for one in found if one != tokens), key=lambda one: (moved(one), one))
    return next((spelled for one in ordered if (spelled := _legal(one))), "")


def _once(tokens: tuple[str, ...]) -> tuple[str, str]:
    """The legal opcode without a qualifier that is given twice, and that qualifier; empty texts where it is none."""
    for place, token in enumerate(tokens):
        if token in tokens[:place]:
            without = (*tokens[:place], *tokens[place + 1 :])
            spelled = _legal(without) or _in_order(without)
            if spelled:
                return spelled, token
    return "", ""


def _legal(tokens: tuple[str, ...]) -> str:
    """The opcode that is spelled so, or an empty text where it is none."""
    read = ((form.entry, bound) for form in _forms_of(tokens[0]) for bound in form.matches(tokens))
    legal = any(not any(broken_rules(entry, bound, operands_known=False)) for entry, bound in read)
    return "".join(tokens) if legal else ""
