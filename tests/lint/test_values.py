"""What is known of a register's value holds in runs of random integer programs: remainders, constants, offsets from a variable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen import ir
from ptxgen.lint.flow import Flow
from ptxgen.lint.values import Value, Values
from ptxgen.text import read
from tests.lint.kernels import text_of

WORD = 1 << 32
numbers = st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 16, 31, 64, 255, 4096, -1, -4, -16, 0x7FFFFFFF])
OPERATIONS = {
    "add.u32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "mul.lo.s32": lambda a, b: a * b,
    "and.b32": lambda a, b: a & b,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
}


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int, int | str]]:
    """Steps (opcode, target, source, constant or source): registers 0 and 1 are the thread's index and the address of a variable.

    Each step writes a new register, or one that an earlier step has written.
    """
    steps = []
    for new in range(2, 10):
        target = draw(st.sampled_from([new, new, *range(2, new)]))
        opcode = draw(st.sampled_from([*OPERATIONS, "selp.b32"]))
        sources = sorted({0, 1, *(one[1] for one in steps)})
        if opcode == "selp.b32":
            other: int | str = f"%r{draw(st.sampled_from(sources))}"
        elif opcode == "shl.b32":
            other = draw(st.integers(0, 33))
        else:
            other = draw(st.one_of(numbers, st.sampled_from(sources).map(lambda one: f"%r{one}")))
        steps.append((opcode, target, draw(st.sampled_from(sources)), other))
    return steps


def run(steps: list[tuple[str, int, int, int | str]], thread: int, base: int) -> list[tuple[int, int]]:
    """What one thread reads as its steps' first sources, and writes."""
    registers, found = {0: thread, 1: base}, []
    for opcode, target, source, other in steps:
        a, b = registers[source], registers[int(other[2:])] if isinstance(other, str) else other % WORD
        registers[target] = (a if thread % 3 else b) if opcode == "selp.b32" else OPERATIONS[opcode](a, b) % WORD
        found.append((a, registers[target]))
    return found


def holds(known: Value, value: int, base: int) -> bool:
    """Whether a number is one that `known` admits, the variable at address `base`."""
    difference = (value - (0 if known.base is None else base) - known.remainder) % WORD
    return difference % known.modulus == 0 if known.modulus else difference == 0


@settings(max_examples=200, deadline=None)
@given(programs())
def test_what_is_known_holds(steps: list[tuple[str, int, int, int | str]]) -> None:
    body = "mov.u32 %r0, %tid.x; mov.u32 %r1, tile; rem.u32 %r20, %r0, 3; setp.ne.u32 %p1, %r20, 0;\n"
    for opcode, target, source, other in steps:
        body += f"{opcode} %r{target}, %r{source}, {other}{', %p1' if opcode == 'selp.b32' else ''};\n"
    function = read(text_of(body)).functions["kernel"]
    assert function.body is not None
    flow = Flow(function)
    values = Values(flow, {one.name: one for one in function.body if isinstance(one, ir.Variable)})
    assert all(known.base is None or known.base == ("tile", 16, 16) for known in (values.register(f"%r{one[1]}") for one in steps))
    for thread in (0, 1, 2, 5, 17, 31, 100, 1023):
        for base in (0, 16, 48, 1024, 0xFFF0):
            for step, one, (read_, written) in zip(flow.steps[4:], steps, run(steps, thread, base)):
                assert isinstance(step.statement, ir.Instruction)
                assert holds(values.operand(step, step.statement.operands[1]), read_, base), step.statement
                assert holds(values.register(f"%r{one[1]}"), written, base), step.statement


KNOWN: dict[str, tuple[str, int | None]] = {
    "a constant": ("mov.u32 %r1, 12;", 12),
    "a sum": ("mov.u32 %r2, 12; add.u32 %r1, %r2, -5;", 7),
    "below zero": ("mov.u32 %r2, 12; sub.u32 %r1, %r2, 13;", WORD - 1),
    "a product": ("mov.u32 %r2, 12; mul.lo.u32 %r1, %r2, 5;", 60),
    "a difference of addresses": ("mov.u32 %r2, tile; sub.u32 %r1, %r2, %r2;", None),
    "an upper half": ("mov.u32 %r2, -1; mul.hi.u32 %r1, %r2, %r2;", None),
    "a sum of halves": ("mov.u32 %r2, 0xffff; add.u16x2 %r1, %r2, %r2;", None),
    "one of two equal ones": ("mov.u32 %r2, 4; mov.u32 %r1, 4; @%p1 mov.u32 %r1, %r2;", 4),
    "one of two": ("mov.u32 %r1, 4; @%p1 mov.u32 %r1, 8;", None),
    "a width": ("mov.u32 %r1, WARP_SZ;", 32),
    "itself": ("mov.u32 %r1, 4; L: mov.u32 %r1, %r1; bra L;", 4),
}


@pytest.mark.parametrize("name", KNOWN)
def test_constants(name: str) -> None:
    body, expected = KNOWN[name]
    function = read(text_of(body)).functions["kernel"]
    assert function.body is not None
    variables = {one.name: one for one in function.body if isinstance(one, ir.Variable)}
    assert Values(Flow(function), variables).register("%r1").constant == expected


@pytest.mark.parametrize("factor", [-12, -8, -1, 1, 3, 4, 6, 40])
def test_wide_products_of_signed_numbers(factor: int) -> None:
    function = read(text_of(f"mov.u32 %r2, {factor}; mul.wide.s32 %rd1, %r2, 20; mul.wide.u32 %rd2, %r2, 20;")).functions["kernel"]
    values = Values(Flow(function), {})
    assert np.int64(np.uint64(values.register("%rd1").constant or 0)) == factor * 20
    assert values.register("%rd2").constant == (factor % WORD) * 20
