"""Instructions of no other chapter (ISA 9.7.21): they stop a thread, let it sleep, or tell a profiler."""

from __future__ import annotations

from ptxgen.instructions.language import Since, immediate, instruction, source

brkpt = instruction(
    "brkpt",
    section="9.7.21.1",
    summary="Stops the thread for a debugger.",
    syntax="brkpt;",
)

nanosleep = instruction(
    "nanosleep",
    section="9.7.21.2",
    summary="Lets the thread sleep for about t nanoseconds: between none and twice as long, a millisecond at most.",
    syntax="nanosleep.u32 t;",
    operands={"t": source("u32")},
    since=(Since("6.3", "sm_75+"),),
)

pmevent = instruction(
    "pmevent",
    section="9.7.21.3",
    summary="Triggers an event of the profiler's counters by its number, 0 to 15.",
    syntax="pmevent a;",
    operands={"a": immediate("u32", range(16))},
    since=(Since("1.4"),),
)

pmevent_mask = instruction(
    "pmevent.mask",
    section="9.7.21.3",
    summary="Triggers the events of the profiler's counters whose bits are set in a 16-bit mask.",
    syntax="pmevent.mask a;",
    operands={"a": immediate("u32", range(1 << 16))},
    since=(Since("3.0"),),
    meaning={".mask": "The operand is a mask of events instead of the number of one."},
)

trap = instruction(
    "trap",
    section="9.7.21.4",
    summary="Aborts the launch and interrupts the host, whose next call into the driver reports it.",
    syntax="trap;",
    ends=True,
)
