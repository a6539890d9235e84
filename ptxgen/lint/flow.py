"""A function's instructions in a row, where each goes on, and the registers that each reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Union

from ptxgen import ir
from ptxgen.lint.plans import BOTH, MAYBE, READ, Plan, plan_of, registers

__all__ = ["Block", "Flow", "Literal", "Step"]

Literal = tuple[str, bool]
"""A predicate register and its value."""


class Step:
    """One instruction or call.

    Attributes
    ----------
    statement : ir.Instruction or ir.Call
    plan : Plan
    reads, writes : list of str
        Registers by name, each of its scope; the guard is not among them.
    guard : Literal or None
        What must hold for it to be executed.
    """

    __slots__ = ("guard", "plan", "reads", "scope", "statement", "writes")

    def __init__(self, statement: Union[ir.Instruction, ir.Call], plan: Plan, scope: _Scope | None) -> None:
        self.statement = statement
        self.plan = plan
        self.scope = scope
        guard = statement.guard
        self.guard: Literal | None = None if guard is None else (self.name(guard.reg), not guard.negated)
        if plan is _CALL:
            self.reads = self._names((*statement.arguments, statement.target))  # type: ignore[union-attr]
            self.writes = self._names(statement.results)  # type: ignore[union-attr]
            return
        self.reads, self.writes = [], []
        operands = statement.operands  # type: ignore[union-attr]
        for place, use in plan.uses:
            operand = operands[place]
            if operand.__class__ is ir.Reg and scope is None:
                names = [operand.name]
            else:
                names = self._names((operand,))
            if use is READ:
                self.reads += names
                continue
            self.writes += names
            if use is BOTH or (use is MAYBE and self._adds(operands[plan.adds or 0])):
                self.reads += names
        if plan.match is None:
            self.writes += self._names(operands)  # whatever it does to them

    @staticmethod
    def _adds(decides: ir.Operand) -> bool:
        """Whether an accumulator is certainly read: with a predicate it is from the second product on."""
        return isinstance(decides, ir.Int) and decides.value != 0

    def _names(self, operands: tuple[ir.Operand, ...]) -> list[str]:
        return [self.name(one) for operand in operands for one in registers(operand)]

    def name(self, register: ir.Reg) -> str:
        """The name by which a register is followed: of its own scope."""
        return register.name if self.scope is None else self.scope.name(register.name)


_CALL = Plan(None, (), ())


class Block(NamedTuple):
    """Steps that run one after another: those from `start` to `end`; `exits` are the blocks that follow, each with what leads there."""

    start: int
    end: int
    exits: list[tuple[int, Literal | None]]


class _Scope:
    """Braces with declarations of their own: names in them are other names."""

    def __init__(self, outer: _Scope | None, body: tuple[ir.Statement, ...], number: int) -> None:
        self._outer = outer
        self._number = number
        self._names: set[str] = set()
        self._families: list[tuple[str, int]] = []
        self._labels = {one.name if isinstance(one, ir.Label) else one.label for one in body if isinstance(one, (ir.Label, ir.Targets))}
        for one in body:
            if isinstance(one, ir.RegDecl) and one.count is None:
                self._names.update(one.names)
            elif isinstance(one, ir.RegDecl) and one.count is not None:
                self._families.append((one.names[0], one.count))

    @property
    def empty(self) -> bool:
        return not (self._names or self._families or self._labels)

    def name(self, register: str) -> str:
        if register not in self._names and not any(
            register.startswith(prefix) and register[len(prefix) :].isdigit() and int(register[len(prefix) :]) < count
            for prefix, count in self._families
        ):
            return register if self._outer is None else self._outer.name(register)
        return f"{register} {self._number}"

    def label(self, label: str) -> str:
        if label in self._labels:
            return f"{label} {self._number}"
        return label if self._outer is None else self._outer.label(label)


class Flow:
    """A function's body.

    Attributes
    ----------
    steps : list of Step
    blocks : list of Block
        The entry first; blocks that nothing leads to are among them.
    befores : list of list of int
        For each block those that lead to it.
    """

    def __init__(self, function: ir.Function, endless: frozenset[str] = frozenset()) -> None:
        """`endless` are the functions that do not return."""
        self.function = function
        self.steps: list[Step] = []
        self._endless = endless
        self._labels: dict[str, int] = {}
        self._targets: dict[str, list[str]] = {}
        self._scopes = 0
        self._place(function.body or (), None)
        self.blocks = self._blocks()
        self.befores: list[list[int]] = [[] for _ in self.blocks]
        for number, block in enumerate(self.blocks):
            for after, _ in block.exits:
                self.befores[after].append(number)
        self._makers: dict[str, list[Step]] | None = None

    @property
    def makers(self) -> Mapping[str, list[Step]]:
        """The steps that write each register."""
        if self._makers is None:
            self._makers = {}
            for step in self.steps:
                for name in step.writes:
                    self._makers.setdefault(name, []).append(step)
        return self._makers

    def formals(self) -> list[str]:
        """Register parameters, which hold something from the start."""
        return [one.name for one in self.function.params if one.space == "reg"]

    # ---- steps --------------------------------------------------------------------------------------------------------

    def _place(self, body: tuple[ir.Statement, ...], scope: _Scope | None) -> None:
        steps = self.steps
        for statement in body:
            kind = statement.__class__
            if kind is ir.Instruction:
                steps.append(Step(statement, plan_of(statement), scope))  # type: ignore[arg-type]
            elif kind is ir.Label:
                name = statement.name  # type: ignore[union-attr]
                self._labels[name if scope is None else scope.label(name)] = len(steps)
            elif isinstance(statement, ir.Call):
                steps.append(Step(statement, _CALL, scope))
            elif isinstance(statement, ir.Block):
                self._scopes += 1
                inner = _Scope(scope, statement.body, self._scopes)
                self._place(statement.body, scope if inner.empty else inner)
            elif isinstance(statement, ir.Targets) and statement.kind == "branchtargets":
                label = statement.label if scope is None else scope.label(statement.label)
                self._targets[label] = [name if scope is None else scope.label(name) for name in statement.names]

    # ---- blocks -------------------------------------------------------------------------------------------------------

    def _blocks(self) -> list[Block]:
        turns = {index for index, step in enumerate(self.steps) if step.plan.branches or self._ends(step)}
        starts = sorted({0, *self._labels.values(), *(index + 1 for index in turns)} - {len(self.steps)}) or [0]
        at = {start: number for number, start in enumerate(starts)}
        ends = [*starts[1:], len(self.steps)]
        return [Block(start, end, list(self._exits(end, end - 1 in turns, at))) for start, end in zip(starts, ends)]

    def _ends(self, step: Step) -> bool:
        called = step.statement
        return step.plan.ends or (isinstance(called, ir.Call) and isinstance(called.target, ir.Sym) and called.target.name in self._endless)

    def _exits(self, end: int, turns: bool, at: dict[int, int]) -> Iterator[tuple[int, Literal | None]]:
        last = self.steps[end - 1] if turns else None
        if last is not None and last.plan.branches:
            named = last.statement.operands[-1]  # type: ignore[union-attr]
            label = getattr(named, "name", "")
            label = label if last.scope is None else last.scope.label(label)
            for name in self._targets.get(label, [label]):
                start = self._labels.get(name)
                if start is not None and start in at:
                    yield at[start], last.guard
        if end in at and (last is None or last.guard is not None):
            yield at[end], None if last is None or last.guard is None else (last.guard[0], not last.guard[1])
