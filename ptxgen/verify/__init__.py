"""`verify`: holds a PTX module that was read against the contracts, before any assembler sees it."""

from __future__ import annotations

from ptxgen.verify.module import verify
from ptxgen.verify.problems import SWITCHES, Problem

__all__ = ["SWITCHES", "Problem", "verify"]
