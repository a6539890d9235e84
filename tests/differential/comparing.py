"""Many cases at once: batches in processes of their own, split where one of their cases can't be run."""

from __future__ import annotations

import gc
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ptxgen.instructions.targets import Version
from tests.crew import Lost, crew
from tests.differential.catalogue import Case
from tests.differential.judging import Judged, judged
from tests.differential.running import Results, emulated, load_on_gpu, made, on_gpu
from tests.differential.sections import THREADS

__all__ = ["Outcome", "Spent", "compared"]

BATCH = 128
"""Cases of a kernel."""
TIME_LIMIT = 120.0
"""Seconds that a kernel may take in all."""


class Outcome(NamedTuple):
    """A case by its number: how it was judged (None where there was no GPU to compare with), or why it could not be run."""

    case: int
    judged: Judged | None
    failed: str | None


class Spent(NamedTuple):
    """Seconds that a kernel took of one process: drawing and writing it, emulating it, loading and running it on the GPU, comparing."""

    drawing: float
    emulator: float
    loading: float
    running: float
    comparing: float


def compared(
    cases: Sequence[Case], target: str, version: Version, *, seed: int, count: int, processes: int, gpu: bool
) -> Iterator[Outcome | Spent]:
    """Each case's outcome, and what each kernel took, as they come; without a `gpu` they are run in the emulator alone."""

    def once(numbers: Sequence[int]) -> list[Outcome | Spent]:
        times = [time.perf_counter()]

        def lap() -> None:
            times.append(time.perf_counter())

        batch = made([cases[number] for number in numbers], target, version, hash((seed, numbers[0])) & 0xFFFFFFFF, count)
        lap()
        mine = emulated(batch)
        lap()
        if not gpu:
            return [Outcome(number, None, None) for number in numbers] + [Spent(*_laps(times), 0.0, 0.0, 0.0)]
        load_on_gpu(batch.text, "k")
        lap()
        out, _, cells = on_gpu(batch.text, "k", count // THREADS, THREADS, [batch.out, batch.columns, batch.cells])
        lap()
        found = judged(batch, mine, Results(out, cells))
        lap()
        return [*(Outcome(number, one, None) for number, one in zip(numbers, found)), Spent(*_laps(times))]

    def work(numbers: Sequence[int]) -> tuple[list[Outcome | Spent] | None, bool]:
        try:
            return once(numbers), False
        except Exception as error:
            faulted = type(error).__name__ == "DriverError"
            if len(numbers) == 1:
                return [Outcome(numbers[0], None, f"{type(error).__name__}: {error}")], faulted
            if faulted:
                return None, True  # its context is of no more use
        half = len(numbers) // 2
        found: list[Outcome | Spent] = []
        for part in (numbers[:half], numbers[half:]):
            outcomes, spent = work(part)
            if outcomes is None or spent:
                return None, True
            found += outcomes
        return found, False

    gc.collect()
    gc.freeze()  # the processes share the cases, and a collection would copy them
    waiting = [tuple(range(first, min(first + BATCH, len(cases)))) for first in range(0, len(cases), BATCH)]
    random.Random(seed).shuffle(waiting)  # so that an interrupted run has something of each family
    while waiting:
        tasks, waiting = waiting, []
        for done in crew(tasks, work, min(processes, len(tasks)), TIME_LIMIT):
            if done.result is None or isinstance(done.result, Lost):
                numbers = done.task
                if len(numbers) == 1:
                    yield Outcome(numbers[0], None, str(done.result))
                else:
                    waiting += [numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]]
            else:
                yield from done.result


def _laps(times: Sequence[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(times)]
