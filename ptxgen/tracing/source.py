"""The syntax tree of a running function: what the tracer can't see when the function runs, it reads.

A traced block's body runs once in Python, so what would have to happen at run time (a jump out of it, a name that changes from
iteration to iteration) must be found in the source. Each code object is read once.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise
from types import CodeType, FrameType
from typing import Any, NamedTuple, Union

from ptxgen.errors import TraceError
from ptxgen.tracing.liveness import Liveness, liveness, walk
from ptxgen.tracing.provenance import Where

__all__ = [
    "FunctionSource", "assigned_name", "decorator_line", "parameter_line", "place_of", "resolve", "return_line", "source_of",
    "statement_at",
]  # fmt: skip

Scope = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module]
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class FunctionSource(NamedTuple):
    """One function's tree.

    Attributes
    ----------
    headers : dict
        Line -> the ``for`` or ``with`` statement whose head covers it.
    followers : dict
        ``id`` of a statement -> the statement right after it in the same suite.
    statements : list
        All statements of the function itself, outermost first.
    liveness : Liveness
        Which names are read after, and at the head of, each ``for`` and ``with`` statement.
    known : dict
        What was found about a statement once, by what it is and the statement's ``id``: an unrolled block is entered often.
    """

    node: Scope
    headers: dict[int, ast.For | ast.With]
    followers: dict[int, ast.stmt]
    statements: list[ast.stmt]
    liveness: Liveness
    known: dict[tuple[str, int], Any]


@lru_cache(maxsize=64)
def _parsed(text: str) -> dict[tuple[int, str], list[Scope]]:
    """Every function in a file, by the first line and name that its code object has."""
    tree = ast.parse(text)
    found: dict[tuple[int, str], list[Scope]] = {(1, "<module>"): [tree]}
    for node in walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault((first, node.name), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault((node.lineno, "<lambda>"), []).append(node)
    return found


_sources: dict[CodeType, FunctionSource] = {}


def source_of(code: CodeType, what: str, where: Where) -> FunctionSource:
    """The tree of a code object.

    Raises
    ------
    TraceError
        Where its source is not at hand, or is not what runs; `what` is the construct that needs it.
    """
    found = _sources.get(code)
    if found is None:
        found = _sources[code] = _read(code, what, where)
    return found


def _read(code: CodeType, what: str, where: Where) -> FunctionSource:
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename))
    problem = f"the source of {code.co_name} ({code.co_filename}) is not at hand"
    if text:
        try:
            nodes = _parsed(text).get((max(code.co_firstlineno, 1), code.co_name), [])
        except SyntaxError:
            nodes = []
        if len(nodes) == 1:
            return _analysed(nodes[0])
        problem = f"the source of {code.co_name} in {code.co_filename} is not what runs here (was the file changed?)"
    raise TraceError(
        f"{what}: {problem}",
        where=where,
        why="ptxgen reads it to refuse what Python would silently do wrong, such as break out of a loop that runs on the GPU",
        legal="put the kernel into a file or a notebook cell, or give its text to linecache",
    )


def _analysed(node: Scope) -> FunctionSource:
    headers: dict[int, ast.For | ast.With] = {}
    followers: dict[int, ast.stmt] = {}
    statements: list[ast.stmt] = []
    for suite in _suites(node):
        statements.extend(suite)
        for statement, following in pairwise(suite):
            followers[id(statement)] = following
        for statement in suite:
            if isinstance(statement, (ast.For, ast.With)):
                last = statement.iter if isinstance(statement, ast.For) else statement.items[-1].context_expr
                for line in range(statement.lineno, (last.end_lineno or last.lineno) + 1):
                    headers[line] = statement
    statements.sort(key=lambda one: (one.lineno, -(one.end_lineno or one.lineno)))
    body = [] if isinstance(node, ast.Lambda) else node.body
    return FunctionSource(node, headers, followers, statements, liveness(body), {})


def _suites(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements that belongs to a function itself, not to a function inside it."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (*_NESTED, ast.expr)):
                yield from _suites(child)


def statement_at(source: FunctionSource, line: int) -> ast.stmt | None:
    """The innermost statement that covers a line (the last that begins there, for several on one line)."""
    covering = [one for one in source.statements if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return covering[-1] if covering else None


def place_of(code: CodeType, node: Any, fallback: Where) -> Where:
    """A node's line as a place in the code object."""
    for start, _, line in code.co_lines():
        if line == node.lineno:
            return Where(code, start)
    return _Line(code, fallback.lasti, node.lineno)


