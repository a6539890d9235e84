"""Constants and constant expressions, evaluated as the ISA says (sections 4.5.1 to 4.5.6) and, where its table of types is silent or
another, as ptxas does: a remainder is unsigned, bitwise operators are signed between signed operands, ``?:`` gives its operand's type.

Integers are 64 bits wide, signed unless they carry ``U`` or do not fit; floating constants are 64-bit, except ``0f...``, which is
32 bits by its own spelling and takes part in no expression.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from typing import NamedTuple, Union

from ptxgen.ir import Float, Int
from ptxgen.text.errors import Fault
from ptxgen.text.lexer import Scanner

__all__ = ["BINARY_OPERATORS", "constant", "integer", "literal", "sum_of_terms"]

_WARP_SIZE = 32
_MASK = (1 << 64) - 1
_INFINITY = 0x7FF0000000000000


class _Value(NamedTuple):
    """A value and its kind: ``s`` (.s64), ``u`` (.u64), ``f`` (.f64), ``x`` (a single-precision pattern); `node` of a literal."""

    kind: str
    number: int | float
    node: Int | Float | None = None


_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
BINARY_OPERATORS = frozenset(_PRECEDENCE) | {"?"}


def constant(scanner: Scanner) -> Int | Float:
    """Read a constant expression and return its value; a literal alone, or negated, keeps its spelling."""
    value = _ternary(scanner)
    if value.node is not None:
        return value.node
    return _float(value.number) if value.kind == "f" else Int(int(value.number))


def integer(scanner: Scanner, what: str) -> int:
    """Read a constant expression that has to be an integer, `what` in words."""
    start = scanner.start
    if scanner.kind != "number" and scanner.text not in ("-", "+", "~", "!", "(", "WARP_SZ"):
        scanner.fail(what)
    value = constant(scanner)
    if not isinstance(value, Int):
        raise Fault(start, f"expected {what}, found a floating constant")
    return value.value


def sum_of_terms(scanner: Scanner) -> int:
    """The rest of ``base + 4 - 2*3``: signed terms as long as they follow; 0 where none does."""
    total = 0
    while scanner.text in ("+", "-") and scanner.kind == "mark":
        sign = -1 if scanner.advance() == "-" else 1
        start = scanner.start
        value = _binary(scanner, _PRECEDENCE["*"])
        if value.kind not in "su":
            raise Fault(start, "expected an integer offset, found a floating constant")
        total += sign * int(value.number)
    return total


def literal(text: str) -> Int | Float:
    """The constant that one number token spells."""
    head = text[:2]
    if head in ("0f", "0F"):
        return Float(int(text[2:], 16), 32)
    if head in ("0d", "0D"):
        return Float(int(text[2:], 16), 64)
    digits = text.rstrip("U")
    unsigned = digits is not text and len(digits) != len(text)
    if head in ("0x", "0X"):
        return Int(int(digits, 16), unsigned, 16)
    if head in ("0b", "0B"):
        return Int(int(digits[2:], 2), unsigned, 2)
    if "." in digits or "e" in digits or "E" in digits:
        return _float(float(digits))
    if digits[0] == "0" and len(digits) > 1:
        return Int(int(digits, 8), unsigned, 8)
    return Int(int(digits), unsigned)


def _float(number: float) -> Float:
    return Float(int.from_bytes(struct.pack(">d", number), "big"), 64)


def _ternary(scanner: Scanner) -> _Value:
    start = scanner.start
    condition = _binary(scanner, 1)
    if not scanner.accept("?"):
        return condition
    _demand_integers(start, "?", condition)
    chosen = _ternary(scanner)
    scanner.expect(":")
    other = _ternary(scanner)
    _common(start, "?:", chosen, other)
    return (chosen if condition.number else other)._replace(node=None)  # of its own type, as ptxas has it


def _binary(scanner: Scanner, lowest: int) -> _Value:
    left = _unary(scanner)
    while scanner.kind == "mark" and _PRECEDENCE.get(scanner.text, 0) >= lowest:
        start = scanner.start
        sign = scanner.advance()
        left = _combine(start, sign, left, _binary(scanner, _PRECEDENCE[sign] + 1))
    return left


def _unary(scanner: Scanner) -> _Value:
    start = scanner.start
    if scanner.kind == "number":
        node = literal(scanner.text)
        if isinstance(node, Int) and node.value > _MASK:
            scanner.fail("a number of at most 64 bits")
        if isinstance(node, Float) and node.bits == _INFINITY and scanner.text[1] not in "dD":
            scanner.fail("a number that a double can hold")
        scanner.advance()
        return _value(node)
    if scanner.accept("WARP_SZ"):
        return _Value("s", _WARP_SIZE)
    if scanner.accept("("):
        if scanner.kind == "dot":
            return _cast(scanner)
        value = _ternary(scanner)
        scanner.expect(")")
        return value._replace(node=None) if value.kind != "x" else value
    sign = scanner.text
    if sign not in ("-", "+", "~", "!") or scanner.kind != "mark":
        scanner.fail("a constant")
    scanner.advance()
    return _apply_sign(start, sign, _unary(scanner))


def _cast(scanner: Scanner) -> _Value:
    if scanner.text not in (".u64", ".s64"):
        scanner.fail("a cast to '.u64' or '.s64'")
    kind = scanner.advance()[1]
    scanner.expect(")")
    start = scanner.start
    value = _unary(scanner)
    _demand_integers(start, f"(.{kind}64)", value)
    return _of(kind, value.number)


def _value(node: Int | Float) -> _Value:
    if isinstance(node, Int):
        return _Value("u" if node.unsigned or node.value >> 63 else "s", node.value, node)
    if node.width == 32:
        return _Value("x", 0.0, node)
    return _Value("f", struct.unpack(">d", node.bits.to_bytes(8, "big"))[0], node)


def _apply_sign(start: int, sign: str, value: _Value) -> _Value:
    if sign == "!":
        _demand_integers(start, sign, value)
        return _Value("s", int(not value.number))
    if sign == "~":
        _demand_integers(start, sign, value)
        return _of("u", ~int(value.number))
    if value.kind == "x":
        raise Fault(start, f"'{sign}' does not apply to a single-precision pattern; set its sign bit instead (ISA 4.5.2)")
    node = value.node
    if sign == "+":
        return value
    if isinstance(node, Float):
        negative = Float(node.bits ^ (1 << 63), 64)
        return _Value("f", -value.number, negative)
    # 2^63 has no signed literal, yet its negative is the least .s64.
    if isinstance(node, Int) and not node.unsigned and 0 < node.value <= 1 << 63:
        return _Value("s", -node.value, Int(-node.value, radix=node.radix))
    return _of(value.kind, -value.number)


def _of(kind: str, number: int | float) -> _Value:
    if kind == "f":
        return _Value("f", float(number))
    wrapped = int(number) & _MASK
    return _Value(kind, wrapped - (1 << 64) if kind == "s" and wrapped >> 63 else wrapped)


def _demand_integers(start: int, sign: str, *values: _Value) -> None:
    if any(value.kind not in "su" for value in values):
        raise Fault(start, f"'{sign}' takes integers (ISA 4.5.6)")


def _common(start: int, sign: str, left: _Value, right: _Value) -> str:
    """The kind that both operands are brought to."""
    kinds = left.kind + right.kind
    if "x" in kinds:
        raise Fault(start, f"a single-precision pattern is no operand of '{sign}' (ISA 4.5.2)")
    if "f" in kinds:
        if kinds != "ff":
            raise Fault(start, f"'{sign}' takes two integers or two floating constants (ISA 4.5.6)")
        return "f"
    return "u" if "u" in kinds else "s"


_ARITHMETIC: dict[str, Callable[..., Union[int, float]]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_COMPARISON: dict[str, Callable[..., bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_BITWISE: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}


def _combine(start: int, sign: str, left: _Value, right: _Value) -> _Value:
    if sign in _ARITHMETIC or sign == "/" or sign in _COMPARISON:
        kind = _common(start, sign, left, right)
        a, b = (_of(kind, left.number).number, _of(kind, right.number).number)
        if sign in _COMPARISON:
            return _Value("s", int(_COMPARISON[sign](a, b)))
        if sign == "/":
            return _of(kind, _divide(start, kind, a, b))
        return _of(kind, _ARITHMETIC[sign](a, b))
    _demand_integers(start, sign, left, right)
    a, b = int(left.number), int(right.number)
    if sign == "&&":
        return _Value("s", int(bool(a and b)))
    if sign == "||":
        return _Value("s", int(bool(a or b)))
    if sign in _BITWISE:
        return _of("u" if "u" in left.kind + right.kind else "s", _BITWISE[sign](a, b))
    if sign == "%":
        if not b & _MASK:
            raise Fault(start, "a constant expression divides by zero")
        return _of("u", (a & _MASK) % (b & _MASK))
    count = min(b & _MASK, 64)
    return _of(left.kind, a << count if sign == "<<" else a >> count)


def _divide(start: int, kind: str, a: int | float, b: int | float) -> int | float:
    if not b:
        raise Fault(start, "a constant expression divides by zero")
    if kind == "f":
        return a / b
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient
