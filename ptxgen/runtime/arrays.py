"""One description for every kind of array: NumPy, PyTorch, CuPy, ``__cuda_array_interface__``, DLPack. Nothing is copied.

Libraries are looked up in ``sys.modules``: an array of a library that was never imported can't be here.
"""

from __future__ import annotations

import sys
from typing import Any

from ptxgen.runtime.errors import ArgumentError

__all__ = ["ArrayInfo", "accepted_dtypes", "describe_array"]


class ArrayInfo:
    """Where an array's elements are.

    Attributes
    ----------
    pointer : int
        Address of the first element (0 where there is none).
    shape, strides : tuple of int
        Extents, and strides in elements.
    dtype : str
        NumPy's name of the element type, e.g. ``"float32"``, ``"bfloat16"``, ``"float8_e4m3fn"``.
    itemsize : int
        Bytes of an element.
    device : int or None
        CUDA ordinal; None for host memory.
    root : (int, int)
        Address and size in bytes of the allocation that the array is a view of, as far as its library tells. Views of one
        array share it.
    readonly : bool
        Whether the library forbids writing.
    stream : int or None
        The stream that the array's library currently works on; None for host memory.
    owner : object
        The array itself.
    """

    __slots__ = ("device", "dtype", "itemsize", "owner", "pointer", "readonly", "root", "shape", "stream", "strides")

    def __init__(
        self, owner: Any, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, itemsize: int,
        device: int | None, root: tuple[int, int] | None = None, readonly: bool = False, stream: int | None = None,
    ) -> None:  # fmt: skip
        self.owner = owner
        self.pointer = pointer
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.itemsize = itemsize
        self.device = device
        self.root = root if root is not None else (pointer, self._span())
        self.readonly = readonly
        self.stream = stream

    def _span(self) -> int:
        return 0 if self.empty else self.itemsize * (1 + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides)))

    @property
    def empty(self) -> bool:
        return 0 in self.shape

    @property
    def contiguous(self) -> bool:
        """Row-major without gaps; strides of axes with one element don't count."""
        return not self.mismatched_axes(row_major(self.shape))

    def mismatched_axes(self, required: tuple[int, ...]) -> list[int]:
        """Axes whose stride matters and differs from `required`."""
        if self.empty:
            return []
        return [
            axis for axis, (extent, stride, want) in enumerate(zip(self.shape, self.strides, required)) if extent > 1 and stride != want
        ]

    @property
    def library(self) -> str:
        return type(self.owner).__module__.partition(".")[0]

    def __repr__(self) -> str:
        where = "host memory" if self.device is None else f"cuda:{self.device}"
        return f"{self.dtype}{list(self.shape)} in {where}"


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a contiguous array."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


# PTX element type -> names of the dtypes that hold it, the usual one first.
_ACCEPTED: dict[str, tuple[str, ...]] = {
    "f16": ("float16",), "bf16": ("bfloat16",), "f32": ("float32",), "tf32": ("float32",), "f64": ("float64",),
    "e4m3": ("float8_e4m3fn",), "e5m2": ("float8_e5m2",), "ue8m0": ("float8_e8m0fnu",),
    "e3m2": ("float6_e3m2fn",), "e2m3": ("float6_e2m3fn",),
    "u8": ("uint8", "bool"), "u16": ("uint16",), "u32": ("uint32",), "u64": ("uint64",),
    "s8": ("int8",), "s16": ("int16",), "s32": ("int32",), "s64": ("int64",),
}  # fmt: skip

