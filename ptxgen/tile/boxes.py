"""The places of tensor copies: a box of a tensor, and its image in shared memory.

The tensor map is derived from both: shape and strides from the tensor, the box from the operands' shape, the swizzle from the shared tile's
layout. One layout drives the map and every other access to the tile, so they can't disagree.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ptxgen import ir
from ptxgen.errors import LayoutError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import s32
from ptxgen.layouts.axes import ZERO, m
from ptxgen.layouts.dims import Dims, extent_of
from ptxgen.layouts.expr import Expr
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.layouts.table import Table
from ptxgen.tile.addresses import Addresses
from ptxgen.tile.expressions import materialize
from ptxgen.tile.group import Group
from ptxgen.tile.image import Image
from ptxgen.tile.operands import TileOperand, refuse
from ptxgen.tracing.boxes import Box
from ptxgen.tracing.builder import given_register
from ptxgen.tracing.tensormaps import DeclaredTensorMap
from ptxgen.tracing.views import Memory, View

__all__ = ["SPANS", "BoxImageOperand", "TensorMapOperand", "box_rows", "copied", "image_align"]

SPANS: dict[Swizzle | None, int] = {None: 0, Swizzle.B32: 32, Swizzle.B64: 64, Swizzle.B128: 128, Swizzle.B128_ATOM32: 128}
"""Bytes from row to row under each swizzle that a tensor map knows; without one rows follow one another."""

_ALIGN = 128  # bytes, ISA 5.5.4: the shared side of a tensor copy


class BoxImageOperand(TileOperand):
    """The shared side: the box, row-major and dense, possibly swizzled."""

    __slots__ = ("addresses", "view")

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group) -> None:
        super().__init__(match, name, contract, Image.words(1, 32))
        self.view = view
        if not isinstance(view.storage, Memory) or view.storage.space != "shared":
            rule = f"operand {name} is shared memory"
            raise refuse(match, name, f"{view!r} is not in shared memory", rule=rule, legal="a px.shared tile")
        if not view.layout.is_static:
            raise refuse(match, name, f"{view!r} has a runtime extent", rule="a box has static extents", legal="a static part of it")
        # What was found about a layout holds wherever the same threads take it from the same memory.
        key = "image of a box", view.storage, view.layout.spelling, view.dtype.bits, group
        self.addresses: Addresses = view.builder.once(key, lambda: self._checked(group))

    def _checked(self, group: Group) -> Addresses:
        layout = self.view.layout
        static = all(type(value) is int for part in layout.dims for _, stride in part for _, value in stride.parts)
        if not (static and _as_copied(layout.dims, layout.swizzle, self.view.dtype.bits)):
            self._check_image()
        return self._start(group)

    def _check_image(self) -> None:
        view = self.view
        shape = tuple(int(extent) for extent in view.shape)  # type: ignore[arg-type]
        table = view.layout.table()
        found = table.linear.ravel() - table.linear.ravel()[0]
        row, pitch = box_rows(shape, view.layout.swizzle, view.dtype.bits)
        wanted = copied(shape, row, pitch, view.dtype.bits)
        if view.layout.swizzle not in SPANS:
            raise refuse(
                self.match, self.name, f"{view!r} has the swizzle {view.layout.swizzle}",
                rule="a tensor map knows swizzles of 32, 64 and 128 bytes, or of 128 in atoms of 32",
                legal="Swizzle.B32, Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM32 or none",
            )  # fmt: skip
        runtime = any((values != values.ravel()[0]).any() for values in table.symbols.values())
        wrong = np.flatnonzero(found != wanted)
        if len(wrong) or runtime:
            at = tuple(int(i) for i in np.unravel_index(int(wrong[0]) if len(wrong) else 1, shape))
            example = "its elements are at runtime distances"
            if len(wrong):
                one, other = int(found[wrong[0]]) // 8, int(wanted[wrong[0]]) // 8
                example = f"element {at} lies {one} bytes behind the first, the copy puts it {other} behind"
            if pitch == row * view.dtype.bits:
                problem, rule = "is not dense and row-major", "a tensor copy writes its box without gaps, last axis first"
                legal = "a px.shared tile of the box's shape, or one stage of it"
            else:
                problem, rule = "is not in rows as wide as its swizzle", "under a swizzle the rows of a box lie the swizzle's width apart"
                legal = f"a px.shared tile with rows of {pitch // view.dtype.bits} elements, and [..., :{row}] of it"
            raise refuse(self.match, self.name, f"{view!r} {problem}", rule=rule, example=example, legal=legal)

    def _start(self, group: Group) -> Addresses:
        view = self.view
        assert isinstance(view.storage, Memory)
        offset = Expr.of(view.layout.offset[m])
        first = np.full((1, 1), offset.terms.get((), 0), np.int64)
        align = image_align(view.layout.swizzle)
        symbols = {mono: np.full((1, 1), step, np.int64) for mono, step in offset.terms.items() if mono}
        starts = [(view.storage.align, f"px.shared(..., align={align})")]
        starts += [(int(first[0, 0]) // 8, f"a part that begins at a multiple of {align} bytes")]
        for mono, values in symbols.items():
            starts += [(int(values[0, 0]) * Expr({mono: 1}).divisor() // 8, f"stages a multiple of {align} bytes apart")]
        for start, legal in starts:
            if start % align:
                raise refuse(
                    self.match, self.name, f"{view!r} is not known to begin at a multiple of {align} bytes",
                    rule=f"the shared side of a tensor copy is aligned to {_ALIGN} bytes, and to the period of its swizzle",
                    example=f"it may begin {start % align} bytes behind a multiple of {align}", legal=legal,
                )  # fmt: skip
        return Addresses(view.builder, group, view, first, first, symbols, True, swizzled=False)

    def given(self) -> Given:
        return Given("address", self.view.described, space="shared")

    def render(self, repeats: int) -> list[ir.Operand]:
        start: list[ir.Operand] = [*self.addresses.render()]
        return start * repeats


def image_align(swizzle: Swizzle | None) -> int:
    """Bytes that divide the address of a box in shared memory."""
    return max(_ALIGN, swizzle.period if swizzle is not None else 1)


def box_rows(shape: tuple[int, ...], swizzle: Swizzle | None, bits: int) -> tuple[int, int]:
    """Elements of a row, and bits from one to the next: short rows leave the rest of the swizzle's span alone."""
    row = next((extent for extent in reversed(shape) if extent > 1), 1)
    return row, max(8 * SPANS.get(swizzle, 0), row * bits)


