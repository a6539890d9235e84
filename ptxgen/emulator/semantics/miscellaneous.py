"""Traps, breakpoints and sleep (ISA 9.7.21): what ends a launch on a GPU is a report here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxgen.emulator.lowering import Control, Lowering, Run
from ptxgen.emulator.semantics.table import control, execution
from ptxgen.instructions.types import TYPES

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Group, Wave


@control("miscellaneous", "trap", "brkpt")
def lower_trap(low: Lowering) -> Control:
    """Threads that trap, or meet a breakpoint without a debugger, end the launch; here they exit, so that the others' faults show too."""
    name = low.match.entry.name
    message = "the thread traps" if name == "trap" else "the thread meets a breakpoint, which without a debugger ends the launch"

    def stop(wave: Wave, group: Group) -> list[Group]:
        wave.reports.add("trap", message, low.statement, wave.threads, wave.indices(group.index))
        wave.retire(group.index)
        return []

    return stop


@execution("miscellaneous", "nanosleep")
def lower_sleep(low: Lowering) -> Run:
    """Sleeping for no time at all is allowed; the operand is read all the same."""
    get = low.source(low.named["t"], TYPES["u32"])

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        get(wave, frame, index)

    return run


@execution("miscellaneous", "pmevent", "pmevent.mask")
def lower_event(low: Lowering) -> Run:
    """Nobody counts."""
    return lambda wave, frame, index: None
