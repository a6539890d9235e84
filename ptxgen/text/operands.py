"""Operands of instructions (ISA chapter 6): token by token where they are rare, by their whole text where they are plain."""

from __future__ import annotations

import re

from ptxgen.ir import Address, Element, Int, Neg, Not, Operand, Pair, Reg, RegOffset, Sink, Sym, SymbolRef, Vec
from ptxgen.text.constants import BINARY_OPERATORS, constant, integer, literal, sum_of_terms
from ptxgen.text.errors import Fault
from ptxgen.text.lexer import IDENTIFIER, Scanner
from ptxgen.text.scope import Scopes

__all__ = ["OperandReader"]

_DECIMAL = r"-?(?:0|[1-9]\d{0,17})"
_PLAIN = re.compile(
    rf"({IDENTIFIER})(\.\w+)?"
    rf"|\[\s*({IDENTIFIER})\s*(?:\+\s*({_DECIMAL})\s*)?\]"
    rf"|({_DECIMAL})"
    r"|(0[fFdDxX][0-9a-fA-F]+)"
    r"|\{([^{}\[\]]*)\}",
    re.ASCII,
)
_SPLIT = re.compile(r"(?:\[[^\[\]]*\]|\{[^{}]*\}|[^,\[\]{}])+")
_CONSTANT_MARKS = frozenset("-+~!(")


