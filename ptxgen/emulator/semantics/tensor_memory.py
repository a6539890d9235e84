"""Tensor memory and its products (ISA "TensorCore 5th Generation Family Instructions").

`ptxgen.emulator.tensor_memory` holds the state; here operands become cells of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.clusters import cluster_map
from ptxgen.emulator.inflight import Issue, watched_registers
from ptxgen.emulator.lowering import Control, Lowering, Run
from ptxgen.emulator.memory import Access
from ptxgen.emulator.numerics import float_minmax
from ptxgen.emulator.operands import Array, Get, dtype_of
from ptxgen.emulator.rendezvous import together
from ptxgen.emulator.semantics.mbarrier import barriers_at, shared_place
from ptxgen.emulator.semantics.table import control, execution
from ptxgen.emulator.tensor_memory import Cells
from ptxgen.emulator.tensor_operands import ScaledTensorProduct, TensorCopy, TensorProduct, TensorShift
from ptxgen.emulator.threads import WARP
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Int

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Group, Wave

LOADS = "tcgen05.ld"
PARTITION = 32
"""Lanes that a warp reaches: those from 32 times its number modulo 4 on."""


def _statement(low: Lowering) -> Instruction:
    assert isinstance(low.statement, Instruction)
    return low.statement


def _group(low: Lowering) -> int:
    return 2 if low.match.value(".cta_group") == "cta_group::2" else 1


def _leaders(wave: Wave, threads: Array) -> Array:
    """The first thread of each warp."""
    return threads[np.unique(wave.threads.warp[threads], return_index=True)[1]]


# ---- allocation -------------------------------------------------------------------------------------------------------


@control("tensor_memory", "tcgen05.alloc")
def lower_alloc(low: Lowering) -> Control:
    statement, group_size = _statement(low), _group(low)
    space, address = low.address(low.named["dst"], low.match.value(".shared::cta").partition("::")[0])
    columns = low.source(low.named["n_cols"], type_named("u32"))
    access = Access(statement, space, 4, 1)

    def allocate(wave: Wave, group: Group) -> list[Group]:
        ready = wave.rendezvous.arrive(group, WARP, statement)
        if ready is None:
            return []
        frame, index = wave.frame(ready), wave.indices(ready.index)
        waiting = np.zeros(len(index), np.bool_)
        for thread in _leaders(wave, index):
            one = np.array([thread])
            wanted = int(columns(wave, frame, one)[0])
            wave.tensor_memory.same_group(group_size, statement, int(thread))
            start = wave.tensor_memory.allocate(int(thread), wanted, statement)
            if start is not None:
                wave.memory.store(access, address(wave, frame, one), [np.array([start], np.uint32)], one, 1)
                continue
            mine = wave.threads.warp[index] == wave.threads.warp[thread]
            wave.tensor_memory.wait_for_columns(ready.part(index[mine]), wanted, statement)
            waiting |= mine
        if not waiting.any():
            return [ready.at(ready.pc + 1)]
        return [] if waiting.all() else [ready.part(index[~waiting]).at(ready.pc + 1)]

    return allocate


@control("tensor_memory", "tcgen05.dealloc")
def lower_dealloc(low: Lowering) -> Control:
    statement = _statement(low)
    address, columns = (low.source(low.named[name], type_named("u32")) for name in ("taddr", "n_cols"))

    def free(wave: Wave, frame: Frame, threads: Array) -> None:
        for thread in _leaders(wave, threads):
            one = np.array([thread])
            start, count = int(address(wave, frame, one)[0]), int(columns(wave, frame, one)[0])
            wave.tensor_memory.free(int(thread), start, count, statement)

    return together(low, WARP, free)


@control("tensor_memory", "tcgen05.relinquish_alloc_permit")
def lower_relinquish(low: Lowering) -> Control:
    def close(wave: Wave, frame: Frame, threads: Array) -> None:
        for thread in _leaders(wave, threads):
            wave.tensor_memory.close(int(thread))

    return together(low, WARP, close)


# ---- registers --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def fragment(shape: str, registers: int, split: int) -> tuple[Array, Array]:
    """Lane and column, from the address on, of each register of each thread: arrays of shape (32, registers)."""
    thread, register = np.ogrid[:WARP, :registers]
    if shape == "32x32b":
        lane, column = thread, register
    elif shape == "16x64b":
        lane, column = thread // 4 + thread % 2 * 8, thread // 2 % 2 + register * 2
    elif shape == "16x128b":
        lane, column = thread // 4 + register % 2 * 8, thread % 4 + register // 2 * 4
    elif shape == "16x256b":
        lane, column = thread // 4 + register // 2 % 2 * 8, thread % 4 * 2 + register % 2 + register // 4 * 8
    else:  # 16x32bx2
        lane, column = thread % 16, register + thread // 16 * split
    return np.broadcast_arrays(lane, column)  # type: ignore[return-value]


class _Move:
    """What loads and stores of tensor memory share: addresses, and the cells of each warp's registers."""

    def __init__(self, low: Lowering) -> None:
        self.statement = _statement(low)
        self.registers = low.elements(low.named["r"])
        shape = next(filter(None, (low.match.value(f".shape{number}") for number in (1, 2, 3, 4))))
        split = low.named.get("imm_half_split_off")
        self.height = int(shape.partition("x")[0])
        self.lane, self.column = fragment(shape, len(self.registers), split.value if isinstance(split, Int) else 0)
        self.halves = ".pack" in low.match.bindings or ".unpack" in low.match.bindings
        _, self.address = low.address(low.named["taddr"], "tensor")

    def cells(self, wave: Wave, frame: Frame, threads: Array) -> list[tuple[Array, list[Cells]]]:
        """For each warp its threads and cells: with halves of registers, those of the lower and those of the upper halves."""
        found = []
        addresses = np.broadcast_to(self.address(wave, frame, threads), len(threads)).reshape(-1, WARP)
        for warp, words in zip(threads.reshape(-1, WARP), addresses):
            word = int(words[0])
            if (words != word).any():
                message = "the address differs between the threads of a warp"
                wave.reports.add("collective", message, self.statement, wave.threads, warp, subject="address")
            lane, column = word >> 16 & 0xFFFF, word & 0xFFFF
            self._check_partition(wave, warp, lane)
            block = int(wave.threads.block[warp[0]])
            scale = 2 if self.halves else 1
            parts = [Cells(block, lane + self.lane, column + scale * self.column + half) for half in range(scale)]
            found.append((warp, parts))
        return found

    def _check_partition(self, wave: Wave, warp: Array, lane: int) -> None:
        number = int(wave.threads.linear[warp[0]]) // WARP
        first = number % 4 * PARTITION
        last = first + PARTITION - self.height
        if not first <= lane <= last or (lane - first) % 16:
            allowed = f"{first}" if first == last else f"{first} or {last}"
            reached = f"warp {number} reaches lanes {first} to {first + PARTITION - 1}"
            message = f"{reached}; the address names lane {lane}, where {allowed} is legal"
            wave.reports.add("tensor memory", message, self.statement, wave.threads, warp, subject="lanes")


