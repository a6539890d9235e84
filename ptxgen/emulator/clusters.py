"""The barrier of a cluster: split into arrival and wait (ISA "barrier.cluster")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.schedule import Group
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["ClusterBarrier"]


class ClusterBarrier:
    """Counts phases: a thread may pass its wait when its cluster has completed as many phases as the thread has arrived in."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        self._cluster = _cluster_of_threads(wave)
        clusters = int(self._cluster.max()) + 1
        self._arrivals = np.zeros(wave.threads.count, np.int64)
        self._phase = np.zeros(clusters, np.int64)
        self.waiting: list[tuple[Group, Instruction]] = []

    def arrive(self, group: Group) -> list[Group]:
        self._arrivals[self._wave.indices(group.index)] += 1
        return [group.at(group.pc + 1), *self.advance()]

    def wait(self, group: Group, statement: Instruction) -> list[Group]:
        self.waiting.append((group, statement))
        return self.advance()

    def advance(self) -> list[Group]:
        """Complete the phases that every living thread of a cluster has arrived in, and let go who waited for them.

        Exited threads count as arrived (ISA "exit").
        """
        never = np.iinfo(np.int64).max
        fewest = np.full(len(self._phase), never)
        np.minimum.at(fewest, self._cluster, np.where(self._wave.alive, self._arrivals, never))
        self._phase = np.where(fewest == never, self._phase, np.maximum(self._phase, fewest))
        free, kept = [], []
        for group, statement in self.waiting:
            index = self._wave.indices(group.index)
            going = self._arrivals[index] <= self._phase[self._cluster[index]]
            if going.any():
                free.append((group if going.all() else group.part(index[going])).at(group.pc + 1))
            if not going.all():
                kept.append((group.part(index[~going]), statement))
        self.waiting = kept
        return free


def _cluster_of_threads(wave: Wave) -> Array:
    """A number for each thread's cluster, from 0."""
    threads = wave.threads
    x, y, _ = threads.launch.grid
    places = [threads.cluster_axis(axis, False).astype(np.int64) for axis in range(3)]
    linear = places[0] + x * (places[1] + y * places[2])
    return np.unique(linear, return_inverse=True)[1].reshape(-1)