_BY_BYTES: dict[int, tuple[str, ...]] = {
    1: ("uint8", "int8", "bool", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
    2: ("uint16", "int16", "float16", "bfloat16"),
    4: ("uint32", "int32", "float32"),
    8: ("uint64", "int64", "float64", "complex64"),
    16: ("complex128",),
}


def accepted_dtypes(name: str, bits: int) -> tuple[str, ...]:
    """Names of the array dtypes that a tensor of PTX type `name` accepts, the usual one first.

    Untyped bits and packed types (``b32``, ``f16x2``) accept every element type of their width.
    """
    return _ACCEPTED.get(name) or _BY_BYTES.get(bits // 8, ())


def describe_array(value: Any, stream: int | None = None) -> ArrayInfo | None:
    """Describe `value`, or None if it is no array.

    Parameters
    ----------
    value : object
        Anything.
    stream : int, optional
        The stream that the kernel will run on, handed to producers that order their work after it (DLPack).

    Raises
    ------
    ArgumentError
        For an array that no kernel can read: sparse, byte-swapped, on a device that is no CUDA device.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _torch(value, torch)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _numpy(value, numpy)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _cuda_array_interface(value, interface)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _dlpack(value, stream)
    return None


def _torch(value: Any, torch: Any) -> ArrayInfo:
    if value.layout is not torch.strided:
        raise ArgumentError(f"a tensor of layout {value.layout}; kernels take strided tensors: use .to_dense()")
    kind = value.device.type
    if kind not in ("cpu", "cuda"):
        raise ArgumentError(f"a tensor on device {value.device}; kernels run on CUDA devices, and on CPU tensors in the emulator")
    device = value.get_device() if kind == "cuda" else None
    storage = value.untyped_storage()
    return ArrayInfo(
        value, value.data_ptr(), tuple(value.shape), tuple(value.stride()), str(value.dtype).removeprefix("torch."),
        value.element_size(), device, (storage.data_ptr(), storage.nbytes()), False,
        None if device is None else torch._C._cuda_getCurrentRawStream(device),
    )  # fmt: skip


def _numpy(value: Any, numpy: Any) -> ArrayInfo:
    if not value.dtype.isnative:
        raise ArgumentError(f"a byte-swapped array ({value.dtype.str}); convert it: .astype({value.dtype.name!r})")
    root = value
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    low, high = _byte_bounds(root)
    size = value.itemsize
    return ArrayInfo(
        value, value.ctypes.data, value.shape, _in_elements(value.strides, size), value.dtype.name, size, None,
        (low, high - low), not value.flags.writeable,
    )  # fmt: skip


def _byte_bounds(array: Any) -> tuple[int, int]:
    low = high = array.ctypes.data
    if array.size:
        for extent, stride in zip(array.shape, array.strides):
            low += min(0, (extent - 1) * stride)
            high += max(0, (extent - 1) * stride)
        high += array.itemsize
    return low, high


def _in_elements(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if any(stride % itemsize for stride in strides):
        raise ArgumentError(f"byte strides {strides} that are no multiples of the element's {itemsize} bytes; make it contiguous")
    return tuple(stride // itemsize for stride in strides)


def _cuda_array_interface(value: Any, interface: dict[str, Any]) -> ArrayInfo:
    import numpy

    from ptxgen.runtime.driver import device_of_pointer

    dtype = numpy.dtype(interface["typestr"])
    if interface.get("mask") is not None:
        raise ArgumentError("an array with a mask; kernels take dense arrays")
    # A dtype from ml_dtypes has only a void typestr; the array's own dtype has the name.
    name = getattr(getattr(value, "dtype", None), "name", None) or dtype.name
    pointer, readonly = interface["data"]
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    device = device_of_pointer(pointer or 0)
    if device is None:
        raise ArgumentError(f"an array at address {pointer:#x}, which the CUDA driver does not know")
    stream = interface.get("stream")
    if (cupy := sys.modules.get("cupy")) is not None and isinstance(value, cupy.ndarray):
        stream = cupy.cuda.get_current_stream().ptr
    return ArrayInfo(
        value, pointer or 0, shape, row_major(shape) if strides is None else _in_elements(tuple(strides), dtype.itemsize),
        name, dtype.itemsize, device, None, bool(readonly), _plain_stream(stream),
    )  # fmt: skip


def _plain_stream(stream: Any) -> int:
    """The interface writes 1 for the legacy default stream, which the driver calls 0; None means no ordering is needed."""
    return 0 if stream in (None, 1) else int(stream)


_DLPACK_HOST = (1, 3)  # kDLCPU, kDLCUDAHost
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _dlpack(value: Any, stream: int | None) -> ArrayInfo:
    kind, ordinal = value.__dlpack_device__()
    if kind in _DLPACK_HOST:
        import numpy

        found = _numpy(numpy.from_dlpack(value), numpy)
        found.owner = value
        return found
    if kind not in _DLPACK_CUDA:
        raise ArgumentError(f"an array on DLPack device type {int(kind)}; kernels run on CUDA devices")
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView.from_dlpack(value, stream_ptr=stream or 1)  # DLPack writes 1 for the legacy default stream.
    shape = tuple(view.shape)
    return ArrayInfo(
        view, view.ptr, shape, row_major(shape) if view.strides is None else tuple(view.strides), view.dtype.name,
        view.dtype.itemsize, int(ordinal), None, view.readonly, stream or 0,
    )  # fmt: skip
