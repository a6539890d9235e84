"""Initial values against the variable that they are for (ISA 5.4.4)."""

from __future__ import annotations

from typing import Any

from ptxgen.instructions.types import TYPES
from ptxgen.ir import Field, Float, Function, Int, SymbolRef, Variable
from ptxgen.verify.names import Names
from ptxgen.verify.operands import Report
from ptxgen.verify.problems import explained

__all__ = ["check_initializer"]

_SECTION = "5.4.4"
_ADDRESSES = ("u32", "u64")
_MASKS = frozenset(0xFF << shift for shift in range(0, 64, 8))


def check_initializer(variable: Variable, space: str, names: Names, report: Report) -> None:
    """Report what is wrong with a variable's initial value; `space` is its state space without a bank."""
    _Check(variable, space, names, report).run()


class _Check:
    def __init__(self, variable: Variable, space: str, names: Names, report: Report) -> None:
        self.variable = variable
        self.space = space
        self.names = names
        self._report = report

    def complain(self, problem: str, legal: str, focus: str = "") -> None:
        self._report("initializer", explained(problem, section=_SECTION, legal=legal), focus or self.variable.name)

    def run(self) -> None:
        variable, of = self.variable, TYPES[self.variable.type]
        if self.space not in ("global", "const"):
            self.complain(f"{variable.name} in .{self.space} has an initial value", ".global or .const, or a store at the start")
        elif variable.linkage == "extern":
            self.complain(f"{variable.name} is .extern and has an initial value", "the value where the variable is defined")
        elif of.kind == "opaque":
            self._opaque(variable.init)
        elif of.name in ("f16", "f16x2", "pred"):
            self.complain(f"a .{of.name} takes no initial value", f"a .b{of.bits} with its bits")
        else:
            self._level(variable.init, (*variable.dims, *((variable.vector,) if variable.vector else ())))

    def _opaque(self, init: Any) -> None:
        fields = init if isinstance(init, tuple) else (init,)
        if self.variable.dims:
            fields = tuple(field for one in fields for field in (one if isinstance(one, tuple) else (one,)))
        if not all(isinstance(field, Field) for field in fields):
            self.complain(f"a .{self.variable.type} is set field by field", "{ width = 4, ... }, { filter_mode = nearest, ... }")

    def _level(self, init: Any, extents: tuple[int | None, ...]) -> None:
        """A list for each extent, at most that long (of a vector, exactly), and one value at the bottom."""
        if not extents:
            self._value(init)
            return
        extent, *inner = extents
        if not isinstance(init, tuple):
            self.complain(f"one value stands where {self.variable.name} takes a list", "{...}")
            return
        lanes = not inner and self.variable.vector is not None
        if extent is not None and (len(init) > extent or (lanes and len(init) != extent)):
            self.complain(f"{len(init)} values stand where {self.variable.name} has {extent}", f"{extent} in these braces")
            return
        if not inner and any(isinstance(one, tuple) for one in init):
            self._value(next(one for one in init if isinstance(one, tuple)))
            return
        for one in init:
            self._level(one, tuple(inner))

    def _value(self, value: Any) -> None:
        of = TYPES[self.variable.type]
        if isinstance(value, tuple):
            self.complain(f"a list stands where one value of {self.variable.name} does", "the value without braces")
        elif isinstance(value, SymbolRef):
            self._address(value)
        elif isinstance(value, Float):
            if not (of.is_float or of.kind == "bits"):
                self.complain(f"a floating constant stands where {self.variable.name} is .{of.name}", f"an integer, or .b{of.bits}")
        elif isinstance(value, Int):
            if of.is_float:
                self.complain(f"the integer {value.value} stands where {self.variable.name} is .{of.name}", f"{value.value}.0")
        else:
            self.complain(f"a field stands where {self.variable.name} takes a value", f"a constant of .{of.name}")

    def _address(self, value: SymbolRef) -> None:
        name, of = value.name, self.variable.type
        found = self.variable if name == self.variable.name else self.names.find(name)
        if value.mask is not None and value.mask not in _MASKS:
            self.complain(f"the mask {value.mask:#x} takes no byte of the address of {name}", "0xff, 0xff00, 0xff0000, ...", name)
        elif of not in _ADDRESSES and (value.mask is None or of != "u8"):
            self.complain(
                f"the address of {name} stands where {self.variable.name} is .{of}", ".u64; .u8 where a mask takes one byte of it", name
            )
        elif isinstance(found, Function):
            if value.offset or value.generic:
                self.complain(f"{name} is a function, whose address takes no offset and is generic already", name, name)
        elif not isinstance(found, Variable):
            self.complain(f"{name} is no variable or function that is declared before", "a name declared before", name)
        elif found.space.partition("[")[0] not in ("global", "const"):
            self.complain(f"{name} lies in .{found.space}, where it has no address before a launch", ".global or .const", name)
