"""Which names are read later: a backward pass over the statements of one function.

For every ``for`` and ``with`` statement it records the names that are read after it before they are bound again, and the names
that its body
reads before binding them, which is what the next iteration of a traced loop would see.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Liveness", "bindings", "children", "liveness", "walk"]

Names = frozenset[str]
_NONE: Names = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Liveness(NamedTuple):
    """By ``id`` of a statement: names read after it, and names that its head or body reads before binding them.

    `captured` holds, by name, the lines of functions inside this one that were given a name and read the name when called.
    """

    after: dict[int, Names]
    exposed: dict[int, Names]
    captured: dict[str, list[int]]
    nonlocals: Names


def liveness(body: list[ast.stmt]) -> Liveness:
    """Analyse the body of one function."""
    walker = _Backward()
    walker.suite(body, _NONE)
    return Liveness(walker.after, walker.exposed, *_closures(body))


def _closures(body: list[ast.stmt]) -> tuple[dict[str, list[int]], Names]:
    captured: dict[str, list[int]] = {}
    nonlocals: set[str] = set()
    for node in (inner for statement in body for inner in walk(statement)):
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)):
            for name in _reads([node]):
                captured.setdefault(name, []).append(node.lineno)
        if isinstance(node, ast.Nonlocal):
            nonlocals.update(node.names)
    return captured, frozenset(nonlocals)


class _Backward:
    def __init__(self) -> None:
        self.after: dict[int, Names] = {}
        self.exposed: dict[int, Names] = {}
        self.loops: list[tuple[Names, Names]] = []  # names live at a loop's head and after it
        self.simple: dict[int, tuple[Names, Names]] = {}  # names bound and read by simple statements

    def suite(self, statements: Iterable[ast.stmt], out: Names) -> Names:
        for statement in reversed(list(statements)):
            out = self.statement(statement, out)
        return out

    def statement(self, node: ast.stmt, out: Names) -> Names:
        if isinstance(node, ast.If):
            return _reads([node.test]) | self.suite(node.body, out) | self.suite(node.orelse, out)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return self._for(node, out)
        if isinstance(node, ast.While):
            test = _reads([node.test])
            return self._loop(node.body, test, test | self.suite(node.orelse, out), out)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, out)
        if isinstance(node, ast.Try) or node.__class__.__name__ == "TryStar":
            return self._try(node, out)  # type: ignore[arg-type]
        if isinstance(node, ast.Match):
            cases = [_reads([case.guard] if case.guard else []) | self.suite(case.body, out) for case in node.cases]
            return _reads([node.subject]).union(out, *cases)
        if isinstance(node, (ast.Return, ast.Raise)):
            return _reads([node])
        if isinstance(node, ast.Break):
            return self.loops[-1][1] if self.loops else out
        if isinstance(node, ast.Continue):
            return self.loops[-1][0] if self.loops else out
        if id(node) not in self.simple:
            self.simple[id(node)] = _certain(node), _reads([node])
        bound, read = self.simple[id(node)]
        return (out - bound) | read

    def _for(self, node: ast.For | ast.AsyncFor, out: Names) -> Names:
        self.after[id(node)] = self.after.get(id(node), _NONE) | out
        targets = frozenset(bindings([node.target]))
        if id(node) not in self.exposed:
            self.exposed[id(node)] = self._alone(node.body) - targets
        head = self.suite(node.orelse, out)
        head |= self._loop(node.body, _reads([node.target]), head, out, targets)
        return head | _reads([node.iter])

    def _alone(self, body: list[ast.stmt]) -> Names:
        """Names that a body reads before it binds them."""
        loops, self.loops = self.loops, []
        found = self.suite(body, _NONE)
        self.loops = loops
        return found

    def _loop(self, body: list[ast.stmt], reads: Names, leaving: Names, out: Names, targets: Names = _NONE) -> Names:
        head = reads | leaving
        for _ in range(2):  # a second pass sees what the first found at the head
            self.loops.append((head, out))
            head |= self.suite(body, head) - targets
            self.loops.pop()
        return head

    def _with(self, node: ast.With | ast.AsyncWith, out: Names) -> Names:
        self.after[id(node)] = self.after.get(id(node), _NONE) | out
        heads = _reads([item.context_expr for item in node.items])
        if id(node) not in self.exposed:
            self.exposed[id(node)] = self._alone(node.body) | heads
        targets = frozenset(bindings([item.optional_vars for item in node.items if item.optional_vars]))
        return (self.suite(node.body, out) - targets) | heads

    def _try(self, node: ast.Try, out: Names) -> Names:
        final = self.suite(node.finalbody, out)
        handlers = _NONE.union(*(self.suite(h.body, final) | _reads([h.type] if h.type else []) for h in node.handlers))
        return self.suite(node.body, self.suite(node.orelse, final) | handlers | final) | handlers | final


def _reads(nodes: Iterable[ast.AST]) -> Names:
    """Names that are read, functions inside included (they may be called at once); not a comprehension's own names."""
    found: set[str] = set()
    _note_reads(nodes, found)
    return frozenset(found)


def _note_reads(nodes: Iterable[ast.AST], found: set[str]) -> None:
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, _COMPREHENSIONS):
            found |= _reads(children(node)) - frozenset(bindings([generator.target for generator in node.generators]))
        elif isinstance(node, _FUNCTIONS):
            found |= _function_reads(node)
        else:
            _note_reads(children(node), found)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right under one, as `ast.iter_child_nodes` gives them, without its generators: every kernel's source is read."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _function_reads(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Names:
    arguments = node.args
    own = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    own |= {one.arg for one in (arguments.vararg, arguments.kwarg) if one}
    outside = _reads([default for default in (*arguments.defaults, *arguments.kw_defaults) if default])
    if isinstance(node, ast.Lambda):
        return outside | (_reads([node.body]) - own)
    shared = {name for inner in walk(node) if isinstance(inner, ast.Nonlocal) for name in inner.names}
    own |= set(bindings(node.body)) - shared
    return outside | _reads(node.decorator_list) | (_reads(node.body) - own)


def _certain(node: ast.stmt) -> Names:
    """Names that a simple statement binds whenever it runs."""
    if isinstance(node, ast.Assign):
        return frozenset(name for target in node.targets for name in _target_names(target))
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return frozenset(_target_names(node.target))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset((node.name,))
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return frozenset(bindings([node]))
    return _NONE


def _target_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _target_names(element)
    elif isinstance(target, ast.Starred):
        yield from _target_names(target.value)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that lie below it, in no particular order."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += children(node)


def bindings(nodes: Iterable[ast.AST]) -> dict[str, ast.AST]:
    """Every name that may be bound or deleted in these nodes, with the first node that does it; functions inside are not
    entered."""
    found: dict[str, ast.AST] = {}
    _note_bindings(nodes, found)
    return found


def _note_bindings(nodes: Iterable[ast.AST], found: dict[str, ast.AST]) -> None:
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, node)
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                found.setdefault((alias.asname or alias.name).partition(".")[0], node)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name):
            found.setdefault(node.name, node)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.setdefault(node.rest, node)
        if isinstance(node, _COMPREHENSIONS):
            own = bindings([generator.target for generator in node.generators])
            for name, inner in bindings(children(node)).items():
                if name not in own:
                    found.setdefault(name, inner)
        elif not isinstance(node, _SCOPES):
            _note_bindings(children(node), found)
