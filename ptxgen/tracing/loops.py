"""`px.range` and `px.while_`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import gcd
from types import FrameType
from typing import Any, NoReturn

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import Type, pred, s32, s64, u32, u64
from ptxgen.layouts.errors import LayoutError
from ptxgen.tracing import ranges
from ptxgen.tracing.blocks import Block, branch, branch_unless, close_region, is_function, jumped, open_region, predicate_of
from ptxgen.tracing.builder import Builder, Region, Value, current
from ptxgen.tracing.literals import bounds, literal
from ptxgen.tracing.provenance import Where, here, user_frame
from ptxgen.tracing.refusals import Names, for_statement, not_a_for, opcode_at
from ptxgen.tracing.values import Scalar, emit, mov_opcode

__all__ = ["Loop", "Range", "range_", "while_"]


class Loop:
    """A traced loop that is open."""

    def __init__(self, region: Region, end: str, again: str, where: Where) -> None:
        self.region = region
        self.end = end
        self.again = again  # where px.continue_ goes
        self.where = where
        self.continued = False


def _head(builder: Builder, where: Where) -> tuple[str, Region]:
    """The head of a loop: its label and region. What mutable registers hold is not known here."""
    for register in builder.mutable:
        register.renew()
    head = builder.label("loop")
    builder.append(ir.Label(head))
    return head, open_region(builder, "loop", where)


class _While(Block):
    what = "px.while_"

    def __init__(self, builder: Builder, where: Where, condition: Callable[[], Any]) -> None:
        super().__init__(builder, where)
        self.condition = condition

    def __enter__(self) -> None:
        self._entered(True)
        builder = self.builder
        self.head, region = _head(builder, self.where)
        self.loop = Loop(region, builder.label("endloop"), self.head, self.where)
        p = self.condition()
        if p is not True:
            p = predicate_of(p, "px.while_", self.where)
            branch_unless(builder, p, self.loop.end, self.where)
            region.facts.extend(p.facts[0])
            region.narrow(p, self.where)
        builder.loops.append(self.loop)

    def __exit__(self, exception: object, *_: object) -> None:
        if not self._left(exception is not None):
            return
        builder = self.builder
        builder.loops.pop()
        if not jumped(builder):
            branch(builder, self.head, self.where)
        close_region(builder, self.loop.region)
        builder.append(ir.Label(self.loop.end))


def while_(condition: Callable[[], Any]) -> _While:
    """``with px.while_(lambda: i < n): ...``: a loop that evaluates its condition before every iteration.

    Parameters
    ----------
    condition : callable
        Gives a predicate, from mutable registers or memory that the body changes. ``lambda: True`` loops until `px.break_`.
    """
    builder, where = current("px.while_"), here()
    if not is_function(condition):
        raise TraceError(
            "px.while_ takes a function that gives the condition",
            where=where,
            why="a value would be computed once, before the loop",
            legal="with px.while_(lambda: i < n):",
        )
    return _While(builder, where, condition)


class Range:
    """What `px.range` gives: the iterable of one ``for`` statement."""

    def __init__(self, builder: Builder, where: Where, start: Value, stop: Value, step: Value | int, type: Type) -> None:
        self.builder = builder
        self.where = where
        self.start = start
        self.stop = stop
        self.step = step
        self.type = type

    def __iter__(self) -> _Iteration:
        frame = user_frame()
        if opcode_at(frame) != "GET_ITER":
            self._refuse()
        return _Iteration(self, frame)

    def _refuse(self, *_: object) -> NoReturn:
        raise not_a_for("px.range", here())

    __next__ = __len__ = __getitem__ = __contains__ = __reversed__ = _refuse


class _Iteration:
    """Gives the loop's index once; asked again, it closes the loop."""

    def __init__(self, range: Range, frame: FrameType) -> None:
        self.range = range
        self.frame: FrameType | None = frame
        self.loop: Loop | None = None

    def __iter__(self) -> _Iteration:
        return self

    def __next__(self) -> Scalar:
        frame = user_frame()
        if frame is not self.frame or self.range.builder.region is not (
            self.loop.region if self.loop else self.range.builder.region
        ):
            raise not_a_for("px.range", here())
        if self.loop is not None:
            self._end(frame)
            self.frame = None
            raise StopIteration
        statement = for_statement(frame, "px.range")
        if self._never_runs():
            raise StopIteration
        self.names = Names(frame, statement, "px.range", True)
        return self._begin(statement.target.id if isinstance(statement.target, ast.Name) else "index")

    def _never_runs(self) -> bool:
        """Whether constant bounds leave nothing to do: then, as in Python, the body does not exist."""
        start, stop = self.range.start.operand, self.range.stop.operand
        if not (isinstance(start, ir.Int) and isinstance(stop, ir.Int)):
            return False
        descending = _descending(self.range)
        return start.value <= stop.value if descending else start.value >= stop.value

    def _begin(self, name: str) -> Scalar:
        over, builder, where = self.range, self.range.builder, self.range.where
        type = over.type
        register = builder.register(type)
        emit(builder, mov_opcode(type), type, [over.start], where, into=register)
        self.head, region = _head(builder, where)
        self.loop = Loop(region, builder.label("endloop"), builder.label("next"), where)
        builder.loops.append(self.loop)
        index = Scalar(builder, type, register, region, where)
        done = emit(builder, f"setp.{'le' if _descending(over) else 'ge'}.{type.name}", pred, [index, over.stop], where)
        branch(builder, self.loop.end, where, ir.Guard(done.operand))  # type: ignore[arg-type]
        _know_index(over, index, name, region)
        index.same = over.start.same and over.stop.same and (isinstance(over.step, int) or over.step.same)
        if not index.same:
            region.divergent = where
        self.index = index
        return index

    def _end(self, frame: FrameType) -> None:
        builder, loop, range = self.range.builder, self.loop, self.range
        assert loop is not None
        self.names.check(frame, loop.region)
        if loop.continued:
            builder.append(ir.Label(loop.again))
        if loop.continued or not jumped(builder):
            self._advance(builder, range)
        builder.loops.pop()
        close_region(builder, loop.region)
        builder.append(ir.Label(loop.end))

    def _advance(self, builder: Builder, range: Range) -> None:
        """Count, and go back to the head; where counting might pass the end of the type, that ends the loop."""
        type, where, index = range.type, range.where, self.index
        register, descending = index.operand, _descending(range)
        assert isinstance(register, ir.Reg)
        step = range.step
        if isinstance(step, int):
            subtract = descending and not type.signed
            amount: Value = literal(builder, -step if subtract else step, type, where)
            emit(builder, f"{'sub' if subtract else 'add'}.{type.name}", type, [index, amount], where, into=register)
            guard = None if _cannot_wrap(range) else self._not_wrapped(builder, index, step, where)
        else:
            following = emit(builder, f"add.{type.name}", type, [index, step], where)
            guard = None
            if not _cannot_wrap(range):
                compare = f"setp.{'lt' if descending else 'gt'}.{type.name}"
                guard = ir.Guard(emit(builder, compare, pred, [following, index], where).operand)  # type: ignore[arg-type]
            emit(builder, mov_opcode(type), type, [following], where, into=register)
        branch(builder, self.head, where, guard)

    def _not_wrapped(self, builder: Builder, index: Scalar, step: int, where: Where) -> ir.Guard:
        type = self.range.type
        least, greatest = bounds(type)
        limit = literal(builder, least + step if step > 0 else greatest + step, type, where)
        inside = emit(builder, f"setp.{'ge' if step > 0 else 'le'}.{type.name}", pred, [index, limit], where)
        return ir.Guard(inside.operand)  # type: ignore[arg-type]


