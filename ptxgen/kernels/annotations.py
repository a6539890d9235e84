"""What a kernel's parameters are annotated with: tensors, named runtime dims, scalar types, constants."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from ptxgen.errors import TraceError
from ptxgen.instructions.types import Type, u32
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.layouts.layout import Layout
from ptxgen.tracing.provenance import here
from ptxgen.tracing.source import parameter_line

__all__ = ["Constant", "Dim", "Extent", "Parameter", "Tensor", "cdiv", "constexpr", "dim", "parameters_of"]


class Dim:
    """A runtime extent with a name. One name has one value in a launch; it is read from the arguments' shapes.

    Usable in shapes, in the kernel (where it is a traced integer), and in `grid`, whose function gets its value as an int.

    Attributes
    ----------
    name : str
    multiple_of : int
        Known to divide it, and checked at launch.
    dtype : Type
        How the kernel holds it.
    max : int
        The largest value that a launch may have, checked there: what proves that indices do not wrap. 2**31 - 1 unless given, or 2**63 - 1
        for a 64-bit type.
    """

    __slots__ = ("dtype", "max", "multiple_of", "name", "symbol")

    def __init__(self, name: str, multiple_of: int = 1, dtype: Type = u32, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise TraceError(f"a dim is named by an identifier, not {name!r}", where=here(), legal='n = px.dim("n")')
        if isinstance(multiple_of, bool) or not isinstance(multiple_of, int) or multiple_of < 1:
            raise TraceError(
                f"dim {name}: multiple_of={multiple_of!r} is no positive int", where=here(), legal=f'px.dim("{name}", multiple_of=4)'
            )
        if not isinstance(dtype, Type) or dtype.name not in ("u32", "s32", "u64", "s64"):
            raise TraceError(f"dim {name}: dtype={dtype!r} is no type of a count", where=here(), legal="px.u32, px.s32, px.u64 or px.s64")
        largest = (1 << (dtype.bits - dtype.signed)) - 1
        if max is not None and (isinstance(max, bool) or not isinstance(max, int) or not multiple_of <= max <= largest):
            raise TraceError(f"dim {name}: max={max!r}", where=here(), legal=f"an int from {multiple_of} to {largest}")
        self.name = name
        self.multiple_of = multiple_of
        self.dtype = dtype
        self.max = (1 << (dtype.bits - 1)) - 1 if max is None else max
        self.symbol = Symbol(name, 0, self.max, multiple_of, key=("dim", name))

    def __repr__(self) -> str:
        return self.name

    def __ptxgen_value__(self, builder: Any) -> Any:
        if self.symbol not in builder.values and self.symbol not in builder.lazy:
            raise TraceError(
                f"dim {self.name} stands in no tensor parameter of this kernel", where=here(),
                why="its value is read from the arguments' shapes", legal=f"a parameter {self.name}: px.u32",
            )  # fmt: skip
        return builder.value_of(self.symbol)

    def __eq__(self, other: Any) -> Any:
        """Inside a kernel a predicate, as every comparison; outside, whether both are one dim."""
        return _dim_comparison(self, other, "__eq__", self is other)

    def __ne__(self, other: Any) -> Any:
        return _dim_comparison(self, other, "__ne__", self is not other)

    __hash__ = object.__hash__

    def __index__(self) -> int:
        raise TraceError(
            f"dim {self.name} is used as an int of Python", where=here(), why="its value is known at launch alone",
            legal=f"px.range({self.name}) to loop up to it, or a px.constexpr parameter",
        )  # fmt: skip

    def __bool__(self) -> bool:
        raise TraceError(
            f"dim {self.name} is used as a truth value", where=here(), why="its value is known at launch alone",
            legal=f"with px.if_({self.name} > 0): ...",
        )  # fmt: skip


def _dim_comparison(one: Dim, other: Any, name: str, same: bool) -> Any:
    from ptxgen.tracing.builder import active

    builder = active()
    return same if builder is None else getattr(one.__ptxgen_value__(builder), name)(other)


def _delegate(name: str) -> Callable[..., Any]:
    def method(self: Dim, *others: Any) -> Any:
        from ptxgen.tracing.builder import active

        builder = active()
        if builder is None:
            raise TraceError(
                f"arithmetic on dim {self.name} outside of a kernel", where=here(), why="its value is known at launch alone",
                legal="a dim of its own for each extent and stride; in grid, a function of the dims: grid=lambda n: px.cdiv(n, 128)",
            )  # fmt: skip
        return getattr(self.__ptxgen_value__(builder), name)(*others)

    return method


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
for _name in (*_OPERATORS, *(f"r{_one}" for _one in _OPERATORS), "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs"):
    setattr(Dim, f"__{_name}__", _delegate(f"__{_name}__"))
for _name in ("to", "bitcast"):
    setattr(Dim, _name, _delegate(_name))


def dim(name: str, multiple_of: int = 1, dtype: Type = u32, max: int | None = None) -> Dim:
    """A named runtime extent: ``n = px.dim("n", multiple_of=8)``; see `Dim`."""
    return Dim(name, multiple_of, dtype, max)


class Tensor:
    """The annotation of a tensor parameter.

    Parameters
    ----------
    shape : tuple of int or Dim
    dtype : Type
    align : int, optional
        Bytes that divide its base address, checked at launch; by default the element's size.
    strides : tuple of int or Dim, optional
        In elements. Row-major contiguous by default; the arguments must have exactly these.
    """

    __slots__ = ("align", "dtype", "shape", "strides")

    def __init__(self, shape: Sequence[Any], dtype: Type, align: int | None = None, strides: Sequence[Any] | None = None) -> None:
        if not isinstance(dtype, Type):
            found = "the type stands first" if isinstance(shape, Type) else f"{dtype!r} is no element type"
            legal = "px.Tensor((4, 8), px.f32): a shape, then px.f32, px.bf16, px.u8, ..."
            raise TraceError(f"px.Tensor: {found}", where=here(), legal=legal)
        if dtype.kind == "pred":
            raise TraceError("px.Tensor: memory holds no predicates", where=here(), legal="px.u8, and x != 0 for a predicate")
        self.shape = tuple(_extent(one) for one in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        self.dtype = dtype
        self.align = align if align is not None else max(1, dtype.bits // 8)
        self.strides = None if strides is None else tuple(_extent(one) for one in strides)
        least = max(1, dtype.bits // 8)
        if not isinstance(self.align, int) or self.align & (self.align - 1) or self.align < least:
            raise TraceError(
                f"px.Tensor: align={align!r} is no power of two of at least {least}, the size of an element", where=here(),
                legal="align=16 for vectors of 16 bytes; it is left out for single elements",
            )  # fmt: skip
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise TraceError(
                f"px.Tensor: {len(self.strides)} strides for {len(self.shape)} extents", where=here(),
                legal="one stride, in elements, for each extent",
            )  # fmt: skip

    def layout(self) -> Layout:
        """Positions in bits."""
        from ptxgen.layouts import S

        extents = tuple(_expr(one) for one in self.shape)
        strides: tuple[Any, ...]
        if self.strides is not None:
            strides = tuple(_expr(one) for one in self.strides)
        else:
            reversed_strides: list[Any] = []
            step: Any = 1
            for extent in reversed(extents):
                reversed_strides.append(step)
                step = step * extent
            strides = tuple(reversed(reversed_strides))
        known = all(isinstance(one, int) for one in (*extents, *strides))
        layout = _static_layout(extents, strides) if known else Layout(S[extents:strides])
        return layout.bind(self.dtype.bits)

    def dims(self) -> list[Dim]:
        """The named dims in shape and strides."""
        return [one for one in (*self.shape, *(self.strides or ())) if isinstance(one, Dim)]

    def __repr__(self) -> str:
        return f"px.Tensor({self.shape}, {self.dtype})"


@lru_cache(maxsize=64)
def _static_layout(extents: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    """The same object for the same extents and strides: its table of positions is computed once for all kernels."""
    from ptxgen.layouts import S

    return Layout(S[extents:strides])


def _extent(one: Any) -> int | Dim:
    if isinstance(one, Dim):
        return one
    if isinstance(one, bool) or not hasattr(one, "__index__"):
        raise TraceError(f"px.Tensor: {one!r} is no extent", where=here(), legal='an int, or a dim: n = px.dim("n")')
    value = int(one.__index__())
    if value < 1:
        legal = "1 or more elements; a dim may be 0 at launch"
        raise TraceError(f"px.Tensor: the extent {value} leaves no elements", where=here(), legal=legal)
    return value


def _expr(one: int | Dim) -> Any:
    return Expr.of(one.symbol) if isinstance(one, Dim) else one


class Constant:
    """The annotation ``px.constexpr``: a keyword-only Python value that specialises the kernel."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "px.constexpr"


