"""Read, combine and write in one step (ISA "atom", "red"): threads that reach the same place take turns.

Their order is that of the threads, or under a seed other than 0 any order. What a combination makes of two values is a `Step`; where it is
one of a whole sequence as well (`Chain`), many turns at one place are taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.memory import Access, Region
from ptxgen.emulator.operands import Array
from ptxgen.instructions.types import Type

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["Combination", "Step", "combination", "combine"]

Step = Callable[..., Array]
"""(what is there, operands ...) -> what will be there; all of one dtype and shape."""

Chain = Callable[[Array], Array]
"""What is there and then the operands of every turn -> what is there after each turn, the first being the start."""


class Combination(NamedTuple):
    """What an instruction does at one place: in global memory, where sums of .f32 may flush subnormals, and in shared memory."""

    dtype: Any
    globally: Step
    shared: Step
    chain: Chain | None = None


_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _increment(there: Array, limit: Array) -> Array:
    return np.where(there >= limit, 0, there + np.uint32(1)).astype(np.uint32)


def _decrement(there: Array, limit: Array) -> Array:
    return np.where((there == 0) | (there > limit), limit, there - np.uint32(1)).astype(np.uint32)


def combination(operation: str, of: Type, *, keeps_subnormals: bool = True) -> Combination:
    """The combination that an operation names, for one element of type `of`.

    Parameters
    ----------
    operation : str
        ``"add"``, ``"min"``, ``"inc"``, ``"cas"``, ... as the opcode spells it.
    of : Type
        Of an element; a packed type counts as its elements.
    keeps_subnormals : bool
        Whether sums of .f32 in global memory keep subnormal numbers (``.noftz``).
    """
    unsigned = np.dtype(f"u{max(min(of.bits, 64), 8) // 8}")
    if operation == "exch":
        return _alike(unsigned, lambda there, value: value)
    if operation == "cas":
        return _alike(unsigned, _swap_pairs if of.bits == 128 else _swap)
    if operation in _BITWISE:
        return _alike(unsigned, _BITWISE[operation], _BITWISE[operation].accumulate)
    if operation in ("inc", "dec"):
        return _alike(unsigned, _increment if operation == "inc" else _decrement)
    if of.is_integer:
        return _of_integers(operation, of)
    return _of_floats(operation, of.element, keeps_subnormals)


def _alike(dtype: Any, step: Step, chain: Chain | None = None) -> Combination:
    return Combination(dtype, step, step, chain)


def _swap(there: Array, wanted: Array, value: Array) -> Array:
    return np.where(there == wanted, value, there)


def _swap_pairs(there: Array, wanted: Array, value: Array) -> Array:
    return np.where((there == wanted).all(axis=-1, keepdims=True), value, there)


def _of_integers(operation: str, of: Type) -> Combination:
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[operation]
    signed = of.signed and operation != "add"
    return _alike(np.dtype(f"{'i' if signed else 'u'}{of.bits // 8}"), function, function.accumulate)


def _of_floats(operation: str, of: Type, keeps_subnormals: bool) -> Combination:
    dtype = numerics.DTYPES[of.name]
    if operation in ("min", "max"):
        return _alike(dtype, numerics.float_minmax(operation, of.name))
    if of.name in ("f16", "bf16"):
        return _alike(dtype, numerics.half_op("add", of.name))
    exact = numerics.float_op("add", of.name)
    if of.name == "f64":
        return Combination(dtype, _keeping_nans(exact), lambda there, value: exact(value, there))
    if keeps_subnormals:
        return _alike(dtype, exact)
    return Combination(dtype, numerics.float_op("add", of.name, ftz=True), exact)


def _keeping_nans(exact: Step) -> Step:
    """The adder of global memory, as seen on sm_90: NaN passes as it is, signalling or not, the operand's before the memory's.

    (In shared memory a loop of instructions adds: the memory's NaN passes before the operand's, made quiet.)
    """

    def add(there: Array, value: Array) -> Array:
        return np.where(value != value, value, np.where(there != there, there, exact(there, value)))

    return add


def combine(
    wave: Wave, access: Access, address: Array, operands: Sequence[Sequence[Array]], what: Combination, index: Any, *, wide: bool = False
) -> list[Array]:
    """Combine into memory and return what was there before, an array for each value; zeros where a thread faults.

    Parameters
    ----------
    access : Access
        `count` values, or with `wide` one value of two words.
    operands : sequence of sequence of array
        For each value its operands, one element a thread (a pair of words with `wide`).
    """
    count = wave.count(index)
    shape = (count, 2) if wide else (count,)
    before = [np.zeros(shape, what.dtype) for _ in operands]
    turns = wave.pool.turns(count)
    for chosen, region, flat in wave.memory.places(access, address, index, count):
        if not region.writable:
            wave.memory.refuse_write(access, region, flat, chosen, index, count)
            continue
        positions = np.arange(count) if chosen is None else chosen
        where = np.broadcast_to(flat, len(positions))
        _look(wave, access, region, where, positions, index, count)
        words = region.words(access.width)
        step = what.shared if region is wave.memory.spaces.get("shared") else what.globally
        for place, (old, values) in enumerate(zip(before, operands)):
            _combine_words(words, where + place, positions, old, values, what, step, turns, wide)
        if region.written is not None:
            full = np.iinfo(region.written_words(access.width).dtype).max
            for place in range(access.count):
                region.written_words(access.width)[where + place] = full
    return before


def _look(wave: Wave, access: Access, region: Region, where: Array, positions: Array, index: Any, count: int) -> None:
    """Report what is combined before anything was written there, and what no barrier orders."""
    if not wave.checks:
        return
    if region.written is not None:
        wave.memory.check_written(access, region, where, positions, index, count)
    if region.tracker is not None:
        region.tracker.combined(access, region, where, wave.memory.accessing(positions, index, count))


def _combine_words(
    words: Array,
    where: Array,
    positions: Array,
    before: Array,
    values: Sequence[Array],
    what: Combination,
    step: Step,
    turns: Any,
    wide: bool,
) -> None:
    """One value of each thread, at the words `where` of a region."""
    own = [value[positions] for value in values]
    order, start, sizes = _by_place(where, positions, turns)
    if what.chain is None:
        turn = np.arange(len(order)) - np.repeat(start, sizes)
        rounds = [order[turn == number] for number in range(int(sizes.max()))]
    else:
        repeated = sizes > 1
        rounds = [order[start[~repeated]]]
        for first, size in zip(start[repeated].tolist(), sizes[repeated].tolist()):
            now = order[first : first + size]
            there = words[where[now[:1]]].view(what.dtype)
            after = what.chain(np.concatenate((there, own[0][now]))).astype(what.dtype)
            before[positions[now]] = after[:-1]
            words[where[now[0]]] = after[-1:].view(words.dtype)[0]
    for now in rounds:
        at = where[now]
        there = np.stack((words[at], words[at + 1]), axis=-1) if wide else words[at].view(what.dtype)
        before[positions[now]] = there
        after = np.ascontiguousarray(step(there, *(value[now] for value in own)))
        if wide:
            words[at], words[at + 1] = after[:, 0], after[:, 1]
        else:
            words[at] = after.view(words.dtype)


def _by_place(where: Array, positions: Array, turns: Any) -> tuple[Array, Array, Array]:
    """Positions in `where`, place by place and in their turns; where each place begins among them, and how many it has."""
    order = np.arange(len(where)) if turns is None else np.argsort(turns[positions], kind="stable")
    order = order[np.argsort(where[order], kind="stable")]
    places = where[order]
    start = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
    return order, start, np.diff(np.append(start, len(places)))
