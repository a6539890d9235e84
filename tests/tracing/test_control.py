"""Loops and branches against the same Python, run once for each thread."""
# ruff: noqa: SIM117  (a traced block stands in a with statement of its own)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from tests.tracing.kernels import threads, traced


def expected(function, count):
    return [function(tid) for tid in range(count)]


def test_nested_branches_bind_to_their_own_if():
    def traced_branches(tid, r):
        with px.if_(tid < 20):
            with px.if_(tid < 5):
                r.set(1)
            with px.elif_(tid < 10):
                with px.if_((tid & 1) == 0):
                    r.set(2)
                with px.else_():
                    r.set(3)
            r += 100
        with px.elif_(tid * 2 < 60):
            r.set(4)
        with px.elif_(lambda: tid > 40):
            r.set(5)
        with px.else_():
            with px.if_(tid == 33):
                r.set(6)

    def plain(tid):
        r = 0
        if tid < 20:
            if tid < 5:
                r = 1
            elif tid < 10:
                r = 2 if tid % 2 == 0 else 3
            r += 100
        elif tid * 2 < 60:
            r = 4
        elif tid > 40:
            r = 5
        elif tid == 33:
            r = 6
        return r

    assert threads(traced_branches, 64).tolist() == expected(plain, 64)


def test_the_condition_of_an_elif_is_evaluated_in_the_else_branch():
    def inline(tid):
        with px.if_(tid < 4):
            px.syncthreads()
        with px.elif_(tid * 3 == 12):
            px.syncthreads()

    def function(tid):
        with px.if_(tid < 4):
            px.syncthreads()
        with px.elif_(lambda: tid * 3 == 12):
            px.syncthreads()

    lines = traced(inline)
    assert lines == traced(function)
    assert lines[1:] == [
        "setp.lt.u32 %p0, %r0, 4;",
        "@!%p0 bra $L_else_1;",
        "bar.sync 0;",
        "bra $L_endif_1;",
        "$L_else_1:",
        "mul.lo.u32 %r1, %r0, 3;",
        "setp.eq.u32 %p1, %r1, 12;",
        "@!%p1 bra $L_endif_1;",
        "bar.sync 0;",
        "$L_endif_1:",
    ]


def test_break_and_continue_leave_the_innermost_loop():
    def traced_loops(tid, r):
        for i in px.range(10):
            with px.if_(i == tid):
                px.continue_()
            for j in px.range(i, 20, 3):
                with px.if_(j > tid):
                    px.break_()
                with px.else_():
                    r += j
            with px.if_(r > 40):
                px.break_()
            r += 1

    def plain(tid):
        r = 0
        for i in range(10):
            if i == tid:
                continue
            for j in range(i, 20, 3):
                if j > tid:
                    break
                r += j
            if r > 40:
                break
            r += 1
        return r

    assert threads(traced_loops, 32).tolist() == expected(plain, 32)


def test_while_evaluates_its_condition_again():
    def collatz(tid, r):
        n = px.reg(px.u32, tid + 1)
        with px.while_(lambda: n != 1):
            odd = (n & 1) == 1
            with px.if_(odd):
                n *= 3
                n += 1
            with px.else_():
                n >>= 1
            r += 1

    def plain(tid):
        n, steps = tid + 1, 0
        while n != 1:
            n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
        return steps

    assert threads(collatz, 50).tolist() == expected(plain, 50)


def test_while_true_ends_by_break():
    def count(tid, r):
        with px.while_(lambda: True):
            with px.if_(r == tid):
                px.break_()
            r += 1

    assert threads(count, 8).tolist() == list(range(8))


@settings(max_examples=15, deadline=None)
@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-7, 7).filter(bool), st.booleans())
def test_range_counts_as_python(start, stop, step, runtime):
    def loop(tid, r):
        first = tid.to(px.s32) * 3 + start if runtime else start
        for i in px.range(first, stop, step, dtype=px.s32):
            r *= 31
            r += i

    def plain(tid):
        r = 0
        for i in range(tid * 3 + start if runtime else start, stop, step):
            r = (r * 31 + i + (1 << 31)) % (1 << 32) - (1 << 31)
        return r

    assert threads(loop, 4, np.int32).tolist() == expected(plain, 4)


