"""Straight-line programs over registers by name: written by a search, priced, printed, and emitted into a kernel as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Union

import numpy as np

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import Type, b32, pred
from ptxgen.layouts.banks import WARP
from ptxgen.tracing.builder import Builder
from ptxgen.tracing.provenance import here

__all__ = ["Program", "Step", "run", "simulate"]

Operand = Union[str, int, tuple[str, ...]]
ALL = 0xFFFFFFFF
_PRICES = {"shfl": 2}
"""What instructions cost beside moves and selections: lanes that an SM serves a cycle (CUDA C++ Programming Guide, "Arithmetic
Instructions": 32 for shuffles, 64 for selections)."""


class Step(NamedTuple):
    """One instruction. Registers have names: ``t0`` a word, ``p0`` a predicate, ``s3`` and ``d3`` those of tiles; ``lane`` is the lane."""

    opcode: str
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"{self.opcode} {', '.join(_text(one) for one in self.operands)}"


def _text(operand: Operand) -> str:
    if isinstance(operand, int):
        return hex(operand) if operand > 255 else str(operand)
    return operand if isinstance(operand, str) else f"{{{', '.join(operand)}}}"


class Program:
    """Instructions in order. Each method appends what computes a value and gives the register's name; equal values are computed once."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._known: dict[tuple[object, ...], str] = {}
        self._counts = {"t": 0, "p": 0}
        self._halves: dict[tuple[str, str], tuple[str, str]] = {}

    @property
    def price(self) -> int:
        """The cost in selections."""
        return sum(_PRICES.get(step.opcode.partition(".")[0], 1) for step in self.steps)

    def fresh(self, kind: str = "t") -> str:
        self._counts[kind] += 1
        return f"{kind}{self._counts[kind] - 1}"

    def emit(self, opcode: str, *sources: Operand, kind: str = "t") -> str:
        """A new register with the result, or the one that holds it already."""
        key = (opcode, *sources)
        if key not in self._known:
            self._known[key] = self.fresh(kind)
            self.steps.append(Step(opcode, (self._known[key], *sources)))
        return self._known[key]

    # ---- lanes --------------------------------------------------------------------------------------------------------

    def within(self, lanes: int) -> str:
        """A predicate: the lane is in a mask."""
        bit = _one_bit(lanes)
        if bit:
            return self.emit("setp.ne.u32", self.emit("and.b32", "lane", bit), 0, kind="p")
        one = self.emit("and.b32", self.emit("shr.u32", self._constant(lanes), "lane"), 1)
        return self.emit("setp.ne.u32", one, 0, kind="p")

    def _constant(self, value: int) -> str:
        return self.emit("mov.b32", value)

    def choose(self, lanes: int, one: Operand, other: Operand) -> Operand:
        """`one` in the lanes of a mask, `other` in the rest."""
        if lanes == ALL or one == other:
            return one
        if _one_bit(ALL ^ lanes):
            one, other, lanes = other, one, ALL ^ lanes
        return other if not lanes else self.emit("selp.b32", one, other, self.within(lanes))

    def table(self, values: Sequence[int]) -> Operand:
        """A number for each lane."""
        found = np.asarray(values, np.int64)
        distinct = np.unique(found).tolist()
        if len(distinct) == 1:
            return int(distinct[0])
        linear = self._linear(found) if len(distinct) > 2 else None
        if linear is not None:
            return linear
        if len(distinct) > 4 and max(distinct) < WARP:
            return self._looked_up(found)
        result: Operand = int(distinct[0])
        for value in distinct[1:]:
            result = self.choose(_mask(found == value), int(value), result)
        return result

    def _linear(self, values: np.ndarray) -> Operand | None:
        """Numbers that are XORs of bits of the lane: fields of it, shifted."""
        columns = [int(values[1 << bit] ^ values[0]) for bit in range(5)]
        lanes = np.arange(WARP)
        made = np.full(WARP, values[0])
        for bit, column in enumerate(columns):
            made ^= np.where(lanes >> bit & 1, column, 0)
        if (made != values).any():
            return None
        fields: dict[int, int] = {}
        for bit, column in enumerate(columns):
            for to in range(column.bit_length()):
                if column >> to & 1:
                    fields[to - bit] = fields.get(to - bit, 0) | 1 << bit
        total: Operand | None = None
        for shift, mask in sorted(fields.items()):
            part = "lane" if mask == WARP - 1 else self.emit("and.b32", "lane", mask)
            part = self.emit("shl.b32", part, shift) if shift > 0 else self.emit("shr.u32", part, -shift) if shift else part
            total = part if total is None else self.emit("xor.b32", total, part)
        assert total is not None
        return self.emit("xor.b32", total, int(values[0])) if values[0] else total

    def _looked_up(self, values: np.ndarray) -> str:
        """Numbers below 32 of any kind, each bit of them from a word that has it for all lanes."""
        total = ""
        for bit in range(5):
            word = _mask((values >> bit & 1) != 0)
            if not word:
                continue
            one = self.emit("and.b32", self.emit("shr.u32", self._constant(word), "lane"), 1)
            part = self.emit("shl.b32", one, bit) if bit else one
            total = self.emit("or.b32", total, part) if total else part
        return total

    def shuffle(self, word: str, lanes: Sequence[int]) -> str:
        """The word that each lane's partner holds."""
        found = np.asarray(lanes, np.int64)
        flips = np.unique(found ^ np.arange(WARP))
        if not flips.any():
            return word
        if len(flips) == 1:
            return self.emit("shfl.sync.bfly.b32", word, int(flips[0]), WARP - 1, ALL)
        return self.emit("shfl.sync.idx.b32", word, self.table(found.tolist()), WARP - 1, ALL)

    def halves(self, register: str) -> tuple[str, str]:
        """Both words of a register of 64 bits."""
        key = ("halves", register)
        if key not in self._halves:
            self._halves[key] = self.fresh(), self.fresh()
            self.steps.append(Step("mov.b64", (self._halves[key], register)))
        return self._halves[key]

    def permute(self, one: str, other: str, picks: np.ndarray, each: int) -> str:
        """A word of bytes of two words.

        Parameters
        ----------
        picks : int array of shape (32, units)
            For each lane and unit of the result its unit in `one`, or behind those in `other`; -1 where anything will do.
        each : int
            Bytes of a unit.
        """
        units = picks.shape[1]
        selectors = np.full(WARP, 0x3210 if units * each < 4 else 0, np.int64)
        for byte in range(units * each):
            unit, inside = divmod(byte, each)
            pick = np.where(picks[:, unit] < 0, unit, picks[:, unit])
            number = np.where(pick < units, pick * each, 4 + (pick - units) * each) + inside
            selectors += (number - (byte if units * each < 4 else 0)) << (4 * byte)
        wanted = (picks >= 0).any(axis=-1)
        selectors = np.where(wanted, selectors, selectors[int(wanted.argmax())])
        return self.emit("prmt.b32", one, other, self.table(selectors.tolist()))

    # ---- results ------------------------------------------------------------------------------------------------------

    def bind(self, results: Sequence[tuple[str, str]], opcode: str = "mov.b32") -> None:
        """Have values in the registers of a tile: (register, value). The instruction that made a value writes it there where it can."""
        used = [operand for step in self.steps for one in step.operands[1:] for operand in (one if isinstance(one, tuple) else (one,))]
        for register, value in results:
            others = [other for _, other in results].count(value)
            made = next((at for at, step in enumerate(self.steps) if step.operands[0] == value), None)
            if value[0] == "t" and made is not None and value not in used and others == 1:
                self.steps[made] = Step(self.steps[made].opcode, (register, *self.steps[made].operands[1:]))
            else:
                self.steps.append(Step(opcode, (register, value)))


def _one_bit(lanes: int) -> int:
    """The bit of the lane's number that is set in just these lanes; 0 where there is none."""
    return next((1 << bit for bit in range(5) if lanes == sum(1 << lane for lane in range(WARP) if lane >> bit & 1)), 0)


def _mask(lanes: np.ndarray) -> int:
    return sum(1 << int(at) for at in np.flatnonzero(lanes))


def simulate(steps: Sequence[Step], registers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the registers of a warp hold behind a program: unsigned numbers of 64 bits, one a lane."""
    held = {**registers, "lane": np.arange(WARP, dtype=np.uint64)}

    def value(one: Operand) -> np.ndarray:
        if isinstance(one, int):
            return np.full(WARP, one, np.uint64)
        if isinstance(one, str):
            return held[one]
        return held[one[0]] & _WORD | held[one[1]] << np.uint64(32)

    for step in steps:
        target, *sources = step.operands
        result = _MEANINGS[step.opcode.partition(".")[0]](step.opcode, [value(one) for one in sources])
        if isinstance(target, tuple):
            held[target[0]], held[target[1]] = result & _WORD, result >> np.uint64(32)
        else:
            assert isinstance(target, str)
            held[target] = result
    return held


_WORD = np.uint64(ALL)


def _converted(opcode: str, sources: list[np.ndarray]) -> np.ndarray:
    narrow = min(int(width) for width in re.findall(r"\.u(\d+)", opcode))
    return sources[0] & np.uint64((1 << narrow) - 1)


def _shuffled(opcode: str, sources: list[np.ndarray]) -> np.ndarray:
    word, by = sources[0], sources[1].astype(np.int64)
    return word[np.arange(WARP) ^ by if ".bfly" in opcode else by % WARP]


def _permuted(_: str, sources: list[np.ndarray]) -> np.ndarray:
    both = sources[0] & _WORD | sources[1] << np.uint64(32)
    result = np.zeros(WARP, np.uint64)
    for byte in range(4):
        pick = sources[2] >> np.uint64(4 * byte) & np.uint64(7)
        result |= (both >> pick * np.uint64(8) & np.uint64(255)) << np.uint64(8 * byte)
    return result


_MEANINGS: dict[str, Callable[[str, list[np.ndarray]], np.ndarray]] = {
    "mov": lambda _, sources: sources[0],
    "cvt": _converted,
    "and": lambda _, sources: sources[0] & sources[1],
    "or": lambda _, sources: sources[0] | sources[1],
    "xor": lambda _, sources: sources[0] ^ sources[1],
    "shl": lambda _, sources: sources[0] << sources[1] & _WORD,
    "shr": lambda _, sources: sources[0] >> sources[1],
    "setp": lambda _, sources: (sources[0] != sources[1]).astype(np.uint64),
    "selp": lambda _, sources: np.where(sources[2] != 0, sources[0], sources[1]),
    "shfl": _shuffled,
    "prmt": _permuted,
}


def run(
    builder: Builder, steps: Sequence[Step], tiles: Mapping[str, tuple[ir.Reg, Type]], lane: Callable[[], tuple[ir.Operand, Given]]
) -> None:
    """Emit a program's instructions at this place of a trace.

    Parameters
    ----------
    tiles : mapping
        The registers of tiles by their names in the program, and their types.
    lane : callable
        The lane's number, where a step asks for it.
    """
    registers = dict(tiles)

    def named(name: str) -> tuple[ir.Operand, Given]:
        if name == "lane":
            return lane()
        if name not in registers:
            of = pred if name[0] == "p" else b32
            registers[name] = builder.register(of), of
        register, of = registers[name]
        return register, Given.numbered(register.name, of)

    def described(one: Operand) -> tuple[ir.Operand, Given]:
        if isinstance(one, int):
            return ir.Int(one), Given("int", str(one), value=one)
        if isinstance(one, str):
            return named(one)
        parts = [named(name) for name in one]
        return ir.Vec(tuple(part for part, _ in parts)), Given.vector(tuple(given for _, given in parts))

    places = {opcode: here(opcode) for opcode in {step.opcode for step in steps}}  # what shares a place is counted together
    for step in steps:
        builder.emit(step.opcode, [described(one) for one in step.operands], where=places[step.opcode])
