"""cp.async and its groups (ISA "Non-bulk copy")."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.asynchronous import Copy
from ptxgen.emulator.asynchronous_rows import Rows, access_of
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array, Get
from ptxgen.emulator.semantics.mbarrier import barriers_at, shared_place
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Int

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


def _statement(low: Lowering) -> Instruction:
    assert isinstance(low.statement, Instruction)
    return low.statement


def _operand(low: Lowering, name: str, of: str) -> Get | None:
    return low.source(low.named[name], type_named(of)) if name in low.named else None


# ---- cp.async ---------------------------------------------------------------------------------------------------------


@execution("async_copy", "cp.async")
def lower_cp_async(low: Lowering) -> Run:
    """Bytes past `src_size` become zeros, all of them where `ignore_src` holds; such bytes of the source are not read."""
    statement = _statement(low)
    size_operand = low.named.get("cp_size", low.named.get("16"))
    assert isinstance(size_operand, Int)
    size = size_operand.value
    read, write = access_of(statement, "global", size), access_of(statement, "shared", size)
    single = access_of(statement, "global", 1)
    source_space, source = low.address(low.named["src"], "global")
    target_space, target = low.address(low.named["dst"], "shared")
    read, single, write = read.within(source_space), single.within(source_space), write.within(target_space)
    taken, ignored = _operand(low, "src_size", "u32"), _operand(low, "ignore_src", "pred")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        count = len(threads)
        begin = np.broadcast_to(source(wave, frame, index), count)
        if taken is not None:
            sizes = np.minimum(np.broadcast_to(taken(wave, frame, index), count).astype(np.int64), size)
        elif ignored is not None:
            sizes = np.where(np.broadcast_to(ignored(wave, frame, index), count), 0, size)
        else:
            sizes = np.full(count, size)
        gather = _gather(wave, begin, sizes, threads, size, read, single)
        data = gather()
        for chosen, region, flat in wave.memory.places(write, target(wave, frame, index), index, count):
            positions = np.arange(count) if chosen is None else chosen
            where = np.broadcast_to(flat, len(positions)) * write.width // size
            again = _again(gather, positions) if wave.checks else None
            copy = Copy(statement, threads[positions], region, size, where[:, None], data[positions], source=again)
            wave.copies.plain.add(copy)
            wave.copies.begin(copy)

    return run


def _again(gather: Callable[[], Array], positions: Array) -> Callable[[], Array]:
    return lambda: gather()[positions]


def _gather(wave: Wave, begin: Array, sizes: Array, threads: Array, size: int, whole: Any, single: Any) -> Callable[[], Array]:
    """What reads the first `sizes` bytes from each address, zeros behind: shape (n, 1, size)."""
    full = np.flatnonzero(sizes == size)
    rows = Rows(wave, whole, begin[full], threads[full])
    rest: list[tuple[Array, int, Rows]] = []
    for byte in range(int(sizes[sizes < size].max(initial=0))):
        part = np.flatnonzero((sizes > byte) & (sizes < size))
        rest.append((part, byte, Rows(wave, single, begin[part] + byte, threads[part])))

    def gather() -> Array:
        data = np.zeros((len(begin), 1, size), np.uint8)
        data[full, 0] = rows.read()
        for part, byte, bytes_there in rest:
            data[part, 0, byte] = bytes_there.read()[:, 0]
        return data

    return gather


@execution("async_copy", "cp.async.commit_group")
def lower_commit(low: Lowering) -> Run:
    return lambda wave, frame, index: wave.copies.plain.commit(index)


@execution("async_copy", "cp.async.wait_group")
def lower_wait(low: Lowering) -> Run:
    newest = low.named.get("n")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        of = wave.copies.plain
        if newest is None:
            of.commit(index)  # wait_all covers what is not committed yet
        if of.copies:
            wave.copies.wait(of, wave.indices(index), 0 if newest is None else newest.value)

    return run


@execution("async_copy", "cp.async.mbarrier.arrive")
def lower_arrive(low: Lowering) -> Run:
    statement, place = _statement(low), shared_place(low)
    raises = "noinc" not in statement.opcode.split(".")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        for barrier, where, _, _ in barriers_at(wave, place(wave, frame, index), threads, statement):
            if barrier is not None:
                if raises:
                    wave.mbarriers.expect_more(barrier, threads[where], statement)
                wave.copies.arrive_behind(barrier, threads[where], statement)

    return run
