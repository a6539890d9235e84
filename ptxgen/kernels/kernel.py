"""`@px.kernel`: a Python function as a kernel that can be traced, shown, emulated and launched."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ptxgen import ir
from ptxgen.errors import PtxgenError, TraceError
from ptxgen.instructions.targets import FIRST_VERSION
from ptxgen.kernels.annotations import Constant, Extent, Parameter, Tensor, parameters_of
from ptxgen.kernels.specialization import Specialization
from ptxgen.kernels.trace import trace
from ptxgen.runtime import ArgumentError, LaunchError
from ptxgen.tracing.provenance import here
from ptxgen.tracing.source import decorator_line

__all__ = ["Kernel", "kernel"]

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK = (1024, 1024, 64)
_MAX_CLUSTER, _MAX_REGISTERS, _MAX_BLOCKS = 16, 255, 32  # of any device (CUDA C++ Programming Guide, technical specifications)


def kernel(
    function: Any = None,
    /,
    *,
    grid: Any = None,
    block: Any = None,
    cluster: int | Sequence[int] | None = None,
    target: str | None = None,
    max_registers: int | None = None,
    min_blocks: int | None = None,
    cooperative: bool = False,
    programmatic: bool = False,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function.

    Parameters
    ----------
    grid : int, tuple of int, or function
        Blocks of a launch, (x, y, z). A function takes any of the named dims and constants by name: ``grid=lambda n: px.cdiv(n, 128)``.
    block : int, tuple of int, or function
        Threads of a block, (x, y, z); a function of constants alone. Fixed when the kernel is traced.
    cluster : int or tuple of int, optional
        Blocks of a cluster (sm_90 and newer): up to 8 anywhere, up to 16 where the device can place them.
    target : str, optional
        The target to write for, e.g. ``"sm_90a"``. By default the lowest that the instructions need.
    max_registers, min_blocks : int, optional
        ``.maxnreg`` and ``.minnctapersm`` (ISA 11.4).
    cooperative : bool
        Launch all blocks at once, so that they can wait for each other.
    programmatic : bool
        Let a launch begin while the kernel before it in the stream still runs (programmatic dependent launch, sm_90 and newer):
        from that one's ``griddepcontrol.launch_dependents`` on. What that one writes is there behind ``griddepcontrol.wait``.

    Returns
    -------
    callable
        The decorator.
    """
    where = decorator_line(function.__code__) if inspect.isfunction(function) else here()
    for name, value in (("grid", grid), ("block", block)):
        if function is not None or value is None:
            raise TraceError(
                f"@px.kernel {'stands without' if function is not None else f'lacks {name}= in'} its parentheses", where=where,
                why="how many blocks and threads run a kernel is part of it",
                legal="@px.kernel(grid=1, block=128), or grid=lambda n: px.cdiv(n, 128) for named dims",
            )  # fmt: skip
    if target is not None:
        _check_target(target)
    names = dict(sys._getframe(1).f_locals)

    def decorate(function: Callable[..., Any]) -> Kernel:
        try:
            parameters = parameters_of(function, names)
            blocks = _extents(1 if cluster is None else cluster, "cluster")
            made = Kernel(function, parameters, grid, block, blocks, target, max_registers, min_blocks, cooperative, programmatic, where)
            made.check_launch()
            return made
        except TraceError as error:
            raise error.at(where) from None

    return decorate


