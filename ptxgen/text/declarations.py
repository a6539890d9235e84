"""Declarations of variables, parameters and registers, with their initialisers (ISA 5.3, 5.4, 11.6)."""

from __future__ import annotations

import re

from ptxgen.instructions.types import TYPES
from ptxgen.ir import Field, Initializer, Int, Prototype, RegDecl, SymbolRef, Targets, Variable
from ptxgen.text.constants import constant, integer, literal, sum_of_terms
from ptxgen.text.directives import head_directives
from ptxgen.text.errors import Fault, Position, nearest
from ptxgen.text.lexer import Scanner
from ptxgen.text.scope import Scopes

__all__ = ["LINKAGES", "SPACES", "attribute_texts", "declaration", "parameters", "prototype", "targets"]

SPACES = frozenset({"reg", "param", "shared", "global", "const", "local", "tex", "surf", "sampler"})
LINKAGES = frozenset({"extern", "visible", "weak", "common"})
_POINTEES = frozenset({".const", ".global", ".local", ".shared", ".texref", ".samplerref", ".surfref"})
_FLAT = re.compile(r"\{([\d,\s]*)\}", re.ASCII)


class _Kind:
    """What stands in front of the names of a declaration."""

    __slots__ = ("align", "attributes", "linkage", "ptr", "space", "type", "vector")

    def __init__(self, space: str, linkage: str | None, attributes: tuple[str, ...] = ()) -> None:
        self.space = space
        self.linkage = linkage
        self.type = ""
        self.align: int | None = None
        self.vector: int | None = None
        self.ptr: tuple[str | None, int | None] | None = None
        self.attributes = attributes


def declaration(
    scanner: Scanner, scopes: Scopes, linkage: str | None = None, where: Position | None = None, attributes: tuple[str, ...] = ()
) -> list[Variable | RegDecl]:
    """Read ``.space ... names;``, all of it, and declare the names; one node for each variable, which all stand at `where`.

    `attributes` are those that stood in front of the space.
    """
    kind = _kind(scanner, linkage, attributes)
    if kind.space == "reg":
        made: list[Variable | RegDecl] = list(_registers(scanner, scopes, kind))
    else:
        made = []
        while True:
            made += _variables(scanner, scopes, kind)
            if not scanner.accept(","):
                break
    scanner.finish("','")
    for one in made:
        one.where = where
    return made


def parameters(scanner: Scanner, scopes: Scopes | None) -> tuple[Variable, ...]:
    """Read ``(.param .u32 a, ...)`` and declare its names where `scopes` is given; a name may be ``_``."""
    scanner.expect("(")
    found: list[Variable] = []
    if scanner.accept(")"):
        return ()
    while True:
        if scanner.text not in (".param", ".reg"):
            scanner.fail("a parameter: '.param' or '.reg'")
        kind = _kind(scanner, None)
        name = scanner.advance() if scanner.text == "_" else scanner.name("the parameter's name")
        if scopes is not None:
            scopes.declare(name, kind.space == "reg")
        found.append(_variable(kind, name, _dims(scanner), None))
        if scanner.accept(")"):
            return tuple(found)
        if not scanner.accept(","):
            scanner.fail("',' or ')'")


def prototype(scanner: Scanner, label: str) -> Prototype:
    """Read what follows ``.callprototype``."""
    results = parameters(scanner, None) if scanner.text == "(" else ()
    scanner.expect("_")
    params = parameters(scanner, None) if scanner.text == "(" else ()
    directives = head_directives(scanner)
    scanner.finish()
    return Prototype(label, results, params, directives)


def targets(scanner: Scanner, label: str, kind: str) -> Targets:
    """Read what follows ``.branchtargets`` or ``.calltargets``."""
    names: list[str] = []
    while True:
        names += _names(scanner, "a target's name")
        if not scanner.accept(","):
            break
    scanner.finish("','")
    return Targets(label, kind, tuple(names))


def attribute_texts(scanner: Scanner) -> tuple[str, ...]:
    """Read what follows ``.attribute``: each attribute as text with its blanks made regular."""
    scanner.expect("(")
    found = []
    while True:
        if scanner.kind != "dot":
            scanner.fail("an attribute such as '.managed'")
        text = scanner.advance()
        if scanner.accept("("):
            numbers = [scanner.advance() if scanner.kind == "number" else scanner.fail("a number")]
            while scanner.accept(","):
                numbers.append(scanner.advance() if scanner.kind == "number" else scanner.fail("a number"))
            scanner.expect(")")
            text += f"({', '.join(numbers)})"
        found.append(text)
        if scanner.accept(")"):
            return tuple(found)
        if not scanner.accept(","):
            scanner.fail("',' or ')'")


def _kind(scanner: Scanner, linkage: str | None, attributes: tuple[str, ...] = ()) -> _Kind:
    kind = _Kind(scanner.advance()[1:], linkage, attributes)
    if kind.space == "const" and scanner.accept("["):
        kind.space = f"const[{integer(scanner, 'a constant bank')}]"
        scanner.expect("]")
    while scanner.kind == "dot":
        start = scanner.start
        word = scanner.advance()
        if word == ".align":
            _set_align(kind, integer(scanner, "an alignment in bytes"))
        elif word == ".ptr":
            kind.ptr = (None, None)
        elif kind.ptr is not None and word in _POINTEES:
            kind.ptr = (word[1:], kind.ptr[1])
        elif word in (".v2", ".v4", ".v8"):
            kind.vector = int(word[2:])
        elif word == ".attribute":
            kind.attributes += attribute_texts(scanner)
        elif word[1:] in TYPES and not kind.type:
            kind.type = word[1:]
        else:
            if kind.type:
                raise Fault(start, f"expected a name, found '{word}'")
            raise Fault(start, f"expected a type, found '{word}'{nearest(word, TYPES)}")
    if not kind.type:
        scanner.fail("a type such as '.b32'")
    return kind


