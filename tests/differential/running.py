"""A batch of cases in one kernel, in the emulator and on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxgen.emulator import emulate
from ptxgen.instructions.targets import Version
from ptxgen.text import read
from tests.differential.catalogue import Case
from tests.differential.drawing import Values
from tests.differential.sections import THREADS, Columns, Section, build, module_text

__all__ = ["Batch", "Results", "emulated", "load_on_gpu", "made", "on_gpu"]


class Batch(NamedTuple):
    """A kernel with what it is given: `out` and `cells` as they are before."""

    sections: list[Section]
    text: str
    columns: Values
    out: Values
    cells: Values


class Results(NamedTuple):
    """What a kernel leaves: columns of `out`, and cells (section, thread, word)."""

    out: Values
    cells: Values


def made(cases: Sequence[Case], target: str, version: Version, seed: int, count: int) -> Batch:
    """The kernel of some cases; `count` values each, a multiple of the threads of a block."""
    columns = Columns(seed, count)
    sections, width, cells = build(cases, columns)
    text = module_text(sections, target, version)
    return Batch(sections, text, np.stack(columns.values), np.zeros((max(width, 1), count), np.uint64), cells)


def emulated(batch: Batch) -> Results:
    out, cells = batch.out.copy(), batch.cells.copy()
    arguments = [out, batch.columns, cells]
    emulate(read(batch.text), "k", grid=out.shape[1] // THREADS, block=THREADS, arguments=arguments, checks="values").raise_for_reports()
    return Results(out, cells)


def load_on_gpu(text: str, entry: str) -> Any:
    """An entry on the current device, whose driver assembles it."""
    from ptxgen.runtime import current_device, load

    with current_device().current():
        return load(text, entry)


def on_gpu(text: str, entry: str, grid: int, block: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The arrays after a launch with their addresses as arguments."""
    from ptxgen.runtime import LaunchShape, Packed, current_device
    from ptxgen.runtime.driver import bindings, check

    driver = bindings()
    packed = Packed(8 * len(arrays), tuple(range(0, 8 * len(arrays), 8)))
    addresses = np.frombuffer(packed.buffer, np.uint64)
    with current_device().current():
        kernel = load_on_gpu(text, entry)
        pointers = [check(driver.cuMemAlloc(array.nbytes), "allocating") for array in arrays]
        try:
            addresses[:] = [int(pointer) for pointer in pointers]
            for pointer, array in zip(pointers, arrays):
                check(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes), "copying")
            kernel.launch((grid, 1, 1), LaunchShape((block, 1, 1)), packed)
            check(driver.cuCtxSynchronize(), "running a kernel")
            found = [np.empty_like(array) for array in arrays]
            for pointer, array in zip(pointers, found):
                check(driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes), "copying")
        finally:
            for pointer in pointers:
                driver.cuMemFree(pointer)
    return found
