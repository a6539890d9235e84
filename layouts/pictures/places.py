"""Where the elements of a layout are, as arrays over the rows and columns of a picture."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.layouts.axes import Axis, TCol, TLane
from ptxgen.layouts.dims import Dims, coalesce
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.units import BIT, ELEMENT

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout

__all__ = ["LARGEST", "Places"]

LARGEST = 1 << 20
"""Elements, replicas included, of the largest layout that is drawn."""


class Places:
    """The positions of all elements of a layout, spread over rows and columns.

    Arrays have the shape (copies, rows, columns): the copies are the replicas, one without any. The dimensions before `split` run
    downwards, the others across, row-major.

    Attributes
    ----------
    shape : (int, int, int)
    m : ndarray
        Positions on `m`, swizzled.
    unit : str
        What they count: "element", or "bit" wherever the size of an element or of the layout's unit is known.
    bits : int or None
        Bits of an element, where they are known.
    thread : ndarray or None
        The thread of the block, or None for a layout without thread axes.
    others : dict of Axis to ndarray
        Positions on the axes of blocks and of tensor memory.

    Raises
    ------
    LayoutError
        For a layout that is too large, whose positions are known only at run time, or that is swizzled while nothing tells how wide an
        element is.
    """

    __slots__ = ("bits", "layout", "m", "others", "shape", "split", "thread", "unit")

    def __init__(self, layout: Layout, bits: int | None, split: int) -> None:
        _check_known(layout)
        if layout.swizzle is not None and layout.unit == ELEMENT and bits is None:
            raise LayoutError(
                f"{layout.swizzle} permutes bytes, and nothing says how many bits an element has",
                legal="bits=16 for a tile of bf16, for example",
            )
        if layout.unit != ELEMENT:
            bound = layout.in_units(BIT)
        else:
            bound = layout if bits is None else layout.bind(bits)
        table = bound.expand_replicas().table()
        rows, columns = prod(layout.shape[:split]), prod(layout.shape[split:])
        self.layout = layout
        self.split = split
        self.bits = bits
        self.unit = bound.unit
        self.shape = (prod(table.shape) // (rows * columns), rows, columns)
        self.m = np.broadcast_to(table.m, table.shape).reshape(self.shape)
        self.thread = None if table.thread is None else np.broadcast_to(table.thread, table.shape).reshape(self.shape)
        self.others: dict[Axis, np.ndarray] = {
            axis: np.broadcast_to(values, table.shape).reshape(self.shape)
            for axis, values in sorted(table.axes.items(), key=lambda one: one[0].order)
        }

    @property
    def in_tensor_memory(self) -> bool:
        """Whether positions are lanes and columns."""
        return TLane in self.others or TCol in self.others

    def dims(self, across: bool) -> tuple[Dims, ...]:
        """The logical dimensions that run across, or downwards, each merged where it is one run."""
        found = self.layout.dims[self.split :] if across else self.layout.dims[: self.split]
        return tuple(coalesce(part) for part in found)


def _check_known(layout: Layout) -> None:
    unknown = next((extent for extent in layout.shape if not isinstance(extent, int)), None)
    if unknown is not None:
        part = ", ".join(":" if isinstance(extent, int) else ":8" for extent in layout.shape)
        raise LayoutError(f"the extent {unknown} is known only at run time, and a picture has all cells", legal=f"a part: layout[{part}]")
    if layout.symbols:
        names = ", ".join(map(str, layout.symbols))
        raise LayoutError(f"positions depend on {names}, known only at run time", legal="a layout without symbols")
    count = prod(layout.shape) * prod(extent for extent, _ in layout.replica_dims if isinstance(extent, int))
    if count > LARGEST:
        raise LayoutError(
            f"{count} elements, replicas included, are more than the {LARGEST} of which a picture is made",
            legal=f"a part: layout[{_part(layout)}]",
        )


def _part(layout: Layout) -> str:
    """The indices of a part that is small enough."""
    most = next(most for most in (64, 32, 16, 8, 4, 2, 1) if prod(min(most, int(extent)) for extent in layout.shape) <= LARGEST)
    return ", ".join(f":{most}" if extent > most else ":" for extent in layout.shape)
