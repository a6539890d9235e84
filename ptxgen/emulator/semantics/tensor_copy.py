"""Copies of boxes of tensors (ISA "Tensor copy"); what they move is in `asynchronous_bulk`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxgen.emulator.asynchronous_bulk import Bulk
from ptxgen.emulator.asynchronous_reduce import combiner
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Get
from ptxgen.emulator.semantics.bulk_copy import address_in, each
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave


@execution("tensor_copy", "cp.async.bulk.prefetch.tensor")
def lower_prefetch(low: Lowering) -> Run:
    """Nothing that a program can see."""
    return lambda wave, frame, index: None


_TILE_MODES = ("", "tile", "tile::gather4", "tile::scatter4")


def _tensor(low: Lowering) -> tuple[str, Get, list[Get], bool]:
    """State space and address of the tensor map, the coordinates, and whether they name four rows."""
    mode = low.match.value(".load_mode")
    if ".override::global_address" in low.match.bindings:
        problem = "the emulator follows a tensor map as it stands"
        raise low.refuse(problem, section=low.match.entry.section, legal="a map of that tensor, or a GPU")
    if mode not in _TILE_MODES:
        raise low.refuse(f"the emulator does not follow .{mode} yet", section=low.match.entry.section, legal=".tile, or a GPU")
    space, address = low.address(low.named["tensor_map"], "")
    s32 = type_named("s32")
    return space, address, low.sources(low.named["tensor_coords"], s32), "4" in mode


@execution("tensor_copy", "cp.async.bulk.tensor.load")
def lower_tensor_load(low: Lowering) -> Run:
    space, address, coordinates, rows = _tensor(low)
    target = address_in(low, "dst_mem", "shared")
    rank = int(low.match.value(".dim")[0])
    pair = low.match.value(".cta_group") == "cta_group::2"

    def move(bulk: Bulk, wave: Wave, thread: int, value: Any, signal: Any) -> None:
        box = bulk.box(space, value(address), [value(get) for get in coordinates], rows, rank)
        if box is not None:
            bulk.load_box(box, value(target), signal(), pair)

    return each(low, move)


@execution("tensor_copy", "cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor")
def lower_tensor_store(low: Lowering) -> Run:
    space, address, coordinates, rows = _tensor(low)
    source = address_in(low, "src_mem", "shared")
    rank = int(low.match.value(".dim")[0])
    operation = low.match.value(".redOp")

    def move(bulk: Bulk, wave: Wave, thread: int, value: Any, signal: Any) -> None:
        box = bulk.box(space, value(address), [value(get) for get in coordinates], rows, rank)
        if box is not None:
            bulk.store_box(box, value(source), combiner(operation, box.fields.kind) if operation else None)

    return each(low, move)
