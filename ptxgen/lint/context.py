"""One function under the lints: its flow, what is known of its values, and where findings go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ptxgen import ir
from ptxgen.lint.catalogue import LINTS
from ptxgen.lint.flow import Flow, Step
from ptxgen.lint.values import Values
from ptxgen.verify.problems import Problem, explained

__all__ = ["Context"]


class Context:
    """
    Attributes
    ----------
    flow : Flow
    without : frozenset of str
        Ids that nobody wants to hear of.
    problems : list of Problem
    """

    def __init__(self, flow: Flow, variables: Mapping[str, ir.Variable], without: frozenset[str]) -> None:
        self.flow = flow
        self.without = without
        self.problems: list[Problem] = []
        self._variables = variables

    @cached_property
    def values(self) -> Values:
        """What is known of registers whoever executes."""
        function = self.flow.function
        own = [*function.params, *function.results, *(one for one in ir.walk(function.body or ()) if isinstance(one, ir.Variable))]
        return Values(self.flow, {**self._variables, **{one.name: one for one in own}})

    @property
    def is_entry(self) -> bool:
        return self.flow.function.kind == "entry"

    def block(self) -> tuple[int, int, int] | None:
        """The block's extents, where ``.reqntid`` says them."""
        for one in self.flow.function.directives:
            if isinstance(one, ir.Directive) and one.name == "reqntid":
                x, y, z = (*(int(extent) for extent in one.arguments), 1, 1)[:3]
                return x, y, z
        return None

    def wants(self, id: str) -> bool:
        return id not in self.without

    def report(self, id: str, step: Step, problem: str, *, focus: str = "", severity: str = "", section: str = "", **details: Any) -> None:
        """Take note of a finding; `details` are those of `explained`."""
        lint = LINTS[id]
        match = step.plan.match
        section = section or lint.section or (match.entry.section if match is not None else "")
        message = explained(problem, opcode=step.statement.opcode, rule=details.pop("rule", lint.rule), section=section, **details)
        self.problems.append(Problem(severity or lint.severity, id, message, step.statement.where, focus))