def _set_align(kind: _Kind, align: int) -> None:
    """An alignment behind ``.ptr`` is that of what the pointer points to."""
    if kind.ptr is None:
        kind.align = align
    else:
        kind.ptr = (kind.ptr[0], align)


def _registers(scanner: Scanner, scopes: Scopes, kind: _Kind) -> list[RegDecl]:
    made: list[RegDecl] = []
    names: list[str] = []
    while True:
        name = scanner.name("a register's name")
        if scanner.accept("<"):
            count = _count(scanner)
            scopes.declare_family(name, count)
            if names:
                made.append(RegDecl(kind.type, tuple(names), None, kind.vector))
                names = []
            made.append(RegDecl(kind.type, (name,), count, kind.vector))
        else:
            scopes.declare(name, register=True)
            names.append(name)
        if not scanner.accept(","):
            break
    if names:
        made.append(RegDecl(kind.type, tuple(names), None, kind.vector))
    return made


def _count(scanner: Scanner) -> int:
    # Not a constant expression: its '>' would close the brackets.
    if scanner.kind != "number" or not scanner.text.isdigit():
        scanner.fail("a count of names")
    value = literal(scanner.advance())
    assert isinstance(value, Int)
    if not scanner.accept(">"):
        scanner.fail("'>'")
    return value.value


def _variables(scanner: Scanner, scopes: Scopes, kind: _Kind) -> list[Variable]:
    names = _names(scanner, "a variable's name")
    for name in names:
        scopes.declare(name, register=False)
    if len(names) != 1:
        return [_variable(kind, each, (), None) for each in names]
    dims = _dims(scanner)
    return [_variable(kind, names[0], dims, _initializer(scanner) if scanner.accept("=") else None)]


def _names(scanner: Scanner, what: str) -> list[str]:
    """A name, or the many that ``name<4>`` stands for: ``name0`` to ``name3``."""
    name = scanner.name(what)
    return [f"{name}{index}" for index in range(_count(scanner))] if scanner.accept("<") else [name]


def _variable(kind: _Kind, name: str, dims: tuple[int | None, ...], init: Initializer | None) -> Variable:
    return Variable(
        kind.space, kind.type, name, dims, kind.align, kind.vector, kind.linkage, init, kind.ptr, kind.attributes
    )  # fmt: skip


def _dims(scanner: Scanner) -> tuple[int | None, ...]:
    dims: list[int | None] = []
    while scanner.accept("["):
        if scanner.accept("]"):
            dims.append(None)
            continue
        dims.append(integer(scanner, "an extent or ']'"))
        scanner.expect("]")
    return tuple(dims)


def _initializer(scanner: Scanner) -> Initializer:
    if scanner.text != "{":
        return _scalar(scanner)
    flat = _FLAT.match(scanner.source, scanner.start)
    if flat is not None and flat[1].strip():
        values = _flat_integers(flat[1])
        if values is not None:
            scanner.end = flat.end()
            scanner.advance()
            return values
    scanner.advance()
    if scanner.accept("}"):
        return ()
    items = [_initializer(scanner)]
    while scanner.accept(","):
        items.append(_initializer(scanner))
    if not scanner.accept("}"):
        scanner.fail("',' or '}'")
    return tuple(items)


def _flat_integers(text: str) -> tuple[Int, ...] | None:
    """The long lists of small numbers that compilers write; None where something is to be said about one."""
    made: dict[str, Int] = {}
    values = []
    for word in text.split(","):
        word = word.strip()
        node = made.get(word)
        if node is None:
            if not word.isdigit() or len(word) > 18 or (word[0] == "0" and word != "0"):
                return None
            node = made[word] = Int(int(word))
        values.append(node)
    return tuple(values)


def _scalar(scanner: Scanner) -> Initializer:
    if scanner.kind == "name" and scanner.text != "WARP_SZ":
        name = scanner.advance()
        if name == "generic" and scanner.text == "(":
            return _generic(scanner, None)
        if scanner.accept("="):
            return Field(name, scanner.advance() if scanner.kind == "name" else integer(scanner, "a word or an integer"))
        return SymbolRef(name, sum_of_terms(scanner))
    start = scanner.start
    value = constant(scanner)
    if scanner.text != "(":
        return value
    if not isinstance(value, Int):
        raise Fault(start, "expected an integer mask in front of '('")
    scanner.advance()
    name = scanner.name("a variable's name")
    if name == "generic" and scanner.text == "(":
        reference = _generic(scanner, value.value)
    else:
        reference = SymbolRef(name, sum_of_terms(scanner), mask=value.value)
    scanner.expect(")")
    return reference


def _generic(scanner: Scanner, mask: int | None) -> SymbolRef:
    scanner.expect("(")
    name = scanner.name("a variable's name")
    scanner.expect(")")
    return SymbolRef(name, sum_of_terms(scanner), generic=True, mask=mask)
