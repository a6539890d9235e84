"""Register files: for each call depth of a function, one array for each register over all threads of the wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.instructions.types import Type

if TYPE_CHECKING:
    from ptxgen.emulator.program import Code

__all__ = ["Frame", "register_dtype"]

_BY_BITS: dict[int, type[np.generic]] = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def register_dtype(of: Type) -> tuple[type[np.generic], int]:
    """Element dtype of a register's array and the words per thread: 2 for 128 bits."""
    return (np.uint64, 2) if of.bits == 128 else (_BY_BITS[of.bits], 1)


class Frame:
    """Registers of one function at one call depth.

    Attributes
    ----------
    values : list of array
        One a slot; the first axis is the thread.
    written : list of (bool or array of bool)
        True where every thread has written the register, False where none has, else one flag a thread.
    base : int
        Address of the frame in local memory.
    spoiled : dict
        Slot -> (flags of threads, reason): values that nobody may use, because the instruction that wrote them left them undefined.
    """

    __slots__ = ("base", "code", "depth", "spoiled", "threads", "values", "written")

    def __init__(self, code: Code, depth: int, threads: int, base: int) -> None:
        self.code = code
        self.depth = depth
        self.threads = threads
        self.base = base
        self.values: list[Any] = []
        self.written: list[Any] = []
        self.spoiled: dict[int, tuple[Any, str]] = {}
        self.extend()

    def extend(self) -> None:
        """Make room for every register that the code has."""
        for register in self.code.registers[len(self.values) :]:
            dtype, words = register_dtype(register.type)
            self.values.append(np.zeros(self.threads if words == 1 else (self.threads, words), dtype))
            self.written.append(False)

    def forget(self, index: Any = None) -> None:
        """The threads `index` (all without it) enter anew: they have written nothing."""
        self.spoiled.clear()
        for slot, flag in enumerate(self.written):
            if index is None or flag is False:
                self.written[slot] = False
            else:
                if flag is True:
                    flag = self.written[slot] = np.ones(self.threads, np.bool_)
                flag[index] = False

    def mark(self, slot: int, index: Any) -> None:
        """Note that the threads `index` have written a register."""
        flag = self.written[slot]
        if flag is True:
            return
        if index is None:
            self.written[slot] = True
            return
        if flag is False:
            flag = self.written[slot] = np.zeros(self.threads, np.bool_)
        flag[index] = True

    def spoil(self, slot: int, index: Any, reason: str) -> None:
        """The threads `index` hold an undefined value in a register; `reason` says since when, for who reads it."""
        flag = self.written[slot]
        if flag is True or flag is False:
            flag = self.written[slot] = np.full(self.threads, flag)
        flag[index] = False
        marks = np.zeros(self.threads, np.bool_)
        marks[index] = True
        self.spoiled[slot] = marks, reason
