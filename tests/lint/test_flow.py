"""Registers that are read unwritten, against runs of random programs in which a predicate keeps its value until it is written."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen import ir
from ptxgen.lint.flow import Flow
from ptxgen.lint.unwritten import unwritten
from tests.lint.kernels import found, ids

PREDICATES = ("%p1", "%p2")
NAMES = ("%r1", "%r2")

guards = st.none() | st.builds(ir.Guard, st.sampled_from([ir.Reg(name) for name in PREDICATES]), st.booleans())
registers = st.sampled_from([ir.Reg(name) for name in NAMES])
writes = st.builds(lambda d, g: ir.Instruction("mov.b32", (d, ir.Int(1)), g), registers, guards)
reads = st.builds(lambda a, g: ir.Instruction("mov.b32", (ir.Reg("%r9"), a), g), registers, guards)
copies = st.builds(lambda d, a, g: ir.Instruction("mov.b32", (d, a), g), registers, registers, guards)
tests = st.builds(lambda p: ir.Instruction("setp.eq.u32", (ir.Reg(p), ir.Reg("%r0"), ir.Int(0))), st.sampled_from(PREDICATES))
jumps = st.builds(lambda label, g: ir.Instruction("bra", (ir.Sym(f"L{label}"),), g), st.integers(0, 3), guards)


@st.composite
def programs(draw: st.DrawFn) -> list[ir.Statement]:
    """Labels in order, instructions between them; both predicates and %r0 are written first."""
    begin: list[ir.Statement] = [ir.Instruction("mov.b32", (ir.Reg("%r0"), ir.Int(0)))]
    begin += [ir.Instruction("setp.eq.u32", (ir.Reg(name), ir.Reg("%r0"), ir.Int(0))) for name in PREDICATES]
    body = begin
    for label in range(4):
        body += [*draw(st.lists(st.one_of(writes, reads, copies, tests, jumps), max_size=3)), ir.Label(f"L{label}")]
    return [*body, *draw(st.lists(st.one_of(reads, copies), max_size=2)), ir.Instruction("ret")]


def unwritten_in_some_run(body: list[ir.Statement], steps: int = 40) -> set[str]:
    """Registers that some run reads before it writes them: all values of each test are tried, up to so many instructions."""
    labels = {one.name: place for place, one in enumerate(body) if isinstance(one, ir.Label)}
    wrong: set[str] = set()
    seen: set[tuple[object, ...]] = set()
    waiting: list[tuple[int, frozenset[tuple[str, bool]], frozenset[str]]] = [(0, frozenset(), frozenset())]
    while waiting:
        place, decided, written = state = waiting.pop()
        if state in seen or place >= len(body):
            continue
        seen.add(state)
        one = body[place]
        if not isinstance(one, ir.Instruction):
            waiting.append((place + 1, decided, written))
            continue
        executed = one.guard is None or (one.guard.reg.name, not one.guard.negated) in decided
        if not executed:
            waiting.append((place + 1, decided, written))
        elif one.opcode == "bra":
            waiting.append((labels[one.operands[0].name], decided, written))  # type: ignore[union-attr]
        elif one.opcode == "mov.b32":
            target, source = one.operands
            if isinstance(source, ir.Reg) and source.name not in written:
                wrong.add(source.name)
            waiting.append((place + 1, decided, written | {target.name}))  # type: ignore[union-attr]
        elif one.opcode != "ret":
            name = one.operands[0].name  # type: ignore[union-attr]
            others = frozenset(literal for literal in decided if literal[0] != name)
            waiting += [(place + 1, others | {(name, value)}, written) for value in (False, True)]
    return wrong


@settings(max_examples=300, deadline=None)
@given(programs())
def test_unwritten_registers_are_those_of_some_run(body: list[ir.Statement]) -> None:
    flow = Flow(ir.Function("entry", "k", body=tuple(body)))
    reported = set()
    for one in unwritten(flow):
        reported.add(one.register)
        reported |= {name for name in NAMES if one.others and name != one.register}
    assert reported == unwritten_in_some_run(body)


_SET = "mov.u32 %r9, %tid.x; setp.eq.u32 %p1, %r9, 0; setp.eq.u32 %p2, %r9, 1;"

CASES: dict[str, tuple[str, list[str]]] = {
    "one guard for both": (f"{_SET} @%p1 mov.u32 %r1, 1; @%p1 add.u32 %r2, %r1, 1;", []),
    "either guard": (f"{_SET} @%p1 mov.u32 %r1, 1; @!%p1 mov.u32 %r1, 2; add.u32 %r2, %r1, 1;", []),
    "another guard": (f"{_SET} @%p1 mov.u32 %r1, 1; @%p2 add.u32 %r2, %r1, 1;", ["warning unwritten-register"]),
    "the other value": (f"{_SET} @%p1 mov.u32 %r1, 1; @!%p1 add.u32 %r2, %r1, 1;", ["warning unwritten-register"]),
    "a guard that is written between": (
        f"{_SET} @%p1 mov.u32 %r1, 1; setp.eq.u32 %p1, %r9, 2; @%p1 add.u32 %r2, %r1, 1;", ["warning unwritten-register"],
    ),
    "a branch and a guard": (f"{_SET} @!%p1 bra L; mov.u32 %r1, 1; L: @%p1 add.u32 %r2, %r1, 1;", []),
    "two branches on one predicate": (f"{_SET} @!%p1 bra L; mov.u32 %r1, 1; L: @!%p1 bra M; add.u32 %r2, %r1, 1; M:", []),
    "both branches": (f"{_SET} @%p1 bra L; mov.u32 %r1, 1; bra M; L: mov.u32 %r1, 2; M: add.u32 %r2, %r1, 1;", []),
    "two decisions together": (f"{_SET} @%p1 mov.u32 %r1, 1; @%p2 mov.u32 %r1, 2; add.u32 %r2, %r1, 1;", ["note unwritten-register"]),
    "a loop that may not run": (
        f"{_SET} @%p1 bra M; L: mov.u32 %r1, 1; setp.eq.u32 %p2, %r1, 0; @%p2 bra L; M: add.u32 %r2, %r1, 1;", ["note unwritten-register"],
    ),
    "a loop that runs": (f"{_SET} L: mov.u32 %r1, 1; setp.eq.u32 %p2, %r1, 0; @%p2 bra L; add.u32 %r2, %r1, 1;", []),
    "of the round before": (
        f"{_SET} L: @%p1 add.u32 %r2, %r1, 1; mov.u32 %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;", ["warning unwritten-register"],
    ),
    "copied, and no more": ("mov.u32 %r2, %r1;", ["note unwritten-register"]),
    "copied, and read": ("mov.u32 %r2, %r1; add.u32 %r3, %r1, 1;", ["warning unwritten-register"]),
    "never": ("add.u32 %r2, %r1, 1;", ["warning unwritten-register"]),
    "a guard": ("@%p1 bra L; L:", ["warning unwritten-register"]),
    "an address": ("ld.shared.b32 %r1, [%r2];", ["warning unwritten-register"]),
    "an index": ("T: .branchtargets A, B; brx.idx %r1, T; A: mov.u32 %r2, 1; B:", ["warning unwritten-register"]),
    "a case that does not write": (
        f"{_SET} T: .branchtargets A, B, C; brx.idx %r9, T; A: mov.u32 %r1, 1; bra D; B: mov.u32 %r1, 2; bra D; C: D: add.u32 %r2, %r1, 1;",
        ["warning unwritten-register"],
    ),
    "every case": (
        f"{_SET} T: .branchtargets A, B; brx.idx %r9, T; A: mov.u32 %r1, 1; bra D; B: mov.u32 %r1, 2; D: add.u32 %r2, %r1, 1;", [],
    ),
    "behind the end": (f"{_SET} @%p1 bra L; exit; L: mov.u32 %r1, 1; add.u32 %r2, %r1, 1;", []),
    "an end on the path": (f"{_SET} @%p1 mov.u32 %r1, 1; @!%p1 exit; add.u32 %r2, %r1, 1;", []),
    "a trap on the path": (f"{_SET} @%p1 mov.u32 %r1, 1; @%p1 bra L; trap; L: add.u32 %r2, %r1, 1;", []),
    "where nothing leads to": ("ret; add.u32 %r2, %r1, 1;", []),
    "a name of an inner scope": ("mov.u32 %r1, 1; { .reg .b32 %r1; add.u32 %r2, %r1, 1; }", ["warning unwritten-register"]),
    "a name of the outer scope": ("mov.u32 %r1, 1; { .reg .b32 x; add.u32 x, %r1, 1; mov.u32 %r2, x; } add.u32 %r2, %r2, %r1;", []),
    "a label of an inner scope": (f"{_SET} {{ bra L; L: mov.u32 %r1, 1; }} L: add.u32 %r2, %r1, 1;", []),
    "parts of a vector": (".reg .v2 .f32 v; mov.f32 v.x, 0f00000000; mov.f32 %f1, v.x;", []),
    "unpacked": ("mov.u64 %rd1, 1; mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd2, {%r2, %r1};", []),
    "both of a pair": ("mov.u32 %r1, 1; setp.eq.and.u32 %p1|%p2, %r1, 0, %p3;", ["warning unwritten-register"]),
    "a carry's sources": ("add.cc.u32 %r1, %r2, 1;", ["warning unwritten-register"]),
    "accumulators that are not added": (
        "mov.u64 %rd1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 0, 1, 1, 0, 0;", [],
    ),
    "accumulators that are": (
        "mov.u64 %rd1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0;",
        ["warning unwritten-register"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    body, expected = CASES[name]
    assert ids(body) == expected


def test_registers_that_no_path_tells_apart_are_one_finding() -> None:
    stores = "".join(f"st.shared.f32 [tile+{4 * i}], %f{i};" for i in range(8))
    (one,) = found(stores)
    assert "%f0 is read, and nothing has written it on any path to here (7 more registers are like it)" in one.message


def test_a_function_that_does_not_return_ends_its_path() -> None:
    outside = "\n.extern .func fail() .noreturn;"
    body = f"{_SET} @%p1 mov.u32 %r1, 1; @%p1 bra L; call.uni fail, (); L: add.u32 %r2, %r1, 1;"
    assert ids(body, outside=outside) == []


@pytest.mark.parametrize("first, second", [*itertools.product([False, True], repeat=2)])
def test_conditions_of_two_predicates(first: bool, second: bool) -> None:
    """Written where both hold, read where both are asked again."""
    mark = {False: "!", True: ""}
    ask = f"@{mark[not first]}%p1 bra TO; @{mark[not second]}%p2 bra TO;"
    write, read = ask.replace("TO", "L"), ask.replace("TO", "M")
    assert ids(f"{_SET} {write} mov.u32 %r1, 1; L: {read} add.u32 %r2, %r1, 1; M:") == []
