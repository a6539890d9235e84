"""Launches an entry of one warp through the driver; arrays are copied there and back."""

from __future__ import annotations

from typing import Any

import numpy as np


def launch(text: str, entry: str, arrays: list[np.ndarray]) -> None:
    """Run a module's entry on 32 threads; its parameters are the addresses of `arrays`."""
    from cuda.bindings import driver

    def call(result: tuple[Any, ...]) -> Any:
        assert result[0] == driver.CUresult.CUDA_SUCCESS, result
        return result[1] if len(result) > 1 else None

    call(driver.cuInit(0))
    device = call(driver.cuDeviceGet(0))
    call(driver.cuCtxSetCurrent(call(driver.cuDevicePrimaryCtxRetain(device))))
    module = call(driver.cuModuleLoadData(text.encode() + b"\0"))
    pointers = [call(driver.cuMemAlloc(array.nbytes)) for array in arrays]
    for pointer, array in zip(pointers, arrays):
        call(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
    values = [np.array([int(pointer)], np.uint64) for pointer in pointers]
    packed = np.array([value.ctypes.data for value in values], np.uint64)
    call(driver.cuLaunchKernel(call(driver.cuModuleGetFunction(module, entry.encode())), 1, 1, 1, 32, 1, 1, 0, 0, packed.ctypes.data, 0))
    call(driver.cuCtxSynchronize())
    for pointer, array in zip(pointers, arrays):
        call(driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes))
        call(driver.cuMemFree(pointer))
    call(driver.cuModuleUnload(module))
    call(driver.cuDevicePrimaryCtxRelease(device))
