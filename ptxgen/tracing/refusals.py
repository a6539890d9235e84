"""What Python would silently do wrong in a kernel, refused at the user's line.

The body of a traced loop or branch runs once in Python, whatever happens on the GPU. Jumps out of it and names that change are
found in the
source (`ptxgen.tracing.source`), and names are then compared by identity, so that code which changes nothing is left alone.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from ptxgen.errors import TraceError
from ptxgen.tracing.builder import Region, Value
from ptxgen.tracing.liveness import bindings, children
from ptxgen.tracing.provenance import Where, here, user_frame
from ptxgen.tracing.source import FunctionSource, place_of, source_of, statement_at

__all__ = ["Names", "for_statement", "opcode_at", "truth_error", "with_statement"]

_UNBOUND = object()
_FOR_ITER = dis.opmap["FOR_ITER"]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


# ---- which statement a construct belongs to ---------------------------------------------------------------------------


def _offset(frame: FrameType) -> int:
    """Where the instruction that a frame is executing stands in its code, behind the prefixes of a long argument."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while 0 <= at < len(code) and code[at] == dis.EXTENDED_ARG:
        at += 2
    return at


def opcode_at(frame: FrameType) -> str:
    """The name of the bytecode instruction that a frame is executing."""
    code, at = frame.f_code.co_code, _offset(frame)
    return dis.opname[code[at]] if 0 <= at < len(code) else ""


def for_statement(frame: FrameType, what: str) -> ast.For:
    """The ``for`` statement whose iterator a frame is advancing.

    Raises
    ------
    TraceError
        Where something else iterates: a comprehension, ``list``, ``zip``.
    """
    where = Where(frame.f_code, frame.f_lasti)
    if not frame.f_code.co_name.startswith("<") or frame.f_code.co_name in ("<module>", "<lambda>"):
        source = source_of(frame.f_code, what, where)
        found = source.headers.get(where.line)
        if isinstance(found, ast.For) and opcode_at(frame) == "FOR_ITER" and _is_iterated_here(frame, found, source):
            _check_body(source, found, frame.f_code, what, where)
            return found
    raise not_a_for(what, where)


def not_a_for(what: str, where: Where) -> TraceError:
    """The refusal of a traced range that something other than a ``for`` statement iterates."""
    return TraceError(
        f"{what} is not the iterable of a for statement itself",
        where=where,
        why="the loop runs on the GPU and its body is traced once: a comprehension, zip, list or next would see one element",
        legal=f"for i in {what}(n): ...; Python's own range unrolls",
    )