def _limits(value: Value, type: Type) -> tuple[int, int]:
    return bounds(type) if value.expr is None else ranges.limits(value.expr, bounds(type))


def _descending(range: Range) -> bool:
    return range.step < 0 if isinstance(range.step, int) else _limits(range.step, range.type)[1] < 0


def _cannot_wrap(range: Range) -> bool:
    """Whether the index behind the last iteration still fits into its type."""
    step, stop = range.step, range.stop.expr
    if stop is None:
        return False
    if isinstance(step, int):
        beyond = stop + step + (1 if step < 0 else -1)
        return ranges.fits(beyond, bounds(range.type), range.builder.facts)
    lo, hi = _limits(step, range.type)
    least, greatest = bounds(range.type)
    first, last = _limits(range.stop, range.type)
    return (lo > 0 and last - 1 + hi <= greatest) or (hi < 0 and first + 1 + lo >= least)


def _know_index(range: Range, index: Scalar, name: str, region: Region) -> None:
    """Range, divisor and facts of the index inside the body."""
    builder, type, start, stop = range.builder, range.type, range.start, range.stop
    (start_lo, start_hi), (stop_lo, stop_hi) = _limits(start, type), _limits(stop, type)
    lo, hi = (stop_lo + 1, start_hi) if _descending(range) else (start_lo, stop_hi - 1)
    if isinstance(range.step, int) and start_lo == start_hi:  # the last value that the steps reach
        if range.step > 0:
            hi = lo + (hi - lo) // range.step * range.step
        else:
            lo = hi - (hi - lo) // -range.step * -range.step
    by = abs(range.step) if isinstance(range.step, int) else _divisor(range.step)
    try:
        expr = builder.symbol(name, index, lo, hi, gcd(_divisor(start), by) or 1)
    except LayoutError:  # no iteration at all
        expr = builder.symbol(name, index)
    first, last = (start, stop) if not _descending(range) else (stop, start)
    if first.expr is not None and first.expr.constant is None:
        region.facts.append(expr - first.expr - (1 if _descending(range) else 0))
    if last.expr is not None and last.expr.constant is None:
        region.facts.append(last.expr - expr - (0 if _descending(range) else 1))


