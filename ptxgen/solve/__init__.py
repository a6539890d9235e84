"""Searches for layouts and views that instructions accept. Explicit: no tile operation calls them.

Each call returns a plan: immutable, printed as what was decided and why, with attributes that pass to `px.local`, `px.shared` and
`px.tile.apply`, and a `check()` that proves it. Where no plan exists it raises `Impossible`, which names the smallest set of demands in
conflict.
"""

from __future__ import annotations

from ptxgen.layouts.errors import Impossible
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.copy import CopyPart, CopyPlan, copy
from ptxgen.solve.shared import Access, SharedPlan, shared

__all__ = ["Access", "Arrangement", "CopyPart", "CopyPlan", "Impossible", "SharedPlan", "copy", "shared"]