@pytest.mark.parametrize(
    ("type", "start", "stop", "step"),
    [
        (px.u32, 2**32 - 5, 2**32 - 1, 3),
        (px.u32, 5, 0, -3),
        (px.s32, 2**31 - 6, 2**31 - 1, 4),
        (px.s32, -(2**31) + 6, -(2**31), -4),
        (px.u64, 2**64 - 9, 2**64 - 1, 4),
    ],
)
@pytest.mark.parametrize("how", ["constant", "runtime bounds", "runtime step"])
def test_the_index_does_not_wrap_at_the_end_of_its_type(type, start, stop, step, how):
    def loop(tid, r):
        zero = tid.to(type) if type.bits == 64 else tid.bitcast(type)
        zero = zero - zero
        first, last = (start, stop) if how == "constant" else (zero + start, zero + stop)
        by = step
        if how == "runtime step" and step > 0:
            by = px.max(px.min(zero + step, step), 1)
        for _ in px.range(first, last, by, dtype=type):
            r += 1

    assert threads(loop, 1).tolist() == [len(range(start, stop, step))]


def test_constant_bounds_without_an_iteration_leave_no_code():
    def function(tid):
        for _ in px.range(4, 4):
            px.syncthreads()

    assert traced(function) == ["mov.u32 %r0, %tid.x;"]


def test_a_loop_in_the_text():
    def function(tid):
        for i in px.range(0, 96, 32):
            px.ptx["st.shared.b32"](i, tid)

    assert traced(function)[1:] == [
        "mov.b32 %r1, 0;",
        "$L_loop_1:",
        "setp.ge.u32 %p0, %r1, 96;",
        "@%p0 bra $L_endloop_1;",
        "st.shared.b32 [%r1], %r0;",
        "add.u32 %r1, %r1, 32;",
        "bra $L_loop_1;",
        "$L_endloop_1:",
    ]


def test_an_asserted_uniform_predicate_branches_uniformly():
    def function(tid):
        with px.if_(px.uniform(tid < 64)):
            px.syncthreads()

    assert traced(function)[2] == "@!%p0 bra.uni $L_endif_1;"


# ---- what is known ----------------------------------------------------------------------------------------------------


def facts_hold(tid, expr, facts):
    """Whether the facts say that an expression is >= 0."""
    from ptxgen.layouts.expr import prove_nonnegative

    return prove_nonnegative(expr, facts)


def test_the_index_is_known_in_the_body():
    seen = []

    def function(tid):
        n = px.sreg.clock_hi
        for i in px.range(tid * 4, n, 8):
            seen.append((i.expr, n.expr, tid.expr, tid.builder.facts()))
        for i in px.range(100, 0, -7):
            seen.append(i.expr)

    traced(function)
    i, n, tid, facts = seen[0]
    assert facts_hold(tid, n - i - 1, facts) and facts_hold(tid, i - tid * 4, facts)
    assert not facts_hold(tid, n - i - 2, facts)
    assert i.divisor() == 4
    assert seen[1].range() == (2, 100)


def test_a_branch_that_leaves_narrows_what_follows():
    seen = []

    def function(tid):
        n = px.sreg.clock_hi
        with px.if_(tid >= n):
            px.return_()
        seen.append((n.expr - tid.expr - 1, tid.builder.facts()))

    traced(function)
    assert facts_hold(None, *seen[0])


def test_facts_join_and_swap():
    seen = []

    def function(tid):
        a, b = px.sreg.clock_hi, px.sreg.clock
        both = (tid < a) & (tid < b)
        either = (tid >= a) | (tid >= b)
        seen.append((a.expr - tid.expr - 1, b.expr - tid.expr - 1, both.facts, either.facts, (~both).facts))

    traced(function)
    a, b, both, either, negated = seen[0]
    assert both == ((a, b), ()) and either == ((), (a, b)) and negated == ((), (a, b))


def test_what_a_mutable_register_holds_is_forgotten_where_it_may_change():
    seen = []

    def function(tid):
        r = px.reg(px.u32, 5)
        seen.append(r.expr.range())
        with px.if_(tid < 3):
            r += 1
            seen.append(r.expr.range())
        seen.append(r.expr.range())
        r.set(7)
        for _ in px.range(3):
            seen.append(r.expr.range())
            r += 1

    traced(function)
    everything = (0, 2**32 - 1)
    assert seen == [(5, 5), (6, 6), everything, everything]


def test_a_guard_on_a_mutable_register_serves_its_snapshot():
    seen = []

    def function(tid):
        r, n = px.reg(px.u32, tid), px.sreg.clock_hi
        with px.while_(lambda: r < n):
            here = r.snapshot()
            seen.append((n.expr - here.expr - 1, tid.builder.facts()))
            assert r.snapshot() is here
            r += 32
            later = r.snapshot()
            assert later is not here
            seen.append((n.expr - later.expr - 1, tid.builder.facts()))

    traced(function)
    assert facts_hold(None, *seen[0]) and not facts_hold(None, *seen[1])


def test_a_value_keeps_what_the_register_held():
    def function(tid, r):
        x = px.reg(px.u32, tid)
        kept = x.get()
        x += 10
        r.set(kept * 100 + x)

    assert threads(function, 4).tolist() == [10, 111, 212, 313]
