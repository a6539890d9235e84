"""Sectors of global memory: how many 32-byte pieces a warp's access touches.

Caches move and keep memory in sectors of 32 bytes, four to a line. One instruction of one warp is one request; what it costs beyond that
are the different sectors in which its active lanes have bytes. Addresses are bytes from any multiple of a sector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxgen.layouts.banks import checked_lanes

__all__ = ["SECTOR", "copied_sectors", "ideal_sectors", "sectors"]

SECTOR = 32
"""Bytes of a sector."""

Counts = NDArray[np.int64]


def sectors(addresses: Any, width: int, *, active: Any = None, size: int = SECTOR) -> Counts:
    """Different sectors that each access touches.

    Parameters
    ----------
    addresses : int array of shape (..., 32)
        Byte addresses, one a lane; the leading axes are accesses, each on its own.
    width : int
        Bytes that one lane accesses, all elements of a vector together: a power of two.
    active : bool array, optional
        Which lanes take part; all by default.
    size : int
        Bytes of a sector.

    Returns
    -------
    int64 array of shape (...)

    Raises
    ------
    LayoutError
        For a width that is no power of two, an address that is no multiple of it, and anything but 32 lanes.
    """
    found, on = checked_lanes(addresses, width, active)
    first = np.where(on, found // size, -1)
    if width > size:
        first = np.where(first[..., None] < 0, -1, first[..., None] + np.arange(width // size)).reshape(*first.shape[:-1], -1)
    return _different(first)


def copied_sectors(source: Any, target: Any, width: int, *, active: Any = None, size: int = SECTOR) -> Counts:
    """Transfers of copies that pass by the cache, `cp.async.cg`: different pairs of a sector that is read and one that is written.

    Parameters
    ----------
    source, target : int array of shape (..., 32)
        Byte addresses of what each lane reads and writes.
    width, active, size
        As for `sectors`, and so are the errors; `width` is at most `size`.

    Returns
    -------
    int64 array of shape (...)
    """
    read, on = checked_lanes(source, width, active)
    written, _ = checked_lanes(target, width, active)
    span = int(written.max(initial=0)) // size + 1
    return _different(np.where(on, read // size * span + written // size, -1))


def ideal_sectors(addresses: Any, width: int, *, active: Any = None, size: int = SECTOR) -> Counts:
    """Sectors that the same bytes would fill if they lay side by side from a sector's start; parameters as for `sectors`."""
    found, on = checked_lanes(addresses, width, active)
    different = _different(np.where(on, found // width, -1))
    return -(-different * width // size)


def _different(numbers: NDArray[np.int64]) -> Counts:
    """Different numbers of at least 0 along the last axis."""
    ordered = np.sort(numbers, axis=-1)
    new = np.concatenate([ordered[..., :1] >= 0, ordered[..., 1:] != ordered[..., :-1]], axis=-1)
    found: Counts = new.sum(axis=-1)
    return found
