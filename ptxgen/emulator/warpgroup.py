"""wgmma: products of a warpgroup, whose accumulators land when a wait for their group returns (ISA "Asynchronous Warpgroup Level Matrix").

The product is computed when it is issued: shared memory that changes before the wait is a race, reported where it is written.
Registers follow `ptxgen.emulator.inflight`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxgen.emulator.descriptors import CHUNK
from ptxgen.emulator.inflight import CLEAN, PLAIN, READING, WRITING, InFlight, Selection, Watched
from ptxgen.emulator.operands import Array
from ptxgen.emulator.rendezvous import WARPGROUP
from ptxgen.emulator.threads import WARP

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave
    from ptxgen.ir import Instruction

__all__ = ["QUEUE", "Shape", "Warpgroups", "a_fragment", "d_fragment"]

QUEUE = "wgmma"
ROWS = 64
"""M of every wgmma."""


class Shape(NamedTuple):
    """What makes two products of a warpgroup the same to their accumulators: N, K and the type of D."""

    n: int
    k: int
    type: str


def d_fragment(n: int, packed: int) -> tuple[Array, Array]:
    """Row and column of each element of D: arrays of shape (128 threads, registers, `packed` elements a register)."""
    thread, register, part = np.ogrid[:WARPGROUP, : n // 2 // packed, :packed]
    element = register * packed + part
    row = thread // WARP * 16 + thread % WARP // 4 + element // 2 % 2 * 8
    column = element // 4 * 8 + thread % 4 * 2 + element % 2
    return np.broadcast_arrays(row, column)  # type: ignore[return-value]


def a_fragment(packed: int) -> tuple[Array, Array]:
    """Row and column of each element of A in registers: arrays of shape (128 threads, 4 registers, `packed` elements a register)."""
    thread, register, part = np.ogrid[:WARPGROUP, :4, :packed]
    row = thread // WARP * 16 + thread % WARP // 4 + register % 2 * 8
    column = register // 2 * 4 * packed + thread % 4 * packed + part
    return np.broadcast_arrays(row, column)  # type: ignore[return-value]


class _Read:
    """Shared memory that a product of a warpgroup reads: `first` byte of each chunk, by group number `until`; who has waited for it."""

    __slots__ = ("first", "reader", "until", "waited")

    def __init__(self, reader: int, first: Array, until: int) -> None:
        self.reader = reader
        self.first = first
        self.until = until
        self.waited = 0


class Warpgroups:
    """Commit groups and fences of the warps of a wave.

    Attributes
    ----------
    committed : array of int64
        Groups that each warp has committed.
    fenced : array of bool
        Warps that have executed wgmma.fence.
    """

    def __init__(self, wave: Wave) -> None:
        self._wave = wave
        warps = int(wave.threads.warp[-1]) + 1
        self.committed = np.zeros(warps, np.int64)
        self.fenced = np.zeros(warps, np.bool_)
        self._shapes: dict[int, Shape] = {}
        self._reads: list[_Read] = []

    @property
    def _flights(self) -> InFlight:
        return self._wave.in_flight

    # ---- order --------------------------------------------------------------------------------------------------------

    def fence(self, frame: Frame, threads: Array) -> None:
        """wgmma.fence: what these threads have done to registers comes before the products that follow."""
        self.fenced[self._wave.threads.warp[threads]] = True
        watched = self._flights.of(frame)
        if not watched.slots:
            return
        flags = watched.flags(slice(None))
        whole = slice(None) if len(threads) == frame.threads else threads
        settled = flags[:, whole] & (watched.state[:, whole] == PLAIN)
        if whole is threads:
            state = watched.state[:, threads]
            state[settled] = CLEAN
            watched.state[:, threads] = state
            flags[:, threads] &= ~settled
        else:
            watched.state[settled] = CLEAN
            flags[settled] = False

    def commit(self, threads: Array) -> None:
        """wgmma.commit_group: what these warps have issued since the last one is a group."""
        warps = np.unique(self._wave.threads.warp[threads])
        self.committed[warps] += 1

    def wait(self, threads: Array, newest: int, statement: Instruction) -> None:
        """wgmma.wait_group: all groups of these warps but the `newest` have completed."""
        limit = self.committed[self._wave.threads.warp[threads]] - newest
        self._flights.land(QUEUE, threads, limit, statement)
        if self._reads:
            self._end_reads(threads, newest)

    def reading(self, statement: Instruction, readers: Array, first: Array) -> None:
        """The first threads of some warpgroups read chunks of shared memory until a wait for the group that is open now."""
        region = self._wave.memory.spaces["shared"]
        if not first.size:
            return
        self._wave.hazards.source_reading(statement, readers, region, first, CHUNK, "wgmma.wait_group")
        until = self.open_groups(readers)
        self._reads += [_Read(int(reader), chunks, int(group)) for reader, chunks, group in zip(readers, first, until)]

    def _end_reads(self, threads: Array, newest: int) -> None:
        """Whichever warp of a warpgroup waits, the reads are over, and it is that warp which knows."""
        hazards, region = self._wave.hazards, self._wave.memory.spaces["shared"]
        of = self._wave.threads.warp
        waiting = np.unique(of[threads])
        kept = []
        for read in self._reads:
            first = int(of[read.reader])
            warps = waiting[(waiting >= first) & (waiting < first + WARPGROUP // WARP)]
            warps = warps[self.committed[warps] - newest > read.until]
            if len(warps):
                if not read.waited:
                    hazards.source_done(np.array([read.reader]), region, read.first[None], CHUNK)
                read.waited |= int(np.bitwise_or.reduce(1 << (warps - first)))
                hazards.source_told(read.reader, threads[np.isin(of[threads], warps)])
            if read.waited != 0b1111:
                kept.append(read)
        self._reads = kept

    def missing(self, thread: int, group: int) -> str:
        """What lets a thread see the results of a group."""
        newer = int(self.committed[self._wave.threads.warp[thread]]) - group - 1
        if newer < 0:
            return "no wgmma.commit_group has come since, so that no wgmma.wait_group covers it"
        return f"wgmma.wait_group {newer} (or less) must come first"

    def open_groups(self, threads: Array) -> Array:
        """For each thread the number of the group that what it issues now will belong to."""
        return self.committed[self._wave.threads.warp[threads]]

    # ---- what is wrong with the registers of a product ------------------------------------------------------------------

    def check(self, watched: Watched, d: Array, a: Array, threads: Array, reads_d: Array, shape: Shape, statement: Instruction) -> None:
        """Report registers that were touched without a fence, never written, or that another product in flight uses otherwise.

        Parameters
        ----------
        d, a : array
            Rows of the accumulators, and of A where it is in registers.
        reads_d : array of bool
            For each thread, whether D is added to.
        """
        self._check_fence(watched, np.concatenate((d, a)), threads, statement)
        for rows, reads in ((d, reads_d), (a, np.ones(1, np.bool_))):
            if len(rows):
                where = Selection(rows, threads)
                nothing = (where.take(watched.state) == PLAIN) & ~where.take(watched.flags(rows)) & reads
                if nothing.any():
                    name = watched.names[rows[np.argwhere(nothing)[0][0]]]
                    self._wave.reports.add(
                        "unwritten register", f"{name} is read, which nothing has written", statement, self._wave.threads,
                        threads[nothing.any(0)], subject=name,
                    )  # fmt: skip
        self._check_users(watched, d, a, threads, shape, statement)

    def _check_fence(self, watched: Watched, rows: Array, threads: Array, statement: Instruction) -> None:
        warps = self._wave.threads.warp[threads]
        never = ~self.fenced[warps]
        if never.any():
            message = "no wgmma.fence comes before the first product of this warpgroup: wgmma.fence.sync.aligned orders its registers"
            self._wave.reports.add("register fence", message, statement, self._wave.threads, threads[never], subject="first")
            self.fenced[warps] = True
            return
        where = Selection(rows, threads)
        touched = where.take(watched.flags(rows))
        if not touched.any():
            return
        flying = where.take(watched.state) >= WRITING
        for row in rows[(touched & flying).any(1)]:
            self._flights.report_overwritten(watched, int(row), threads[watched.flags(rows)[row, threads]])
        flags = touched & ~flying
        if flags.any():
            row = rows[int(np.flatnonzero(flags.any(1))[0])]
            message = (
                f"{watched.names[row]} was read or written since the last wgmma.fence: "
                "wgmma.fence.sync.aligned must come between that and this product"
            )
            self._wave.reports.add("register fence", message, statement, self._wave.threads, threads[flags.any(0)], subject="since")

    def _check_users(self, watched: Watched, d: Array, a: Array, threads: Array, shape: Shape, statement: Instruction) -> None:
        self._shapes[id(statement)] = shape
        where = Selection(d, threads)
        state = where.take(watched.state)
        if state.any():
            busy = state == READING
            flying = state == WRITING
            if flying.any():
                others = [number for number, issue in enumerate(watched.issues) if self._shapes.get(id(issue.statement)) != shape]
                if others:
                    busy |= flying & np.isin(where.take(watched.issuer), others)
            self._report_users(watched, d, threads, busy, statement, "an accumulator of this product")
        if len(a):
            flying = Selection(a, threads).take(watched.state) == WRITING
            self._report_users(watched, a, threads, flying, statement, "A of this product")

    def _report_users(self, watched: Watched, rows: Array, threads: Array, busy: Array, statement: Instruction, role: str) -> None:
        if not busy.any():
            return
        row, position = np.argwhere(busy)[0]
        name = watched.names[rows[row]]
        message = f"{name}, {role}, is taken while {watched.user(int(rows[row]), int(threads[position]))}"
        self._wave.reports.add("in flight", message, statement, self._wave.threads, threads[busy.any(0)], subject="user")
