"""What is known of integer registers whoever executes: constants, what an address begins with, remainders by powers of two, state spaces.

A write is followed to the reads behind it as far as one path alone leads there; from there on a register has one value for all of its
writes together. Only what is asked for is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import NamedTuple, Union

from ptxgen import ir
from ptxgen.instructions.types import TYPES, Type
from ptxgen.lint.flow import Flow, Step
from ptxgen.lint.plans import Plan, named_operands

__all__ = ["ASSUMED", "UNKNOWN", "Base", "Value", "Values"]

ASSUMED = 16
"""The alignment that a pointer argument is taken to have where its declaration does not say more."""


class Base(NamedTuple):
    """What an address begins with: a variable, or a parameter that holds a pointer; `said` is the alignment that its declaration states."""

    name: str
    align: int
    said: int


class Value(NamedTuple):
    """`base` plus an offset that leaves `remainder` when divided by `modulus`, a power of two; 0 says that it is `remainder` itself.

    `space` is the state space that it is an address in, ``"shared"``, or of whose window it is a generic address, ``"generic shared"``;
    empty where it is neither, or nothing is known.
    """

    base: Base | None
    remainder: int
    modulus: int
    space: str

    @property
    def constant(self) -> int | None:
        """The number, where it is one."""
        return self.remainder if self.modulus == 0 and self.base is None and not self.space else None

    def number(self) -> Value:
        """The same without its base: the remainder that the base's alignment leaves."""
        if self.base is None:
            return self
        modulus = gcd(self.modulus, self.base.align)
        return Value(None, self.remainder % modulus, modulus, self.space)


UNKNOWN = Value(None, 0, 1, "")


def _of(base: Base | None, remainder: int, modulus: int, space: str, bits: int = 64) -> Value:
    """A value in normal form: what wraps around keeps its remainders by powers of two alone."""
    modulus &= -modulus
    if modulus >> bits:
        modulus = 0
    if modulus:
        return Value(base, remainder % modulus, modulus, space)
    return Value(base, remainder if base is not None else remainder % (1 << bits), 0, space)


def _join(one: Value, other: Value) -> Value:
    if one == other:
        return one
    space = one.space if one.space == other.space else ""
    base = one.base
    if base != other.base:
        one, other, base = one.number(), other.number(), None
    modulus = gcd(one.modulus, other.modulus, one.remainder - other.remainder)
    return _of(base, one.remainder, modulus, space)


def _add(one: Value, other: Value, bits: int, sign: int = 1) -> Value:
    if other.base is not None and (one.base is not None or sign < 0):
        one, other = one.number(), other.number()
    if one.space and other.space:
        space = ""
    else:
        space = one.space or (other.space if sign > 0 else "")
    return _of(one.base or other.base, one.remainder + sign * other.remainder, gcd(one.modulus, other.modulus), space, bits)


def _multiply(one: Value, other: Value, bits: int) -> Value:
    one, other = one.number(), other.number()
    modulus = gcd(one.modulus * other.modulus, one.remainder * other.modulus, other.remainder * one.modulus)
    return _of(None, one.remainder * other.remainder, modulus, "", bits)


def _mask(one: Value, mask: int, bits: int) -> Value:
    """The bits of a value that a constant keeps: the low ones that are known, and the zeros above them."""
    one = one.number()
    known = bits if one.modulus == 0 else one.modulus.bit_length() - 1
    mask %= 1 << bits
    remainder = one.remainder & mask & ((1 << known) - 1)
    while known < bits and not mask >> known & 1:
        known += 1
    return _of(None, remainder, 1 << known, one.space, bits)


# ---- instructions -----------------------------------------------------------------------------------------------------

_Sources = Mapping[str, Value]
_Transfer = Callable[[Step, _Sources], Value]


def _bits(step: Step, expression: str = ".type") -> int:
    assert step.plan.match is not None
    return step.plan.match.type(expression).bits


def _cvta(step: Step, sources: _Sources) -> Value:
    assert step.plan.match is not None
    space = step.plan.match.value(".space")
    if "a" in sources:
        return sources["a"]._replace(space=f"generic {space}")
    return sources["g"]._replace(space=space)


def _product(step: Step, sources: _Sources) -> Value:
    assert step.plan.match is not None
    mode = step.plan.match.value(".mode")
    if mode == "hi":
        return UNKNOWN
    of = step.plan.match.type()
    return _multiply(_read(sources["a"], of), _read(sources["b"], of), of.bits * (2 if mode == "wide" else 1))


def _read(value: Value, of: Type) -> Value:
    """A constant as the number that a type reads."""
    if value.modulus or value.base is not None:
        return value
    number = value.remainder % (1 << of.bits)
    if of.kind == "signed" and number >> (of.bits - 1):
        number -= 1 << of.bits
    return value._replace(remainder=number)


