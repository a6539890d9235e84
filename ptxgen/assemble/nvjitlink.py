"""nvJitLink, in process: about 12 ms a small module, half the price of starting ptxas."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["Outcome", "nvjitlink_release", "run_nvjitlink"]

Outcome = tuple[bytes | None, str]
"""The cubin, or None where the text was refused; and the log."""


@lru_cache(maxsize=None)
def nvjitlink_release() -> tuple[int, int] | None:
    """The CUDA release of the nvJitLink library, or None if it, or cuda.bindings, is not installed."""
    try:
        from cuda.bindings import nvjitlink

        major, minor = nvjitlink.version()
    except Exception:  # cuda.bindings raises its own, version-dependent errors where the library is missing
        return None
    return int(major), int(minor)


def run_nvjitlink(ptx: str, options: tuple[str, ...]) -> Outcome:
    """Assemble with nvJitLink's own `options`.

    The caller has checked the architecture: nvJitLink ends the whole process when ``-arch`` is a name that it doesn't know.
    """
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(len(options), list(options))
    try:
        text = ptx.encode()
        try:
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "kernel.ptx")
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            return None, _log(handle) or str(error)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
        return bytes(code), _log(handle)
    finally:
        nvjitlink.destroy(handle)


def _log(handle: Any) -> str:
    from cuda.bindings import nvjitlink

    parts = []
    for size, read in (
        (nvjitlink.get_error_log_size, nvjitlink.get_error_log),
        (nvjitlink.get_info_log_size, nvjitlink.get_info_log),
    ):
        if length := size(handle):
            buffer = bytearray(length)
            read(handle, buffer)
            parts.append(buffer.decode(errors="replace").rstrip("\0"))
    return "\n".join(part.strip("\n") for part in parts if part)
