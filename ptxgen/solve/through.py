"""The way of a conversion through shared memory: views of both register tiles, and where the values lie between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from itertools import product as combinations
from math import prod
from typing import NamedTuple

from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts.axes import m, tx
from ptxgen.layouts.banks import WARP
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.solve.arrangement import Arrangement, braced
from ptxgen.solve.shared import Access, SharedPlan, fitted
from ptxgen.solve.steps import Step

__all__ = ["Route", "routes"]

_BARRIER = {"warp": 16, "cta": 32}
_WIDEST = 128  # bits of one access


class Route(NamedTuple):
    """Stores, a barrier, loads.

    Attributes
    ----------
    plan : SharedPlan
    store, load : str
        The opcodes.
    stored, loaded : Arrangement
        The views of tile and registers: (threads, repeats, atom).
    cost : int
        For each warp.
    source, destination : Layout
        Of the registers, in bits.
    bits : int
        Of an element.
    scope : str
    loose : pair of bool
        Whether the source is unpacked before it is stored, the destination packed after it is loaded.
    """

    plan: SharedPlan
    store: str
    load: str
    stored: Arrangement
    loaded: Arrangement
    cost: int
    source: Layout
    destination: Layout
    bits: int
    scope: str
    loose: tuple[bool, bool] = (False, False)

    def parted(self, side: int) -> tuple[Step, ...]:
        """What unpacks the source's registers (side 0), or packs the destination's (1): u0, u1, ... and v0, ... hold one element each."""
        if not self.loose[side]:
            return ()
        layout, each = (self.source, self.destination)[side], 32 // self.bits
        steps = []
        for word in range(int(layout.table().m.max()) // 32 + 1):
            parts = tuple(f"{'uv'[side]}{word * each + at}" for at in range(each))
            steps.append(Step("mov.b32", (parts, f"s{word}") if side == 0 else (f"d{word}", parts)))
        return tuple(steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is emitted: the two tile operations and the barrier between them, and what unpacks and packs."""
        barrier = Step("bar.warp.sync", (0xFFFFFFFF,)) if self.scope == "warp" else Step("bar.sync", (0,))
        here, there = ("u" if self.loose[0] else "source"), ("v" if self.loose[1] else "destination")
        return (
            *self.parted(0),
            Step(self.store, (f"tile{self.stored}", f"{here}{self.stored}")),
            barrier,
            Step(self.load, (f"{there}{self.loaded}", f"tile{self.loaded}")),
            *self.parted(1),
        )

    def check(self) -> None:
        """Prove that each thread stores and loads registers that it owns, the same ones as its neighbours, and the accesses."""
        self.plan.check()
        for views, layout in ((self.stored, self.source), (self.loaded, self.destination)):
            table = views.on(layout, self.bits)[0].table()
            own = 0 if table.thread is None else table.thread.reshape(table.shape[0], -1)
            threads = [[number] for number in range(table.shape[0])]
            if (own != threads).any() or (table.m != table.m[:1]).any():  # type: ignore[union-attr]
                raise LayoutError(f"{views} names registers of another thread")


class _Digit(NamedTuple):
    """A physical dimension of a register layout, by its name in a pattern."""

    name: str
    extent: int
    step: int


