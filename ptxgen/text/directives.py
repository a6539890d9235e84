"""Directives between a function's parameters and its body, pragmas, and source lines (ISA chapter 11)."""

from __future__ import annotations

import re
from collections.abc import Collection

from ptxgen.ir import Directive, Loc, Pragma
from ptxgen.text.constants import integer
from ptxgen.text.errors import Fault, nearest
from ptxgen.text.lexer import IDENTIFIER, Scanner

__all__ = ["HEAD_DIRECTIVES", "head_directives", "loc", "loc_match", "pragma"]

HEAD_DIRECTIVES = {
    "maxntid": 3, "reqntid": 3, "minnctapersm": 1, "maxnctapersm": 1, "maxnreg": 1, "reqnctapercluster": 3, "maxclusterrank": 1,
    "explicitcluster": 0, "blocksareclusters": 0, "noreturn": 0, "abi_preserve": 1, "abi_preserve_control": 1, "minperctamemory": 1,
    "local_maxnreg": 1,
}  # fmt: skip
"""The most integers that each takes; those that take any take at least one."""

_LOC = re.compile(
    r"\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)"
    rf"(?:\s*,\s*function_name\s+({IDENTIFIER})\s*(\+\s*\d+)?\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?(?!\s*[,\w])",
    re.ASCII,
)


def head_directives(scanner: Scanner, until: Collection[str] = ()) -> tuple[Directive | Pragma, ...]:
    """Read directives as long as one follows that is not one of `until`."""
    found: list[Directive | Pragma] = []
    while scanner.kind == "dot" and scanner.text not in until:
        start = scanner.start
        name = scanner.advance()[1:]
        if name == "pragma":
            found.append(pragma(scanner))
            continue
        most = HEAD_DIRECTIVES.get(name)
        if most is None:
            hint = nearest(name, HEAD_DIRECTIVES)
            raise Fault(start, f"expected a directive of a function, '{{' or ';', found '.{name}'{hint}")
        numbers: list[int | str] = []
        while len(numbers) < most:
            numbers.append(integer(scanner, f"an integer for '.{name}'"))
            if not scanner.accept(","):
                break
        found.append(Directive(name, tuple(numbers)))
    return tuple(found)


def pragma(scanner: Scanner) -> Pragma:
    """Read what follows ``.pragma``."""
    strings = [scanner.string("a string")]
    while scanner.accept(","):
        strings.append(scanner.string("a string"))
    scanner.finish("','")
    return Pragma(tuple(strings))


def loc_match(source: str, offset: int) -> tuple[Loc, int] | None:
    """The ``.loc`` at `offset` and where it ends, if it is one of the usual form."""
    match = _LOC.match(source, offset)
    if match is None:
        return None
    file, line, column, function, plus, *inlined = match.groups()
    if function is None:
        return Loc(int(file), int(line), int(column)), match.end()
    if plus is not None:
        function += "+" + plus[1:].strip()
    at = (int(inlined[0]), int(inlined[1]), int(inlined[2]))
    return Loc(int(file), int(line), int(column), function, at), match.end()


def loc(scanner: Scanner) -> Loc:
    """Read ``.loc`` or ``.loc_intermediate``."""
    intermediate = scanner.advance() == ".loc_intermediate"
    file, line, column = (integer(scanner, what) for what in ("a file's index", "a line", "a column"))
    if intermediate:
        return Loc(file, line, column, intermediate=True)
    if not scanner.accept(","):
        return Loc(file, line, column)
    scanner.expect("function_name")
    function = scanner.name("a label in the debug data")
    if scanner.accept("+"):
        function += f"+{integer(scanner, 'an offset')}"
    scanner.expect(",")
    scanner.expect("inlined_at")
    at = (integer(scanner, "a file's index"), integer(scanner, "a line"), integer(scanner, "a column"))
    return Loc(file, line, column, function, at)
