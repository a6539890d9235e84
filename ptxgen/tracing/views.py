"""Tensors inside a trace: views of memory or of register tiles. Views never move data.

A view is a storage and a layout in bits. Everything that selects or reorders (`view`, `rearrange`, `permute`, `sub`, indexing)
gives another view of the same storage; whatever part it selects is proved to lie inside, with the guards in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ptxgen import ir
from ptxgen.errors import LayoutError, TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import Type
from ptxgen.layouts.expr import Expr, Scalar, Symbol, counterexample
from ptxgen.layouts.layout import Layout
from ptxgen.tracing.builder import Builder, Value, active, register_class
from ptxgen.tracing.extents import made_divisible, parted, rearranged, reshaped
from ptxgen.tracing.inside import doubtful, proved, refuted
from ptxgen.tracing.literals import bounds
from ptxgen.tracing.operatorless import operatorless
from ptxgen.tracing.provenance import Where, here

if TYPE_CHECKING:
    from ptxgen.tracing.boxes import Box

__all__ = ["ComputedMemory", "Memory", "Registers", "View", "index_expr"]


class Memory:
    """A tensor's memory.

    Attributes
    ----------
    name : str
        The parameter or variable, for messages.
    space : str
        State space without its dot.
    base : Value or ir.Sym
        The address of its first byte: a register read in the prologue, or a variable's symbol.
    align : int
        Bytes that divide the base address.
    where : Where or None
        The line that declares it; None for a parameter.
    """

    __slots__ = ("align", "base", "name", "space", "where")

    def __init__(self, name: str, space: str, base: Value | ir.Sym, align: int, where: Where | None = None) -> None:
        self.name = name
        self.where = where
        self.space = space
        self.base = base
        self.align = align

    @property
    def address_bits(self) -> int:
        """Addresses in the shared window and in tensor memory are 32-bit, all others 64-bit."""
        return 32 if self.space.startswith("shared") or self.space == "tensor" else 64

    @property
    def unit(self) -> int:
        """Bits from one address to the next: a byte, in tensor memory a column of a lane."""
        return 32 if self.space == "tensor" else 8

    computed = False
    """Whether the kernel's body computes the base, so that the prologue can't use it."""


class ComputedMemory(Memory):
    """Memory whose address is in a register that the kernel's body writes."""

    __slots__ = ()
    computed = True


class Registers:
    """A register tile's registers, in each thread the same names; `container` is the type of one."""

    __slots__ = ("container", "registers", "where")
    name = "px.local"

    def __init__(self, container: Type, registers: Sequence[ir.Reg], where: Where) -> None:
        self.where = where
        self.container = container
        self.registers = tuple(registers)

    @property
    def declared(self) -> str:
        """The type in the ``.reg`` declaration."""
        return register_class(self.container)[0]


Index = Union[int, Value, Expr, slice, Any]


def index_expr(index: Any, builder: Builder, what: str) -> Scalar:
    """An index as an integer expression: an int, a traced integer, a named dim, or an Expr."""
    if isinstance(index, Expr) or (isinstance(index, int) and not isinstance(index, bool)):
        return index
    value = index.__ptxgen_value__(builder) if hasattr(index, "__ptxgen_value__") else index
    if isinstance(value, Value):
        builder.visible(value)
        if not value.type.is_integer:
            raise TraceError(
                f"{what} is a .{value.type.name} where an integer is needed", where=here(), legal="index with u32, s32, u64 or s64"
            )
        expr = value.expr if value.expr is not None else builder.symbol(_name(value), value)
        return expr if expr.constant is None else expr.constant
    if hasattr(index, "__index__") and not isinstance(index, bool):
        try:
            return int(index.__index__())
        except TypeError:  # an array of indices
            pass
    raise TraceError(f"{what} is {index!r}, which is no index", where=here(), legal="an int, a traced integer, or a slice of these")


def _name(value: Value) -> str:
    operand = value.operand
    return operand.name if isinstance(operand, ir.Reg) else str(operand)


def _no_value(view: View, symbol: str) -> TraceError:
    if view.space == "reg":
        legal = "px.tile.ewise(lambda x: ..., destination, source, scope=...), or px.tile.apply with an instruction's name"
        if view.dtype.bits in (16, 32, 64):
            legal += f'; px.tile.apply("mov.{view.dtype.word}", acc, r[2:3], scope="thread") copies an element into acc, a px.reg'
    else:
        load = f"px.ptx.ld.{'global_' if view.space == 'global' else view.space}.{view.dtype.word}(...)"
        legal = f"load it: {load} of one element gives a traced scalar" if view.dtype.bits >= 8 else "load it first"
    return TraceError(
        f"{view!r} is used with {symbol}", where=here(), why="a view says where values are; it has none itself", legal=legal
    )


