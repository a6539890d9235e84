"""Assembling: PTX text to a cubin, its resources and its SASS, without a GPU.

Everything here loads its tools on first use: importing this package loads neither ``cuda`` nor any assembler.
"""

from __future__ import annotations

from ptxgen.assemble.cubin import AssemblyError, Cubin, Message, Resources
from ptxgen.assemble.front import assemble
from ptxgen.assemble.referee import Verdict, check_many, check_statements, ptxas
from ptxgen.assemble.sass import sass
from ptxgen.assemble.tools import MissingTool, Tool, find_tool
from ptxgen.assemble.versions import cuda_release_of, header, ptx_version_of

__all__ = [
    "AssemblyError", "Cubin", "Message", "MissingTool", "Resources", "Tool", "Verdict", "assemble", "check_many",
    "check_statements", "cuda_release_of", "find_tool", "header", "ptx_version_of", "ptxas", "sass",
]  # fmt: skip
