"""Lints of one instruction's operands: constants, addresses, fragments, masks."""

from __future__ import annotations

from collections import Counter

from ptxgen import ir
from ptxgen.instructions.constants import allowed_values
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.lint.context import Context
from ptxgen.lint.flow import Step
from ptxgen.lint.plans import Plan, named_operands
from ptxgen.lint.values import Value
from ptxgen.text.writer import write_operand

__all__ = ["asks", "check_operands"]

_asked: dict[Plan, tuple[tuple[str, str], ...]] = {}
"""For each plan the lints that its operands are held against, each with the operand's name."""


def asks(plan: Plan) -> tuple[tuple[str, str], ...]:
    """What is to be looked at in instructions of this plan."""
    found = _asked.get(plan)
    if found is None:
        found = _asked[plan] = () if plan.match is None else tuple(_questions(plan, plan.match))
    return found


def _questions(plan: Plan, match: Match) -> list[tuple[str, str]]:
    found = []
    for name in (name for slot in plan.slots for name in (slot.name, slot.second, *slot.inner) if name):
        contract = match.entry.operands[name]
        if contract.kind == "address" and contract.type and match.type(contract.type).kind != "opaque" and contract.space not in _APART:
            found.append(("address", name))
        elif contract.lanes:
            found.append(("membermask", name))
        elif contract.kind == "register" and contract.role == "in" and contract.values is not None:
            found.append(("operand-range", name))
        elif _is_fragment(match, name, contract):
            found.append(("fragment-register", name))
    return found


_APART = ("tensor", "fabric")
"""Spaces whose addresses are not bytes of memory."""


def _is_fragment(match: Match, name: str, contract: Operand) -> bool:
    """Whether an operand is a matrix of a product in the registers of its threads; what is merely moved may repeat."""
    tile = match.entry.tile
    if tile is None or not tile.chain or name not in tile.atoms or tile.atoms[name].place != "registers":
        return False
    return contract.role != "out" and match.count(contract.vector) > 1


def check_operands(context: Context, step: Step) -> None:
    """Hold the operands of a step against what `asks` says of it."""
    match = step.plan.match
    assert match is not None and isinstance(step.statement, ir.Instruction)
    named = dict(named_operands(step.plan, step.statement.operands))
    for what, name in asks(step.plan):
        operand, contract = named[name], match.entry.operands[name]
        if what == "address":
            if isinstance(operand, ir.Address):
                _check_address(context, step, match, name, operand, contract)
        elif what == "operand-range":
            _check_range(context, step, match, name, operand, contract)
        elif what == "fragment-register":
            _check_fragment(context, step, match, name, operand, contract)


# ---- constants --------------------------------------------------------------------------------------------------------


def _check_range(context: Context, step: Step, match: Match, name: str, operand: ir.Operand, contract: Operand) -> None:
    """A register whose value is a constant: one that stands in the text is held against the contract before."""
    if not isinstance(operand, ir.Reg) or not context.wants("operand-range"):
        return
    allowed = allowed_values(contract, 0)
    value = context.values.operand(step, operand).constant
    if value is None or allowed is None or value in allowed:
        return
    context.report(
        "operand-range", step, f"{operand.name} is {value} on every path to here, which is out of range", operand=name,
        rule=f"{name} is {_range(allowed)}", legal=_range(allowed), focus=operand.name,
    )  # fmt: skip


def _range(allowed: tuple[int, ...] | range) -> str:
    if not isinstance(allowed, range) or len(allowed) < 3:
        return " or ".join(map(str, allowed)) if len(allowed) < 3 else f"one of {', '.join(map(str, allowed))}"
    return f"{allowed.start} to {allowed[-1]}" + (f", a multiple of {allowed.step}" if allowed.step > 1 else "")


# ---- addresses --------------------------------------------------------------------------------------------------------


def _check_address(context: Context, step: Step, match: Match, name: str, operand: ir.Address, contract: Operand) -> None:
    if not isinstance(operand.base, ir.Reg):
        return  # a name, or a constant: looked at where names are
    value = context.values.operand(step, operand)
    if value.modulus == 1 and value.base is None and not value.space:
        return
    space = match.value(contract.space) if contract.space.startswith(".") else contract.space
    if context.wants("address-space"):
        _check_space(context, step, name, operand, value.space, space)
    if context.wants("misaligned"):
        size = contract.align or max(1, match.type(contract.type).bits // 8) * match.count(contract.vector)
        _check_alignment(context, step, name, operand, value, size)


def _check_space(context: Context, step: Step, name: str, operand: ir.Address, found: str, space: str) -> None:
    """Shared, local and parameter memory have windows: a generic address there is another number than one within the space."""
    generic, text = found.startswith("generic "), write_operand(operand)
    at, wanted = found.removeprefix("generic ").partition("::")[0], space.partition("::")[0]
    if at not in ("shared", "local"):
        return
    if generic and wanted not in ("", "global"):
        problem, legal = f"{text} is a generic address, from cvta.{at}", f"cvta.to.{at}, or an access without .{wanted}"
    elif not generic and not wanted:
        problem, legal = f"{text} is an address within .{at}, and the access is generic", f".{at} in the opcode, or cvta.{at}"
    elif wanted not in ("", at):
        problem, legal = f"{text} lies in .{at}, and the access is to .{wanted}", f".{at} in the opcode"
    else:
        return
    context.report("address-space", step, problem, operand=name, legal=legal, focus=text)


def _check_alignment(context: Context, step: Step, name: str, operand: ir.Address, value: Value, size: int) -> None:
    number, text, base = value.number(), write_operand(operand), value.base
    period = size if number.modulus == 0 else min(number.modulus, size)
    over = number.remainder % period
    if not over:
        return
    problem, example, legal = f"{text} is never a multiple of {size} bytes", "", f"an offset that is a multiple of {size}"
    if base is not None and base.said < min(period, base.align):
        problem = f"{text} is no multiple of {size} bytes"
        example = f"where {base.name} is a multiple of {base.align}, as pointers from allocators are, it is {over} past one of {period}"
        legal += f", or .ptr .align in the declaration of {base.name.partition('+')[0]}"
    elif base is not None:
        example = f"{base.name} is aligned to {base.align}, and the address is {over} past a multiple of {period}"
    context.report("misaligned", step, problem, operand=name, example=example, legal=legal, focus=text)


# ---- fragments --------------------------------------------------------------------------------------------------------


def _check_fragment(context: Context, step: Step, match: Match, name: str, operand: ir.Operand, contract: Operand) -> None:
    if not isinstance(operand, ir.Vec) or not context.wants("fragment-register"):
        return
    names = [step.name(one) + (f".{one.part}" if one.part else "") for one in operand.items if isinstance(one, ir.Reg)]
    times = Counter(names)
    if len(times) == len(names) or (contract.role == "in" and len(set(times.values())) == 1):
        return
    twice = next(
        (one for one, count in times.items() if count > 1 and (contract.role != "in" or not _is_constant(context, one))), None
    )  # fmt: skip
    if twice is None:
        return
    places = [place for place, one in enumerate(names) if one == twice]
    context.report(
        "fragment-register", step,
        f"{twice.partition(' ')[0]} stands in {name} {times[twice]} times", operand=name,
        example=f"elements {' and '.join(map(str, places))} of {write_operand(operand)} are one register",
        legal=f"{len(names)} registers, each its own", focus=twice.partition(" ")[0],
    )  # fmt: skip


def _is_constant(context: Context, name: str) -> bool:
    """Whether each write of a register writes a constant."""
    makers = context.flow.makers.get(name, ())
    return bool(makers) and all(not step.reads for step in makers)
