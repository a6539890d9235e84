"""Many kernels at once: a pool of processes that survives what a kernel does to its own.

A fault on the GPU ends a process's use of it, and a kernel that waits for ever never returns. So each process works on one kernel at a
time; the one that dies or takes too long is replaced, and that is its kernel's outcome.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

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
    """Why there is no GPU to compare with, or None; asked in a process of its own, since a driver does not survive a fork."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_no_gpu)


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
    crew = [_Worker(gpu) for _ in range(processes)]
    left, more = iter(kernels), True
    try:
        while more or any(worker.busy for worker in crew):
            for worker in crew:
                if more and not worker.busy:
                    drawn = next(left, None)
                    more = drawn is not None
                    if drawn is not None:
                        worker.begin(drawn)
            wait([worker.pipe for worker in crew if worker.busy], timeout=0.5)
            for place, worker in enumerate(crew):
                if worker.busy and (outcome := worker.outcome()) is not None:
                    if worker.spent:
                        crew[place] = _Worker(gpu)
                    yield outcome
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process, and the kernel that it works on."""

    def __init__(self, gpu: bool) -> None:
        self.pipe, there = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=_work, args=(there, gpu), daemon=True)
        self._process.start()
        there.close()
        self._drawn: Drawn | None = None
        self._since = 0.0
        self.spent = False

    @property
    def busy(self) -> bool:
        return self._drawn is not None

    def begin(self, drawn: Drawn) -> None:
        self._drawn, self._since = drawn, time.monotonic()
        self.pipe.send(drawn)

    def outcome(self) -> Outcome | None:
        """What became of the kernel, once that is known."""
        assert self._drawn is not None
        seconds = time.monotonic() - self._since
        if self.pipe.poll():
            try:
                wrong, self.spent = self.pipe.recv()
            except (EOFError, ConnectionResetError):
                self._process.join()
                wrong, self.spent = f"the process ended with code {self._process.exitcode}", True
        elif seconds > TIME_LIMIT:
            wrong, self.spent = f"no end within {TIME_LIMIT:.0f} seconds", True
        else:
            return None
        found = Outcome(self._drawn, wrong, seconds)
        self._drawn = None
        if self.spent:
            self.end()
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(pipe: Connection, gpu: bool) -> None:
    while True:
        try:
            drawn = pipe.recv()
        except EOFError:
            return
        wrong = disagreement(drawn, gpu)
        pipe.send((wrong, gpu and wrong is not None))  # a context that has seen a fault is of no more use
