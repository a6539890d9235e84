"""Builds PTX statements from contracts and asks ptxas about thousands of them at once.

A statement is one choice of qualifiers of one syntax line together with operands that its contract calls legal. The batches that
ptxas sees hold statements of equal version, target and place (an entry or a device function); ptxas reports every refused line, so
one run judges a batch, and another one follows only where a refusal may have hidden others.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import combinations as subsets
from math import prod
from typing import NamedTuple

from ptxgen.assemble.cubin import parse_messages
from ptxgen.assemble.referee import run_ptxas
from ptxgen.assemble.tools import require_tool
from ptxgen.assemble.versions import RELEASES
from ptxgen.instructions.checking import Given, allowed_values, has_constants
from ptxgen.instructions.grammar import Choice, Element, Form, Slot, broken_rules
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.special import special_register
from ptxgen.instructions.targets import FIRST_VERSION, Version, lowest_target, order
from ptxgen.instructions.types import TYPES, Type

VERSIONS: tuple[Version, ...] = tuple(sorted({(6, 3), (6, 4), (6, 5), *(release.ptx for release in RELEASES)}))
"""PTX versions from the first that knows our oldest target."""

NEWEST = VERSIONS[-1]
_ENUMERATE = 4000
"""Syntax lines with more combinations than this are sampled."""


class Statement(NamedTuple):
    """One instruction as text, what it was built from, and the surroundings that it needs."""

    match: Match
    slots: tuple[Slot, ...]
    given: tuple[Given, ...]
    text: str
    place: str

    @property
    def target(self) -> str:
        return lowest_target(self.match.targets)

    @property
    def version(self) -> Version:
        return max(self.match.version, FIRST_VERSION[self.target])


# ---- choices of qualifiers --------------------------------------------------------------------------------------------


def count(elements: Sequence[Element]) -> int:
    """How many opcodes a syntax line spells before its rules are applied."""
    sizes = (
        1 if isinstance(element, str) else len(element.values) if isinstance(element, Choice) else 1 + count(element.elements)
        for element in elements
    )
    return prod(sizes)


def _draw(elements: Sequence[Element], rng: random.Random) -> dict[str, str | bool]:
    bound: dict[str, str | bool] = {}
    for element in elements:
        if isinstance(element, str):
            bound[element] = element
        elif isinstance(element, Choice):
            bound[element.name] = "".join(rng.choice(element.values))
        elif rng.random() < 0.5:
            bound.update(_draw(element.elements, rng))
    return bound


def _drawn(form: Form, number: int) -> Iterator[dict[str, str | bool]]:
    rng = random.Random(form.syntax)
    for _ in range(number):
        bound = _draw(form.elements, rng)
        if form.default_type:
            bound.setdefault(".type", form.default_type)
        yield bound


@lru_cache(maxsize=None)
def legal_choices(form: Form, *, everything: bool = False) -> list[dict[str, str | bool]]:
    """Qualifier bindings that the rules allow: all of them, or for long lines enough to hold every pair of values."""
    if everything or count(form.elements) <= _ENUMERATE:
        return list(form.combinations())
    legal = (bound for bound in _drawn(form, 2 * _ENUMERATE) if not any(broken_rules(form.entry, bound, operands_known=False)))
    return pairwise(form, legal)


def illegal_choices(form: Form, number: int = 1500) -> list[dict[str, str | bool]]:
    """Qualifier bindings that the syntax line spells and exactly one rule forbids."""
    found: dict[str, dict[str, str | bool]] = {}
    for bound in _drawn(form, number):
        if len(list(broken_rules(form.entry, bound, operands_known=False))) == 1:
            found.setdefault(form.opcode(bound), bound)
    return list(found.values())


def pairwise(form: Form, choices: Iterable[dict[str, str | bool]]) -> list[dict[str, str | bool]]:
    """Those of `choices` that show a pair of qualifier values for the first time; absence counts as a value."""
    names = sorted(_names(form.elements))
    seen: set[tuple[object, ...]] = set()
    kept = []
    for bound in choices:
        new = [pair for pair in subsets([(name, bound.get(name)) for name in names], 2) if pair not in seen]
        if new:
            seen.update(new)
            kept.append(bound)
    return kept


def _names(elements: Sequence[Element]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, str):
            yield element
        elif isinstance(element, Choice):
            yield element.name
        else:
            yield from _names(element.elements)


# ---- operands ---------------------------------------------------------------------------------------------------------

_FLOATS = {16: "0x3C00", 32: "0f3F800000", 64: "0d3FF0000000000000"}
_MEMORY = {"global": "g_mem", "shared": "s_mem", "const": "c_mem", "local": "l_mem", "param": "p_mem"}
_NAMES = {"label": "L_end", "symbol": "g_mem", "branch targets": "L_list"}


@lru_cache(maxsize=None)
def register_types(demanded: Type, wider: bool) -> tuple[Type, ...]:
    """Types of declared registers that can hold `demanded`, the plainest first."""
    bits = TYPES[f"b{max(demanded.bits, 8)}"] if demanded.kind != "pred" else demanded
    if demanded.kind == "pred":
        return (demanded,)
    own = [bits]
    if demanded.name in ("f16", "f32", "f64", "f16x2") or (demanded.is_integer and demanded.lanes == 1):
        own.insert(0, demanded)
    if demanded.kind == "bits" and demanded.bits in (16, 32, 64):
        own += [TYPES[f"u{demanded.bits}"], TYPES[f"f{demanded.bits}"]]
    if demanded.is_integer and demanded.lanes == 1:
        own.append(TYPES[("s" if demanded.kind == "unsigned" else "u") + str(demanded.bits)])
    if demanded.bits < 16 and wider:
        own = [TYPES["u16"], TYPES["s16"], TYPES["b16"]]
    if wider:
        kinds = "b" if demanded.is_float else "bsu"
        own += [TYPES[f"{kind}{size}"] for kind in kinds for size in (32, 64) if size > demanded.bits]
    return tuple(own)


class _Builder:
    """Operands for one statement: registers are numbered so that no two are the same."""

    def __init__(self, match: Match, slots: tuple[Slot, ...]) -> None:
        self.match = match
        self.slots = slots
        self.used: dict[str, int] = {}

    def register(self, type: Type) -> Given:
        number = self.used.get(type.name, 0)
        self.used[type.name] = number + 1
        return Given("register", f"%{type.name}_{number}", type)

    def options(self, contract: Operand, bracket: bool) -> list[Given]:
        """Operands that the contract calls legal; the first is the plainest."""
        match = self.match
        if contract.kind == "address" or bracket:
            return self._addresses(contract)
        if contract.kind in ("function", "call targets", "list"):
            return self._call_parts(contract)
        if contract.kind in _NAMES:
            return [Given("symbol", _NAMES[contract.kind])]
        if contract.kind == "sink":
            return [Given("sink", "_")]
        demanded = match.type(contract.type)
        number = match.count(contract.vector)
        if number > 1 or contract.braced:
            return self._vectors(contract, demanded, number)
        return self._scalars(contract, demanded)

    def _call_parts(self, contract: Operand) -> list[Given]:
        """A function that takes nothing, or with a list of results one that takes and returns a 32-bit value."""
        answers = any(slot.listed and self.match.entry.operands[slot.name].role == "out" for slot in self.slots)
        if contract.kind == "function":
            return [Given("symbol", "callee_one" if answers else "callee")]
        if contract.kind == "call targets":
            return [Given("symbol", "P_one")] if answers else [Given("symbol", "P_list"), Given("symbol", "F_list")]
        if not answers:
            return [Given("list", "()")]
        found = [self.register(TYPES["b32"]), self.register(TYPES["f32"])]
        found.append(Given("sink", "_") if contract.role == "out" else Given("int", "7", value=7))
        return [Given("list", f"({one.text})", items=(one,)) for one in found]

    def _addresses(self, contract: Operand) -> list[Given]:
        space = self.match.value(contract.space) if contract.space.startswith(".") else contract.space
        base = space.partition("::")[0]
        if base == "tensor":
            return [Given("address", f"[{self.register(TYPES['b32']).text}{offset}]") for offset in ("", "+8")]
        wide = self.register(TYPES["b64"]).text
        if not base:
            return [Given("address", f"[{wide}]"), Given("address", f"[{wide}+16]"), Given("address", f"[{wide}+-32]")]
        name = "r_mem" if base == "param" and contract.role == "out" else _MEMORY[base]
        found = [Given("address", f"[{name}]", space=base), Given("address", f"[{name}+32]", space=base)]
        if base in ("global", "shared", "local", "const"):
            found.append(Given("address", f"[{wide}+64]"))
        if base == "shared":
            found.append(Given("address", f"[{self.register(TYPES['b32']).text}]"))
        return found

    def _register_types(self, contract: Operand, demanded: Type) -> tuple[Type, ...]:
        return (demanded,) if contract.exact else register_types(demanded, self.match.allows(contract.wider))

    def _scalars(self, contract: Operand, demanded: Type) -> list[Given]:
        found = [] if contract.kind == "immediate" else [self.register(one) for one in self._register_types(contract, demanded)]
        if self.match.allows(contract.immediate) and has_constants(demanded):
            found += constants(contract, demanded)
        if self.match.allows(contract.symbol) and demanded.bits in (32, 64) and not demanded.is_float:
            space = self.match.value(contract.space) if contract.space.startswith(".") else contract.space
            base = space.partition("::")[0]
            places = [base] if base else ["shared", "const"] if demanded.bits == 32 else ["global", "shared"]
            found += [Given("symbol", _MEMORY[one] + offset, space=one) for one in places for offset in ("", "+8")]
        if contract.role == "in" and self.match.allows(contract.special):
            kept = {1: (), 16: ("%tid.y",), 32: ("%laneid", "%ctaid.z"), 64: ("%clock64",)}.get(demanded.bits, ())
            found += [Given("register", name, special_register(name)[0].type) for name in kept]
        if self.match.allows(contract.sink):
            found.append(Given("sink", "_"))
        if contract.negatable:
            found.append(Given("not", "!" + found[0].text))
        return found

    def _vectors(self, contract: Operand, demanded: Type, number: int) -> list[Given]:
        found = []
        for one in self._register_types(contract, demanded):
            items = tuple(self.register(one) for _ in range(number))
            found.append(Given("vector", "{" + ", ".join(item.text for item in items) + "}", items=items))
        if self.match.allows(contract.immediate) and has_constants(demanded):
            kinds = [constants(contract, demanded, index) for index in range(number)]
            for items in ([one[0] for one in kinds], [one[-1] for one in kinds]):
                found.append(Given("vector", "{" + ", ".join(item.text for item in items) + "}", items=tuple(items)))
        if self.match.allows(contract.sink):
            items = (*found[0].items[:-1], Given("sink", "_"))
            found.append(Given("vector", "{" + ", ".join(item.text for item in items) + "}", items=items))
        return found


def constants(contract: Operand, demanded: Type, index: int = 0) -> list[Given]:
    """Immediates at the ends of the contract's range, or a one; for an element of a vector its own."""
    allowed = allowed_values(contract, index)
    if allowed is not None:
        return [Given("int", str(value), value=value) for value in sorted({allowed[0], allowed[-1]})]
    if demanded.kind == "pred":
        return [Given("int", "1", value=1)]
    if demanded.is_float:
        return [Given("float", _FLOATS[demanded.bits])]
    return [Given("int", "1", value=1)]


