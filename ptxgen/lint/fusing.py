"""Products and sums that an assembler may round once."""

from __future__ import annotations

from ptxgen import ir
from ptxgen.lint.context import Context
from ptxgen.lint.flow import Step

__all__ = ["check_fusing"]


def check_fusing(context: Context) -> None:
    """Note the first sum without ``.rnd`` that takes a product without one, and how many there are."""
    found = []
    for step in context.flow.steps:
        products = [(name, one) for name in step.reads for one in context.flow.makers.get(name, ())] if _fuses(step, "sum") else []
        found += [(step, name, one) for name, one in products if _fuses(one, "product") and _like(one, step)][:1]
    if found:
        _report(context, *found[0], len(found) - 1)


def _fuses(step: Step, kind: str) -> bool:
    match = step.plan.match
    return match is not None and match.entry.fuses == kind and ".rnd" not in match.bindings


def _like(one: Step, other: Step) -> bool:
    assert one.plan.match is not None and other.plan.match is not None
    return one.plan.match.value(".type") == other.plan.match.value(".type")


def _report(context: Context, step: Step, name: str, product: Step, others: int) -> None:
    shown = name.partition(" ")[0]
    made = f", the product of {product.statement.opcode}" if isinstance(product.statement, ir.Instruction) else ""
    more = f" ({others} more sums here are like it)" if others else ""
    of = step.statement.opcode.rpartition(".")[2]
    context.report(
        "fused-product", step, f"an assembler may round {shown}{made}, and this sum at once{more}",
        legal=f"{step.statement.opcode.replace('.', '.rn.', 1)} to round twice, fma.rn.{of} to round once", focus=shown,
    )  # fmt: skip
