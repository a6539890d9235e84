"""Copies that go on by themselves (ISA "Asynchronous Copy"): cp.async here, what bulk copies move in `asynchronous_bulk`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.asynchronous import Copy, Groups
from ptxgen.emulator.asynchronous_bulk import Bulk, Signal
from ptxgen.emulator.asynchronous_reduce import Combine, combiner
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


def _groups(low: Lowering) -> Callable[[Wave], Groups]:
    if ".bulk." in f"{low.statement.opcode}.":
        return lambda wave: wave.copies.bulk
    return lambda wave: wave.copies.plain


@execution("async_copy", "cp.async.commit_group", "cp.async.bulk.commit_group")
def lower_commit(low: Lowering) -> Run:
    groups = _groups(low)
    return lambda wave, frame, index: groups(wave).commit(index)


@execution("async_copy", "cp.async.wait_group", "cp.async.bulk.wait_group")
def lower_wait(low: Lowering) -> Run:
    groups = _groups(low)
    words = low.statement.opcode.split(".")
    newest = low.named.get("n")
    reads_only = "read" in words

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        of = groups(wave)
        if newest is None:
            of.commit(index)  # wait_all covers what is not committed yet
        if of.copies:
            wave.copies.wait(of, wave.indices(index), 0 if newest is None else newest.value, reads_only=reads_only)

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


# ---- bulk copies ------------------------------------------------------------------------------------------------------


def _range(low: Lowering, name: str, space: str) -> Get:
    """Addresses of one end of a bulk copy: in global memory, or of the cluster's window of shared memory."""
    found, address = low.address(low.named[name], space)
    if found != space:
        raise low.refuse(f"the emulator takes a .{space} address here, not one of .{found or 'generic'} memory")
    return address


def _signal(low: Lowering) -> Callable[[Wave, Frame, Any], tuple[Array, Array]] | None:
    return shared_place(low, "mbar") if "mbar" in low.named else None


def _each(low: Lowering, move: Callable[[Bulk, Wave, int, Callable[[Get | None], int], Callable[[], Signal]], None]) -> Run:
    """A copy that each active thread issues for itself: `move` is told of one thread, and reads operands and its mbarrier for it."""
    statement, place = _statement(low), _signal(low)
    mask = _operand(low, "cta_mask", "u16")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        for thread in wave.indices(index).tolist():
            one = np.array([thread])

            def value(get: Get | None, one: Array = one) -> int:
                return 0 if get is None else int(np.broadcast_to(get(wave, frame, one), 1)[0])

            def signal(one: Array = one) -> Signal:
                assert place is not None
                blocks, offsets = place(wave, frame, one)
                return Signal(int(blocks[0]), int(offsets[0]), None if mask is None else value(mask))

            move(Bulk(wave, statement, thread), wave, thread, value, signal)

    return run


@execution("async_copy", "cp.async.bulk.load")
def lower_bulk_load(low: Lowering) -> Run:
    source, target = _range(low, "src_mem", "global"), _range(low, "dst_mem", "shared")
    size = _operand(low, "size", "u32")
    left, right = _operand(low, "ignore_bytes_left", "u32"), _operand(low, "ignore_bytes_right", "u32")

    def move(bulk: Bulk, wave: Wave, thread: int, value: Any, signal: Any) -> None:
        told = signal()
        bulk.load(value(source), value(target), value(size), told, skip=(value(left), value(right)))

    return _each(low, move)


@execution("async_copy", "cp.async.bulk.copy")
def lower_bulk_copy(low: Lowering) -> Run:
    source, target = _range(low, "src_mem", "shared"), _range(low, "dst_mem", "shared")
    size = _operand(low, "size", "u32")
    return _each(low, lambda bulk, wave, thread, value, signal: bulk.across(value(source), value(target), value(size), signal(), None))


@execution("async_copy", "cp.reduce.async.bulk.copy")
def lower_bulk_reduction(low: Lowering) -> Run:
    source, target = _range(low, "src_mem", "shared"), _range(low, "dst_mem", "shared")
    size, combine = _operand(low, "size", "u32"), _combine(low)
    return _each(low, lambda bulk, wave, thread, value, signal: bulk.across(value(source), value(target), value(size), signal(), combine))


def _combine(low: Lowering) -> Combine:
    operation = low.match.value(".redOp") or "add"
    return combiner(operation, low.match.value(".type"))


@execution("async_copy", "cp.async.bulk.store")
def lower_bulk_store(low: Lowering) -> Run:
    source, target = _range(low, "src_mem", "shared"), _range(low, "dst_mem", "global")
    size, mask = _operand(low, "size", "u32"), _operand(low, "byte_mask", "u16")
    return _each(
        low,
        lambda bulk, wave, thread, value, signal: bulk.store(
            value(source), value(target), value(size), None, None if mask is None else value(mask)
        ),
    )


@execution("async_copy", "cp.reduce.async.bulk.store", "cp.reduce.async.bulk.noftz")
def lower_bulk_store_reduction(low: Lowering) -> Run:
    source, target = _range(low, "src_mem", "shared"), _range(low, "dst_mem", "global")
    size, combine = _operand(low, "size", "u32"), _combine(low)
    return _each(low, lambda bulk, wave, thread, value, signal: bulk.store(value(source), value(target), value(size), combine, None))


@execution("async_copy", "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor")
def lower_prefetch(low: Lowering) -> Run:
    """Nothing that a program can see."""
    return lambda wave, frame, index: None


# ---- tensor copies ----------------------------------------------------------------------------------------------------

_TILE_MODES = ("", "tile", "tile::gather4", "tile::scatter4")


def _tensor(low: Lowering) -> tuple[str, Get, list[Get], bool]:
    """State space and address of the tensor map, the coordinates, and whether they name four rows."""
    mode = low.match.value(".load_mode")
    if mode not in _TILE_MODES:
        raise low.refuse(f"the emulator does not follow .{mode} yet", section=low.match.entry.section, legal=".tile, or a GPU")
    space, address = low.address(low.named["tensor_map"], "")
    s32 = type_named("s32")
    return space, address, low.sources(low.named["tensor_coords"], s32), "4" in mode


@execution("async_copy", "cp.async.bulk.tensor.load")
def lower_tensor_load(low: Lowering) -> Run:
    space, address, coordinates, rows = _tensor(low)
    target = _range(low, "dst_mem", "shared")
    rank = int(low.match.value(".dim")[0])
    pair = low.match.value(".cta_group") == "cta_group::2"

    def move(bulk: Bulk, wave: Wave, thread: int, value: Any, signal: Any) -> None:
        box = bulk.box(space, value(address), [value(get) for get in coordinates], rows, rank)
        if box is not None:
            bulk.load_box(box, value(target), signal(), pair)

    return _each(low, move)


@execution("async_copy", "cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor")
def lower_tensor_store(low: Lowering) -> Run:
    space, address, coordinates, rows = _tensor(low)
    source = _range(low, "src_mem", "shared")
    rank = int(low.match.value(".dim")[0])
    operation = low.match.value(".redOp")

    def move(bulk: Bulk, wave: Wave, thread: int, value: Any, signal: Any) -> None:
        box = bulk.box(space, value(address), [value(get) for get in coordinates], rows, rank)
        if box is not None:
            bulk.store_box(box, value(source), combiner(operation, box.fields.kind) if operation else None)

    return _each(low, move)
