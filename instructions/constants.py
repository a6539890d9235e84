"""Constants as operands: which may stand where, and what an operand holds of one."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import Type

if TYPE_CHECKING:
    from ptxgen.instructions.checking import Given

__all__ = ["allowed_values", "constant_problem", "has_constants", "held"]


def constant_problem(match: Match, contract: Operand, one: Given, demanded: Type, index: int) -> str:
    """What is wrong with a constant in a place, or an empty text."""
    if match.allows(contract.immediate) and not has_constants(demanded):
        return f"the constant {one.text} is given where the instruction takes .{demanded.name}, a type that PTX has no constants of"
    if not match.allows(contract.immediate):
        return f"the constant {one.text} stands where the instruction takes a register"
    if one.kind == "float" and not (demanded.is_float or demanded.kind == "bits"):
        return f"the floating constant {one.text} is given where the instruction takes .{demanded.name}"
    if one.kind == "float" and demanded.kind == "bits" and demanded.bits != _float_bits(one.text):
        return f"the constant {one.text} has {_float_bits(one.text)} bits where the instruction takes .{demanded.name}"
    if one.kind == "float" and contract.values is not None:
        return f"the floating constant {one.text} is none of those that the instruction takes"
    if one.kind == "float" and contract.fraction and not 0 < _float_value(one.text) <= 1:
        return f"the constant {one.text} is out of range"
    if one.kind == "int" and demanded.is_float:
        return f"the integer constant {one.text} is given where the instruction takes .{demanded.name}"
    allowed = allowed_values(contract, index)
    if one.value is not None and allowed is not None and one.value not in allowed:
        return f"the constant {one.text} is out of range"
    return ""


def held(match: Match, contract: Operand, value: int) -> int:
    """What an operand holds of a constant: an unsigned one its lowest bits (ISA 4.5.1)."""
    demanded = match.type(contract.type) if contract.type else None
    return value % (1 << demanded.bits) if demanded is not None and demanded.kind == "unsigned" else value


def allowed_values(contract: Operand, index: int) -> tuple[int, ...] | range | None:
    """The constants that may stand for an operand, or for one element of a vector."""
    values = contract.values
    if isinstance(values, tuple) and isinstance(values[0], range):
        values = values[index]
    return values


def _float_value(text: str) -> float:
    """The value of a floating constant: the bits of an .f32 or .f64, or a decimal number (ISA 4.5.2)."""
    head = text[:2].lower()
    if head in ("0f", "0d"):
        value: float = struct.unpack(">f" if head == "0f" else ">d", bytes.fromhex(text[2:]))[0]
        return value
    return float(text)


def _float_bits(text: str) -> int:
    """The width of a floating constant: ``0f`` and eight digits are an .f32, everything else is an .f64 (ISA 4.5.2)."""
    return 32 if text.lower().startswith("0f") else 64


def has_constants(of: Type) -> bool:
    """Whether a constant can stand for a value of a type: not for a packed one or a 16-bit float (ISA 4.5, "Constants")."""
    return of.lanes == 1 and not (of.is_float and of.bits < 32)
