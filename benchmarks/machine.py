"""What a result is measured on: machine, versions, date. Every file in benchmarks/results begins with it."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import subprocess
from typing import Any

__all__ = ["machine"]

_PACKAGES = ("ptxgen", "numpy", "torch", "triton", "cuda-core", "cuda-bindings", "pyptx", "nvidia-cuda-nvcc", "nvidia-nvjitlink")


def machine() -> dict[str, Any]:
    """Machine, versions and date, as JSON can hold them."""
    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "cpu": _cpu(),
        "packages": {},
    }
    for name in _PACKAGES:
        try:
            found["packages"][name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    gpu = _gpu()
    if gpu:
        found["gpu"], found["driver"] = gpu
    return found


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return f"{names[0]} x {len(names)}"
    except (OSError, IndexError):
        return platform.processor()


def _gpu() -> tuple[str, str] | None:
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
        return name, driver
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None
