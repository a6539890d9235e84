"""Proves address text: the instructions that were written are evaluated over all threads and compared with the table of addresses.

The storage's first byte is taken as 0 (its alignment is a precondition), runtime symbols as sample values inside their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
    """Runs address code over all threads of a block.

    Parameters
    ----------
    builder : Builder
    samples : mapping of Symbol to int
        A value for each runtime symbol that the code reads.
    """

    def __init__(self, builder: Builder, samples: dict[Symbol, int]) -> None:
        self.registers: dict[str, np.ndarray] = {}
        self._builder = builder
        self._seen = 0
        for symbol, value in samples.items():
            operand = builder.value_of(symbol).operand
            if isinstance(operand, ir.Reg):
                self.registers[operand.name] = np.full(builder.threads, value & (2**64 - 1) if value >= 0 else value, np.int64)

    def run_prologue(self) -> Evaluator:
        """Evaluate what the prologue has gained since the last call."""
        prologue = self._builder.prologue
        self.run(prologue[self._seen :])
        self._seen = len(prologue)
        return self

    def run(self, statements: Iterable[ir.Statement]) -> None:
        """Evaluate the instructions that address code consists of; registers of anything else stay unknown."""
        for statement in statements:
            if not isinstance(statement, ir.Instruction) or statement.opcode not in _SEMANTICS:
                continue
            target = statement.operands[0]
            if not isinstance(target, ir.Reg) or target.name in self.registers:
                continue
            sources = [self.value(operand) for operand in statement.operands[1:]]
            if all(source is not None for source in sources):
                self.registers[target.name] = _SEMANTICS[statement.opcode](*sources)

    def value(self, operand: ir.Operand) -> np.ndarray | None:
        """The operand's value in every thread; None where it is not known."""
        threads = self._builder.threads
        if isinstance(operand, ir.Int):
            return np.full(threads, operand.value, np.int64)
        if isinstance(operand, (ir.Sym, ir.Address)):  # a variable's or a parameter's address: the storage's first byte
            return np.zeros(threads, np.int64)
        if isinstance(operand, ir.Reg):
            x, y, _ = self._builder.block
            index = np.arange(threads, dtype=np.int64)
            if operand.name == "%tid":
                return {"x": index % x, "y": index // x % y, "z": index // (x * y)}[operand.part or "x"]
            return self.registers.get(operand.name)
        return None


def mismatch(what: str, thread: int, repeat: int, found: int, wanted: int) -> PtxgenError:
    """The text computes another address than the layout says: a fault of ptxgen, stopped before it becomes wrong code."""
    return PtxgenError(
        f"internal: the address text of {what} gives byte {found} for thread {thread}, repeat {repeat}, where the layout says {wanted}; "
        "please report this kernel"
    )
