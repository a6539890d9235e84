"""From arguments to parameter values, with every check that the signature asks for.

`Binder` has two ways to the same answer. `_Check` looks at one argument after the other and explains what is wrong. For the
usual case of PyTorch CUDA tensors a function is generated once a signature (`ptxgen.runtime.fastpath`) that performs the same
checks in a few microseconds; whatever it does not recognise or does not accept goes through `_Check`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ptxgen.runtime.arrays import ArrayInfo, accepted_dtypes, describe_array, row_major
from ptxgen.runtime.errors import ArgumentError
from ptxgen.runtime.scalars import Converter, converter
from ptxgen.runtime.signature import (
    BytesParam,
    DimParam,
    Extent,
    Parameter,
    PointerParam,
    ScalarParam,
    Signature,
    TensorMapParam,
    TensorParam,
)
from ptxgen.runtime.tensormap import ENCODED_BYTES, Encoder, TensorMapError, encoders

__all__ = ["Binder", "Bound", "emulated_only"]


class Bound(NamedTuple):
    """Arguments that fit a signature.

    Attributes
    ----------
    device : int or None
        CUDA ordinal that all arrays live on; None for host memory (the emulator's), or where there is no array.
    values : tuple
        One value for each ``.param``, ready for `Packer.pack`. A tensor map of a tensor in host memory is blank: it holds the address
        that the emulator gives the tensor.
    dims : tuple of int
        Values of the signature's named dimensions, in the order of `Signature.dims`.
    empty : bool
        There are arrays, and none of them has an element: nothing is to be launched.
    stream : int
        The caller's current stream on `device`, 0 for the default stream.
    arrays : tuple of ArrayInfo
        Descriptions of the array arguments; left out (empty) for CUDA arrays on the fast path.
    """

    device: int | None
    values: tuple[Any, ...]
    dims: tuple[int, ...]
    empty: bool = False
    stream: int = 0
    arrays: tuple[ArrayInfo, ...] = ()


class Binder:
    """Checks arguments against one signature. Compiled once, used from any thread.

    >>> from ptxgen.instructions.types import f32, u32
    >>> signature = Signature("scale", [TensorParam("x", f32, ["n"]), ScalarParam("a", f32), DimParam("n", u32)])
    >>> import numpy as np
    >>> Binder(signature)(np.zeros(3, np.float32), 2).dims
    (3,)
    """

    __slots__ = ("_converters", "_fast", "encoders", "signature")

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self._converters: dict[str, Converter] = {
            param.name: converter(param.dtype) for param in signature.params if isinstance(param, (ScalarParam, DimParam))
        }
        self.encoders = encoders(signature.params, signature.dims)
        self._fast: Any = None

    def __call__(self, *args: Any, stream: int | None = None) -> Bound:
        """Check `args` (in the order of `Signature.arguments`) and return their values.

        Parameters
        ----------
        *args
            One for each argument.
        stream : int, optional
            The stream that the launch will use, where the caller named one.

        Raises
        ------
        ArgumentError
            Naming the parameter, what it requires, what was found, and how to fix it.
        """
        fast = self._fast
        bound: Bound | None = None
        if fast is not None and len(args) == len(self.signature.arguments):
            bound = fast(*args)
        if bound is None:
            bound = _Check(self.signature, self._converters, self.encoders, stream).bind(args)
            # An argument can be torch's tensor only once torch is loaded, so that is when the fast path is compiled.
            if fast is None and "torch" in sys.modules:
                self._fast = self._compile()
        return bound if stream is None or bound.stream == stream else bound._replace(stream=stream)

    def arrange(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Positional and keyword arguments in the signature's order, as a Python call would bind them."""
        names = [param.name for param in self.signature.arguments]
        call = f"{self.signature.kernel}({', '.join(names)})"
        if len(args) > len(names):
            raise ArgumentError(f"{call} takes {len(names)} arguments, {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise ArgumentError(f"{call} has no argument {name!r}")
            if name in given:
                raise ArgumentError(f"{call} got two values for {name!r}")
            given[name] = value
        if missing := [name for name in names if name not in given]:
            raise ArgumentError(f"{call} lacks {', '.join(map(repr, missing))}")
        return tuple(given[name] for name in names)

    def _compile(self) -> Any:
        from ptxgen.runtime.fastpath import compile_fast_path

        return compile_fast_path(self.signature, _bound, self.encoders)


def emulated_only(argument: Any) -> bool:
    """Whether an argument is a texture or surface of the emulator, which no GPU knows."""
    return getattr(argument, "emulated_only", False) is True


def _bound(device: int, values: tuple[Any, ...], dims: tuple[int, ...], stream: int) -> Bound:
    return Bound(device, values, dims, False, stream)


class _Check:
    """One careful pass over the arguments of one call."""

    def __init__(
        self, signature: Signature, converters: Mapping[str, Converter], encoders: Mapping[str, Encoder], stream: int | None
    ) -> None:
        self.signature = signature
        self.converters = converters
        self.encoders = encoders
        self.stream = stream
        self.dims: dict[str, tuple[int, str]] = {}  # value, and where it was read
        self.unused: dict[str, tuple[int, str]] = {}  # the same, from strides that no element uses
        self.arrays: list[tuple[str, ArrayInfo]] = []
        self.values: dict[str, Any] = {}

    def bind(self, args: tuple[Any, ...]) -> Bound:
        expected = self.signature.arguments
        if len(args) != len(expected):
            raise ArgumentError(f"{self.signature} takes {len(expected)} arguments, {len(args)} were given")
        for param, value in zip(expected, args):
            self.values[param.name] = self._argument(param, value)
        self.dims = {**self.unused, **self.dims}
        self._check_multiples()
        for hidden in self.signature.params:
            if isinstance(hidden, DimParam):
                self.values[hidden.name] = self._dim(hidden)
        arrays = tuple(info for _, info in self.arrays)
        device, empty = self._device(), bool(arrays) and all(info.empty for info in arrays)
        if device is not None:
            self._check_handles(expected, args)
        dims = tuple(self.dims[name][0] for name in self.signature.dims)
        for hidden in self.signature.params:
            if isinstance(hidden, TensorMapParam):
                self.values[hidden.name] = bytes(ENCODED_BYTES) if empty else self._tensor_map(hidden, device, dims)
        values = tuple(self.values[param.name] for param in self.signature.params)
        return Bound(device, values, dims, empty, self._stream(), arrays)

    def _fail(self, param: str, found: str, fix: str = "") -> ArgumentError:
        return ArgumentError(f"{self.signature.kernel}: argument {param!r} is {found}{f'. Fix: {fix}' if fix else ''}")

    def _argument(self, param: Parameter, value: Any) -> Any:
        if isinstance(param, TensorParam):
            return self._tensor(param, value)
        if isinstance(param, PointerParam):
            return self._pointer(param, value)
        if isinstance(param, BytesParam):
            return self._bytes(param, value)
        try:
            return self.converters[param.name](value)
        except ArgumentError as error:
            wanted = f"the signature says .{param.dtype.name}" if isinstance(param, ScalarParam) else ""
            raise self._fail(param.name, f"{error} ({wanted})") from None

    # ---- arrays ----

    def _array(self, name: str, value: Any) -> ArrayInfo | None:
        try:
            info = describe_array(value, self.stream)
        except ArgumentError as error:
            raise self._fail(name, str(error)) from None
        if info is not None:
            self.arrays.append((name, info))
        return info

    def _tensor(self, param: TensorParam, value: Any) -> int:
        info = self._array(param.name, value)
        wanted = f".{param.dtype.name}[{', '.join(map(str, param.shape))}]"
        if info is None:
            raise self._fail(
                param.name,
                f"a {type(value).__name__}, not an array; the signature wants a tensor {wanted}",
                "pass a NumPy array, a torch tensor, or anything with __cuda_array_interface__ or __dlpack__",
            )
        self._check_dtype(param, info)
        self._check_shape(param, info, wanted)
        self._check_strides(param, info)
        self._check_alignment(param.name, param.align, info)
        return info.pointer

    def _check_dtype(self, param: TensorParam, info: ArrayInfo) -> None:
        accepted = accepted_dtypes(param.dtype.name, param.dtype.bits)
        if info.dtype in accepted:
            return
        if not accepted:
            raise self._fail(param.name, f"an array of {info.dtype}; no array dtype holds .{param.dtype.name}")
        if info.library == "torch":
            fix = f"{param.name}.to(torch.{accepted[0]})"
        elif accepted[0] in ("bfloat16",) or accepted[0].startswith("float8") or accepted[0].startswith("float6"):
            fix = f"{param.name}.astype(ml_dtypes.{accepted[0]})"
        else:
            fix = f"{param.name}.astype({'cupy' if info.library == 'cupy' else 'np'}.{accepted[0]})"
        raise self._fail(
            param.name,
            f"an array of {info.dtype}; the signature says .{param.dtype.name}, which takes {' or '.join(accepted)}",
            fix,
        )

    def _check_shape(self, param: TensorParam, info: ArrayInfo, wanted: str) -> None:
        if len(info.shape) != len(param.shape):
            raise self._fail(
                param.name,
                f"an array with {len(info.shape)} axes {info.shape}; the signature says {len(param.shape)}: {wanted}",
                f"{param.name}.reshape(...) to {len(param.shape)} axes",
            )
        for axis, (extent, found) in enumerate(zip(param.shape, info.shape)):
            if isinstance(extent, str):
                self._name_dim(extent, found, f"axis {axis} of {param.name!r}")
            elif extent != found:
                raise self._fail(
                    param.name,
                    f"an array of shape {info.shape}; axis {axis} has {found} elements where the signature says {wanted}",
                )

    def _name_dim(self, name: str, value: int, where: str) -> None:
        known = self.dims.setdefault(name, (value, where))
        if known[0] != value:
            raise ArgumentError(
                f"{self.signature.kernel}: dimension {name!r} is {known[0]} by {known[1]} but {value} by {where}; one name has one value"
            )

    def _check_strides(self, param: TensorParam, info: ArrayInfo) -> None:
        if param.strides is None:
            if not info.contiguous:
                copy = ".contiguous()" if info.library == "torch" else ".copy()"
                raise self._fail(
                    param.name,
                    f"a view with strides {info.strides} (in elements); the signature wants row-major contiguous elements, "
                    f"strides {row_major(info.shape)}",
                    f"{param.name}{copy}, or declare strides= in the signature",
                )
            return
        for axis, stride in enumerate(param.strides):
            if info.shape[axis] > 1 and not info.empty:
                self._check_stride(param, info, axis, stride)
            elif isinstance(stride, str):
                # The stride of an axis with one element says nothing, unless nothing else gives the name a value.
                self.unused.setdefault(stride, (info.strides[axis], f"the stride of axis {axis} of {param.name!r}"))

    def _check_stride(self, param: TensorParam, info: ArrayInfo, axis: int, stride: Extent) -> None:
        found = info.strides[axis]
        if isinstance(stride, str):
            self._name_dim(stride, found, f"the stride of axis {axis} of {param.name!r}")
        elif stride != found:
            raise self._fail(
                param.name,
                f"a view with strides {info.strides} (in elements); axis {axis} has stride {found} where the signature says "
                f"strides ({', '.join(map(str, param.strides or ()))})",
            )

    def _check_alignment(self, name: str, align: int, info: ArrayInfo) -> None:
        # The emulator places each host allocation at an aligned address of its own, so there only the offset inside it counts.
        base = info.root[0] if info.device is None else 0
        rest = (info.pointer - base) % align
        if rest and not info.empty:
            start = info.pointer - info.root[0]
            offset = f" (it starts {start} bytes into its allocation)" if start else ""
            copy = ".clone()" if info.library == "torch" else ".copy()"
            raise self._fail(
                name,
                f"at an address that is {rest} modulo {align}{offset}; the signature wants {align}-byte alignment",
                f"{name}{copy} moves it to a fresh allocation",
            )

    # ---- everything else ----

    def _pointer(self, param: PointerParam, value: Any) -> int:
        info = self._array(param.name, value)
        if info is not None:
            if not info.contiguous:
                raise self._fail(
                    param.name,
                    f"a view with strides {info.strides}; an untyped pointer can't carry strides",
                    "make it contiguous, or pass the address as an int if the kernel knows the strides",
                )
            self._check_alignment(param.name, param.align, info)
            return info.pointer
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise self._fail(param.name, f"a {type(value).__name__}; the parameter is an address: pass an array or an int")
        word = int(value.__index__())
        # A foreign text may mean a number by its 64-bit parameter, and a negative one at that.
        if not -(1 << 63) <= word < 1 << 64:
            raise self._fail(param.name, f"{word}, which has more than 64 bits")
        return word & ((1 << 64) - 1)

    def _bytes(self, param: BytesParam, value: Any) -> bytes:
        try:
            data = bytes(memoryview(value).cast("B"))
        except TypeError:
            raise self._fail(param.name, f"a {type(value).__name__}; the parameter is a block of {param.size} bytes") from None
        if len(data) != param.size:
            raise self._fail(param.name, f"{len(data)} bytes; the parameter is a block of {param.size} bytes")
        return data

    def _check_handles(self, expected: Sequence[Parameter], args: tuple[Any, ...]) -> None:
        """A texture or surface of the emulator is none of a GPU's."""
        for param, value in zip(expected, args):
            if emulated_only(value):
                raise self._fail(
                    param.name, f"{value!r}, which the emulator alone knows", "pass the handle that cuTexObjectCreate gave, as an int"
                )

    def _dim(self, param: DimParam) -> Any:
        value, where = self.dims[param.name]
        if param.most is not None and value > param.most:
            raise ArgumentError(
                f"{self.signature.kernel}: dimension {param.name!r} is {value} by {where}; the signature says at most {param.most}: "
                f"px.dim({param.name!r}, max=...) raises the limit"
            )
        try:
            return self.converters[param.name](value)
        except ArgumentError as error:
            raise ArgumentError(f"{self.signature.kernel}: dimension {param.name!r}, read from {where}, is {error}") from None

    def _tensor_map(self, param: TensorMapParam, device: int | None, dims: tuple[int, ...]) -> bytes:
        encoder = self.encoders[param.name]
        try:
            described = encoder.describe(dims)
            self._check_alignment(param.tensor, described.base_alignment, dict(self.arrays)[param.tensor])
            return bytes(ENCODED_BYTES) if device is None else encoder(self.values[param.tensor], *dims)
        except TensorMapError as error:
            raise ArgumentError(f"{self.signature.kernel}: {error}") from None

    def _check_multiples(self) -> None:
        for name, multiple in self.signature.multiples.items():
            if name in self.dims and self.dims[name][0] % multiple:
                value, where = self.dims[name]
                raise ArgumentError(
                    f"{self.signature.kernel}: dimension {name!r} is {value} by {where}; the signature says multiple_of={multiple} "
                    f"(the next is {-(-value // multiple) * multiple})"
                )

    def _device(self) -> int | None:
        places = {info.device: name for name, info in reversed(self.arrays)}
        if len(places) > 1:
            where = ", ".join(f"{name!r} on {'the host' if dev is None else f'cuda:{dev}'}" for name, dev in self._places())
            raise ArgumentError(f"{self.signature.kernel}: arguments live on different devices: {where}; move them to one")
        return next(iter(places), None)

    def _places(self) -> list[tuple[str, int | None]]:
        return [(name, info.device) for name, info in self.arrays]

    def _stream(self) -> int:
        streams = {info.stream: name for name, info in self.arrays if info.stream is not None}
        if self.stream is not None:
            return self.stream
        if len(streams) > 1:
            raise ArgumentError(
                f"{self.signature.kernel}: the arguments {', '.join(map(repr, streams.values()))} come from libraries that work on "
                "different streams; order them and pass stream= to launch(...)"
            )
        return next(iter(streams), 0) or 0
