"""Which statements are compared: every form of the registry that the target has, unless it is named here with the reason.

A family or an instruction that the registry gains is compared from then on, if its operands are registers, predicates, constants and
places of memory that it updates.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from ptxgen.certify.choices import count, legal_choices
from ptxgen.certify.operands import OperandBuilder, slot_options
from ptxgen.instructions.checking import Given
from ptxgen.instructions.grammar import Form, Slot, broken_rules, forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries
from ptxgen.instructions.targets import Version
from ptxgen.instructions.types import TYPES

__all__ = ["LEFT_OUT", "Case", "cases", "families", "registers"]

LEFT_OUT: dict[str, str] = {
    "memory": "no arithmetic; tests/emulator and tests/random_kernels compare loads and stores",
    "texture": "textures are compared by tests of their own",
    "surface": "surfaces are compared by tests of their own",
    "control": "no value; tests/emulator/test_control.py and compiled programs",
    "barrier": "tests/emulator/test_gpu_bits.py: reductions at barriers",
    "async_store": "asynchronous: tests/emulator/test_async_copies.py, tests/random_kernels",
    "multimem": "several devices",
    "cache": "no value",
    "async_copy": "asynchronous: tests/random_kernels",
    "bulk_copy": "asynchronous: tests/random_kernels",
    "tensor_copy": "asynchronous: tests/random_kernels",
    "tensormap": "asynchronous: tests/random_kernels",
    "fabric": "several devices",
    "cluster_launch": "asynchronous",
    "fence": "no value",
    "mbarrier": "asynchronous: tests/emulator/test_async_mbarriers.py, tests/random_kernels",
    "warpgroup": "matrices: tests/emulator/test_wgmma_gpu.py, tests/random_kernels",
    "tensor_memory": "matrices",
    "matrix": "matrices: tests/emulator/test_gpu_bits.py, tests/random_kernels",
    "wmma": "matrices: tests/emulator/test_wmma.py",
    "scaled": "matrices",
    "sparse": "matrices",
    "stack": "addresses of the stack",
    "miscellaneous": "no value",
}
"""Families that are not compared, and why."""

_NOT_FED: dict[tuple[str, str], str] = {
    ("cvta", ""): "its results are addresses, which differ from machine to machine",
    ("isspacep", "short"): "a 32-bit generic address, which no 64-bit program has",
}
"""Entries, or their operand lists with one operand, that are not compared."""

UNDEFINED = "undefined where the source lane does not take part"
_WHOLE_WARPS = {"shfl.sync": UNDEFINED}
"""Entries that whole warps execute, and why."""

_REGISTERS = re.compile(r"%(?:pred|[bsuf]\d+(?:x2)?)_\d+")
MIXTURES = 1
"""So many statements more of each form have other operands: wider registers, constants, sinks, negations."""
PARTS = 6
"""So many of a form whose operands select parts of registers."""


class Case(NamedTuple):
    """A statement with all that surrounds it.

    `style` is how its threads stand to one another: ``plain``, ``part`` (some threads of each warp execute it), or for memory ``own`` (each
    thread has its cell), ``same`` (all threads of a group update one cell alike) and ``rival`` (each with its own value), followed by the
    state space of the cell.
    """

    match: Match
    slots: tuple[Slot, ...]
    given: tuple[Given, ...]
    style: str

    @property
    def text(self) -> str:
        return f"{self.match.opcode} {', '.join(one.text for one in self.given)}".rstrip() + ";"

    @property
    def form(self) -> str:
        return self.match.form.syntax

    @property
    def family(self) -> str:
        return str(self.match.entry.family)


def families() -> list[str]:
    """Families that are compared."""
    return [family for family in FAMILIES if family not in LEFT_OUT]


def cases(family: str, target: str, version: Version, seed: int, skipped: dict[str, str]) -> Iterator[Case]:
    """Every form of a family; `skipped` receives those of the target that are not compared, each with the reason."""
    for entry in family_entries(family):
        for form in forms(entry):
            for bindings, first in _choices(form):
                match = Match(form.opcode(bindings), form, bindings)
                if target not in match.targets:
                    continue
                if match.version > version:
                    skipped[match.opcode] = (
                        f"the GPU's driver reads PTX {version[0]}.{version[1]}; this is of {match.version[0]}.{match.version[1]}"
                    )
                    continue
                yield from _of_match(match, random.Random(f"{seed} {match.opcode} {form.syntax}"), first, skipped)


ORDERS = {".sem", ".scope", ".level::cache_hint"}
"""Qualifiers that say when others see an update and where it is cached: the value does not depend on them."""


def _choices(form: Form) -> Iterator[tuple[dict[str, str | bool], bool]]:
    """Every choice of the qualifiers that decide the value, with each value of the others at least once; whether it is the first so."""
    seen: dict[frozenset[tuple[str, str | bool]], set[tuple[str, str | bool]]] = {}
    for bindings in form.combinations() if count(form.elements) <= 200_000 else legal_choices(form):
        decides = frozenset((name, value) for name, value in bindings.items() if name not in ORDERS)
        others = {(name, bindings.get(name, "")) for name in ORDERS}
        known = seen.setdefault(decides, set())
        if others - known:
            yield bindings, not known
            known |= others


def _of_match(match: Match, rng: random.Random, first: bool, skipped: dict[str, str]) -> Iterator[Case]:
    for slots in match.form.operand_lists:
        names = [name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name]
        reason = next((why for (entry, name), why in _NOT_FED.items() if entry == match.entry.name and name in ("", *names)), None)
        if reason is not None:
            skipped[f"{match.opcode} {', '.join(names)}"] = reason
            continue
        if any(broken_rules(match.entry, {**match.bindings, **dict.fromkeys(names, True)}, operands_known=True)):
            continue
        selects = any(slot.selector for slot in slots)
        seen = set()
        for mixture in range(1 + (PARTS if selects else MIXTURES)):
            given = _operands(match, slots, rng, plain=mixture == 0)
            if given is None:
                skipped[f"{match.opcode} {', '.join(names)}"] = "an operand is neither register nor constant"
                break
            for style in _styles(match, slots, mixture == 0, first):
                case = Case(match, slots, given, style)
                if (case.text, style) not in seen:
                    seen.add((case.text, style))
                    yield case


def _operands(match: Match, slots: tuple[Slot, ...], rng: random.Random, *, plain: bool) -> tuple[Given, ...] | None:
    """One operand for each slot that the contract calls legal and a section can feed."""
    builder = OperandBuilder(match, slots)
    found = []
    for slot in slots:
        contract = match.entry.operands[slot.name]
        if contract.kind == "address" or slot.bracket:
            found.append(Given("address", f"[{builder.register(TYPES['b64']).text}]"))
            continue
        options = [one for one in slot_options(builder, slot) if _fed(one) and not (contract.lanes and one.kind == "int")]
        if not options:
            return None
        one = options[0] if plain else rng.choice(options)
        if contract.kind == "immediate" and contract.values is not None:
            one = _any_constant(one, rng, contract.values)
        found.append(_any_part(one, contract.selector, rng))
    return tuple(found)


def _fed(given: Given) -> bool:
    """Whether a section can give it a value: no special register, no address, no name."""
    if given.kind in ("vector", "pair", "negated"):
        return all(map(_fed, given.items))
    return given.kind in ("int", "float", "sink", "not") or (given.kind == "register" and _REGISTERS.match(given.text) is not None)


def _any_constant(given: Given, rng: random.Random, values: object) -> Given:
    choices = values if isinstance(values, range) or (isinstance(values, tuple) and all(isinstance(one, int) for one in values)) else None
    if choices is None:
        return given
    value = rng.choice(choices)
    return Given("int", str(value), value=value)


def _any_part(given: Given, selector: str, rng: random.Random) -> Given:
    """Where a part of a register is selected, any part: ``.b1`` where ``.b3`` stands, ``.h20`` for ``.h33``."""
    inner = given.items[0] if given.kind == "negated" else given
    if not inner.selector:
        return given
    part = re.sub(r"\[(\d)-(\d)\]|\[(\d+)\]", lambda one: _digit(one, rng), rng.choice(selector.split()))
    found = Given("register", f"{inner.text.rpartition('.')[0]}.{part}", inner.type, selector=part)
    return Given("negated", f"-{found.text}", items=(found,)) if given.kind == "negated" else found


def _digit(bracket: re.Match[str], rng: random.Random) -> str:
    first, last, listed = bracket.groups()
    return rng.choice(listed) if listed else str(rng.randint(int(first), int(last)))


def _styles(match: Match, slots: tuple[Slot, ...], plain: bool, first: bool) -> Iterator[str]:
    address = next((match.entry.operands[slot.name] for slot in slots if match.entry.operands[slot.name].kind == "address"), None)
    if address is None:
        yield "plain"
        if match.entry.issuer == "warp" and match.entry.name not in _WHOLE_WARPS:
            yield "part"
        return
    space = match.value(address.space) if address.space.startswith(".") else address.space
    space = space.partition("::")[0] or "global"
    if plain or first:
        yield f"own {space}"
    if not (plain and first):  # others differ in what makes no difference to the value
        return
    if address.space and not match.value(address.space) and address.space != ".ss":
        yield "own generic shared"
    of = match.type(address.type)
    if of.lanes == 1 and match.count(address.vector) == 1:
        yield f"same {space}"
        if not of.is_float and not {".inc", ".dec", ".cas", ".exch"} & {*match.bindings, str(match.bindings.get(".op"))}:
            yield f"rival {space}"


def registers(given: Given) -> list[str]:
    """The registers that an operand names."""
    return _REGISTERS.findall(given.text)
