"""Objects of a trace that look like values and are none: their operators say what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["operatorless"]

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&", "or": "|",
    "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_OTHERS = {
    "neg": "-", "pos": "+", "invert": "~", "abs": "abs()", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "bool": "a truth value", "int": "int()", "index": "a Python int",
}  # fmt: skip

C = TypeVar("C", bound=type)


def operatorless(refusal: Callable[[Any, str], Exception]) -> Callable[[C], C]:
    """A class decorator: every operator raises what `refusal` makes of the object and the operator's spelling.

    The refusal stays on the class as ``__ptxgen_refusal__``, for a value's operators, whose second operand such an object may be.
    """

    def method(symbol: str) -> Callable[..., Any]:
        def refuse(self: Any, *_: Any) -> Any:
            raise refusal(self, symbol)

        return refuse

    def decorate(cls: C) -> C:
        for name, symbol in _BINARY.items():
            for prefix in ("", "r", "i"):
                setattr(cls, f"__{prefix}{name}__", method(f"{symbol}=" if prefix == "i" else symbol))
        for name, symbol in _OTHERS.items():
            setattr(cls, f"__{name}__", method(symbol))
        cls.__ptxgen_refusal__ = staticmethod(refusal)  # type: ignore[attr-defined]
        cls.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]
        return cls

    return decorate
