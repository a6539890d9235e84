"""Barriers of a block, a warp and a cluster (ISA "Parallel Synchronization and Communication Instructions")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.barriers import BARRIERS, Reduction
from ptxgen.emulator.collectives import Exchange
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.operands import Get
from ptxgen.emulator.semantics.table import control
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Group, Wave


@control("barrier", "bar", "barrier")
def lower_barrier(low: Lowering) -> Control:
    """``.sync`` waits, ``.arrive`` does not, ``.red`` also combines a predicate of all who arrive."""
    assert isinstance(low.statement, Instruction)
    statement, u32 = low.statement, type_named("u32")
    number = low.source(low.named["a"], u32)
    counted = low.named.get("b", low.named.get("n"))
    count: Get | None = None if counted is None else low.source(counted, u32)
    waits = ".arrive" not in low.match.bindings
    reduction = _reduction(low)

    def arrive(wave: Wave, group: Group) -> list[Group]:
        frame = wave.frame(group)
        numbers = number(wave, frame, group.index)
        index = wave.indices(group.index)
        following = []
        for barrier in np.unique(numbers):
            part = group
            if len(numbers) > 1:
                chosen = index[numbers == barrier]
                part = group if len(chosen) == len(index) else group.part(chosen)
            if barrier >= BARRIERS:
                message = f"barrier {int(barrier)} does not exist; a block has {BARRIERS}"
                wave.reports.add("barrier", message, statement, wave.threads, wave.indices(part.index), subject="number")
                following.append(part.at(part.pc + 1))
                continue
            expected = None if count is None else count(wave, frame, part.index)
            reduced = None if reduction is None else reduction(wave, part)
            following += wave.barriers.arrive(part, int(barrier), expected, statement, waits=waits, reduction=reduced)
        return following

    return arrive


def _reduction(low: Lowering) -> Any:
    if ".red" not in low.match.bindings:
        return None
    operation = low.match.value(".op") or "popc"
    target = low.named["d"] if "d" in low.named else low.named["p"]
    put = low.target(target, low.operand_type("d" if "d" in low.named else "p"))
    predicate = low.source(low.named["c"], type_named("pred"))

    def reduce(wave: Wave, group: Group) -> Reduction:
        truth = np.broadcast_to(predicate(wave, wave.frame(group), group.index), wave.count(group.index))
        return Reduction(operation, truth, lambda released, values: put(wave, wave.frame(released), released.index, values))

    return reduce


@control("barrier", "bar.warp.sync")
def lower_warp_barrier(low: Lowering) -> Control:
    """A collective that exchanges nothing."""
    assert isinstance(low.statement, Instruction)
    statement = low.statement
    mask = low.source(low.named["mask"], type_named("u32"))
    meeting = Exchange(statement.opcode, lambda wave, members: (), lambda wave, frame, index, results: None)

    def arrive(wave: Wave, group: Group) -> list[Group]:
        return wave.collectives.arrive(group, meeting, mask(wave, wave.frame(group), group.index), [], statement)

    return arrive


@control("barrier", "barrier.cluster")
def lower_cluster_barrier(low: Lowering) -> Control:
    assert isinstance(low.statement, Instruction)
    statement = low.statement
    if ".arrive" in low.match.bindings:
        return lambda wave, group: wave.barriers.cluster_arrive(group, statement)
    return lambda wave, group: wave.barriers.cluster_wait(group, statement)
