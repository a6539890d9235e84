"""Calls of functions in PTX: arguments and results travel in ``.param`` variables of a scope of their own (ISA 7.1)."""

from __future__ import annotations

from collections.abc import Sequence

from ptxgen import ir
from ptxgen.instructions.checking import Given, check
from ptxgen.instructions.types import Type
from ptxgen.tracing.builder import Builder, Value, given_register
from ptxgen.tracing.provenance import Where

__all__ = ["call", "parameter_variable", "result_offsets", "result_variable"]


def call(builder: Builder, function: str, arguments: Sequence[Value], results: Sequence[Type], where: Where) -> list[ir.Reg]:
    """Emit a call and return the registers with its results.

    Several results come back in one parameter, an array of bytes in which each is naturally aligned.
    """
    names = [f"param{number}" for number in range(len(arguments))]
    body: list[ir.Statement] = [parameter_variable(one.type, name) for one, name in zip(arguments, names)]
    answers: tuple[ir.Operand, ...] = ()
    if results:
        answers = (ir.Sym("retval0"),)
        body.append(result_variable(results, "retval0"))
    for name, value in zip(names, arguments):
        address = ir.Address(ir.Sym(name)), Given("address", f"[{name}]", space="param")
        builder.emit(f"st.param.{value.type.word}", [address, value.described()], into=body, where=where)
    checked = check("call", [*[Given("list", "()")] * bool(results), Given("symbol", function), Given("list", "()")])
    builder.need(checked)
    body.append(ir.Call("call", ir.Sym(function), answers, tuple(map(ir.Sym, names)), where=where))
    found = []
    for type, offset in zip(results, result_offsets(results)):
        target = builder.register(type)
        found.append(target)
        address = ir.Address(ir.Sym("retval0"), offset), Given("address", "[retval0]", space="param")
        builder.emit(f"ld.param.{type.word}", [(target, given_register(target, type)), address], into=body, where=where)
    builder.append(ir.Block(tuple(body)))
    return found


def parameter_variable(type: Type, name: str) -> ir.Variable:
    """A parameter of a ``.func``: at least 32 bits wide, as ptxas demands; a narrower value is its lowest bits."""
    return ir.Variable("param", type.word if type.bits >= 32 else "b32", name)


def result_offsets(results: Sequence[Type]) -> list[int]:
    """Where each result begins in the parameter that carries them."""
    offsets, end = [], 0
    for type in results:
        size = type.bits // 8
        end = -(-end // size) * size
        offsets.append(end)
        end += size
    return offsets


def result_variable(results: Sequence[Type], name: str) -> ir.Variable:
    """The parameter that carries results: a scalar for one, an array of bytes for several."""
    if len(results) == 1:
        return parameter_variable(results[0], name)
    size = result_offsets(results)[-1] + results[-1].bits // 8
    return ir.Variable("param", "b8", name, (size,), align=max(type.bits // 8 for type in results))