# What other libraries call what a view can do.
_ELSEWHERE = {
    **dict.fromkeys(("T", "transpose"), "x.permute(1, 0)"),
    **dict.fromkeys(("reshape", "flatten", "ravel"), "x.view(shape)"),
    **dict.fromkeys(("astype", "to"), "x.view(dtype) keeps the bits, tile.apply with a cvt converts"),
    "load": "px.ptx.ld.global_.f32(x[i])",
    "store": "px.ptx.st.global_.f32(x[i], value)",
}
_METHODS = ("view", "rearrange", "permute", "sub", "box", "shape", "dtype", "layout", "ndim", "space")


class _Dimension(Expr):
    """A named runtime extent of a view: an expression to prove with, and a traced integer wherever one is computed with."""

    __slots__ = ()

    def __ptxgen_value__(self, builder: Builder) -> Value:
        return builder.value_of(self.symbols[0])


def _dimension(extent: Expr) -> Expr:
    named = len(extent.symbols) == 1 and extent == Expr.of(extent.symbols[0])
    return _Dimension(extent.terms) if named else extent


@operatorless(_no_value)
class View:
    """A traced tensor.

    Attributes
    ----------
    dtype : Type
        Element type.
    shape : tuple
        Ints, and named runtime dims as expressions.
    layout : Layout
        Positions in bits from the storage's first bit.
    """

    __slots__ = ("builder", "dtype", "layout", "region", "storage")
    __array_ufunc__ = None

    def __init__(self, builder: Builder, dtype: Type, storage: Memory | Registers, layout: Layout) -> None:
        self.builder = builder
        self.dtype = dtype
        self.storage = storage
        self.layout = layout
        self.region = builder.region

    def _with(self, layout: Layout, dtype: Type | None = None) -> View:
        self.check_visible()
        return View(self.builder, dtype or self.dtype, self.storage, layout)

    def check_visible(self) -> None:
        """Refuse a view where the guards that prove its bounds are not in force."""
        trace = active()
        if trace is not None and trace is not self.builder:
            raise TraceError(
                f"{self!r} belongs to {self.builder.name}, and is used in {trace.name}", where=here(),
                why="a function has registers of its own", legal="pass it as an argument: x: px.Tensor(shape, dtype)",
            )  # fmt: skip
        if self.builder.region.inside(self.region):
            return
        raise TraceError(
            f"{self!r} is a view made inside the {self.region.kind} block at {self.region.where} and used outside of it",
            where=here(), why="what proves its bounds holds in that block alone", legal="make the view where it is used",
        )  # fmt: skip

    @property
    def shape(self) -> tuple[Scalar, ...]:
        return tuple([one if isinstance(one, int) else _dimension(one) for one in self.layout.shape])

    @property
    def ndim(self) -> int:
        return self.layout.ndim

    @property
    def space(self) -> str:
        """State space without its dot; ``"reg"`` for a register tile."""
        return self.storage.space if isinstance(self.storage, Memory) else "reg"

    def __repr__(self) -> str:
        """With the name that the user's Python gives the storage: for messages, as it reads the source."""
        from ptxgen.tracing.source import assigned_name

        return self.described(assigned_name(self.storage.where))

    def described(self, name: str = "") -> str:
        """Name, shape, type and space."""
        shape = ", ".join(map(str, self.shape))
        return f"{name or self.storage.name}[{shape}] {self.dtype.name} in .{self.space}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        import difflib

        near = _ELSEWHERE.get(name) or "".join(f"x.{one}" for one in difflib.get_close_matches(name, _METHODS, n=1))
        raise AttributeError(f"a view has no attribute {name!r}{f'; {near}' if near else ''}")

    def __setitem__(self, index: Any, value: Any) -> None:
        word = self.dtype.word
        store = f"px.ptx.st.{'global_' if self.space == 'global' else self.space}.{word}(x[i], value)"
        raise TraceError(
            f"an element of {self!r} is assigned", where=here(), why="which instruction stores is the kernel's to say",
            legal="px.tile.apply or px.tile.ewise into a part of it" if self.space == "reg" else f"{store}, or px.tile.apply",
        )  # fmt: skip

    def __len__(self) -> int:
        extent = self.shape[0] if self.shape else None
        if isinstance(extent, int):
            return extent
        raise TraceError(
            f"len() of {self!r}, whose first extent is {'missing' if extent is None else 'known only at run time'}", where=here(),
            legal="px.range(n) with the dim n, which runs on the GPU",
        )  # fmt: skip

    def __iter__(self) -> Any:
        raise TraceError(f"{self!r} can't be iterated over", where=here(), legal="index it: for k in range(n): x[k] (unrolled)")

    # ---- the same elements in another arrangement ---------------------------------------------------------------------

    def view(self, *shape_or_dtype: Any, dtype: Type | None = None) -> View:
        """The same storage in another shape (row-major order kept), or as elements of another type.

        Parameters
        ----------
        *shape_or_dtype : int or tuple of int, or Type
            ``v.view(4, 8)``, ``v.view((4, 8))``, ``v.view(px.b32)``, ``v.view((4, 8), dtype=px.b32)``. A type is applied first: the last
            dimension grows or shrinks. One extent may be -1: what is left. Traced integers stand for runtime extents: ``n // 8`` of a dim
            that is a multiple of 8.

        Raises
        ------
        LayoutError
            Where an extent does not split, or elements would be cut, by a swizzle or a register.
        """
        given = list(shape_or_dtype)
        if given and isinstance(given[0], Type):
            dtype = given.pop(0)
        if dtype is not None and not isinstance(dtype, Type):
            raise TraceError(f"{dtype!r} is no element type", where=here(), legal="x.view(px.b32), x.view((4, 8), dtype=px.b32)")
        layout = self.layout if dtype is None else self._retyped(dtype)
        if given:
            shape = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
            layout = reshaped(self.builder, layout, shape)
        return self._with(layout, dtype)

    def _retyped(self, dtype: Type) -> Layout:
        storage = self.storage
        if isinstance(storage, Registers) and dtype.bits > storage.container.bits:
            raise LayoutError(
                f"{self!r}: an element of .{dtype.name} does not fit into its registers of .{storage.container.name}",
                legal=f"declare the tile with container=px.b{dtype.bits}",
            )
        layout, last = self.layout, self.layout.shape[-1] if self.ndim else 1
        if isinstance(last, Expr) and dtype.bits > self.dtype.bits:
            layout = made_divisible(self.builder, layout, last, dtype.bits // self.dtype.bits)
        return layout.retype(self.dtype.bits, dtype.bits)

    def rearrange(self, pattern: str, **sizes: int) -> View:
        """Split, permute and merge axes by an einops pattern: ``v.rearrange("(w l) c -> w l c", l=32)``.

        ``1`` and ``()`` are axes of one element, and ``...`` stands for all axes that the left side does not name. A runtime extent splits
        where it is known to be a multiple: ``px.dim("n", multiple_of=8)``.
        """
        if not isinstance(pattern, str):
            raise TraceError(f"rearrange takes a pattern as text, not {pattern!r}", where=here(), legal='x.rearrange("a b -> b a")')
        return self._with(rearranged(self.builder, self.layout, pattern, sizes))

    def permute(self, *order: int) -> View:
        """The axes in another order."""
        return self._with(self.layout.permute(*order))

    # ---- a part of the elements ---------------------------------------------------------------------------------------

    def sub(self, starts: Sequence[Index], shape: Sequence[int], steps: Sequence[Index] | None = None) -> View:
        """The box of extents `shape` that begins at `starts`, every `steps`-th element; starts and steps are ints or traced integers.

        Raises
        ------
        TraceError
            Where it is not proved to lie inside; the message gives values that would leave it, or the guard that is missing.
        """
        if not all(isinstance(given, (tuple, list)) for given in (starts, shape)):
            raise TraceError(
                f"sub of {self!r} takes tuples, not {starts!r} and {shape!r}", where=here(),
                legal="x.sub((i, j), (8, 4)): a start and an extent for each axis",
            )  # fmt: skip
        if not len(starts) == len(shape) == self.ndim:
            raise LayoutError(
                f"sub of {self!r} needs {self.ndim} starts and extents, not {len(starts)} and {len(shape)}",
                legal="a start and an extent for each axis",
            )
        apart = [1] * self.ndim if steps is None else [index_expr(one, self.builder, f"step {axis}") for axis, one in enumerate(steps)]
        exprs = [index_expr(start, self.builder, f"start {axis}") for axis, start in enumerate(starts)]
        for axis, (start, extent, step) in enumerate(zip(exprs, shape, apart)):
            if isinstance(extent, Value) or hasattr(extent, "__ptxgen_value__"):
                raise TraceError(
                    f"extent {axis} of a part of {self!r} is known only at run time", where=here(),
                    why="a view's extents are part of the text", legal="a static extent; px.range over tiles, and a guarded tail",
                )  # fmt: skip
            if isinstance(step, Expr) and not proved(self.builder, step - 1):
                raise TraceError(
                    f"step {step} of axis {axis} of {self!r} is not proved to be at least 1", where=here(),
                    why="elements of a view lie apart", legal=f"guard it: with px.if_({step} > 0): ...",
                )  # fmt: skip
            self._prove_inside(axis, start, (extent - 1) * step)
        return self._with(self.layout.sub(exprs, shape, apart))

    def box(self, starts: Sequence[Index], shape: Sequence[int], steps: Sequence[int] | None = None, **options: str) -> Box:
        """The box of extents `shape` at `starts`, which may reach past the tensor's ends: an operand of tensor copies.

        Parameters
        ----------
        starts, shape : sequence
            One for each axis.
        steps : sequence of int, optional
            Every so many elements of each axis are taken, 1 to 8; along the last axis all.
        promotion, fill : str
            As for `ptxgen.runtime.TensorMap`: what L2 fetches at least, and what stands for elements outside of the tensor.
        """
        from ptxgen.tracing.boxes import Box

        return Box(self, starts, shape, steps, options)

    def __getitem__(self, index: Any) -> View:
        """NumPy's basic indexing: an int or traced integer drops the axis, a slice (positive step) keeps it, ``...`` fills up."""
        items = list(index) if isinstance(index, tuple) else [index]
        ellipses = [at for at, item in enumerate(items) if item is Ellipsis]  # by identity: == on a traced value makes a predicate
        if len(ellipses) > 1:
            raise LayoutError(f"index of {self!r} has more than one ellipsis", legal="one ..., which stands for all axes left out")
        for at in ellipses:
            items[at : at + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        if len(items) > self.ndim:
            raise LayoutError(
                f"{len(items)} indices into {self!r}, which has {self.ndim} axes", legal="an index or slice for each axis at most"
            )
        resolved = [self._index(axis, item) for axis, item in enumerate(items)]
        layout = self.layout
        for axis in reversed(range(len(items))):
            if len(layout.dims[axis]) > 1 and isinstance(resolved[axis], Expr):
                layout, resolved[axis : axis + 1] = parted(self.builder, layout, axis, items[axis], resolved[axis])
        return self._with(layout[tuple(resolved)])

    def _index(self, axis: int, item: Any) -> Any:
        if not isinstance(item, slice):
            return self._index_one(axis, index_expr(item, self.builder, f"index {axis}"))
        if item.start is item.stop is item.step is None:
            return item
        extent = self.shape[axis]
        start = 0 if item.start is None else index_expr(item.start, self.builder, f"start {axis}")
        stop = extent if item.stop is None else index_expr(item.stop, self.builder, f"stop {axis}")
        step = 1 if item.step is None else item.step
        if not isinstance(step, int) or step < 1:
            raise TraceError(
                f"the slice of axis {axis} of {self!r} has the step {step!r}", where=here(),
                legal="a positive int; x.sub((start,), (4,), (step,)) states how many elements a runtime step takes"
                if hasattr(step, "__ptxgen_value__") or isinstance(step, Value)
                else "a positive int; x.view and x.permute rearrange whole axes",
            )  # fmt: skip
        length = Expr.of(stop) - start
        if length.constant is None:
            raise TraceError(
                f"the slice of axis {axis} of {self!r} has the runtime length {length}",
                where=here(),
                why="a view's extents are part of the text; and a sum that may wrap around has no known distance from its start",
                legal="x.sub((start,), (4,)), which states a static length, or px.range over single elements",
            )
        if isinstance(start, int) and isinstance(stop, int) and isinstance(extent, int):
            start, stop = (end + extent if end < 0 else end for end in (start, stop))
            return slice(start, stop, step)  # constant bounds are the layout's to check
        self._prove_inside(axis, start, (length.constant - 1) // step * step)
        return slice(start, stop, step)

    def _index_one(self, axis: int, at: Scalar) -> Scalar:
        extent = self.layout.shape[axis]
        if isinstance(at, int) and at < 0 and isinstance(extent, int):
            at += extent
        self._prove_inside(axis, at, 0)
        return at

    def _prove_inside(self, axis: int, start: Scalar, last: Scalar) -> None:
        """Prove 0 <= start and start + last < extent with the facts in force."""
        extent = self.layout.shape[axis]
        if isinstance(start, int) and isinstance(last, int) and isinstance(extent, int) and 0 <= start < extent - last:
            return
        if not proved(self.builder, start):
            raise self._outside(axis, start, last, Expr.of(start), "at least 0")
        room = extent - (last + 1) - start
        if not proved(self.builder, room):
            raise self._outside(axis, start, last, Expr.of(room), f"below {extent}")

    def _outside(self, axis: int, start: Scalar, last: Scalar, goal: Expr, rule: str) -> TraceError:
        """The refusal of a part that is not proved to lie inside, with values of the runtime integers for which it does not."""
        extent, end = self.shape[axis], Expr.of(start) + last
        several = not isinstance(last, int) or last > 0
        index = f"index {start}{f' to {end}' if several else ''} of axis {axis} of {self!r}"
        if goal.constant is not None:
            if not isinstance(extent, int):
                last_one = f"{extent} - 1"
                return TraceError(f"{index} is not {rule}", where=here(), legal=f"0 or more; x[{last_one}] is the last")
            assert isinstance(last, int)  # the goal is constant, and so are its parts
            inside = f"0 to {extent - 1 - last}" if extent > last else "none: the part is larger than the axis"
            return TraceError(f"{index} is not {rule}", where=here(), legal=f"starts {inside}" if several else f"indices {inside}")
        facts = self.builder.facts()
        launched = [Expr.of(one) - 1 for one in goal.symbols if one.lo == 0 and one.key == (tuple, ("dim", one.name))]
        wrapped = self._wrapping(goal, [*facts, *launched]) or self._wrapping(goal, facts)
        if wrapped is not None:
            return TraceError(
                f"{index} is not proved to be {rule}", where=here(), why=wrapped,
                legal=f"bound {start} as well: with px.if_(({start} < {extent}) & ...): ...",
            )  # fmt: skip
        found = self._in_a_thread(goal) or refuted(self.builder, goal, [*facts, *launched]) or refuted(self.builder, goal, facts)
        shown = ", ".join(f"{symbol.name} = {value}" for symbol, value in found.items())
        product = None if shown else doubtful(self.builder, goal)
        unknown = f"{product} may wrap, and nothing else bounds it" if product is not None else "nothing known here bounds it"
        dims = "; or dims whose products fit: px.dim(name, max=...)" if product is not None else ""
        guard = f"with px.if_({start} >= 0): ..." if rule == "at least 0" else f"with px.if_({end} < {extent}): ..."
        return TraceError(
            f"{index} is not proved to be {rule}",
            where=here(),
            why=f"it leaves the tensor for {shown}" if shown else unknown,
            legal=f"guard it: {guard}; or make the extents divide{dims}",
        )

    def _in_a_thread(self, goal: Expr) -> dict[Symbol, int]:
        """What a goal's symbols are in the first active thread in which it is negative, where they depend on the thread alone."""
        arrays, values = self.builder.thread_arrays, self.builder.over_threads(goal)
        if values is None:
            return {}
        active = self.builder.active_threads()
        thread = int(active[int((values[active] < 0).argmax())])
        return {symbol: int(arrays[symbol][thread]) for symbol in goal.symbols}

    def _wrapping(self, goal: Expr, facts: Sequence[Expr]) -> str | None:
        """That a guard states something of a sum that may wrap, with values for which it holds and the goal does not."""
        for symbol, exact in self.builder.wrapping.items():
            if not any(symbol in fact.symbols for fact in facts) or len(exact.symbols) != 1 or exact.symbols[0] not in goal.symbols:
                continue
            of, (bottom, top) = exact.symbols[0], bounds(self.builder.values[symbol].type)
            step = (exact - Expr.of(of)).constant
            if not step:
                continue
            start = top + 1 - step if step > 0 else bottom  # the first value for which the sum wraps, or the least of all
            if (of.lo is not None and start < of.lo) or (of.hi is not None and start > of.hi):
                continue
            given = {of: start, symbol: bottom if step > 0 else top + 1 + step}
            rest = counterexample(goal.substitute(given), [fact.substitute(given) for fact in facts])
            if rest is not None:
                shown = "".join(f", {other.name} = {value}" for other, value in rest.items())
                return f"{exact} in the guard may wrap: it is {given[symbol]} for {of.name} = {start}{shown}, and the guard holds"
        return None

    # ---- as an operand of one instruction -----------------------------------------------------------------------------

    def __ptxgen_address__(self, builder: Builder) -> tuple[ir.Address, Given]:
        """The address of this view's first element, as a raw instruction takes it."""
        from ptxgen.tile.addresses import scalar_address

        if not isinstance(self.storage, Memory):
            raise TraceError(
                f"{self!r} is a register tile and has no address", where=here(),
                legal="a px.Tensor parameter, a px.shared tile, or a part of one",
            )  # fmt: skip
        return scalar_address(builder, self)
