"""What the names in a module mean, scope by scope (ISA 4.4, 5.4).

PTX demands a declaration before its first use, and one meaning for a name in a scope; labels alone may be used earlier. The parameters
of a function stand in the same scope as the outermost declarations of its body.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple, Union

from ptxgen.instructions.types import TYPES, Type
from ptxgen.ir import Function, Label, Prototype, RegDecl, Statement, Targets, Variable

__all__ = ["Names", "Register"]


class Register(NamedTuple):
    """A declared register; `vector` is 2 or 4 for ``.v2``, ``.v4``, else 0."""

    type: Type
    vector: int


Named = Union[Register, Variable, Label, Targets, Prototype, Function]


class _Family(NamedTuple):
    """``.reg .f32 %f<100>``."""

    prefix: str
    size: int
    register: Register

    def holds(self, name: str) -> bool:
        digits = name[len(self.prefix) :]
        return name.startswith(self.prefix) and digits.isdigit() and int(digits) < self.size


class _Scope:
    __slots__ = ("families", "labels", "names")

    def __init__(self, labels: dict[str, Named]) -> None:
        self.names: dict[str, Named] = {}
        self.families: list[_Family] = []
        self.labels = labels

    def find(self, name: str) -> Named | None:
        found = self.names.get(name) or self.labels.get(name)
        if found is None and self.families and name[-1:].isdigit():
            for family in self.families:
                if family.holds(name):
                    self.names[name] = family.register
                    return family.register
        return found


class Names:
    """Declarations in sight, innermost first; `inputs` are the parameters that the function around is given."""

    def __init__(self) -> None:
        self.inputs: tuple[Variable, ...] = ()
        self._scopes = [_Scope({})]

    def enter(self, body: tuple[Statement, ...]) -> None:
        """Begin a scope; its own labels are known at once."""
        self._scopes.append(_Scope(dict(_labels(body))))

    def leave(self) -> None:
        self._scopes.pop()

    def find(self, name: str) -> Named | None:
        """What a name means here, or None where nothing declares it."""
        for scope in reversed(self._scopes):
            found = scope.find(name)
            if found is not None:
                return found
        return None

    def register(self, name: str) -> Register | None:
        found = self.find(name)
        return found if isinstance(found, Register) else None

    # ---- declaring ----------------------------------------------------------------------------------------------------

    def declare(self, name: str, meaning: Named) -> bool:
        """Give a name its meaning in the innermost scope; False where it has one there already."""
        scope = self._scopes[-1]
        taken = name in scope.names or any(family.holds(name) for family in scope.families)
        scope.names[name] = meaning
        return not taken

    def declare_registers(self, declaration: RegDecl) -> list[str]:
        """Declare registers; those names that are taken."""
        register = Register(TYPES[declaration.type], declaration.vector or 0)
        if declaration.count is None:
            return [name for name in declaration.names if not self.declare(name, register)]
        return [name for name in declaration.names if not self._declare_family(_Family(name, declaration.count, register))]

    def _declare_family(self, family: _Family) -> bool:
        scope = self._scopes[-1]
        taken = any(one.prefix == family.prefix for one in scope.families) or any(family.holds(name) for name in scope.names)
        scope.families.append(family)
        return not taken

    # ---- words for messages -------------------------------------------------------------------------------------------

    def nearest(self, name: str, *, registers: bool) -> list[str]:
        """Names in sight like one that is not: registers, or anything else."""
        found: list[str] = []
        for scope in reversed(self._scopes):
            found += [one for one, meaning in {**scope.names, **scope.labels}.items() if isinstance(meaning, Register) == registers]
            if registers:
                found += [f"{family.prefix}{family.size - 1}" for family in scope.families if family.size]
        return get_close_matches(name, found, n=2)

    def family_of(self, name: str) -> str:
        """The family that a register would belong to were it larger: ``%f<4>`` for ``%f7``; empty where there is none."""
        for scope in reversed(self._scopes):
            for family in scope.families:
                if name.startswith(family.prefix) and name[len(family.prefix) :].isdigit():
                    return f".reg .{family.register.type.name} {family.prefix}<{family.size}>"
        return ""


def _labels(body: tuple[Statement, ...]) -> Iterator[tuple[str, Named]]:
    """Labels, and the lists and prototypes that are named like labels, of one scope."""
    for statement in body:
        if isinstance(statement, Label):
            yield statement.name, statement
        elif isinstance(statement, (Targets, Prototype)):
            yield statement.label, statement