def _divisor(value: Value) -> int:
    return 1 if value.expr is None else value.expr.divisor()


def range_(*limits: Any, dtype: Type | None = None) -> Range:
    """``for i in px.range(stop)``, ``px.range(start, stop)``, ``px.range(start, stop, step)``: a loop on the GPU. Offered as
    ``px.range``.

    Python's own ``range`` unrolls. The index is immutable; it is a symbol with range and divisor, and the body knows it to be
    in bounds.

    Parameters
    ----------
    *limits : int or traced integer
        Evaluated once, before the loop. Traced ones must agree in type. A negative constant step counts down.
    dtype : Type, optional
        Type of the index where all bounds are ints: u32 unless one of them is negative (s32) or needs 64 bits.

    Raises
    ------
    TraceError
        For a step of 0, bounds of different types, a signed runtime step of unknown sign, or use outside of a ``for`` statement.

    Notes
    -----
    The loop ends correctly at the end of the type: where the index might pass it, one more comparison ends the loop. A runtime
    step of 0
    gives one iteration.
    """
    builder, where = current("px.range"), here()
    given = [one.__ptxgen_value__(builder) if hasattr(one, "__ptxgen_value__") else one for one in limits]
    if not 1 <= len(given) <= 3:
        raise TraceError(f"px.range takes 1 to 3 bounds, not {len(given)}", where=where, legal="px.range(start, stop, step)")
    start, stop, step = (0, given[0], 1) if len(given) == 1 else (*given, 1) if len(given) == 2 else given
    type = _index_type([start, stop, step], dtype, where)
    if isinstance(step, Value):
        lo, hi = _limits(step, type)
        if lo < 0 <= hi:
            raise TraceError(
                "the sign of this step is not known",
                where=where,
                legal="an unsigned step, a constant one, or px.while_ with a px.reg",
            )
    elif step == 0:
        raise TraceError("a px.range of step 0 never ends", where=where, legal="a step other than 0")
    first, last = (one if isinstance(one, Value) else literal(builder, one, type, where) for one in (start, stop))
    return Range(builder, where, first, last, step, type)


def _index_type(given: list[Any], dtype: Type | None, where: Where) -> Type:
    traced = [one for one in given if isinstance(one, Value)]
    names = list(dict.fromkeys([one.type.name for one in traced] + ([dtype.name] if dtype else [])))
    if len(names) > 1:
        raise TraceError(
            f"the bounds of px.range are {' and '.join('.' + name for name in names)}", where=where, legal="one type: .to(...)"
        )
    for one in given:
        if not isinstance(one, Value) and (isinstance(one, bool) or not isinstance(one, int)):
            raise TraceError(f"{one!r} is no bound of px.range", where=where, legal="ints and traced integers")
    if traced or dtype:
        type = traced[0].type if traced else dtype
        assert type is not None
        if type.name not in ("u32", "s32", "u64", "s64"):
            raise TraceError(f"px.range counts no .{type.name}", where=where, legal="u32, s32, u64 or s64")
        return type
    signed = given[0] < 0 or given[1] < 0
    wide = not all(bounds(s32 if signed else u32)[0] <= one <= bounds(s32 if signed else u32)[1] for one in given[:2])
    return (s64 if wide else s32) if signed else (u64 if wide else u32)
