"""Rows of bytes that a copy takes from memory, or will fill: each one located, its region known, what faults reported and left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.asynchronous import IN_FLIGHT, rows
from ptxgen.emulator.memory import Access, Region
from ptxgen.emulator.operands import Array
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["Rows", "access_of"]


def access_of(statement: Instruction, space: str, unit: int) -> Access:
    """An access of `unit` bytes: 1, 2, 4, 8 or 16."""
    return Access(statement, space, min(unit, 8), max(unit // 8, 1))


class Rows:
    """Rows of `unit` bytes at addresses of one state space.

    Attributes
    ----------
    pieces : list of (positions, region, rows)
        For each region that is hit: which of the addresses, and their row numbers in the region's data.
    """

    __slots__ = ("_wave", "count", "pieces", "statement", "threads", "unit")

    def __init__(self, wave: Wave, access: Access, address: Array, threads: Array) -> None:
        self._wave = wave
        self.statement = access.statement
        self.unit = access.nbytes
        self.count = len(address)
        self.threads = threads
        self.pieces: list[tuple[Array, Region, Array]] = []
        for chosen, region, flat in wave.memory.places(access, address, threads, len(address)) if len(address) else ():
            positions = np.arange(len(address)) if chosen is None else chosen
            self.pieces.append((positions, region, np.broadcast_to(flat, len(positions)) * access.width // self.unit))

    def read(self) -> Array:
        """The bytes, shape (count, unit); zeros where an address faults."""
        data = np.zeros((self.count, self.unit), np.uint8)
        for positions, region, where in self.pieces:
            data[positions] = rows(region.data, self.unit)[where]
        return data

    def check(self) -> None:
        """Report rows that nothing has written, or that a copy in flight will."""
        if not self._wave.checks:
            return
        for positions, region, where in self.pieces:
            if region.written is None:
                continue
            shadow = rows(region.written, self.unit)[where]
            bad = (shadow != 255).any(axis=1)
            if not bad.any():
                continue
            access = access_of(self.statement, "shared", self.unit)
            flat = where * (self.unit // access.width)
            flying = (shadow == IN_FLIGHT).any(axis=1)
            if flying.any():
                self._wave.copies.in_flight(access, region, flat, flying, self.threads[positions])
            unwritten = bad & ~flying
            if unwritten.any():
                first = int(np.flatnonzero(unwritten)[0])
                name = self._wave.copies.name(region, int(where[first]) * self.unit)
                told = f"{int(unwritten.sum()) * self.unit} bytes from {name} on are copied, which nothing has written"
                thread = self.threads[positions[first]]
                self._wave.reports.add("unwritten memory", told, self.statement, self._wave.threads, np.array([thread]))
