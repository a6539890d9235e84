"""Bulk and tensor copies, as one thread issues them: where bytes come from and go, whom they tell, and the rules that are checked.

Alignments, sizes and the place of the mbarrier are checked where ptxas sees only registers (ISA "cp.async.bulk",
"cp.async.bulk.tensor").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxgen.emulator.asynchronous import Copy
from ptxgen.emulator.asynchronous_reduce import Combine
from ptxgen.emulator.asynchronous_rows import Rows, access_of
from ptxgen.emulator.clusters import CLUSTER_SHIFT, cluster_map
from ptxgen.emulator.memory import FIRST
from ptxgen.emulator.operands import Array
from ptxgen.emulator.tensormap import ENCODED_BYTES, KINDS, decode_tensor_map
from ptxgen.emulator.tensormap_boxes import Box, swizzle_period
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave
    from ptxgen.emulator.memory import Region

__all__ = ["Bulk", "Signal"]

UNIT = 16
"""Bulk copies move multiples of 16 bytes between addresses that are multiples of 16."""

BOX_ALIGN = 128


class Signal(NamedTuple):
    """The mbarrier that a copy tells: block of the wave, offset there; and the blocks of the cluster that receive, where several do."""

    block: int
    offset: int
    mask: int | None


class Bulk:
    """A bulk copy that one thread issues."""

    def __init__(self, wave: Wave, statement: Instruction, thread: int) -> None:
        self.wave = wave
        self.statement = statement
        self.thread = thread
        self.threads = np.array([thread])

    def _report(self, kind: str, message: str, subject: str = "") -> None:
        self.wave.reports.add(kind, message, self.statement, self.wave.threads, self.threads, subject=subject)

    # ---- rules --------------------------------------------------------------------------------------------------------

    def _aligned(self, what: str, address: int, align: int) -> bool:
        if address % align == 0:
            return True
        self._report("misaligned", f"the {what} is at address {address:#x}, which is no multiple of {align}", what)
        return False

    def _sized(self, size: int) -> bool:
        if size % UNIT == 0:
            return True
        self._report("bulk copy", f"a copy of {size} bytes; bulk copies move multiples of {UNIT} bytes", "size")
        return False

    def _rows(self, space: str, address: int, size: int) -> Rows:
        where = address + np.arange(0, size, UNIT, dtype=np.int64)
        return self._rows_at(space, where, UNIT)

    def _rows_at(self, space: str, where: Array, unit: int) -> Rows:
        return Rows(self.wave, access_of(self.statement, space, unit), where, np.full(len(where), self.thread))

    # ---- plain copies -------------------------------------------------------------------------------------------------

    def load(self, source: int, target: int, size: int, signal: Signal, skip: tuple[int, int] = (0, 0)) -> None:
        """Global memory to shared memory; the outer `skip` bytes are not read and become poison."""
        if not self._sized(size) or not self._aligned("source", source, UNIT) or not self._aligned("destination", target, UNIT):
            return
        rows = self._rows("global", source + (UNIT if skip[0] else 0), size - (UNIT if skip[0] else 0) - (UNIT if skip[1] else 0))

        def read() -> Array:
            data = np.full((size // UNIT, UNIT), 0xFF, np.uint8)
            data[1 if skip[0] else 0 : size // UNIT - (1 if skip[1] else 0)] = rows.read()
            return data[None]

        if any(skip):
            self._edges(source, size, skip)
        self._receive(target + np.arange(0, size, UNIT, dtype=np.int64), read, size, signal)

    def _edges(self, source: int, size: int, skip: tuple[int, int]) -> None:
        """The bytes of the outer rows that are read after all must exist."""
        first = np.arange(source + skip[0], source + UNIT) if skip[0] else np.zeros(0, np.int64)
        last = np.arange(source + size - UNIT, source + size - skip[1]) if skip[1] else np.zeros(0, np.int64)
        self._rows_at("global", np.concatenate((first, last)), 1)

    def across(self, source: int, target: int, size: int, signal: Signal, combine: Combine | None) -> None:
        """Shared memory to that of a block of the cluster."""
        if not self._sized(size) or not self._aligned("source", source, UNIT) or not self._aligned("destination", target, UNIT):
            return
        rows = self._rows("shared", source, size)
        rows.check()
        self._reading(rows, "a wait for the phase of its mbarrier")
        where = target + np.arange(0, size, UNIT, dtype=np.int64)
        self._receive(where, lambda: rows.read()[None], size, signal, combine, reading=rows)

    def store(self, source: int, target: int, size: int, combine: Combine | None, mask: int | None) -> None:
        """Shared memory to global memory; of every 16 bytes only those of `mask`."""
        if not self._sized(size) or not self._aligned("source", source, UNIT) or not self._aligned("destination", target, UNIT):
            return
        rows = self._rows("shared", source, size)
        rows.check()
        if mask is not None:
            kept = np.array([mask >> byte & 1 for byte in range(UNIT)], np.bool_)
            combine = lambda there, arriving: np.where(kept, arriving, there)  # noqa: E731
        self._send(rows, self._rows("global", target, size), combine)

    # ---- tensor copies ------------------------------------------------------------------------------------------------

    def box(self, space: str, address: int, coordinates: list[int], rows: bool, rank: int) -> Box | None:
        """The box that a tensor map and coordinates name; None, and a report, where they name none."""
        if not self._aligned("tensor map", address, 64):
            return None
        encoded = self._rows_at(space, address + np.arange(0, ENCODED_BYTES, UNIT, dtype=np.int64), UNIT)
        if sum(len(positions) for positions, _, _ in encoded.pieces) < ENCODED_BYTES // UNIT:
            return None
        fields = decode_tensor_map(encoded.read().tobytes())
        if fields is None:
            self._report("tensor map", f"no tensor map that the emulator has encoded lies at address {address:#x}")
            return None
        if fields.rank != rank:
            self._report("tensor map", f"a tensor map of {fields.rank} dimensions for a copy of {rank}", "rank")
            return None
        if fields.interleave != "none" or KINDS[fields.kind][0] % 8:
            self._report("tensor map", f"the emulator does not follow interleave {fields.interleave} of kind {fields.kind} yet", "kind")
            return None
        start = coordinates[0] * (KINDS[fields.kind][0] // 8)
        if start % UNIT:
            told = f"the box begins {start} bytes along the contiguous axis, which is no multiple of {UNIT}: an illegal instruction"
            self._report("misaligned", told, "coordinate")
            return None
        if rows:
            return Box(fields._replace(box=(fields.box[0], 4)), coordinates[:2], coordinates[1:])
        return Box(fields, coordinates)

    def _box_aligned(self, box: Box, address: int, what: str) -> bool:
        period = max(swizzle_period(box.fields.swizzle), BOX_ALIGN)
        if address % period == 0:
            return True
        why = f" (swizzle {box.fields.swizzle})" if period > BOX_ALIGN else ""
        self._report("misaligned", f"the {what} is at address {address:#x}, which is no multiple of {period}{why}", what)
        return False

    def _box_stored(self, box: Box) -> bool:
        """Whether a box may be written: it may end behind the tensor, but begins inside (CUDA programming guide; measured on an H200)."""
        for axis, start in enumerate(reversed(box.start)):
            if start < 0:
                told = f"the box begins at element {start} along axis {axis}, before the tensor"
                self._report("tensor map", f"{told}: a store or reduction there is an illegal instruction", "coordinate")
                return False
        return True

    def load_box(self, box: Box, target: int, signal: Signal, pair: bool) -> None:
        if not self._box_aligned(box, target, "destination"):
            return
        rows = self._rows_at("global", box.address[box.inside], box.unit)

        def read() -> Array:
            image = box.blank()
            image[box.inside] = rows.read()
            return image.reshape(1, -1, UNIT)

        self._receive(box.image_rows(target, UNIT), read, box.nbytes, signal, pair=pair)

    def store_box(self, box: Box, source: int, combine: Combine | None) -> None:
        if not self._box_aligned(box, source, "source") or not self._box_stored(box):
            return
        rows = self._rows_at("shared", box.image_rows(source, box.unit)[box.inside], box.unit)
        rows.check()
        self._send(rows, self._rows_at("global", box.address[box.inside], box.unit), combine)

    # ---- both ends ----------------------------------------------------------------------------------------------------

    def _receive(
        self,
        address: Array,
        read: Callable[[], Array],
        nbytes: int,
        signal: Signal,
        combine: Combine | None = None,
        *,
        reading: Rows | None = None,
        pair: bool = False,
    ) -> None:
        """Bytes for shared memory, of one block or of several, each of which is told by its own mbarrier."""
        data = read()
        clusters = cluster_map(self.wave.threads)
        own = self.wave.threads.block[self.threads]
        block = int(clusters.locate(address[:1], own)[0][0])
        if block < 0:
            self._report("out of bounds", f"the destination, address {int(address[0]):#x}, lies in no block of the cluster", "block")
            return
        if signal.block < 0:
            self._report("mbarrier", "the address of the mbarrier lies in no block's shared memory", "outside")
            return
        base = address & (1 << CLUSTER_SHIFT) - 1
        if signal.mask is None:
            if not self._same_block(block, signal.block, pair):
                return
            receivers = [(block, signal.block)]
        else:
            named = [rank for rank in range(clusters.size) if signal.mask >> rank & 1]
            if signal.mask >> clusters.size:
                told = f"the mask {signal.mask:#x} names blocks that a cluster of {clusters.size} does not have"
                self._report("bulk copy", told, "mask")
            cluster = int(clusters.cluster[int(own[0])])
            receivers = [(int(clusters.blocks[cluster, rank]),) * 2 for rank in named]
        for receiver, teller in receivers:
            if receiver != int(own[0]) and self.wave.exited(receiver):
                told = "the destination lies in a block of the cluster that has exited: a barrier of the cluster before its exit is missing"
                self._report("bulk copy", told, "exited")
            barrier = self.wave.mbarriers.find(self.thread, teller, signal.offset, self.statement, by_proxy=True)
            where = self._shared_rows(receiver, base)
            if where is None or barrier is None:
                continue
            region, places = where
            again = read if self.wave.checks else None
            copy = Copy(self.statement, self.threads, region, UNIT, places[None], data, source=again, combine=combine, reading=reading)
            copy.kind = "mbarrier"
            copy.barrier = barrier, barrier.phase
            self.wave.copies.begin(copy)
            self.wave.copies.tell(copy, barrier, nbytes)

    def _same_block(self, block: int, teller: int, pair: bool) -> bool:
        ranks = cluster_map(self.wave.threads).rank
        same = block == teller or (pair and ranks[block] // 2 == ranks[teller] // 2)
        if not same:
            told = f"the mbarrier lies in the block of rank {int(ranks[teller])}, the destination in that of rank {int(ranks[block])}"
            self._report("mbarrier", f"{told}: they must be in the same block", "other block")
        return same

    def _shared_rows(self, block: int, address: Array) -> tuple[Region, Array] | None:
        """Row numbers in the data of shared memory, for addresses in one block's."""
        region = self.wave.memory.spaces["shared"]
        offset = address - FIRST["shared"]
        if int(offset.min()) < 0 or int(offset.max()) + UNIT > region.extent:
            name, inside = region.describe(int(offset.min()))
            told = f"the destination begins at {name} byte {inside} and ends {int(offset.max()) + UNIT - region.extent} bytes"
            self._report("out of bounds", f"{told} behind the end of the block's shared memory", "destination")
            return None
        return region, (offset + block * region.stride) // UNIT

    def _reading(self, rows: Rows, wait: str) -> None:
        """The async proxy begins to read shared memory, and does so until `wait`."""
        for _, region, where in rows.pieces:
            self.wave.hazards.source_reading(self.statement, self.threads, region, where[None] * rows.unit, rows.unit, wait)

    def _send(self, source: Rows, target: Rows, combine: Combine | None) -> None:
        """Shared memory to global memory: a copy of the thread's bulk group."""
        self._reading(source, "cp.async.bulk.wait_group.read")
        data = source.read()
        for positions, region, where in target.pieces:
            if not region.writable:
                self._report("read-only", f"{region.name} cannot be written", region.name)
                continue
            again = _chosen(source, positions) if self.wave.checks else None
            copy = Copy(
                self.statement, self.threads, region, target.unit, where[None], data[positions][None],
                source=again, combine=combine, reading=source,
            )  # fmt: skip
            self.wave.copies.bulk.add(copy)
            self.wave.copies.begin(copy)


def _chosen(source: Rows, positions: Array) -> Callable[[], Array]:
    """What reads some rows of a source again."""
    return lambda: source.read()[positions][None]
