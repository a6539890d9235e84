"""A kernel for given constants: its text, and everything that is done with the text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.kernels.host import emulator_arguments
from ptxgen.kernels.trace import Trace
from ptxgen.runtime import ArgumentError, TensorParam
from ptxgen.text import write, write_mapped

if TYPE_CHECKING:
    from ptxgen.kernels.kernel import Kernel
    from ptxgen.runtime import Runner
    from ptxgen.verify import Problem

__all__ = ["Specialization"]


class PythonLines(Mapping[int, str]):
    """The user's line behind each line of a PTX text; decoded when an error asks for one."""

    def __init__(self, lines: Sequence[tuple[int, Any]]) -> None:
        self._lines = {number: where for number, where in lines if where is not None}

    def __getitem__(self, number: int) -> str:
        where = self._lines[number]
        return f"{where}  {where.source}"

    def __iter__(self) -> Iterator[int]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


class Specialization:
    """One traced kernel.

    Attributes
    ----------
    name : str
    constants : dict
        The values of its ``px.constexpr`` parameters.
    module : ir.Module
        What the trace wrote.
    """

    def __init__(self, kernel: Kernel, traced: Trace, constants: Mapping[str, Any]) -> None:
        # Not the kernel itself, which holds this: one that is made again and again would wait for the garbage collector.
        self.name = kernel.name
        self._grid, self._cooperative, self._programmatic = kernel.grid, kernel.cooperative, kernel.programmatic
        self.constants = dict(constants)
        self.module = traced.module
        self._traced = traced
        self._text: tuple[str, PythonLines] | None = None
        self._runner: Runner | None = None
        self._read: ir.Module | None = None
        self._somewhere = any(isinstance(param, TensorParam) for param in traced.signature.params)

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={value!r}" for name, value in self.constants.items())
        return f"<{self.name}({constants})>"

    # ---- text ----------------------------------------------------------------------------------------------------------

    def ptx(self, *, comments: bool = True, loc: bool = False) -> str:
        """The PTX text.

        Parameters
        ----------
        comments : bool
            Put the Python line in front of the instructions that it made.
        loc : bool
            Add ``.file`` and ``.loc`` directives, by which profilers and debuggers find the Python line (ISA 11.5).
        """
        if not (comments or loc):
            return self._plain()[0]
        return write(_annotated(self.module, comments, loc))

    def dump(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the PTX text to a file; options as for `ptx`."""
        Path(path).write_text(self.ptx(**options), encoding="utf-8")

    def _plain(self) -> tuple[str, PythonLines]:
        """The text without comments, which is what runs, and the user's line behind each of its lines."""
        if self._text is None:
            text, lines = write_mapped(self.module)
            self._text = text, PythonLines(lines)
        return self._text

    def lint(self, *, without: Iterable[str] = ()) -> list[Problem]:
        """What is wrong with the kernel though each of its instructions is legal, at the lines of the user.

        Parameters
        ----------
        without : iterable of str
            Ids of lints that are switched off (docs/lint.md).

        Raises
        ------
        PtxgenError
            For an id that is none.
        """
        from ptxgen.lint import lint

        return lint(self.module, without=without)

    # ---- assembling, without a GPU -------------------------------------------------------------------------------------

    def sass(self, target: str | None = None) -> str:
        """The machine code for `target` (the text's own by default), disassembled."""
        from ptxgen.assemble import sass

        return sass(self._assemble(target))

    def resources(self, target: str | None = None) -> Any:
        """Registers, spills, shared and local bytes, and the assembler's notes, as `ptxgen.assemble.Resources`."""
        return self._assemble(target).resources

    def costs(self, **values: Any) -> Any:
        """What the instructions of one block cost in memory, as `ptxgen.costs.Costs`; values as for `ptxgen.costs.of`."""
        from ptxgen.costs import block_costs

        return block_costs(self.name, self._traced, self.runner.grid, lambda: self.resources()[self._traced.entry], values)

    def _assemble(self, target: str | None) -> Any:
        from ptxgen.assemble import assemble

        text, lines = self._plain()
        return assemble(text, target, line_map=lines)

    # ---- running -------------------------------------------------------------------------------------------------------

    @property
    def runner(self) -> Runner:
        """Binds arguments, loads and launches."""
        if self._runner is None:
            from ptxgen.runtime import Runner

            text, lines = self._plain()
            self._runner = Runner(
                text,
                self._traced.entry,
                self._traced.signature,
                grid=self._grid_function(),
                block=self._traced.block,
                shared_bytes=self._traced.dynamic_shared,
                cluster=None if self._traced.cluster == (1, 1, 1) else self._traced.cluster,
                cooperative=self._cooperative,
                programmatic=self._programmatic,
                line_map=lines,
                on_host=self._run_on_host,
            )
        return self._runner

    def _grid_function(self) -> Any:
        from ptxgen.kernels.kernel import _call

        grid = self._grid
        if not callable(grid):
            return grid
        names = self._traced.signature.dims
        return lambda dims: _call(grid, {**self.constants, **dict(zip(names, dims))}, "grid")

    def __call__(self, *arguments: Any) -> None:
        """Run where the arguments live."""
        if not self._somewhere:
            raise ArgumentError(f"{self.name}: no parameter is a tensor, so nothing says where to run; use .launch or .emulate")
        self.runner(*arguments)

    def _run_on_host(self, bound: Any) -> None:
        self._emulate(bound, None, 0).raise_for_reports()

    def launch(self, *arguments: Any, grid: Any = None, stream: Any = None) -> None:
        """Launch on the GPU that the arguments live on."""
        from ptxgen.runtime import stream_handle

        handle = None if stream is None else stream_handle(stream)
        self.runner.run(self.runner.binder(*arguments, stream=handle), grid=grid, stream=handle)

    def bind(self, *arguments: Any, grid: Any = None) -> Any:
        """A prepared launch of these arguments."""
        return self.runner.prepare(*arguments, grid=grid)

    def emulate(self, *arguments: Any, grid: Any = None, seed: int = 0, **options: Any) -> Any:
        """Run in the emulator on arrays in host memory.

        Returns
        -------
        EmulationResult
            With ``reports``, ``ok``, and counts; the arrays hold the results.
        """
        return self._emulate(self.runner.binder(*arguments), grid, seed, **options)

    def _emulate(self, bound: Any, grid: Any, seed: int, **options: Any) -> Any:
        from ptxgen.emulator import EmulationResult, emulate
        from ptxgen.runtime.launch import check_grid, dim3

        if bound.device is not None:
            raise TraceError(f"{self.name}: the emulator runs on arrays in host memory", legal="pass NumPy arrays or CPU tensors")
        if bound.empty:
            return EmulationResult((), 0, 0, 0)
        if self._read is None:
            self._read = self._module_with_lines()
        blocks, shared = self.runner.grid(bound.dims) if grid is None else dim3(grid, "grid"), self._traced.shared
        if check_grid(self.name, blocks):
            return EmulationResult((), 0, 0, 0)
        return emulate(
            self._read,
            self._traced.entry,
            grid=blocks,
            block=self._traced.block,
            arguments=emulator_arguments(self._traced.signature, bound),
            dynamic_shared=self._traced.dynamic_shared,
            dynamic_parts=shared.dynamic_parts(),
            shared_names=shared.spoken_names(),
            cluster=self._traced.cluster,
            seed=seed,
            **options,
        )

    def _module_with_lines(self) -> ir.Module:
        """The module as the reader reads it back from the text, its instructions placed at the user's lines."""
        from ptxgen.text import read

        text, lines = write_mapped(self.module)
        found = read(text)
        places = dict(lines)
        return ir.Module(found.version, found.target, tuple(_placed(item, places) for item in found.items), found.address_size)


def _placed(item: Any, places: Mapping[int, Any]) -> Any:
    if not isinstance(item, ir.Function) or item.body is None:
        return item
    body = tuple(_placed_statement(one, places) for one in item.body)
    return ir.Function(item.kind, item.name, item.params, body, item.results, item.directives, item.linkage, item.where)


def _placed_statement(statement: ir.Statement, places: Mapping[int, Any]) -> ir.Statement:
    if isinstance(statement, ir.Block):
        return ir.Block(tuple(_placed_statement(one, places) for one in statement.body))
    if not isinstance(statement, (ir.Instruction, ir.Call)) or statement.where is None:
        return statement
    where = places.get(statement.where.line)
    if where is None:
        return statement
    if isinstance(statement, ir.Instruction):
        return ir.Instruction(statement.opcode, statement.operands, statement.guard, where)
    called = statement.opcode, statement.target, statement.results, statement.arguments, statement.targets
    return ir.Call(*called, statement.guard, where)


def _annotated(module: ir.Module, comments: bool, loc: bool) -> ir.Module:
    """The module with the Python lines as comments, as ``.loc`` directives, or both."""
    files: dict[str, int] = {}
    items: list[Any] = []
    for item in module.items:
        if isinstance(item, ir.Function) and item.body is not None:
            body = tuple(_with_lines(item.body, comments, loc, files))
            item = ir.Function(item.kind, item.name, item.params, body, item.results, item.directives, item.linkage, item.where)
        items.append(item)
    heads = [ir.FileDirective(index, name) for name, index in files.items()]
    return ir.Module(module.version, module.target, (*heads, *items), module.address_size)


def _with_lines(body: tuple[ir.Statement, ...], comments: bool, loc: bool, files: dict[str, int]) -> list[ir.Statement]:
    found: list[ir.Statement] = []
    previous: Any = None
    last: Any = None
    for statement in body:
        if statement.__class__ is ir.Instruction:
            where = statement.where
        else:
            where = getattr(statement.body[-1] if isinstance(statement, ir.Block) else statement, "where", None)  # a call's
        if where is not None and where is not previous:  # the instructions of one apply share their place
            previous, place = where, (where.filename, where.line)
            if place != last:
                source = where.source
                if comments and source:
                    found.append(ir.Comment(f"{where}  {source}"))
                if loc:
                    found.append(ir.Loc(files.setdefault(os.path.basename(where.filename), len(files) + 1), where.line))
                last = place
        found.append(statement)
    return found
