"""Instructions that a whole warp or warpgroup executes together: threads that come first wait for the others of their unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text
from ptxgen.emulator.schedule import Group
from ptxgen.emulator.threads import WARP
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.lowering import Control, Lowering
    from ptxgen.emulator.machine import Wave

__all__ = ["WARPGROUP", "Rendezvous", "together"]

WARPGROUP = 4 * WARP


def together(low: Lowering, size: int, act: Callable[[Wave, Frame, Array], None]) -> Control:
    """An instruction that the threads of a warp or warpgroup execute together, once all have come: `act(wave, frame, threads)`."""
    assert isinstance(low.statement, Instruction)
    statement = low.statement

    def arrive(wave: Wave, group: Group) -> list[Group]:
        ready = wave.rendezvous.arrive(group, size, statement)
        if ready is None:
            return []
        act(wave, wave.frame(ready), wave.indices(ready.index))
        return [ready.at(ready.pc + 1)]

    return arrive


class _Waiting:
    __slots__ = ("group", "size", "statement")

    def __init__(self, group: Group, size: int, statement: Instruction) -> None:
        self.group = group
        self.size = size
        self.statement = statement


class Rendezvous:
    """Who waits for the rest of a unit, by the place where they wait."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        self._waiting: dict[tuple[int, int, int], _Waiting] = {}

    def arrive(self, group: Group, size: int, statement: Instruction) -> Group | None:
        """Threads come to an instruction for units of `size` threads of a block.

        Returns
        -------
        Group or None
            The threads of complete units, in order; the others wait. Exited threads are not waited for.
        """
        wave = self._wave
        key = group.depth, group.code.number, group.pc
        waiting = self._waiting.get(key)
        if waiting is None and group.index is None:
            return group
        index = wave.indices(group.index)
        if waiting is not None:
            index = np.sort(np.concatenate((waiting.group.index, index)))
        unit = wave.threads.unit(size)
        there = np.bincount(unit[index], minlength=int(unit[-1]) + 1)
        wanted = np.bincount(unit, wave.alive, len(there)).astype(np.int64)
        complete = (there == wanted)[unit[index]]
        if complete.all():
            self._waiting.pop(key, None)
            return group.part(index)
        self._waiting[key] = _Waiting(group.part(index[~complete]), size, statement)
        return group.part(index[complete]) if complete.any() else None

    def report_stuck(self) -> None:
        """Nobody can run: report those who wait."""
        wave = self._wave
        for waiting in self._waiting.values():
            index = waiting.group.index
            unit = wave.threads.unit(waiting.size)
            first = unit[index[0]]
            here = index[unit[index] == first]
            missing = np.flatnonzero((unit == first) & wave.alive)
            missing = missing[~np.isin(missing, here)]
            name = "warp" if waiting.size == WARP else "warpgroup"
            others = index_text(wave.threads.name(int(missing[0]))[1])
            message = (
                f"only {len(here)} of the {len(here) + len(missing)} living threads of a {name} come here, "
                f"and all of them must: thread {others} does not"
            )
            wave.reports.add("collective", message, waiting.statement, wave.threads, index)

    def after_exit(self) -> list[Group]:
        """Threads have exited: groups that waited for them alone come back to their instruction."""
        free = []
        for key, waiting in list(self._waiting.items()):
            unit = self._wave.threads.unit(waiting.size)
            index = waiting.group.index
            there = np.bincount(unit[index], minlength=int(unit[-1]) + 1)
            wanted = np.bincount(unit, self._wave.alive, len(there)).astype(np.int64)
            complete = (there == wanted)[unit[index]]
            if complete.any():
                free.append(waiting.group.part(index[complete]))
                waiting.group = waiting.group.part(index[~complete])
                if complete.all():
                    del self._waiting[key]
        return free

    def whole(self, index: Array, size: int) -> tuple[Array, Array]:
        """Threads of complete units as they lie: those of units with all their `size` threads, and the rest."""
        unit = self._wave.threads.unit(size)[index]
        there = np.bincount(unit)
        full = (there == size)[unit]
        return index[full], index[~full]
