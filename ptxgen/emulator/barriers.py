"""Barriers of a block and of a cluster: who waits where, and who is released (ISA "bar, barrier", "barrier.cluster")."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.clusters import ClusterBarrier
from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text, place
from ptxgen.emulator.schedule import Group
from ptxgen.emulator.threads import WARP
from ptxgen.ir import Call, Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["BARRIERS", "Barriers", "Reduction"]

BARRIERS = 16
"""Barrier resources of a block."""


class Reduction:
    """What a ``bar.red`` computes: ``popc``, ``and`` or ``or`` of one predicate a thread; `put(group, values)` takes the result."""

    __slots__ = ("operation", "predicate", "put")

    def __init__(self, operation: str, predicate: Array, put: Callable[[Group, Array], None]) -> None:
        self.operation = operation
        self.predicate = predicate
        self.put = put


class _Waiting:
    """Threads that wait in one barrier instruction."""

    __slots__ = ("group", "reduction", "statement")

    def __init__(self, group: Group, statement: Instruction | Call, reduction: Reduction | None) -> None:
        self.group = group
        self.statement = statement
        self.reduction = reduction


class Barriers:
    """The barriers of every block of a wave."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        blocks = wave.threads.blocks
        self._arrived = np.zeros((BARRIERS, blocks), np.int64)
        self._expected = np.zeros((BARRIERS, blocks), np.int64)
        self._true = np.zeros((BARRIERS, blocks), np.int64)
        self._threads = np.zeros((BARRIERS, blocks), np.int64)
        self._counted = np.zeros((BARRIERS, blocks), np.bool_)
        self._gone: Array | None = np.zeros(blocks, np.int64)
        self._waiting: list[list[_Waiting]] = [[] for _ in range(BARRIERS)]
        self._clusters: ClusterBarrier | None = None
        self._everyone = wave.threads.launch.warps * WARP

    # ---- barriers of a block ------------------------------------------------------------------------------------------

    def arrive(
        self,
        group: Group,
        barrier: int,
        count: Array | None,
        statement: Instruction,
        *,
        waits: bool,
        reduction: Reduction | None = None,
    ) -> list[Group]:
        """The threads of a group arrive at a barrier.

        Parameters
        ----------
        barrier : int
        count : array or None
            Threads expected, for each thread of the group or one for all; None means the whole block.
        waits : bool
            Whether they wait for it to complete.
        reduction : Reduction or None

        Returns
        -------
        list of Group
            All that can go on: those who do not wait, and everybody whom this arrival released.
        """
        wave = self._wave
        if group.index is None and count is None and reduction is None and waits and not self._arrived[barrier].any():
            wave.hazards.all_met()
            return [group.at(group.pc + 1)]
        blocks = wave.threads.block if group.index is None else wave.threads.block[group.index]
        weights = wave.threads.weight if group.index is None else wave.threads.weight[group.index]
        self._expect(barrier, blocks, count, statement, wave.indices(group.index))
        number = len(self._arrived[barrier])
        self._arrived[barrier] += np.bincount(blocks, weights, number).astype(np.int64)
        if reduction is not None:
            self._true[barrier] += np.bincount(blocks, reduction.predicate, number).astype(np.int64)
            self._threads[barrier] += np.bincount(blocks, minlength=number)
        wave.hazards.block_arrived(barrier, group.index)
        free: list[Group] = []
        if waits:
            self._waiting[barrier].append(_Waiting(group, statement, reduction))
        else:
            free.append(group.at(group.pc + 1))
        self._too_many(barrier, statement, blocks, wave.indices(group.index))
        return free + self._complete(barrier)

    def _complete(self, barrier: int) -> list[Group]:
        """Release the blocks where all who are expected have arrived; exited threads are not waited for (ISA "exit")."""
        there = self._arrived[barrier]
        complete = (there > 0) & (there + np.where(self._counted[barrier], 0, self._exited()) >= self._expected[barrier])
        if not complete.any():
            return []
        short = complete & (there < self._expected[barrier])
        if short.any():
            self._report_exited(barrier, short)
        return self._release(barrier, complete)

    def _exited(self) -> Array:
        """What the exited threads of each block would have counted at a barrier."""
        if self._gone is None:
            threads, gone = self._wave.threads, ~self._wave.alive
            self._gone = np.bincount(threads.block[gone], threads.weight[gone], threads.blocks).astype(np.int64)
        return self._gone

    def _report_exited(self, barrier: int, short: Array) -> None:
        """The ISA lets exiting threads release a barrier, but whoever waits there counted on them."""
        wave = self._wave
        for waiting in self._waiting[barrier]:
            index = wave.indices(waiting.group.index)
            index = index[short[wave.threads.block[index]]]
            if not len(index):
                continue
            block = int(wave.threads.block[index[0]])
            size = wave.threads.launch.block_threads
            exited = size - int(wave.alive[block * size : (block + 1) * size].sum())
            name = index_text(wave.threads.name(int(index[0]))[0])
            message = f"barrier {barrier} of block {name} is not reached by all threads: {exited} of {size} have exited"
            wave.reports.add("barrier", message, waiting.statement, wave.threads, index, subject=f"barrier {barrier}")

    def _expect(self, barrier: int, blocks: Array, count: Array | None, statement: Instruction, threads: Array) -> None:
        """All who use a barrier at a time must expect the same number of threads."""
        number = np.full(1, self._everyone) if count is None else count
        wanted = np.broadcast_to(number.astype(np.int64), len(blocks))
        current = self._expected[barrier][blocks]
        different = (current != 0) & (current != wanted)
        if different.any():
            first = int(np.flatnonzero(different)[0])
            self._wave.reports.add(
                "barrier",
                f"barrier {barrier} is used for {int(wanted[first])} threads while others use it for {int(current[first])}",
                statement, self._wave.threads, threads[different], subject="count",
            )  # fmt: skip
        self._expected[barrier][blocks] = np.where(current == 0, wanted, current)
        self._counted[barrier][blocks] = count is not None

    def _too_many(self, barrier: int, statement: Instruction, blocks: Array, threads: Array) -> None:
        over = self._arrived[barrier] > np.maximum(self._expected[barrier], 1)
        over &= self._expected[barrier] > 0
        if over.any():
            there, wanted = (int(state[barrier][over][0]) for state in (self._arrived, self._expected))
            self._wave.reports.add(
                "barrier",
                f"{there} threads arrive at barrier {barrier}, which expects {wanted}",
                statement, self._wave.threads, threads[over[blocks]], subject="many",
            )  # fmt: skip

    def _release(self, barrier: int, complete: Array) -> list[Group]:
        """Let go the waiting threads of the blocks where a barrier is complete, and make it ready again."""
        wave = self._wave
        free: list[Group] = []
        kept: list[_Waiting] = []
        for waiting in self._waiting[barrier]:
            group = waiting.group
            index = wave.indices(group.index)
            blocks = wave.threads.block[index]
            going = complete[blocks]
            if not going.any():
                kept.append(waiting)
                continue
            if not going.all():
                kept.append(_Waiting(group.part(index[~going]), waiting.statement, waiting.reduction))
                group = group.part(index[going])
            if waiting.reduction is not None:
                waiting.reduction.put(group, self._reduced(waiting.reduction, barrier, blocks[going]))
            wave.hazards.block_passed(barrier, group.index)
            free.append(group.at(group.pc + 1))
        self._waiting[barrier] = kept
        wave.hazards.block_done(barrier, complete, complete & ~self._counted[barrier])
        for state in (self._arrived, self._expected, self._true, self._threads):
            state[barrier][complete] = 0
        return free

    def _reduced(self, reduction: Reduction, barrier: int, blocks: Array) -> Array:
        true = self._true[barrier][blocks]
        if reduction.operation == "popc":
            return true.astype(np.uint32)
        return true == self._threads[barrier][blocks] if reduction.operation == "and" else true > 0

    def after_exit(self) -> None:
        """Threads have exited: those who waited for them alone go on."""
        self._gone = None
        free: list[Group] = []
        for barrier in range(BARRIERS):
            if self._waiting[barrier]:
                free += self._complete(barrier)
        if self._clusters is not None:
            free += self._clusters.advance()
        for group in free:
            self._wave.pool.push(group)

    # ---- barriers of a cluster ----------------------------------------------------------------------------------------

    def cluster_arrive(self, group: Group, statement: Instruction) -> list[Group]:
        if self._clusters is None:
            self._clusters = ClusterBarrier(self._wave)
        return self._clusters.arrive(group, statement)

    def cluster_wait(self, group: Group, statement: Instruction) -> list[Group]:
        if self._clusters is None:
            self._clusters = ClusterBarrier(self._wave)
        return self._clusters.wait(group, statement)

    # ---- nobody can run -----------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> list[tuple[str, Group, Instruction | Call]]:
        """Who waits: the barrier's name, the threads, the instruction."""
        places = [(f"barrier {number}", one.group, one.statement) for number in range(BARRIERS) for one in self._waiting[number]]
        if self._clusters is not None:
            places += [("barrier.cluster", group, statement) for group, statement in self._clusters.waiting]
        return places

    def report_stuck(self, elsewhere: list[tuple[str, Group, Instruction | Call]]) -> None:
        """Report threads that wait although nobody can run; `elsewhere` tells who waits for something else than a barrier."""
        waiting = self.waiting
        for one in waiting:
            self._report_waiting(one, [other for other in [*waiting, *elsewhere] if other is not one])

    def _expected_at(self, name: str, block: int) -> int:
        """The number of threads that a numbered barrier is set to wait for in a block; 0 where it takes the whole block."""
        kind, _, number = name.partition(" ")
        if kind != "barrier" or not self._counted[int(number), block]:
            return 0
        return int(self._expected[int(number), block])

    def _report_waiting(self, waiting: tuple[str, Group, Instruction | Call], places: list[tuple[str, Group, Instruction | Call]]) -> None:
        name, group, statement = waiting
        wave = self._wave
        index = wave.indices(group.index)
        first = int(index[0])
        block = int(wave.threads.block[first])
        here = int((wave.threads.block[index] == block).sum())
        size = wave.threads.launch.block_threads
        exited = size - int(wave.alive[block * size : (block + 1) * size].sum())
        others = []
        kind = "barrier"
        for other_name, other, its_statement in places:
            count = int((wave.threads.block[wave.indices(other.index)] == block).sum())
            if count:
                kind = "deadlock"
                where = "" if its_statement.where is None else f" ({place(its_statement.where)})"
                others.append(f"{count} wait in {other_name}{where}")
        if exited:
            others.append(f"{exited} have exited")
        wanted = self._expected_at(name, block)
        if wanted:
            others.append(f"{wanted} are expected")
        told = ", ".join(others) or "the others never come"
        if states := wave.mbarriers.states(block):
            told += f"; {states}"
        block_name = index_text(wave.threads.name(first)[0])
        message = f"{name} of block {block_name} is not reached by all threads: {here} of {size} wait here, {told}"
        wave.reports.add(kind, message, statement, wave.threads, index, subject=name)
