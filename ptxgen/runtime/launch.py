"""Launching a loaded entry: limits checked before the driver sees them, then one driver call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ptxgen.runtime.driver import Device, check, device_count, driver_error
from ptxgen.runtime.errors import DriverError, LaunchError
from ptxgen.runtime.packing import Packed
from ptxgen.runtime.streams import stream_handle

__all__ = ["Dim3", "LaunchShape", "LoadedKernel", "PreparedLaunch", "dim3"]

Dim3 = tuple[int, int, int]

_PORTABLE_CLUSTER, _MAX_CLUSTER = 8, 16  # CUDA C++ Programming Guide, "Thread Block Clusters"
_GRID_X, _GRID_YZ = (1 << 31) - 1, 65535  # The same on every architecture (CUDA C++ Programming Guide, "Compute Capabilities").
_WRONG_CONTEXT = (201, 400)  # CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE


def dim3(value: Any, what: str) -> Dim3:
    """An int or up to three ints as (x, y, z); `LaunchError` for anything else."""
    given = (value,) if not isinstance(value, (tuple, list)) else tuple(value)
    try:
        sizes = tuple(int(size.__index__()) for size in given)
    except AttributeError:
        raise LaunchError(f"{what} = {value!r}: an int or a tuple of up to three ints is needed") from None
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{what} = {value!r} has {len(sizes)} axes; x, y and z are all there are")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def check_grid(entry: str, grid: Dim3) -> bool:
    """Whether a grid is empty; `LaunchError` for one that no device launches."""
    if min(grid) == 0:
        return True
    for axis, size, limit in zip("xyz", grid, (_GRID_X, _GRID_YZ, _GRID_YZ)):
        if not 0 < size <= limit:
            advice = "; put the large axis into x" if axis != "x" else ""
            raise LaunchError(f"{entry}: grid.{axis} = {size}; a grid has 1 to {limit} blocks along {axis}{advice}")
    return False


class LaunchShape(NamedTuple):
    """How an entry is launched, but for its grid and stream.

    Attributes
    ----------
    block : (int, int, int)
        Threads of a block along x, y, z.
    shared_bytes : int
        Dynamic shared memory of a block, beside what the entry declares statically.
    cluster : (int, int, int) or None
        Blocks of a cluster; the grid must be a multiple of it.
    cooperative : bool
        All blocks run at the same time, or the launch is refused.
    programmatic : bool
        It may begin while the kernel before it in the stream still runs (programmatic dependent launch); ``griddepcontrol.wait`` in it
        waits for that one's end.
    """

    block: Dim3
    shared_bytes: int = 0
    cluster: Dim3 | None = None
    cooperative: bool = False
    programmatic: bool = False


class LoadedKernel:
    """One entry, loaded on one device.

    Made by `ptxgen.runtime.load`. `launch` may be called from any thread.
    """

    def __init__(self, on: Device, function: Any, entry: str) -> None:
        self.device = on
        self.entry = entry
        self._driver = on._driver
        self._function = function
        self._shape: LaunchShape | None = None  # The last shape that was admitted
        self._dynamic_limit = 0
        self._lock = threading.Lock()
        self._streams: dict[int, Any] = {}
        self._configs: dict[Any, Any] = {}
        self._only_device = device_count() == 1
        self._launch_kernel = self._driver.cuLaunchKernel

    def attribute(self, name: str) -> int:
        """A function attribute by the end of its name: ``"NUM_REGS"``, ``"SHARED_SIZE_BYTES"``, ``"LOCAL_SIZE_BYTES"``, ..."""
        key = getattr(self._driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(check(self._driver.cuFuncGetAttribute(key, self._function), f"asking for {name} of {self.entry}"))

    def launch(self, grid: Dim3, shape: LaunchShape, packed: Packed, stream: int = 0) -> None:
        """Launch once. Returns when the driver has taken the launch, not when the kernel has run.

        Parameters
        ----------
        grid : (int, int, int)
            Blocks (not clusters) along x, y, z. A zero anywhere launches nothing.
        shape : LaunchShape
            Everything else about it.
        packed : Packed
            The parameters' bytes; free for reuse when this returns.
        stream : int
            A stream's handle (`ptxgen.runtime.stream_handle`).

        Raises
        ------
        LaunchError
            If the shape exceeds a limit of the device or of the entry.
        DriverError
            If the driver refuses the launch, or an earlier kernel failed.
        """
        if shape is not self._shape and shape != self._shape:
            self._admit(shape)
        block, shared_bytes, cluster, cooperative, programmatic = shape
        x, y, z = grid
        if not (0 < x <= _GRID_X and 0 < y <= _GRID_YZ and 0 < z <= _GRID_YZ) and self._empty_grid(grid):
            return
        if cluster is not None or cooperative or programmatic:
            self._call(lambda: self._launch_extended(grid, shape, packed, stream))
            return
        handle = self._streams.get(stream)
        if handle is None:
            handle = self._stream(stream)
        if self._only_device or self.device.is_current():
            status = self._launch_kernel(self._function, x, y, z, block[0], block[1], block[2], shared_bytes, handle, packed.address, 0)[0]
            if not status:
                return
            if int(status) not in _WRONG_CONTEXT:
                raise self._failed(status, grid, shape)
        with self.device.current():
            status = self._launch_kernel(self._function, x, y, z, *block, shared_bytes, handle, packed.address, 0)[0]
        if status:
            raise self._failed(status, grid, shape)

    def _stream(self, stream: int) -> Any:
        if len(self._streams) > 256:  # Handles of streams long gone.
            self._streams.clear()
        return self._streams.setdefault(stream, self._driver.CUstream(stream))

    def _call(self, launch: Callable[[], None]) -> None:
        if self.device.is_current():
            launch()
        else:
            with self.device.current():
                launch()

    def _failed(self, status: Any, grid: Dim3, shape: LaunchShape) -> DriverError:
        block, shared, cluster, *flags = shape
        extras = f", cluster {cluster}" if cluster else ""
        extras += "".join(f", {name}" for name, flag in zip(("cooperative", "programmatic"), flags) if flag)
        what = f"launching {self.entry} on {self.device.name} with grid {grid}, block {block}, {shared} dynamic shared bytes"
        return driver_error(status, what + extras)

    # ---- limits ----

    def _empty_grid(self, grid: Dim3) -> bool:
        return check_grid(self.entry, grid)

    def _admit(self, shape: LaunchShape) -> None:
        """Check everything but the grid, and give the entry its dynamic shared memory."""
        shared = shape.shared_bytes
        with self._lock, self.device.current():
            self._check_block(shape.block)
            self._check_shared(shared)
            if shape.cluster is not None:
                self._check_cluster(shape.cluster)
            if shape.programmatic and self.device.limit("COMPUTE_CAPABILITY_MAJOR") < 9:
                raise LaunchError(
                    f"{self.entry}: {self.device.name} ({self.device.target}) has no programmatic dependent launch; it needs sm_90 or newer"
                )
            if shared > self._dynamic_limit:
                key = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                result = self._driver.cuFuncSetAttribute(self._function, key, shared)
                check((*result, None), f"giving {self.entry} {shared} bytes of dynamic shared memory")
                self._dynamic_limit = shared
            if shape.cluster is not None:
                self._check_fit(shape, shape.cluster)
            self._shape = shape

    def _check_block(self, block: Dim3) -> None:
        for axis, size in zip("xyz", block):
            limit = self.device.limit(f"MAX_BLOCK_DIM_{axis.upper()}")
            if not 0 < size <= limit:
                raise LaunchError(f"{self.entry}: block.{axis} = {size}; {self.device.name} allows 1 to {limit}")
        threads = block[0] * block[1] * block[2]
        limit = self.device.limit("MAX_THREADS_PER_BLOCK")
        if threads > limit:
            raise LaunchError(f"{self.entry}: block {block} has {threads} threads; {self.device.name} allows {limit}")
        limit = self.attribute("MAX_THREADS_PER_BLOCK")
        if threads > limit:
            raise LaunchError(
                f"{self.entry}: block {block} has {threads} threads; the entry allows {limit} (it uses "
                f"{self.attribute('NUM_REGS')} registers a thread; see .maxntid and .maxnreg, PTX ISA 11.4)"
            )

    def _check_shared(self, shared: int) -> None:
        static = self.attribute("SHARED_SIZE_BYTES")
        limit = self.device.limit("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if shared < 0 or static + shared > limit:
            raise LaunchError(
                f"{self.entry}: {static} static and {shared} dynamic bytes of shared memory are {static + shared} bytes a block; "
                f"{self.device.name} has {limit}"
            )

    def _check_cluster(self, cluster: Dim3) -> None:
        if not self.device.limit("CLUSTER_LAUNCH"):
            raise LaunchError(f"{self.entry}: {self.device.name} ({self.device.target}) has no clusters; they need sm_90 or newer")
        blocks = cluster[0] * cluster[1] * cluster[2]
        if min(cluster) < 1 or blocks > _MAX_CLUSTER:
            raise LaunchError(
                f"{self.entry}: cluster {cluster} has {blocks} blocks; 1 to {_PORTABLE_CLUSTER} are portable, up to {_MAX_CLUSTER} possible"
            )
        if blocks > _PORTABLE_CLUSTER:
            key = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            result = self._driver.cuFuncSetAttribute(self._function, key, 1)
            check((*result, None), f"allowing {self.entry} a cluster of {blocks} blocks")

    def _check_fit(self, shape: LaunchShape, cluster: Dim3) -> None:
        """Refuse a cluster that the device can never place: its blocks run at once, on multiprocessors that are neighbours."""
        config = self._config(cluster, shape, 0)
        count = self._driver.cuOccupancyMaxActiveClusters
        if int(check(count(self._function, config), f"asking how many clusters of {self.entry} fit")):
            return
        blocks, portable = cluster[0] * cluster[1] * cluster[2], ""
        largest = int(check(self._driver.cuOccupancyMaxPotentialClusterSize(self._function, config), "asking for the largest cluster"))
        if blocks > _PORTABLE_CLUSTER:
            portable = f"; more than {_PORTABLE_CLUSTER} fit on some devices alone"
        raise LaunchError(
            f"{self.entry}: a cluster of {blocks} blocks, each of {shape.block[0] * shape.block[1] * shape.block[2]} threads with "
            f"{self.attribute('SHARED_SIZE_BYTES') + shape.shared_bytes} bytes of shared memory and {self.attribute('NUM_REGS')} registers "
            f"a thread, does not fit on {self.device.name}; the largest of such blocks has {largest}{portable}"
        )

    # ---- launches with attributes ----

    def _launch_extended(self, grid: Dim3, shape: LaunchShape, packed: Packed, stream: int) -> None:
        config = self._configs.get((grid, shape, stream))
        if config is None:
            if len(self._configs) > 256:
                self._configs.clear()
            if shape.cooperative:
                self._check_cooperative(grid, shape)
            config = self._configs[grid, shape, stream] = self._config(grid, shape, stream)
        status = self._driver.cuLaunchKernelEx(config, self._function, packed.address, 0)[0]
        if status:
            raise self._failed(status, grid, shape)

    def _config(self, grid: Dim3, shape: LaunchShape, stream: int) -> Any:
        driver = self._driver
        attributes = self._attributes(grid, shape)
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = shape.block
        config.sharedMemBytes = shape.shared_bytes
        config.hStream = driver.CUstream(stream)
        config.attrs = attributes
        config.numAttrs = len(attributes)
        return config

    def _attributes(self, grid: Dim3, shape: LaunchShape) -> list[Any]:
        driver, ids = self._driver, self._driver.CUlaunchAttributeID
        attributes = []
        if shape.cluster is not None:
            for axis, size, step in zip("xyz", grid, shape.cluster):
                if size % step:
                    raise LaunchError(f"{self.entry}: grid.{axis} = {size} is no multiple of cluster.{axis} = {step}")
            attribute = driver.CUlaunchAttribute()
            attribute.id = ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = shape.cluster
            attributes.append(attribute)
        if shape.cooperative:
            attribute = driver.CUlaunchAttribute()
            attribute.id = ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        if shape.programmatic:
            attribute = driver.CUlaunchAttribute()
            attribute.id = ids.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            attribute.value.programmaticStreamSerializationAllowed = 1
            attributes.append(attribute)
        return attributes

    def _check_cooperative(self, grid: Dim3, shape: LaunchShape) -> None:
        block, shared, cluster = shape.block, shape.shared_bytes, shape.cluster
        if cluster is not None:
            clusters = check(
                self._driver.cuOccupancyMaxActiveClusters(self._function, self._config(grid, shape, 0)),
                f"asking how many clusters of {self.entry} fit",
            )
            limit, how = clusters * cluster[0] * cluster[1] * cluster[2], f"{clusters} clusters"
        else:
            threads = block[0] * block[1] * block[2]
            query = self._driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
            fitting = check(query(self._function, threads, shared), f"asking how many blocks of {self.entry} fit")
            limit, how = fitting * self.device.limit("MULTIPROCESSOR_COUNT"), f"{fitting} a multiprocessor"
        blocks = grid[0] * grid[1] * grid[2]
        if blocks > limit:
            raise LaunchError(
                f"{self.entry}: a cooperative launch runs all blocks at once; {blocks} were asked for and {limit} fit on "
                f"{self.device.name} ({how})"
            )


class PreparedLaunch:
    """A launch with its arguments fixed: calling it costs one driver call.

    The arguments are kept alive. Their contents are read when the kernel runs, so the arrays may be refilled between calls.
    """

    __slots__ = ("_arguments", "_empty", "_packed", "_shape", "_stream", "grid", "kernel")

    def __init__(
        self,
        kernel: LoadedKernel,
        grid: Dim3,
        shape: LaunchShape,
        packed: Packed,
        stream: Callable[[], int] | int,
        arguments: tuple[Any, ...] = (),
        empty: bool = False,
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self._shape = shape
        self._packed = packed
        self._stream = stream
        self._arguments = arguments
        self._empty = empty

    def __call__(self, stream: Any = None) -> None:
        """Launch on `stream`, by default the caller's current stream (PyTorch) or the one given when it was prepared."""
        if self._empty:
            return
        if stream is not None:
            handle = stream_handle(stream)
        else:
            handle = self._stream if isinstance(self._stream, int) else self._stream()
        self.kernel.launch(self.grid, self._shape, self._packed, handle)
