"""A module made ready to run: variables placed in memory, the entry and all that it can reach compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.code import Code
from ptxgen.emulator.heap import Heap
from ptxgen.emulator.memory import FIRST, GLOBAL_ALIGN, GLOBAL_GAP, GLOBAL_START, Memory, Region
from ptxgen.emulator.scopes import Location, Scope
from ptxgen.emulator.variables import Layout, alignment_of, extents, initial_bytes, size_of
from ptxgen.ir import Address, Call, Function, Instruction, Module, RegDecl, Sym, SymbolRef, Targets, Variable, Vec, walk
from ptxgen.layouts.errors import PtxgenError

if TYPE_CHECKING:
    from ptxgen.emulator.calls import CallSite

__all__ = ["Program"]

CODE_START = 0x0005 << 40
"""Where function addresses lie: nothing can be loaded from there."""

CODE_STEP = 16
FRAME_ALIGN = 64
SHARED_ALIGN = 128


class Program:
    """All functions that an entry can reach, and where every variable lies.

    Raises
    ------
    InstructionError
        For an instruction against its contract, or one that the emulator cannot execute.
    PtxgenError
        For an unknown entry, or a variable that cannot be placed.
    """

    def __init__(
        self,
        module: Module,
        entry: str,
        dynamic_shared: int,
        dynamic_parts: Sequence[tuple[int, int, str]] = (),
        shared_names: Mapping[str, str] | None = None,
    ) -> None:
        self.module = module
        self.scope = Scope(None, lambda name, type: _no_register(name))
        self.shared = Layout(FIRST["shared"])
        self.constants = Layout(FIRST["const"])
        self.parameters = Layout(FIRST["param"])
        self.global_locations: list[Location] = []
        self._global_end = GLOBAL_START
        self._externs: list[Location] = []
        self._dynamic_parts = dynamic_parts
        self._shared_names = shared_names or {}
        self._functions = _reachable(module, entry)
        self._placed: dict[int, Location] = {}
        for item in module.items:
            if isinstance(item, Variable):
                self.scope.variables[item.name] = self.place(item)
            elif isinstance(item, RegDecl):
                self.scope.declare(item)
        self._place_shared_of_bodies()
        self._place_dynamic(dynamic_shared)
        self.call_sites: list[CallSite] = []
        self.codes = [Code(self, function, number) for number, function in enumerate(self._functions.values())]
        self.by_name = {code.name: code for code in self.codes}
        for code in self.codes:
            code.compile()
        self.entry = self.by_name[entry]
        self.frame_bytes = max(-(-code.frame.size // FRAME_ALIGN) * FRAME_ALIGN for code in self.codes)

    # ---- places -------------------------------------------------------------------------------------------------------

    def place(self, variable: Variable) -> Location:
        """Give a variable of the module, or a shared or global one of a function, its place."""
        found = self._placed.get(id(variable))
        if found is None:
            found = self._placed[id(variable)] = self._place(variable)
        return found

    def _place(self, variable: Variable) -> Location:
        space = variable.space
        if space == "shared" and (variable.linkage == "extern" or variable.dims[:1] == (None,)):
            location = Location(variable, space, 0, 0)
            self._externs.append(location)
            return location
        if space in ("shared", "const"):
            placed = (self.shared if space == "shared" else self.constants).add(variable)
            return Location(variable, space, FIRST[space] + placed.offset, placed.size)
        if space == "global":
            start = -(-self._global_end // GLOBAL_ALIGN) * GLOBAL_ALIGN
            location = Location(variable, space, start, size_of(variable))
            self._global_end = start + location.size + GLOBAL_GAP
            self.global_locations.append(location)
            return location
        raise PtxgenError(f"{variable.name}: a .{space} variable cannot stand here (PTX ISA 5.1)")

    def place_parameter(self, formal: Variable) -> Location:
        """A parameter of the entry, in the launch's parameter space."""
        placed = self.parameters.add(formal)
        return Location(formal, "param", FIRST["param"] + placed.offset, placed.size)

    def _place_shared_of_bodies(self) -> None:
        """Shared variables of functions exist once a block, whoever calls; dynamic memory follows the last of them."""
        for function in self._functions.values():
            for statement in walk(function.body or ()):
                if isinstance(statement, Variable) and statement.space == "shared":
                    self.place(statement)

    def _place_dynamic(self, dynamic_shared: int) -> None:
        align = max([16, *(alignment_of(location.variable) for location in self._externs)])
        self.static_shared = self.shared.size
        start = self.shared.aligned(align) if self._externs else self.shared.size
        for location in self._externs:
            location.address = FIRST["shared"] + start
            location.size = dynamic_shared
        self.shared_bytes = start + dynamic_shared

    # ---- names --------------------------------------------------------------------------------------------------------

    def function_address(self, name: str) -> int | None:
        """What `mov` gives for a function's name; None for any other name."""
        for number, known in enumerate(self._functions):
            if known == name:
                return CODE_START + CODE_STEP * number
        return None

    def code_at(self, address: int) -> Code | None:
        """The function at an address, or None."""
        number, rest = divmod(address - CODE_START, CODE_STEP)
        return self.codes[number] if rest == 0 and 0 <= number < len(self.codes) else None

    def _symbol_value(self, ref: SymbolRef | Sym) -> int:
        function = self.function_address(ref.name)
        if function is not None:
            return function
        location = self.scope.variable(ref.name)
        if location is None:
            raise PtxgenError(f"an initialiser names {ref.name}, which is not declared (PTX ISA 5.4.4)")
        if isinstance(ref, Sym):
            return location.address
        return (location.generic if ref.generic else location.address) + ref.offset

    # ---- memory -------------------------------------------------------------------------------------------------------

    def fill(self, memory: Memory, parameters: bytes) -> None:
        """Create what lives as long as the launch: global and constant variables, the entry's parameters and the heap."""
        self.heap = Heap(memory)
        for location in self.global_locations:
            data = np.frombuffer(bytearray(initial_bytes(location.variable, self._symbol_value)), np.uint8)
            name = location.variable.name
            memory.add_global(Region(name, location.address, data, variables=[(0, location.size, name)]))
        if self.constants.size:
            data = np.zeros(self.constants.size, np.uint8)
            for placed in self.constants.placed:
                content = initial_bytes(placed.variable, self._symbol_value)
                data[placed.offset : placed.offset + placed.size] = np.frombuffer(content, np.uint8)
            memory.spaces["const"] = Region(
                "const", FIRST["const"], data, writable=False, variables=extents(self.constants)
            )
        if parameters:
            data = np.frombuffer(parameters, np.uint8)
            memory.spaces["param"] = Region("param", FIRST["param"], data, writable=False, variables=extents(self.parameters))

    def block_memory(self, memory: Memory, blocks: int, threads: int) -> None:
        """Create shared memory for the blocks and local memory for the threads of a wave."""
        if self.shared_bytes:
            stride = -(-self.shared_bytes // SHARED_ALIGN) * SHARED_ALIGN
            variables = extents(self.shared)
            for location in self._externs:
                start = location.address - FIRST["shared"]
                parts = self._dynamic_parts or [(0, location.size, location.variable.name)]
                variables += [(start + offset, size, name) for offset, size, name in parts]
            names = self._shared_names
            variables = [(offset, size, names.get(name, name)) for offset, size, name in variables]
            memory.spaces["shared"] = Region(
                "shared", FIRST["shared"], np.zeros(blocks * stride, np.uint8),
                extent=self.shared_bytes, stride=stride, tracked=True, variables=variables,
            )  # fmt: skip
        if self.frame_bytes:
            memory.frame_bytes = self.frame_bytes
            stride = self.frame_bytes
            memory.spaces["local"] = Region(
                "local", FIRST["local"], np.zeros(threads * stride, np.uint8),
                stride=stride, extent=stride, tracked=True,
            )  # fmt: skip


def _no_register(name: str) -> Any:
    raise PtxgenError(f"register {name} is declared outside of a function, which the emulator does not follow (PTX ISA 5.1.1)")


def _reachable(module: Module, entry: str) -> dict[str, Function]:
    """The entry first, then every defined function whose name occurs in what is reached."""
    functions = module.functions
    first = functions.get(entry)
    if first is None or first.kind != "entry" or first.body is None:
        known = [name for name, function in functions.items() if function.kind == "entry" and function.body is not None]
        raise PtxgenError(f"the module has no entry {entry!r}; it has {', '.join(known) or 'none'}")
    found = {entry: first}
    waiting = [first]
    initialised = [item.init for item in module.items if isinstance(item, Variable) and item.init is not None]
    names = {name for init in initialised for name in _names(init)}
    while waiting:
        for statement in walk(waiting.pop().body or ()):
            names |= _named_by(statement)
        for name in sorted(names):
            function = functions.get(name)
            if function is not None and function.kind == "func" and function.body is not None and name not in found:
                found[name] = function
                waiting.append(function)
    return found


def _named_by(statement: Any) -> set[str]:
    if isinstance(statement, Call):
        return {name for part in (statement.target, *statement.arguments) for name in _names(part)}
    if isinstance(statement, Instruction):
        return {name for operand in statement.operands for name in _names(operand)}
    return set(statement.names) if isinstance(statement, Targets) else set()


def _names(value: Any) -> set[str]:
    if isinstance(value, (Sym, SymbolRef)):
        return {value.name}
    if isinstance(value, tuple):
        return {name for item in value for name in _names(item)}
    if isinstance(value, Vec):
        return _names(value.items)
    return _names(value.base) if isinstance(value, Address) else set()
