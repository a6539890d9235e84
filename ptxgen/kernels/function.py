"""`@px.func`: a Python function as a function of PTX, ``.func``, that kernels and other such functions call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Hashable
from typing import Any

from ptxgen import ir
from ptxgen.errors import PtxgenError, TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import Type, u64
from ptxgen.kernels.annotations import Constant, Parameter, Tensor, parameters_of, resolved
from ptxgen.kernels.trace import load_parameter, local_memory
from ptxgen.layouts.axes import m
from ptxgen.layouts.expr import Expr
from ptxgen.tile.expressions import compute, integer
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.calls import call, parameter_variable, result_offsets, result_variable
from ptxgen.tracing.knowledge import attach
from ptxgen.tracing.provenance import Where, here, raised_at
from ptxgen.tracing.source import decorator_line, parameter_line, return_line
from ptxgen.tracing.spoken import spoken
from ptxgen.tracing.tidy import tidy
from ptxgen.tracing.values import Scalar, as_value
from ptxgen.tracing.views import Memory, View

__all__ = ["Function", "func"]


def func(function: Callable[..., Any]) -> Function:
    """Make a function of PTX of a Python function; without it, a helper's code is written out at every call.

    Parameters are annotated as a kernel's: scalar types, `px.Tensor` of static shape (a view in global memory is passed by its address),
    and behind ``*`` `px.constexpr`. It returns nothing, a scalar, or a tuple of scalars; a return annotation (a type, or a tuple of
    types) is held to. It is traced once for each set of constants and of threads that call it.

    Raises
    ------
    TraceError
        For a parameter that is none of these.
    """
    where = decorator_line(function.__code__) if inspect.isfunction(function) else here()
    if not inspect.isfunction(function):
        raise TraceError(f"@px.func takes a function, not {function!r}", where=where, legal="@px.func in front of def, without parentheses")
    names = dict(sys._getframe(1).f_locals)
    try:
        parameters = parameters_of(function, names, "function")
        for one in parameters:
            if isinstance(one.annotation, Tensor) and one.annotation.dims():
                raise TraceError(
                    f"function {function.__name__}: {one.name} has a named dim in its shape",
                    where=parameter_line(function.__code__, one.name), why="a dim's value is a parameter of the kernel",
                    legal="a static shape, and a px.u32 for how much of it is meant",
                )  # fmt: skip
        return Function(function, parameters, resolved(function, names, "return"), where)
    except TraceError as error:
        raise error.at(where) from None


class Function:
    """A function that a kernel calls: `f(x, y)` while the kernel is traced."""

    def __init__(self, function: Callable[..., Any], parameters: tuple[Parameter, ...], returns: Any, where: Where) -> None:
        self.function = function
        self.name = function.__name__
        self.parameters = parameters
        self.where = where
        self.returns = _declared(function, returns)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<px.func {self.name}>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Emit a call.

        Returns
        -------
        Scalar, tuple of Scalar or None

        Raises
        ------
        TraceError
            Where an argument is not what the parameter's annotation says.
        """
        builder, where = current(f"{self.name}(...), a px.func,"), here()
        try:
            bound = inspect.signature(self.function).bind(*arguments, **named)
        except TypeError as error:
            raise TraceError(f"{self.name}: {error}", where=where, legal=f"{self.name}{inspect.signature(self.function)}") from None
        bound.apply_defaults()
        constants = {one.name: bound.arguments[one.name] for one in self.parameters if isinstance(one.annotation, Constant)}
        passed = [one for one in self.parameters if not isinstance(one.annotation, Constant)]
        values = [_argument(builder, self.name, one, bound.arguments[one.name], where) for one in passed]
        made = self._made(builder, constants, where)
        builder.require(made.version, made.targets, f"function {self.name}", "11.1.2")
        registers = call(builder, made.name, values, made.results, where)
        results = [Scalar(builder, type, register, builder.region, where) for type, register in zip(made.results, registers)]
        for one in results:
            attach(one, None)
        return tuple(results) if made.several else results[0] if results else None

    def _made(self, builder: Builder, constants: dict[str, Any], where: Where) -> _Made:
        """The function for these constants, called by these threads."""
        threads = builder.active_threads().tobytes(), builder.divergence() is None, builder.one_a_warp()
        key: Hashable = self, tuple(constants.items()), threads
        try:
            found = builder.declared.get(key)
        except TypeError:
            raise TraceError(
                f"{self.name}: a constant is not hashable: {constants}", where=where, legal="ints, texts, types, tuples of these"
            ) from None
        if found is self:
            raise TraceError(
                f"{self.name} calls itself", where=where, why="a function's text is written before its callers'",
                legal="a loop: with px.while_(...), for i in px.range(...)",
            )  # fmt: skip
        if found is None:
            builder.declared[key] = self  # under way
            try:
                found = builder.declared[key] = self._trace(builder, constants)
            except BaseException:
                del builder.declared[key]
                raise
        made: _Made = found
        return made

    def _trace(self, outer: Builder, constants: dict[str, Any]) -> _Made:
        inner = outer.inside(self.name)
        where = Where(self.function.__code__, 0)
        with inner:
            arguments = {one.name: _parameter(inner, one, constants) for one in self.parameters}
            try:
                returned = self.function(**arguments)
                results = self._results(inner, returned)
            except PtxgenError as error:
                error.at(raised_at(error)).reword(lambda text: spoken(inner, text))
                raise
            inner.finish()
            if inner.shared:
                raise TraceError(
                    f"function {self.name} declares shared memory", where=where, why="all shared memory is the kernel's to place",
                    legal="declare it in the kernel; a function without @px.func is written out there and may take views of it",
                )  # fmt: skip
            types = [value.type for value in results]
            for value, offset in zip(results, result_offsets(types)):
                address = ir.Address(ir.Sym("result"), offset), Given("address", "[result]", space="param")
                inner.emit(f"st.param.{value.type.word}", [address, value.described()], where=where)
            tidy(inner)
        name = outer.unique(self.name)
        body = (*inner.declarations(), *local_memory(inner), *inner.prologue, *inner.body, ir.Instruction("ret"))
        declared = (result_variable(types, "result"),) if types else ()
        parameters = tuple(_declaration(one) for one in self.parameters if not isinstance(one.annotation, Constant))
        outer.module.append(ir.Function("func", name, parameters, body, declared, linkage=None, where=where))
        return _Made(name, types, isinstance(returned, tuple), inner)

    def _results(self, inner: Builder, returned: Any) -> list[Value]:
        """The returned scalars, as the annotation declares them."""
        given = list(returned) if isinstance(returned, tuple) else [] if returned is None else [returned]
        where = return_line(self.function.__code__)
        types = self.returns if self.returns is not None else [one.type if isinstance(one, Value) else None for one in given]
        if len(types) != len(given):
            raise TraceError(
                f"function {self.name} returns {len(given)} values, and is declared with {len(types)}", where=where,
                legal="one value for each type behind ->",
            )  # fmt: skip
        found = []
        for value, type in zip(given, types):
            if type is None or type.kind == "pred":
                raise TraceError(
                    f"function {self.name} returns {value!r}", where=where, why="a result travels in a .param variable: a scalar",
                    legal="traced scalars; px.select(p, one, zero) for a predicate; def f(...) -> px.f32 for a Python number",
                )  # fmt: skip
            value = as_value(inner, value, type, where)
            inner.visible(value, where)
            found.append(value)
        return found


