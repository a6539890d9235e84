"""Arrays on the GPU, by the driver alone, so that the commands need neither PyTorch nor CuPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxgen.runtime.driver import bindings, check, current_device, driver_error

__all__ = ["DeviceArray", "device_name", "synchronize"]


def device_name() -> str:
    """The name of the GPU that kernels run on here."""
    return current_device().name


def synchronize() -> None:
    """Wait for all kernels; raises what one of them has done wrong."""
    with current_device().current():
        (status,) = bindings().cuCtxSynchronize()
        if status:
            raise driver_error(status, "running the kernel")


class DeviceArray:
    """A copy of a NumPy array in the current device's memory; freed with the object."""

    def __init__(self, array: NDArray[Any]) -> None:
        driver = bindings()
        self._free = driver.cuMemFree
        self._pointer: Any = None
        self._like = np.ascontiguousarray(array)
        with current_device().current():
            self._pointer = check(driver.cuMemAlloc(max(1, self._like.nbytes)), f"allocating {self._like.nbytes} bytes")
            check(driver.cuMemcpyHtoD(self._pointer, self._like.ctypes.data, self._like.nbytes), "copying to the GPU")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self._like.shape, "typestr": self._like.dtype.str, "data": (int(self._pointer), False), "version": 3}

    def numpy(self) -> NDArray[Any]:
        """The values now, behind all kernels launched before."""
        found = np.empty_like(self._like)
        with current_device().current():
            check(bindings().cuMemcpyDtoH(found.ctypes.data, self._pointer, found.nbytes), "copying from the GPU")
        return found

    def __del__(self) -> None:
        if self._pointer is not None:
            self._free(self._pointer)
