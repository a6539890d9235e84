"""Calls against the declaration of what they call (ISA 7.1: arguments match parameters in number, type, size and alignment)."""

from __future__ import annotations

from typing import Union

from ptxgen.instructions.checking import Given, fits
from ptxgen.instructions.types import TYPES
from ptxgen.ir import Call, Function, Operand, Prototype, Sym, Targets, Variable
from ptxgen.verify.accesses import alignment_of, size_of
from ptxgen.verify.names import Names
from ptxgen.verify.operands import OperandGiver, Report
from ptxgen.verify.problems import explained

__all__ = ["check_call", "given_operands"]

Declared = Union[Function, Prototype]
SECTION = "9.7.12.5"


def given_operands(call: Call, giver: OperandGiver) -> list[Given]:
    """The operands of a call in the order of its syntax lines."""
    found = []
    if call.results:
        found.append(giver.list(call.results))
    found.append(giver.given(call.target))
    if call.arguments or call.results:
        found.append(giver.list(call.arguments))
    if call.targets is not None:
        found.append(Given("symbol", call.targets.name))
    return found


def check_call(call: Call, names: Names, report: Report) -> None:
    """Report results and arguments that do not fit what is called, where that is known."""
    callee = _callee(call, names, report)
    if callee is None:
        return
    what = callee.name if isinstance(callee, Function) else callee.label
    for formals, actuals, kind in ((callee.results, call.results, "result"), (callee.params, call.arguments, "argument")):
        if len(formals) != len(actuals):
            count = f"{len(formals)} {kind}{'' if len(formals) == 1 else 's'}"
            report("call", explained(f"{what} has {count}, {len(actuals)} given", opcode=call.opcode, section=SECTION), what)
            continue
        for formal, actual in zip(formals, actuals):
            problem = _misfit(formal, actual, names)
            if problem:
                message = explained(
                    f"{kind} {formal.name} of {what}: {problem}", opcode=call.opcode, section=SECTION, legal=_declared(formal)
                )
                report("call", message, getattr(actual, "name", ""))


def _callee(call: Call, names: Names, report: Report) -> Declared | None:
    if call.targets is not None:
        named = names.find(call.targets.name)
        if isinstance(named, Targets):
            named = names.find(named.names[0])
        elif not isinstance(named, Prototype):
            text = f"{call.targets.name} is no .calltargets list and no .callprototype"
            report("undeclared-name", explained(text, opcode=call.opcode, section=SECTION), call.targets.name)
        return named if isinstance(named, (Function, Prototype)) else None
    if not isinstance(call.target, Sym):
        return None
    found = names.find(call.target.name)
    if found is not None and not isinstance(found, Function):
        report("not-a-function", explained(f"{call.target.name} is no function", opcode=call.opcode, section=SECTION), call.target.name)
    if isinstance(found, Function) and found.kind == "entry":
        report(
            "not-a-function",
            explained(f"{found.name} is an .entry, which only a launch starts", opcode=call.opcode, section=SECTION),
            found.name,
        )
        return None
    return found if isinstance(found, Function) else None


def _misfit(formal: Variable, actual: Operand, names: Names) -> str:
    """What is wrong with one argument, or an empty text."""
    wanted = TYPES[formal.type]
    named = names.find(getattr(actual, "name", ""))
    if isinstance(actual, Sym) and isinstance(named, Variable):
        if named.space != "param":
            return f"{named.name} lies in .{named.space}; only registers, constants and .param variables are passed"
        if size_of(named) != size_of(formal):
            return f"{named.name} has {size_of(named)} bytes, not {size_of(formal)}"
        if alignment_of(named) != alignment_of(formal):
            return f"{named.name} is aligned to {alignment_of(named)}, not to {alignment_of(formal)}"
        return ""
    type = getattr(named, "type", None)
    if type is None or isinstance(type, str):
        return ""  # a constant, a sink, or a name that was reported before
    if getattr(named, "vector", 0) != (formal.vector or 0):
        return f"{getattr(actual, 'name', '')} has {getattr(named, 'vector', 0) or 1} elements where {formal.vector or 1} are passed"
    if formal.dims:
        return f"{getattr(actual, 'name', '')} is a register where an array of {size_of(formal)} bytes is passed"
    return "" if fits(type, wanted) else f"{getattr(actual, 'name', '')} is .{type.name} where .{wanted.name} is passed"


def _declared(formal: Variable) -> str:
    dims = "".join(f"[{extent}]" for extent in formal.dims)
    return f"as declared: .{formal.space} .align {alignment_of(formal)} .{formal.type} {formal.name}{dims}"
