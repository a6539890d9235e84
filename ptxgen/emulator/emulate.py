"""The emulator's door: launch an entry of a module on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

from ptxgen.emulator.frames import Frame
from ptxgen.emulator.hazards_global import GlobalAccesses
from ptxgen.emulator.machine import Wave
from ptxgen.emulator.memory import Memory, argument_regions
from ptxgen.emulator.program import Program
from ptxgen.emulator.reports import EmulationResult, ReportBook, StopEmulation
from ptxgen.emulator.threads import Dim3, Launch, Threads
from ptxgen.ir import Module
from ptxgen.layouts.errors import PtxgenError

__all__ = ["emulate"]

Shape = Union[int, Sequence[int]]
Argument = Union[NDArray[Any], bytes, Callable[[Sequence[int]], bytes]]

BLOCK_LIMIT = 1024
RESIDENT_THREADS = 1 << 15
STEP_LIMIT = 1_000_000


def emulate(
    module: Module,
    entry: str,
    *,
    grid: Shape,
    block: Shape,
    arguments: Sequence[Argument],
    dynamic_shared: int = 0,
    dynamic_parts: Sequence[tuple[int, int, str]] = (),
    shared_names: Mapping[str, str] | None = None,
    seed: int = 0,
    step_limit: int = STEP_LIMIT,
    cluster: Shape | None = None,
    checks: bool | Literal["values"] = True,
    stop_on_report: bool = False,
    resident_threads: int = RESIDENT_THREADS,
) -> EmulationResult:
    """Run one entry of a module on the CPU.

    Parameters
    ----------
    module : ir.Module
    entry : str
    grid, block, cluster : int or sequence of up to three ints
        As in a CUDA launch: blocks, threads a block, blocks a cluster.
    arguments : sequence
        One for each parameter of the entry: a NumPy array for a pointer (its address is that of element 0; the kernel writes into
        it in place), or the bytes of a scalar or structure. Bytes that hold an array's address, as a tensor map does, are a function of
        the addresses of all arrays among the arguments, in their order.
    dynamic_shared : int
        Bytes of dynamic shared memory a block.
    dynamic_parts : sequence of (offset, size, name)
        What lies in it, for reports.
    shared_names : mapping, optional
        What reports call variables and parts in shared memory, where that is not the declared name.
    seed : int
        Decides the order in which threads run. With 0 they run as much together as they can; any other seed also lets warps run
        ahead of one another. The same seed gives the same run.
    step_limit : int
        Instructions that may be issued in one wave of blocks before the run is given up with a report.
    checks : bool or ``"values"``
        Whether to look for reads of what was never written, or is in flight, and for races in shared memory; ``"values"`` leaves out
        the races. Bounds, alignment and the use of mbarriers are always checked.
    stop_on_report : bool
        Whether the first report ends the run.
    resident_threads : int
        Blocks are taken in waves of about this many threads; blocks of one wave run together, waves one after the other. A kernel
        whose blocks wait for one another needs them all in one wave.

    Returns
    -------
    EmulationResult

    Raises
    ------
    PtxgenError
        If the launch does not fit the entry; `InstructionError` for an instruction that cannot be executed.
    """
    sizes = _dim3(grid, "grid"), _dim3(block, "block"), None if cluster is None else _dim3(cluster, "cluster")
    launch = Launch(*sizes, dynamic_shared)
    _check_launch(launch)
    _check_options(seed, step_limit, checks)
    program = Program(module, entry, dynamic_shared, dynamic_parts, shared_names)
    launch.static_shared = program.static_shared
    reports = ReportBook(stop_on_report)
    memory = Memory(reports, bool(checks))
    program.fill(memory, _pack(program, arguments, memory))
    steps = instructions = 0
    frames: dict[tuple[int, int], Frame] = {}
    accesses = GlobalAccesses() if checks is True else None
    with np.errstate(all="ignore"):
        for first, blocks in _waves(launch, resident_threads):
            threads = Threads(launch, first, blocks)
            program.block_memory(memory, blocks, threads.count)
            wave = Wave(
                program,
                threads,
                memory,
                reports,
                seed=seed,
                step_limit=step_limit,
                checks=bool(checks),
                races=accesses,
                frames=frames,
            )
            try:
                wave.run()
            except StopEmulation:
                break
            finally:
                steps += wave.steps
                instructions += wave.instructions
    return EmulationResult(reports.reports, steps, instructions, launch.blocks * launch.block_threads)


def _dim3(shape: Shape, name: str) -> Dim3:
    values = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not 1 <= len(values) <= 3 or any(value < 0 for value in values):
        raise PtxgenError(f"{name}={shape!r} is not one to three sizes")
    x, y, z = (*map(int, values), 1, 1)[:3]
    return x, y, z


def _check_launch(launch: Launch) -> None:
    if not 1 <= launch.block_threads <= BLOCK_LIMIT or launch.block[2] > 64:
        raise PtxgenError(f"block={launch.block} has {launch.block_threads} threads; a block has 1 to {BLOCK_LIMIT}, at most 64 along z")
    if launch.cluster is not None and any(extent % size for extent, size in zip(launch.grid, launch.cluster)):
        raise PtxgenError(f"grid={launch.grid} is no multiple of cluster={launch.cluster}")


def _check_options(seed: int, step_limit: int, checks: Any) -> None:
    """Refuse what would silently mean something else."""
    if checks is not True and checks is not False and checks != "values":
        raise PtxgenError(f'checks={checks!r} is none of True, "values" and False')
    for name, number, least in (("seed", seed, 0), ("step_limit", step_limit, 1)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
            raise PtxgenError(f"{name}={number!r} is no int of at least {least}")


def _waves(launch: Launch, resident_threads: int) -> list[tuple[int, int]]:
    """(first block, number of blocks) of each wave; clusters are kept together."""
    unit = 1
    if launch.cluster is not None and launch.cluster != (1, 1, 1):
        unit = launch.blocks  # cluster blocks are not neighbours in linear order where the grid has several dimensions
    size = max(resident_threads // launch.block_threads // unit, 1) * unit
    return [(first, min(size, launch.blocks - first)) for first in range(0, launch.blocks, size)]


def _pack(program: Program, arguments: Sequence[Argument], memory: Memory) -> bytes:
    """Lay the arguments out as the entry's parameters."""
    formals = program.parameters.placed
    name = program.entry.name
    if len(arguments) != len(formals):
        names = ", ".join(one.name for one in formals)
        raise PtxgenError(f"{name} has {len(formals)} parameters ({names}), {len(arguments)} arguments are given")
    for location in program.global_locations:
        memory.reserve(location.address + location.size)
    arrays = [(placed.name, argument) for placed, argument in zip(formals, arguments) if isinstance(argument, np.ndarray)]
    regions = argument_regions(memory, arrays)
    addresses = iter(regions)
    packed = bytearray(program.parameters.size)
    for placed, argument in zip(formals, arguments):
        if isinstance(argument, np.ndarray):
            content = next(addresses).to_bytes(8, "little")
        elif isinstance(argument, (bytes, bytearray)):
            content = bytes(argument)
        elif callable(argument):
            content = argument(regions)
        else:
            raise PtxgenError(f"{name}, parameter {placed.name}: a NumPy array or bytes are taken, not {type(argument).__name__}")
        if len(content) != placed.size:
            raise PtxgenError(f"{name}, parameter {placed.name}: {placed.size} bytes are taken, {len(content)} are given")
        packed[placed.offset : placed.offset + placed.size] = content
    return bytes(packed)