def statements(match: Match, *, variant: int | None = None, ignore_rules: bool = False) -> Iterator[Statement]:
    """Statements for each operand list that the rules allow here.

    With `variant` None every alternative of every operand is shown once, the others staying plain; a number picks one mixture.
    With `ignore_rules` the operand lists come as they stand, for choices of qualifiers that a rule forbids.
    """
    for slots in match.form.operand_lists:
        names = {name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name}
        bindings = {**match.bindings, **dict.fromkeys(names, True)}
        if not ignore_rules and any(broken_rules(match.entry, bindings, operands_known=True)):
            continue
        builder = _Builder(match, slots)
        options = [_slot_options(builder, slot) for slot in slots]
        if variant is not None:
            mixture = [found[(variant + place) % len(found)] for place, found in enumerate(options)]
            yield _statement(match, slots, mixture if within_limits(match, slots, mixture) else [found[0] for found in options])
            continue
        plain = [found[0] for found in options]
        yield _statement(match, slots, plain)
        for place, found in enumerate(options):
            for other in found[1:]:
                varied = [*plain[:place], other, *plain[place + 1 :]]
                if within_limits(match, slots, varied):
                    yield _statement(match, slots, varied)


def within_limits(match: Match, slots: tuple[Slot, ...], given: Sequence[Given]) -> bool:
    """Whether no constant exceeds the one that its contract names as its limit."""
    constants = {slot.name: one.value for slot, one in zip(slots, given) if one.value is not None}
    limits = {name: constants.get(match.entry.operands[name].limit) for name in constants}
    return all(limit is None or constants[name] <= limit for name, limit in limits.items())