def _mad(step: Step, sources: _Sources) -> Value:
    product = _product(step, sources)
    wide = step.plan.match is not None and step.plan.match.value(".mode") == "wide"
    return UNKNOWN if product is UNKNOWN else _add(product, sources["c"], _bits(step) * (2 if wide else 1))


def _convert(step: Step, sources: _Sources) -> Value:
    """Between integers; of a generic address only the address itself is one."""
    assert step.plan.match is not None
    to, source = (TYPES[step.plan.match.value(name)] for name in (".dtype", ".atype"))
    if not (to.is_integer and source.is_integer):
        return UNKNOWN
    value = _read(sources["a"], source)
    if value.space.startswith("generic ") and to.bits < source.bits:
        value = value.number()._replace(space="")
    return _of(value.base, value.remainder, value.modulus, value.space, to.bits)


def _shift(step: Step, sources: _Sources) -> Value:
    by = sources["b"].constant
    return UNKNOWN if by is None or by >= _bits(step) else _multiply(sources["a"], Value(None, 1 << by, 0, ""), _bits(step))


def _and(step: Step, sources: _Sources) -> Value:
    for one, other in (("a", "b"), ("b", "a")):
        mask = sources[other].constant
        if mask is not None:
            return _mask(sources[one], mask, _bits(step))
    return UNKNOWN


# What an instruction computes from the operands of these names; forms with other operands are not followed.
_TRANSFERS: dict[tuple[str, str], tuple[str, _Transfer]] = {
    ("move", "mov"): ("a", lambda step, sources: sources["a"]),
    ("move", "cvta"): ("", _cvta),
    ("integer", "add"): ("a b", lambda step, sources: _add(sources["a"], sources["b"], _bits(step))),
    ("integer", "sub"): ("a b", lambda step, sources: _add(sources["a"], sources["b"], _bits(step), -1)),
    ("integer", "mul"): ("a b", _product),
    ("integer", "mad"): ("a b c", _mad),
    ("logic", "shl"): ("a b", _shift),
    ("logic", "and"): ("a b", _and),
    ("conversion", "cvt"): ("a", _convert),
    ("comparison", "selp"): ("a b", lambda step, sources: _join(sources["a"], sources["b"])),
}


_known: dict[Plan, _Transfer | None] = {}


def _transfer(plan: Plan) -> _Transfer | None:
    """How what an instruction writes follows from what it reads; None where that is not followed."""
    if plan not in _known:
        _known[plan] = _looked_up(plan)
    return _known[plan]


def _looked_up(plan: Plan) -> _Transfer | None:
    match = plan.match
    if match is None or [use for _, use in plan.uses].count("written") != 1 or ".sat" in match.bindings:
        return None
    if match.entry.name == "ld" and match.value(".ss").startswith("param"):
        return _loaded
    needed, transfer = _TRANSFERS.get((match.entry.family, match.entry.name), ("", None))
    packed = ".type" in match.bindings and match.type().lanes > 1
    return transfer if not packed and {slot.name for slot in plan.slots}.issuperset(needed.split()) else None


# ---- registers --------------------------------------------------------------------------------------------------------


_Key = Union[str, Step]
"""A register by all of its writes, or what one step writes."""


