"""The named axes that a layout maps to, and sums of coefficients on them (`5 + 2 @ warpid`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, Symbol, as_scalar, is_number


class Axis:
    """A direction in which positions are counted. The axes are the module's values; there are no others.

    `n @ axis` is a step of n along the axis.
    """

    __slots__ = ("legal", "limit", "name", "order", "scale")
    __array_ufunc__ = None  # NumPy integers defer to __rmatmul__

    def __init__(self, name: str, order: int, scale: int = 0, limit: int | None = None, legal: str = "") -> None:
        self.name = name
        self.order = order
        self.scale = scale  #: threads in the CTA's order that one step skips; 0 for axes that don't count threads
        self.limit = limit  #: positions on the axis are below it
        self.legal = legal or "thread indices start at 0"  #: what to write instead, for messages

    @property
    def is_thread(self) -> bool:
        """Whether the axis counts threads of a CTA (and so reduces to `tx`)."""
        return self.scale != 0

    def __rmatmul__(self, steps: object) -> AxisTerm:
        return AxisTerm(((self, as_scalar(steps, f"a step along {self.name}")),))

    def __matmul__(self, other: object) -> AxisTerm:
        raise LayoutError(f"a step is written number @ axis, such as 1 @ {self.name}")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name  # pickled and copied as the one value it is


m = Axis("m", 0)
tx = Axis("tx", 1, scale=1)
laneid = Axis("laneid", 2, scale=1, limit=32, legal="a warp has lanes 0..31: write warpid and laneid, or use tx")
wid_in_wg = Axis("wid_in_wg", 3, scale=32, limit=4, legal="a warpgroup has warps 0..3: write wgid and wid_in_wg, or use warpid")
tid_in_wg = Axis("tid_in_wg", 4, scale=1, limit=128, legal="a warpgroup has threads 0..127: write wgid and tid_in_wg, or use tx")
warpid = Axis("warpid", 5, scale=32)
wgid = Axis("wgid", 6, scale=128)
cbx = Axis("cbx", 7)
cby = Axis("cby", 8)
cbz = Axis("cbz", 9)
bx = Axis("bx", 10)
by = Axis("by", 11)
bz = Axis("bz", 12)
TLane = Axis("TLane", 13)
TCol = Axis("TCol", 14)

AXES: Mapping[str, Axis] = {
    axis.name: axis
    for axis in (
        m, laneid, warpid, wid_in_wg, wgid, tid_in_wg, tx, cbx, cby, cbz, bx, by, bz, TLane, TCol
    )
}  # fmt: skip


class AxisTerm:
    """A displacement: a coefficient (int or Expr) for each of some axes. Immutable; `+ - *` as one expects.

    A bare number added to it counts on `m`.
    """

    __slots__ = ("parts",)
    __array_ufunc__ = None

    parts: tuple[tuple[Axis, Scalar], ...]  #: in the axes' order, without zeros

    def __init__(self, parts: Iterable[tuple[Axis, Scalar]] = ()) -> None:
        self.parts = tuple([part for part in parts if part[1] != 0])

    @staticmethod
    def of(value: object, what: str = "a stride") -> AxisTerm:
        """The value as a term; a bare number counts on `m`."""
        if type(value) is AxisTerm:
            return value
        if isinstance(value, Axis):
            raise LayoutError(f"{what} is a number of steps along an axis: write 1 @ {value.name} instead of {value.name}")
        return AxisTerm(((m, as_scalar(value, what)),))

    @staticmethod
    def collect(parts: Iterable[tuple[Axis, Scalar]]) -> AxisTerm:
        """The sum of parts in any order, in which axes may repeat."""
        total: dict[Axis, Scalar] = {}
        for axis, value in parts:
            total[axis] = as_scalar(total[axis] + value, "a sum") if axis in total else value
        return AxisTerm(sorted(total.items(), key=lambda part: part[0].order))

    def __getitem__(self, axis: Axis) -> Scalar:
        for own, value in self.parts:
            if own is axis:
                return value
        return 0

    def reduced(self) -> AxisTerm:
        """The same displacement with every thread axis counted on `tx`."""
        if all(not axis.is_thread or axis is tx for axis, _ in self.parts):
            return self
        return AxisTerm.collect(
            (tx, as_scalar(value * axis.scale, "a step")) if axis.is_thread else (axis, value) for axis, value in self.parts
        )

    def scaled(self, axis: Axis, by: int) -> AxisTerm:
        """The term with one axis' coefficient multiplied."""
        return AxisTerm(tuple((own, value * by if own is axis else value) for own, value in self.parts))

    def __add__(self, other: object) -> AxisTerm:
        if not isinstance(other, AxisTerm) and not is_number(other):
            return NotImplemented
        other = AxisTerm.of(other)
        if not self.parts or not other.parts:
            return other if not self.parts else self
        if len(self.parts) == len(other.parts) == 1 and self.parts[0][0] is other.parts[0][0]:  # as in memory, on m alone
            (axis, one), (_, two) = self.parts[0], other.parts[0]
            return AxisTerm(((axis, as_scalar(one + two, "a sum")),))
        return AxisTerm.collect(self.parts + other.parts)

    def __mul__(self, other: object) -> AxisTerm:
        by = as_scalar(other, "the factor of a step")
        if by == 1:
            return self
        return AxisTerm(tuple((axis, as_scalar(value * by, "a step")) for axis, value in self.parts))

    def __neg__(self) -> AxisTerm:
        return self * -1

    def __sub__(self, other: object) -> AxisTerm:
        return self + -AxisTerm.of(other)

    def __rsub__(self, other: object) -> AxisTerm:
        return AxisTerm.of(other) + -self

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AxisTerm):
            return self.parts == other.parts
        if isinstance(other, (int, Expr, Symbol)) and not isinstance(other, bool):
            return self.parts == AxisTerm.of(other).parts
        return NotImplemented

    def __hash__(self) -> int:
        # A step on m alone equals its bare number.
        if not self.parts:
            return hash(0)
        return hash(self.parts[0][1]) if len(self.parts) == 1 and self.parts[0][0] is m else hash(self.parts)

    def __repr__(self) -> str:
        return " + ".join(_part_text(axis, value) for axis, value in self.parts) or "0"


def _part_text(axis: Axis, value: Scalar) -> str:
    # A sum with two symbols or more needs parentheses before @; on m alone it stands as it is.
    if axis is m:
        return str(value)
    return f"{value} @ {axis}" if isinstance(value, int) else f"({value}) @ {axis}"


ZERO = AxisTerm()
