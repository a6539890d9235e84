"""Many kernels at once, each in a process of its own that it may end or hang (`tests.crew`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.crew import Lost, crew, in_a_process
from tests.random_kernels.drawing import Drawn
from tests.random_kernels.running import disagreement

TIME_LIMIT = 60.0
"""Seconds that a kernel may take in all."""


class Outcome(NamedTuple):
    """What became of a kernel: None where all agree."""

    drawn: Drawn
    wrong: str | None
    seconds: float


def gpu_missing() -> str | None:
    """Why there is no GPU to compare with, or None."""
    return in_a_process(_no_gpu)


def _no_gpu() -> str | None:
    from ptxgen.runtime import current_device, no_gpu_reason

    reason = no_gpu_reason()
    if reason is not None:
        return reason
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed, which the arrays on the GPU are made with"
    del torch
    target = current_device().target
    return None if target.startswith("sm_90") else f"the kernels are drawn for sm_90a, and this is {target}"


def outcomes(kernels: Iterable[Drawn], processes: int, gpu: bool) -> Iterator[Outcome]:
    """Each kernel's outcome, as they come."""

    def work(drawn: Drawn) -> tuple[str | None, bool]:
        wrong = disagreement(drawn, gpu)
        return wrong, gpu and wrong is not None  # a context that has seen a fault is of no more use

    for done in crew(kernels, work, processes, TIME_LIMIT):
        yield Outcome(done.task, str(done.result) if isinstance(done.result, Lost) else done.result, done.seconds)
