"""Moving values among the registers of a warp's lanes: which lane reads which in each round, and what each picks of what it gets.

A **want** says for every lane, word and unit of the destination where it comes from: (lane, word, unit), -1 where nothing is wanted. A word
is what one round moves, a unit what is picked out of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen.layouts.banks import WARP
from ptxgen.layouts.errors import LayoutError

__all__ = ["Exchange", "Gather", "Stream", "Turn", "exchange", "gather", "wants"]

Table = NDArray[np.int64]


def wants(source: tuple[Table, Table, Table], target: tuple[Table, Table, Table], shape: tuple[int, int, int]) -> Table:
    """The want of a layout: for every element where it is and where it shall be, as arrays of threads, words and units.

    Parameters
    ----------
    source, target : three int arrays each
    shape : tuple of int
        Threads, words and units of the destination.

    Returns
    -------
    int array of shape (\\*shape, 3)

    Raises
    ------
    LayoutError
        Where two elements shall be in one place.
    """
    keys = np.ravel_multi_index(target, shape)
    found = np.full((int(np.prod(shape)), 3), -1, np.int64)
    found[keys] = np.stack(source, axis=-1)
    if (found[keys] != np.stack(source, axis=-1)).any():
        at = int(np.flatnonzero((found[keys] != np.stack(source, axis=-1)).any(axis=-1))[0])
        raise LayoutError(f"the destination holds two elements in unit {int(target[2][at])} of word {int(target[1][at])} of thread "
                          f"{int(target[0][at])}", legal="a layout that is injective")  # fmt: skip
    return found.reshape(*shape, 3)


# ---- gathering: every round reads one word of all lanes -----------------------------------------------------------------


class Stream(NamedTuple):
    """A word as lanes read it from other lanes, and what of it they want.

    Attributes
    ----------
    word : int
        Of the source, the same in all lanes.
    lanes : int array of shape (32,)
        Whom each lane reads; where it wants nothing, whatever makes the numbers plain.
    picks : int array of shape (32, units)
        For each unit of the destination's word the unit that it gets, -1 for none.
    """

    word: int
    lanes: Table
    picks: Table


class Gather(NamedTuple):
    """For each word of the destination the streams that make it up."""

    words: tuple[tuple[Stream, ...], ...]


def gather(want: Table) -> Gather:
    """Read what each word needs, word by word: as few streams as sources with one number and lanes that agree.

    Parameters
    ----------
    want : int array of shape (32, words, units, 3)
    """
    pool: list[tuple[int, Table]] = []
    chosen: list[list[tuple[int, Table]]] = []
    for word in range(want.shape[1]):
        streams: dict[int, Table] = {}
        for unit in range(want.shape[2]):
            lane, number, pick = (want[:, word, unit, part] for part in range(3))
            for source in np.unique(number[number >= 0]).tolist():
                reading = np.where(number == source, lane, -1)
                at = _joined(pool, source, reading, list(streams))
                picks = streams.setdefault(at, np.full((WARP, want.shape[2]), -1, np.int64))
                picks[:, unit] = np.where(number == source, pick, -1)
        chosen.append(list(streams.items()))
    lanes = [_completed(table) for _, table in pool]
    return Gather(tuple(tuple(Stream(pool[at][0], lanes[at], picks) for at, picks in word) for word in chosen))


def _completed(table: Table) -> Table:
    """Whom lanes read that want nothing: what XORs of bits of the lane say, where some suit the others; else themselves."""
    own = np.arange(WARP)
    wanted = np.flatnonzero(table >= 0)
    if not len(wanted):
        return own
    first = int(wanted[0])
    if (table[wanted] ^ wanted == table[first] ^ first).all():
        return own ^ (table[first] ^ first)
    columns: dict[int, tuple[int, int]] = {}  # by the highest bit: a change of the lane, and that of whom it reads
    for lane in wanted[1:].tolist():
        change, read = lane ^ first, int(table[lane] ^ table[first])
        while change and change.bit_length() in columns:
            other, also = columns[change.bit_length()]
            change, read = change ^ other, read ^ also
        if change:
            columns[change.bit_length()] = change, read
        elif read:
            return np.where(table < 0, own, table)
    found = np.full(WARP, table[first])
    left = own ^ first
    for high in sorted(columns, reverse=True):  # bits of the lane that are no column's highest change nothing
        change, read = columns[high]
        has = left >> (high - 1) & 1
        found ^= has * read
        left ^= has * change
    return found


def _joined(pool: list[tuple[int, Table]], source: int, reading: Table, first: list[int]) -> int:
    """The number of a stream of the same word whose lanes agree with what is read, one of `first` before others; a new one otherwise."""
    for at in [*first, *(at for at in range(len(pool)) if at not in first)]:
        word, table = pool[at]
        if word == source and ((table < 0) | (reading < 0) | (table == reading)).all():
            pool[at] = word, np.where(table < 0, reading, table)
            return at
    pool.append((source, reading))
    return len(pool) - 1


# ---- exchanging: every round moves one word of each lane, each another one ---------------------------------------------


class Turn(NamedTuple):
    """One stage in which words change places inside lanes: those in the mask `lanes` take word `order[i]` as word i, others keep theirs."""

    order: tuple[int, ...]
    lanes: int


class Exchange(NamedTuple):
    """As many rounds as words: words turned in each lane, one shuffle a round, words turned again.

    Attributes
    ----------
    before, after : tuple of Turn
    rounds : tuple of int array of shape (32,)
        For each round whom each lane reads.
    """

    before: tuple[Turn, ...]
    rounds: tuple[Table, ...]
    after: tuple[Turn, ...]


def exchange(want: Table) -> Exchange | None:
    """Whole words that each go to one place: rounds in which the number of the word, and a number of the lane, say which is sent.

    Found where for each word `a` of lane p that becomes word `w` of lane l, ``a ^ f(p) == w ^ g(l)``, or ``a - f(p) == w - g(l)`` modulo
    the number of words, for some f and g; None elsewhere.

    Parameters
    ----------
    want : int array of shape (32, words, units, 3)
    """
    words, units = want.shape[1], want.shape[2]
    whole = (want[..., 2] == np.arange(units)).all() and (want[..., :2] == want[..., :1, :2]).all()
    lane, word = want[..., 0, 0], want[..., 0, 1]
    if not whole or (lane < 0).any() or int(word.max()) >= words or len(np.unique(lane * words + word)) != WARP * words:
        return None
    for powers in (True, False) if words & (words - 1) == 0 else (False,):
        group = _Group(words, powers)
        found = _levels(lane, word, group)
        if found is not None:
            return _scheduled(lane, found, group)
    return None


class _Group(NamedTuple):
    """How the numbers of words and lanes combine: by XOR, or by sums modulo the number of words."""

    words: int
    powers: bool

    def less(self, one: Table, other: Table) -> Table:
        return one ^ other if self.powers else (one - other) % self.words

    def plus(self, one: Table, other: Table) -> Table:
        return one ^ other if self.powers else (one + other) % self.words


def _levels(lane: Table, word: Table, group: _Group) -> tuple[Table, Table] | None:
    """The numbers f of lanes that send and g of lanes that receive, walked along what goes where."""
    shift = group.less(word, np.arange(group.words))  # f(p) is this plus g(l), for word w of lane l and the lane p that it comes from
    sends, receives = np.full(WARP, -1, np.int64), np.full(WARP, -1, np.int64)
    for start in range(WARP):
        pending = [start] if receives[start] < 0 else []
        receives[start] = max(0, receives[start])
        while pending:
            at = pending.pop()
            wanted = group.plus(shift[at], receives[at])
            for sender, level in zip(lane[at].tolist(), wanted.tolist()):
                if sends[sender] >= 0:
                    if sends[sender] != level:
                        return None
                    continue
                sends[sender] = level
                receivers, places = np.nonzero(lane == sender)
                for other, needed in zip(receivers.tolist(), group.less(level, shift[receivers, places]).tolist()):
                    if receives[other] < 0:
                        receives[other] = needed
                        pending.append(other)
                    elif receives[other] != needed:
                        return None
    return sends, receives


def _scheduled(lane: Table, levels: tuple[Table, Table], group: _Group) -> Exchange:
    sends, receives = levels
    slots = group.less(np.arange(group.words)[None, :], receives[:, None])  # the round in which a lane gets each word
    rounds = np.zeros((group.words, WARP), np.int64)
    for at in range(WARP):
        rounds[slots[at], at] = lane[at]
    return Exchange(_turns(sends, group), tuple(rounds), _turns(group.less(np.zeros_like(receives), receives), group))


def _turns(levels: Table, group: _Group) -> tuple[Turn, ...]:
    """Word i becomes what word i plus the level was: bit by bit of the level."""
    found = []
    for bit in range(int(levels.max()).bit_length()):
        lanes = sum(1 << at for at in range(WARP) if int(levels[at]) >> bit & 1)
        if lanes:
            order = group.plus(np.arange(group.words), np.int64(1 << bit))
            found.append(Turn(tuple(order.tolist()), lanes))
    return tuple(found)
