"""Running PTX on a GPU: arguments checked against a signature, modules loaded once a device, launches on the caller's stream.

Names are loaded on first use; ``cuda`` and array libraries wait for the first call that needs them.

>>> from ptxgen.instructions.types import f32, u32
>>> from ptxgen.runtime import DimParam, ScalarParam, Signature, TensorParam
>>> signature = Signature("scale", [TensorParam("x", f32, ["n"]), ScalarParam("a", f32), DimParam("n", u32)])
>>> signature.offsets
(0, 8, 12)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxgen.runtime.arrays import ArrayInfo, describe_array
    from ptxgen.runtime.binding import Binder, Bound
    from ptxgen.runtime.driver import Device, current_device, device, device_count, device_target, driver_version, no_gpu_reason
    from ptxgen.runtime.errors import ArgumentError, DriverError, LaunchError, LoadError, NoGpuError
    from ptxgen.runtime.launch import Dim3, LaunchShape, LoadedKernel, PreparedLaunch, dim3
    from ptxgen.runtime.module import load, load_cubin
    from ptxgen.runtime.packing import Packed, Packer
    from ptxgen.runtime.runner import Runner
    from ptxgen.runtime.signature import BytesParam, DimParam, PointerParam, ScalarParam, Signature, TensorMapParam, TensorParam
    from ptxgen.runtime.streams import stream_handle
    from ptxgen.runtime.tensormap import TensorMap, TensorMapError

__all__ = [
    "ArgumentError", "ArrayInfo", "Binder", "Bound", "BytesParam", "Device", "Dim3", "DimParam", "DriverError", "LaunchError",
    "LaunchShape", "LoadError", "LoadedKernel", "NoGpuError", "Packed", "Packer", "PointerParam", "PreparedLaunch", "Runner", "ScalarParam",
    "Signature", "TensorMap", "TensorMapError", "TensorMapParam", "TensorParam", "current_device", "describe_array", "device",
    "device_count", "device_target", "dim3", "driver_version", "load", "load_cubin", "no_gpu_reason", "stream_handle",
]  # fmt: skip

_HOMES = {
    "arrays": ("ArrayInfo", "describe_array"),
    "binding": ("Binder", "Bound"),
    "driver": ("Device", "current_device", "device", "device_count", "device_target", "driver_version", "no_gpu_reason"),
    "errors": ("ArgumentError", "DriverError", "LaunchError", "LoadError", "NoGpuError"),
    "launch": ("Dim3", "LaunchShape", "LoadedKernel", "PreparedLaunch", "dim3"),
    "module": ("load", "load_cubin"),
    "packing": ("Packed", "Packer"),
    "runner": ("Runner",),
    "signature": ("BytesParam", "DimParam", "PointerParam", "ScalarParam", "Signature", "TensorMapParam", "TensorParam"),
    "streams": ("stream_handle",),
    "tensormap": ("TensorMap", "TensorMapError"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
