"""The CUDA driver through cuda.bindings: initialisation, devices with their limits, contexts, errors.

Nothing here runs at import. `cuda.bindings` is loaded by the first call that needs a GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ptxgen.instructions.targets import FIRST_VERSION, Version
from ptxgen.runtime.errors import DriverError, NoGpuError

__all__ = [
    "Device", "bindings", "check", "current_device", "device", "device_count", "device_of_pointer", "device_target",
    "driver_error", "driver_version", "no_gpu_reason", "relaxed_capture",
]  # fmt: skip


@lru_cache(maxsize=None)
def _load() -> tuple[Any, str]:
    """cuda.bindings.driver, initialised; or None and the reason why there is no GPU."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        return None, f"the Python package cuda-bindings is not installed ({error})"
    try:
        (status,) = driver.cuInit(0)
        if status:
            return None, f"the NVIDIA driver could not start: {_name(driver, status)}"
        status, count = driver.cuDeviceGetCount()
    except Exception as error:  # cuda.bindings raises RuntimeError, or its own errors, where libcuda is missing
        reason = "" if "driver library" in str(error) else f": {error}"
        return None, f"no NVIDIA driver was found (libcuda){reason}"
    if status or count == 0:
        return None, "the NVIDIA driver sees no device"
    return driver, ""


def no_gpu_reason() -> str | None:
    """Why no GPU can be used here, or None if one can."""
    driver, reason = _load()
    return None if driver is not None else reason


def bindings() -> Any:
    """The initialised ``cuda.bindings.driver``; `NoGpuError` with the reason where there is no GPU."""
    driver, reason = _load()
    if driver is None:
        raise NoGpuError(f"no GPU can be used: {reason}. NumPy arrays and CPU tensors run in the emulator")
    return driver


def _name(driver: Any, status: Any) -> str:
    found, text = driver.cuGetErrorName(status)
    return text.decode() if not found and text else f"error {int(status)}"


def check(result: tuple[Any, ...], doing: str) -> Any:
    """The value of a driver call, or a `DriverError` that says what was being done.

    Parameters
    ----------
    result : tuple
        What a function of cuda.bindings returned: status first.
    doing : str
        For the message: "loading the module".
    """
    status = result[0]
    if status:
        raise driver_error(status, doing)
    return result[1] if len(result) == 2 else result[1:]


# Faults of a kernel show up at whatever call comes next.
_STICKY = {700, 702, 714, 715, 716, 717, 718, 719}


def driver_error(status: Any, doing: str) -> DriverError:
    """The error for a failed call."""
    driver = bindings()
    name = _name(driver, status)
    found, text = driver.cuGetErrorString(status)
    reason = text.decode() if not found and text else "no description"
    note = ""
    if int(status) in _STICKY:
        note = (
            ". An earlier kernel failed; the context is lost and the process must be restarted. Run the kernel in the emulator "
            "(NumPy arguments) to see the line, thread and address"
        )
    return DriverError(f"{doing}: {name} ({reason}){note}", int(status), name)


@lru_cache(maxsize=None)
def driver_version() -> tuple[int, int]:
    """The CUDA release that the driver implements, e.g. (13, 0)."""
    number = check(bindings().cuDriverGetVersion(), "asking for the driver's version")
    return number // 1000, number % 1000 // 10


@lru_cache(maxsize=None)
def device_count() -> int:
    return int(check(bindings().cuDeviceGetCount(), "counting devices"))


class Device:
    """One GPU, its limits, and its primary context (retained for the life of the process).

    Attributes
    ----------
    ordinal : int
    name : str
        E.g. ``"NVIDIA H200"``.
    target : str
        The plain target of its architecture, e.g. ``"sm_90"``.
    ptx_version : (int, int)
        The newest ``.version`` that its driver understands.
    """

    def __init__(self, ordinal: int) -> None:
        from ptxgen.assemble.versions import ptx_version_of

        driver = bindings()
        self.ordinal = ordinal
        self._driver = driver
        self._handle = check(driver.cuDeviceGet(ordinal), f"opening device {ordinal}")
        self.name = check(driver.cuDeviceGetName(128, self._handle), "asking for the device's name").split(b"\0")[0].decode()
        self._limits: dict[str, int] = {}
        major = self.limit("COMPUTE_CAPABILITY_MAJOR")
        self.target = f"sm_{10 * major + self.limit('COMPUTE_CAPABILITY_MINOR')}"
        self.ptx_version: Version = ptx_version_of(driver_version())
        self.context = check(driver.cuDevicePrimaryCtxRetain(self._handle), f"retaining the primary context of {self.name}")
        self._context_id = int(self.context)

    def limit(self, attribute: str) -> int:
        """A device attribute by the end of its name, e.g. ``"MAX_GRID_DIM_Y"`` (``CU_DEVICE_ATTRIBUTE_...``)."""
        if attribute not in self._limits:
            key = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{attribute}")
            self._limits[attribute] = int(check(self._driver.cuDeviceGetAttribute(key, self._handle), f"asking for {attribute}"))
        return self._limits[attribute]

    @property
    def best_target(self) -> str:
        """The richest target of this architecture: its ``a`` variant where there is one."""
        exact = self.target + "a"
        return exact if exact in FIRST_VERSION else self.target

    def is_current(self) -> bool:
        """Whether this device's primary context is current in the calling thread."""
        status, context = self._driver.cuCtxGetCurrent()
        return not status and int(context) == self._context_id

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the primary context current in this thread. A thread that had none keeps it, as with the CUDA runtime."""
        driver = self._driver
        before = check(driver.cuCtxGetCurrent(), "asking for the current context")
        if int(before) == self._context_id:
            yield
            return
        check(driver.cuCtxSetCurrent(self.context), f"making {self.name} current")
        try:
            yield
        finally:
            if int(before):
                driver.cuCtxSetCurrent(before)

    def __repr__(self) -> str:
        return f"<{self.name}, cuda:{self.ordinal}, {self.target}>"


_devices: dict[int, Device] = {}
_lock = threading.Lock()


def device(ordinal: int) -> Device:
    """The device with CUDA ordinal `ordinal`; the same object each time."""
    found = _devices.get(ordinal)
    if found is None:
        if not 0 <= ordinal < device_count():
            raise NoGpuError(f"there is no device {ordinal}; this machine has {device_count()} (numbered from 0)")
        with _lock:
            found = _devices.get(ordinal) or _devices.setdefault(ordinal, Device(ordinal))
    return found


def current_device() -> Device:
    """The device whose context is current in this thread, else device 0."""
    driver = bindings()
    status, handle = driver.cuCtxGetDevice()
    return device(0 if status else int(handle))


def device_target(ordinal: int | None = None) -> str:
    """The richest target that a device runs, e.g. ``"sm_90a"``; of the current device by default."""
    return (current_device() if ordinal is None else device(ordinal)).best_target


def device_of_pointer(pointer: int) -> int | None:
    """The device that an address belongs to; the current one for 0 (an empty array); None for memory that CUDA doesn't know."""
    driver = bindings()
    if pointer == 0:
        return current_device().ordinal
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    status, ordinal = driver.cuPointerGetAttribute(attribute, pointer)
    return None if status else int(ordinal)


@contextmanager
def relaxed_capture() -> Iterator[None]:
    """Allow calls that a CUDA-graph capture in this or another thread would forbid (loading a module).

    They are no stream operations, so the captured graph is none the worse for them.
    """
    driver = bindings()
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = check(driver.cuThreadExchangeStreamCaptureMode(relaxed), "relaxing the capture mode")
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(before)
