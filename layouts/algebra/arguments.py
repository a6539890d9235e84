"""What the functions of the algebra take for a layout."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, Union

from ptxgen.layouts.layout import Layout, as_layout
from ptxgen.layouts.spec import Shard

P = ParamSpec("P")
T = TypeVar("T")


def on_layout(function: Callable[Concatenate[Layout, P], T]) -> Callable[Concatenate[Union[Layout, Shard], P], T]:
    """The function, which then takes `S[...]` for its first layout too, and refuses by a LayoutError what is neither."""
    first = function.__code__.co_varnames[0]

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> T:
        if not given and first in named:
            given = (named.pop(first),)
        if not given:
            return function()  # type: ignore[call-arg]  # Python's own words for a missing argument
        return function(as_layout(given[0]), *given[1:], **named)

    return called
