"""Lints: what is wrong with PTX though every instruction of it is legal, so that ptxas is silent (docs/lint.md)."""

from __future__ import annotations

from ptxgen.lint.catalogue import LINTS, Lint
from ptxgen.lint.run import lint

__all__ = ["LINTS", "Lint", "lint"]
