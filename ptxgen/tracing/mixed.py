"""What is said where a value of another type stands, or what has no value at all: only advice that would be taken."""

from __future__ import annotations

from typing import Any

from ptxgen.errors import TraceError
from ptxgen.instructions.types import Type, pred
from ptxgen.tracing.provenance import Where

__all__ = ["different_types", "no_attribute", "no_number", "no_scalar", "other_type"]


def different_types(left: Type, symbol: str, right: Type, where: Where) -> TraceError:
    """Two operands of an operator do not have the same type."""
    if pred in (left, right):
        legal = _advice(pred, right if left is pred else left)
    elif "bits" in (left.kind, right.kind) and left.kind != right.kind:
        legal = _advice(left, right) if left.kind == "bits" else _advice(right, left)
    elif left.lanes > 1 or right.lanes > 1 or left.kind == "bits":
        legal = _advice(right, left)
    else:
        kept = "; .bitcast keeps the bits" if left.bits == right.bits else ""
        legal = f"convert one: .to(px.{left.name}) or .to(px.{right.name}){kept}"
    return TraceError(
        f".{left.name} {symbol} .{right.name}: the operands have different types",
        where=where,
        why="nothing is promoted implicitly",
        legal=legal,
    )


def other_type(given: Type, wanted: Type, where: Where) -> TraceError:
    """A value does not have the type that is needed."""
    return TraceError(
        f"a .{given.name} stands where a .{wanted.name} is needed",
        where=where,
        why="nothing is converted implicitly",
        legal=_advice(given, wanted),
    )


def _advice(given: Type, wanted: Type) -> str:
    """How a value of one type becomes one of another."""
    bitcast = f".bitcast(px.{wanted.name}) keeps the bits" if given.bits == wanted.bits else ""
    if wanted is pred:
        return "a comparison, such as x != 0, makes a predicate"
    if given is pred:
        converted = wanted.is_integer and wanted.bits > 8
        return f".to(px.{wanted.name}) makes 1 or 0 of a predicate" if converted else "px.select(p, a, b) makes a number of a predicate"
    if "bits" in (given.kind, wanted.kind):
        if bitcast or wanted.kind == "bits":
            return bitcast or f"a value of {wanted.bits} bits"
        return f".bitcast to a type of {given.bits} bits says what they mean, then .to(px.{wanted.name})"
    if given.lanes > 1 or wanted.lanes > 1:
        return bitcast or 'name the instruction that converts: px.ptx["cvt...."](...)'
    return f".to(px.{wanted.name}) converts the value" + (f", {bitcast}" if bitcast else "")


def no_number(given: Any, type: Type, where: Where) -> TraceError:
    """A float of Python meets a type that holds none."""
    if type.kind == "bits":
        legal = f"an int, or say what the bits mean first: x.bitcast(px.f{type.bits})" if type.bits in (16, 32, 64) else "an int"
    else:
        legal = f"an int, or convert the traced value first: x.to(px.f{64 if type.bits > 32 else 32})"
    return TraceError(
        f"{given!r} is no integer, and the other operand is .{type.name}",
        where=where,
        why="nothing is converted implicitly",
        legal=legal,
    )


def no_scalar(given: Any, problem: str, legal: str, where: Where) -> TraceError:
    """Something that is neither a traced value nor a number; a view, an mbarrier say themselves what to write instead of it."""
    refusal = getattr(given.__class__, "__ptxgen_refusal__", None)
    if refusal is not None:
        found: TraceError = refusal(given, "")
        return TraceError(problem, where=where, why=found.why, legal=found.legal)
    return TraceError(problem, where=where, legal=legal)


# What other libraries call it, and the way here.
_ELSEWHERE = {
    **dict.fromkeys(("astype", "cast", "convert", "float", "int", "long"), "x.to(px.f32) converts, x.bitcast(px.b32) keeps the bits"),
    **dict.fromkeys(("view", "reinterpret"), "x.bitcast(dtype)"),
    **dict.fromkeys(("item", "numpy", "tolist", "value"), "its value is known on the GPU alone, where px.printf prints it"),
    **dict.fromkeys(("dtype", "shape"), "x.type is its PTX type"),
}


def no_attribute(value: Any, name: str) -> AttributeError:
    """A traced value lacks an attribute; Python's own protocols ask as well, so this is no `TraceError`."""
    near = ""
    if not name.startswith("_"):
        import difflib

        methods = [one for one in dir(value) if not one.startswith("_")]
        near = _ELSEWHERE.get(name) or " or ".join(f"x.{one}" for one in difflib.get_close_matches(name, methods, n=2))
    return AttributeError(f"a traced value has no attribute {name!r}{f'; {near}' if near else ''}")
