"""Runs the lints over a module."""

from __future__ import annotations

from collections.abc import Iterable

from ptxgen import ir
from ptxgen.layouts.errors import PtxgenError
from ptxgen.lint.catalogue import LINTS
from ptxgen.lint.context import Context
from ptxgen.lint.flow import Flow
from ptxgen.lint.fusing import check_fusing
from ptxgen.lint.masks import check_masks
from ptxgen.lint.objects import check_allocations, check_objects
from ptxgen.lint.operands import asks, check_operands
from ptxgen.lint.pending import check_fences, check_groups, check_in_flight
from ptxgen.lint.unwritten import Unwritten, unwritten
from ptxgen.verify.problems import Problem

__all__ = ["lint"]


def lint(module: ir.Module, *, without: Iterable[str] = ()) -> list[Problem]:
    """What is wrong with a module though every instruction of it is legal, so that no assembler says it.

    Parameters
    ----------
    module : ir.Module
        As `ptxgen.text.read` gives it, or as a trace made it.
    without : iterable of str
        Ids of lints that are switched off (`ptxgen.lint.LINTS`).

    Returns
    -------
    list of Problem
        In the order of the text, function by function.

    Raises
    ------
    PtxgenError
        For an id that is none.
    """
    switched = frozenset(without)
    for id in switched - LINTS.keys():
        raise PtxgenError(f"there is no lint {id!r}; known: {', '.join(LINTS)}")
    variables = {item.name: item for item in module.items if isinstance(item, ir.Variable)}
    endless = frozenset(
        item.name for item in module.items if isinstance(item, ir.Function) and any(_is_noreturn(one) for one in item.directives)
    )
    found: list[Problem] = []
    for item in module.items:
        if isinstance(item, ir.Function) and item.body:
            found += _function(Context(Flow(item, endless), variables, switched))
    return found


def _is_noreturn(directive: object) -> bool:
    return isinstance(directive, ir.Directive) and directive.name == "noreturn"


def _function(context: Context) -> list[Problem]:
    flow = context.flow
    asked: set[str] = set()
    for step in flow.steps:
        questions = asks(step.plan)
        if questions:
            asked.update(what for what, _ in questions)
            check_operands(context, step)
    entries = {id(step.plan): step.plan.match.entry for step in flow.steps if step.plan.match is not None}.values()
    if context.wants("membermask") and "membermask" in asked:
        check_masks(context)
    if context.wants("unwritten-register"):
        for one in unwritten(flow):
            _report_unwritten(context, one)
    if context.wants("register-in-flight") and any(entry.completes != "at once" for entry in entries):
        check_in_flight(context)
    if context.wants("unfenced-register") and any(entry.completes.endswith("group") for entry in entries):
        check_fences(context)
    if context.wants("not-given-back") and context.is_entry and any(entry.allocates for entry in entries):
        check_allocations(context)
    if context.wants("wait-before-commit") and any(entry.awaits for entry in entries):
        check_groups(context)
    if context.wants("uninitialised-mbarrier") and context.is_entry and any(
        one.holds for entry in entries for one in entry.operands.values()
    ):  # fmt: skip
        check_objects(context)
    if context.wants("fused-product") and any(entry.fuses for entry in entries):
        check_fusing(context)
    order = {id(step.statement.where): index for index, step in enumerate(flow.steps)}
    return sorted(context.problems, key=lambda problem: order.get(id(problem.position), 0))


def _report_unwritten(context: Context, one: Unwritten) -> None:
    shown = one.register.partition(" ")[0]
    ways = [f"{name.partition(' ')[0]} is {str(value).lower()}" for name, value in filter(None, one.passed)]
    severity = "note" if one.copied or one.looped or len(one.passed) > 1 else ""
    if not one.passed:
        problem = "nothing has written it on any path to here"
    elif one.looped:
        problem = "nothing has written it where a loop does not run"
    elif len(one.passed) == 1:
        problem = "there is a path to here on which nothing has written it"
    else:
        problem = f"nothing has written it where {len(one.passed)} decisions all pass its writes by"
    more = f" ({one.others} more registers are like it)" if one.others else ""
    context.report(
        "unwritten-register", one.step, f"{shown} is {'copied' if one.copied else 'read'}, and {problem}{more}", severity=severity,
        example=f"the path on which {' and '.join(ways)}" if ways else "", legal=f"a write of {shown} on every path", focus=shown,
    )  # fmt: skip
