"""Random structured programs: the emulator against one Python interpretation a thread, under several schedules."""

from __future__ import annotations

from itertools import count

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.emulator import emulate

THREADS = 40

# ("add", n) | ("if", bit, then, else) | ("loop", mask, body) | ("leave", bit): break out of the innermost loop | ("exit", value)
LEAVES = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 1000)),
    st.tuples(st.just("leave"), st.integers(0, 3)),
    st.tuples(st.just("exit"), st.integers(0, 60)),
)
PROGRAMS = st.lists(
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.tuples(st.just("if"), st.integers(0, 5), st.lists(inner, max_size=3), st.lists(inner, max_size=3)),
            st.tuples(st.just("loop"), st.integers(0, 7), st.lists(inner, max_size=3)),
        ),
        max_leaves=10,
    ),
    max_size=5,
)


class Leave(Exception):
    pass


class Exit(Exception):
    pass


def interpret(program, thread: int) -> int:
    """What one thread computes: x starts at its index; loops run (thread & mask) times."""
    state = [thread]

    def block(statements) -> None:
        for statement in statements:
            match statement[0]:
                case "add":
                    state[0] = (state[0] * 3 + statement[1]) % 2**32
                case "if":
                    block(statement[2] if state[0] >> statement[1] & 1 else statement[3])
                case "loop":
                    try:
                        for _ in range(thread & statement[1]):
                            block(statement[2])
                    except Leave:
                        pass
                case "leave":
                    if state[0] >> statement[1] & 1:
                        raise Leave
                case "exit":
                    if state[0] % 64 == statement[1]:
                        raise Exit

    try:
        block(program)
    except (Leave, Exit):
        pass
    return state[0]


def text(program) -> str:
    """The same as PTX: x in %r1, the thread in %r50, loop counters in registers of their own scope."""
    labels = count()
    lines: list[str] = []

    def test(bit: int) -> None:
        lines.append(f"shr.u32 %r2, %r1, {bit}; and.b32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0;")

    def block(statements, leave: str) -> None:
        for statement in statements:
            number = next(labels)
            match statement[0]:
                case "add":
                    lines.append(f"mad.lo.u32 %r1, %r1, 3, {statement[1]};")
                case "if":
                    test(statement[1])
                    lines.append(f"@!%p1 bra ELSE{number};")
                    block(statement[2], leave)
                    lines.append(f"bra JOIN{number};\nELSE{number}:")
                    block(statement[3], leave)
                    lines.append(f"JOIN{number}:")
                case "loop":
                    lines.append(f"{{ .reg .b32 %n; .reg .pred %q; and.b32 %n, %r50, {statement[1]};")
                    lines.append(f"HEAD{number}: setp.eq.u32 %q, %n, 0; @%q bra END{number}; sub.u32 %n, %n, 1;")
                    block(statement[2], f"END{number}")
                    lines.append(f"bra HEAD{number};\nEND{number}: }}")
                case "leave":
                    test(statement[1])
                    lines.append(f"@%p1 bra {leave};")
                case "exit":
                    lines.append(f"and.b32 %r2, %r1, 63; setp.eq.u32 %p1, %r2, {statement[1]}; @%p1 bra DONE;")

    block(program, "DONE")
    return "\n".join(lines)


@settings(max_examples=60, deadline=None)
@given(program=PROGRAMS, seed=st.integers(0, 5))
def test_threads_compute_what_each_would_alone(kernel, program, seed) -> None:
    out = np.zeros(THREADS, np.uint32)
    body = f"""
        mov.u32 %r50, %tid.x; mov.u32 %r1, %r50;
        {text(program)}
    DONE: ld.param.u64 %rd1, [a]; mad.wide.u32 %rd1, %r50, 4, %rd1; st.global.u32 [%rd1], %r1;"""
    result = emulate(kernel(body, ".param .u64 a"), "k", grid=1, block=THREADS, arguments=[out], seed=seed)
    result.raise_for_reports()
    np.testing.assert_array_equal(out, [interpret(program, thread) for thread in range(THREADS)])
