"""Who the threads of a wave are: their indices, and the special registers that follow from them (ISA chapter 10)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxgen.layouts.errors import PtxgenError

__all__ = ["WARP", "Dim3", "Launch", "Threads", "special_register"]

Array = NDArray[Any]
Dim3 = tuple[int, int, int]

WARP = 32
MULTIPROCESSORS = 132
CLOCKS_PER_STEP = 4
"""What `%clock` advances by for each instruction issued; only its growth means anything."""


class Launch:
    """The shape of a launch: grid and cluster in blocks, block in threads."""

    __slots__ = ("block", "cluster", "dynamic_shared", "grid", "static_shared")

    def __init__(self, grid: Dim3, block: Dim3, cluster: Dim3 | None, dynamic_shared: int) -> None:
        self.grid = grid
        self.block = block
        self.cluster = cluster
        self.dynamic_shared = dynamic_shared
        self.static_shared = 0

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def block_threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        return -(-self.block_threads // WARP)


class Threads:
    """The threads of the blocks `first` to `first + blocks - 1`, block by block, each block's in order of its linear index."""

    def __init__(self, launch: Launch, first: int, blocks: int) -> None:
        self.launch = launch
        self.first = first
        self.blocks = blocks
        self.count = blocks * launch.block_threads
        self._units: dict[int, Array] = {}

    @cached_property
    def block(self) -> Array:
        """Each thread's block, counted from the wave's first."""
        return np.repeat(np.arange(self.blocks, dtype=np.int64), self.launch.block_threads)

    @cached_property
    def linear(self) -> Array:
        """Each thread's linear index in its block."""
        return np.tile(np.arange(self.launch.block_threads, dtype=np.uint32), self.blocks)

    @cached_property
    def lane(self) -> Array:
        return self.linear % np.uint32(WARP)

    @cached_property
    def warp(self) -> Array:
        """Each thread's warp, counted over the wave."""
        return self.block * self.launch.warps + self.linear // WARP

    def unit(self, size: int) -> Array:
        """Each thread's unit of `size` threads of its block (a warp, a warpgroup), counted over the wave."""
        found = self._units.get(size)
        if found is None:
            found = self._units[size] = self.block * -(-self.launch.block_threads // size) + self.linear // size
        return found

    @cached_property
    def weight(self) -> Array:
        """What a thread counts at a barrier: 1, and the last one also for the missing lanes of an incomplete warp."""
        weight = np.ones(self.count, np.int64)
        missing = self.launch.warps * WARP - self.launch.block_threads
        weight[self.launch.block_threads - 1 :: self.launch.block_threads] += missing
        return weight

    def index(self, axis: int) -> Array:
        """``%tid.x``, ``.y`` or ``.z``."""
        x, y, _ = self.launch.block
        one = np.arange(self.launch.block_threads, dtype=np.uint32)
        return np.tile((one % x, one // x % y, one // (x * y))[axis].astype(np.uint32), self.blocks)

    def block_index(self, axis: int) -> Array:
        """``%ctaid.x``, ``.y`` or ``.z``."""
        return np.repeat(self._block_axis(axis), self.launch.block_threads)

    def _block_axis(self, axis: int) -> Array:
        x, y, _ = self.launch.grid
        blocks = np.arange(self.first, self.first + self.blocks, dtype=np.int64)
        return (blocks % x, blocks // x % y, blocks // (x * y))[axis].astype(np.uint32)

    def cluster_axis(self, axis: int, inside: bool) -> Array:
        """The block's index in its cluster, or its cluster's index in the grid."""
        size = np.uint32((self.launch.cluster or (1, 1, 1))[axis])
        block = self.block_index(axis)
        return block % size if inside else block // size

    def name(self, thread: int) -> tuple[Dim3, Dim3]:
        """Block and thread index of one thread of the wave."""
        block, linear = divmod(thread, self.launch.block_threads)
        return _unravel(self.first + block, self.launch.grid), _unravel(linear, self.launch.block)


def _unravel(linear: int, extents: Dim3) -> Dim3:
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


def _constant(value: int, dtype: Any = np.uint32) -> Array:
    return np.array([value], dtype)


_AXES = {"x": 0, "y": 1, "z": 2}


def _triple(name: str) -> Callable[[Threads, int], Array]:
    extents: dict[str, Callable[[Launch], Dim3]] = {
        "%ntid": lambda launch: launch.block,
        "%nctaid": lambda launch: launch.grid,
        "%cluster_nctaid": lambda launch: launch.cluster or (1, 1, 1),
        "%nclusterid": lambda launch: tuple(-(-g // c) for g, c in zip(launch.grid, launch.cluster or (1, 1, 1))),  # type: ignore[dict-item, return-value]
    }
    if name in extents:
        return lambda threads, axis: _constant(extents[name](threads.launch)[axis])
    return {
        "%tid": Threads.index,
        "%ctaid": Threads.block_index,
        "%cluster_ctaid": lambda threads, axis: threads.cluster_axis(axis, True),
        "%clusterid": lambda threads, axis: threads.cluster_axis(axis, False),
    }[name]


def _lane_mask(compare: Callable[[int, int], bool]) -> Callable[[Threads], Array]:
    table = np.array([sum(1 << other for other in range(WARP) if compare(other, lane)) for lane in range(WARP)], np.uint32)
    return lambda threads: table[threads.lane]


def _cluster_rank(threads: Threads) -> Array:
    x, y, _ = threads.launch.cluster or (1, 1, 1)
    ranks = [threads.cluster_axis(axis, True) for axis in range(3)]
    return ranks[0] + np.uint32(x) * (ranks[1] + np.uint32(y) * ranks[2])


def _cluster_size(threads: Threads) -> Array:
    x, y, z = threads.launch.cluster or (1, 1, 1)
    return _constant(x * y * z)


_TRIPLES = ("%tid", "%ntid", "%ctaid", "%nctaid", "%cluster_ctaid", "%cluster_nctaid", "%clusterid", "%nclusterid")

_SINGLE: dict[str, Callable[[Threads], Array]] = {
    "%laneid": lambda threads: threads.lane,
    "%warpid": lambda threads: threads.linear // np.uint32(WARP),
    "%nwarpid": lambda threads: _constant(64),
    "%smid": lambda threads: ((threads.block + threads.first) % MULTIPROCESSORS).astype(np.uint32),
    "%nsmid": lambda threads: _constant(MULTIPROCESSORS),
    "%gridid": lambda threads: _constant(1, np.uint64),
    "%lanemask_eq": _lane_mask(lambda other, lane: other == lane),
    "%lanemask_le": _lane_mask(lambda other, lane: other <= lane),
    "%lanemask_lt": _lane_mask(lambda other, lane: other < lane),
    "%lanemask_ge": _lane_mask(lambda other, lane: other >= lane),
    "%lanemask_gt": _lane_mask(lambda other, lane: other > lane),
    "%cluster_ctarank": _cluster_rank,
    "%cluster_nctarank": _cluster_size,
    "%is_explicit_cluster": lambda threads: np.array([threads.launch.cluster is not None]),
    "%dynamic_smem_size": lambda threads: _constant(threads.launch.dynamic_shared),
    "%total_smem_size": lambda threads: _constant(threads.launch.static_shared + threads.launch.dynamic_shared),
    "%aggr_smem_size": lambda threads: _constant(threads.launch.static_shared + threads.launch.dynamic_shared),
    "%reserved_smem_offset_begin": lambda threads: _constant(0),
    "%reserved_smem_offset_end": lambda threads: _constant(0x400),
    "%perctamemoryoffset": lambda threads: _constant(0, np.uint64),
    "%perctamemorysize": lambda threads: _constant(0, np.uint64),
    "%locality_domain_id": lambda threads: _constant(0),
    "%locality_domain_supplemental_sm": lambda threads: _constant(0),
    "%reserved_smem_offset_0": lambda threads: _constant(0),
    "%reserved_smem_offset_1": lambda threads: _constant(0),
    "%reserved_smem_offset_cap": lambda threads: _constant(0x400),
    "%current_graph_exec": lambda threads: _constant(0, np.uint64),
}

_CLOCKS: dict[str, Callable[[int], Array]] = {
    "%clock": lambda steps: _constant(steps * CLOCKS_PER_STEP & 0xFFFFFFFF),
    "%clock_hi": lambda steps: _constant(steps * CLOCKS_PER_STEP >> 32),
    "%clock64": lambda steps: _constant(steps * CLOCKS_PER_STEP, np.uint64),
    "%globaltimer": lambda steps: _constant(steps * CLOCKS_PER_STEP, np.uint64),
    "%globaltimer_lo": lambda steps: _constant(steps * CLOCKS_PER_STEP & 0xFFFFFFFF),
    "%globaltimer_hi": lambda steps: _constant(steps * CLOCKS_PER_STEP >> 32),
}


def special_register(name: str, part: str | None) -> tuple[Callable[[Threads], Array] | None, Callable[[int], Array] | None]:
    """How to compute a special register: from the wave's threads, or (clocks) from the number of steps issued so far.

    Raises
    ------
    PtxgenError
        If the emulator gives the register no meaning.
    """
    if name in _CLOCKS:
        return None, _CLOCKS[name]
    if name in _TRIPLES:
        if part == "w":
            return (lambda threads: _constant(0)), None
        if part not in _AXES:
            raise PtxgenError(f"{name} is read one component at a time: {name}.x, {name}.y or {name}.z (PTX ISA 10)")
        triple, axis = _triple(name), _AXES[part]
        return (lambda threads: triple(threads, axis)), None
    if name in _SINGLE:
        return _SINGLE[name], None
    if name.startswith(("%pm", "%envreg")):
        return (lambda threads: _constant(0, np.uint64 if name.endswith("_64") else np.uint32)), None
    raise PtxgenError(f"the emulator cannot read {name} yet (PTX ISA 10)")
