"""The parameters of an entry: what each accepts from Python, and where its bytes go (PTX ISA 5.1.6 ``.param``, 7.1).

Offsets follow PTX: each parameter at the next multiple of its own alignment, in order, without trailing padding. That is not
C's struct layout: ``(u64, u16)`` takes 10 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Union

from ptxgen.layouts.errors import PtxgenError

if TYPE_CHECKING:
    from ptxgen.runtime.tensormap import TensorMap

__all__ = [
    "BytesParam", "DimParam", "Extent", "Parameter", "PointerParam", "ScalarParam", "Signature", "TensorMapParam", "TensorParam",
    "TypeLike",
]  # fmt: skip


class TypeLike(Protocol):
    """What this package needs of a PTX type; `ptxgen.instructions.types.Type` has it."""

    @property
    def name(self) -> str: ...
    @property
    def bits(self) -> int: ...


Extent = Union[int, str]
"""A number, or the name of a dimension whose value the arguments decide."""


class TensorParam:
    """A pointer to a tensor, passed as ``.u64``.

    Parameters
    ----------
    name : str
        The argument's name.
    dtype : TypeLike
        Element type.
    shape : iterable
        An int or a dimension's name for each axis; objects with a ``name`` (and ``multiple_of``) stand for their name.
    strides : iterable, optional
        Required strides in elements, like `shape`; row-major contiguous where left out.
    align : int, optional
        Alignment of the base address in bytes; the element's size by default.
    """

    __slots__ = ("align", "dtype", "name", "shape", "strides")
    size = 8

    def __init__(
        self, name: str, dtype: TypeLike, shape: Iterable[Any], strides: Iterable[Any] | None = None, align: int | None = None
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.shape: tuple[Extent, ...] = tuple(_extent(extent) for extent in shape)
        self.strides = None if strides is None else tuple(_extent(stride) for stride in strides)
        self.align = align if align is not None else max(1, dtype.bits // 8)
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise PtxgenError(f"parameter {name!r}: {len(self.strides)} strides for {len(self.shape)} axes; give one stride for each axis")
        if self.align < 1 or self.align & (self.align - 1):
            raise PtxgenError(f"parameter {name!r}: align={align} is no power of two")


class PointerParam:
    """An untyped 64-bit word: an int of either sign, or any contiguous array (its base address)."""

    __slots__ = ("align", "name")
    size = 8

    def __init__(self, name: str, align: int = 1) -> None:
        self.name = name
        self.align = align


class ScalarParam:
    """A number, stored as the PTX type says: a Python float for ``.f32`` takes 4 bytes."""

    __slots__ = ("dtype", "name", "size")

    def __init__(self, name: str, dtype: TypeLike) -> None:
        self.name = name
        self.dtype = dtype
        self.size = dtype.bits // 8
        if self.size not in (1, 2, 4, 8) or self.size * 8 != dtype.bits:
            raise PtxgenError(f"parameter {name!r}: a .{dtype.name} can't be passed by value; 8, 16, 32 or 64 bits can")


class DimParam:
    """The value of a named dimension, at most `most`, handed to the kernel; not an argument in Python."""

    __slots__ = ("dtype", "most", "name", "size")

    def __init__(self, name: str, dtype: TypeLike, most: int | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self.most = most
        self.size = dtype.bits // 8


class BytesParam:
    """An opaque block ``.param .align A .b8 name[size]`` (a struct, an encoded tensor map), given as bytes of exactly that length."""

    __slots__ = ("align", "name", "size")

    def __init__(self, name: str, size: int, align: int) -> None:
        self.name = name
        self.size = size
        self.align = align


class TensorMapParam:
    """A tensor map ``.param .align 64 .b8 name[128]`` (ISA 5.5.8), made at launch for the tensor that another argument gives.

    Parameters
    ----------
    name : str
        The parameter's name.
    tensor : str
        The argument that is the tensor.
    map : TensorMap
        Its shape and strides, in terms of the signature's dims, and the box that one copy moves.
    """

    __slots__ = ("map", "name", "tensor")
    size = 128
    align = 64

    def __init__(self, name: str, tensor: str, map: TensorMap) -> None:
        self.name = name
        self.tensor = tensor
        self.map = map


Parameter = Union[TensorParam, PointerParam, ScalarParam, DimParam, BytesParam, TensorMapParam]


def _extent(value: Any) -> Extent:
    if isinstance(value, (int, str)):
        return value
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    try:
        return int(value.__index__())
    except AttributeError:
        raise PtxgenError(f"{value!r} is no extent: an int or a named dimension is") from None


class Signature:
    """The parameters of one entry, in the order of its ``.param`` list.

    Parameters
    ----------
    kernel : str
        The kernel's name, for messages.
    params : iterable of Parameter
        One for each ``.param``.
    multiples : mapping of str to int
        For a named dimension, the number that it must be a multiple of.

    Attributes
    ----------
    arguments : tuple
        The parameters that the caller gives: all but `DimParam` and `TensorMapParam`.
    dims : tuple of str
        Named dimensions, in order of first appearance.
    offsets : tuple of int
        Byte offset of each parameter.
    size : int
        Bytes of all parameters together.
    """

    __slots__ = ("arguments", "dims", "kernel", "multiples", "offsets", "params", "size")

    def __init__(self, kernel: str, params: Iterable[Parameter], multiples: Mapping[str, int] | None = None) -> None:
        self.kernel = kernel
        self.params = tuple(params)
        self.multiples = dict(multiples or {})
        self.arguments = tuple(param for param in self.params if not isinstance(param, (DimParam, TensorMapParam)))
        self.dims = self._named_dims()
        self.offsets, self.size = _layout(self.params)
        for param in self.params:
            if isinstance(param, DimParam):
                self._check_dim(param.name, "it")
            elif isinstance(param, TensorMapParam):
                self._check_tensor_map(param)

    def _check_dim(self, name: str, what: str) -> None:
        if name not in self.dims:
            raise PtxgenError(
                f"{self.kernel}: no tensor has a dimension called {name!r}, so nothing gives {what} a value; dimensions: "
                f"{', '.join(self.dims) or 'none'}"
            )

    def _check_tensor_map(self, param: TensorMapParam) -> None:
        tensors = [other.name for other in self.params if isinstance(other, TensorParam)]
        if param.tensor not in tensors:
            raise PtxgenError(
                f"{self.kernel}: {param.name!r} is the tensor map of {param.tensor!r}, which is no tensor among the parameters: "
                f"{', '.join(tensors) or 'none'}"
            )
        for extent in (*param.map.shape, *param.map.strides):
            for symbol in () if isinstance(extent, int) else extent.symbols:
                self._check_dim(symbol.name, f"tensor map {param.name!r}")

    def _named_dims(self) -> tuple[str, ...]:
        named: dict[str, None] = {}
        for param in self.params:
            if isinstance(param, TensorParam):
                for extent in (*param.shape, *(param.strides or ())):
                    if isinstance(extent, str):
                        named[extent] = None
        return tuple(named)

    def __repr__(self) -> str:
        return f"{self.kernel}({', '.join(param.name for param in self.arguments)})"


def _alignment(param: Parameter) -> int:
    return param.align if isinstance(param, (BytesParam, TensorMapParam)) else param.size


def _layout(params: tuple[Parameter, ...]) -> tuple[tuple[int, ...], int]:
    offsets, end = [], 0
    for param in params:
        start = -(-end // _alignment(param)) * _alignment(param)
        offsets.append(start)
        end = start + param.size
    return tuple(offsets), end
