"""The heap of device code: `malloc` and `free` (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.memory import Region

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave
    from ptxgen.emulator.memory import Memory
    from ptxgen.ir import Call

__all__ = ["HEAP_BYTES", "Heap"]

HEAP_BYTES = 8 << 20
"""What the heap holds unless a program asks for more (``cudaLimitMallocHeapSize``)."""

_ALIGN = 16


class Heap:
    """Allocations of one run. Each is a region of its own, whose bytes hold nothing until they are written."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._taken = 0
        self._regions: dict[int, Region] = {}

    def allocate(self, size: int) -> int:
        """The address of `size` bytes; 0 where there is no room, or none is asked for."""
        room = -(-size // _ALIGN) * _ALIGN
        if not size or self._taken + room > HEAP_BYTES:
            return 0
        start = self._memory.next_global_start()
        region = Region("memory from malloc", start, np.zeros(size, np.uint8), tracked=True)
        self._memory.add_global(region)
        self._regions[start] = region
        self._taken += room
        return start

    def release(self, address: int, wave: Wave, statement: Call, threads: Any) -> None:
        """Give an allocation back: what reaches it from now on is out of bounds. A null pointer is no allocation."""
        if not address:
            return
        region = self._regions.pop(address, None)
        if region is None:
            message = f"{address:#x} is freed, which malloc has not returned or free has taken already"
            wave.reports.add("call", message, statement, wave.threads, threads)
            return
        self._taken -= -(-region.extent // _ALIGN) * _ALIGN
        region.extent = 0
        region.name = "memory that was freed"
