"""Instructions that the threads of a warp execute together: who waits for whom, and the exchange once all have come.

A collective names its members by a mask (``shfl.sync``, ``bar.warp.sync``) or means the whole warp (``.aligned``). Threads that come
wait, with the values that they bring, until every member that has not exited has come; then one function computes the results of all
of them. As the ISA has it, members may come from different places of the program, as long as qualifiers and mask are the same; an
``.aligned`` instruction is one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.frames import Frame
from ptxgen.emulator.operands import Array
from ptxgen.emulator.reports import index_text, place
from ptxgen.emulator.schedule import Group
from ptxgen.emulator.threads import WARP
from ptxgen.ir import Call, Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["Collectives", "Exchange", "Members", "lanes_text"]

FULL = 0xFFFFFFFF
_BITS = np.left_shift(1, np.arange(WARP, dtype=np.int64))


class Members:
    """The threads that execute a collective together, as lanes of their warps.

    A row is one warp and one member mask. Where `complete`, every row has all its lanes and the threads stand in order.

    Attributes
    ----------
    index : array or None
        Thread indices, ascending; None means all of the wave.
    rows : int
    lane : array of int64
        Each thread's lane.
    row : array of int64
        Each thread's row.
    complete : bool
    mask : array of int64
        Each row's member mask.
    """

    __slots__ = ("_present", "complete", "count", "index", "lane", "mask", "row", "rows")

    def __init__(self, index: Any, lane: Array, row: Array, mask: Array, complete: bool) -> None:
        self.index = index
        self.lane = lane
        self.row = row
        self.mask = mask
        self.rows = len(mask)
        self.count = len(lane)
        self.complete = complete
        self._present: Array | None = None

    @property
    def present(self) -> Array:
        """Shape (rows, 32): the lanes that take part."""
        if self._present is None:
            self._present = np.ones((self.rows, WARP), np.bool_) if self.complete else self.spread(np.ones(1, np.bool_))
        return self._present

    def spread(self, values: Array) -> Array:
        """One value a thread (or one for all) as an array of shape (rows, 32), zero where nobody is."""
        if self.complete:
            return (values if len(values) == self.count else np.broadcast_to(values, self.count)).reshape(self.rows, WARP)
        dense = np.zeros((self.rows, WARP), values.dtype)
        dense[self.row, self.lane] = values
        return dense

    def collect(self, dense: Array) -> Array:
        """The inverse of `spread`: one value a thread from shape (rows, 32), or (rows, 1) where a row has one."""
        if dense.shape[1] == 1:
            return dense[self.row, 0]
        return dense.reshape(-1) if self.complete else dense[self.row, self.lane]


class Exchange:
    """What a collective does.

    Attributes
    ----------
    key : object
        Threads exchange with those who come with an equal key (and mask): the opcode, or the very instruction where `aligned`.
    compute : callable
        ``compute(wave, members, *values)`` gives the results: a tuple of arrays with one element a thread.
    put : callable
        ``put(wave, frame, index, results)`` stores them for the threads `index`.
    aligned : bool
        Whether the whole warp must execute it.
    """

    __slots__ = ("aligned", "compute", "key", "put")

    def __init__(
        self,
        key: Any,
        compute: Callable[..., tuple[Array, ...]],
        put: Callable[[Wave, Frame, Any, tuple[Array, ...]], None],
        aligned: bool = False,
    ) -> None:
        self.key = key
        self.compute = compute
        self.put = put
        self.aligned = aligned


class _Arrival:
    """Threads that wait in a collective, with their masks and the values that they brought."""

    __slots__ = ("exchange", "group", "masks", "statement", "values")

    def __init__(self, group: Group, exchange: Exchange, masks: Array, values: list[Array], statement: Instruction | Call) -> None:
        self.group = group
        self.exchange = exchange
        self.masks = masks
        self.values = values
        self.statement = statement

    def part(self, chosen: Array) -> _Arrival:
        group = self.group.part(self.group.index[chosen])
        return _Arrival(group, self.exchange, self.masks[chosen], [value[chosen] for value in self.values], self.statement)


class Collectives:
    """The collectives of a wave's warps."""

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        self._waiting: list[_Arrival] = []
        self._last: Members | None = None

    # ---- arriving -----------------------------------------------------------------------------------------------------

    def arrive(self, group: Group, exchange: Exchange, masks: Array | None, values: list[Array], statement: Instruction) -> list[Group]:
        """The threads of a group come to a collective.

        Parameters
        ----------
        masks : array or None
            Member masks, for each thread or one for all; None means the whole warp.
        values : list of array
            What the threads bring, each for each thread or one for all.

        Returns
        -------
        list of Group
            All that can go on: everybody whom this arrival completes.
        """
        members = self._whole_warps(group.index)
        if members is not None and (masks is None or bool((masks == FULL).all())):
            exchange.put(self._wave, self._wave.frame(group), group.index, exchange.compute(self._wave, members, *values))
            return [group.at(group.pc + 1)]
        wave = self._wave
        index = wave.indices(group.index)
        count = len(index)
        wanted = np.full(count, FULL) if masks is None else np.broadcast_to(masks, count).astype(np.int64)
        if masks is not None:
            self._check_masks(index, wanted, statement)
        waiting = group.part(index)
        held = [np.array(np.broadcast_to(value, count) if len(value) == 1 else value) for value in values]
        self._waiting.append(_Arrival(waiting, exchange, wanted, held, statement))
        return self._release([exchange.key])

    def _whole_warps(self, index: Any) -> Members | None:
        """The members where a set of threads consists of whole warps, else None; remembers the last answer."""
        last = self._last
        if last is not None and last.index is index:
            return last
        threads = self._wave.threads
        if index is None:
            if threads.launch.block_threads % WARP:
                return None
            count = threads.count
        else:
            count = len(index)
            if count % WARP:
                return None
            warps = index.reshape(-1, WARP)
            if (threads.lane[warps[:, 0]] != 0).any() or (warps[:, -1] - warps[:, 0] != WARP - 1).any():
                return None
        rows = count // WARP
        lane = np.tile(np.arange(WARP), rows)
        self._last = Members(index, lane, np.repeat(np.arange(rows), WARP), np.full(rows, FULL), True)
        return self._last

    def _check_masks(self, index: Array, masks: Array, statement: Instruction) -> None:
        threads = self._wave.threads
        outside = (masks >> threads.lane[index].astype(np.int64) & 1) == 0
        if not outside.any():
            return
        first = int(np.flatnonzero(outside)[0])
        lane, mask = int(threads.lane[index[first]]), int(masks[first])
        said = f"lane {lane} executes this with the member mask {mask:#010x}, which does not name it"
        self._wave.reports.add("collective", said, statement, threads, index[outside], subject="mask")

    # ---- completing ---------------------------------------------------------------------------------------------------

    def after_exit(self) -> list[Group]:
        """Threads have exited: those who waited for them alone go on."""
        return self._release(dict.fromkeys(arrival.exchange.key for arrival in self._waiting)) if self._waiting else []

    def _release(self, keys: Iterable[Any]) -> list[Group]:
        free: list[Group] = []
        for key in keys:
            here = [arrival for arrival in self._waiting if arrival.exchange.key == key]
            index = np.concatenate([arrival.group.index for arrival in here])
            masks = np.concatenate([arrival.masks for arrival in here])
            row, lacking, rows = self._rows(index, masks)
            going = lacking[row] == 0
            if not going.any():
                continue
            self._waiting = [arrival for arrival in self._waiting if arrival.exchange.key != key]
            free += self._exchange(here, index, going, row, rows)
        return free

    def _rows(self, index: Array, masks: Array) -> tuple[Array, Array, Array]:
        """Each thread's row, the members that each row still lacks, and the row's (warp, mask, lanes present)."""
        threads = self._wave.threads
        names, row = np.unique(threads.warp[index] << WARP | masks, return_inverse=True)
        row = row.reshape(-1)
        there = np.bincount(row, _BITS[threads.lane[index]], len(names)).astype(np.int64)
        warp, mask = names >> WARP, names & FULL
        return row, mask & self._live(warp) & ~there, np.stack([warp, mask, there])

    def _live(self, warps: Array) -> Array:
        """The lanes of some warps that exist and have not exited."""
        launch, alive = self._wave.threads.launch, self._wave.alive
        block, inner = np.divmod(warps, launch.warps)
        linear = inner[:, None] * WARP + np.arange(WARP)
        exists = linear < launch.block_threads
        thread = block[:, None] * launch.block_threads + np.where(exists, linear, 0)
        return (exists & alive[thread]) @ _BITS

    def _exchange(self, here: list[_Arrival], index: Array, going: Array, row: Array, rows: Array) -> list[Group]:
        """Compute for all complete rows at once, store, and let their threads go on."""
        wave = self._wave
        lengths = np.cumsum([0, *(len(arrival.masks) for arrival in here)])
        order = np.argsort(index[going], kind="stable")
        numbers, dense_row = np.unique(row[going][order], return_inverse=True)
        chosen = index[going][order]
        exchange = here[0].exchange
        if exchange.aligned:
            self._check_whole(rows[:, numbers], chosen, dense_row.reshape(-1), here[0].statement)
        lane = wave.threads.lane[chosen].astype(np.int64)
        members = Members(chosen, lane, dense_row.reshape(-1), rows[1, numbers], False)
        values = [np.concatenate(parts)[going][order] for parts in zip(*(arrival.values for arrival in here))]
        results = exchange.compute(wave, members, *values)
        free: list[Group] = []
        for arrival, start, stop in zip(here, lengths, lengths[1:]):
            leaving = going[start:stop]
            if not leaving.all():
                self._waiting.append(arrival.part(~leaving))
            if leaving.any():
                part = arrival.group.part(arrival.group.index[leaving])
                at = np.searchsorted(chosen, part.index)
                arrival.exchange.put(wave, wave.frame(part), part.index, tuple(result[at] for result in results))
                free.append(part.at(part.pc + 1))
        return free

    # ---- reports ------------------------------------------------------------------------------------------------------

    def _check_whole(self, rows: Array, chosen: Array, row: Array, statement: Instruction | Call) -> None:
        """An ``.aligned`` instruction that a part of a warp executes, the rest having exited."""
        torn = rows[2] != FULL
        if not torn.any():
            return
        first = int(np.flatnonzero(torn)[0])
        there = int(rows[2, first])
        exists = self._exists(int(rows[0, first]))
        parts = []
        if FULL & ~exists:
            parts.append(f"{lanes_text(FULL & ~exists)} not there (the block has {self._wave.threads.launch.block_threads} threads)")
        if exists & ~there:
            parts.append(f"{lanes_text(exists & ~there)} already exited")
        threads = self._wave.threads
        said = f"{lanes_text(there)} alone of the warp reach this .aligned instruction: {' and '.join(parts)}"
        self._wave.reports.add("collective", said, statement, threads, chosen[torn[row]], subject="aligned")

    def _exists(self, warp: int) -> int:
        launch = self._wave.threads.launch
        left = launch.block_threads - warp % launch.warps * WARP
        return FULL if left >= WARP else (1 << left) - 1

    @property
    def waiting(self) -> list[tuple[Group, Instruction | Call]]:
        """Who waits, and where."""
        return [(arrival.group, arrival.statement) for arrival in self._waiting]

    def report_stuck(self, elsewhere: list[tuple[str, Group, Instruction | Call]]) -> None:
        """Nobody can run: name for each collective the members that never come, and where the first of them waits."""
        for key in dict.fromkeys(arrival.exchange.key for arrival in self._waiting):
            here = [arrival for arrival in self._waiting if arrival.exchange.key == key]
            index = np.concatenate([arrival.group.index for arrival in here])
            masks = np.concatenate([arrival.masks for arrival in here])
            row, lacking, rows = self._rows(index, masks)
            start = 0
            for arrival in here:
                stop = start + len(arrival.masks)
                self._report_absent(arrival, lacking, rows, row[start:stop], elsewhere)
                start = stop

    def _report_absent(
        self, arrival: _Arrival, lacking: Array, rows: Array, row: Array, elsewhere: list[tuple[str, Group, Instruction | Call]]
    ) -> None:
        threads = self._wave.threads
        first = int(row[0])
        warp, absent = int(rows[0, first]), int(lacking[first])
        block, inner = divmod(warp, threads.launch.warps)
        lane = (absent & -absent).bit_length() - 1
        thread = block * threads.launch.block_threads + inner * WARP + lane
        whom = "the whole warp" if arrival.exchange.aligned else f"the members of mask {int(rows[1, first]):#010x}"
        where = self._place_of(thread, arrival, elsewhere)
        said = (
            f"warp {inner} of block {index_text(threads.name(thread)[0])} waits here for {whom}, "
            f"and {lanes_text(absent)} never come{'s' if absent == 1 << lane else ''}{where}"
        )
        self._wave.reports.add("collective", said, arrival.statement, threads, arrival.group.index, subject="absent")

    def _place_of(self, thread: int, arrival: _Arrival, elsewhere: list[tuple[str, Group, Instruction | Call]]) -> str:
        """Where a thread that is waited for waits itself."""
        others = [(other.statement.opcode, other.group, other.statement) for other in self._waiting if other is not arrival]
        for name, group, statement in [*others, *elsewhere]:
            if group.index is None or thread in group.index:
                spot = "" if statement.where is None else f" ({place(statement.where)})"
                return f"; thread {index_text(self._wave.threads.name(thread)[1])} waits in {name}{spot}"
        return ""


def lanes_text(mask: int) -> str:
    """A set of lanes in words: ``lane 3``, ``lanes 0-15``, ``lanes 0, 2-5``."""
    lanes = [lane for lane in range(WARP) if mask >> lane & 1]
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and runs[-1][1] == lane - 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    text = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
    return f"lane{'s' if len(lanes) != 1 else ''} {text}"
