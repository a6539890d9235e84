"""Which names are registers.

Nearly always a ``%`` in front says so. Inline assembly declares registers without it, and nothing forbids a variable or a label
with it; such names are called irregular here, and only they need looking up.
"""

from __future__ import annotations

__all__ = ["Scopes"]


class _Scope:
    __slots__ = ("families", "irregular", "names")

    def __init__(self) -> None:
        self.names: dict[str, bool] = {}
        self.families: list[tuple[str, int]] = []
        self.irregular = False

    def find(self, name: str) -> bool | None:
        """Whether `name` is a register declared here, or None where it is not declared here."""
        found = self.names.get(name)
        if found is None and self.families and name[-1].isdigit():
            for prefix, count in self.families:
                digits = name[len(prefix) :]
                if name.startswith(prefix) and digits.isdigit() and str(int(digits)) == digits and int(digits) < count:
                    return True
        return found


class Scopes:
    """Declarations by nested scope.

    Attributes
    ----------
    irregular : bool
        Whether any declaration in sight goes against the ``%`` rule; where none does, the rule decides alone.
    epoch : int
        Grows whenever a name may have changed its meaning.
    """

    __slots__ = ("_stack", "epoch", "irregular")

    def __init__(self, symbols: frozenset[str] = frozenset()) -> None:
        self._stack = [_Scope()]
        self.irregular = False
        self.epoch = 0
        for name in symbols:
            self.declare(name, register=False)

    @property
    def depth(self) -> int:
        return len(self._stack)

    def enter(self) -> None:
        self._stack.append(_Scope())

    def leave(self) -> None:
        if self._stack.pop().irregular:
            self.irregular = any(scope.irregular for scope in self._stack)
            self.epoch += 1

    def leave_to(self, depth: int) -> None:
        while len(self._stack) > depth:
            self.leave()

    def declare(self, name: str, register: bool) -> None:
        self._stack[-1].names[name] = register
        if (name[0] == "%") != register:
            self._note_irregular()
        elif self.irregular:
            self.epoch += 1

    def declare_family(self, prefix: str, count: int) -> None:
        """The registers ``prefix0`` to ``prefix(count-1)``."""
        self._stack[-1].families.append((prefix, count))
        if prefix[0] != "%":
            self._note_irregular()
        elif self.irregular:
            self.epoch += 1

    def is_register(self, name: str) -> bool:
        if self.irregular:
            for scope in reversed(self._stack):
                found = scope.find(name)
                if found is not None:
                    return found
        return name[0] == "%"

    def _note_irregular(self) -> None:
        self._stack[-1].irregular = self.irregular = True
        self.epoch += 1