class _Line(Where):
    """A line that has no instruction of its own, such as an unreachable ``break``."""

    __slots__ = ("_number",)

    def __init__(self, code: CodeType, lasti: int, number: int) -> None:
        super().__init__(code, lasti)
        self._number = number

    @property
    def line(self) -> int:
        return self._number


def resolve(expression: ast.expr, frame: FrameType) -> Any:
    """The object that a name or a chain of attributes means in a frame, without running anything else; None for other
    expressions."""
    if isinstance(expression, ast.Name):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if expression.id in names:
                return names[expression.id]
        return None
    if isinstance(expression, ast.Attribute):
        owner = resolve(expression.value, frame)
        return None if owner is None else getattr(owner, expression.attr, None)
    return None


def return_line(code: CodeType) -> Where:
    """The line of a function's first ``return`` with a value; its head where the source is not at hand."""
    head = Where(code, 0)
    try:
        statements = source_of(code, "return", head).statements
    except TraceError:
        return head
    found = next((one for one in statements if isinstance(one, ast.Return) and one.value is not None), None)
    return head if found is None else place_of(code, found, head)


def decorator_line(code: CodeType) -> Where:
    """The line of a function's first decorator, or of its head."""
    return _Line(code, 0, code.co_firstlineno)


def parameter_line(code: CodeType, name: str) -> Where:
    """The line on which a function's parameter stands; the function's head where the source is not at hand."""
    head = Where(code, 0)
    try:
        node = source_of(code, "the signature", head).node
    except TraceError:
        return head
    if not isinstance(node, ast.FunctionDef):
        return head
    given = node.args
    several = [one for one in (given.vararg, given.kwarg) if one is not None]
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]
    found = next((one for one in named if one.arg == name), None)
    return head if found is None else _Line(code, 0, found.lineno)


def assigned_name(where: Where | None, *, whole: bool = False) -> str:
    """The name that the statement at a place binds to what it computes there; empty where there is no single one.

    With `whole`, also empty where what is computed there is a part of what the statement binds (as far as Python knows columns).
    """
    if where is None:
        return ""
    try:
        statement = _statement_of(source_of(where.code, "the name of a value", where), where)
    except TraceError:
        return ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return "" if whole and _is_part(statement.value, where) else statement.targets[0].id
    return _unpacked_name(statement, where) if isinstance(statement, ast.Assign) else ""


def _statement_of(source: FunctionSource, where: Where) -> ast.stmt | None:
    """The statement that runs at a place; of several on one line the one at its column, none where Python does not know columns."""
    found = statement_at(source, where.line)
    beside = [one for one in source.statements if found is not None and one.lineno == found.lineno == one.end_lineno]
    if len(beside) < 2 or found not in beside:
        return found
    line, _, column, _ = _position(where)
    if line is None or column is None:
        return None
    return next((one for one in reversed(beside) if one.col_offset <= column), None)


def _position(where: Where) -> tuple[int | None, int | None, int | None, int | None]:
    """First and last line, first and last column of what runs at a place; Python 3.11 knows them, older ones do not."""
    positions = getattr(where.code, "co_positions", None)
    nothing = (None, None, None, None)
    return nothing if positions is None else next(islice(positions(), where.lasti // 2, None), nothing)


def _is_part(value: ast.expr, where: Where) -> bool:
    """Whether what runs at a place is known to be a part of this expression and not all of it."""
    line, last, column, end = _position(where)
    return None not in (line, last, column, end) and (line, column, last, end) != (
        value.lineno, value.col_offset, value.end_lineno, value.end_col_offset,
    )  # fmt: skip


def _unpacked_name(statement: ast.Assign, where: Where) -> str:
    """The name beside the call that is running, in ``a, b = f(), g()``."""
    names, values = statement.targets[0], statement.value
    if not (isinstance(names, ast.Tuple) and isinstance(values, ast.Tuple)):
        return ""
    line, _, column, _ = _position(where)
    for name, value in zip(names.elts, values.elts):
        if isinstance(name, ast.Name) and (value.lineno, value.col_offset) == (line, column):
            return name.id
    return ""
