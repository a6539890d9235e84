"""Loads and stores (ISA "ld", "ld.global.nc", "ldu", "st"). Cache hints, ordering and scope change no value here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import Access
from ptxgen.emulator.operands import Array, Get, Put, dtype_of
from ptxgen.emulator.semantics.table import execution
from ptxgen.emulator.variables import extents
from ptxgen.ir import Instruction, Sink

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


def _place(low: Lowering) -> tuple[Access, Get, int]:
    """The access, its addresses, and the words of a register: 2 for 128 bits."""
    assert isinstance(low.statement, Instruction)
    contract = low.match.entry.operands["a"]
    of = low.operand_type("a")
    named = low.match.value(contract.space) if contract.space.startswith(".") else contract.space
    space, _, member = named.partition("::")
    if space == "param" and (member == "func" or (not member and low.code.function.kind == "func")):
        space = "local"  # a device function's parameters lie in its frame
    space, address = low.address(low.named["a"], space)
    words = 2 if of.bits == 128 else 1
    count = low.match.count(contract.vector) * words
    return Access(low.statement, space, of.bits // 8 // words, count, extents(low.code.frame)), address, words


@execution("memory", "ld", "ld.global.nc", "ldu")
def lower_load(low: Lowering) -> Run:
    access, address, words = _place(low)
    of = low.operand_type("d")
    dtype = dtype_of(of)
    puts: list[Put] = [low.target(item, of) for item in low.elements(low.named["d"])]

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        loaded = wave.memory.load(access, address(wave, frame, index), index, wave.count(index))
        if words == 2:
            loaded = [np.stack(loaded[step : step + 2], axis=-1) for step in range(0, len(loaded), 2)]
        for put, value in zip(puts, loaded):
            put(wave, frame, index, value.view(dtype))

    return run


@execution("memory", "st")
def lower_store(low: Lowering) -> Run:
    access, address, words = _place(low)
    of = low.operand_type("b")
    unsigned = np.dtype(f"u{access.width}")
    gets: list[Get | None] = [None if isinstance(item, Sink) else low.source(item, of) for item in low.elements(low.named["b"])]

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        values: list[Array | None] = []
        for get in gets:
            if get is None:
                values += [None] * words
                continue
            value = get(wave, frame, index)
            values += [value[:, 0], value[:, 1]] if words == 2 else [value.view(unsigned)]
        wave.memory.store(access, address(wave, frame, index), values, index, wave.count(index))

    return run
