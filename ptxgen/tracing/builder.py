"""The state of one trace: statements, regions, registers, and what is known about values.

Every part that emits code goes through `Builder.emit` (one checked instruction at the user's line) or, for many instructions
rendered from one checked template, `Builder.append`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from math import gcd, prod
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import InstructionError, PtxgenError, TraceError
from ptxgen.instructions.checking import Checked, Given, check
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION, Version, lowest_target, spelled
from ptxgen.instructions.types import Type, u32
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.tracing.lanes import check_blocks, check_lanes, takes_lanes
from ptxgen.tracing.provenance import Where, here

__all__ = ["Builder", "Region", "Value", "active", "current", "register_class"]

_INT64 = 1 << 63
_active: ContextVar[Builder | None] = ContextVar("ptxgen_builder", default=None)


def active() -> Builder | None:
    """The trace under way, if any."""
    return _active.get()


def current(what: str) -> Builder:
    """The trace under way; `TraceError` names `what` was used outside of one."""
    builder = _active.get()
    if builder is None:
        raise TraceError(
            f"{what} only has a meaning inside a kernel", where=here(), legal="use it in a function under @px.kernel, while it is traced"
        )
    return builder


class Region:
    """A stretch of code that runs together: the kernel, a loop's body, a branch. What it defines is visible inside it alone.

    Attributes
    ----------
    parent : Region or None
    kind : str
        ``"kernel"``, ``"if"``, ``"elif"``, ``"else"``, ``"loop"``.
    facts : list of Expr
        Known to be >= 0 while this region runs.
    numbered : dict
        Values computed here that may be used again, by what they compute.
    written : dict
        Mutable registers that were written here, by identity.
    leaves : bool
        Whether every thread that runs this has left it before its end (`px.break_`, `px.continue_`, `px.return_`).
    active : ndarray of bool or None
        The threads of a block that run this, by linear index, as far as their index alone decides; None for all of the parent's.
    divergent : Where or None
        Where something other than the thread's index, and not the same in all threads, decides which of them run this.
    elected : bool
        Whether a condition chose one thread of each warp (`px.elect`).
    """

    __slots__ = ("active", "divergent", "elected", "facts", "holding", "kind", "leaves", "numbered", "parent", "where", "written")

    def __init__(self, parent: Region | None, kind: str, where: Any, facts: Sequence[Expr] = ()) -> None:
        self.active: np.ndarray | None = None
        self.divergent: Any = None
        self.elected = False
        self.parent = parent
        self.kind = kind
        self.where = where
        self.facts = list(facts)
        self.holding: tuple[int, np.ndarray | None] = 0, None  # of so many facts, the threads in which they hold (`Builder._holding`)
        self.numbered: dict[Hashable, Any] = {}
        self.written: dict[int, Any] = {}
        self.leaves = False

    def narrow(self, predicate: Value, where: Any, negated: bool = False) -> None:
        """From here on only the threads for which a predicate holds (or does not) run this."""
        if predicate.threads is not None:
            kept = ~predicate.threads if negated else predicate.threads
            self.active = kept if self.active is None else self.active & kept
        elif not predicate.same:
            self.divergent = where
        self.elected = self.elected or (predicate.elected and not negated)

    def inside(self, other: Region) -> bool:
        """Whether this region is `other` or lies in it."""
        region: Region | None = self
        while region is not None:
            if region is other:
                return True
            region = region.parent
        return False


class Value:
    """A traced scalar: an operand of PTX with its type. Operators live in `ptxgen.tracing.values`.

    Attributes
    ----------
    type : Type
    operand : ir.Operand
        A register, or a constant.
    region : Region
        Where it is defined; None for constants.
    expr : Expr or None
        The integer that it holds, where that is known without wrapping.
    facts : tuple
        For a predicate: (facts where it is true, facts where it is false).
    same : bool
        Whether all threads of a block are known to hold the same.
    threads : ndarray of bool or None
        For a predicate that the thread's index alone decides: the threads of a block for which it holds, by linear index.
    elected : bool
        For a predicate: whether it holds in one thread of a warp at most (`px.elect`).
    """

    __slots__ = ("_described", "builder", "elected", "expr", "facts", "operand", "region", "same", "threads", "type", "where")

    def __init__(
        self,
        builder: Builder,
        type: Type,
        operand: ir.Operand,
        region: Region | None,
        where: Any,
        expr: Expr | None = None,
        facts: tuple[tuple[Expr, ...], tuple[Expr, ...]] = ((), ()),
    ) -> None:
        self.builder = builder
        self.type = type
        self.operand = operand
        self.region = region
        self.where = where
        self.expr = expr
        self.facts = facts
        self.same = isinstance(operand, (ir.Int, ir.Float))
        self.threads: np.ndarray | None = None
        self.elected = False
        self._described: tuple[ir.Operand, Given] | None = None

    def described(self) -> tuple[ir.Operand, Given]:
        """The operand, and how the check sees it: the same as long as the operand is the same."""
        found, operand = self._described, self.operand
        if found is None or found[0] is not operand:
            given = Given.numbered(operand.name, self.type) if operand.__class__ is ir.Reg else given_value(self)
            found = self._described = operand, given
        return found


# Register class by (kind is float, bits): declared type and name prefix. Integers and bits share registers, as in nvcc's text.
_CLASSES: dict[tuple[bool, int], tuple[str, str]] = {
    (False, 1): ("pred", "%p"),
    (False, 8): ("b8", "%rb"),
    (False, 16): ("b16", "%rs"),
    (False, 32): ("b32", "%r"),
    (False, 64): ("b64", "%rd"),
    (False, 128): ("b128", "%rq"),
    (True, 32): ("f32", "%f"),
    (True, 64): ("f64", "%fd"),
}
_DECLARED = {prefix: declared for declared, prefix in _CLASSES.values()}


@lru_cache(maxsize=None)
def register_class(type: Type) -> tuple[str, str]:
    """The ``.reg`` type and the name prefix of registers that hold `type`: packed and half floats live in untyped registers."""
    plain_float = type.name in ("f32", "f64")
    found = _CLASSES.get((plain_float, type.bits))
    if found is None:
        raise PtxgenError(f".{type.name} has no register of its own: {type.bits} bits are stored packed into a wider register")
    return found


class Builder:
    """One trace.

    Attributes
    ----------
    name : str
        The entry's name.
    block : tuple of int
        Threads of a block, (x, y, z).
    cluster : tuple of int
        Blocks of a cluster, (x, y, z).
    grid : tuple of int
        The largest grid that a launch can have, (x, y, z).
    shared : list of ir.Variable
        Shared memory that the kernel declares.
    parameters : set of str
        Names of the entry's parameters and dims.
    module : list of ir.Item
        What the module declares in front of the entry: data, and functions that it calls.
    declared : dict
        What `module` declares, by what it was made of; the functions of a module share both.
    local_bytes : dict
        Local memory of a thread that the kernel declares: bytes by name.
    tensor_maps : dict
        Tensor-map parameters that were asked for, by tensor and description.
    lazy : dict
        Symbols whose values are loaded when first used.
    holders : dict
        Values by the integer expression that they hold, up to a factor and a constant.
    registers : dict
        All registers handed out, by prefix.
    droppable : set of str
        Registers whose instruction computes nothing but them: where nothing reads them, it may go.
    target : str or None
        The target the user fixed, if any.
    prologue, body : list of ir.Statement
        Thread indices and parameters are read once in the prologue, which dominates everything.
    """

    def __init__(
        self,
        name: str,
        block: tuple[int, int, int],
        target: str | None = None,
        cluster: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        self.name = name
        self.block = block
        self.cluster = cluster
        self.target = target
        self.prologue: list[ir.Statement] = []
        self.body: list[ir.Statement] = []
        self.root = Region(None, "kernel", None)
        self.region = self.root
        self.shared: list[ir.Variable] = []
        self.module: list[ir.Item] = []
        self.declared: dict[Hashable, Any] = {}
        self.local_bytes: dict[str, int] = {}
        self.parameters: set[str] = set()
        self.tensor_maps: dict[tuple[str, Any], Any] = {}
        self.grid = (2**31 - 1, 65535, 65535)
        self.lazy: dict[Symbol, Callable[[], Value]] = {}
        self.holders: dict[Expr, list[Value]] = {}
        self.version: Version = (1, 0)
        self.targets = frozenset(FIRST_VERSION)
        self.values: dict[Symbol, Value] = {}
        self.thread_arrays: dict[Symbol, np.ndarray] = {}
        self.wrapping: dict[Symbol, Expr] = {}  # what symbols would be exactly, if it did not wrap
        self.quotients: dict[Symbol, tuple[Expr, int]] = {}  # dividends and divisors of quotients by constants
        self.selects: dict[Symbol, tuple[tuple[Sequence[Expr], Expr], ...]] = {}  # what a choice is: facts of each case, and its value
        self.remainders: dict[Symbol, tuple[Expr, Expr]] = {}  # dividends and divisors of remainders whose divisor may be 0
        self.mutable: list[Any] = []  # registers of px.reg that can be written here
        self.tiles: list[Any] = []  # register tiles
        self.loops: list[Any] = []  # traced loops that are open, innermost last
        self.chains: list[Any] = []  # if-chains whose else branch is open and waits for its px.elif_ or px.else_
        self.unentered: list[Any] = []  # blocks that were made and not yet entered by their with statement
        self.broken: Where | None = None  # the block that an exception left
        self.registers: defaultdict[str, list[ir.Reg]] = defaultdict(list)
        self.parts: list[tuple[ir.Reg, ir.Reg]] = []  # a selected part of a register, and the register
        self.droppable: set[str] = set()
        self.literals: dict[Hashable, Any] = {}  # constants that are immediates, by type and number
        self._plain: set[Match] = set()  # instructions that were emitted, and whose operands say nothing about threads and blocks
        self._active: dict[tuple[int, ...], tuple[list[np.ndarray], np.ndarray]] = {}  # active threads, by the identities of the masks
        self._counts: dict[str, int] = {}
        self._labels: dict[str, int] = {}
        self._names: set[str] = set()

    def inside(self, name: str) -> Builder:
        """A builder for a function that is called at this place, by the threads that come here; the module is the same."""
        inner = Builder(name, self.block, self.target, self.cluster)
        inner.grid, inner.module, inner.declared, inner._names = self.grid, self.module, self.declared, self._names
        active = np.zeros(self.threads, bool)
        active[self.active_threads()] = True
        inner.root.active = None if active.all() else active
        inner.root.divergent = self.divergence()
        inner.root.elected = self.elected()
        return inner

    def __enter__(self) -> Builder:
        self._token = _active.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.reset(self._token)

    # ---- names ----------------------------------------------------------------------------------------------------------

    def register(self, type: Type) -> ir.Reg:
        """A fresh register that holds `type`."""
        declared, prefix = register_class(type)
        number = self._counts.get(declared, 0)
        self._counts[declared] = number + 1
        made = ir.Reg(f"{prefix}{number}")
        self.registers[prefix].append(made)
        return made

    def take(self, type: Type, count: int) -> list[ir.Reg]:
        """So many fresh registers that hold `type`."""
        declared, prefix = register_class(type)
        number = self._counts.get(declared, 0)
        self._counts[declared] = number + count
        made = [ir.Reg(f"{prefix}{each}") for each in range(number, number + count)]
        self.registers[prefix] += made
        return made

    def count(self, used: dict[str, int]) -> None:
        """Set the number of registers of each prefix that are declared."""
        self._counts = {_DECLARED[prefix]: number for prefix, number in used.items() if number}

    def release(self, register: ir.Reg) -> None:
        """Take back the register that was handed out last, which nothing names any more."""
        prefix = register.name.rstrip("0123456789")
        if self.registers[prefix][-1:] == [register]:
            self._counts[_DECLARED[prefix]] -= 1
            self.registers[prefix].pop()
            self.droppable.discard(register.name)  # the next one of this name may be an instruction's that the user named

    def label(self, stem: str) -> str:
        """A fresh label such as ``$L_loop_1``."""
        number = self._labels.get(stem, 0) + 1
        self._labels[stem] = number
        return f"$L_{stem}_{number}"

    def unique(self, stem: str) -> str:
        """A fresh name for a variable, which no parameter has: `stem`, or `stem` with a number behind it."""
        name, number = stem, 1
        while name in self._names or name in self.parameters:
            number += 1
            name = f"{stem}_{number}"
        self._names.add(name)
        return name

    def tensor_map(self, storage: Any, box: Sequence[int], **options: Any) -> Any:
        """The tensor-map parameter for a tensor argument's memory and a box (`ptxgen.tracing.tensormaps.declare`)."""
        from ptxgen.tracing.tensormaps import declare

        return declare(self, storage, box, **options)

    def declarations(self) -> list[ir.Statement]:
        """``.reg`` lines for all registers handed out, predicates first, then by width."""
        order = [declared for declared, _ in _CLASSES.values()]
        prefixes = dict(_CLASSES.values())
        return [ir.RegDecl(name, (prefixes[name],), self._counts[name]) for name in order if name in self._counts]

    # ---- emitting -------------------------------------------------------------------------------------------------------

    def append(self, statement: ir.Statement) -> None:
        """Append a statement as it is, at the place where the trace stands."""
        self.body.append(statement)

    def emit(
        self,
        opcode: str,
        operands: Sequence[tuple[ir.Operand, Given]],
        *,
        guard: ir.Guard | None = None,
        where: Any = None,
        into: list[ir.Statement] | None = None,
    ) -> None:
        """Check one instruction against its contract and append it.

        Parameters
        ----------
        opcode : str
        operands : sequence of (ir.Operand, Given)
            The operand, and how it is described to the check.
        into : list, optional
            Where to append; the current place of the trace unless given (the prologue).

        Raises
        ------
        InstructionError
            Placed at the user's line.
        """
        target = self.body if into is None else into
        parts, described = zip(*operands) if operands else ((), ())
        try:
            checked = check(opcode, described)
            if checked.match not in self._plain:
                self.need(checked)
                if takes_lanes(checked.match):
                    check_lanes(self, checked, guard is not None)
                elif checked.match.entry.several not in checked.match.bindings:
                    self._plain.add(checked.match)
        except InstructionError as error:
            raise error.at(where or here()) from None
        if target is self.prologue:  # ours: no single line of the user's made it
            where = None
            if isinstance(operands[0][0], ir.Reg):
                self.droppable.add(operands[0][0].name)
        else:
            where = where or here()
        target.append(ir.Instruction(opcode, parts, guard, where))

    def require(self, version: Version, targets: frozenset[str], what: str, section: str) -> None:
        """Take note of a version and targets that something other than an instruction needs."""
        fixed = frozenset([self.target]) if self.target is not None else self.targets
        if not fixed & targets:
            raise InstructionError(
                f"{what} does not exist on {spelled(fixed)}",
                rule="what a kernel uses exists on its target",
                section=section,
                legal=f"targets {spelled(targets)}",
            )
        self.targets &= targets
        self.version = max(self.version, version)

    def need(self, checked: Checked) -> None:
        """Take note of the version and targets of an instruction; refuse it where the kernel's target or cluster does not have it."""
        match = checked.match
        if self.target is not None and self.target not in match.targets:
            raise InstructionError(
                f"does not exist on {self.target}, the target of this kernel",
                opcode=match.opcode,
                rule="what a kernel uses exists on its target",
                section=match.entry.section,
                legal=f"targets {spelled(match.targets)}, from PTX {match.version[0]}.{match.version[1]}",
            )
        both = self.targets & match.targets
        if not both:
            raise InstructionError(
                "no target has both this instruction and those before it",
                opcode=match.opcode,
                section=match.entry.section,
                example=f"this one needs {spelled(match.targets)}; those before it {spelled(self.targets)}",
            )
        self.targets = both
        self.version = max(self.version, match.version_on(self.target))
        check_blocks(self.cluster, checked)

    def lowest(self) -> tuple[Version, str]:
        """The lowest ``.version`` and ``.target`` that the instructions need (or the user's target)."""
        target = self.target or lowest_target(self.targets)
        return max(self.version, FIRST_VERSION[target]), target

    # ---- values ---------------------------------------------------------------------------------------------------------

    def numbered(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The value that `key` computes, made once and used again wherever its region is visible."""
        region: Region | None = self.region
        while region is not None:
            if key in region.numbered:
                return region.numbered[key]
            region = region.parent
        made = make()
        self.region.numbered[key] = made
        return made

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `key` stands for in the whole trace, made when first asked for: found about a layout, or computed in the prologue."""
        found = self.root.numbered.get(key)
        if found is None:
            found = self.root.numbered[key] = make()
        return found

    def facts(self) -> list[Expr]:
        """All expressions known to be >= 0 at this place."""
        found: list[Expr] = []
        region: Region | None = self.region
        while region is not None:
            found.extend(region.facts)
            region = region.parent
        return found

    def symbol(self, name: str, value: Value, lo: int | None = None, hi: int | None = None, divisor: int = 1) -> Expr:
        """A fresh symbol for an integer `value`; without bounds it has those of its type. Sets ``value.expr``."""
        bits, signed = value.type.bits, value.type.signed
        lo = (-(1 << (bits - 1)) if signed else 0) if lo is None else lo
        hi = ((1 << (bits - signed)) - 1) if hi is None else hi
        symbol = Symbol(name, lo, hi, divisor)
        self.values[symbol] = value
        value.expr = Expr.of(symbol)
        return value.expr

    def guard(self, predicate: Any, where: Any) -> ir.Guard | None:
        """``@p`` or ``@!p`` for a traced predicate, None for None.

        Raises
        ------
        TraceError
            For anything that is no predicate, or is not visible here.
        """
        if predicate is None:
            return None
        if not isinstance(predicate, Value) or predicate.type.kind != "pred":
            raise TraceError(f"pred={predicate!r} is no traced predicate", where=where, legal="a comparison such as pred=i < n, or ~p")
        self.visible(predicate, where)
        operand = predicate.operand
        if isinstance(operand, ir.Not):
            return ir.Guard(operand.reg, negated=True)
        assert isinstance(operand, ir.Reg)
        return ir.Guard(operand)

    def finish(self) -> None:
        """The kernel's function has returned: whatever a construct left open is closed, or refused."""
        from ptxgen.tracing.control import finish

        finish(self)

    def forget(self) -> None:
        """Let go of all values when the trace is over: each holds its trace, and what holds itself waits for the garbage collector."""
        for held in (self.values, self.lazy, self.holders, self.mutable, self.tiles, self.literals, self.tensor_maps):
            held.clear()
        self.root.numbered.clear()
        self.root.written.clear()

    def value_of(self, symbol: Symbol) -> Value:
        """The traced value behind a symbol."""
        if symbol not in self.values and symbol in self.lazy:
            self.values[symbol] = self.lazy[symbol]()
        return self.values[symbol]

    def scalar(self, value: Any, type: Type) -> Value:
        """A traced scalar as it is, or a Python number as an exact constant of `type`."""
        from ptxgen.tracing.values import as_value

        return as_value(self, value, type)

    def hold(self, value: Value) -> None:
        """Remember that `value` holds its integer expression, so that address code can start from it."""
        if value.expr is not None and len(value.expr.terms) > 1 and isinstance(value.operand, ir.Reg):
            constant = value.expr.terms.get((), 0)
            part = value.expr - constant
            content = gcd(*part.terms.values())
            self.holders.setdefault(Expr({mono: one // content for mono, one in part.terms.items()}), []).append(value)

    def alias(self, value: Value) -> Symbol:
        """A symbol that stands for a register whose expression is known in other symbols as well."""
        assert value.expr is not None
        lo, hi = value.expr.range()
        symbol = Symbol(value.operand.name, lo, hi, key=("register", value.operand.name))  # type: ignore[union-attr]
        self.values[symbol] = value
        return symbol

    def special(self, name: str, lo: int, hi: int) -> Value:
        """A special register such as ``tid.x``, read once in the prologue; a u32 whose value lies in [lo, hi]."""
        found: Value = self.once(("special", name), lambda: self._read_special(name, lo, hi))
        return found

    def _read_special(self, name: str, lo: int, hi: int) -> Value:
        if lo == hi:
            return Value(self, u32, ir.Int(lo), None, None, Expr.of(lo))
        target = self.register(u32)
        value = Value(self, u32, target, self.root, None)
        base, _, part = name.partition(".")
        source = ir.Reg("%" + base, part or None)
        operands = [(target, given_register(target, u32)), (source, given_register(source, u32))]
        self.emit("mov.u32", operands, into=self.prologue)
        symbol = self.symbol(name, value, lo, hi).symbols[0]
        value.same = base in ("ctaid", "nctaid", "ntid", "cluster_ctaid", "cluster_ctarank", "cluster_nctaid", "clusterid", "nclusterid")
        if base == "tid":
            x, y, _ = self.block
            threads = np.arange(self.threads, dtype=np.int64)
            self.thread_arrays[symbol] = {"x": threads % x, "y": threads // x % y, "z": threads // (x * y)}[part]
        elif base == "laneid":  # warps are 32 consecutive threads of the block (CUDA C++ Programming Guide, "SIMT Architecture")
            self.thread_arrays[symbol] = np.arange(self.threads, dtype=np.int64) % 32
        return value

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z

    def thread_index(self) -> Value:
        """The linear index of the thread in its block, x fastest; computed once in the prologue."""
        found: Value = self.once("thread", self._thread_index)
        return found

    def _thread_index(self) -> Value:
        x, y, z = self.block
        linear = self.special("tid.x", 0, x - 1)
        for extent, name, count in ((x, "tid.y", y), (x * y, "tid.z", z)):
            if count > 1:
                digit = self.special(name, 0, count - 1)
                target = self.register(u32)
                self.emit(
                    "mad.lo.u32",
                    [
                        (target, given_register(target, u32)),
                        (digit.operand, given_value(digit)),
                        (ir.Int(extent), Given("int", str(extent), value=extent)),
                        (linear.operand, given_value(linear)),
                    ],
                    into=self.prologue,
                )
                linear = Value(self, u32, target, self.root, None)
        if y * z > 1:
            symbol = self.symbol("thread", linear, 0, self.threads - 1).symbols[0]
            self.thread_arrays[symbol] = np.arange(self.threads, dtype=np.int64)
        return linear

    # ---- what each thread of a block computes ---------------------------------------------------------------------------

    def over_threads(self, expr: Expr) -> np.ndarray | None:
        """The value of an expression in every thread of a block, by linear index; None where it depends on more than the thread."""
        symbols = expr.symbols
        for symbol in symbols:
            if symbol not in self.thread_arrays:
                return None
        if len(symbols) == 1 and expr.terms == {symbols: 1}:
            return self.thread_arrays[symbols[0]]
        if any(not -_INT64 <= part < _INT64 for part in (*expr.terms.values(), *(bound or 0 for bound in expr.range()))):
            return None  # NumPy's integers do not hold it
        total = np.full(self.threads, expr.terms.get((), 0), np.int64)
        for monomial, coefficient in expr.terms.items():
            if monomial:
                total += coefficient * prod(self.thread_arrays[symbol] for symbol in monomial)
        return total

    def _holding(self, region: Region) -> np.ndarray | None:
        """The threads in which a region's own facts are >= 0, as far as they depend on the thread alone; None where none does."""
        known, mask = region.holding
        if known != len(region.facts):  # facts are only added, and what threads compute is known of a symbol at once or never
            for fact in region.facts[known:]:
                values = self.over_threads(fact)
                if values is not None:
                    mask = values >= 0 if mask is None else mask & (values >= 0)
            region.holding = len(region.facts), mask
        return mask

    def active_threads(self) -> np.ndarray:
        """The threads that comparisons of thread indices with constants leave active here, by linear index, ascending."""
        masks: list[np.ndarray] = []
        region: Region | None = self.region
        while region is not None:
            holding = self._holding(region)
            if holding is not None:
                masks.append(holding)
            if region.active is not None:
                masks.append(region.active)
            region = region.parent
        key = tuple(map(id, masks))
        found = self._active.get(key)
        if found is None:  # the masks are kept, so that their ids stay their own
            active = np.flatnonzero(np.logical_and.reduce(masks)) if masks else np.arange(self.threads)
            found = self._active[key] = masks, active
        return found[1]

    def single_thread(self) -> bool:
        """Whether one thread of the block at most runs what stands here: its index says so, or it is the one elected of one warp."""
        active = self.active_threads()
        if len(active) < 2:
            return True
        return self.elected() and bool(active[0] // 32 == active[-1] // 32)

    def one_a_warp(self) -> bool:
        """Whether at most one thread of each warp runs what stands here."""
        warps = self.active_threads() // 32
        return self.elected() or bool((warps[1:] > warps[:-1]).all())

    def elected(self) -> bool:
        """Whether a condition around this place chose one thread of each warp."""
        region: Region | None = self.region
        while region is not None and not region.elected:
            region = region.parent
        return region is not None

    def divergence(self) -> Any:
        """The innermost place at which something unknown decides which threads come here; None where all that are active do."""
        region: Region | None = self.region
        while region is not None:
            if region.divergent is not None:
                return region.divergent
            region = region.parent
        return None

    def visible(self, value: Value, where: Any = None) -> None:
        """Refuse a value that is defined in a branch or loop body which does not enclose this place.

        Raises
        ------
        TraceError
            Naming the line that defined it and `px.reg` as the way out.
        """
        if value.builder is not self:
            self.own(value, where)
        if value.region is not None:
            self.visible_region(value.region, where)

    def own(self, value: Value, where: Any = None) -> None:
        """Refuse, of values that another trace made, one of the function around this one or of one that it calls."""
        if value.builder.module is self.module:
            raise TraceError(
                f"this value belongs to {value.builder.name}, and is used in {self.name}", where=where or here(),
                why="a function has registers of its own", legal="pass it as an argument",
            )  # fmt: skip

    def visible_region(self, region: Region, where: Any = None) -> None:
        """The same for anything else that a region holds, such as a view whose bounds were proved in it."""
        if not self.region.inside(region):
            raise TraceError(
                f"this value is defined inside the {region.kind} block at {region.where} and used outside of it",
                where=where or here(),
                why="the block may not have run, so its register may hold nothing",
                legal="declare r = px.reg(dtype, init) before the block, r.set(...) inside it; or use px.select",
            )


def given_register(register: ir.Reg, type: Type) -> Given:
    """How the check sees a register."""
    name = register.name if register.part is None else f"{register.name}.{register.part}"
    return Given("register", name, type)


def given_value(value: Value) -> Given:
    """How the check sees a traced scalar: a register or a constant."""
    operand = value.operand
    if isinstance(operand, ir.Reg):
        return given_register(operand, value.type)
    if isinstance(operand, ir.Int):
        return Given("int", str(operand.value), value=operand.value)
    if isinstance(operand, ir.Not):
        return Given("not", f"!{operand.reg.name}", value.type)
    if isinstance(operand, ir.Float):
        return Given("float", f"0f{operand.bits:08X}" if operand.width == 32 else f"0d{operand.bits:016X}")
    return Given("register", repr(operand), value.type)


def _constant(type: Type, value: Any) -> Value:
    from ptxgen.tracing.functions import make_constant

    return make_constant(type, value)


Type.maker = staticmethod(_constant)
