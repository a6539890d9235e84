"""PTX that something else wrote: read it, and launch or emulate its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import TYPES
from ptxgen.runtime.binding import emulated_only
from ptxgen.text import read
from ptxgen.tracing.provenance import here

__all__ = ["EntryError", "ForeignEntry", "ForeignModule", "load_ptx"]


def load_ptx(text: str, *, filename: str | None = None) -> ForeignModule:
    """Read a PTX module; ``px.load_ptx(text)["entry"]`` launches or emulates one of its entries.

    Parameters
    ----------
    text : str
    filename : str, optional
        For messages.

    Raises
    ------
    ReadError
        With line, column and what was expected, for every problem found.
    """
    if not isinstance(text, str) or (text.endswith(".ptx") and "\n" not in text):
        raise TraceError(
            f"px.load_ptx takes the text of a module, not {text!r}", where=here(), legal="px.load_ptx(pathlib.Path(path).read_text())"
        )
    return ForeignModule(text, read(text, filename=filename))


class EntryError(TraceError, KeyError):
    """A module has no entry of that name."""


class ForeignModule(Mapping[str, "ForeignEntry"]):
    """A module that was read: its entries by name."""

    def __init__(self, text: str, module: ir.Module) -> None:
        self.text = text
        self.module = module
        self._entries = {
            name: ForeignEntry(self, function)
            for name, function in module.functions.items()
            if function.kind == "entry" and function.body is not None
        }

    def __getitem__(self, name: str) -> ForeignEntry:
        found = self._entries.get(name)
        if found is None:
            known = ", ".join(self._entries) or "the module declares functions, and no .entry with a body"
            raise EntryError(f"the module has no entry {name!r}", where=here(), legal=known)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class ForeignEntry:
    """One entry of a module that was read."""

    def __init__(self, owner: ForeignModule, function: ir.Function) -> None:
        from ptxgen.runtime.signature import Signature

        self.owner = owner
        self.name = function.name
        self._directives = function.directives
        self.signature = Signature(function.name, [_parameter(param) for param in function.params])
        self._runners: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<entry {self.signature!r}>"

    def __call__(
        self, *arguments: Any, grid: Any, block: Any, shared: int = 0, cluster: Any = None, programmatic: bool = False, stream: Any = None
    ) -> None:
        """Run where the arrays among the arguments live: CUDA arrays on their GPU, host arrays in the emulator.

        Parameters
        ----------
        *arguments
            One for each ``.param``: an array (or an address) for a pointer, a number for a scalar, bytes for a structure; a `px.Texture` or
            `px.Surface`, which only the emulator takes, for the handle of one.
        grid, block : int or tuple of int
        shared : int
            Bytes of dynamic shared memory.
        cluster : int or tuple of int, optional
            Blocks of a cluster; by default what the entry says (``.reqnctapercluster``).
        programmatic : bool
            Let it begin while the kernel before it in the stream still runs (`ptxgen.runtime.LaunchShape`).

        Raises
        ------
        ArgumentError, LaunchError
        """
        bound = self._runner(grid, block, shared, cluster).binder(*arguments)
        if bound.device is not None or not (bound.arrays or any(map(emulated_only, arguments))):
            self.launch(*arguments, grid=grid, block=block, shared=shared, cluster=cluster, programmatic=programmatic, stream=stream)
        else:
            self.emulate(*arguments, grid=grid, block=block, shared=shared, cluster=cluster).raise_for_reports()

    def launch(
        self, *arguments: Any, grid: Any, block: Any, shared: int = 0, cluster: Any = None, programmatic: bool = False, stream: Any = None
    ) -> None:
        """Launch on the GPU.

        Raises
        ------
        ArgumentError, LaunchError
        TraceError
            For a `px.Texture` or `px.Surface`, which live in the emulator.
        """
        image = next(filter(emulated_only, arguments), None)
        if image is not None:
            legal = "the handle that cuTexObjectCreate gave, as an int"
            raise TraceError(f"{self.name}: {image!r} is the emulator's", where=here(), legal=legal)
        runner = self._runner(grid, block, shared, cluster, programmatic)
        runner.run(runner.binder(*arguments), stream=stream)

    def emulate(self, *arguments: Any, grid: Any, block: Any, shared: int = 0, cluster: Any = None, seed: int = 0, **options: Any) -> Any:
        """Run in the emulator and return its result, reports included."""
        from ptxgen.emulator import emulate
        from ptxgen.kernels.host import emulator_arguments
        from ptxgen.runtime import dim3

        runner = self._runner(grid, block, shared, cluster)
        bound = runner.binder(*arguments)
        if bound.device is not None:
            raise TraceError(f"{self.name}: the emulator runs on arrays in host memory", legal="pass NumPy arrays or CPU tensors")
        return emulate(
            self.owner.module,
            self.name,
            grid=dim3(grid, "grid"),
            block=dim3(block, "block"),
            arguments=emulator_arguments(self.signature, bound),
            dynamic_shared=shared,
            cluster=runner.shape.cluster,
            seed=seed,
            **options,
        )

    def _runner(self, grid: Any, block: Any, shared: int, cluster: Any = None, programmatic: bool = False) -> Any:
        from ptxgen.runtime import Runner, dim3

        blocks = self._cluster(cluster)
        key = (dim3(grid, "grid"), dim3(block, "block"), shared, blocks, programmatic)
        if key not in self._runners:
            self._runners[key] = Runner(
                self.owner.text, self.name, self.signature, grid=key[0], block=key[1], cluster=blocks, shared_bytes=shared,
                programmatic=programmatic,
            )  # fmt: skip
        return self._runners[key]

    def _cluster(self, asked: Any) -> tuple[int, int, int] | None:
        """The blocks of a cluster, where the text says how many or the launch does; both must say the same."""
        from ptxgen.runtime import LaunchError, dim3

        wanted = None if asked is None else dim3(asked, "cluster")
        directives = (one for one in self._directives if isinstance(one, ir.Directive))
        fixed = [dim3(one.arguments, "cluster") for one in directives if one.name == "reqnctapercluster"]
        if wanted is not None and fixed and wanted != fixed[0]:
            raise LaunchError(f"{self.name}: cluster {wanted}, where the entry says .reqnctapercluster {fixed[0]}; leave cluster= out")
        return fixed[0] if fixed else wanted


def _parameter(param: ir.Variable) -> Any:
    """What a ``.param`` of an entry accepts: a 64-bit integer may be a pointer, so arrays go there as well as ints."""
    from ptxgen.runtime.signature import BytesParam, PointerParam, ScalarParam

    type = TYPES[param.type]
    if param.dims or param.vector:
        count = (param.vector or 1) * type.bits // 8
        for extent in param.dims:
            count *= extent or 1
        return BytesParam(param.name, count, param.align or max(1, type.bits // 8))
    if type.bits == 64 and not type.is_float:
        return PointerParam(param.name, (param.ptr[1] or 1) if param.ptr else 1)
    return ScalarParam(param.name, type)
