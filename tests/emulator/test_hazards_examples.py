"""Every wait, barrier, fence and commit of the asynchronous examples matters: without it, the emulator reports something."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxgen.emulator
from ptxgen import ir

EXAMPLES = Path(__file__).parents[2] / "examples"
WORDS = (
    "bar.sync", "barrier.", "fence.proxy", "wgmma.fence", "wgmma.commit", "wgmma.wait", "mbarrier.init", "mbarrier.arrive",
    "mbarrier.try_wait", "cp.async.wait", "cp.async.commit", "cp.async.bulk.wait", "cp.async.bulk.commit",
)  # fmt: skip


def case(name: str) -> tuple[Any, ...]:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found: tuple[Any, ...] = example.case()
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


@pytest.mark.parametrize("name", ["tma_copy", "mma_gemm", "wgmma_tile"])
def test_nothing_can_be_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
    kernel, arguments, *_ = case(name)
    assert kernel.emulate(*arguments).ok
    module, entry = modules[0]
    found = list(sites(module.functions[entry].body or ()))
    assert len(found) >= 5
    for path, statement in found:
        dropped.append(path)
        kernel, arguments, *_ = case(name)
        assert not kernel.emulate(*arguments).ok, f"{statement.opcode} at {statement.where}"
