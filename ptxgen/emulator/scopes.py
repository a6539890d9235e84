"""What names mean in a function: registers, variables, labels, and the lists of branch and call targets (ISA 5.3, 4.4)."""

from __future__ import annotations

from collections.abc import Callable

from ptxgen.emulator.memory import WINDOWS
from ptxgen.instructions.types import Type, type_named
from ptxgen.ir import Prototype, RegDecl, Targets, Variable

__all__ = ["Location", "Register", "Scope"]


class Register:
    """One register of a function: its place in the register file."""

    __slots__ = ("name", "slot", "type")

    def __init__(self, name: str, type: Type, slot: int) -> None:
        self.name = name
        self.type = type
        self.slot = slot


class Location:
    """Where a variable lies.

    Attributes
    ----------
    space : str
        ``"global"``, ``"shared"``, ``"local"``, ``"const"`` or ``"param"``. Parameters of a device function and the `.param`
        variables around its calls lie in the frame, which is local memory.
    address : int
        In that space; where `in_frame`, from the start of the function's frame.
    """

    __slots__ = ("address", "in_frame", "size", "space", "variable")

    def __init__(self, variable: Variable, space: str, address: int, size: int, in_frame: bool = False) -> None:
        self.variable = variable
        self.space = space
        self.address = address
        self.size = size
        self.in_frame = in_frame

    @property
    def generic(self) -> int:
        """Generic address, without the frame's own."""
        return self.address + WINDOWS.get(self.space, 0)


class _Family:
    """``.reg .f32 %f<100>``: registers that come to exist when they are named."""

    __slots__ = ("count", "prefix", "type", "vector")

    def __init__(self, prefix: str, count: int, type: Type, vector: int | None) -> None:
        self.prefix = prefix
        self.count = count
        self.type = type
        self.vector = vector

    def holds(self, name: str) -> bool:
        digits = name[len(self.prefix) :]
        return name.startswith(self.prefix) and digits.isdigit() and str(int(digits)) == digits and int(digits) < self.count


class Scope:
    """One pair of braces. `new_register` gives out places in the function's register file."""

    __slots__ = ("_families", "_new", "_parent", "_registers", "_vectors", "labels", "prototypes", "targets", "variables")

    def __init__(self, parent: Scope | None, new_register: Callable[[str, Type], Register]) -> None:
        self._parent = parent
        self._new = new_register
        self._registers: dict[str, Register] = {}
        self._vectors: dict[str, int] = {}
        self._families: list[_Family] = []
        self.variables: dict[str, Location] = {}
        self.labels: dict[str, int] = {}
        self.targets: dict[str, Targets] = {}
        self.prototypes: dict[str, Prototype] = {}

    def child(self) -> Scope:
        return Scope(self, self._new)

    def declare(self, declaration: RegDecl) -> None:
        of = type_named(declaration.type)
        for name in declaration.names:
            if declaration.count is not None:
                self._families.append(_Family(name, declaration.count, of, declaration.vector))
            else:
                self._make(name, of, declaration.vector)

    def _make(self, name: str, of: Type, vector: int | None) -> None:
        if vector:
            self._vectors[name] = vector
            for part in "xyzw"[:vector]:
                self._registers[f"{name}.{part}"] = self._new(f"{name}.{part}", of)
        else:
            self._registers[name] = self._new(name, of)

    def register(self, name: str, part: str | None = None) -> Register | None:
        """The register of that name (and component), or None."""
        scope: Scope | None = self
        while scope is not None:
            scope._meet(name)
            found = scope._registers.get(f"{name}.{part}" if part else name)
            if found is not None:
                return found
            scope = scope._parent
        return None

    def _meet(self, name: str) -> None:
        if name in self._registers or name in self._vectors:
            return
        for family in self._families:
            if family.holds(name):
                self._make(name, family.type, family.vector)

    def vector(self, name: str) -> int:
        """The number of components of a vector register; 0 for any other name."""
        scope: Scope | None = self
        while scope is not None:
            scope._meet(name)
            if name in scope._registers:
                return 0
            if name in scope._vectors:
                return scope._vectors[name]
            scope = scope._parent
        return 0

    def variable(self, name: str) -> Location | None:
        return self._find("variables", name)

    def label(self, name: str) -> int | None:
        return self._find("labels", name)

    def target_list(self, name: str) -> Targets | None:
        return self._find("targets", name)

    def _find(self, table: str, name: str):  # type: ignore[no-untyped-def]
        scope: Scope | None = self
        while scope is not None:
            found = getattr(scope, table).get(name)
            if found is not None:
                return found
            scope = scope._parent
        return None
