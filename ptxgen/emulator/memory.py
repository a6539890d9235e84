"""Memory: state spaces as windows of one address space, regions of bytes behind them, vectorised accesses with shadow state.

A generic address is a 64-bit number. The shared, local, const and param windows lie at fixed places; an address inside such a
space is the offset from its window. Global memory needs no window: its addresses are generic already. Nothing lies at the first
bytes of a window, so that null pointers hit nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ptxgen.emulator.clusters import CLUSTER_SHIFT, cluster_map
from ptxgen.emulator.reports import ReportBook, index_text
from ptxgen.ir import Instruction
from ptxgen.layouts.errors import PtxgenError

__all__ = ["FIRST", "WINDOWS", "WINDOW_SHIFT", "Access", "Memory", "Region", "argument_regions"]

Array = NDArray[Any]

WINDOW_SHIFT = 40
WINDOWS: dict[str, int] = {name: number << WINDOW_SHIFT for number, name in enumerate(("shared", "local", "const", "param"), 1)}
"""Generic address of the start of each window."""

FIRST: dict[str, int] = {"shared": 0x400, "local": 0x400, "const": 0x400, "param": 0x400}
"""Where each window's first byte lies; hardware keeps the first KiB of shared memory for itself."""

GLOBAL_START = 0x7F00_0000_0000
GLOBAL_GAP = 1 << 20
GLOBAL_ALIGN = 1 << 12

WORDS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


Variables = Sequence[tuple[int, int, str]]
"""What lies where in a region: offset, bytes, name."""


class Tracker(Protocol):
    """Who is told of the accesses to a region; `flat` are word indices, one for each of `threads` or one for all."""

    def loaded(self, access: Access, region: Region, flat: Array, threads: Array) -> None: ...

    def stored(self, access: Access, region: Region, flat: Array, threads: Array, values: Sequence[Array | None]) -> None: ...

    def combined(self, access: Access, region: Region, flat: Array, threads: Array) -> None: ...

    def strong(self, threads: Array, *, reads: bool, writes: bool) -> None: ...

    def in_flight(self, access: Access, region: Region, flat: Array, bad: Array, threads: Array) -> Array:
        """Of the loads `bad`, which find bytes without a value: those where a copy is on its way, which it reports."""