def _slot_options(builder: _Builder, slot: Slot) -> list[Given]:
    contract = builder.match.entry.operands[slot.name]
    found = builder.options(contract, slot.bracket)
    if slot.inner:
        inner = tuple(builder.options(builder.match.entry.operands[name], False)[0] for name in slot.inner)
        rest = ", ".join(item.text for item in inner)
        plain = [one for one in found if "+" not in one.text]  # ptxas takes no offset in front of a comma
        return [Given("address", f"{one.text[:-1]}, {rest}]", items=inner, space=one.space) for one in plain]
    if slot.second:
        seconds = builder.options(builder.match.entry.operands[slot.second], False)
        pairs = [*((found[0], second) for second in seconds), *((first, seconds[0]) for first in found[1:])]
        return [Given("pair", f"{one.text}|{two.text}", items=(one, two)) for one, two in pairs]
    return found


def _statement(match: Match, slots: tuple[Slot, ...], given: Sequence[Given]) -> Statement:
    place = "func" if "param::func" in match.opcode or any("r_mem" in one.text for one in given) else "entry"
    text = f"{match.opcode} {', '.join(one.text for one in given)}".rstrip() + ";"
    return Statement(match, slots, tuple(given), text, place)


@lru_cache(maxsize=None)
def statements_of(form: Form, *, everything: bool = False) -> list[Statement]:
    """Statements of one syntax line: every alternative operand for short lines, one mixture a combination for long ones."""
    found: list[Statement] = []
    choices = legal_choices(form, everything=everything)
    for index, bound in enumerate(choices):
        match = Match(form.opcode(bound), form, bound)
        found += statements(match, variant=None if len(choices) <= 200 else index)
    return found


