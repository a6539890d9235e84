"""Loading: PTX through the driver's JIT, or a cubin; one module for each text and device."""

from __future__ import annotations

import threading
from typing import Any

from ptxgen.assemble.cubin import Cubin, LineMap, describe
from ptxgen.assemble.versions import cuda_release_of, header
from ptxgen.instructions.targets import FIRST_VERSION, Version, runs_on
from ptxgen.runtime.driver import Device, check, current_device, device, driver_error, driver_version, relaxed_capture
from ptxgen.runtime.errors import LoadError
from ptxgen.runtime.launch import LoadedKernel

__all__ = ["load", "load_cubin"]

_LOG_BYTES = 1 << 16
_NOT_FOUND = 500  # CUDA_ERROR_NOT_FOUND

_modules: dict[tuple[int, Any], Any] = {}
_kernels: dict[tuple[int, Any, str], LoadedKernel] = {}
_lock = threading.Lock()


def load(
    ptx: str,
    entry: str,
    ordinal: int | None = None,
    *,
    line_map: LineMap | None = None,
    max_registers: int | None = None,
) -> LoadedKernel:
    """Load one entry of a PTX text onto a device. The same text on the same device is loaded once.

    The driver's JIT assembles the text. Where its ``.version`` is too new for the driver, an installed assembler does (a cubin
    of the same CUDA major release runs on an older driver).

    Parameters
    ----------
    ptx : str
        A whole module.
    entry : str
        Name of a ``.entry`` in it.
    ordinal : int, optional
        CUDA ordinal; the current device by default.
    line_map : mapping of int to str, optional
        PTX line to the user's line, shown where the JIT refuses the text.
    max_registers : int, optional
        At most this many registers a thread.

    Raises
    ------
    LoadError
        If the text's target or version does not fit the device or its driver, the JIT refuses it, or there is no such entry.
    NoGpuError
        If there is no GPU.
    """
    on = current_device() if ordinal is None else device(ordinal)
    key = (on.ordinal, (ptx, max_registers), entry)
    if (kernel := _kernels.get(key)) is not None:
        return kernel
    said = header(ptx)
    _check_target(said.target, on)
    return _load(key, on, lambda: _load_ptx(ptx, said.version, on, line_map, max_registers))


def load_cubin(cubin: Cubin, entry: str, ordinal: int | None = None) -> LoadedKernel:
    """Load one entry of an assembled cubin onto a device (see `load`)."""
    on = current_device() if ordinal is None else device(ordinal)
    number = cubin.target.removeprefix("sm_").rstrip("af")
    # A cubin runs within its major architecture, from its minor upward; an `a` one on its own architecture only.
    have = on.target.removeprefix("sm_")
    same_major = number[:-1] == have[:-1] and int(number) <= int(have)
    if not same_major or (cubin.target.endswith("a") and number != have):
        raise LoadError(f"a cubin for {cubin.target} does not run on {on.name} ({on.target}); assemble it for {on.best_target}")
    return _load((on.ordinal, cubin.code, entry), on, lambda: _load_image(cubin.code))


def _load(key: tuple[int, Any, str], on: Device, load_module: Any) -> LoadedKernel:
    with _lock:
        if (kernel := _kernels.get(key)) is not None:
            return kernel
        with on.current(), relaxed_capture():
            module = _modules.get(key[:2])
            if module is None:
                module = _modules[key[:2]] = load_module()
            kernel = _kernels[key] = LoadedKernel(on, _function(on, module, key[2]), key[2])
        return kernel


_RULES = {
    "a": "an 'a' target runs on its own architecture only",
    "f": "an 'f' target runs within its family, from its own architecture upward",
}


def _check_target(target: str, on: Device) -> None:
    if target not in FIRST_VERSION:
        raise LoadError(f"unknown target {target!r}; known: {', '.join(FIRST_VERSION)}")
    if not runs_on(target, on.target):
        rule = _RULES.get(target[-1], "a plain target runs on its own architecture and newer ones")
        raise LoadError(
            f"PTX written for .target {target} does not run on {on.name}, whose architecture is {on.target}: {rule} (PTX ISA 11.1.2)"
        )


