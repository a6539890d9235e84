"""Objects in shared memory that one instruction makes and others use: an mbarrier that nothing has initialised."""

from __future__ import annotations

from ptxgen import ir
from ptxgen.lint.context import Context
from ptxgen.lint.flow import Step
from ptxgen.lint.plans import named_operands
from ptxgen.lint.values import Value
from ptxgen.text.writer import write_operand

__all__ = ["check_allocations", "check_objects"]


def check_objects(context: Context) -> None:
    """Report uses of an object in the entry's own shared memory that no step of it can have made."""
    made: list[Value] = []
    used: list[tuple[Step, str, ir.Address, Value]] = []
    for step in context.flow.steps:
        match = step.plan.match
        if isinstance(step.statement, ir.Call):
            return  # it may make them
        if match is None or not any(one.holds for one in match.entry.operands.values()):
            continue
        for name, operand in named_operands(step.plan, step.statement.operands):
            contract = match.entry.operands[name]
            if not contract.holds or not isinstance(operand, ir.Address):
                continue
            value = context.values.operand(step, operand)
            if contract.role == "out":
                made.append(value)
            else:
                used.append((step, name, operand, value))
    for step, name, operand, value in used:
        if value.base is not None and value.space == "shared" and not any(_same(value, one) for one in made):
            _report(context, step, name, operand, value, made)


def _same(one: Value, other: Value) -> bool:
    """Whether two addresses may be one."""
    if other.base is None:
        return True
    return one.base == other.base and _meet(one, other)


def _meet(one: Value, other: Value) -> bool:
    smaller = min(modulus for modulus in (one.modulus, other.modulus) if modulus) if one.modulus or other.modulus else 0
    difference = one.remainder - other.remainder
    return difference % smaller == 0 if smaller else difference == 0


def _shown(value: Value) -> str:
    assert value.base is not None
    return f"{value.base.name}+{value.remainder}" if value.remainder else value.base.name


def _report(context: Context, step: Step, name: str, operand: ir.Address, value: Value, made: list[Value]) -> None:
    assert step.plan.match is not None
    what = step.plan.match.entry.operands[name].holds
    at, others = _shown(value), [_shown(one) for one in made if one.base is not None]
    example = f"initialised are {', '.join(others)}" if others else ""
    context.report(
        "uninitialised-mbarrier", step, f"nothing initialises the {what} at {at}", operand=name, example=example,
        legal=f"{what}.init of {at} by one thread, a fence and a barrier before the first use", focus=write_operand(operand),
    )  # fmt: skip


def check_allocations(context: Context) -> None:
    """Report what an entry allocates and never gives back."""
    steps = [step for step in context.flow.steps if step.plan.match is not None]
    freed = {step.plan.match.entry.frees for step in steps if step.plan.match is not None}
    if any(isinstance(step.statement, ir.Call) for step in context.flow.steps):
        return
    for step in steps:
        assert step.plan.match is not None
        what = step.plan.match.entry.allocates
        if what and what not in freed:
            context.report(
                "not-given-back", step, f"nothing gives back the {what}",
                example="a later block on the multiprocessor waits for it forever",
                legal="the deallocation, by the same warp, before the end", focus=step.statement.opcode,
            )  # fmt: skip
