"""mbarrier objects (ISA "mbarrier"): what each instruction asks of `ptxgen.emulator.mbarrier`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.clusters import CLUSTER_SHIFT, cluster_map
from ptxgen.emulator.lowering import Control, Lowering, Run
from ptxgen.emulator.mbarrier import MBarrier, pending_of
from ptxgen.emulator.memory import FIRST, WINDOW_SHIFT, WINDOWS
from ptxgen.emulator.operands import Array, Get, dtype_of
from ptxgen.emulator.semantics.table import control, execution, semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Sink

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Group, Wave

__all__ = ["Place", "barriers_at", "shared_place"]

Place = Callable[["Wave", "Frame", Any], tuple[Array, Array]]
"""For a set of threads the block and the offset in its shared memory that an operand addresses; block -1 where it is none."""


def shared_place(low: Lowering, name: str = "addr") -> Place:
    """Where an address operand in shared memory points: an address of the block, of the cluster's window, or a generic one."""
    contract = low.match.entry.operands[name]
    named = low.match.value(contract.space) if contract.space.startswith(".") else contract.space
    space, address = low.address(low.named[name], named.partition("::")[0])

    def place(wave: Wave, frame: Frame, index: Any) -> tuple[Array, Array]:
        where = np.broadcast_to(address(wave, frame, index), wave.count(index))
        own = wave.threads.block if index is None else wave.threads.block[index]
        outside = np.zeros(len(where), np.bool_)
        if space != "shared":
            outside = where >> WINDOW_SHIFT != WINDOWS["shared"] >> WINDOW_SHIFT
            where = where - WINDOWS["shared"]
        if space == "shared" and not (where >> CLUSTER_SHIFT).any():
            blocks, inside = own, where
        else:
            blocks, inside = cluster_map(wave.threads).locate(np.where(outside, 0, where), own)
        region = wave.memory.spaces.get("shared")
        offset = inside - FIRST["shared"]
        size = 0 if region is None else region.extent
        return np.where(outside | (offset < 0) | (offset >= size), -1, blocks), offset

    return place


def barriers_at(
    wave: Wave, place: tuple[Array, Array], threads: Array, statement: Instruction, *, by_proxy: bool = False
) -> Iterator[tuple[MBarrier | None, Array, int, int]]:
    """Each mbarrier that threads name (None, and a report, where there is none), and the positions that name it."""
    blocks, offsets = place
    keys = blocks << WINDOW_SHIFT | offsets & (1 << WINDOW_SHIFT) - 1
    for key in np.unique(keys):
        where = np.flatnonzero(keys == key)
        block, offset = int(blocks[where[0]]), int(offsets[where[0]])
        if block < 0:
            wave.reports.add(
                "mbarrier", "the address of the mbarrier lies in no block's shared memory", statement, wave.threads, threads[where],
                subject="outside",
            )  # fmt: skip
            yield None, where, block, offset
            continue
        thread = int(threads[where[0]])
        if block != int(wave.threads.block[thread]) and wave.exited(block):
            message = "the mbarrier lies in a block of the cluster that has exited: a barrier of the cluster before its exit is missing"
            wave.reports.add("mbarrier", message, statement, wave.threads, threads[where], subject="exited")
        yield wave.mbarriers.find(thread, block, offset, statement, by_proxy=by_proxy), where, block, offset


def _statement(low: Lowering) -> Instruction:
    assert isinstance(low.statement, Instruction)
    return low.statement


def _one_block(low: Lowering) -> None:
    if ".multicast::cluster::32b" in low.match.bindings:
        raise low.refuse("the emulator does not follow .multicast::cluster::32b", section=low.match.entry.section, legal="run it on a GPU")


def _wide(values: Array, count: int) -> Array:
    return np.broadcast_to(values, count).astype(np.int64)


@execution("mbarrier", "mbarrier.init")
def lower_init(low: Lowering) -> Run:
    statement, place = _statement(low), shared_place(low)
    layout = int(".layout::v1" in low.match.bindings)
    count = low.source(low.named["few" if layout else "count"], type_named("u32"))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        counts = _wide(count(wave, frame, index), len(threads))
        blocks, offsets = place(wave, frame, index)
        for thread, block, offset, number in zip(threads.tolist(), blocks.tolist(), offsets.tolist(), counts.tolist()):
            if block < 0:
                message = "the address of the mbarrier lies in no block's shared memory"
                wave.reports.add("mbarrier", message, statement, wave.threads, np.array([thread]), subject="outside")
            else:
                wave.mbarriers.init(thread, block, offset, number, statement, layout)

    return run


@execution("mbarrier", "mbarrier.inval")
def lower_inval(low: Lowering) -> Run:
    statement, place = _statement(low), shared_place(low)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        for barrier, where, block, offset in barriers_at(wave, place(wave, frame, index), threads, statement):
            if barrier is not None:
                wave.mbarriers.invalidate(int(threads[where[0]]), block, offset, statement)

    return run