# ---- ptxas ------------------------------------------------------------------------------------------------------------

_SURROUNDINGS = """\
.version {version[0]}.{version[1]}
.target {target}
.address_size 64
.global .align 64 .b8 g_mem[512];
.const .align 64 .b8 c_mem[512];
.shared .align 64 .b8 s_mem[512];
.func callee() {{ ret; }}
.func (.reg .b32 out) callee_one(.reg .b32 in) {{ mov.b32 out, in; ret; }}
{head}
{{
.local .align 64 .b8 l_mem[512];
{registers}
L_list: .branchtargets L_end, L_other;
F_list: .calltargets callee;
P_list: .callprototype _ ();
P_one: .callprototype (.reg .b32 _) _ (.reg .b32 _);
L_other:
"""
_HEADS = {
    "entry": ".visible .entry k(.param .align 64 .b8 p_mem[512])",
    "func": ".visible .func (.param .align 64 .b8 r_mem[512]) k(.param .align 64 .b8 p_mem[512])",
}


def module(texts: Sequence[str], version: Version, target: str, place: str) -> tuple[str, int]:
    """A module with one statement a line, and the number of the first of those lines."""
    used: dict[str, int] = {}
    for name, number in re.findall(r"%(pred|[bsuf]\d+(?:x2)?)_(\d+)", "\n".join(texts)):
        used[name] = max(used.get(name, 0), int(number) + 1)
    registers = " ".join(f".reg .{name} %{name}_<{number}>;" for name, number in sorted(used.items()))
    opening = _SURROUNDINGS.format(version=version, target=target, head=_HEADS[place], registers=registers)
    return opening + "\n".join(texts) + "\nL_end:\nret;\n}\n", opening.count("\n") + 1