class Region:
    """Bytes that are addressed from `start`; with `stride`, one instance of them for each thread or block.

    Attributes
    ----------
    name : str
        For messages.
    start : int
        Address of the first byte, in the region's own state space.
    extent : int
        Bytes that may be accessed, in each instance.
    stride : int
        Bytes from one instance to the next; 0 where there is one for all.
    data : array of uint8
        All instances, one behind the other.
    written : array of uint8 or None
        Shadow: 255 for each byte that holds a value; None where all do (arguments, global variables).
    variables : list of (offset, size, name)
        What lies where, sorted by offset.
    writable : bool
    tracker : Tracker or None
        Is told of every load and store: of shared memory, where copies are in flight and threads race.
    """

    __slots__ = ("_views", "data", "extent", "name", "start", "stride", "tracker", "variables", "writable", "written")

    def __init__(
        self,
        name: str,
        start: int,
        data: Array,
        *,
        extent: int | None = None,
        stride: int = 0,
        tracked: bool = False,
        writable: bool = True,
        variables: Variables = (),
    ) -> None:
        self.name = name
        self.start = start
        self.data = data
        self.extent = data.size if extent is None else extent
        self.stride = stride
        self.writable = writable
        self.variables = sorted(variables)
        self.written = np.zeros(data.size, np.uint8) if tracked else None
        self.tracker: Tracker | None = None
        self._views: dict[tuple[int, bool], Array] = {}

    def words(self, width: int) -> Array:
        """The bytes as words of `width` bytes; a last, incomplete word is left out."""
        return self._view(self.data, width, False)

    def written_words(self, width: int) -> Array:
        assert self.written is not None
        return self._view(self.written, width, True)

    def _view(self, data: Array, width: int, shadow: bool) -> Array:
        found = self._views.get((width, shadow))
        if found is None:
            found = self._views[width, shadow] = data[: data.size // width * width].view(WORDS[width])
        return found

    def grow(self, stride: int) -> None:
        """Give every instance `stride` bytes, keeping what it holds."""
        instances = self.data.size // self.stride

        def wider(old: Array) -> Array:
            new = np.zeros((instances, stride), np.uint8)
            new[:, : self.stride] = old.reshape(instances, self.stride)
            return new.reshape(-1)

        self.data = wider(self.data)
        if self.written is not None:
            self.written = wider(self.written)
        self._views.clear()
        self.stride = self.extent = stride

    def forget(self) -> None:
        """Nothing is written any more: a new wave of blocks begins."""
        if self.written is not None:
            self.written[...] = 0

    def describe(self, offset: int, variables: Variables | None = None) -> tuple[str, int]:
        """The variable that holds or lies nearest to a byte, and the offset from its start."""
        best = (self.name, offset)
        distance = None
        for start, size, name in self.variables if variables is None else variables:
            away = max(start - offset, offset - (start + size - 1), 0)
            if distance is None or away < distance:
                best, distance = (name, offset - start), away
        return best


class Access:
    """What a load or store asks for: `count` words of `width` bytes, naturally aligned as a whole.

    `frame` tells the variables of the function around it, for messages about local memory; `hint` is the region of global memory that
    the last execution reached, very likely the next one's too. A `strong` one may synchronise threads.
    """

    __slots__ = ("count", "frame", "hint", "nbytes", "shift", "space", "statement", "strong", "width", "windows")

    def __init__(self, statement: Instruction, space: str, width: int, count: int, frame: Variables = ()) -> None:
        self.statement = statement
        self.space = space
        self.width = width
        self.count = count
        self.nbytes = width * count
        self.shift = width.bit_length() - 1
        self.frame = frame
        self.hint: Region | None = None
        self.windows: dict[str, Access] = {}
        self.strong = not _STRONG.isdisjoint(statement.opcode.split("."))

    def within(self, space: str) -> Access:
        """The same access in one state space: what a generic one comes to."""
        found = self.windows.get(space)
        if found is None:
            found = self.windows[space] = Access(self.statement, space, self.width, self.count, self.frame)
        return found


_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})

Piece = tuple[Any, Region, Array]
"""Which of the accessing threads (None for all), the region, and each one's word index in it."""


