"""Calls: arguments into the callee's frame, results back, who returns where (ISA 7.1, "Function declarations and definitions")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.code import Code, Formal
from ptxgen.emulator.frames import Frame
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.memory import FIRST
from ptxgen.emulator.operands import Get, Put, read_register, write_register
from ptxgen.emulator.schedule import Group
from ptxgen.emulator.scopes import Location
from ptxgen.emulator.system_calls import SYSTEM_CALLS
from ptxgen.instructions.registry import lookup
from ptxgen.instructions.types import type_named
from ptxgen.ir import Call, Function, Sink, Sym

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave

__all__ = ["CallSite", "lower_call", "lower_return"]


def _section() -> str:
    """Of the ISA, "call"."""
    return lookup("call")[0].entry.section


class CallSite:
    """One call instruction: where its results go and where its threads continue."""

    __slots__ = ("arguments", "code", "low", "number", "pc", "results", "statement")

    def __init__(self, low: Lowering, statement: Call) -> None:
        self.low = low
        self.code = low.code
        self.pc = low.pc
        self.statement = statement
        self.arguments: dict[int, list[_Move]] = {}
        self.results: dict[int, list[_Move]] = {}
        self.number = len(low.code.program.call_sites)
        low.code.program.call_sites.append(self)

    def moves_in(self, callee: Code) -> list[_Move]:
        """What carries the arguments into a callee's formal parameters."""
        found = self.arguments.get(callee.number)
        if found is None:
            found = self.arguments[callee.number] = self._pair(self.statement.arguments, callee.parameters, callee, _argument)
        return found

    def moves_out(self, callee: Code) -> list[_Move]:
        """What carries a callee's results back."""
        found = self.results.get(callee.number)
        if found is None:
            found = self.results[callee.number] = self._pair(self.statement.results, callee.results, callee, _result)
        return found

    def _pair(self, listed: Any, formals: list[Formal], callee: Code, make: Any) -> list[_Move]:
        actuals = [piece for actual in listed for piece in self.low.elements(actual)]
        if len(actuals) != len(formals):
            raise self.low.refuse(f"{callee.name} takes {len(formals)} operands here, not {len(actuals)}", section=_section())
        return [make(self.low, actual, formal, callee) for actual, formal in zip(actuals, formals) if not isinstance(actual, Sink)]


class _Move:
    """Carries one value between a caller's frame and a callee's: `run(wave, caller, callee, threads)`."""

    __slots__ = ("run",)

    def __init__(self, run: Any) -> None:
        self.run = run


def _copy_bytes(wave: Wave, source: int, target: int, size: int, index: Any) -> None:
    """Copy frame memory within each thread, its written flags with it."""
    local = wave.memory.spaces["local"]
    rows = slice(None) if index is None else index
    source, target = source - FIRST["local"], target - FIRST["local"]
    for data in (local.data, local.written):
        assert data is not None
        table = data.reshape(wave.threads.count, local.stride)
        table[rows, target : target + size] = table[rows, source : source + size]


