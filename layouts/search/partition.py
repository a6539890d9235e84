"""Cutting a grid of equal pieces of memory among threads, so that neighbouring lanes touch neighbouring memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as combinations
from math import prod
from typing import NamedTuple

import numpy as np

from ptxgen.layouts.banks import WARP
from ptxgen.layouts.sectors import SECTOR

__all__ = ["Partition", "partition"]

_AN_ACCESS = 4  # sectors that a warp's access moves at once, 128 bytes


class Partition(NamedTuple):
    """How many threads lie along each axis of a grid. The rest of the axis is repeated.

    Attributes
    ----------
    grid : tuple of int
        Pieces along each axis, slowest in memory first.
    threads : tuple of int
        Threads along each axis. Each divides its axis, but for the ragged one.
    ragged : int or None
        The axis whose last repeat has fewer pieces than threads; its threads are then the slowest, so that the first ones take part.
    sectors : int
        Sectors of memory that all warps touch together.
    cost : int
        What the cut was chosen by: four for each access of each warp of the block, idle or not, as many as a warp moves at once; and the
        sectors, taken to be as many at each repeat as at the first one.
    """

    grid: tuple[int, ...]
    threads: tuple[int, ...]
    ragged: int | None
    sectors: int
    cost: int

    @property
    def active(self) -> int:
        """Threads that take part."""
        return prod(self.threads)

    @property
    def repeats(self) -> tuple[int, ...]:
        """Pieces of one thread along each axis, the last, ragged one included."""
        return tuple(-(-extent // count) for extent, count in zip(self.grid, self.threads))

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of `threads` from the slowest thread digit to the fastest."""
        axes = range(len(self.grid))
        return tuple(axes) if self.ragged is None else (self.ragged, *(axis for axis in axes if axis != self.ragged))

    @property
    def tail(self) -> int:
        """Threads of the last repeat along the ragged axis; 0 where there is none."""
        if self.ragged is None:
            return 0
        return self.active // self.threads[self.ragged] * (self.grid[self.ragged] % self.threads[self.ragged])


def partition(grid: Sequence[int], steps: Sequence[int], width: int, threads: int, *, whole: bool = False) -> Partition | None:
    """The best way to cut a grid among at most so many threads; None where `whole` can't be had.

    In this order: least cost (see `Partition`), no ragged axis, most threads along the fastest axis.

    Parameters
    ----------
    grid : sequence of int
        Pieces along each axis, slowest in memory first.
    steps : sequence of int
        Bytes between neighbours along each axis.
    width : int
        Bytes of a piece.
    threads : int
    whole : bool
        Whether all threads must take part in every access.
    """
    found: tuple[tuple[int, ...], Partition] | None = None
    warps = -(-threads // WARP)
    for counts, ragged in _candidates(tuple(grid), threads):
        if whole and (ragged is not None or prod(counts) != threads):
            continue
        cut = Partition(tuple(grid), counts, ragged, 0, 0)
        issued = _AN_ACCESS * warps * prod(cut.repeats)
        if found is not None and issued > found[0][0]:
            continue
        touched = _sectors(cut, steps, width)
        rank = (issued + touched, ragged is not None, *(-count for count in reversed(counts)))
        if found is None or rank < found[0]:
            found = rank, cut._replace(cost=issued + touched)
    return found[1]._replace(sectors=_all_sectors(found[1], steps, width)) if found else None


def _candidates(grid: tuple[int, ...], threads: int) -> Iterator[tuple[tuple[int, ...], int | None]]:
    """Threads along each axis: divisors everywhere, or as many as there are left along one ragged axis."""
    choices = [[count for count in range(1, min(extent, threads) + 1) if extent % count == 0] for extent in grid]
    for counts in combinations(*choices):
        if prod(counts) <= threads:
            yield counts, None
    for axis, extent in enumerate(grid):
        for others in combinations(*(choice for place, choice in enumerate(choices) if place != axis)):
            most = min(threads // prod(others), extent)
            if most > 1 and extent % most:
                yield (*others[:axis], most, *others[axis:]), axis


def _sectors(found: Partition, steps: Sequence[int], width: int) -> int:
    repeats = [extent // count for extent, count in zip(found.grid, found.threads)]
    total = _touched(found, steps, width, found.active) * prod(repeats)
    if found.tail:
        repeats[found.ragged] = 1  # type: ignore[index]
        total += _touched(found, steps, width, found.tail) * prod(repeats)
    return total


def _all_sectors(found: Partition, steps: Sequence[int], width: int) -> int:
    """Different sectors in each access of each warp, over all repeats."""
    starts: np.ndarray = np.zeros((1, 1), np.int64)
    inside: np.ndarray = np.ones((1, 1), np.bool_)
    for axis in found.order:
        count, extent = found.threads[axis], found.grid[axis]
        at = np.arange(found.repeats[axis])[:, None, None, None] * count + np.arange(count)  # (repeat, 1, 1, thread) of this axis
        starts = (starts[:, :, None] + at * steps[axis]).reshape(-1, starts.shape[1] * count)
        inside = (inside[:, :, None] & (at < extent)).reshape(starts.shape)
    each = max(1, width // SECTOR)
    touched = starts[..., None] // SECTOR + np.arange(each)
    access = np.arange(len(starts))[:, None] * (starts.shape[1] // WARP + 1) + np.arange(starts.shape[1]) // WARP
    keys = access[..., None] * (int(np.ptp(touched)) + 1) + (touched - touched.min())
    return len(np.unique(keys[inside]))


def _touched(found: Partition, steps: Sequence[int], width: int, active: int) -> int:
    """Different sectors in each warp of the first `active` threads, at one repeat."""
    starts = np.zeros(1, np.int64)
    for axis in found.order:
        starts = (starts[:, None] + np.arange(found.threads[axis], dtype=np.int64) * steps[axis]).ravel()
    starts = starts[:active]
    each = max(1, width // SECTOR)
    sectors = (starts[:, None] // SECTOR + np.arange(each)).ravel()
    warp = np.arange(len(starts)) // WARP
    keys = np.repeat(warp, each) * (int(np.ptp(sectors)) + 1) + (sectors - sectors.min())
    return len(np.unique(keys))
