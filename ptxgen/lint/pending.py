"""What goes on by itself: registers that may not be touched before a wait, and waits for groups that nothing has closed."""

from __future__ import annotations

from collections.abc import Iterator

from ptxgen import ir
from ptxgen.lint.context import Context
from ptxgen.lint.flow import Flow, Step
from ptxgen.lint.plans import Plan, named_operands

__all__ = ["check_fences", "check_groups", "check_in_flight"]

_AGES = 64

Flying = dict[str, int]
"""Registers under way, each with the number of groups that were closed since, at most 64; 0 where its own is still open."""


def check_in_flight(context: Context) -> None:
    """Report registers of an instruction that completes later and are touched before the wait for it."""
    told: set[int] = set()
    for mechanism in dict.fromkeys(step.plan.completes() for step in context.flow.steps if _begins(step.plan)):
        for step, name, written in _touched(context.flow, mechanism):
            if id(step) not in told:
                told.add(id(step))
                _report(context, step, name, mechanism, written)


def _begins(plan: Plan) -> bool:
    """Whether an instruction has registers that it works on after it was issued."""
    return bool(plan.completes()) and any(use != "read" for _, use in plan.uses)


def _report(context: Context, step: Step, name: str, mechanism: str, written: bool) -> None:
    shown = name.partition(" ")[0]
    makers = [one for one in context.flow.steps if one.plan.completes() == mechanism and name in (*one.reads, *one.writes)]
    first = makers[0]
    what = "written" if name in step.writes else "read"
    needs = f"a wait for the {mechanism}" if mechanism.endswith("group") else mechanism
    context.report(
        "register-in-flight", step, f"{shown} is {what} while {first.statement.opcode} may still work on it",
        example=f"it was issued at {first.statement.where}" if first.statement.where is not None else "",
        section=first.plan.match.entry.section if first.plan.match is not None else "",
        legal=f"{needs} in between", focus=shown,
    )  # fmt: skip


def _touched(flow: Flow, mechanism: str) -> Iterator[tuple[Step, str, bool]]:
    """Steps that touch a register under way, and the register."""
    starts: list[tuple[Flying, Flying] | None] = [None] * len(flow.blocks)
    starts[0] = {}, {}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        state = starts[number]
        assert state is not None
        results, sources = dict(state[0]), dict(state[1])
        start, end, exits = flow.blocks[number]
        for step in flow.steps[start:end]:
            _advance(step, mechanism, results, sources)
        for after, _ in exits:
            before = starts[after]
            merged = (results, sources) if before is None else (_merge(before[0], results), _merge(before[1], sources))
            if merged != before:
                starts[after] = dict(merged[0]), dict(merged[1])
                waiting.append(after)
    for (start, end, _), state in zip(flow.blocks, starts):
        if state is not None:
            results, sources = dict(state[0]), dict(state[1])
            for step in flow.steps[start:end]:
                touched = _advance(step, mechanism, results, sources)
                if touched is not None:
                    yield step, *touched


def _merge(one: Flying, other: Flying) -> Flying:
    """On some path: the younger of both."""
    return {name: min(one.get(name, _AGES), other.get(name, _AGES)) for name in {**one, **other}}


def _advance(step: Step, mechanism: str, results: Flying, sources: Flying) -> tuple[str, bool] | None:
    """Carry what is under way over a step; the register that it touches too early, and whether it writes it."""
    plan = step.plan
    begins = plan.completes() == mechanism and _begins(plan)
    touched: tuple[str, bool] | None = None
    if results or sources:
        own = step.writes if begins else ()  # products may follow one another into one accumulator
        touched = next(((name, False) for name in step.reads if name in results and name not in own), None) or next(
            ((name, True) for name in step.writes if (name in results or name in sources) and name not in own), None
        )
    if begins:
        results.update(dict.fromkeys(step.writes, 0))
        if mechanism.endswith("group"):
            sources.update((name, 0) for name in _fragments(step))
    elif plan.commits() == mechanism:
        for flying in (results, sources):
            flying.update((name, min(age + 1, _AGES)) for name, age in flying.items())
    elif plan.awaits() == mechanism:
        left = _left(step)
        for flying in (results, sources):
            kept = {} if left is None else {name: age for name, age in flying.items() if age <= left}
            flying.clear()
            flying.update(kept)
    elif isinstance(step.statement, ir.Call):
        results.clear()
        sources.clear()
    return touched


