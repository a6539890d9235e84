"""Tile operations: one named instruction, or one scalar function, repeated over operand views."""

from __future__ import annotations

from ptxgen.tile.apply import apply
from ptxgen.tile.ewise import ewise

__all__ = ["apply", "ewise"]