@execution("mbarrier", "mbarrier.expect_tx", "mbarrier.complete_tx")
def lower_transaction(low: Lowering) -> Run:
    _one_block(low)
    statement, place = _statement(low), shared_place(low)
    count = low.source(low.named["tx_count"], type_named("u32"))
    sign = -1 if low.match.entry.name.endswith("complete_tx") else 1

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        counts = _wide(count(wave, frame, index), len(threads))
        for barrier, where, _, _ in barriers_at(wave, place(wave, frame, index), threads, statement):
            if barrier is not None:
                for position in where.tolist():
                    wave.mbarriers.transact(barrier, int(threads[position]), sign * int(counts[position]), statement)

    return run


@execution("mbarrier", "mbarrier.arrive", "mbarrier.arrive_drop")
def lower_arrive(low: Lowering) -> Run:
    _one_block(low)
    statement = _statement(low)
    place = shared_place(low, "remote" if "remote" in low.named else "addr")
    u32 = type_named("u32")
    count: Get | None = low.source(low.named["count"], u32) if "count" in low.named else None
    bytes_expected: Get | None = low.source(low.named["tx_count"], u32) if "tx_count" in low.named else None
    target = low.named.get("state")
    put = None if target is None or isinstance(target, Sink) else low.target(target, type_named("u64"))
    drop = low.match.entry.name.endswith("drop")
    words = statement.opcode.split(".")
    completes, releases = "noComplete" not in words, "relaxed" not in words

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        counts = np.ones(len(threads), np.int64) if count is None else _wide(count(wave, frame, index), len(threads))
        expected = None if bytes_expected is None else _wide(bytes_expected(wave, frame, index), len(threads))
        tokens = np.zeros(len(threads), np.uint64)
        for barrier, where, _, _ in barriers_at(wave, place(wave, frame, index), threads, statement):
            if barrier is None:
                continue
            tokens[where] = wave.mbarriers.arrive(
                barrier, threads[where], counts[where], statement, expected=None if expected is None else expected[where],
                drop=drop, completes=completes, releases=releases,
            )  # fmt: skip
        if put is not None:
            put(wave, frame, index, tokens)

    return run


@control("mbarrier", "mbarrier.test_wait", "mbarrier.try_wait")
def lower_wait(low: Lowering) -> Control:
    statement, place = _statement(low), shared_place(low)
    by_parity = "phase_parity" in low.named
    wanted = low.source(low.named["phase_parity" if by_parity else "state"], type_named("u32" if by_parity else "u64"))
    target = low.target(low.named["wait_complete"], type_named("pred"))
    nothing = [
        (low.target(low.named[name], type_named(of)), np.zeros(1, dtype_of(type_named(of))))
        for name, of in (("report_predicate", "pred"), ("report_value", "b8"))
        if not isinstance(low.named.get(name), (NoneType, Sink))
    ]
    acquires = "relaxed" not in statement.opcode.split(".")

    def put(wave: Wave, group: Group, answers: Array) -> None:
        frame = wave.frame(group)
        target(wave, frame, group.index, answers)
        for report, value in nothing:
            report(wave, frame, group.index, value)

    def wait(wave: Wave, group: Group) -> list[Group]:
        frame = wave.frame(group)
        threads = wave.indices(group.index)
        values = np.broadcast_to(wanted(wave, frame, group.index), len(threads))
        barriers: list[MBarrier | None] = [None] * len(threads)
        phases = np.zeros(len(threads), np.int64)
        for barrier, where, _, _ in barriers_at(wave, place(wave, frame, group.index), threads, statement):
            if barrier is None:
                continue
            for position in where.tolist():
                barriers[position] = barrier
            asked = values[where]
            phases[where] = wave.mbarriers.phases(barrier, asked, threads[where], statement, by_parity)
        return wave.mbarriers.wait(group, barriers, phases, statement, lambda one, answers: put(wave, one, answers), acquires)

    return wait


@execution("mbarrier", "mbarrier.check_layout")
def lower_check_layout(low: Lowering) -> Run:
    statement, place = _statement(low), shared_place(low)
    target = low.target(low.named["p"], type_named("pred"))
    wanted = int(low.match.value(".layout")[-1])

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        answers = np.zeros(len(threads), np.bool_)
        for barrier, where, _, _ in barriers_at(wave, place(wave, frame, index), threads, statement):
            answers[where] = barrier is not None and barrier.layout == wanted
        target(wave, frame, index, answers)

    return run


@semantics("mbarrier", "mbarrier.pending_count")
def pending_count(match: Match) -> Callable[[Array], Array]:
    return lambda state: pending_of(state).astype(np.uint32)