@control("tensor_memory", "tcgen05.ld", "tcgen05.ld.red")
def lower_load(low: Lowering) -> Control:
    move = _Move(low)
    rows = watched_registers(low, low.named["r"])
    reduce = _reduction(low)
    if reduce is not None:
        rows = np.append(rows, watched_registers(low, low.named["redval"]))
    issue = Issue(move.statement, LOADS, lambda thread, group: "tcgen05.wait::ld must come first")
    nothing = np.zeros(1, np.int64)

    def load(wave: Wave, frame: Frame, threads: Array) -> None:
        values = np.empty((len(rows), len(threads)), np.uint32)
        whole, torn = wave.rendezvous.whole(threads, WARP)
        _report_torn(wave, move.statement, torn)
        for number, (warp, parts) in enumerate(move.cells(wave, frame, whole)):
            got = [wave.tensor_memory.load(cells, move.statement, int(warp[0])) for cells in parts]
            word = got[0] if len(got) == 1 else got[0] & np.uint32(0xFFFF) | got[1] << np.uint32(16)
            values[: word.shape[1], number * WARP : (number + 1) * WARP] = word.T
        if reduce is not None:
            values[-1] = reduce(values[:-1])
        watched = wave.in_flight.of(frame)
        watched.flags(rows)
        watched.hold(rows, whole, values[:, : len(whole)], issue, nothing)

    return together(low, WARP, load)


def _reduction(low: Lowering) -> Callable[[Array], Array] | None:
    """What ``tcgen05.ld.red`` makes of the words that a thread loads, (register, thread)."""
    operation = low.match.value(".redOp")
    if not operation:
        return None
    of = low.match.type()
    if of.name != "f32":
        compute = np.minimum if operation == "min" else np.maximum
        return lambda words: compute.reduce(words.view(dtype_of(of)), 0).view(np.uint32)
    pick = float_minmax(operation, "f32", nan=".NaN" in low.match.bindings)
    magnitude = np.uint32(0x7FFFFFFF if ".abs" in low.match.bindings else 0xFFFFFFFF)

    def reduce(words: Array) -> Array:
        values = np.ascontiguousarray(words & magnitude).view(np.float32)
        found = values[0]
        for value in values[1:]:
            found = pick(found, value)
        return found.view(np.uint32)

    return reduce


