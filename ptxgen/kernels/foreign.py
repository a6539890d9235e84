"""PTX that something else wrote: read it, and launch or emulate its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import TYPES
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
        self.signature = Signature(function.name, [_parameter(param) for param in function.params])
        self._runners: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<entry {self.signature!r}>"

    def __call__(self, *arguments: Any, grid: Any, block: Any, shared: int = 0, stream: Any = None) -> None:
        """Run where the arrays among the arguments live: CUDA arrays on their GPU, host arrays in the emulator.

        Parameters
        ----------
        *arguments
            One for each ``.param``: an array (or an address) for a pointer, a number for a scalar, bytes for a structure.
        grid, block : int or tuple of int
        shared : int
            Bytes of dynamic shared memory.
        """
        bound = self._runner(grid, block, shared).binder(*arguments)
        if bound.device is not None or not bound.arrays:
            self.launch(*arguments, grid=grid, block=block, shared=shared, stream=stream)
        else:
            self.emulate(*arguments, grid=grid, block=block, shared=shared).raise_for_reports()

    def launch(self, *arguments: Any, grid: Any, block: Any, shared: int = 0, stream: Any = None) -> None:
        """Launch on the GPU."""
        runner = self._runner(grid, block, shared)
        runner.run(runner.binder(*arguments), stream=stream)

    def emulate(self, *arguments: Any, grid: Any, block: Any, shared: int = 0, seed: int = 0, **options: Any) -> Any:
        """Run in the emulator and return its result, reports included."""
        from ptxgen.emulator import emulate
        from ptxgen.kernels.host import emulator_arguments
        from ptxgen.runtime import dim3

        bound = self._runner(grid, block, shared).binder(*arguments)
        if bound.device is not None:
            raise TraceError(f"{self.name}: the emulator runs on arrays in host memory", legal="pass NumPy arrays or CPU tensors")
        return emulate(
            self.owner.module,
            self.name,
            grid=dim3(grid, "grid"),
            block=dim3(block, "block"),
            arguments=emulator_arguments(self.signature, bound),
            dynamic_shared=shared,
            seed=seed,
            **options,
        )

    def _runner(self, grid: Any, block: Any, shared: int) -> Any:
        from ptxgen.runtime import Runner, dim3

        key = (dim3(grid, "grid"), dim3(block, "block"), shared)
        if key not in self._runners:
            self._runners[key] = Runner(self.owner.text, self.name, self.signature, grid=key[0], block=key[1], shared_bytes=shared)
        return self._runners[key]


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