def refusals(texts: Sequence[str], version: Version, target: str, place: str = "entry", *, generate: bool = False) -> dict[int, str]:
    """Indices of the statements that ptxas refuses, each with its first message.

    ptxas only reads and checks them unless it is told to `generate` code.
    """
    tool = require_tool("ptxas")
    architecture, options = (target, ("-w", "-O0")) if generate else (target.replace("sm_", "compute_"), ("-w",))
    left = list(range(len(texts)))
    refused: dict[int, str] = {}
    while left:
        text, first = module([texts[index] for index in left], version, target, place)
        code, log = run_ptxas(tool, text, architecture, options)
        if code is not None:
            break
        found: dict[int, str] = {}
        for message in parse_messages(log):
            if message.failed and message.line is not None and 0 <= message.line - first < len(left):
                found.setdefault(left[message.line - first], message.text)
        if not found and generate and len(left) > 1:  # too many registers are live at once in one function
            for part in (left[: len(left) // 2], left[len(left) // 2 :]):
                inner = refusals([texts[index] for index in part], version, target, place, generate=True)
                refused.update({part[index]: reason for index, reason in inner.items()})
            break
        if not found:
            raise AssertionError(f"ptxas refuses the surroundings of {len(left)} statements for {target}:\n{log[:2000]}")
        refused.update(found)
        left = [index for index in left if index not in found]
    return refused


class Refusal(NamedTuple):
    statement: Statement
    version: Version
    target: str
    reason: str

    def __str__(self) -> str:
        return f".version {self.version[0]}.{self.version[1]} {self.target}: {self.statement.text}  -- {self.reason}"


def judge(placed: Iterable[tuple[Statement, Version, str]], *, generate: bool = False) -> list[Refusal]:
    """Ask ptxas about statements, each at its version and target; those that it refuses."""
    batches: dict[tuple[Version, str, str], list[Statement]] = {}
    for statement, version, target in placed:
        batches.setdefault((version, target, statement.place), []).append(statement)

    def one(batch: tuple[tuple[Version, str, str], list[Statement]]) -> list[Refusal]:
        (version, target, place), members = batch
        found = refusals([member.text for member in members], version, target, place, generate=generate)
        return [Refusal(members[index], version, target, reason) for index, reason in found.items()]

    with ThreadPoolExecutor(2) as pool:
        return [refusal for found in pool.map(one, batches.items()) for refusal in found]


# ---- gates ------------------------------------------------------------------------------------------------------------


def version_before(match: Match) -> tuple[Version, str] | None:
    """The newest version that is too old for a variant and knows one of its targets; that target, the lowest."""
    older = [version for version in VERSIONS if version < match.version]
    if not older:
        return None
    known = [target for target in match.targets if FIRST_VERSION[target] <= older[-1]]
    return (older[-1], lowest_target(frozenset(known))) if known else None


def targets_outside(match: Match) -> list[str]:
    """Known targets that do not have a variant."""
    return sorted(set(FIRST_VERSION) - match.targets, key=order)
