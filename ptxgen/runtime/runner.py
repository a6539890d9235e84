"""One specialised kernel on the GPU side: text, signature and launch shape put together."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxgen.runtime.binding import Binder, Bound
from ptxgen.runtime.driver import current_device
from ptxgen.runtime.errors import ArgumentError
from ptxgen.runtime.fastpath import compile_fast_path
from ptxgen.runtime.launch import Dim3, LaunchShape, LoadedKernel, PreparedLaunch, dim3
from ptxgen.runtime.packing import Packer
from ptxgen.runtime.signature import Signature
from ptxgen.runtime.streams import stream_handle

if TYPE_CHECKING:
    from ptxgen.assemble.cubin import LineMap

__all__ = ["Runner"]


class Runner:
    """Binds, loads and launches one PTX entry.

    Parameters
    ----------
    ptx : str
        The module's text.
    entry : str
        Name of its ``.entry``.
    signature : Signature
        What its parameters accept.
    grid : int, tuple or callable
        Blocks; a callable gets the values of the signature's named dimensions, in the order of ``signature.dims``.
    block : int or tuple
        Threads of a block.
    cluster : int or tuple, optional
        Blocks of a cluster; what the text says (``.reqnctapercluster``), where it says so.
    shared_bytes : int
        Dynamic shared memory of a block.
    cooperative, programmatic : bool
        See `LaunchShape`.
    max_registers : int, optional
        At most this many registers a thread, for the JIT.
    line_map : mapping of int to str, optional
        PTX line to the user's line, for errors.
    on_host : callable, optional
        Gets the `Bound` where the arguments are in host memory (the emulator); without it such arguments are refused.

    Attributes
    ----------
    binder : Binder
        Checks arguments; also what decides between GPU and emulator (``bound.device``).
    shape : LaunchShape
        How it is launched.
    """

    def __init__(
        self,
        ptx: str,
        entry: str,
        signature: Signature,
        *,
        grid: Any,
        block: Any,
        cluster: Any = None,
        shared_bytes: int = 0,
        cooperative: bool = False,
        programmatic: bool = False,
        max_registers: int | None = None,
        line_map: LineMap | None = None,
        on_host: Callable[[Bound], Any] | None = None,
    ) -> None:
        self.on_host = on_host
        self.ptx = ptx
        self.entry = entry
        self.signature = signature
        self.binder = Binder(signature)
        blocks = None if cluster is None else dim3(cluster, "cluster")
        self.shape = LaunchShape(dim3(block, "block"), shared_bytes, blocks, cooperative, programmatic)
        self._max_registers = max_registers
        self._line_map = line_map
        self._packer = Packer(signature)
        self._grid = grid if callable(grid) else None
        self._fixed_grid = None if callable(grid) else dim3(grid, "grid")
        self._last_grid: tuple[tuple[int, ...], Dim3] | None = None
        self._loaded: dict[int, LoadedKernel] = {}
        self._lock = threading.Lock()
        self._count = len(signature.arguments)
        self._fast: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> None:
        """Check `args`, and run where they live: on their device and the caller's current stream, or by `on_host`.

        This is the fast way in: for PyTorch CUDA tensors one generated function checks, packs and launches.
        """
        fast = self._fast
        if fast is not None and len(args) == self._count and fast(*args) is not None:
            return
        bound = self.binder(*args)
        if bound.device is None and bound.arrays and self.on_host is not None:
            self.on_host(bound)
            return
        self.run(bound)
        # An argument can be torch's tensor only once torch is loaded, so that is when the fast path is compiled.
        if fast is None and "torch" in sys.modules:
            self._fast = compile_fast_path(self.signature, self._launch, self.binder.encoders)

    def run(self, bound: Bound, *, grid: Any = None, stream: Any = None) -> None:
        """Launch for arguments that are bound already. Empty arrays, and grids with a zero, launch nothing.

        Raises
        ------
        ArgumentError
            If the arguments are in host memory.
        LoadError, LaunchError, DriverError
            See `ptxgen.runtime.load` and `LoadedKernel.launch`.
        """
        if bound.empty:
            return
        on = self._load(bound).device.ordinal
        chosen = None if grid is None else dim3(grid, "grid")
        self._launch(on, bound.values, bound.dims, bound.stream if stream is None else stream_handle(stream), chosen)

    def _launch(self, on: int, values: tuple[Any, ...], dims: tuple[int, ...], stream: int, grid: Dim3 | None = None) -> bool:
        kernel = self._loaded.get(on) or self.preload(on)
        blocks = self.grid(dims) if grid is None else grid
        packed = self._packer.pack(values)
        try:
            kernel.launch(blocks, self.shape, packed, stream)
        finally:
            self._packer.release(packed)
        return True

    def grid(self, dims: tuple[int, ...]) -> Dim3:
        """The grid for these values of the named dimensions; a user's function is called only when they change."""
        if self._fixed_grid is not None:
            return self._fixed_grid
        last = self._last_grid
        if last is not None and last[0] == dims:
            return last[1]
        assert self._grid is not None
        found = dim3(self._grid(dims), "grid")
        self._last_grid = (dims, found)
        return found

    def preload(self, ordinal: int | None = None) -> LoadedKernel:
        """Load onto a device now (the current one by default), so that the first call is as fast as the rest."""
        from ptxgen.runtime.module import load

        on = current_device().ordinal if ordinal is None else ordinal
        with self._lock:
            kernel = self._loaded.get(on)
            if kernel is None:
                kernel = load(self.ptx, self.entry, on, line_map=self._line_map, max_registers=self._max_registers)
                self._loaded[on] = kernel
        return kernel

    def _load(self, bound: Bound) -> LoadedKernel:
        if bound.device is None:
            if bound.arrays:
                raise ArgumentError(f"{self.signature.kernel}: the arguments are in host memory; the GPU takes CUDA arrays")
            return self.preload()  # Addresses as ints, or no arguments at all: the current device.
        return self._loaded.get(bound.device) or self.preload(bound.device)

    def prepare(self, *args: Any, grid: Any = None, stream: Any = None) -> PreparedLaunch:
        """Check `args` once and return a launch that can be repeated at the price of one driver call."""
        bound = self.binder(*args, stream=None if stream is None else stream_handle(stream))
        kernel = self._load(bound)
        blocks = self.grid(bound.dims) if grid is None else dim3(grid, "grid")
        packed = self._packer.pack(bound.values)  # Kept by the prepared launch: not given back.
        return PreparedLaunch(kernel, blocks, self.shape, packed, self._current_stream(bound, stream), args, bound.empty)

    def _current_stream(self, bound: Bound, stream: Any) -> Callable[[], int] | int:
        """Torch's current stream is asked for at each launch; other libraries' once."""
        torch = sys.modules.get("torch")
        if stream is not None or torch is None or bound.device is None:
            return bound.stream
        if any(info.library != "torch" for info in bound.arrays):
            return bound.stream
        raw, ordinal = torch._C._cuda_getCurrentRawStream, bound.device
        return lambda: int(raw(ordinal))
