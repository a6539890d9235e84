"""Moves, address conversion and byte permutation (ISA "mov", "cvta", "isspacep", "prmt")."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import WINDOW_SHIFT, WINDOWS
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import execution, semantics
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import TYPES, Type
from ptxgen.ir import Instruction, Sink

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

Function = Callable[..., Any]


@execution("move", "mov")
def lower_mov(low: Lowering) -> Run:
    """One value, or a register vector element by element."""
    assert isinstance(low.statement, Instruction)
    destination, source = low.statement.operands
    of = low.match.type()
    pairs = zip(low.elements(destination), low.elements(source))
    moves = [(low.target(target, of), low.source(item, of)) for target, item in pairs]
    if len(moves) == 1:
        put, get = moves[0]
        return lambda wave, frame, index: put(wave, frame, index, get(wave, frame, index))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        values = [(put, get(wave, frame, index).copy()) for put, get in moves]
        for put, value in values:
            put(wave, frame, index, value)

    return run


@execution("move", "mov (pack and unpack)")
def lower_packing(low: Lowering) -> Run:
    """``mov.b32 d, {a, b}`` or ``mov.b32 {a, b}, d``; the first part holds the lowest bits."""
    assert isinstance(low.statement, Instruction)
    destination, source = low.statement.operands
    of = low.match.type(".packed")
    targets, parts = low.elements(destination), low.elements(source)
    if len(parts) > 1:
        return _pack(low, targets[0], parts, of)
    return _unpack(low, targets, parts[0], of)


def _part_type(of: Type, count: int) -> Type:
    return TYPES[f"b{of.bits // count}"]


def _bytes_of(value: Array) -> Array:
    """Values, of any width, as rows of bytes."""
    rows = np.ascontiguousarray(value)
    return rows.view(np.uint8).reshape(len(rows), -1)


def _from_bytes(rows: Array, bits: int) -> Array:
    if bits == 128:
        return np.ascontiguousarray(rows).view(np.uint64)
    return np.ascontiguousarray(rows).view(f"u{bits // 8}").reshape(len(rows))


def _pack(low: Lowering, target: Any, parts: tuple[Any, ...], of: Type) -> Run:
    part = _part_type(of, len(parts))
    put, gets = low.target(target, of), [low.source(item, part) for item in parts]

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        rows = [_bytes_of(get(wave, frame, index)) for get in gets]
        count = max(map(len, rows))
        joined = np.concatenate([np.broadcast_to(row, (count, row.shape[1])) for row in rows], axis=1)
        put(wave, frame, index, _from_bytes(joined, of.bits))

    return run


def _unpack(low: Lowering, targets: tuple[Any, ...], source: Any, of: Type) -> Run:
    part = _part_type(of, len(targets))
    get = low.source(source, of)
    puts = [(position, low.target(item, part)) for position, item in enumerate(targets) if not isinstance(item, Sink)]
    width = part.bits // 8

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        rows = _bytes_of(get(wave, frame, index))
        for position, put in puts:
            put(wave, frame, index, _from_bytes(rows[:, position * width : (position + 1) * width], part.bits))

    return run


def _window(match: Match) -> int | None:
    """Where the window of the opcode's state space starts; None for global memory, which has none."""
    return WINDOWS.get(match.value(".space").partition("::")[0])


@semantics("move", "cvta")
def cvta(match: Match) -> Function:
    """``cvta.space`` makes an address of a window generic, ``cvta.to.space`` does the reverse."""
    window = _window(match)
    if window is None or match.type(".size").bits == 32:
        return lambda a: a
    shift = np.array([-window if ".to" in match.bindings else window], np.int64).view(np.uint64)
    return lambda a: a + shift


@semantics("move", "isspacep")
def isspacep(match: Match) -> Function:
    window = _window(match)
    first, last = min(WINDOWS.values()) >> WINDOW_SHIFT, max(WINDOWS.values()) >> WINDOW_SHIFT

    def apply(a: Array) -> Array:
        number = a.astype(np.uint64) >> np.uint64(WINDOW_SHIFT)
        if window is None:
            return (number < first) | (number > last)
        return number == window >> WINDOW_SHIFT

    return apply


@semantics("move", "prmt")
def prmt(match: Match) -> Function:
    return numerics.prmt(match.value(".mode") or None)

