"""What the assembler of driver 580 (ptxas 13.0) makes of scalar video instructions, where that is not what the ISA says.

sm_90 has no such instructions: the assembler writes them out in others, and a listing (`nvdisasm`) shows every step. What is below gave the
results of that code for 7,338 statements, every form with parts, constants and negations, on 192 values each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.differential.drawing import Values
from tests.differential.running import Batch
from tests.differential.sections import Section

__all__ = ["assembled"]

Numbers = NDArray[np.int64]
_WORD = (1 << 32) - 1
_ARITHMETIC: dict[str, Any] = {
    "vadd": np.add, "vsub": np.subtract, "vabsdiff": lambda a, b: np.abs(a - b), "vmin": np.minimum, "vmax": np.maximum,
}  # fmt: skip
_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


class _Operand(NamedTuple):
    """A source: its word, the part of it that is selected or an empty string, and whether it is negated."""

    word: Numbers
    part: str
    negated: bool


def assembled(section: Section, batch: Batch, *, newer: bool = False) -> Values:
    """The words that the code leaves in d, one a thread; of `newer` assemblers (ptxas 13.5), which differ in ``.h1`` of d alone."""
    name, *words = section.case.match.opcode.split(".")
    types = [word for word in words if word in ("u32", "s32")]
    signs = dict(zip("ab" if name == "vset" else "dab", (word == "s32" for word in types)))
    sources = {slot.name: _operand(section, batch, number) for number, slot in enumerate(section.case.slots) if number}
    if name == "vmad":
        found = _multiplied(words, sources, signs)
    else:
        part = section.case.given[0].selector
        found = _stepwise(name, words, sources, signs, part, halves_right=newer)
    return (found & _WORD).astype(np.uint64)


def _operand(section: Section, batch: Batch, number: int) -> _Operand:
    given, name = section.case.given[number], section.case.slots[number].name
    inner = given.items[0] if given.kind == "negated" else given
    column = next((leaf.column for leaf in section.inputs if leaf.operand == name), None)
    word = batch.columns[column] & np.uint64(_WORD) if column is not None else np.full(batch.columns.shape[1], (inner.value or 0) & _WORD)
    return _Operand(word.astype(np.int64), inner.selector, given.kind == "negated")


def _place(part: str) -> tuple[int, int]:
    width = {"": 32, "b": 8, "h": 16}[part[:1]]
    return int(part[1:] or 0) * width, width


def _extended(word: Numbers, part: str, signed: bool) -> Numbers:
    first, width = _place(part)
    cut = word >> first & (1 << width) - 1
    return cut - ((cut >> width - 1) << width) if signed else cut


def _clamped(value: Numbers, width: int, signed: bool) -> Numbers:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return np.clip(value, low, high)


def _stepwise(
    name: str, words: list[str], sources: dict[str, _Operand], signs: dict[str, bool], part: str, *, halves_right: bool
) -> Numbers:
    a, b = (_extended(sources[one].word, sources[one].part, signs[one]) for one in "ab")
    signed, saturates = signs.get("d", signs["a"]), "sat" in words
    value = _primary(name, words, a, b)
    if saturates:
        value = _saturated(name, value, signed, part)
    c = sources["c"].word if "c" in sources else np.zeros_like(value)
    if "add" in words:
        return value + c
    if {"min", "max"} & {*words}:
        # Without .sat a sum is cut to 32 bits and extended by its sign whatever its type; .sat.u32 leaves what is extended so, too.
        cut = name in ("vadd", "vsub") or (saturates and name in ("vshl", "vshr"))
        if cut and not (saturates and signed):
            value = _extended(value, "", True)
        third = _extended(c, "", signed)
        less = value < third if signed else value.view(np.uint64) < third.view(np.uint64)  # of 64 bits: a negative number is large
        return np.where(less == ("min" in words), value, third)
    if part == "h1" and not halves_right:  # the upper half of the value is put into the upper half of c
        return value & 0xFFFF0000 | c & 0xFFFF
    if part:
        first, width = _place(part)
        mask = (1 << width) - 1 << first
        return value << first & mask | c & ~mask
    return value


def _primary(name: str, words: list[str], a: Numbers, b: Numbers) -> Numbers:
    if name == "vset":
        return np.asarray(_COMPARE[words[2]](a, b)).astype(np.int64)
    if name in ("vshl", "vshr"):
        by = b & 31 if "wrap" in words else np.minimum(b, 32)
        return a << by if name == "vshl" else a >> by
    return np.asarray(_ARITHMETIC[name](a, b))


def _saturated(name: str, value: Numbers, signed: bool, part: str) -> Numbers:
    value = (value + (1 << 33) & (1 << 34) - 1) - (1 << 33)
    if name in ("vshl", "vshr"):
        return _clamped(value, 32, signed)  # whatever part it is put into
    if part:  # compared as an unsigned number: what is negative is too large
        largest = (1 << _place(part)[1] - signed) - 1
        return np.where(value < 0, largest, np.minimum(value, largest))
    return _clamped(value, 32, True) if signed else np.maximum(value, 0)  # above 2^32 nothing is clamped


def _multiplied(words: list[str], sources: dict[str, _Operand], signs: dict[str, bool]) -> Numbers:
    a, b, c = (sources[name] for name in "abc")
    signed = signs["a"] or signs["b"] or a.negated != b.negated or c.negated
    # The product is one of signed words, and c a signed word, also where all of them are .u32.
    left, right = (_extended(_extended(one.word, one.part, signs[name]) & _WORD, "", True) for name, one in (("a", a), ("b", b)))
    third = _extended(c.word, "", True)
    total = (-left * right if a.negated != b.negated else left * right) + (-third if c.negated else third) + ("po" in words)
    shift = 7 if "shr7" in words else 15 if "shr15" in words else 0
    total = total >> shift if signed else (total.view(np.uint64) >> np.uint64(shift)).view(np.int64)
    return _clamped(total, 32, signed) if "sat" in words else total