def _is_iterated_here(frame: FrameType, statement: ast.For, source: FunctionSource) -> bool:
    """Whether the instruction belongs to the statement and not to a comprehension that Python inlined into the same lines (PEP 709)."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return True
    key = "iterates", id(statement)
    if key not in source.known:
        source.known[key] = _iteration(frame.f_code.co_code, positions(), statement)
    return _offset(frame) == source.known[key]


def _iteration(code: bytes, positions: Iterable[tuple[int | None, ...]], statement: ast.For) -> int:
    """The offset of a for statement's own FOR_ITER; -1 where there is none.

    An inlined comprehension in the head comes before the statement's own instruction, and may have the same position.
    """
    starts = {(node.lineno, node.col_offset) for node in (statement, statement.iter)}
    lines = range(statement.lineno, (statement.iter.end_lineno or statement.iter.lineno) + 1)
    last = -1
    for index, (line, _, column, _) in enumerate(positions):
        placed = (line, column) in starts or (column is None and line in lines)  # Python may be told to keep no columns
        if placed and code[2 * index] == _FOR_ITER:
            last = 2 * index
    return last


def with_statement(frame: FrameType, what: str) -> tuple[ast.With, FunctionSource]:
    """The ``with`` statement that a frame is entering, and the source of its function.

    Raises
    ------
    TraceError
        Where something else enters the block, or its body leaves it by a jump.
    """
    where = Where(frame.f_code, frame.f_lasti)
    source = source_of(frame.f_code, what, where)
    found = source.headers.get(where.line)
    if not isinstance(found, ast.With):
        raise TraceError(f"{what} is entered by something else than a with statement", where=where, legal=f"with {what}(...):")
    if len(found.items) > 1:
        raise TraceError(
            f"{what} shares its with statement with another context",
            where=where,
            why="an else after it would not say to which block it belongs",
            legal=f"with {what}(...): on a line of its own",
        )
    _check_body(source, found, frame.f_code, what, where)
    return found, source


# ---- jumps out of a block ---------------------------------------------------------------------------------------------

_JUMPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Break: ("break", "px.break_(), inside with px.if_(...)"),
    ast.Continue: ("continue", "px.continue_(), inside with px.if_(...)"),
    ast.Return: ("return", "px.return_() ends the thread; a helper returns its value after the block, from a px.reg"),
    ast.Yield: ("yield", "no generator around a traced block: call a function with the loop's index"),
    ast.YieldFrom: ("yield from", "no generator around a traced block: call a function with the loop's index"),
    ast.Await: ("await", "no coroutine in a kernel"),
}


def _check_body(source: FunctionSource, statement: ast.For | ast.With, code: CodeType, what: str, where: Where) -> None:
    if ("stays inside", id(statement)) in source.known:
        return
    for node in _jumps(statement.body, False) if _has_jumps(source) else ():
        word, legal = _JUMPS[type(node)]
        raise TraceError(
            f"{word} leaves a {what} block",
            where=place_of(code, node, where),
            why="Python would jump while the kernel is traced, once, whatever the threads do on the GPU",
            legal=legal,
        )
    if isinstance(statement, ast.For) and statement.orelse:
        raise TraceError(
            f"else of a {what} loop",
            where=place_of(code, statement.orelse[0], where),
            why="Python would trace it always, also where px.break_() leaves the loop",
            legal="a px.reg(px.pred, False) that is set before px.break_(), and with px.if_(~flag): after the loop",
        )
    source.known["stays inside", id(statement)] = True


def _has_jumps(source: FunctionSource) -> bool:
    """Whether there is any in the function itself: in nearly all kernels there is none, and no block is searched."""
    key = "jumps", id(source.node)
    if key not in source.known:
        pending = children(source.node)
        while pending and type(pending[-1]) not in _JUMPS:
            node = pending.pop()
            pending += () if isinstance(node, _FUNCTIONS) else children(node)
        source.known[key] = bool(pending)
    found: bool = source.known[key]
    return found


def _jumps(nodes: list[Any], inside_loop: bool) -> Iterator[ast.AST]:
    """Statements that leave these nodes; a break or continue of an inner loop stays inside."""
    for node in nodes:
        if isinstance(node, _FUNCTIONS):
            continue
        if type(node) in _JUMPS and not (inside_loop and isinstance(node, (ast.Break, ast.Continue))):
            yield node
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            yield from _jumps(node.body, True)
            yield from _jumps([*node.orelse, *(part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))], inside_loop)
        else:
            yield from _jumps(children(node), inside_loop)


# ---- names that change ------------------------------------------------------------------------------------------------


class Names:
    """The names that a block may bind, and what they meant when it was entered."""

    __slots__ = ("before", "bound", "code", "loop", "source", "statement", "what")

    def __init__(self, frame: FrameType, statement: ast.For | ast.With, what: str, loop: bool) -> None:
        self.code = frame.f_code
        self.statement = statement
        self.what = what
        self.loop = loop
        self.source = source_of(frame.f_code, what, Where(frame.f_code, frame.f_lasti))
        key = "binds", id(statement)
        if key not in self.source.known:
            self.source.known[key] = self._bound()
        self.bound: dict[str, ast.AST] = self.source.known[key]
        self.before = self._meanings(frame)

    def _bound(self) -> dict[str, ast.AST]:
        targets = [self.statement.target] if isinstance(self.statement, ast.For) else []
        bound = bindings([*targets, *self.statement.body])
        for name in self.source.liveness.nonlocals:
            bound.setdefault(name, self.statement)
        return bound

    def _meanings(self, frame: FrameType) -> dict[str, Any]:
        local, outer = frame.f_locals, frame.f_globals
        return {name: local.get(name, outer.get(name, _UNBOUND)) for name in self.bound}

    def check(self, frame: FrameType, region: Region) -> None:
        """Refuse names that mean something else at the block's end, where the kernel would have to carry that to another place.

        Raises
        ------
        TraceError
            At the line that binds the name.
        """
        now = self._meanings(frame)
        live = self.source.liveness
        after, exposed = live.after.get(id(self.statement), frozenset()), live.exposed.get(id(self.statement), frozenset())
        for name, node in self.bound.items():
            if now[name] is self.before[name]:
                continue
            captured = any(line < self.statement.lineno for line in live.captured.get(name, ()))
            if self.loop and (name in exposed or captured):
                raise self._carried(name, node, now[name])
            inner = isinstance(now[name], Value) and now[name].region is not None and now[name].region.inside(region)
            defined = isinstance(node, (*_FUNCTIONS, ast.Import, ast.ImportFrom)) and self.before[name] is _UNBOUND
            # A value that lives in the block is refused where it is used, if it is.
            if (name in after or captured or name in live.nonlocals) and not inner and not defined:
                raise self._escaping(name, node)

    def _place(self, node: ast.AST) -> Where:
        return place_of(self.code, node, here())

    def _carried(self, name: str, node: ast.AST, now: Any) -> TraceError:
        type = getattr(getattr(now, "type", None), "name", "u32")
        return TraceError(
            f"{name} is read and then bound to something else in a {self.what} loop",
            where=self._place(node),
            why=f"the body is traced once: every iteration on the GPU would read the {name} from before the loop",
            legal=f"{name} = px.reg(px.{type}, ...) before the loop, and {name} += ... or {name}.set(...) inside",
        )

    def _escaping(self, name: str, node: ast.AST) -> TraceError:
        return TraceError(
            f"{name} is bound in a {self.what} block and read after it",
            where=self._place(node),
            why="Python binds it while the kernel is traced, whether or not a thread runs the block",
            legal=f"{name} = px.reg(dtype, ...) before the block and {name}.set(...) inside, or px.select(p, a, b)",
        )


# ---- truth ------------------------------------------------------------------------------------------------------------


def truth_error(value: Value) -> TraceError:
    """The refusal of a traced value whose truth Python asks for, with advice that fits the statement."""
    where = here()
    used, legal = _truth_advice(user_frame(), where)
    return TraceError(
        f"a traced .{value.type.name} is used as a truth value{used}",
        where=where,
        why="its value is known on the GPU alone",
        legal=legal,
    )


_SELECT = "px.select(p, a, b)"


def _truth_advice(frame: FrameType, where: Where) -> tuple[str, str]:
    general = "", f"with px.if_(p): ..., {_SELECT}, or & | ~ between predicates"
    try:
        statement = statement_at(source_of(frame.f_code, "bool", where), where.line)
    except TraceError:
        return general
    if statement is None:
        return general
    shallow = [node for node in _expressions(statement) if node.lineno <= where.line <= (node.end_lineno or node.lineno)]
    for node in shallow:
        if isinstance(node, ast.BoolOp):
            return (" by and", "p & q") if isinstance(node.op, ast.And) else (" by or", "p | q")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return " by not", "~p"
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return " by a chained comparison", "(a < b) & (b < c)"
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return " by in", "(x == a) | (x == b)"
        if isinstance(node, ast.IfExp):
            return " by a conditional expression", _SELECT
    if isinstance(statement, ast.If):
        return " by if", "with px.if_(p): ..."
    if isinstance(statement, ast.While):
        return " by while", "with px.while_(lambda: p): ..."
    if isinstance(statement, ast.Assert):
        return " by assert", 'with px.if_(~p): px.ptx["trap"]()'
    return general


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """All expressions of a statement's own, not those of statements inside it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            continue
        for node in ast.walk(child):
            if isinstance(node, ast.expr):
                yield node
