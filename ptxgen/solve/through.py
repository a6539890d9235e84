"""The way of a conversion through shared memory: views of both register tiles, and where the values lie between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as combinations
from math import prod
from typing import NamedTuple

from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts.axes import m, tx
from ptxgen.layouts.errors import Impossible, LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.shared import Access, SharedPlan, shared
from ptxgen.solve.steps import LANES, Step

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

    @property
    def steps(self) -> tuple[Step, ...]:
        """The three things that are emitted."""
        barrier = Step("bar.warp.sync", (0xFFFFFFFF,)) if self.scope == "warp" else Step("bar.sync", (0,))
        return (
            Step(self.store, (f"tile{self.stored}", f"source{self.stored}")),
            barrier,
            Step(self.load, (f"destination{self.loaded}", f"tile{self.loaded}")),
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

    def vectors(self) -> list[int]:
        """Elements that one access may take, most first: words of the registers, along one axis of the tile."""
        packed = self.held.bits // self.dtype.bits
        run = self.registers[-1].extent if self.registers and self.registers[-1].step == 1 else 1
        counts = [packed * words for words in (4, 2, 1) if packed * words * self.dtype.bits <= _WIDEST]
        return [count for count in counts if run % count == 0]

    @property
    def along(self) -> str:
        """The axis of the tile along which a register's neighbours lie."""
        return self.registers[-1].name[0] if self.registers else ""

    def wavefronts(self, count: int) -> int:
        """Of a warp that stores or loads vectors of so many elements without conflicts."""
        accesses = prod(one.extent for one in self.registers) // count
        return accesses * max(1, count * self.dtype.bits * LANES // 1024)

    def access(self, mnemonic: str, count: int) -> tuple[str, Arrangement]:
        """The opcode, and the views (threads, repeats, words) of vectors of so many elements."""
        last = self.registers[-1].name if count > 1 else ""
        sizes = {name: extent for name, extent in self.sizes.items() if name != last}
        axes = [[part for name in names for part in ((f"{name}r", "v") if name == last else (name,))] for names in self.axes]
        repeats = [f"{one.name}r" if one.name == last else one.name for one in self.registers]
        left = " ".join(map(_merged, axes))
        pattern = f"{left} -> {_merged([one.name for one in self.threads])} {_merged(repeats)} {'v' if last else '1'}"
        views = Arrangement().rearrange(pattern, **sizes, **({"v": count} if last else {}))
        words = count * self.dtype.bits // self.held.bits
        word = TYPES[f"b{self.held.bits}"]
        views = views if self.held.bits == self.dtype.bits else views.retype(word)
        return f"{mnemonic}.shared{f'.v{words}' if words > 1 else ''}.{word.name}", views


def _merged(names: Sequence[str]) -> str:
    return f"({' '.join(names)})" if len(names) > 1 else names[0] if names else "1"


def routes(
    source: Layout, destination: Layout, dtype: Type, containers: tuple[Type, Type], threads: int, scope: str, below: int | None
) -> tuple[Route | None, str]:
    """The cheapest way through shared memory, and why there is none; None, too, where it can't cost less than `below`."""
    sides = [_Side(layout, dtype, held, threads) for layout, held in zip((source, destination), containers)]
    obstacle = next((side.obstacle for side in sides if side.obstacle), "")
    choices = [side.vectors() for side in sides]
    if obstacle or not all(choices):
        return None, obstacle or "the elements of a register are no neighbours along an axis of the tile"
    found: Route | None = None
    warps = -(-threads // LANES)
    for counts in sorted(combinations(*choices), key=lambda pair: -prod(pair)):
        if all(count > 1 for count in counts) and len({side.along for side in sides}) > 1:
            continue  # no layout has neighbours along two axes
        least = _BARRIER[scope] + 2 * sum(side.wavefronts(count) for side, count in zip(sides, counts))
        if least >= min((one for one in (below, found.cost if found is not None else None) if one is not None), default=least + 1):
            continue
        (store, stored), (load, loaded) = (side.access(kind, count) for side, kind, count in zip(sides, ("st", "ld"), counts))
        try:
            plan = shared(source.shape, dtype, [Access(store, stored), Access(load, loaded)], threads=threads)
        except Impossible:
            continue
        cost = _BARRIER[scope] + 2 * -(-sum(plan.wavefronts) // warps)
        if found is None or cost < found.cost:
            here, there = (one.bind(dtype.bits) if one.unit != "bit" else one for one in (source, destination))
            found = Route(plan, store, load, stored, loaded, cost, here, there, dtype.bits, scope)
    packed = "the registers of both pack elements along different axes of the tile"
    return found, packed if found is None and below is None else ""
