"""From one register layout to another: moves and byte permutations, shuffles, or a round through shared memory, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ptxgen.instructions.arguments import ELEMENT
from ptxgen.instructions.types import Type
from ptxgen.layouts.arguments import COUNT, LAYOUT, TEXT, takes
from ptxgen.layouts.banks import WARP
from ptxgen.layouts.errors import Impossible, LayoutError
from ptxgen.layouts.layout import Layout, as_layout
from ptxgen.layouts.search import Stream, Turn, exchange, gather, smallest_conflict, wants
from ptxgen.layouts.spec import Shard
from ptxgen.solve.shared import SharedPlan
from ptxgen.solve.steps import Program, Step, simulate
from ptxgen.solve.through import Route, routes

__all__ = ["ConvertPlan", "convert"]


class ConvertPlan(NamedTuple):
    """How values get from one register tile into another.

    ``plan.apply(source, destination)`` inside a kernel emits `steps`, no other instruction. A plan through shared memory takes the tile as
    well: ``plan.apply(source, destination, px.shared(**plan.tile))``.

    Attributes
    ----------
    kind : str
        ``"registers"``: every value stays in its thread; ``"shuffles"``: in its warp; ``"shared"``.
    steps : tuple of Step
        The instructions of a thread; ``s0, s1, ...`` are the source's registers, ``d0, ...`` the destination's. Through shared memory the
        two tile operations, and the barrier between them.
    cost : int
        Moves, selections and permutations count 1, shuffles and wavefronts of a warp 2, a barrier of the warp 16, of the block 32.
    others : tuple of (str, int)
        The ways that would have been dearer, and their costs.
    source, destination : Layout
    dtype : Type
    containers : tuple of Type
        The registers of both.
    threads : int
    scope : str
    """

    kind: str
    steps: tuple[Step, ...]
    cost: int
    others: tuple[tuple[str, int], ...]
    source: Layout
    destination: Layout
    dtype: Type
    containers: tuple[Type, Type]
    threads: int
    scope: str
    route: Route | None = None

    @property
    def shared(self) -> SharedPlan | None:
        """Where the values lie between, in a plan through shared memory."""
        return self.route.plan if self.route is not None else None

    @property
    def tile(self) -> dict[str, Any]:
        """Arguments of `px.shared` in a plan through shared memory; at scope "warp" each warp needs a tile of its own."""
        return dict(self.route.plan.tile) if self.route is not None else {}

    @property
    def same(self) -> bool:
        """Whether both tiles hold everything in the same registers: then nothing needs to move."""
        numbers = [str(step.operands[0])[1:] for step in self.steps]
        return all(step.operands == (f"d{number}", f"s{number}") for step, number in zip(self.steps, numbers))

    def apply(self, source: Any, destination: Any, through: Any = None) -> None:
        """Emit the instructions of the plan.

        Parameters
        ----------
        source, destination : View
            Register tiles with the plan's layouts, element type and containers, in registers of their own.
        through : View, optional
            The shared tile. Whatever reads it before or writes it behind is the kernel's to order.

        Raises
        ------
        LayoutError
            For other tiles.
        """
        from ptxgen.solve.emit import emitted

        emitted(self, source, destination, through)

    def check(self) -> None:
        """Prove it: the instructions are followed with numbers in all registers of a warp, or the accesses to shared memory are proved.

        Raises
        ------
        LayoutError
            With the first register that would hold something else.
        """
        if self.route is not None:
            self.route.check()
            return
        problem = _Problem(self.source, self.destination, self.dtype, self.containers, self.threads)
        _check(problem, self.steps)

    def __str__(self) -> str:
        lines = [f"convert {self.dtype.name} by {self.threads} threads: {self.kind}, {len(self.steps)} instructions, cost {self.cost}"]
        lines += [f"  from: {self.source!r}", f"  to: {self.destination!r}"]
        if self.same:
            lines.append("  nothing needs to move: the source or a view of it is the destination; apply() copies it into another tile")
        if self.route is not None:
            lines += [f"  {line}" for line in str(self.route.plan).splitlines()]
        most = len(self.steps) if len(self.steps) <= _PRINTED else _PRINTED // 2
        lines += [f"  {step}" for step in self.steps[:most]]
        if most < len(self.steps):
            lines.append(f"  ... {len(self.steps) - most} more: plan.steps")
        lines += [f"  dearer: {kind}, cost {cost}" for kind, cost in self.others]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


@takes(source=LAYOUT, destination=LAYOUT, dtype=ELEMENT, container=ELEMENT, into=ELEMENT, threads=COUNT, scope=TEXT)
def convert(
    source: Layout | Shard,
    destination: Layout | Shard,
    dtype: Type,
    *,
    container: Type | None = None,
    into: Type | None = None,
    threads: int | None = None,
    scope: str | None = None,
) -> ConvertPlan:
    """The cheapest way to have the elements of one register tile in the layout of another.

    Three ways are tried: registers of the thread alone, shuffles of the warp (one word of each lane a round, turned inside the lanes before
    and behind it, or gathered word by word), and shared memory laid out by `px.solve.shared`. Nothing is emitted.

    Parameters
    ----------
    source, destination : Layout or S[...]
        Of one shape, in elements. Where the source has replicas, any of them is read; where the destination has, all are written.
    dtype : Type
    container, into : Type, optional
        The registers of the source, and of the destination where they are others; the element's own by default.
    threads : int, optional
        Threads of the scope; as many as the layouts name by default.
    scope : {"warp", "cta"}, optional
        Whose tiles they are: "warp" where no thread beyond the 32nd is named.

    Returns
    -------
    ConvertPlan

    Raises
    ------
    Impossible
        With the smallest set of facts that together no way serves.
    LayoutError
        For layouts of different shapes, or ones that put two elements into one register.
    """
    held = container or dtype
    problem = _Problem(as_layout(source), as_layout(destination), dtype, (held, into or held), threads)
    scope = scope or ("warp" if problem.threads <= WARP else "cta")
    ways: list[tuple[str, tuple[Step, ...], int, Route | None]] = []
    kind, obstacle = "shuffles" if problem.crosses[0] else "registers", ""
    direct = _exchanged(problem) or _moved(problem)
    if direct is not None:
        ways.append((kind, tuple(direct.steps), direct.price, None))
    for memory in (True, False) if problem.merges > _FEW else (False, True):  # the way that may be long to search is tried last
        if direct is not None and not problem.crosses[0]:
            break
        if memory:
            route, obstacle = routes(problem.source, problem.destination, dtype, problem.containers, problem.threads, scope, _least(ways))
            if route is not None:
                ways.append(("shared", route.steps, route.cost, route))
        elif (gathered := _gathered(problem, _least(ways))) is not None:
            ways.append((kind, tuple(gathered.steps), gathered.price, None))
    if not ways:
        raise _impossible(problem, obstacle)
    (name, steps, cost, found), *dearer = sorted(ways, key=lambda one: one[2])
    others = {other: price for other, _, price, _ in reversed(dearer) if other != name}
    return ConvertPlan(
        name, steps, cost, tuple(others.items()), problem.source, problem.destination, dtype, problem.containers, problem.threads, scope,
        found,
    )  # fmt: skip


_FEW = 16
"""Instructions of a program that is searched for before a way through shared memory."""

_PRINTED = 64
"""Instructions of a plan that are all printed; of more, the first half as many are."""


def _least(ways: Sequence[tuple[Any, ...]]) -> int | None:
    return min((cost for _, _, cost, _ in ways), default=None)


# ---- what goes where ---------------------------------------------------------------------------------------------------


class _Problem:
    """The two layouts as numbers: for every unit of the destination's words where it comes from.

    A word is 32 bits, or a narrower register; a unit is what stays together: an element, 32 bits of a wider one, a byte of narrower ones.
    """

    def __init__(self, source: Layout, destination: Layout, dtype: Type, containers: tuple[Type, Type], threads: int | None) -> None:
        self.source, self.destination = source, destination
        self.dtype, self.containers = dtype, containers
        if source.shape != destination.shape:
            raise LayoutError(f"a layout of shape {source.shape} is converted into one of shape {destination.shape}", legal="one shape")
        for held in containers:
            if held.bits not in (8, 16, 32, 64) or held.bits % dtype.bits:
                raise LayoutError(
                    f"elements of .{dtype.name} in registers of .{held.name}", legal="registers of 8 to 64 bits that hold whole elements"
                )
        here, there = (_located(layout, dtype.bits) for layout in (source, destination))
        most = int(max(here[0].max(), there[0].max())) + 1
        self.threads = most if threads is None else threads
        if self.threads < most:
            raise LayoutError(f"the layouts name thread {most - 1} of {self.threads}", legal=f"threads={most} or more")
        self.unit = min(32, max(8, dtype.bits))
        self.broken = False
        self.want = self._wanted(here, there)

    def _wanted(self, here: tuple[np.ndarray, np.ndarray], there: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """(threads, words, units, 3) of the destination, threads filled up to whole warps."""
        elements = there[0].shape[-1]
        owners, places = (np.broadcast_to(one, (len(here[0]), elements)) for one in here)
        near = 2 * (owners[:, None] == there[0]) + (owners[:, None] // WARP == there[0] // WARP)  # (copy here, copy there, element)
        best = near.argmax(axis=0)
        each = np.arange(elements)
        moved = [owners[best, each].ravel(), places[best, each].ravel(), there[0].ravel(), there[1].ravel()]
        self._check_bytes(moved)
        parts = max(1, self.dtype.bits // self.unit)
        sent, at, received, to = (np.repeat(one, parts) for one in moved)
        step = np.tile(np.arange(parts) * self.unit, len(moved[0]))
        (word, unit), (target, place) = (self._split(bits + step, held) for bits, held in zip((at, to), self.containers))
        shape = (-(-self.threads // WARP) * WARP, int(target.max()) + 1, self.units)
        return wants((sent, word, unit), (received, target, place), shape)

    def _check_bytes(self, moved: list[np.ndarray]) -> None:
        """Elements below a byte move with their byte or not at all."""
        if self.dtype.bits < 8:
            sent, at, received, to = moved
            whole = np.unique(np.stack([received, to // 8, sent, at // 8, (at - to) % 8], axis=-1), axis=0)
            places = np.unique(whole[:, :2], axis=0)
            self.broken = len(places) != len(whole) or bool(whole[:, 4].any())
            if self.broken:
                raise Impossible(
                    f"no instructions move elements of {self.dtype.bits} bits so",
                    [f"elements of .{self.dtype.name} leave their byte", "registers are permuted, shuffled and stored in whole bytes"],
                    legal="a layout in which the elements of a byte stay together",
                )

    @property
    def units(self) -> int:
        """Of a word."""
        return max(1, min(32, max(held.bits for held in self.containers)) // self.unit)

    def _split(self, bits: np.ndarray, held: Type) -> tuple[np.ndarray, np.ndarray]:
        """The word that a bit lies in, and the unit."""
        width = min(32, held.bits)
        return bits // width, bits % width // self.unit

    @cached_property
    def crosses(self) -> tuple[bool, bool, bool]:
        """Whether values change their thread, or their warp; whether warps do different things."""
        sender = self.want[..., 0]
        own = np.arange(len(sender))[:, None, None]
        wanted = sender >= 0
        threads = bool((wanted & (sender != own)).any())
        warps = bool((wanted & (sender // WARP != own // WARP)).any())
        return threads, warps, self.warp is None and not warps

    @cached_property
    def merges(self) -> int:
        """Instructions at least that join words of the source, where they are gathered: each word of the destination has several."""
        numbers = self.want[..., 1].swapaxes(0, 1).reshape(self.want.shape[1], -1)
        return sum(max(0, len(np.unique(one[one >= 0])) - 1) for one in numbers)

    @cached_property
    def warp(self) -> np.ndarray | None:
        """The want of one warp, where all do the same: (32, words, units, 3)."""
        return _one_warp(self.want)


def _one_warp(want: np.ndarray) -> np.ndarray | None:
    warps = want.reshape(-1, WARP, *want.shape[1:]).copy()
    own = np.arange(len(warps)).reshape(-1, 1, 1, 1)
    if ((warps[..., 0] >= 0) & (warps[..., 0] // WARP != own)).any():
        return None
    warps[..., 0] -= np.where(warps[..., 0] >= 0, WARP * own, 0)
    busy = warps[(warps[..., 0] >= 0).any(axis=(1, 2, 3))]
    return busy[0] if (busy == busy[:1]).all() else None


def _located(layout: Layout, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Threads and bit positions: (replicas, elements)."""
    if layout.swizzle is not None or layout.symbols or not layout.is_static:
        raise LayoutError(f"{layout!r} is no layout of registers", legal="ints as extents and strides, and no swizzle")
    full = layout.expand_replicas()
    table = (full if full.unit == "bit" else full.bind(bits)).table()
    if table.axes or (int(table.m.min()) < 0):
        raise LayoutError(f"{layout!r} is no layout of registers of a block", legal="thread axes, and positions from 0 on")
    owner = np.zeros(table.shape, np.int64) if table.thread is None else table.thread
    return owner.reshape(-1, layout.size), table.m.reshape(-1, layout.size)