def _check_target(target: Any) -> None:
    if target not in FIRST_VERSION:
        import difflib

        near = difflib.get_close_matches(str(target), FIRST_VERSION, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else ", ".join(FIRST_VERSION)
        raise TraceError(f"unknown target {target!r}", where=here(), legal=hint)


def _extents(value: Any, what: str) -> tuple[int, int, int]:
    """An int or a tuple as (x, y, z)."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(given) <= 3 or any(isinstance(one, bool) or not hasattr(one, "__index__") for one in given):
        raise TraceError(f"{what}={value!r} is neither an int nor a tuple of up to three", legal=f"{what}=128 or {what}=(32, 4)")
    x, y, z = (*(int(one) for one in given), 1, 1)[:3]
    return x, y, z


class Kernel:
    """A kernel. Calling it runs it where its arguments live: CUDA tensors on their GPU, NumPy arrays and CPU tensors in the emulator.

    Attributes
    ----------
    function : callable
        The Python function.
    name : str
    parameters : tuple of Parameter
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: tuple[Parameter, ...],
        grid: Any,
        block: Any,
        cluster: tuple[int, int, int],
        target: str | None,
        max_registers: int | None,
        min_blocks: int | None,
        cooperative: bool,
        programmatic: bool = False,
        where: Any = None,
    ) -> None:
        self.where = where
        self.function = function
        self.name = function.__name__
        self.parameters = parameters
        self.grid = grid
        self.cooperative = cooperative
        self.programmatic = programmatic
        self._block = block
        self._cluster = cluster
        self._target = target
        self._max_registers = max_registers
        self._min_blocks = min_blocks
        self._constants = {one.name: one for one in parameters if isinstance(one.annotation, Constant)}
        self._made: dict[tuple[Any, ...], Specialization] = {}
        self._default: Specialization | None = None
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<px.kernel {self.name}>"

    def specialize(self, **constants: Any) -> Specialization:
        """The kernel for given values of its ``px.constexpr`` parameters; those left out take their defaults. Traced once for each.

        Raises
        ------
        TraceError
            For an unknown constant, one without a value, or one that is not hashable.
        PtxgenError
            For whatever the function does against the rules.
        """
        try:
            key = self._key(constants)
        except TraceError as error:
            raise error.at(here()) from None
        found = self._made.get(key)
        if found is None:
            try:
                found = self._made[key] = self._trace(dict(key))
            except PtxgenError as error:
                error.at(self.where)  # what no line of the function's is to blame for
                raise
        return found

    def check_launch(self) -> None:
        """Refuse a grid, block or cluster that no launch could have, and functions that ask for names which are not there.

        Raises
        ------
        TraceError
        """
        self._check_extents(self._cluster, (_MAX_CLUSTER,) * 3, "cluster")
        blocks = self._cluster[0] * self._cluster[1] * self._cluster[2]
        if blocks > _MAX_CLUSTER:
            legal = f"1 to 8 anywhere, up to {_MAX_CLUSTER} where it fits"
            raise TraceError(f"kernel {self.name}: a cluster of {blocks} blocks", legal=legal)
        for value, what, most in ((self._max_registers, "max_registers", _MAX_REGISTERS), (self._min_blocks, "min_blocks", _MAX_BLOCKS)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most):
                raise TraceError(f"kernel {self.name}: {what}={value!r}", legal=f"an int from 1 to {most}")
        if callable(self.grid):
            _wanted(self.grid, {**self._constants, **self._dims()}, "grid")
        else:
            self._check_extents(_extents(self.grid, "grid"), _MAX_GRID, "grid")
        if callable(self._block):
            _wanted(self._block, self._constants, "block")
        else:
            self._block_of({})

    def _check_extents(self, extents: tuple[int, int, int], limits: tuple[int, int, int], what: str) -> None:
        for extent, most, axis in zip(extents, limits, "xyz"):
            if not 1 <= extent <= most:
                raise TraceError(f"kernel {self.name}: {what}.{axis} = {extent}", legal=f"1 to {most}, on any device")

    def with_target(self, target: str) -> Kernel:
        """The same kernel, written for another target.

        Raises
        ------
        TraceError
            For an unknown target.
        """
        _check_target(target)
        return Kernel(
            self.function, self.parameters, self.grid, self._block, self._cluster, target, self._max_registers, self._min_blocks,
            self.cooperative, self.programmatic, self.where,
        )  # fmt: skip

    def _key(self, constants: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        for name in constants:
            if name not in self._constants:
                known = ", ".join(self._constants) or "none"
                legal = f"its constants: {known}"
                if name in ("grid", "stream", "seed"):
                    legal = f"{self.name}.launch(..., grid=, stream=) or {self.name}.emulate(..., grid=, seed=)"
                raise TraceError(f"kernel {self.name} has no constant {name!r}", legal=legal)
        key = []
        for name, parameter in self._constants.items():
            value = constants.get(name, parameter.default)
            if value is inspect.Parameter.empty:
                raise TraceError(f"kernel {self.name}: the constant {name} has no value", legal=f"pass {name}=..., or give it a default")
            try:
                hash(value)
            except TypeError:
                raise TraceError(
                    f"kernel {self.name}: the constant {name} = {value!r} is not hashable",
                    why="a kernel is traced once for each of its values", legal="an int, a type, a tuple of these",
                ) from None  # fmt: skip
            key.append((name, value))
        return tuple(key)

    def _trace(self, constants: dict[str, Any]) -> Specialization:
        block = self._block_of(constants)
        made = trace(
            self.function,
            self.parameters,
            constants,
            block=block,
            cluster=self._cluster,
            grid=self._largest_grid(constants),
            target=self._target,
            directives=self._directives(block),
        )
        return Specialization(self, made, constants)

    def _block_of(self, constants: dict[str, Any]) -> tuple[int, int, int]:
        block = _extents(_call(self._block, constants, "block") if callable(self._block) else self._block, "block")
        self._check_extents(block, _MAX_BLOCK, "block")
        if block[0] * block[1] * block[2] > 1024:
            raise TraceError(f"kernel {self.name}: a block of {block[0] * block[1] * block[2]} threads", legal="1 to 1024 threads")
        return block

    def _largest_grid(self, constants: dict[str, Any]) -> tuple[int, int, int]:
        """An upper bound of the grid, from the ranges of the dims: what the ranges of block indices follow from."""
        if not callable(self.grid):
            return _extents(self.grid, "grid")
        known = {name: Extent(one.symbol.lo or 0, one.symbol.hi or 0) for name, one in self._dims().items()}
        try:
            value = _call(self.grid, {**constants, **known}, "grid")
            given = value if isinstance(value, (tuple, list)) else (value,)
            bounds = [one.hi if isinstance(one, Extent) else int(one) for one in given]
        except Exception:  # the user's function may do with ints what no range can: then only the device's limits are known
            return _MAX_GRID
        x, y, z = (*map(min, bounds, _MAX_GRID), 1, 1)[:3]
        return max(x, 1), max(y, 1), max(z, 1)

    def _dims(self) -> dict[str, Any]:
        tensors = (parameter.annotation for parameter in self.parameters)
        return {one.name: one for tensor in tensors if isinstance(tensor, Tensor) for one in tensor.dims()}

    def _directives(self, block: tuple[int, int, int]) -> tuple[ir.Directive, ...]:
        """``.reqntid`` fixes the block that the thread indices are traced for."""
        found = [ir.Directive("reqntid", block if block[2] > 1 else block[:2] if block[1] > 1 else block[:1])]
        if self._max_registers is not None:
            found.append(ir.Directive("maxnreg", (self._max_registers,)))
        if self._min_blocks is not None:
            found.append(ir.Directive("minnctapersm", (self._min_blocks,)))
        if self._cluster != (1, 1, 1):
            found.append(ir.Directive("explicitcluster"))
            found.append(ir.Directive("reqnctapercluster", self._cluster))
        return tuple(found)

    def __getitem__(self, launch: Any) -> NoReturn:
        raise TraceError(
            f"kernel {self.name} is indexed with a launch shape",
            where=here(),
            why="grid and block are part of the kernel, which is traced for them",
            legal=f"{self.name}(...); @px.kernel(grid=..., block=...) says how many; {self.name}.launch(..., grid=...) takes another grid",
        )

    # ---- the specialisation with default constants ---------------------------------------------------------------------

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Run it where its arguments live, on the caller's current stream. Arguments may be named; constants are.

        Raises
        ------
        ArgumentError
            Where an argument does not fit the signature.
        EmulationError
            In the emulator, for whatever it reports.
        """
        try:
            if named:
                specialization, arguments = self._arranged(arguments, named)
                specialization(*arguments)
                return
            if self._default is None:
                self._default = self.specialize()
            self._default(*arguments)
        except (ArgumentError, LaunchError) as error:
            raise error.at(here()) from None

    def _arranged(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Specialization, tuple[Any, ...]]:
        """The specialisation that the constants among the named arguments choose, and the other arguments in order."""
        known = {one.name for one in self.parameters}
        constants = {name: value for name, value in named.items() if name in self._constants or name not in known}
        specialization = self.specialize(**constants)
        rest = {name: value for name, value in named.items() if name not in constants}
        return specialization, specialization.runner.binder.arrange(arguments, rest) if rest else arguments

    def launch(self, *arguments: Any, grid: Any = None, stream: Any = None, **constants: Any) -> None:
        """Launch on the GPU, optionally with another grid or stream."""
        try:
            specialization, arguments = self._arranged(arguments, constants)
            specialization.launch(*arguments, grid=grid, stream=stream)
        except (ArgumentError, LaunchError) as error:
            raise error.at(here()) from None

    def emulate(
        self,
        *arguments: Any,
        grid: Any = None,
        seed: int = 0,
        step_limit: int = 1_000_000,
        stop_on_report: bool = False,
        checks: Any = True,
        **constants: Any,
    ) -> Any:
        """Run in the emulator and return its result, reports included; options as for `ptxgen.emulator.emulate`."""
        try:
            specialization, arguments = self._arranged(arguments, constants)
            return specialization.emulate(
                *arguments, grid=grid, seed=seed, step_limit=step_limit, stop_on_report=stop_on_report, checks=checks
            )
        except (ArgumentError, LaunchError) as error:
            raise error.at(here()) from None

    def bind(self, *arguments: Any, grid: Any = None, **constants: Any) -> Any:
        """A prepared launch of these arguments, to be called again and again."""
        try:
            specialization, arguments = self._arranged(arguments, constants)
            return specialization.bind(*arguments, grid=grid)
        except (ArgumentError, LaunchError) as error:
            raise error.at(here()) from None

    def ptx(self, **options: Any) -> str:
        """The PTX text, constants at their defaults; see `Specialization.ptx`."""
        return self.specialize().ptx(**options)

    def dump(self, path: Any, **options: Any) -> None:
        """Write the PTX text to a file."""
        self.specialize().dump(path, **options)

    def lint(self, **options: Any) -> Any:
        """What the lints find, constants at their defaults; see `Specialization.lint`."""
        return self.specialize().lint(**options)

    def sass(self, target: str | None = None) -> str:
        """The machine code, disassembled."""
        return self.specialize().sass(target)

    def costs(self, **values: Any) -> Any:
        """What the instructions of one block cost in memory, constants at their defaults; see `ptxgen.costs.of`."""
        return self.specialize().costs(**values)

    def resources(self, target: str | None = None) -> Any:
        """Registers, spills, shared memory and the assembler's notes."""
        return self.specialize().resources(target)


def _call(function: Callable[..., Any], names: Mapping[str, Any], what: str) -> Any:
    """Call the user's function with those of `names` that its parameters ask for."""
    return function(**_wanted(function, names, what))


def _wanted(function: Callable[..., Any], names: Mapping[str, Any], what: str) -> dict[str, Any]:
    wanted = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in names:
            wanted[parameter.name] = names[parameter.name]
        elif parameter.default is inspect.Parameter.empty:
            kinds = "a constant" if what == "block" else "a named dim or constant"
            known = f"one of: {', '.join(names)}" if names else f"{kinds}, and this kernel has none"
            raise TraceError(
                f"{what}: its function asks for {parameter.name!r}, which is not {kinds} of the kernel",
                why="a block's shape is fixed when the kernel is traced" if what == "block" else "", legal=known,
            )  # fmt: skip
    return wanted
