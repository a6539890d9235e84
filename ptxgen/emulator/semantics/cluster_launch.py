"""Taking over the work of clusters that have not started (ISA "clusterlaunchcontrol"): in the emulator there never is one.

Every request is answered with "not cancelled", which a program must expect at any time; so each block does its own work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.asynchronous import Copy
from ptxgen.emulator.clusters import cluster_map
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.mbarrier import barriers_at, shared_place
from ptxgen.emulator.semantics.table import execution, semantics
from ptxgen.instructions.registry import Match
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

_ANSWER = 16


@execution("cluster_launch", "clusterlaunchcontrol.try_cancel")
def lower_request(low: Lowering) -> Run:
    statement = low.statement
    assert isinstance(statement, Instruction)
    target, told = shared_place(low, "addr"), shared_place(low, "mbar")
    everybody = ".multicast::cluster::all" in low.match.bindings

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads, region = wave.indices(index), wave.memory.spaces["shared"]
        blocks, offsets = target(wave, frame, index)
        bars, bar_offsets = told(wave, frame, index)
        clusters = cluster_map(wave.threads)
        for position in range(len(threads)):
            one = threads[[position]]
            for block in _receivers(clusters, int(blocks[position]), everybody):
                row = np.array([[(block * region.stride + int(offsets[position])) // _ANSWER]])
                bar = np.array([block if everybody else int(bars[position])]), bar_offsets[[position]]
                for barrier, _, _, _ in barriers_at(wave, bar, one, statement, by_proxy=True):
                    if barrier is not None:
                        copy = Copy(statement, one, region, _ANSWER, row, np.zeros((1, 1, _ANSWER), np.uint8))
                        wave.copies.begin(copy)
                        wave.copies.tell(copy, barrier, _ANSWER)

    return run


def _receivers(clusters: Any, block: int, everybody: bool) -> list[int]:
    """The blocks that an answer goes to."""
    if not everybody:
        return [block]
    found: list[int] = clusters.blocks[clusters.cluster[block]].tolist()
    return found


@semantics("cluster_launch", "clusterlaunchcontrol.query_cancel")
def query(match: Match) -> Callable[[Array], Any]:
    """The answer's last bit says whether a cluster was cancelled, its first three words which."""
    if ".is_canceled" in match.bindings:
        return lambda response: response[:, 1] >> np.uint64(63) != 0

    def word(response: Array, number: int) -> Array:
        half = response[:, number // 2]
        return (half >> np.uint64(32 * (number % 2))).astype(np.uint32)

    dimension = match.value(".dimension")
    if dimension:
        number = "xyz".index(dimension[-1])
        return lambda response: word(response, number)
    return lambda response: tuple(word(response, number) for number in range(4))
