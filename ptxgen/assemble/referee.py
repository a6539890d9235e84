"""ptxas as a subprocess: the fallback of `assemble`, and the referee that says which texts are PTX."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ptxgen.assemble.cubin import AssemblyError, Cubin, LineMap, Message, parse_messages
from ptxgen.assemble.nvjitlink import Outcome
from ptxgen.assemble.tools import Tool, require_tool
from ptxgen.assemble.versions import supports_target
from ptxgen.instructions.targets import FIRST_VERSION, Version
from ptxgen.layouts.errors import PtxgenError

__all__ = ["Verdict", "check_many", "check_statements", "ptxas", "run_ptxas"]


class Verdict(NamedTuple):
    """What ptxas said of one text: ``ok``, its messages, and the whole log."""

    ok: bool
    messages: tuple[Message, ...]
    log: str

    @property
    def reason(self) -> str:
        """The first error, or nothing."""
        return next((message.text for message in self.messages if message.failed), "")


def run_ptxas(tool: Tool, ptx: str, target: str, options: Sequence[str], *, seconds: float | None = None) -> Outcome:
    """Assemble with `tool`; `options` are ptxas's own, beside ``-arch``. After so many `seconds` it counts as refused."""
    with tempfile.TemporaryDirectory(prefix="ptxgen-") as folder:
        source, output = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [tool.path, f"-arch={target}", *options, "-o", str(output), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, f"ptxas did not end within {seconds} seconds"
        log = "\n".join(part.strip("\n") for part in (done.stdout, done.stderr) if part).replace(str(source), "kernel.ptx")
        if done.returncode:
            return None, log or f"ptxas ended with status {done.returncode}"
        # An empty file where a virtual architecture was asked for: the text was parsed, nothing generated.
        return (output.read_bytes() if output.exists() else b""), log


def ptxas(ptx: str, target: str, options: Sequence[str] = ("-v",), *, line_map: LineMap | None = None) -> Cubin:
    """Assemble `ptx` with the ptxas executable.

    Parameters
    ----------
    ptx : str
        A whole module.
    target : str
        The architecture, e.g. ``"sm_90a"``; ``"compute_90a"`` only parses and checks, and yields no code.
    options : sequence of str
        ptxas's own options.
    line_map : mapping of int to str, optional
        PTX line to the user's line, for errors.

    Raises
    ------
    MissingTool
        If there is no ptxas.
    AssemblyError
        If ptxas refuses the text.
    """
    tool = require_tool("ptxas")
    code, log = run_ptxas(tool, ptx, target, options)
    if code is None:
        raise AssemblyError(f"{tool} refused the PTX for {target}:", log=log, ptx=ptx, line_map=line_map)
    return Cubin(code, log, target, str(tool), line_map)


def check_many(texts: Iterable[str], target: str, options: Sequence[str] = ()) -> list[Verdict]:
    """Ask ptxas about many whole modules, a few at a time; the verdicts come in the order of the texts."""
    tool = require_tool("ptxas")

    def verdict(text: str) -> Verdict:
        code, log = run_ptxas(tool, text, target, options)
        return Verdict(code is not None, parse_messages(log), log)

    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, 8)) as pool:
        return list(pool.map(verdict, texts))


def check_statements(
    statements: Sequence[str], target: str, version: Version | None = None, *, declarations: str = "", module: str = ""
) -> list[Verdict]:
    """Ask ptxas about many statements at once: each becomes the body of its own function in one module.

    Thousands of forms take a second this way, where a process for each takes minutes. Statements that ptxas refuses are
    taken out and the rest is asked about again, since an early error can hide later ones.

    Parameters
    ----------
    statements : sequence of str
        Each one or several PTX statements, with their semicolons.
    target : str
        The architecture, e.g. ``"sm_90a"``.
    version : (int, int), optional
        ``.version``; the newest that ptxas knows by default.
    declarations : str
        Put at the start of every function's body (registers, local variables).
    module : str
        Put once before the functions (global and shared variables, prototypes).

    Returns
    -------
    list of Verdict
        In the order of `statements`. Verdicts of accepted statements carry no messages.
    """
    tool = require_tool("ptxas")
    if not supports_target(tool.release, target):
        raise PtxgenError(f"{tool} does not know {target}; known targets: {', '.join(FIRST_VERSION)}")
    verdicts: list[Verdict | None] = [None] * len(statements)
    prefix = f"{_version_line(version, tool)}\n.target {target}\n.address_size 64\n{module}\n"
    groups = [list(range(len(statements)))]
    while groups:
        group = groups.pop()
        if not group:
            continue
        text, owner = _one_module(prefix, [statements[index] for index in group], declarations)
        code, log = run_ptxas(tool, text, target, ())
        if code is not None:
            for index in group:
                verdicts[index] = Verdict(True, (), "")
            continue
        refused = _by_owner(log, owner)
        for position, messages in refused.items():
            verdicts[group[position]] = Verdict(False, messages, log)
        if refused:
            rest = [index for position, index in enumerate(group) if position not in refused]
            # A syntax error ends ptxas's pass, so that it names one culprit at a time: look on in smaller modules.
            middle = len(rest) // 2 if 8 * len(refused) < len(group) else 0
            groups += [rest[:middle], rest[middle:]]
        elif len(group) == 1:
            verdicts[group[0]] = Verdict(False, parse_messages(log), log)
        else:  # An error that names no line: halve until it has an owner.
            middle = len(group) // 2
            groups += [group[:middle], group[middle:]]
    return [verdict for verdict in verdicts if verdict is not None]


def _version_line(version: Version | None, tool: Tool) -> str:
    from ptxgen.assemble.versions import ptx_version_of

    major, minor = version or ptx_version_of(tool.release)
    return f".version {major}.{minor}"


def _one_module(prefix: str, statements: Sequence[str], declarations: str) -> tuple[str, dict[int, int]]:
    """The text, and for each of its lines the statement that it belongs to."""
    lines = prefix.splitlines()
    owner: dict[int, int] = {}
    for position, statement in enumerate(statements):
        body = f".visible .func ptxgen_form_{position}()\n{{\n{declarations}\n{statement}\nret;\n}}".splitlines()
        owner.update((len(lines) + offset, position) for offset in range(1, len(body) + 1))
        lines += body
    return "\n".join(lines) + "\n", owner


def _by_owner(log: str, owner: dict[int, int]) -> dict[int, tuple[Message, ...]]:
    refused: dict[int, tuple[Message, ...]] = {}
    for message in parse_messages(log):
        if not message.failed:
            continue
        position = owner.get(message.line) if message.line is not None else None
        if position is None and (named := re.search(r"ptxgen_form_(\d+)", message.text)):
            position = int(named[1])
        if position is not None:
            refused[position] = (*refused.get(position, ()), message)
    return refused
