"""Address programs: small integer programs from a thread's index to a byte offset, found from a table and proved against it.

A program is a sum of digits of the index times strides. `fit` finds one for a table of offsets and proves it by evaluating it; the text
that is made of it is proved again, instruction by instruction, in `ptxgen.tile.proof`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import u32
from ptxgen.tracing.builder import Builder, Value, given_register, given_value

__all__ = ["Digit", "Linear", "emit_digit", "evaluate_digit", "fit"]


class Digit(NamedTuple):
    """``index // inner % extent`` as a 32-bit value; `extent` 0 leaves out the remainder (it is the topmost digit)."""

    inner: int
    extent: int


class Linear(NamedTuple):
    """``start + sum(digit * stride)``, in bytes."""

    start: int
    digits: tuple[tuple[Digit, int], ...]

    def evaluate(self, index: np.ndarray) -> np.ndarray:
        """The offsets of the program at thread indices, as exact integers."""
        total = np.full(index.shape, self.start, np.int64)
        for digit, stride in self.digits:
            total = total + evaluate_digit(digit, index) * stride
        return total


def evaluate_digit(digit: Digit, index: np.ndarray) -> np.ndarray:
    """A digit's values, by the operations that `emit_digit` writes."""
    value = index // digit.inner
    return value % digit.extent if digit.extent else value


def fit(index: np.ndarray, offsets: np.ndarray) -> Linear | None:
    """The program whose values at `index` (ascending thread indices) are `offsets`; None where the table is not digit-wise linear.

    The result is proved: its own evaluation equals the table.
    """
    if len(index) == 1 or (offsets == offsets[0]).all():
        return Linear(int(offsets[0]), ())
    found = _affine(index, offsets) or _digits(index, offsets)
    return found if found is not None and (found.evaluate(index) == offsets).all() else None


def _affine(index: np.ndarray, offsets: np.ndarray) -> Linear | None:
    slope, rest = divmod(int(offsets[1] - offsets[0]), int(index[1] - index[0]))
    if rest or (offsets - offsets[0] != (index - index[0]) * slope).any():
        return None
    return Linear(int(offsets[0] - index[0] * slope), ((Digit(1, 0), slope),))


def _digits(index: np.ndarray, offsets: np.ndarray) -> Linear | None:
    """Cut the table into digits, lowest first, each as large as one step of the index and one stride hold.

    Guards may leave gaps: where lanes 0 to 7 of every warp are active, the index is a digit of step 1 and one of step 32.
    """
    table = np.stack([index, offsets]).astype(np.int64)
    found: list[tuple[int, int]] = []
    inner = 1
    while inner < len(index):
        extent = _extent(table, inner)
        if extent is None:
            return None
        step, stride = (int(part) for part in table[:, inner] - table[:, 0])
        found.append((step, stride))
        inner *= extent
    following = [step for step, _ in found[1:]]
    if any(after % step for (step, _), after in zip(found, following)):
        return None
    extents = [*(after // step for (step, _), after in zip(found, following)), 0]
    digits = [(Digit(step, extent), stride) for (step, stride), extent in zip(found, extents)]
    start = int(offsets[0]) - sum(int(evaluate_digit(digit, index[:1])[0]) * stride for digit, stride in digits)
    return Linear(start, tuple((digit, stride) for digit, stride in digits if stride))


def _extent(table: np.ndarray, inner: int) -> int | None:
    """The largest extent, dividing what is left, along which blocks of `inner` indices and offsets repeat at one distance."""
    blocks = table.shape[1] // inner
    if blocks * inner != table.shape[1] or blocks < 2:
        return None
    parts = table.reshape(2, blocks, inner)
    step = parts[:, 1, :1] - parts[:, 0, :1]
    good = 1
    for extent in range(2, blocks + 1):
        if (parts[:, extent - 1] - parts[:, 0] != step * (extent - 1)).any():
            break
        if blocks % extent == 0:
            good = extent
    return good if good > 1 else None


def emit_digit(builder: Builder, index: Value, digit: Digit, into: list[ir.Statement]) -> Value:
    """Write a digit of the thread index, once; shifts and masks where the numbers are powers of two."""

    def make() -> Value:
        value = index
        if digit.inner > 1:
            value = _divide(builder, value, digit.inner, into)
        if digit.extent:
            power = digit.extent & (digit.extent - 1) == 0
            opcode, constant = ("and.b32", digit.extent - 1) if power else ("rem.u32", digit.extent)
            value = _operate(builder, opcode, value, constant, into)
        return value

    if digit == Digit(1, 0):
        return index
    found: Value = builder.once(("digit", index.operand, digit), make)
    return found


def _divide(builder: Builder, value: Value, by: int, into: list[ir.Statement]) -> Value:
    if by & (by - 1) == 0:
        return _operate(builder, "shr.u32", value, by.bit_length() - 1, into)
    return _operate(builder, "div.u32", value, by, into)


def _operate(builder: Builder, opcode: str, value: Value, constant: int, into: list[ir.Statement]) -> Value:
    target = builder.register(u32)
    given: list[tuple[ir.Operand, Given]] = [
        (target, given_register(target, u32)),
        (value.operand, given_value(value)),
        (ir.Int(constant), Given("int", str(constant), value=constant)),
    ]
    where: Any = None
    builder.emit(opcode, given, into=into, where=where)
    return Value(builder, u32, target, builder.root, where)
