"""Atomic updates (ISA "atom", "red"): each thread's operands, in turns (`ptxgen.emulator.atomics`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.atomics import Combination, combination, combine
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import Access
from ptxgen.emulator.operands import Array, Get, Put, dtype_of
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import Type
from ptxgen.ir import Instruction, Sink

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


def _what(low: Lowering, of: Type) -> Combination:
    bound = low.match.bindings
    operation = next((name[1:] for name in (".cas", ".exch", ".add") if name in bound), None) or low.match.value(".op")
    return combination(operation, of.element, keeps_subnormals=".noftz" in bound)


def _orders(low: Lowering) -> tuple[bool, bool]:
    """Whether the access releases what came before it, and acquires what comes behind it."""
    order = low.match.value(".sem")
    return order in ("release", "acq_rel"), order in ("acquire", "acq_rel")


@execution(
    "atomic", "atom", "atom (compare and swap)", "atom (exchange)", "atom (sums that keep subnormals)", "atom (vectors)", "red",
    "red (sums that keep subnormals)", "red (vectors)",
)  # fmt: skip
def lower_atomic(low: Lowering) -> Run:
    statement = low.statement
    assert isinstance(statement, Instruction)
    of = low.operand_type("a")
    lanes, wide = of.lanes, of.bits == 128
    contract = low.match.entry.operands["a"]
    space, address = low.address(low.named["a"], low.match.value(contract.space).partition("::")[0])
    count = low.match.count(contract.vector)
    words = 2 if wide else count * lanes
    access = Access(statement, space, of.bits // 8 * count // words, words)
    what = _what(low, of)
    sources = [low.sources(low.named[name], of) for name in ("b", "c") if name in low.named]
    target = low.named.get("d")
    puts: list[Put] = [] if target is None or isinstance(target, Sink) else [low.target(item, of) for item in low.elements(target)]
    releases, acquires = _orders(low)

    def values(wave: Wave, frame: Frame, index: Any, get: Get, threads: int) -> list[Array]:
        """The elements of a register, one array each."""
        given = get(wave, frame, index)
        if wide:
            return [np.broadcast_to(given, (threads, 2))]
        given = np.ascontiguousarray(np.broadcast_to(given, threads))
        parts = given.view(what.dtype).reshape(threads, lanes)
        return [parts[:, lane] for lane in range(lanes)]

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.count(index)
        operands = [[one for get in gets for one in values(wave, frame, index, get, threads)] for gets in sources]
        where = address(wave, frame, index)
        if releases:
            wave.hazards.strong(wave.indices(index), reads=False, writes=True)
        before = combine(wave, access, where, list(zip(*operands)), what, index, wide=wide)
        if acquires:
            wave.hazards.strong(wave.indices(index), reads=True, writes=False)
        for number, put in enumerate(puts):
            old = before[number] if lanes == 1 else np.ascontiguousarray(np.stack(before[number * lanes : (number + 1) * lanes], axis=1))
            put(wave, frame, index, old if wide else old.view(dtype_of(of)).reshape(threads))

    return run