def _load_ptx(ptx: str, version: Version, on: Device, line_map: LineMap | None, max_registers: int | None) -> Any:
    if version > on.ptx_version:
        return _load_image(_assemble_instead(ptx, version, on, line_map, max_registers).code)
    return _jit(ptx, on, line_map, max_registers)


def _assemble_instead(ptx: str, version: Version, on: Device, line_map: LineMap | None, max_registers: int | None) -> Cubin:
    """A cubin for a text that is too new for the driver's JIT."""
    from ptxgen.assemble import MissingTool, assemble

    have, release = driver_version(), cuda_release_of(version)
    branch = f" ({release.driver} or newer)" if release is not None and release.driver else ""
    too_new = (
        f".version {version[0]}.{version[1]} is newer than the driver: CUDA {have[0]}.{have[1]} understands PTX up to "
        f"{on.ptx_version[0]}.{on.ptx_version[1]}. Use a lower .version or a newer driver{branch}"
    )
    if release is not None and release.cuda[0] > have[0]:
        raise LoadError(too_new)  # Cubins of a newer major release don't load either.
    target = header(ptx).target
    try:
        return assemble(ptx, target if target.endswith("a") else on.best_target, line_map=line_map, max_registers=max_registers)
    except MissingTool as error:
        raise LoadError(f"{too_new}, or an assembler: {error}") from None


def _jit(ptx: str, on: Device, line_map: LineMap | None, max_registers: int | None) -> Any:
    driver = on._driver
    kind = driver.CUjit_option
    info, errors = bytearray(_LOG_BYTES), bytearray(_LOG_BYTES)
    options: list[tuple[Any, Any]] = [
        (kind.CU_JIT_INFO_LOG_BUFFER, info),
        (kind.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, _LOG_BYTES),
        (kind.CU_JIT_ERROR_LOG_BUFFER, errors),
        (kind.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, _LOG_BYTES),
    ]
    if max_registers is not None:
        options.append((kind.CU_JIT_MAX_REGISTERS, max_registers))
    if ".loc " in ptx:  # The JIT drops line numbers unless asked to keep them for profilers.
        options.append((kind.CU_JIT_GENERATE_LINE_INFO, 1))
    image = ptx.encode() + b"\0"
    status, module = driver.cuModuleLoadDataEx(image, len(options), [key for key, _ in options], [value for _, value in options])
    if status:
        log = "\n".join(_text(part) for part in (errors, info) if _text(part))
        summary = f"the driver's JIT refused the PTX on {on.name} ({on.target}): {driver_error(status, 'loading').name}"
        raise LoadError(describe(summary, log, ptx, line_map))
    return module


def _text(buffer: bytearray) -> str:
    return bytes(buffer).split(b"\0")[0].decode(errors="replace").strip()


def _load_image(code: bytes) -> Any:
    from ptxgen.runtime.driver import bindings

    return check(bindings().cuModuleLoadData(code), "loading the cubin")


def _function(on: Device, module: Any, entry: str) -> Any:
    driver = on._driver
    status, function = driver.cuModuleGetFunction(module, entry.encode())
    if int(status) == _NOT_FOUND:
        names = _entry_names(driver, module)
        listed = f"; it has: {', '.join(names)}" if names else ""
        raise LoadError(f"the module has no entry called {entry!r}{listed}")
    check((status, function), f"finding {entry}")
    # Lazy loading would otherwise put the code on the device at the first launch, which may be inside a graph capture.
    if hasattr(driver, "cuFuncLoad"):
        check(driver.cuFuncLoad(function), f"loading {entry}")
    return function


def _entry_names(driver: Any, module: Any) -> list[str]:
    try:
        _, count = driver.cuModuleGetFunctionCount(module)
        _, functions = driver.cuModuleEnumerateFunctions(count, module)
        return sorted(driver.cuFuncGetName(function)[1].decode() for function in functions)
    except (AttributeError, RuntimeError, TypeError):  # a driver older than CUDA 12.4 can't list them
        return []
