"""The stack (ISA 9.7.19): each call of a function that allocates has room of its own behind its variables, filled from the top down.

The stack pointer is a register that no text names; until it is first moved it lies at the top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.code import STACK_BYTES
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import FIRST
from ptxgen.emulator.operands import Array, dtype_of, read_register, write_register
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import TYPES

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

_POINTER = TYPES["u64"]
_LEAST = 8
"""The alignment that an allocation has without asking for one."""


class _Pointer:
    """The stack pointer of a function: local addresses."""

    def __init__(self, low: Lowering) -> None:
        register, self._bottom = low.code.stack()
        self._slot = register.slot
        self._read = read_register(register.slot, _POINTER, _POINTER, low.statement, "the stack pointer")
        self.write = write_register(register.slot, _POINTER, _POINTER)

    def bottom(self, frame: Frame) -> int:
        return frame.base + self._bottom

    def read(self, wave: Wave, frame: Frame, index: Any) -> Array:
        """Where it points, one number a thread."""
        written = frame.written[self._slot]
        top = self.bottom(frame) + STACK_BYTES
        if written is False:
            return np.full(wave.count(index), top, np.uint64)
        value = frame.values[self._slot]
        found = value if written is True else np.where(written, value, np.uint64(top))
        return found if index is None else found[index]


@execution("stack", "stacksave")
def lower_save(low: Lowering) -> Run:
    pointer, of = _Pointer(low), low.match.type()
    put, dtype = low.target(low.named["d"], of), dtype_of(of)
    return lambda wave, frame, index: put(wave, frame, index, pointer.read(wave, frame, index).astype(dtype))


@execution("stack", "stackrestore")
def lower_restore(low: Lowering) -> Run:
    pointer, get = _Pointer(low), low.source(low.named["a"], low.match.type())
    return lambda wave, frame, index: pointer.write(wave, frame, index, get(wave, frame, index).astype(np.uint64))


@execution("stack", "alloca")
def lower_allocation(low: Lowering) -> Run:
    pointer, of = _Pointer(low), low.match.type()
    size, put, dtype = low.source(low.named["size"], of), low.target(low.named["ptr"], of), dtype_of(of)
    align = max(low.named["immAlign"].value if "immAlign" in low.named else 0, _LEAST)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        wanted = np.broadcast_to(size(wave, frame, index), wave.count(index)).astype(np.int64)
        here = pointer.read(wave, frame, index).astype(np.int64)
        address = here - wanted & -align
        over = address < pointer.bottom(frame)
        if over.any():
            first = int(np.flatnonzero(over)[0])
            message = f"{wanted[first]} bytes are allocated where the stack has {here[first] - pointer.bottom(frame)} left"
            wave.reports.add("stack overflow", message, low.statement, wave.threads, wave.indices(index)[over])
        _forget(wave, address[~over], here[~over], wave.indices(index)[~over])
        pointer.write(wave, frame, index, address.astype(np.uint64))
        put(wave, frame, index, address.astype(dtype))

    return run


def _forget(wave: Wave, first: Array, last: Array, threads: Array) -> None:
    """What is allocated holds nothing yet."""
    local = wave.memory.spaces["local"]
    assert local.written is not None
    shadow = local.written.reshape(wave.threads.count, local.stride)
    for thread, start, end in zip(threads, first - FIRST["local"], last - FIRST["local"]):
        shadow[thread, start:end] = 0
