"""Wavefronts of shared memory, against a count by dictionaries and against what is known of plain patterns."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import LayoutError, Swizzle
from ptxgen.layouts.banks import SHARED, Banks, Collision, collision, copy_wavefronts, ideal_wavefronts, row_wavefronts, wavefronts

LANE = np.arange(32)


def counted(addresses, width, active, banks, packed=True):
    """The definition, lane by lane: phases, then different words in each bank."""
    on = [lane for lane in range(32) if active[lane]]
    lanes = max(1, min(32, banks.span // width))
    for distance in (1, 2):
        if packed and lanes < 32 and all(lane ^ distance not in on or addresses[lane] == addresses[lane ^ distance] for lane in on):
            lanes *= 2
            break
    actual = ideal = 0
    for first in range(0, 32, lanes):
        words = set()
        for lane in on:
            if first <= lane < first + lanes:
                words |= {byte // banks.width for byte in range(addresses[lane], addresses[lane] + width)}
        by_bank: dict[int, int] = {}
        for word in words:
            by_bank[word % banks.number] = by_bank.get(word % banks.number, 0) + 1
        actual += max(by_bank.values(), default=0)
        ideal += -(-len(words) // banks.number)
    return actual, ideal


@st.composite
def accesses(draw):
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    limit = draw(st.sampled_from([4, 64, 512]))
    slots = draw(st.lists(st.integers(0, limit - 1), min_size=32, max_size=32))
    if draw(st.booleans()):
        slots = [slots[lane & ~draw(st.shared(st.sampled_from([1, 2, 3]), key="pairs"))] for lane in range(32)]
    active = draw(st.sampled_from([2**32 - 1, 0xFFFF, 0x55555555, 0])) & draw(st.sampled_from([2**32 - 1, 0xF0F0FF01]))
    return np.array(slots) * width, width, (active >> LANE & 1).astype(bool)


@settings(max_examples=80)
@given(accesses(), st.sampled_from([SHARED, Banks(16, 4), Banks(32, 8)]), st.booleans())
def test_wavefronts_are_the_most_different_words_in_one_bank_of_each_phase(access, banks, packed):
    addresses, width, active = access
    actual, ideal = counted(addresses.tolist(), width, active.tolist(), banks, packed)
    assert int(wavefronts(addresses, width, active=active, packed=packed, banks=banks)) == actual
    assert int(ideal_wavefronts(addresses, width, active=active, packed=packed, banks=banks)) == ideal <= actual


@settings(max_examples=20)
@given(st.lists(accesses(), min_size=2, max_size=5))
def test_many_accesses_at_once_are_each_on_its_own(drawn):
    width = max(one[1] for one in drawn)
    addresses = np.stack([one[0] // one[1] * width for one in drawn])
    active = np.stack([one[2] for one in drawn])
    alone = [int(wavefronts(one, width, active=on)) for one, on in zip(addresses, active)]
    assert wavefronts(addresses, width, active=active).tolist() == alone


@settings(max_examples=40)
@given(accesses(), st.lists(st.integers(0, 511), min_size=32, max_size=32))
def test_a_copy_takes_in_each_phase_what_its_busier_side_takes(access, slots):
    target, width, active = access
    source, lanes = np.array(slots) * width, min(32, 128 // width)
    due = 0
    for first in range(0, 32, lanes):
        on = [lane for lane in range(first, first + lanes) if active[lane]]
        read = Counter(word % 32 for lane in on for word in {byte // 4 for byte in range(source[lane], source[lane] + width)})
        written = {byte // 4 for lane in on for byte in range(target[lane], target[lane] + width)}
        due += max(max(read.values(), default=0), max(Counter(word % 32 for word in written).values(), default=0))
    assert int(copy_wavefronts(source, target, width, active=active)) == due


def test_words_at_a_stride():
    """The greatest common divisor with 32, by number theory."""
    for stride in range(1, 70):
        assert int(wavefronts(LANE * stride * 4, 4)) == np.gcd(stride, 32), stride


def test_one_address_for_all_is_a_broadcast():
    assert int(wavefronts(np.full(32, 512), 4)) == 1


def test_bytes_of_one_word_are_one_word():
    assert int(wavefronts(LANE, 1)) == 1
    assert int(wavefronts(LANE * 2, 2)) == 1


def test_vectors_take_a_wavefront_for_each_128_bytes():
    assert int(wavefronts(LANE * 8, 8)) == 2
    assert int(wavefronts(LANE * 16, 16)) == 4


def test_a_pair_of_lanes_that_share_a_vector_shares_the_wavefront():
    assert int(wavefronts(LANE // 2 * 8, 8)) == 1
    assert int(wavefronts(LANE // 2 * 16, 16)) == 2
    assert int(wavefronts((LANE & ~2) * 8, 8)) == 2, "distance 2, and 8-byte words at the pitch of a half warp"
    assert int(wavefronts(LANE // 2 * 8, 8, packed=False)) == 2


def test_lanes_that_are_not_active_cost_nothing():
    assert int(wavefronts(LANE * 128, 4, active=LANE < 5)) == 5
    assert int(wavefronts(LANE * 16, 16, active=LANE < 8)) == 1
    assert int(wavefronts(LANE * 16, 16, active=LANE < 0)) == 0


def test_rows_of_matrices():
    """Rows of 128 bytes: without a swizzle all eight lie in the same banks, with that of tensor maps in all of them."""
    rows = LANE * 128
    assert int(row_wavefronts(rows)) == 32
    assert int(row_wavefronts(Swizzle.B128.apply_bytes(rows))) == 4
    assert int(row_wavefronts(Swizzle.B128.apply_bytes(rows)[:8])) == 1
    assert int(row_wavefronts(Swizzle.B64.apply_bytes(rows)[:8])) == 2


def test_the_worst_collision_names_bank_words_and_lanes():
    assert collision(LANE * 4, 4) is None
    assert collision(LANE // 4 * 512 + 8, 4, active=LANE >= 24) == Collision(2, (3080, 3592), (24, 28))
    assert collision(LANE * 64, 16, active=LANE < 8) == Collision(0, (0, 128, 256, 384), (0, 2, 4, 6))


@pytest.mark.parametrize(
    "addresses, width, message",
    [
        (LANE * 4, 3, "a lane accesses 3 bytes"),
        (LANE * 4 + 2, 4, "lane 0 accesses 4 bytes at address 2"),
        (LANE * 4.0, 4, "byte addresses are integers, not float64"),
        (np.arange(16), 1, r"addresses of shape \(16,\) are not one a lane"),
    ],
)
def test_what_is_no_access_is_refused(addresses, width, message):
    with pytest.raises(LayoutError, match=message):
        wavefronts(addresses, width)


def test_rows_come_in_whole_phases():
    with pytest.raises(LayoutError, match=r"rows of shape \(12,\) are no whole number of phases"):
        row_wavefronts(np.arange(12) * 16)
