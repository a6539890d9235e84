"""Declarations of variables, registers and parameters against ISA chapters 5 and 7.1: where each may stand, of which type and shape."""

from __future__ import annotations

from collections.abc import Callable

from ptxgen.instructions.targets import Version
from ptxgen.instructions.types import TYPES
from ptxgen.ir import Function, Module, RegDecl, Variable
from ptxgen.verify.initializers import check_initializer
from ptxgen.verify.names import Names
from ptxgen.verify.operands import Report
from ptxgen.verify.problems import explained

__all__ = ["check_registers", "check_signature", "check_variable"]

_WIDEST_VECTOR = 128
_FUNDAMENTAL = frozenset({
    "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "f32", "f64", "pred",
})  # fmt: skip
_OPAQUE = {"tex": "texref", "surf": "surfref", "sampler": "samplerref"}
"""Old state spaces, and the types that took their place."""

_NO_ABI = (3, 0)
"""Since then every target has the ABI, which leaves no registers and local memory outside of functions (ISA 5.1.1, 5.1.5)."""


def check_variable(variable: Variable, names: Names, module: Module, report: Report, *, in_function: bool) -> None:
    """Report what is wrong with a variable of the module, or of a function's body."""
    version = module.version
    complain = _complainer(variable.name, report)
    space = variable.space.partition("[")[0]
    if in_function:
        _check_place_in_function(variable, complain)
    elif space == "local" and version >= _NO_ABI:
        complain("a .local variable stands outside of any function", "5.1.5", "a variable of a function, or .global")
    elif space == "param":
        complain("a .param variable stands outside of any function", "5.1.6", "a parameter, or a variable in the body of a function")
    if space in _OPAQUE and version >= (1, 5):
        complain(f".{space} variables ended with PTX 1.5", "5.1.8", f".global .{_OPAQUE[space]}")
    if space != variable.space and version >= (2, 2):
        complain(f".{variable.space}: banks of constants ended with PTX 2.2", "5.1.3.1", ".const")
    _check_type(variable.type, variable.vector, complain, in_registers=False, opaque=space == "global" and not in_function)
    _check_mode(variable, module, complain)
    _check_shape(variable, complain, open_end=variable.init is not None or variable.linkage == "extern")
    _check_linkage(variable, space, complain)
    if variable.init is not None:
        check_initializer(variable, space, names, report)


def check_registers(declaration: RegDecl, version: Version, report: Report, *, in_function: bool) -> None:
    """Report what is wrong with a declaration of registers."""
    complain = _complainer(declaration.names[0], report)
    if not in_function and version >= _NO_ABI:
        complain("registers stand outside of any function", "5.1.1", "a declaration in the body that uses them")
    _check_type(declaration.type, declaration.vector, complain, in_registers=True, opaque=False)


def check_signature(function: Function, module: Module, report: Report) -> None:
    """Report what is wrong with the parameters and results of a function."""
    entry = function.kind == "entry"
    for formal in (*function.results, *function.params):
        complain = _complainer(formal.name, report)
        if formal.name == "_":
            complain(f"a parameter of {function.name} has no name", "7.1", "a name; only prototypes leave it out")
        if entry and formal.space != "param":
            complain(f"parameter {formal.name} of an entry is a register", "7.1", f".param .{formal.type} {formal.name}")
        registers = formal.space == "reg"
        _check_type(formal.type, formal.vector, complain, in_registers=registers, opaque=entry)
        _check_mode(formal, module, complain)
        if formal.vector and not registers:
            complain(f"parameter {formal.name} is a vector", "5.1.6", f".param .{formal.type} {formal.name}[{formal.vector}]")
        if formal.ptr is not None and not entry:
            complain(f"parameter {formal.name} of a .func says .ptr, which is for entries", "5.1.6.3", "no .ptr")
        last = formal is function.params[-1] if function.params else False
        _check_shape(formal, complain, open_end=last and not entry)
    if len(function.results) > 1 and any(formal.space == "param" for formal in function.results):
        report("declaration", explained(f"{function.name} has several results in .param", section="7.1", legal="one result"), function.name)


