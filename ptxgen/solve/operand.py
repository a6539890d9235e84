"""A matrix operand in shared memory: the canonical layout, its descriptor, and the boxes of a tensor that fill it, from one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxgen.errors import InstructionError
from ptxgen.instructions.arguments import ELEMENT, OPCODE
from ptxgen.instructions.descriptors import CANONICAL, SPANNING, Canonical
from ptxgen.instructions.tiles import chosen
from ptxgen.instructions.types import Type, type_named
from ptxgen.kernels.annotations import Tensor
from ptxgen.layouts import S
from ptxgen.layouts.arguments import COUNT, TEXT, Kind, takes
from ptxgen.layouts.banks import SHARED, row_wavefronts
from ptxgen.layouts.errors import Impossible, LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.runtime.tensormap import MAX_BOX
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.descriptor import DescriptorPlan, described
from ptxgen.solve.frozen import Frozen
from ptxgen.solve.judge import Asked, asked, is_described, issuers, legal_operands
from ptxgen.solve.matrix import matrix_steps
from ptxgen.solve.tensormap import TensorMapPlan, tensor_map
from ptxgen.tile.boxes import image_align
from ptxgen.tile.descriptors import SWIZZLES
from ptxgen.tile.matrices import UNIT

__all__ = ["Copied", "OperandPlan", "operand"]

_LINES = 8  # of a core matrix
_VIEW = Kind(lambda value: hasattr(value, "storage"), "a view in a kernel")
_TENSOR = Kind(lambda value: hasattr(value, "box"), "a view of a tensor argument")
_MAJORS = {"k": "K-major", "mn": "MN-major"}


class Copied(NamedTuple):
    """One tensor copy into the tile.

    Attributes
    ----------
    tile : Arrangement
        The part of the tile, with the tensor's axes.
    start : tuple of int
        Where its box begins, behind the corner of the tile in the tensor.
    box : tuple of int
        Its extents.
    """

    tile: Arrangement
    start: tuple[int, ...]
    box: tuple[int, ...]


class OperandPlan(Frozen):
    """Where a matrix operand lies in shared memory, how an instruction finds it, and how tensor copies bring it there. Immutable.

    ``tile = px.shared(**plan.shared)``, ``px.tile.apply(LOAD, part, box, arrived, scope="thread")`` for each of ``plan.copies(tile, x,
    corner)``, and ``plan.steps(tile)`` as the operand: (M or N, K, rows, k).

    Attributes
    ----------
    descriptor : DescriptorPlan
        Strides, swizzle, major, steps along K, and the proof.
    layout : Layout
        Of one stage, in elements, over (rows, K).
    shape : tuple of int
        Rows and K of the tile.
    stages : int or None
    boxes : tuple of Copied
        What fills the tile. A tensor has its axes in the order of memory: (rows, K) where it is K-major, (K, rows) where MN-major.
    wavefronts : int
        Of 128 bytes of neighbouring lines, which tensor cores read at once: 1 where no bank is asked twice.
    ranking : tuple of (str, str)
        Every swizzle that the instruction knows for this major, the widest first, and what became of it.
    """

    __slots__ = ("boxes", "descriptor", "layout", "ranking", "shape", "stages", "wavefronts")

    def __init__(
        self,
        descriptor: DescriptorPlan,
        layout: Layout,
        shape: tuple[int, int],
        stages: int | None,
        ranking: tuple[tuple[str, str], ...],
    ) -> None:
        self.descriptor = descriptor
        self.layout = layout
        self.shape = shape
        self.stages = stages
        self.ranking = ranking
        self.boxes = _boxes(descriptor, shape)
        self.wavefronts = _wavefronts(descriptor)

    # ---- what passes on ------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Type:
        return self.descriptor.dtype

    @property
    def align(self) -> int:
        """Bytes that divide the tile's address."""
        return max(image_align(self.swizzle), self.descriptor.align)

    @property
    def shared(self) -> dict[str, Any]:
        """What `px.shared` takes."""
        given = {"shape": self.shape, "dtype": self.dtype, "layout": self.layout, "align": self.align}
        return given if self.stages is None else {**given, "stages": self.stages}

    @property
    def steps(self) -> Arrangement:
        """The view of a tile (one stage of it) that the instruction takes."""
        return self.descriptor.steps

    @property
    def swizzle(self) -> Swizzle | None:
        return self.descriptor.swizzle

    @property
    def major(self) -> str:
        return self.descriptor.major

    @property
    def bytes(self) -> int:
        """Of one stage: what the mbarrier of its copies expects."""
        return self.shape[0] * self.shape[1] * self.dtype.bits // 8

    @takes(tile=_VIEW, tensor=_TENSOR)
    def copies(self, tile: Any, tensor: Any, corner: Sequence[Any] = (0, 0)) -> list[tuple[Any, Any]]:
        """Inside a kernel: for each copy the part of the tile, and the box of the tensor.

        Parameters
        ----------
        tile : View
            One stage.
        tensor : View
            Of a tensor argument: (rows, K) where the operand is K-major, (K, rows) where MN-major.
        corner : sequence of int or traced integers
            Where the tile begins in the tensor.
        """
        narrow = self.dtype.bits < 8  # packed in bytes, whose kind every device copies
        tensor = tensor.view(_BYTE) if narrow else tensor
        found = []
        for one in self.boxes:
            part = one.tile(tile)
            start, box = one.start, one.box
            if narrow:
                each = 8 // self.dtype.bits
                part, box = part.view(_BYTE), (*box[:-1], box[-1] // each)
                starts = (*(at + by for at, by in zip(corner[:-1], start[:-1])), (corner[-1] + start[-1]) // each)
            else:
                starts = tuple(at + by for at, by in zip(corner, start))
            found.append((part, tensor.box(starts, box)))
        return found

    def tensor_map(self, tensor: Tensor | Any) -> TensorMapPlan:
        """The map through which the copies go; all of them have the same box.

        Raises
        ------
        TensorMapError
            Where the tensor breaks a rule.
        """
        one = self.boxes[0]
        image, bits = one.tile.on(self.descriptor.layout, self.dtype.bits)
        if bits < 8:
            layout = tensor.layout() if isinstance(tensor, Tensor) else tensor.layout
            return tensor_map(layout.retype(bits, 8), (*one.box[:-1], one.box[-1] * bits // 8), image.retype(bits, 8), dtype=_BYTE)
        return tensor_map(tensor, one.box, image)

    # ---- proof ---------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Walk the descriptors' addresses over all elements, and compare what copies write with the layout.

        Raises
        ------
        LayoutError
            Which does not happen: the engine has proved both otherwise.
        """
        self.descriptor.check()
        covered = np.zeros(self.shape, np.int64)
        numbers = Layout(S[self.shape])
        for one in self.boxes:
            part, _ = one.tile.on(numbers.bind(1), 1)
            np.add.at(covered.reshape(-1), part.table().linear.ravel(), 1)
        if (covered != 1).any():
            at = tuple(map(int, np.argwhere(covered != 1)[0]))
            raise LayoutError(f"element {at} of the tile is copied {int(covered[at])} times")

    def __str__(self) -> str:
        rows, k = self.shape
        of = self.descriptor
        name = f"{of.operand} of {of.opcode}"
        one = self.boxes[0]
        lines = [f"{name}: a tile of {rows} x {k} elements of .{self.dtype.name}, {of.found.canonical.described}"]
        stages = "" if self.stages is None else f", stages={self.stages}"
        lines += [
            f"  px.shared     {self.shape}, layout={self.layout!r}, align={self.align}{stages}: {self.bytes} bytes",
            f"  operand       tile{self.steps}",
            f"  copies        {len(self.boxes)} of box {one.box} from a tensor of shape {_AXES[self.major]}; the first: tile{one.tile}",
            f"  wavefronts    {self.wavefronts} for 128 bytes of neighbouring lines",
            *str(of).splitlines()[3:],
            *(f"  {name.removeprefix('Swizzle.'):<13} {outcome}" for name, outcome in self.ranking),
        ]
        return "\n".join(lines)


_AXES = {"k": "(rows, K)", "mn": "(K, rows)"}
_BYTE = type_named("b8")


def _tiled(canonical: Canonical, shape: tuple[int, int], bits: int) -> Layout | None:
    """A tile of rows x K in a canonical layout: lines as wide as the swizzle's span, stacked; None where it is no whole number of them.

    Lines run along K, or along the rows where these are the major axis; those of one K, or of one row, make a dense block that one
    tensor copy writes.
    """
    rows, k = shape
    width = max(UNIT, canonical.swizzle) * 8 // bits
    along, across = (k, rows) if canonical.major == "k" else (rows, k)
    lines = canonical.pattern.period // canonical.swizzle if canonical.pattern is not None else _LINES
    if along % width or (across % lines and along > width):  # each block begins where the pattern does
        return None
    lined = ((along // width, width), (across * width, 1)) if along > width else (width, 1)
    if canonical.major == "k":
        return Layout(S[(across, lined[0]) : (width, lined[1])], swizzle=canonical.pattern)
    return Layout(S[(lined[0], across) : (lined[1], width)], swizzle=canonical.pattern)


def _boxes(of: DescriptorPlan, shape: tuple[int, int]) -> tuple[Copied, ...]:
    """The copies that fill a tile, in the order of its memory."""
    bits = of.dtype.bits
    width = max(UNIT, of.found.canonical.swizzle) * 8 // bits
    along, across = (shape[1], shape[0]) if of.major == "k" else shape
    dividing = (extent for extent in range(min(across, MAX_BOX), 0, -1) if across % extent == 0)
    each = next(extent for extent in dividing if extent % _LINES == 0 or extent == across)
    found = []
    for first in range(0, along, width):
        for line in range(0, across, each):
            parts = [_part(line, each, across), _part(first, width, along)]
            chosen_part = tuple(parts if of.major == "k" else reversed(parts))
            view = Arrangement([("part", chosen_part)] if chosen_part != (slice(None), slice(None)) else [])
            view = view if of.major == "k" else view.permute(1, 0)
            found.append(Copied(view, (line, first), (each, width)))
    return tuple(found)


def _part(start: int, extent: int, whole: int) -> slice:
    return slice(None) if extent == whole else slice(start, start + extent)


def _wavefronts(of: DescriptorPlan) -> int:
    """The most that what tensor cores read at once takes: 128 bytes of neighbouring lines, in pieces that the swizzle keeps together."""
    bits, piece = of.dtype.bits, of.swizzle.granule if of.swizzle is not None else UNIT
    table = of.layout.table().m // 8
    lines = (table if of.major == "k" else table.T)[: SHARED.span // piece, :: 8 * piece // bits]
    there = np.arange(SHARED.span // piece) < len(lines)
    rows = np.pad(lines, ((0, len(there) - len(lines)), (0, 0)))
    return int(row_wavefronts(np.ascontiguousarray(rows.T), width=piece, active=there).max())


# ---- the search ---------------------------------------------------------------------------------------------------------


@takes(opcode=OPCODE, dtype=ELEMENT, operand=TEXT, major=TEXT, stages=COUNT, scope=TEXT, threads=COUNT, sizes=COUNT)
def operand(
    opcode: str,
    shape: tuple[int, int],
    dtype: Type | None = None,
    *,
    operand: str = "A",
    major: str = "k",
    swizzle: Swizzle | int | str | None = "any",
    stages: int | None = None,
    scope: str | None = None,
    threads: int | None = None,
    **sizes: int,
) -> OperandPlan:
    """The canonical shared layout of a matrix operand, its descriptor and its tensor map together.

    Of the swizzles that the tile fills, the widest: it has the fewest copies, and keeps the banks apart also for who writes rows or reads
    columns of it.

    Parameters
    ----------
    opcode : str
    shape : tuple of int
        Rows (of M or N) and K of the tile in shared memory.
    dtype : Type, optional
        Of an element; by default as the instruction says.
    operand : str
        ``"A"`` or ``"B"``, or the name in the syntax line.
    major : {"k", "mn"}
        Along which axis neighbours in memory lie, in the tensor as in the tile.
    swizzle : Swizzle, int or None, optional
        The one that is wanted, or the bytes of its span (128, 64, 32); None or 0 for none.
    stages : int, optional
        How often the tile is there.
    scope, threads, **sizes
        As for `descriptor`.

    Raises
    ------
    Impossible
        Where no canonical layout will do: the demands in conflict.
    InstructionError
        For an opcode that does not exist.
    """
    found = list(asked(opcode, operand, sizes, is_described))
    if not found:
        matrices = "a matrix of wgmma or tcgen05 in shared memory; px.solve.shared lays out what ldmatrix reads"
        legal = legal_operands(opcode, is_described) or matrices
        raise LayoutError(f"operand {operand!r} of {getattr(opcode, 'text', opcode)} is found by no descriptor", legal=legal)
    of = found[0]
    element = dtype or of.match.type(of.atom.element).element  # type: ignore[union-attr]
    _check_element(of, element)
    if not isinstance(shape, (tuple, list)) or len(shape) != 2 or not all(isinstance(one, int) and one > 0 for one in shape):
        raise LayoutError(f"the tile's shape is {shape!r}", legal="(rows, K), two positive ints")
    if major not in _MAJORS:
        raise LayoutError(f"a matrix is not {major!r}-major", legal='major="k" or "mn"')
    of = matrix_steps(of, shape, issuers(of, scope or of.scope, threads)).of
    candidates = _candidates(of, major, swizzle)
    ranking: list[tuple[str, str]] = []
    most = "the widest that the tile fills" if swizzle == "any" else "as asked for"
    chosen_plan: DescriptorPlan | None = None
    chosen_layout: Layout | None = None
    for canonical in candidates:
        layout = _tiled(canonical, shape, element.bits)
        name = _named(canonical.pattern)
        if layout is None:
            ranking.append((name, _unfilled(canonical, shape, element.bits)))
            continue
        try:
            plan = described(of, layout.bind(element.bits), element, scope=scope or of.scope, threads=threads)
        except InstructionError as error:
            ranking.append((name, error.problem))
            continue
        except LayoutError:  # an instruction's rows end inside a line
            line = canonical.swizzle * 8 // element.bits
            ranking.append((name, f"{of.shape()[0]} rows of one instruction are no whole number of its lines of {line}"))
            continue
        ranking.append((name, "legal, and narrower" if chosen_plan else most))
        if chosen_plan is None:
            chosen_plan, chosen_layout = plan, layout
    if chosen_plan is None or chosen_layout is None:
        raise Impossible(
            f"{of.name} of {of.match.opcode}: no canonical layout that is asked for has this tile",
            (
                f"the tile is {shape[0]} x {shape[1]} elements of .{element.name}, {_MAJORS[major]}",
                *(f"{name}: {why}" for name, why in ranking),
            ),
        )
    return OperandPlan(chosen_plan, chosen_layout, (shape[0], shape[1]), stages, tuple(ranking))


def _check_element(of: Asked, element: Type) -> None:
    demanded = of.bits()
    if demanded is not None and element.bits != demanded:
        raise Impossible(
            f"{of.name} of {of.match.opcode} holds no elements of .{element.name}",
            (f"the tile has elements of {element.bits} bits", f"the instruction takes elements of {demanded} bits"),
        )


def _candidates(of: Asked, major: str, swizzle: Swizzle | int | str | None) -> list[Canonical]:
    """The canonical layouts that a call asks for and the instruction has, the widest first."""
    assert of.atom is not None
    words = chosen(of.atom.majors, of.match).split()
    of_major = [one for one in CANONICAL if one.word in words and one.major == major]
    if not of_major:
        known = sorted({one.major for one in CANONICAL if one.word in words})
        raise Impossible(
            f"{of.name} of {of.match.opcode} is never {_MAJORS[major]}",
            (f"the tile is {_MAJORS[major]}", f"the instruction takes it {' or '.join(_MAJORS[one] for one in known)}"),
            legal=f"major={known[0]!r}, and a tile that lies so",
        )
    if not isinstance(swizzle, Swizzle) and swizzle not in [None, "any", *SPANNING]:
        raise LayoutError(f"swizzle={swizzle!r} is no swizzle", legal="px.Swizzle.B128, .B64, .B32 or None, or their bytes: 128, 64, 32, 0")
    wanted = [one for one in of_major if swizzle == "any" or one.has(swizzle)]  # type: ignore[arg-type]
    if not wanted:
        names = ", ".join(_named(one.pattern) for one in of_major)
        raise Impossible(
            f"{of.name} of {of.match.opcode}, {_MAJORS[major]}, never has the swizzle {swizzle}",
            (f"the swizzle is {swizzle}", f"the instruction knows, {_MAJORS[major]}, {names}"),
        )
    return sorted(wanted, key=lambda one: -one.swizzle)


def _named(pattern: Swizzle | None) -> str:
    return "no swizzle" if pattern is None else SWIZZLES[pattern]


def _unfilled(canonical: Canonical, shape: tuple[int, int], bits: int) -> str:
    """Why a tile is no whole number of a canonical layout's lines."""
    width = max(UNIT, canonical.swizzle)
    along = shape[1] if canonical.major == "k" else shape[0]
    if along * bits % (8 * width):
        axis = "K" if canonical.major == "k" else "rows"
        return f"{along} of {axis} are {along * bits / 8:g} bytes, no multiple of its lines' {width}"
    return "the tile is no whole number of its patterns"
