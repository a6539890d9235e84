"""What is known of integers is true: every operator, over all threads of a block, against the numbers themselves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.tracing.literals import bounds
from tests.tracing.kernels import traced

CONSTANTS = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 12, 31, 32, 33, 63, 64, 96, 255, 256, 4095, 65535])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "~", "neg", "min", "max", "self+", "select"]), CONSTANTS
    ),
    min_size=1,
    max_size=5,
)


def step(op, value, number, original, signed, choose):
    """One operation, alike for traced scalars and for Python's integers (which the caller wraps)."""
    if op in ("//", "%") and (signed or number == 0):
        return value
    if op in ("<<", ">>"):
        number %= 20
    operations = {
        "+": lambda: value + number, "-": lambda: value - number, "*": lambda: value * number, "//": lambda: value // number,
        "%": lambda: value % number, "&": lambda: value & number, "|": lambda: value | number, "^": lambda: value ^ number,
        "<<": lambda: value << number, ">>": lambda: value >> number, "~": lambda: ~value, "neg": lambda: -value,
        "self+": lambda: value + original,
    }  # fmt: skip
    return operations[op]() if op in operations else choose(op, value, number, original)


def wrap(number, type):
    lo, hi = bounds(type)
    return (number - lo) % (hi - lo + 1) + lo


def choose_number(op, value, number, original):
    return {"min": min(value, number), "max": max(value, number), "select": original if value > number else value}[op]


def choose_traced(op, value, number, original):
    if op == "select":
        return px.select(value > number, original, value)
    return (px.min if op == "min" else px.max)(value, number)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([px.u32, px.s32, px.u16, px.u64]), STEPS, st.integers(0, 1))
def test_known_expressions_ranges_and_divisors_hold(type, steps, mutable):
    found = []

    def function(tid):
        value = original = tid.to(type)
        for op, number in steps:
            value = step(op, value, number, original, type.signed, choose_traced)
            if mutable:
                value = px.reg(type, value)
        found.append((value.expr, tid.expr.symbols[0], tid.builder))

    traced(function, block=(48, 1, 1))
    expr, tid, builder = found[0]
    numbers = []
    for thread in range(48):
        number = original = wrap(thread, type)
        for op, by in steps:
            number = wrap(step(op, number, by, original, type.signed, choose_number), type)
        numbers.append(number)
    lo, hi = expr.range()
    assert lo <= min(numbers) and max(numbers) <= hi
    divisor = expr.divisor()
    assert all(number == 0 if divisor == 0 else number % divisor == 0 for number in numbers)
    if set(expr.symbols) <= {tid}:
        assert [expr.evaluate({tid: thread}) for thread in range(48)] == numbers
    by_thread = builder.over_threads(expr)
    assert by_thread is None or by_thread.tolist() == numbers


def test_powers_of_two_survive_wrapping():
    found = []
    traced(lambda tid: found.append((px.sreg.clock * 32).expr))
    assert found[0].divisor() == 32 and found[0].range() == (0, 2**32 - 32)


def test_index_arithmetic_stays_exact():
    found = []

    def function(tid):
        tid.builder.grid = (1000, 1, 1)
        i = px.ctaid.x * 128 + tid
        found.append([one.expr for one in (i, i * 4, (i * 4) // 4, (i << 7) >> 7, (i * 8) % 8, (i * 4) | 3, i.to(px.u64))])

    traced(function)
    i, words, back, shifted, zero, last, wide = found[0]
    assert words == i * 4 and back == i and shifted == i and zero == 0 and last == i * 4 + 3 and wide == i


def test_a_wrapped_sum_is_not_exact():
    found = []
    traced(lambda tid: found.append((tid.expr, (tid - 1).expr, (tid + np.uint32(2**32 - 1)).expr)))
    tid, less, more = found[0]
    assert less != tid - 1 and more != tid + (2**32 - 1)
    assert less.range() == more.range() == (0, 2**32 - 1)
