"""The tensor map of a box: what `px.tile.apply` derives of a tensor, a box and its image in shared memory, to look at and to test."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ptxgen.errors import LayoutError
from ptxgen.instructions.descriptors import SPANNING
from ptxgen.instructions.types import Type, type_named
from ptxgen.kernels.annotations import Tensor
from ptxgen.layouts import S
from ptxgen.layouts.arguments import COUNT, TEXT, takes
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.runtime.tensormap import TensorMap, TensorMapError, swizzle_mode
from ptxgen.solve.frozen import Frozen
from ptxgen.solve.judge import asked, bound, judged
from ptxgen.tile.boxes import image_align
from ptxgen.tracing.tensormaps import described_axes

__all__ = ["TensorMapPlan", "tensor_map"]

_MODES = {"none": None, "32B": Swizzle.B32, "64B": Swizzle.B64, "128B": Swizzle.B128, "128B_atom_32B": Swizzle.B128_ATOM32}


class TensorMapPlan(Frozen):
    """What a tensor map says. Immutable. Axes are in the tensor's order, the contiguous one last; offsets are bytes.

    Attributes
    ----------
    map : TensorMap
        All fields, with the methods of a map: `reversed` as the driver takes them, `at` for values of named dims, `encode`.
    image : Layout or None
        Of the box in shared memory, in bits; None for an interleaved tensor, of whose image the ISA says nothing.
    """

    __slots__ = ("image", "map")

    def __init__(self, map: TensorMap, image: Layout | None) -> None:
        self.map = map
        self.image = image

    @property
    def shape(self) -> tuple[Any, ...]:
        """The tensor's extents, in elements."""
        return self.map.shape

    @property
    def strides(self) -> tuple[Any, ...]:
        """Bytes between neighbours along each axis but the last."""
        return self.map.strides

    @property
    def box(self) -> tuple[int, ...]:
        """Extents that one copy spans in the tensor."""
        return self.map.box

    @property
    def element_strides(self) -> tuple[int, ...]:
        return self.map.element_strides

    @property
    def swizzle(self) -> str:
        return self.map.swizzle

    @property
    def interleave(self) -> str:
        return self.map.interleave

    @property
    def bytes(self) -> int:
        """What a copy moves, and a transaction barrier counts."""
        return self.map.box_bytes

    @property
    def base_align(self) -> int:
        """Bytes that divide the tensor's address."""
        return self.map.base_alignment

    @property
    def align(self) -> int:
        """Bytes that divide the address of the image in shared memory."""
        return image_align(_MODES[self.map.swizzle])

    @property
    def targets(self) -> str:
        return "sm_100 and newer" if self.map.newer else "sm_90 and newer"

    def check(self) -> None:
        """Place every element of the box as a copy does, row by row and swizzled, and compare it with the image's layout.

        Raises
        ------
        LayoutError
            With the first element that lies elsewhere. It does not happen: the engine has proved it otherwise.
        """
        if self.image is None:
            return
        shape = tuple(int(extent) for extent in self.image.shape)
        bits = self.map.box_bytes * 8 // prod(shape)
        row = _row(shape)
        number = np.arange(prod(shape))
        wanted = number // row * self.map.row_pitch * 8 + number % row * bits
        pattern = _MODES[self.map.swizzle]
        found = self.image.table().m.ravel()
        wanted = wanted if pattern is None else np.asarray(pattern.apply_bits(wanted))
        wrong = np.flatnonzero(wanted != found - found[0])
        if len(wrong):
            at = tuple(map(int, np.unravel_index(int(wrong[0]), shape)))
            raise LayoutError(f"element {at} lies {int(found[wrong[0]] - found[0])} bits behind the first, the copy puts it "
                              f"{int(wanted[wrong[0]])} behind")  # fmt: skip

    def __str__(self) -> str:
        steps = "" if set(self.element_strides) == {1} else f", every {_shown(self.element_strides)} elements"
        strides = _shown(self.strides) if self.strides else "none: one axis"
        image = repr(self.image) if self.image is not None else "not known to the ISA"
        return "\n".join([
            f"tensor map of {self.map.name or 'a tensor'}: .{self.map.kind}, {self.targets}",
            f"  extents       {_shown(self.shape)}",
            f"  strides       {strides} bytes; the tensor's address a multiple of {self.base_align}",
            f"  box           {_shown(self.box)}{steps}; {self.bytes} bytes a copy",
            f"  swizzle       {self.swizzle}; interleave {self.interleave}; fill {self.map.fill}; promotion {self.map.promotion}",
            f"  image         {image}",
            f"  in shared     at a multiple of {self.align} bytes, rows {self.map.row_pitch} bytes apart",
        ])  # fmt: skip


def _shown(numbers: Sequence[Any]) -> str:
    return " x ".join(map(str, numbers))


def _row(shape: tuple[int, ...]) -> int:
    """Elements of a row of the image: the last extent that is not 1."""
    return next((extent for extent in reversed(shape) if extent > 1), 1)


