"""Proves address text: the instructions that were written are evaluated over all threads and compared with the table of addresses.

The storage's first byte is taken as 0 (its alignment is a precondition), runtime symbols as sample values inside their ranges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen import ir
from ptxgen.errors import PtxgenError
from ptxgen.layouts.expr import Symbol
from ptxgen.tracing.builder import Builder

__all__ = ["Evaluator"]

_LOW32 = (1 << 32) - 1


def _low(value: np.ndarray) -> np.ndarray:
    return value & _LOW32


def _sign(value: np.ndarray) -> np.ndarray:
    """The low 32 bits as a signed number."""
    return ((value & _LOW32) ^ (1 << 31)) - (1 << 31)


# What each opcode of address code computes, on int64 arrays: 32-bit registers hold 0 .. 2**32 - 1, 64-bit ones wrap as int64 does.
_SEMANTICS: dict[str, Callable[..., np.ndarray]] = {
    "mov.u32": _low,
    "mov.u64": lambda a: a,
    "shl.b32": lambda a, b: _low(a << b),
    "shr.u32": lambda a, b: a >> b,
    "and.b32": lambda a, b: a & b,
    "xor.b32": lambda a, b: a ^ b,
    "xor.b64": lambda a, b: a ^ b,
    "add.u32": lambda a, b: _low(a + b),
    "add.s64": lambda a, b: a + b,
    "mul.lo.u32": lambda a, b: _low(a * b),
    "mul.lo.s64": lambda a, b: a * b,
    "mul.wide.u32": lambda a, b: _low(a) * b,
    "mul.wide.s32": lambda a, b: _sign(a) * b,
    "mad.lo.u32": lambda a, b, c: _low(a * b + c),
    "mad.lo.s64": lambda a, b, c: a * b + c,
    "mad.wide.u32": lambda a, b, c: _low(a) * b + c,
    "mad.wide.s32": lambda a, b, c: _sign(a) * b + c,
    "div.u32": lambda a, b: a // b,
    "rem.u32": lambda a, b: a % b,
    "cvt.u64.u32": _low,
    "cvt.s64.s32": _sign,
    "cvt.s64.u32": _low,
    "cvta.to.global.u64": lambda a: a * 0,
    "ld.param.u64": lambda a: a,
}


class Evaluator:
    """What the registers of address code hold, in every thread of a block.

    A trace has one. It reads each statement once, evaluates a register when it is first asked for, and keeps the value: registers
    are written once, except mutable ones, which every new symbol for their content sets anew.

    Arrays have one element a thread, or a single one where all threads agree.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._registers: dict[str, np.ndarray] = {}
        self._samples: dict[Symbol, np.ndarray] = {}
        self._makers: dict[str, ir.Instruction] = {}  # the first instruction that writes a register
        self._read = {"prologue": 0, "body": 0}
        self._unknown: set[str] = set()

    @staticmethod
    def of(builder: Builder) -> Evaluator:
        """The trace's evaluator, which has read all that was written so far."""
        found: Evaluator | None = builder.root.numbered.get("evaluator")
        if found is None:
            found = builder.root.numbered["evaluator"] = Evaluator(builder)
        found._read_on("prologue", builder.prologue)
        found._read_on("body", builder.body)
        return found

    def _read_on(self, part: str, statements: list[ir.Statement]) -> None:
        for at in range(self._read[part], len(statements)):
            statement = statements[at]
            if isinstance(statement, ir.Instruction) and statement.opcode in _SEMANTICS:
                target = statement.operands[0]
                if isinstance(target, ir.Reg):
                    self._makers.setdefault(target.name, statement)
        self._read[part] = len(statements)

    def begins(self, base: ir.Operand) -> None:
        """Take a register for the address of a storage's first byte, which is 0 here, however the kernel computes it."""
        if isinstance(base, ir.Reg) and base.name not in self._registers:
            self._registers[base.name] = np.zeros(1, np.int64)
            self._unknown.clear()

    def sample(self, symbol: Symbol) -> np.ndarray:
        """The value for which a runtime symbol stands in the proof: what each thread has, where that is known, else one of its range."""
        found = self._samples.get(symbol)
        if found is None:
            found = self._builder.thread_arrays.get(symbol)
            found = self._samples[symbol] = np.array([_inside(symbol)], np.int64) if found is None else found
            operand = self._builder.value_of(symbol).operand
            if isinstance(operand, ir.Reg):
                self._registers[operand.name] = found
                self._unknown.clear()
        return found

    def value(self, operand: ir.Operand) -> np.ndarray | None:
        """The operand's value; None where it is not known."""
        if isinstance(operand, ir.Reg):
            if operand.name == "%tid":
                return self._thread_index(operand.part or "x")
            if operand.name not in self._registers:
                self._evaluate(operand.name)
            return self._registers.get(operand.name)
        if isinstance(operand, ir.Int):
            return np.array([operand.value], np.int64)
        if isinstance(operand, (ir.Sym, ir.Address)):  # a variable's or a parameter's address: the storage's first byte
            return np.zeros(1, np.int64)
        return None

    def _thread_index(self, part: str) -> np.ndarray:
        x, y, _ = self._builder.block
        index = np.arange(self._builder.threads, dtype=np.int64)
        return {"x": index % x, "y": index // x % y, "z": index // (x * y)}[part]

    def _evaluate(self, name: str) -> None:
        """Evaluate a register and those that it is made of; not by recursion, as the user's arithmetic may be long."""
        pending, entered = [name], set()
        while pending:
            name = pending[-1]
            maker = self._makers.get(name)
            needed = () if maker is None else [one.name for one in maker.operands[1:] if isinstance(one, ir.Reg) and one.name != "%tid"]
            waiting = [one for one in needed if one not in self._registers]
            if name in self._registers or name in self._unknown:
                pending.pop()
            elif waiting and name not in entered and not self._unknown.intersection(waiting):
                entered.add(name)
                pending.extend(waiting)
            else:
                pending.pop()
                sources = [] if maker is None or waiting else [self.value(one) for one in maker.operands[1:]]
                if maker is None or waiting or any(source is None for source in sources):
                    self._unknown.add(name)
                else:
                    self._registers[name] = _SEMANTICS[maker.opcode](*sources)


def _inside(symbol: Symbol) -> int:
    """A value of a symbol for trying out address text: of its range and divisor, small enough not to wrap in 32 bits."""
    lo = symbol.lo if symbol.lo is not None else 0
    hi = symbol.hi if symbol.hi is not None else lo + 7 * symbol.divisor
    return min(lo + 5 * symbol.divisor, hi) if hi < lo + (1 << 20) or lo >= 0 else 0


def mismatch(what: str, thread: int, repeat: int, found: int, wanted: int) -> PtxgenError:
    """The text computes another address than the layout says: a fault of ptxgen, stopped before it becomes wrong code."""
    return PtxgenError(
        f"internal: the address text of {what} gives byte {found} for thread {thread}, repeat {repeat}, where the layout says {wanted}; "
        "please report this kernel"
    )