# ---- one rule each ------------------------------------------------------------------------------------------------------


_Complain = Callable[[str, str, str], None]
"""Takes the problem, the section of the ISA, and what would be legal."""


def _complainer(name: str, report: Report) -> _Complain:
    """Complaints about the declaration of `name`."""

    def complain(problem: str, section: str, legal: str) -> None:
        report("declaration", explained(problem, section=section, legal=legal), name)

    return complain


def _check_place_in_function(variable: Variable, complain: _Complain) -> None:
    if variable.linkage is not None:
        legal = f"the declaration in front of the function, or no .{variable.linkage}"
        complain(f".{variable.linkage} {variable.name} stands in a function", "11.6", legal)
    if variable.space not in ("local", "param", "shared", "global", "const"):
        complain(f"a .{variable.space} variable stands in a function", "5.1", "the declaration in front of the function")
    if variable.space == "param" and variable.vector:
        complain(f"{variable.name} in .param is a vector", "5.1.6", f".param .{variable.type} {variable.name}[{variable.vector}]")


def _check_type(type: str, vector: int | None, complain: _Complain, *, in_registers: bool, opaque: bool) -> None:
    of = TYPES[type]
    if of.kind == "opaque":
        if not opaque or vector:
            complain(f".{type} is a type of .global variables of the module and of entry parameters", "5.3", "no other place, no vector")
        return
    if type not in _FUNDAMENTAL:
        complain(f".{type} is a type of instructions, not of what is declared", "5.2.3", f".b{of.bits}")
    if of.kind == "pred" and (not in_registers or vector):
        complain("a predicate is a register by itself", "5.2.1", ".reg .pred, or a .u8 for what is stored")
    elif vector and (vector * of.bits > _WIDEST_VECTOR or vector == 8):
        complain(f".v{vector} .{type} has {vector * of.bits} bits", "5.4.2", ".v2 and .v4, of at most 128 bits")


def _check_mode(variable: Variable, module: Module, complain: _Complain) -> None:
    if variable.type == "samplerref" and "texmode_independent" not in module.target:
        complain("textures hold their samplers, as .target says", "11.1.2", f".target {module.target[0]}, texmode_independent")


def _check_shape(variable: Variable, complain: _Complain, *, open_end: bool) -> None:
    name, dims = variable.name, variable.dims
    aligned = [one for one in (variable.align, variable.ptr[1] if variable.ptr else None) if one is not None]
    if any(one < 1 or one & (one - 1) for one in aligned):
        complain(f".align {aligned[0]} is no power of two", "5.4.5", "1, 2, 4, 8, 16, ...")
    if None in dims[1:]:
        complain(f"{name}{_written(dims)}: only the first extent may be left open", "5.4.3", "a number in every other")
    elif any(extent is not None and extent < 1 for extent in dims) and variable.linkage != "extern":
        complain(f"{name}{_written(dims)} has no elements", "5.4.3", "positive extents")
    elif dims[:1] == (None,) and not open_end:
        legal = "an extent, an initialiser, or .extern; the last parameter of a .func"
        complain(f"{name}[] does not say how many elements it has", "5.4.3", legal)


def _written(dims: tuple[int | None, ...]) -> str:
    return "".join("[]" if extent is None else f"[{extent}]" for extent in dims)


def _check_linkage(variable: Variable, space: str, complain: _Complain) -> None:
    if variable.linkage == "common" and space != "global":
        complain(f".common {variable.name} lies in .{space}", "11.6.4", ".common .global")
    for attribute in variable.attributes:
        name = attribute.partition("(")[0]
        if name not in (".managed", ".unified"):
            complain(f"{name} is no attribute", "5.4.8", ".managed, .unified(uuid1, uuid2)")
        elif space != "global":
            complain(f"{name} is an attribute of .global variables", "5.4.8", f".global .attribute({attribute})")