@takes(interleave=TEXT, promotion=TEXT, fill=TEXT, align=COUNT)
def tensor_map(
    tensor: Tensor | Layout | Shard | Any,
    box: Sequence[int],
    image: Layout | Shard | Any = None,
    *,
    dtype: Type | str | None = None,
    steps: Sequence[int] | None = None,
    swizzle: Swizzle | int | None = None,
    interleave: str = "none",
    promotion: str = "128B",
    fill: str = "zero",
    align: int | None = None,
) -> TensorMapPlan:
    """The tensor map that copies boxes of a tensor to and from a tile in shared memory, each rule of its encoding checked.

    Parameters
    ----------
    tensor : px.Tensor, a view of one, or Layout or S[...]
        The whole tensor; extents and strides may be named dims.
    box : sequence of int
        Extents of the box as it arrives in shared memory, one for each axis.
    image : Layout or S[...], or a view of shared memory, optional
        The tile; its swizzle is the map's. By default what a copy writes: rows without gaps, or as wide as `swizzle`.
    dtype : Type or str, optional
        Element type of a layout, or the kind of element by the name of a tensor map (``"b4x16_p64"``).
    steps : sequence of int, optional
        Element strides: every so many elements of each axis.
    swizzle : Swizzle or int, optional
        Where no image is given: itself, or the bytes of its span (128, 64, 32).
    interleave, promotion, fill : str
        As for `ptxgen.runtime.TensorMap`.
    align : int, optional
        Bytes that divide the address of the tile; by default as many as it needs.

    Raises
    ------
    TensorMapError
        For a rule of the encoding: `rule` names it, the message has the axis, the numbers and what is legal.
    InstructionError
        Where the image is not what a copy writes, with the first element that lies elsewhere.
    LayoutError
        For a tensor that no map describes: an axis with two strides, a last axis that is not contiguous.
    """
    kind = dtype if dtype is not None else getattr(tensor, "dtype", None)
    if not isinstance(kind, (Type, str)):
        raise LayoutError("the element type of the tensor is not said", legal="dtype=px.bf16, or a px.Tensor")
    shape, strides = _axes(tensor, kind)
    for what, given in (("box", box), ("steps", steps if steps is not None else (1,) * len(shape))):
        if not isinstance(given, (tuple, list)) or len(given) != len(shape) or not all(isinstance(one, int) for one in given):
            raise LayoutError(f"{what} {given!r} of a tensor of {len(shape)} axes", legal="an int for each axis")
    taken = tuple(steps) if steps is not None else (1,) * len(shape)
    pattern = getattr(getattr(image, "layout", image), "swizzle", None) if image is not None else _swizzle(swizzle)
    spanned = [(extent - 1) * step + 1 for extent, step in zip(box, taken)]
    made = TensorMap(
        kind, shape, strides, box=spanned, element_strides=taken, swizzle=swizzle_mode(pattern), interleave=interleave,
        promotion=promotion, fill=fill, name=_name(tensor),
    )  # fmt: skip
    known, needed = getattr(getattr(tensor, "storage", tensor), "align", None), made.base_alignment
    if isinstance(known, int) and known % needed:
        raise TensorMapError(
            f"tensor map of {_name(tensor)!r}: its address is known to be a multiple of {known} bytes; tensor maps need {needed}. "
            f"Fix: px.Tensor(..., align={needed})", "base address", None,
        )  # fmt: skip
    if interleave == "none":
        return TensorMapPlan(made, _written(made, tuple(box), pattern) if image is None else _held(made, image, tuple(box), align))
    if image is not None:
        raise LayoutError("the ISA does not say where the elements of an interleaved box lie", legal="no image, or interleave='none'")
    return TensorMapPlan(made, None)


def _swizzle(given: Swizzle | int | None) -> Swizzle | None:
    if given is None or isinstance(given, Swizzle):
        return given
    if given not in list(SPANNING):  # whatever it is, hashable or not
        raise LayoutError(f"swizzle={given!r} is no swizzle", legal="px.Swizzle.B128, .B64, .B32 or None, or their bytes: 128, 64, 32, 0")
    return SPANNING[given]


def _name(tensor: Any) -> str:
    return str(getattr(getattr(tensor, "storage", None), "name", "tensor"))


def _axes(tensor: Any, kind: Type | str) -> tuple[list[Any], list[Any]]:
    """Extents, and strides in bytes of all axes but the last."""
    bits = kind.bits if isinstance(kind, Type) else TensorMap(kind, (128,), box=(128,)).element_bits
    layout = tensor.layout() if isinstance(tensor, Tensor) else getattr(tensor, "layout", tensor)
    return described_axes(bound(layout, bits), bits, _name(tensor))


def _written(made: TensorMap, box: tuple[int, ...], pattern: Swizzle | None) -> Layout:
    """The layout of what a copy writes, in bits."""
    bits = made.box_bytes * 8 // prod(box)
    strides: list[int] = []
    step = 0
    for extent in reversed(box):  # up to its row elements lie side by side, then rows do
        strides.append(step or bits)
        step = step * extent if step else made.row_pitch * 8 if extent > 1 else 0
    return Layout(S[box : tuple(reversed(strides))], swizzle=pattern, unit="bit")


def _held(made: TensorMap, image: Any, box: tuple[int, ...], align: int | None) -> Layout:
    """The tile's layout, held by the engine against what a copy writes."""
    bits = made.box_bytes * 8 // prod(box)
    layout = bound(getattr(image, "layout", image), bits)
    if tuple(extent for extent in layout.shape if extent != 1) != tuple(extent for extent in box if extent != 1):
        raise LayoutError(f"a tile of shape {layout.shape} for a box of {box}", legal="the box's extents")
    opcode = f"cp.async.bulk.tensor.{len(box)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    of = next(asked(opcode, "dst_mem", {}, lambda one: one.place == "box"))
    needed = align or TensorMapPlan(made, None).align
    judged(of, layout, type_named(f"b{bits}"), scope="thread", threads=1, align=needed, space="shared", name="tile")
    return layout
