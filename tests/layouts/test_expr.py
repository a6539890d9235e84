"""Expressions against their values at random assignments; proofs against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ptxgen.layouts import Expr, LayoutError, Symbol, counterexample, prove_nonnegative

I = Symbol("i", 0, 12, divisor=4)
J = Symbol("j", -3, 5)
K = Symbol("k", 1, 7)
SYMBOLS = (I, J, K)
VALUES = {I: [0, 4, 8, 12], J: list(range(-3, 6)), K: list(range(1, 8))}
ASSIGNMENTS = [dict(zip(SYMBOLS, choice)) for choice in itertools.product(*(VALUES[s] for s in SYMBOLS))]

assignments = st.sampled_from(ASSIGNMENTS)
monomials = st.lists(st.sampled_from(SYMBOLS), max_size=2)
linear = st.builds(lambda a, b, c, d: I * a + J * b + K * c + d, *[st.integers(-6, 6)] * 3, st.integers(-40, 40))


@st.composite
def exprs(draw):
    total = Expr()
    for mono in draw(st.lists(monomials, max_size=4)):
        part = Expr.of(draw(st.integers(-20, 20)))
        for symbol in mono:
            part = part * symbol
        total = total + part
    return total


@given(exprs(), exprs(), st.integers(-9, 9), assignments)
def test_arithmetic_commutes_with_evaluation(a, b, n, values):
    x, y = a.evaluate(values), b.evaluate(values)
    assert (a + b).evaluate(values) == x + y
    assert (a - b).evaluate(values) == x - y
    assert (a * b).evaluate(values) == x * y
    assert (-a).evaluate(values) == -x
    assert (n + a).evaluate(values) == n + x and (a + n).evaluate(values) == n + x
    assert (n - a).evaluate(values) == n - x and (n * a).evaluate(values) == n * x
    assert a.substitute({I: b}).evaluate(values) == a.evaluate({**values, I: y})


@given(exprs(), exprs(), exprs())
def test_equal_polynomials_are_equal_and_hash_alike(a, b, c):
    assert (a + b) * c == b * c + c * a
    assert hash((a + b) * c) == hash(b * c + c * a)
    assert a - a == 0 and (a - a).constant == 0


@given(exprs(), exprs())
def test_different_polynomials_differ_somewhere(a, b):
    # Degree at most 2 in each symbol, and each takes at least 3 values: equal everywhere means equal coefficients.
    same = all(a.evaluate(values) == b.evaluate(values) for values in ASSIGNMENTS)
    assert (a == b) == same


@given(exprs())
def test_range_and_divisor_hold_for_every_value(a):
    values = [a.evaluate(assignment) for assignment in ASSIGNMENTS]
    lo, hi = a.range()
    assert lo <= min(values) and max(values) <= hi
    divisor = a.divisor()
    assert all(value == 0 if divisor == 0 else value % divisor == 0 for value in values)


@given(linear)
def test_range_of_a_linear_expression_is_tight(a):
    values = [a.evaluate(assignment) for assignment in ASSIGNMENTS]
    assert a.range() == (min(values), max(values))


@given(exprs(), st.integers(1, 12), assignments)
def test_floordiv_and_mod_are_pythons_or_refused(a, by, values):
    x = a.evaluate(values)
    for operation, expected in ((a.floordiv, x // by), (a.mod, x % by)):
        try:
            result = operation(by)
        except LayoutError as error:
            assert f"is not known to divide by {by}" in str(error)
        else:
            assert result.evaluate(values) == expected


def test_division_that_is_exact():
    assert (I * 8 + 19).floordiv(8) == I + 2 and (I * 8 + 19).mod(8) == 3
    assert (K - 1 + I * 8).floordiv(8) == I and (K - 1 + I * 8).mod(8) == K - 1
    assert (I + 3).mod(4) == 3 and (K * 9).floordiv(8) == K and (K * 9 - 64).mod(8) == K


def test_division_that_is_refused():
    with pytest.raises(LayoutError) as error:
        (K * 3 + 1).floordiv(4)
    problem = "3*k + 1 would have to stay between two multiples of 4, and its known range is 4..22"
    assert str(error.value) == f"(3*k + 1) is not known to divide by 4: {problem}"
    with pytest.raises(LayoutError) as error:
        Expr.of(Symbol("n", 0)).mod(8)
    assert str(error.value) == (
        "(n) is not known to divide by 8: n would have to stay between two multiples of 8, and its known range is 0..inf"
    )
    with pytest.raises(LayoutError) as error:
        (K * 3).floordiv(0)
    assert str(error.value) == "(3*k) divided by 0: the divisor must be positive"


@given(linear, st.lists(linear, max_size=3))
def test_proofs_are_sound(goal, facts):
    possible = [v for v in ASSIGNMENTS if all(fact.evaluate(v) >= 0 for fact in facts)]
    found = counterexample(goal, facts)
    if prove_nonnegative(goal, facts):
        assert all(goal.evaluate(values) >= 0 for values in possible)
        assert found is None
    if found is not None:
        assert {**ASSIGNMENTS[0], **found} in possible and goal.evaluate({**ASSIGNMENTS[0], **found}) < 0


@given(exprs(), st.lists(exprs(), max_size=2))
def test_proofs_about_products_are_sound(goal, facts):
    assume(prove_nonnegative(goal, facts))
    for values in ASSIGNMENTS:
        if all(fact.evaluate(values) >= 0 for fact in facts):
            assert goal.evaluate(values) >= 0


def test_proofs_that_guards_need():
    i, j, n = Symbol("i", 0), Symbol("j", 0), Symbol("n", 0)
    guard = n - 1 - i  # i < n
    assert prove_nonnegative(n - 1 - i, [guard])
    assert prove_nonnegative(n * 4 - i * 4 - 4, [guard])
    assert not prove_nonnegative(n - 2 - i, [guard])
    rows, columns = Symbol("rows", 0), Symbol("columns", 0)
    inside = [rows - 1 - i, columns - 1 - j]
    assert prove_nonnegative(rows * columns - 1 - (i * columns + j), inside)
    assert not prove_nonnegative(rows * columns - 2 - (i * columns + j), inside)


def test_divisors_tighten_guards():
    thread, n = Symbol("thread", 0, 1023), Symbol("n", 0, None, divisor=4)
    assert prove_nonnegative(n - (thread * 4 + 3) - 1, [n - 1 - thread * 4])
    odd = Symbol("n", 0)
    assert not prove_nonnegative(odd - (thread * 4 + 3) - 1, [odd - 1 - thread * 4])
    found = counterexample(odd - (thread * 4 + 3) - 1, [odd - 1 - thread * 4])
    assert found is not None and found[thread] * 4 < found[odd] < found[thread] * 4 + 4


def test_counterexample_reaches_values_between_the_corners():
    i, n = Symbol("i", 0), Symbol("n", 0, 1000)
    found = counterexample(n - i - 2, [n - i - 1, n - 77, i - 5])
    assert found is not None and found[i] == found[n] - 1 and found[n] >= 77


def test_identity_is_the_key_or_the_instance():
    key = ("dim", "n")
    assert Symbol("n", 0, key=key) == Symbol("n", 0, key=key)
    assert hash(Symbol("n", 0, key=key)) == hash(Symbol("n", 0, key=key))
    assert Symbol("n", 0) != Symbol("n", 0)
    assert Symbol("n", 0, key=key) * J - J * Symbol("n", 0, key=key) == 0
    assert Expr.of(I) == I and hash(I) == hash(Expr.of(I)) and Expr.of(7) == 7 and hash(Expr.of(7)) == hash(7)


def test_printing_is_canonical():
    assert repr(16 * I + 3) == "16*i + 3"
    assert repr(3 + J * I - K) == "i*j - k + 3"
    assert repr(K * K - 1 - K * K) == "-1"
    assert repr(-I * 1 + J * 0) == "-i" and repr(Expr()) == "0"


def test_symbols_keep_to_multiples_of_their_divisor():
    symbol = Symbol("s", 1, 30, divisor=8)
    assert (symbol.lo, symbol.hi) == (8, 24)
    with pytest.raises(LayoutError) as error:
        Symbol("s", 1, 7, divisor=8)
    assert str(error.value) == "symbol s: no multiple of 8 lies in 1..7"
    with pytest.raises(LayoutError) as error:
        Symbol("s", 1, 7, divisor=0)
    assert str(error.value) == "symbol s: the divisor must be at least 1, not 0"


def test_unbounded_ranges():
    n, free = Symbol("n", 0), Symbol("free", None, None)
    assert (n * 2 + 1).range() == (1, None)
    assert (n - n).range() == (0, 0)
    assert (-n).range() == (None, 0)
    assert (free * free).range() == (0, None)
    assert (n * 10**400).range() == (0, None)


def test_numpy_integers_are_integers_and_nothing_else_is():
    assert I + np.int64(3) == I + 3 and np.int32(3) * I == I * 3
    for wrong in (1.5, True, "x"):
        with pytest.raises((LayoutError, TypeError)):
            I + wrong
    with pytest.raises(LayoutError) as error:
        I * 0.5
    assert str(error.value) == "a term of an expression must be an integer, not 0.5 (float)"
    with pytest.raises(LayoutError) as error:
        bool(I + 1)
    assert str(error.value) == "(i + 1) has no truth value before run time; ask for .constant, .range() or a proof"


def test_terms_symbols_and_constant():
    expr = I * J * 2 - 5
    assert expr.terms == {(I, J): 2, (): -5} and expr.symbols == (I, J)
    assert expr.constant is None and Expr.of(4).constant == 4 and Expr().constant == 0
    assert math.gcd(8, 5) == expr.divisor() == 1 and (I * 6).divisor() == 24