def copied(shape: tuple[int, ...], row: int, pitch: int, bits: int) -> np.ndarray:
    """Where a copy puts the elements of a box, in bits behind the first."""
    return np.add.outer(np.arange(prod(shape) // row) * pitch, np.arange(row) * bits).ravel()


@lru_cache(maxsize=256)
def _as_copied(dims: tuple[Dims, ...], swizzle: Swizzle | None, bits: int) -> bool:
    """Whether static dimensions lie as a copy writes a box."""
    shape = tuple([int(extent_of(part)) for part in dims])  # type: ignore[arg-type]
    found = Table(dims, shape, ZERO, None, "bit").linear
    return swizzle in SPANS and np.array_equal(found.ravel(), copied(shape, *box_rows(shape, swizzle, bits), bits))


class TensorMapOperand(TileOperand):
    """The global side: the tensor map, made at launch, and the box's coordinates, innermost first."""

    __slots__ = ("box", "image")

    def __init__(self, match: Match, name: str, contract: Operand, box: Box, image: View) -> None:
        super().__init__(match, name, contract, Image.words(1, 32))
        self.box = box
        self.image = image
        wanted = tuple(extent for extent in box.shape if extent != 1)
        if box.dtype.bits != image.dtype.bits or tuple(extent for extent in image.shape if extent != 1) != wanted:
            raise refuse(
                match, name, f"{box!r} and {image!r} are no image of each other", rule="both sides have the box's extents and element size",
                legal=f"a shared tile of shape {box.shape}",
            )  # fmt: skip
        axes = str(match.bindings.get(".dim", ""))[1:-1]
        if axes and int(axes) != len(box.shape):
            raise refuse(
                match, name, f"{box!r} has {len(box.shape)} axes", rule=f".{axes}d copies a box of {axes} axes",
                legal=f"{match.opcode.replace(f'.{axes}d.', f'.{len(box.shape)}d.')}",
            )  # fmt: skip

    def given(self) -> Given:
        coordinates = tuple(given_register(ir.Reg(f"%r{axis}"), s32) for axis in range(len(self.box.shape)))
        vector = Given("vector", "{coordinates}", items=coordinates)
        return Given("address", self.box.__repr__, items=(vector,))

    def declared(self) -> DeclaredTensorMap:
        """The tensor map, a parameter of the entry, held against every rule of its encoding."""
        from ptxgen.runtime.tensormap import TensorMapError

        box, builder = self.box, self.box.view.builder
        layout, swizzle = box.view.layout, self.image.layout.swizzle
        options = {"element_strides": box.steps, **box.options}
        key = "map of a box", box.storage, box.shape, layout.spelling, box.dtype, swizzle, *options.items()
        try:
            declared: DeclaredTensorMap = builder.once(
                key, lambda: builder.tensor_map(box.storage, box.spanned, layout=layout, dtype=box.dtype, swizzle=swizzle, **options)
            )
        except LayoutError as error:
            rule = "a tensor map describes a tensor by extents and strides"
            raise refuse(self.match, self.name, str(error.args[0]), rule=rule, legal=error.legal) from None
        except TensorMapError as error:
            problem, _, legal = str(error.args[0]).partition(". Fix: ")
            rule = f"a tensor map keeps to the limits of its encoding ({error.rule})"
            raise refuse(self.match, self.name, problem, rule=rule, legal=legal) from None
        self._check_start(declared.map.start_multiple)
        if self._stored:
            self._check_corner()
        return declared

    def render(self, repeats: int) -> list[ir.Operand]:
        declared = self.declared()
        coordinates = tuple(materialize(self.box.view.builder, Expr.of(start), 32).operand for start in reversed(self.box.starts))
        address = declared.address.operand
        assert isinstance(address, ir.Reg)
        return [ir.Address(address, 0, (ir.Vec(coordinates),))] * repeats

    @property
    def _stored(self) -> bool:
        """Whether the instruction writes to the box: it reads the image in shared memory."""
        tile, operands = self.match.entry.tile, self.match.entry.operands
        return tile is not None and any(atom.place == "box" and operands[name].role == "in" for name, atom in tile.atoms.items())

    def _check_corner(self) -> None:
        """A box that is written begins inside; what is known only at run time is the emulator's to see."""
        for axis, start in enumerate(self.box.starts):
            last = Expr.of(start).range()[1]
            if last is not None and last < 0:
                raise refuse(
                    self.match, self.name, f"{self.box!r} starts at element {Expr.of(start)} along axis {axis}",
                    rule="a box that is stored does not begin before the tensor: that is an illegal instruction, as measured",
                    legal="a start of 0 or more: a box may end behind the tensor, where nothing is stored",
                )  # fmt: skip

    def _check_start(self, multiple: int) -> None:
        """A start that is known not to divide is refused; what is known only at run time is the emulator's to see."""
        start = Expr.of(self.box.starts[-1])
        constant = start.terms.get((), 0)
        if constant % multiple and (start - constant).divisor() % multiple == 0:
            raise refuse(
                self.match, self.name, f"{self.box!r} starts at element {start} of the contiguous axis",
                rule="a box starts at a multiple of 16 bytes along the contiguous axis: any other is an illegal instruction, as measured",
                example=f"{constant % multiple} elements are {constant % multiple * self.box.dtype.bits // 8} bytes",
                legal=f"a start that {multiple} divides",
            )  # fmt: skip
