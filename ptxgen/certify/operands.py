"""Operands that a contract calls legal, named as the surroundings declare them."""

from __future__ import annotations

import re
from functools import lru_cache

from ptxgen.instructions.checking import Given
from ptxgen.instructions.constants import allowed_values, has_constants
from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.special import special_register
from ptxgen.instructions.types import TYPES, Type

__all__ = ["OperandBuilder", "constants", "register_types", "slot_options"]

_FLOATS = {16: "0x3C00", 32: "0f3F800000", 64: "0d3FF0000000000000"}
_MEMORY = {"global": "g_mem", "shared": "s_mem", "const": "c_mem", "local": "l_mem", "param": "p_mem"}
_OPAQUE = {"texref": "g_tex", "surfref": "g_surf", "samplerref": "g_sampler"}
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


class OperandBuilder:
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
        opaque = self.match.type(contract.type) if contract.type else None
        if opaque is not None and opaque.kind == "opaque":
            found = [self.register(TYPES["b64"]), Given("symbol", _OPAQUE[opaque.name], opaque)]
            return [Given("address", f"[{one.text}]", one.type, named=one.kind == "symbol") for one in found]
        space = self.match.value(contract.space) if contract.space.startswith(".") else contract.space
        base = space.partition("::")[0]
        if base in ("tensor", "fabric"):
            return [Given("address", f"[{self.register(TYPES['b32']).text}{offset}]") for offset in ("", "+8")]
        wide = self.register(TYPES["b64"]).text
        if not base:
            return [Given("address", f"[{wide}]"), Given("address", f"[{wide}+16]"), Given("address", f"[{wide}+-32]")]
        name = "r_mem" if base == "param" and contract.role == "out" else _MEMORY[base]
        found = [Given("address", f"[{name}{offset}]", space=base, named=True) for offset in ("", "+32")] if contract.named else []
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
        if self.match.allows(contract.symbol) and demanded.bits in (32, 64) and not demanded.is_float and demanded.kind != "opaque":
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
            of_first = one if not contract.first else TYPES["b32"]
            items = tuple(self.register(one if index else of_first) for index in range(number))
            found.append(Given("vector", "{" + ", ".join(item.text for item in items) + "}", items=items))
        if self.match.allows(contract.immediate) and has_constants(demanded):
            kinds = [constants(contract, demanded, index) for index in range(number)]
            for chosen in ([one[0] for one in kinds], [one[-1] for one in kinds]):
                found.append(Given("vector", "{" + ", ".join(item.text for item in chosen) + "}", items=tuple(chosen)))
        if self.match.allows(contract.sink) and number > 1:
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


def slot_options(builder: OperandBuilder, slot: Slot) -> list[Given]:
    """What may stand in one position of a syntax line; the first is the plainest."""
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
    if slot.selector or slot.negation:
        return _marked(slot, contract, found)
    return found


def _marked(slot: Slot, contract: Operand, found: list[Given]) -> list[Given]:
    """Registers with the marks that a position of the syntax line asks for or allows."""
    marked = found
    if slot.selector:
        parts = [_one_of(pattern) for pattern in contract.selector.split()]
        plain = found[0]
        marked = [Given("register", f"{plain.text}.{part}", plain.type, selector=part) for part in parts]
        marked = marked if slot.selector == "required" else [*found, *marked]
    if slot.negation:
        registers = [one for one in marked if one.kind == "register"]
        negated = [Given("negated", f"-{one.text}", items=(one,)) for one in registers]
        marked = negated if slot.negation == "required" else [*marked, *negated]
    return marked


def _one_of(pattern: str) -> str:
    """The last of the parts that a pattern stands for: ``b[0-7]`` gives ``b7``."""
    return re.sub(r"\[.*?(.)\]", r"\1", pattern)
