"""Every wait, barrier, fence and commit of the asynchronous examples matters: without it, the emulator reports something."""

from __future__ import annotations

import copy
import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxgen.emulator
from ptxgen import ir

EXAMPLES = Path(__file__).parents[2] / "examples"
WORDS = (
    "bar.sync", "barrier.", "fence", "wgmma.fence", "wgmma.commit", "wgmma.wait", "mbarrier.init", "mbarrier.arrive",
    "mbarrier.try_wait", "cp.async.wait", "cp.async.commit", "cp.async.bulk.wait", "cp.async.bulk.commit",
    "tcgen05.fence", "tcgen05.wait", "tcgen05.commit", "tcgen05.alloc", "tcgen05.dealloc",
)  # fmt: skip

ALLOCATION = {("tcgen05.fence::before_thread_sync", 0), ("tcgen05.fence::after_thread_sync", 0)}
"""The fences around the barrier behind tcgen05.alloc, which order nothing there: alloc is synchronous (ISA 9.7.16.6.1), so that no
asynchronous operation comes before the first, and every thread that issues one has passed another fence::after since."""

CASES = [
    ("tma_copy", (), set()),
    ("mma_gemm", (), set()),
    ("wgmma_tile", (), set()),
    # two tiles for each cluster, of which the last store lies inside C, and stages that are used again
    ("hopper_gemm", (0, (136, 512, 200)), set()),
    ("tcgen05_gemm", (0, 1, (128, 128, 200)), ALLOCATION),
    ("tcgen05_gemm", (0, 2, (256, 128, 200)), ALLOCATION),
]
"""Example, arguments of its `case`, and what may be left out: opcodes, and which of their places it is."""


def case(name: str, options: tuple[Any, ...]) -> tuple[Any, ...]:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found: tuple[Any, ...] = example.case(*options)
    return found


def sites(body: tuple[Any, ...], path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], ir.Instruction]]:
    for position, statement in enumerate(body):
        if isinstance(statement, ir.Block):
            yield from sites(statement.body, (*path, position))
        elif isinstance(statement, ir.Instruction) and statement.opcode.startswith(WORDS):
            yield (*path, position), statement


def without(body: tuple[Any, ...], path: tuple[int, ...]) -> tuple[Any, ...]:
    """The body without one instruction; a try_wait becomes one that passes at once."""
    first, *rest = path
    if rest:
        inner = ir.Block(without(body[first].body, tuple(rest)))
    elif "try_wait" in body[first].opcode:
        inner = ir.Instruction("setp.eq.u32", (body[first].operands[0], ir.Int(0), ir.Int(0)), where=body[first].where)
    else:
        return (*body[:first], *body[first + 1 :])
    return (*body[:first], inner, *body[first + 1 :])


def one_a_line(found: list[tuple[tuple[int, ...], ir.Instruction]]) -> list[tuple[tuple[int, ...], ir.Instruction]]:
    """The first instruction of each opcode that each line of the example has emitted."""
    return list({(statement.opcode, str(statement.where)): (path, statement) for path, statement in reversed(found)}.values())[::-1]


@pytest.mark.parametrize(("name", "options", "redundant"), CASES, ids=[f"{name}-{position}" for position, (name, *_) in enumerate(CASES)])
def test_nothing_can_be_left_out(
    name: str, options: tuple[Any, ...], redundant: set[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules: list[tuple[ir.Module, str]] = []
    emulate = ptxgen.emulator.emulate
    dropped: list[tuple[int, ...]] = []

    def altered(module: ir.Module, entry: str, **options: Any) -> Any:
        modules.append((module, entry))
        if not dropped:
            return emulate(module, entry, **options)
        function = copy.copy(module.functions[entry])
        function.body = without(function.body or (), dropped[-1])
        changed = copy.copy(module)
        changed.items = tuple(function if item is module.functions[entry] else item for item in module.items)
        return emulate(changed, entry, **options)

    monkeypatch.setattr(ptxgen.emulator, "emulate", altered)
    kernel, arguments, *_ = case(name, options)
    assert kernel.emulate(*arguments).ok
    module, entry = modules[0]
    found = one_a_line(list(sites(module.functions[entry].body or ())))
    assert len(found) >= 3
    seen: Counter[str] = Counter()
    for path, statement in found:
        dropped.append(path)
        kernel, arguments, *_ = case(name, options)
        clean = (statement.opcode, seen[statement.opcode]) in redundant
        seen[statement.opcode] += 1
        assert kernel.emulate(*arguments).ok is clean, f"{statement.opcode} at {statement.where}"
