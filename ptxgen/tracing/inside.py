"""Proofs that a part lies inside its tensor, beyond what ranges and guards say by themselves.

A guard often speaks of a sum or a product that may wrap (``i < h * w``), an index of quotients and remainders of what is guarded
(``x[i // w, i % w]``). Each rule here is sound by itself:

- Unsigned results that wrap are never more than the exact one if that is not negative, and never less if it is not too large.
- A quotient times its divisor is at most the dividend; a remainder is less than its divisor wherever that is not 0.
- A choice between two values is either of them, where its predicate holds or does not.
- If ``e * s >= 1`` for a product s of values that are not negative, then ``e >= 1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ptxgen.layouts.expr import Expr, Scalar, Symbol, counterexample, prove_nonnegative
from ptxgen.tracing.literals import bounds
from ptxgen.tracing.ranges import fits

if TYPE_CHECKING:
    from ptxgen.tracing.builder import Builder

__all__ = ["doubtful", "proved", "refuted"]

_DEPTH, _GOALS = 5, 60  # facts that one of these proofs takes, and steps of the search for it
_FACTORS = 5, 5  # values that a goal is multiplied by, singly, and in pairs with others
_REMAINDERS = 3  # of what a goal is computed from
_CHOICES = 3  # choices between two values that a goal may hold
_MANY = 16  # facts among which longer proofs and finer counter-examples are not looked for


def proved(builder: Builder, goal: Scalar) -> bool:
    """Whether a goal is >= 0 in every thread that comes here, with the facts in force."""
    return _proved(builder, goal, builder.facts(), _CHOICES)


def _proved(builder: Builder, goal: Scalar, facts: list[Expr], choices: int) -> bool:
    if prove_nonnegative(goal, facts):
        return True
    expr = Expr.of(goal)
    values = builder.over_threads(expr)
    if values is not None:
        return bool((values[builder.active_threads()] >= 0).all())
    exact = _exact(builder, facts)
    if exact and prove_nonnegative(expr, [fact.substitute(exact) for fact in facts]):
        return True
    chosen = next((symbol for symbol in expr.symbols if symbol in builder.selects), None)
    if chosen is not None and choices:
        cases = builder.selects[chosen]
        return all(_proved(builder, expr.substitute({chosen: value}), [*facts, *more], choices - 1) for more, value in cases)
    known = _around(builder, expr, facts)
    return len(known) <= _MANY and (_by_factors(expr, known) or _with_remainders(builder, expr, known))


def _exact(builder: Builder, facts: Sequence[Expr]) -> dict[Symbol, Expr]:
    """Sums in facts that, as is known by now, have not wrapped."""
    return {
        symbol: expr
        for symbol, expr in builder.wrapping.items()
        if any(symbol in fact.symbols for fact in facts) and fits(expr, bounds(builder.values[symbol].type), lambda: facts)
    }


def _around(builder: Builder, goal: Expr, facts: Sequence[Expr]) -> list[Expr]:
    """The facts that share symbols with the goal, or with such facts, and what is known of these symbols where they may wrap."""
    found: list[Expr] = []
    reached = set(goal.symbols)
    left = [*facts, *(one for symbol in builder.wrapping for one in _implied(builder, symbol))]
    while True:
        near = [fact for fact in left if not reached.isdisjoint(fact.symbols)]
        if not near:
            return found
        found += near
        left = [fact for fact in left if reached.isdisjoint(fact.symbols)]
        reached.update(symbol for fact in near for symbol in fact.symbols)


def _implied(builder: Builder, symbol: Symbol) -> Iterator[Expr]:
    """What is known of an unsigned result that may wrap: expressions that are >= 0."""
    exact, (bottom, top) = builder.wrapping[symbol], bounds(builder.values[symbol].type)
    low, high = exact.range()
    if not bottom and low is not None and low >= 0:
        yield exact - Expr.of(symbol)
    elif not bottom and high is not None and high <= top:
        yield Expr.of(symbol) - exact


def _by_factors(goal: Expr, known: Sequence[Expr]) -> bool:
    if prove_nonnegative(goal, known, _DEPTH, _GOALS):
        return True
    beside: dict[Symbol, None] = {}  # factors of what the goal speaks of, and of anything
    anywhere: dict[Symbol, None] = {}
    for monomial in (one for fact in known for one in fact.terms if len(one) > 1):
        found = [symbol for symbol in monomial if symbol.lo is not None and symbol.lo >= 0]
        anywhere.update(dict.fromkeys(found))
        for place, symbol in enumerate(found):
            if any(other in goal.symbols for other in (*found[:place], *found[place + 1 :])):
                beside[symbol] = None
    near, far = ([Expr.of(symbol) for symbol in list(some)[:most]] for some, most in zip((beside, anywhere), _FACTORS))
    return any(
        prove_nonnegative((goal + 1) * factor - 1, known, _DEPTH, _GOALS)
        for factor in (*near, *(one * other for one in near for other in far))
    )


def _with_remainders(builder: Builder, goal: Expr, known: list[Expr]) -> bool:
    """The same with what holds for remainders, once their divisors are known not to be 0."""
    added = []
    spoken = {symbol for fact in (goal, *known) for symbol in fact.symbols}
    for symbol in [one for one in builder.remainders if one in spoken][:_REMAINDERS]:
        dividend, divisor = builder.remainders[symbol]
        if _by_factors(divisor - 1, known):
            added += [divisor - 1 - Expr.of(symbol), dividend - Expr.of(symbol)]
    return bool(added) and _by_factors(goal, [*known, *added])


def doubtful(builder: Builder, goal: Expr) -> Expr | None:
    """A product that may wrap and by which what the goal speaks of was divided, or one that is near: a proof would need it exactly."""
    known = _around(builder, goal, builder.facts())
    divided = {symbol for fact in known for one in fact.terms if len(one) > 1 and set(one) & set(goal.symbols) for symbol in one}
    products = {symbol: exact for symbol, exact in builder.wrapping.items() if any(len(one) > 1 for one in exact.terms)}
    reached = {symbol for fact in known for symbol in fact.symbols}
    return next((products[symbol] for some in (divided, reached) for symbol in products if symbol in some), None)


def refuted(builder: Builder, goal: Expr, facts: Sequence[Expr]) -> dict[Symbol, int]:
    """Values for which the facts hold and the goal is negative; without sums that wrap if there are such, and empty if none are found."""
    world = _around(builder, goal, facts)
    spoken = {symbol for one in (goal, *world) for symbol in one.symbols}
    if len(world) > _MANY:
        return counterexample(goal, facts) or {}
    for symbol in spoken & builder.remainders.keys():  # nothing is known of one by 0
        dividend, divisor = builder.remainders[symbol]
        world += [(divisor - 1 - Expr.of(symbol)) * divisor, (dividend - Expr.of(symbol)) * divisor]
    plain: dict[Symbol, Scalar] = {}
    for symbol, expr in builder.wrapping.items():  # in the order in which they were computed
        if symbol in spoken:
            plain[symbol] = expr.substitute(plain)
    if plain:
        within = [
            room
            for symbol, expr in plain.items()
            for bottom, top in [bounds(builder.values[symbol].type)]
            for room in (Expr.of(expr) - bottom, top - Expr.of(expr))
        ]
        found = counterexample(goal.substitute(plain), [*(fact.substitute(plain) for fact in world), *within])
        if found:
            of_goal = {symbol: plain[symbol] for symbol in goal.symbols if symbol in plain}
            found |= {symbol: Expr.of(expr).evaluate(found) for symbol, expr in of_goal.items()}
            return dict(sorted(found.items(), key=lambda one: one[0].order))
    return counterexample(goal, world) or {}
