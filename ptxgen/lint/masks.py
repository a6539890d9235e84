"""Masks of lanes: none at all, lanes that the block does not have, an executing lane that is left out."""

from __future__ import annotations

from typing import NamedTuple

from ptxgen import ir
from ptxgen.lint.context import Context
from ptxgen.lint.flow import Step
from ptxgen.lint.operands import asks
from ptxgen.lint.plans import named_operands
from ptxgen.lint.threads import Threads
from ptxgen.text.writer import write_operand

__all__ = ["MaskProblem", "check_masks", "mask_problem"]

_WARP = 32


def check_masks(context: Context) -> None:
    """Hold every constant mask of a function against the threads that execute its instruction."""
    threads: Threads | None = None
    for number, (start, end, _) in enumerate(context.flow.blocks):
        for step in context.flow.steps[start:end]:
            for what, name in asks(step.plan):
                if what != "membermask":
                    continue
                assert isinstance(step.statement, ir.Instruction)
                operand = dict(named_operands(step.plan, step.statement.operands))[name]
                mask = context.values.operand(step, operand).constant
                if mask is None:
                    continue
                threads = threads or _threads(context)
                executing = threads.executing(number, step) if threads is not None else 0
                _check(context, step, name, operand, mask % (1 << _WARP), executing, threads)


def _threads(context: Context) -> Threads | None:
    shape = context.block()
    return Threads(context.flow, shape) if shape is not None and context.is_entry else None


def _check(context: Context, step: Step, name: str, operand: ir.Operand, mask: int, executing: int, threads: Threads | None) -> None:
    found = mask_problem(mask, executing, None if threads is None else threads.count)
    if found is not None:
        focus = write_operand(operand)
        context.report(
            "membermask", step, found.problem, severity=found.severity, operand=name, example=found.example, legal=found.legal, focus=focus
        )


class MaskProblem(NamedTuple):
    severity: str
    problem: str
    example: str
    legal: str


def mask_problem(mask: int, executing: int, count: int | None) -> MaskProblem | None:
    """What is wrong with a mask, or None.

    Parameters
    ----------
    executing : int
        The threads of the block that certainly execute it, bit i for thread i.
    count : int or None
        Threads of the block, where that is known.
    """
    if mask == 0:
        return MaskProblem("error", "the mask 0 names no lane", "", "bit i for each lane i that takes part: 0xffffffff for a whole warp")
    warp = 0
    while executing >> warp * _WARP:
        here = executing >> warp * _WARP & 0xFFFFFFFF
        there = 0xFFFFFFFF if count is None else (1 << min(_WARP, count - warp * _WARP)) - 1
        left_out, absent = here & ~mask, mask & ~there
        if left_out:
            lane = left_out.bit_length() - 1
            example = f"thread {warp * _WARP + lane} executes it, and bit {lane} is not set"
            problem = f"the mask {mask:#x} leaves out lanes that execute this"
            return MaskProblem("error", problem, example, f"a mask with the bits {here:#x}")
        if here and absent:
            lane = absent.bit_length() - 1
            example = f"the block has {count} threads, and bit {lane} stands for thread {warp * _WARP + lane}"
            return MaskProblem("warning", f"the mask {mask:#x} names lanes that are not there", example, f"a mask within {there:#x}")
        warp += 1
    return None
