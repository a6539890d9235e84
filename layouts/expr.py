"""Integer polynomials over named runtime values, with what is known about them: range, divisor, identity.

A stride or an offset that is only known at run time is an `Expr`. Everything proved about it (bounds under guards,
alignment) follows from the ranges and divisors of its symbols.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Union

from ptxgen.layouts.errors import LayoutError

_serials = itertools.count()
_INFINITY = math.inf
_Bound = Union[int, float]


class Symbol:
    """One runtime integer.

    Parameters
    ----------
    name
        How it prints.
    lo, hi
        Inclusive range; None is unbounded.
    divisor
        A positive integer that divides every value.
    key
        What the symbol stands for. Symbols with equal keys are the same value; without a key each symbol is its own.

    Raises
    ------
    LayoutError
        For an empty range or a divisor below 1.
    """

    __slots__ = ("_hash", "divisor", "hi", "key", "lo", "name", "order")
    __array_ufunc__ = None  # NumPy integers defer to our operators

    def __init__(self, name: str, lo: int | None = 0, hi: int | None = None, divisor: int = 1, key: Hashable = None) -> None:
        if divisor < 1:
            raise LayoutError(f"symbol {name}: the divisor must be at least 1, not {divisor}")
        # Only multiples of the divisor are values, so the range shrinks to them.
        self.lo = None if lo is None else -(-lo // divisor) * divisor
        self.hi = None if hi is None else hi // divisor * divisor
        if self.lo is not None and self.hi is not None and self.lo > self.hi:
            raise LayoutError(f"symbol {name}: no multiple of {divisor} lies in {lo}..{hi}")
        self.name = name
        self.divisor = divisor
        serial = next(_serials)
        self.key: Hashable = serial if key is None else (type(key), key)
        self._hash = hash(self.key)
        self.order = (name, self._hash)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Symbol):
            return self.key == other.key
        return other == Expr.of(self) if isinstance(other, Expr) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.name

    def __add__(self, other: Scalar | Symbol) -> Expr:
        return Expr.of(self).__add__(other)

    def __sub__(self, other: Scalar | Symbol) -> Expr:
        return Expr.of(self).__sub__(other)

    def __mul__(self, other: Scalar | Symbol) -> Expr:
        return Expr.of(self).__mul__(other)

    def __rsub__(self, other: Scalar | Symbol) -> Expr:
        return Expr.of(self).__rsub__(other)

    def __neg__(self) -> Expr:
        return -Expr.of(self)

    __radd__ = __add__
    __rmul__ = __mul__


Monomial = tuple[Symbol, ...]
Terms = dict[Monomial, int]


class Expr:
    """An integer polynomial: a sum of coefficients times products of symbols. Immutable.

    Equal polynomials over the same symbols are equal and hash alike; a constant equals its int. Built from symbols with
    `+ - *`, or with `Expr.of`.
    """

    __slots__ = ("_hash", "_range", "_symbols", "terms")
    __array_ufunc__ = None

    terms: Terms  #: monomial (a sorted tuple of symbols) -> nonzero coefficient; () is the constant. Not to be changed.

    def __init__(self, terms: Mapping[Monomial, int] | None = None) -> None:
        if not terms:
            self.terms = {}
        elif 0 in terms.values():
            self.terms = {mono: value for mono, value in terms.items() if value}
        else:
            self.terms = dict(terms)
        self._hash: int | None = None
        self._range: tuple[_Bound, _Bound] | None = None
        self._symbols: tuple[Symbol, ...] | None = None

    @staticmethod
    def of(value: Scalar | Symbol) -> Expr:
        """The value as an Expr."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, Symbol):
            return Expr({(value,): 1})
        return Expr({(): exact_int(value, "a term of an expression")})

    @property
    def constant(self) -> int | None:
        """The value when there are no symbols, else None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols, each once, in printing order."""
        if self._symbols is None:
            if len(self.terms) == 1 and len(only := next(iter(self.terms))) <= 1:
                self._symbols = only
            else:
                self._symbols = tuple(sorted({s for mono in self.terms for s in mono}, key=lambda s: s.order))
        return self._symbols

    def range(self) -> tuple[int | None, int | None]:
        """Inclusive bounds by interval arithmetic; None is unbounded. Sound, not always tight."""
        lo, hi = self._interval()
        return (None if lo == -_INFINITY else int(lo)), (None if hi == _INFINITY else int(hi))

    def _interval(self) -> tuple[_Bound, _Bound]:
        if self._range is None:
            lo: _Bound = 0
            hi: _Bound = 0
            for mono, coefficient in self.terms.items():
                if not mono:
                    lo, hi = lo + coefficient, hi + coefficient
                    continue
                if len(mono) == 1 and mono[0].lo is not None and mono[0].hi is not None:  # by far the most
                    least, greatest = mono[0].lo * coefficient, mono[0].hi * coefficient
                    lo, hi = (lo + least, hi + greatest) if coefficient > 0 else (lo + greatest, hi + least)
                    continue
                term = _interval_product(_monomial_interval(mono), (coefficient, coefficient))
                lo, hi = lo + term[0], hi + term[1]
            self._range = lo, hi
        return self._range

    def divisor(self) -> int:
        """The greatest integer known to divide every value; 0 for the zero expression."""
        return math.gcd(*[c * math.prod([s.divisor for s in mono]) for mono, c in self.terms.items()])

    def floordiv(self, by: int) -> Expr:
        """`self // by`, where that is a polynomial.

        Raises
        ------
        LayoutError
            When the part of the expression that `by` does not divide may reach a multiple of `by`.
        """
        found = self.quotient(by)
        if found is None:
            raise self._undivided(by)
        return found

    def mod(self, by: int) -> Expr:
        """`self % by` (in `0 .. by - 1`), where that is a polynomial.

        Raises
        ------
        LayoutError
            As `floordiv`; terms that `by` divides through their symbols' divisors need no quotient and vanish.
        """
        found = self.remainder(by)
        if found is None:
            raise self._without_multiples(by)._undivided(by)
        return found

    def quotient(self, by: int) -> Expr | None:
        """`self // by`, where that is known to be a polynomial."""
        found = self._divmod(by)
        return None if found is None else found[0]

    def remainder(self, by: int) -> Expr | None:
        """`self % by`, where that is known to be a polynomial."""
        found = self._without_multiples(by)._divmod(by)
        return None if found is None else found[1]

    def _without_multiples(self, by: int) -> Expr:
        """The terms that are not known to be multiples of `by`, and the constant."""
        return Expr({m: c for m, c in self.terms.items() if not m or c * math.prod([s.divisor for s in m]) % by})

    def _divmod(self, by: int) -> tuple[Expr, Expr] | None:
        if by < 1:
            raise LayoutError(f"({self}) divided by {by}: the divisor must be positive")
        if not any(c % by for c in self.terms.values()):
            return Expr({mono: c // by for mono, c in self.terms.items()}), Expr()
        quotient, rest = self._split(by)
        lo, hi = rest._interval()
        base = 0 if lo == -_INFINITY else int(lo) // by
        if lo == -_INFINITY or hi >= (base + 1) * by:
            return None
        return quotient + base, rest - base * by

    def _split(self, by: int) -> tuple[Expr, Expr]:
        """Whole multiples of `by` taken out of each term, and what is left, which must stay between two multiples."""
        quotient = Expr({mono: c // by if c > 0 else -(-c // by) for mono, c in self.terms.items()})
        return quotient, self - quotient * by

    def _undivided(self, by: int) -> LayoutError:
        rest = self._split(by)[1]
        return LayoutError(
            f"({self}) is not known to divide by {by}: {rest} would have to stay between two multiples of {by}, "
            f"and its known range is {_range_text(*rest._interval())}"
        )

    def substitute(self, values: Mapping[Symbol, Scalar]) -> Expr:
        """The expression with some symbols replaced."""
        total = Expr()
        for mono, coefficient in self.terms.items():
            term = Expr({(): coefficient})
            for symbol in mono:
                term = term * values.get(symbol, Expr.of(symbol))
            total = total + term
        return total

    def evaluate(self, values: Mapping[Symbol, int]) -> int:
        """The value under an assignment of every symbol."""
        return sum(c * math.prod(values[s] for s in mono) for mono, c in self.terms.items())

    def __add__(self, other: Scalar | Symbol) -> Expr:
        terms = dict(self.terms)
        if other.__class__ is int:
            if not other:
                return self
            terms[()] = terms.get((), 0) + other
            return Expr(terms)
        if not is_number(other):
            return NotImplemented
        for mono, value in Expr.of(other).terms.items():
            terms[mono] = terms.get(mono, 0) + value
        return Expr(terms)

    def __mul__(self, other: Scalar | Symbol) -> Expr:
        if other.__class__ is int:
            return Expr({mono: value * other for mono, value in self.terms.items()})
        if not is_number(other):
            return NotImplemented
        terms: Terms = {}
        for (a, x), (b, y) in itertools.product(self.terms.items(), Expr.of(other).terms.items()):
            mono = tuple(sorted(a + b, key=lambda s: s.order)) if a and b else a + b
            terms[mono] = terms.get(mono, 0) + x * y
        return Expr(terms)

    def __neg__(self) -> Expr:
        return self * -1

    def __sub__(self, other: Scalar | Symbol) -> Expr:
        if other.__class__ is int:
            return self + -other
        if not is_number(other):
            return NotImplemented
        terms = dict(self.terms)
        for mono, value in Expr.of(other).terms.items():
            terms[mono] = terms.get(mono, 0) - value
        return Expr(terms)

    def __rsub__(self, other: Scalar | Symbol) -> Expr:
        return Expr.of(other) + -self if is_number(other) else NotImplemented

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expr):
            return self.terms == other.terms
        if other.__class__ is int:
            return self.terms == ({(): other} if other else {})
        if isinstance(other, (int, Symbol)) and not isinstance(other, bool):
            return self.terms == Expr.of(other).terms
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            constant = self.constant
            if constant is not None:
                self._hash = hash(constant)
            else:
                only = next(iter(self.terms))
                is_symbol = len(self.terms) == 1 and len(only) == 1 and self.terms[only] == 1
                self._hash = hash(only[0]) if is_symbol else hash(frozenset(self.terms.items()))
        return self._hash

    def __bool__(self) -> bool:
        raise LayoutError(f"({self}) has no truth value before run time; ask for .constant, .range() or a proof")

    def __repr__(self) -> str:
        if not self.terms:
            return "0"
        ordered = sorted(self.terms.items(), key=lambda item: (not item[0], [s.order for s in item[0]]))
        text = ""
        for mono, value in ordered:
            factors = [s.name for s in mono]
            if abs(value) != 1 or not mono:
                factors.insert(0, str(abs(value)))
            sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
            text += sign + "*".join(factors)
        return text


Scalar = Union[int, Expr]


def is_number(value: object) -> bool:
    """Whether arithmetic with the value is ours: an integer, an expression, or a float (to be refused by name)."""
    return isinstance(value, (int, Expr, Symbol, float)) or hasattr(value, "__index__")


def exact_int(value: object, what: str) -> int:
    """The value as a Python int; bool, float and anything without an exact integer value is refused."""
    if type(value) is int:
        return value
    if isinstance(value, bool):
        raise LayoutError(f"{what} must be an integer, not the truth value {value!r}")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise LayoutError(f"{what} must be an integer, not {value!r} ({type(value).__name__})") from None


def as_scalar(value: object, what: str) -> Scalar:
    """The value as an int where it is constant, else as an Expr."""
    if type(value) is int:
        return value
    if isinstance(value, Symbol):
        return Expr.of(value)
    if isinstance(value, Expr):
        constant = value.constant
        return value if constant is None else constant
    return exact_int(value, what)


def product(values: Iterable[Scalar]) -> Scalar:
    """The product of ints and expressions, an int where it is constant."""
    total: Scalar = 1
    for value in values:
        total = total * value
    return as_scalar(total, "a product")


def exact_ratio(value: Scalar, by: Scalar) -> Scalar | None:
    """The quotient, where `value` is a multiple of `by` term by term; None where it is not known to be one. By 0, None.

    >>> n = Symbol("n")
    >>> exact_ratio(12 * n, 4), exact_ratio(12 * n, 2 * n), exact_ratio(n, 4)
    (3*n, 6, None)
    """
    if isinstance(value, int) and isinstance(by, int):
        return value // by if by and value % by == 0 else None
    dividend, divisor = Expr.of(value), Expr.of(by)
    if len(divisor.terms) != 1:
        return 1 if divisor.terms and dividend == divisor else None
    ((of, coefficient),) = divisor.terms.items()
    terms: Terms = {}
    for monomial, own in dividend.terms.items():
        rest = _cofactor(monomial, of)
        if rest is None or own % coefficient:
            return None
        terms[rest] = own // coefficient
    return as_scalar(Expr(terms), "a quotient")


def _range_text(lo: _Bound, hi: _Bound) -> str:
    return f"{'-inf' if lo == -_INFINITY else lo}..{'inf' if hi == _INFINITY else hi}"


def _bound_product(a: _Bound, b: _Bound) -> _Bound:
    if a == 0 or b == 0:  # an unbounded factor times exactly zero is zero
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return _INFINITY if (a > 0) == (b > 0) else -_INFINITY
    return a * b


def _interval_product(a: tuple[_Bound, _Bound], b: tuple[_Bound, _Bound]) -> tuple[_Bound, _Bound]:
    corners = [_bound_product(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _monomial_interval(mono: Monomial) -> tuple[_Bound, _Bound]:
    least: _Bound = 1
    greatest: _Bound = 1
    for symbol in mono:  # most are products of bounded, non-negative values
        if symbol.lo is None or symbol.lo < 0 or symbol.hi is None:
            return _signed_interval(mono)
        least, greatest = least * symbol.lo, greatest * symbol.hi
    return least, greatest


def _signed_interval(mono: Monomial) -> tuple[_Bound, _Bound]:
    result: tuple[_Bound, _Bound] = (1, 1)
    for symbol, group in itertools.groupby(mono):
        power = len(list(group))
        one = (-_INFINITY if symbol.lo is None else symbol.lo, _INFINITY if symbol.hi is None else symbol.hi)
        interval: tuple[_Bound, _Bound] = (1, 1)
        for _ in range(power):
            interval = _interval_product(interval, one)
        if power % 2 == 0:
            interval = max(interval[0], 0), interval[1]
        result = _interval_product(result, interval)
    return result


# --- proofs -----------------------------------------------------------------------------------------------------------

_PROOF_DEPTH = 3
_ALL_GOALS = 1 << 30


def prove_nonnegative(
    expr: Scalar | Symbol, facts: Sequence[Scalar | Symbol] = (), depth: int = _PROOF_DEPTH, goals: int = _ALL_GOALS
) -> bool:
    """Whether `expr >= 0` follows from the symbols' ranges and from facts `f >= 0`.

    Sound and incomplete: True is a proof, False only says that none was found. The search subtracts non-negative
    multiples of at most `depth` facts, each chosen to cancel a term, and ends in interval arithmetic, or after so many `goals`.
    """
    if expr.__class__ is int:
        return expr >= 0
    goal = Expr.of(expr)
    if goal._interval()[0] >= 0:
        return True
    known = _related(goal, facts)
    return bool(known) and not _refuted(goal, known) and _prove(goal, [_tighten(fact) for fact in known], depth, {}, goals)


def _related(goal: Expr, facts: Sequence[Scalar | Symbol]) -> list[Expr]:
    """The facts that can take part in a proof: they share symbols with the goal, or with facts that do."""
    reached = set(goal.symbols)
    related: list[Expr] = []
    left = [one for one in (fact if fact.__class__ is Expr else Expr.of(fact) for fact in facts) if one.terms]
    while True:
        near: list[Expr] = []
        far: list[Expr] = []
        for fact in left:
            (far if reached.isdisjoint(fact._symbols or fact.symbols) else near).append(fact)
        if not near:
            return related
        related += near
        left = far
        reached.update(*[fact.symbols for fact in near])


def _refuted(goal: Expr, known: list[Expr]) -> bool:
    """Whether all that is known holds and the goal does not at a corner of the ranges: a search for a proof would be in vain.

    Its own symbols are where the goal is least by their signs alone, the others all high or all low.
    """
    signs: dict[Symbol, int] = {}
    for mono, value in goal.terms.items():
        for symbol in mono:
            signs.setdefault(symbol, value)
    symbols = {symbol for fact in (goal, *known) for symbol in fact.symbols}
    if any(symbol.lo is None or symbol.hi is None for symbol in symbols):
        return False
    for side in (-1, 1):
        corner: dict[Symbol, int] = {s: s.hi if signs.get(s, side) < 0 else s.lo for s in symbols}  # type: ignore[misc]
        if goal.evaluate(corner) < 0 and all(fact.evaluate(corner) >= 0 for fact in known):
            return True
    return False


def _prove(goal: Expr, known: list[Expr], depth: int, failed: dict[Expr, int], goals: int) -> bool:
    if goal._interval()[0] >= 0:
        return True
    if not depth or depth <= failed.get(goal, 0) or len(failed) > goals:  # tried before with as many facts left, or enough
        return False
    failed[goal] = depth
    return any(_prove(step, known, depth - 1, failed, goals) for step in _eliminations(goal, known))


def _eliminations(goal: Expr, facts: Sequence[Expr]) -> Iterator[Expr]:
    """Goals `a*goal - b*fact` with a > 0 and b >= 0, in which a term of the goal is gone."""
    holding: dict[Symbol, list[tuple[Monomial, int]]] = {}  # a fact's term can cancel only those of the goal that hold its symbols
    for target, wanted in goal.terms.items():
        for symbol in dict.fromkeys(target):
            holding.setdefault(symbol, []).append((target, wanted))
    for fact in facts:
        for mono, value in fact.terms.items():
            for target, wanted in holding.get(mono[0], ()) if mono else ():
                if (value > 0) != (wanted > 0):
                    continue
                cofactor = _cofactor(target, mono)
                if cofactor is None or any(s.lo is None or s.lo < 0 for s in cofactor):
                    continue
                common = math.gcd(value, wanted)
                scaled = fact * Expr({cofactor: abs(wanted) // common})
                yield _loosen(goal * (abs(value) // common) - scaled)


def _cofactor(mono: Monomial, by: Monomial) -> Monomial | None:
    rest = list(mono)
    for symbol in by:
        if symbol not in rest:
            return None
        rest.remove(symbol)
    return tuple(rest)


def _tighten(expr: Expr) -> Expr:
    """The least expression that is non-negative exactly when `expr` is, for a fact: T + c >= 0 with g | T means T + g*(c // g) >= 0."""
    constant, step = _constant_and_step(expr)
    return expr if step < 2 else expr - constant % step


def _loosen(expr: Expr) -> Expr:
    """The greatest expression that is non-negative exactly when `expr` is, for a goal."""
    constant, step = _constant_and_step(expr)
    return expr if step < 2 else expr + (step - 1 - constant % step)


def _constant_and_step(expr: Expr) -> tuple[int, int]:
    """The constant, and the greatest integer known to divide the rest."""
    return expr.terms.get((), 0), math.gcd(*[c * math.prod([s.divisor for s in mono]) for mono, c in expr.terms.items() if mono])


_FAR = 1 << 31
_TRIES = 4096


def counterexample(expr: Scalar | Symbol, facts: Sequence[Scalar | Symbol] = ()) -> dict[Symbol, int] | None:
    """An assignment with `expr < 0` that keeps every range, divisor and fact `f >= 0`; None if none was found.

    A quick search at the corners of the ranges and along the edges of the facts, not a decision procedure.
    """
    goal = Expr.of(expr)
    known = [Expr.of(fact) for fact in facts]
    symbols = tuple(sorted({s for e in (goal, *known) for s in e.symbols}, key=lambda s: s.order))

    def refutes(values: dict[Symbol, int]) -> bool:
        return goal.evaluate(values) < 0 and all(fact.evaluate(values) >= 0 for fact in known)

    for choice in itertools.islice(itertools.product(*map(_corner_values, symbols)), _TRIES):
        values = dict(zip(symbols, choice))
        if refutes(values):
            return values
    return _search_edges(symbols, (goal, *known), refutes)


def _search_edges(
    symbols: tuple[Symbol, ...], edges: Sequence[Expr], refutes: Callable[[dict[Symbol, int]], bool]
) -> dict[Symbol, int] | None:
    tries = max(16, _TRIES // (len(symbols) * len(edges) or 1))
    for pivot in symbols:
        others = [s for s in symbols if s != pivot]
        for choice in itertools.islice(itertools.product(*map(_corner_values, others)), tries):
            values = dict(zip(others, choice))
            for candidate in _edge_values(pivot, values, edges):
                values[pivot] = candidate
                if refutes(values):
                    return values
    return None


def _corner_values(symbol: Symbol) -> list[int]:
    step, lo, hi = symbol.divisor, symbol.lo, symbol.hi
    far = _FAR // step * step
    low = lo if lo is not None else -far if hi is None else min(-far, hi - far)
    high = hi if hi is not None else max(far, low + far)
    near = [low, low + step, low + 2 * step, 0, step, -step, high - step, high]
    return list(dict.fromkeys(v for v in near if low <= v <= high))


def _edge_values(pivot: Symbol, others: Mapping[Symbol, int], edges: Sequence[Expr]) -> Iterator[int]:
    """Values of the pivot next to where an edge, linear in it once the others are fixed, changes sign."""
    for edge in edges:
        line = edge.substitute(others)
        slope = line.terms.get((pivot,), 0)
        if not slope or any(len(mono) > 1 for mono in line.terms):
            continue
        root = -line.terms.get((), 0) // slope // pivot.divisor * pivot.divisor
        for value in (root, root + pivot.divisor, root - pivot.divisor):
            if (pivot.lo is None or value >= pivot.lo) and (pivot.hi is None or value <= pivot.hi):
                yield value