def _fragments(step: Step) -> list[str]:
    """Registers of source vectors, which such an instruction reads as it goes on."""
    assert step.plan.match is not None and isinstance(step.statement, ir.Instruction)
    contracts = step.plan.match.entry.operands
    named = named_operands(step.plan, step.statement.operands)
    vectors = [one for name, one in named if isinstance(one, ir.Vec) and contracts[name].role == "in"]
    return [step.name(item) for vector in vectors for item in vector.items if isinstance(item, ir.Reg)]


def _left(step: Step) -> int | None:
    """How many of the youngest groups a wait leaves under way; None where it waits for everything."""
    assert isinstance(step.statement, ir.Instruction)
    count = step.statement.operands[0] if step.statement.operands else None
    return count.value if isinstance(count, ir.Int) else None


# ---- registers that nothing orders ------------------------------------------------------------------------------------


def check_fences(context: Context) -> None:
    """Report products whose registers were written behind the last fence, on some path."""
    for mechanism in dict.fromkeys(step.plan.completes() for step in context.flow.steps if _begins(step.plan)):
        if mechanism.endswith("group"):
            _check_fences(context, mechanism)


def _check_fences(context: Context, mechanism: str) -> None:
    flow = context.flow
    products = [step for step in flow.steps if step.plan.completes() == mechanism and _begins(step.plan)]
    relevant = {name for step in products for name in (*step.writes, *_fragments(step))}
    written: list[set[str] | None] = [None] * len(flow.blocks)
    written[0] = set()
    waiting = [0] if products else []
    while waiting:
        number = waiting.pop()
        here = set(written[number] or ())
        start, end, exits = flow.blocks[number]
        for step in flow.steps[start:end]:
            _write(step, mechanism, relevant, here)
        for after, _ in exits:
            before = written[after]
            if before is None or not here <= before:
                written[after] = here | (before or set())
                waiting.append(after)
    for (start, end, _), before in zip(flow.blocks, written):
        here = set(before or ())
        for step in flow.steps[start:end] if before is not None else ():
            own = [name for name in (*step.writes, *_fragments(step)) if name in here] if step in products else []
            if own:
                _report_unfenced(context, step, own[0], mechanism)
            _write(step, mechanism, relevant, here)


def _write(step: Step, mechanism: str, relevant: set[str], here: set[str]) -> None:
    """Registers that other instructions wrote since the last fence."""
    if step.plan.fences() == mechanism:
        here.clear()
    elif step.plan.completes() == mechanism:
        here.difference_update((*step.writes, *_fragments(step)))  # told once
    else:
        here.update(relevant.intersection(step.writes))


def _report_unfenced(context: Context, step: Step, name: str, mechanism: str) -> None:
    shown = name.partition(" ")[0]
    makers = [one for one in context.flow.makers[name] if one.plan.completes() != mechanism]
    places = [str(one.statement.where) for one in makers[:1] if one.statement.where is not None]
    context.report(
        "unfenced-register", step, f"{shown} was written, and no fence is in between",
        example=f"it is written at {places[0]}" if places else "", legal=f"{mechanism.partition(' ')[0]}.fence in between", focus=shown,
    )  # fmt: skip


# ---- groups that nothing closes ---------------------------------------------------------------------------------------


def check_groups(context: Context) -> None:
    """Report a wait for groups in an entry to which no path leads that has closed one."""
    if not context.is_entry:
        return
    flow = context.flow
    waits = [(number, step) for number, step in _numbered(flow) if step.plan.awaits().endswith("group") and _left(step) is not None]
    for mechanism in dict.fromkeys(step.plan.awaits() for _, step in waits):
        after = _behind(flow, mechanism)
        for number, step in waits:
            if step.plan.awaits() != mechanism or number in after:
                continue
            start, end, _ = flow.blocks[number]
            earlier = flow.steps[start : next(index for index in range(start, end) if flow.steps[index] is step)]
            if any(_closes(one, mechanism) for one in earlier):
                continue
            context.report(
                "wait-before-commit", step, f"no {mechanism} has been closed on any path to here, so nothing is waited for",
                legal="the commit in front of it", focus=step.statement.opcode,
            )  # fmt: skip


def _numbered(flow: Flow) -> Iterator[tuple[int, Step]]:
    for number, (start, end, _) in enumerate(flow.blocks):
        for step in flow.steps[start:end]:
            yield number, step


def _closes(step: Step, mechanism: str) -> bool:
    return step.plan.commits() == mechanism or isinstance(step.statement, ir.Call)


def _behind(flow: Flow, mechanism: str) -> set[int]:
    """Blocks that a path leads to which has closed a group."""
    waiting = list(dict.fromkeys(number for number, step in _numbered(flow) if _closes(step, mechanism)))
    found: set[int] = set()
    while waiting:
        for after, _ in flow.blocks[waiting.pop()].exits:
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found
