"""A minimal legal use of an opcode: the shortest operand list, each operand the plainest that its contract allows."""

from __future__ import annotations

import re

from ptxgen.instructions.constants import allowed_values, has_constants
from ptxgen.instructions.grammar import Slot, broken_rules
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION, lowest_target
from ptxgen.instructions.types import TYPES, Type

__all__ = ["Example", "example_of"]

_PREFIXES = {
    "pred": "%p", "f16": "%h", "f16x2": "%hh", "f32": "%f", "f64": "%fd", 8: "%rc", 16: "%rs", 32: "%r", 64: "%rd", 128: "%rq",
}  # fmt: skip
_VARIABLES = {"shared": "tile", "local": "stack", "const": "table", "global": "data"}


class Example:
    """One statement and what it needs around it.

    Attributes
    ----------
    statement : str
        The instruction itself.
    declarations : tuple of str
        In front of it, in the body.
    outside : tuple of str
        At the module's level.
    behind : tuple of str
        A label that it needs behind it.
    parameter, result : str
        The function's own, or empty.
    kind : str
        ``"entry"`` or ``"func"``.
    version, target : str
        Lowest that have this variant.
    """

    __slots__ = ("behind", "declarations", "kind", "outside", "parameter", "result", "statement", "target", "version")

    def __init__(self, version: str, target: str) -> None:
        self.version = version
        self.target = target
        self.statement = ""
        self.declarations: tuple[str, ...] = ()
        self.outside: tuple[str, ...] = ()
        self.behind: tuple[str, ...] = ()
        self.parameter = ""
        self.result = ""
        self.kind = "entry"

    def module(self) -> str:
        """A whole module with it."""
        lines = (f".version {self.version}", f".target {self.target}", ".address_size 64", *self.outside, self.function("example"))
        return "\n".join(lines) + "\n"

    def function(self, name: str) -> str:
        """The function that holds it."""
        head = f".visible .{self.kind} {f'({self.result}) ' if self.result else ''}{name}({self.parameter})"
        body = (*self.declarations, self.statement, *self.behind, "ret;")
        return "\n".join((head, "{", *(f"    {line}" for line in body), "}"))


def example_of(match: Match) -> Example | None:
    """An example for this reading of an opcode; None where no target has it."""
    if not match.targets:
        return None
    for slots in match.form.operand_lists:
        names = {name for slot in slots for name in (slot.name, slot.second, *slot.inner) if name}
        if not any(True for _ in broken_rules(match.entry, {**match.bindings, **dict.fromkeys(names, True)}, operands_known=True)):
            return _Writer(match).write(slots)
    return None


