"""Costs against the emulator: the text runs on arrays, every access that it makes is noted, and counted by the definitions alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.costs_cases import CASES, arguments
from ptxgen.emulator.memory import Memory

SECTOR, BANKS, WORD = 32, 32, 4


@pytest.fixture
def noted(monkeypatch):
    """Accesses as (statement, space, width, address by thread)."""
    found = []

    def note(memory, access, address, index, count):
        threads = np.arange(count) if index is None else index
        places = dict(zip(threads.tolist(), np.broadcast_to(address, count).tolist()))
        found.append((access.statement, access.space, access.nbytes, places))

    for name in ("load", "store", "places"):
        real = getattr(Memory, name)

        def wrapped(memory, access, address, *rest, real=real, name=name):
            note(memory, access, address, *(rest[-2:]))
            return real(memory, access, address, *rest)

        monkeypatch.setattr(Memory, name, wrapped)
    return found


def wavefronts(places, width, paired):
    """Of one warp: in each phase the most different words of one bank."""
    lanes = {thread % 32: address for thread, address in places.items()}
    size = min(32, BANKS * WORD // width)
    if size < 32 and paired and any(
        all(lane ^ distance not in lanes or lanes[lane ^ distance] == address for lane, address in lanes.items()) for distance in (1, 2)
    ):
        size *= 2
    total = 0
    for first in range(0, 32, size):
        words = {byte // WORD for lane, at in lanes.items() if first <= lane < first + size for byte in range(at, at + width)}
        total += max(Counter(word % BANKS for word in words).values(), default=0)
    return total


def counts(accesses):
    """(space, store) -> requests, and wavefronts or sectors; what is read and written by cp.async goes with loads and stores."""
    found = Counter()
    for statement, space, width, places in accesses:
        store = statement.opcode.startswith(("st", "red")) or (statement.opcode.startswith("cp.async") and space == "shared")
        for warp in {thread // 32 for thread in places}:
            own = {thread: address for thread, address in places.items() if thread // 32 == warp}
            if space == "shared":
                rows = "matrix" in statement.opcode
                found[space, store] += wavefronts(own, width, not store and not rows)
            else:
                found[space, store] += len({byte // SECTOR for at in own.values() for byte in range(at, at + width)})
            found[space, store, "requests"] += 1
    return found


NAMES = (
    "load_stride_16", "load_stride_33", "load_pairs_of_lanes", "load_stride_32_by_5_lanes", "load_bf16_column", "load_v2_by_20_lanes",
    "load_v2_pairs_at_2", "load_v4_stride_32", "load_v4_half_in_pairs", "store_v2_pairs", "store_v4_stride_36", "ldmatrix_x2",
    "ldmatrix_x4_swizzle_64B", "stmatrix_x4", "global_load_stride_9", "global_load_v4_halves_of_sectors", "global_store_from_word_1",
    "global_bf16_column", "global_add", "warp_of_8_lanes", "cp_async_16_ca_to_column", "cp_async_4_to_column", "transpose_swizzled",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_counted_is_what_the_emulator_does(name, noted):
    kernel = CASES[name]
    costs = kernel.costs()
    kernel.emulate(*arguments(name), checks=False)
    accesses = [one for one in noted if one[0].opcode.partition(".")[0] in ("ld", "st", "ldmatrix", "stmatrix", "red", "cp")]
    found = counts([one for one in accesses if one[1] in ("shared", "global")])
    for space, count in (("shared", "wavefronts"), ("global", "sectors")):
        for store in (False, True):
            assert costs.total(count, space, store) == found[space, store], (space, store)
            assert costs.total("requests", space, store) == found[space, store, "requests"]
    assert all(record.certain for record in costs)
