"""Triton's encodings of tiles, as the linear layouts that they stand for.

Classes are immutable, take the attribute's parameters as keywords, and print as the attribute's text. What each means was taken from the
descriptions in Triton's TritonGPUAttrDefs.td and its conversions to linear layouts; "minor" is the dimension that `order` names first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ptxgen.layouts.arguments import SEQUENCE
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.interchange.linear import Basis, LinearLayout, bases_text
from ptxgen.layouts.interchange.widths import log2
from ptxgen.layouts.layout import Layout


class Encoding:
    """What all of Triton's encodings have: a text, and a linear layout for a shape."""

    __slots__ = ("cga_layout",)

    kind = ""  #: the attribute's mnemonic
    shared = False  #: whether it places a tile in shared memory
    cga_layout: tuple[Basis, ...]  #: for each bit of the block's number in a cluster, the part of the tile, counted in blocks

    def layout(self, shape: Sequence[int], bits: int | None = None) -> Layout:
        """The layout of ptxgen of a tile of this shape; `bits` are those of an element, which XORed offsets need."""
        return self.linear(shape).layout(bits)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout of a tile of this shape."""
        extents = checked_shape(shape, self.rank)
        blocks = block_steps(self.cga_layout, extents)
        own = tuple(extent // count for extent, count in zip(extents, block_counts(self.cga_layout, len(extents))))
        bases = self.block_bases(own)
        bases["block"] = blocks
        return LinearLayout(bases, extents)

    @property
    def rank(self) -> int | None:
        """Dimensions of a tile; None for any number."""
        return None

    def block_bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        """The bases of one block's part of the tile."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """The attribute's parameters by their names in the text."""
        raise NotImplementedError

    def __str__(self) -> str:
        given = self.parameters()
        if self.cga_layout:
            given.setdefault("CGALayout", self.cga_layout)
        return f"#ttg.{self.kind}<{{{fields_text(given)}}}>"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Encoding) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def fields_text(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_value_text(value)}" for name, value in fields.items())


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


# --- checks ---------------------------------------------------------------------------------------------------------------


def checked_shape(shape: Sequence[int], rank: int | None) -> tuple[int, ...]:
    if not SEQUENCE.holds(shape):
        raise LayoutError(f"the tile's shape is {shape!r}", legal="a tuple of powers of two")
    extents = tuple(shape)
    for place, extent in enumerate(extents):
        if not isinstance(extent, int) or log2(extent) is None:
            raise LayoutError(f"extent {extent} of dimension {place} is no power of two; Triton's tiles have no other extents")
    if rank is not None and len(extents) != rank:
        raise LayoutError(f"the shape {extents} has {len(extents)} dimensions, the encoding has {rank}")
    return extents


def checked_powers(values: Sequence[int], what: str) -> tuple[int, ...]:
    found = tuple(values)
    strange = next((value for value in found if not isinstance(value, int) or log2(value) is None), None)
    if strange is not None:
        raise LayoutError(f"{what} = {list(found)}: {strange} is no power of two")
    return found


def checked_power(value: int, what: str) -> int:
    return checked_powers((value,), what)[0]


def checked_order(order: Sequence[int], rank: int) -> tuple[int, ...]:
    found = tuple(order)
    if sorted(found) != list(range(rank)):
        raise LayoutError(f"order = {list(found)} does not name each of {rank} dimensions once")
    return found


def checked_cga(cga_layout: Sequence[Sequence[int]], rank: int | None) -> tuple[Basis, ...]:
    bases = tuple(tuple(basis) for basis in cga_layout)
    for basis in bases:
        if rank is not None and len(basis) != rank:
            raise LayoutError(f"CGALayout = {bases_text(bases)}: {list(basis)} has {len(basis)} coordinates, not {rank}")
        if sum(value != 0 for value in basis) > 1 or any(value and log2(value) is None for value in basis):
            raise LayoutError(f"CGALayout = {bases_text(bases)}: {list(basis)} is no step along one dimension")
    return bases


def block_counts(cga: tuple[Basis, ...], rank: int) -> list[int]:
    """Blocks along each dimension."""
    return [2 * max((basis[place] for basis in cga), default=0) or 1 for place in range(rank)]


def block_steps(cga: tuple[Basis, ...], shape: tuple[int, ...]) -> list[Basis]:
    counts = block_counts(cga, len(shape))
    for place, (extent, count) in enumerate(zip(shape, counts)):
        if extent < count:
            raise LayoutError(f"extent {extent} of dimension {place} does not split among {count} blocks")
    return [tuple(value * (extent // count) for value, extent, count in zip(basis, shape, counts)) for basis in cga]


# --- products of simple parts ---------------------------------------------------------------------------------------------


class _Tiling:
    """Bases that grow from the inside out: each part goes on where the last one along its dimension ended."""

    def __init__(self, rank: int) -> None:
        self.size = [1] * rank
        self.bases: dict[str, list[Basis]] = {}

    def add(self, name: str, place: int, count: int) -> None:
        """`count` neighbours along a dimension, one for each value of further bits of an input."""
        part = self.bases.setdefault(name, [])
        for _ in range(count.bit_length() - 1):
            part.append(tuple(self.size[place] if own == place else 0 for own in range(len(self.size))))
            self.size[place] *= 2

    def repeat(self, name: str, count: int) -> None:
        """Further bits of an input that change nothing."""
        self.bases.setdefault(name, []).extend([(0,) * len(self.size)] * (count.bit_length() - 1))

    def fitted(self, shape: tuple[int, ...], order: Sequence[int], keep_registers: bool) -> dict[str, list[Basis]]:
        """The bases for a shape: more registers where it is larger, zeros where it is smaller."""
        for place in order:
            self.add("register", place, max(1, shape[place] // self.size[place]))
        cut = {
            name: [tuple(value if value < extent else 0 for value, extent in zip(basis, shape)) for basis in part]
            for name, part in self.bases.items()
        }
        if not keep_registers:
            cut["register"] = [basis for basis in cut["register"] if any(basis)]
        return cut


# --- tiles in registers ---------------------------------------------------------------------------------------------------


class Blocked(Encoding):
    """`#ttg.blocked`: registers, lanes and warps tile the shape in this order, each along the minor dimension first.

    A tile that is larger than all of them together is repeated in further registers, minor dimension first; of one that is smaller,
    several threads hold the same elements.
    """

    __slots__ = ("order", "size_per_thread", "threads_per_warp", "warps_per_cta")

    kind = "blocked"

    def __init__(
        self,
        *,
        size_per_thread: Sequence[int],
        threads_per_warp: Sequence[int],
        warps_per_cta: Sequence[int],
        order: Sequence[int],
        cga_layout: Sequence[Sequence[int]] = (),
    ) -> None:
        self.order = checked_order(order, len(order))
        self.size_per_thread = checked_powers(size_per_thread, "sizePerThread")
        self.threads_per_warp = checked_powers(threads_per_warp, "threadsPerWarp")
        self.warps_per_cta = checked_powers(warps_per_cta, "warpsPerCTA")
        self.cga_layout = checked_cga(cga_layout, len(self.order))
        for name, value in list(self.parameters().items())[:3]:
            if len(value) != len(self.order):
                raise LayoutError(f"{name} = {list(value)} has {len(value)} dimensions, order = {list(self.order)} has {len(self.order)}")
        lanes = prod(self.threads_per_warp)
        if lanes != 32:
            raise LayoutError(f"threadsPerWarp = {list(self.threads_per_warp)} makes {lanes} threads; a warp has 32")

    @property
    def rank(self) -> int:
        return len(self.order)

    def block_bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        tiling = _Tiling(self.rank)
        for name, counts in (("register", self.size_per_thread), ("lane", self.threads_per_warp), ("warp", self.warps_per_cta)):
            for place in self.order:
                tiling.add(name, place, counts[place])
        return tiling.fitted(shape, self.order, keep_registers=False)

    def parameters(self) -> dict[str, Any]:
        return {
            "sizePerThread": self.size_per_thread,
            "threadsPerWarp": self.threads_per_warp,
            "warpsPerCTA": self.warps_per_cta,
            "order": self.order,
        }


class NvidiaMma(Encoding):
    """`#ttg.nvidia_mma`: results of mma.sync (version 2, of 16x8 elements) and wgmma (version 3, 16xN a warp).

    Warps run along n first in version 2, along m first in version 3. The shape may have a leading batch dimension in version 2.
    """

    __slots__ = ("instr_shape", "version", "warps_per_cta")

    kind = "nvidia_mma"

    def __init__(
        self,
        *,
        version: Sequence[int],
        warps_per_cta: Sequence[int],
        instr_shape: Sequence[int],
        cga_layout: Sequence[Sequence[int]] = (),
    ) -> None:
        self.version = tuple(version)
        self.warps_per_cta = checked_powers(warps_per_cta, "warpsPerCTA")
        self.instr_shape = tuple(instr_shape)
        self.cga_layout = checked_cga(cga_layout, len(self.warps_per_cta))
        if len(self.version) != 2 or self.version[0] not in (2, 3):
            raise LayoutError(f"nvidia_mma of version {'.'.join(map(str, self.version))}: versions 2 (mma) and 3 (wgmma) are known")
        rank = len(self.warps_per_cta)
        if not 2 <= rank <= (3 if self.version[0] == 2 else 2):
            raise LayoutError(f"warpsPerCTA = {list(self.warps_per_cta)}: nvidia_mma of version {self.version[0]} has no {rank} dimensions")
        if self.version[0] == 2 and self.instr_shape[-2:] != (16, 8):
            raise LayoutError(f"instrShape = {list(self.instr_shape)}: version 2 has instructions of 16x8")
        if self.version[0] == 3 and (len(self.instr_shape) != 3 or self.instr_shape[0] != 16):
            raise LayoutError(f"instrShape = {list(self.instr_shape)}: version 3 has [16, n, k], a warp's part of wgmma")
        if self.version[0] == 3 and (log2(self.instr_shape[1]) is None or self.instr_shape[1] < 8):
            raise LayoutError(f"instrShape = {list(self.instr_shape)}: n = {self.instr_shape[1]} is no power of two from 8")

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    def warp_order(self) -> list[int]:
        """Dimensions in the order in which warps run along them."""
        return list(range(self.rank))[:: -1 if self.version[0] == 2 else 1]

    def block_bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        n, rows = self.rank - 1, self.rank - 2
        tiling = _Tiling(self.rank)
        tiling.add("register", n, 2)
        tiling.add("lane", n, 4)
        tiling.add("lane", rows, 8)
        tiling.add("register", rows, 2)
        tiling.add("register", n, 1 if self.version[0] == 2 else self.instr_shape[1] // 8)
        for place in self.warp_order:
            tiling.add("warp", place, self.warps_per_cta[place])
        return tiling.fitted(shape, range(self.rank)[::-1], keep_registers=True)

    def parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = {"versionMajor": self.version[0], "versionMinor": self.version[1], "warpsPerCTA": self.warps_per_cta}
        if self.cga_layout:  # stands before the instruction's shape
            given["CGALayout"] = self.cga_layout
        return {**given, "instrShape": self.instr_shape}


class DotOperand(Encoding):
    """`#ttg.dot_op`: a (m x k, `op_idx` 0) or b (k x n, `op_idx` 1) of the product whose result the parent encodes.

    A thread holds `k_width` neighbours along k. Warps that differ along the other matrix's dimension hold the same elements.
    """

    __slots__ = ("k_width", "op_idx", "parent")

    kind = "dot_op"

    def __init__(self, *, op_idx: int, parent: Encoding, k_width: int = 0) -> None:
        if op_idx not in (0, 1):
            raise LayoutError(f"opIdx = {op_idx}: a product has operands 0 (a) and 1 (b)")
        if not isinstance(parent, NvidiaMma):
            raise LayoutError(f"a dot_op whose parent is {parent} is no operand of tensor cores; the parent must be #ttg.nvidia_mma")
        if parent.version[0] == 3 and op_idx == 1:
            raise LayoutError("opIdx = 1 under nvidia_mma of version 3: wgmma reads b from shared memory")
        self.op_idx, self.parent, self.k_width = op_idx, parent, checked_power(k_width, "kWidth")
        k = self.k_place
        self.cga_layout = tuple(tuple(0 if own == k else value for own, value in enumerate(basis)) for basis in parent.cga_layout)

    @property
    def rank(self) -> int:
        return self.parent.rank

    @property
    def k_place(self) -> int:
        """The dimension along which products are summed."""
        return self.parent.rank - (1 if self.op_idx == 0 else 2)

    def block_bases(self, shape: tuple[int, ...]) -> dict[str, list[Basis]]:
        k, other = self.k_place, 2 * self.rank - 3 - self.k_place
        tiling = _Tiling(self.rank)
        tiling.add("register", k, self.k_width)
        tiling.add("lane", k, 4)
        tiling.add("lane", other, 8)
        if self.op_idx == 0:
            tiling.add("register", other, 2)
        tiling.add("register", k, 2)
        for place in self.parent.warp_order:
            count = self.parent.warps_per_cta[place]
            tiling.repeat("warp", count) if place == k else tiling.add("warp", place, count)
        order = [k, other] + ([0] if self.rank == 3 else [])
        return tiling.fitted(shape, order, keep_registers=True)

    def parameters(self) -> dict[str, Any]:
        return {"opIdx": self.op_idx, "parent": self.parent, "kWidth": self.k_width}

    def __str__(self) -> str:
        return f"#ttg.{self.kind}<{{{fields_text(self.parameters())}}}>"  # blocks are the parent's


class Slice(Encoding):
    """`#ttg.slice`: the parent's layout without a dimension, along which threads then hold the same elements."""

    __slots__ = ("dim", "parent")

    kind = "slice"

    def __init__(self, *, dim: int, parent: Encoding) -> None:
        if parent.shared or parent.rank is None or not 0 <= dim < parent.rank:
            raise LayoutError(f"dim = {dim}: the parent {parent} has no such dimension of threads")
        self.dim, self.parent, self.cga_layout = dim, parent, ()

    @property
    def rank(self) -> int:
        assert self.parent.rank is not None
        return self.parent.rank - 1

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        extents = checked_shape(shape, self.rank)
        whole = (*extents[: self.dim], self._least(), *extents[self.dim :])
        bases = {
            name: [basis[: self.dim] + basis[self.dim + 1 :] for basis in part] for name, part in self.parent.linear(whole).bases.items()
        }
        bases["register"] = [basis for basis in bases["register"] if any(basis)]
        return LinearLayout(bases, extents)

    def _least(self) -> int:
        """The extent of the missing dimension: as little as its blocks need."""
        assert self.parent.rank is not None
        return block_counts(self.parent.cga_layout, self.parent.rank)[self.dim]

    def parameters(self) -> dict[str, Any]:
        return {"dim": self.dim, "parent": self.parent}


class Linear(Encoding):
    """`#ttg.linear`: the bases themselves. They are for one shape."""

    __slots__ = ("_linear",)

    kind = "linear"

    def __init__(
        self,
        *,
        register: Sequence[Sequence[int]] = (),
        lane: Sequence[Sequence[int]] = (),
        warp: Sequence[Sequence[int]] = (),
        block: Sequence[Sequence[int]] = (),
    ) -> None:
        self._linear = LinearLayout({"register": register, "lane": lane, "warp": warp, "block": block})
        self.cga_layout = ()

    @property
    def rank(self) -> int:
        return len(self._linear.shape)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        extents = checked_shape(shape, self.rank)
        if extents != self._linear.shape:
            raise LayoutError(f"the bases reach {self._linear.shape}, the tile is {extents}")
        return self._linear

    def parameters(self) -> dict[str, Any]:
        return dict(self._linear.bases)
