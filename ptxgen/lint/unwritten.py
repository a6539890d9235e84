"""Registers that are read where a path exists on which nothing wrote them.

What is live where the function begins is read before it is written, as far as branches tell. Whether a path can really be taken is then
asked for each such register: a walk over the paths on which it is not written, which knows what guards and branches have decided.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from ptxgen.lint.flow import Block, Flow, Literal, Step

__all__ = ["Unwritten", "unwritten"]

_STATES = 4000  # so many states of one register are looked at; a register with more is passed over


class Unwritten(NamedTuple):
    """Registers that a path reaches unwritten.

    Attributes
    ----------
    register : str
        The first of those that are read and written alike; `others` counts the rest.
    step : Step
        That reads it.
    passed : tuple of (Literal or None)
        The decisions that pass its writes by on the way there; None for one of no predicate.
    copied : bool
        Whether it is only copied: compilers copy registers that hold nothing where nothing comes of it.
    looped : bool
        Whether all its writes stand in loops, and the read behind them.
    others : int
    """

    register: str
    step: Step
    passed: tuple[Literal | None, ...]
    copied: bool = False
    looped: bool = False
    others: int = 0


def unwritten(flow: Flow) -> list[Unwritten]:
    """The first such read of each register, those that are read and written alike counted as one."""
    live, bits = _live(flow)
    suspects = [name for name, bit in bits.items() if live[0] & bit]
    found = []
    for first, *others in _alike(flow, suspects).values():
        bit = bits[first]
        one = _walk(flow, first, [bool(mask & bit) for mask in live])
        if one is not None:
            found.append(one._replace(others=len(others), looped=_looped(flow, one)))
    return found


def _alike(flow: Flow, names: list[str]) -> dict[tuple[object, ...], list[str]]:
    """Registers by the blocks that read and write them, and behind which guards: no path tells them apart."""
    uses: dict[str, list[object]] = {name: [] for name in names}
    if names:
        for number, (start, end, _) in enumerate(flow.blocks):
            for step in flow.steps[start:end]:
                guard = () if step.guard is None else (step.guard[0],)
                for reads, used in ((True, (*step.reads, *guard)), (False, step.writes)):
                    for name in used:
                        if name in uses:
                            uses[name].append((number, reads, step.guard))
    found: dict[tuple[object, ...], list[str]] = {}
    for name, places in uses.items():
        found.setdefault(tuple(dict.fromkeys(places)), []).append(name)
    return found


def _looped(flow: Flow, one: Unwritten) -> bool:
    """Whether every write stands in a loop that the read does not belong to: it may be that such a loop always runs."""
    writers = [number for number, block in enumerate(flow.blocks) if _writes(flow, block, one.register)]
    reader = next(number for number, (start, end, _) in enumerate(flow.blocks) if one.step in flow.steps[start:end])
    return bool(writers) and all(number != reader and _returns(flow, number, reader) for number in writers)


def _returns(flow: Flow, number: int, without: int) -> bool:
    """Whether a path leads from a block back to it without passing another one."""
    seen = {without}
    waiting = [number]
    while waiting:
        for after, _ in flow.blocks[waiting.pop()].exits:
            if after == number:
                return True
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False


def _live(flow: Flow) -> tuple[list[int], dict[str, int]]:
    """For each block the registers that are read from its start on before they are certainly written, as bits."""
    bits: dict[str, int] = {}
    known = 0
    for name in flow.formals():
        known |= bits.setdefault(name, 1 << len(bits))
    uses, kills = [], []
    steps = flow.steps
    for start, end, _ in flow.blocks:
        use = kill = 0
        for step in steps[start:end]:
            for name in step.reads:
                bit = bits.get(name)
                if bit is None:
                    bit = bits[name] = 1 << len(bits)
                if not kill & bit:
                    use |= bit
            guard = step.guard
            if guard is not None:
                bit = bits.get(guard[0])
                if bit is None:
                    bit = bits[guard[0]] = 1 << len(bits)
                if not kill & bit:
                    use |= bit
                continue
            for name in step.writes:
                bit = bits.get(name)
                if bit is None:
                    bit = bits[name] = 1 << len(bits)
                kill |= bit
        uses.append(use)
        kills.append(kill)
    return _fixpoint(flow, uses, kills, known, _special(bits)), bits


def _special(bits: dict[str, int]) -> int:
    """Special registers, which are never written."""
    from ptxgen.instructions.special import SPECIAL

    return sum(bit for name, bit in bits.items() if name in SPECIAL)


def _fixpoint(flow: Flow, uses: list[int], kills: list[int], known: int, special: int) -> list[int]:
    blocks = flow.blocks
    live = list(uses)
    befores = flow.befores
    waiting = list(range(len(blocks)))
    queued = [True] * len(blocks)
    while waiting:
        number = waiting.pop()
        queued[number] = False
        out = 0
        for after, _ in blocks[number].exits:
            out |= live[after]
        new = uses[number] | (out & ~kills[number])
        if new != live[number]:
            live[number] = new
            for before in befores[number]:
                if not queued[before]:
                    queued[before] = True
                    waiting.append(before)
    return [mask & ~known & ~special for mask in live]


# ---- one register -----------------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """A path on which the register is not written: what guards have decided on it, and which of these decisions passed a write by."""

    known: frozenset[Literal]
    passed: tuple[Literal | None, ...]


def _walk(flow: Flow, name: str, live: list[bool]) -> Unwritten | None:
    """The read that a path reaches without a write, passing as few writes by as possible, a copy last of all; None where no path does."""
    guards = Counter(step.guard[0] for step in flow.steps if step.guard is not None)
    asked = {guard for guard, times in guards.items() if times > 1}
    writing = _leading(flow, [number for number, block in enumerate(flow.blocks) if _writes(flow, block, name)])
    seen: set[tuple[int, frozenset[Literal]]] = set()
    waiting: deque[tuple[int, _Way]] = deque([(0, _Way(frozenset(), ()))])
    found: Unwritten | None = None
    copies: list[Unwritten] = []
    while waiting:
        number, way = waiting.popleft()
        if (number, way.known) in seen or not live[number] or (found is not None and len(way.passed) >= len(found.passed)):
            continue
        if len(seen) >= _STATES:
            return None
        seen.add((number, way.known))
        outcome = _through(flow, number, name, way, asked, copies)
        if isinstance(outcome, Unwritten):
            if found is None or len(outcome.passed) < len(found.passed):
                found = outcome
            continue
        exits = flow.blocks[number].exits
        written = [after for after, _ in exits if after in writing]
        for after, literal in exits:
            around = any(not live[other] or after not in writing for other in written)  # another way on from here writes it
            if live[after] and outcome is not None and (literal is None or (literal[0], not literal[1]) not in outcome.known):
                known = outcome.known | {literal} if literal is not None and literal[0] in asked else outcome.known
                if around:
                    waiting.append((after, _Way(known, (*outcome.passed, literal))))
                else:
                    waiting.appendleft((after, _Way(known, outcome.passed)))
    return found or min(copies, key=lambda one: len(one.passed), default=None)


def _copies(step: Step) -> bool:
    """Whether all that comes of what a step reads is the same in another register."""
    match = step.plan.match
    return match is not None and match.entry.name == "mov" and len(step.reads) == 1


def _writes(flow: Flow, block: Block, name: str) -> bool:
    return any(name in step.writes for step in flow.steps[block.start : block.end])


def _leading(flow: Flow, blocks: list[int]) -> set[int]:
    """The blocks from which some path leads to one of these."""
    found = set(blocks)
    waiting = list(blocks)
    while waiting:
        for before in flow.befores[waiting.pop()]:
            if before not in found:
                found.add(before)
                waiting.append(before)
    return found


def _through(flow: Flow, number: int, name: str, way: _Way, asked: set[str], copies: list[Unwritten]) -> Unwritten | _Way | None:
    """A way at the end of a block; the read that it reaches; or None where the register is written on it. Mere copies are added up."""
    start, end, _ = flow.blocks[number]
    known, passed = way
    for step in flow.steps[start:end]:
        guard = step.guard
        never = None if guard is None else (guard[0], not guard[1])
        if guard is not None and guard[0] == name:
            return Unwritten(name, step, passed)
        if name in step.reads and never not in known:
            if not _copies(step):
                return Unwritten(name, step, passed)
            copies.append(Unwritten(name, step, passed, copied=True))
        if name in step.writes:
            if never is None or guard in known:
                return None
            if never not in known:
                known, passed = known | {never}, (*passed, never)
        changed = asked.intersection(step.writes)
        if changed:
            known = frozenset(one for one in known if one[0] not in changed)
    return _Way(known, passed)
