"""SASS of a cubin, through nvdisasm."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from ptxgen.assemble.cubin import Cubin
from ptxgen.assemble.tools import require_tool
from ptxgen.layouts.errors import PtxgenError

__all__ = ["sass"]

_SECTION = re.compile(r"^//-+ \.text\.(\S+)\s+-+$", re.MULTILINE)


def sass(cubin: Cubin | bytes, entry: str | None = None, *, line_info: bool = False) -> str:
    """Disassemble a cubin.

    Parameters
    ----------
    cubin : Cubin or bytes
        What to disassemble.
    entry : str, optional
        Only this function's section; all of them by default.
    line_info : bool
        Show source lines, where the cubin was assembled with ``line_info``.

    Raises
    ------
    MissingTool
        If nvdisasm is not installed.
    PtxgenError
        If the cubin has no function called `entry`, or nvdisasm can't read it.
    """
    tool = require_tool("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="ptxgen-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin.code if isinstance(cubin, Cubin) else cubin)
        command = [tool.path, "-c", *(["-g"] if line_info else []), str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PtxgenError(f"{tool} could not read the cubin: {(done.stderr or done.stdout).strip()}")
    return done.stdout if entry is None else _section(done.stdout, entry)


def _section(text: str, entry: str) -> str:
    starts = list(_SECTION.finditer(text))
    for index, match in enumerate(starts):
        if match[1] == entry:
            end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
            return text[match.start() : end].rstrip() + "\n"
    names = ", ".join(match[1] for match in starts) or "none"
    raise PtxgenError(f"the cubin has no function {entry!r}; it has: {names}")
