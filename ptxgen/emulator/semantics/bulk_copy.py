"""Bulk copies and reductions, and their groups (ISA "Bulk copy"); what they move is in `asynchronous_bulk`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.asynchronous_bulk import Bulk, Signal
from ptxgen.emulator.asynchronous_reduce import Combine, combiner
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array, Get
from ptxgen.emulator.semantics.mbarrier import shared_place
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

__all__ = ["address_in", "each"]


@execution("bulk_copy", "cp.async.bulk.commit_group")
def lower_commit(low: Lowering) -> Run:
    return lambda wave, frame, index: wave.copies.bulk.commit(index)


@execution("bulk_copy", "cp.async.bulk.wait_group")
def lower_wait(low: Lowering) -> Run:
    newest, reads_only = low.named["n"].value, low.statement.opcode.endswith(".read")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        if wave.copies.bulk.copies:
            wave.copies.wait(wave.copies.bulk, wave.indices(index), newest, reads_only=reads_only)

    return run


def _operand(low: Lowering, name: str, of: str) -> Get | None:
    return low.source(low.named[name], type_named(of)) if name in low.named else None


def address_in(low: Lowering, name: str, space: str) -> Get:
    """Addresses of one end of a bulk copy: in global memory, or of the cluster's window of shared memory."""
    found, address = low.address(low.named[name], space)
    if found != space:
        raise low.refuse(f"the emulator takes a .{space} address here, not one of .{found or 'generic'} memory")
    return address


def _signal(low: Lowering) -> Callable[[Wave, Frame, Any], tuple[Array, Array]] | None:
    return shared_place(low, "mbar") if "mbar" in low.named else None


def each(low: Lowering, move: Callable[[Bulk, Wave, int, Callable[[Get | None], int], Callable[[], Signal]], None]) -> Run:
    """A copy that each active thread issues for itself: `move` is told of one thread, and reads operands and its mbarrier for it."""
    statement, place = low.statement, _signal(low)
    assert isinstance(statement, Instruction)
    mask = _operand(low, "cta_mask", "u16") or _operand(low, "wide_mask", "u32")

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


@execution("bulk_copy", "cp.async.bulk.load")
def lower_bulk_load(low: Lowering) -> Run:
    source, target = address_in(low, "src_mem", "global"), address_in(low, "dst_mem", "shared")
    size = _operand(low, "size", "u32")
    left, right = _operand(low, "ignore_bytes_left", "u32"), _operand(low, "ignore_bytes_right", "u32")

    def move(bulk: Bulk, wave: Wave, thread: int, value: Any, signal: Any) -> None:
        told = signal()
        bulk.load(value(source), value(target), value(size), told, skip=(value(left), value(right)))

    return each(low, move)


@execution("bulk_copy", "cp.async.bulk.copy")
def lower_bulk_copy(low: Lowering) -> Run:
    source, target = address_in(low, "src_mem", "shared"), address_in(low, "dst_mem", "shared")
    size = _operand(low, "size", "u32")
    return each(low, lambda bulk, wave, thread, value, signal: bulk.across(value(source), value(target), value(size), signal(), None))


@execution("bulk_copy", "cp.reduce.async.bulk.copy")
def lower_bulk_reduction(low: Lowering) -> Run:
    source, target = address_in(low, "src_mem", "shared"), address_in(low, "dst_mem", "shared")
    size, combine = _operand(low, "size", "u32"), _combine(low)
    return each(low, lambda bulk, wave, thread, value, signal: bulk.across(value(source), value(target), value(size), signal(), combine))


def _combine(low: Lowering) -> Combine:
    operation = low.match.value(".redOp") or "add"
    return combiner(operation, low.match.value(".type"))


@execution("bulk_copy", "cp.async.bulk.store")
def lower_bulk_store(low: Lowering) -> Run:
    source, target = address_in(low, "src_mem", "shared"), address_in(low, "dst_mem", "global")
    size, mask = _operand(low, "size", "u32"), _operand(low, "byte_mask", "u16")
    return each(
        low,
        lambda bulk, wave, thread, value, signal: bulk.store(
            value(source), value(target), value(size), None, None if mask is None else value(mask)
        ),
    )


@execution("bulk_copy", "cp.reduce.async.bulk.store", "cp.reduce.async.bulk.noftz")
def lower_bulk_store_reduction(low: Lowering) -> Run:
    source, target = address_in(low, "src_mem", "shared"), address_in(low, "dst_mem", "global")
    size, combine = _operand(low, "size", "u32"), _combine(low)
    return each(low, lambda bulk, wave, thread, value, signal: bulk.store(value(source), value(target), value(size), combine, None))


@execution("bulk_copy", "cp.async.bulk.prefetch")
def lower_prefetch(low: Lowering) -> Run:
    """Nothing that a program can see."""
    return lambda wave, frame, index: None
