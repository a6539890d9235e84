"""The smallest set of demands that nothing meets together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

__all__ = ["smallest_conflict"]


def smallest_conflict(meets: Any) -> tuple[int, ...]:
    """The fewest demands that conflict: no candidate meets all of them, and without any one of them some candidate does.

    Parameters
    ----------
    meets : array of shape (candidates, demands)
        Whether a candidate meets a demand.

    Returns
    -------
    tuple of int
        Numbers of demands, ascending; of several sets of the same size the first. Empty where some candidate meets everything.
    """
    table = np.asarray(meets, np.bool_)
    if table.ndim != 2:
        raise ValueError(f"a table of candidates by demands has two axes, not {table.ndim}")
    if table.all(axis=1).any():
        return ()
    wanted = np.unique(table, axis=0)
    return next(chosen for size in range(1, table.shape[1] + 1) for chosen in combinations(range(table.shape[1]), size)
                if _conflict(wanted, chosen))  # fmt: skip


def _conflict(table: np.ndarray, chosen: Sequence[int]) -> bool:
    return not table[:, list(chosen)].all(axis=1).any()
