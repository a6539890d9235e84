"""One launch of one kernel, and how a module of launches collects them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.foreign.regenerate import TARGETS

__all__ = ["Case", "Launch", "collector"]


class Launch(NamedTuple):
    """A launch and what it leaves behind.

    Attributes
    ----------
    arguments : list
        Arrays, numbers and bytes; a function makes bytes from the addresses of the arrays.
    results : dict of int to array
        The expected contents of the arguments that are compared, by place.
    rtol : float
        0 where every bit is compared; else relative to the expected value, with a hundredth of it absolutely.
    """

    grid: Any
    block: Any
    arguments: list[Any]
    results: dict[int, np.ndarray]
    rtol: float = 0.0
    shared: int = 0


class Case(NamedTuple):
    """`make` draws arguments and expected results; `on_gpu` says whether a GPU computes the same, which clocks do not."""

    source: str
    kernel: str
    make: Callable[[np.random.Generator], Launch]
    targets: tuple[str, ...]
    on_gpu: bool

    def __str__(self) -> str:
        return f"{self.source}-{self.make.__name__}"


def collector() -> tuple[list[Case], Callable[..., Any]]:
    """A list of cases, and the decorator ``@case(source, kernel)`` that adds to it."""
    cases: list[Case] = []

    def case(source: str, kernel: str, *, targets: tuple[str, ...] = TARGETS, on_gpu: bool = True) -> Callable[[Any], Any]:
        def add(make: Any) -> Any:
            cases.append(Case(source, kernel, make, targets, on_gpu))
            return make

        return add

    return cases, case
