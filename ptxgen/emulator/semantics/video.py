"""Video instructions (ISA 9.7.20): exact in 64-bit integers, then clamped or cut.

Where a result without .sat does not fit 32 bits, a second step sees it in 34 bits, signed, as the ISA's pseudocode declares it. (The
code that ptxas generates cuts such a result to 32 bits in front of .min and .max.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import TYPES
from ptxgen.ir import Neg, Reg

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

Read = Callable[["Wave", "Frame", Any], Array]
Compute = Callable[[Array, Array], Array]

_OPERATIONS: dict[str, Compute] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
    "vavrg": lambda a, b: np.where(a + b >= 0, a + b + 1, a + b) >> 1,
}
_COMPARISONS: dict[str, Compute] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_SECOND: dict[str, Compute] = {"add": np.add, "min": np.minimum, "max": np.maximum}
_U32 = TYPES["u32"]


def _extended(value: Array, first: int, width: int, signed: bool) -> Array:
    """Bits of a 32-bit value from `first` on, as an int64."""
    cut = value >> first & (1 << width) - 1
    return cut - ((cut >> width - 1) << width) if signed else cut


def _place(selector: str | None) -> tuple[int, int]:
    """The lowest bit and the width of a part of a register: (8, 8) for ``b1``; the whole of it without a selector."""
    if not selector:
        return 0, 32
    width = {"b": 8, "h": 16}[selector[0]]
    return int(selector[1]) * width, width


def _word(low: Lowering, operand: Any) -> Read:
    """A 32-bit operand, its selector and sign set aside, as an int64 from 0 on."""
    bare = operand.reg if isinstance(operand, Neg) else operand
    get = low.source(Reg(bare.name) if isinstance(bare, Reg) else bare, _U32)
    return lambda wave, frame, index: get(wave, frame, index).astype(np.int64)


def _selector(operand: Any) -> str | None:
    bare = operand.reg if isinstance(operand, Neg) else operand
    return bare.part if isinstance(bare, Reg) else None


def _scalar(low: Lowering, name: str) -> Read:
    """A source, or the part of it that its selector names, by its type."""
    operand, signed = low.named[name], low.operand_type(name).signed
    get, (first, width) = _word(low, operand), _place(_selector(operand))
    return lambda wave, frame, index: _extended(get(wave, frame, index), first, width, signed)


def _limits(width: int, signed: bool) -> tuple[int, int]:
    return (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)


def _store(low: Lowering, result: Callable[[Wave, Frame, Any], Array]) -> Run:
    destination = low.named["d"]
    put = low.target(Reg(destination.name), _U32)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        put(wave, frame, index, (result(wave, frame, index) & 0xFFFFFFFF).astype(np.uint32))

    return run


# ---- one value --------------------------------------------------------------------------------------------------------


@execution("video", "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
def lower_scalar(low: Lowering) -> Run:
    match, selector = low.match, _selector(low.named["d"])
    compute = _primary(match.entry.name, match.value(".mode"), match.value(".cmp"))
    first, width = _place(selector)
    a, b = _scalar(low, "a"), _scalar(low, "b")
    limits = _limits(width, low.operand_type("d").signed) if ".sat" in match.bindings else None
    second = _SECOND.get(match.value(".op2"))
    c = _third(low, selector) if selector or second else None
    mask = (1 << width) - 1 << first

    def result(wave: Wave, frame: Frame, index: Any) -> Array:
        value = _extended(compute(a(wave, frame, index), b(wave, frame, index)).astype(np.int64), 0, 34, True)
        if limits is not None:
            value = np.clip(value, *limits)
        if c is None:
            return value
        other = c(wave, frame, index)
        return second(value, other) if second is not None else value << first & mask | other & ~mask

    return _store(low, result)


def _third(low: Lowering, selector: str | None) -> Read:
    """c as a number for the second step, or as a word into which a part is put."""
    return _word(low, low.named["c"]) if selector else _scalar(low, "c")


def _primary(name: str, mode: str, comparison: str) -> Compute:
    if name == "vset":
        return _COMPARISONS[comparison]
    if name not in ("vshl", "vshr"):
        return _OPERATIONS[name]

    def shift(a: Array, b: Array) -> Array:
        by = b & 31 if mode == "wrap" else np.minimum(b, 32)
        return (a & (1 << 34) - 1) << by & (1 << 34) - 1 if name == "vshl" else a >> by  # at most 34 + 32 bits: the top ones are cut

    return shift


@execution("video", "vmad")
def lower_mad(low: Lowering) -> Run:
    """a * b + c is exact in 96 bits, which two halves of a * b keep."""
    match = low.match
    a, b, c = _scalar(low, "a"), _scalar(low, "b"), _word(low, low.named["c"])
    negated = {name: isinstance(low.named[name], Neg) for name in "abc"}
    minus = negated["a"] != negated["b"]
    signed = minus or negated["c"] or low.operand_type("a").signed or low.operand_type("b").signed
    more = 1 if ".po" in match.bindings else 0
    shift = int(match.value(".scale")[3:] or 0)
    limits = _limits(32, signed) if ".sat" in match.bindings else None

    def result(wave: Wave, frame: Frame, index: Any) -> Array:
        left, right = a(wave, frame, index).astype(object), b(wave, frame, index).astype(object)
        third = _extended(c(wave, frame, index), 0, 32, signed).astype(object)
        total = (-left * right if minus else left * right) + (-third if negated["c"] else third) + more
        total = np.asarray(total, object) >> shift
        if limits is not None:
            total = np.clip(total, *limits)
        return (total & 0xFFFFFFFF).astype(np.int64)

    return _store(low, result)


# ---- two halves or four bytes -----------------------------------------------------------------------------------------


@execution(
    "video",
    "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
)  # fmt: skip
def lower_parallel(low: Lowering) -> Run:
    match, name = low.match, low.match.entry.name
    count = int(name[-1])
    width = 32 // count
    compute = _primary(name[:-1], "", match.value(".cmp"))
    words = [_word(low, low.named[one]) for one in "abc"]
    picks = [
        (_picked(_selector(low.named[one]), default), low.operand_type(one).signed)
        for one, default in (("a", range(count)), ("b", range(count, 2 * count)))
    ]
    chosen = _picked(_selector(low.named["d"]), range(count))
    limits = _limits(width, low.operand_type("d").signed) if ".sat" in match.bindings else None
    total = ".add" in match.bindings

    def result(wave: Wave, frame: Frame, index: Any) -> Array:
        a, b, c = (word(wave, frame, index) for word in words)
        merged = c
        for place in chosen:
            left, right = (_extended(a if pick[place] < count else b, pick[place] % count * width, width, signed) for pick, signed in picks)
            value = compute(left, right).astype(np.int64)
            if limits is not None:
                value = np.clip(value, *limits)
            if total:
                merged = merged + value
            else:
                mask = (1 << width) - 1 << place * width
                merged = merged & ~mask | value << place * width & mask
        return merged

    return _store(low, result)


def _picked(selector: str | None, default: range) -> list[int]:
    """The numbers of a selector, lowest part first: [0, 1] for ``h10``; of a mask, the parts that it names."""
    return [int(digit) for digit in reversed(selector[1:])] if selector else [*default]
