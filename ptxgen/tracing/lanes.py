"""Masks of lanes that are constants, held against the threads that are known to be active where the instruction stands."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.instructions.checking import Checked
from ptxgen.instructions.registry import Match

if TYPE_CHECKING:
    from ptxgen.tracing.builder import Builder

__all__ = ["check_lanes", "takes_lanes"]

_WARP = 1 << 32


@lru_cache(maxsize=None)
def takes_lanes(match: Match) -> str:
    """The operand of an instruction that is a mask of lanes, or an empty text."""
    return next((name for name, operand in match.entry.operands.items() if operand.lanes), "")


def check_lanes(builder: Builder, checked: Checked, guarded: bool) -> None:
    """Refuse a mask that names no lane, or leaves out one that executes the instruction.

    Raises
    ------
    LintError
    """
    name = takes_lanes(checked.match)
    mask = next((given.value for operand, given in checked.operands if operand == name), None)
    if mask is None or mask % _WARP == _WARP - 1:
        return
    from ptxgen.lint.masks import mask_problem
    from ptxgen.lint.switch import LintError, allowed

    found = mask_problem(mask % _WARP, 0 if guarded else _executing(builder), builder.threads)
    if found is not None and found.severity == "error" and not allowed("membermask"):
        match = checked.match
        raise LintError(
            "membermask", found.problem, opcode=match.opcode, operand=name, section=match.entry.section, example=found.example,
            legal=found.legal,
        )  # fmt: skip


def _executing(builder: Builder) -> int:
    """The threads that certainly come here, as bits: none where something other than the thread's index decides."""
    if builder.divergence() is not None or builder.elected():
        return 0
    active = np.zeros(-(-builder.threads // 8) * 8, bool)
    active[builder.active_threads()] = True
    return int.from_bytes(np.packbits(active, bitorder="little").tobytes(), "little")