class Values:
    """Of one function."""

    def __init__(self, flow: Flow, variables: Mapping[str, ir.Variable]) -> None:
        self._flow = flow
        self._variables = variables
        self._known: dict[_Key, Value] = {}
        self._parameters = {one.name: one for one in flow.function.params} if flow.function.kind == "entry" else {}
        self._writer = _writers(flow)

    def operand(self, step: Step, operand: ir.Operand) -> Value:
        """The value of an operand of a step; of an address in brackets, the address."""
        if isinstance(operand, ir.Reg):
            return self._of(self._key(step, step.name(operand))) if operand.part is None else UNKNOWN
        if isinstance(operand, ir.Address):
            return _add(self.operand(step, operand.base), Value(None, operand.offset, 0, ""), 64)
        return self._constant(operand)

    def register(self, name: str) -> Value:
        """The value of a register, whichever of its writes was the last."""
        return self._of(name)

    def _of(self, key: _Key) -> Value:
        if key not in self._known:
            self._solve(key)
        return self._known[key]

    def _key(self, step: Step, name: str) -> _Key:
        """Where a step has a register from."""
        return self._writer.get((step, name), name)

    def _makers(self, key: _Key) -> Sequence[Step]:
        return self._flow.makers.get(key, ()) if isinstance(key, str) else (key,)

    def _constant(self, operand: ir.Operand) -> Value:
        if isinstance(operand, ir.Int):
            return Value(None, operand.value, 0, "")
        if isinstance(operand, (ir.Sym, ir.SymbolRef)):
            if operand.name == "WARP_SZ":
                return Value(None, 32, 0, "")
            variable = self._variables.get(operand.name)
            if variable is not None and variable.type in TYPES:
                align = alignment(variable)
                return Value(Base(variable.name, align, align), getattr(operand, "offset", 0), 0, variable.space.partition("[")[0])
        return UNKNOWN

    def _solve(self, wanted: _Key) -> None:
        """Compute a register and all that it depends on: from nothing upward until no write adds to what is known."""
        found: dict[_Key, Value | None] = {}
        waiting = [wanted]
        while waiting:
            key = waiting.pop()
            if key in found or key in self._known:
                continue
            makers = self._makers(key)
            if not makers or not all(len(step.writes) == 1 and _transfer(step.plan) is not None for step in makers):
                self._known[key] = UNKNOWN
                continue
            found[key] = None
            waiting += [self._key(step, name) for step in makers for name in step.reads]
        order = list(reversed(found))
        changed = True
        while changed:
            changed = False
            for key in order:
                before, value = found[key], self._joined(key, found)
                if value is not None and before is not None:
                    value = _join(before, value)  # what is known only shrinks, so that this ends
                if value != before:
                    found[key] = value
                    changed = True
        self._known.update((key, UNKNOWN if value is None else value) for key, value in found.items())

    def _joined(self, key: _Key, found: Mapping[_Key, Value | None]) -> Value | None:
        joined: Value | None = None
        for step in self._makers(key):
            value = self._made(step, found)
            if value is not None:
                joined = value if joined is None else _join(joined, value)
        return joined

    def _made(self, step: Step, found: Mapping[_Key, Value | None]) -> Value | None:
        """What a step writes; None while a source is not computed yet."""
        transfer = _transfer(step.plan)
        assert transfer is not None and isinstance(step.statement, ir.Instruction)
        if transfer is _loaded:
            return self._argument(step)
        sources: dict[str, Value] = {}
        for name, operand in named_operands(step.plan, step.statement.operands)[1:]:
            if not isinstance(operand, ir.Reg):
                sources[name] = self._constant(operand)
                continue
            key = self._key(step, step.name(operand))
            value = UNKNOWN if operand.part is not None else found[key] if key in found else self._known.get(key, UNKNOWN)
            if value is None:
                return None
            sources[name] = value
        return transfer(step, sources)

    def _argument(self, step: Step) -> Value:
        """A pointer among the entry's parameters; any 64 bits may be one."""
        assert isinstance(step.statement, ir.Instruction)
        target, source = step.statement.operands
        if not (isinstance(target, ir.Reg) and isinstance(source, ir.Address) and isinstance(source.base, ir.Sym)):
            return UNKNOWN
        parameter = self._parameters.get(source.base.name)
        if parameter is None or _bits(step) != 64:
            return UNKNOWN
        said = parameter.ptr[1] or 1 if parameter.ptr is not None else 1
        name = parameter.name + (f"+{source.offset}" if source.offset else "")
        return Value(Base(name, max(said, ASSUMED), said), 0, 0, "")


def _loaded(step: Step, sources: _Sources) -> Value:
    return UNKNOWN


_DEPTH = 16  # so many blocks, each behind one alone, are gone back through


def _writers(flow: Flow) -> dict[tuple[Step, str], Step]:
    """For reads of registers that several steps write: the one whose result it is, where one path alone leads there."""
    several = {name for name, makers in flow.makers.items() if len(makers) > 1}
    found: dict[tuple[Step, str], Step] = {}
    if not several:
        return found
    ends: list[dict[str, Step | None]] = []  # what is written last in each block; None where a guard decides

    def last(name: str, number: int) -> Step | None:
        for _ in range(_DEPTH):
            if name in ends[number]:
                return ends[number][name]
            before = flow.befores[number]
            if len(before) != 1 or before[0] >= number:
                return None
            number = before[0]
        return None

    for number, (start, end, _) in enumerate(flow.blocks):
        here: dict[str, Step | None] = {}
        ends.append(here)
        for step in flow.steps[start:end]:
            for name in step.reads:
                if name in several:
                    writer = last(name, number)
                    if writer is not None:
                        found[step, name] = writer
            for name in step.writes:
                if name in several:
                    here[name] = step if step.guard is None else None
    return found


def alignment(variable: ir.Variable) -> int:
    """Bytes that a variable's address is a multiple of: what it says, else its element's size (ISA 5.4.5)."""
    return variable.align or max(1, TYPES[variable.type].bits // 8) * (variable.vector or 1)
