"""`assemble`: PTX text in, cubin out, by the first assembler that is installed and new enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxgen.assemble.cache import cache_key, lookup, store
from ptxgen.assemble.cubin import AssemblyError, Cubin, LineMap
from ptxgen.assemble.nvjitlink import Outcome, nvjitlink_release, run_nvjitlink
from ptxgen.assemble.referee import run_ptxas
from ptxgen.assemble.tools import MissingTool, find_tool
from ptxgen.assemble.versions import cuda_release_of, header, ptx_version_of, supports_target
from ptxgen.instructions.targets import FIRST_VERSION, Version, runs_on
from ptxgen.layouts.errors import PtxgenError

__all__ = ["assemble"]


class _Assembler:
    """One way to assemble: its name, the CUDA release it belongs to, and how to call it with ptxas's options."""

    __slots__ = ("name", "release", "run")

    def __init__(self, name: str, release: tuple[int, int], run: Callable[[str, str, tuple[str, ...]], Outcome]) -> None:
        self.name = name
        self.release = release
        self.run = run

    def fits(self, version: Version, target: str) -> bool:
        return version <= ptx_version_of(self.release) and supports_target(self.release, target)


def assemble(
    ptx: str,
    target: str | None = None,
    *,
    line_map: LineMap | None = None,
    max_registers: int | None = None,
    line_info: bool = False,
    options: Sequence[str] = (),
    tool: str | None = None,
    cache: bool = True,
) -> Cubin:
    """Assemble a PTX module.

    Parameters
    ----------
    ptx : str
        A whole module.
    target : str, optional
        The architecture to assemble for, e.g. ``"sm_90a"``; what the text's ``.target`` says by default.
    line_map : mapping of int to str, optional
        PTX line (from 1) to the user's line (``"file:line  source"``), shown in errors.
    max_registers : int, optional
        At most this many registers a thread (ptxas's ``-maxrregcount``).
    line_info : bool
        Keep line numbers in the cubin, for profilers.
    options : sequence of str
        Further options of ptxas.
    tool : {"nvjitlink", "ptxas"}, optional
        Only this assembler; by default nvJitLink, in process, and where that is missing or too old the ptxas executable.
    cache : bool
        Whether the disk cache may be used (see `ptxgen.assemble.cache`).

    Returns
    -------
    Cubin
        With ``code``, ``log`` and ``resources``.

    Raises
    ------
    AssemblyError
        If the assembler refuses the text; shows the PTX line and the user's line for each message.
    MissingTool
        If no assembler is installed, or none is new enough.
    PtxgenError
        If the text has no ``.version`` or ``.target``, or `target` can't run code written for the text's ``.target``.
    """
    said = header(ptx)
    target = target or said.target
    _check_target(said.target, target)
    assembler = _choose(said.version, target, tool)
    flags = ("-v", *_flags(max_registers, line_info), *options)
    key = cache_key(ptx, target, flags, assembler.name) if cache else ""
    if cache and (kept := lookup(key, len(ptx))) is not None:
        return Cubin(kept[0], kept[1], target, assembler.name, line_map)
    code, log = assembler.run(ptx, target, flags)
    if code is None:
        raise AssemblyError(f"{assembler.name} refused the PTX for {target}:", log=log, ptx=ptx, line_map=line_map)
    if cache:
        store(key, len(ptx), code, log)
    return Cubin(code, log, target, assembler.name, line_map)


def _flags(max_registers: int | None, line_info: bool) -> list[str]:
    flags = []
    if max_registers is not None:
        if not 16 <= max_registers <= 255:
            raise PtxgenError(f"max_registers = {max_registers}: a thread has between 16 and 255 registers")
        flags.append(f"-maxrregcount={max_registers}")
    if line_info:
        flags.append("-lineinfo")
    return flags


def _check_target(written: str, target: str) -> None:
    for name in (written, target):
        if name not in FIRST_VERSION:
            raise PtxgenError(f"unknown target {name!r}; known: {', '.join(FIRST_VERSION)}")
    exact = written.endswith("a")
    if written != target and (exact or not runs_on(written, target)):
        raise PtxgenError(
            f"PTX written for .target {written} can't be assembled for {target}: plain targets run on newer architectures, "
            "an 'a' target on itself alone, an 'f' target within its family (PTX ISA 11.1.2)"
        )


def _available(tool: str | None) -> list[_Assembler]:
    found = []
    if tool in (None, "nvjitlink") and (release := nvjitlink_release()) is not None:

        def in_process(ptx: str, target: str, flags: tuple[str, ...]) -> Outcome:
            return run_nvjitlink(ptx, (f"-arch={target}", *(f"-Xptxas={flag}" for flag in flags)))

        found.append(_Assembler(f"nvJitLink {release[0]}.{release[1]}", release, in_process))
    if tool in (None, "ptxas") and (executable := find_tool("ptxas")) is not None:

        def by_process(ptx: str, target: str, flags: tuple[str, ...]) -> Outcome:
            return run_ptxas(executable, ptx, target, flags)

        found.append(_Assembler(f"ptxas {executable.build}", executable.release, by_process))
    if tool not in (None, "nvjitlink", "ptxas"):
        raise PtxgenError(f"unknown assembler {tool!r}; known: 'nvjitlink', 'ptxas'")
    return found


def _choose(version: Version, target: str, tool: str | None) -> _Assembler:
    found = _available(tool)
    for assembler in found:
        if assembler.fits(version, target):
            return assembler
    if not found:
        raise MissingTool(
            f"no PTX assembler is installed{f' ({tool} was asked for)' if tool else ''}; install nvJitLink and ptxas with: "
            "pip install 'ptxgen[asm]' (or pip install nvidia-nvjitlink nvidia-cuda-nvcc)"
        )
    needed = cuda_release_of(max(version, FIRST_VERSION[target]))
    release = f"CUDA {needed.cuda[0]}.{needed.cuda[1]} or newer" if needed is not None else "a newer CUDA release"
    raise MissingTool(
        f"PTX version {version[0]}.{version[1]} for {target} needs an assembler from {release}; installed: "
        f"{', '.join(assembler.name for assembler in found)}. Install a newer one with: pip install -U 'ptxgen[asm]'"
    )
