"""The root of ptxgen's error tree, and the errors that layouts raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Error = TypeVar("Error", bound="PtxgenError")


class PtxgenError(Exception):
    """Root of every error that ptxgen raises on purpose.

    Attributes
    ----------
    where : object
        The user's line, whose str() opens the message and whose `source` is shown below; None where it is not known (yet).
    """

    where: Any = None

    def at(self: Error, where: Any) -> Error:
        """The same error, placed at the user's line; an earlier place is kept."""
        if self.where is None:
            self.where = where
        return self

    def reword(self: Error, change: Callable[[str], str]) -> Error:
        """The same error with `change` applied to every sentence of its message."""
        for name in ("problem", "rule", "example", "why", "legal"):
            if hasattr(self, name):
                setattr(self, name, change(getattr(self, name)))
        return self

    def placed(self, head: str) -> list[str]:
        """The first lines of the message: `head` behind the user's line, and that line's source."""
        if self.where is None:
            return [head]
        source = getattr(self.where, "source", "")
        return [f"{self.where}: {head}", f"  line: {source}"] if source else [f"{self.where}: {head}"]

    def __str__(self) -> str:
        return "\n".join(self.placed(super().__str__()))


class LayoutError(PtxgenError, ValueError):
    """A layout, or a question asked of one, that has no meaning. `legal` says what would have."""

    def __init__(self, problem: str, legal: str = "") -> None:
        super().__init__(problem)
        self.legal = legal

    def __str__(self) -> str:
        return f"{super().__str__()}\n  legal: {self.legal}" if self.legal else super().__str__()


class Impossible(LayoutError):
    """A search that proved that nothing meets all demands at once.

    Attributes
    ----------
    demands : tuple of str
        The smallest set of demands that conflict, one sentence each: without any one of them the rest can be met.
    """

    def __init__(self, problem: str, demands: Sequence[str], legal: str = "") -> None:
        super().__init__(problem, legal)
        self.demands = tuple(demands)

    def __str__(self) -> str:
        lines = [PtxgenError.__str__(self), *(f"  demand: {demand}" for demand in self.demands)]
        return "\n".join([*lines, f"  legal: {self.legal}"] if self.legal else lines)
