"""Boxes of tensors, as tensor copies take them: coordinates and extents, which may reach past the tensor's ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptxgen.errors import LayoutError, TraceError
from ptxgen.instructions.types import Type
from ptxgen.layouts.expr import Scalar
from ptxgen.tracing.provenance import here

if TYPE_CHECKING:
    from ptxgen.tracing.views import Memory, View

__all__ = ["Box"]

_OPTIONS = ("promotion", "fill")


class Box:
    """A box of a tensor. What lies outside of the tensor is filled by loads and left out by stores, so nothing is proved of it.

    Attributes
    ----------
    view : View
        The whole tensor.
    starts : tuple
        Its first coordinate along each axis: ints or expressions.
    shape : tuple of int
        Its extents.
    steps : tuple of int
        How many elements of the tensor it steps over along each axis.
    options : dict of str to str
        What else its tensor map says: promotion, fill.
    """

    __slots__ = ("options", "region", "shape", "starts", "steps", "view", "where")

    def __init__(
        self, view: View, starts: Sequence[Any], shape: Sequence[int], steps: Sequence[int] | None = None, options: Any = None
    ) -> None:
        from ptxgen.tracing.views import Memory, index_expr

        where = here()
        if not isinstance(view.storage, Memory) or getattr(view.storage, "tensor", None) is None or view.layout.offset.parts:
            raise TraceError(
                f"{view!r} is no whole tensor argument", where=where, why="a tensor map describes a tensor argument of the kernel",
                legal="x.box(starts, extents) of a px.Tensor parameter x; the starts say which part",
            )  # fmt: skip
        if not isinstance(starts, Sequence) or not isinstance(shape, Sequence):
            raise TraceError(
                f"a box of {view!r} takes starts and extents, not {starts!r} and {shape!r}", where=where, legal="x.box((i, j), (64, 64))"
            )
        if not len(starts) == len(shape) == view.ndim:
            raise LayoutError(
                f"a box of {view!r} needs {view.ndim} starts and extents, not {len(starts)} and {len(shape)}",
                legal="a start and an extent for each axis, of extent 1 where the axis is not spanned",
            )
        for axis, extent in enumerate(shape):
            if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
                raise TraceError(f"extent {axis} of a box of {view!r} is {extent!r}", where=where, legal="a positive int")
        if steps is not None and (not isinstance(steps, Sequence) or len(steps) != view.ndim):
            raise TraceError(f"the steps of a box of {view!r} are {steps!r}", where=where, legal=f"an int for each of {view.ndim} axes")
        strange = next((name for name in options or () if name not in _OPTIONS), None)
        if strange is not None:
            raise TraceError(f"a box of {view!r} has no {strange}", where=where, legal="steps=, promotion=, fill=")
        self.view = view
        self.steps = (1,) * view.ndim if steps is None else tuple(steps)
        self.options: dict[str, str] = dict(options or {})
        self.starts: tuple[Scalar, ...] = tuple(index_expr(one, view.builder, f"start {axis}") for axis, one in enumerate(starts))
        self.shape = tuple(shape)
        self.region = view.builder.region
        self.where = where

    @property
    def dtype(self) -> Type:
        return self.view.dtype

    @property
    def storage(self) -> Memory:
        return self.view.storage  # type: ignore[return-value]

    @property
    def spanned(self) -> tuple[int, ...]:
        """The extents of the tensor from its first to its last element."""
        return tuple([(extent - 1) * step + 1 for extent, step in zip(self.shape, self.steps)])

    def __repr__(self) -> str:
        return f"box {self.shape} of {self.view!r}"
