"""One trace: runs a kernel's function with traced arguments and makes a PTX module of what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from ptxgen import ir
from ptxgen.errors import PtxgenError, TraceError
from ptxgen.instructions.targets import target_set
from ptxgen.instructions.types import Type, u64
from ptxgen.kernels.annotations import Constant, Dim, Parameter, Tensor
from ptxgen.layouts.expr import Expr
from ptxgen.runtime.signature import DimParam, ScalarParam, Signature, TensorMapParam, TensorParam
from ptxgen.tracing.builder import Builder, Value, given_register, given_value
from ptxgen.tracing.provenance import Where, raised_at
from ptxgen.tracing.source import parameter_line, return_line
from ptxgen.tracing.spoken import spoken
from ptxgen.tracing.storage import SharedMemory, shared_memory
from ptxgen.tracing.tidy import tidy
from ptxgen.tracing.values import Scalar
from ptxgen.tracing.views import Memory, View

__all__ = ["Trace", "trace"]


class Trace:
    """What a specialisation is made of.

    Attributes
    ----------
    module : ir.Module
    signature : Signature
        Parameters as the launch binds them.
    entry : str
    dynamic_shared : int
        Bytes of dynamic shared memory that a launch must provide.
    shared : SharedMemory
    block, cluster : tuple of int
    """

    __slots__ = ("block", "cluster", "dynamic_shared", "entry", "module", "shared", "signature")

    def __init__(
        self,
        module: ir.Module,
        signature: Signature,
        entry: str,
        shared: SharedMemory,
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
    ) -> None:
        self.module = module
        self.signature = signature
        self.entry = entry
        self.dynamic_shared = shared.dynamic_bytes
        self.shared = shared
        self.block = block
        self.cluster = cluster


class ParameterMemory(Memory):
    """A tensor parameter: its address is loaded in the prologue when something first needs it."""

    __slots__ = ("_base", "builder", "param", "tensor")

    def __init__(self, builder: Builder, param: str, tensor: Tensor) -> None:
        self.builder = builder
        self.tensor = tensor
        self.param = param
        self._base: Value | None = None
        self.name = param
        self.space = "global"
        self.align = tensor.align
        self.where = None

    @property
    def base(self) -> Value:  # type: ignore[override]
        if self._base is None:
            loaded = load_parameter(self.builder, self.param, u64)
            target = self.builder.register(u64)
            operands = [(target, given_register(target, u64)), (loaded.operand, given_value(loaded))]
            self.builder.emit("cvta.to.global.u64", operands, into=self.builder.prologue)
            self._base = Value(self.builder, u64, target, self.builder.root, None)
        return self._base


def load_parameter(builder: Builder, name: str, type: Type) -> Scalar:
    """Load a scalar parameter in the prologue (ISA 7.1: parameters of an entry are read with ld.param)."""
    from ptxgen.instructions.checking import Given

    target = builder.register(type)
    opcode = f"ld.param.{type.word}"
    address = ir.Address(ir.Sym(name))
    builder.emit(
        opcode, [(target, given_register(target, type)), (address, Given("address", f"[{name}]", space="param"))], into=builder.prologue
    )
    loaded = Scalar(builder, type, target, builder.root, None)
    loaded.same = True
    return loaded


def local_memory(builder: Builder) -> list[ir.Variable]:
    """The declarations of a thread's local memory."""
    return [ir.Variable("local", "b8", name, (size,), align=8) for name, size in builder.local_bytes.items()]


