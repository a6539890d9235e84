"""Errors of binding and launching."""

from __future__ import annotations

from ptxgen.layouts.errors import PtxgenError

__all__ = ["ArgumentError", "DriverError", "LaunchError", "LoadError", "NoGpuError"]


class ArgumentError(PtxgenError, ValueError):
    """An argument that does not fit the kernel's signature."""


class NoGpuError(PtxgenError, RuntimeError):
    """There is no NVIDIA driver, no device, or no Python binding to reach it."""


class DriverError(PtxgenError, RuntimeError):
    """A call of the CUDA driver failed. ``code`` is the driver's error number, ``name`` its name (``CUDA_ERROR_...``)."""

    def __init__(self, message: str, code: int, name: str) -> None:
        self.code = code
        self.name = name
        super().__init__(message)


class LoadError(PtxgenError, RuntimeError):
    """A module that this driver or this device can't load."""


class LaunchError(PtxgenError, ValueError):
    """A launch shape that the device or the kernel does not allow."""
