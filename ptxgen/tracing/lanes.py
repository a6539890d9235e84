"""Constant masks: of lanes, held against the threads that are known to be active; of blocks, against the cluster."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.instructions.checking import Checked
from ptxgen.instructions.errors import InstructionError
from ptxgen.instructions.registry import Match

if TYPE_CHECKING:
    from ptxgen.tracing.builder import Builder

__all__ = ["check_blocks", "check_lanes", "takes_lanes"]

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


def check_blocks(cluster: tuple[int, int, int], checked: Checked) -> None:
    """Refuse an instruction that reaches blocks which the kernel's cluster does not have.

    Raises
    ------
    InstructionError
    """
    match, blocks = checked.match, prod(cluster)
    several = match.bindings.get(match.entry.several)
    if several is None:
        return
    if blocks == 1:
        raise InstructionError(
            f"{several} names blocks of a cluster, and this kernel declares none", opcode=match.opcode, section=match.entry.section,
            rule="without the launch attribute cluster= (directive .reqnctapercluster) every block is a cluster of its own",
            legal=f"@px.kernel(cluster=2, ...), or the instruction without {several}",
        )  # fmt: skip
    for name, given in checked.operands:
        if match.entry.operands[name].blocks and given.value is not None and int(given.value) >> blocks:
            raise InstructionError(
                f"the mask {int(given.value):#x} names block {int(given.value).bit_length() - 1} of a cluster of {blocks}",
                opcode=match.opcode, operand=name, section=match.entry.section, rule="bit i stands for the block of rank i",
                legal=f"bits 0 to {blocks - 1}, or a larger @px.kernel(cluster=...)",
            )  # fmt: skip


def _executing(builder: Builder) -> int:
    """The threads that certainly come here, as bits: none where something other than the thread's index decides."""
    if builder.divergence() is not None or builder.elected():
        return 0
    active = np.zeros(-(-builder.threads // 8) * 8, bool)
    active[builder.active_threads()] = True
    return int.from_bytes(np.packbits(active, bitorder="little").tobytes(), "little")
