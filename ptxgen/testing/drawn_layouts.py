"""Layouts and swizzles, drawn as digits: an extent is cut into factors, and every factor has its own stride."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ptxgen.layouts import S, Swizzle, laneid, warpid
from ptxgen.layouts.arguments import COUNT, EXTENTS, FLAG, takes
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.layout import Layout

__all__ = ["layouts", "memory_layouts", "register_layouts", "shapes", "swizzles"]

_Digit = tuple[int, int]
"""An axis of the shape, and an extent on it."""

_LONGEST = 24  # so many times its least is an extent at most


@takes(min_axes=COUNT, max_axes=COUNT, max_elements=COUNT, multiple_of=COUNT)
@st.composite
def shapes(draw: Any, *, min_axes: int = 1, max_axes: int = 3, max_elements: int = 256, multiple_of: int = 1) -> tuple[int, ...]:
    """Shapes of tiles.

    Parameters
    ----------
    min_axes, max_axes : int
    max_elements : int
        The most elements.
    multiple_of : int
        What divides every extent.

    Returns
    -------
    strategy of tuple of int
        Shrinks to as few axes and elements as there may be.
    """
    if max_axes < min_axes:
        raise LayoutError(f"at least {min_axes} axes, and at most {max_axes}")
    axes = draw(st.integers(min_axes, max_axes))
    room = max_elements // multiple_of**axes
    if room < 1:
        raise LayoutError(f"{axes} axes of at least {multiple_of} elements are more than {max_elements} elements")
    shape = []
    for _ in range(axes):
        extent = draw(st.integers(1, min(room, _LONGEST)))
        room //= extent
        shape.append(extent * multiple_of)
    return tuple(shape)


@takes(granule=COUNT, period=COUNT)
@st.composite
def swizzles(draw: Any, *, granule: int = 1, period: int = 1024) -> Swizzle:
    """Swizzles that keep at least `granule` bytes together and repeat after at most `period` bytes, both powers of two.

    Shrinks to one bit, the smallest granule and the nearest bit.
    """
    least, most = granule.bit_length() - 1, period.bit_length() - 1
    if most - least < 2:
        raise LayoutError(f"no swizzle keeps {granule} bytes together and repeats after {period}; a period of at least {4 * granule} does")
    bits = draw(st.integers(1, (most - least) // 2))
    base = draw(st.integers(least, most - 2 * bits))
    shift = draw(st.integers(bits, most - base - bits))
    return Swizzle(bits, base, shift)


@takes(shape=EXTENTS, gaps=FLAG)
@st.composite
def memory_layouts(draw: Any, shape: tuple[int, ...] | None = None, *, gaps: bool = True, swizzle: Any = None) -> Layout:
    """Layouts of memory that hold every element at a place of its own: any order of axes and of their factors, with gaps or without.

    Parameters
    ----------
    shape : tuple of int, optional
        Drawn by `shapes` where it is left out.
    gaps : bool
        Whether places between elements may stay empty.
    swizzle : Swizzle or strategy, optional
        What the layout's addresses go through, such as ``swizzles(granule=4)`` for elements of 4 bytes.

    Returns
    -------
    strategy of Layout
        Shrinks to row-major layouts without gaps.
    """
    shape = draw(shapes()) if shape is None else shape
    digits = _digits(draw, shape)
    strides: dict[int, int] = {}
    step = 1
    for place in reversed(draw(st.permutations(range(len(digits))))):
        strides[place] = step
        step = step * digits[place][1] + (draw(st.integers(0, 3)) if gaps else 0)
    chosen = draw(swizzle) if isinstance(swizzle, st.SearchStrategy) else swizzle
    return _layout(shape, digits, [strides[place] for place in range(len(digits))], chosen)


@takes(shape=EXTENTS, lanes=COUNT, warps=COUNT, gaps=FLAG)
@st.composite
def register_layouts(draw: Any, shape: tuple[int, ...] | None = None, *, lanes: int = 32, warps: int = 1, gaps: bool = True) -> Layout:
    """Layouts of registers: each factor of an extent goes over lanes, over warps, or over a thread's registers.

    Every element is in one register of one thread, and no register holds two.

    Parameters
    ----------
    shape : tuple of int, optional
        Drawn by `shapes` where it is left out.
    lanes, warps : int
        The most lanes of a warp, and the most warps, that may hold elements.
    gaps : bool
        Whether registers between elements may stay empty.

    Returns
    -------
    strategy of Layout
        Shrinks to all elements in one thread, row-major.
    """
    shape = draw(shapes()) if shape is None else shape
    digits = _digits(draw, shape)
    strides: list[Any] = [0] * len(digits)
    used = {"register": 1, "lane": 1, "warp": 1}
    for place in reversed(draw(st.permutations(range(len(digits))))):
        extent = digits[place][1]
        fits = [kind for kind, most in (("lane", lanes), ("warp", warps)) if used[kind] * extent <= most]
        kind = draw(st.sampled_from(["register", *fits]))
        gap = draw(st.integers(0, 2)) if gaps else 0  # for lanes as well, which have none: what is simpler shall not depend on it
        step = used[kind]
        strides[place] = step @ laneid if kind == "lane" else step @ warpid if kind == "warp" else step
        used[kind] = step * extent + (gap if kind == "register" else 0)
    return _layout(shape, digits, strides, None)


@takes(shape=EXTENTS)
def layouts(shape: tuple[int, ...] | None = None) -> st.SearchStrategy[Layout]:
    """Layouts of memory or of registers; see `memory_layouts` and `register_layouts`."""
    return st.one_of(memory_layouts(shape), register_layouts(shape))


def _digits(draw: Any, shape: tuple[int, ...]) -> list[_Digit]:
    """The factors of each extent, the highest first: one, or two of them."""
    found: list[_Digit] = []
    for axis, extent in enumerate(shape):
        inner = draw(st.sampled_from([1, *(part for part in range(2, extent) if extent % part == 0)]))
        found += [(axis, extent)] if inner == 1 else [(axis, extent // inner), (axis, inner)]
    return found


def _layout(shape: tuple[int, ...], digits: list[_Digit], strides: list[Any], swizzle: Swizzle | None) -> Layout:
    extents: list[Any] = []
    steps: list[Any] = []
    for axis in range(len(shape)):
        own = [place for place, (one, _) in enumerate(digits) if one == axis]
        several = len(own) > 1
        extents.append(tuple(digits[place][1] for place in own) if several else digits[own[0]][1])
        steps.append(tuple(strides[place] for place in own) if several else strides[own[0]])
    return Layout(S[tuple(extents) : tuple(steps)], swizzle=swizzle)
