"""The root of ptxgen's error tree, and the errors that layouts raise."""

from __future__ import annotations


class PtxgenError(Exception):
    """Root of every error that ptxgen raises on purpose."""


class LayoutError(PtxgenError, ValueError):
    """A layout, or a question asked of one, that has no meaning."""
