"""`px.if_`, `px.elif_` and `px.else_`."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.tracing.blocks import Block, branch, branch_unless, close_region, is_function, jumped, open_region, predicate_of
from ptxgen.tracing.builder import Builder, Region, Value, current
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.source import FunctionSource, resolve

__all__ = ["elif_", "else_", "if_"]


class _Chain:
    """An if with its elifs and its else.

    Attributes
    ----------
    opened : list of Region
        The else branches that are open, each inside the one before it.
    end : str
        The label behind all of it, once a branch jumps there.
    remaining : list of Value
        Predicates that do not hold behind the chain, because all threads for which they do have left.
    parted : Where or None
        Where threads have left that these predicates do not name.
    all_left : bool
        Whether every branch so far is left by all of its threads.
    """

    def __init__(self) -> None:
        self.opened: list[Region] = []
        self.end = ""
        self.remaining: list[Value] = []
        self.parted: Where | None = None
        self.all_left = True


class _Branch(Block):
    """The block of an if or an elif."""

    def __init__(self, builder: Builder, where: Where, predicate: Value, chain: _Chain, what: str) -> None:
        super().__init__(builder, where)
        self.predicate = predicate
        self.chain = chain
        self.what = what

    def __enter__(self) -> None:
        statement, source, frame = self._entered(False)
        builder, chain = self.builder, self.chain
        if chain in builder.chains:
            builder.chains.remove(chain)
        self.continued = _is_continued(source, statement, frame)
        if self.continued:
            self.otherwise = builder.label("else")
        else:
            self.otherwise = chain.end = chain.end or builder.label("endif")
        branch_unless(builder, self.predicate, self.otherwise, self.where)
        open_region(builder, self.what[3:-1], self.where, self.predicate)

    def __exit__(self, exception: object, *_: object) -> None:
        if not self._left(exception is not None):
            return
        builder, chain, region = self.builder, self.chain, self.builder.region
        close_region(builder, region)
        if chain.all_left and region.leaves:
            chain.remaining.append(self.predicate)
        elif region.leaves:
            chain.parted = self.where
        chain.all_left = chain.all_left and region.leaves
        if not self.continued:
            _end_chain(builder, chain, exhaustive=False)
            return
        chain.end = chain.end or builder.label("endif")
        if not jumped(builder):
            branch(builder, chain.end, self.where)
        builder.append(ir.Label(self.otherwise))
        chain.opened.append(open_region(builder, "else", self.where, self.predicate, negated=True))
        builder.chains.append(chain)


class _Else(Block):
    what = "px.else_"

    def __init__(self, builder: Builder, where: Where, chain: _Chain) -> None:
        super().__init__(builder, where)
        self.chain = chain

    def __enter__(self) -> None:
        self._entered(False)
        self.builder.chains.remove(self.chain)
        self.builder.region.where = self.where

    def __exit__(self, exception: object, *_: object) -> None:
        if self._left(exception is not None):
            chain = self.chain
            chain.all_left = chain.all_left and self.builder.region.leaves
            _end_chain(self.builder, chain, exhaustive=True)


def _end_chain(builder: Builder, chain: _Chain, exhaustive: bool) -> None:
    while chain.opened:
        close_region(builder, chain.opened.pop())
    builder.append(ir.Label(chain.end))
    for predicate in chain.remaining:
        builder.region.facts.extend(predicate.facts[1])
        builder.region.narrow(predicate, predicate.where, negated=True)
    builder.region.divergent = chain.parted or builder.region.divergent
    if exhaustive and chain.all_left:
        builder.region.leaves = True


def _is_continued(source: FunctionSource, statement: ast.With, frame: FrameType) -> bool:
    """Whether the next statement is ``with px.elif_(...)`` or ``with px.else_()``."""
    following = source.followers.get(id(statement))
    if not isinstance(following, ast.With):
        return False
    head = following.items[0].context_expr
    return isinstance(head, ast.Call) and resolve(head.func, frame) in (elif_, else_)


def if_(p: Any) -> _Branch:
    """``with px.if_(p): ...``: the threads for which the predicate holds run the block.

    ``with px.elif_(q):`` and ``with px.else_():`` may follow directly. Names bound in a block hold values of that block alone.

    Raises
    ------
    TraceError
        For anything but a predicate, and for Python in the block that could not do what it says.
    """
    builder, where = current("px.if_"), here()
    return _Branch(builder, where, predicate_of(p, "px.if_", where), _Chain(), "px.if_")


def elif_(p: Any) -> _Branch:
    """``with px.elif_(q): ...`` directly after an if or elif block.

    The condition is evaluated in the else branch: what computes it stands there, whether it is written in place or as a function
    (``px.elif_(lambda: q)``).
    """
    builder, where = current("px.elif_"), here()
    chain = _waiting(builder, "px.elif_", where)
    return _Branch(builder, where, predicate_of(p() if is_function(p) else p, "px.elif_", where), chain, "px.elif_")


def else_() -> _Else:
    """``with px.else_(): ...`` directly after an if or elif block."""
    builder, where = current("px.else_"), here()
    return _Else(builder, where, _waiting(builder, "px.else_", where))


def _waiting(builder: Builder, what: str, where: Where) -> _Chain:
    chain: _Chain | None = builder.chains[-1] if builder.chains else None
    if chain is None or chain.opened[-1] is not builder.region:
        raise TraceError(
            f"{what} does not directly follow a px.if_ or px.elif_ block",
            where=where,
            legal=f"with px.if_(p): ... and with {what}(...): as the next statement of the same suite",
        )
    return chain
