"""Runs a wave: the blocks that are resident together, their groups of threads taken in turn until all have exited."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ptxgen.emulator.asynchronous import Copies
from ptxgen.emulator.barriers import Barriers
from ptxgen.emulator.code import Code
from ptxgen.emulator.collectives import Collectives
from ptxgen.emulator.frames import Frame
from ptxgen.emulator.hazards import Hazards
from ptxgen.emulator.hazards_global import GlobalAccesses
from ptxgen.emulator.inflight import InFlight
from ptxgen.emulator.mbarrier import MBarriers
from ptxgen.emulator.memory import FIRST, Memory
from ptxgen.emulator.operands import Array
from ptxgen.emulator.program import Program
from ptxgen.emulator.rendezvous import Rendezvous
from ptxgen.emulator.reports import ReportBook
from ptxgen.emulator.schedule import Group, Pool
from ptxgen.emulator.tensor_memory import TensorMemory
from ptxgen.emulator.threads import Threads
from ptxgen.emulator.warpgroup import Warpgroups
from ptxgen.ir import Call, Instruction

__all__ = ["Group", "Wave"]

LOCAL_LIMIT = 1 << 30
"""Bytes that the local memory of a wave may grow to through recursion."""

DEPTH_LIMIT = 4096


class Wave:
    """The state of one wave of blocks; it takes over the register files (`frames`) of the wave before.

    Attributes
    ----------
    threads : Threads
    memory : Memory
    reports : ReportBook
    checks : bool
    copies, mbarriers, hazards : Copies, MBarriers, Hazards
        What is under way, who waits for it, and what orders accesses.
    special : dict
        Special registers already computed.
    steps, instructions : int
        Counters of `EmulationResult`.
    alive : array of bool
        Threads that have not exited.
    """

    def __init__(
        self,
        program: Program,
        threads: Threads,
        memory: Memory,
        reports: ReportBook,
        *,
        seed: int,
        step_limit: int,
        checks: bool,
        races: GlobalAccesses | None = None,
        frames: dict[tuple[int, int], Frame] | None = None,
    ) -> None:
        self.program = program
        self.threads = threads
        self.memory = memory
        self.reports = reports
        self.checks = checks
        self.step_limit = step_limit
        self.special: dict[Any, Array] = {}
        self.steps = 0
        self.instructions = 0
        self.alive = np.ones(threads.count, np.bool_)
        self.pool = Pool(threads, seed)
        self.barriers = Barriers(self)
        self.rendezvous = Rendezvous(self)
        self.in_flight = InFlight(self)
        self.collectives = Collectives(self)
        self._frames = _fresh(frames, threads.count)
        self._sites: dict[int, Array] = {}
        memory.threads = threads
        memory.instances = {"shared": threads.block, "local": np.arange(threads.count)}
        self.copies = Copies(self, seed)
        self.mbarriers = MBarriers(self, seed)
        self.hazards = Hazards(self, self.copies, races)
        memory.tracker = self.hazards if checks else None
        if "shared" in memory.spaces:
            memory.spaces["shared"].tracker = memory.tracker
        for region in memory.globals:
            region.tracker = memory.tracker if races is not None else None

    @cached_property
    def warpgroups(self) -> Warpgroups:
        """Groups and fences of wgmma."""
        return Warpgroups(self)

    @cached_property
    def tensor_memory(self) -> TensorMemory:
        """Made when an instruction first asks for it."""
        return TensorMemory(self)

    # ---- what closures ask for ----------------------------------------------------------------------------------------

    def frame(self, group: Group) -> Frame:
        return self.frame_of(group.code, group.depth)

    def frame_of(self, code: Code, depth: int) -> Frame:
        """The registers of a function at a call depth, made on first use."""
        found = self._frames.get((code.number, depth))
        if found is None:
            base = FIRST["local"] + depth * self.program.frame_bytes
            found = self._frames[code.number, depth] = Frame(code, depth, self.threads.count, base)
        return found

    def sites(self, depth: int) -> Array:
        """For each thread the number of the call that brought it to `depth`."""
        found = self._sites.get(depth)
        if found is None:
            found = self._sites[depth] = np.zeros(self.threads.count, np.int64)
        return found

    def count(self, index: Any) -> int:
        """The number of threads in a set."""
        return self.threads.count if index is None else len(index)

    def indices(self, index: Any) -> Array:
        """A set of threads as an array, also where it is all of them."""
        return np.arange(self.threads.count) if index is None else index

    def exited(self, block: int) -> bool:
        """Whether no thread of a block of the wave runs any more."""
        size = self.threads.launch.block_threads
        return not self.alive[block * size : (block + 1) * size].any()

    def check_register(self, frame: Frame, slot: int, index: Any, statement: Instruction | Call, name: str) -> None:
        """Report the threads that read a register before writing it."""
        flag = frame.written[slot]
        if flag is False:
            missing = self.indices(index)
        else:
            written = flag if index is None else flag[index]
            if written.all():
                if index is None:
                    frame.written[slot] = True
                return
            missing = np.flatnonzero(~written) if index is None else index[~written]
        if slot in frame.code.watched:
            missing = self.in_flight.touch(frame, slot, missing, statement)
        marks, reason = frame.spoiled.get(slot, (None, ""))
        if marks is not None and marks[missing].any():
            spoiled = missing[marks[missing]]
            self.reports.add("undefined value", f"{name} is read, {reason}", statement, self.threads, spoiled, subject=name)
            missing = missing[~marks[missing]]
        if len(missing):
            self.reports.add(
                "unwritten register", f"{name} is read, which nothing has written", statement, self.threads, missing, subject=name
            )

    def enter(self, depth: int, index: Any, statement: Call) -> bool:
        """Make room for a call at `depth`; where there is none, report and say no."""
        size = self.program.frame_bytes
        local = self.memory.spaces.get("local")
        if depth > DEPTH_LIMIT or (local is not None and self.threads.count * size * (depth + 1) > LOCAL_LIMIT):
            message = f"calls are nested {depth} deep, more than the emulator follows"
            self.reports.add("call", message, statement, self.threads, self.indices(index))
            return False
        if local is not None:
            if local.stride < size * (depth + 1):
                local.grow(max(2 * local.stride, size * (depth + 1)))
            assert local.written is not None
            shadow = local.written.reshape(self.threads.count, local.stride)
            shadow[slice(None) if index is None else index, depth * size : (depth + 1) * size] = 0
        return True

    def retire(self, index: Any) -> None:
        """Threads exit."""
        self.alive[slice(None) if index is None else index] = False
        self.hazards.exited(self.indices(index))
        self.barriers.after_exit()
        for group in self.rendezvous.after_exit():
            self.pool.push(group)
        for group in self.collectives.after_exit():
            self.pool.push(group)

    # ---- running ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run every thread to its end; what cannot end is reported."""
        self.pool.push(Group(self.program.entry, 0, 0, None))
        while True:
            group = self.pool.pop()
            if group is None:
                if self.alive.any() and (self.copies.deliver() or self.mbarriers.time_out()):
                    continue
                self._report_stuck()
                self.copies.finish(stuck=bool(self.alive.any()))
                if not self.alive.any():
                    self.hazards.finish()
                if "tensor_memory" in self.__dict__ and self.checks and not self.alive.any():
                    self.tensor_memory.report_leaks()
                return
            self.copies.maybe_deliver()
            if not self._advance(group):
                return

    def _report_stuck(self) -> None:
        """Nobody can run: report whoever waits."""
        self.rendezvous.report_stuck()
        if "tensor_memory" in self.__dict__:
            self.tensor_memory.report_stuck()
        collecting = [(statement.opcode, group, statement) for group, statement in self.collectives.waiting]
        self.collectives.report_stuck(self.barriers.waiting)
        self.barriers.report_stuck(collecting)
        self.mbarriers.report_stuck()

    def _advance(self, group: Group) -> bool:
        """Run one group until it must wait for its turn again; False where the step limit ends the wave."""
        pool = self.pool
        while True:
            self._straight(group)
            op = group.code.ops[group.pc]
            if op.control is None:
                pool.push(group)
                return True
            self.steps += 1
            self.instructions += self.count(group.index)
            following = op.control(self, group)
            if self.steps > self.step_limit:
                self._past_limit(op.statement, group)
                return False
            if len(following) != 1 or pool or pool.scrambles:
                for one in following:
                    pool.push(one)
                return True
            group = following[0]

    def _straight(self, group: Group) -> None:
        """Run straight-line code, up to an instruction of control or to a place where others may join."""
        ops = group.code.ops
        frame = self.frame_of(group.code, group.depth)
        pc, index = group.pc, group.index
        start = pc
        shared = bool(self.pool) or self.pool.scrambles
        while True:
            op = ops[pc]
            run = op.run
            if run is None:
                break
            run(self, frame, index)
            pc += 1
            self.steps += 1
            if shared and op.ends_block:
                break
        self.instructions += (pc - start) * self.count(index)
        group.pc = pc

    def _past_limit(self, statement: Instruction | Call | None, group: Group) -> None:
        message = f"{int(self.alive.sum())} threads have not ended after {self.step_limit} steps: endless, or raise step_limit"
        self.reports.add("step limit", message, statement, self.threads, self.indices(group.index)[:1])


def _fresh(frames: dict[tuple[int, int], Frame] | None, threads: int) -> dict[tuple[int, int], Frame]:
    """Register files of an earlier wave, emptied; new ones where it had another number of threads. Their pages are the costly part."""
    if frames is None:
        return {}
    if any(frame.threads != threads for frame in frames.values()):
        frames.clear()
    for frame in frames.values():
        frame.forget()
    return frames
