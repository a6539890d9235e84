"""The generated check for PyTorch CUDA tensors: the signature written out as one Python function.

The function hands the values to `done` and returns its result, or returns None for everything that it does not recognise or
accept; the careful check then explains or handles it. So it may refuse too much but must never accept what the careful check
would refuse. `done` is called outside the ``try``, so that its errors are its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ptxgen.runtime.arrays import accepted_dtypes
from ptxgen.runtime.scalars import integer_range
from ptxgen.runtime.signature import BytesParam, DimParam, PointerParam, ScalarParam, Signature, TensorMapParam, TensorParam
from ptxgen.runtime.tensormap import Encoder

__all__ = ["compile_fast_path", "fast_path_source"]

_PYTHON_FLOATS = ("f32", "f64")


def _never(*args: Any) -> None:
    """Leave every call to the careful check."""


Done = Callable[[int, tuple[Any, ...], tuple[int, ...], int], Any]
"""Takes device, values, dims and stream (see `ptxgen.runtime.binding.Bound`); returns anything but None."""


def compile_fast_path(signature: Signature, done: Done, encoders: Mapping[str, Encoder] | None = None) -> Callable[..., Any]:
    """The function for `signature`; one that always returns None where there is nothing to gain.

    Parameters
    ----------
    encoders : mapping of str to Encoder
        What makes each tensor map of the signature.
    """
    torch = sys.modules.get("torch")
    source = fast_path_source(signature)
    if source is None or torch is None:
        return _never
    raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw_stream is None:  # a CPU build
        return _never
    scope: dict[str, Any] = {"done": done, "NUMBERS": (float, int), "raw_stream": raw_stream}
    for index, param in enumerate(signature.arguments):
        if isinstance(param, TensorParam):
            names = accepted_dtypes(param.dtype.name, param.dtype.bits)
            scope[f"D{index}"] = frozenset(getattr(torch, name) for name in names if hasattr(torch, name))
    for index, hidden in enumerate(signature.params):
        if isinstance(hidden, TensorMapParam):
            scope[f"M{index}"] = (encoders or {})[hidden.name]
    exec(compile(source, f"<arguments of {signature.kernel}>", "exec"), scope)
    compiled: Callable[..., Any] = scope["bind"]
    return compiled


def fast_path_source(signature: Signature) -> str | None:
    """Python source of the generated function, or None where a signature needs the careful check (no tensor, opaque bytes)."""
    tensors = [(index, param) for index, param in enumerate(signature.arguments) if isinstance(param, (TensorParam, PointerParam))]
    plain = all(
        isinstance(param, (TensorParam, PointerParam)) or (isinstance(param, ScalarParam) and _plain_scalar(param))
        for param in signature.arguments
    )
    if not tensors or not plain:
        return None
    writer = _Writer(signature)
    for order, (index, param) in enumerate(tensors):
        if isinstance(param, TensorParam):
            writer.tensor(index, param)
        else:
            writer.pointer(index, param)
        writer.device(index, first=order == 0)
    for index, scalar in enumerate(signature.arguments):
        if isinstance(scalar, ScalarParam):
            writer.scalar(index, scalar)
    return writer.finish()


def _plain_scalar(param: ScalarParam) -> bool:
    name, width = param.dtype.name, param.dtype.bits
    return name in _PYTHON_FLOATS or name in (f"u{width}", f"s{width}", f"b{width}")


class _Writer:
    """Collects the conditions and the values of one generated function."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.lines: list[str] = []
        self.values: dict[str, str] = {}
        self.dims: dict[str, str] = {}

    def refuse_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return None")

    def tensor(self, index: int, param: TensorParam) -> None:
        self.refuse_if(f"a{index}.dtype not in D{index}")
        if param.strides is None:
            self.refuse_if(f"not a{index}.is_contiguous()")
        shape = [self._extent(extent, f"s{index}_{axis}") for axis, extent in enumerate(param.shape)]
        if all(isinstance(extent, int) for extent in param.shape):
            self.refuse_if(f"a{index}.shape != {tuple(param.shape)!r}")
        else:
            self._unpack(f"a{index}.shape", shape)
        if param.strides is not None:
            fixed = all(isinstance(stride, int) for stride in param.strides)
            if fixed:
                self.refuse_if(f"a{index}.stride() != {tuple(param.strides)!r}")
            else:
                strides = [self._extent(stride, f"t{index}_{axis}") for axis, stride in enumerate(param.strides)]
                self._unpack(f"a{index}.stride()", strides)
        self._address(index, param.name, param.align)

    def pointer(self, index: int, param: PointerParam) -> None:
        self.refuse_if(f"not a{index}.is_contiguous()")
        self._address(index, param.name, param.align)

    def _address(self, index: int, name: str, align: int) -> None:
        # Empty tensors (address 0) are for the careful check.
        misaligned = f" or p{index} & {align - 1}" if align > 1 else ""
        self.lines.append(f"p{index} = a{index}.data_ptr()")
        self.refuse_if(f"not p{index}{misaligned}")
        self.values[name] = f"p{index}"

    def device(self, index: int, first: bool) -> None:
        if first:
            self.lines.append(f"device = a{index}.get_device()")
            self.refuse_if("device < 0")
        else:
            self.refuse_if(f"a{index}.get_device() != device")

    def _extent(self, extent: int | str, local: str) -> tuple[str, str]:
        """A local for an extent, and the condition under which it does not fit."""
        if isinstance(extent, int):
            return local, f"{local} != {extent}"
        if extent in self.dims:
            return local, f"{local} != {self.dims[extent]}"
        self.dims[extent] = local
        multiple = self.signature.multiples.get(extent, 1)
        return local, f"{local} % {multiple}" if multiple > 1 else ""

    def _unpack(self, source: str, extents: list[tuple[str, str]]) -> None:
        self.lines.append(f"{''.join(local + ', ' for local, _ in extents)}= {source}")
        if conditions := " or ".join(condition for _, condition in extents if condition):
            self.refuse_if(conditions)

    def scalar(self, index: int, param: ScalarParam) -> None:
        if param.dtype.name in _PYTHON_FLOATS:
            limit = "3.4e38" if param.dtype.name == "f32" else "1.7e308"
            self.refuse_if(f"type(a{index}) not in NUMBERS or not -{limit} < a{index} < {limit}")
        else:
            low, high = integer_range(param.dtype)
            # A negative number for untyped bits needs conversion.
            low = 0 if param.dtype.name.startswith("b") else low
            self.refuse_if(f"type(a{index}) is not int or not {low} <= a{index} <= {high}")
        self.values[param.name] = f"a{index}"

    def finish(self) -> str:
        dims = "".join(self.dims[name] + ", " for name in self.signature.dims)
        for index, param in enumerate(self.signature.params):
            if isinstance(param, TensorMapParam):
                self.lines.append(f"m{index} = M{index}({self.values[param.tensor]}, {dims})")
                self.values[param.name] = f"m{index}"
            elif isinstance(param, DimParam):
                low, high = integer_range(param.dtype)
                high = high if param.most is None else min(high, param.most)
                local = self.dims[param.name]
                self.refuse_if(f"not {max(low, 0)} <= {local} <= {high}")
                self.values[param.name] = local
            elif isinstance(param, BytesParam):  # excluded by fast_path_source
                raise AssertionError(param.name)
        values = "".join(self.values[param.name] + ", " for param in self.signature.params)
        arguments = ", ".join(f"a{index}" for index in range(len(self.signature.arguments)))
        body = "\n".join("        " + line for line in self.lines)
        return (
            f"def bind({arguments}):\n    try:\n{body}\n"
            "    except (AttributeError, TypeError, ValueError, RuntimeError):\n        return None\n"
            f"    return done(device, ({values}), ({dims}), raw_stream(device))\n"
        )
