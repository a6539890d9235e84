"""The statements of a function's body (ISA 4.3).

A plain instruction, a label and a brace are each one match of one expression. Whatever that leaves, and whatever does not turn out
well, is read again token by token, which also finds the words for what is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from ptxgen.ir import Block, Call, Comment, Guard, Instruction, Label, Operand, Reg, Statement, Sym
from ptxgen.text.declarations import LINKAGES, SPACES, declaration, prototype, targets
from ptxgen.text.directives import loc, loc_match, pragma
from ptxgen.text.errors import Fault, Position, Problem, nearest
from ptxgen.text.lexer import IDENTIFIER, Scanner
from ptxgen.text.operands import OperandReader
from ptxgen.text.scope import Scopes

__all__ = ["BodyReader", "Log"]

_STATEMENT = re.compile(
    r"\s*(?:"
    rf"(?:@(!?{IDENTIFIER})[ \t]+)?([a-zA-Z]\w*(?:\.[\w:]+)*)(?:\s([^;:(/\"@=#]*))?;"
    rf"|({IDENTIFIER})[ \t]*:(?!:)"
    r"|//([^\n]*)"
    r"|(\{)"
    r"|(\})"
    r"|(\.\w+)"
    r"|/\*((?:[^*]|\*(?!/))*)\*/"
    r"|(\#)[^\n]*"
    r")",
    re.ASCII,
)
_INSTRUCTION, _OPERANDS, _LABEL, _COMMENT, _OPEN, _CLOSE, _DOT, _LONG_COMMENT = 2, 3, 4, 5, 6, 7, 8, 9
_SKIPPED = re.compile(r'//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|"[^"\n]*"|[;{}]')
_DEEPEST = 200  # Trees are compared and written by recursion.
_DIRECTIVES = frozenset({*SPACES, *LINKAGES, "loc", "loc_intermediate", "pragma", "branchtargets", "calltargets", "callprototype"})
_OUTSIDE = frozenset({".entry", ".func", ".visible", ".weak", ".version", ".target", ".section", ".file", ".alias"})


def _is_call(opcode: str) -> bool:
    """Whether operands stand as in a call: also where the qualifiers behind it are none of a call's."""
    return opcode == "call" or opcode.startswith("call.")


class Log:
    """Lines of a text, and the problems found in it."""

    __slots__ = ("_filename", "_starts", "_text", "problems")
    most = 50

    def __init__(self, text: str, filename: str | None) -> None:
        self._text = text
        self._filename = filename
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.problems: list[Problem] = []

    def position(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset)
        return Position(self._filename, line, offset - self._starts[line - 1] + 1)

    @property
    def full(self) -> bool:
        """Whether enough was found wrong to stop."""
        return len(self.problems) >= self.most

    def note(self, fault: Fault) -> None:
        where = self.position(fault.offset)
        start = self._starts[where.line - 1]
        end = self._text.find("\n", start)
        source = self._text[start : end if end >= 0 else len(self._text)].rstrip("\r")
        self.problems.append(Problem(where, fault.message, source))


