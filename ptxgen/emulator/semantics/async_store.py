"""Stores and reductions that go on by themselves (ISA "st.async", "red.async"), and "st.bulk"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.asynchronous import Copy
from ptxgen.emulator.asynchronous_reduce import combiner
from ptxgen.emulator.atomics import combination, combine
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import Access
from ptxgen.emulator.operands import Array, Get
from ptxgen.emulator.semantics.mbarrier import barriers_at, shared_place
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


def _statement(low: Lowering) -> Instruction:
    assert isinstance(low.statement, Instruction)
    return low.statement


def _global(low: Lowering) -> str:
    """The space that the opcode names; where it names none, the address is generic."""
    return low.match.value(".global") or low.match.value(".ss")


def _bytes(wave: Wave, frame: Frame, index: Any, gets: list[Get], unit: int) -> Array:
    """What each thread sends: shape (threads, elements, unit)."""
    count = wave.count(index)
    parts = [get(wave, frame, index) for get in gets]
    shape = (count, 2) if parts[0].ndim == 2 else (count,)
    words = [np.ascontiguousarray(np.broadcast_to(part, shape)).view(np.uint8).reshape(count, unit) for part in parts]
    return np.stack(words, axis=1)


@execution("async_store", "st.async", "red.async")
def lower_signalling(low: Lowering) -> Run:
    """Each thread's bytes are a copy of their own, so that several may be on their way to one place to be combined there."""
    statement, of = _statement(low), low.operand_type("b")
    unit = of.bits // 8
    target, told = shared_place(low, "a"), shared_place(low, "mbar")
    gets = low.sources(low.named["b"], of)
    reduces = low.match.entry.name == "red.async"
    merge = combiner(low.match.value(".op"), f"u{of.bits}" if of.kind == "bits" else of.name) if reduces else None

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads, region = wave.indices(index), wave.memory.spaces["shared"]
        blocks, offsets = target(wave, frame, index)
        data = _bytes(wave, frame, index, gets, unit)
        where = (offsets + blocks * region.stride)[:, None] // unit + np.arange(len(gets))
        outside = (blocks < 0) | (offsets % (unit * len(gets)) != 0)
        if outside.any():
            message = f"{unit * len(gets)} bytes go to no place of the cluster's shared memory that is aligned to them"
            wave.reports.add("out of bounds", message, statement, wave.threads, threads[outside], subject="target")
        for barrier, chosen, _, _ in barriers_at(wave, told(wave, frame, index), threads, statement):
            if barrier is None:
                continue
            for one in chosen[~outside[chosen]].tolist():
                copy = Copy(statement, threads[[one]], region, unit, where[[one]], data[[one]], combine=merge, by_proxy=False)
                wave.copies.begin(copy)
                wave.copies.tell(copy, barrier, data[one].size)

    return run


@execution("async_store", "st.async (release)")
def lower_released_store(low: Lowering) -> Run:
    """Nothing tells of its end but the value itself, so it may as well be there at once."""
    of = low.operand_type("b")
    space, address = low.address(low.named["a"], _global(low))
    access = Access(_statement(low), space, of.bits // 8, 1)
    value = low.source(low.named["b"], of)
    word = np.dtype(f"u{of.bits // 8}")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        stored = np.ascontiguousarray(value(wave, frame, index)).view(word)
        wave.memory.store(access, address(wave, frame, index), [stored], index, wave.count(index))

    return run


@execution("async_store", "red.async (release)")
def lower_released_sum(low: Lowering) -> Run:
    of = low.operand_type("b")
    space, address = low.address(low.named["a"], _global(low))
    access = Access(_statement(low), space, of.bits // 8, 1)
    value, what = low.source(low.named["b"], of), combination("add", of)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        added = np.ascontiguousarray(np.broadcast_to(value(wave, frame, index), wave.count(index))).view(what.dtype)
        wave.hazards.strong(wave.indices(index), reads=False, writes=True)
        combine(wave, access, address(wave, frame, index), [[added]], what, index)

    return run


@execution("async_store", "st.bulk")
def lower_fill(low: Lowering) -> Run:
    space, address = low.address(low.named["a"], "shared" if low.match.value(".ss") else "")
    access = Access(_statement(low), space, 8, 1)
    name, of = ("size", "u64") if "size" in low.named else ("short_size", "u32")
    size = low.source(low.named[name], type_named(of))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.indices(index)
        begins = np.broadcast_to(address(wave, frame, index), len(threads))
        sizes = np.broadcast_to(size(wave, frame, index), len(threads)).astype(np.int64)
        for thread, begin, nbytes in zip(threads.tolist(), begins.tolist(), sizes.tolist()):
            if nbytes % 8:
                message = f"{nbytes} bytes are to be filled, which is no multiple of 8"
                wave.reports.add("misaligned", message, access.statement, wave.threads, np.array([thread]), subject="size")
                continue
            words = nbytes // 8
            if words:
                places = begin + 8 * np.arange(words)
                wave.memory.store(access, places, [np.zeros(words, np.uint64)], np.full(words, thread), words)

    return run
