"""Sectors, against sets of byte numbers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts.sectors import copied_sectors, ideal_sectors, sectors

LANE = np.arange(32)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 300), min_size=32, max_size=32),
    st.sampled_from([1, 2, 4, 8, 16, 32, 64]),
    st.sampled_from([2**32 - 1, 0x55555555, 1, 0]),
)
def test_sectors_are_the_different_pieces_that_the_bytes_of_active_lanes_lie_in(slots, width, mask):
    on = (mask >> LANE & 1).astype(bool)
    touched = {byte for lane in range(32) if on[lane] for byte in range(slots[lane] * width, (slots[lane] + 1) * width)}
    assert int(sectors(np.array(slots) * width, width, active=on)) == len({byte // 32 for byte in touched})
    assert int(ideal_sectors(np.array(slots) * width, width, active=on)) == -(-len(touched) // 32)


def test_plain_patterns():
    assert sectors(np.stack([LANE * 4, LANE * 4 + 16, LANE * 32, LANE * 0]), 4).tolist() == [4, 5, 32, 1]
    assert int(sectors(LANE * 16, 16)) == 16


@settings(max_examples=30)
@given(*[st.lists(st.integers(0, 40), min_size=32, max_size=32)] * 2, st.sampled_from([2**32 - 1, 0x0F0F00FF, 0]))
def test_copies_by_sectors_are_different_pairs(source, target, mask):
    on = (mask >> LANE & 1).astype(bool)
    pairs = {(16 * source[lane] // 32, 16 * target[lane] // 32) for lane in range(32) if on[lane]}
    assert int(copied_sectors(np.array(source) * 16, np.array(target) * 16, 16, active=on)) == len(pairs)