class BodyReader:
    """Reads bodies; one for a whole module, whose operands and opcodes are shared.

    Attributes
    ----------
    symbols : set of str
        Labels that begin with ``%`` as a register does: met where instructions before them may already have taken them for one.
    """

    __slots__ = ("_guards", "_log", "_opcodes", "_operands", "_scopes", "_text", "symbols")

    def __init__(self, text: str, scopes: Scopes, log: Log) -> None:
        self._text = text
        self._scopes = scopes
        self._log = log
        self._operands = OperandReader(scopes)
        self._guards: dict[str, Guard] = {}
        self._opcodes: dict[str, str] = {}
        self.symbols: set[str] = set()

    def body(self, offset: int) -> tuple[tuple[Statement, ...], int]:
        """Read from behind a body's opening brace to behind its closing one."""
        text = self._text
        match_statement = _STATEMENT.match
        outer: list[list[Statement]] = []
        statements: list[Statement] = []
        opened = [offset - 1]
        while True:
            match = match_statement(text, offset)
            which = match.lastindex if match is not None else None
            if which in (_OPERANDS, _INSTRUCTION):
                assert match is not None
                instruction = self._plain_instruction(match)
                if instruction is not None:
                    statements.append(instruction)
                    offset = match.end()
                    continue
                which = None
            if which == _OPEN and len(outer) < _DEEPEST:
                assert match is not None
                outer.append(statements)
                opened.append(match.start(_OPEN))
                statements = []
                self._scopes.enter()
                offset = match.end()
            elif which == _CLOSE:
                assert match is not None
                offset = match.end()
                if not outer:
                    return tuple(statements), offset
                block = Block(tuple(statements))
                statements = outer.pop()
                statements.append(block)
                opened.pop()
                self._scopes.leave()
            else:
                start = offset
                try:
                    made, offset = self._other(match if which is not None else None, offset)
                    statements += made
                except Fault as fault:
                    self._log.note(fault)
                    if self._log.full or self._ends_function(fault.offset):
                        return tuple(statements), fault.offset
                    offset = self._resume(start, fault)

    def instruction(self, offset: int) -> tuple[Instruction | Call, int]:
        """Read one instruction token by token: the way that takes every spelling and explains what is wrong."""
        scanner = Scanner(self._text, offset)
        start = scanner.start
        guard = self._guard(scanner) if scanner.text == "@" else None
        opcode = self._opcode(scanner)
        where = self._log.position(start)
        if _is_call(opcode):
            return self._call(scanner, opcode, guard, where), scanner.passed
        operands: list[Operand] = []
        if not scanner.accept(";"):
            operands.append(self._operands.operand(scanner))
            while scanner.accept(","):
                operands.append(self._operands.operand(scanner))
            scanner.finish("','")
        return Instruction(opcode, tuple(operands), guard, where), scanner.passed

    def _plain_instruction(self, match: re.Match[str]) -> Instruction | None:
        guarded, opcode, text = match.group(1, 2, 3)
        if _is_call(opcode):
            return None
        guard = None
        if guarded is not None:
            guard = self._guards.get(guarded)
            if guard is None:
                guard = self._guards[guarded] = Guard(Reg(guarded.lstrip("!")), guarded[0] == "!")
        operands: tuple[Operand, ...] = ()
        if text:
            try:
                operands = self._operands.plain_list(text)
            except Fault:
                return None
        start = match.start(2) if guarded is None else match.start(1) - 1
        return Instruction(self._opcodes.setdefault(opcode, opcode), operands, guard, self._log.position(start))

    def _other(self, match: re.Match[str] | None, offset: int) -> tuple[list[Statement], int]:
        """One statement that is no plain instruction, and where it ends; comments may be several."""
        which = match.lastindex if match is not None else None
        if match is None:
            made, end = self._instruction_or_nothing(offset)
            return [made], end
        if which == _OPEN:
            raise Fault(match.start(_OPEN), f"blocks nest more than {_DEEPEST} deep")
        if which == _COMMENT:
            return [Comment(match[_COMMENT].strip())], match.end()
        if which == _LABEL:
            return self._labelled(match[_LABEL], match.end(), match.start(_LABEL))
        if which == _LONG_COMMENT:
            return [Comment(line.strip()) for line in match[_LONG_COMMENT].strip().split("\n")], match.end()
        if which == _DOT:
            return self._directive(match[_DOT], match.start(_DOT))
        return [], match.end()

    def _instruction_or_nothing(self, offset: int) -> tuple[Statement, int]:
        scanner = Scanner(self._text, offset)
        if scanner.kind == "end":
            scanner.fail("'}' to close the body")
        if scanner.kind != "name" and scanner.text != "@":
            scanner.fail("a statement")
        try:
            return self.instruction(offset)
        except RecursionError:
            raise Fault(scanner.start, "nested too deeply") from None

    def _labelled(self, name: str, offset: int, start: int) -> tuple[list[Statement], int]:
        scanner = Scanner(self._text, offset)
        if scanner.text == ".callprototype":
            scanner.advance()
            return [prototype(scanner, name)], scanner.passed
        if scanner.text in (".branchtargets", ".calltargets"):
            return [targets(scanner, name, scanner.advance()[1:])], scanner.passed
        if name[0] == "%":
            self._scopes.declare(name, register=False)
            self.symbols.add(name)
        return [Label(name, self._log.position(start))], offset

    def _directive(self, word: str, start: int) -> tuple[list[Statement], int]:
        if word == ".loc":
            found = loc_match(self._text, start)
            if found is not None:
                return [found[0]], found[1]
        scanner = Scanner(self._text, start)
        if word in (".loc", ".loc_intermediate"):
            return [loc(scanner)], scanner.passed
        if word == ".pragma":
            scanner.advance()
            return [pragma(scanner)], scanner.passed
        linkage = None
        if word[1:] in LINKAGES:
            linkage = scanner.advance()[1:]
        if scanner.text[1:] in SPACES:
            return [*declaration(scanner, self._scopes, linkage, self._log.position(start))], scanner.passed
        if scanner.text in _OUTSIDE or word in _OUTSIDE:
            raise Fault(start, f"expected '}}' to close the body before '{word}'")
        raise Fault(start, f"expected a statement, found '{word}'{nearest(word, _DIRECTIVES)}")

    def _guard(self, scanner: Scanner) -> Guard:
        scanner.advance()
        negated = scanner.accept("!")
        return Guard(Reg(scanner.name("a predicate register")), negated)

    def _opcode(self, scanner: Scanner) -> str:
        opcode = scanner.name("an instruction")
        while scanner.kind == "dot":
            word = scanner.advance()
            opcode += word
            if word == ".const" and scanner.text == "[":  # the constant banks of old texts
                scanner.advance()
                opcode += f"[{scanner.advance()}]"
                scanner.expect("]")
        return self._opcodes.setdefault(opcode, opcode)

    def _call(self, scanner: Scanner, opcode: str, guard: Guard | None, where: Position) -> Call:
        results: tuple[Operand, ...] = ()
        arguments: tuple[Operand, ...] = ()
        if scanner.text == "(":
            results = self._list(scanner)
            scanner.expect(",")
        name = scanner.name("a function or a register that holds one")
        target = Reg(name) if self._scopes.is_register(name) else Sym(name)
        named = None
        if scanner.accept(","):
            if scanner.text == "(":
                arguments = self._list(scanner)
                named = Sym(scanner.name("call targets or a prototype")) if scanner.accept(",") else None
            else:
                named = Sym(scanner.name("'(', call targets or a prototype"))
        scanner.finish("','" if named is None else "")
        return Call(opcode, target, results, arguments, named, guard, where)

    def _list(self, scanner: Scanner) -> tuple[Operand, ...]:
        scanner.expect("(")
        if scanner.accept(")"):
            return ()
        return self._operands.operands(scanner, ")")

    # ---- after a problem ------------------------------------------------------------------------------------------

    def _ends_function(self, offset: int) -> bool:
        """Whether nothing of this body can follow: the text ends, or another function begins."""
        scanner = Scanner(self._text, offset)
        return scanner.kind == "end" or scanner.text in _OUTSIDE

    def _resume(self, start: int, fault: Fault) -> int:
        """Where the next statement begins: behind this one's ``;``, or in front of the ``}`` that closes its scope."""
        if fault.resume is not None:
            return fault.resume
        depth = 0
        for match in _SKIPPED.finditer(self._text, start):
            mark = match[0]
            if mark == ";" and match.end() > fault.offset:
                return match.end()
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
                if depth < 0:
                    return match.start()
        return len(self._text)
