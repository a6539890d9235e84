"""einops-like patterns on layouts: `"(w l) r -> w l r"`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from ptxgen.layouts.dims import Dims, Unsplittable, split
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, exact_ratio, product
from ptxgen.layouts.spec import as_extent

if TYPE_CHECKING:
    from ptxgen.layouts.layout import Layout

_Groups = list[list[str]]
_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*|1|\.\.\.)|(.))")
_REST, _MERGED = "...", "(...)"  # the dimensions that the left side does not name: each as it is; as parts of one, in parentheses


class _Problem(Exception):
    pass


def rearrange(layout: Layout, pattern: str, sizes: Mapping[str, int]) -> Layout:
    """See `Layout.rearrange`."""
    try:
        given = {name: as_extent(size) for name, size in sizes.items()}
        how = pattern, *given.items()
        if how in layout._derived:
            return layout._derived[how]
        left, right = _filled_up(*parse_pattern(pattern), layout.ndim)
        known = _sizes(left, layout.shape, given)
        parts: dict[str, Dims] = {}
        for group, dims, extent in zip(left, layout.dims, layout.shape):
            parts.update(_split_group(group, dims, extent, known))
        merged = [tuple(dim for name in group for dim in parts[name]) for group in right]
    except (_Problem, LayoutError) as problem:
        asked = "".join(f", {name}={size}" for name, size in sizes.items())
        shape = ", ".join(map(str, layout.shape)) + ("," if layout.ndim == 1 else "")
        raise LayoutError(f'rearrange("{pattern}"{asked}) on shape ({shape}): {problem}') from None
    return layout._remember(how, layout._with(tuple(merged)))


@lru_cache(maxsize=256)
def parse_pattern(pattern: str) -> tuple[_Groups, _Groups]:
    """Both sides of a pattern: for each dimension the names of its axes, outermost first; `1` is the empty list."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise _Problem('a pattern has one "->" between its two sides')
    left, right = _parse_side(sides[0]), _parse_side(sides[1])
    names = [[_REST if name == _MERGED else name for group in side for name in group] for side in (left, right)]
    for side in names:
        repeated = next((name for name in side if side.count(name) > 1), None)
        if repeated is not None:
            raise _Problem(f"axis {repeated} stands twice on one side")
    for here, there, where in ((0, 1, "right"), (1, 0, "left")):
        missing = next((name for name in names[here] if name not in names[there]), None)
        if missing is not None:
            raise _Problem(f"axis {missing} is missing on the {where} side; rearrange neither reduces nor repeats")
    return left, right


def left_groups(pattern: str, ndim: int) -> _Groups:
    """The axes into which a pattern splits each of `ndim` dimensions; nothing for a pattern that is none."""
    try:
        return _filled_up(*parse_pattern(pattern), ndim)[0]
    except _Problem:
        return []


def _filled_up(left: _Groups, right: _Groups, ndim: int) -> tuple[_Groups, _Groups]:
    """Both sides with a name for each dimension that ``...`` stands for: ``...0``, ``...1``."""
    if any(_MERGED in group for group in left):
        raise _Problem("... stands for whole dimensions: it is in no parentheses on the left side")
    if [_REST] not in left:
        return left, right
    if len(left) - 1 > ndim:
        raise _Problem(f"the left side names {len(left) - 1} dimensions beside ..., the layout has {ndim}")
    rest = [f"{_REST}{number}" for number in range(ndim - len(left) + 1)]
    at = left.index([_REST])
    filled = [*left[:at], *([name] for name in rest), *left[at + 1 :]]
    result: _Groups = []
    for group in right:
        if group == [_REST]:
            result += [[name] for name in rest]
        elif _MERGED in group:
            at = group.index(_MERGED)
            result.append([*group[:at], *rest, *group[at + 1 :]])
        else:
            result.append(group)
    return filled, result


def _parse_side(text: str) -> _Groups:
    groups: _Groups = []
    inside: list[str] | None = None
    for name, other in _TOKEN.findall(text.rstrip()):
        if name:
            if inside is None:
                groups.append([] if name == "1" else [name])
            elif name != "1":
                inside.append(_MERGED if name == _REST else name)
        elif other == "(" and inside is None:
            inside = []
        elif other == ")" and inside is not None:
            groups.append(inside)
            inside = None
        else:
            raise _Problem(f"unexpected {other!r} (names, 1, ... and one level of parentheses are understood)")
    if inside is not None:
        raise _Problem('a "(" is not closed')
    return groups


def _sizes(left: _Groups, shape: tuple[Scalar, ...], given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    if len(left) != len(shape):
        raise _Problem(f"the left side has {len(left)} dimensions, the layout {len(shape)}")
    names = [name for group in left for name in group]
    unknown = next((name for name in given if name not in names), None)
    if unknown is not None:
        raise _Problem(f"a size is given for {unknown}, which is no axis of the pattern ({', '.join(names)})")
    known = dict(given)
    for place, (group, extent) in enumerate(zip(left, shape)):
        open_names = [name for name in group if name not in known]
        if len(open_names) > 1:
            raise _Problem(f"dimension {place}: give sizes for all but one of the axes {', '.join(open_names)}")
        rest = product(known[name] for name in group if name in known)
        if open_names:
            known[open_names[0]] = _quotient(extent, rest, place, open_names[0])
        elif rest != extent:
            raise _Problem(f"dimension {place} has extent {extent}, but its axes ({' '.join(group)}) make {rest}")
    return known


def _quotient(extent: Scalar, rest: Scalar, place: int, name: str) -> Scalar:
    if rest == 1:
        return extent
    quotient = exact_ratio(extent, rest)
    if quotient is None and (isinstance(extent, Expr) or isinstance(rest, Expr)):
        raise _Problem(f"dimension {place}: the runtime extent {extent} can't be split into {name} and {rest}")
    if quotient is None:
        raise _Problem(f"axis {name}: the extent {extent} of dimension {place} is no multiple of {rest}")
    return quotient


def _split_group(group: list[str], dims: Dims, extent: Scalar, known: Mapping[str, Scalar]) -> dict[str, Dims]:
    if len(group) == 1:
        return {group[0]: dims}
    sizes = [known[name] for name in group]
    try:
        return dict(zip(group, split(dims, sizes)))
    except Unsplittable as problem:
        text = " ".join(f"{name}={size}" for name, size in zip(group, sizes))
        raise _Problem(f"({text}) does not split a dimension of extent {extent}: {problem}") from None