def _put_bytes(wave: Wave, target: int, value: Any, size: int, index: Any) -> None:
    local = wave.memory.spaces["local"]
    rows = slice(None) if index is None else index
    target -= FIRST["local"]
    count = wave.count(index)
    content = np.ascontiguousarray(np.broadcast_to(value.reshape(len(value), -1), (count, value.size // len(value)))).view(np.uint8)
    local.data.reshape(wave.threads.count, local.stride)[rows, target : target + size] = content[:, :size]
    assert local.written is not None
    local.written.reshape(wave.threads.count, local.stride)[rows, target : target + size] = 255


def _argument(low: Lowering, actual: Any, formal: Formal, callee: Code) -> _Move:
    if isinstance(formal, Location):
        location = low.scope.variable(actual.name) if isinstance(actual, Sym) else None
        if location is not None and location.in_frame:
            start, goal, size = location.address, formal.address, min(location.size, formal.size)
            return _Move(lambda wave, caller, inner, index: _copy_bytes(wave, caller.base + start, inner.base + goal, size, index))
        get = low.source(actual, type_named(formal.variable.type))
        goal, size = formal.address, formal.size
        return _Move(lambda wave, caller, inner, index: _put_bytes(wave, inner.base + goal, get(wave, caller, index), size, index))
    fetch: Get = low.source(actual, formal.type)
    put = write_register(formal.slot, formal.type, formal.type)
    return _Move(lambda wave, caller, inner, index: put(wave, inner, index, fetch(wave, caller, index)))


def _result(low: Lowering, actual: Any, formal: Formal, callee: Code) -> _Move:
    if isinstance(formal, Location):
        location = low.scope.variable(actual.name) if isinstance(actual, Sym) else None
        if location is None or not location.in_frame:
            raise low.refuse(f"the result of {callee.name} goes to a .param variable", section="7.1.1")
        start, goal, size = formal.address, location.address, min(location.size, formal.size)
        return _Move(lambda wave, caller, inner, index: _copy_bytes(wave, inner.base + start, caller.base + goal, size, index))
    put: Put = low.target(actual, formal.type)
    get = read_register(formal.slot, formal.type, formal.type, low.statement, formal.name)
    return _Move(lambda wave, caller, inner, index: put(wave, caller, index, get(wave, inner, index)))


def lower_call(low: Lowering) -> Control:
    """``call``: direct through a symbol, indirect through a register that holds a function's address."""
    statement = low.statement
    assert isinstance(statement, Call)
    site = CallSite(low, statement)
    program = low.code.program
    if isinstance(statement.target, Sym):
        callee = program.by_name.get(statement.target.name)
        if callee is None and statement.target.name in SYSTEM_CALLS and statement.target.name in program.module.functions:
            return SYSTEM_CALLS[statement.target.name](low)
        if callee is None:
            known: Function | None = program.module.functions.get(statement.target.name)
            problem = "is declared without a body" if known is not None else "is no function of this module"
            raise low.refuse(f"{statement.target.name} {problem}", section=_section())
        direct = callee
        return lambda wave, group: [_enter(wave, group, site, direct)]
    get = low.source(statement.target, type_named("u64"))
    return lambda wave, group: _indirect(wave, group, site, get(wave, wave.frame(group), group.index))


def _indirect(wave: Wave, group: Group, site: CallSite, addresses: Any) -> list[Group]:
    addresses = np.broadcast_to(addresses, wave.count(group.index))
    index = wave.indices(group.index)
    following = []
    for address in np.unique(addresses):
        callee = wave.program.code_at(int(address))
        chosen = index[addresses == address]
        if callee is None:
            wave.reports.add("call", f"{int(address):#x} is no function's address", site.statement, wave.threads, chosen)
            wave.retire(chosen)
            continue
        part = group.part(None if len(chosen) == wave.threads.count else chosen)
        following.append(_enter(wave, part, site, callee))
    return following


def _enter(wave: Wave, group: Group, site: CallSite, callee: Code) -> Group:
    depth, index = group.depth + 1, group.index
    caller: Frame = wave.frame(group)
    if not wave.enter(depth, index, site.statement):
        wave.retire(index)
        return group.part(np.zeros(0, np.int64))
    inner = wave.frame_of(callee, depth)
    inner.forget(index)
    wave.sites(depth)[slice(None) if index is None else index] = site.number
    for move in site.moves_in(callee):
        move.run(wave, caller, inner, index)
    return Group(callee, 0, depth, index, group.strand)


def lower_return(low: Lowering) -> Control:
    """``ret``: back to the instruction behind each thread's call; from the entry, the end of the thread."""

    def back(wave: Wave, group: Group) -> list[Group]:
        if group.depth == 0:
            wave.retire(group.index)
            return []
        index = wave.indices(group.index)
        sites = wave.sites(group.depth)[index]
        following = []
        for number in np.unique(sites):
            site = wave.program.call_sites[int(number)]
            chosen = index[sites == number]
            part = None if len(chosen) == wave.threads.count else chosen
            caller = wave.frame_of(site.code, group.depth - 1)
            for move in site.moves_out(group.code):
                move.run(wave, caller, wave.frame(group), part)
            following.append(Group(site.code, site.pc + 1, group.depth - 1, part, group.strand))
        return following

    return back
