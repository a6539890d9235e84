"""What public calls take: a decorator holds their arguments against kinds of values, so that a wrong one is refused by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard

__all__ = [
    "BUILT", "COUNT", "EXTENTS", "FLAG", "INTEGER", "LAYOUT", "NAMES", "NATURAL", "SEQUENCE", "SHAPE", "TEXT", "WORDS", "Kind", "takes",
]  # fmt: skip


P = ParamSpec("P")
T = TypeVar("T")

_VARARGS, _VARKEYWORDS = 0x04, 0x08  # flags of a code object, as in inspect, which takes long to import


class Kind(NamedTuple):
    """A kind of argument.

    Attributes
    ----------
    holds : callable
        Whether a value is of the kind.
    words : str
        What it is, with its article.
    legal : str
        What to write instead, where the words do not say it.
    """

    holds: Callable[[Any], bool]
    words: str
    legal: str = ""


def _is_integer(value: object) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _is_extent(value: object) -> bool:
    return isinstance(value, (Expr, Symbol)) or (_is_integer(value) and value > 0)  # type: ignore[operator]


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


INTEGER = Kind(_is_integer, "an int")
NATURAL = Kind(lambda value: _is_integer(value) and value >= 0, "an int of 0 or more")
COUNT = Kind(lambda value: _is_integer(value) and value > 0, "a positive int")
FLAG = Kind(lambda value: isinstance(value, bool), "True or False")
TEXT = Kind(lambda value: isinstance(value, str), "a str")
NAMES = Kind(lambda value: isinstance(value, Sequence) and all(map(TEXT.holds, value)), "a tuple of str")
WORDS = Kind(
    lambda value: isinstance(value, Iterator) or (isinstance(value, Collection) and all(map(TEXT.holds, value))), "a str or several"
)
SEQUENCE = Kind(_is_sequence, "a tuple")
EXTENTS = Kind(lambda value: _is_sequence(value) and all(map(_is_extent, value)), "a tuple of positive ints")
SHAPE = Kind(
    lambda value: EXTENTS.holds(value) or (_is_integer(value) and value > 0), "a positive int or a tuple of them"
)
BUILT = Kind(lambda value: isinstance(value, Layout), "a Layout", "px.Layout(S[extents : strides])")
LAYOUT = Kind(lambda value: isinstance(value, (Layout, Shard)), "a layout", "px.Layout(...) or S[extents : strides]")


def takes(**kinds: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function refuse arguments that are not of these kinds, by a LayoutError that names them. What is the default is taken.

    A kind for the name of ``**names`` is asked of each of them.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        written: Any = function
        while written.__code__.co_flags & _VARARGS and hasattr(written, "__wrapped__"):  # a decorator's, which takes anything
            written = written.__wrapped__
        code = written.__code__
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        positional = named[: code.co_argcount]
        defaults = _defaults(written, positional)
        others = code.co_varnames[len(named) + bool(code.co_flags & _VARARGS)] if code.co_flags & _VARKEYWORDS else ""
        rest = kinds.get(others)

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            for name, value in (*zip(positional, args), *kwargs.items()):
                kind = kinds.get(name) if name in named else rest
                if kind is not None and value is not defaults.get(name, kind) and not kind.holds(value):
                    raise refused(written.__name__, name, value, kind)
            return function(*args, **kwargs)

        return called

    return decorate


def refused(call: str, name: str, value: object, kind: Kind) -> LayoutError:
    """The error for an argument that is not of its kind."""
    return LayoutError(f"{call}() takes {kind.words} for {name}, not {value!r}", legal=kind.legal)


def _defaults(function: Any, positional: Sequence[str]) -> Mapping[str, Any]:
    given = function.__defaults__ or ()
    return {**dict(zip(positional[len(positional) - len(given) :], given)), **(function.__kwdefaults__ or {})}
