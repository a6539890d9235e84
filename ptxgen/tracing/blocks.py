"""Regions that threads enter and leave by branches, and the with statements around them."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import pred
from ptxgen.tracing.builder import Builder, Region, Value
from ptxgen.tracing.provenance import Where, here, user_frame
from ptxgen.tracing.refusals import Names, with_statement
from ptxgen.tracing.source import FunctionSource
from ptxgen.tracing.values import operand

__all__ = ["Block", "branch", "branch_unless", "close_region", "is_function", "jumped", "open_region", "predicate_of"]


def open_region(builder: Builder, kind: str, where: Where, predicate: Value | None = None, negated: bool = False) -> Region:
    """Enter a region that the threads run for which a predicate holds (or does not, with `negated`)."""
    facts = () if predicate is None else predicate.facts[negated]
    region = builder.region = Region(builder.region, kind, where, facts)
    if predicate is not None:
        region.narrow(predicate, where, negated)
    return region


def close_region(builder: Builder, region: Region) -> None:
    """Leave a region: what was written in it is not known behind it, and its registers are out of reach."""
    parent = region.parent
    assert parent is not None
    builder.region = parent
    region.numbered.clear()  # out of reach from here on, and no value is to hold itself
    builder.mutable = [one for one in builder.mutable if one.region is not region]
    for key, register in region.written.items():
        if register.region is not region:
            register.renew()
            parent.written[key] = register
    region.written.clear()


def branch(builder: Builder, label: str, where: Where, guard: ir.Guard | None = None, uniform: bool = False) -> None:
    builder.emit("bra.uni" if uniform else "bra", [(ir.Sym(label), Given("symbol", label))], guard=guard, where=where)


def branch_unless(builder: Builder, p: Value, label: str, where: Where) -> None:
    """Branch where the predicate is false."""
    given, _ = operand(builder, p, where, negatable=True)
    guard = ir.Guard(given.reg) if isinstance(given, ir.Not) else ir.Guard(given, True)  # type: ignore[arg-type]
    branch(builder, label, where, guard, getattr(p, "uniform", False))


def predicate_of(given: Any, what: str, where: Where) -> Value:
    if isinstance(given, Value) and given.type is pred:
        return given
    if isinstance(given, bool):
        raise TraceError(
            f"{what} got the Python bool {given}", where=where, why="it is known while the kernel is traced", legal="Python's if"
        )
    kind = f"a .{given.type.name}" if isinstance(given, Value) else repr(given)
    raise TraceError(f"{what} needs a predicate, not {kind}", where=where, legal=f"{what}(x != 0)")


def jumped(builder: Builder) -> bool:
    """Whether the last statement jumps away unconditionally."""
    last = builder.body[-1] if builder.body else None
    return isinstance(last, ir.Instruction) and last.guard is None and last.opcode in ("bra", "bra.uni", "ret", "exit")


class Block:
    """A with statement around traced code."""

    what = ""

    def __init__(self, builder: Builder, where: Where) -> None:
        self.builder = builder
        self.where = where
        builder.unentered.append(self)

    def _entered(self, loop: bool) -> tuple[ast.With, FunctionSource, FrameType]:
        frame = user_frame()
        statement, source = with_statement(frame, self.what)
        if self not in self.builder.unentered:
            raise TraceError(
                f"this {self.what} block was entered before", where=here(), legal=f"a fresh {self.what}(...) for each with"
            )
        self.builder.unentered.remove(self)
        self.names = Names(frame, statement, self.what, loop)
        return statement, source, frame

    def _left(self, failed: bool) -> bool:
        """Whether the block ends as it should; an exception passes through and ends the trace."""
        if failed and self.builder.broken is None:
            self.builder.broken = self.where
        if not failed:
            self.names.check(user_frame(), self.builder.region)
        return not failed

    def __bool__(self) -> bool:
        raise TraceError(
            f"{self.what}(...) is used as a truth value",
            where=here(),
            why="it would always be true",
            legal=f"with {self.what}(...):",
        )


def is_function(given: Any) -> bool:
    return callable(given) and not isinstance(given, Value)