def trace(
    function: Callable[..., Any],
    parameters: tuple[Parameter, ...],
    constants: Mapping[str, Any],
    *,
    block: tuple[int, int, int],
    cluster: tuple[int, int, int],
    grid: tuple[int, int, int],
    target: str | None,
    directives: tuple[ir.Directive, ...],
) -> Trace:
    """Run the function once.

    Parameters
    ----------
    grid : tuple of int
        The largest grid that a launch can have, for the ranges of block indices.

    Raises
    ------
    PtxgenError
        Whatever the function does against the rules, at the user's line.
    """
    builder = Builder(function.__name__, block, target, cluster)
    builder.grid = grid
    where = Where(function.__code__, 0)
    with builder:
        dims = _declare_dims(builder, parameters, function.__code__)
        builder.parameters.update([one.name for one in parameters], [one.name for one in dims])
        arguments = {one.name: _argument(builder, one, constants) for one in parameters}
        try:
            returned = function(**arguments)
        except PtxgenError as error:  # layouts know no line of the user's, and contracts no name
            error.at(raised_at(error)).reword(lambda text: spoken(builder, text))
            raise
        if returned is not None:
            raise TraceError(
                f"kernel {function.__name__} returns a {_kind(returned)}", where=return_line(function.__code__),
                why="a kernel has no result", legal="store it into a tensor argument",
            )  # fmt: skip
        builder.finish()
        tidy(builder)
    shared, body = shared_memory(builder)
    version, lowest = builder.lowest()
    if cluster != (1, 1, 1):
        builder.require((7, 8), target_set("sm_90+"), "a cluster launch", "11.4.9")
        version, lowest = builder.lowest()
    entry = ir.Function(
        "entry",
        function.__name__,
        (
            *(_declaration(one) for one in parameters if not isinstance(one.annotation, Constant)),
            *(_dim_declaration(one) for one in dims),
            *(one.declaration() for one in builder.tensor_maps.values()),
        ),
        (*builder.declarations(), *local_memory(builder), *shared.declarations, *body, ir.Instruction("ret")),
        directives=directives,
        where=where,
    )
    items: tuple[Any, ...] = (*builder.module, *shared.module_level, entry)
    signature = Signature(
        function.__name__,
        [
            *(_signature(one) for one in parameters if not isinstance(one.annotation, Constant)),
            *(DimParam(one.name, one.dtype, one.max) for one in dims),
            *(TensorMapParam(one.name, one.tensor, one.map) for one in builder.tensor_maps.values()),
        ],
        {one.name: one.multiple_of for one in dims if one.multiple_of > 1},
    )
    builder.forget()
    return Trace(ir.Module(version, (lowest,), items), signature, function.__name__, shared, block, cluster)


def _kind(returned: Any) -> str:
    """What the user calls an object."""
    if isinstance(returned, Value):
        return f"traced .{returned.type.name}"
    return "view" if isinstance(returned, View) else type(returned).__name__


def _declare_dims(builder: Builder, parameters: tuple[Parameter, ...], code: CodeType) -> list[Dim]:
    """The named dims in order of first appearance; each is loaded when first used."""
    dims: dict[str, Dim] = {}
    taken = {one.name for one in parameters}
    for parameter in parameters:
        for one in parameter.annotation.dims() if isinstance(parameter.annotation, Tensor) else ():
            known = dims.setdefault(one.name, one)
            if (known.multiple_of, known.dtype, known.max) != (one.multiple_of, one.dtype, one.max):
                raise TraceError(
                    f"two dims are named {one.name}, with different types or multiples",
                    where=parameter_line(code, parameter.name),
                    why="one name has one value", legal=f'one {one.name} = px.dim("{one.name}", ...) for all parameters',
                )  # fmt: skip
            if one.name in taken:
                raise TraceError(
                    f"dim {one.name} has the name of a parameter", where=parameter_line(code, one.name),
                    why="dims are parameters of the entry too", legal="another name for one of them",
                )  # fmt: skip

    def loader(one: Dim) -> Callable[[], Value]:
        def load() -> Value:
            value = load_parameter(builder, one.name, one.dtype)
            value.expr = Expr.of(one.symbol)
            return value

        return load

    for one in dims.values():
        builder.lazy[one.symbol] = loader(one)
    return list(dims.values())


def _argument(builder: Builder, parameter: Parameter, constants: Mapping[str, Any]) -> Any:
    annotation = parameter.annotation
    if isinstance(annotation, Constant):
        return constants[parameter.name]
    if isinstance(annotation, Tensor):
        return View(builder, annotation.dtype, ParameterMemory(builder, parameter.name, annotation), annotation.layout())
    value = load_parameter(builder, parameter.name, annotation)
    if annotation.is_integer and annotation.bits >= 16:
        builder.symbol(parameter.name, value)
    return value


def _declaration(parameter: Parameter) -> ir.Variable:
    annotation = parameter.annotation
    if isinstance(annotation, Tensor):
        return ir.Variable("param", "u64", parameter.name, linkage=None, ptr=("global", annotation.align))
    assert isinstance(annotation, Type)
    return ir.Variable("param", annotation.word, parameter.name)


def _dim_declaration(one: Dim) -> ir.Variable:
    return ir.Variable("param", one.dtype.name, one.name)


def _signature(parameter: Parameter) -> Any:
    annotation = parameter.annotation
    if isinstance(annotation, Tensor):
        return TensorParam(parameter.name, annotation.dtype, annotation.shape, annotation.strides, annotation.align)
    assert isinstance(annotation, Type)
    return ScalarParam(parameter.name, annotation)