@control("tensor_memory", "tcgen05.st")
def lower_store(low: Lowering) -> Control:
    move = _Move(low)
    gets = [low.source(item, type_named("b32")) for item in move.registers]

    def store(wave: Wave, frame: Frame, threads: Array) -> None:
        whole, torn = wave.rendezvous.whole(threads, WARP)
        _report_torn(wave, move.statement, torn)
        if not len(whole):
            return
        words = np.stack([np.broadcast_to(get(wave, frame, whole), len(whole)) for get in gets], axis=-1).reshape(-1, WARP, len(gets))
        for (warp, parts), values in zip(move.cells(wave, frame, whole), words):
            if len(parts) == 1:
                wave.tensor_memory.store(parts[0], values, move.statement, int(warp[0]))
                continue
            for cells, half in zip(parts, (values & np.uint32(0xFFFF), values >> np.uint32(16))):
                wave.tensor_memory.store(cells, half, move.statement, int(warp[0]))

    return together(low, WARP, store)


def _report_torn(wave: Wave, statement: Instruction, threads: Array) -> None:
    if len(threads):
        message = "all 32 threads of a warp execute this together; some of this warp are not there"
        wave.reports.add("collective", message, statement, wave.threads, threads)


@control("tensor_memory", "tcgen05.wait")
def lower_wait(low: Lowering) -> Control:
    statement = _statement(low)
    if low.match.value(".wait_operation") == "wait::st":
        return together(low, WARP, lambda wave, frame, threads: wave.tensor_memory.wait_stores(threads))

    def wait(wave: Wave, frame: Frame, threads: Array) -> None:
        wave.tensor_memory.wait_loads(threads)
        wave.in_flight.land(LOADS, threads, None, statement)

    return together(low, WARP, wait)


@execution("tensor_memory", "tcgen05.fence")
def lower_fence(low: Lowering) -> Run:
    before = "before_thread_sync" in _statement(low).opcode
    return lambda wave, frame, index: wave.tensor_memory.fence(wave.indices(index), before)


# ---- what one thread issues -------------------------------------------------------------------------------------------


def _one_thread(low: Lowering, act: Callable[[Wave, Frame, int], None]) -> Run:
    """An instruction that one thread issues for all: each thread that executes it issues its own, which is reported."""
    statement = _statement(low)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        warp = wave.threads.warp[threads]
        several = np.bincount(warp)[warp] > 1
        if several.any():
            count = int(np.bincount(warp).max())
            message = f"issued by {count} threads of a warp, each of which issues its own; one elected thread does (elect.sync)"
            wave.reports.add("collective", message, statement, wave.threads, threads[several])
        for thread in threads.tolist():
            act(wave, frame, thread)

    return run


@execution("tensor_memory", "tcgen05.mma", "tcgen05.mma.ws", "tcgen05.mma.sp", "tcgen05.mma.ws.sp")
def lower_product(low: Lowering) -> Run:
    return _one_thread(low, TensorProduct(low, _group(low)).issue)


@execution("tensor_memory", "tcgen05.mma (block scale)", "tcgen05.mma.sp (block scale)")
def lower_scaled_product(low: Lowering) -> Run:
    return _one_thread(low, ScaledTensorProduct(low, _group(low)).issue)


@execution("tensor_memory", "tcgen05.cp")
def lower_copy(low: Lowering) -> Run:
    return _one_thread(low, TensorCopy(low, _group(low)).issue)


@execution("tensor_memory", "tcgen05.shift")
def lower_shift(low: Lowering) -> Run:
    return _one_thread(low, TensorShift(low, _group(low)).issue)


@execution("tensor_memory", "tcgen05.commit")
def lower_commit(low: Lowering) -> Run:
    statement, group = _statement(low), _group(low)
    place = shared_place(low, "mbar")
    mask: Get | None = low.source(low.named["cta_mask"], type_named("u16")) if "cta_mask" in low.named else None

    def commit(wave: Wave, frame: Frame, thread: int) -> None:
        one = np.array([thread])
        blocks, offsets = place(wave, frame, one)
        if mask is not None:
            clusters = cluster_map(wave.threads)
            chosen = int(mask(wave, frame, one)[0])
            peers = clusters.blocks[clusters.cluster[wave.threads.block[thread]]]
            blocks = np.array([peers[rank] if rank < len(peers) else -1 for rank in range(16) if chosen >> rank & 1])
            offsets = np.full(len(blocks), offsets[0])
        threads = np.full(len(blocks), thread)
        named = barriers_at(wave, (blocks, offsets), threads, statement, by_proxy=True)
        barriers = [barrier for barrier, _, _, _ in named if barrier is not None]
        covered = wave.tensor_memory.commit(thread, group, ", ".join(barrier.name for barrier in barriers[:1]))

        def happen() -> None:
            wave.tensor_memory.land(covered)
            for barrier in barriers:
                wave.mbarriers.arrive(barrier, one, np.ones(1, np.int64), statement)

        wave.copies.later(happen)

    return _one_thread(low, commit)
