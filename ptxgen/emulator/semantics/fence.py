"""Fences, dependent grids and addresses within a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.clusters import CLUSTER_SHIFT, cluster_map
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import WINDOW_SHIFT, WINDOWS
from ptxgen.emulator.operands import Get, dtype_of
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


def _nothing(wave: Wave, frame: Frame, index: Any) -> None:
    """Memory is sequentially consistent here, and grids run one at a time."""


@execution("fence", "griddepcontrol")
def lower_nothing(low: Lowering) -> Run:
    return _nothing


@execution("fence", "fence", "membar")
def lower_fence(low: Lowering) -> Run:
    """With the strong accesses around it a fence may order anything: it is taken to order all that the warp did and will do."""
    if low.match.value(".proxykind").startswith("async"):
        return lower_proxy_fence(low)
    if ".mbarrier_init" in low.match.bindings or "mbarrier_init" in low.statement.opcode:
        return lambda wave, frame, index: wave.hazards.inits_fenced(wave.indices(index))
    return lambda wave, frame, index: wave.hazards.strong(wave.indices(index), reads=True, writes=True)


@execution("fence", "fence.proxy")
def lower_proxy_fence(low: Lowering) -> Run:
    kind = low.match.value(".proxykind")
    known = kind.startswith("async") or "async::generic" in low.statement.opcode
    if not known or kind == "async.global":
        return _nothing
    return lambda wave, frame, index: wave.hazards.fenced(wave.indices(index))


def _cluster_address(low: Lowering) -> tuple[Get, int]:
    """The address operand as 64 bits, and where the window of its addresses begins."""
    wide = low.match.type()
    get = low.source(low.named["a"], wide)
    window = 0 if low.match.value(".space") else WINDOWS["shared"]
    return lambda wave, frame, index: get(wave, frame, index).astype(np.int64), window


@execution("fence", "mapa")
def lower_mapa(low: Lowering) -> Run:
    get, window = _cluster_address(low)
    rank = low.source(low.named["b"], type_named("u32"))
    of = low.match.type()
    put, dtype = low.target(low.named["d"], of), dtype_of(of)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        size = cluster_map(wave.threads).size
        ranks = np.broadcast_to(rank(wave, frame, index), wave.count(index)).astype(np.int64)
        if (ranks >= size).any():
            threads = wave.indices(index)[ranks >= size]
            message = f"rank {int(ranks[ranks >= size][0])} in a cluster of {size} blocks"
            wave.reports.add("out of bounds", message, low.statement, wave.threads, threads, subject="rank")
        inside = get(wave, frame, index) - window & (1 << CLUSTER_SHIFT) - 1
        put(wave, frame, index, (window + (ranks + 1 << CLUSTER_SHIFT) + inside).astype(dtype))

    return run


@execution("fence", "getctarank")
def lower_rank(low: Lowering) -> Run:
    get, window = _cluster_address(low)
    put = low.target(low.named["d"], type_named("u32"))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        clusters = cluster_map(wave.threads)
        own = wave.threads.block if index is None else wave.threads.block[index]
        address = np.broadcast_to(get(wave, frame, index), wave.count(index))
        foreign = (address >> WINDOW_SHIFT) != window >> WINDOW_SHIFT
        blocks, _ = clusters.locate(np.where(foreign, 0, address - window), own)
        put(wave, frame, index, np.where(foreign | (blocks < 0), 0xFFFFFFFF, clusters.rank[blocks]).astype(np.uint32))

    return run
