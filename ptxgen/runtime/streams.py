"""Streams: whatever a library calls a stream, as the driver's handle."""

from __future__ import annotations

from typing import Any

from ptxgen.runtime.errors import ArgumentError

__all__ = ["stream_handle"]


def stream_handle(stream: Any) -> int:
    """The handle of `stream` as an int.

    Parameters
    ----------
    stream : object
        None (the default stream), an int handle, a PyTorch or CuPy stream, a ``cuda.core.Stream``, or anything with
        ``__cuda_stream__``.

    Raises
    ------
    ArgumentError
        For anything else.
    """
    if stream is None:
        return 0
    if type(stream) is int:
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # The protocol is a method that returns (version, handle); early adopters made it a property.
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    for attribute in ("cuda_stream", "ptr"):  # PyTorch, CuPy
        handle = getattr(stream, attribute, None)
        if handle is not None:
            return int(handle)
    if hasattr(stream, "__index__") or hasattr(stream, "__int__"):
        return int(stream)
    raise ArgumentError(
        f"stream={stream!r} is no stream: pass an int handle, a torch, CuPy or cuda.core stream, or an object with __cuda_stream__"
    )