# ---- programs ----------------------------------------------------------------------------------------------------------


def _moved(problem: _Problem) -> Program | None:
    """Whole registers that all lanes move alike."""
    want, (held, into) = problem.warp, problem.containers
    if want is None or problem.crosses[0] or held.bits != into.bits:
        return None
    ratio = max(1, held.bits // 32)
    program = Program()
    pairs = []
    for register in sorted({int(word) // ratio for word in np.flatnonzero((want[..., 0] >= 0).any(axis=(0, 2)))}):
        part = want[:, register * ratio : (register + 1) * ratio]
        wanted = part[..., 0] >= 0
        origin = np.unique(part[..., 1][wanted] // ratio)
        halves = np.arange(part.shape[1])[:, None]
        kept = (part[..., 2] == np.arange(part.shape[2])) & (part[..., 1] % ratio == halves)
        if len(origin) != 1 or not kept[wanted].all():
            return None
        pairs.append((f"d{register}", f"s{int(origin[0])}"))
    program.bind(pairs, f"mov.b{held.bits}" if held.bits > 8 else "cvt.u8.u8")  # the ISA moves no bytes
    return program


def _exchanged(problem: _Problem) -> Program | None:
    """As many shuffles as words, the words turned inside the lanes before and behind them."""
    want = problem.warp
    swapped = exchange(want) if want is not None and problem.crosses[0] and problem.threads % WARP == 0 else None
    if swapped is None or want is None:
        return None
    words = _Words(problem)
    values = [words.source(number) for number in range(want.shape[1])]
    values = _turned(words.program, values, swapped.before)
    values = [words.program.shuffle(one, lanes.tolist()) for one, lanes in zip(values, swapped.rounds)]
    words.finish(dict(enumerate(_turned(words.program, values, swapped.after))))
    return words.program


def _turned(program: Program, values: list[str], turns: Sequence[Turn]) -> list[str]:
    for turn in turns:
        values = [str(program.choose(turn.lanes, values[turn.order[at]], one)) for at, one in enumerate(values)]
    return values


class _Words:
    """A program over words, whatever the registers of the tiles are."""

    def __init__(self, problem: _Problem) -> None:
        self.held, self.into = problem.containers
        self.bytes = problem.unit // 8
        self.program = Program()

    def source(self, word: int) -> str:
        """The register that holds a word of the source."""
        bits = self.held.bits
        if bits == 32:
            return f"s{word}"
        if bits < 32:
            return self.program.emit(f"cvt.u32.u{bits}", f"s{word}")
        return self.program.halves(f"s{word // 2}")[word % 2]

    def finish(self, values: dict[int, str]) -> None:
        """Have the words of the destination in its registers."""
        bits = self.into.bits
        if bits == 32:
            self.program.bind([(f"d{word}", value) for word, value in values.items()])
        elif bits < 32:
            self.program.steps += [Step(f"cvt.u{bits}.u32", (f"d{word}", value)) for word, value in values.items()]
        else:
            for register in sorted({word // 2 for word in values}):
                low, high = (values.get(2 * register + half) or values[2 * register + 1 - half] for half in range(2))
                self.program.steps.append(Step("mov.b64", (f"d{register}", (low, high))))


def _gathered(problem: _Problem, below: int | None) -> Program | None:
    """Each word gathered out of those of other lanes that it is made of; None where that can't cost less than `below`."""
    want = problem.warp
    if want is None or (problem.crosses[0] and problem.threads % WARP):
        return None
    if below is not None and problem.merges >= below:
        return None
    gathered, programs = gather(want), []
    joins = any(len({one.lanes.tobytes() for one in streams}) < len(streams) for streams in gathered.words)
    for packed in (False, True) if joins else (False,):
        words = _Words(problem)
        words.finish({
            number: _merged(words, streams, want.shape[2], packed) for number, streams in enumerate(gathered.words) if streams
        })  # fmt: skip
        programs.append(words.program)
    return min(programs, key=lambda one: one.price)


def _packed(words: _Words, streams: Sequence[Stream], units: int) -> tuple[str, np.ndarray] | None:
    """What streams from the same lanes bring, put into one word before it is sent, and the picks of it; None where it has no room."""
    parts = [np.unique(one.picks[one.picks >= 0]) for one in streams]
    if sum(map(len, parts)) > units:
        return None
    picks, total, filled = np.full((WARP, units), -1), "", 0
    held = np.arange(units)
    for stream, part in zip(streams, parts):
        word, ends = words.source(stream.word), filled + len(part)
        if total:
            chosen = np.where(np.arange(units) < filled, held, -1)
            chosen[filled:ends] = part + units
            total = words.program.permute(total, word, np.tile(chosen, (WARP, 1)), words.bytes)
        for to, unit in enumerate(part.tolist(), filled):
            picks = np.where(stream.picks == unit, to, picks)
        held = np.arange(units) if total else np.concatenate([part, held[len(part) :]])
        total, filled = total or word, ends
    return words.program.shuffle(total, streams[0].lanes.tolist()), picks


def _brought(words: _Words, streams: Sequence[Stream], units: int, packed: bool) -> Iterator[tuple[str, np.ndarray]]:
    """The words that arrive, and which units of them are wanted: one for each stream, or, packed, for each table of lanes."""
    alike: dict[bytes, list[Stream]] = {}
    for stream in streams:
        alike.setdefault(stream.lanes.tobytes(), []).append(stream)
    for several in alike.values():
        found = _packed(words, several, units) if packed and len(several) > 1 else None
        if found is not None:
            yield found
            continue
        for stream in several:
            yield words.program.shuffle(words.source(stream.word), stream.lanes.tolist()), stream.picks


def _merged(words: _Words, streams: Sequence[Stream], units: int, packed: bool) -> str:
    """One word of the destination out of what each stream brings."""
    program, place = words.program, np.arange(units)
    total, picks = "", np.full((WARP, units), -1)
    for brought, wanted in _brought(words, streams, units, packed):
        fresh = wanted >= 0
        if not total:
            total, picks = brought, wanted
            continue
        lanes = fresh.any(axis=-1)
        in_place = all((one[one >= 0] == np.broadcast_to(place, one.shape)[one >= 0]).all() for one in (picks, wanted))
        if in_place and not (lanes & (picks >= 0).any(axis=-1)).any():
            total = str(program.choose(sum(1 << int(at) for at in np.flatnonzero(lanes)), brought, total))
        else:
            total = program.permute(total, brought, np.where(fresh, wanted + units, picks), words.bytes)
        picks = np.where(fresh | (picks >= 0), place, -1)
    if (picks[picks >= 0] != np.broadcast_to(place, picks.shape)[picks >= 0]).any():
        total = program.permute(total, total, picks, words.bytes)
    return total


# ---- proofs and refusals -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _numbers(words: int, bits: int) -> np.ndarray:
    """Different contents of all lanes' words, as far as there are: (32, words)."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 1 << min(bits, 62), (WARP, words), dtype=np.int64).astype(np.uint64)


def _check(problem: _Problem, steps: Sequence[Step]) -> None:
    want = problem.warp
    assert want is not None
    held, into = problem.containers
    unit, mask = problem.unit, np.uint64((1 << problem.unit) - 1)
    ratio = max(1, held.bits // 32)
    registers = (int(want[..., 1].max()) // ratio) + 1
    contents = _numbers(registers, held.bits)
    found = simulate(steps, {f"s{number}": contents[:, number] for number in range(registers)})
    for lane, word, place in np.argwhere(want[..., 0] >= 0).tolist():
        sender, number, pick = (int(one) for one in want[lane, word, place])
        low = np.uint64(number % ratio * 32 + pick * unit)
        wanted = contents[sender, number // ratio] >> low & mask
        across = max(1, into.bits // 32)
        got = found[f"d{word // across}"][lane] >> np.uint64(word % across * 32 + place * unit) & mask
        if wanted != got:
            raise LayoutError(f"register d{word // across} of lane {lane} would not hold unit {pick} of word {number} of lane {sender}")


def _impossible(problem: _Problem, obstacle: str) -> Impossible:
    """Which facts of the two layouts no way serves together. The ways: registers alone, shuffles, shared memory."""
    threads, warps, differing = problem.crosses
    partial = bool(problem.threads % WARP)
    facts = [
        ("values change threads", threads, (False, not partial, True)),
        ("values change warps", warps, (False, False, True)),
        ("warps exchange values in different ways", differing, (False, False, True)),
        (f"the {problem.threads} threads are no whole warps", partial and threads, (True, False, True)),
        (obstacle, bool(obstacle), (True, True, False)),
    ]
    known = [(text, serves) for text, holds, serves in facts if holds]
    table = np.array([serves for _, serves in known]).T
    return Impossible(
        "no instructions convert these layouts", [known[at][0] for at in smallest_conflict(table)],
        legal="layouts that pack neighbours along one axis and name every thread once",
    )  # fmt: skip


