"""PTX text to `ptxgen.ir.Module` (ISA chapters 4 to 11, versions 1.4 to 9.x).

Reading stays with grammar: whether an instruction exists, or a register is declared, is for contracts and for ``check``.
"""

from __future__ import annotations

import re
from typing import Union

from ptxgen.ir import Call, Comment, Directive, FileDirective, Function, Instruction, Item, Module, Section, SourceBlock, SourceSection
from ptxgen.text.constants import integer
from ptxgen.text.declarations import LINKAGES, SPACES, attribute_texts, declaration, parameters
from ptxgen.text.directives import head_directives, pragma
from ptxgen.text.errors import Fault, ReadError, nearest
from ptxgen.text.lexer import IDENTIFIER, Scanner
from ptxgen.text.scope import Scopes
from ptxgen.text.statements import BodyReader, Log

__all__ = ["read", "read_instruction"]

_BETWEEN = re.compile(r"\s*(?:(//)([^\n]*)|/\*((?:[^*]|\*(?!/))*)\*/|(\#)[^\n]*)", re.ASCII)
_SKIPPED = re.compile(
    r'//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|"[^"\n]*"|[;{}]'
    r"|\n(?=[ \t]*\.(?:visible|weak|extern|common|entry|func|global|section|file|alias)\b)"
)
_DWARF = re.compile(r"@@DWARF[ \t]+([^\n]*)")
_COMMENT = re.compile(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_TERM = rf"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+|\.?{IDENTIFIER})"
_DATUM = rf"[-+]?\s*{_TERM}(?:\s*[-+]\s*{_TERM})*"
_SECTION_LINE = re.compile(rf"\s*(?:{IDENTIFIER}\s*:|\.(?:b8|b16|b32|b64|quad)\s+{_DATUM}(?:\s*,\s*{_DATUM})*(?![\w$.:,])\s*)", re.ASCII)
_SOURCE = re.compile(r"\.source_begin[ \t]*\r?\n((?:.*\n)*?)[ \t]*\.source_end\b")
_DIRECTIVES = frozenset({
    *LINKAGES, *SPACES, "attribute", "entry", "func", "section", "nv_intermediate_source_section", "file", "pragma", "alias", "target",
})  # fmt: skip
_NEXT_ITEM = frozenset(f".{name}" for name in _DIRECTIVES - {"attribute", "pragma", "target"})
"""What begins another item where a function's directives could stand."""

_Heading = tuple[tuple[int, int], tuple[str, ...], Union[int, None]]


def read(text: str, *, filename: str | None = None) -> Module:
    """Read a PTX module.

    Parameters
    ----------
    text : str
        The whole module; zero bytes at its end, as tools that extract it leave, are ignored.
    filename : str, optional
        Stands in positions and messages.

    Returns
    -------
    Module
        ``write`` gives back a text with the same meaning. Comments between statements are kept, others dropped; ``where`` of
        functions, instructions and calls is a `Position`.

    Raises
    ------
    ReadError
        With everything that was found wrong; reading goes on behind a faulty statement.
    """
    text = text.rstrip("\0")
    reader = _ModuleReader(text, filename, frozenset())
    module = reader.module()
    if reader.symbols:
        # Labels may begin with '%'; a branch before such a label had no way to know.
        reader = _ModuleReader(text, filename, reader.symbols)
        module = reader.module()
    if reader.log.problems:
        raise ReadError(tuple(reader.log.problems))
    assert module is not None
    return module


def read_instruction(text: str) -> Instruction | Call:
    """Read one instruction with its ``;``, outside any function: names that begin with ``%`` are registers, others are not."""
    log = Log(text, None)
    try:
        found, end = BodyReader(text, Scopes(), log).instruction(0)
        rest = Scanner(text, end)
        if rest.kind != "end":
            rest.fail("the end of the text")
    except Fault as fault:
        log.note(fault)
        raise ReadError(tuple(log.problems)) from None
    return found


class _ModuleReader:
    def __init__(self, text: str, filename: str | None, symbols: frozenset[str]) -> None:
        self.text = text
        self.log = Log(text, filename)
        self.scopes = Scopes(symbols)
        self.bodies = BodyReader(text, self.scopes, self.log)
        self.items: list[Item] = []

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset(self.bodies.symbols)

    def module(self) -> Module | None:
        """The module, or None with the reasons logged."""
        try:
            (version, target, address_size), offset = self._heading()
        except Fault as fault:
            self.log.note(fault)
            return None
        while not self.log.full:
            offset = self._comments(offset)
            if Scanner(self.text, offset).kind == "end":
                break
            try:
                offset = self._guarded_item(offset)
            except Fault as fault:
                self.log.note(fault)
                self.scopes.leave_to(1)
                offset = self._resume(offset, fault)
        return Module(version, target, tuple(self.items), address_size)

    def _heading(self) -> tuple[_Heading, int]:
        offset = self._comments(0)
        scanner = Scanner(self.text, offset)
        scanner.expect(".version")
        version = re.fullmatch(r"(\d+)\.(\d+)", scanner.text)
        if version is None:
            scanner.fail("a version such as 8.0")
        scanner.advance()
        scanner = Scanner(self.text, self._comments(scanner.passed))
        scanner.expect(".target")
        target = self._target(scanner)
        offset = self._comments(scanner.passed)
        scanner = Scanner(self.text, offset)
        size = None
        if scanner.accept(".address_size"):
            if scanner.text not in ("32", "64"):
                scanner.fail("32 or 64")
            size = int(scanner.advance())
            offset = scanner.passed
        return ((int(version[1]), int(version[2])), target, size), offset

    def _target(self, scanner: Scanner) -> tuple[str, ...]:
        names = [scanner.name("a target such as sm_90")]
        while scanner.accept(","):
            names.append(scanner.name("a target or a mode"))
        return tuple(names)

    def _comments(self, offset: int) -> int:
        """Take the comments that follow as items, and say where they end."""
        while (match := _BETWEEN.match(self.text, offset)) is not None:
            if match[1]:
                self.items.append(Comment(match[2].strip()))
            elif match[3] is not None:
                self.items += [Comment(line.strip()) for line in match[3].strip().split("\n")]
            offset = match.end()
        return offset

    def _guarded_item(self, offset: int) -> int:
        try:
            return self._item(offset)
        except RecursionError:
            raise Fault(offset, "nested too deeply") from None

    def _item(self, offset: int) -> int:
        scanner = Scanner(self.text, offset)
        start = scanner.start
        linkage = None
        if scanner.text[1:] in LINKAGES:
            linkage = scanner.advance()[1:]
        attributes = attribute_texts(scanner) if scanner.accept(".attribute") else ()
        word = scanner.text
        if word in (".entry", ".func") and not attributes:
            return self._function(scanner, start, linkage)
        if word[1:] in SPACES:
            self.items += declaration(scanner, self.scopes, linkage, self.log.position(start), attributes)
            return scanner.passed
        if attributes:
            scanner.fail("a state space")
        if linkage is not None:
            scanner.fail("'.entry', '.func' or a state space")
        dwarf = _DWARF.match(self.text, start) if word == "@" else None
        if dwarf is not None:
            self.items.append(Directive("@@DWARF", (" ".join(dwarf[1].split()),)))
            return dwarf.end()
        if word == ".section":
            return self._section(scanner)
        if word == ".nv_intermediate_source_section":
            return self._sources(scanner)
        scanner.advance()
        self.items.append(self._directive(scanner, word, start))
        return scanner.passed

    def _directive(self, scanner: Scanner, word: str, start: int) -> Item:
        if word == ".file":
            return self._file(scanner)
        if word == ".pragma":
            return pragma(scanner)
        if word == ".alias":
            return self._alias(scanner)
        if word == ".target":
            return Directive("target", self._target(scanner))
        found = Scanner(self.text, start)
        if word == "}":
            raise Fault(start, "this '}' closes nothing")
        raise Fault(start, f"expected a declaration or a function, found {found.describe()}{nearest(word, _DIRECTIVES)}")

    def _function(self, scanner: Scanner, start: int, linkage: str | None) -> int:
        kind = scanner.advance()[1:]
        attributes = attribute_texts(scanner) if scanner.accept(".attribute") else ()
        # The names of parameters belong to the function, its own name to the module.
        depth = self.scopes.depth
        self.scopes.enter()
        results = parameters(scanner, self.scopes) if kind == "func" and scanner.text == "(" else ()
        name = scanner.name("the function's name")
        params = parameters(scanner, self.scopes) if scanner.text == "(" else ()
        directives = head_directives(scanner, _NEXT_ITEM)
        body = None
        end = scanner.end
        if scanner.text == "{":
            body, end = self.bodies.body(scanner.end)
        elif not directives and (scanner.kind == "end" or scanner.text in _NEXT_ITEM):
            end = scanner.passed  # compilers before CUDA 4 left out the ';' of a declaration, and assemblers still do not ask for it
        elif scanner.text != ";":
            scanner.fail("a directive, '{' or ';'")
        self.scopes.leave_to(depth)
        self.scopes.declare(name, register=False)
        where = self.log.position(start)
        self.items.append(Function(kind, name, params, body, results, directives, linkage, where, attributes))
        return end

    def _section(self, scanner: Scanner) -> int:
        scanner.advance()
        if scanner.kind == "dot":
            name = scanner.advance()
        else:
            name = scanner.name("a section's name")
        if scanner.text != "{":
            scanner.fail("'{'")
        close = next((mark.start() for mark in _SKIPPED.finditer(self.text, scanner.end) if mark[0] == "}"), None)
        if close is None:
            scanner.fail("'}' to close the section")
        self.items.append(Section(name, _section_lines(self.text[scanner.end : close], scanner.end)))
        return close + 1

    def _sources(self, scanner: Scanner) -> int:
        scanner.advance()
        scanner.expect("{")
        blocks = []
        while scanner.text != "}":
            scanner.expect(".code_block")
            scanner.expect("{")
            block, end = self._source_block(scanner)
            blocks.append(block)
            scanner = Scanner(self.text, end)
            scanner.expect("}")
        self.items.append(SourceSection(tuple(blocks)))
        return scanner.end

    def _source_block(self, scanner: Scanner) -> tuple[SourceBlock, int]:
        for word in (".ir_name", ":"):
            scanner.expect(word)
        language = scanner.string("a name in quotes")
        for word in (".sourceFileName", ":"):
            scanner.expect(word)
        file = integer(scanner, "a file's index")
        if scanner.text != ".source_begin":
            scanner.fail("'.source_begin'")
        source = _SOURCE.match(self.text, scanner.start)
        if source is None:
            raise Fault(scanner.start, "expected lines of any text, and '.source_end' on a line of its own")
        return SourceBlock(language, file, tuple(source[1].split("\n")[:-1])), source.end()

    def _file(self, scanner: Scanner) -> FileDirective:
        index = integer(scanner, "a file's index")
        name = scanner.string("a file's name in quotes")
        if not scanner.accept(","):
            return FileDirective(index, name)
        timestamp = integer(scanner, "a timestamp")
        size = integer(scanner, "a file's size") if scanner.accept(",") else None
        return FileDirective(index, name, timestamp, size)

    def _alias(self, scanner: Scanner) -> Directive:
        alias = scanner.name("the alias's name")
        scanner.expect(",")
        aliased = scanner.name("the aliased function's name")
        scanner.finish()
        return Directive("alias", (alias, aliased))

    def _resume(self, start: int, fault: Fault) -> int:
        """Behind the ``;`` or ``}`` of the item that begins at `start`, or before a line that plainly begins another."""
        if fault.resume is not None:
            return fault.resume
        depth = 0
        for match in _SKIPPED.finditer(self.text, start):
            mark = match[0]
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
            if match.end() > fault.offset and (mark == "\n" or (mark in ("}", ";") and depth <= 0)):
                # The ';' behind an initialiser's brace is the declaration's.
                closing = re.compile(r"\s*;").match(self.text, match.end()) if mark == "}" else None
                return closing.end() if closing else match.end()
        return len(self.text)


def _section_lines(text: str, start: int) -> tuple[str, ...]:
    """The data of a section that begins at `start`: one directive or label each, however the text broke them into lines."""
    found = []
    plain = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    end = 0
    while (line := _SECTION_LINE.match(plain, end)) is not None:
        end = line.end()
        found.append(_regular(line[0].strip()))
    rest = plain[end:]
    if rest.strip():
        scanner = Scanner(text, end)
        expected = "a label, or '.b8', '.b16', '.b32' or '.b64' with numbers, labels or differences of labels"
        raise Fault(start + scanner.start, f"expected {expected}, found {scanner.describe()}")
    return tuple(found)


def _regular(line: str) -> str:
    """Blanks made one, none around the marks that join, one behind a comma."""
    directive, *rest = line.split(None, 1) if line[0] == "." else ("", line)
    values = re.sub(r"\s*([-+:])\s*", r"\1", " ".join(" ".join(rest).split()))
    values = re.sub(r"\s*,\s*", ", ", values)
    return f"{directive} {values}".strip()