class Memory:
    """Every region of a run, and the accesses to them.

    `instances` tells for the tracked spaces which instance a thread sees; the machine sets it for each wave.
    """

    def __init__(self, reports: ReportBook, checks: bool = True) -> None:
        self.reports = reports
        self.checks = checks
        self.spaces: dict[str, Region] = {}
        self.globals: list[Region] = []
        self._end = GLOBAL_START
        self._starts: Array = np.zeros(0, np.int64)
        self.instances: dict[str, Array] = {}
        self.threads: Any = None
        self.tracker: Tracker | None = None
        self.frame_bytes = 1

    def add_global(self, region: Region) -> None:
        self.globals.append(region)
        self.reserve(region.start + region.extent)
        self.globals.sort(key=lambda one: one.start)
        self._starts = np.array([one.start for one in self.globals], np.int64)

    def reserve(self, end: int) -> None:
        """Global memory up to `end` is taken."""
        self._end = max(self._end, end + GLOBAL_GAP)

    def next_global_start(self) -> int:
        return -(-self._end // GLOBAL_ALIGN) * GLOBAL_ALIGN

    # ---- where an access goes -----------------------------------------------------------------------------------------

    def _pieces(self, access: Access, address: Array, index: Any, count: int) -> list[Piece]:
        """Split an access by region; faulting threads are reported and left out."""
        space = access.space
        if not space:
            return self._generic(access, address, index, count)
        region = self.spaces.get(space) if space != "global" else access.hint or self._below(address)
        if region is None and space == "global":
            return self._split(access, region, np.broadcast_to(address, count), index)
        if region is None:
            self._fault(access, np.arange(count), np.broadcast_to(address, count), index, None)
            return []
        offset = address - region.start
        good = self._good(access, region, offset)
        if not good and access.hint is not None:
            region = self._below(address) or region
            offset = address - region.start
            good = self._good(access, region, offset)
        if not good:
            return self._split(access, region, np.broadcast_to(address, count), index)
        if space == "global":
            access.hint = region
        return [(None, region, self._flat(region, access, offset, index))]

    def _below(self, address: Array) -> Region | None:
        """The region of global memory at or below the first address."""
        if not self.globals:
            return None
        return self.globals[max(int(np.searchsorted(self._starts, address[0], side="right")) - 1, 0)]

    @staticmethod
    def _good(access: Access, region: Region, offset: Array) -> bool:
        """Whether every access lies in a region and is aligned."""
        room = region.extent - access.nbytes
        if room < 0:
            return False
        unsigned = offset.view(np.uint64)
        union = int(np.bitwise_or.reduce(unsigned))  # at least the largest offset; often that settles both questions in one pass
        return union & (access.nbytes - 1) == 0 and (union <= room or int(unsigned.max()) <= room)

    def _flat(self, region: Region, access: Access, offset: Array, index: Any) -> Array:
        word = offset >> access.shift
        if region.stride:
            instance = self.instances[region.name]
            word = word + (instance if index is None else instance[index]) * (region.stride >> access.shift)
        return word

    def _split(self, access: Access, only: Region | None, address: Array, index: Any) -> list[Piece]:
        """The slow path: find each thread's region, report what faults."""
        if access.space != "global":
            assert only is not None
            if access.space == "shared" and (address >> CLUSTER_SHIFT).any():
                return self._remote(access, only, address, index)
            return self._piece(access, only, np.arange(len(address)), address, index)
        # Constant variables lie in global memory too: compilers take any pointer that they loaded for one to there.
        constant = (address >> WINDOW_SHIFT == WINDOWS["const"] >> WINDOW_SHIFT) & ("const" in self.spaces)
        pieces = []
        if constant.any():
            chosen = np.flatnonzero(constant)
            pieces += self._piece(access.within("const"), self.spaces["const"], chosen, address[chosen] - WINDOWS["const"], index)
        if not self.globals and not constant.all():
            self._fault(access, np.flatnonzero(~constant), address[~constant], index, None)
            return pieces
        owner = np.maximum(np.searchsorted(self._starts, address, side="right") - 1, 0)
        for which in np.unique(owner[~constant]):
            chosen = np.flatnonzero((owner == which) & ~constant)
            pieces += self._piece(access, self.globals[int(which)], chosen, address[chosen], index)
        return pieces

    def _remote(self, access: Access, region: Region, address: Array, index: Any) -> list[Piece]:
        """Shared memory of other blocks of the cluster."""
        own = self.threads.block if index is None else self.threads.block[index]
        blocks, inside = cluster_map(self.threads).locate(address, own)
        there = blocks >= 0
        if not there.all():
            self._fault(access, np.flatnonzero(~there), address[~there], index, None)
        pieces = []
        for block in np.unique(blocks[there]):
            chosen = np.flatnonzero(blocks == block)
            pieces += self._piece(access, region, chosen, inside[chosen], index, block)
        return pieces

    def _piece(
        self, access: Access, region: Region, chosen: Array, address: Array, index: Any, instance: int | None = None
    ) -> list[Piece]:
        offset = address - region.start
        inside = (offset >= 0) & (offset <= region.extent - access.nbytes)
        aligned = (offset & (access.nbytes - 1)) == 0
        if not inside.all():
            self._fault(access, chosen[~inside], address[~inside], index, region)
        crooked = inside & ~aligned
        if crooked.any():
            self._misaligned(access, chosen[crooked], address[crooked], index, region)
        good = inside & aligned
        if not good.any():
            return []
        chosen = chosen[good]
        if instance is not None:
            return [(chosen, region, (offset[good] >> access.shift) + instance * (region.stride >> access.shift))]
        threads = chosen if index is None else index[chosen]
        return [(chosen, region, self._flat(region, access, offset[good], threads))]

    def _generic(self, access: Access, address: Array, index: Any, count: int) -> list[Piece]:
        """An access by generic address: each window that the addresses touch, then global memory for the rest."""
        window = address >> WINDOW_SHIFT
        if int(window.max()) == int(window.min()):
            inner, moved = self._window(access, int(window[0]), address)
            return self._pieces(inner, moved, index, count)
        pieces: list[Piece] = []
        address = np.broadcast_to(address, count)
        window = np.broadcast_to(window, count)
        kinds = np.where((window >= 1) & (window <= len(WINDOWS)), window, 0)
        for kind in np.unique(kinds):
            chosen = np.flatnonzero(kinds == kind)
            inner, moved = self._window(access, int(kind), address[chosen])
            threads = chosen if index is None else index[chosen]
            for selected, region, flat in self._pieces(inner, moved, threads, len(chosen)):
                pieces.append((chosen if selected is None else chosen[selected], region, flat))
        return pieces

    def _window(self, access: Access, window: int, address: Array) -> tuple[Access, Array]:
        for space, start in WINDOWS.items():
            if window == start >> WINDOW_SHIFT:
                return access.within(space), address - start
        return access.within("global"), address

    # ---- accesses -----------------------------------------------------------------------------------------------------

    def load(self, access: Access, address: Array, index: Any, count: int) -> list[Array]:
        """The words at `address` (int64, one for each of `count` threads or one for all); zeros where a thread faults."""
        pieces = self._pieces(access, address, index, count)
        if access.strong and self.tracker is not None:
            self.tracker.strong(self.accessing(None, index, count), reads=True, writes=False)
        if len(pieces) == 1 and pieces[0][0] is None:
            _, region, flat = pieces[0]
            words = region.words(access.width)
            loaded = [words[flat + step] if step else words[flat] for step in range(access.count)]
            if region.written is not None and self.checks:
                self.check_written(access, region, flat, None, index, count)
            if region.tracker is not None:
                region.tracker.loaded(access, region, flat, self.accessing(None, index, count))
            return loaded
        loaded = [np.zeros(count, WORDS[access.width]) for _ in range(access.count)]
        for chosen, region, flat in pieces:
            where = slice(None) if chosen is None else chosen
            words = region.words(access.width)
            for step in range(access.count):
                loaded[step][where] = words[flat + step]
            if region.written is not None and self.checks:
                self.check_written(access, region, flat, chosen, index, count)
            if region.tracker is not None:
                region.tracker.loaded(access, region, flat, self.accessing(chosen, index, count))
        return loaded

    def places(self, access: Access, address: Array, index: Any, count: int) -> list[Piece]:
        """Where accesses would go, those that fault reported and left out."""
        return self._pieces(access, address, index, count)

    def block_bytes(self, block: int, offset: int, size: int) -> slice:
        """Where bytes of a block's shared memory lie in its region's data."""
        start = block * self.spaces["shared"].stride + offset
        return slice(start, start + size)

    def put_bytes(self, block: int, offset: int, content: bytes) -> None:
        """Write into a block's shared memory what no instruction stores: the object that a barrier is."""
        region, where = self.spaces["shared"], self.block_bytes(block, offset, len(content))
        region.data[where] = np.frombuffer(content, np.uint8)
        assert region.written is not None
        region.written[where] = 255

    def holds(self, block: int, offset: int, content: bytes) -> bool:
        """Whether shared memory still holds what `put_bytes` wrote."""
        return self.spaces["shared"].data[self.block_bytes(block, offset, len(content))].tobytes() == content

    def mark_unwritten(self, block: int, offset: int, size: int) -> None:
        region = self.spaces["shared"]
        assert region.written is not None
        region.written[self.block_bytes(block, offset, size)] = 0

    def store(self, access: Access, address: Array, values: Sequence[Array | None], index: Any, count: int) -> None:
        """Write one array for each word (None leaves the word as it is); accesses that fault write nothing."""
        if access.strong and self.tracker is not None:
            self.tracker.strong(self.accessing(None, index, count), reads=False, writes=True)
        for chosen, region, flat in self._pieces(access, address, index, count):
            if not region.writable:
                self.refuse_write(access, region, flat, chosen, index, count)
                continue
            if region.tracker is not None:
                chosen_values = [_at(value, chosen, count) for value in values]
                region.tracker.stored(access, region, flat, self.accessing(chosen, index, count), chosen_values)
            words = region.words(access.width)
            whole = flat.size != count and chosen is None
            for step, value in enumerate(values):
                if value is None:
                    continue
                if chosen is not None:
                    value = np.broadcast_to(value, count)[chosen]
                target = np.broadcast_to(flat, count) if whole else flat
                if step:
                    target = target + step
                words[target] = value
                if self.checks and (words[target] != value).any():
                    self._conflict(access, region, target, value, chosen, index)
                if region.written is not None:
                    region.written_words(access.width)[target] = np.iinfo(WORDS[access.width]).max

    # ---- reports ------------------------------------------------------------------------------------------------------

    def _threads(self, chosen: Any, index: Any) -> Any:
        """Positions among the accessing threads, as thread indices of the wave."""
        return chosen if index is None else index[chosen]

    @staticmethod
    def accessing(chosen: Any, index: Any, count: int) -> Array:
        """The accessing threads of one piece, as indices of the wave."""
        if chosen is None:
            return np.arange(count) if index is None else index
        return chosen if index is None else index[chosen]

    def _describe(self, access: Access, region: Region, offset: int) -> tuple[str, int]:
        """The variable at an offset in a region; local memory holds one frame of `frame_bytes` for each call depth."""
        if region.name == "local" and 0 <= offset < region.extent:
            return region.describe(offset % self.frame_bytes, access.frame)
        return region.describe(offset)

    def _fault(self, access: Access, chosen: Array, address: Array, index: Any, region: Region | None) -> None:
        first = int(address[0])
        space = f".{access.space}" if access.space else "generic"
        if region is None:
            message, name, offset = f"{access.nbytes} bytes at {space} address {first:#x}, where nothing is", "", None
        else:
            name, offset = self._describe(access, region, first - region.start)
            message = f"{access.nbytes} bytes at {space} address {first:#x}: {_against(region, name, offset, access.nbytes)}"
        threads = self._threads(chosen, index)
        self.reports.add(
            "out of bounds", message, access.statement, self.threads, threads, address=first, variable=name, offset=offset
        )

    def _misaligned(self, access: Access, chosen: Array, address: Array, index: Any, region: Region) -> None:
        first = int(address[0])
        name, offset = self._describe(access, region, first - region.start)
        message = f"{access.nbytes} bytes at address {first:#x} ({name}{_plus(offset)}), which is no multiple of {access.nbytes}"
        threads = self._threads(chosen, index)
        self.reports.add(
            "misaligned", message, access.statement, self.threads, threads, address=first, variable=name, offset=offset
        )

    def _located(self, access: Access, region: Region, flat: Array, position: int) -> tuple[int, str, int]:
        """Address, variable and offset behind the word index of one access."""
        byte = int(flat[position] if flat.size > 1 else flat.reshape(-1)[0]) << access.shift
        offset = byte % region.stride if region.stride else byte
        name, inside = self._describe(access, region, offset)
        return region.start + offset, name, inside

    def refuse_write(self, access: Access, region: Region, flat: Array, chosen: Any, index: Any, count: int) -> None:
        everyone = np.arange(count) if chosen is None else chosen
        address, name, offset = self._located(access, region, flat, 0)
        self.reports.add(
            "read-only", f"{name}{_plus(offset)} cannot be written", access.statement, self.threads, self._threads(everyone, index),
            address=address, variable=name, offset=offset,
        )  # fmt: skip

    def check_written(self, access: Access, region: Region, flat: Array, chosen: Any, index: Any, count: int) -> None:
        shadow = region.written_words(access.width)
        full = np.iinfo(WORDS[access.width]).max
        bad: Array | None = None
        for step in range(access.count):
            unwritten = shadow[flat + step] != full
            bad = unwritten if bad is None else bad | unwritten
        if bad is None or not bad.any():
            return
        if region.tracker is not None:
            bad = bad & ~region.tracker.in_flight(access, region, flat, bad, self.accessing(chosen, index, count))
            if not bad.any():
                return
        which = np.flatnonzero(bad)
        address, name, offset = self._located(access, region, flat, int(which[0]))
        if flat.size == 1:
            which = np.arange(count if chosen is None else len(chosen))
        elif chosen is not None:
            which = chosen[which]
        self.reports.add(
            "unwritten memory", f"{access.nbytes} bytes at {name}{_plus(offset)} are read, which nothing has written",
            access.statement, self.threads, self._threads(which, index), address=address, variable=name, offset=offset,
        )  # fmt: skip

    def _conflict(self, access: Access, region: Region, target: Array, value: Array, chosen: Any, index: Any) -> None:
        value = np.broadcast_to(value, target.shape)
        stored = region.words(access.width)[target]
        lost = np.flatnonzero(stored != value)
        first = int(lost[0])
        winner = int(np.flatnonzero((target == target[first]) & (value == stored[first]))[0])
        positions = np.array([first, winner]) if chosen is None else chosen[[first, winner]]
        one, other = (self.threads.name(int(thread)) for thread in np.atleast_1d(self._threads(positions, index)))
        address, name, offset = self._located(access, region, target, first)
        message = (
            f"threads write different values to {name}{_plus(offset)}: "
            f"{_hex(value[first])} by {_who(one)}, {_hex(stored[first])} by {_who(other)}"
        )
        losers = lost if chosen is None else chosen[lost]
        self.reports.add(
            "conflicting stores", message, access.statement, self.threads, self._threads(losers, index),
            address=address, variable=name, offset=offset,
        )  # fmt: skip


def _at(value: Array | None, chosen: Any, count: int) -> Array | None:
    """The values of the chosen threads."""
    return value if value is None or chosen is None else np.broadcast_to(value, count)[chosen]


def _hex(value: Any) -> str:
    return f"{int(value):#x}"


def _who(name: tuple[tuple[int, int, int], tuple[int, int, int]]) -> str:
    block, thread = name
    return f"block {index_text(block)} thread {index_text(thread)}"


def _plus(offset: int) -> str:
    return f" byte {offset}"


def _against(region: Region, name: str, offset: int, nbytes: int) -> str:
    size = next((size for _, size, variable in region.variables if variable == name), region.extent)
    if offset < 0:
        return f"{-offset} bytes before the start of {name} ({size} bytes)"
    return f"{name} has {size} bytes, the access ends at byte {offset + nbytes}"


# ---- arguments --------------------------------------------------------------------------------------------------------


def argument_regions(memory: Memory, arrays: Sequence[tuple[str, Array]]) -> list[int]:
    """Map array arguments into global memory; views of one base share its allocation. Returns each one's first element's address.

    Parameters
    ----------
    memory : Memory
    arrays : sequence of (name, array)
    """
    for name, array in arrays:
        if array.dtype.hasobject:
            raise PtxgenError(f"argument {name}: an array of Python objects has no bytes that a kernel could read")
    roots = [_root_bounds(array) for _, array in arrays]
    order = sorted(range(len(arrays)), key=lambda number: roots[number])
    groups: list[tuple[int, int, list[int]]] = []
    for number in order:
        low, high = roots[number]
        if groups and low < groups[-1][1]:
            start, end, members = groups[-1]
            groups[-1] = (start, max(end, high), [*members, number])
        else:
            groups.append((low, high, [number]))
    addresses = [0] * len(arrays)
    for low, high, members in groups:
        start = memory.next_global_start()
        variables = []
        for number in members:
            name, array = arrays[number]
            addresses[number] = start + array.__array_interface__["data"][0] - low
            first, last = _bounds(array)
            variables.append((first - low, last - first, name))
        data = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low)) if high > low else np.zeros(0, np.uint8)
        writable = any(arrays[number][1].flags.writeable for number in members)
        memory.add_global(Region(arrays[members[0]][0], start, data, writable=writable, variables=variables))
    return addresses


def _bounds(array: Array) -> tuple[int, int]:
    """Host addresses of the first byte and behind the last byte that an array's elements touch."""
    low = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    high = low
    for extent, stride in zip(array.shape, array.strides):
        if stride > 0:
            high += (extent - 1) * stride
        else:
            low += (extent - 1) * stride
    return low, high + array.itemsize


def _root_bounds(array: Array) -> tuple[int, int]:
    """The bytes of the array that owns an argument's memory, as far as numpy knows it."""
    low, high = _bounds(array)
    owner: Any = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
        first, last = _bounds(owner)
        low, high = min(low, first), max(high, last)
    return low, high