class _Side:
    """One register tile: its axes as digits of threads and of registers."""

    def __init__(self, layout: Layout, dtype: Type, held: Type, threads: int) -> None:
        self.dtype, self.held = dtype, held
        self.axes: list[list[str]] = []
        self.sizes: dict[str, int] = {}
        self.threads: list[_Digit] = []
        self.registers: list[_Digit] = []
        canonical = layout.canonical()
        self.obstacle = "registers have replicas, which views can't spell" if layout.replica_dims or canonical.offset[tx] else ""
        for axis, dims in enumerate(canonical.dims):
            names = []
            for at, (extent, step) in enumerate(dims):
                digit = _Digit(f"{chr(ord('a') + axis)}{at}", int(extent), 0)  # type: ignore[arg-type]
                names.append(digit.name)
                self.sizes[digit.name] = digit.extent
                parts = dict(step.parts)
                if len(parts) != 1 or min(parts.values()) < 1:  # type: ignore[type-var, operator]
                    self.obstacle = self.obstacle or "an axis of a register tile steps along threads and registers at once, or along none"
                    continue
                (along, size), = parts.items()  # fmt: skip
                (self.registers if along is m else self.threads).append(digit._replace(step=int(size)))  # type: ignore[arg-type]
            self.axes.append(names)
        self.threads.sort(key=lambda one: -one.step)
        self.registers.sort(key=lambda one: -one.step)
        reach = 1
        for digit in reversed(self.threads):
            if digit.step != reach:
                self.obstacle = self.obstacle or "a register tile names threads that hold nothing, or the same"
            reach *= digit.extent
        if reach != threads:
            self.obstacle = self.obstacle or f"a register tile lies in {reach} of {threads} threads"

    @property
    def words(self) -> int:
        """Registers of 32 bits that the elements fill."""
        return -(-prod(one.extent for one in self.registers) * self.dtype.bits // 32)

    def vectors(self) -> list[int]:
        """Elements that one access may take, most first: words of the registers, along one axis of the tile."""
        packed = self.held.bits // self.dtype.bits
        run = self.registers[-1].extent if self.registers and self.registers[-1].step == 1 else 1
        counts = [packed * words for words in (4, 2, 1) if packed * words * self.dtype.bits <= _WIDEST]
        return [count for count in counts if run % count == 0]

    def _dims(self, axis: int) -> Iterator[tuple[int, _Digit, bool]]:
        """An axis' digits from the innermost on: where each begins, and whether it counts threads."""
        known = {one.name: (one, counts) for ones, counts in ((self.threads, True), (self.registers, False)) for one in ones}
        low = 1
        for name in reversed(self.axes[axis]):
            yield low, *known[name]
            low *= known[name][0].extent

    def _served(self, count: int) -> int:
        """Lanes that a wavefront serves."""
        return max(1, min(WARP, 1024 // (count * self.dtype.bits)))

    def cuts(self, axis: int, count: int) -> set[int]:
        """Where an axis is cut: between digits, behind a vector, and behind the lanes that a wavefront serves."""
        found = {1}
        for low, digit, threads in self._dims(axis):
            end = self._served(count) if threads else count if digit == self.registers[-1] else digit.step
            if end % digit.step == 0 and digit.extent % (end // digit.step) == 0:
                found.add(low * max(1, end // digit.step))
            found.add(low * digit.extent)
        return found

    def _step(self, axis: int, at: int) -> tuple[int, bool]:
        """How far the digit that begins at `at` steps, and whether along threads."""
        for low, digit, threads in self._dims(axis):
            if low <= at < low * digit.extent:
                return digit.step * (at // low), threads
        return 0, False  # an axis of one element

    def is_lane(self, axis: int, at: int, count: int) -> bool:
        """Whether a digit is one of the lanes that a wavefront serves."""
        step, threads = self._step(axis, at)
        return threads and step < self._served(count)

    def in_vector(self, axis: int, at: int, count: int) -> bool:
        """Whether a digit lies inside a vector."""
        step, threads = self._step(axis, at)
        return not threads and 0 < step < count

    @property
    def along(self) -> str:
        """The axis of the tile along which a register's neighbours lie."""
        return self.registers[-1].name[0] if self.registers else ""

    def wavefronts(self, count: int) -> int:
        """Of a warp that stores or loads vectors of so many elements without conflicts."""
        accesses = prod(one.extent for one in self.registers) // count
        return accesses * max(1, count * self.dtype.bits * WARP // 1024)

    def access(self, mnemonic: str, count: int) -> tuple[str, Arrangement]:
        """The opcode, and the views (threads, repeats, words) of vectors of so many elements."""
        last = self.registers[-1].name if count > 1 else ""
        sizes = {name: extent for name, extent in self.sizes.items() if name != last}
        axes = [[part for name in names for part in ((f"{name}r", "v") if name == last else (name,))] for names in self.axes]
        repeats = [f"{one.name}r" if one.name == last else one.name for one in self.registers]
        left = " ".join(map(braced, axes))
        pattern = f"{left} -> {braced([one.name for one in self.threads])} {braced(repeats)} {'v' if last else '1'}"
        views = Arrangement().rearrange(pattern, **sizes, **({"v": count} if last else {}))
        words = count * self.dtype.bits // self.held.bits
        word = TYPES[f"b{self.held.bits}"]
        views = views if self.held.bits == self.dtype.bits else views.retype(word)
        return f"{mnemonic}.shared{f'.v{words}' if words > 1 else ''}.{word.name}", views


def _digits(sides: Sequence[_Side], counts: Sequence[int]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The axes of the tile cut where either side cuts them, and orders in which a swizzle can serve both sides.

    What one wavefront takes lies lowest: the vector, the lanes of one side alone, those of both. The lanes of the other side alone come
    next, so that one XOR brings them down onto the first ones.
    """
    cuts = [sorted(set().union(*(side.cuts(axis, count) for side, count in zip(sides, counts)))) for axis in range(len(sides[0].axes))]
    whole = tuple(one[-1] for one in cuts)
    if any(high % low for one in cuts for low, high in pairwise(one)):
        return whole, []
    digits = [(axis, low, high // low) for axis, one in enumerate(cuts) for low, high in reversed(list(pairwise(one)))]
    lanes = [[side.is_lane(axis, low, count) for axis, low, _ in digits] for side, count in zip(sides, counts)]
    vector = [any(side.in_vector(axis, low, count) for side, count in zip(sides, counts)) for axis, low, _ in digits]
    orders = []
    for here, there in (lanes, lanes[::-1]):
        ranks = [4 if joined else 3 if a and not b else 2 if a else 1 if b else 0 for joined, a, b in zip(vector, here, there)]
        orders.append(tuple(sorted(range(len(digits)), key=lambda at: (ranks[at], at))))
    return tuple(extent for _, _, extent in digits), list(dict.fromkeys(orders))


def routes(
    source: Layout, destination: Layout, dtype: Type, containers: tuple[Type, Type], threads: int, scope: str, below: int | None
) -> tuple[Route | None, str]:
    """The cheapest way through shared memory, and why there is none; None, too, where it can't cost less than `below`.

    Where the registers of both sides hold neighbours of different axes, one side or both are unpacked, an element a register.
    """
    obstacle = ""
    for loose in ((False, False), (False, True), (True, False), (True, True)):
        held = tuple(dtype if apart else one for apart, one in zip(loose, containers))
        if any(apart and (one.bits != 32 or dtype.bits not in (8, 16)) for apart, one in zip(loose, containers)):
            continue
        sides = [_Side(layout, dtype, one, threads) for layout, one in zip((source, destination), held)]
        obstacle = next((side.obstacle for side in sides if side.obstacle), "")
        if obstacle:
            break
        moves = sum(side.words for side, apart in zip(sides, loose) if apart)
        found = _route(sides, source, destination, threads, scope, below, moves)
        if found is not None:
            return found._replace(loose=loose), ""
    packed = "the registers of both pack elements along different axes of the tile"
    return None, obstacle or ("" if below is not None else packed)


def _route(
    sides: Sequence[_Side], source: Layout, destination: Layout, threads: int, scope: str, below: int | None, moves: int
) -> Route | None:
    dtype = sides[0].dtype
    found: Route | None = None
    for counts in sorted(combinations(*(side.vectors() for side in sides)), key=lambda pair: -prod(pair)):
        if all(count > 1 for count in counts) and len({side.along for side in sides}) > 1:
            continue  # no layout has neighbours along two axes
        least = moves + _BARRIER[scope] + 2 * sum(side.wavefronts(count) for side, count in zip(sides, counts))
        if least >= min((one for one in (below, found.cost if found is not None else None) if one is not None), default=least + 1):
            continue
        (store, stored), (load, loaded) = (side.access(kind, count) for side, kind, count in zip(sides, ("st", "ld"), counts))
        digits, orders = _digits(sides, counts)
        plan = fitted(source.shape, dtype, (Access(store, stored), Access(load, loaded)), threads, digits, orders)
        if plan is None:
            continue
        cost = moves + _BARRIER[scope] + 2 * -(-sum(plan.wavefronts) * WARP // threads)
        if found is None or cost < found.cost:
            here, there = (one.bind(dtype.bits) if one.unit != "bit" else one for one in (source, destination))
            found = Route(plan, store, load, stored, loaded, cost, here, there, dtype.bits, scope)
    return found