constexpr = Constant()


class Parameter:
    """One parameter of a kernel function and what it is annotated with."""

    __slots__ = ("annotation", "default", "name")

    def __init__(self, name: str, annotation: Tensor | Type | Constant, default: Any) -> None:
        self.name = name
        self.annotation = annotation
        self.default = default


def parameters_of(function: Callable[..., Any], local: Mapping[str, Any], what: str = "kernel") -> tuple[Parameter, ...]:
    """The parameters of a kernel's function; `local` are the names visible where it was decorated, for annotations that are strings.

    Raises
    ------
    TraceError
        Where an annotation is missing or is nothing that a kernel takes.
    """
    found = []
    parameters = inspect.signature(function).parameters.values()
    texts = any(isinstance(parameter.annotation, str) for parameter in parameters)
    scope = _scope(function, local) if texts else {}
    for parameter in parameters:
        annotation = _resolve(parameter.annotation, function, scope, parameter.name, what)
        if isinstance(annotation, Constant):
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                raise TraceError(
                    f"{what} {function.__name__}: the constant {parameter.name} must be keyword-only",
                    where=parameter_line(function.__code__, parameter.name),
                    why="arguments by position are what a launch binds",
                    legal=f"def {function.__name__}(..., *, {parameter.name}: px.constexpr = ...)",
                )
        elif not isinstance(annotation, (Tensor, Type)) or parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TraceError(
                f"{what} {function.__name__}: parameter {parameter.name} {_wrong_parameter(parameter, annotation)}",
                where=parameter_line(function.__code__, parameter.name),
                legal="x: px.Tensor(shape, dtype), n: px.u32, or, behind *, BM: px.constexpr",
            )
        elif parameter.default is not inspect.Parameter.empty:
            raise TraceError(
                f"{what} {function.__name__}: parameter {parameter.name} has the default {parameter.default!r}",
                where=parameter_line(function.__code__, parameter.name),
                why="every launch binds all arguments; only constants have defaults",
                legal=f"{parameter.name} without a default, or, behind *, {parameter.name}: px.constexpr = {parameter.default!r}",
            )
        found.append(Parameter(parameter.name, annotation, parameter.default))
    return tuple(found)