class _Made:
    """A function that was traced: its name in the module, and what its calls need."""

    __slots__ = ("name", "results", "several", "targets", "version")

    def __init__(self, name: str, results: list[Type], several: bool, inner: Builder) -> None:
        self.name = name
        self.results = results
        self.several = several
        self.version = inner.version
        self.targets = inner.targets


def _declared(function: Callable[..., Any], returns: Any) -> list[Type] | None:
    """The types of the results, where the annotation gives them."""
    if returns is inspect.Parameter.empty:
        return None
    types = list(returns) if isinstance(returns, tuple) else [] if returns is None else [returns]
    if not all(isinstance(one, Type) and one.kind != "pred" for one in types):
        raise TraceError(
            f"function {function.__name__}: the result is annotated {returns!r}", where=return_line(function.__code__),
            legal="-> px.f32, -> (px.f32, px.u32), -> None, or nothing",
        )  # fmt: skip
    return types


# ---- parameters ---------------------------------------------------------------------------------------------------------


def _declaration(parameter: Parameter) -> ir.Variable:
    annotation = parameter.annotation
    return parameter_variable(u64 if isinstance(annotation, Tensor) else annotation, parameter.name)  # type: ignore[arg-type]


def _parameter(inner: Builder, parameter: Parameter, constants: dict[str, Any]) -> Any:
    """What a parameter is inside the function."""
    annotation = parameter.annotation
    if isinstance(annotation, Constant):
        return constants[parameter.name]
    inner.parameters.add(parameter.name)
    if isinstance(annotation, Tensor):
        base = load_parameter(inner, parameter.name, u64)
        base.same = False
        return View(inner, annotation.dtype, Memory(parameter.name, "global", base, annotation.align), annotation.layout())
    value = load_parameter(inner, parameter.name, annotation)
    value.same = False  # each caller passes its own
    if annotation.is_integer and annotation.bits >= 16:
        inner.symbol(parameter.name, value)
    return value


def _argument(builder: Builder, function: str, parameter: Parameter, given: Any, where: Where) -> Value:
    """What a caller passes for a parameter: a scalar, or the address of a view."""
    annotation = parameter.annotation
    if isinstance(annotation, Tensor):
        return _address(builder, function, parameter.name, annotation, given, where)
    assert isinstance(annotation, Type)
    try:
        value = as_value(builder, given, annotation, where)
    except TraceError as error:
        raise error.of(function, parameter.name) from None
    builder.visible(value, where)
    return value


def _address(builder: Builder, function: str, name: str, annotation: Tensor, given: Any, where: Where) -> Value:
    problem = _mismatch(annotation, given)
    if problem:
        raise TraceError(
            f"{function}: {name} takes {annotation!r}, and {problem}", where=where,
            legal="a view in global memory of that shape, type and strides, whose address is known to be as well aligned",
        )  # fmt: skip
    given.check_visible()
    address, _ = given.__ptxgen_address__(builder)
    if isinstance(address.base, ir.Sym):
        base = compute(builder, "mov.u64", u64, (address.base, Given("symbol", address.base.name)))
    else:
        base = Value(builder, u64, address.base, builder.region, where)
    return compute(builder, "add.u64", u64, base.described(), integer(address.offset)) if address.offset else base


def _mismatch(annotation: Tensor, given: Any) -> str:
    """How an argument differs from what a parameter takes."""
    if not isinstance(given, View):
        return f"{given!r} is no view"
    storage = given.storage
    if not isinstance(storage, Memory) or given.space != "global":
        return f"{given!r} lies in .{given.space}"
    wanted = annotation.layout()
    if given.dtype is not annotation.dtype or given.shape != wanted.shape:
        return f"{given!r} is another"
    start = Expr.of(given.layout.offset[m])
    if wanted + given.layout.offset != given.layout:
        return f"{given!r} has other strides"
    if storage.align % annotation.align or start.divisor() % (8 * annotation.align):
        return f"{given!r} is not known to be aligned to {annotation.align} bytes"
    return ""
