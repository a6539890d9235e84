"""Plans that do not change once they are made."""

from __future__ import annotations

from typing import Any

__all__ = ["Frozen"]


class Frozen:
    """An object whose attributes are set once, and which shows itself as it prints."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            raise AttributeError(f"a plan does not change: {name} is set")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan does not change: {name} stays")

    def __repr__(self) -> str:
        return str(self)
