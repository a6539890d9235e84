"""Launches of the kernels in ``tests/foreign/cuda``, with what NumPy says that they compute."""

from __future__ import annotations

from tests.foreign.cases import arithmetic, control, matrices, memory, narrow, warps
from tests.foreign.cases.case import Case

__all__ = ["CASES", "Case"]

CASES: list[Case] = [*arithmetic.CASES, *control.CASES, *memory.CASES, *narrow.CASES, *warps.CASES, *matrices.CASES]