class _Writer:
    def __init__(self, match: Match) -> None:
        target = lowest_target(match.targets)
        version = max(match.version, FIRST_VERSION[target])
        self._match = match
        self._example = Example(f"{version[0]}.{version[1]}", target)
        self._registers: dict[str, tuple[str, int]] = {}
        self._declarations: list[str] = []
        self._outside: list[str] = []
        self._behind: tuple[str, ...] = ()

    def write(self, slots: tuple[Slot, ...]) -> Example:
        operands = ", ".join(self._slot(slot) for slot in slots)
        made = self._example
        made.statement = f"{self._match.opcode} {operands}".rstrip() + ";"
        registers = [f".reg .{type} {prefix}<{count}>;" for prefix, (type, count) in self._registers.items()]
        made.declarations = (*registers, *self._declarations)
        made.outside = tuple(self._outside)
        made.behind = self._behind
        return made

    def _slot(self, slot: Slot) -> str:
        contracts = self._match.entry.operands
        first = self._operand(contracts[slot.name], slot.bracket)
        if slot.selector == "required":
            first += "." + re.sub(r"\[(.).*?\]", r"\1", contracts[slot.name].selector.split()[0])
        if slot.negation == "required":
            first = "-" + first
        if slot.second:
            return f"{first}|{self._operand(contracts[slot.second], False)}"
        if slot.inner:
            inner = ", ".join(self._operand(contracts[name], False) for name in slot.inner)
            return f"{first[:-1]}, {inner}]"
        return first

    def _operand(self, contract: Operand, bracket: bool) -> str:
        match = self._match
        if bracket or contract.kind == "address":
            return self._address(contract)
        if contract.kind in ("label", "branch targets"):
            return self._label(contract.kind)
        if contract.kind == "sink":
            return "_"
        if contract.kind in ("function", "call targets", "list", "symbol"):
            return self._call_part(contract)
        demanded = match.type(contract.type)
        count = match.count(contract.vector)
        if contract.kind == "immediate" or (contract.values is not None and match.allows(contract.immediate) and has_constants(demanded)):
            constants = [str(allowed[0] if (allowed := allowed_values(contract, index)) else 0) for index in range(count)]
            return f"{{{', '.join(constants)}}}" if count > 1 or contract.braced else constants[0]
        types = [demanded] * count
        if contract.first and count > 1:
            types[0] = match.type(contract.first)
        registers = [self._register(contract, one) for one in types]
        return f"{{{', '.join(registers)}}}" if count > 1 or contract.braced else registers[0]

    def _register(self, contract: Operand, demanded: Type) -> str:
        type = demanded if contract.exact else _register_type(demanded, self._match.allows(contract.wider))
        prefix = _PREFIXES.get(type.name) or _PREFIXES[type.bits]
        while prefix in self._registers and self._registers[prefix][0] != type.name:
            prefix += "x"
        count = self._registers.get(prefix, ("", 0))[1]
        self._registers[prefix] = type.name, count + 1
        return f"{prefix}{count}"

    def _address(self, contract: Operand) -> str:
        space = self._match.value(contract.space) if contract.space.startswith(".") else contract.space
        base = space.partition("::")[0]
        if base in ("shared", "local") and contract.named:
            name = _VARIABLES[base] + "x" * sum(one.startswith(f".{base} ") for one in self._declarations)
            self._declarations.append(f".{base} .align {max(32, contract.align)} .b8 {name}[64];")
            return f"[{name}]"
        if base == "const":
            self._outside.append(".const .align 32 .b8 table[64];")
            return "[table]"
        if base == "param":
            return self._parameter(space, contract.role)
        return f"[{self._register(contract, TYPES['b32' if base in ('tensor', 'fabric', 'shared') else 'b64'])}]"

    def _parameter(self, space: str, role: str) -> str:
        if role == "out":
            self._example.kind, self._example.result = "func", ".param .align 32 .b8 result[64]"
            return "[result]"
        self._example.kind = "func" if space == "param::func" else "entry"
        self._example.parameter = ".param .align 32 .b8 p[64]"
        return "[p]"

    def _label(self, kind: str) -> str:
        self._behind = ("done:",)
        if kind == "label":
            return "done"
        self._declarations.append("targets: .branchtargets done;")
        return "targets"

    def _call_part(self, contract: Operand) -> str:
        """A function that takes nothing, or with a list of results one that gives a 32-bit value."""
        answers = "(results)" in self._match.form.syntax
        if contract.kind == "list":
            return f"({self._register(contract, TYPES['b32'])})" if contract.role == "out" else "()"
        if contract.kind == "call targets":
            self._declarations.append(f"prototype: .callprototype {'(.reg .b32 _) ' if answers else ''}_ ();")
            return "prototype"
        if contract.kind == "symbol":
            self._outside.append(".global .align 32 .b8 data[64];")
            return "data"
        self._outside.append(".func (.reg .b32 x) g() { mov.b32 x, 0; ret; }" if answers else ".func f() { ret; }")
        return "g" if answers else "f"


def _register_type(demanded: Type, wider: bool) -> Type:
    """The type of a declared register that holds a value: untyped bits, which go with everything, but floats by name."""
    if demanded.bits < 16 and wider and demanded.kind != "pred":
        return TYPES["b16"]
    return demanded if demanded.name in ("pred", "f16", "f32", "f64", "f16x2") else TYPES[f"b{max(demanded.bits, 8)}"]
