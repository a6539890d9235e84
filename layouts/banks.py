"""Banks of shared memory: how many wavefronts the accesses of warps take.

Memory lies in banks, word by word in turn. In one wavefront every bank delivers or takes one word; any number of lanes may share it. A
warp's access takes as many wavefronts as the busiest bank has different words, and never moves more in one than all banks hold together:

=============  ==========================================  ===================================
bytes a lane   lanes that one wavefront can serve at best  with 32 banks of 4 bytes
=============  ==========================================  ===================================
1, 2 or 4      all 32                                      1 wavefront, conflicts over the warp
8              16, a half of the warp                      2, conflicts within each half
16             8, a quarter of the warp                    4, conflicts within each quarter
=============  ==========================================  ===================================

Lanes that are not active ask for nothing; a phase without an active lane costs nothing. What returns to registers is packed where lanes
share it: if every active lane finds its neighbour ``lane ^ 1`` inactive or at the same address, or every one ``lane ^ 2``, then two
phases are one. Where the manuals are silent, the rules are those that Nsight Compute's counters confirm (docs/costs.md).

Addresses are bytes from any multiple of all banks' bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen.layouts.errors import LayoutError

__all__ = [
    "SHARED", "WARP", "Banks", "Collision", "checked_lanes", "collision", "copy_wavefronts", "ideal_wavefronts", "row_wavefronts",
    "wavefronts",
]  # fmt: skip

WARP = 32
"""Lanes of a warp."""

Counts = NDArray[np.int64]


class Banks(NamedTuple):
    """`number` banks, each `width` bytes wide."""

    number: int = 32
    width: int = 4

    @property
    def span(self) -> int:
        """Bytes after which the banks repeat, the most that one wavefront moves."""
        return self.number * self.width


SHARED = Banks()
"""Shared memory of every GPU since compute capability 5.0."""


class Collision(NamedTuple):
    """Lanes that ask one bank for different words at once."""

    bank: int
    words: tuple[int, ...]  #: different words, as byte addresses, one a wavefront
    lanes: tuple[int, ...]  #: the first lane that asks for each of them


def wavefronts(addresses: Any, width: int, *, active: Any = None, packed: bool = True, banks: Banks = SHARED) -> Counts:
    """Wavefronts of warps' accesses: over the phases of each, the most different words that one bank is asked for.

    Parameters
    ----------
    addresses : int array of shape (..., 32)
        Byte addresses, one a lane; the leading axes are accesses, each on its own.
    width : int
        Bytes that one lane accesses, all elements of a vector together.
    active : bool array, optional
        Which lanes take part, of a shape that broadcasts to that of `addresses`; all by default.
    packed : bool
        Whether lanes that share what they access share room in a wavefront too: loads do.
    banks : Banks

    Returns
    -------
    int64 array of shape (...)

    Raises
    ------
    LayoutError
        For a width that is no power of two, an address that is no multiple of it, and anything but 32 lanes.
    """
    addresses, active = checked_lanes(addresses, width, active)
    lanes = max(1, min(WARP, banks.span // width))
    found = _phases(addresses, active, width, lanes, banks)
    if lanes == WARP or not packed:
        return found.sum(axis=-1)
    merged = _phases(addresses, active, width, 2 * lanes, banks).sum(axis=-1)
    return np.where(_paired(addresses, active), merged, found.sum(axis=-1))


def row_wavefronts(addresses: Any, *, width: int = 16, active: Any = None, banks: Banks = SHARED) -> Counts:
    """Wavefronts of accesses to rows of matrices, whose addresses some lanes give for all: `ldmatrix`, `stmatrix`.

    Parameters
    ----------
    addresses : int array of shape (..., rows)
        Byte addresses of the rows; each phase takes as many of them as the banks hold, 8 rows of 16 bytes.
    width : int
        Bytes of a row.
    active : bool array, optional
        Which rows take part.
    banks : Banks

    Returns
    -------
    int64 array of shape (...)
    """
    rows, per_phase = np.asarray(addresses), max(1, banks.span // width)
    if rows.ndim < 1 or rows.shape[-1] % per_phase:
        legal = f"a last axis of a multiple of {per_phase}"
        raise LayoutError(f"rows of shape {rows.shape} are no whole number of phases", legal=legal)
    rows, active = _checked(rows, width, active)
    found: Counts = _phases(rows, active, width, per_phase, banks).sum(axis=-1)
    return found


def copy_wavefronts(source: Any, target: Any, width: int, *, active: Any = None, banks: Banks = SHARED) -> Counts:
    """Wavefronts of copies from cached memory to shared memory, `cp.async.ca`: in each phase those of the side with more conflicts.

    The cache lies in the same banks, line by line. What is read goes to one lane alone, so that lanes that read one word conflict too.

    Parameters
    ----------
    source, target : int array of shape (..., 32)
        Byte addresses of what each lane reads and writes.
    width, active, banks
        As for `wavefronts`, and so are the errors.

    Returns
    -------
    int64 array of shape (...)
    """
    read, active = checked_lanes(source, width, active)
    written, _ = checked_lanes(target, width, active)
    lanes = max(1, min(WARP, banks.span // width))
    # Rows of their own make every lane's words different, and leave them in their banks.
    alone = read % banks.span + banks.span * np.arange(WARP)
    found: Counts = np.maximum(*(_phases(side, active, width, lanes, banks) for side in (alone, written))).sum(axis=-1)
    return found


def ideal_wavefronts(addresses: Any, width: int, *, active: Any = None, packed: bool = True, banks: Banks = SHARED) -> Counts:
    """Wavefronts that the same lanes would take without conflicts: for each phase those that its different words fill.

    Parameters and errors are those of `wavefronts`.
    """
    addresses, active = checked_lanes(addresses, width, active)
    lanes = max(1, min(WARP, banks.span // width))
    found = _filled(addresses, active, width, lanes, banks)
    if lanes == WARP or not packed:
        return found
    return np.where(_paired(addresses, active), _filled(addresses, active, width, 2 * lanes, banks), found)


def collision(addresses: Any, width: int, *, active: Any = None, banks: Banks = SHARED) -> Collision | None:
    """The worst conflict of one warp's access, or None where every phase takes one wavefront.

    Parameters are those of `wavefronts`, of one access.
    """
    addresses, active = checked_lanes(addresses, width, active)
    lanes = max(1, min(WARP, banks.span // width))
    worst: Collision | None = None
    for first in range(0, WARP, lanes):
        firsts: dict[int, dict[int, int]] = {}
        for lane in range(first, first + lanes):
            for word in range(addresses[lane] // banks.width, -(-(addresses[lane] + width) // banks.width)) if active[lane] else ():
                firsts.setdefault(word % banks.number, {}).setdefault(word, lane)
        for bank, words in firsts.items():
            if len(words) > (1 if worst is None else len(worst.words)):
                worst = Collision(bank, tuple(int(word) * banks.width for word in words), tuple(words.values()))
    return worst


def checked_lanes(addresses: Any, width: int, active: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Addresses of shape (..., 32) and which of them count, of the same shape; `LayoutError` where they are no accesses of warps."""
    found = np.asarray(addresses)
    if found.ndim < 1 or found.shape[-1] != WARP:
        legal = f"a last axis of {WARP}; active= says which lanes take part"
        raise LayoutError(f"addresses of shape {found.shape} are not one a lane", legal=legal)
    return _checked(found, width, active)


