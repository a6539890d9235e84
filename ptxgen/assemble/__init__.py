"""Assembling: PTX text to a cubin, its resources and its SASS, without a GPU.

Names are loaded on first use, so that importing this package costs nothing; ``cuda`` and the assemblers wait for the first call.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxgen.assemble.cubin import AssemblyError, Cubin, Message, Resources
    from ptxgen.assemble.disassembly import sass
    from ptxgen.assemble.front import assemble
    from ptxgen.assemble.referee import Verdict, check_many, check_statements, ptxas
    from ptxgen.assemble.tools import MissingTool, Tool, find_tool
    from ptxgen.assemble.versions import cuda_release_of, header, ptx_version_of

__all__ = [
    "AssemblyError", "Cubin", "Message", "MissingTool", "Resources", "Tool", "Verdict", "assemble", "check_many",
    "check_statements", "cuda_release_of", "find_tool", "header", "ptx_version_of", "ptxas", "sass",
]  # fmt: skip

_HOME = {
    "AssemblyError": "cubin", "Cubin": "cubin", "Message": "cubin", "Resources": "cubin",
    "MissingTool": "tools", "Tool": "tools", "find_tool": "tools",
    "Verdict": "referee", "check_many": "referee", "check_statements": "referee", "ptxas": "referee",
    "cuda_release_of": "versions", "header": "versions", "ptx_version_of": "versions",
    "assemble": "front", "sass": "disassembly",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