def resolved(function: Callable[..., Any], local: Mapping[str, Any], name: str) -> Any:
    """An annotation of a function's, evaluated where it is a text; ``inspect.Parameter.empty`` where there is none."""
    annotation = function.__annotations__.get(name, inspect.Parameter.empty)
    scope = _scope(function, local) if isinstance(annotation, str) else {}
    return _resolve(annotation, function, scope, name, "function")


def _scope(function: Callable[..., Any], local: Mapping[str, Any]) -> dict[str, Any]:
    """What annotations that are texts can name."""
    return {**vars(typing), **function.__globals__, **_enclosed(function), **local}


def _wrong_parameter(parameter: inspect.Parameter, annotation: Any) -> str:
    """What is wrong with a parameter that is neither a tensor, a scalar nor a constant."""
    if isinstance(annotation, (Tensor, Type)):
        return "is no plain argument: tensors and scalars are passed by position, before any *"
    if annotation is inspect.Parameter.empty:
        return "has no annotation"
    return f"is annotated {annotation.__name__ if isinstance(annotation, type) else repr(annotation)}"


def _enclosed(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of enclosing functions that a function uses and that have a value."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # empty so far
            continue
    return found


@lru_cache(maxsize=256)
def _compiled(annotation: str) -> CodeType:
    return compile(annotation.strip(), "<annotation>", "eval")


def _resolve(annotation: Any, function: Callable[..., Any], scope: dict[str, Any], name: str, what: str) -> Any:
    if isinstance(annotation, str):
        try:
            annotation = eval(_compiled(annotation), scope)  # the user's own annotation, as typing.get_type_hints evaluates it
        except Exception as error:
            raise TraceError(
                f"{what} {function.__name__}: the annotation of {name}, {annotation!r}, fails: {error}",
                where=parameter_line(function.__code__, name), legal="x: px.Tensor((px.dim('n'),), px.f32), of names that exist there",
            ) from error  # fmt: skip
    for one in getattr(annotation, "__metadata__", ()):
        if isinstance(one, (Tensor, Type, Constant)):
            return one
    return annotation


class Extent:
    """A non-negative integer of which only a range is known: what `grid` computes with to find the largest grid."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo: int, hi: int) -> None:
        self.lo = lo
        self.hi = hi

    def _with(self, other: Any, operate: Callable[[int, int], int]) -> Extent:
        lo, hi = (other.lo, other.hi) if isinstance(other, Extent) else (other, other)
        ends = [operate(a, b) for a in (self.lo, self.hi) for b in (lo, hi)]
        return Extent(min(ends), max(ends))

    def __add__(self, other: Any) -> Extent:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Extent:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Extent:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Extent:
        return self._with(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Extent:
        return self._with(other, lambda a, b: a // b)

    def __neg__(self) -> Extent:
        return Extent(-self.hi, -self.lo)

    __radd__ = __add__
    __rmul__ = __mul__


def cdiv(a: Any, b: Any) -> Any:
    """Ceiling division of non-negative integers: how many tiles of `b` cover `a`. In a kernel also of traced ones."""
    if type(a) is int and type(b) is int:
        return -(-a // b)
    from ptxgen.tracing.builder import Value

    if any(isinstance(one, Value) or hasattr(one, "__ptxgen_value__") for one in (a, b)):
        from ptxgen.tracing.functions import ceiling

        return ceiling(a, b)
    return -(-a // b)