class OperandReader:
    """Reads operands in the scopes of the moment; operands of equal text share one node."""

    __slots__ = ("_epoch", "_irregular", "_nodes", "_regular", "scopes")

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self._regular: dict[str, Operand] = {"_": Sink()}
        self._irregular: dict[str, Operand] = {}
        self._epoch = -1

    def cached(self) -> dict[str, Operand]:
        """Operands by text, as far as known and as long as the scopes stay what they are."""
        scopes = self.scopes
        if not scopes.irregular:
            return self._regular
        if scopes.epoch != self._epoch:
            self._epoch = scopes.epoch
            self._irregular = {"_": self._regular["_"]}
        return self._irregular

    def plain_list(self, text: str) -> tuple[Operand, ...]:
        """Operands of a whole instruction, without comments; a `Fault` of no use as a message where they are not well-formed."""
        if "[" in text or "{" in text:
            parts = _SPLIT.findall(text)
            if ",".join(parts) != text:
                raise Fault(0, "")
        else:
            parts = text.split(",")
        nodes = self.cached()
        operands = []
        for part in parts:
            part = part.strip()
            node = nodes.get(part)
            operands.append(node if node is not None else self._plain(part, nodes))
        return tuple(operands)

    def _plain(self, text: str, nodes: dict[str, Operand]) -> Operand:
        match = _PLAIN.fullmatch(text)
        node: Operand
        if match is None:
            node = self._scan(text)
        else:
            name, part, base, offset, decimal, pattern, elements = match.groups()
            if name is not None:
                node = self._named(name, 0, part)
            elif base is not None:
                value = int(offset or 0)
                node = Address(self._base(base), value, plus_zero=offset is not None and not value)
            elif decimal is not None:
                node = Int(int(decimal))
            elif elements is not None:
                node = Vec(self.plain_list(elements))
            else:
                node = self._scan(text) if pattern[1] in "fFdD" else literal(pattern)
        nodes[text] = node
        return node

    def _scan(self, text: str) -> Operand:
        scanner = Scanner(text)
        node = self.operand(scanner)
        if scanner.kind != "end":
            raise Fault(0, "")
        return node

    # ---- token by token -------------------------------------------------------------------------------------------

    def operand(self, scanner: Scanner) -> Operand:
        """Read one operand, a pair ``a|b`` included."""
        first = self._single(scanner)
        if isinstance(first, (Reg, Sink, Vec)) and scanner.accept("|"):
            return Pair(first, self._single(scanner))
        return first

    def operands(self, scanner: Scanner, closing: str) -> tuple[Operand, ...]:
        """Read operands up to `closing`, and take that."""
        found = [self.operand(scanner)]
        while scanner.accept(","):
            found.append(self.operand(scanner))
        if not scanner.accept(closing):
            scanner.fail(f"',' or '{closing}'")
        return tuple(found)

    def register(self, scanner: Scanner, what: str) -> Reg:
        """Read a register, whether or not its name says that it is one."""
        name = scanner.name(what)
        return Reg(name, self._part(scanner))

    def _single(self, scanner: Scanner) -> Operand:
        text = scanner.text
        if scanner.kind == "name":
            return self._name(scanner)
        if scanner.kind == "mark":
            if text == "[":
                return self._address(scanner)
            if text == "{":
                scanner.advance()
                return Vec(self.operands(scanner, "}"))
            if text in "!-":
                signed = self._signed_register(scanner)
                if signed is not None:
                    return signed
        if scanner.kind == "number" or text in _CONSTANT_MARKS:
            return constant(scanner)
        scanner.fail("an operand")

    def _signed_register(self, scanner: Scanner) -> Operand | None:
        """``!%p`` or ``-%r.b0``; None, with nothing taken, where a constant expression begins."""
        ahead = Scanner(scanner.source, scanner.end)
        if ahead.kind != "name" or ahead.text == "WARP_SZ":
            return None
        node = Not if scanner.advance() == "!" else Neg
        return node(self.register(scanner, "a register"))

    def _name(self, scanner: Scanner) -> Operand:
        start = scanner.start
        if scanner.text == "WARP_SZ":
            ahead = Scanner(scanner.source, scanner.end)
            if ahead.kind == "mark" and ahead.text in BINARY_OPERATORS:
                return constant(scanner)
        name = scanner.advance()
        if name == "_":
            return self.cached()["_"]
        if scanner.text == "[" and scanner.kind == "mark":
            return self._element(name, scanner)
        node = self._named(name, start, self._part(scanner, dotted=True))
        if scanner.kind == "mark" and scanner.text in "+-":
            offset = sum_of_terms(scanner)
            if offset:
                return RegOffset(node, offset) if isinstance(node, Reg) else SymbolRef(name, offset)
        return node

    def _named(self, name: str, start: int, dotted: str | None) -> Operand:
        if name == "_":
            return self.cached()["_"]
        if self.scopes.is_register(name):
            return Reg(name, dotted[1:] if dotted else None)
        if dotted:
            raise Fault(start, f"'{name}' is declared as no register, so it has no part '{dotted}'")
        return Sym(name)

    def _part(self, scanner: Scanner, dotted: bool = False) -> str | None:
        if scanner.kind != "dot":
            return None
        text = scanner.advance()
        return text if dotted else text[1:]

    def _base(self, name: str) -> Reg | Sym:
        return Reg(name) if self.scopes.is_register(name) else Sym(name)

    def _element(self, name: str, scanner: Scanner) -> Element:
        scanner.advance()
        index: int | Reg | RegOffset
        if scanner.kind == "name" and scanner.text != "WARP_SZ":
            index = self.register(scanner, "an index")
            offset = sum_of_terms(scanner)
            if offset:
                index = RegOffset(index, offset)
        else:
            index = integer(scanner, "an index: a register or an integer")
        scanner.expect("]")
        return Element(name, index)

    def _address(self, scanner: Scanner) -> Address:
        scanner.advance()
        base: Reg | Sym | Int
        offset, plus_zero = 0, False
        if scanner.kind == "name" and scanner.text not in ("_", "WARP_SZ"):
            base = self._base(scanner.advance())
            written = scanner.kind == "mark" and scanner.text in "+-"
            offset = sum_of_terms(scanner)
            plus_zero = written and not offset
        elif scanner.kind == "number" or scanner.text in _CONSTANT_MARKS:
            start = scanner.start
            value = constant(scanner)
            if not isinstance(value, Int):
                raise Fault(start, "expected an address, found a floating constant")
            base = value
        else:
            scanner.fail("an address: a register, a variable or an integer")
        rest: tuple[Operand, ...] = ()
        if scanner.accept(","):
            rest = self.operands(scanner, "]")
        elif not scanner.accept("]"):
            scanner.fail("'+', ',' or ']'")
        return Address(base, offset, rest, scanner.accept(".unified"), plus_zero)
