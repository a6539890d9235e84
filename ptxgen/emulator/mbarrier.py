"""mbarrier objects: pending arrivals, transaction bytes and phase, who sleeps on them, and what is wrong in their use.

An object is known by the block whose shared memory holds it and its offset there (ISA "mbarrier"). Its eight bytes in memory are opaque;
here they hold a number that changes with the state, so that anything else writing there is noticed.

A wait for a phase that has not completed fails once, then the thread sleeps until the phase completes; where nobody can run it is woken
with a failure, as at the end of its time limit. Should that change nothing several times in a row, the run is stuck.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text, place
from ptxgen.emulator.schedule import Group
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["COUNT_LIMIT", "OBJECT_BYTES", "MBarrier", "MBarriers", "pending_of", "phase_of"]

COUNT_LIMIT = (1 << 20) - 1
"""Arrivals of a phase, and the bound of its transaction count on either side."""

COUNT_LIMITS = COUNT_LIMIT, 511
"""Arrivals of a phase in each layout."""

OBJECT_BYTES = 8
IDLE_ROUNDS = 16
"""Rounds of failing waits, with nothing else happening, after which a run is stuck."""

EARLY_FAILURE = 1 / 4
"""How often a wait that could sleep fails at once, under a seed other than 0."""

_PHASE_BITS = 40


class MBarrier:
    """One object.

    Attributes
    ----------
    block, offset : int
        Block of the wave, and byte in its shared memory.
    count : int
        Arrivals that each coming phase takes.
    pending, tx : int
        Arrivals and bytes that the current phase still waits for; bytes are negative where more came than was expected.
    phase : int
        Completed phases; the parity of the current phase is its lowest bit.
    layout : int
        0 or 1. No copy reports anything here, so that both phases of layout 1 complete together.
    passed : dict
        The phase that each warp's last wait found completed.
    """

    __slots__ = ("block", "count", "layout", "name", "offset", "passed", "pending", "phase", "statement", "tx")

    def __init__(self, block: int, offset: int, count: int, name: str, statement: Instruction, layout: int = 0) -> None:
        self.block = block
        self.offset = offset
        self.count = self.pending = count
        self.layout = layout
        self.phase = 0
        self.tx = 0
        self.name = name
        self.statement = statement
        self.passed: dict[int, int] = {}

    def missing(self, phase: int, warp: int) -> str:
        """That a wait for a phase is missing in a warp, and what it has waited for instead."""
        text = f"a wait for phase {phase} (parity {phase & 1}) of mbarrier {self.name} is missing"
        last = self.passed.get(warp)
        if last is None or last >= phase:
            return text
        if last < 0:
            return f"{text}; the wait for parity 1 passed at once, as on every fresh mbarrier"
        return f"{text}; the last one was for phase {last} (parity {last & 1})"

    @property
    def token(self) -> int:
        """What an arrival returns: the phase, and above it the pending count."""
        return self.phase & (1 << _PHASE_BITS) - 1 | self.pending << _PHASE_BITS

    def state(self) -> str:
        text = f"phase {self.phase}, {self.pending} of {self.count} arrivals pending"
        if self.tx > 0:
            text += f", {self.tx} transaction bytes outstanding"
        elif self.tx < 0:
            text += f", {-self.tx} transaction bytes more than expected"
        return text


def phase_of(token: Array) -> Array:
    """The phase that a state captured."""
    return token & np.uint64((1 << _PHASE_BITS) - 1)


def pending_of(token: Array) -> Array:
    """The pending count that a state captured."""
    return token >> np.uint64(_PHASE_BITS)


class _Sleeper:
    """Threads that wait in one instruction for one phase; `put(group, truths)` hands them its outcome."""

    __slots__ = ("acquires", "barrier", "group", "phase", "put", "statement")

    def __init__(
        self, group: Group, barrier: MBarrier, phase: int, statement: Instruction, put: Callable[[Group, Array], None], acquires: bool
    ) -> None:
        self.group = group
        self.barrier = barrier
        self.phase = phase
        self.statement = statement
        self.put = put
        self.acquires = acquires


class MBarriers:
    """The mbarrier objects of a wave."""

    def __init__(self, wave: Wave, seed: int) -> None:
        self._wave = wave
        self._objects: dict[tuple[int, int], MBarrier] = {}
        self._sleepers: list[_Sleeper] = []
        self._random = random.Random(seed) if seed else None
        self._rounds = 0
        self._tried: dict[MBarrier, Array] = {}

    def __len__(self) -> int:
        return len(self._objects)

    # ---- objects ------------------------------------------------------------------------------------------------------

    def init(self, thread: int, block: int, offset: int, count: int, statement: Instruction, layout: int = 0) -> None:
        name = self.name(block, offset)
        if offset % OBJECT_BYTES:
            self._report(f"an mbarrier at {name}, which is no multiple of {OBJECT_BYTES}", statement, thread, "alignment")
            return
        limit = COUNT_LIMITS[layout]
        if not 1 <= count <= limit:
            self._report(f"a count of {count} for mbarrier {name}; it is 1 to {limit}", statement, thread, "count")
            count = min(max(count, 1), limit)
        found = self._objects.get((block, offset))
        if found is not None:
            told = f"mbarrier {name} is initialised again without mbarrier.inval ({found.state()})"
            self._report(told, statement, thread, "twice")
        self._objects[block, offset] = made = MBarrier(block, offset, count, name, statement, layout)
        self._changed(made)
        self._wave.hazards.barrier_made(made, thread)

    def invalidate(self, thread: int, block: int, offset: int, statement: Instruction) -> None:
        found = self.find(thread, block, offset, statement)
        if found is None:
            return
        asleep = sum(len(self._wave.indices(one.group.index)) for one in self._sleepers if one.barrier is found)
        if asleep:
            self._report(f"mbarrier {found.name} is invalidated while {asleep} threads wait for it", statement, thread, "waiting")
        del self._objects[block, offset]
        self._wave.memory.mark_unwritten(block, offset, OBJECT_BYTES)

    def find(self, thread: int, block: int, offset: int, statement: Instruction, *, by_proxy: bool = False) -> MBarrier | None:
        """The object at a place; where there is none, or something else has written there, that is reported.

        `by_proxy`: what will use it is in the async proxy.
        """
        found = self._objects.get((block, offset))
        if found is None:
            name = self.name(block, offset)
            if offset % OBJECT_BYTES:
                self._report(f"an mbarrier at {name}, which is no multiple of {OBJECT_BYTES}", statement, thread, "alignment")
            else:
                self._report(f"no mbarrier.init has made an mbarrier at {name}", statement, thread, "none")
            return None
        if not self._wave.memory.holds(block, offset, self._content(found)):
            self._report(f"something else has written to the mbarrier {found.name}", statement, thread, "overwritten")
            self._changed(found)
        self._wave.hazards.barrier_used(found, thread, statement, by_proxy=by_proxy)
        return found

    def name(self, block: int, offset: int) -> str:
        variable, inside = self._wave.memory.spaces["shared"].describe(offset)
        return f"{variable} byte {inside}"

    def _content(self, barrier: MBarrier) -> bytes:
        return (barrier.token ^ (barrier.tx & 0xFFFFF) << 20 ^ 0x5A << 56).to_bytes(8, "little")

    def _changed(self, barrier: MBarrier) -> None:
        self._wave.memory.put_bytes(barrier.block, barrier.offset, self._content(barrier))
        self._rounds = 0

    def _report(self, message: str, statement: Instruction, thread: int, subject: str) -> None:
        self._wave.reports.add("mbarrier", message, statement, self._wave.threads, np.array([thread]), subject=subject)

    # ---- arrivals and transactions ------------------------------------------------------------------------------------

    def arrive(
        self,
        barrier: MBarrier,
        threads: Array,
        counts: Array,
        statement: Instruction,
        *,
        expected: Array | None = None,
        drop: bool = False,
        completes: bool = True,
        releases: bool = True,
    ) -> Array:
        """The threads arrive one after the other.

        Parameters
        ----------
        counts : array
            Arrivals of each.
        expected : array or None
            Transaction bytes that each adds first.
        drop : bool
            Whether the phases to come wait for fewer.
        completes : bool
            False promises that the phase does not complete by this.
        releases : bool
            Whether what the threads did before is known to whoever waits for the phase.

        Returns
        -------
        array of uint64
            The state before each arrival.
        """
        tokens = np.empty(len(threads), np.uint64)
        if releases:
            self._wave.hazards.released(barrier, threads)
        for position, (thread, count) in enumerate(zip(threads.tolist(), counts.tolist())):
            tokens[position] = barrier.token
            if expected is not None:
                self.transact(barrier, thread, int(expected[position]), statement)
            if not 1 <= count <= COUNT_LIMIT:
                told = f"an arrival of count {count} at mbarrier {barrier.name}; it is 1 to {COUNT_LIMIT}"
                self._report(told, statement, thread, "count")
                continue
            if count > barrier.pending:
                told = f"{count} more arrive at mbarrier {barrier.name} than its phase waits for ({barrier.state()})"
                self._report(told, statement, thread, "many")
                continue
            barrier.pending -= count
            if drop:
                barrier.count -= count
            if not completes and barrier.pending == 0:
                told = f"the arrival completes the phase of mbarrier {barrier.name}, and .noComplete promises that it does not"
                self._report(told, statement, thread, "noComplete")
            self._complete(barrier)
        self._changed(barrier)
        return tokens

    def expect_more(self, barrier: MBarrier, threads: Array, statement: Instruction) -> None:
        """The current phase waits for one arrival more of each thread."""
        if barrier.pending + len(threads) > COUNT_LIMIT:
            self._report(f"mbarrier {barrier.name} cannot wait for more arrivals ({barrier.state()})", statement, int(threads[0]), "many")
            return
        barrier.pending += len(threads)
        self._changed(barrier)

    def transact(self, barrier: MBarrier, thread: int, nbytes: int, statement: Instruction) -> None:
        """`expect_tx` (positive) and `complete_tx` (negative)."""
        if abs(nbytes) > COUNT_LIMIT or abs(barrier.tx + nbytes) > COUNT_LIMIT:
            told = f"{abs(nbytes)} transaction bytes take mbarrier {barrier.name} past its limit of {COUNT_LIMIT} ({barrier.state()})"
            self._report(told, statement, thread, "transaction")
            return
        barrier.tx += nbytes
        self._complete(barrier)
        self._changed(barrier)

    def _complete(self, barrier: MBarrier) -> None:
        """Begin the next phase where nothing is waited for any more, and wake who slept."""
        if barrier.pending or barrier.tx:
            return
        self._wave.hazards.phase_completed(barrier)
        barrier.phase += 1
        barrier.pending = barrier.count
        self._tried.pop(barrier, None)
        awake = [one for one in self._sleepers if one.barrier is barrier and one.phase < barrier.phase]
        if awake:
            self._sleepers = [one for one in self._sleepers if one not in awake]
            for one in awake:
                self._wake(one, True)

    # ---- waits --------------------------------------------------------------------------------------------------------

    def phases(self, barrier: MBarrier, asked: Array, threads: Array, statement: Instruction, by_parity: bool) -> Array:
        """The number of the phase that each thread waits for: by its parity, the current one or the one before; else by a state."""
        if by_parity:
            wrong = asked > 1
            if wrong.any():
                told = f"phase parity {int(asked[wrong][0])} at mbarrier {barrier.name}; it is 0 or 1"
                self._report(told, statement, int(threads[wrong][0]), "parity")
            return barrier.phase - ((barrier.phase ^ asked.astype(np.int64)) & 1)
        phases = phase_of(asked).astype(np.int64)
        wrong = (phases > barrier.phase) | (phases < barrier.phase - 1)
        if wrong.any():
            told = f"a state of phase {int(phases[wrong][0])} at mbarrier {barrier.name}, which is in phase {barrier.phase}"
            self._report(f"{told}: it is of the current phase or the one before", statement, int(threads[wrong][0]), "state")
        return phases

    def wait(
        self,
        group: Group,
        barriers: list[MBarrier | None],
        phases: Array,
        statement: Instruction,
        put: Callable[[Group, Array], None],
        acquires: bool = True,
    ) -> list[Group]:
        """The threads of a group ask whether the phase `phases[i]` of `barriers[i]` has completed.

        Returns
        -------
        list of Group
            Those who go on, with their answer; the others sleep.
        """
        index = self._wave.indices(group.index)
        answers = np.ones(len(index), np.bool_)
        asleep = np.zeros(len(index), np.bool_)
        for barrier, phase, where in _places(barriers, phases):
            if barrier.phase > phase:
                self._passed(barrier, phase, index[where], acquires)
                continue
            answers[where] = False
            tried = self._tried.get(barrier)
            if tried is None:
                tried = self._tried[barrier] = np.zeros(self._wave.threads.count, np.bool_)
            again = tried[index[where]]
            if self._random is not None and self._random.random() < EARLY_FAILURE:
                again = np.zeros(len(where), np.bool_)
            tried[index[where]] = True
            sleeping = where[again]
            if len(sleeping):
                asleep[sleeping] = True
                part = group if len(sleeping) == len(index) else group.part(index[sleeping])
                self._sleepers.append(_Sleeper(part, barrier, phase, statement, put, acquires))
        if asleep.all():
            return []
        going = group.part(index[~asleep]) if asleep.any() else group
        put(going, answers[~asleep])
        return [going.at(going.pc + 1)]

    def _passed(self, barrier: MBarrier, phase: int, threads: Array, acquires: bool) -> None:
        for warp in np.unique(self._wave.threads.warp[threads]).tolist():
            barrier.passed[warp] = phase
        if acquires:
            self._wave.hazards.acquired(barrier, threads)

    def _wake(self, sleeper: _Sleeper, answer: bool) -> None:
        group = sleeper.group
        index = self._wave.indices(group.index)
        if answer:
            self._passed(sleeper.barrier, sleeper.phase, index, sleeper.acquires)
        sleeper.put(group, np.full(len(index), answer))
        self._wave.pool.push(group.at(group.pc + 1))

    def time_out(self) -> bool:
        """Nobody can run: let every wait fail. False where nobody waits, or where that has not helped for a while."""
        if not self._sleepers or self._rounds >= IDLE_ROUNDS:
            return False
        self._rounds += 1
        sleepers, self._sleepers = self._sleepers, []
        for one in sleepers:
            self._wake(one, False)
        return True

    # ---- nobody can run -----------------------------------------------------------------------------------------------

    def report_stuck(self) -> bool:
        """Report who waits for a phase that does not come, with the state of every object of their blocks."""
        for one in self._sleepers:
            index = self._wave.indices(one.group.index)
            block = int(self._wave.threads.block[index[0]])
            barrier = one.barrier
            where = "" if barrier.block == block else f" of block {self._block_name(barrier.block)}"
            told = (
                f"{len(index)} threads wait for phase {one.phase} (parity {one.phase & 1}) of mbarrier {barrier.name}{where},"
                f" which does not complete: {barrier.state()}"
            )
            rest = [f"{other.name}: {other.state()}" for other in self._of_block(block) if other is not barrier]
            waiting = [
                f"{len(self._wave.indices(other.group.index))} wait for phase {other.phase} of {other.barrier.name}"
                + ("" if other.statement.where is None else f" ({place(other.statement.where)})")
                for other in self._sleepers
                if other is not one and int(self._wave.threads.block[self._wave.indices(other.group.index)[0]]) == block
            ]
            told = "; ".join([told, *rest, *waiting])
            self._wave.reports.add("deadlock", told, one.statement, self._wave.threads, index, subject=barrier.name)
        return bool(self._sleepers)

    def _of_block(self, block: int) -> Iterator[MBarrier]:
        return (barrier for (owner, _), barrier in sorted(self._objects.items()) if owner == block)

    def _block_name(self, block: int) -> str:
        threads = self._wave.threads
        return index_text(threads.name(block * threads.launch.block_threads)[0])

    def states(self, block: int) -> str:
        """Every object of a block, for reports of others who wait."""
        return "; ".join(f"mbarrier {barrier.name}: {barrier.state()}" for barrier in self._of_block(block))


def _places(barriers: list[MBarrier | None], phases: Array) -> Iterator[tuple[MBarrier, int, Array]]:
    """Each object and phase that is asked for, and the positions that ask for it."""
    keys: dict[tuple[int, int], list[int]] = {}
    known: dict[int, MBarrier] = {}
    for position, (barrier, phase) in enumerate(zip(barriers, phases.tolist())):
        if barrier is not None:
            known[id(barrier)] = barrier
            keys.setdefault((id(barrier), phase), []).append(position)
    for (which, phase), positions in keys.items():
        yield known[which], phase, np.array(positions)
