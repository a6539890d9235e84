"""How an instruction uses its operands: read from its contract once for each opcode and kinds of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxgen import ir
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match, in_order, lookup, mnemonics

__all__ = ["Plan", "named_operands", "plan_of", "registers"]

READ, WRITTEN, BOTH, MAYBE = "read", "written", "both", "maybe"


class Plan:
    """What an opcode does with operands of such kinds.

    Attributes
    ----------
    match : Match or None
        The form; None where no contract is known, whose operands may be anything.
    slots : tuple of Slot
    uses : tuple of (int, str)
        Place and use of each operand that can name registers: ``"read"``, ``"written"``, ``"both"``, or ``"maybe"`` (written, and
        read unless another operand says that it is not). What stands in brackets is read.
    adds : int or None
        Place of the operand that says whether an accumulator is read, where it ``"maybe"`` is.
    branches : bool
        Whether its last operand is a label, or a list of them.
    ends : bool
        Whether nothing follows it.
    """

    __slots__ = ("adds", "branches", "ends", "match", "slots", "uses")

    def __init__(self, match: Match | None, slots: tuple[Slot, ...], uses: tuple[tuple[int, str], ...]) -> None:
        self.match = match
        self.slots = slots
        self.uses = uses
        chain = match.entry.tile.chain if match is not None and match.entry.tile is not None else {}
        self.adds = next((place for place, slot in enumerate(slots) if slot.name in chain), None)
        self.branches = match is not None and any(one.kind in ("label", "branch targets") for one in match.entry.operands.values())
        self.ends = match is not None and match.entry.ends

    def awaits(self) -> str:
        """The groups that it waits for, or an empty text."""
        return "" if self.match is None else _filled(self.match, self.match.entry.awaits)

    def commits(self) -> str:
        """The groups that it closes, or an empty text."""
        return "" if self.match is None else _filled(self.match, self.match.entry.commits)

    def fences(self) -> str:
        """The groups whose registers it orders, or an empty text."""
        return "" if self.match is None else self.match.entry.fences

    def completes(self) -> str:
        """What tells of its end, or an empty text."""
        return "" if self.match is None or self.match.entry.completes == "at once" else self.match.entry.completes


def _filled(match: Match, words: str) -> str:
    """A text in which qualifiers stand for their values."""
    for name in (word for word in match.bindings if word in words):
        words = words.replace(name, str(match.bindings[name]))
    return words


_plans: dict[tuple[Any, ...], Plan] = {}


def plan_of(statement: ir.Instruction) -> Plan:
    """The plan of an instruction."""
    operands = statement.operands
    key = (statement.opcode, *[operand.__class__ for operand in operands])
    found = _plans.get(key)
    if found is None:
        found = _plans[key] = _made(statement.opcode, operands)
    return found


def _made(opcode: str, operands: Sequence[ir.Operand]) -> Plan:
    try:
        matches = lookup(opcode) if opcode.partition(".")[0] in mnemonics() else ()
    except InstructionError:  # compilers write some qualifiers in another order
        ordered = in_order(opcode)
        matches = lookup(ordered) if ordered else ()
    for match in matches:
        for slots in match.form.operand_lists:
            if len(slots) == len(operands) and all(_alike(match, slot, one) for slot, one in zip(slots, operands)):
                contracts = match.entry.operands
                return Plan(match, slots, tuple((place, _use(match, contracts[slot.name])) for place, slot in enumerate(slots)))
    return Plan(None, (), ())


_WORDS = {"label", "symbol", "function", "branch targets", "call targets"}


def _alike(match: Match, slot: Slot, operand: ir.Operand) -> bool:
    """Whether an operand has the shape that a place asks for; of which type it is does not matter here."""
    contract = match.entry.operands[slot.name]
    if slot.bracket or contract.kind == "address":
        return isinstance(operand, (ir.Address, ir.Element))
    if slot.second:
        return isinstance(operand, ir.Pair)
    if contract.kind in _WORDS:
        return isinstance(operand, ir.Sym)
    if contract.kind == "sink":
        return isinstance(operand, ir.Sink)
    if isinstance(operand, ir.Vec):
        return contract.braced or contract.braceable or match.count(contract.vector) > 1
    return not isinstance(operand, (ir.Address, ir.Pair)) and (contract.role == "in" or isinstance(operand, (ir.Reg, ir.Sink)))


def _use(match: Match, contract: Operand) -> str:
    if contract.kind == "address" or contract.role == "in":
        return READ
    if contract.role == "out":
        return WRITTEN
    return MAYBE if match.entry.tile is not None and match.entry.tile.chain else BOTH


def registers(operand: ir.Operand) -> list[ir.Reg]:
    """All registers that an operand names."""
    kind = operand.__class__
    if kind is ir.Reg:
        return [operand]  # type: ignore[list-item]
    if isinstance(operand, ir.Address):
        found = [operand.base] if isinstance(operand.base, ir.Reg) else []
        return found + [one for part in operand.rest for one in registers(part)] if operand.rest else found
    if isinstance(operand, ir.Vec):
        return [one for part in operand.items for one in registers(part)]
    if isinstance(operand, ir.Pair):
        return registers(operand.first) + registers(operand.second)
    if isinstance(operand, (ir.Not, ir.Neg, ir.RegOffset)):
        return [operand.reg]
    if isinstance(operand, ir.Element) and not isinstance(operand.index, int):
        return registers(operand.index)
    return []


def named_operands(plan: Plan, operands: Sequence[ir.Operand]) -> list[tuple[str, ir.Operand]]:
    """The contract's names, those inside brackets and pairs included, beside the operands."""
    found: list[tuple[str, ir.Operand]] = []
    for slot, operand in zip(plan.slots, operands):
        if isinstance(operand, ir.Pair):
            found += [(slot.name, operand.first), (slot.second, operand.second)]
        else:
            found.append((slot.name, operand))
            found += zip(slot.inner, operand.rest if isinstance(operand, ir.Address) else ())
    return found
