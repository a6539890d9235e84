"""Finding NVIDIA's command-line tools: PyPI's wheels first, then CUDA_HOME, then PATH."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ptxgen.layouts.errors import PtxgenError

__all__ = ["MissingTool", "Tool", "find_tool", "require_tool"]

_WHEELS = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}


class MissingTool(PtxgenError):
    """A tool that the request needs is not installed; the message names the package that brings it."""


class Tool(NamedTuple):
    """An executable and the CUDA release that it belongs to; ``build`` is the full version that it prints."""

    name: str
    path: str
    release: tuple[int, int]
    build: str

    def __str__(self) -> str:
        return f"{self.name} {self.release[0]}.{self.release[1]}"


@lru_cache(maxsize=None)
def find_tool(name: str) -> Tool | None:
    """The tool called `name` (``"ptxas"``, ``"nvdisasm"``), or None. The first that answers ``--version`` is taken."""
    for path in _candidates(name):
        if (tool := _identify(name, path)) is not None:
            return tool
    return None


def require_tool(name: str) -> Tool:
    """`find_tool`, but a `MissingTool` that says what to install instead of None."""
    tool = find_tool(name)
    if tool is None:
        raise MissingTool(f"{name} was not found; install it with: pip install 'ptxgen[asm]' (or pip install {_WHEELS[name]})")
    return tool


def _candidates(name: str) -> list[str]:
    executable = name + (".exe" if os.name == "nt" else "")
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(location) for location in (spec.submodule_search_locations or ())] if spec is not None else []
    # CUDA 13 wheels share nvidia/cu13/bin; CUDA 12 wheels have a folder each (nvidia/cuda_nvcc/bin).
    found = [str(path) for root in roots for path in sorted(root.glob(f"*/bin/{executable}"), reverse=True)]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            found.append(str(Path(home, "bin", executable)))
    if on_path := shutil.which(name):
        found.append(on_path)
    found.append(str(Path("/usr/local/cuda/bin", executable)))
    return [path for path in found if os.access(path, os.X_OK)]


def _identify(name: str, path: str) -> Tool | None:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"release (\d+)\.(\d+), V(\S+)", said)
    return Tool(name, path, (int(match[1]), int(match[2])), match[3]) if match else None
