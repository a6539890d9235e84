"""``ptxgen demo``."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ptxgen import demo
from ptxgen.cli.device import DeviceArray, device_name, synchronize
from ptxgen.cli.output import print_python
from ptxgen.runtime.driver import no_gpu_reason

__all__ = ["demonstrate"]


def demonstrate(emulate: bool) -> int:
    """Print source, PTX, place and difference; the exit status."""
    print_python(_source())
    print(demo.add_one_tile.ptx())
    a = np.arange(768, dtype=np.float32).reshape(2, 32, 3, 4)
    result, place = _run(a, emulate)
    difference = float(np.max(np.abs(result - (a + 1))))
    print(f"ran on: {place}")
    print(f"largest difference from a + 1: {difference:g}")
    return 0 if difference == 0 else 1


def _source() -> str:
    """The module's text without its docstring, which speaks of this command."""
    text = inspect.getsource(demo)
    return text.partition('"""\n\n')[2]


def _run(a: Any, emulate: bool) -> tuple[Any, str]:
    reason = "as asked for" if emulate else no_gpu_reason()
    if reason is not None:
        b = np.full_like(a, np.nan)
        demo.add_one_tile(a, b)
        return b, f"emulator ({reason})"
    b = DeviceArray(np.full_like(a, np.nan))
    demo.add_one_tile(DeviceArray(a), b)
    synchronize()
    return b.numpy(), device_name()
