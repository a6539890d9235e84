"""Copies between memory and registers, or from global into shared memory: the widest legal access, coalesced over lanes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ptxgen.errors import InstructionError
from ptxgen.instructions.arguments import ELEMENT
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.targets import FIRST_VERSION, spelled
from ptxgen.instructions.types import TYPES, Type
from ptxgen.kernels.annotations import Dim
from ptxgen.layouts.arguments import COUNT, FLAG, INTEGER, SEQUENCE, SHAPE, TEXT, takes
from ptxgen.layouts.axes import AxisTerm, laneid, m, tid_in_wg, tx
from ptxgen.layouts.dims import Dims
from ptxgen.layouts.errors import Impossible, LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.search import Partition, partition, smallest_conflict
from ptxgen.layouts.spec import Shard, row_major
from ptxgen.solve.arrangement import Arrangement, braced

__all__ = ["CopyPart", "CopyPlan", "copy"]

_THREAD_AXES = {"warp": laneid, "warpgroup": tid_in_wg, "cta": tx}
_MOST_THREADS = {"thread": 1, "warp": 32, "warpgroup": 128, "cta": 1024}


class CopyPart(NamedTuple):
    """What one `px.tile.apply` copies.

    Attributes
    ----------
    threads : int
        Threads that take part, the first ones of the scope.
    memory, tile : Arrangement
        The views of the tensor and of the tile: (threads, repeats, atom).
    """

    threads: int
    memory: Arrangement
    tile: Arrangement


class CopyPlan(NamedTuple):
    """How a tile is copied.

    ``r = px.local(**plan.tile)``, then for each of `parts`, guarded where `guard` says so,
    ``px.tile.apply(plan.opcode, part.tile(r), part.memory(x), scope=plan.scope)``; a store takes the memory first. For an asynchronous copy
    the tile is a shared one, ``px.shared(**plan.tile)``.

    Attributes
    ----------
    opcode : str
    width : int
        Bytes of one access.
    tile : dict
        Arguments of `px.local`: shape, dtype, layout, container; of `px.shared` for an asynchronous copy. It has the axes of the tensor
        where they part into those of threads and registers, else they are merged; ragged axes are longer.
    parts : tuple of CopyPart
        One, or a second one for what is left over where threads and extents do not divide.
    scope : str
    shape, dtype, strides, align
        The tile as it was given; strides in elements, `align` in bytes.
    instructions : int
        Accesses of one thread.
    sectors : int
        Sectors of 32 bytes that the accesses of all warps touch together.
    reasons : tuple of str
        Why the access is no wider.
    """

    opcode: str
    width: int
    tile: Mapping[str, Any]
    parts: tuple[CopyPart, ...]
    scope: str
    shape: tuple[int, ...]
    dtype: Type
    strides: tuple[Scalar, ...]
    align: int
    threads: int
    instructions: int
    sectors: int
    reasons: tuple[str, ...]

    @property
    def layout(self) -> Layout:
        """The register tile's layout."""
        found: Layout = self.tile["layout"]
        return found

    @property
    def guard(self) -> str:
        """The conditions under which the parts run, "" where all threads take part in everything."""
        index = {"warp": "px.sreg.laneid", "warpgroup": "px.tid.x % 128"}.get(self.scope, "px.tid.x")
        guards = [f"{index} < {part.threads}" if part.threads < self.threads else "all threads" for part in self.parts]
        return "; ".join(guards) if any(part.threads < self.threads for part in self.parts) else ""

    def check(self) -> None:
        """Prove the plan over all elements: each is copied once, by the thread that owns its register, in whole aligned accesses.

        Raises
        ------
        LayoutError
            With the first element for which it does not hold.
        """
        _check(self)

    def __str__(self) -> str:
        shape = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        each = f"{self.width} byte{'s' if self.width > 1 else ''} an access, {self.instructions} a thread"
        lines = [f"copy of ({shape}) {self.dtype.name} by {self.threads} threads: {each}", f"  opcode: {self.opcode}"]
        lines += [f"  no wider: {reason}" for reason in self.reasons]
        held = f", container=px.{self.tile['container'].name}" if self.tile.get("container") is not None else ""
        kind = "local" if "container" in self.tile else "shared"
        lines.append(f"  tile: px.{kind}({self.tile['shape']}, px.{self.dtype.name}, layout={self.layout!r}{held})")
        for number, part in enumerate(self.parts):
            name = f" of part {number}" if len(self.parts) > 1 else ""
            lines.append(f"  memory{name}: x{part.memory}")
            if part.tile != part.memory:
                lines.append(f"  tile{name}: r{part.tile}")
        if self.guard:
            lines.append(f"  guard: {self.guard}")
        least = -(-prod(self.shape) * self.dtype.bits // 256)
        lines.append(f"  sectors: {self.sectors} of 32 bytes for {least} of data")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


@takes(
    shape=SHAPE, dtype=ELEMENT, threads=INTEGER, strides=SEQUENCE, align=COUNT, direction=TEXT, space=TEXT, qualifiers=TEXT, width=COUNT,
    whole=FLAG, target=TEXT, scope=TEXT,
)  # fmt: skip
def copy(
    shape: int | Sequence[int],
    dtype: Type,
    *,
    threads: int,
    strides: Sequence[int | Expr | Dim] | None = None,
    align: int | None = None,
    direction: str = "load",
    space: str = "global",
    qualifiers: str = "",
    width: int | None = None,
    whole: bool = False,
    target: str | None = None,
    scope: str = "cta",
) -> CopyPlan:
    """The widest legal access for a tile, and the views with which neighbouring lanes touch neighbouring memory.

    Of the accesses that the contract allows on `target` the widest is taken that divides the alignment, every stride and the contiguous
    extent; then the cut among threads that touches the fewest sectors, with the fewest accesses a thread. Nothing is emitted.

    Parameters
    ----------
    shape : int or tuple of int
        The tile's extents.
    dtype : Type
        Its elements.
    threads : int
        Threads of the scope.
    strides : sequence of int or px.dim, optional
        Elements between neighbours along each axis; row-major by default. A `px.dim` counts by what is known to divide it:
        ``multiple_of=``.
    align : int, optional
        Bytes that divide the address of the first element; those of an element by default.
    direction : {"load", "store", "async"}
        Into registers, out of them, or by cp.async into a row-major shared tile.
    space : str
        Where the memory is: "global", "shared", "const" or "local".
    qualifiers : str
        What the opcode says besides, as it is spelled between space and width: ``".nc.L1::no_allocate"``.
    width : int, optional
        Demands accesses of so many bytes.
    whole : bool
        Demands that all threads take part in every access, so that nothing is guarded.
    target : str, optional
        Where it shall run, "sm_100a"; by default only what is there wherever the instruction exists.
    scope : {"thread", "warp", "warpgroup", "cta"}
        Whose threads share the tile.

    Returns
    -------
    CopyPlan

    Raises
    ------
    Impossible
        With the smallest set of demands in conflict.
    LayoutError
        For arguments without a meaning.
    """
    tile = _Tile(shape, dtype, strides, align)
    apart = _Tile(shape, dtype, strides, align, merged=False)
    if scope not in _MOST_THREADS or not 1 <= threads <= _MOST_THREADS[scope]:
        most = _MOST_THREADS.get(scope)
        raise LayoutError(f"{threads} threads at scope {scope!r}", legal=f"1 to {most}" if most else f"scope {' | '.join(_MOST_THREADS)}")
    accesses = _accesses(_stem(direction, space, qualifiers), dtype, direction)
    demands = _demands(tile, accesses, direction, width, target)
    meets = _table(accesses, demands)
    reasons: dict[int, str] = {}
    for access, row in zip(accesses, meets):
        if not row.all():
            reasons.setdefault(access.bytes, f"{access.opcode} moves {access.bytes} bytes, but {demands[int(np.argmin(row))][0]}")
            continue
        cuts = [(one, cut) for one in (apart, tile) if one.divides(access) and (cut := one.cut(access, threads, whole)) is not None]
        if cuts:
            of, cut = min(cuts, key=lambda one: one[1].cost)
            return _plan(of, access, cut, threads, scope, direction, tuple(reasons.values())[-1:])
    raise _impossible(tile, accesses, demands, direction, threads, whole)


# ---- what is copied --------------------------------------------------------------------------------------------------


class _Tile:
    """A tile in memory, its axes in the order of their strides, and merged where they can be.

    Attributes
    ----------
    order : tuple of int
        The axes, the one with the greatest stride first.
    groups : list of list of int
        Axes that are one axis of `extents` and `steps`.
    """

    def __init__(
        self, shape: int | Sequence[int], dtype: Type, strides: Sequence[int | Expr | Dim] | None, align: int | None, merged: bool = True
    ) -> None:
        self.shape: tuple[int, ...] = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = dtype
        if any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in self.shape):
            raise LayoutError(f"a tile of shape {self.shape}", legal="positive ints: what a kernel copies at once is static")
        rows = tuple(part[0][1][m] for part in row_major(self.shape))
        self.strides: tuple[Scalar, ...] = rows if strides is None else tuple(map(_stride, strides))
        if len(self.strides) != len(self.shape):
            raise LayoutError(f"{len(self.strides)} strides for shape {self.shape}", legal="one for each axis")
        self.align = max(1, dtype.bits // 8) if align is None else align
        sizes = [(not isinstance(one, int), abs(one) if isinstance(one, int) else 0) for one in self.strides]
        self.order = tuple(sorted(range(len(sizes)), key=lambda axis: (sizes[axis], -axis), reverse=True))
        self.groups: list[list[int]] = []
        self.extents: list[int] = []
        self.steps: list[Scalar] = []
        for axis in self.order:
            extent, step = self.shape[axis], self.strides[axis]
            if merged and self.groups and (extent == 1 or self.steps[-1] == Expr.of(step) * extent):
                self.groups[-1].append(axis)
                self.extents[-1] *= extent
                self.steps[-1] = self.steps[-1] if extent == 1 else step
            else:
                self.groups.append([axis])
                self.extents.append(extent)
                self.steps.append(step)
        if not self.groups:
            self.groups, self.extents, self.steps = [[]], [1], [1]

    @property
    def run(self) -> int:
        """Elements that follow one another in memory."""
        return self.extents[-1] if self.steps[-1] == 1 else 1

    def divides(self, access: _Access) -> bool:
        """Whether the contiguous axis consists of whole accesses, without which there is no grid to cut."""
        return self.run * self.dtype.bits % access.bits == 0 and access.bits % self.dtype.bits == 0

    def divisors(self) -> list[tuple[str, int]]:
        """What moves the address of an access, in words, and the bits that are known to divide it."""
        found = [(f"the address of the first element is a multiple of {self.align} bytes", self.align * 8)]
        for extent, step in zip(self.extents, self.steps):
            bits = Expr.of(step).divisor() * self.dtype.bits
            if extent > 1 and step != 1 and bits:
                known = "" if isinstance(step, int) else f"({step} elements) known to be multiples of "
                found.append((f"an axis of {extent} has steps of {known}{_bytes(bits)}", bits))
        return found

    def arrangement(self) -> Arrangement:
        """The tile with the merged axes, slowest in memory first."""
        made = Arrangement().permute(*self.order) if self.shape else Arrangement()
        return made if len(self.groups) == len(self.shape) else made.view(*self.extents)

    def dense(self) -> Layout:
        """A layout without gaps that has its axes in the same order."""
        steps: dict[int, int] = {}
        total = 1
        for axis in reversed(self.order):
            steps[axis] = total
            total *= self.shape[axis]
        return Layout(Shard(tuple(((extent, AxisTerm.of(steps[axis])),) for axis, extent in enumerate(self.shape))))

    def cut(self, access: _Access, threads: int, whole: bool) -> Partition | None:
        each = access.bits // self.dtype.bits
        grid = [*self.extents[:-1], self.extents[-1] // each]
        known = [step if isinstance(step, int) else 1 << 20 for step in self.steps]
        steps = [step * self.dtype.bits // 8 for step in known[:-1]] + [known[-1] * each * self.dtype.bits // 8]
        return partition(grid, steps, access.bytes, threads, whole=whole)


def _stride(given: Any) -> Scalar:
    if isinstance(given, Dim):
        return Expr.of(given.symbol)
    return as_scalar(given, "a stride")


class _Access(NamedTuple):
    """One opcode, the words that it moves, and their type."""

    opcode: str
    words: int
    word: Type
    match: Match

    @property
    def bits(self) -> int:
        return self.words * self.word.bits

    @property
    def bytes(self) -> int:
        return self.bits // 8


def _stem(direction: str, space: str, qualifiers: str) -> str:
    if direction == "async":
        return f"cp.async{qualifiers or ''}"
    if direction not in ("load", "store"):
        raise LayoutError(f"direction {direction!r}", legal='"load", "store" or "async"')
    return f"{'ld' if direction == 'load' else 'st'}.{space}{qualifiers}"


def _accesses(stem: str, dtype: Type, direction: str) -> list[_Access]:
    """The accesses that the contract allows for elements of a type, widest first."""
    return _asynchronous(stem) if direction == "async" else _words(stem, dtype)


_WORDS = tuple(one for one in TYPES.values() if one.kind == "bits")


@lru_cache(maxsize=64)
def _words(stem: str, dtype: Type) -> list[_Access]:
    """Vectors of the words that hold whole elements: of 32 bits for narrower ones, but for accesses that are narrower themselves."""
    words = [one for one in _WORDS if one.bits % dtype.bits == 0 and (one.bits == max(dtype.bits, 32) or one.bits < 32)]
    found: list[_Access] = []
    for word in words:
        match = lookup(f"{stem}.{word.name}")[0]
        found.append(_Access(match.opcode, 1, word, match))
        for count in _lengths(match) if word.bits >= 32 else ():
            opcode = f"{stem}.v{count}.{word.name}"
            try:
                found.append(_Access(opcode, count, word, lookup(opcode)[0]))
            except InstructionError:
                continue  # no vector of so many of these words
    return sorted(found, key=lambda one: one.bits, reverse=True)


def _lengths(match: Match) -> list[int]:
    """Lengths of vectors that the contract speaks of."""
    words = {word for form in forms(match.entry) for word in form.words}
    return sorted(int(word[2:]) for word in words if re.fullmatch(r"\.v\d+", word))


def _asynchronous(stem: str) -> list[_Access]:
    """The sizes that cp.async moves, by its contract; past L1 where it may."""
    found = []
    for cached in (".cg", ".ca"):
        opcode = f"{stem.replace('cp.async', f'cp.async{cached}.shared.global', 1)}"
        match = lookup(opcode)[0]
        sized = match.entry.tile.sized["dst"].split() if match.entry.tile is not None else []
        said = next(slot.name for slot in match.form.operand_lists[0] if slot.name in sized)
        sizes = match.entry.operands[said].values or ()
        found += [_Access(opcode, size, TYPES["b8"], match) for size in sizes if isinstance(size, int)]
    return sorted(found, key=lambda one: (one.bits, ".cg" in one.opcode), reverse=True)


_Demand = tuple[str, Any]


def _demands(tile: _Tile, accesses: list[_Access], direction: str, width: int | None, target: str | None) -> list[_Demand]:
    """What an access has to meet: a sentence, and a test."""
    if target is not None and target not in FIRST_VERSION:
        raise LayoutError(f"unknown target {target!r}", legal=", ".join(FIRST_VERSION))
    everywhere = frozenset[str]().union(*(access.match.targets for access in accesses))
    wanted = everywhere if target is None else frozenset((target,))
    bits = tile.dtype.bits
    demands: list[_Demand] = []
    if width is not None:
        demands.append((f"an access moves {width} bytes", lambda one: one.bytes == width))
    runs = f"the target is {target}" if target else "no target= is named, and the kernel runs wherever the instruction exists"
    demands.append((runs, lambda one: wanted <= one.match.targets))
    demands.append((f"elements of {bits} bits are not cut", lambda one: one.bits % bits == 0))
    demands.append((f"runs of {tile.run} elements, {_bytes(tile.run * bits)}, are contiguous", lambda one: tile.run * bits % one.bits == 0))
    demands += [(text, lambda one, known=known: known % one.bits == 0) for text, known in tile.divisors()]
    if direction != "load":
        for extent, step in zip(tile.extents, tile.steps):
            if step == 0 and extent > 1:
                demands.append((f"an axis of {extent} has stride 0: as many threads would write one element", lambda one: False))
    return demands


def _bytes(bits: int) -> str:
    return f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"


def _table(accesses: Sequence[_Access], demands: Sequence[_Demand]) -> np.ndarray:
    return np.array([[holds(access) for _, holds in demands] for access in accesses])


def _impossible(
    tile: _Tile, accesses: list[_Access], demands: list[_Demand], direction: str, threads: int, whole: bool
) -> Impossible:
    tried, least = accesses, min((one.bytes for one in accesses), default=1)
    if direction == "async":  # narrower ones would do, were there any
        tried = [*accesses, *(accesses[-1]._replace(words=1 << at) for at in range((least - 1).bit_length()))]
        demands = [(f"cp.async moves at least {least} bytes", lambda one: one.bytes >= least), *demands]
    sentences, meets = [text for text, _ in demands], _table(tried, demands)
    if whole:
        sentences.append(f"all {threads} threads take part in every access to {prod(tile.shape)} elements")
        cuts = [tile.divides(one) and tile.cut(one, threads, True) is not None for one in tried]
        meets = np.concatenate([meets, np.array(cuts, np.bool_)[:, None]], axis=1)
    if not accesses:
        sentences, meets = [f"elements of {tile.dtype.bits} bits lie whole in a word"], np.zeros((1, 1), np.bool_)
    conflict = smallest_conflict(meets)
    known = ", ".join(sorted({f"{one.bytes} ({spelled(one.match.targets)})" for one in accesses}, key=lambda text: int(text.split()[0])))
    legal = f"bytes that the instruction moves: {known}" if known else "elements whose bits divide 8, 16, 32 or 64"
    if whole and accesses and len(sentences) - 1 in conflict:
        legal = "as many threads as divide the accesses, or whole=False, where some are idle"
    return Impossible(
        f"no access copies a tile of shape {tile.shape} of {tile.dtype.name} so", [sentences[at] for at in conflict], legal=legal
    )


# ---- the plan --------------------------------------------------------------------------------------------------------


def _plan(
    tile: _Tile, access: _Access, cut: Partition, threads: int, scope: str, direction: str, reasons: tuple[str, ...]
) -> CopyPlan:
    each = access.bits // tile.dtype.bits
    if direction == "async":
        layout, logical = tile.dense(), False
        held: dict[str, Any] = {}
    else:
        layout, logical = _register_layout(tile, cut, each, scope)
        held = {"container": access.word if access.word.bits > tile.dtype.bits else None}
    made: dict[str, Any] = {"shape": layout.shape, "dtype": tile.dtype, "layout": layout, **held}
    parts = tuple(_parts(tile, access, cut, each, logical, direction))
    return CopyPlan(
        access.opcode, access.bytes, MappingProxyType(made), parts, scope, tile.shape, tile.dtype, tile.strides, tile.align, threads,
        prod(cut.repeats), cut.sectors, reasons,
    )  # fmt: skip


def _register_layout(tile: _Tile, cut: Partition, each: int, scope: str) -> tuple[Layout, bool]:
    """The register tile, and whether it has the tile's own axes: merged ones that do not part stay merged."""
    axis = _THREAD_AXES.get(scope, tx)
    thread_step: dict[int, int] = {}
    total = 1
    for at in reversed(cut.order):
        thread_step[at] = total
        total *= cut.threads[at]
    dims: list[Dims] = []
    place = each
    for at in reversed(range(len(cut.grid))):
        part: Dims = ((cut.repeats[at], AxisTerm.of(place)), (cut.threads[at], AxisTerm(((axis, thread_step[at]),))))
        dims.append((*part, (each, AxisTerm.of(1))) if at == len(cut.grid) - 1 else part)
        place *= cut.repeats[at]
    layout = Layout(Shard(tuple(reversed(dims))))
    if cut.ragged is not None and len(tile.groups[cut.ragged]) > 1:
        return layout, False
    extents = [layout.shape[group] if len(axes) == 1 else tile.shape[axis] for group, axes in enumerate(tile.groups) for axis in axes]
    try:
        unmerged = layout.reshape(*extents)
    except LayoutError:
        return layout, False
    return unmerged.permute([tile.order.index(at) for at in range(len(tile.order))]), True


def _parts(tile: _Tile, access: _Access, cut: Partition, each: int, logical: bool, direction: str) -> list[CopyPart]:
    """The views of each part: (threads, repeats, words of an access)."""
    memory = tile.arrangement()
    held = Arrangement()
    if direction == "async":
        held = memory
    elif logical:
        extents = [repeats * threads for repeats, threads in zip(cut.repeats, cut.threads)]
        held = held.permute(*tile.order)
        held = held if len(tile.groups) == len(tile.shape) else held.view(*extents[:-1], extents[-1] * each)
    found = []
    for threads, pieces, first in _boxes(cut):
        views = [memory, held]
        if cut.ragged is not None:
            unit = each if cut.ragged == len(cut.grid) - 1 else 1
            start, stop = first * unit, (first + pieces[cut.ragged]) * unit
            views = [one.part(cut.ragged, len(cut.grid), start, stop) for one in views]
        pattern, sizes = _pattern(cut, threads, each)
        views = [one.rearrange(pattern, **sizes) for one in views]
        if access.word.bits != tile.dtype.bits and direction != "async":
            views = [one.retype(access.word) for one in views]
        found.append(CopyPart(prod(threads), *views))
    return found


def _boxes(cut: Partition) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """For each part: threads along each axis, pieces along each axis, and where it begins on the ragged axis."""
    if cut.ragged is None:
        return [(cut.threads, cut.grid, 0)]
    at, count = cut.ragged, cut.threads[cut.ragged]
    whole = cut.grid[at] // count * count
    rest = cut.grid[at] - whole

    def sized(values: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*values[:at], value, *values[at + 1 :])

    return [(cut.threads, sized(cut.grid, whole), 0), (sized(cut.threads, rest), sized(cut.grid, rest), whole)]


def _pattern(cut: Partition, threads: tuple[int, ...], each: int) -> tuple[str, dict[str, int]]:
    names = [chr(ord("a") + at) for at in range(len(cut.grid))]
    left, sizes = [], {}
    for at, name in enumerate(names):
        left.append(f"({name}r {name}t{' v' if at == len(names) - 1 else ''})")
        sizes[f"{name}t"] = threads[at]
    sizes["v"] = each
    group = braced([f"{names[at]}t" for at in cut.order])
    return f"{' '.join(left)} -> {group} {braced([f'{name}r' for name in names])} v", sizes


# ---- proof -----------------------------------------------------------------------------------------------------------


def _check(plan: CopyPlan) -> None:
    bits = plan.dtype.bits
    # Runtime strides stand for numbers far apart that have exactly the divisor that is known of them.
    far = [step if isinstance(step, int) else Expr.of(step).divisor() << (24 + 4 * at) for at, step in enumerate(plan.strides)]
    memory = Layout(Shard(tuple(((extent, AxisTerm.of(step)),) for extent, step in zip(plan.shape, far)))).bind(bits)
    copied = []
    for part in plan.parts:
        elements = _elements(part.memory)
        places = elements.on(memory, bits)[0].table().m
        _check_accesses(plan, places, part.memory)
        copied.append(places.ravel())
        _check_tile(plan, part, places.shape)
    found, wanted = np.sort(np.concatenate(copied)), np.sort(memory.table().m.ravel())
    wrong = np.flatnonzero(found != wanted) if len(found) == len(wanted) else [0]
    if len(wrong):
        raise LayoutError(f"{plan.opcode}: the element {int(wanted[wrong[0]]) // 8} bytes behind the first is not copied exactly once")


def _elements(views: Arrangement) -> Arrangement:
    """The same views of elements instead of words."""
    return Arrangement([step for step in views.steps if step[0] != "retype"])


def _check_accesses(plan: CopyPlan, places: np.ndarray, views: Arrangement) -> None:
    """Each access is consecutive elements at a multiple of its width."""
    count = places.shape[-1]
    if count * plan.dtype.bits != plan.width * 8 or (places != places[..., :1] + np.arange(count) * plan.dtype.bits).any():
        raise LayoutError(f"{plan.opcode}: x{views} is not made of {plan.width} consecutive bytes")
    if (places[..., 0] % (plan.width * 8)).any() or plan.align % plan.width:
        raise LayoutError(f"{plan.opcode}: x{views} is not aligned to {plan.width} bytes")


def _check_tile(plan: CopyPlan, part: CopyPart, shape: tuple[int, ...]) -> None:
    """Each thread has the registers that it names, the same in all; or the shared tile's bytes lie as the tensor's do."""
    table = _elements(part.tile).on(plan.layout.bind(plan.dtype.bits), plan.dtype.bits)[0].table()
    if "container" not in plan.tile:
        _check_accesses(plan, table.m, part.tile)
        return
    owner = np.zeros(table.shape, np.int64) if table.thread is None else table.thread
    if table.shape != shape or (owner != np.arange(shape[0])[:, None, None]).any() or (table.m != table.m[:1]).any():
        raise LayoutError(f"{plan.opcode}: a thread would touch another thread's registers in r{part.tile}")
