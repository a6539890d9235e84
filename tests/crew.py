"""Many tasks at once: a pool of processes that survives what a task does to its own.

A fault on the GPU ends a process's use of it, and a kernel that waits for ever never returns. So each process works on one task at a
time; the one that dies or takes too long is replaced, and that is its task's outcome.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["Done", "Lost", "crew", "in_a_process"]

Task = TypeVar("Task")
Asked = TypeVar("Asked")


class Lost(str):
    """What became of a task that has no result: its process ended, or was ended."""


class Done(NamedTuple):
    """A task, the result of its work or a `Lost`, and the seconds that it took."""

    task: Any
    result: Any
    seconds: float


def crew(tasks: Iterable[Task], work: Callable[[Task], tuple[Any, bool]], processes: int, seconds: float) -> Iterator[Done]:
    """Each task with its result, as they come.

    `work` gives the result, and whether its process is of no more use. It is forked, so what this process knows, it knows. A task may
    take so many seconds.
    """
    members: list[_Member[Task]] = [_Member(work) for _ in range(processes)]
    left, more = iter(tasks), True
    try:
        while more or any(member.busy for member in members):
            for member in members:
                if more and not member.busy:
                    try:
                        task = next(left)
                    except StopIteration:
                        more = False
                    else:
                        member.begin(task)
            wait([member.pipe for member in members if member.busy], timeout=0.5)
            for place, member in enumerate(members):
                if member.busy and (done := member.outcome(seconds)) is not None:
                    if member.spent:
                        members[place] = _Member(work)
                    yield done
    finally:
        for member in members:
            member.end()


def in_a_process(ask: Callable[[], Asked]) -> Asked:
    """The answer of a process of its own: what asks the driver is of no use after a fork."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(ask)


class _Member(Generic[Task]):
    """A process, and the task that it works on."""

    def __init__(self, work: Callable[[Task], tuple[Any, bool]]) -> None:
        self.pipe, there = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=(there, work), daemon=True)
        self._process.start()
        there.close()
        self._task: Task | None = None
        self._since = 0.0
        self.busy = False
        self.spent = False

    def begin(self, task: Task) -> None:
        self._task, self._since, self.busy = task, time.monotonic(), True
        self.pipe.send(task)

    def outcome(self, limit: float) -> Done | None:
        """What became of the task, once that is known."""
        seconds = time.monotonic() - self._since
        if self.pipe.poll():
            try:
                result, self.spent = self.pipe.recv()
            except (EOFError, ConnectionResetError):
                self._process.join()
                result, self.spent = Lost(f"the process ended with code {self._process.exitcode}"), True
        elif seconds > limit:
            result, self.spent = Lost(f"no end within {limit:.0f} seconds"), True
        else:
            return None
        self.busy = False
        if self.spent:
            self.end()
        return Done(self._task, result, seconds)

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection, work: Callable[[Any], tuple[Any, bool]]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever began this ends it
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(work(task))