def _checked(found: NDArray[Any], width: int, active: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if width < 1 or width & (width - 1):
        raise LayoutError(f"a lane accesses {width} bytes", legal="1, 2, 4, 8, 16: a power of two")
    if found.dtype.kind not in "iu":
        raise LayoutError(f"byte addresses are integers, not {found.dtype}")
    found = found.astype(np.int64, copy=False)
    on = np.ones(found.shape, np.bool_) if active is None else np.broadcast_to(np.asarray(active, np.bool_), found.shape)
    wrong = on & (found % width != 0)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise LayoutError(f"lane {at[-1]} accesses {width} bytes at address {int(found[at])}", legal=f"a multiple of {width}")
    return found, on


def _words(addresses: NDArray[np.int64], active: NDArray[np.bool_], width: int, lanes: int, banks: Banks) -> NDArray[np.int64]:
    """Word indices (..., phase, what its lanes access), -1 for lanes that take no part."""
    first = np.where(active, addresses // banks.width, -1)
    phased = first.reshape(*first.shape[:-1], first.shape[-1] // lanes, lanes)
    several = width // banks.width
    if several < 2:
        return phased
    found = np.where(phased[..., None] < 0, -1, phased[..., None] + np.arange(several))
    return found.reshape(*phased.shape[:-1], lanes * several)


def _phases(addresses: NDArray[np.int64], active: NDArray[np.bool_], width: int, lanes: int, banks: Banks) -> Counts:
    """For each phase the most different words in one bank: (..., phase)."""
    words = _words(addresses, active, width, lanes, banks)
    # Sorted by bank, then by word: equal words lie side by side, and so do the words of a bank.
    rows = words // banks.number
    key = np.sort(np.where(words < 0, -1, words % banks.number * (int(rows.max(initial=0)) + 1) + rows), axis=-1)
    bank = np.where(key < 0, -1, key // (int(rows.max(initial=0)) + 1))
    new = np.concatenate([key[..., :1] >= 0, key[..., 1:] != key[..., :-1]], axis=-1)
    count = np.cumsum(new, axis=-1)
    turned = np.concatenate([np.ones_like(new[..., :1]), bank[..., 1:] != bank[..., :-1]], axis=-1)
    before = np.maximum.accumulate(np.where(turned, count - new, 0), axis=-1)
    found: Counts = (count - before).max(axis=-1)
    return found


def _filled(addresses: NDArray[np.int64], active: NDArray[np.bool_], width: int, lanes: int, banks: Banks) -> Counts:
    words = np.sort(_words(addresses, active, width, lanes, banks), axis=-1)
    different = (words[..., :1] >= 0).astype(np.int64)[..., 0] + (words[..., 1:] != words[..., :-1]).sum(axis=-1)
    found: Counts = (-(-different // banks.number)).sum(axis=-1)
    return found


def _paired(addresses: NDArray[np.int64], active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether lanes share what they access with a neighbour: all with ``lane ^ 1``, or all with ``lane ^ 2``."""
    found = np.zeros(addresses.shape[:-1], np.bool_)
    lane = np.arange(WARP)
    for distance in (1, 2):
        other = lane ^ distance
        alone = ~(active & active[..., other])
        found |= (alone | (addresses == addresses[..., other])).all(axis=-1)
    return found
